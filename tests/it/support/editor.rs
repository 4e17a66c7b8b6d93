//! A client of the language server: the real binary over standard input and output.

use super::scratch::{Scratch, forebay};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Longer than any answer takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// An editor with a repository open.
pub(crate) struct Editor {
    child: Child,
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    root: PathBuf,
    next: i64,
    /// The diagnostics that were sent, by path.
    pub(crate) shown: BTreeMap<String, Vec<Value>>,
    /// What the server answered to `initialize`.
    pub(crate) capabilities: Value,
    /// Requests of the server to the editor.
    pub(crate) asked: Vec<Value>,
    texts: BTreeMap<String, String>,
}

impl Editor {
    /// With a folder, and these `initializationOptions`.
    pub(crate) fn open(root: &Path, options: Value) -> Editor {
        Editor::with(root, options, &["utf-16"])
    }

    /// With these encodings of positions, the best first.
    pub(crate) fn with(root: &Path, options: Value, encodings: &[&str]) -> Editor {
        Editor::start(root, options, encodings, &[])
    }

    /// With these flags of the server.
    pub(crate) fn with_flags(root: &Path, flags: &[&str]) -> Editor {
        Editor::start(root, Value::Null, &["utf-16"], flags)
    }

    fn start(root: &Path, options: Value, encodings: &[&str], flags: &[&str]) -> Editor {
        let mut child = forebay()
            .arg("lsp")
            .args(flags)
            .current_dir(std::env::temp_dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("forebay runs");
        let output = child.stdout.take().expect("piped");
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let root = root.canonicalize().expect("the root exists");
        let mut editor = Editor {
            input: child.stdin.take(),
            child,
            messages,
            root,
            next: 0,
            shown: BTreeMap::new(),
            capabilities: Value::Null,
            asked: Vec::new(),
            texts: BTreeMap::new(),
        };
        let uri = editor.uri("").trim_end_matches('/').to_owned();
        let answer = editor.request(
            "initialize",
            json!({
                "processId": null,
                "workspaceFolders": [{"uri": uri, "name": "fleet"}],
                "initializationOptions": options,
                "capabilities": {
                    "general": {"positionEncodings": encodings},
                    "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}},
                    "experimental": {"forebayChanged": true, "forebayCharts": true},
                },
            }),
        );
        editor.capabilities = answer["capabilities"].clone();
        editor.notify("initialized", json!({}));
        editor
    }

    /// The URI of a path.
    pub(crate) fn uri(&self, path: &str) -> String {
        format!("file://{}/{path}", self.root.display())
    }

    /// The path of a URI.
    pub(crate) fn path(&self, uri: &Value) -> String {
        let uri = uri.as_str().expect("a URI");
        uri.strip_prefix(&self.uri("")).unwrap_or(uri).to_owned()
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.input.as_mut().expect("the server reads");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("the server reads");
        input.flush().expect("the server reads");
    }

    /// Send a notification.
    pub(crate) fn notify(&mut self, method: &str, parameters: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": parameters}));
    }

    /// Ask, and wait for the answer.
    pub(crate) fn request(&mut self, method: &str, parameters: Value) -> Value {
        let answer = self.try_request(method, parameters);
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// Ask, and take an error for an answer.
    pub(crate) fn try_request(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let id = self.next;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": parameters}));
        loop {
            let message = self.receive();
            if message["id"] == json!(id) && message.get("method").is_none() {
                return message;
            }
            self.take(&message);
        }
    }

    fn receive(&mut self) -> Value {
        self.messages.recv_timeout(PATIENCE).expect("the server answers")
    }

    fn take(&mut self, message: &Value) {
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let path = self.path(&message["params"]["uri"]);
                let items = message["params"]["diagnostics"].as_array().expect("a list").clone();
                match items.is_empty() {
                    true => self.shown.remove(&path),
                    false => self.shown.insert(path, items),
                };
            }
            Some(_) if message.get("id").is_some() => {
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": null});
                self.asked.push(message.clone());
                self.send(&answer);
            }
            _ => {}
        }
    }

    /// Wait until the server has told what it makes of the last notification.
    pub(crate) fn settle(&mut self) {
        loop {
            let message = self.receive();
            self.take(&message);
            if message["method"] == "forebay/changed" {
                return;
            }
        }
    }

    /// Open a file, as it is on disk.
    pub(crate) fn edit(&mut self, path: &str) {
        let text = std::fs::read_to_string(self.root.join(path)).expect("a text");
        self.edit_new(path, &text);
    }

