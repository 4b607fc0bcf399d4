//! The model's reply: cut at stop sequences, checked for the demanded format, and turned into the run's answer.

use super::{ModelAttribution, Progress, Run, Stop};
use crate::{
    conversation::StoredMedia,
    events::{Answer, FinishReason, RunEvent},
};
use llm::{End, Message, ResponseFormat, Routing, StopFilter, ToolCall, ToolChoice, ToolResult, Turn};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// Approximate size of a token in bytes, for providers that count none.
const TOKEN: usize = 4;

/// The current model of a run and its error, for the caller of the run.
#[derive(Debug, Default)]
pub struct RunStatus(Mutex<(String, Option<llm::Error>)>);

impl RunStatus {
    /// The model that is answering, as `provider/model`; empty before the first turn.
    pub fn model(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// The error of the model that ended the run.
    pub fn error(&self) -> Option<llm::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub(super) fn set_model(&self, model: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = model.to_owned();
    }

    pub(super) fn set_error(&self, error: llm::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(error);
    }
}

/// The model's output of one turn.
pub(crate) struct ModelTurn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub media: Vec<StoredMedia>,
    pub kept: Option<llm::ProviderState>,
    pub by: ModelAttribution,
    pub cut: bool,
    /// Whether the provider's content filter stopped it.
    pub filtered: bool,
    /// The model's refusal; only when the client keeps the conversation, else it is part of the text.
    pub refusal: String,
    /// Whether the text is sent only after the whole answer was checked.
    pub held: bool,
}

impl ModelTurn {
    /// An empty turn.
    pub fn by(by: ModelAttribution) -> Self {
        let (text, calls, media, refusal) = (String::new(), vec![], vec![], String::new());
        Self { text, calls, media, kept: None, by, cut: false, filtered: false, refusal, held: false }
    }
}

impl Run {
    /// The answer of a run that has ended, or that hands calls over to its client.
    pub(super) fn answered(&self, said: ModelTurn, progress: &mut Progress, handed_over: Vec<ToolCall>) -> Answer {
        let finish_reason = match () {
            () if !handed_over.is_empty() => FinishReason::ToolCalls,
            () if said.filtered => FinishReason::ContentFilter,
            () if said.cut => FinishReason::Length,
            () => FinishReason::Stop,
        };
        let routing = progress.routing.clone().unwrap_or_else(|| Routing::direct(&said.by.model));
        Answer {
            response: said.text,
            refusal: Some(said.refusal).filter(|text| !text.is_empty()).map(String::into_boxed_str),
            conversation_id: self.conversation,
            run_id: self.run,
            tool_calls: std::mem::take(&mut progress.records),
            usage: progress.usage,
            cost: progress.usage.cost(),
            model: said.by.model,
            cut: said.cut,
            finish_reason,
            routing,
            media: std::mem::take(&mut progress.media),
            waiting: vec![],
            handed_over,
        }
    }

    /// Suspends the run until people have answered; returns the interim answer.
    pub(super) async fn suspend(
        &self,
        said: ModelTurn,
        progress: &mut Progress,
        waits: Vec<String>,
    ) -> Result<Answer, Stop> {
        let conversations = &self.agent.conversations;
        conversations.change_run(self.cx.user(), self.run, move |run| run.suspend(&waits)).await?;
        let open = self.agent.waiting_on(self.cx.user(), self.run);
        let tools: Vec<&str> = open.iter().map(|w| w.about.as_str()).filter(|about| !about.is_empty()).collect();
        let about = match tools.as_slice() {
            [] => String::new(),
            tools => format!("I wait for your decision about {}, and go on when you have made it.", tools.join(", ")),
        };
        let answer = match open.iter().any(|w| w.about.is_empty()) {
            true => "I wait for your answer, and go on when you have given it.".to_owned(),
            false => String::new(),
        };
        let parts = [said.text.trim(), &about, &answer];
        let text = parts.iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>().join("\n\n");
        let mut answer = self.answered(ModelTurn { text, ..said }, progress, vec![]);
        answer.waiting = open.iter().map(|w| w.id).collect();
        answer.finish_reason = FinishReason::ToolCalls;
        Ok(answer)
    }

