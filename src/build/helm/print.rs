//! What `helm template` prints, to the byte.

use super::RenderedChart;
use super::error::{RenderError, refuse};
use super::ignore::matches;
use super::line::HelmLine;
use super::manifest::{ManifestDocument, cut};

/// What a document begins with.
const SOURCE: &[u8] = b"---\n# Source: ";

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
        let crds = || self.crds.iter().filter(|_| printed.include_crds);
        let documents = self.manifests.iter().chain(&self.hooks);
        let sizes = documents.map(|one| (one.source.len(), one.text.len()));
        let sizes = sizes.chain(crds().map(|(source, file)| (source.len(), file.bytes().len())));
        // Of a text of megabytes, to grow is to copy it twice.
        let size = sizes.map(|(source, content)| SOURCE.len() + source + content + 2).sum();
        let mut out: Vec<u8> = Vec::with_capacity(size);
        for (source, file) in crds() {
            put(&mut out, source, "", file.bytes());
        }
        for document in &self.manifests {
            put(&mut out, &document.source, &comment(document), document.text.as_bytes());
        }
        trim(&mut out);
        out.push(b'\n');
        for document in self.hooks.iter().filter(|_| !printed.no_hooks) {
            if !(printed.skip_tests && document.hook.as_ref().is_some_and(super::Hook::is_test)) {
                put(&mut out, &document.source, &comment(document), document.text.as_bytes());
            }
        }
        if printed.show_only.is_empty() { Ok(out) } else { shown(&out, &printed.show_only, line) }
    }
}

/// Appends a document.
fn put(out: &mut Vec<u8>, source: &str, comment: &str, content: &[u8]) {
    for part in [SOURCE, source.as_bytes(), b"\n", comment.as_bytes(), content, b"\n"] {
        out.extend_from_slice(part);
    }
}

/// Go's `strings.TrimSpace`.
fn trim(out: &mut Vec<u8>) {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let end = out.iter().rposition(|byte| !is_space(byte)).map_or(0, |at| at + 1);
    // Nearly all of them, and to look at all of megabytes is no need.
    if out[..end].last().is_none_or(u8::is_ascii)
        && out[..end].first().is_none_or(|first| first.is_ascii() && !is_space(first))
    {
        return out.truncate(end);
    }
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
