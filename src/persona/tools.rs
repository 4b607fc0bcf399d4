//! Tools with which the agent reads and edits its own documents.

use crate::{
    Document, Documents, Edit, Name,
    profile_tools::{read_profile, update_profile},
};
use text_kit::{one_line, truncate};
use tool::prelude::*;

/// The family of persona tools.
pub fn family(documents: Documents) -> Family<Documents> {
    let about = "The personality of the agent, and its learned notes.";
    Family::new("persona", about, documents)
        .title("Personality")
        .area(Area::Memory)
        .tool("read_system_prompt", Risk::Observe, read_prompt)
        .tags("own instructions behaviour behavior personality who am I self identity")
        .tool("edit_system_prompt", Risk::Write, edit_prompt)
        .tags("change own instructions behaviour behavior personality rules always never self modify")
        .persists_instructions()
        .example(json!({"operation": "append", "content": "Answer in German when you are spoken to in German."}))
        .tool("read_learned_notes", Risk::Observe, read_notes)
        .tags("what have you learnt learned about me preferences habits self")
        .tool("edit_learned_notes", Risk::Write, edit_notes)
        .tags("learn note preference habit about person household always remember self modify")
        .persists_instructions()
        .example(json!({"operation": "append", "content": "- Breakfast is at seven on weekdays."}))
        .tool("read_profile", Risk::Observe, read_profile)
        .tags("profile about me person who am I name birthday preferences interests goals instructions")
        .tool("update_profile", Risk::Write, update_profile)
        .tags("profile about me person call me name nickname pronouns birthday language style preference interest goal instruction learn")
        .persists_instructions()
        .example(json!({"preferredName": "Sam", "quote": "call me Sam"}))
}

/// The type of edit.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Replace,
    FindReplace,
    Append,
    Prepend,
    Delete,
}

/// The arguments shared by both editing tools.
struct Fields {
    operation: Operation,
    content: Option<String>,
    find: Option<String>,
    replace: Option<String>,
    replace_all: Option<bool>,
}

impl Fields {
    /// # Errors
    /// `BadArgs` when a field that the operation needs is missing, or the text to find is empty.
    fn edit(self) -> Result<Edit> {
        let operation = match self.operation {
            Operation::Replace => "replace",
            Operation::FindReplace => "find_replace",
            Operation::Append => "append",
            Operation::Prepend => "prepend",
            Operation::Delete => "delete",
        };
        let missing = |field: &str| Error::bad_args(format!("`{operation}` needs `{field}`: pass it"));
        let filled =
            |field: &str, text: Option<String>| text.filter(|text| !text.is_empty()).ok_or_else(|| missing(field));
        Ok(match self.operation {
            // Replacing with an empty text deletes the document.
            Operation::Replace => Edit::Replace(self.content.ok_or_else(|| missing("content"))?),
            Operation::FindReplace => Edit::FindReplace {
                find: filled("find", self.find)?,
                replace: self.replace.ok_or_else(|| missing("replace"))?,
                all: self.replace_all.unwrap_or(false),
            },
            Operation::Append => Edit::Append(filled("content", self.content)?),
            Operation::Prepend => Edit::Prepend(filled("content", self.content)?),
            Operation::Delete => Edit::Delete(filled("content", self.content)?),
        })
    }
}

/// Read your own stored system prompt: how you behave. After an edit, the prompt at the start of this conversation is
/// outdated.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadPrompt {}

async fn read_prompt(documents: Documents, cx: Cx, _: ReadPrompt) -> Result<Output> {
    let Document { text, version, .. } = documents.read(&cx, Name::SystemPrompt)?;
    let prompt = documents.or_built_in(Name::SystemPrompt, text);
    let sentence = format!("My system prompt says: {}", spoken(&prompt));
    Ok(Output::json(json!({"prompt": prompt, "version": version}))?.say(sentence))
}

/// Edit your own system prompt: how you behave ("you are …", "when the person asks X, do Y"). Facts about people
/// belong in the learned notes. Read it first before you change a piece of it; the old version is stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditPrompt {
    /// The type of edit: replace all, find and replace a piece, append, prepend, or delete a piece.
    operation: Operation,
    /// For replace: the new full prompt. For append/prepend: the text to add. For delete: the text to remove.
    content: Option<String>,
    /// For find_replace: the exact substring to find.
    find: Option<String>,
    /// For find_replace: the replacement text.
    replace: Option<String>,
    /// For find_replace: replace all occurrences instead of just the first. Default: false.
    replace_all: Option<bool>,
}

async fn edit_prompt(documents: Documents, cx: Cx, args: EditPrompt) -> Result<Output> {
    let EditPrompt { operation, content, find, replace, replace_all } = args;
    let edit = Fields { operation, content, find, replace, replace_all }.edit()?;
    document_output("my system prompt", documents.edit(&cx, Name::SystemPrompt, edit).await?)
}

/// Read your learned notes as they are stored: what you have learned about the person and the household.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadNotes {}

async fn read_notes(documents: Documents, cx: Cx, _: ReadNotes) -> Result<Output> {
    let Document { text, version, .. } = documents.read(&cx, Name::LearnedNotes)?;
    let sentence = match text.is_empty() {
        true => "I have no notes yet.".to_owned(),
        false => format!("My notes say: {}", spoken(&text)),
    };
    Ok(Output::json(json!({"notes": text, "version": version}))?.say(sentence))
}

/// Change your learned notes: what you have learned about the person and the household ("prefers dark mode"), shown to
/// you in every conversation. Rules about your behaviour belong in the system prompt. The old version is stored.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditNotes {
    /// The type of edit: replace all, find and replace a piece, append, prepend, or delete a piece.
    operation: Operation,
    /// For replace: the new full notes. For append/prepend: the text to add. For delete: the text to remove.
    content: Option<String>,
    /// For find_replace: the exact substring to find.
    find: Option<String>,
    /// For find_replace: the replacement text.
    replace: Option<String>,
    /// For find_replace: replace all occurrences instead of just the first. Default: false.
    replace_all: Option<bool>,
}

async fn edit_notes(documents: Documents, cx: Cx, args: EditNotes) -> Result<Output> {
    let EditNotes { operation, content, find, replace, replace_all } = args;
    let edit = Fields { operation, content, find, replace, replace_all }.edit()?;
    document_output("my notes", documents.edit(&cx, Name::LearnedNotes, edit).await?)
}

fn document_output(what: &str, document: Document) -> Result<Output> {
    let version = document.version;
    Ok(Output::json(json!({"version": version}))?.say(format!("I changed {what}: version {version}.")))
}

/// The maximum length of a text in a spoken answer, in characters.
const SPOKEN: usize = 300;

fn spoken(text: &str) -> String {
    truncate(&one_line(text), SPOKEN)
}
