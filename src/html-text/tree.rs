//! The tree of a page: a spec-conformant tokenizer, and a builder that implies missing end tags within bounds of its own.
//!
//! HTML's own tree construction walks the stack of open elements at most tags and opens formatting elements again at will, so its
//! time and memory grow with the square of a hostile page. Here nothing is deeper than [`DEPTH`], nothing is opened again, and beyond
//! [`NODES`] only text is added.

use crate::tag::Tag;
use html5gum::{
    Span, Tokenizer,
    emitters::callback::{CallbackEmitter, CallbackEvent},
};
use std::convert::Infallible;

/// How deep elements are nested; deeper ones count as their neighbours.
pub(crate) const DEPTH: usize = 150;
/// How much deeper elements are opened whose text is none of the page.
const SKIPPED: usize = 8;
/// How many elements and texts a tree has, before the text that is left.
pub(crate) const NODES: usize = 200_000;
/// The most bytes of an attribute that are read.
const ATTRIBUTE: usize = 4096;
/// The most bytes of style sheets that are read.
const STYLES: usize = 1024 * 1024;

/// The place of a node in [`Tree::nodes`]. A parent comes before its children.
pub(crate) type At = usize;

pub(crate) const ROOT: At = 0;

#[derive(Debug)]
pub(crate) struct Node {
    pub tag: Tag,
    pub parent: u32,
    pub first: Option<u32>,
    last: Option<u32>,
    pub next: Option<u32>,
    /// Of a text: where it is in [`Tree::text`].
    from: u32,
    to: u32,
    attributes: Option<Box<Attributes>>,
}

/// The attributes that matter, each as its first occurrence.
#[derive(Debug, Default)]
pub(crate) struct Attributes {
    pub class: String,
    pub id: String,
    pub style: String,
    /// Of links, forms and pictures.
    pub address: String,
    pub alt: String,
    pub role: String,
    pub lang: String,
    pub width: String,
    pub height: String,
    pub background: String,
    pub color: String,
    /// `type` and `start` of lists, `colspan` of cells.
    pub number: String,
    pub rows: String,
    pub content: String,
    /// `name`, `property` or `http-equiv` of `<meta>`.
    pub name: String,
    pub hidden: bool,
    pub open: bool,
}

/// A page.
#[derive(Debug)]
pub(crate) struct Tree {
    pub nodes: Vec<Node>,
    text: String,
    /// The text of all `<style>` elements.
    pub styles: String,
}

impl Tree {
    pub fn of(html: &str) -> Self {
        let mut builder = Builder::new();
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
            builder.event(event);
            None
        });
        emitter.naively_switch_states(true);
        let Ok(()) = Tokenizer::new_with_emitter(html, emitter).finish();
        builder.finish()
    }

    pub fn tag(&self, at: At) -> Tag {
        self.nodes[at].tag
    }

    /// The text of a text node.
    pub fn text(&self, at: At) -> &str {
        let node = &self.nodes[at];
        self.text.get(node.from as usize..node.to as usize).unwrap_or_default()
    }

    pub fn attributes(&self, at: At) -> &Attributes {
        static NONE: std::sync::LazyLock<Attributes> = std::sync::LazyLock::new(Attributes::default);
        self.nodes[at].attributes.as_deref().unwrap_or(&NONE)
    }

    pub fn children(&self, at: At) -> impl Iterator<Item = At> + '_ {
        let mut next = self.nodes[at].first;
        std::iter::from_fn(move || {
            let this = next? as usize;
            next = self.nodes[this].next;
            Some(this)
        })
    }

    pub fn parent(&self, at: At) -> Option<At> {
        (at != ROOT).then(|| self.nodes[at].parent as usize)
    }
}

/// An attribute that is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Class,
    Id,
    Style,
    Address,
    Alt,
    Role,
    Lang,
    Width,
    Height,
    Background,
    Color,
    Number,
    Rows,
    Content,
    Name,
    Hidden,
    AriaHidden,
    Open,
}

impl Field {
    fn of(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"class" => Self::Class,
            b"id" => Self::Id,
            b"style" => Self::Style,
            b"href" | b"src" => Self::Address,
            b"alt" => Self::Alt,
            b"role" => Self::Role,
            b"lang" => Self::Lang,
            b"width" => Self::Width,
            b"height" => Self::Height,
            b"bgcolor" => Self::Background,
            b"color" => Self::Color,
            b"colspan" | b"start" => Self::Number,
            b"rowspan" => Self::Rows,
            b"content" => Self::Content,
            b"name" | b"property" | b"http-equiv" => Self::Name,
            b"hidden" => Self::Hidden,
            b"aria-hidden" => Self::AriaHidden,
            b"open" => Self::Open,
            _ => return None,
        })
    }
}