    /// Open a text.
    pub(crate) fn edit_new(&mut self, path: &str, text: &str) {
        let uri = self.uri(path);
        self.texts.insert(path.to_owned(), text.to_owned());
        self.notify(
            "textDocument/didOpen",
            json!({"textDocument": {"uri": uri, "languageId": "yaml", "version": 1, "text": text}}),
        );
        self.settle();
    }

    /// Have another text of an open file, all of it sent.
    pub(crate) fn set(&mut self, path: &str, text: &str) {
        self.texts.insert(path.to_owned(), text.to_owned());
        let uri = self.uri(path);
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": 2}, "contentChanges": [{"text": text}]}),
        );
        self.settle();
    }

    /// Replace a text in an open file, only the change sent, as UTF-16 counts.
    pub(crate) fn replace(&mut self, path: &str, old: &str, new: &str) {
        let text = self.texts[path].clone();
        let start = text.find(old).unwrap_or_else(|| panic!("{path} holds no `{old}`"));
        let range = json!({"start": position(&text, start), "end": position(&text, start + old.len())});
        let uri = self.uri(path);
        self.texts.insert(path.to_owned(), text.replacen(old, new, 1));
        self.notify(
            "textDocument/didChange",
            json!({"textDocument": {"uri": uri, "version": 3}, "contentChanges": [{"range": range, "text": new}]}),
        );
        self.settle();
    }

    /// Write an open file.
    pub(crate) fn save(&mut self, path: &str) {
        let full = self.root.join(path);
        std::fs::create_dir_all(full.parent().expect("a directory")).expect("a directory");
        std::fs::write(full, &self.texts[path]).expect("a file");
        let uri = self.uri(path);
        self.notify("textDocument/didSave", json!({"textDocument": {"uri": uri}}));
        self.settle();
    }

    /// Close a file.
    pub(crate) fn close(&mut self, path: &str) {
        let uri = self.uri(path);
        self.notify("textDocument/didClose", json!({"textDocument": {"uri": uri}}));
        self.settle();
    }

    /// The text of an open file.
    pub(crate) fn text(&self, path: &str) -> &str {
        &self.texts[path]
    }

    /// The parameters of a request about the place where `|` stands in `mark`, which
    /// is the file's text around it.
    pub(crate) fn at(&self, path: &str, mark: &str) -> Value {
        let full = std::fs::read_to_string(self.root.join(path));
        let text = self.texts.get(path).cloned().unwrap_or_else(|| full.expect("a text"));
        let cursor = mark.find('|').expect("a cursor");
        let needle = mark.replacen('|', "", 1);
        let start = text.find(&needle).unwrap_or_else(|| panic!("{path} holds no `{needle}`:\n{text}"));
        json!({"textDocument": {"uri": self.uri(path)}, "position": position(&text, start + cursor)})
    }

    /// `path:line: [rule] first line of the message` of all that was sent.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut all = Vec::new();
        for (path, items) in &self.shown {
            for item in items {
                let line = item["range"]["start"]["line"].as_u64().expect("a line") + 1;
                let message = item["message"].as_str().expect("a message").lines().next().unwrap_or_default();
                let code = item["code"].as_str().unwrap_or("config");
                all.push(format!("{path}:{line}: [{code}] {message}"));
            }
        }
        all
    }

    /// A place of an answer as `path:line:column`, counted from 1.
    pub(crate) fn place(&self, location: &Value) -> String {
        let start = &location["range"]["start"];
        let number = |name: &str| start[name].as_u64().expect("a number") + 1;
        format!("{}:{}:{}", self.path(&location["uri"]), number("line"), number("character"))
    }

    /// End the session, as editors do.
    pub(crate) fn quit(mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        drop(self.input.take());
        let status = self.child.wait().expect("the server ends");
        assert!(status.success(), "{status}");
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.parse().ok()?
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

/// The position of a byte, as UTF-16 counts.
pub(crate) fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({
        "line": before.matches('\n').count(),
        "character": before[start..].encode_utf16().count(),
    })
}

/// The fleet of `fixtures/editor`, in a git repository of its own.
pub(crate) fn fleet() -> Scratch {
    let scratch = Scratch::git(&[]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/editor");
    let mut directories = vec![root.clone()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).expect("the fixture").flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
                continue;
            }
            let relative =
                path.strip_prefix(&root).expect("below the fixture").to_string_lossy().into_owned();
            scratch.write(&relative, &std::fs::read(&path).expect("a file"));
        }
    }
    scratch
}