    /// The filter for stop sequences and length in one turn.
    pub(super) fn stop_filter(&self) -> StopFilter {
        StopFilter::new(&self.client.sampling.stop, self.max_bytes(self.provider.reads_context()))
    }

    /// Maximum size of an answer of a provider that does not count tokens.
    pub(super) fn max_bytes(&self, is_model: bool) -> Option<usize> {
        self.client.sampling.max_tokens.filter(|_| !is_model).map(|n| n as usize * TOKEN)
    }

    /// Whether the text of a turn is sent only after the check: JSON, or text where a call is demanded.
    pub(super) fn holds_back(&self, choice: &ToolChoice) -> bool {
        self.client.format.is_json() || (self.conversation.is_none() && choice.demands_call())
    }

    /// Appends text to a turn, and sends it unless the turn is held back.
    pub(super) fn append(&self, said: &mut ModelTurn, words: String) {
        said.text.push_str(&words);
        if !said.held {
            if let Some(watch) = &self.watch {
                watch.on_chunk(&words);
            }
            self.send(RunEvent::Text { delta: words });
        }
    }

    /// Ends the text of a turn; drops calls after a cut.
    pub(super) fn finish_text(&self, said: &mut ModelTurn, mut filter: StopFilter) {
        let rest = filter.rest();
        if !rest.is_empty() {
            self.append(said, rest);
        }
        match filter.end() {
            Some(End::Stop) => (said.cut, said.calls) = (false, vec![]),
            Some(End::Length) => (said.cut, said.calls) = (true, vec![]),
            None => {}
        }
    }

    /// Checks the format of the answer, demanded calls, and the arguments of the client's strict functions. After a fault adds
    /// correcting messages for another turn, and returns their number. An answer that was cut, filtered or refused is not
    /// checked.
    ///
    /// # Errors
    /// After the second fault.
    pub(super) fn correct(
        &self,
        said: &mut ModelTurn,
        demanded: &ToolChoice,
        messages: &mut Vec<Message>,
        progress: &mut Progress,
    ) -> Result<usize, Stop> {
        let format = &self.client.format;
        let whole = !said.cut && !said.filtered && said.refusal.is_empty();
        let uncalled = self.uncalled(&said.calls, demanded).filter(|_| whole);
        let (is_uncalled, has_calls) = (uncalled.is_some(), !said.calls.is_empty());
        let fault = match (has_calls, format.is_json()) {
            _ if is_uncalled => uncalled,
            (true, _) => self.strict_fault(&said.calls),
            (false, true) if whole => match json_of(&said.text, format) {
                Ok(json) => {
                    said.text = json;
                    None
                }
                Err(fault) => Some(format!("the answer has the wrong format: {fault}")),
            },
            (false, _) => None,
        };
        let Some(fault) = fault else {
            if said.held && !said.text.is_empty() && !(format.is_json() && has_calls) {
                self.send(RunEvent::Text { delta: said.text.clone() });
            }
            return Ok(0);
        };
        if std::mem::replace(&mut progress.corrected, true) {
            let text = format!(
                "the model did not follow the demanded format, even after a correction ({fault}): ask again, simplify the \
                 schema or the choice of tools, or choose another model"
            );
            return Err(Stop("model", text));
        }
        let before = messages.len();
        let (content, tool_calls, kept) = (said.text.clone(), said.calls.clone(), said.kept.clone());
        messages.push(Message::Assistant(Turn { content, tool_calls, kept }));
        if said.calls.is_empty() {
            let instruction = if is_uncalled { "Call it now.".to_owned() } else { format.instruction() };
            messages.push(Message::user(format!("{fault}. {instruction}")));
        }
        messages.extend(said.calls.drain(..).map(|call| {
            let content = format!("nothing was called, for {fault}: call again");
            Message::Tool(ToolResult { call_id: call.id, name: call.name, content, say: None, is_error: true })
        }));
        Ok(messages.len() - before)
    }

