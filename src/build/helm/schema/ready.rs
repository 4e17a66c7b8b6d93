//! A schema made ready once for all values that are checked against it.

use super::compile::{Compiled, Compiler, DEPTH, Draft, Id, OWN, Remote};
use super::text;
use super::validate::{ValidationFault, Validator};
use crate::build::helm::error::RenderError;
use crate::build::helm::json::Json;
use crate::build::helm::line::HelmLine;
use crate::build::helm::value::Value;
use crate::lang::template::json_error;
use std::sync::OnceLock;

/// A schema that is ready to be checked against, or why it is not.
pub(in crate::build::helm) struct Schema {
    compiled: Compiled,
    start: Result<Id, Unready>,
}

enum Unready {
    /// Helm refuses the schema itself.
    Broken(String),
    /// A bound was met.
    Over,
}

/// What a schema says of values.
pub(super) enum SchemaOutcome {
    Fits,
    Broken(String),
    Refused(Vec<ValidationFault>),
}

impl Schema {
    pub(super) fn of(bytes: &[u8], line: HelmLine, files: &dyn Remote) -> Schema {
        let mut compiler = Compiler::new(files, line == HelmLine::V3_17);
        let own = parsed(bytes);
        let start = start(&mut compiler, &own, line);
        Schema { compiled: compiler.done(), start }
    }

    /// What its references were taken for.
    pub(super) fn assumed(&self) -> &[String] {
        &self.compiled.assumed
    }

    /// What Helm warns of while it reads it.
    pub(super) fn warnings(&self) -> &[String] {
        &self.compiled.warnings
    }

    pub(super) fn judge(&self, values: &Value) -> Result<SchemaOutcome, RenderError> {
        let start = match &self.start {
            Ok(start) => *start,
            Err(Unready::Broken(why)) => return Ok(SchemaOutcome::Broken(why.clone())),
            Err(Unready::Over) => return Err(over()),
        };
        let mut validator = Validator::new(&self.compiled);
        let faults = validator.check(start, values);
        if validator.is_over {
            return Err(over());
        }
        Ok(if faults.is_empty() { SchemaOutcome::Fits } else { SchemaOutcome::Refused(faults) })
    }
}

/// Compiles a schema, which its metaschema must take.
fn start<'c>(
    compiler: &mut Compiler<'c>,
    own: &'c Result<Value, String>,
    line: HelmLine,
) -> Result<Id, Unready> {
    let schema = own.as_ref().map_err(|why| Unready::Broken(why.clone()))?;
    let draft = compiler.draft(schema).map_err(Unready::Broken)?;
    if line != HelmLine::V3_17 {
        meta(schema, draft)?;
    }
    compiler.compile(OWN, schema, draft).map_err(Unready::Broken)
}

fn over() -> RenderError {
    RenderError::Unable("more than forebay's bound: the steps and faults of a schema".to_owned())
}

/// What the metaschema of a draft says of a schema.
fn meta(schema: &Value, draft: Draft) -> Result<(), Unready> {
    /// Nothing lies elsewhere.
    struct Nowhere;
    impl Remote for Nowhere {
        fn document(&self, _: &str) -> Option<&Value> {
            None
        }
    }
    /// One for each draft.
    static ALL: [OnceLock<Option<(Compiled, Id)>>; Draft::ALL.len()] =
        [const { OnceLock::new() }; Draft::ALL.len()];
    let ready = || {
        let mut compiler = Compiler::new(&Nowhere, false);
        let id = compiler.metaschema(draft).ok()?;
        Some((compiler.done(), id))
    };
    let Some((compiled, id)) = ALL[draft as usize].get_or_init(ready) else { return Ok(()) };
    let mut validator = Validator::new(compiled);
    let faults = validator.check(*id, schema);
    if validator.is_over {
        return Err(Unready::Over);
    }
    if faults.is_empty() {
        return Ok(());
    }
    let mut told = String::new();
    text::told(&faults, 0, &mut told);
    let url = draft.url();
    Err(Unready::Broken(format!(
        "{:?} is not valid against metaschema: jsonschema validation failed with '{url}#'\n{told}",
        format!("{OWN}#")
    )))
}

/// A JSON document, else Go's words for why it is none.
pub(super) fn parsed(bytes: &[u8]) -> Result<Value, String> {
    let why = match depth(bytes) > DEPTH {
        true => "exceeded max depth".to_owned(),
        false => match read(bytes) {
            Ok(value) => return Ok(value),
            Err(error) => error.to_string(),
        },
    };
    Err(match json_error(bytes) {
        Ok(()) => why,
        Err(why) if why != "unexpected end of JSON input" => why,
        Err(_) if bytes.trim_ascii().is_empty() => "EOF".to_owned(),
        Err(_) => "unexpected EOF".to_owned(),
    })
}

fn read(bytes: &[u8]) -> serde_json::Result<Value> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let value = <Json as serde::Deserialize>::deserialize(&mut reader)?.at(None);
    reader.end()?;
    Ok(value)
}

/// How deeply a JSON text is nested.
fn depth(bytes: &[u8]) -> usize {
    let (mut open, mut most, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' if !in_text => {
                open += 1;
                most = most.max(open);
            }
            b'}' | b']' if !in_text => open = open.saturating_sub(1),
            _ => {}
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_json_is_told_in_the_words_of_go() {
        let deep = "[".repeat(DEPTH + 1) + &"]".repeat(DEPTH + 1);
        for (text, why) in [
            ("", "EOF"),
            (" \n", "EOF"),
            ("{\"a\":", "unexpected EOF"),
            ("{} {}", "invalid character '{' after top-level value"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("[1e999]", "number out of range at line 1 column 6"),
            (&deep, "exceeded max depth"),
            (&deep.replace("]]", "]}"), "invalid character '}' after array element"),
        ] {
            assert_eq!(parsed(text.as_bytes()).expect_err(text), why);
        }
        let shallow = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
        assert!(parsed(shallow.as_bytes()).is_ok() && parsed(b" {\"\\u0061\": 1}\n").is_ok());
    }
}
