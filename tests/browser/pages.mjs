// The pages of `forebay map`, `lint` and `plan` in a real browser. Arguments: the binary,
// a folder for pages and pictures. Needs playwright-core and axe-core beside it (see
// .ci/browser)
// and a Chromium, whose path CHROMIUM may give.
import { createRequire } from "node:module";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { tmpdir } from "node:os";

const [binary, folder] = process.argv.slice(2).map((path) => resolve(path));
const require = createRequire(join(folder, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const AT = "2026-03-26T10:00:00Z";
let passed = 0;
const failures = [];
const check = (name, holds, seen) => {
  if (holds) passed += 1;
  else failures.push(`${name}: ${JSON.stringify(seen)}`);
};

const page = (root, name, ...more) => {
  const file = join(folder, `${name}.html`);
  execFileSync(binary, ["map", "--root", root, "--no-config", "--at", AT, "--output", file, ...more]);
  return file;
};

// A directory that is removed at the end.
const scratches = [];
const scratch = () => {
  const root = mkdtempSync(join(tmpdir(), "forebay-pages-"));
  scratches.push(root);
  return root;
};

// A repository in which every name wants to be markup, script or an address.
const hostile = () => {
  const root = scratch();
  const evil = `</script><script>window.ran=1</script><img src=x onerror=window.ran=1>"'&javascript:window.ran=1`;
  const text = JSON.stringify(evil);
  mkdirSync(join(root, "clusters/a/flux-system"), { recursive: true });
  const header = (kind, api, name) => `apiVersion: ${api}\nkind: ${kind}\nmetadata:\n  name: ${name}\n  namespace: ${text}\n`;
  writeFileSync(join(root, "clusters/a/flux-system/gotk-sync.yaml"), `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: "https://user:hunter2@example.com/a/b"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, path: ./clusters/a, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
`);
  const documents = [
    header("Kustomization", "kustomize.toolkit.fluxcd.io/v1", text) + `spec:\n  interval: ${text}\n  path: ${text}\n  targetNamespace: ${text}\n  dependsOn: [{name: ${text}}]\n  sourceRef: {kind: GitRepository, name: ${text}}\n`,
    header("HelmRelease", "helm.toolkit.fluxcd.io/v2", text) + `spec:\n  interval: 1m\n  releaseName: ${text}\n  chart: {spec: {chart: ${text}, sourceRef: {kind: HelmRepository, name: ${text}}}}\n`,
    header("Alert", "notification.toolkit.fluxcd.io/v1beta3", text) + `spec:\n  summary: ${text}\n  providerRef: {name: ${text}}\n  eventSources: [{kind: Kustomization, name: "*"}]\n`,
    header("Provider", "notification.toolkit.fluxcd.io/v1beta3", text) + `spec: {type: slack, address: "https://hooks.example/hunter2", channel: ${text}}\n`,
    header("Gate", "gating.toolkit.fluxcd.io/v1alpha1", text) + `spec: {interval: 30s, default: closed, window: 1h}\n`,
    header(text, "example.com/v1", text),
  ];
  writeFileSync(join(root, "clusters/a/objects.yaml"), documents.join("---\n"));
  return root;
};

// 3,000 Kustomizations in three clusters, each waiting for an earlier one.
const large = () => {
  const root = scratch();
  mkdirSync(join(root, "app"), { recursive: true });
  writeFileSync(join(root, "app/cm.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c, namespace: default}\n");
  for (const cluster of ["one", "two", "three"]) {
    mkdirSync(join(root, `clusters/${cluster}/flux-system`), { recursive: true });
    writeFileSync(join(root, `clusters/${cluster}/flux-system/gotk-sync.yaml`), `apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, url: "https://example.com/a/b"}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: flux-system, namespace: flux-system}
spec: {interval: 1m, path: ./clusters/${cluster}, prune: true, sourceRef: {kind: GitRepository, name: flux-system}}
`);
    let all = "";
    for (let number = 0; number < 1000; number += 1) {
      const after = number < 10 ? "" : `, dependsOn: [{name: app-${Math.floor(number / 10)}}]`;
      all += `---\napiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: app-${number}, namespace: flux-system}\nspec: {interval: 1m, path: ./app, prune: true, targetNamespace: ns-${number}${after}, sourceRef: {kind: GitRepository, name: flux-system}}\n`;
    }
    writeFileSync(join(root, `clusters/${cluster}/apps.yaml`), all);
  }
  return root;
};

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const open = async (file, width, height, fragment = "") => {
  const context = await browser.newContext({ viewport: { width, height } });
  const tab = await context.newPage();
  const said = [];
  tab.on("console", (message) => said.push(message.text()));
  tab.on("pageerror", (error) => said.push(String(error)));
  tab.on("request", (request) => { if (!request.url().startsWith("file:")) said.push(`request: ${request.url()}`); });
  await tab.goto(pathToFileURL(file) + fragment);
  await tab.waitForSelector("#map .cluster");
  return { tab, said, close: () => context.close() };
};
const violations = (tab) => tab.evaluate(async (script) => {
  // The page's policy takes no further script: axe is brought in from outside of it.
  new Function(script)();
  const result = await window.axe.run(document);
  return result.violations.map((violation) => `${violation.id}: ${violation.nodes.slice(0, 3).map((node) => node.target).join(" ")}`);
}, axe).catch((error) => [String(error)]);

const pages = [["demo", "fixtures/demo"], ["gates", "fixtures/gates"]];
for (const extra of (process.env.FOREBAY_MAPS || "").split(":").filter(Boolean)) pages.push([extra.split("/").pop(), extra]);
for (const [name, root] of pages) {
  const file = page(root, name);
  check(`${name}: under 500 KB besides data`, statSync(file).size - readFileSync(file, "utf8").match(/id="data">(.*?)<\/script>/s)[1].length < 500_000, statSync(file).size);
  for (const [size, width, height] of [["desktop", 1400, 900], ["phone", 390, 844]]) {
    for (const scheme of ["light", "dark"]) {
      const { tab, said, close } = await open(file, width, height);
      await tab.emulateMedia({ colorScheme: scheme });
      await tab.waitForTimeout(300);
      await tab.screenshot({ path: join(folder, `${name}-${size}-${scheme}.png`) });
      check(`${name} ${size} ${scheme}: console`, said.length === 0, said);
      await close();
      const context = await browser.newContext({ viewport: { width, height }, bypassCSP: true, colorScheme: scheme });
      const inspected = await context.newPage();
      await inspected.goto(pathToFileURL(file).href);
      await inspected.waitForSelector("#map .cluster");
      const found = await violations(inspected);
      check(`${name} ${size} ${scheme}: accessibility`, found.length === 0, found);
      await context.close();
    }
  }
}

{
  const { tab, said, close } = await open(join(folder, "demo.html"), 1400, 900);
  await tab.keyboard.press("/");
  check("slash goes to the search", await tab.evaluate(() => document.activeElement.id) === "search", null);
  await tab.keyboard.type("podinfo");
  await tab.waitForTimeout(300);
  const summary = await tab.textContent("#summary");
  check("search says how many match", /of \d+ match/.test(summary), summary);
  await tab.keyboard.press("Enter");
  await tab.waitForSelector("#details:not([hidden])");
  check("Enter opens the first match", (await tab.textContent("#details h2")).includes("podinfo"), await tab.textContent("#details"));
  check("files have lines", /\.yaml:\d+/.test(await tab.textContent("#details")), await tab.textContent("#details"));
  await tab.waitForTimeout(400);
  const address = tab.url();
  check("the address keeps the state", address.includes("q=podinfo") && address.includes("item="), address);
  await tab.keyboard.press("Escape");
  check("Escape closes", await tab.isHidden("#details"), null);
  await tab.goto("about:blank");
  await tab.goto(address);
  await tab.waitForSelector("#details:not([hidden])");
  check("the address brings it back", await tab.inputValue("#search") === "podinfo", await tab.inputValue("#search"));
  await tab.fill("#search", "");
  await tab.focus("#tree [tabindex='0']");
  await tab.keyboard.press("ArrowDown");
  await tab.keyboard.press("Enter");
  check("the list is walked by keyboard", await tab.isVisible("#details h2"), null);
  const before = await tab.getAttribute("#map g", "transform");
  await tab.focus("#stage");
  await tab.keyboard.press("+");
  await tab.waitForTimeout(200);
  check("plus zooms", before !== await tab.getAttribute("#map g", "transform"), before);
  await tab.emulateMedia({ media: "print" });
  await tab.screenshot({ path: join(folder, "demo-print.png") });
  check("keyboard: console", said.length === 0, said);
  await close();
}

{
  const file = page(hostile(), "hostile");
  const text = readFileSync(file, "utf8");
  check("no token reaches the page", !text.includes("hunter2"), "hunter2");
  const { tab, said, close } = await open(file, 1400, 900);
  const rows = await tab.evaluate(() => document.querySelectorAll("#tree [role=treeitem]").length);
  for (let index = 0; index < rows; index += 1) {
    await tab.evaluate((at) => document.querySelectorAll("#tree [role=treeitem] > span")[at].parentElement.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })), index);
    await tab.evaluate((at) => { const li = document.querySelectorAll("#tree [role=treeitem]")[at]; if (li) li.querySelector("span").click(); }, index);
  }
  check("nothing of a name runs", await tab.evaluate(() => window.ran) === undefined, null);
  check("no element comes from a name", await tab.evaluate(() => document.querySelectorAll("img, iframe, a").length) === 0, null);
  check("hostile: console and policy", said.length === 0, said);
  await close();
}

