//! Texts: templates that are called, values that are written as YAML and read again, and
//! texts that are templates themselves.

use super::heap::{Atom, Atoms, Val};
use super::walk::ReadsWalk;
use crate::lang::template::ast::NodePlace;
use rustc_hash::FxHashSet;
use std::sync::Arc;

/// Literal texts that are put together at one place.
const COMBINED: usize = 64;
/// Files that are templates, of which any may be taken.
const FILES: usize = 64;

impl ReadsWalk<'_> {
    pub(super) fn of_texts(&mut self, name: &str, args: &[Val], place: NodePlace) -> Val {
        match (name, args) {
            ("include", [name, data]) => self.include(name, data),
            ("tpl", [text, data]) => self.tpl(text, data, place),
            ("print" | "println", _) => self.combined(args, "", place),
            ("cat", _) => self.combined(args, " ", place),
            ("printf", [format, rest @ ..]) => self.formatted(format, rest, place),
            _ => Val::default(),
        }
    }

    fn include(&mut self, name: &Val, data: &Val) -> Val {
        let mut found = Val::default();
        for atom in &name.0 {
            match atom {
                Atom::Nil => {}
                Atom::Lit(text) => {
                    let name = self.heap.literal_of(*text);
                    if let Some(template) = self.templates.by_name.get(&name).copied() {
                        found.join(&self.call(template, data));
                    }
                }
                Atom::Text(text) if !self.text(*text).shapes.is_empty() => {
                    let shapes = self.text(*text).shapes.clone();
                    for template in self.named_like(&shapes) {
                        found.join(&self.call(template, data));
                    }
                }
                _ => {
                    self.read_scalar(&Val::one(*atom));
                    self.read_whole(data);
                    found.add(Atom::Unseen);
                }
            }
        }
        found
    }

    /// The templates whose names have one of these shapes.
    fn named_like(&self, shapes: &[Arc<str>]) -> Vec<usize> {
        let names = self.templates.by_name.iter();
        let mut found: Vec<usize> = names
            .filter(|(name, _)| shapes.iter().any(|shape| has_shape(name, shape)))
            .map(|(_, template)| *template)
            .collect();
        found.sort_unstable();
        found
    }

    /// A text that is put together; one text where all parts are literals.
    fn combined(&mut self, args: &[Val], between: &str, place: NodePlace) -> Val {
        let mut texts: Vec<String> = vec![String::new()];
        for (index, arg) in args.iter().enumerate() {
            let parts: Vec<Arc<str>> = self.literals(arg).unwrap_or_else(|| vec!["\0".into()]);
            if texts.len() * parts.len() > COMBINED {
                texts = vec!["\0".to_owned()];
                continue;
            }
            let between = if index > 0 { between } else { "" };
            let add =
                |text: &String| parts.iter().map(|part| format!("{text}{between}{part}")).collect::<Vec<_>>();
            texts = texts.iter().flat_map(add).collect();
        }
        self.shaped(texts, args, place)
    }

    fn formatted(&mut self, format: &Val, rest: &[Val], place: NodePlace) -> Val {
        let Some(formats) = self.literals(format) else {
            let args: Vec<Val> = std::iter::once(format.clone()).chain(rest.iter().cloned()).collect();
            return self.combined(&args, "", place);
        };
        let mut texts = Vec::new();
        for format in formats {
            let pieces = pieces(&format);
            let mut known: Vec<String> = vec![String::new()];
            for (index, piece) in pieces.iter().enumerate() {
                let parts: Vec<Arc<str>> = match index {
                    0 => vec!["".into()],
                    _ => match rest.get(index - 1).and_then(|arg| self.literals(arg)) {
                        Some(parts) if piece.0 => parts,
                        _ => vec!["\0".into()],
                    },
                };
                if known.len() * parts.len() > COMBINED {
                    known = vec!["\0".to_owned()];
                    break;
                }
                let piece = &piece.1;
                let add = |text: &String| {
                    parts.iter().map(|part| format!("{text}{part}{piece}")).collect::<Vec<_>>()
                };
                known = known.iter().flat_map(add).collect();
            }
            texts.append(&mut known);
        }
        self.shaped(texts, rest, place)
    }

    /// A text of these shapes, made of values.
    fn shaped(&mut self, texts: Vec<String>, args: &[Val], place: NodePlace) -> Val {
        let mut found = Val::default();
        let mut shapes: Vec<Arc<str>> = Vec::new();
        for text in texts {
            match text.contains('\0') {
                true => shapes.push(text.into()),
                false => drop(found.add(self.heap.literal(&text))),
            }
        }
        if shapes.is_empty() {
            return found;
        }
        args.iter().for_each(|arg| self.read_whole(arg));
        let text = self.made_of(args, place.id);
        for shape in shapes {
            self.heap.put_shape(text, shape);
        }
        found.add(Atom::Text(text));
        found
    }

    /// The text that is made of values here.
    fn made_of(&mut self, args: &[Val], id: u32) -> u32 {
        let text = self.heap.text_at(self.site(id, 1));
        self.heap.mix(text);
        for arg in args {
            let from: Atoms = arg.0.iter().copied().filter(|atom| !matches!(atom, Atom::Nil)).collect();
            if from.contains(&Atom::Unseen) {
                self.heap.unsee(text);
            }
            let mut from = Val(from);
            from.0.retain(|atom| {
                !matches!(atom, Atom::Other | Atom::Unseen | Atom::Int(_) | Atom::Files(_) | Atom::Key(_))
            });
            from.0.retain(|atom| *atom != Atom::Text(text));
            self.heap.put_from(text, &from);
        }
        text
    }

    /// What a function makes of values that are read: it may still hold a template.
    pub(super) fn derived(&mut self, args: &[Val], id: u32) -> Val {
        let holds = |atom: &Atom| {
            !matches!(
                atom,
                Atom::Nil | Atom::Other | Atom::Lit(_) | Atom::Int(_) | Atom::Files(_) | Atom::Key(_)
            )
        };
        if !args.iter().any(|arg| arg.0.iter().any(holds)) {
            return Val::one(Atom::Other);
        }
        Val::one(Atom::Text(self.made_of(args, id)))
    }

    /// A value as YAML or JSON, of which nothing is read yet.
    pub(super) fn serialized(&mut self, val: &Val, place: NodePlace) -> Val {
        if val.0.iter().all(|atom| matches!(atom, Atom::Nil | Atom::Other | Atom::Int(_) | Atom::Key(_))) {
            return Val::one(Atom::Other);
        }
        let text = self.heap.text_at(self.site(place.id, 2));
        let mut val = val.clone();
        val.0.retain(|atom| *atom != Atom::Text(text));
        self.heap.put_held(text, &val);
        Val::one(Atom::Text(text))
    }

    /// What a text of YAML or JSON says.
    pub(super) fn parsed_again(&mut self, text: &Val, place: NodePlace) -> Val {
        let mut found = Val::default();
        for atom in &text.0 {
            match atom {
                Atom::Nil | Atom::Other | Atom::Lit(_) | Atom::Int(_) | Atom::Files(_) | Atom::Key(_) => {
                    found.add(Atom::Other);
                }
                Atom::Unseen | Atom::Deep => drop(found.add(*atom)),
                Atom::Text(text) => {
                    let known = self.text(*text);
                    if known.is_mixed {
                        self.read_whole(&Val::one(*atom));
                        found.add(*atom);
                    } else {
                        found.join(&known.holds);
                    }
                }
                Atom::Input(_) | Atom::Made(_) | Atom::KeysOf(_) => {
                    let val = Val::one(*atom);
                    self.read_whole(&val);
                    found.join(&self.derived(&[val], place.id));
                }
            }
        }
        found
    }

    /// A text with other white space around it.
    pub(super) fn laid_out(&mut self, args: &[Val], place: NodePlace) -> Val {
        let Some((text, _)) = args.split_last() else { return Val::default() };
        let mut found = Val::default();
        for atom in &text.0 {
            match atom {
                Atom::Input(_) | Atom::Made(_) | Atom::KeysOf(_) => {
                    found.join(&self.derived(&[Val::one(*atom)], place.id));
                }
                other => drop(found.add(*other)),
            }
        }
        found
    }

    /// Runs a text as a template.
    fn tpl(&mut self, text: &Val, data: &Val, place: NodePlace) -> Val {
        let inside = self.inside(text);
        let mut found = Val::default();
        if inside.is_unseen {
            self.read_whole(data);
            found.add(Atom::Unseen);
        }
        let mut texts: FxHashSet<Arc<str>> = FxHashSet::default();
        for literal in &inside.literals {
            texts.insert(self.heap.literal_of(*literal));
        }
        let program = self.program;
        if inside.is_input {
            texts.extend(program.texts.iter().cloned());
        }
        for shape in inside.shapes.iter().filter(|shape| shape.contains("{{")) {
            let known: Vec<Arc<str>> = texts.iter().cloned().collect();
            texts.insert(shape.replace('\0', "x").into());
            texts.extend(known.iter().map(|text| shape.replace('\0', text).into()));
        }
        let mut texts: Vec<Arc<str>> = texts.into_iter().filter(|text| text.contains("{{")).collect();
        texts.sort();
        for text in texts {
            found.join(&self.run_text(&text, data));
        }
        // What is no action stays as it is.
        for atom in &text.0 {
            match atom {
                // It was run.
                Atom::Lit(text) if self.heap.literal_of(*text).contains("{{") => {}
                Atom::Input(_) | Atom::Made(_) | Atom::KeysOf(_) => {
                    let val = Val::one(*atom);
                    self.read_whole(&val);
                    found.join(&self.derived(&[val], place.id));
                }
                other => drop(found.add(*other)),
            }
        }
        found
    }

    fn run_text(&mut self, text: &Arc<str>, data: &Val) -> Val {
        let template = match self.parsed.get(text) {
            Some(known) => *known,
            None => {
                let new = self.templates.text(text);
                self.parsed.insert(text.clone(), new);
                new
            }
        };
        template.map_or_else(Val::default, |template| self.call(template, data))
    }

    /// The text of a file of the chart.
    pub(super) fn file(&mut self, files: &Val, name: &Val) -> Val {
        let mut found = Val::one(Atom::Other);
        let names = self.literals(name);
        self.read_scalar(name);
        let program = self.program;
        for atom in &files.0 {
            let Atom::Files(index) = atom else { continue };
            let all = &program.files[*index as usize];
            match &names {
                Some(names) => {
                    let texts = names.iter().filter_map(|name| all.get(name));
                    for text in texts {
                        found.add(self.heap.literal(text));
                    }
                }
                None if all.len() > FILES => drop(found.add(Atom::Unseen)),
                None => {
                    let mut texts: Vec<&Arc<str>> = all.values().collect();
                    texts.sort();
                    for text in texts {
                        found.add(self.heap.literal(text));
                    }
                }
            }
        }
        found
    }
}

/// Whether a name may be one of this shape.
fn has_shape(name: &str, shape: &str) -> bool {
    let mut parts = shape.split('\0');
    let (first, mut rest) = (parts.next().unwrap_or_default(), name);
    match rest.strip_prefix(first) {
        Some(after) => rest = after,
        None => return false,
    }
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// A format by its verbs: what is written behind each, and whether it takes a text as it
/// is. The first stands before all verbs.
fn pieces(format: &str) -> Vec<(bool, String)> {
    let mut found = vec![(true, String::new())];
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            if let Some(last) = found.last_mut() {
                last.1.push(c);
            }
            continue;
        }
        if chars.peek() == Some(&'%') {
            chars.next();
            if let Some(last) = found.last_mut() {
                last.1.push('%');
            }
            continue;
        }
        let mut plain = true;
        for c in chars.by_ref() {
            if c.is_ascii_alphabetic() {
                plain &= matches!(c, 's' | 'v');
                break;
            }
            plain = false;
        }
        found.push((plain, String::new()));
    }
    found
}
