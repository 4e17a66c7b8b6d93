//! `--set` and its kin, and `targetPath` of Flux: Helm's `pkg/strvals`.

use super::json::Json;
use super::value::{Kind, Map, Value};
use crate::lang::yaml::Origin;
use std::sync::Arc;

/// How the value behind `=` is read.
#[derive(Clone, Copy)]
pub enum Style<'s> {
    /// `--set`: lists in braces, numbers, booleans and null by their looks.
    Typed,
    /// `--set-string`: lists in braces, of texts.
    Text,
    /// `--set-file`: what the function gives for the text; lists in braces.
    File(&'s dyn Fn(&str) -> Result<String, String>),
    /// `--set-json`: a JSON value.
    Json,
    /// `--set-literal`: all that follows, as it is.
    Literal,
}

/// Highest index of a list.
const MAX_INDEX: i64 = 65_536;

/// Names within names.
const MAX_NESTED: usize = 30;

/// Indices of one key; Helm has no such bound.
const MAX_INDICES: usize = 30;

/// Sets what a text says in a map, as `ParseInto` does; `origin` is where it was written.
///
/// # Errors
/// Go's words for what is malformed; what stood before it is set.
pub fn set(into: &mut Value, text: &str, style: Style<'_>, origin: Option<&Origin>) -> Result<(), String> {
    let mut parser = Parser { text, at: 0, style, origin, indices: 0 };
    loop {
        parser.indices = 0;
        let Some(map) = into.map_mut() else {
            return Err("interface conversion: interface {} is not map[string]interface {}".to_owned());
        };
        match parser.key(map, 0) {
            Ok(()) => {}
            Err(Stop::End) => return Ok(()),
            Err(Stop::Failed(why)) => return Err(why),
        }
    }
}

struct Parser<'p> {
    text: &'p str,
    at: usize,
    style: Style<'p>,
    origin: Option<&'p Origin>,
    /// Indices of the key that is read.
    indices: usize,
}

enum Stop {
    /// Go's `io.EOF`.
    End,
    Failed(String),
}

fn failed<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Failed(why.into()))
}

fn insert(map: &mut Map, key: &str, value: Value) {
    if !key.is_empty() {
        map.insert(key.into(), value);
    }
}

