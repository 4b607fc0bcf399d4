//! What is in each part of a page: visible text, links, blocks; in two passes over the tree.

use crate::{
    style::{Sheet, paint},
    tag::Tag,
    tree::{ROOT, Tree},
};
use std::collections::HashMap;

/// Texts shorter than this say less than their length.
const SHORT: u32 = 40;

/// The measures of one node, with all that is in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Measure {
    /// Whether a reader does not see it, or it is no text of the page.
    pub is_out: bool,
    /// Visible characters without white space; those of Chinese and the like count double.
    pub length: u32,
    /// Those of them that are in links.
    pub linked: u32,
    pub links: u32,
    /// Characters of prose: text in blocks that are no collections of links.
    pub prose: u32,
    /// Whether blocks, a table, a picture or a main heading are in it.
    pub has_block: bool,
    pub has_table: bool,
    pub has_picture: bool,
    pub has_title: bool,
    /// The length and links of what belongs to no block below it.
    own: u32,
    own_linked: u32,
}

pub(crate) struct Measures {
    pub all: Vec<Measure>,
    /// The visible characters that were hidden by style or attributes.
    pub hidden: usize,
}

impl Measures {
    pub fn of(tree: &Tree) -> Self {
        let mut all = vec![Measure::default(); tree.nodes.len()];
        let hidden = go_down(tree, &mut all);
        // Parents come before their children.
        for at in (1..tree.nodes.len()).rev() {
            let tag = tree.tag(at);
            let mut it = all[at];
            if it.is_out {
                continue;
            }
            if tag.is_block() {
                it.prose += prose(it.own, it.own_linked);
                (it.own, it.own_linked, it.has_block) = (0, 0, true);
            }
            it.has_table |= tag == Tag::Table;
            it.has_picture |= tag == Tag::Img;
            it.has_title |= tag == Tag::H1;
            it.links += u32::from(tag == Tag::A);
            all[at] = it;
            let up = &mut all[tree.nodes[at].parent as usize];
            up.length += it.length;
            up.linked += it.linked;
            up.links += it.links;
            up.prose += it.prose;
            up.own += it.own;
            up.own_linked += it.own_linked;
            up.has_block |= it.has_block;
            up.has_table |= it.has_table;
            up.has_picture |= it.has_picture;
            up.has_title |= it.has_title;
        }
        all[ROOT].prose += prose(all[ROOT].own, all[ROOT].own_linked);
        Self { all, hidden }
    }
}

/// The prose of a block of text.
fn prose(length: u32, linked: u32) -> u32 {
    match length.saturating_sub(linked) {
        plain if linked > plain => 0,
        plain if length < SHORT => plain * 2 / 5,
        plain => plain,
    }
}

/// Marks what is not seen, and measures the texts.
fn go_down(tree: &Tree, all: &mut [Measure]) -> usize {
    let sheet = Sheet::of(&tree.styles);
    let mut colors = Colors::default();
    let (mut hidden, mut in_link) = (0, vec![false; tree.nodes.len()]);
    // Of each node: whether it is hidden by style, and the colours of its text and ground.
    let mut is_hidden = vec![false; tree.nodes.len()];
    let mut painted = vec![[0_u16; 2]; tree.nodes.len()];
    for at in 1..tree.nodes.len() {
        let (tag, parent) = (tree.tag(at), tree.nodes[at].parent as usize);
        is_hidden[at] = is_hidden[parent];
        in_link[at] = in_link[parent] || tag == Tag::A;
        painted[at] = painted[parent];
        all[at].is_out = all[parent].is_out;
        if tag == Tag::Text {
            let [color, ground] = painted[at];
            let is_unseen = is_hidden[at] || color != 0 && color == ground;
            let length = length(tree.text(at));
            if !all[at].is_out && !is_unseen {
                all[at].length = length;
                all[at].own = length;
                if in_link[at] {
                    (all[at].linked, all[at].own_linked) = (length, length);
                }
            } else if is_unseen && !all[at].is_out || is_hidden[at] {
                hidden += length as usize;
            }
            all[at].is_out |= is_unseen;
            continue;
        }
        let it = tree.attributes(at);
        let closed = tag == Tag::Dialog && !it.open;
        if tag.is_skipped() {
            all[at].is_out = true;
            // Their text is none of the page, hidden or not.
            is_hidden[at] = false;
        } else if !all[at].is_out && (closed || sheet.is_hidden(it)) {
            all[at].is_out = true;
            is_hidden[at] = true;
        }
        for (known, set) in painted[at].iter_mut().zip(paint(it)) {
            if let Some(color) = set {
                *known = color.map_or(0, |color| colors.id(color));
            }
        }
    }
    hidden
}

/// Numbers for colours; 0 is an unknown one.
#[derive(Default)]
struct Colors(HashMap<String, u16>);

impl Colors {
    fn id(&mut self, color: String) -> u16 {
        let next = u16::try_from(self.0.len() + 1).unwrap_or(0);
        if next == 0 { 0 } else { *self.0.entry(color).or_insert(next) }
    }
}

/// The characters of a text without white space; those of scripts that write words with few count double.
pub(crate) fn length(text: &str) -> u32 {
    if text.is_ascii() {
        let count = text.bytes().filter(|b| !b.is_ascii_whitespace()).count();
        return u32::try_from(count).unwrap_or(u32::MAX);
    }
    text.chars().map(|c| if c.is_whitespace() { 0 } else { 1 + u32::from(c >= '\u{2e80}') }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_texts_are_counted_and_left_out() {
        for (html, length, hidden) in [
            ("<p>seen<p hidden>not seen<p>again", 9, 7),
            ("<div style='display:none'>a<p>b</p></div>c", 1, 2),
            ("<style>.x{display:none}</style><p class='y x'>abc<p>d", 1, 3),
            ("<script>code()</script><p>d<template>abc</template>", 1, 0),
            ("<div style='background:#000'><font color=black>abc</font>d</div>", 1, 3),
            ("<table bgcolor=white><tr><td><font color='#fff'>abc</font><td bgcolor=black><font color=white>d", 1, 3),
            ("<font color=white>abc</font>", 3, 0),
            ("<dialog>abc</dialog><dialog open>de</dialog>", 2, 3),
            ("<p>日本", 4, 0),
        ] {
            let measures = Measures::of(&Tree::of(html));
            assert_eq!((measures.all[ROOT].length, measures.hidden), (length, hidden), "{html}");
        }
    }

    #[test]
    fn links_are_no_prose() {
        let text = "word ".repeat(20);
        let page = format!("<ul><li><a>{text}</a><li><a>x</a></ul><p>{text}<a>link</a></p>");
        let all = Measures::of(&Tree::of(&page)).all;
        assert_eq!((all[ROOT].length, all[ROOT].linked, all[ROOT].links, all[ROOT].prose), (165, 85, 3, 80));
    }
}
