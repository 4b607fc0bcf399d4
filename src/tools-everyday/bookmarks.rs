//! Bookmarks: addresses worth keeping.

#[cfg(test)]
mod tests;

use records::{
    NamedRecord, RecordMeta, RecordStore, batch, contains_all_words, join_list, optional_text, page_params, patch_text,
    quote, record_meta, required_text, tags, truncate,
};
use store::{Entry, Key, Level, Record, Store, Walk, order};
use text_kit::{counted_one, one_line, percent_decode};
use tool::prelude::*;
use url::Url;

/// The most characters of an address, a title, a description and a category.
const ADDRESS: usize = 2048;
const TITLE: usize = 300;
const DESCRIPTION: usize = 2000;
const CATEGORY: usize = 100;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

const BY_NAME: u8 = 1;
const ALL: u8 = 2;
const BY_CATEGORY: u8 = 3;
const BY_TAG: u8 = 4;
const FAVORITES: u8 = 5;

/// Addresses worth keeping.
pub fn family(store: &Store) -> Family<RecordStore<Bookmark>> {
    Family::new("bookmarks", "Addresses worth keeping.", RecordStore::new(store))
        .phrases(include_str!("bookmarks.en"))
        .area(Area::Memory)
        .tool("add_bookmark", Risk::Write, add)
        .additive()
        .tags("save keep link url address website page new create")
        .example(json!({"url": "https://www.rust-lang.org/learn", "category": "reading", "tags": ["rust"]}))
        .tool("batch_add_bookmarks", Risk::Write, add_all)
        .additive()
        .tags("save keep links urls several new create")
        .tool("list_bookmarks", Risk::Observe, list)
        .tags("show find search links urls saved favorites reading")
        .tool("update_bookmark", Risk::Write, update)
        .tags("edit change rename favorite link url")
        .persists_instructions()
        .tool("delete_bookmark", Risk::Destroy, delete)
        .tags("remove erase link url")
}

/// An address worth keeping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bookmark {
    url: String,
    title: String,
    description: Option<String>,
    category: Option<String>,
    tags: Vec<String>,
    favorite: bool,
}

impl Record for Bookmark {
    const NAME: &'static str = "bookmarks";
    const WORD: &'static str = "bookmark";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let mut keys = vec![Key::many(BY_NAME, order::text(&self.title)), Key::many(ALL, [])];
        keys.extend(self.category.iter().map(|category| Key::many(BY_CATEGORY, order::text(category))));
        keys.extend(self.tags.iter().map(|tag| Key::many(BY_TAG, order::text(tag))));
        keys.extend(self.favorite.then(|| Key::many(FAVORITES, [])));
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

/// Save the address of a web page.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// The address (http or https).
    url: String,
    /// What it is called; made from the address when left out.
    title: Option<String>,
    /// What is there, briefly.
    description: Option<String>,
    /// Where it belongs, such as reading or recipes.
    category: Option<String>,
    /// Tags, 20 at most.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether it is a favorite.
    #[serde(default)]
    is_favorite: bool,
    /// Whether everybody in the household sees it.
    #[serde(default)]
    shared: bool,
}

impl Add {
    fn read(self) -> Result<(Bookmark, bool)> {
        let url = address(&self.url)?;
        let bookmark = Bookmark {
            title: optional_text("title", self.title.as_deref(), TITLE)?.unwrap_or_else(|| title(&url)),
            url: url.into(),
            description: optional_text("description", self.description.as_deref(), DESCRIPTION)?,
            category: optional_text("category", self.category.as_deref(), CATEGORY)?,
            tags: tags(&self.tags)?,
            favorite: self.is_favorite,
        };
        Ok((bookmark, self.shared))
    }
}

async fn add(bookmarks: RecordStore<Bookmark>, cx: Cx, args: Add) -> Result<Output> {
    let (bookmark, shared) = args.read()?;
    let added = bookmarks.add(&cx, "add_bookmark", bookmark, shared).await?;
    let sentence = format!("I kept the bookmark {}.", quote(&added.value.title));
    Ok(Output::json(view(&cx, &added))?.say(sentence))
}

/// Save several addresses at once: all of them, or none when one is wrong.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddAll {
    /// The bookmarks, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    bookmarks: Vec<Add>,
}

async fn add_all(bookmarks: RecordStore<Bookmark>, cx: Cx, args: AddAll) -> Result<Output> {
    let added = bookmarks.add_all(&cx, "batch_add_bookmarks", batch("bookmark", args.bookmarks, Add::read)?).await?;
    let sentence = format!("I kept {}: {}.", counted_one(added.len(), "bookmark"), join_list(&titles(&added), false));
    let views: Vec<View> = added.iter().map(|bookmark| view(&cx, bookmark)).collect();
    Ok(Output::json(json!({"added": views.len(), "bookmarks": views}))?.say(sentence))
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
    /// Words that occur in the title, the address, the description or the tags.
    search: Option<String>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(bookmarks: RecordStore<Bookmark>, cx: Cx, args: List) -> Result<Output> {
    let category = optional_text("category", args.category.as_deref(), CATEGORY)?.map(|text| order::text(&text));
    let tag = optional_text("tag", args.tag.as_deref(), CATEGORY)?.map(|text| order::text(&text));
    let search = optional_text("search", args.search.as_deref(), TITLE)?;
    let walk = match (&tag, &category, args.is_favorite) {
        (Some(tag), _, _) => Walk::prefix(BY_TAG, tag),
        (_, Some(category), _) => Walk::prefix(BY_CATEGORY, category),
        (_, _, Some(true)) => Walk::prefix(FAVORITES, []),
        _ => Walk::prefix(ALL, []),
    };
    let page = bookmarks.page(&cx, &walk.down(), page_params(args.offset, args.limit, LISTED), |entry| {
        let it = &entry.value;
        let in_category = |wanted: &Vec<u8>| it.category.as_deref().is_some_and(|text| order::text(text) == *wanted);
        let tagged = |wanted: &Vec<u8>| it.tags.iter().any(|text| order::text(text) == *wanted);
        category.as_ref().is_none_or(in_category)
            && tag.as_ref().is_none_or(tagged)
            && args.is_favorite.is_none_or(|wanted| wanted == it.favorite)
            && search.as_deref().is_none_or(|words| {
                let description = it.description.as_deref().unwrap_or_default();
                contains_all_words(words, &[&it.title, &it.url, description, &it.tags.join("\n")])
            })
    })?;
    let sentence = match page.entries.as_slice() {
        [] => "I found no bookmarks.".to_owned(),
        [one] if !page.more => {
            format!("One bookmark: {} at {}.", quote(&one.value.title), truncate(&one.value.url, 200))
        }
        all => format!("The latest bookmarks: {}.", join_list(&titles(all), page.more)),
    };
    let views: Vec<View> = page.entries.iter().map(|bookmark| view(&cx, bookmark)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "bookmarks": views}))?.say(sentence))
}

