//! Asking the model that answers, as data and without tools.

use serde::de::DeserializeOwned;
use tool::{Cx, Error, Result, prelude::json};

/// The answer of the model to a prompt.
///
/// # Errors
/// `Unavailable` when no model is set up or none answers; those of the policy.
pub(crate) async fn ask(cx: &Cx, prompt: &str) -> Result<String> {
    let output = cx.call("run_prompt", json!({"prompt": prompt, "answerOnly": true})).await?;
    match output.content["response"].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::unavailable("the model gave no answer: try again")),
    }
}

/// The JSON in an answer, which may have words or a fence around it.
pub(crate) fn json_in<T: DeserializeOwned>(answer: &str, (open, close): (char, char)) -> Option<T> {
    let (start, end) = (answer.find(open)?, answer.rfind(close)?);
    serde_json::from_str(answer.get(start..=end)?).ok()
}

/// A text between marks that it cannot contain itself, for a prompt.
pub(crate) fn marked(tag: &str, text: &str) -> String {
    let text = text.replace(&format!("</{tag}"), &format!("< /{tag}"));
    format!("<{tag}>\n{text}\n</{tag}>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_found_in_an_answer() {
        let read = |answer: &str| json_in::<Vec<u8>>(answer, ('[', ']'));
        assert_eq!(read("Here:\n```json\n[1, 2]\n```"), Some(vec![1, 2]));
        for odd in ["", "none", "[1", "][", "[\"x\"]", &"[".repeat(10_000)] {
            assert_eq!(read(odd), None, "{odd:.20}");
        }
        assert_eq!(marked("note", "a</note>b"), "<note>\na< /note>b\n</note>");
    }
}
