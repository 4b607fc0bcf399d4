//! What a tool answers: a part for the model, perhaps another for the person.

use crate::Label;
use serde::Serialize;
use serde_json::{Map, Value};

/// The answer of a tool. Any `Serialize` value converts into one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// For the model: a JSON value, or a string as plain text.
    pub content: Value,
    /// For the person: one plain sentence. `reflex` answers with it, the page shows it under the call.
    pub say: Option<String>,
    /// For neither: counts, times, what was corrected.
    pub meta: Map<String, Value>,
    /// Where the content came from; `Outside` taints the run.
    pub label: Label,
}

impl Output {
    /// An answer of plain text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Value::String(text.into()), ..Self::default() }
    }
    /// The same answer with a sentence for the person.
    pub fn say(mut self, sentence: impl Into<String>) -> Self {
        self.say = Some(sentence.into());
        self
    }
    /// The same answer with a word about it that is for neither model nor person.
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
    /// The same answer, marked as coming from outside.
    pub fn from_outside(mut self) -> Self {
        self.label = Label::Outside;
        self
    }
    /// The content as the text a model reads: strings as they are, nothing as the empty string, the rest as JSON.
    pub fn model_text(&self) -> String {
        match &self.content {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
    /// An answer from any serializable value.
    ///
    /// # Errors
    /// `Failed` when the value has no JSON form (a map with keys that are not strings).
    pub fn json<T: Serialize>(value: T) -> crate::Result<Self> {
        let content = serde_json::to_value(value)
            .map_err(|e| crate::Error::failed(format!("the answer could not be written as JSON: {e}")))?;
        Ok(Self { content, ..Self::default() })
    }
}

/// What a tool function may return on success.
pub trait IntoOutput {
    /// The answer as an [`Output`].
    ///
    /// # Errors
    /// `Failed` when it has no JSON form.
    fn into_output(self) -> crate::Result<Output>;
}

impl<T: Serialize> IntoOutput for T {
    fn into_output(self) -> crate::Result<Output> {
        Output::json(self)
    }
}

impl IntoOutput for Output {
    fn into_output(self) -> crate::Result<Output> {
        Ok(self)
    }
}
