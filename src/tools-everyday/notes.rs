//! Notes: texts worth keeping, in Markdown.

#[cfg(test)]
mod tests;

use records::{
    NamedRecord, RecordMeta, RecordStore, batch, contains_all_words, join_list, optional_text, page_params, patch_text,
    quote, record_meta, rejected, required_text, tags, truncate,
};
use store::{Entry, Key, Level, Record, Store, Walk, order};
use text_kit::counted_one;
use tool::prelude::*;

/// The most characters of a title, a text and a category.
const TITLE: usize = 300;
const CONTENT: usize = 100_000;
const CATEGORY: usize = 100;
/// How much of a text a list of several shows, in characters, and how much is spoken.
const SHOWN: usize = 500;
const SPOKEN: usize = 600;
/// How many are listed unless the call says otherwise, and at most.
const LISTED: (u32, u32) = (20, 50);

const BY_NAME: u8 = 1;
/// Each of these ends with whether the note is pinned.
const ALL: u8 = 2;
const BY_CATEGORY: u8 = 3;
const BY_TAG: u8 = 4;

/// Texts worth keeping.
pub fn family(store: &Store) -> Family<RecordStore<Note>> {
    Family::new("notes", "Texts worth keeping.", RecordStore::new(store))
        .phrases(include_str!("notes.en"))
        .area(Area::Memory)
        .tool("add_note", Risk::Write, add)
        .additive()
        .tags("write save keep text memo jot markdown new create")
        .example(json!({"title": "Paint of the fence", "content": "RAL 9010", "tags": ["garden"]}))
        .tool("batch_add_notes", Risk::Write, add_all)
        .additive()
        .tags("write save keep texts memos several new create")
        .tool("list_notes", Risk::Observe, list)
        .tags("show find search texts memos pinned")
        .tool("get_note", Risk::Observe, get)
        .tags("read show open whole text memo")
        .tool("update_note", Risk::Write, update)
        .tags("edit change rewrite append extend pin text memo")
        .persists_instructions()
        .tool("delete_note", Risk::Destroy, delete)
        .tags("remove erase text memo")
}

/// A text worth keeping.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Note {
    title: String,
    content: String,
    category: Option<String>,
    tags: Vec<String>,
    pinned: bool,
}

impl Record for Note {
    const NAME: &'static str = "notes";
    const WORD: &'static str = "note";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        let pinned = |value: Vec<u8>| [value, vec![self.pinned.into()]].concat();
        let mut keys = vec![Key::many(BY_NAME, order::text(&self.title)), Key::many(ALL, pinned(vec![]))];
        keys.extend(self.category.iter().map(|category| Key::many(BY_CATEGORY, pinned(order::text(category)))));
        keys.extend(self.tags.iter().map(|tag| Key::many(BY_TAG, pinned(order::text(tag)))));
        keys
    }
}

impl NamedRecord for Note {
    const LISTED_BY: &'static str = "list_notes";
    const BY_NAME: u8 = BY_NAME;
    fn name(&self) -> &str {
        &self.title
    }
    fn likely() -> Walk {
        Walk::prefix(ALL, []).down()
    }
}

/// Keep a text under a title.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Add {
    /// What it is about.
    title: String,
    /// The text; Markdown is fine.
    content: String,
    /// Where it belongs, such as ideas or meetings.
    category: Option<String>,
    /// Tags, 20 at most.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether it stands before all others.
    #[serde(default)]
    is_pinned: bool,
    /// Whether everybody in the household sees it.
    #[serde(default)]
    shared: bool,
}

impl Add {
    fn read(self) -> Result<(Note, bool)> {
        let note = Note {
            title: required_text("title", &self.title, TITLE)?,
            content: required_text("content", &self.content, CONTENT)?,
            category: optional_text("category", self.category.as_deref(), CATEGORY)?,
            tags: tags(&self.tags)?,
            pinned: self.is_pinned,
        };
        Ok((note, self.shared))
    }
}

async fn add(notes: RecordStore<Note>, cx: Cx, args: Add) -> Result<Output> {
    let (note, shared) = args.read()?;
    let added = notes.add(&cx, "add_note", note, shared).await?;
    let sentence = format!("I kept the note {}.", quote(&added.value.title));
    Ok(Output::json(view(&cx, &added, true))?.say(sentence))
}

/// Keep several texts at once: all of them, or none when one is wrong.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AddAll {
    /// The notes, 100 at most.
    #[schemars(length(min = 1, max = 100))]
    notes: Vec<Add>,
}

async fn add_all(notes: RecordStore<Note>, cx: Cx, args: AddAll) -> Result<Output> {
    let added = notes.add_all(&cx, "batch_add_notes", batch("note", args.notes, Add::read)?).await?;
    let sentence = format!("I kept {}: {}.", counted_one(added.len(), "note"), join_list(&titles(&added), false));
    let views: Vec<View> = added.iter().map(|note| view(&cx, note, false)).collect();
    Ok(Output::json(json!({"added": views.len(), "notes": views}))?.say(sentence))
}

/// List notes: pinned ones first, then the newest. Of several, long texts are cut; get_note reads one whole.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those of this category.
    category: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
    /// Only pinned ones (true), or only others (false).
    is_pinned: Option<bool>,
    /// Words that occur in the title or the text.
    search: Option<String>,
    /// Max results (default: 20, max: 50).
    limit: Option<u32>,
    /// How many to pass over, for the next page.
    offset: Option<u32>,
}

