//! Settings of a conversation: title, instructions, and metadata of people's programs.

use super::{ConversationSummary, Conversations, Head, summary};
use scrub::How;
use serde_json::{Map, Value};
use tool::{Cx, Error, Id, Result, Scope};

/// Maximum length of a title, in characters.
pub(crate) const TITLE: usize = 200;
/// Maximum length of instructions, in characters: they are part of every request.
pub(crate) const SYSTEM_PROMPT: usize = 8_000;
/// Limits of metadata: entries, bytes as JSON, and nesting.
const ENTRIES: usize = 50;
const METADATA: usize = 4 << 10;
const DEPTH: usize = 5;

/// A change of a conversation; `None` leaves a field unchanged.
#[derive(Debug, Clone, Default)]
pub struct ConversationPatch {
    /// The new title.
    pub title: Option<String>,
    /// The new instructions; empty for none.
    pub system_prompt: Option<String>,
    /// Metadata entries to set, or to remove when null. An inner `None` removes all.
    pub metadata: Option<Option<Map<String, Value>>>,
}

impl ConversationPatch {
    fn apply(&self, head: &mut Head) -> Result<()> {
        if let Some(title) = &self.title {
            head.title.clone_from(title);
        }
        if let Some(prompt) = &self.system_prompt {
            head.system_prompt.clone_from(prompt);
        }
        match &self.metadata {
            None => {}
            Some(None) => head.metadata.clear(),
            Some(Some(changes)) => {
                let mut all = metadata_of(&head.metadata);
                for (name, value) in changes {
                    match value {
                        Value::Null => drop(all.remove(name)),
                        value => drop(all.insert(name.clone(), value.clone())),
                    }
                }
                head.metadata = metadata_text(&all)?;
            }
        }
        Ok(())
    }
}

impl Conversations {
    /// Applies a checked patch.
    pub async fn change(&self, cx: &Cx, id: Id, patch: ConversationPatch) -> Result<ConversationSummary> {
        let changed = self.heads.update_in(Scope::User(cx.user()), cx.label(), id, move |head| {
            patch.apply(head).map_err(|e| store::Error::Conflict(e.message().to_owned()))
        });
        Ok(self.clean_head(summary(changed.await?)))
    }

    /// Validates a change, and removes secrets.
    pub fn checked_patch(&self, patch: ConversationPatch) -> Result<ConversationPatch> {
        if patch.title.is_none() && patch.system_prompt.is_none() && patch.metadata.is_none() {
            return Err(Error::bad_args("there is nothing to change: send `title`, `systemPrompt` or `metadata`"));
        }
        let title = patch.title.map(|title| self.checked_title(&title)).transpose()?;
        let system_prompt = patch.system_prompt.map(|prompt| self.checked_prompt(&prompt)).transpose()?;
        let metadata = patch.metadata.map(|changes| changes.map(|changes| self.scrubbed_metadata(changes)));
        Ok(ConversationPatch { title, system_prompt, metadata })
    }

    fn checked_title(&self, title: &str) -> Result<String> {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        match title.chars().count() {
            0 => Err(Error::bad_args("`title` is empty: write some words")),
            1..=TITLE => Ok(self.registry.scrubber().text(&title, How::Digests).into_owned()),
            n => Err(Error::bad_args(format!("`title` has {n} characters, and {TITLE} is the most: shorten it"))),
        }
    }

    /// Validates instructions, and removes secrets.
    pub fn checked_prompt(&self, prompt: &str) -> Result<String> {
        let (prompt, length) = (prompt.trim(), prompt.trim().chars().count());
        if length > SYSTEM_PROMPT {
            let text = format!("`systemPrompt` has {length} characters, and {SYSTEM_PROMPT} is the most: shorten it");
            return Err(Error::bad_args(text));
        }
        Ok(self.registry.scrubber().text(prompt, How::Digests).into_owned())
    }

    /// Metadata in stored form, without secrets.
    ///
    /// # Errors
    /// `BadArgs` when it is too large.
    pub fn checked_metadata(&self, metadata: Map<String, Value>) -> Result<String> {
        metadata_text(&self.scrubbed_metadata(metadata))
    }

    fn scrubbed_metadata(&self, metadata: Map<String, Value>) -> Map<String, Value> {
        let mut value = Value::Object(metadata);
        self.registry.scrubber().value(&mut value, How::Digests);
        match value {
            Value::Object(clean) => clean,
            _ => Map::new(),
        }
    }

    /// Removes secrets that became known after the settings were stored.
    pub fn clean_settings(&self, summary: &mut ConversationSummary) {
        if let Some(prompt) = &mut summary.system_prompt {
            *prompt = self.registry.scrubber().text(prompt, How::Digests).into_owned();
        }
        if let Some(metadata) = summary.metadata.take() {
            summary.metadata = Some(self.scrubbed_metadata(metadata));
        }
    }

    /// The instructions of a conversation; they taint the run when the conversation is from outside.
    pub fn system_prompt(&self, cx: &Cx, id: Id) -> String {
        match self.heads.get(cx, id) {
            Ok(found) => found.map(|head| head.value.system_prompt).unwrap_or_default(),
            Err(error) => {
                tracing::warn!(%error, "the instructions of a conversation could not be read");
                String::new()
            }
        }
    }
}

/// Parses stored metadata; empty when it is unreadable.
pub(crate) fn metadata_of(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_default()
}

fn metadata_text(metadata: &Map<String, Value>) -> Result<String> {
    if metadata.is_empty() {
        return Ok(String::new());
    }
    let text = serde_json::to_string(metadata).map_err(|e| Error::bad_args(format!("`metadata` is not JSON: {e}")))?;
    let too = |what: String| Err(Error::bad_args(format!("`metadata` {what}: keep less in it")));
    if metadata.len() > ENTRIES {
        return too(format!("has {} entries, and {ENTRIES} is the most", metadata.len()));
    }
    if text.len() > METADATA {
        return too(format!("has {} bytes as JSON, and {METADATA} is the most", text.len()));
    }
    if metadata.values().any(|value| depth(value) > DEPTH) {
        return too(format!("nests deeper than {DEPTH} levels"));
    }
    Ok(text)
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    #[test]
    fn metadata_is_bounded() {
        assert_eq!(metadata_text(&Map::new()).unwrap(), "");
        let text = metadata_text(&map(json!({"a": [1, {"b": null}]}))).unwrap();
        assert_eq!(metadata_of(&text), map(json!({"a": [1, {"b": null}]})));
        let many: Map<String, Value> = (0..=ENTRIES).map(|n| (n.to_string(), json!(n))).collect();
        let deep = (0..=DEPTH).fold(json!(1), |inner, _| json!([inner]));
        for (metadata, part) in [
            (many, "51 entries"),
            (map(json!({"a": "x".repeat(METADATA)})), "4096 is the most"),
            (map(json!({"a": deep})), "deeper than 5"),
        ] {
            let why = metadata_text(&metadata).unwrap_err();
            assert!(why.message().contains(part), "{why}");
        }
        assert!(metadata_of("damaged").is_empty());
    }
}
