//! The outline of a document in plain YAML: keys and values on lines, as nearly all that charts
//! write. Helm reads four fields of a document and refuses what is no YAML; to find that out by
//! the whole of the language takes most of a render that writes definitions of megabytes.
//!
//! Here a document is gone through by its lines, by rules narrower than YAML's. Whatever they
//! leave open (anchors, tags, braces over several lines, tabs but in block scalars, keys that are
//! no plain words) is not judged.

/// Collections in one another, above which nothing is judged.
const DEPTH: usize = 64;
/// Bytes of a key, above which nothing is judged.
const KEY: usize = 128;
/// Collections in one another on one line, above which nothing is judged.
const FLOW_DEPTH: usize = 16;
/// Keys of a map up to which each is compared with each.
const FEW: usize = 12;

/// The entries of the top level whose keys are `wanted`, as text, of a document that
/// `sigs.k8s.io/yaml` surely takes; nothing where that is not sure.
pub(super) fn outline(text: &str, wanted: impl Fn(&str) -> bool) -> Option<String> {
    // Without an end before the last byte, so that many are looked at in one step.
    if text.bytes().fold(false, |found, byte| found | !matches!(byte, b' '..=b'~' | b'\n' | b'\t' | 0x80..)) {
        return None;
    }
    if !text.is_ascii() && has_special(text.as_bytes()) {
        return None;
    }
    let has_tabs = memchr::memchr(b'\t', text.as_bytes()).is_some();
    let (open, keys) = (Vec::new(), Vec::new());
    let mut outline = Outline { text, has_tabs, at: 0, open, keys, waits: None, plain: None };
    let (mut found, mut begin) = (String::new(), None);
    while let Some((start, line)) = outline.line() {
        let key = outline.content(line)?;
        if let Some(key) = key.filter(|_| outline.open.len() == 1) {
            if let Some(begin) = begin.take() {
                found.push_str(&text[begin..start]);
            }
            begin = wanted(key).then_some(start);
        }
    }
    while !outline.open.is_empty() {
        outline.leave()?;
    }
    if let Some(begin) = begin {
        found.push_str(&text[begin..]);
    }
    Some(found)
}

/// Whether a text has characters that end lines, or that go-yaml refuses: U+0080 to U+009F, U+2028,
/// U+2029, U+FEFF, U+FFFE and U+FFFF. Of many megabytes with a dash or two most bytes are no beginning
/// of one.
fn has_special(text: &[u8]) -> bool {
    memchr::memchr3_iter(0xc2, 0xe2, 0xef, text).any(|at| {
        matches!(
            text[at..],
            [0xc2, 0x80..=0x9f, ..]
                | [0xe2, 0x80, 0xa8 | 0xa9, ..]
                | [0xef, 0xbb, 0xbf, ..]
                | [0xef, 0xbf, 0xbe | 0xbf, ..]
        )
    })
}

/// A map or a list that is not at its end.
struct Open {
    indent: usize,
    is_list: bool,
    /// How many keys stood before its own.
    keys: usize,
}

struct Outline<'t> {
    text: &'t str,
    /// Whether there are tabs anywhere in it.
    has_tabs: bool,
    /// The first byte that was not read.
    at: usize,
    open: Vec<Open>,
    /// Keys of all open maps.
    keys: Vec<&'t str>,
    /// The indent of a map whose last key waits for its value.
    waits: Option<usize>,
    /// The indent around a plain text that may go on.
    plain: Option<usize>,
}

impl<'t> Outline<'t> {
    /// The next line, and where it begins.
    fn line(&mut self) -> Option<(usize, &'t str)> {
        let start = self.at;
        let rest = &self.text[start..];
        if rest.is_empty() {
            return None;
        }
        let end = memchr::memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.at = (start + end + 1).min(self.text.len());
        Some((start, &rest[..end]))
    }