/// Change a bookmark; what is not given stays as it is, and an empty text clears.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    bookmark_id: String,
    /// The new address.
    url: Option<String>,
    /// The new title.
    title: Option<String>,
    /// What is there, briefly.
    description: Option<String>,
    /// Where it belongs.
    category: Option<String>,
    /// All of its tags from now on.
    tags: Option<Vec<String>>,
    /// Whether it is a favorite.
    is_favorite: Option<bool>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(bookmarks: RecordStore<Bookmark>, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { bookmark_id: args.bookmark_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args(
            "say what to change: url, title, description, category, tags, isFavorite or shared",
        ));
    }
    let url = args.url.as_deref().map(address).transpose()?.map(String::from);
    let title = args.title.as_deref().map(|title| required_text("title", title, TITLE)).transpose()?;
    let description = patch_text("description", args.description.as_deref(), DESCRIPTION)?;
    let category = patch_text("category", args.category.as_deref(), CATEGORY)?;
    let (tags, favorite) = (args.tags.as_deref().map(tags).transpose()?, args.is_favorite);
    let changed = bookmarks.change(&cx, &args.bookmark_id, args.shared, move |it| {
        it.url = url.clone().unwrap_or_else(|| it.url.clone());
        it.title = title.clone().unwrap_or_else(|| it.title.clone());
        it.description = description.clone().unwrap_or_else(|| it.description.clone());
        it.category = category.clone().unwrap_or_else(|| it.category.clone());
        it.tags = tags.clone().unwrap_or_else(|| it.tags.clone());
        it.favorite = favorite.unwrap_or(it.favorite);
        Ok(())
    });
    let changed = changed.await?;
    let sentence = format!("I changed the bookmark {}.", quote(&changed.value.title));
    Ok(Output::json(view(&cx, &changed))?.say(sentence))
}

/// Delete a bookmark for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Its id, or its title.
    bookmark_id: String,
}

async fn delete(bookmarks: RecordStore<Bookmark>, cx: Cx, args: Delete) -> Result<Output> {
    let gone = bookmarks.remove(&cx, &args.bookmark_id).await?;
    let sentence = format!("I deleted the bookmark {}.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "title": gone.value.title}))?.say(sentence))
}

/// A bookmark, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    told: RecordMeta,
    url: &'a str,
    title: &'a str,
    description: Option<&'a str>,
    category: Option<&'a str>,
    tags: &'a [String],
    is_favorite: bool,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Bookmark>) -> View<'a> {
    let it = &entry.value;
    View {
        told: record_meta(entry, &cx.ports().clock.zone()),
        url: &it.url,
        title: &it.title,
        description: it.description.as_deref(),
        category: it.category.as_deref(),
        tags: &it.tags,
        is_favorite: it.favorite,
    }
}

/// An address of the web, in its one way of writing; `https://` is put before one without it.
fn address(text: &str) -> Result<Url> {
    let text = required_text("url", text, ADDRESS)?;
    let wrong = |why: &str| {
        let text = truncate(&text, 80);
        Error::bad_args(format!("`{text}` {why}: write it as https://example.org/page"))
    };
    let whole = match text.split_once("://") {
        Some((scheme, _)) if scheme.bytes().all(|b| b.is_ascii_alphanumeric()) => text.clone(),
        _ => {
            // What stands before a colon is a host only when a port follows; `mailto:` and `javascript:` are none.
            let host = text.split(['/', '?', '#']).next().unwrap_or_default();
            let (name, port) = host.rsplit_once(':').unwrap_or((host, "1"));
            let is_host = (name.contains('.') || name == "localhost") && port.bytes().all(|b| b.is_ascii_digit());
            if !is_host {
                return Err(wrong("is no address of the web"));
            }
            format!("https://{text}")
        }
    };
    let url = Url::parse(&whole).map_err(|_| wrong("is no address of the web"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("is no address of the web"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a user name or password in it, which is not kept here; leave it out"));
    }
    if url.as_str().chars().count() > 2 * ADDRESS {
        return Err(wrong("is too long"));
    }
    Ok(url)
}

/// A title made from an address: `rust-lang.org: learn / get started`.
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

fn titles(all: &[Entry<Bookmark>]) -> Vec<String> {
    all.iter().map(|bookmark| bookmark.value.title.clone()).collect()
}
