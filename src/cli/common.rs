//! Flags that every command has, and what they mean.

use super::{Failure, Status};
use crate::config::Level;
use crate::files::{PathTarget, Snapshot, place};
use crate::lang::template::start_deep;
use crate::report::secrets::SecretValues;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Flags of every command.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Common {
    /// Root of the repository [default: the git top level of the first PATH]
    #[arg(long, value_name = "DIR", global = true, help_heading = COMMON)]
    pub(crate) root: Option<PathBuf>,
    /// Only this cluster; may be repeated
    #[arg(long, value_name = "NAME", global = true, help_heading = COMMON)]
    pub(crate) cluster: Vec<String>,
    /// Namespace of objects that are named without one
    #[arg(long, short, value_name = "NAMESPACE", global = true, help_heading = COMMON)]
    pub(crate) namespace: Option<String>,
    /// Configuration to read instead of the root's .forebay.yaml
    #[arg(long, value_name = "FILE", global = true, help_heading = COMMON)]
    config: Option<PathBuf>,
    /// Read no configuration
    #[arg(long, global = true, conflicts_with = "config", help_heading = COMMON)]
    no_config: bool,
    /// Let the configuration name DIR and what lies below it, outside of the root; may be repeated
    #[arg(long, value_name = "DIR", global = true, help_heading = COMMON)]
    pub(crate) allow_dir: Vec<PathBuf>,
    /// Look for charts in DIR before anywhere else; may be repeated
    #[arg(long, value_name = "DIR", global = true, conflicts_with = "no_charts", help_heading = COMMON)]
    pub(crate) charts: Vec<PathBuf>,
    /// Render no charts
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) no_charts: bool,
    /// Look for no charts in the caches of forebay and Helm
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) no_user_stores: bool,
    /// Format of standard output; each command lists its own
    #[arg(long, value_name = "FORMAT", global = true, help_heading = COMMON)]
    pub(crate) format: Option<String>,
    /// Write FORMAT to FILE as well; may be repeated
    #[arg(long, value_name = "FORMAT=FILE", global = true, value_parser = output_file, help_heading = COMMON)]
    pub(crate) output_file: Vec<(String, PathBuf)>,
    /// The time that time-dependent answers are for, such as 2026-03-27T09:00:00Z
    #[arg(long, value_name = "TIME", global = true, help_heading = COMMON)]
    at: Option<String>,
    /// Lowest level of findings that is printed [default: warning]
    #[arg(long, value_name = "LEVEL", global = true, value_parser = level(), help_heading = COMMON)]
    show: Option<Level>,
    /// Lowest level of findings that makes the exit code 1 [default: error]
    #[arg(long, value_name = "LEVEL", global = true, value_parser = fail_on(), help_heading = COMMON)]
    fail_on: Option<FailOn>,
    /// Exit 1 when something that was asked for could not be checked
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) complete: bool,
    /// Exit 0 when there is no manifest to read
    #[arg(long, global = true, help_heading = COMMON)]
    pub(crate) allow_empty: bool,
    /// When to use colour
    #[arg(long, value_name = "WHEN", global = true, value_parser = ["auto", "always", "never"], help_heading = COMMON)]
    pub(crate) color: Option<String>,
    /// Threads to use [default: one per core, at most 8]
    #[arg(long, value_name = "N", global = true, value_parser = clap::value_parser!(u16).range(1..=256), help_heading = COMMON)]
    pub(crate) threads: Option<u16>,
    /// Print findings only: no summary, no progress
    #[arg(long, short, global = true, help_heading = COMMON)]
    pub(crate) quiet: bool,
    /// The root, once it is known: what lies below it is not the user's.
    #[arg(skip)]
    known_root: OnceLock<PathBuf>,
    /// What was read: its secret values are not to be printed.
    #[arg(skip)]
    read: Arc<Mutex<ReadTrees>>,
    /// Whether they are shown all the same.
    #[arg(skip)]
    shows_secrets: OnceLock<()>,
    /// Where an answer goes instead of standard output.
    #[arg(skip)]
    pub(super) taken: Option<Arc<Mutex<Vec<u8>>>>,
}