impl Parser<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.text[self.at..].chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    fn value(&self, kind: Kind) -> Value {
        Value { kind, origin: self.origin.cloned() }
    }

    /// `runesUntil`: what comes before one of the characters, and that character; nothing
    /// where the end comes first.
    fn until(&mut self, stop: &[char]) -> (String, Option<char>) {
        let is_literal = matches!(self.style, Style::Literal);
        let mut out = String::new();
        while let Some(c) = self.next() {
            if stop.contains(&c) {
                return (out, Some(c));
            }
            if c == '\\' && !is_literal {
                match self.next() {
                    Some(escaped) => out.push(escaped),
                    None => return (out, None),
                }
            } else {
                out.push(c);
            }
        }
        (out, None)
    }

    fn key(&mut self, map: &mut Map, nested: usize) -> Result<(), Stop> {
        let stop: &[char] = match self.style {
            Style::Literal => &['=', '[', '.'],
            _ => &['=', '[', ',', '.'],
        };
        let (key, last) = self.until(stop);
        match last {
            None if key.is_empty() => Err(Stop::End),
            None => failed(format!("key {key:?} has no value")),
            Some('[') => self.indexed(map, &key, nested),
            Some('=') => self.assigned(map, &key),
            Some(',') => {
                insert(map, &key, self.value(Kind::Text("".into())));
                failed(format!("key {key:?} has no value (cannot end with ,)"))
            }
            _ => self.below(map, &key, nested + 1),
        }
    }

    fn indexed(&mut self, map: &mut Map, key: &str, nested: usize) -> Result<(), Stop> {
        let index = self.index()?;
        let mut list = match map.get(key).map(|value| &value.kind) {
            None => Vec::new(),
            Some(Kind::List(items)) => (**items).clone(),
            Some(_) => return failed(conversion(map.get(key), "[]interface {}")),
        };
        let result = self.item(&mut list, index, nested);
        insert(map, key, self.value(Kind::List(Arc::new(list))));
        result
    }

    fn below(&mut self, map: &mut Map, key: &str, nested: usize) -> Result<(), Stop> {
        if nested > MAX_NESTED {
            return failed(format!(
                "value name nested level is greater than maximum supported nested level of {MAX_NESTED}"
            ));
        }
        let (mut inner, origin) = match map.get(key) {
            None => (Map::new(), self.origin.cloned()),
            Some(value) => match &value.kind {
                Kind::Map(inner) => ((**inner).clone(), value.origin.clone()),
                _ => return failed(conversion(Some(value), "map[string]interface {}")),
            },
        };
        let result = self.key(&mut inner, nested);
        if inner.is_empty() {
            return match result {
                Ok(()) => failed(format!("key map {key:?} has no value")),
                other => other,
            };
        }
        insert(map, key, Value { kind: Kind::Map(Arc::new(inner)), origin });
        result
    }

    fn index(&mut self) -> Result<i64, Stop> {
        let (text, last) = self.until(&[']']);
        if last.is_none() {
            return failed("error parsing index: EOF");
        }
        let of_go = text.strip_prefix('+').unwrap_or(&text);
        of_go.parse().map_err(|_| {
            Stop::Failed(format!("error parsing index: strconv.Atoi: parsing {text:?}: invalid syntax"))
        })
    }

    fn assigned(&mut self, map: &mut Map, key: &str) -> Result<(), Stop> {
        let (kind, result) = self.right_side()?;
        insert(map, key, self.value(kind));
        result
    }

    /// What stands behind `=`, and whether the text ends there as Go counts it.
    fn right_side(&mut self) -> Result<(Kind, Result<(), Stop>), Stop> {
        match self.style {
            Style::Literal => {
                let rest = self.text[self.at..].to_owned();
                self.at = self.text.len();
                Ok((Kind::Text(rest.into()), Ok(())))
            }
            Style::Json => self.json().map(|kind| (kind, Ok(()))),
            Style::Typed | Style::Text | Style::File(_) => {
                if self.at == self.text.len() {
                    return Ok((Kind::Text("".into()), Err(Stop::End)));
                }
                if self.text[self.at..].starts_with('{') {
                    self.at += 1;
                    return self.braces().map(|kind| (kind, Ok(())));
                }
                let (text, _) = self.until(&[',']);
                Ok((self.read(&text)?, Ok(())))
            }
        }
    }

    fn read(&self, text: &str) -> Result<Kind, Stop> {
        match self.style {
            Style::File(read) => read(text).map(|text| Kind::Text(text.into())).map_err(Stop::Failed),
            Style::Typed => Ok(typed(text)),
            _ => Ok(Kind::Text(text.into())),
        }
    }

    fn braces(&mut self) -> Result<Kind, Stop> {
        let mut items = Vec::new();
        loop {
            let (text, last) = self.until(&[',', '}']);
            let Some(last) = last else {
                return failed("list must terminate with '}'");
            };
            let kind = self.read(&text)?;
            items.push(self.value(kind));
            if last == '}' {
                if self.text[self.at..].starts_with(',') {
                    self.at += 1;
                }
                return Ok(Kind::List(Arc::new(items)));
            }
        }
    }

    /// Whether only blanks come before the end or a comma.
    fn is_empty_value(&mut self) -> bool {
        while let Some(c) = self.text[self.at..].chars().next() {
            if c != ',' && !c.is_whitespace() {
                return false;
            }
            self.at += c.len_utf8();
            if c == ',' {
                return true;
            }
        }
        true
    }

    fn json(&mut self) -> Result<Kind, Stop> {
        if self.is_empty_value() {
            return Ok(Kind::Null);
        }
        let mut values = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter();
        let value: Json = match values.next() {
            Some(Ok(value)) => value,
            Some(Err(error)) => return failed(error.to_string()),
            None => return Ok(Kind::Null),
        };
        self.at += values.byte_offset();
        self.is_empty_value();
        Ok(value.at(self.origin).kind)
    }

    fn item(&mut self, list: &mut Vec<Value>, index: i64, nested: usize) -> Result<(), Stop> {
        self.indices += 1;
        if self.indices > MAX_INDICES {
            return failed(format!("more than forebay's bound: {MAX_INDICES} indices of a key"));
        }
        if index < 0 {
            return failed(format!("negative {index} index not allowed"));
        }
        let (extra, last) = self.until(&['[', '.', '=']);
        if !extra.is_empty() {
            return failed(format!("unexpected data at end of array index: {extra:?}"));
        }
        let known = usize::try_from(index).ok().and_then(|at| list.get(at)).cloned();
        match last {
            None => Err(Stop::End),
            Some('=') => {
                let (kind, _) = self.right_side()?;
                let value = self.value(kind);
                self.put(list, index, value)
            }
            Some('[') => {
                let next = self.index()?;
                let mut inner = match known.as_ref().map(|value| &value.kind) {
                    None | Some(Kind::Null) => Vec::new(),
                    Some(Kind::List(items)) => (**items).clone(),
                    Some(_) => return failed(conversion(known.as_ref(), "[]interface {}")),
                };
                self.item(&mut inner, next, nested)?;
                let value = self.value(Kind::List(Arc::new(inner)));
                self.put(list, index, value)
            }
            _ => {
                let mut inner = known.as_ref().and_then(Value::map).cloned().unwrap_or_default();
                let result = self.key(&mut inner, nested);
                let value = self.value(Kind::Map(Arc::new(inner)));
                // At the end of the text Go leaves the map unset, but for one that it changed.
                match (&result, known) {
                    (Ok(()), _) => self.put(list, index, value)?,
                    (Err(_), Some(_)) => list[index as usize] = value,
                    _ => {}
                }
                result
            }
        }
    }

    fn put(&self, list: &mut Vec<Value>, index: i64, value: Value) -> Result<(), Stop> {
        if index > MAX_INDEX {
            return failed(format!(
                "index of {index} is greater than maximum supported index of {MAX_INDEX}"
            ));
        }
        let index = index as usize;
        while list.len() <= index {
            list.push(self.value(Kind::Null));
        }
        list[index] = value;
        Ok(())
    }
}

