//! Where answers go: standard output in one format, files in others.

use super::common::Common;
use super::{Failure, progress};
use crate::report::lines::{Lines, Shape};
use crate::report::paint::Painter;
use crate::report::parts::{in_columns, width};
use crate::report::{self, Terminal};
use crate::rewrite::write::file;
use crate::world::World;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::sync::PoisonError;

/// The formats of a command. [`formats!`] makes one.
pub(crate) trait Formats: Copy + 'static {
    /// All, the default first.
    const ALL: &'static [Self];
    /// The word of `--format`.
    fn name(self) -> &'static str;
    /// What it is, in a few words.
    fn about(self) -> &'static str;
}

/// An enumeration of the formats of a command, the default first: its words for
/// `--format` and `--help`, and a match that must have an arm for each.
macro_rules! formats {
    ($first:ident = $default:literal: $what:literal $(, $format:ident = $word:literal: $about:literal)* $(,)?) => {
        crate::cli::output::formats!(Format: $first = $default: $what $(, $format = $word: $about)*);
    };
    ($type:ident: $first:ident = $default:literal: $what:literal
     $(, $format:ident = $word:literal: $about:literal)* $(,)?) => {
        #[doc = "Formats, the default first."]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $type {
            $first,
            $($format,)*
        }

        impl crate::cli::output::Formats for $type {
            const ALL: &'static [Self] = &[$type::$first, $($type::$format,)*];
            fn name(self) -> &'static str {
                match self {
                    $type::$first => $default,
                    $($type::$format => $word,)*
                }
            }
            fn about(self) -> &'static str {
                match self {
                    $type::$first => $what,
                    $($type::$format => $about,)*
                }
            }
        }
    };
}

pub(crate) use formats;

formats!(TextOnly: Text = "text": "for people");
formats!(JsonOnly: Json = "json": "for programs");
formats!(DiffOnly: Diff = "diff": "a unified diff");

/// The lines of `--help` about the formats of a command.
pub(crate) fn help<F: Formats>() -> String {
    let width = F::ALL.iter().map(|format| format.name().len()).max().unwrap_or(0);
    let mut help = "Formats:".to_owned();
    for (index, format) in F::ALL.iter().enumerate() {
        let default = if index == 0 { " (default)" } else { "" };
        help.push_str(&format!("\n  {:width$}  {}{default}", format.name(), format.about()));
    }
    help
}

/// `--format` of a command that has these: in the place of the common one, so that
/// help, completions and the refusal of another word name them.
pub(crate) fn argument<F: Formats>() -> clap::Arg {
    let words = F::ALL.iter().map(|format| PossibleValue::new(format.name()).help(format.about()));
    clap::Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .value_parser(PossibleValuesParser::new(words))
        // Each stands in a line of its own below.
        .hide_possible_values(true)
        .help("Format of standard output; this command's are listed below")
        .help_heading(super::common::COMMON)
}

/// Write an answer: in `--format`, else the first format, to standard output, and
/// in every format of `--output-file` to its file. A reader that went away is no
/// failure.
pub(crate) fn emit<F: Formats>(
    common: &Common,
    mut write: impl FnMut(F, &mut dyn Write, Terminal) -> io::Result<()>,
) -> Result<(), Failure> {
    let (main, files) = chosen::<F>(common)?;
    progress::stop();
    for (format, path) in files {
        let mut bytes = Vec::new();
        let root = common.boundary(path)?;
        let mut lines = Lines::new(&mut bytes, shape(format.name()), common.secrets());
        let file_terminal = Terminal::default();
        let written = in_columns(file_terminal.width(), || write(format, &mut lines, file_terminal));
        let written = written.and_then(|()| lines.flush());
        drop(lines);
        let written = written.and_then(|()| file(&root, path, &bytes));
        written.map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
    }
    if let Some(taken) = &common.taken {
        let mut bytes = taken.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Lines::new(&mut *bytes, shape(main.name()), common.secrets());
        let written =
            in_columns(Terminal::default().width(), || write(main, &mut lines, Terminal::default()));
        let written = written.and_then(|()| lines.flush());
        return written.map_err(|error| Failure::Work(error.to_string()));
    }
    let terminal = terminal(common);
    let mut out = io::BufWriter::with_capacity(
        1 << 16,
        anstream::AutoStream::new(
            io::stdout().lock(),
            if terminal.color { anstream::ColorChoice::Always } else { anstream::ColorChoice::Never },
        ),
    );
    // What is masked and made visible before is painted, not the other way round.
    let painter: Box<dyn Write> = match terminal.color && main.name() == "text" {
        true => Box::new(Painter::new(&mut out)),
        false => Box::new(&mut out),
    };
    let mut lines = Lines::new(painter, shape(main.name()), common.secrets()).with_ansi(terminal.color);
    let written = in_columns(terminal.width(), || write(main, &mut lines, terminal));
    let written = written.and_then(|()| lines.flush());
    written.or_else(went_away).map_err(|error| Failure::Work(format!("standard output: {error}")))
}

