//! Notes: texts in Markdown.

#[cfg(test)]
mod tests;

use records::{
    NamedRecord, RecordKind, RecordStore, contains_all_words,
    kind::{Args, Fields, Update, add, add_all, delete, page_output},
    names, optional_text, page_params, passes, quote, required_text, tags, truncate, view,
};
use store::{Entry, Key, Level, Record, Store, Walk, Words, order};
use text_kit::{capitalized, counted_one, end_sentence, listing, one_line};
use tool::prelude::*;

/// The most characters of a title, a text and a category.
const TITLE: usize = 300;
const CONTENT: usize = 100_000;
const CATEGORY: usize = 100;
/// How many characters of a text a list of several notes shows, and how many a sentence has.
const SHOWN: usize = 500;
const SPOKEN: usize = 600;
/// The default and the largest limit of a list.
const LISTED: (u32, u32) = (20, 50);

/// The parameter of `update_note` that adds to the text.
const APPEND: &str = "append";

const BY_NAME: u8 = 1;
/// The keys of these indexes end with whether the note is pinned.
const ALL: u8 = 2;
const BY_CATEGORY: u8 = 3;
const BY_TAG: u8 = 4;

/// Notes in Markdown.
pub fn family(store: &Store) -> Family<RecordStore<Note>> {
    Family::new("notes", "Saved texts.", RecordStore::new(store))
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
        .page(LISTED)
        .tags("show find search texts memos pinned")
        .tool("get_note", Risk::Observe, get)
        .tags("read show open whole text memo")
        .tool("update_note", Risk::Write, update)
        .tags("edit change rewrite append extend pin text memo")
        .persists_instructions()
        .tool("delete_note", Risk::Destroy, delete)
        .tags("remove erase text memo")
}

/// A note.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[schemars(description = "Save a text under a title.")]
pub struct Note {
    /// Title of the note.
    title: String,
    /// The text; Markdown is fine.
    content: String,
    /// Category, such as ideas or meetings.
    category: Option<String>,
    /// All of its tags, 20 at most.
    #[serde(default)]
    tags: Vec<String>,
    /// Whether it is listed before all others.
    #[serde(default)]
    is_pinned: bool,
}

