//! The final answer as its caller asked for it: cut at stop sequences, and in the format it has to have.

use crate::{
    messages::StoredMedia,
    run::{ModelAttribution, Progress, Run, Stop},
    step::{Answer, FinishReason},
};
use llm::{End, Message, ResponseFormat, Routing, StopFilter, ToolCall, ToolChoice, ToolResult, Turn};
use serde_json::Value;
use std::sync::{Mutex, PoisonError};

/// About how long a token is, in bytes, for a provider that counts none.
const TOKEN: usize = 4;

/// What whoever waits for a run may want to know of it beside its steps.
#[derive(Debug, Default)]
pub struct RunStatus(Mutex<(String, Option<llm::Error>)>);

impl RunStatus {
    /// The model that answers at this moment, as `provider/model`; empty before it has begun.
    pub fn model(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Why the model did not answer, where that ended the run.
    pub fn error(&self) -> Option<llm::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    pub(crate) fn answers(&self, model: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = model.to_owned();
    }

    pub(crate) fn failed(&self, error: llm::Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1 = Some(error);
    }
}

/// What the model said in one turn.
pub(crate) struct ModelTurn {
    pub text: String,
    pub calls: Vec<ToolCall>,
    pub media: Vec<StoredMedia>,
    pub kept: Option<llm::ProviderState>,
    pub by: ModelAttribution,
    pub cut: bool,
    /// Whether the provider's content filter stopped it.
    pub filtered: bool,
    /// The refusal of the model to answer, where the caller keeps the conversation.
    pub refusal: String,
    /// Whether its text is held back until the whole answer is known to be right.
    pub held: bool,
}

impl ModelTurn {
    /// A turn in which nothing has been said yet.
    pub fn by(by: ModelAttribution) -> Self {
        let (text, calls, media, refusal) = (String::new(), vec![], vec![], String::new());
        Self { text, calls, media, kept: None, by, cut: false, filtered: false, refusal, held: false }
    }
}

impl Run {
    /// The answer of a run that is over, or hands calls over to its caller.
    pub(crate) fn answered(&self, said: ModelTurn, progress: &mut Progress, handed_over: Vec<ToolCall>) -> Answer {
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

    /// The end of a run that goes on when somebody has answered.
    pub(crate) async fn rests(
        &self,
        said: ModelTurn,
        progress: &mut Progress,
        waits: Vec<String>,
    ) -> Result<Answer, Stop> {
        let conversations = &self.agent.conversations;
        conversations.change_run(self.cx.user(), self.run, move |run| run.suspend(&waits)).await?;
        let open = self.agent.parts.questions.of_run(self.cx.user(), self.run);
        let named: Vec<&str> = open.iter().map(|q| q.label.as_str()).filter(|label| !label.is_empty()).collect();
        let about = match named.as_slice() {
            [] => String::new(),
            named => format!("I wait for your decision about {}, and go on when you have made it.", named.join(", ")),
        };
        let answer = match open.iter().any(|q| q.label.is_empty()) {
            true => "I wait for your answer, and go on when you have given it.".to_owned(),
            false => String::new(),
        };
        let parts = [said.text.trim(), &about, &answer];
        let text = parts.iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>().join("\n\n");
        let mut answer = self.answered(ModelTurn { text, ..said }, progress, vec![]);
        answer.waiting = open.iter().map(|q| q.id).collect();
        answer.finish_reason = FinishReason::ToolCalls;
        Ok(answer)
    }

    /// What cuts the words of one turn.
    pub(crate) fn stop_filter(&self) -> StopFilter {
        StopFilter::new(&self.theirs.sampling.stop, self.most_bytes(self.provider.reads_context()))
    }

    /// How many bytes an answer may have. Models count their tokens themselves.
    pub(crate) fn most_bytes(&self, is_model: bool) -> Option<usize> {
        self.theirs.sampling.max_tokens.filter(|_| !is_model).map(|n| n as usize * TOKEN)
    }

    /// Whether the text of a turn is held back until the turn is known to be right: JSON, or text where a call is demanded.
    pub(crate) fn holds_back(&self, choice: &ToolChoice) -> bool {
        self.theirs.format.is_json() || (self.conversation.is_none() && choice.demands_call())
    }

    /// Takes more words of a turn, and passes on what of them can be heard yet. JSON is heard when it is known to be right.
    pub(crate) fn hear(&self, said: &mut ModelTurn, words: String) {
        said.text.push_str(&words);
        if !said.held {
            if let Some(watch) = &self.watch {
                watch.on_chunk(&words);
            }
            self.tell(crate::RunEvent::Text { delta: words });
        }
    }

    /// The end of the words of a turn. Where they were cut, calls after the cut are none.
    pub(crate) fn heard(&self, said: &mut ModelTurn, mut filter: StopFilter) {
        let rest = filter.rest();
        if !rest.is_empty() {
            self.hear(said, rest);
        }
        match filter.end() {
            Some(End::Stop) => (said.cut, said.calls) = (false, vec![]),
            Some(End::Length) => (said.cut, said.calls) = (true, vec![]),
            None => {}
        }
    }

    /// Puts the answer into the format it has to have, and checks that a demanded call was made and that calls of strict
    /// functions of the caller fit. Where something
    /// does not fit, adds what the model is told of it, and returns how many messages that is: the model is to be asked once
    /// more. An answer that was cut short, filtered or refused stays as it is, and says so.
    ///
    /// # Errors
    /// Where it does not fit the second time either.
    pub(crate) fn corrects(
        &self,
        said: &mut ModelTurn,
        demanded: &ToolChoice,
        messages: &mut Vec<Message>,
        progress: &mut Progress,
    ) -> Result<usize, Stop> {
        let format = &self.theirs.format;
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
                self.tell(crate::RunEvent::Text { delta: said.text.clone() });
            }
            return Ok(0);
        };
        if std::mem::replace(&mut progress.corrected, true) {
            let text = format!(
                "the model did not answer as it was asked to, also not when it was told what was wrong ({fault}): ask again, \
                 simplify the schema or the choice of tools, or choose another model"
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

    /// What is wrong where the caller demands a call, and none was made.
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

    /// What is wrong with the arguments of a call whose function the caller wants called just as its schema says.
    fn strict_fault(&self, calls: &[ToolCall]) -> Option<String> {
        let strict = calls.iter().filter(|call| self.is_theirs(&call.name) && self.theirs.strict.contains(&call.name));
        strict.into_iter().find_map(|call| {
            let tool = self.theirs.tools.iter().find(|tool| tool.name == call.name)?;
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

/// The JSON in the words of a model: all of them, what stands in a code fence, or the first object or list.
///
/// # Errors
/// A sentence that says what is wrong with it.
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
