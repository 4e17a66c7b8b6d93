//! The bytes of a file that no output shows: where values of Secrets stand, and where a
//! hand has copied them to.

use super::secrets::SecretValues;
use crate::files::Snapshot;
use crate::lang::yaml::FilePath;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// The hidden byte ranges, file by file, found when first asked for.
#[derive(Default)]
pub(crate) struct Masks {
    files: HashMap<FilePath, Vec<Range<u32>>>,
    values: Option<Arc<SecretValues>>,
}

impl Masks {
    /// Masks of values that are known already, those of the tree among them.
    pub(crate) fn of_values(values: Option<Arc<SecretValues>>) -> Masks {
        Masks { values, ..Masks::default() }
    }

    /// The secret values of the tree.
    pub(crate) fn values(&mut self, snapshot: &Snapshot) -> &Arc<SecretValues> {
        self.values.get_or_insert_with(|| SecretValues::of([snapshot]).into())
    }

    /// The hidden ranges of a file, in order and apart.
    pub(crate) fn of(&mut self, snapshot: &Snapshot, name: &FilePath) -> &[Range<u32>] {
        if !self.files.contains_key(name) {
            let mut ranges = snapshot.hidden_in(name);
            let values = self.values(snapshot);
            if let Some(stream) = snapshot.find(name).and_then(|file| snapshot.stream(file)) {
                let found = values.find(&stream.text);
                ranges.extend(found.into_iter().map(|range| range.start as u32..range.end as u32));
            }
            ranges.sort_by_key(|range| range.start);
            ranges.dedup_by(|next, range| {
                let touches = next.start <= range.end;
                range.end = if touches { range.end.max(next.end) } else { range.end };
                touches
            });
            self.files.insert(name.clone(), ranges);
        }
        &self.files[name]
    }
}