impl Record for Note {
    const NAME: &'static str = "notes";
    const WORD: &'static str = "note";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }
    const WORDS: u8 = 1;
    fn words(&self) -> String {
        [&self.title[..], &self.content].join("\n")
    }
    fn keys(&self) -> Vec<Key> {
        let pinned = |value: Vec<u8>| [value, vec![self.is_pinned.into()]].concat();
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

impl RecordKind for Note {
    type Input = Self;
    const ID: &'static str = "noteId";
    const PLURAL: &'static str = "notes";
    const TITLE: &'static str = "title";
    const MORE_CHANGES: &'static [(&'static str, &'static str)] =
        &[(APPEND, "Text to put on a new line at the end of the old one.")];
    fn read(_: &RecordStore<Self>, _: &Cx, mut it: Self) -> Result<Self> {
        it.title = required_text("title", &it.title, TITLE)?;
        it.content = required_text("content", &it.content, CONTENT)?;
        it.category = optional_text("category", it.category.as_deref(), CATEGORY)?;
        it.tags = tags(&it.tags)?;
        Ok(it)
    }
    fn view(cx: &Cx, entry: &Entry<Self>) -> Value {
        let mut view = view(cx, entry, json!(entry.value));
        view["truncated"] = json!(false);
        view
    }
    fn brief(cx: &Cx, entry: &Entry<Self>) -> Value {
        let shown: String = entry.value.content.chars().take(SHOWN).collect();
        let mut view = view(cx, entry, json!(entry.value));
        view["truncated"] = json!(shown.len() < entry.value.content.len());
        view["content"] = json!(shown);
        view
    }
    fn merge(fields: &mut Fields, mut changes: Fields) -> Result<()> {
        if let Some(more) = changes.remove(APPEND) {
            if changes.contains_key("content") {
                let text = "give content, which replaces the text, or append, which adds to it: not both";
                return Err(Error::bad_args(text));
            }
            let more = required_text("text to append", more.as_str().unwrap_or_default(), CONTENT)?;
            let content = format!("{}\n{more}", fields["content"].as_str().unwrap_or_default());
            changes.insert("content".into(), content.into());
        }
        fields.extend(changes);
        Ok(())
    }
}

/// List notes: pinned ones first, then the newest. Of several, long texts are cut; get_note reads one in full.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct List {
    /// Only those of this category.
    category: Option<String>,
    /// Only those with this tag.
    tag: Option<String>,
    /// Only pinned ones (true), or only others (false).
    is_pinned: Option<bool>,
    /// Words in the title or the text.
    search: Option<String>,
    limit: Option<u32>,
    /// How many to skip, for the next page.
    offset: Option<u32>,
}

async fn list(notes: RecordStore<Note>, cx: Cx, args: List) -> Result<Output> {
    let category = optional_text("category", args.category.as_deref(), CATEGORY)?;
    let tag = optional_text("tag", args.tag.as_deref(), CATEGORY)?;
    let search = optional_text("search", args.search.as_deref(), TITLE)?;
    let (index, mut value) = match (&tag, &category) {
        (Some(tag), _) => (BY_TAG, order::text(tag)),
        (None, Some(category)) => (BY_CATEGORY, order::text(category)),
        (None, None) => (ALL, vec![]),
    };
    value.extend(args.is_pinned.map(u8::from));
    let walk = Walk::prefix(index, value).down();
    let words = search.as_deref().map(Words::all);
    let page =
        notes.search_page(&cx, &walk, words.as_ref(), page_params(args.offset, args.limit, LISTED), |entry| {
            let it = &entry.value;
            passes(category.as_deref(), it.category.as_deref())
                && search.as_deref().is_none_or(|search| contains_all_words(search, &[&it.words()]))
        })?;
    let sentence = match page.entries.as_slice() {
        [] => match (&search, args.is_pinned) {
            (Some(search), _) => format!("I found no notes about {}.", quote(search)),
            (None, Some(true)) => "No note is pinned.".to_owned(),
            (None, _) => "There are no notes yet.".to_owned(),
        },
        // Somebody who asks for one note wants to read it.
        [one] if !page.more || args.limit == Some(1) => spoken(&one.value),
        all if page.more => listing("Your latest notes", &names(all), true),
        all => listing(&format!("You have {}", counted_one(all.len(), "note")), &names(all), false),
    };
    page_output(&cx, &page, sentence)
}

/// Read a note in full.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Get {
    /// Its id, or its title.
    note_id: String,
}

async fn get(notes: RecordStore<Note>, cx: Cx, args: Get) -> Result<Output> {
    let found = notes.find(&cx, &args.note_id)?;
    Ok(Output::json(Note::view(&cx, &found))?.say(spoken(&found.value)))
}

async fn update(notes: RecordStore<Note>, cx: Cx, args: Args<Note, Update>) -> Result<Output> {
    let appended = args.has(APPEND);
    let pinned = args.only("isPinned").and_then(Value::as_bool);
    let changed = args.apply(&notes, &cx).await?;
    let title = quote(&changed.value.title);
    let sentence = match pinned {
        _ if appended => format!("I added that to the note {title}."),
        Some(true) => format!("The note {title} is pinned."),
        Some(false) => format!("The note {title} is not pinned any more."),
        None => format!("I changed the note {title}."),
    };
    Ok(Output::json(Note::view(&cx, &changed))?.say(sentence))
}

/// A note as a sentence.
fn spoken(note: &Note) -> String {
    let content = truncate(&note.content, SPOKEN);
    match one_line(&content).trim_end_matches(['.', '!', '?']) == note.title.trim_end_matches(['.', '!', '?']) {
        true => capitalized(&end_sentence(&content)),
        false => format!("{}: {}", capitalized(&note.title), end_sentence(&content)),
    }
}