    /// Takes in a line outside of block scalars; its key, where it begins with one.
    fn content(&mut self, line: &'t str) -> Option<Option<&'t str>> {
        let rest = behind_spaces(line);
        let indent = line.len() - rest.len();
        let rest = without_spaces(rest);
        if rest.is_empty() {
            return Some(None);
        }
        if self.has_tabs && rest.contains('\t') {
            return None;
        }
        if rest.starts_with('#') {
            self.plain = None;
            return Some(None);
        }
        if self.plain.is_some_and(|around| indent > around) {
            return matches!(plain_part(rest), Some((_, false))).then_some(None);
        }
        self.plain = None;
        let is_item = is_item(rest);
        match self.waits.take() {
            // A value on a line of its own.
            Some(of) if indent > of && !is_item && entry(rest).is_none() => {
                return self.scalar(rest, of).map(|()| None);
            }
            Some(of) if indent > of || indent == of && is_item => self.enter(indent, is_item)?,
            None if self.open.is_empty() && indent == 0 && !is_item => self.enter(0, false)?,
            _ => {}
        }
        self.close(indent)?;
        if self.open.last().is_some_and(|open| open.is_list) && !is_item {
            // A list as deep as the map that it is a value of.
            self.leave()?;
        }
        let fits = |open: &&Open| open.indent == indent && open.is_list == is_item;
        self.open.last().filter(fits)?;
        self.item(indent, rest)
    }

    /// What stands behind the indent: items of lists in one another, then an entry or a text.
    fn item(&mut self, mut indent: usize, mut rest: &'t str) -> Option<Option<&'t str>> {
        let mut is_in_list = false;
        while is_item(rest) {
            let inner = behind_spaces(&rest[1..]);
            if is_in_list {
                self.enter(indent, true)?;
            }
            indent += rest.len() - inner.len();
            (rest, is_in_list) = (inner, true);
        }
        let Some((key, value)) = entry(rest) else {
            // What holds the text is the list, a column or more before it.
            let around = self.open.last().filter(|_| is_in_list)?.indent;
            return self.scalar(rest, around).map(|()| None);
        };
        if is_in_list {
            self.enter(indent, false)?;
        }
        self.keys.push(key);
        if value.is_empty() || value.starts_with('#') {
            self.waits = Some(indent);
        } else {
            self.scalar(value, indent)?;
        }
        Some(Some(key))
    }

    fn enter(&mut self, indent: usize, is_list: bool) -> Option<()> {
        self.open.push(Open { indent, is_list, keys: self.keys.len() });
        (self.open.len() <= DEPTH).then_some(())
    }

    /// Leaves what is deeper than an indent.
    fn close(&mut self, indent: usize) -> Option<()> {
        while self.open.last().is_some_and(|open| open.indent > indent) {
            self.leave()?;
        }
        Some(())
    }

    /// Leaves the innermost collection; nothing where a key stands in it twice.
    fn leave(&mut self) -> Option<()> {
        let open = self.open.pop()?;
        self.forget(open.keys)
    }

    /// Forgets the keys of the innermost map, which begin at `first`; nothing where one is there twice.
    fn forget(&mut self, first: usize) -> Option<()> {
        let keys = &mut self.keys[first..];
        let is_twice = if keys.len() <= FEW {
            (1..keys.len()).any(|at| keys[..at].contains(&keys[at]))
        } else {
            keys.sort_unstable();
            keys.windows(2).any(|two| two[0] == two[1])
        };
        self.keys.truncate(first);
        (!is_twice).then_some(())
    }

    /// A value on the line of its key or item; `around` is the indent of what holds it.
    fn scalar(&mut self, text: &'t str, around: usize) -> Option<()> {
        match text.as_bytes() {
            [quote @ (b'"' | b'\''), ..] => self.quoted(&text[1..], *quote, around),
            [b'[' | b'{', ..] => {
                let behind = self.flow(text, 0)?;
                ends(text, text.len() - behind.len())
            }
            b"|" | b"|-" | b"|+" | b">" | b">-" | b">+" => self.block(around),
            _ => {
                let (text, has_comment) = plain_part(text)?;
                self.plain = (!has_comment).then_some(around);
                (starts_plain(text) && is_finite(text)).then_some(())
            }
        }
    }

    /// The rest of a text in quotes, and the lines that it goes on for.
    fn quoted(&mut self, mut text: &'t str, quote: u8, around: usize) -> Option<()> {
        loop {
            if let Some(end) = quote_end(text, quote)? {
                return ends(text, end);
            }
            let (_, line) = self.line()?;
            text = behind_spaces(line);
            if !text.is_empty() && line.len() - text.len() <= around || self.has_tabs && text.contains('\t') {
                return None;
            }
        }
    }

    /// What stands behind a value between brackets or braces, all of it on one line.
    fn flow(&mut self, text: &'t str, depth: usize) -> Option<&'t str> {
        let (open, mut rest) = (text.as_bytes().first()?, &text[1..]);
        let end = if *open == b'{' { b'}' } else { b']' };
        rest = behind_spaces(rest);
        if *rest.as_bytes().first()? == end {
            return Some(&rest[1..]);
        }
        let keys = self.keys.len();
        loop {
            if *open == b'{' {
                let (key, behind) = key(rest)?;
                let value = behind.strip_prefix(':')?;
                // A key in quotes needs no space before its value.
                (rest.starts_with('"') || value.starts_with(' ')).then_some(())?;
                self.keys.push(key);
                rest = behind_spaces(value);
            }
            rest = behind_spaces(self.flow_value(rest, depth)?);
            let (sign, behind) = (*rest.as_bytes().first()?, &rest[1..]);
            if sign == end {
                self.forget(keys)?;
                return Some(behind);
            }
            rest = behind_spaces(behind);
            (sign == b',').then_some(())?;
        }
    }

    /// What stands behind a value between brackets or braces.
    fn flow_value(&mut self, text: &'t str, depth: usize) -> Option<&'t str> {
        let bytes = text.as_bytes();
        match bytes.first()? {
            b'[' | b'{' if depth < FLOW_DEPTH => self.flow(text, depth + 1),
            quote @ (b'"' | b'\'') => Some(&text[1 + quote_end(&text[1..], *quote)??..]),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' => {
                let end = bytes.iter().position(|byte| !is_of_word(*byte))?;
                is_finite(&text[..end]).then_some(&text[end..])
            }
            _ => None,
        }
    }

    /// The lines of a block scalar.
    fn block(&mut self, around: usize) -> Option<()> {
        let (mut indent, mut blank) = (None, 0);
        loop {
            let before = self.at;
            let Some((_, line)) = self.line() else { return Some(()) };
            let rest = behind_spaces(line);
            let spaces = line.len() - rest.len();
            let of_block = indent.unwrap_or_else(|| spaces.max(around + 1));
            if rest.is_empty() {
                blank = blank.max(spaces);
                continue;
            }
            if spaces < of_block {
                self.at = before;
                return (!rest.starts_with('\t')).then_some(());
            }
            if indent.is_none() && (blank > spaces || rest.starts_with('\t')) {
                return None;
            }
            indent = Some(of_block);
        }
    }
}

/// A text without the spaces that it begins with: by bytes, as each line of megabytes is asked.
fn behind_spaces(text: &str) -> &str {
    let end = text.bytes().position(|byte| byte != b' ').unwrap_or(text.len());
    &text[end..]
}

/// A text without the spaces that it ends with.
fn without_spaces(text: &str) -> &str {
    let end = text.bytes().rposition(|byte| byte != b' ').map_or(0, |at| at + 1);
    &text[..end]
}

fn is_item(text: &str) -> bool {
    text == "-" || text.starts_with("- ")
}

/// The key and the value of an entry, both as text.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, behind) = key(text)?;
    let value = behind.strip_prefix(':')?;
    (value.is_empty() || value.starts_with(' ')).then_some((key, behind_spaces(value)))
}

/// Whether a byte is one of a plain key.
const IS_OF_KEY: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let sign = byte as u8;
        table[byte] = sign.is_ascii_alphanumeric() || matches!(sign, b'_' | b'.' | b'/' | b'-' | b'$');
        byte += 1;
    }
    table
};

