//! A release as it is kept between runs: what its chart makes of it, and what is asked of
//! the chart besides.

mod code;

use super::outcome::{Answers, ChartObjects, ChartOutcome, NoRelease, UnreadValue, documents_of};
use crate::build::helm::{
    ChartFile, Culprit, Dead, Idle, IdleReason, Kind, Loss, Map, Replaced, SchemaFault, SchemaFaultKind,
    Value,
};
use crate::files::Store;
use crate::lang::yaml::{FilePath, Node, NodeRef, Origin, Tree};
use code::{RecordReader, Writer};
use std::sync::Arc;

/// Renders of one entry: of one request, each with other answers to the API versions that
/// decide.
const RENDERS: usize = 8;

/// The bytes of an entry: renders of one request, as [`encode`] wrote them, each with its
/// length, and behind them those of the entry before that other API versions decide.
pub(super) fn entry(renders: &[Vec<u8>], before: Option<&[u8]>) -> Vec<u8> {
    let (mut out, mut known) = (Vec::new(), Vec::new());
    let earlier = before.into_iter().flat_map(renders_of);
    for render in renders.iter().map(Vec::as_slice).chain(earlier) {
        let Some(versions) = read_versions(&mut RecordReader::new(render)) else { continue };
        if known.len() < RENDERS && !known.contains(&versions) {
            known.push(versions);
            out.extend_from_slice(&(render.len() as u64).to_le_bytes());
            out.extend_from_slice(render);
        }
    }
    out
}

/// The renders of an entry, as far as it is one.
fn renders_of(entry: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = entry;
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk()?;
        let (render, behind) = behind.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        rest = behind;
        Some(render)
    })
}

/// The render of an entry that these API versions of a cluster have; `None` where it has none.
/// Texts of `crds/` go to `blobs`.
pub(super) fn decode(entry: &[u8], versions: &[String], blobs: &Store) -> Option<(ChartOutcome, Answers)> {
    renders_of(entry).find_map(|render| {
        let mut from = RecordReader::new(render);
        let decide = read_versions(&mut from)?;
        let fits = |(version, is_there): &(String, bool)| versions.contains(version) == *is_there;
        decide.as_ref().is_none_or(|all| all.iter().all(fits)).then_some(())?;
        decoded(from, decide, blobs)
    })
}

/// The bytes of a render; `None` where something of it has no form in bytes.
pub(super) fn encode(outcome: &ChartOutcome, answers: &Answers) -> Option<Vec<u8>> {
    let mut out = Writer::default();
    write_versions(&mut out, answers.versions.as_deref());
    match outcome {
        ChartOutcome::Rendered(made) => {
            out.byte(0);
            write_made(&mut out, made)?;
        }
        ChartOutcome::Refused(refusal) => {
            out.byte(1);
            write_refusal(&mut out, refusal);
        }
        ChartOutcome::Unable(_) => return None,
    }
    write_answers(&mut out, answers);
    out.finish()
}

/// What [`encode`] wrote behind the API versions that decide; `None` for anything else.
fn decoded(
    mut from: RecordReader<'_>,
    versions: Option<Vec<(String, bool)>>,
    blobs: &Store,
) -> Option<(ChartOutcome, Answers)> {
    let outcome = match from.byte()? {
        0 => ChartOutcome::Rendered(read_made(&mut from, blobs)?),
        1 => ChartOutcome::Refused(Box::new(read_refusal(&mut from)?)),
        _ => return None,
    };
    let answers = Answers { versions, ..read_answers(&mut from)? };
    from.is_done().then_some((outcome, answers))
}

fn write_versions(out: &mut Writer, versions: Option<&[(String, bool)]>) {
    out.option(versions, |out, versions| {
        out.list(versions.iter(), |out, (version, is_there)| {
            out.text(version);
            out.byte(u8::from(*is_there));
        });
    });
}

fn read_versions(from: &mut RecordReader<'_>) -> Option<Option<Vec<(String, bool)>>> {
    from.option(|from| from.list(|from| Some((from.text()?.to_string(), from.byte()? == 1))))
}

