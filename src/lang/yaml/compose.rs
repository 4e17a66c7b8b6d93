//! Lexemes to tapes: the productions of go-yaml's parser, without recursion.
//!
//! Mirrors `parserc.go` (`yaml_parser_state_machine` and what it calls) and the
//! anchors of `decode.go` (`parser.anchor`, `parser.alias`) in go.yaml.in/yaml.

use super::resolve::ScalarStyle;
use super::scan::{Kind, Lexeme, ScanRefusal, ScanResult, Scanner};
use super::tape::{Anchor, Comment, Document, NONE, Tag, Token, TokenKind};
use rustc_hash::FxHashMap;

/// What is expected next, below what is expected now.
#[derive(Clone, Copy)]
enum State {
    BlockEntry,
    /// An entry of a sequence that stands no deeper than its key.
    FlushEntry,
    BlockKey,
    BlockValue,
    FlowEntry {
        first: bool,
    },
    /// `[key: value]`: a mapping of one pair without braces.
    PairKey,
    PairValue,
    PairEnd,
    FlowKey {
        first: bool,
    },
    FlowValue,
    /// The value of `{key}`.
    FlowNoValue,
}

/// Reads the documents of a text one by one.
pub(super) struct Composer<'t> {
    text: &'t str,
    scanner: Scanner<'t>,
    lexemes: Vec<Lexeme>,
    at: usize,
    /// What the scanner refused behind the lexemes.
    pending: Option<ScanRefusal>,
    /// A document may begin without `---`.
    implicit: bool,
    /// Handles of %TAG directives and their prefixes.
    handles: Vec<(Box<str>, Box<str>)>,
    document: Document,
    states: Vec<State>,
    /// Open collections: indices of tokens.
    open: Vec<u32>,
    anchors: FxHashMap<&'t str, u32>,
    /// End of the last lexeme that was passed.
    passed: u32,
    comments_taken: usize,
}

impl<'t> Composer<'t> {
    /// See [`Scanner::new`].
    pub(super) fn new(text: &'t str, start: usize, end: usize, nesting_limit: usize) -> Self {
        Composer {
            text,
            scanner: Scanner::new(text, start, end, nesting_limit),
            lexemes: Vec::new(),
            at: 0,
            pending: None,
            implicit: true,
            handles: Vec::new(),
            document: Document::default(),
            states: Vec::new(),
            open: Vec::new(),
            anchors: FxHashMap::default(),
            passed: start as u32,
            comments_taken: 0,
        }
    }

    /// The next document, or `None` at the end. After a refusal this composer is
    /// of no use; see [`Composer::remains`].
    pub(super) fn next(&mut self) -> ScanResult<Option<Document>> {
        if !self.implicit {
            while self.peek()?.kind == Kind::DocumentEnd {
                self.skip();
            }
        }
        let lexeme = self.peek()?;
        match lexeme.kind {
            Kind::StreamEnd => return Ok(None),
            Kind::Version | Kind::TagDirective | Kind::DocumentStart => self.directives()?,
            _ if self.implicit => self.begin(lexeme.start, false),
            _ => return refuse(NO_SEPARATOR, lexeme),
        }
        self.implicit = false;
        self.contents()?;
        if self.peek()?.kind == Kind::DocumentEnd {
            self.skip();
        }
        self.take_comments();
        Ok(Some(std::mem::take(&mut self.document)))
    }

    /// What was read of a refused document, for its bounds and comments.
    pub(super) fn remains(&mut self) -> Document {
        self.take_comments();
        std::mem::take(&mut self.document)
    }

    /// Where the quoted scalar of several lines began that is to blame for what is refused
    /// at `offset`: it has no end, or ends in that line.
    pub(super) fn open_quote(&self, offset: usize) -> Option<u32> {
        let before = |(start, _): &&(u32, Option<u32>)| (*start as usize) < offset;
        let (start, end) = self.scanner.quotes.iter().rev().find(before)?;
        let is_near = |end: u32| {
            let between = self.text.get(end as usize..offset);
            between.is_some_and(|text| !text.contains('\n'))
        };
        end.is_none_or(is_near).then_some(*start)
    }

    /// Comments that no document took: those behind the last one.
    pub(super) fn rest_of_comments(&mut self) -> Vec<Comment> {
        self.scanner.comments.split_off(self.comments_taken)
    }

    /// Comments before the next document's `---` belong to this one.
    fn take_comments(&mut self) {
        let limit = match self.lexemes.get(self.at) {
            Some(lexeme) if lexeme.kind != Kind::StreamEnd => lexeme.start,
            _ => u32::MAX,
        };
        let rest = &self.scanner.comments[self.comments_taken..];
        let count = rest.iter().take_while(|comment| comment.start < limit).count();
        self.document.comments.extend_from_slice(&rest[..count]);
        self.comments_taken += count;
    }