/// The trees that were read, and their secret values once they were asked for.
#[derive(Debug, Default)]
struct ReadTrees {
    snapshots: Vec<Arc<Snapshot>>,
    /// Of how many trees beside the roots, and their values.
    secrets: Option<(usize, Arc<SecretValues>)>,
}

pub(super) const COMMON: &str = "Common options";

/// Which findings make the exit code 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FailOn(Option<Level>);

impl Common {
    /// The configuration file to read: the one given, or the root's.
    pub(crate) fn config_file(&self) -> ConfigFile<'_> {
        match &self.config {
            Some(file) => ConfigFile::Given(file),
            None if self.no_config => ConfigFile::None,
            None => ConfigFile::OfRoot,
        }
    }

    /// The same wherever the working directory is.
    ///
    /// # Errors
    /// There is no working directory.
    pub(super) fn with_absolute_paths(&self) -> io::Result<Common> {
        let absolute = |paths: &[PathBuf]| paths.iter().map(std::path::absolute).collect::<io::Result<_>>();
        Ok(Common {
            config: self.config.as_ref().map(std::path::absolute).transpose()?,
            allow_dir: absolute(&self.allow_dir)?,
            charts: absolute(&self.charts)?,
            ..self.clone()
        })
    }

    /// What a server was started with, for a question about a root: nothing read yet.
    pub(super) fn of_question(&self, root: &Path) -> Common {
        let fresh = Common::default();
        Common {
            root: Some(root.to_owned()),
            known_root: fresh.known_root,
            read: fresh.read,
            shows_secrets: fresh.shows_secrets,
            taken: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// With those flags of a question that name nothing outside of the root.
    pub(super) fn asks(&self, asked: Common) -> Common {
        let Common { cluster, namespace, format, at, show, .. } = asked;
        Common { cluster, namespace, format, at, show, ..self.clone() }
    }

    /// The answer that was taken.
    pub(super) fn taken(&self) -> String {
        let bytes = self.taken.as_ref().map(|taken| taken.lock().unwrap_or_else(PoisonError::into_inner));
        bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
    }

    /// Whether `--cluster` names a cluster, or is not given.
    pub(crate) fn wants(&self, cluster: Option<&str>) -> bool {
        self.cluster.is_empty()
            || cluster.is_some_and(|name| self.cluster.iter().any(|wanted| wanted == name))
    }

    /// Note the root that a command works on.
    pub(crate) fn works_on(&self, root: &Path) {
        let _ = self.known_root.set(root.to_owned());
    }

    /// Note what was read: its secret values are not to be printed.
    pub(crate) fn keeps_secret(&self, snapshot: &Arc<Snapshot>) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.snapshots.push(snapshot.clone());
        read.secrets = None;
    }

    /// Print values of Secrets, as a flag asks for.
    pub(crate) fn show_secrets(&self) {
        let _ = self.shows_secrets.set(());
    }

    /// What must not be printed; `None` where nothing was read or secrets are shown.
    pub(crate) fn secrets(&self) -> Option<Arc<SecretValues>> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if self.shows_secrets.get().is_some() || read.snapshots.is_empty() {
            return None;
        }
        let ReadTrees { snapshots, secrets } = &mut *read;
        // Trees beside the root's are opened when something asks for them.
        let trees = snapshots.iter().map(|read| read.beside().count()).sum();
        if secrets.as_ref().is_none_or(|(known, _)| *known != trees) {
            let values = SecretValues::of(snapshots.iter().map(|read| &**read));
            *secrets = Some((trees, Arc::new(values)));
        }
        secrets.as_ref().map(|(_, values)| values.clone())
    }

    /// Below what a file that a flag names may be of the tree's making: the root;
    /// of a command that reads no repository, where it would find one. The working
    /// directory for a name that is relative to it, when the root is a part of it.
    pub(crate) fn boundary(&self, named: &Path) -> Result<PathBuf, Failure> {
        if self.known_root.get().is_none() {
            self.works_on(&super::root::root_and_focus(self.root.as_deref(), &[])?.0);
        }
        let root = self.known_root.get().cloned().unwrap_or_default();
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        Ok(here.ok().filter(|here| named.is_relative() && root.starts_with(here)).unwrap_or(root))
    }

    /// Where files of a directory that a flag names are written: the boundary that
    /// no link may lie below, and the directory below it. Below the root the tree may
    /// have links in the way; elsewhere the user's own are followed, up to the
    /// directory itself, which is made.
    pub(crate) fn output_directory(&self, directory: &Path) -> Result<(PathBuf, PathBuf), Failure> {
        match place(&self.boundary(directory)?, directory) {
            PathTarget::Inside(root, inner) => Ok((root, inner)),
            PathTarget::Outside => {
                let made = std::fs::create_dir_all(directory).and_then(|()| directory.canonicalize());
                let failed = |error| Failure::Work(format!("{}: {error}", directory.display()));
                Ok((made.map_err(failed)?, PathBuf::new()))
            }
        }
    }

    /// Lowest level that is printed.
    pub(crate) fn show(&self) -> Level {
        self.show.unwrap_or(Level::Warning)
    }

    /// The lowest level of findings that makes the exit code 1.
    pub(crate) fn fails_at(&self) -> Option<Level> {
        self.fail_on.map_or(Some(Level::Error), |FailOn(level)| level)
    }

    /// The answer for findings of these levels, when `complete` tells whether
    /// everything was checked.
    pub(crate) fn status(&self, mut levels: impl Iterator<Item = Level>, complete: bool) -> Status {
        let failed = self.fails_at().is_some_and(|threshold| levels.any(|level| level >= threshold));
        if failed || (self.complete && !complete) { Status::Findings } else { Status::Clean }
    }

    /// The time of `--at`; without a zone of its own, in `zone`.
    pub(crate) fn at(&self, zone: &TimeZone) -> Result<Option<Timestamp>, Failure> {
        self.at.as_deref().map(|text| time("--at", text, zone)).transpose()
    }

    /// How many threads may work: `--threads`, else as many as there are processors, up to 8.
    pub(crate) fn thread_count(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(|| cores().min(8), usize::from)
    }

    /// Set the number of threads, once, before any work. Where `with_this` is set, the
    /// calling thread is one of them: it has its work done by nobody else and waits for
    /// nobody in between, which is most of the time of a small repository.
    pub(crate) fn start_threads(&self, with_this: bool) -> Result<(), Failure> {
        let count = self.thread_count();
        // They render charts themselves.
        let start = |thread: rayon::ThreadBuilder| start_deep(|| thread.run());
        let mut pool = rayon::ThreadPoolBuilder::new().num_threads(count).spawn_handler(start);
        // The first thread of a process on Windows has half the stack of the others.
        if with_this && !cfg!(windows) {
            pool = pool.use_current_thread();
        }
        let pool = pool.build_global();
        pool.map_err(|error| Failure::Work(format!("can't start {count} threads: {error}")))
    }
}