async fn list(notes: RecordStore<Note>, cx: Cx, args: List) -> Result<Output> {
    let category = optional_text("category", args.category.as_deref(), CATEGORY)?.map(|text| order::text(&text));
    let tag = optional_text("tag", args.tag.as_deref(), CATEGORY)?.map(|text| order::text(&text));
    let search = optional_text("search", args.search.as_deref(), TITLE)?;
    let (index, mut value) = match (&tag, &category) {
        (Some(tag), _) => (BY_TAG, tag.clone()),
        (None, Some(category)) => (BY_CATEGORY, category.clone()),
        (None, None) => (ALL, vec![]),
    };
    value.extend(args.is_pinned.map(u8::from));
    let walk = Walk::prefix(index, value).down();
    let page = notes.page(&cx, &walk, page_params(args.offset, args.limit, LISTED), |entry| {
        let it = &entry.value;
        let in_category = |wanted: &Vec<u8>| it.category.as_deref().is_some_and(|text| order::text(text) == *wanted);
        category.as_ref().is_none_or(in_category)
            && search.as_deref().is_none_or(|words| contains_all_words(words, &[&it.title, &it.content]))
    })?;
    let whole = page.entries.len() == 1;
    let sentence = match page.entries.as_slice() {
        [] => "I found no notes.".to_owned(),
        [one] if !page.more => spoken(&one.value),
        all => format!("The notes: {}.", join_list(&titles(all), page.more)),
    };
    let views: Vec<View> = page.entries.iter().map(|note| view(&cx, note, whole)).collect();
    Ok(Output::json(json!({"count": views.len(), "hasMore": page.more, "notes": views}))?.say(sentence))
}

/// Read a note whole.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Get {
    /// Its id, or its title.
    note_id: String,
}

async fn get(notes: RecordStore<Note>, cx: Cx, args: Get) -> Result<Output> {
    let found = notes.find(&cx, &args.note_id)?;
    Ok(Output::json(view(&cx, &found, true))?.say(spoken(&found.value)))
}

/// Change a note; what is not given stays as it is.
#[derive(Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// Its id, or its title.
    note_id: String,
    /// The new title.
    title: Option<String>,
    /// The new text, in place of the old one.
    content: Option<String>,
    /// Text to put on a new line at the end of the old one.
    append: Option<String>,
    /// Where it belongs; an empty text clears it.
    category: Option<String>,
    /// All of its tags from now on.
    tags: Option<Vec<String>>,
    /// Whether it stands before all others.
    is_pinned: Option<bool>,
    /// Whether everybody in the household sees it.
    shared: Option<bool>,
}

async fn update(notes: RecordStore<Note>, cx: Cx, args: Update) -> Result<Output> {
    if args == (Update { note_id: args.note_id.clone(), ..Update::default() }) {
        return Err(Error::bad_args("say what to change: title, content, append, category, tags, isPinned or shared"));
    }
    if args.content.is_some() && args.append.is_some() {
        return Err(Error::bad_args("give content, which replaces the text, or append, which adds to it: not both"));
    }
    let title = args.title.as_deref().map(|title| required_text("title", title, TITLE)).transpose()?;
    let content = args.content.as_deref().map(|text| required_text("content", text, CONTENT)).transpose()?;
    let more = args.append.as_deref().map(|text| required_text("text to append", text, CONTENT)).transpose()?;
    let category = patch_text("category", args.category.as_deref(), CATEGORY)?;
    let (tags, pinned) = (args.tags.as_deref().map(tags).transpose()?, args.is_pinned);
    let appended = more.is_some();
    let changed = notes.change(&cx, &args.note_id, args.shared, move |it| {
        it.title = title.clone().unwrap_or_else(|| it.title.clone());
        it.content = content.clone().unwrap_or_else(|| it.content.clone());
        if let Some(more) = &more {
            it.content = format!("{}\n{more}", it.content);
            if it.content.chars().nth(CONTENT).is_some() {
                return Err(rejected(format!("the note would be longer than {CONTENT} characters: begin another")));
            }
        }
        it.category = category.clone().unwrap_or_else(|| it.category.clone());
        it.tags = tags.clone().unwrap_or_else(|| it.tags.clone());
        it.pinned = pinned.unwrap_or(it.pinned);
        Ok(())
    });
    let changed = changed.await?;
    let title = quote(&changed.value.title);
    let sentence =
        if appended { format!("I added that to the note {title}.") } else { format!("I changed the note {title}.") };
    Ok(Output::json(view(&cx, &changed, true))?.say(sentence))
}

/// Delete a note for good.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Delete {
    /// Its id, or its title.
    note_id: String,
}

async fn delete(notes: RecordStore<Note>, cx: Cx, args: Delete) -> Result<Output> {
    let gone = notes.remove(&cx, &args.note_id).await?;
    let sentence = format!("I deleted the note {}.", quote(&gone.value.title));
    Ok(Output::json(json!({"deleted": true, "id": gone.id, "title": gone.value.title}))?.say(sentence))
}

/// A note, as it is answered.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    #[serde(flatten)]
    told: RecordMeta,
    title: &'a str,
    content: String,
    /// Whether more of the text follows.
    truncated: bool,
    category: Option<&'a str>,
    tags: &'a [String],
    is_pinned: bool,
}

fn view<'a>(cx: &Cx, entry: &'a Entry<Note>, whole: bool) -> View<'a> {
    let it = &entry.value;
    let content = if whole { it.content.clone() } else { it.content.chars().take(SHOWN).collect() };
    View {
        told: record_meta(entry, &cx.ports().clock.zone()),
        title: &it.title,
        truncated: content.len() < it.content.len(),
        content,
        category: it.category.as_deref(),
        tags: &it.tags,
        is_pinned: it.pinned,
    }
}

/// One note, read out.
fn spoken(note: &Note) -> String {
    format!("{}: {}", quote(&note.title), truncate(&note.content, SPOKEN))
}

fn titles(all: &[Entry<Note>]) -> Vec<String> {
    all.iter().map(|note| note.value.title.clone()).collect()
}