/// What the lines of a format are made of.
fn shape(format: &str) -> Shape {
    match format {
        "json" | "sarif" | "gitlab" => Shape::Json,
        "junit" | "svg" => Shape::Xml,
        "github" => Shape::Commands,
        "yaml" | "html" => Shape::Yaml,
        "diff" => Shape::Diff,
        _ => Shape::Text,
    }
}

/// Standard output of a command that has no formats.
pub(crate) fn stdout(common: &Common) -> Lines<anstream::AutoStream<io::Stdout>> {
    Lines::new(anstream::stdout(), Shape::Text, common.secrets())
}

/// Standard error, where no line is a command either, and no secret leaves.
pub(crate) fn stderr(common: &Common) -> Lines<anstream::AutoStream<io::Stderr>> {
    Lines::new(anstream::stderr(), Shape::Text, common.secrets())
}

/// The last line of an answer for people: what it rests on.
pub(crate) fn followed(out: &mut dyn Write, world: &World) -> io::Result<()> {
    match report::coverage::line(world) {
        Some(line) => report::unchecked::paragraph(out, &line, "  ", width()),
        None => Ok(()),
    }
}

/// On standard error, in every format: that an answer rests on nothing.
pub(crate) fn warn_if_nothing_followed(world: &World) {
    if let Some(warning) = report::coverage::nothing_followed(world) {
        progress::stop();
        let _ = Lines::new(anstream::stderr(), Shape::Text, None).write_all(warning.as_bytes());
    }
}

/// A reader that went away is no failure.
pub(crate) fn went_away(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) }
}

/// The format of standard output, and those of files.
type Chosen<'c, F> = (F, Vec<(F, &'c Path)>);

/// The formats that the flags ask for; to be checked before any work is done.
pub(crate) fn chosen<F: Formats>(common: &Common) -> Result<Chosen<'_, F>, Failure> {
    let known = |word: &str| {
        let found = F::ALL.iter().copied().find(|format| format.name() == word);
        found.ok_or_else(|| {
            let names = || F::ALL.iter().map(|format| format.name());
            let near = crate::lang::text::suggest(word, names());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let all = names().collect::<Vec<_>>().join(", ");
            Failure::Usage(format!("no format `{word}` for this command: it has {all}{near}"))
        })
    };
    let main = common.format.as_deref().map_or(Ok(F::ALL[0]), known)?;
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
    Terminal { color, links, columns: columns(&stdout) }
}

/// Columns of a terminal that does not tell its size.
const COLUMNS: u16 = 100;

/// The columns that a terminal tells, whatever it says of its rows: `stty cols 80` on a new
/// one leaves them 0.
#[cfg(unix)]
fn own_columns(stdout: &io::Stdout) -> Option<u16> {
    rustix::termios::tcgetwinsize(stdout).ok().map(|size| size.ws_col)
}

#[cfg(not(unix))]
fn own_columns(stdout: &io::Stdout) -> Option<u16> {
    terminal_size::terminal_size_of(stdout).map(|(width, _)| width.0)
}

/// The width of standard output: `COLUMNS` where it is exported, which also asks for
/// wrapped lines in a pipe; else the terminal's own.
fn columns(stdout: &io::Stdout) -> Option<u16> {
    let asked = std::env::var("COLUMNS").ok().and_then(|text| text.trim().parse::<u16>().ok());
    asked.filter(|columns| *columns > 0).or_else(|| {
        stdout.is_terminal().then(|| own_columns(stdout).filter(|columns| *columns > 0).unwrap_or(COLUMNS))
    })
}

/// Ends the process at once. What C runs at an exit is the allocator alone here, which would
/// give back piece by piece what the system takes back whole: a tenth of a short run.
pub(super) fn end(code: u8) -> ! {
    let _ = std::io::stdout().flush();
    #[cfg(unix)]
    signal_hook::low_level::exit(code.into());
    #[cfg(not(unix))]
    std::process::exit(code.into())
}
