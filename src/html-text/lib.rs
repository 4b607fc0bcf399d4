//! Layer 1: HTML to readable text. [`decode`] finds the charset, [`markdown`] the visible main text.
//!
//! Pages are hostile: time and memory grow with their length only, nesting is bounded, nothing panics, and neither hidden text nor
//! invisible characters come through.

mod charset;
mod invisible;
mod main_text;
mod markdown;
mod measure;
mod output;
mod style;
mod table;
mod tag;
#[cfg(test)]
mod tests;
mod tree;

pub use charset::{Decoded, decode};

use invisible::push_visible;
use main_text::Region;
use markdown::Renderer;
use measure::Measures;
use tag::Tag;
use text_kit::{one_line, truncate};
use tree::{At, ROOT, Tree};
use url::Url;

/// The most characters of a title and a description.
const TITLE: usize = 300;
const DESCRIPTION: usize = 500;
/// The most links that are looked for by their class.
const LINKS: usize = 200;
/// A main text with fewer characters than this is none if the page has five times as many.
const LEAST: u32 = 80;

/// How a page is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Leave out navigation, advertising and what else stands beside the main text.
    pub main_only: bool,
    /// The most characters of the Markdown.
    pub max_chars: usize,
}

/// A link of the text, with its address in full.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its text.
    pub text: String,
    /// An http, https or mailto URL.
    pub url: String,
}

/// A page that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// Its title without the name of the site; empty where it has none.
    pub title: String,
    /// The text.
    pub markdown: String,
    /// The links in it, each address once, 500 at most.
    pub links: Vec<Link>,
    /// The tables in it as rows of cells, 50 at most; cells that others span are empty.
    pub tables: Vec<Vec<Vec<String>>>,
    /// The language it states, such as `de` or `pt-BR`; empty where it states none.
    pub language: String,
    /// The description it gives of itself.
    pub description: String,
    /// How many characters were left out because a reader does not see them.
    pub hidden_removed: usize,
    /// Whether the Markdown was cut.
    pub truncated: bool,
}

/// Reads a page; relative links are resolved by `base`.
pub fn markdown(html: &str, base: Option<&Url>, options: Options) -> Page {
    read(html, base, options, false)
}

/// The same without marks and addresses in the text.
pub fn plain(html: &str, base: Option<&Url>, options: Options) -> Page {
    read(html, base, options, true)
}

/// A text without characters that a reader does not see, and how many there were.
pub fn without_invisible(text: &str) -> (String, usize) {
    let mut clean = String::with_capacity(text.len());
    let removed = push_visible(&mut clean, text);
    (clean, removed)
}

/// The links that have one of these classes, each with the place of the class, in the order of the page; hidden ones too.
pub fn links_by_class(html: &str, base: &Url, classes: &[&str]) -> Vec<(usize, Link)> {
    let tree = Tree::of(html);
    let links = (1..tree.nodes.len()).filter(|at| tree.tag(*at) == Tag::A).filter_map(|at| {
        let it = tree.attributes(at);
        let class = classes.iter().position(|class| it.class.split_ascii_whitespace().any(|own| own == *class))?;
        let url = base.join(it.address.trim()).ok()?;
        Some((class, Link { text: text_in(&tree, at), url: url.into() }))
    });
    links.take(LINKS).collect()
}

/// The base that the page names itself.
fn own_base(tree: &Tree, base: Option<&Url>) -> Option<Url> {
    let at = (1..tree.nodes.len()).find(|at| tree.tag(*at) == Tag::Base)?;
    let address = &tree.attributes(at).address;
    base.map_or_else(|| Url::parse(address).ok(), |base| base.join(address).ok())
}

