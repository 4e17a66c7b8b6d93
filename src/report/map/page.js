"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { clusters, items, edges, findings, effects } = data;
  const byId = (id) => document.getElementById(id);
  const KINDS = ["applies", "source", "dependsOn", "gate", "alert"];
  const EDGE_WORDS = {
    applies: ["applies", "applied by"], source: ["reads from", "read by"], dependsOn: ["waits for", "waited for by"],
    gate: ["gated by", "gates"], alert: ["notifies through", "used by"],
  };
  const SVG = "http://www.w3.org/2000/svg";
  const make = (name, attributes, text) => {
    const element = document.createElementNS(SVG, name);
    for (const key in attributes) element.setAttribute(key, attributes[key]);
    if (text !== undefined) element.textContent = text;
    return element;
  };
  const html = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const nameOf = (item) => (item.s ? item.s + "/" : "") + item.n;
  const label = (item) => item.k + " " + nameOf(item);
  const identity = (item) => [clusters[item.c].n, item.k, item.s || "", item.n].map(encodeURIComponent).join("/");
  const counted = (count, word) => count + " " + word + (count === 1 ? "" : "s");

  // What each item is marked with, the worst first.
  const RANK = ["disruptive", "error", "missing", "warning", "notable", "suspended", "unfollowed", "shock", "guessed"];
  const SIGN = { error: "✕", missing: "✕", disruptive: "▲", warning: "!", notable: "△", suspended: "Ⅱ", unfollowed: "?", shock: "~" };
  items.forEach((item, index) => {
    item.i = index;
    const marks = new Set(item.t || []);
    for (const finding of item.g || []) if (findings[finding].l !== "info") marks.add(findings[finding].l);
    for (const effect of item.p || []) if (effects[effect].s !== "routine") marks.add(effects[effect].s);
    item.marks = RANK.filter((mark) => marks.has(mark));
    item.text = [label(item), clusters[item.c].n, item.d || "", ...(item.f || []).map((file) => file[0])].join(" ").toLowerCase();
    item.within = new Set(item.marks);
    item.out = [];
    item.in = [];
  });
  edges.forEach(([from, to, kind]) => {
    items[from].out.push([to, kind]);
    items[to].in.push([from, kind]);
  });
  const boxes = items.filter((item) => item.b < 0);
  const boxOf = (item) => (item.b < 0 ? item : items[item.b]);
  const rowPlace = new Map();
  boxes.forEach((box) => (box.r || []).forEach((row, at) => rowPlace.set(row, at)));

  // State, kept in the fragment of the address.
  const state = { q: "", cluster: "", kind: "", namespace: "", marked: false, item: -1, x: 0, y: 0, z: 0 };
  const readFragment = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    state.q = wanted.get("q") || "";
    state.cluster = wanted.get("cluster") || "";
    state.kind = wanted.get("kind") || "";
    state.namespace = wanted.get("namespace") || "";
    state.marked = wanted.has("marked");
    const id = wanted.get("item");
    state.item = id ? items.findIndex((item) => identity(item) === id) : -1;
    const view = (wanted.get("view") || "").split(",").map(Number);
    if (view.length === 3 && view.every(Number.isFinite) && view[2] > 0) [state.x, state.y, state.z] = view;
  };
  let fragmentTimer = 0;
  const writeFragment = () => {
    clearTimeout(fragmentTimer);
    fragmentTimer = setTimeout(() => {
      const out = new URLSearchParams();
      for (const key of ["q", "cluster", "kind", "namespace"]) if (state[key]) out.set(key, state[key]);
      if (state.marked) out.set("marked", "");
      if (state.item >= 0) out.set("item", identity(items[state.item]));
      out.set("view", [state.x, state.y].map((value) => Math.round(value)).join(",") + "," + state.z.toPrecision(3));
      history.replaceState(null, "", "#" + out);
    }, 200);
  };
  const filtered = () => state.q || state.cluster || state.kind || state.namespace || state.marked;
  const matches = (item) =>
    (!state.cluster || clusters[item.c].n === state.cluster) && (!state.kind || item.k === state.kind) &&
    (!state.namespace || item.s === state.namespace) && (!state.marked || item.marks.length > 0) &&
    state.q.toLowerCase().split(/\s+/).every((word) => item.text.includes(word));
  let shown = new Set();
  let shownBoxes = new Set();
  const select = () => {
    shown = new Set(items.filter(matches).map((item) => item.i));
    shownBoxes = new Set([...shown].map((index) => boxOf(items[index]).i));
  };

  // Drawing: only what the window shows, and only as much as can be read.
  const map = byId("map");
  const stage = byId("stage");
  const scene = make("g", {});
  map.append(scene);
  const HEAD = 40, ROW = 18, MARGIN = 8;
  const clip = (text, width, size, bold) => {
    const room = Math.max(4, Math.floor(width / (size * (bold ? 0.68 : 0.56))));
    if (text.length <= room) return text;
    // Paths differ at their end.
    if (bold && text.includes("/")) return "…" + text.slice(text.length - room + 1);
    const head = Math.ceil((room - 1) / 2);
    return text.slice(0, head) + "…" + text.slice(text.length - (room - 1 - head));
  };
  const mark = (item) => item.marks.find((name) => SIGN[name]);
  // What stands in a box that shows no rows is marked on the box, and what stands in a
  // cluster further away on the cluster.
  for (const item of items) if (item.b >= 0) item.marks.forEach((name) => items[item.b].within.add(name));
  for (const item of items) item.within = RANK.filter((name) => item.within.has(name));
  const marked = (item) => item.within.find((name) => SIGN[name]);
  const worst = clusters.map((_, index) =>
    RANK.slice(0, 3).find((name) => SIGN[name] && items.some((item) => item.c === index && item.marks.includes(name))));
  const anchor = (item, right) => {
    const box = boxOf(item);
    const at = item.b < 0 ? undefined : rowPlace.get(item.i);
    const y = at === undefined ? box.y + HEAD / 2 : box.y + HEAD + at * ROW + ROW / 2;
    return [right ? box.x + box.w : box.x, y];
  };
  const path = (from, to) => {
    const [x1, y1] = anchor(from, true), [x2, y2] = anchor(to, false);
    const bend = Math.max(30, Math.abs(x2 - x1) / 2);
    return `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
  };
  const draw = () => {
    const width = stage.clientWidth, height = stage.clientHeight;
    const left = state.x, top = state.y, right = left + width / state.z, bottom = top + height / state.z;
    const inView = (it) => it.x < right && it.x + it.w > left && it.y < bottom && it.y + it.h > top;
    scene.setAttribute("transform", `scale(${state.z}) translate(${-left} ${-top})`);
    const parts = [];
    const near = state.z >= 0.35, rows = state.z >= 0.55, names = state.z >= 0.1;
    // Names grow as boxes shrink, so that they can be read where rows can't.
    const large = Math.min(9.5 / state.z, 44);
    clusters.forEach((cluster, index) => {
      if (!inView(cluster)) return;
      const dim = state.cluster && state.cluster !== cluster.n ? " dim" : "";
      parts.push(make("rect", { class: "cluster " + cluster.c + dim, x: cluster.x, y: cluster.y, width: cluster.w, height: cluster.h, rx: 10 }));
      // Further away the frame alone says that a cluster is guessed.
      const sign = near ? "" : worst[index] || "";
      const title = (sign ? SIGN[sign] + " " : "") + cluster.n + (near ? (cluster.c === "stated" ? "" : " (" + cluster.c + ")") + "  " + cluster.t : "");
      const whole = (cluster.w - 24) / (title.length * 0.68);
      const size = Math.max(18, Math.min(15 / state.z, 90, Math.max(whole, 9 / state.z, 18)));
      const text = make("text", { class: "title " + sign + dim, x: cluster.x + 12, y: cluster.y + 12 + Math.min(size, 30), "data-cluster": index }, clip(title, cluster.w - 24, size, true));
      text.style.fontSize = size + "px";
      parts.push(text);
    });
    const far = new Map();
    const named = [];
    const seen = boxes.filter(inView);
    const lines = (item) => {
      for (const [to, kind] of item.out) {
        const isNear = state.item === item.i || state.item === to;
        const word = KINDS[kind];
        // Whoever waits for another is led to by that arrow; the applier's would only cross it.
        const waits = word === "applies" && items[to].out.some(([, other]) => KINDS[other] === "dependsOn");
        if (!isNear && (waits || word === "source" || word === "alert" || item.b >= 0)) continue;
        if (boxOf(items[to]) === boxOf(item)) continue;
        const faint = filtered() && !(shownBoxes.has(boxOf(item).i) && shownBoxes.has(boxOf(items[to]).i)) ? " dim" : "";
        // Arrows of dependencies point along the order of work.
        const ends = word === "applies" ? [item, items[to]] : [items[to], item];
        parts.push(make("path", { class: "edge " + word + (isNear ? " near" : "") + faint, d: path(ends[0], ends[1]) }));
      }
    };
    if (near) {
      const drawn = new Set(seen);
      seen.forEach(lines);
      if (state.item >= 0) {
        const picked = items[state.item];
        if (!drawn.has(picked)) lines(picked);
        picked.in.forEach(([from]) => { if (!drawn.has(items[from])) lines(items[from]); });
      }
    }
    for (const box of seen) {
      const dim = filtered() && !shownBoxes.has(box.i) ? " dim" : "";
      const picked = state.item >= 0 && boxOf(items[state.item]) === box && (items[state.item] === box || !rows) ? " picked" : "";
      const looks = "node " + (rows ? box.marks : box.within).join(" ") + picked + dim;
      if (!near) {
        const d = `M${box.x} ${box.y}h${box.w}v${box.h}h${-box.w}z`;
        far.set(looks, (far.get(looks) || "") + d);
        if (names) {
          const sign = marked(box);
          const text = make("text", { class: "title " + (sign || "") + dim, x: box.x + MARGIN, y: box.y + Math.min(box.h * 0.8, large * 1.1) }, clip((sign ? SIGN[sign] + " " : "") + box.n, box.w - 2 * MARGIN, large, true));
          text.style.fontSize = large + "px";
          named.push(text);
        }
        continue;
      }
      parts.push(make("rect", { class: looks, x: box.x, y: box.y, width: box.w, height: box.h, rx: 6, "data-item": box.i }));
      const sign = rows ? mark(box) : marked(box);
      if (sign) parts.push(make("text", { class: "mark " + sign, x: box.x + MARGIN, y: box.y + 17 }, SIGN[sign]));
      if (!rows) {
        const size = Math.min(large, 22);
        const text = make("text", { class: "title" + dim, x: box.x + MARGIN + (sign ? 16 : 0), y: box.y + 8 + size }, clip(box.n, box.w - 30, size, true));
        text.style.fontSize = size + "px";
        parts.push(text);
        continue;
      }
      parts.push(make("text", { class: "title" + dim, x: box.x + MARGIN + (sign ? 16 : 0), y: box.y + 17 }, clip(nameOf(box), box.w - 30, 12, true)));
      parts.push(make("text", { class: "soft" + dim, x: box.x + MARGIN, y: box.y + 32 }, clip(box.k + "  " + (box.d || ""), box.w - 16, 11)));
      (box.r || []).forEach((row, at) => {
        const item = items[row], y = box.y + HEAD + at * ROW;
        const faint = filtered() && !shown.has(row) ? " dim" : "";
        parts.push(make("rect", { class: "row" + (state.item === row ? " picked" : ""), x: box.x + 3, y, width: box.w - 6, height: ROW, rx: 3, "data-item": row }));
        const sign = mark(item);
        if (sign) parts.push(make("text", { class: "mark " + sign, x: box.x + MARGIN, y: y + 13 }, SIGN[sign]));
        parts.push(make("text", { class: faint, x: box.x + MARGIN + 14, y: y + 13 }, clip(item.k + " " + item.n, box.w - 30, 12)));
      });
      if (box.m) parts.push(make("text", { class: "soft" + dim, x: box.x + MARGIN + 14, y: box.y + HEAD + (box.r || []).length * ROW + 13 }, clip(box.m, box.w - 30, 11)));
    }
    for (const [looks, d] of far) parts.push(make("path", { class: looks, d }));
    parts.push(...named);
    scene.replaceChildren(...parts);
  };
  let frame = 0;
  const redraw = () => {
    if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); writeFragment(); });
  };

  // Looking around.
  const world = clusters.reduce((all, it) => ({ w: Math.max(all.w, it.x + it.w), h: Math.max(all.h, it.y + it.h) }), { w: 1, h: 1 });
  const LEAST = 0.004, MOST = 3;
  // The buttons and the legend lie over the map: nothing hides below them.
  const fit = (area) => {
    const pad = 12;
    const width = stage.clientWidth - byId("zoom").offsetWidth - 3 * pad;
    const height = stage.clientHeight - byId("legend").offsetHeight - 3 * pad;
    state.z = Math.min(1.2, Math.max(LEAST, Math.min(width / area.w, height / area.h)));
    state.x = area.x + area.w / 2 - (width / 2 + pad) / state.z;
    state.y = area.y + area.h / 2 - (height / 2 + pad) / state.z;
    redraw();
  };
  const all = () => fit({ x: 0, y: 0, w: world.w, h: world.h });
  const zoom = (factor, cx = stage.clientWidth / 2, cy = stage.clientHeight / 2) => {
    const next = Math.min(MOST, Math.max(LEAST, state.z * factor));
    state.x += cx / state.z - cx / next;
    state.y += cy / state.z - cy / next;
    state.z = next;
    redraw();
  };
  const show = (item) => {
    const box = boxOf(item);
    const z = Math.max(state.z, 0.7);
    state.z = z;
    const [, y] = anchor(item, false);
    state.x = box.x + box.w / 2 - stage.clientWidth / z / 2;
    state.y = y - stage.clientHeight / z / 2;
    redraw();
  };
  stage.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = stage.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey || event.deltaMode === 0 && Math.abs(event.deltaX) < 1) {
      zoom(Math.exp(-event.deltaY * 0.0016), event.clientX - at.left, event.clientY - at.top);
    } else {
      state.x += event.deltaX / state.z;
      state.y += event.deltaY / state.z;
      redraw();
    }
  }, { passive: false });
  const fingers = new Map();
  let moved = false;
  stage.addEventListener("pointerdown", (event) => {
    if (event.target.closest("#zoom")) return;
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
    moved = false;
  });
  stage.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before) return;
    const dx = event.clientX - before[0], dy = event.clientY - before[1];
    if (Math.abs(dx) + Math.abs(dy) < 3 && !moved) return;
    if (!moved) stage.setPointerCapture(event.pointerId);
    moved = true;
    if (fingers.size === 2) {
      const other = [...fingers].find(([id]) => id !== event.pointerId)[1];
      const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]) || 1;
      const at = stage.getBoundingClientRect();
      zoom(distance([event.clientX, event.clientY], other) / distance(before, other), other[0] - at.left, other[1] - at.top);
    } else {
      state.x -= dx / state.z;
      state.y -= dy / state.z;
      redraw();
    }
    fingers.set(event.pointerId, [event.clientX, event.clientY]);
  });
  const release = (event) => fingers.delete(event.pointerId);
  stage.addEventListener("pointerup", release);
  stage.addEventListener("pointercancel", release);
  const under = (x, y) => {
    const at = stage.getBoundingClientRect();
    const wx = state.x + (x - at.left) / state.z, wy = state.y + (y - at.top) / state.z;
    const box = boxes.find((it) => wx >= it.x && wx <= it.x + it.w && wy >= it.y && wy <= it.y + it.h);
    if (!box) return clusters.find((it) => wx >= it.x && wx <= it.x + it.w && wy >= it.y && wy <= it.y + it.h);
    const row = (box.r || [])[Math.floor((wy - box.y - HEAD) / ROW)];
    return row === undefined || wy < box.y + HEAD || state.z < 0.55 ? box : items[row];
  };
  map.addEventListener("click", (event) => {
    if (moved) return;
    const found = under(event.clientX, event.clientY);
    if (found && found.i !== undefined) open(found.i, false);
    else if (found) fit(found);
    else open(-1, false);
  });
  byId("zoom").addEventListener("click", (event) => {
    const what = event.target.dataset.zoom;
    if (what === "all") all();
    else if (what) zoom(what === "in" ? 1.5 : 1 / 1.5);
  });
  stage.addEventListener("keydown", (event) => {
    const step = 80 / state.z;
    const keys = {
      ArrowLeft: () => (state.x -= step), ArrowRight: () => (state.x += step), ArrowUp: () => (state.y -= step),
      ArrowDown: () => (state.y += step), "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: all,
      Enter: () => {
        const at = stage.getBoundingClientRect();
        const found = under(at.left + at.width / 2, at.top + at.height / 2);
        if (found && found.i !== undefined) open(found.i, false);
        else if (found) fit(found);
      },
    };
    if (!keys[event.key] || event.target !== stage) return;
    event.preventDefault();
    keys[event.key]();
    redraw();
  });
  document.addEventListener("keydown", (event) => {
    const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === "/" && !typing) {
      event.preventDefault();
      byId("search").focus();
    } else if (event.key === "Escape") {
      if (typing && event.target.value) return;
      open(-1, false);
      stage.focus();
    }
  });

  // The details of one object.
  const details = byId("details");
  const section = (title, list) => {
    if (!list.length) return;
    details.append(html("h3", title));
    const ul = html("ul");
    for (const entry of list) {
      const li = html("li");
      li.append(...(Array.isArray(entry) ? entry : [entry]));
      ul.append(li);
    }
    details.append(ul);
  };
  const link = (item) => {
    const button = html("button", label(item), "link");
    button.type = "button";
    button.addEventListener("click", () => open(item.i, true));
    return button;
  };
  const place = (file, line) => html("code", line ? file + ":" + line : file);
  const STATE_WORDS = {
    suspended: "suspended", missing: "its path or source is missing", unfollowed: "not followed", guessed: "in a guessed cluster",
    shock: "waits for, or is applied by, something that the change blocks",
  };
  const open = (index, move) => {
    state.item = index;
    details.replaceChildren();
    details.hidden = index < 0;
    if (index >= 0) {
      const item = items[index];
      const close = html("button", "Close", "close");
      close.type = "button";
      close.addEventListener("click", () => { open(-1, false); stage.focus(); });
      details.append(close, html("h2", label(item)));
      details.append(html("p", "cluster " + clusters[item.c].n + (clusters[item.c].c === "stated" ? "" : ", " + clusters[item.c].c)));
      const states = (item.t || []).filter((name) => STATE_WORDS[name]);
      for (const name of states) details.append(html("p", STATE_WORDS[name], name));
      if (item.why) details.append(html("p", item.why));
      section("Change", (item.p || []).map((number) => {
        const effect = effects[number];
        return [html("strong", effect.w + " ", effect.s), effect.m, ...(effect.q || []).map((line) => html("p", line)), ...(effect.f ? [html("br"), place(effect.f, effect.n)] : [])];
      }));
      section("Findings", (item.g || []).map((number) => {
        const finding = findings[number];
        return [html("strong", finding.l + " ", finding.l), finding.m, html("p", finding.w), html("p", finding.h), place(finding.p, finding.n), " ", html("code", finding.r)];
      }));
      if (item.a && item.a.length) {
        details.append(html("h3", "Effective state"));
        const table = html("table");
        for (const [key, value] of item.a) {
          const row = html("tr"), head = html("th", key);
          head.scope = "row";
          row.append(head, html("td", value));
          table.append(row);
        }
        details.append(table);
      }
      section("Events", item.e || []);
      for (const kind of KINDS) {
        const number = KINDS.indexOf(kind);
        const ends = (list) => list.filter(([, edge]) => edge === number).map(([other]) => link(items[other]));
        section(EDGE_WORDS[kind][0], ends(item.out));
        section(EDGE_WORDS[kind][1], ends(item.in));
      }
      section("Other objects", (item.o || []).map((text) => text));
      section("Files", (item.f || []).map(([file, line, role]) => [place(file, line), " " + role]));
      if (move) show(item);
      if (move) details.focus();
    }
    markTree();
    redraw();
  };

  // The list: the same for eyes, keyboard and assistive technology.
  const tree = byId("tree");
  const entries = new Map();
  const entry = (text, index) => {
    const li = html("li");
    li.setAttribute("role", "treeitem");
    li.tabIndex = -1;
    const span = html("span", text);
    span.title = text;
    li.append(span);
    if (index !== undefined) { li.dataset.item = index; entries.set(index, li); }
    return li;
  };
  // What is folded away in the list is marked on what it is folded into.
  const words = (item) => item.within.filter((name) => name !== "guessed" && name !== "shock").map((name) => (SIGN[name] || "") + " ").join("");
  const MANY = 400;
  const fillTree = () => {
    entries.clear();
    tree.replaceChildren();
    const whole = !filtered();
    let left = MANY;
    clusters.forEach((cluster, number) => {
      const own = boxes.filter((box) => box.c === number && (whole || shownBoxes.has(box.i)));
      if (!own.length && !whole) return;
      const li = entry(cluster.n + "  (" + counted(own.filter((box) => box.k === "Kustomization").length, "Kustomization") + ")");
      li.dataset.cluster = number;
      li.setAttribute("aria-expanded", "true");
      const group = html("ul");
      group.setAttribute("role", "group");
      for (const box of own.slice(0, Math.max(0, left))) {
        const child = entry(words(box) + (box.k === "Kustomization" ? nameOf(box) : label(box)), box.i);
        const rows = (box.all || box.r || []).filter((row) => whole || shown.has(row));
        if (rows.length) {
          child.setAttribute("aria-expanded", String(!whole && rows.length < 30));
          const inner = html("ul");
          inner.setAttribute("role", "group");
          inner.hidden = whole || rows.length >= 30;
          for (const row of rows.slice(0, 200)) inner.append(entry(words(items[row]) + items[row].k + " " + nameOf(items[row]), row));
          child.append(inner);
        }
        group.append(child);
      }
      left -= own.length;
      li.append(group);
      tree.append(li);
    });
    if (left < 0) tree.append(entry("and " + -left + " more: search or filter"));
    const first = tree.querySelector("[role=treeitem]");
    if (first) first.tabIndex = 0;
    markTree();
  };
  const markTree = () => {
    tree.querySelectorAll("[aria-selected=true]").forEach((li) => li.removeAttribute("aria-selected"));
    const li = entries.get(state.item);
    if (li) { li.setAttribute("aria-selected", "true"); li.scrollIntoView({ block: "nearest" }); }
  };
  const toggle = (li, wanted) => {
    const group = li.querySelector("[role=group]");
    if (!group) return false;
    const isOpen = li.getAttribute("aria-expanded") === "true";
    const next = wanted === undefined ? !isOpen : wanted;
    if (next === isOpen) return false;
    li.setAttribute("aria-expanded", String(next));
    group.hidden = !next;
    return true;
  };
  const activate = (li) => {
    if (li.dataset.item !== undefined) open(Number(li.dataset.item), true);
    else if (li.dataset.cluster !== undefined) fit(clusters[Number(li.dataset.cluster)]);
  };
  tree.addEventListener("click", (event) => {
    const li = event.target.closest("[role=treeitem]");
    if (!li) return;
    if (event.offsetX < 24 && event.target.parentElement === li) toggle(li);
    else activate(li);
  });
  tree.addEventListener("keydown", (event) => {
    const visible = [...tree.querySelectorAll("[role=treeitem]")].filter((li) => !li.closest("[hidden]"));
    const li = document.activeElement.closest("[role=treeitem]");
    const at = visible.indexOf(li);
    const go = (next) => {
      if (!next) return;
      visible.forEach((other) => (other.tabIndex = -1));
      next.tabIndex = 0;
      next.focus();
    };
    const keys = {
      ArrowDown: () => go(visible[at + 1]), ArrowUp: () => go(visible[at - 1]), Home: () => go(visible[0]), End: () => go(visible[visible.length - 1]),
      ArrowRight: () => toggle(li, true) || go(visible[at + 1]),
      ArrowLeft: () => toggle(li, false) || go(li.parentElement.closest("[role=treeitem]")),
      Enter: () => activate(li), " ": () => activate(li),
    };
    if (at < 0 || !keys[event.key]) return;
    event.preventDefault();
    event.stopPropagation();
    keys[event.key]();
  });

  // Filters.
  const options = (select, name, values) => {
    select.append(new Option("all", ""));
    [...new Set(values)].filter(Boolean).sort().forEach((value) => select.append(new Option(value, value)));
    select.addEventListener("change", () => { state[name] = select.value; refresh(true); });
  };
  options(byId("cluster"), "cluster", clusters.map((it) => it.n));
  options(byId("kind"), "kind", items.map((it) => it.k));
  options(byId("namespace"), "namespace", items.map((it) => it.s));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  let searchTimer = 0;
  byId("search").addEventListener("input", (event) => {
    state.q = event.target.value.trim();
    clearTimeout(searchTimer);
    searchTimer = setTimeout(() => refresh(true), 80);
  });
  byId("search").addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    state.q = event.target.value.trim();
    refresh(true);
    const first = [...shown][0];
    if (first !== undefined) open(first, true);
  });
  byId("marked").addEventListener("change", (event) => { state.marked = event.target.checked; refresh(true); });
  byId("theme").addEventListener("click", () => {
    const dark = getComputedStyle(document.documentElement).getPropertyValue("--bg").trim() !== "#ffffff";
    document.documentElement.className = dark ? "light" : "dark";
  });
  const summary = () => {
    byId("summary").textContent = filtered() ? counted(shown.size, "object") + " of " + items.length + " match" : data.summary;
  };
  const refresh = (moveThere) => {
    select();
    fillTree();
    summary();
    if (moveThere && filtered() && shownBoxes.size && shownBoxes.size < boxes.length) {
      const found = [...shownBoxes].map((index) => items[index]);
      const x = Math.min(...found.map((it) => it.x)), y = Math.min(...found.map((it) => it.y));
      fit({ x, y, w: Math.max(...found.map((it) => it.x + it.w)) - x, h: Math.max(...found.map((it) => it.y + it.h)) - y });
    }
    redraw();
  };

  // Legend and timeline.
  const legend = [["✕", "error or missing", "error"], ["!", "warning", "warning"], ["Ⅱ", "suspended", "suspended"], ["?", "not followed", "soft"]];
  if (effects.length) legend.push(["▲", "disruptive change", "disruptive"], ["△", "notable change", "notable"]);
  legend.forEach(([sign, text, name]) => { const li = html("li"); li.append(html("strong", sign + " ", name), text); byId("legend").append(li); });
  if (data.time && data.time.rows.length) {
    const { from, to, rows } = data.time;
    const box = byId("time");
    box.hidden = false;
    box.append(html("h2", "Gates, schedules and suspensions: " + data.time.words));
    if (data.time.note) box.append(html("p", data.time.note));
    const table = html("table");
    for (const row of rows) {
      const tr = html("tr"), th = html("th"), td = html("td");
      th.scope = "row";
      th.append(row.i >= 0 ? link(items[row.i]) : html("span", row.l), " " + row.w);
      const bar = make("svg", { viewBox: "0 0 1000 16", preserveAspectRatio: "none", role: "img", "aria-label": row.d });
      for (const [start, end, name] of row.v) {
        const x = ((start - from) / (to - from)) * 1000;
        bar.append(make("rect", { class: name, x, y: name === "closed" ? 6 : 2, width: Math.max(1, ((end - start) / (to - from)) * 1000), height: name === "closed" ? 4 : 12 }));
      }
      td.append(bar);
      tr.append(th, td);
      table.append(tr);
    }
    box.append(table);
  }

  const sync = () => {
    readFragment();
    byId("search").value = state.q;
    byId("cluster").value = state.cluster;
    byId("kind").value = state.kind;
    byId("namespace").value = state.namespace;
    byId("marked").checked = state.marked;
  };
  sync();
  refresh(false);
  if (state.z > 0) redraw(); else all();
  if (state.item >= 0) open(state.item, !state.z);
  addEventListener("resize", redraw);
  addEventListener("hashchange", () => { sync(); refresh(false); open(state.item, false); });
  addEventListener("beforeprint", () => { all(); draw(); });
})();
