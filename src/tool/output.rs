//! The output of a tool: a part for the model, and perhaps one for the person.

use crate::Label;
use serde::Serialize;
use serde_json::{Map, Value};

/// The output of a tool. Any `Serialize` value converts into one.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// For the model: a JSON value, or a string as plain text.
    pub content: Value,
    /// For the person: one plain sentence. `reflex` answers with it, the page shows it under the call.
    pub say: Option<String>,
    /// For neither: counts, times, corrections.
    pub meta: Map<String, Value>,
    /// The origin of the content; `Outside` taints the run.
    pub label: Label,
}

impl Output {
    /// Plain text for the model.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Value::String(text.into()), ..Self::default() }
    }
    /// The same output with a sentence for the person.
    pub fn say(mut self, sentence: impl Into<String>) -> Self {
        self.say = Some(sentence.into());
        self
    }
    /// The same output with metadata, which neither model nor person sees.
    pub fn meta(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.meta.insert(key.into(), value.into());
        self
    }
    /// The same output, labelled as from outside.
    pub fn from_outside(mut self) -> Self {
        self.label = Label::Outside;
        self
    }
    /// The content as text for a model: strings unchanged, null as the empty string, the rest as JSON.
    pub fn model_text(&self) -> String {
        match &self.content {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
    /// The output of any serializable value.
    ///
    /// # Errors
    /// `Failed` when the value has no JSON form (a map with keys that are not strings).
    pub fn json<T: Serialize>(value: T) -> crate::Result<Self> {
        let content = serde_json::to_value(value)
            .map_err(|e| crate::Error::failed(format!("the output could not be written as JSON: {e}")))?;
        Ok(Self { content, ..Self::default() })
    }
}

/// A value that a tool function may return on success.
pub trait IntoOutput {
    /// The value as an [`Output`].
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