    #[inline]
    fn peek(&mut self) -> ScanResult<Lexeme> {
        if self.at >= self.lexemes.len() {
            self.refill()?;
        }
        Ok(self.lexemes[self.at])
    }

    // Apart from `peek`, which is asked for each lexeme.
    #[inline(never)]
    fn refill(&mut self) -> ScanResult<()> {
        while self.at >= self.lexemes.len() {
            self.lexemes.clear();
            self.at = 0;
            if let Some(refusal) = self.pending.take() {
                return Err(refusal);
            }
            // What was scanned before a refusal is parsed first: its own mistakes
            // come before that one.
            self.pending = self.scanner.segment(&mut self.lexemes).err();
        }
        Ok(())
    }

    fn skip(&mut self) {
        if let Some(lexeme) = self.lexemes.get(self.at) {
            // Where a block ends is known by what follows: those lexemes have no
            // bytes of their own.
            if lexeme.kind != Kind::BlockEnd {
                self.passed = self.passed.max(lexeme.end);
            }
            self.at += 1;
        }
    }

    fn begin(&mut self, start: u32, explicit: bool) {
        self.document = Document { start, end: start, explicit, ..Document::default() };
        self.states.clear();
        self.open.clear();
        self.anchors.clear();
    }

    fn directives(&mut self) -> ScanResult<()> {
        self.handles.clear();
        let start = self.peek()?.start;
        let mut version = false;
        loop {
            let lexeme = self.peek()?;
            match lexeme.kind {
                Kind::Version if version => return refuse("found duplicate %YAML directive", lexeme),
                Kind::Version if lexeme.extra == 0 => {
                    return refuse("found incompatible YAML document", lexeme);
                }
                Kind::Version => version = true,
                Kind::TagDirective => {
                    let names = &self.scanner.names[lexeme.extra as usize];
                    if self.handles.iter().any(|(handle, _)| *handle == names.0) {
                        return refuse("found duplicate %TAG directive", lexeme);
                    }
                    self.handles.push(names.clone());
                }
                Kind::DocumentStart => break,
                _ => return refuse("did not find expected <document start> after a directive", lexeme),
            }
            self.skip();
        }
        // Comments above the `---` are the document's own where no other has
        // taken them.
        self.begin(start, true);
        self.skip();
        self.document.end = self.passed;
        Ok(())
    }

    fn contents(&mut self) -> ScanResult<()> {
        match self.peek()?.kind {
            Kind::Version
            | Kind::TagDirective
            | Kind::DocumentStart
            | Kind::DocumentEnd
            | Kind::StreamEnd
                if self.document.explicit =>
            {
                self.empty();
            }
            _ => self.node(true, false)?,
        }
        while let Some(state) = self.states.pop() {
            self.step(state)?;
        }
        Ok(())
    }

    fn step(&mut self, state: State) -> ScanResult<()> {
        let lexeme = self.peek()?;
        let kind = lexeme.kind;
        match state {
            State::BlockEntry => self.block_entry(lexeme),
            State::FlushEntry if kind == Kind::BlockEntry => {
                self.skip();
                let ends = [Kind::BlockEntry, Kind::Key, Kind::Value, Kind::BlockEnd];
                self.then(State::FlushEntry, true, false, &ends)
            }
            State::FlushEntry => {
                self.close();
                Ok(())
            }
            State::BlockKey => match kind {
                Kind::Key => {
                    self.skip();
                    self.then(State::BlockValue, true, true, &[Kind::Key, Kind::Value, Kind::BlockEnd])
                }
                Kind::BlockEnd => {
                    self.skip();
                    self.close();
                    Ok(())
                }
                _ => refuse("did not find expected key", lexeme),
            },
            State::BlockValue if kind == Kind::Value => {
                self.skip();
                self.then(State::BlockKey, true, true, &[Kind::Key, Kind::Value, Kind::BlockEnd])
            }
            State::BlockValue => self.omitted(State::BlockKey),
            State::FlowEntry { first } => self.flow_entry(lexeme, first),
            State::PairKey => self.pair_key(kind),
            State::PairValue if kind == Kind::Value => {
                self.skip();
                self.then(State::PairEnd, false, false, &[Kind::FlowEntry, Kind::FlowSequenceEnd])
            }
            State::PairValue => self.omitted(State::PairEnd),
            State::PairEnd => {
                self.close();
                self.states.push(State::FlowEntry { first: false });
                Ok(())
            }
            State::FlowKey { first } => self.flow_key(lexeme, first),
            State::FlowValue if kind == Kind::Value => {
                self.skip();
                let ends = [Kind::FlowEntry, Kind::FlowMappingEnd];
                self.then(State::FlowKey { first: false }, false, false, &ends)
            }
            State::FlowValue | State::FlowNoValue => self.omitted(State::FlowKey { first: false }),
        }
    }