    /// The fault when a demanded call is missing.
    fn uncalled(&self, calls: &[ToolCall], demanded: &ToolChoice) -> Option<String> {
        if self.conversation.is_some() {
            return None;
        }
        match demanded {
            ToolChoice::Required if calls.is_empty() => Some("no function was called, and one has to be".to_owned()),
            ToolChoice::Named { name } if !calls.iter().any(|call| call.name == *name) => {
                Some(format!("the function `{name}` was not called, and it has to be"))
            }
            _ => None,
        }
    }

    /// The fault in the arguments of a strict function.
    fn strict_fault(&self, calls: &[ToolCall]) -> Option<String> {
        let strict =
            calls.iter().filter(|call| self.is_client_tool(&call.name) && self.client.strict.contains(&call.name));
        strict.into_iter().find_map(|call| {
            let tool = self.client.tools.iter().find(|tool| tool.name == call.name)?;
            let fault = match serde_json::from_str::<Value>(&call.arguments) {
                Ok(arguments) => match registry::schema_faults(&tool.parameters, &arguments) {
                    Ok(fault) => fault?,
                    Err(error) => error.message().to_owned(),
                },
                Err(error) => error.to_string(),
            };
            Some(format!("the arguments of `{}` do not fit: {fault}", call.name))
        })
    }
}

/// Extracts JSON from the text: the whole text, a code fence, or the first object or list.
///
/// # Errors
/// The fault, as a sentence.
fn json_of(text: &str, format: &ResponseFormat) -> Result<String, String> {
    let text = text.trim();
    let fenced = text.split_once("```").and_then(|(_, rest)| rest.rsplit_once("```")).map(|(inside, _)| {
        let language = inside.find('\n').filter(|end| !inside[..*end].contains(['{', '[', '"']));
        inside[language.unwrap_or(0)..].trim()
    });
    let bracketed = text.find(['{', '[']).and_then(|from| {
        let to = text.rfind(if text[from..].starts_with('{') { '}' } else { ']' })?;
        text.get(from..=to)
    });
    let read = |text: &str| serde_json::from_str::<Value>(text);
    let found = [Some(text), fenced, bracketed].into_iter().flatten().find_map(|t| Some((t, read(t).ok()?)));
    let Some((json, value)) = found else {
        let why = read(text).err().map(|e| e.to_string()).unwrap_or_default();
        return Err(format!("it is not JSON ({why})"));
    };
    let fault = match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => (!value.is_object()).then(|| "it is not a JSON object".to_owned()),
        ResponseFormat::JsonSchema { schema, .. } => {
            registry::schema_faults(schema, &value).map_err(|e| e.message().to_owned())?
        }
    };
    fault.map_or(Ok(json.to_owned()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_found_in_what_models_put_around_it() {
        let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"],
            "additionalProperties": false});
        let fits = ResponseFormat::JsonSchema { name: "n".into(), schema, strict: true };
        for (text, format, expected) in [
            (" {\"a\": 1}\n", &fits, Ok("{\"a\": 1}")),
            ("```json\n{\"a\": 1}\n```", &fits, Ok("{\"a\": 1}")),
            ("```{\"a\": 1}```", &fits, Ok("{\"a\": 1}")),
            ("Here it is:\n{\"a\": 1}\nAnything else?", &fits, Ok("{\"a\": 1}")),
            ("{\"a\": \"```\"}", &ResponseFormat::JsonObject, Ok("{\"a\": \"```\"}")),
            ("{\"a\": \"x\"}", &fits, Err("`a`: expected integer")),
            ("{}", &fits, Err("`a` is missing")),
            ("{\"a\": 1, \"b\": 2}", &fits, Err("`b` is not known")),
            ("[1]", &ResponseFormat::JsonObject, Err("not a JSON object")),
            ("no idea", &ResponseFormat::JsonObject, Err("not JSON")),
            ("", &fits, Err("not JSON")),
            ("{\"a\": ", &fits, Err("not JSON")),
        ] {
            match (json_of(text, format), expected) {
                (Ok(json), Ok(expected)) => assert_eq!(json, expected),
                (Err(why), Err(part)) => assert!(why.contains(part), "{text}: {why}"),
                (got, _) => panic!("{text}: {got:?}"),
            }
        }
    }
}
