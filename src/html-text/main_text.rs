//! Which part of a page is its main text, and what in it is not.
//!
//! From the root down it enters the part that holds nearly all prose, so a thread, a table or a product stays whole. What is
//! navigation, advertising or the like by element, role or class, or a collection of links, is left out, unless most of the page is in it.

use crate::{
    measure::Measures,
    tag::Tag,
    tree::{At, Attributes, ROOT, Tree},
};

/// Pages with less prose than this have no main text.
const LEAST: u32 = 140;

/// The part of a page that is rendered.
pub(crate) struct Region {
    pub at: At,
    /// Whether a node is left out.
    pub drops: Vec<bool>,
}

impl Region {
    /// All that is visible.
    pub fn whole(tree: &Tree) -> Self {
        Self { at: ROOT, drops: vec![false; tree.nodes.len()] }
    }

    /// The main text.
    pub fn main(tree: &Tree, measures: &Measures) -> Self {
        let page = measures.all[ROOT].prose;
        let mut drops = vec![false; tree.nodes.len()];
        let mut doubts = vec![false; tree.nodes.len()];
        // Whether it is below an article or the main part, where headers are those of the text.
        let mut is_inside = vec![false; tree.nodes.len()];
        for at in 1..tree.nodes.len() {
            let (tag, parent) = (tree.tag(at), tree.nodes[at].parent as usize);
            let it = tree.attributes(at);
            is_inside[at] = is_inside[parent] || matches!(tag, Tag::Article | Tag::Main) || is_main(tag, it);
            let measure = &measures.all[at];
            let beside = match tag {
                Tag::Text => Beside::No,
                Tag::Header if measure.has_title => Beside::No,
                _ if measure.prose * 2 > page => Beside::No,
                _ => Beside::of(tag, it, is_inside[at]),
            };
            drops[at] = drops[parent] || beside == Beside::Yes;
            doubts[at] = doubts[parent] || beside == Beside::Perhaps;
        }
        // Where most of what is left is in doubt, as in a thread of comments, it is the text.
        let own: Vec<u32> = (0..tree.nodes.len()).map(|at| own_prose(tree, measures, at)).collect();
        let sum =
            |counts: &dyn Fn(At) -> bool| -> u32 { (1..own.len()).filter(|at| counts(*at)).map(|at| own[at]).sum() };
        let (left, doubtful) = (sum(&|at| !drops[at]), sum(&|at| !drops[at] && doubts[at]));
        if doubtful * 2 <= left {
            drops.iter_mut().zip(&doubts).for_each(|(drops, doubts)| *drops |= doubts);
        }
        // The prose of what stays.
        let mut prose = own;
        let mut titles: Vec<bool> = (0..tree.nodes.len()).map(|at| tree.tag(at) == Tag::H1 && !drops[at]).collect();
        for at in (1..tree.nodes.len()).rev() {
            let parent = tree.nodes[at].parent as usize;
            if drops[at] {
                prose[at] = 0;
            }
            prose[parent] += prose[at];
            titles[parent] |= titles[at];
        }
        if prose[ROOT] < LEAST {
            return Self { at: ROOT, drops };
        }
        let at = enter(tree, &prose, &titles, start(tree, &prose, &drops));
        let part = &measures.all[at];
        if part.linked * 2 < part.length {
            drop_link_lists(tree, measures, at, &mut drops);
        }
        Self { at, drops }
    }
}

/// The prose of a node without that of its children.
fn own_prose(tree: &Tree, measures: &Measures, at: At) -> u32 {
    let below: u32 = tree.children(at).map(|child| measures.all[child].prose).sum();
    measures.all[at].prose.saturating_sub(below)
}

fn is_main(tag: Tag, it: &Attributes) -> bool {
    tag == Tag::Main || it.role.eq_ignore_ascii_case("main")
}

/// The main part or the only article, where the page marks them and most prose is there.
fn start(tree: &Tree, prose: &[u32], drops: &[bool]) -> At {
    let largest = |is: &dyn Fn(At) -> bool, least: u32| {
        (1..tree.nodes.len()).filter(|at| !drops[*at] && is(*at) && prose[*at] >= least).max_by_key(|at| prose[*at])
    };
    let main = largest(&|at| is_main(tree.tag(at), tree.attributes(at)), prose[ROOT] * 3 / 10).unwrap_or(ROOT);
    largest(&|at| tree.tag(at) == Tag::Article, prose[main] * 3 / 5).unwrap_or(main)
}

/// Goes down as long as one part holds nearly all prose, and no heading is left behind.
fn enter(tree: &Tree, prose: &[u32], titles: &[bool], start: At) -> At {
    let mut at = start;
    loop {
        let holds = |child: &At| {
            let enters = matches!(
                tree.tag(*child),
                Tag::Article | Tag::Body | Tag::Center | Tag::Div | Tag::Form | Tag::Main | Tag::Other | Tag::Section
            );
            enters && prose[*child] * 25 >= prose[at] * 23
        };
        let Some(child) = tree.children(at).find(holds) else { return at };
        let leaves_title = tree.children(at).any(|other| other != child && titles[other]);
        if leaves_title {
            return at;
        }
        at = child;
    }
}

