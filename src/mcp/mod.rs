//! `forebay mcp`: questions of agents, in the Model Context Protocol over standard input
//! and output: JSON-RPC 2.0, one message a line.
//!
//! As little as the specification asks of a server with tools: `initialize`, `ping`,
//! `tools/list`, `tools/call`. One request at a time; the repository is read anew for each,
//! so that an answer is never older than the question.

mod tools;

use crate::lang::text::clean;
use serde_json::{Map, Value, json};
use std::io::{self, BufRead, Write};
pub(crate) use tools::{TOOLS, Tool};

/// Versions of the protocol, the newest first.
const VERSIONS: [&str; 3] = ["2025-11-25", "2025-06-18", "2024-11-05"];

/// Bytes of a request, its end of line included.
const REQUEST_LIMIT: usize = 1 << 20;

/// Bytes of an answer: a page of text as JSON writes it, and some for what is around it.
const ANSWER_LIMIT: usize = 1 << 20;
const AROUND: usize = 4 << 10;

/// What the model is told of the server.
const ABOUT: &str = "forebay reads a GitOps repository of Flux and Cluster API manifests without a cluster or \
    a network, and tells what the controllers will do with it. All tools only read. What can't be known offline \
    is unknown and counted under notChecked. Values of Secrets are masked.";

/// What runs a tool with these words of a command line: its answer, or why there is none.
pub(crate) type RunTool<'r> = dyn FnMut(&Tool, &[String]) -> Result<String, String> + 'r;

struct Session<'s> {
    run: &'s mut RunTool<'s>,
    /// The words of the last call and its answer, for its further pages.
    last: Option<(Vec<String>, String)>,
}

/// Why a request isn't answered: JSON-RPC's code, and words.
type RequestRefusal = (i32, String);

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// Answers line after line until the input ends.
///
/// # Errors
/// Input or output can't be used.
pub(crate) fn serve<'s>(
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    run: &'s mut RunTool<'s>,
) -> io::Result<()> {
    let mut session = Session { run, last: None };
    while let Some(line) = next_line(input)? {
        let answer = match line {
            Some(line) if line.trim_ascii().is_empty() => continue,
            Some(line) => session.message(&line),
            None => Some(refused(
                &Value::Null,
                (INVALID_REQUEST, format!("a request has at most {REQUEST_LIMIT} bytes")),
            )),
        };
        if let Some(answer) = answer {
            output.write_all(format!("{answer}\n").as_bytes())?;
            output.flush()?;
        }
    }
    Ok(())
}

/// The next line; `Some(None)` for one that is too long, `None` at the end.
fn next_line(input: &mut dyn BufRead) -> io::Result<Option<Option<Vec<u8>>>> {
    let (mut line, mut length) = (Vec::new(), 0);
    loop {
        let read = input.fill_buf()?;
        if read.is_empty() {
            return Ok((length > 0).then_some((length <= REQUEST_LIMIT).then_some(line)));
        }
        let end = read.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(read.len(), |end| end + 1);
        length += taken;
        if length <= REQUEST_LIMIT {
            line.extend_from_slice(&read[..taken]);
        }
        input.consume(taken);
        if end.is_some() {
            return Ok(Some((length <= REQUEST_LIMIT).then_some(line)));
        }
    }
}

fn refused(id: &Value, (code, message): RequestRefusal) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