{
  const file = page(large(), "large");
  const { tab, said, close } = await open(file, 1400, 900);
  await tab.waitForFunction(() => performance.getEntriesByType("paint").length > 0, null, { timeout: 5000 }).catch(() => {});
  const first = await tab.evaluate(() => performance.getEntriesByType("paint").map((entry) => [entry.name, Math.round(entry.startTime)]));
  const frames = await tab.evaluate(async () => {
    const stage = document.getElementById("stage");
    for (let count = 0; count < 4; count += 1) stage.dispatchEvent(new KeyboardEvent("keydown", { key: "+", bubbles: true }));
    const times = [];
    let last = performance.now();
    for (let count = 0; count < 60; count += 1) {
      stage.dispatchEvent(new WheelEvent("wheel", { deltaX: 20, deltaY: 10, bubbles: true, cancelable: true }));
      await new Promise((done) => requestAnimationFrame(done));
      times.push(performance.now() - last);
      last = performance.now();
    }
    times.sort((a, b) => a - b);
    return { median: times[30], worst: times[59] };
  });
  await tab.focus("#stage");
  await tab.keyboard.press("0");
  await tab.waitForTimeout(300);
  await tab.screenshot({ path: join(folder, "large.png") });
  console.log(`3,000 Kustomizations: ${statSync(file).size} bytes, ${JSON.stringify(first)} ms, a frame while moving: median ${frames.median.toFixed(0)} ms, worst ${frames.worst.toFixed(0)} ms`);
  check("large: console", said.length === 0, said);
  await close();
}

