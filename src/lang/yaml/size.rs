//! How large trees are when they are written out.

use super::emit::DEPTH_LIMIT;
use super::node::{NodeRef, Value};
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Bytes counted for each node besides its text.
const NODE: u64 = 16;

/// Adds up sizes of trees. What several of them share, or one holds many times,
/// counts each time and is walked once: an alias or a copied value costs nothing
/// to hold, and may be gigabytes when it is written.
#[derive(Debug, Default)]
pub(crate) struct Sizes {
    /// By address, and token of a source document.
    known: FxHashMap<(usize, u32), u64>,
}

impl Sizes {
    /// About how many bytes a tree takes when it is written; `u64::MAX` for one
    /// that is nested too deeply to be written. The trees must all
    /// live as long as this does: they are told apart by their addresses.
    pub(crate) fn of(&mut self, node: NodeRef<'_>) -> u64 {
        self.at(node, 0)
    }

    fn at(&mut self, node: NodeRef<'_>, depth: usize) -> u64 {
        if depth > DEPTH_LIMIT {
            return u64::MAX;
        }
        match node {
            NodeRef::Source(source, at) => {
                let document = source.document();
                let token = &document.tokens[at as usize];
                let last = &document.tokens[token.next.max(at + 1) as usize - 1];
                if document.anchors.is_empty() {
                    return NODE * u64::from(token.next.max(at + 1) - at) + span(token.start, last.end);
                }
                if !node.is_map() && !node.is_seq() {
                    return NODE + span(token.start, token.end);
                }
                self.collection(node, depth)
            }
            NodeRef::Built(built) => match &built.value {
                Value::Str(text) | Value::Plain(text) => NODE + text.len() as u64,
                Value::Map(_) | Value::Seq(_) => self.collection(node, depth),
                _ => NODE,
            },
        }
    }

    fn collection(&mut self, node: NodeRef<'_>, depth: usize) -> u64 {
        // What only one node holds is met with that one.
        let is_shared = match node {
            NodeRef::Source(..) => true,
            NodeRef::Built(built) => Arc::strong_count(built) > 1,
        };
        let key = node.address();
        if let Some(size) = self.known.get(&key).filter(|_| is_shared) {
            return *size;
        }
        let mut size = NODE;
        for entry in node.entries() {
            size = size
                .saturating_add(NODE + entry.key.len() as u64)
                .saturating_add(self.at(entry.value, depth + 1));
        }
        for item in node.items() {
            size = size.saturating_add(self.at(item, depth + 1));
        }
        if is_shared {
            self.known.insert(key, size);
        }
        size
    }
}

fn span(start: u32, end: u32) -> u64 {
    u64::from(end.saturating_sub(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lang::yaml::{Node, parse_nodes};

    #[test]
    fn what_is_shared_counts_each_time() {
        let size = |node: &Node| Sizes::default().of(node.get_ref());
        let plain = parse_nodes("a.yaml", "a: 0123456789\nb: [x, y]\n").remove(0);
        assert!((40..200).contains(&size(&plain)), "{}", size(&plain));

        let item = parse_nodes("a.yaml", "a: &a [0123456789]\nb: [*a, *a]\n").remove(0);
        let once = size(&item.get_ref().at("/a").unwrap().to_node());
        assert!(size(&item) > 3 * once, "{} of {once}", size(&item));

        let mut copies = plain;
        for _ in 0..100 {
            let mut next = Node::empty_map(None);
            next.set("a", copies.clone(), None);
            next.set("b", copies, None);
            copies = next;
        }
        assert_eq!(size(&copies), u64::MAX);
    }
}