impl Session<'_> {
    /// What to answer to a message; nothing to a notification.
    fn message(&mut self, line: &[u8]) -> Option<Value> {
        let message: Value = match serde_json::from_slice(line) {
            Ok(message) => message,
            Err(_) => return Some(refused(&Value::Null, (PARSE_ERROR, "this is no JSON".to_owned()))),
        };
        let id = message.get("id").filter(|id| id.is_string() || id.is_number()).cloned();
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // The answer to a request that was never made.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            let words = || (INVALID_REQUEST, "a request is a map with `method`".to_owned());
            return (!is_answer).then(|| refused(&id.unwrap_or_default(), words()));
        };
        let id = match (id, message.get("id")) {
            (Some(id), _) => id,
            (None, None) => return None,
            (None, Some(_)) => {
                let words = "an id is a text or a number".to_owned();
                return Some(refused(&Value::Null, (INVALID_REQUEST, words)));
            }
        };
        let nothing = Map::new();
        let params = message.get("params").and_then(Value::as_object).unwrap_or(&nothing);
        let result = match method {
            "initialize" => Ok(initialize(params)),
            "ping" => Ok(json!({})),
            "tools/list" => Ok(json!({"tools": TOOLS.iter().map(Tool::listed).collect::<Vec<_>>()})),
            "tools/call" => self.call(params),
            other => Err((METHOD_NOT_FOUND, format!("no method `{}`", clean(other)))),
        };
        Some(match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(refusal) => refused(&id, refusal),
        })
    }

    fn call(&mut self, params: &Map<String, Value>) -> Result<Value, RequestRefusal> {
        let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
            return Err((INVALID_PARAMS, format!("no tool `{}`; `tools/list` has all", clean(name))));
        };
        let nothing = Map::new();
        let given = match params.get("arguments") {
            None | Some(Value::Null) => &nothing,
            Some(Value::Object(given)) => given,
            Some(_) => return Err((INVALID_PARAMS, "arguments: a map".to_owned())),
        };
        let answered = tool.call(given).and_then(|call| {
            let key: Vec<String> =
                std::iter::once(name.to_owned()).chain(call.words.iter().cloned()).collect();
            // Pages are of one answer, whatever became of the files meanwhile.
            let known = self.last.take().filter(|(last, _)| call.page > 1 && *last == key);
            let text = match known {
                Some((_, text)) => text,
                None => (self.run)(tool, &call.words)?,
            };
            let page = page(&text, call.page);
            self.last = Some((key, text));
            page
        });
        Ok(answered.unwrap_or_else(
            |why| json!({"content": [{"type": "text", "text": first(&why)}], "isError": true}),
        ))
    }
}

fn initialize(params: &Map<String, Value>) -> Value {
    let asked = params.get("protocolVersion").and_then(Value::as_str);
    let version = VERSIONS.iter().find(|version| asked == Some(**version)).unwrap_or(&VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "forebay", "version": env!("CARGO_PKG_VERSION")},
        "instructions": ABOUT,
    })
}

/// The result that is a page of a text.
fn page(text: &str, number: usize) -> Result<Value, String> {
    let pages = pages(text);
    let Some(shown) = pages.get(number - 1) else {
        return Err(format!("page: the answer has {} pages", pages.len()));
    };
    let mut content = vec![json!({"type": "text", "text": shown})];
    if pages.len() > 1 {
        let more = match number < pages.len() {
            true => format!("; call again with page {} for what follows", number + 1),
            false => String::new(),
        };
        content.push(json!({"type": "text", "text": format!("page {number} of {}{more}", pages.len())}));
    }
    Ok(json!({"content": content, "isError": false, "_meta": {"page": number, "pages": pages.len()}}))
}

/// As much of a text as one answer holds.
fn first(text: &str) -> &str {
    pages(text).first().copied().unwrap_or_default()
}

/// A text in pieces that fit into an answer, cut behind a line where there is one.
fn pages(text: &str) -> Vec<&str> {
    let limit = ANSWER_LIMIT - AROUND;
    let (mut pages, mut start, mut length, mut line) = (Vec::new(), 0, 0, None);
    for (at, c) in text.char_indices() {
        let written = match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..='\u{1f}' => 6,
            _ => c.len_utf8(),
        };
        if length + written > limit {
            let (end, rest) = line.take().unwrap_or((at, 0));
            pages.push(&text[start..end]);
            (start, length) = (end, length - if end == at { length } else { rest });
        }
        length += written;
        if c == '\n' {
            line = Some((at + 1, length));
        }
    }
    if start < text.len() || pages.is_empty() {
        pages.push(&text[start..]);
    }
    pages
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_the_text_and_each_fits() {
        let lines = "a \"quoted\" line\n".repeat(200_000);
        let one = "\u{1}".repeat(1 << 19);
        let wide = "é\\".repeat(1 << 19);
        for text in ["", "short\n", &lines, &one, &wide] {
            let pages = pages(text);
            assert_eq!(pages.concat(), text);
            for page in &pages {
                assert!(json!(page).to_string().len() <= ANSWER_LIMIT - AROUND + 2, "{}", page.len());
            }
            assert!(pages.len() <= json!(text).to_string().len() / (ANSWER_LIMIT / 2) + 1);
        }
        assert!(pages(&lines).iter().all(|page| page.ends_with('\n')));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_over() {
        let mut input = "x".repeat(REQUEST_LIMIT + 5).into_bytes();
        input.extend_from_slice(b"\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}");
        let mut out = Vec::new();
        serve(&mut &input[..], &mut out, &mut |_, _| unreachable!()).expect("in memory");
        let out = String::from_utf8(out).expect("UTF-8");
        let lines: Vec<&str> = out.lines().collect();
        assert!(lines[0].contains("-32600") && lines[1].contains("\"result\":{}"), "{out}");
        assert_eq!(lines.len(), 2);
    }
}