/// Go's words for a value of another type.
fn conversion(value: Option<&Value>, wanted: &str) -> String {
    let found = match value.map_or("nil", Value::go_type) {
        "<nil>" => "nil",
        found => found,
    };
    format!("unable to parse key: interface conversion: interface {{}} is {found}, not {wanted}")
}

/// `typedVal`
fn typed(text: &str) -> Kind {
    if text.eq_ignore_ascii_case("true") {
        return Kind::Bool(true);
    }
    if text.eq_ignore_ascii_case("false") {
        return Kind::Bool(false);
    }
    if text.eq_ignore_ascii_case("null") {
        return Kind::Null;
    }
    match text.parse::<i64>() {
        Ok(0) if text == "0" => Kind::Int(0),
        Ok(number) if !text.starts_with('0') => Kind::Int(number),
        _ => Kind::Text(text.into()),
    }
}

/// `--set-json` of a whole object, which is merged as a file of values is.
///
/// # Errors
/// It is no JSON object.
pub(super) fn json_object(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str::<Json>(text).map_err(|error| error.to_string())?.at(None);
    if value.is_map() { Ok(value) } else { Err("no object".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(texts: &[&str], style: Style<'_>) -> String {
        let mut value = Value::empty();
        for text in texts {
            if let Err(why) = set(&mut value, text, style, None) {
                return why;
            }
        }
        value.to_string()
    }

    #[test]
    fn texts_are_set_as_helm_does() {
        for (text, expected) in [
            ("a=1,b=1.5,c=true,d=null,e=007", "map[a:1 b:1.5 c:true d:<nil> e:007]"),
            ("a={1,2},b={}", "map[a:[1 2] b:[]]"),
            ("a.b.c=1,a.b.d=2", "map[a:map[b:map[c:1 d:2]]]"),
            ("a[1]=x", "map[a:[<nil> x]]"),
            ("a[0].b=1,a[0].c=2", "map[a:[map[b:1 c:2]]]"),
            ("a[0][1]=2", "map[a:[[<nil> 2]]]"),
            ("a\\.b=1,c=x\\,y", "map[a.b:1 c:x,y]"),
            ("a=", "map[a:]"),
            ("a", "key \"a\" has no value"),
            ("a,b=1", "key \"a\" has no value (cannot end with ,)"),
            ("a={1", "list must terminate with '}'"),
            ("a[-1]=1", "negative -1 index not allowed"),
            ("a[99999999]=1", "index of 99999999 is greater than maximum supported index of 65536"),
            (
                "a=1,a.b=2",
                "unable to parse key: interface conversion: interface {} is int64, not map[string]interface {}",
            ),
        ] {
            assert_eq!(shown(&[text], Style::Typed), expected, "{text}");
        }
        assert_eq!(shown(&["a=1,b=true,d={1,x}"], Style::Text), "map[a:1 b:true d:[1 x]]");
        assert_eq!(shown(&["a.b=x,y={z}"], Style::Literal), "map[a:map[b:x,y={z}]]");
        assert_eq!(shown(&["a={\"b\":[1,null]},c=2"], Style::Json), "map[a:map[b:[1 <nil>]] c:2]");
        let deep = format!("{}=1", ["a"; 40].join("."));
        assert!(shown(&[&deep], Style::Typed).contains("nested level"));
        for step in ["[0]", "[0].a"] {
            let deep = format!("a{}=1", step.repeat(60_000));
            assert!(shown(&[&deep], Style::Typed).contains("30 indices"), "{step}");
        }
    }
}
