//! Which objects have or had a name: a kustomization may have as many patches and
//! replacements as objects, and most of them name what they change.

use super::id::ResId;
use super::resource::Resource;
use rustc_hash::FxHashMap;

/// Positions of objects by every name that they have or had. Whoever adds, removes
/// or moves objects starts anew.
#[derive(Default)]
pub(super) struct NameIndex {
    by_name: Option<FxHashMap<String, Vec<usize>>>,
    /// Whether one was asked for: a component often has one patch.
    asked: bool,
}

impl NameIndex {
    /// The positions of the objects that may go by a name, in order; of all of them
    /// without one.
    pub(super) fn positions(&mut self, resources: &[Resource], name: Option<&str>) -> Vec<usize> {
        match name {
            Some(name) if !std::mem::replace(&mut self.asked, true) => {
                // Names that are many differ in their last byte more often than in the first.
                let end = name.as_bytes().last();
                let is = |id: &ResId| id.name.as_bytes().last() == end && *id.name == *name;
                let goes_by = |resource: &Resource| is(&resource.id) || resource.previous.iter().any(is);
                let all = resources.iter().enumerate();
                all.filter(|(_, resource)| goes_by(resource)).map(|(at, _)| at).collect()
            }
            Some(name) => self.of(resources).get(name).cloned().unwrap_or_default(),
            None => (0..resources.len()).collect(),
        }
    }

    /// Take in the names that the object at a position has now.
    pub(super) fn add(&mut self, at: usize, resource: &Resource) {
        let Some(names) = &mut self.by_name else { return };
        for id in resource.ids() {
            let known = match names.get_mut(&*id.name) {
                Some(known) => known,
                None => names.entry(id.name.to_string()).or_default(),
            };
            if let Err(place) = known.binary_search(&at) {
                known.insert(place, at);
            }
        }
    }

    /// Forget all: objects came, went or moved.
    pub(super) fn forget(&mut self) {
        self.by_name = None;
    }

    fn of(&mut self, resources: &[Resource]) -> &FxHashMap<String, Vec<usize>> {
        self.by_name.get_or_insert_with(|| {
            let mut names: FxHashMap<String, Vec<usize>> = FxHashMap::default();
            for (at, resource) in resources.iter().enumerate() {
                for id in resource.ids() {
                    let known = names.entry(id.name.to_string()).or_default();
                    if known.last() != Some(&at) {
                        known.push(at);
                    }
                }
            }
            names
        })
    }
}
