//! The variables of a template that is parsed, read or run: of one name the last counts.

use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

/// Variables from which on it is worth to know where the names stand.
const LARGE: usize = 24;
/// Variables of most templates.
const USUAL: usize = 4;

/// Variables in the order of their declaration. Whoever has the template at hand borrows the names.
#[derive(Debug)]
pub(super) struct Scope<T, N = Arc<str>> {
    all: Vec<(N, T)>,
    /// The places of each name, the last one last, where there are many variables.
    places: Option<Box<FxHashMap<N, Vec<u32>>>>,
}

impl<T, N> Default for Scope<T, N> {
    fn default() -> Scope<T, N> {
        Scope { all: Vec::new(), places: None }
    }
}

impl<T, N: Borrow<str> + Clone + Hash + Eq> Scope<T, N> {
    /// The scope that a template begins with: `$` alone.
    pub(super) fn of(dollar: N, value: T) -> Scope<T, N> {
        let mut all = Vec::with_capacity(USUAL);
        all.push((dollar, value));
        Scope { all, places: None }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn push(&mut self, name: N, value: T) {
        if self.all.len() == LARGE {
            let mut places: FxHashMap<N, Vec<u32>> = FxHashMap::default();
            for (place, (name, _)) in self.all.iter().enumerate() {
                places.entry(name.clone()).or_default().push(place as u32);
            }
            self.places = Some(Box::new(places));
        }
        if let Some(places) = &mut self.places {
            places.entry(name.clone()).or_default().push(self.all.len() as u32);
        }
        self.all.push((name, value));
    }

    /// Forget what was declared behind the first `mark` variables.
    pub(super) fn truncate(&mut self, mark: usize) {
        if mark <= LARGE {
            self.places = None;
        }
        if let Some(places) = &mut self.places {
            for (name, _) in self.all.iter().skip(mark) {
                places.get_mut(name.borrow()).and_then(Vec::pop);
            }
        }
        self.all.truncate(mark);
    }

    fn place(&self, name: &str) -> Option<usize> {
        match &self.places {
            Some(places) => places.get(name)?.last().map(|place| *place as usize),
            None => self.all.iter().rposition(|(known, _)| known.borrow() == name),
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<&T> {
        self.place(name).map(|place| &self.all[place].1)
    }

    pub(super) fn find_mut(&mut self, name: &str) -> Option<&mut T> {
        self.place(name).map(|place| &mut self.all[place].1)
    }

    /// Whether one of the first `mark` variables is called so.
    pub(super) fn was_declared(&self, name: &str, mark: usize) -> bool {
        match &self.places {
            Some(places) => places
                .get(name)
                .and_then(|places| places.first())
                .is_some_and(|place| (*place as usize) < mark),
            None => self.all.iter().take(mark).any(|(known, _)| known.borrow() == name),
        }
    }

    /// The values of the last `count` variables.
    pub(super) fn last_mut(&mut self, count: usize) -> impl Iterator<Item = &mut T> {
        let from = self.all.len().saturating_sub(count);
        self.all[from..].iter_mut().map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Many variables or few, the answers are those of a list that is looked through.
    #[test]
    fn the_last_of_a_name_counts() {
        let mut scope: Scope<u64> = Scope::of("$".into(), 0);
        let mut list: Vec<(String, u64)> = vec![("$".to_owned(), 0)];
        let mut state = 11_u64;
        for step in 0..5000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let name = format!("$v{}", (state >> 33) % 40);
            match (state >> 20) % 16 {
                0 => {
                    let mark = (state >> 40) as usize % list.len() + 1;
                    scope.truncate(mark);
                    list.truncate(mark);
                }
                1 => {
                    if let Some(value) = scope.find_mut(&name) {
                        *value = step;
                    }
                    if let Some((_, value)) = list.iter_mut().rev().find(|(known, _)| *known == name) {
                        *value = step;
                    }
                }
                _ => {
                    scope.push(name.as_str().into(), step);
                    list.push((name.clone(), step));
                }
            }
            let known = list.iter().rev().find(|(known, _)| *known == name).map(|(_, value)| value);
            assert_eq!(scope.find(&name), known, "{step}");
            assert_eq!(scope.len(), list.len());
            let mark = list.len() / 2;
            let before = list[..mark].iter().any(|(known, _)| *known == name);
            assert_eq!(scope.was_declared(&name, mark), before, "{step}");
            let last: Vec<u64> = scope.last_mut(2).map(|value| *value).collect();
            assert!(last.iter().eq(list[list.len().saturating_sub(2)..].iter().map(|(_, value)| value)));
        }
    }
}