fn write_made(out: &mut Writer, made: &ChartObjects) -> Option<()> {
    out.text(&made.label.0);
    out.text(&made.label.1);
    out.list(made.objects.iter(), Writer::node);
    out.list(made.hooks.iter(), Writer::node);
    let files = files_of(&made.definitions)?;
    out.list(files.iter(), |out, (file, text)| {
        out.text(file.shown());
        out.text(text);
    });
    out.texts(made.assumed.iter());
    Some(())
}

fn read_made(from: &mut RecordReader<'_>, blobs: &Store) -> Option<ChartObjects> {
    let label = (from.text()?.to_string(), from.text()?.to_string());
    let objects = from.list(RecordReader::node)?;
    let hooks = from.list(RecordReader::node)?;
    let files = from.list(|from| {
        let place = FilePath::new(Tree::Chart, from.text()?);
        let blob = blobs.intern(from.text()?.as_bytes());
        Some(ChartFile { name: place.shown().clone(), blob, place })
    })?;
    let definitions = files.iter().flat_map(documents_of).collect();
    Some(ChartObjects { label, objects, hooks, definitions, assumed: from.texts()? })
}

/// The files of a chart's `crds/` that documents are of, each once with its text.
fn files_of(definitions: &[Node]) -> Option<Vec<(FilePath, Arc<str>)>> {
    let mut files: Vec<(FilePath, Arc<str>)> = Vec::new();
    for node in definitions {
        let NodeRef::Source(source, _) = node.get_ref() else { return None };
        if *source.file.tree() != Tree::Chart {
            return None;
        }
        if files.last().is_none_or(|(file, _)| *file != source.file) {
            files.push((source.file.clone(), source.stream.text.clone()));
        }
    }
    Some(files)
}

fn write_refusal(out: &mut Writer, refusal: &NoRelease) {
    out.text(&refusal.message);
    out.option(refusal.location.as_ref(), Writer::location);
    out.texts(refusal.assumed.iter());
    out.list(refusal.faults.iter(), |out, fault| {
        out.text(&fault.chart);
        out.texts(fault.path.iter());
        match &fault.kind {
            SchemaFaultKind::Value => out.byte(0),
            SchemaFaultKind::Additional => out.byte(1),
            SchemaFaultKind::Missing(names) => {
                out.byte(2);
                out.texts(names.iter());
            }
        }
        out.text(&fault.message);
        out.texts(fault.causes.iter());
        out.option(fault.location.as_ref(), Writer::location);
        out.option(fault.own.as_ref(), Writer::location);
    });
}

fn read_refusal(from: &mut RecordReader<'_>) -> Option<NoRelease> {
    let message = from.text()?.to_string();
    let location = from.option(RecordReader::location)?;
    let assumed = from.texts()?;
    let faults = from.list(|from| {
        Some(SchemaFault {
            chart: from.text()?.to_string(),
            path: from.texts()?,
            kind: match from.byte()? {
                0 => SchemaFaultKind::Value,
                1 => SchemaFaultKind::Additional,
                2 => SchemaFaultKind::Missing(from.texts()?),
                _ => return None,
            },
            message: from.text()?.to_string(),
            causes: from.texts()?,
            location: from.option(RecordReader::location)?,
            own: from.option(RecordReader::location)?,
        })
    })?;
    Some(NoRelease { message, location, assumed, faults })
}

/// What a branch that was passed over begins with.
const BRANCHES: [&str; 3] = ["if", "with", "range"];

fn write_answers(out: &mut Writer, answers: &Answers) {
    out.texts(answers.leads.iter());
    out.option(answers.deprecation.as_deref(), Writer::text);
    out.byte(u8::from(answers.is_followed));
    out.list(answers.dead.iter(), |out, (dead, meant)| {
        out.texts(dead.path.iter());
        match meant {
            None => out.byte(0),
            Some(UnreadValue::Near(path)) => {
                out.byte(1);
                out.texts(path.iter());
            }
            Some(UnreadValue::Elsewhere(path)) => {
                out.byte(2);
                out.texts(path.iter());
            }
        }
    });
    out.list(answers.idle.iter(), |out, idle| {
        out.texts(idle.path.iter());
        match &idle.reason {
            IdleReason::Off(name, by, more) => {
                out.byte(0);
                out.text(name);
                out.texts(by.iter());
                out.number(*more);
            }
            IdleReason::PassedOver(word, question, place) => {
                let branch = BRANCHES.iter().position(|branch| branch == word);
                out.byte(1 + branch.unwrap_or_default() as u8);
                out.text(question);
                out.option(place.as_ref(), Writer::location);
            }
        }
    });
    out.option(answers.culprit.as_ref(), |out, culprit| {
        out.texts(culprit.path.iter());
        out.option(culprit.meant.as_ref(), |out, meant| out.texts(meant.iter()));
    });
    out.list(answers.replaced.iter(), |out, replaced| {
        out.texts(replaced.path.iter());
        match &replaced.loss {
            Loss::Table(table) => {
                out.byte(0);
                out.texts(table.keys());
            }
            Loss::Other(value) => {
                out.byte(1);
                out.text(&value.to_string());
            }
            Loss::Globals => out.byte(2),
        }
    });
}