fn read(html: &str, base: Option<&Url>, options: Options, is_plain: bool) -> Page {
    let tree = Tree::of(html);
    let measures = Measures::of(&tree);
    let own_base = own_base(&tree, base);
    let base = own_base.as_ref().or(base);
    let render = |region: &Region| {
        let mut renderer = Renderer::new((&tree, &measures), &region.drops, base, (is_plain, options.max_chars));
        let (markdown, truncated) = renderer.render(region);
        Page {
            markdown,
            truncated,
            links: renderer.links,
            tables: renderer.tables,
            hidden_removed: measures.hidden + renderer.removed,
            ..Page::default()
        }
    };
    let mut page =
        if options.main_only { render(&Region::main(&tree, &measures)) } else { render(&Region::whole(&tree)) };
    if options.main_only && !page.truncated {
        let found = measure::length(&page.markdown);
        if found < LEAST && measures.all[ROOT].length > found * 5 {
            page = render(&Region::whole(&tree));
        }
    }
    let metas = Metas::of(&tree);
    page.title = title(&tree, &measures, &metas);
    page.description = truncate(&metas.description, DESCRIPTION);
    let language = &tree.attributes(ROOT).lang;
    let language = if language.is_empty() { &metas.language } else { language };
    let is_language = |text: &str| text.len() <= 35 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    page.language = Some(language.trim()).filter(|text| is_language(text)).unwrap_or_default().to_owned();
    page
}

/// What a page says of itself in `<meta>`.
#[derive(Default)]
struct Metas {
    title: String,
    description: String,
    language: String,
}

impl Metas {
    fn of(tree: &Tree) -> Self {
        let mut metas = Self::default();
        for at in (1..tree.nodes.len()).filter(|at| tree.tag(*at) == Tag::Meta) {
            let it = tree.attributes(at);
            let slot = match it.name.to_ascii_lowercase().as_str() {
                "og:title" | "twitter:title" => &mut metas.title,
                "description" | "og:description" => &mut metas.description,
                "content-language" => &mut metas.language,
                _ => continue,
            };
            if slot.is_empty() {
                *slot = visible(&it.content);
            }
        }
        metas
    }
}

/// A text on one line without invisible characters.
fn visible(text: &str) -> String {
    let mut clean = String::new();
    push_visible(&mut clean, text);
    one_line(&clean)
}

/// All text in a part, on one line; for short parts.
fn text_in(tree: &Tree, at: At) -> String {
    let (mut text, mut stack) = (String::new(), vec![at]);
    while let Some(at) = stack.pop() {
        if tree.tag(at) == Tag::Text {
            text.push_str(tree.text(at));
            if text.len() > TITLE * 8 {
                break;
            }
        }
        let children: Vec<At> = tree.children(at).collect();
        stack.extend(children.into_iter().rev());
    }
    visible(&text)
}

/// The title: the main heading where `<title>` begins or ends with it, else `<title>` without the name of the site.
fn title(tree: &Tree, measures: &Measures, metas: &Metas) -> String {
    let is_title = |at: &At| {
        tree.tag(*at) == Tag::Title && tree.parent(*at).is_none_or(|up| matches!(tree.tag(up), Tag::Head | Tag::Root))
    };
    let stated = (1..tree.nodes.len()).find(is_title).map(|at| text_in(tree, at)).unwrap_or_default();
    let heading = (1..tree.nodes.len()).find(|at| tree.tag(*at) == Tag::H1 && !measures.all[*at].is_out);
    let heading = heading.map(|at| text_in(tree, at)).unwrap_or_default();
    let title = if !heading.is_empty()
        && (stated.is_empty() || stated.starts_with(&heading) || stated.ends_with(&heading))
    {
        heading
    } else if !metas.title.is_empty() {
        metas.title.clone()
    } else {
        let parts = [" | ", " – ", " — ", " :: ", " · ", " « ", " » ", " - "];
        let first = parts.iter().filter_map(|mark| stated.split_once(mark)).map(|(first, _)| first.trim());
        // The first part is the title, unless it is too short for one.
        first.filter(|first| first.chars().count() >= 10).min_by_key(|first| first.len()).unwrap_or(&stated).to_owned()
    };
    truncate(&title, TITLE)
}
