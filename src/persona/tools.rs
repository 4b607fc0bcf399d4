//! What the agent reads and writes about itself.

use crate::{Document, Documents, Edit, Name};
use text_kit::{one_line, truncate};
use tool::prelude::*;

/// What the agent reads and writes about itself.
pub fn family(documents: Documents) -> Family<Documents> {
    let about = "Read and change who the agent is and what it has learnt.";
    Family::new("persona", about, documents)
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
}

/// How a text is to be changed.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Replace,
    FindReplace,
    Append,
    Prepend,
    Delete,
}

/// What the arguments of both editing tools come to.
struct Fields {
    operation: Operation,
    content: Option<String>,
    find: Option<String>,
    replace: Option<String>,
    replace_all: Option<bool>,
}

impl Fields {
    /// # Errors
    /// `BadArgs` where the operation needs a field that is not there, or a piece to look for is empty.
    fn edit(self) -> Result<Edit> {
        let operation = match self.operation {
            Operation::Replace => "replace",
            Operation::FindReplace => "find_replace",
            Operation::Append => "append",
            Operation::Prepend => "prepend",
            Operation::Delete => "delete",
        };
        let missing = |field: &str| Error::bad_args(format!("`{operation}` needs `{field}`: give it"));
        let filled =
            |field: &str, text: Option<String>| text.filter(|text| !text.is_empty()).ok_or_else(|| missing(field));
        Ok(match self.operation {
            // An empty text is how the whole of it is taken away.
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

/// Read your own system prompt as it is stored: how you behave. After an edit, what you were told at the start of this
/// conversation is the old one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadPrompt {}

async fn read_prompt(documents: Documents, cx: Cx, _: ReadPrompt) -> Result<Output> {
    let Document { text, version, .. } = documents.read(&cx, Name::SystemPrompt)?;
    let prompt = documents.or_built_in(Name::SystemPrompt, text);
    let sentence = format!("My system prompt says: {}", spoken(&prompt));
    Ok(Output::json(json!({"prompt": prompt, "version": version}))?.say(sentence))
}

/// Change your own system prompt: how you behave ("you are …", "when the person asks X, do Y"). What you learn about people
/// belongs into the learned notes. Read it first when you change a piece of it; the old version is kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditPrompt {
    /// The type of edit: the whole, one piece, more at the end or the beginning, or without a piece.
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

/// Read your learned notes as they are stored: what you have learnt about the person and the household.
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

/// Change your learned notes: what you have learnt about the person and the household ("prefers dark mode"), told to you in
/// every conversation. How you behave belongs into the system prompt. The old version is kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditNotes {
    /// The type of edit: the whole, one piece, more at the end or the beginning, or without a piece.
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

/// How much of a text is spoken, in characters.
const SPOKEN: usize = 300;

fn spoken(text: &str) -> String {
    truncate(&one_line(text), SPOKEN)
}