fn read_answers(from: &mut RecordReader<'_>) -> Option<Answers> {
    let leads = from.texts()?;
    let deprecation = from.option(|from| Some(from.text()?.to_string()))?;
    let is_followed = from.byte()? == 1;
    let dead = from.list(|from| {
        let dead = Dead::named(path(from)?);
        let meant = match from.byte()? {
            0 => None,
            1 => Some(UnreadValue::Near(path(from)?)),
            2 => Some(UnreadValue::Elsewhere(path(from)?)),
            _ => return None,
        };
        Some((dead, meant))
    })?;
    let idle = from.list(|from| {
        let path = path(from)?;
        let reason = match from.byte()? {
            0 => IdleReason::Off(from.text()?.to_string(), from.texts()?, from.number()?),
            number => {
                let branch = BRANCHES.get(usize::from(number) - 1)?;
                IdleReason::PassedOver(branch, from.text()?, from.option(RecordReader::location)?)
            }
        };
        Some(Idle::new(path, reason))
    })?;
    let culprit = from.option(|from| Some(Culprit { path: path(from)?, meant: from.option(path)? }))?;
    let replaced = from.list(|from| {
        let path = path(from)?;
        let loss = match from.byte()? {
            // What stood there is told by its keys, or as Go prints it.
            0 => {
                Loss::Table(Arc::new(self::path(from)?.into_iter().map(|key| (key, null())).collect::<Map>()))
            }
            1 => Loss::Other(Value::new(Kind::Text(from.text()?))),
            2 => Loss::Globals,
            _ => return None,
        };
        Some(Replaced { path, loss })
    })?;
    Some(Answers { leads, deprecation, is_followed, dead, idle, culprit, replaced, versions: None })
}

/// Values and their places, as bytes that no others have. Values are as deep as YAML may be.
pub(super) fn write_value(value: &Value, out: &mut Vec<u8>) {
    let text = |out: &mut Vec<u8>, text: &str| {
        out.extend_from_slice(&(text.len() as u64).to_le_bytes());
        out.extend_from_slice(text.as_bytes());
    };
    match &value.origin {
        Some(origin) => {
            let location = origin.location();
            text(out, location.file.shown());
            out.extend_from_slice(&location.start.to_le_bytes());
            out.extend_from_slice(&location.end.to_le_bytes());
            text(out, &format!("{:?}", location.file.tree()));
            // What it went through, and more than one place, is seldom.
            let via = !location.via.is_empty();
            let others = if let Origin::Several(others) = origin { Some(others) } else { None };
            out.extend([u8::from(via), u8::from(others.is_some())]);
            if via {
                text(out, &format!("{:?}", location.via));
            }
            if let Some(others) = others {
                text(out, &format!("{others:?}"));
            }
        }
        None => out.push(0xff),
    }
    match &value.kind {
        Kind::Map(map) => {
            out.push(b'm');
            out.extend_from_slice(&(map.len() as u64).to_le_bytes());
            for (key, value) in map.iter() {
                text(out, key);
                write_value(value, out);
            }
        }
        Kind::List(items) => {
            out.push(b'l');
            out.extend_from_slice(&(items.len() as u64).to_le_bytes());
            items.iter().for_each(|item| write_value(item, out));
        }
        Kind::Text(value) => {
            out.push(b't');
            text(out, value);
        }
        other => {
            out.push(b'o');
            text(out, &format!("{other:?}"));
        }
    }
}

fn path(from: &mut RecordReader<'_>) -> Option<Vec<Arc<str>>> {
    from.list(RecordReader::text)
}

fn null() -> Value {
    Value::new(Kind::Null)
}