/// A start tag that is being read.
struct Draft {
    tag: Tag,
    attributes: Attributes,
    has_attributes: bool,
    field: Option<Field>,
}

struct Builder {
    tree: Tree,
    /// The open elements, the root first.
    open: Vec<At>,
    /// How many of each are open, so that what is not open is not looked for.
    counts: [u32; Tag::COUNT],
    /// Start tags beyond the depth that were not opened.
    too_deep: u32,
    draft: Option<Draft>,
}

impl Builder {
    fn new() -> Self {
        let root =
            Node { tag: Tag::Root, parent: 0, first: None, last: None, next: None, from: 0, to: 0, attributes: None };
        let tree = Tree { nodes: vec![root], text: String::new(), styles: String::new() };
        Self { tree, open: vec![ROOT], counts: [0; Tag::COUNT], too_deep: 0, draft: None }
    }

    fn finish(self) -> Tree {
        self.tree
    }

    fn event(&mut self, event: CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                let (attributes, tag) = (Attributes::default(), Tag::of(name));
                self.draft = Some(Draft { tag, attributes, has_attributes: false, field: None });
            }
            CallbackEvent::AttributeName { name } => {
                if let Some(draft) = &mut self.draft {
                    draft.field = Field::of(name);
                    draft.set("");
                }
            }
            CallbackEvent::AttributeValue { value } => {
                if let Some(draft) = &mut self.draft {
                    let value = &value[..value.len().min(ATTRIBUTE)];
                    draft.set(&String::from_utf8_lossy(value));
                    draft.field = None;
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(draft) = self.draft.take() {
                    self.start(draft, self_closing);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.draft = None;
                self.end(Tag::of(name));
            }
            CallbackEvent::String { value } => self.text(value),
            CallbackEvent::Comment { .. } | CallbackEvent::Doctype { .. } | CallbackEvent::Error(_) => {}
        }
    }

    fn top(&self) -> At {
        self.open.last().copied().unwrap_or(ROOT)
    }

    fn text(&mut self, value: &[u8]) {
        let top = self.top();
        let tag = self.tree.tag(top);
        let value = String::from_utf8_lossy(value);
        match tag {
            Tag::Style if self.tree.styles.len() + value.len() <= STYLES => self.tree.styles.push_str(&value),
            Tag::Style | Tag::Script => {}
            Tag::Head if value.trim().is_empty() => {}
            _ => {
                if tag == Tag::Head {
                    self.pop_to(Tag::Head);
                }
                // `CRLF` is one line break; lengths of more than 4 GB do not come here.
                let from = self.tree.text.len();
                self.tree.text.push_str(&value);
                let at = self.tree.nodes.len();
                let (Ok(from), Ok(to)) = (u32::try_from(from), u32::try_from(self.tree.text.len())) else { return };
                match self.tree.nodes.last_mut() {
                    // Beyond the bound there are no more elements, and all text is one.
                    Some(last) if last.tag == Tag::Text && at >= NODES => last.to = to,
                    _ => {
                        self.add(Tag::Text, None, (from, to));
                    }
                }
            }
        }
    }

    /// Adds a node below the innermost open element.
    fn add(&mut self, tag: Tag, attributes: Option<Box<Attributes>>, (from, to): (u32, u32)) -> At {
        let (at, parent) = (self.tree.nodes.len(), self.top());
        #[allow(clippy::cast_possible_truncation, reason = "there are fewer than NODES")]
        let (id, above) = (at as u32, parent as u32);
        self.tree.nodes.push(Node { tag, parent: above, first: None, last: None, next: None, from, to, attributes });
        match self.tree.nodes[parent].last.replace(id) {
            Some(before) => self.tree.nodes[before as usize].next = Some(id),
            None => self.tree.nodes[parent].first = Some(id),
        }
        at
    }

    fn start(&mut self, draft: Draft, self_closing: bool) {
        let Draft { tag, attributes, has_attributes, .. } = draft;
        if tag == Tag::Html || tag == Tag::Body {
            self.pop_to(Tag::Head);
            // What these say of themselves is kept at the root.
            let root = self.tree.nodes[ROOT].attributes.get_or_insert_default();
            if root.lang.is_empty() {
                root.lang = attributes.lang;
            }
            return;
        }
        if self.tree.nodes.len() >= NODES {
            return;
        }
        let in_head = matches!(
            tag,
            Tag::Base | Tag::Link | Tag::Meta | Tag::Title | Tag::Style | Tag::Script | Tag::Noscript | Tag::Template
        );
        if !in_head {
            self.pop_to(Tag::Head);
        }
        self.imply_ends(tag);
        let attributes = has_attributes.then(|| Box::new(attributes));
        // Beyond the depth elements are neighbours, so that text stays in order; what is no text of the page is still set apart.
        let is_too_deep = self.open.len() >= DEPTH && !tag.is_skipped() || self.open.len() >= DEPTH + SKIPPED;
        if is_too_deep && !tag.is_void() {
            self.too_deep = self.too_deep.saturating_add(1);
            self.add(tag, attributes, (0, 0));
            return;
        }
        let at = self.add(tag, attributes, (0, 0));
        let is_foreign = tag == Tag::Svg || tag == Tag::Math || self.counts[Tag::Svg as usize] > 0;
        if !(tag.is_void() || self_closing && is_foreign) {
            self.open.push(at);
            self.counts[tag as usize] += 1;
        }
    }

