//! A single answer of a model: without tools and conversation, and nothing is stored.

use crate::agent::Agent;
use futures::StreamExt;
use llm::{Content, Delta, Media, Message, Part, Provider, Request, ToolChoice, Usage};
use std::time::Duration;
use tool::{Cx, Error, Result};

/// Time limit of an answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum length of an answer, in tokens and in bytes.
const MAX_TOKENS: u32 = 2_048;
const MAX_BYTES: usize = 32 << 10;

impl Agent {
    /// Returns the model's answer to a prompt, and the model.
    ///
    /// # Errors
    /// `Unavailable` when no model is set up, or it did not answer.
    pub async fn answer_only(&self, cx: &Cx, prompt: &str) -> Result<(String, String)> {
        self.answer_message(cx, Message::user(prompt)).await
    }

    /// Whether a model is set up that sees pictures.
    pub fn sees_pictures(&self) -> bool {
        let provider = self.provider();
        provider.reads_context() && provider.facts().images
    }

    /// Returns the model's answer to a question about pictures, and the model.
    ///
    /// # Errors
    /// As [`Agent::answer_only`]; also where the model sees no pictures.
    pub async fn answer_about(&self, cx: &Cx, question: &str, pictures: Vec<Media>) -> Result<(String, String)> {
        if !self.sees_pictures() {
            return Err(Error::unavailable("the model that answers does not see pictures"));
        }
        let mut parts: Vec<Part> = pictures.into_iter().map(Part::Media).collect();
        parts.push(Part::Text(question.to_owned()));
        self.answer_message(cx, Message::User(Content(parts))).await
    }

    async fn answer_message(&self, cx: &Cx, message: Message) -> Result<(String, String)> {
        let provider = self.provider();
        if !provider.reads_context() {
            return Err(Error::unavailable("no model is set up: an admin can choose one under Settings on the page"));
        }
        let request = Request {
            messages: vec![message].into(),
            tool_choice: ToolChoice::None,
            max_tokens: Some(match provider.facts().context {
                0 => MAX_TOKENS,
                context => MAX_TOKENS.min(context / 4),
            }),
            user: Some(cx.user()),
            ..Request::default()
        };
        let (text, _) = one_answer(cx, provider.as_ref(), request, MAX_BYTES, ANSWER_TIMEOUT)
            .await
            .map_err(|why| Error::unavailable(format!("the model did not answer: {why}")))?;
        Ok((text, provider.model()))
    }
}

/// Returns the text of a model's answer, at most `bytes` long, and its usage.
///
/// # Errors
/// The reason, as a sentence.
pub(crate) async fn one_answer(
    cx: &Cx,
    provider: &dyn Provider,
    request: Request,
    bytes: usize,
    patience: Duration,
) -> Result<(String, Usage), String> {
    let answer = async {
        let (mut stream, mut text, mut usage) = (provider.stream(request), String::new(), Usage::default());
        while let Some(delta) = stream.next().await {
            match delta.map_err(|error| error.to_string())? {
                // `reflex` replaces an unavailable model, and would take the prompt for a command.
                Delta::By { by_word: true, .. } => return Err("no model answered".to_owned()),
                Delta::Text(more) if text.len() <= bytes => text.push_str(&more),
                Delta::Done { usage: cost, .. } => {
                    usage += cost;
                    break;
                }
                _ => {}
            }
        }
        match text.trim() {
            "" => Err("the model said nothing".to_owned()),
            text => Ok((text.to_owned(), usage)),
        }
    };
    tokio::select! {
        biased;
        () = cx.cancel().cancelled() => Err("stopped".into()),
        answer = tokio::time::timeout(patience, answer) => answer.unwrap_or_else(|_| Err("the model took too long".into())),
    }
}