    fn pair_key(&mut self, kind: Kind) -> ScanResult<()> {
        match kind {
            Kind::Value | Kind::FlowEntry | Kind::FlowSequenceEnd => {
                // go-yaml drops this lexeme.
                self.skip();
                self.omitted(State::PairValue)
            }
            _ => {
                self.states.push(State::PairValue);
                self.node(false, false)
            }
        }
    }

    fn block_entry(&mut self, lexeme: Lexeme) -> ScanResult<()> {
        match lexeme.kind {
            Kind::BlockEntry => {
                self.skip();
                self.then(State::BlockEntry, true, false, &[Kind::BlockEntry, Kind::BlockEnd])
            }
            Kind::BlockEnd => {
                self.skip();
                self.close();
                Ok(())
            }
            _ => refuse("did not find expected '-' indicator", lexeme),
        }
    }

    fn flow_entry(&mut self, lexeme: Lexeme, first: bool) -> ScanResult<()> {
        let mut lexeme = lexeme;
        if lexeme.kind != Kind::FlowSequenceEnd && !first {
            if lexeme.kind != Kind::FlowEntry {
                return refuse("did not find expected ',' or ']'", lexeme);
            }
            self.skip();
            lexeme = self.peek()?;
        }
        match lexeme.kind {
            Kind::FlowSequenceEnd => {
                self.skip();
                self.close();
                Ok(())
            }
            Kind::Key => {
                let index = self.push(TokenKind::Mapping, lexeme.start, lexeme.start);
                self.document.tokens[index as usize].flow = true;
                self.open.push(index);
                self.skip();
                self.states.push(State::PairKey);
                Ok(())
            }
            _ => {
                self.states.push(State::FlowEntry { first: false });
                self.node(false, false)
            }
        }
    }

    fn flow_key(&mut self, lexeme: Lexeme, first: bool) -> ScanResult<()> {
        let mut lexeme = lexeme;
        if lexeme.kind != Kind::FlowMappingEnd && !first {
            if lexeme.kind != Kind::FlowEntry {
                return refuse("did not find expected ',' or '}'", lexeme);
            }
            self.skip();
            lexeme = self.peek()?;
        }
        match lexeme.kind {
            Kind::FlowMappingEnd => {
                self.skip();
                self.close();
                Ok(())
            }
            Kind::Key => {
                self.skip();
                let ends = [Kind::Value, Kind::FlowEntry, Kind::FlowMappingEnd];
                self.then(State::FlowValue, false, false, &ends)
            }
            _ => {
                self.states.push(State::FlowNoValue);
                self.node(false, false)
            }
        }
    }

    /// A node, or nothing where one of `ends` follows; then `next`.
    #[inline]
    fn then(&mut self, next: State, block: bool, flush: bool, ends: &[Kind]) -> ScanResult<()> {
        if ends.contains(&self.peek()?.kind) {
            return self.omitted(next);
        }
        self.states.push(next);
        self.node(block, flush)
    }

    fn omitted(&mut self, next: State) -> ScanResult<()> {
        self.states.push(next);
        self.empty();
        Ok(())
    }

    /// A node that no byte stands for.
    fn empty(&mut self) {
        let index = self.push(TokenKind::Scalar(ScalarStyle::Plain), self.passed, self.passed);
        let flow = self.open.last().is_some_and(|open| self.document.tokens[*open as usize].flow);
        let token = &mut self.document.tokens[index as usize];
        token.empty = true;
        token.flow = flow;
    }