/// Leaves out blocks below `at` that are mostly short links.
fn drop_link_lists(tree: &Tree, measures: &Measures, at: At, drops: &mut [bool]) {
    let mut is_below = vec![false; tree.nodes.len()];
    for child in at + 1..tree.nodes.len() {
        let parent = tree.nodes[child].parent as usize;
        is_below[child] = parent == at || is_below[parent];
        if !is_below[child] {
            continue;
        }
        let (tag, it) = (tree.tag(child), &measures.all[child]);
        let is_list = tag.is_list() || matches!(tag, Tag::Div | Tag::Section | Tag::Dl | Tag::P | Tag::Table);
        let is_links = it.links >= 3 && it.linked * 10 > it.length * 7 && it.linked < it.links * 60;
        drops[child] |= drops[parent] || is_list && is_links && !it.has_title;
    }
}

/// Words in a class or id that name what stands beside the text, whatever else is in it.
const BESIDE: &[&str] = &[
    "ads",
    "advert",
    "advertisement",
    "advertising",
    "breadcrumb",
    "breadcrumbs",
    "consent",
    "cookie",
    "cookies",
    "disqus",
    "footer",
    "gdpr",
    "masthead",
    "nav",
    "navbar",
    "navigation",
    "newsletter",
    "outbrain",
    "pager",
    "pagination",
    "popup",
    "promo",
    "related",
    "share",
    "sharing",
    "sidebar",
    "sidenav",
    "social",
    "sponsor",
    "sponsored",
    "subscribe",
    "taboola",
];
/// The same where no word of [`TEXT`] stands with them.
const PERHAPS: &[&str] = &[
    "ad",
    "banner",
    "comment",
    "comments",
    "login",
    "menu",
    "modal",
    "more",
    "overlay",
    "popular",
    "promotion",
    "recommend",
    "recommendations",
    "recommended",
    "search",
    "signup",
    "skip",
    "tags",
    "toc",
    "toolbar",
    "trending",
    "widget",
    "widgets",
];
const TEXT: &[&str] = &[
    "article",
    "body",
    "content",
    "description",
    "entry",
    "main",
    "message",
    "post",
    "product",
    "recipe",
    "story",
    "text",
    "thread",
];

/// Whether an element is navigation, advertising and the like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Beside {
    No,
    Perhaps,
    Yes,
}

impl Beside {
    /// By its kind, role or class.
    fn of(tag: Tag, it: &Attributes, is_inside: bool) -> Self {
        match tag {
            Tag::Nav | Tag::Aside | Tag::Footer | Tag::Search | Tag::Button | Tag::Label | Tag::Legend => Self::Yes,
            Tag::Header if !is_inside => Self::Yes,
            Tag::Article | Tag::Main => Self::No,
            _ if has_role_beside(it) => Self::Yes,
            _ if it.class.is_empty() && it.id.is_empty() || !tag.is_block() => Self::No,
            _ => Self::by_words(it),
        }
    }

    fn by_words(it: &Attributes) -> Self {
        let (mut beside, mut perhaps, mut text) = (false, false, false);
        for name in [&it.class, &it.id] {
            for word in name.split(|c: char| !c.is_ascii_alphanumeric()).take(100) {
                // `siteFooter` has two words.
                let mut from = 0;
                for (at, _) in word.char_indices().filter(|(_, c)| c.is_ascii_uppercase()).chain([(word.len(), ' ')]) {
                    let part = word[from..at].to_ascii_lowercase();
                    beside |= BESIDE.contains(&&*part);
                    perhaps |= PERHAPS.contains(&&*part);
                    text |= TEXT.contains(&&*part);
                    from = at;
                }
            }
        }
        match (beside, perhaps && !text) {
            (true, _) => Self::Yes,
            (_, true) => Self::Perhaps,
            _ => Self::No,
        }
    }
}

fn has_role_beside(it: &Attributes) -> bool {
    let role = it.role.to_ascii_lowercase();
    matches!(
        &*role,
        "navigation"
            | "banner"
            | "contentinfo"
            | "complementary"
            | "search"
            | "dialog"
            | "alertdialog"
            | "menu"
            | "menubar"
            | "toolbar"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_classes_tell_what_stands_beside() {
        for (class, id, expected) in [
            ("siteFooter", "", Beside::Yes),
            ("x site-nav", "", Beside::Yes),
            ("", "cookie_banner", Beside::Yes),
            ("post-share", "", Beside::Yes),
            ("widget", "", Beside::Perhaps),
            ("article", "", Beside::No),
            ("post-comment", "", Beside::No),
            ("navy shadow", "", Beside::No),
            ("downloads", "headline", Beside::No),
            ("", "", Beside::No),
        ] {
            let it = Attributes { class: class.into(), id: id.into(), ..Attributes::default() };
            assert_eq!(Beside::of(Tag::Div, &it, false), expected, "{class} {id}");
        }
    }
}
