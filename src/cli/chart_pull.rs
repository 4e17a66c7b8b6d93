//! `forebay chart pull`: the only command that starts `helm`.

use super::common::Common;
use super::helm::{Helm, WantedChart, collect};
use super::progress::Bar;
use super::session::{Session, cluster_filter};
use super::stores::ROOT_STORE;
use super::{Answer, Failure, Status, output, revisions};
use crate::files::{ChartStore, ChartStores, Recorded, StoreLayout, git};
use crate::lang::text::{clean, counted};
use crate::rewrite::chart_store::{self, IndexEntry};
use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

output::formats!(Text = "text": "for people");

/// Flags of `chart pull`.
#[derive(clap::Args)]
#[command(
    after_help = "This command alone starts another program than git and uses a network: `helm pull`, with the \
                  repositories, credentials and proxies that your helm has. Helm 3.8 and later will do.",
    arg = output::argument::<Format>()
)]
pub(crate) struct Arguments {
    /// Store to fill [default: .forebay/charts of the root]
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Print the commands, and start nothing
    #[arg(long)]
    dry_run: bool,
    /// How many charts are fetched at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// The helm to start [default: the one on PATH]
    #[arg(long, value_name = "PATH")]
    helm: Option<PathBuf>,
    /// Fetch what the releases of this revision or directory (./DIR) mean, too [without a value: the base that
    /// plan compares with]
    #[arg(long, value_name = "REV|./DIR", num_args = 0..=1)]
    base: Option<Option<String>>,
    /// Take the place of another archive of the same name and version
    #[arg(long)]
    replace: bool,
}

/// Run the command.
pub(crate) fn run(common: &Common, arguments: &Arguments) -> Answer {
    output::chosen::<Format>(common)?;
    let session = Session::open(common, &[])?;
    let world = session.world();
    let filter = cluster_filter(common, &world)?;
    let mut wanted: BTreeSet<WantedChart> = BTreeSet::new();
    collect(&world, &filter, &mut wanted);
    if let Some(base) = &arguments.base {
        let base = match base {
            Some(name) => revisions::read(&session, name)?,
            None => revisions::read_default_base(&session)?,
        };
        let earlier = world.like(&base.snapshot, &session.config, &git::remotes(&session.root));
        collect(&earlier, |_| true, &mut wanted);
    }
    let wanted: Vec<WantedChart> = wanted.into_iter().collect();
    let store = arguments.into.clone().unwrap_or_else(|| session.root.join(ROOT_STORE));
    let shown = arguments.into.as_ref().map_or(ROOT_STORE.into(), |into| into.to_string_lossy().into_owned());
    if arguments.dry_run {
        return dry_run(common, &wanted, &shown);
    }
    if wanted.is_empty() {
        output::emit(common, |_: Format, out, _| writeln!(out, "no chart is missing"))?;
        return Ok(Status::Clean);
    }
    let helm = Helm::find(arguments.helm.as_deref()).map_err(Failure::Work)?;
    let (boundary, directory) = common.output_directory(&store)?;
    let scratch = Scratch::new()?;
    let pull = Pull {
        helm: &helm,
        scratch: &scratch.0,
        store: boundary.join(&directory),
        replace: arguments.replace,
        ended: ended_by_signal(),
    };
    let bar = Bar::new(common, wanted.len());
    let done = pull.all(wanted, usize::from(arguments.jobs), &boundary, &directory, &bar);
    drop(bar);
    if pull.ended.load(Ordering::Relaxed) {
        let whole = done.iter().filter(|one| one.result.is_ok()).count();
        return Err(Failure::Work(format!("ended by a signal; {} stay in {shown}", counted(whole, "chart"))));
    }
    finish(common, &done, &shown)
}