    /// Closes what a start tag closes without an end tag.
    fn imply_ends(&mut self, tag: Tag) {
        use Tag::*;
        if self.counts[P as usize] > 0 && tag.is_block() && !tag.is_row_part() && tag != Caption {
            self.close(P, is_boundary);
        }
        match tag {
            Li => self.close(Li, |tag| tag.is_list() || is_boundary(tag)),
            Dt | Dd => {
                for open in [Dt, Dd] {
                    self.close(open, |tag| tag == Dl || is_boundary(tag));
                }
            }
            Tr => {
                for open in [Td, Th, Tr, Caption, Colgroup] {
                    self.close(open, |tag| tag == Table);
                }
            }
            Td | Th => {
                for open in [Td, Th] {
                    self.close(open, |tag| tag == Table);
                }
            }
            Tbody | Thead | Tfoot => {
                for open in [Td, Th, Tr, Tbody, Thead, Tfoot, Caption, Colgroup] {
                    self.close(open, |tag| tag == Table);
                }
            }
            OptionTag | Optgroup => self.close(OptionTag, |tag| tag == Select),
            Rt | Rp => {
                for open in [Rt, Rp] {
                    self.close(open, |tag| tag == Ruby);
                }
            }
            A | Button => self.close(tag, is_boundary),
            H1 | H2 | H3 | H4 | H5 | H6 if self.tree.tag(self.top()).is_heading() => {
                self.pop_to(self.tree.tag(self.top()));
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: Tag) {
        if tag == Tag::Br {
            if self.tree.nodes.len() < NODES {
                self.add(Tag::Br, None, (0, 0));
            }
            return;
        }
        if tag.is_void() || matches!(tag, Tag::Html | Tag::Body) || self.tree.nodes.len() >= NODES {
            return;
        }
        let ends_skipped = tag.is_skipped() && self.tree.tag(self.top()) == tag;
        if self.too_deep > 0 && !ends_skipped {
            self.too_deep -= 1;
            return;
        }
        if tag.is_heading() {
            // Any heading's end tag ends a heading.
            let open = self.open.iter().rev().map(|at| self.tree.tag(*at)).take_while(|tag| !is_boundary(*tag));
            if let Some(open) = open.into_iter().find(|tag| tag.is_heading()) {
                self.close(open, is_boundary);
            }
            return;
        }
        match tag {
            Tag::Table => self.close(Tag::Table, |_| false),
            _ if tag.is_row_part() || tag == Tag::Caption => self.close(tag, |tag| tag == Tag::Table),
            _ if is_formatting(tag) => self.close(tag, |tag| tag.is_block()),
            _ => self.close(tag, is_boundary),
        }
    }

    /// Closes the innermost open element of this kind with all within it, unless a boundary is around them.
    fn close(&mut self, tag: Tag, boundary: impl Fn(Tag) -> bool) {
        if self.counts[tag as usize] == 0 {
            return;
        }
        for place in (1..self.open.len()).rev() {
            let open = self.tree.tag(self.open[place]);
            if open == tag {
                self.truncate(place);
                return;
            }
            if boundary(open) {
                return;
            }
        }
    }

    fn pop_to(&mut self, tag: Tag) {
        self.close(tag, |_| false);
    }

    fn truncate(&mut self, place: usize) {
        for at in self.open.drain(place..) {
            let count = &mut self.counts[self.tree.nodes[at].tag as usize];
            *count = count.saturating_sub(1);
        }
    }
}

impl Draft {
    /// Sets the field that is being read; `""` where the attribute has no value.
    fn set(&mut self, value: &str) {
        let Some(field) = self.field else { return };
        let it = &mut self.attributes;
        let text = match field {
            Field::Class => &mut it.class,
            Field::Id => &mut it.id,
            Field::Style => &mut it.style,
            Field::Address => &mut it.address,
            Field::Alt => &mut it.alt,
            Field::Role => &mut it.role,
            Field::Lang => &mut it.lang,
            Field::Width => &mut it.width,
            Field::Height => &mut it.height,
            Field::Background => &mut it.background,
            Field::Color => &mut it.color,
            Field::Number => &mut it.number,
            Field::Rows => &mut it.rows,
            Field::Content => &mut it.content,
            Field::Name => &mut it.name,
            Field::Hidden => {
                it.hidden = !value.eq_ignore_ascii_case("until-found");
                self.has_attributes = true;
                return;
            }
            Field::AriaHidden => {
                it.hidden |= value.trim().eq_ignore_ascii_case("true");
                self.has_attributes = true;
                return;
            }
            Field::Open => {
                it.open = true;
                self.has_attributes = true;
                return;
            }
        };
        if text.is_empty() && !value.is_empty() {
            value.clone_into(text);
            self.has_attributes = true;
        }
    }
}

/// Elements that end tags of others do not reach beyond.
fn is_boundary(tag: Tag) -> bool {
    matches!(tag, Tag::Table | Tag::Td | Tag::Th | Tag::Caption | Tag::Button | Tag::Object | Tag::Template)
}

fn is_formatting(tag: Tag) -> bool {
    use Tag::*;
    matches!(tag, B | Big | Code | Em | Font | I | S | Small | Strike | Strong | Tt | U)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tree in brackets.
    fn shape(html: &str) -> String {
        fn write(tree: &Tree, at: At, out: &mut String) {
            match tree.tag(at) {
                Tag::Text => out.push_str(tree.text(at)),
                tag => {
                    out.push_str(&format!("({tag:?} ").to_lowercase());
                    tree.children(at).for_each(|child| write(tree, child, out));
                    out.push(')');
                }
            }
        }
        let tree = Tree::of(html);
        let mut out = String::new();
        tree.children(ROOT).for_each(|child| write(&tree, child, &mut out));
        out.replace(" )", ")")
    }

    #[test]
    fn missing_end_tags_are_implied() {
        for (html, expected) in [
            ("<p>a<p>b", "(p a)(p b)"),
            ("<p>a<div>b</div>c", "(p a)(div b)c"),
            ("<ul><li>a<li>b<ul><li>c</ul></ul>", "(ul (li a)(li b(ul (li c))))"),
            ("<dl><dt>a<dd>b<dt>c</dl>d", "(dl (dt a)(dd b)(dt c))d"),
            ("<table><tr><td>a<td>b<tr><td>c</table>d", "(table (tr (td a)(td b))(tr (td c)))d"),
            ("<table><tr><td><div>a</table>b", "(table (tr (td (div a))))b"),
            ("<div><table><tr><td></div>a", "(div (table (tr (td a))))"),
            ("<h1>a</h2>b<h2>c<h3>d", "(h1 a)b(h2 c)(h3 d)"),
            ("<a>x<a>y", "(a x)(a y)"),
            ("<b>x<p>y</b>z</p>", "(b x(p yz))"),
            ("<html><head><title>t</title><p>x", "(head (title t))(p x)"),
            ("</p></table></nothing>x</br>y", "x(br)y"),
            ("<br/>a<img>b<svg><path/></svg>c", "(br)a(img)b(svg (other))c"),
            ("a &lt;b&gt; &amp;amp; &#x41;&nosuch;", "a <b> &amp; A&nosuch;"),
            ("<script>if (a < b) '<p>'</script>x", "(script)x"),
            ("<x", ""),
        ] {
            assert_eq!(shape(html), expected, "{html}");
        }
    }

    #[test]
    fn attributes_are_the_first_ones_and_bounded() {
        let long = "x".repeat(10_000);
        let tree =
            Tree::of(&format!("<div class=a CLASS=b hidden id='{long}' data-x=1></div class=c><p aria-hidden=true>"));
        let it = tree.attributes(1);
        assert_eq!((&*it.class, it.hidden, it.id.len()), ("a", true, ATTRIBUTE));
        assert!(tree.attributes(2).hidden);
    }

    #[test]
    fn hostile_pages_stay_small_and_flat() {
        let pages = [
            "<div>".repeat(100_000) + "end",
            "<b>".repeat(100_000) + "end",
            "<a>".repeat(5 << 20 >> 2) + "end",
            "<table><tr><td>".repeat(50_000) + "end",
            "<p><b><i>".repeat(50_000) + &"</b></p></i></td>".repeat(50_000) + "end",
            "<ul><li>".repeat(100_000) + "end",
            "<div><svg>".repeat(100_000) + "end",
            format!("<a {}>end", (0..300_000).map(|n| format!("a{n}=b ")).collect::<String>()),
        ];
        for page in pages {
            let tree = Tree::of(&page);
            assert!(tree.nodes.len() <= NODES + 1);
            let deep = |mut at: At| std::iter::from_fn(|| tree.parent(at).inspect(|up| at = *up)).count();
            assert!((0..tree.nodes.len()).map(deep).max().unwrap() <= DEPTH + SKIPPED);
            assert!(tree.text.ends_with("end"));
        }
    }
}