/// The key that a text begins with, and what stands behind it.
fn key(text: &str) -> Option<(&str, &str)> {
    let bytes = text.as_bytes();
    let (key, behind) = match bytes.first()? {
        quote @ (b'"' | b'\'') => {
            let end = 1 + memchr::memchr(*quote, &bytes[1..])?;
            let key = &text[1..end];
            (!key.contains('\\') && key != "<<" && bytes.get(end + 1) != Some(quote)).then_some(())?;
            (key, &text[end + 1..])
        }
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' => {
            let end = bytes.iter().position(|byte| !IS_OF_KEY[*byte as usize])?;
            let key = &text[..end];
            (!is_word_of_yaml(key)).then_some(())?;
            (key, &text[end..])
        }
        _ => return None,
    };
    (key.len() <= KEY).then_some((key, behind))
}

/// Whether YAML reads a word as something else than a text.
fn is_word_of_yaml(word: &str) -> bool {
    const WORDS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    word.len() <= 5 && WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Whether a plain text may begin so.
fn starts_plain(text: &str) -> bool {
    match text.as_bytes() {
        [b'-' | b'?' | b':', behind, ..] => *behind != b' ',
        [first, ..] => {
            first.is_ascii_alphanumeric()
                || *first >= 0x80
                || matches!(
                    first,
                    b'_' | b'/' | b'$' | b'(' | b'~' | b'^' | b';' | b'\\' | b'+' | b'.' | b'='
                )
        }
        [] => false,
    }
}

/// A plain text up to the comment behind it, and whether there is one; nothing where it is a key.
fn plain_part(text: &str) -> Option<(&str, bool)> {
    let bytes = text.as_bytes();
    for at in memchr::memchr2_iter(b':', b'#', bytes) {
        if bytes[at] == b':' {
            bytes.get(at + 1).is_some_and(|behind| *behind != b' ').then_some(())?;
        } else if at > 0 && bytes[at - 1] == b' ' {
            return Some((without_spaces(&text[..at]), true));
        }
    }
    Some((text, false))
}

/// JSON has no words for numbers without end.
fn is_finite(text: &str) -> bool {
    /// Digits that are a number without end.
    const LONG: usize = 300;
    if !matches!(text.as_bytes(), [b'0'..=b'9' | b'+' | b'-' | b'.', ..]) {
        return true;
    }
    let number = text.trim_start_matches(['+', '-']);
    match number.as_bytes().first() {
        Some(b'.') => !matches!(&*number.to_ascii_lowercase(), ".inf" | ".nan"),
        Some(b'0'..=b'9') => {
            let may_be_large = number.len() > LONG || number.bytes().any(|sign| matches!(sign, b'e' | b'E'));
            !(may_be_large && number.parse().is_ok_and(f64::is_infinite))
        }
        _ => true,
    }
}

/// Whether nothing but a comment stands behind a part of a line.
fn ends(text: &str, end: usize) -> Option<()> {
    let behind = &text[end..];
    (behind.is_empty() || behind.starts_with(' ') && behind_spaces(behind).starts_with('#')).then_some(())
}

/// Where the quotes around a text end, if on this line; nothing where its signs are not judged.
fn quote_end(text: &str, quote: u8) -> Option<Option<usize>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    loop {
        let sign = if quote == b'"' {
            memchr::memchr2(b'"', b'\\', &bytes[at..])
        } else {
            memchr::memchr(quote, &bytes[at..])
        };
        let Some(sign) = sign else { return Some(None) };
        at += sign;
        match (bytes[at], bytes.get(at + 1)) {
            // The line goes on behind its end.
            (b'\\', None) => return Some(None),
            (b'\\', Some(b'n' | b'"' | b'\\' | b' ' | b't' | b'r' | b'/' | b'0')) | (b'\'', Some(b'\'')) => {
                at += 2
            }
            (b'\\', _) => return None,
            _ => return Some(Some(at + 1)),
        }
    }
}

