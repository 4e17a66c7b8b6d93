//! What `helm template` prints, to the byte.

use super::RenderedChart;
use super::error::{RenderError, refuse};
use super::ignore::matches;
use super::line::HelmLine;
use super::manifest::{ManifestDocument, cut};

/// Which parts of a render are printed.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// Whether the files of `crds/` are.
    pub include_crds: bool,
    /// Whether hooks are left out.
    pub no_hooks: bool,
    /// Whether tests among the hooks are left out.
    pub skip_tests: bool,
    /// Only what these templates wrote, where there are some.
    pub show_only: Vec<String>,
}

impl RenderedChart {
    /// The standard output of `helm template`.
    ///
    /// # Errors
    /// A template of `show_only` wrote nothing.
    pub fn print(&self, printed: &Printed, line: HelmLine) -> Result<Vec<u8>, RenderError> {
        self.print_with(printed, line, &|_| String::new())
    }

    /// As [`RenderedChart::print`], with lines of comment below the source of each document.
    ///
    /// # Errors
    /// A template of `show_only` wrote nothing.
    pub fn print_with(
        &self,
        printed: &Printed,
        line: HelmLine,
        comment: &dyn Fn(&ManifestDocument) -> String,
    ) -> Result<Vec<u8>, RenderError> {
        let mut out: Vec<u8> = Vec::new();
        let mut put = |source: &str, content: &[u8]| {
            out.extend_from_slice(b"---\n# Source: ");
            out.extend_from_slice(source.as_bytes());
            out.push(b'\n');
            out.extend_from_slice(content);
            out.push(b'\n');
        };
        for (source, file) in self.crds.iter().filter(|_| printed.include_crds) {
            put(source, file.bytes());
        }
        for document in &self.manifests {
            let content = comment(document) + &document.text;
            put(&document.source, content.as_bytes());
        }
        trim(&mut out);
        out.push(b'\n');
        let mut put = |source: &str, content: &str| {
            out.extend_from_slice(format!("---\n# Source: {source}\n{content}\n").as_bytes());
        };
        for document in self.hooks.iter().filter(|_| !printed.no_hooks) {
            if !(printed.skip_tests && document.hook.as_ref().is_some_and(super::Hook::is_test)) {
                put(&document.source, &(comment(document) + &document.text));
            }
        }
        if printed.show_only.is_empty() { Ok(out) } else { shown(&out, &printed.show_only, line) }
    }
}

/// Go's `strings.TrimSpace`.
fn trim(out: &mut Vec<u8>) {
    let Ok(text) = std::str::from_utf8(out) else {
        let end = out.iter().rposition(|byte| !byte.is_ascii_whitespace()).map_or(0, |at| at + 1);
        out.truncate(end);
        return;
    };
    let end = text.trim_end().len();
    let start = text.len() - text.trim_start().len();
    out.truncate(end.max(start));
    out.drain(..start.min(out.len()));
}

/// `--show-only`: by what each document says that it comes from.
fn shown(all: &[u8], wanted: &[String], line: HelmLine) -> Result<Vec<u8>, RenderError> {
    let all = String::from_utf8_lossy(all);
    let mut out = Vec::new();
    let documents = cut(&all, line);
    for name in wanted {
        let mut missing = true;
        for document in &documents {
            let text = &all[document.clone()];
            if source(text).is_some_and(|path| matches(name, path) == Some(true)) {
                out.extend_from_slice(format!("---\n{text}\n").as_bytes());
                missing = false;
            }
        }
        if missing {
            return refuse(format!("could not find template {name} in chart"));
        }
    }
    Ok(out)
}

/// What `# Source: [^/]+/(.+)` finds.
fn source(text: &str) -> Option<&str> {
    text.split("# Source: ").skip(1).find_map(|rest| {
        // The chart's name may have line breaks before it in Go's eyes; none has.
        let (chart, path) = rest.split_once('/')?;
        let path = path.split('\n').next().unwrap_or_default();
        (!chart.is_empty() && !path.is_empty()).then_some(path)
    })
}
