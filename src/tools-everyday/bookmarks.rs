//! Bookmarks: saved web addresses.

mod page_title;
#[cfg(test)]
mod tests;

pub use page_title::PageTitles;

use records::{
    NamedRecord, RecordKind, RecordStore, contains_all_words,
    kind::{Add, Args, Batch, Update, add, add_all, delete, page_output},
    names, optional_text, page_params, passes, quote, required_text, same_text, tags, truncate,
};
use store::{Key, Level, Record, Store, Walk, Words, order};
use text_kit::{counted_one, listing, one_line, percent_decode};
use tool::prelude::*;
use url::Url;

/// The most characters of an address, a title, a description and a category.
const ADDRESS: usize = 2048;
const TITLE: usize = 300;
const DESCRIPTION: usize = 2000;
const CATEGORY: usize = 100;
/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);

const BY_NAME: u8 = 1;
const ALL: u8 = 2;
const BY_CATEGORY: u8 = 3;
const BY_TAG: u8 = 4;
const FAVORITES: u8 = 5;

/// Saved web addresses.
pub fn family(store: &Store, titles: PageTitles) -> Family<RecordStore<Bookmark>> {
    let for_one = titles.clone();
    let add_one = move |records: RecordStore<Bookmark>, cx: Cx, args: Args<Bookmark, Add>| {
        let titles = for_one.clone();
        async move {
            let output = add(records.clone(), cx.clone(), args).await?;
            read_title(&titles, &records, &cx, &output.content);
            Ok::<_, Error>(output)
        }
    };
    let add_several = move |records: RecordStore<Bookmark>, cx: Cx, args: Args<Bookmark, Batch>| {
        let titles = titles.clone();
        async move {
            let output = add_all(records.clone(), cx.clone(), args).await?;
            let added = output.content["bookmarks"].as_array().into_iter().flatten();
            added.for_each(|one| read_title(&titles, &records, &cx, one));
            Ok::<_, Error>(output)
        }
    };
    Family::new("bookmarks", "Saved links.", RecordStore::new(store))
        .phrases(include_str!("bookmarks.en"))
        .area(Area::Memory)
        .tool("add_bookmark", Risk::Write, add_one)
        .additive()
        .tags("save keep link url address website page new create")
        .example(json!({"url": "https://www.rust-lang.org/learn", "category": "reading", "tags": ["rust"]}))
        .tool("batch_add_bookmarks", Risk::Write, add_several)
        .additive()
        .tags("save keep links urls several new create")
        .tool("list_bookmarks", Risk::Observe, list)
        .page(LISTED)
        .tags("show find search links urls saved favorites reading")
        .tool("update_bookmark", Risk::Write, update)
        .tags("edit change rename favorite link url")
        .persists_instructions()
        .tool("delete_bookmark", Risk::Destroy, delete)
        .tags("remove erase link url")
}

/// A bookmark.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(description = "Save the address of a web page.")]
pub struct Bookmark {
    /// The address (http or https).
    url: String,
    /// Title; a new bookmark without one is named after its address, and soon after its page.
    #[serde(default)]
    title: String,
    /// Short description of the page.
    description: Option<String>,
    /// Category, such as reading or recipes.
    category: Option<String>,
    /// All of its tags, 20 at most.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether it is a favorite.
    #[serde(default)]
    is_favorite: bool,
}

impl Record for Bookmark {
    const NAME: &'static str = "bookmarks";
    const WORD: &'static str = "bookmark";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        [&self.title, &self.url, self.description.as_deref().unwrap_or_default(), &self.tags.join("\n")].join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        let mut keys = vec![Key::many(BY_NAME, order::text(&self.title)), Key::many(ALL, [])];
        keys.extend(self.category.iter().map(|category| Key::many(BY_CATEGORY, order::text(category))));
        keys.extend(self.tags.iter().map(|tag| Key::many(BY_TAG, order::text(tag))));
        keys.extend(self.is_favorite.then(|| Key::many(FAVORITES, [])));
        keys
    }
}

impl NamedRecord for Bookmark {
    const LISTED_BY: &'static str = "list_bookmarks";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.title
    }
    fn likely() -> Walk {
        Walk::prefix(ALL, []).down()
    }
}

impl RecordKind for Bookmark {
    type Input = Self;
    const ID: &'static str = "bookmarkId";
    const PLURAL: &'static str = "bookmarks";
    const TITLE: &'static str = "title";
    fn read(_: &RecordStore<Self>, _: &Cx, mut it: Self) -> Result<Self> {
        let url = address(&it.url)?;
        if it.title.is_empty() {
            it.title = title(&url);
        }
        it.url = url.into();
        it.title = required_text("title", &it.title, TITLE)?;
        it.description = optional_text("description", it.description.as_deref(), DESCRIPTION)?;
        it.category = optional_text("category", it.category.as_deref(), CATEGORY)?;
        it.tags = tags(&it.tags)?;
        Ok(it)
    }
}