// Reports are read without a script: what they have of lint and plan, folded parts opened.
const report = (name, ...command) => {
  const file = join(folder, `${name}.html`);
  try {
    writeFileSync(file, execFileSync(binary, [...command, "--no-config", "--format", "html"]));
  } catch (error) {
    // Findings make the exit code 1.
    if (error.status !== 1) throw error;
    writeFileSync(file, error.stdout);
  }
  return file;
};
const reports = [
  ["lint", report("lint", "lint", "--root", "fixtures/demo", "--show", "info")],
  ["plan", report("plan", "plan", "--root", "fixtures/update/after", "--base", "./fixtures/update/before")],
  ["lint-hostile", report("lint-hostile", "lint", "--root", hostile(), "--show", "info")],
];
for (const extra of (process.env.FOREBAY_PAGES || "").split(":").filter(Boolean)) {
  reports.push([extra.split("/").pop(), extra]);
}
for (const [name, file] of reports) {
  for (const [size, width, height] of [["desktop", 1400, 900], ["phone", 390, 844]]) {
    for (const colorScheme of ["light", "dark"]) {
      const context = await browser.newContext({ viewport: { width, height }, colorScheme });
      const tab = await context.newPage();
      const said = [];
      tab.on("console", (message) => said.push(message.text()));
      tab.on("request", (request) => { if (!request.url().startsWith("file:")) said.push(`request: ${request.url()}`); });
      await tab.goto(pathToFileURL(file).href);
      await tab.screenshot({ path: join(folder, `${name}-${size}-${colorScheme}.png`), fullPage: true });
      check(`${name} ${size} ${colorScheme}: console and policy`, said.length === 0, said);
      check(`${name} ${size} ${colorScheme}: the style is taken`, await tab.evaluate(() => getComputedStyle(document.querySelector("h1")).fontSize) === "22px", null);
      const wide = await tab.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      check(`${name} ${size} ${colorScheme}: nothing is wider than the screen`, wide <= 0, wide);
      await context.close();
      const inspected = await browser.newContext({ viewport: { width, height }, bypassCSP: true, colorScheme });
      const open = await inspected.newPage();
      await open.goto(pathToFileURL(file).href);
      await open.evaluate(() => document.querySelectorAll("details").forEach((part) => { part.open = true; }));
      const found = await violations(open);
      check(`${name} ${size} ${colorScheme}: accessibility`, found.length === 0, found);
      const strange = await open.evaluate(() => [...document.querySelectorAll("img, iframe, script, a:not([href^='https://github.com/forebay/forebay/'])")].filter((part) => part.localName !== "script" || part.textContent.includes("ran=1")).map((part) => part.outerHTML));
      check(`${name}: no element comes from a name`, strange.length === 0 && await open.evaluate(() => window.ran) === undefined, strange);
      await inspected.close();
    }
  }
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  const tab = await context.newPage();
  await tab.goto(pathToFileURL(file).href);
  if (await tab.locator("summary").count()) {
    for (let count = 0; count < 200 && await tab.evaluate(() => document.activeElement.localName) !== "summary"; count += 1) await tab.keyboard.press("Tab");
    await tab.keyboard.press("Enter");
    check(`${name}: the keyboard unfolds`, await tab.locator("details[open]").count() === 1, null);
  }
  await tab.emulateMedia({ media: "print" });
  await tab.screenshot({ path: join(folder, `${name}-print.png`), fullPage: true });
  await context.close();
}

await browser.close();
for (const root of scratches) rmSync(root, { recursive: true });
for (const failure of failures) console.log(`failed: ${failure}`);
console.log(`${passed} passed, ${failures.length} failed`);
process.exitCode = failures.length ? 1 : 0;
