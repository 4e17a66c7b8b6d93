//! Where answers go: standard output in one format, files in others.

use super::common::Common;
use super::{Failure, progress};
use crate::report::Terminal;
use crate::rewrite::write::file;
use std::io::{self, Write};
use std::path::Path;

/// Write an answer: in `--format`, else the first of `formats`, to standard
/// output, and in every format of `--output-file` to its file. `write` gets the
/// format's name. A reader that went away is no failure.
pub(crate) fn emit(
    common: &Common,
    formats: &[&'static str],
    mut write: impl FnMut(&'static str, &mut dyn Write, Terminal) -> io::Result<()>,
) -> Result<(), Failure> {
    let (main, files) = chosen(common, formats)?;
    progress::stop();
    for (format, path) in files {
        let mut bytes = Vec::new();
        let root = common.boundary(path)?;
        let written = write(format, &mut bytes, Terminal::default()).and_then(|()| file(&root, path, &bytes));
        written.map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
    }
    let terminal = terminal(common);
    let mut out = io::BufWriter::with_capacity(
        1 << 16,
        anstream::AutoStream::new(
            io::stdout().lock(),
            if terminal.color { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never },
        ),
    );
    write(main, &mut out, terminal)
        .and_then(|()| out.flush())
        .or_else(went_away)
        .map_err(|error| Failure::Work(format!("standard output: {error}")))
}

/// A reader that went away is no failure.
pub(crate) fn went_away(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// The format of standard output, and those of files.
type Chosen<'c> = (&'static str, Vec<(&'static str, &'c Path)>);

/// The formats that the flags ask for; to be checked before any work is done.
pub(crate) fn chosen<'c>(common: &'c Common, formats: &[&'static str]) -> Result<Chosen<'c>, Failure> {
    let known = |name: &str| {
        let found = formats.iter().copied().find(|format| *format == name);
        found.ok_or_else(|| {
            let near = crate::text::suggest(name, formats.iter().copied());
            let help = near.map_or_else(|| formats.join(", "), |near| format!("did you mean `{near}`?"));
            Failure::Usage(format!("no format `{name}` for this command: {help}"))
        })
    };
    let main = match &common.format {
        Some(name) => known(name)?,
        None => formats.first().copied().unwrap_or("text"),
    };
    let files = common.output_file.iter().map(|(name, path)| Ok((known(name)?, path.as_path())));
    Ok((main, files.collect::<Result<_, Failure>>()?))
}

/// What standard output can show.
fn terminal(common: &Common) -> Terminal {
    let stdout = io::stdout();
    let color = match common.color.as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ if std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty()) => false,
        _ if std::env::var_os("FORCE_COLOR").is_some_and(|value| !value.is_empty() && value != "0") => true,
        _ => anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never,
    };
    let links = color && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    // Zero where the terminal does not tell.
    let size = terminal_size::terminal_size_of(&stdout).map(|(width, _)| width.0);
    Terminal { color, links, columns: size.filter(|columns| *columns > 0) }
}