/// Reads the title of a page that was added without one.
fn read_title(titles: &PageTitles, records: &RecordStore<Bookmark>, cx: &Cx, added: &Value) {
    let text = |field: &str| added[field].as_str().unwrap_or_default();
    let (id, url, named) = (text("id"), text("url"), text("title"));
    if Url::parse(url).is_ok_and(|url| title(&url) == named) {
        titles.read_later(records, cx, id, url, named);
    }
}

async fn update(bookmarks: RecordStore<Bookmark>, cx: Cx, args: Args<Bookmark, Update>) -> Result<Output> {
    let favorite = args.only("isFavorite").and_then(Value::as_bool);
    let changed = args.apply(&bookmarks, &cx).await?;
    let title = quote(&changed.value.title);
    let sentence = match favorite {
        Some(true) => format!("{title} is a favourite now."),
        Some(false) => format!("{title} is no favourite any more."),
        None => changed.value.changed(),
    };
    Ok(Output::json(Bookmark::view(&cx, &changed))?.say(sentence))
}

/// List bookmarks, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those of this category.
    category: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
    /// Only favorites (true), or only others (false).
    is_favorite: Option<bool>,
    /// Words in the title, the address, the description or the tags.
    search: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(bookmarks: RecordStore<Bookmark>, cx: Cx, args: List) -> Result<Output> {
    let category = optional_text("category", args.category.as_deref(), CATEGORY)?;
    let tag = optional_text("tag", args.tag.as_deref(), CATEGORY)?;
    let search = optional_text("search", args.search.as_deref(), TITLE)?;
    let walk = match (&tag, &category, args.is_favorite) {
        (Some(tag), _, _) => Walk::prefix(BY_TAG, order::text(tag)),
        (_, Some(category), _) => Walk::prefix(BY_CATEGORY, order::text(category)),
        (_, _, Some(true)) => Walk::prefix(FAVORITES, []),
        _ => Walk::prefix(ALL, []),
    };
    let words = search.as_deref().map(Words::all);
    let page = bookmarks.search_page(
        &cx,
        &walk.down(),
        words.as_ref(),
        page_params(args.offset, args.limit, LISTED),
        |entry| {
            let it = &entry.value;
            passes(category.as_deref(), it.category.as_deref())
                && tag.as_deref().is_none_or(|tag| it.tags.iter().any(|own| same_text(own, tag)))
                && args.is_favorite.is_none_or(|wanted| wanted == it.is_favorite)
                && search.as_deref().is_none_or(|search| contains_all_words(search, &[&it.words()]))
        },
    )?;
    let sentence = match page.entries.as_slice() {
        [] => match (&search, args.is_favorite) {
            (Some(search), _) => format!("I found no bookmarks about {}.", quote(search)),
            (None, Some(true)) => "No bookmark is a favourite.".to_owned(),
            (None, _) => "There are no bookmarks yet.".to_owned(),
        },
        [one] if !page.more => format!("{} is at {}", quote(&one.value.title), truncate(&one.value.url, 200)),
        all if page.more => listing("Your latest bookmarks", &names(all), true),
        all => listing(&format!("You have {}", counted_one(all.len(), "bookmark")), &names(all), false),
    };
    page_output(&cx, &page, sentence)
}

/// A web address in its normal form; one without a scheme gets `https://`.
fn address(text: &str) -> Result<Url> {
    let text = required_text("url", text, ADDRESS)?;
    let wrong = |why: &str| {
        let text = truncate(&text, 80);
        Error::bad_args(format!("`{text}` {why}: write it as https://example.org/page"))
    };
    let whole = match text.split_once("://") {
        Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => text.clone(),
        _ => {
            // A colon belongs to a host only with a port behind it: `mailto:` and `javascript:` are no hosts.
            let host = text.split(['/', '?', '#']).next().unwrap_or_default();
            let (name, port) = host.rsplit_once(':').unwrap_or((host, "1"));
            let is_host = (name.contains('.') || name == "localhost") && port.bytes().all(|b| b.is_ascii_digit());
            if !is_host {
                return Err(wrong("is no web address"));
            }
            format!("https://{text}")
        }
    };
    let url = Url::parse(&whole).map_err(|_| wrong("is no web address"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("is no web address"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("contains a user name or password, which bookmarks do not store; leave it out"));
    }
    if url.as_str().chars().count() > 2 * ADDRESS {
        return Err(wrong("is too long"));
    }
    Ok(url)
}

/// Makes a title from an address: `rust-lang.org: learn / get started`.
fn title(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let host = host.strip_prefix("www.").unwrap_or(host);
    let readable = |part: &str| {
        // Encoded control characters stay encoded.
        let visible = part.replace("%0", "%250").replace("%1", "%251");
        let text = percent_decode(&visible).replace(['-', '_', '+'], " ");
        let name =
            text.rsplit_once('.').filter(|(_, kind)| matches!(*kind, "html" | "htm" | "php")).map(|(name, _)| name);
        one_line(name.unwrap_or(&text))
    };
    let parts = url.path_segments().into_iter().flatten().map(readable).filter(|part| !part.is_empty());
    let path = parts.collect::<Vec<_>>().join(" / ");
    truncate(&if path.is_empty() { host.to_owned() } else { format!("{host}: {path}") }, TITLE - 1)
}