/// Set when a signal asks the run to end: helm, which has it too, is waited for, and what
/// it wrote goes. The second signal ends the process at once.
fn ended_by_signal() -> Arc<AtomicBool> {
    let ended = Arc::new(AtomicBool::new(false));
    #[cfg(unix)]
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // Without a handler the signal ends the process, as it does any.
        let _ = signal_hook::flag::register_conditional_shutdown(signal, 130, ended.clone())
            .and_then(|_| signal_hook::flag::register(signal, ended.clone()));
    }
    ended
}

/// The commands that would be run, where a network is.
fn dry_run(common: &Common, wanted: &[WantedChart], store: &str) -> Answer {
    let mut refused = 0;
    output::emit(common, |_: Format, out, _| {
        for one in wanted {
            match one.arguments(None, store) {
                Ok(arguments) => {
                    let words: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
                    writeln!(out, "helm {}", words.join(" "))?;
                }
                Err(why) => {
                    refused += 1;
                    writeln!(out, "# {}: {}", clean(&one.told()), clean(&why))?;
                }
            }
        }
        Ok(())
    })?;
    Ok(if refused == 0 { Status::Clean } else { Status::Findings })
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+/:=@,%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A directory of the system for what helm writes, gone afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Scratch, Failure> {
        let path = std::env::temp_dir().join(format!("forebay-pull-{}", std::process::id()));
        let made = std::fs::create_dir(&path);
        made.map_err(|error| Failure::Work(format!("{}: {error}", path.display())))?;
        Ok(Scratch(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What became of one chart.
struct PullOutcome {
    wanted: WantedChart,
    /// The entry of the store, or why there is none.
    result: Result<IndexEntry, String>,
}

struct Pull<'p> {
    helm: &'p Helm,
    scratch: &'p Path,
    store: PathBuf,
    replace: bool,
    /// Whether a signal asked the run to end.
    ended: Arc<AtomicBool>,
}

impl Pull<'_> {
    fn all(
        &self,
        wanted: Vec<WantedChart>,
        jobs: usize,
        boundary: &Path,
        directory: &Path,
        bar: &Bar,
    ) -> Vec<PullOutcome> {
        let queue: Mutex<VecDeque<(usize, WantedChart)>> =
            Mutex::new(wanted.into_iter().enumerate().collect());
        let done: Mutex<Vec<(usize, PullOutcome)>> = Mutex::default();
        let written: Mutex<()> = Mutex::default();
        let work = || {
            while !self.ended.load(Ordering::Relaxed) {
                let next = queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                let Some((number, wanted)) = next else { break };
                let fetched = self.one(number, &wanted);
                let result = {
                    let _one_at_a_time = written.lock().unwrap_or_else(PoisonError::into_inner);
                    fetched.and_then(|(entry, bytes)| self.keep(entry, &bytes, boundary, directory))
                };
                bar.step();
                done.lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((number, PullOutcome { wanted, result }));
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(number, _)| *number);
        done.into_iter().map(|(_, done)| done).collect()
    }

    /// Fetches a chart, and looks whether it is the one that was asked for.
    fn one(&self, number: usize, wanted: &WantedChart) -> Result<(IndexEntry, Vec<u8>), String> {
        let place = self.scratch.join(number.to_string());
        std::fs::create_dir(&place).map_err(|error| error.to_string())?;
        let told = self.helm.pull(wanted, &place)?;
        let store = ChartStore { name: Arc::from(""), path: Ok(place), layout: StoreLayout::Charts };
        let stores = ChartStores::new(vec![store]);
        let [chart] = stores.charts() else { return Err("helm wrote no chart".to_owned()) };
        if !wanted.is_met_by(&chart.name, &chart.version) {
            return Err(format!("helm fetched {} {} instead", chart.name, chart.version));
        }
        let bytes = match &**chart.content()? {
            crate::files::ChartContent::Archive(bytes) => bytes.clone(),
            crate::files::ChartContent::Folder(_) => return Err("helm wrote no archive".to_owned()),
        };
        let file = chart_store::file_name(&chart.name, &chart.version).ok_or("its name is none of a file")?;
        let recorded = Recorded {
            url: Some(wanted.location()),
            tag: wanted.tag(&chart.version),
            manifest: told,
            sha256: chart.digest().map(str::to_owned),
        };
        let (name, version) = (chart.name.clone(), chart.version.clone());
        Ok((IndexEntry { name, version, file, recorded }, bytes))
    }

    /// Puts a chart into the store, and into its index.
    fn keep(
        &self,
        entry: IndexEntry,
        bytes: &[u8],
        boundary: &Path,
        directory: &Path,
    ) -> Result<IndexEntry, String> {
        let mut all = entries(&self.store);
        let other = all.iter().find(|known| known.name == entry.name && known.version == entry.version);
        let is_other = |other: &&IndexEntry| other.recorded.sha256 != entry.recorded.sha256;
        if other.filter(|_| !self.replace).filter(is_other).is_some() {
            let (name, version) = (&entry.name, &entry.version);
            return Err(format!("the store holds another {name} {version}; --replace takes its place"));
        }
        let told = |error: std::io::Error| error.to_string();
        chart_store::put(boundary, directory, &entry.file, bytes).map_err(told)?;
        all.retain(|known| known.file != entry.file);
        all.push(entry.clone());
        chart_store::write_index(boundary, directory, &all).map_err(told)?;
        Ok(entry)
    }
}

/// The archives of a store, each with its digest.
pub(super) fn entries(store: &Path) -> Vec<IndexEntry> {
    let listed = ChartStore { name: Arc::from(""), path: Ok(store.to_owned()), layout: StoreLayout::Charts };
    let stores = ChartStores::new(vec![listed]);
    let archives = stores.charts().iter().filter(|chart| chart.is_archive());
    let entry = |chart: &Arc<crate::files::StoredChart>| {
        let recorded = chart.recorded.clone().unwrap_or_default();
        // What is recorded stays recorded, so that a change shows.
        let sha256 = recorded.sha256.clone().or_else(|| chart.digest().map(str::to_owned));
        let (name, version) = (chart.name.clone(), chart.version.clone());
        IndexEntry { name, version, file: chart.path.clone(), recorded: Recorded { sha256, ..recorded } }
    };
    archives.map(entry).collect()
}

fn finish(common: &Common, done: &[PullOutcome], store: &str) -> Answer {
    output::emit(common, |_: Format, out, _| {
        for one in done {
            if let Ok(entry) = &one.result {
                writeln!(
                    out,
                    "pulled {} {} into {}",
                    clean(&entry.name),
                    clean(&entry.version),
                    clean(store)
                )?;
            }
        }
        Ok(())
    })?;
    let mut complaints = output::stderr(common);
    let failed: Vec<(&WantedChart, &str)> =
        done.iter().filter_map(|one| Some((&one.wanted, one.result.as_ref().err()?.trim()))).collect();
    // A repository that can't be reached fails for all of its charts in the same words.
    let mut told: Vec<(&WantedChart, &str, Vec<String>)> = Vec::new();
    for (wanted, why) in &failed {
        match told.iter_mut().find(|(first, words, _)| words == why && first.source() == wanted.source()) {
            Some((_, _, more)) => more.push(wanted.named()),
            None => told.push((wanted, why, vec![wanted.named()])),
        }
    }
    for (wanted, why, names) in &told {
        let charts = clean(&names.join(", ")).into_owned();
        let _ = writeln!(complaints, "failed: {charts} of {}: {}", clean(&wanted.source()), clean(why));
        if let Some(help) = wanted.login() {
            let _ = writeln!(complaints, "  {}", clean(&help));
        }
    }
    if failed.is_empty() {
        return Ok(Status::Clean);
    }
    let _ = writeln!(complaints, "{} of {} failed", failed.len(), counted(done.len(), "chart"));
    Ok(Status::Findings)
}