/// Whether a byte is one of a plain word between brackets.
fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'/' | b'-')
}

#[cfg(test)]
mod tests {
    use super::outline;
    use crate::lang::template::document;
    use crate::lang::yaml::emit::to_json;

    fn keeps(key: &str) -> bool {
        matches!(&*key.to_lowercase(), "apiversion" | "kind" | "metadata")
    }

    #[test]
    fn what_helm_reads_is_in_the_outline() {
        let text = "# a\napiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    kind: x\n    \tb\n  c: it's\n    long\n  \
                    l: [a, \"b\"]\nmetadata:\n  name: a # b\n  annotations:\n    a/b: \"c\"\nspec:\n- name: a\n  \
                    args:\n  - --x\n  - - y\n- 'b'\n";
        let expected =
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # b\n  annotations:\n    a/b: \"c\"\n";
        assert_eq!(outline(text, keeps).as_deref(), Some(expected));
    }

    /// Of documents as they are, and as they are not to be; the first are the most ordinary.
    const LINES: [&str; 90] = [
        "a: b",
        "a:",
        "b:",
        "c: d",
        "- a",
        "- a: b",
        "- a:",
        "-",
        "- - a",
        "a: |",
        "a: >-",
        "b: |+",
        "text",
        "text: more",
        "text #c",
        "# c",
        "",
        "   ",
        "a: 'b'",
        "a: 'b",
        "a: \"b\\n\"",
        "a: \"b",
        "\"a\": b",
        "'b': c",
        "a: [a, 'b']",
        "a: [a",
        "a: {}",
        "a: {b: c}",
        "a: &b c",
        "a: *b",
        "a: !!int b",
        "<<: a",
        "y: a",
        "a: .nan",
        "a: 1e999",
        "a: -1",
        "a: - b",
        "a: b: c",
        "a: b:",
        "a : b",
        "a:b",
        "---",
        "...",
        "kind: A",
        "\tkind: A",
        "  \ta",
        "a: b\tc",
        "Kind: B",
        "metadata:",
        "name: x",
        "annotations:",
        "a: b # c",
        "? a",
        "a: 'b' # c",
        "- 'b'",
        "a: é\u{2028}",
        "a: é",
        "1: a",
        "b'",
        "b\"",
        "a: 'b ''c'",
        "it''s: 'b",
        "'' c'",
        "a: \"b\\",
        "\\\" c\"",
        "{}",
        "[]",
        "|",
        "- =",
        "a: :b",
        "a: =",
        "a: 9e99999x",
        "a: \"b \\ ",
        "\\ c\"",
        "a: {b: c, d: [e, {f: \"g\"}]}",
        "- {\"a\":1,\"b\":{},\"c\":null}",
        "- {'a':1}",
        "a: {b:c}",
        "a: {b: c, b: d}",
        "a: {\"b\": c, b: d}",
        "metadata: {\"name\":\"a\",\"labels\":{}}",
        "a: {b}",
        "a: {b: }",
        "a: {b: c,}",
        "a: {b: c: d}",
        "a: {y: b}",
        "a: [{a: b}, c: d]",
        "a: {b: c} d",
        "a: {b: 1e999}",
        "a: {\"<<\": b}",
    ];

