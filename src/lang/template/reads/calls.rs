//! What functions do with parts of the input. One that is not told here reads all of its
//! arguments but for those where a text or number is wanted.

use super::heap::{Atom, Atoms, Val};
use super::walk::ReadsWalk;
use crate::lang::template::ast::NodePlace;
use crate::lang::template::function::Ty;
use crate::lang::template::functions::FuncMap;
use std::sync::Arc;

/// Bytes of a text of which the parts are told apart; paths and lists of names are shorter.
const SPLIT: usize = 400;

impl ReadsWalk<'_> {
    pub(super) fn function(&mut self, name: &str, args: Vec<Val>, place: NodePlace) -> Val {
        match name.strip_prefix("must").filter(|rest| rest.starts_with(char::is_uppercase)) {
            Some(rest) => {
                let mut chars = rest.chars();
                let first = chars.next().map(|c| c.to_ascii_lowercase());
                let name: String = first.into_iter().chain(chars).collect();
                self.plain(&name, args, place)
            }
            None => self.plain(name, args, place),
        }
    }

    fn plain(&mut self, name: &str, args: Vec<Val>, place: NodePlace) -> Val {
        let all = || args.iter().fold(Val::default(), |all, arg| all.with(arg));
        match name {
            "and" | "or" | "coalesce" => {
                args.iter().for_each(|arg| self.read_truth(arg));
                all()
            }
            "default" => {
                args.iter().skip(1).for_each(|arg| self.read_truth(arg));
                all()
            }
            "required" => args.into_iter().nth(1).inspect(|val| self.read_truth(val)).unwrap_or_default(),
            "ternary" => match &*args {
                [one, other, by] => {
                    self.read_truth(by);
                    one.clone().with(other)
                }
                _ => all(),
            },
            "not" | "empty" | "all" | "any" => {
                args.iter().for_each(|arg| self.read_truth(arg));
                Val::one(Atom::Other)
            }
            "kindOf" | "kindIs" | "typeOf" | "typeIs" | "typeIsLike" => Val::one(Atom::Other),
            "eq" | "ne" | "lt" | "le" | "gt" | "ge" => {
                args.iter().for_each(|arg| self.read_scalar(arg));
                Val::one(Atom::Other)
            }
            "fail" => {
                args.iter().for_each(|arg| self.read_scalar(arg));
                Val::default()
            }
            "deepCopy" => args.into_iter().next().unwrap_or_default(),
            "dict" => self.dict(&args, place),
            "list" | "tuple" => {
                let made = self.heap.object_at(self.site(place.id, 0));
                for (index, arg) in args.iter().enumerate() {
                    self.heap.set(made, &index.to_string().into(), arg);
                }
                Val::one(Atom::Made(made))
            }
            "include" | "tpl" | "print" | "println" | "printf" | "cat" => self.of_texts(name, &args, place),
            "toYaml" | "toYamlPretty" | "toJson" | "toPrettyJson" | "toRawJson" | "toToml" => {
                self.serialized(&all(), place)
            }
            "fromYaml" | "fromYamlArray" | "fromJson" | "fromJsonArray" | "fromToml" => {
                self.parsed_again(&all(), place)
            }
            "indent" | "nindent" | "trim" | "trimSuffix" | "trimPrefix" => self.laid_out(&args, place),
            "set" | "unset" | "get" | "hasKey" | "pluck" | "pick" | "omit" | "dig" | "index" => {
                self.of_maps(name, &args, place)
            }
            "merge" | "mergeOverwrite" => self.merged(&args),
            _ => self.of_lists(name, args, place),
        }
    }

    fn of_lists(&mut self, name: &str, args: Vec<Val>, place: NodePlace) -> Val {
        match name {
            "append" | "prepend" | "push" | "concat" | "rest" | "initial" | "reverse"
                if let Some(list) = self.list_of(name, &args, place) =>
            {
                list
            }
            "append" | "prepend" | "push" | "concat" => {
                let made = self.heap.object_at(self.site(place.id, 0));
                if name == "concat" {
                    args.iter().for_each(|arg| self.heap.set_behind(made, arg));
                } else if let [list, item] = &*args {
                    self.heap.set_behind(made, list);
                    self.heap.set_any(made, item);
                }
                Val::one(Atom::Made(made))
            }
            "first" | "last" => {
                let list = args.into_iter().next().unwrap_or_default();
                let mut found = if name == "first" { self.element(&list, 0) } else { self.last(&list) };
                found.add(Atom::Nil);
                found
            }
            "values" => {
                let found = self.elements(&args.into_iter().next().unwrap_or_default());
                let made = self.heap.object_at(self.site(place.id, 0));
                self.heap.set_any(made, &found);
                Val::one(Atom::Made(made))
            }
            "rest" | "initial" | "reverse" | "slice" | "compact" => {
                let list = args.into_iter().next().unwrap_or_default();
                self.read_keys(&list);
                self.shifted(list, place)
            }
            "uniq" | "without" => {
                args.iter().for_each(|arg| self.read_whole(arg));
                self.shifted(args.into_iter().next().unwrap_or_default(), place)
            }
            "split" | "splitList" => self.split(name, args, place),
            "keys" => {
                let list = self.heap.object_at(self.site(place.id, 4));
                args.iter().for_each(|arg| self.heap.set_behind(list, arg));
                Val::one(Atom::KeysOf(list))
            }
            "has" => self.has(&args, place),
            "len" => {
                for arg in &args {
                    self.read_keys(arg);
                    self.read_scalar(arg);
                }
                Val::one(Atom::Other)
            }
            _ => self.unknown(name, &args, place),
        }
    }

    /// A list that is made of lists that templates write themselves: what is at each index is
    /// known. Nothing where the list made here has another length at another time.
    fn list_of(&mut self, name: &str, args: &[Val], place: NodePlace) -> Option<Val> {
        let first = self.written_list(args.first()?)?;
        let elements: Vec<Val> = match (name, args) {
            ("append" | "push", [_, item]) => [first, vec![item.clone()]].concat(),
            ("prepend", [_, item]) => [vec![item.clone()], first].concat(),
            ("concat", [_, others @ ..]) => {
                let others: Option<Vec<_>> = others.iter().map(|other| self.written_list(other)).collect();
                first.into_iter().chain(others?.into_iter().flatten()).collect()
            }
            ("rest", [_]) => first.into_iter().skip(1).collect(),
            ("initial", [_]) => first.split_last()?.1.to_vec(),
            ("reverse", [_]) => first.into_iter().rev().collect(),
            _ => return None,
        };
        let made = self.heap.object_at(self.site(place.id, 0));
        let known = self.object(made);
        let is_new = known.fields.is_empty() && known.any.0.is_empty() && known.behind.0.is_empty();
        if elements.is_empty() || !(is_new || known.fields.len() == elements.len()) {
            return None;
        }
        for (index, element) in elements.iter().enumerate() {
            self.heap.set(made, &index.to_string().into(), element);
        }
        Some(Val::one(Atom::Made(made)))
    }

    fn last(&mut self, list: &Val) -> Val {
        match self.written_list(list).as_deref() {
            Some([.., last]) => last.clone(),
            _ => self.elements(list),
        }
    }

    /// A list of the same elements at other indices.
    fn shifted(&mut self, list: Val, place: NodePlace) -> Val {
        let (made, mut kept): (Atoms, Atoms) =
            list.0.into_iter().partition(|atom| matches!(atom, Atom::Made(_)));
        if !made.is_empty() {
            let elements = self.elements(&Val(made));
            let new = self.heap.object_at(self.site(place.id, 0));
            self.heap.set_any(new, &elements);
            kept.push(Atom::Made(new));
            kept.sort_unstable();
        }
        Val(kept)
    }

    /// A text cut at each separator: of texts that templates write, the parts of each are known.
    fn split(&mut self, name: &str, args: Vec<Val>, place: NodePlace) -> Val {
        let known = match &*args {
            [by, text] => self.literals(by).zip(self.literals(text)),
            _ => None,
        };
        let is_short = |(by, texts): &(Vec<Arc<str>>, Vec<Arc<str>>)| {
            by.iter().all(|by| !by.is_empty()) && texts.iter().all(|text| text.len() <= SPLIT)
        };
        let Some((by, texts)) = known.filter(is_short) else {
            return self.unknown(name, &args, place);
        };
        let mut found = Val::default();
        for (by, text) in by.iter().flat_map(|by| texts.iter().map(move |text| (by, text))) {
            found.add(Atom::Made(self.heap.split(name == "split", by, text)));
        }
        found
    }

    /// Whether a list holds a value: of the keys of a map, whether it has one.
    fn has(&mut self, args: &[Val], place: NodePlace) -> Val {
        let [key, list] = args else { return self.unknown("has", args, place) };
        let Some(keys) = self.literals(key) else { return self.unknown("has", args, place) };
        for atom in &list.0 {
            match atom {
                Atom::KeysOf(list) => {
                    let behind = self.object(*list).behind.clone();
                    keys.iter().for_each(|key| drop(self.field(&behind, key)));
                }
                other => self.read_whole(&Val::one(*other)),
            }
        }
        Val::one(Atom::Other)
    }

    /// A function that goes by its parameters alone.
    fn unknown(&mut self, name: &str, args: &[Val], place: NodePlace) -> Val {
        let function = FuncMap::Helm.finder()(name);
        let params = function.map_or(&[][..], |function| function.params);
        for (index, arg) in args.iter().enumerate() {
            match params.get(index.min(params.len().saturating_sub(1))) {
                Some(Ty::Str | Ty::Int | Ty::Uint32 | Ty::Float | Ty::Bool) => self.read_scalar(arg),
                _ => self.read_whole(arg),
            }
        }
        let mut val = self.derived(args, place.id);
        // A template may come of a text that is decoded: of one of the input it is among
        // the templates of the input.
        let is_empty = |arg: &Val| arg.0.iter().all(|a| matches!(a, Atom::Other | Atom::Nil | Atom::Int(_)));
        match name {
            "b64dec" if !args.iter().all(is_empty) => drop(val.add(Atom::Deep)),
            "b32dec" if !args.iter().all(is_empty) => drop(val.add(Atom::Unseen)),
            _ => {}
        }
        val
    }

    fn dict(&mut self, args: &[Val], place: NodePlace) -> Val {
        let made = self.heap.object_at(self.site(place.id, 0));
        for pair in args.chunks(2) {
            let [key, val] = pair else { continue };
            match self.literals(key) {
                Some(keys) => keys.iter().for_each(|key| self.heap.set(made, key, val)),
                None => self.heap.set_any(made, val),
            }
            self.read_scalar(key);
        }
        Val::one(Atom::Made(made))
    }

    fn of_maps(&mut self, name: &str, args: &[Val], place: NodePlace) -> Val {
        match (name, args) {
            ("set", [map, key, val]) => self.set(map, key, val),
            ("unset", [map, key]) => {
                self.read_scalar(key);
                map.clone()
            }
            ("get", [map, key]) => {
                let mut found = self.entry(map, key);
                found.add(Atom::Nil);
                found
            }
            ("index", [first, keys @ ..]) => {
                keys.iter().fold(first.clone(), |val, key| self.entry(&val, key))
            }
            ("hasKey", [map, key]) => {
                match self.literals(key) {
                    Some(keys) => keys.iter().for_each(|key| drop(self.field(map, key))),
                    None => match self.keys_of_loops(key) {
                        Some(loops) => loops.into_iter().for_each(|index| drop(self.of_loop(map, index))),
                        None => self.read_keys(map),
                    },
                }
                Val::one(Atom::Other)
            }
            ("pluck", [key, maps @ ..]) => {
                let made = self.heap.object_at(self.site(place.id, 0));
                for map in maps {
                    let found = self.entry(map, key);
                    self.heap.set_any(made, &found);
                }
                Val::one(Atom::Made(made))
            }
            ("pick", [map, keys @ ..]) => {
                let made = self.heap.object_at(self.site(place.id, 0));
                for key in keys {
                    match self.literals(key) {
                        Some(keys) => {
                            for key in keys {
                                let found = self.field(map, &key);
                                self.heap.set(made, &key, &found);
                            }
                        }
                        None => self.heap.set_behind(made, map),
                    }
                }
                Val::one(Atom::Made(made))
            }
            ("omit", [map, keys @ ..]) => self.omit(map, keys, place),
            ("dig", [keys @ .., default, map]) => {
                let found = keys.iter().fold(map.clone(), |val, key| self.entry(&val, key));
                found.with(default)
            }
            _ => self.unknown(name, args, place),
        }
    }

    /// An entry of a map by a key that is a value, or an element of a list.
    fn entry(&mut self, map: &Val, key: &Val) -> Val {
        let mut found = Val::default();
        let mut key = key.clone();
        // No map or list is a key.
        key.0.retain(|atom| match atom {
            Atom::Int(index) => {
                found.join(&self.element(map, *index));
                false
            }
            other => !matches!(other, Atom::Made(_) | Atom::KeysOf(_)),
        });
        if key.is_nil() {
            return found;
        }
        if let Some(keys) = self.literals(&key) {
            return keys.iter().fold(found, |found, key| found.with(&self.field(map, key)));
        }
        self.read_scalar(&key);
        match self.keys_of_loops(&key) {
            Some(loops) => {
                loops.into_iter().fold(found, |found, index| found.with(&self.of_loop(map, index)))
            }
            None => found.with(&self.elements(map)),
        }
    }

    /// The loops whose keys a value is, where it is nothing else.
    fn keys_of_loops(&self, key: &Val) -> Option<Vec<u32>> {
        let loops = key.0.iter().map(|atom| match atom {
            Atom::Key(index) => Some(*index),
            _ => None,
        });
        loops.collect::<Option<Vec<_>>>().filter(|loops| !loops.is_empty())
    }

    fn set(&mut self, map: &Val, key: &Val, val: &Val) -> Val {
        let (keys, loops) = (self.literals(key), self.keys_of_loops(key));
        self.read_scalar(key);
        for atom in &map.0 {
            let object = match atom {
                Atom::Made(object) => *object,
                Atom::Input(part) => self.heap.over_at(*part),
                // Where it goes is not known.
                Atom::Other | Atom::Unseen | Atom::Deep | Atom::Text(_) => {
                    self.read_whole(val);
                    continue;
                }
                Atom::Nil | Atom::Lit(_) | Atom::Int(_) | Atom::Files(_) | Atom::Key(_) | Atom::KeysOf(_) => {
                    continue;
                }
            };
            match (&keys, &loops) {
                (Some(keys), _) => keys.iter().for_each(|key| self.heap.set(object, key, val)),
                (None, Some(loops)) => {
                    loops.iter().for_each(|index| self.heap.set_of_loop(object, *index, val));
                }
                (None, None) => self.heap.set_any(object, val),
            }
        }
        map.clone()
    }

    fn omit(&mut self, map: &Val, keys: &[Val], place: NodePlace) -> Val {
        let made = self.heap.object_at(self.site(place.id, 0));
        self.heap.set_behind(made, map);
        let mut hidden: Vec<Arc<str>> = Vec::new();
        for key in keys {
            // One of several is left out, nobody knows which.
            if let Some([one]) = self.literals(key).as_deref() {
                hidden.push(one.clone());
            }
        }
        self.heap.hide(made, &hidden);
        Val::one(Atom::Made(made))
    }

    fn merged(&mut self, args: &[Val]) -> Val {
        let Some((target, sources)) = args.split_first() else { return Val::default() };
        let sources = sources.iter().fold(Val::default(), |all, source| all.with(source));
        let mut found = target.clone();
        for atom in &target.0 {
            match atom {
                Atom::Made(object) => self.heap.set_behind(*object, &sources),
                Atom::Input(part) => {
                    let object = self.heap.over_at(*part);
                    self.heap.set_behind(object, &sources);
                }
                _ => drop(found.join(&sources)),
            }
        }
        found
    }
}