    /// A node with its properties. `flush`: a sequence may stand here without
    /// being indented.
    fn node(&mut self, block: bool, flush: bool) -> ScanResult<()> {
        let index = self.document.tokens.len() as u32;
        let mut lexeme = self.peek()?;
        if lexeme.kind == Kind::Alias {
            return self.alias(lexeme);
        }
        let (mut anchored, mut tagged) = (false, false);
        loop {
            match lexeme.kind {
                Kind::Anchor if !anchored => {
                    anchored = true;
                    self.anchors.insert(&self.text[lexeme.start as usize + 1..lexeme.end as usize], index);
                    let anchor = Anchor { token: index, start: lexeme.start, end: lexeme.end, used: false };
                    self.document.anchors.push(anchor);
                }
                Kind::Tag if !tagged => {
                    tagged = true;
                    let name = self.tag_name(lexeme)?;
                    let tag = Tag { token: index, name, start: lexeme.start, end: lexeme.end };
                    self.document.tags.push(tag);
                }
                _ => break,
            }
            self.skip();
            lexeme = self.peek()?;
        }
        let (start, end) = (lexeme.start, lexeme.end);
        match lexeme.kind {
            Kind::BlockEntry if flush => self.collection(TokenKind::Sequence, start, State::FlushEntry),
            Kind::Scalar(style) => {
                self.scalar(lexeme, style);
                self.skip();
            }
            Kind::FlowSequence | Kind::FlowMapping => {
                let (kind, state) = match lexeme.kind {
                    Kind::FlowSequence => (TokenKind::Sequence, State::FlowEntry { first: true }),
                    _ => (TokenKind::Mapping, State::FlowKey { first: true }),
                };
                self.skip();
                self.collection(kind, start, state);
                let token = &mut self.document.tokens[index as usize];
                token.flow = true;
                token.end = end;
            }
            Kind::BlockSequence if block => {
                self.skip();
                self.collection(TokenKind::Sequence, start, State::BlockEntry);
            }
            Kind::BlockMapping if block => {
                self.skip();
                self.collection(TokenKind::Mapping, start, State::BlockKey);
            }
            _ if anchored || tagged => self.empty(),
            _ => return refuse("did not find expected node content", lexeme),
        }
        Ok(())
    }

    fn alias(&mut self, lexeme: Lexeme) -> ScanResult<()> {
        let name = &self.text[lexeme.start as usize + 1..lexeme.end as usize];
        let Some(target) = self.anchors.get(name).copied() else {
            return refuse("unknown anchor referenced", lexeme);
        };
        // Of several anchors of a token (there is one at most) the last counts.
        if let Ok(at) = self.document.anchors.binary_search_by_key(&target, |anchor| anchor.token) {
            self.document.anchors[at].used = true;
        }
        let index = self.push(TokenKind::Alias, lexeme.start, lexeme.end);
        self.document.tokens[index as usize].extra = target;
        self.skip();
        Ok(())
    }

    fn tag_name(&self, lexeme: Lexeme) -> ScanResult<Box<str>> {
        let (handle, suffix) = &self.scanner.names[lexeme.extra as usize];
        let prefix = match &**handle {
            "" => "",
            handle => match self.handles.iter().find(|(known, _)| **known == *handle) {
                Some((_, prefix)) => prefix,
                None if handle == "!" => "!",
                None if handle == "!!" => "tag:yaml.org,2002:",
                None => return refuse("found undefined tag handle", lexeme),
            },
        };
        Ok(format!("{prefix}{suffix}").into_boxed_str())
    }

    fn scalar(&mut self, lexeme: Lexeme, style: ScalarStyle) {
        if style == ScalarStyle::Plain && &self.text[lexeme.start as usize..lexeme.end as usize] == "<<" {
            self.document.merges = true;
        }
        let index = self.push(TokenKind::Scalar(style), lexeme.start, lexeme.end);
        if lexeme.extra != NONE {
            let value = std::mem::take(&mut self.scanner.decoded[lexeme.extra as usize]);
            self.document.decoded.push(value);
            self.document.tokens[index as usize].extra = self.document.decoded.len() as u32 - 1;
        }
    }

    fn push(&mut self, kind: TokenKind, start: u32, end: u32) -> u32 {
        let index = self.document.tokens.len() as u32;
        self.document.tokens.push(Token {
            kind,
            flow: false,
            empty: false,
            start,
            end,
            next: index + 1,
            extra: NONE,
        });
        self.document.end = self.document.end.max(end);
        index
    }

    fn collection(&mut self, kind: TokenKind, start: u32, state: State) {
        let index = self.push(kind, start, start);
        self.open.push(index);
        self.states.push(state);
    }

    /// Close the innermost collection. A block ends where its last child does.
    fn close(&mut self) {
        let Some(index) = self.open.pop() else { return };
        let next = self.document.tokens.len() as u32;
        let token = &mut self.document.tokens[index as usize];
        token.next = next;
        // An empty node behind a key ends with the indicator before it, and so
        // does a collection with nothing but that.
        token.end = token.end.max(self.passed);
        let end = token.end;
        self.document.end = self.document.end.max(end);
    }
}

/// Said of what follows a document without `---`.
pub(super) const NO_SEPARATOR: &str = "did not find expected <document start>";

fn refuse<T>(message: &'static str, lexeme: Lexeme) -> ScanResult<T> {
    Err(ScanRefusal::at(message, lexeme.start as usize))
}