/// Where the configuration comes from.
pub(crate) enum ConfigFile<'a> {
    /// `--config FILE`.
    Given(&'a std::path::Path),
    /// The root's, if there is one.
    OfRoot,
    /// `--no-config`.
    None,
}

fn level() -> impl TypedValueParser<Value = Level> {
    let words = PossibleValuesParser::new(["error", "warning", "info"]);
    words.try_map(|word| Level::parse(&word).ok_or("no level"))
}

fn fail_on() -> impl TypedValueParser<Value = FailOn> {
    let words = PossibleValuesParser::new(["error", "warning", "info", "never"]);
    words.map(|word| FailOn(Level::parse(&word)))
}

/// The time that a flag names: an instant, a wall-clock time in the zone, or a
/// day's midnight in it.
pub(crate) fn time(flag: &str, text: &str, zone: &TimeZone) -> Result<Timestamp, Failure> {
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let wall = match text.parse::<DateTime>() {
        Ok(wall) => Some(wall),
        Err(_) => text.parse::<Date>().ok().map(|day| day.to_datetime(jiff::civil::Time::midnight())),
    };
    wall.and_then(|wall| zone.to_timestamp(wall).ok()).ok_or_else(|| {
        Failure::Usage(format!(
            "{flag}: `{text}` is no time; write 2026-03-26, 2026-03-26T10:00:00 or 2026-03-26T10:00:00Z"
        ))
    })
}

fn output_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((format, file)) if !format.is_empty() && !file.is_empty() => {
            Ok((format.to_owned(), file.into()))
        }
        _ => Err("write FORMAT=FILE, such as json=report.json".to_owned()),
    }
}
