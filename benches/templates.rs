//! Templates in a chart's manner: output by time, with and without origins, and what
//! twice the elements cost in loops. docs/performance.md has the figures.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

use forebay::internals::lang::template::{Data, Engine, EngineRun, OriginId, Val, with_stack};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Renders of each kind, of which the median counts.
const RUNS: usize = 15;

const HELPERS: &str = r#"{{ define "name" }}{{ printf "%s-%s" .top.release .app.name | trunc 63 | trimSuffix "-" }}{{ end }}
{{ define "labels" -}}
app.kubernetes.io/name: {{ .app.name | quote }}
app.kubernetes.io/instance: {{ .top.release | quote }}
app.kubernetes.io/version: {{ .app.tag | default "latest" | quote }}
{{- end }}"#;

const MANIFESTS: &str = r#"{{- range $index, $app := .apps }}
{{- $context := dict "top" $ "app" $app }}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "name" $context }}
  labels:
    {{- include "labels" $context | nindent 4 }}
  {{- with $app.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  replicas: {{ $app.replicas | default 1 | int }}
  template:
    metadata:
      labels: {{- include "labels" $context | nindent 8 }}
    spec:
      containers:
        - name: {{ $app.name }}
          image: "{{ $.registry }}/{{ $app.image }}:{{ $app.tag | default "latest" }}"
          {{- if $app.env }}
          env:
            {{- range $key, $value := $app.env }}
            - name: {{ $key | upper }}
              value: {{ tpl $value $context | quote }}
            {{- end }}
          {{- end }}
          resources: {{- toYaml $app.resources | nindent 12 }}
{{- end }}"#;

/// Numbers each value, so that every one has an origin of its own.
struct Values<'d, 'e> {
    data: &'d mut Data<'e>,
    count: u32,
}

impl Values<'_, '_> {
    fn origin(&mut self) -> Option<OriginId> {
        self.count += 1;
        Some(OriginId(self.count))
    }

    fn text(&mut self, text: &str) -> Val {
        let origin = self.origin();
        self.data.text(text, origin)
    }

    fn map(&mut self, entries: Vec<(&str, Val)>) -> Val {
        let origin = self.origin();
        self.data.map(entries.into_iter().map(|(key, val)| (key.to_owned(), val)).collect(), origin)
    }

    fn app(&mut self, index: usize) -> Val {
        let (name, image, tag) = (format!("app{index}"), format!("team/app{index}"), format!("1.{index}.0"));
        let annotations = ["a.example.com/one", "b.example.com/two", "c.example.com/three"];
        let annotations = annotations.map(|key| (key, self.text("some text of an annotation"))).into();
        let env = [("host", "db.{{ .app.name }}.svc"), ("level", "info"), ("mode", "production")];
        let env = env.map(|(key, value)| (key, self.text(value))).into();
        let limits = vec![("cpu", self.text("500m")), ("memory", self.text("512Mi"))];
        let requests = vec![("cpu", self.text("50m")), ("memory", self.text("128Mi"))];
        let limits = self.map(limits);
        let requests = self.map(requests);
        let origin = self.origin();
        let entries = vec![
            ("name", self.text(&name)),
            ("image", self.text(&image)),
            ("tag", self.text(&tag)),
            ("replicas", self.data.float(2.0, origin)),
            ("annotations", self.map(annotations)),
            ("env", self.map(env)),
            ("resources", self.map(vec![("limits", limits), ("requests", requests)])),
        ];
        self.map(entries)
    }
}

/// Renders so many applications; the time without parsing and values, and the bytes.
fn render(apps: usize, origins: bool) -> (Duration, usize) {
    let mut engine = Engine::new(&EngineRun { origins, ..EngineRun::default() });
    assert!(engine.add("_h.tpl", HELPERS).is_empty());
    assert!(engine.add("main.yaml", MANIFESTS).is_empty());
    let mut data = engine.data();
    let mut values = Values { data: &mut data, count: 0 };
    let list: Vec<Val> = (0..apps).map(|index| values.app(index)).collect();
    let list = values.data.list(list, None);
    let entries = vec![
        ("apps", list),
        ("release", values.text("prod")),
        ("registry", values.text("registry.example.com")),
    ];
    let dot = values.map(entries);
    let start = Instant::now();
    let output = engine.run("main.yaml", &dot).unwrap();
    let time = start.elapsed();
    (time, black_box(output.bytes()).len())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn throughput(apps: usize) {
    // In turns, so that both meet the same machine.
    let (mut with, mut without, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..RUNS {
        let (time, length) = render(apps, true);
        with.push(time);
        without.push(render(apps, false).0);
        bytes = length;
    }
    let (with, without) = (median(with), median(without));
    let rate = |time: Duration| bytes as f64 / 1e6 / time.as_secs_f64();
    println!(
        "{apps} applications, {bytes} bytes: {:.1} MB/s with origins, {:.1} MB/s without; origins are {:.0} % of the render",
        rate(with),
        rate(without),
        100.0 * (1.0 - without.as_secs_f64() / with.as_secs_f64())
    );
}

const LOOPS: [(&str, &str); 9] = [
    (
        "string concatenation",
        "{{ $x := \"\" }}{{ range until . }}{{ $x = printf \"%s%s\" $x \"abc\" }}{{ end }}{{ len $x }}",
    ),
    ("append", "{{ $x := list }}{{ range $i := until . }}{{ $x = append $x $i }}{{ end }}{{ len $x }}"),
    ("prepend", "{{ $x := list }}{{ range $i := until . }}{{ $x = prepend $x $i }}{{ end }}{{ len $x }}"),
    ("set", "{{ $x := dict }}{{ range $i := until . }}{{ $_ := set $x (print $i) $i }}{{ end }}{{ len $x }}"),
    (
        "merge",
        "{{ $x := dict }}{{ range $i := until . }}{{ $x = merge $x (dict (print $i) 1) }}{{ end }}{{ len $x }}",
    ),
    ("toYaml in a range", "{{ range $i := until . }}{{ dict \"a\" $i | toYaml | nindent 2 }}{{ end }}"),
    (
        "include in a range",
        "{{ define \"d\" }}{{ . }}{{ end }}{{ range $i := until . }}{{ include \"d\" $i }}{{ end }}",
    ),
    ("tpl in a range", "{{ range $i := until . }}{{ tpl \"{{ . }}\" $i }}{{ end }}"),
    (
        "toYaml of the whole",
        "{{ $x := list }}{{ range $i := until . }}{{ $x = append $x $i }}{{ end }}{{ toYaml $x }}",
    ),
];

fn growth(name: &str, text: &str) {
    let time = |count: i64| {
        let run = || {
            let mut engine = Engine::new(&EngineRun { origins: true, ..EngineRun::default() });
            assert!(engine.add("t", text).is_empty());
            let data = engine.data().int(count, Some(OriginId(1)));
            let start = Instant::now();
            let output = engine.run("t", &data).unwrap_or_else(|failure| panic!("{text}: {failure:?}"));
            black_box(output.bytes());
            start.elapsed()
        };
        median((0..RUNS).map(|_| run()).collect())
    };
    let (once, twice) = (time(4_000), time(8_000));
    println!("{name}: twice the elements take {:.2} times as long", twice.as_secs_f64() / once.as_secs_f64());
}

fn main() {
    with_stack(|| {
        for apps in [100, 1_000] {
            throughput(apps);
        }
        for (name, text) in LOOPS {
            growth(name, text);
        }
    })
    .unwrap();
}
