//! What an editor waits for: from a key to the diagnostics of the whole repository,
//! hover and completion, with the real server over standard input and output, in the
//! ten largest repositories of the corpus, and in a generated one of 10,000 files; and what
//! the server holds after 10,000 keys. docs/performance.md has the figures.

#![allow(missing_docs, clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support/corpus.rs"]
mod corpus;
mod generated;

use corpus::{Corpus, manifests};
use generated::write_fleet;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Files of each repository that are edited.
const FILES: usize = 20;

fn main() {
    let directory = tempfile::tempdir().unwrap();
    let large = directory.path().join("generated");
    write_fleet(&large, &["production"], 2_000);
    let mut sized: Vec<(usize, PathBuf)> = Vec::new();
    match Corpus::find() {
        Some(corpus) => {
            let roots = fs::read_dir(corpus.root()).unwrap().map(|entry| entry.unwrap().path());
            sized.extend(roots.filter(|root| root.is_dir()).map(|root| (manifests(&root).len(), root)));
        }
        None => println!("skipped: no corpus"),
    }
    sized.sort();
    sized.drain(..sized.len().saturating_sub(10));
    sized.push((manifests(&large).len(), large));
    println!(
        "{:40} {:>6} {:>17} {:>17} {:>17} {:>8}",
        "median and worst, ms", "files", "key", "hover", "completion", "MiB"
    );
    for (count, root) in sized.into_iter().rev() {
        let times = measure(&root);
        let name = root.file_name().unwrap().to_string_lossy().into_owned();
        let [keys, hovers, completions] = times.all.map(|mut all| {
            all.sort();
            let ms = |time: Duration| time.as_secs_f64() * 1000.0;
            format!("{:.1} {:.1}", ms(all[all.len() / 2]), ms(all[all.len() - 1]))
        });
        println!("{name:40} {count:6} {keys:>17} {hovers:>17} {completions:>17} {:>8}", times.peak);
    }
    let small = directory.path().join("small");
    write_fleet(&small, &["production"], 100);
    held(&small);
}

/// What the server holds after more and more keys in one file.
fn held(root: &Path) {
    let mut client = start(root);
    let path = root.join("apps/app-7/deployment.yaml");
    let text = fs::read_to_string(&path).unwrap();
    let uri = format!("file://{}", path.display());
    let opened = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
    client.notify("textDocument/didOpen", json!({"textDocument": opened}));
    client.settle();
    let line = text.lines().position(|line| line.contains("image:")).unwrap();
    let end = text.lines().nth(line).unwrap().len();
    for edit in 1..=10_000 {
        // A digit more, a digit less.
        let (from, to, key) = if edit % 2 == 1 { (end, end, "1") } else { (end, end + 1, "") };
        let at = |character: usize| json!({"line": line, "character": character});
        let change = json!({"range": {"start": at(from), "end": at(to)}, "text": key});
        let document = json!({"uri": uri, "version": edit + 1});
        client
            .notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
        client.settle();
        if matches!(edit, 10 | 100 | 1_000 | 10_000) {
            println!("after {edit} keys: {} MiB", memory(&client.child, "VmRSS:").unwrap_or_default());
        }
    }
    client.end();
}

struct Times {
    /// Keys, hovers, completions.
    all: [Vec<Duration>; 3],
    /// MiB at most.
    peak: u64,
}

struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn notify(&mut self, method: &str, parameters: Value) {
        self.send(json!({"method": method, "params": parameters}));
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.output.read_line(&mut line).unwrap();
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap_or(length),
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    fn request(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(json!({"id": id, "method": method, "params": parameters}));
        loop {
            let message = self.receive();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
        }
    }

    fn settle(&mut self) {
        while self.receive()["method"] != "forebay/changed" {}
    }

    fn end(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        self.child.wait().unwrap();
    }
}

fn start(root: &Path) -> Client {
    let binary = std::env::var("FOREBAY").unwrap_or_else(|_| env!("CARGO_BIN_EXE_forebay").to_owned());
    let mut child = Command::new(binary)
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut client = Client { child, input, output, next: 0 };
    let root_uri = format!("file://{}", root.display());
    let capabilities = json!({"experimental": {"forebayChanged": true}});
    client
        .request("initialize", json!({"processId": null, "rootUri": root_uri, "capabilities": capabilities}));
    client.notify("initialized", json!({}));
    client.settle();
    client
}

fn measure(root: &Path) -> Times {
    let mut client = start(root);
    let mut all = [Vec::new(), Vec::new(), Vec::new()];
    let files = manifests(root);
    for path in files.iter().step_by((files.len() / FILES).max(1)).take(FILES) {
        let Ok(text) = fs::read_to_string(path) else { continue };
        let uri = format!("file://{}", path.display());
        let opened = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        client.notify("textDocument/didOpen", json!({"textDocument": opened}));
        client.settle();
        // In the middle of the file, at the end of a line: a word is written.
        let line = text.lines().count() / 2;
        let end = text.lines().nth(line).unwrap_or_default().encode_utf16().count();
        for (typed, key) in ["x", "y", ":", " ", "z"].into_iter().enumerate() {
            let at = json!({"line": line, "character": end + typed});
            let change = json!({"range": {"start": at, "end": at}, "text": key});
            let document = json!({"uri": uri, "version": 2});
            let start = Instant::now();
            client.notify(
                "textDocument/didChange",
                json!({"textDocument": document, "contentChanges": [change]}),
            );
            client.settle();
            all[0].push(start.elapsed());
        }
        for line in [line / 2, line] {
            let place = json!({"textDocument": {"uri": uri}, "position": {"line": line, "character": 6}});
            let start = Instant::now();
            client.request("textDocument/hover", place.clone());
            all[1].push(start.elapsed());
            let start = Instant::now();
            client.request("textDocument/completion", place);
            all[2].push(start.elapsed());
        }
        client.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        client.settle();
    }
    let peak = memory(&client.child, "VmHWM:").unwrap_or_default();
    client.end();
    Times { all, peak }
}

/// What a process holds (`VmRSS:`), or the most that it held (`VmHWM:`), in MiB; where the
/// system tells.
fn memory(child: &Child, field: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}