    /// Lines as they are and as they are not to be, in any order and depth: what the outline
    /// takes sigs.k8s.io/yaml takes too, with the same in it.
    #[test]
    fn whatever_it_takes_is_yaml() {
        let mut state = 1_u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut taken = 0;
        for _ in 0..60_000 {
            let mut text = String::from("kind: A\n");
            for _ in 0..next(9) {
                text.push_str(&" ".repeat([0, 0, 2, 2, 4, 1, 3, 6][next(8)]));
                let below = [8, 18, LINES.len()][next(3)];
                text.push_str(LINES[next(below)]);
                text.push('\n');
            }
            let Some(found) = outline(&text, keeps) else { continue };
            taken += 1;
            let whole = document(&text);
            let whole = whole.unwrap_or_else(|why| panic!("{text}\n{why}")).expect("a document");
            let part = document(&found).expect("YAML").expect("a document");
            for entry in whole.get_ref().entries().filter(|entry| keeps(&entry.key)) {
                let other = part.get_ref().get(&entry.key).expect("the key");
                assert_eq!(to_json(entry.value).unwrap(), to_json(other).unwrap(), "{text}");
            }
            assert!(part.get_ref().entries().all(|entry| keeps(&entry.key)), "{text}");
        }
        assert!(taken > 4_000, "{taken}");
    }
}
