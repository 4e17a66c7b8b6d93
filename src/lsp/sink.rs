//! What every answer goes through on its way to the editor: nothing invisible is in it,
//! and no secret leaves. Texts that the editor is to write into files stay as they are.

use crate::lang::text::clean;
use crate::report::secrets::SecretValues;
use serde_json::Value;

/// Fields that are no words for people: addresses, and what is written into files.
const KEPT: &[&str] = &["uri", "targetUri", "newText", "insertText", "filterText", "changes", "data", "edit"];

/// Makes every text of an answer inert.
pub(super) fn inert(answer: &mut Value, secrets: &SecretValues) {
    match answer {
        Value::String(words) => *words = text(words, secrets),
        Value::Array(items) => items.iter_mut().for_each(|item| inert(item, secrets)),
        Value::Object(map) => {
            let shown = map.iter_mut().filter(|(key, _)| !KEPT.contains(&key.as_str()));
            shown.for_each(|(_, value)| inert(value, secrets));
        }
        _ => {}
    }
}

/// One text of several lines.
pub(super) fn text(words: &str, secrets: &SecretValues) -> String {
    let lines: Vec<_> = words.split('\n').map(clean).collect();
    secrets.mask(&lines.join("\n")).into_owned()
}
