//! Values that a user gives to Helm's commands, by files and flags, as `MergeValues` of
//! Helm's `pkg/cli/values` puts them together.

use super::chart::ChartFile;
use super::error::{Refusal, RenderError};
use super::line::HelmLine;
use super::load::values_of;
use super::strvals::{Style, json_object, set};
use super::value::{Value, merge_into};

/// Files and flags, each kind in order.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// `-f`: files, by the names that they were given by.
    pub files: Vec<(String, ChartFile)>,
    /// `--set-json`
    pub set_json: Vec<String>,
    /// `--set`
    pub set: Vec<String>,
    /// `--set-string`
    pub set_string: Vec<String>,
    /// `--set-file`
    pub set_file: Vec<String>,
    /// `--set-literal`
    pub set_literal: Vec<String>,
}

impl Given {
    /// All of them as one map; `read` gives the text of a file.
    ///
    /// # Errors
    /// Helm refuses one.
    pub fn merge(
        &self,
        line: HelmLine,
        read: &dyn Fn(&str) -> Result<String, String>,
    ) -> Result<Value, RenderError> {
        let mut all = Value::empty();
        for (name, file) in &self.files {
            let values =
                values_of(file, line).map_err(|why| why.wrapped(&format!("failed to parse {name}: ")))?;
            merge_into(&mut all, &values);
        }
        for text in &self.set_json {
            let failed = Refusal::new(format!("failed parsing --set-json data {text}"));
            if text.trim_start().starts_with('{') && line != HelmLine::V3_17 {
                let failed = Refusal::new(format!("failed parsing --set-json data JSON: {text}"));
                merge_into(&mut all, &json_object(text).map_err(|_| failed)?);
            } else {
                set(&mut all, text, Style::Json, None).map_err(|_| failed)?;
            }
        }
        let flags = [
            ("--set", &self.set, Style::Typed),
            ("--set-string", &self.set_string, Style::Text),
            ("--set-file", &self.set_file, Style::File(read)),
            ("--set-literal", &self.set_literal, Style::Literal),
        ];
        for (flag, texts, style) in flags {
            for text in texts {
                set(&mut all, text, style, None)
                    .map_err(|why| Refusal::new(format!("failed parsing {flag} data: {why}")))?;
            }
        }
        Ok(all)
    }
}
