//! One run: ask the model, run the tools it wants, and again, until it answers.

use crate::{
    Agent, Busy,
    complete::{Theirs, new_call_id},
    guard::LoopGuard,
    prompt,
    window::{fit, window},
};
use futures::{StreamExt, future::join_all};
use llm::{Delta, Message, Provider, Request, ToolCall, ToolChoice, ToolDefinition, ToolResult, Usage};
use memory::Filter;
use registry::Approval;
use serde::Serialize;
use serde_json::Value;
use std::{sync::Arc, time::Instant};
use tokio::sync::mpsc;
use tool::{
    Bounds, Channel, Consent, Cx, Error, Id, Label, Output,
    prelude::{JsonSchema, schemars},
};

/// How much of one result the model is shown, in bytes.
const RESULT_SHOWN: usize = 16 * 1024;
/// How many memories are put into the prompt, and how alike they must be.
const MEMORIES: usize = 5;
const MEMORY_SCORE: f32 = 0.26;

/// Something that happens in a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Step {
    /// The model thinks aloud.
    Thinking {
        /// More of its thoughts.
        text: String,
    },
    /// The model says more of its answer.
    Text {
        /// The next words.
        delta: String,
    },
    /// A tool begins.
    ToolStart {
        /// The provider's id of the call.
        call_id: String,
        /// The tool.
        name: String,
        /// Its arguments: an object, or the text as the model broke it.
        arguments: Value,
    },
    /// A tool ended.
    ToolEnd {
        /// The provider's id of the call.
        call_id: String,
        /// What it gave.
        #[serde(flatten)]
        record: CallRecord,
    },
    /// A person is asked whether a call may be made.
    Approval {
        /// The question.
        #[serde(flatten)]
        approval: Box<Approval>,
    },
    /// The answer; nothing follows.
    Done(Answer),
    /// There is no answer; nothing follows.
    Error {
        /// A stable word: `cancelled`, `model`, `limit` or the code of a tool error.
        code: &'static str,
        /// What happened and what to do.
        message: String,
    },
}

/// One call that was made.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallRecord {
    /// The tool.
    pub name: String,
    /// Its arguments.
    pub arguments: Value,
    /// What it gave: JSON, or text.
    pub result: Value,
    /// A sentence for the person, where the tool has one.
    pub say: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// The end of a run.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The final text.
    pub response: String,
    /// The conversation, to go on with. `None` only where the caller keeps it, whose answers are never shown in this shape.
    #[schemars(with = "Id")]
    pub conversation_id: Option<Id>,
    /// This run.
    pub run_id: Id,
    /// Every call that was made, in order.
    pub tool_calls: Vec<CallRecord>,
    /// What it cost.
    pub usage: Usage,
    /// The model that answered.
    pub model: String,
    /// Whether the model's length limit cut the final text short.
    pub cut: bool,
    /// The questions this run rests on: it goes on by itself when they are answered. Empty for a run that is over.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<Id>,
    /// Calls of the caller's own tools, which the caller has to make; see [`crate::Complete`].
    #[serde(skip)]
    pub handed_over: Vec<ToolCall>,
}

pub(crate) struct Run {
    pub agent: Agent,
    /// What answers this run to its end, whatever is put in its place meanwhile.
    pub provider: Arc<dyn Provider>,
    pub cx: Cx,
    pub run: Id,
    /// Where its messages are kept; `None` where the caller keeps them.
    pub conversation: Option<Id>,
    pub text: String,
    pub tool_choice: ToolChoice,
    pub theirs: Theirs,
    /// The only tools this request may use.
    pub only: Option<Arc<[Arc<str>]>>,
    pub steps: mpsc::UnboundedSender<Step>,
    pub _busy: Busy,
}

/// Why a run ended without an answer.
struct Stop(&'static str, String);

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Stop(e.code(), e.message().to_owned())
    }
}

/// What the model said in one turn.
#[derive(Default)]
struct Said {
    text: String,
    calls: Vec<ToolCall>,
    cut: bool,
}

impl Run {
    pub async fn go(self, history: Vec<Message>) {
        let began = Instant::now();
        self.publish("run:started", serde_json::json!({}));
        let step = match self.answer(history).await {
            Ok(answer) => Step::Done(answer),
            Err(Stop(code, message)) => Step::Error { code, message },
        };
        let outcome = if let Step::Error { code, .. } = &step { code } else { "ok" };
        tracing::info!(run = %self.run, outcome, ms = began.elapsed().as_millis() as u64, "run ended");
        self.publish("run:ended", serde_json::json!({"outcome": outcome}));
        let steps = self.steps.clone();
        // The conversation is free again before anybody hears that the run is over.
        drop(self);
        let _ = steps.send(step);
    }

    async fn answer(&self, history: Vec<Message>) -> Result<Answer, Stop> {
        // Addresses the person wrote were not made up by a model. What a trigger filled in, nobody wrote.
        let filled = self.cx.via().channel == Channel::Machine && self.cx.label() == Label::Outside;
        for message in history.iter().filter(|_| !filled) {
            if let Message::User(text) = message {
                self.cx.vouch_for(text);
            }
        }
        let steps = self.steps.clone();
        let _watching = self.agent.registry.approvals().map(|approvals| {
            approvals.watch(self.run, move |approval| {
                let _ = steps.send(Step::Approval { approval: Box::new(approval.clone()) });
            })
        });
        let config = &self.agent.config;
        let mut messages = window(history, config.max_messages, config.max_tokens);
        messages.insert(0, Message::System(self.prompt().await));
        let tools = self.tools();
        let (mut guard, mut records, mut usage, mut made) = (LoopGuard::default(), vec![], Usage::default(), 0);
        for turn in 0..config.max_turns {
            // Only the first turn is bound to call something: a model told so every time would never end.
            let tool_choice = if turn == 0 { self.tool_choice.clone() } else { ToolChoice::Auto };
            let tools = if self.tool_choice == ToolChoice::None { vec![] } else { tools.clone() };
            if !fit(&mut messages, config.max_tokens) {
                return Err(limit(TOO_LONG));
            }
            let mut said = self.ask(Request { messages: messages.clone(), tools, tool_choice }, &mut usage).await?;
            self.name_theirs(&mut said.calls);
            self.keep_answer(&said).await?;
            if said.calls.is_empty() {
                if self.conversation.is_none() {
                    self.agent.asides.keep_words(&self.cx, &said.text);
                }
                return Ok(self.answered(said, records, usage, vec![]));
            }
            let most = config.max_tool_calls;
            if records.len() + said.calls.len() > most as usize {
                let text = format!(
                    "the model wanted more than {most} tool calls in one run and was stopped: ask for less at once"
                );
                return Err(limit(text));
            }
            let (theirs, ours): (Vec<_>, Vec<_>) = said.calls.iter().cloned().partition(|c| self.is_theirs(&c.name));
            ours.iter().for_each(|call| self.tell_start(call));
            let results = join_all(ours.iter().map(|call| self.call_and_keep(call))).await;
            messages.push(Message::Assistant { content: said.text.clone(), tool_calls: said.calls.clone() });
            made += 1 + results.len();
            let (mut circling, mut rests) = (None, false);
            for (done, call) in results.into_iter().zip(&ours) {
                let Some((record, result)) = done? else {
                    rests = true;
                    continue;
                };
                if guard.repeats(&call.name, &call.arguments, &result.content) {
                    circling = Some(call.name.clone());
                }
                messages.push(Message::Tool(result));
                records.push(record);
            }
            if self.cx.cancel().is_cancelled() {
                return Err(cancelled());
            }
            if rests {
                return Ok(self.resting(said, records, usage));
            }
            if !theirs.is_empty() {
                // Room is made from the oldest messages, so what this run has made is at the end.
                self.agent.asides.keep(&self.cx, &theirs, messages.split_off(messages.len() - made));
                return Ok(self.answered(said, records, usage, theirs));
            }
            if let Some(name) = circling {
                return Err(limit(format!(
                    "the model called `{name}` three times with the same arguments and the same result and was stopped: \
                     say it differently, or choose another model"
                )));
            }
        }
        let turns = config.max_turns;
        Err(limit(format!(
            "the model did not come to an answer within {turns} turns and was stopped: ask for less at once"
        )))
    }

    fn answered(&self, said: Said, tool_calls: Vec<CallRecord>, usage: Usage, handed_over: Vec<ToolCall>) -> Answer {
        Answer {
            response: said.text,
            conversation_id: self.conversation,
            run_id: self.run,
            tool_calls,
            usage,
            model: self.provider.model(),
            cut: said.cut,
            waiting: vec![],
            handed_over,
        }
    }

    /// The end of a run that goes on when somebody has answered.
    fn resting(&self, said: Said, tool_calls: Vec<CallRecord>, usage: Usage) -> Answer {
        let open = self.agent.registry.approvals().and_then(|approvals| {
            approvals.list(Some(self.cx.user()), |s| s == registry::State::Pending, None, usize::MAX).ok()
        });
        let own: Vec<Approval> = open.unwrap_or_default().into_iter().filter(|a| a.run_id == Some(self.run)).collect();
        let names: Vec<String> = own.iter().map(|a| format!("`{}`", a.tool)).collect();
        let waits = format!("I wait for your decision about {}, and go on when you have made it.", names.join(", "));
        let text =
            [said.text.trim(), &waits].iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>().join("\n\n");
        let mut answer = self.answered(Said { text, ..said }, tool_calls, usage, vec![]);
        answer.waiting = own.iter().map(|a| a.id).collect();
        answer
    }

    /// Whether a call is for the caller to make. Nobody makes calls where none are allowed.
    fn is_theirs(&self, name: &str) -> bool {
        self.tool_choice != ToolChoice::None && self.theirs.has(name)
    }

    /// The calls of the caller's tools under ids of ours, by which they are known when their results come: not every server
    /// gives ids that differ from request to request.
    fn name_theirs(&self, calls: &mut Vec<ToolCall>) {
        let mut count = 0;
        calls.retain_mut(|call| {
            if !self.is_theirs(&call.name) {
                return true;
            }
            call.id = new_call_id();
            count += 1;
            // A caller that makes one at a time is given the first.
            count == 1 || !self.theirs.one_at_a_time
        });
    }

    /// Asks the model once and passes on what it says.
    async fn ask(&self, request: Request, usage: &mut Usage) -> Result<Said, Stop> {
        let mut stream = self.provider.stream(request);
        let mut said = Said::default();
        loop {
            let delta = tokio::select! {
                biased;
                () = self.cx.cancel().cancelled() => {
                    said.calls.clear();
                    self.keep_answer(&said).await?;
                    return Err(cancelled());
                }
                delta = stream.next() => delta,
            };
            match delta {
                None => break,
                Some(Ok(Delta::Text(delta))) => {
                    said.text.push_str(&delta);
                    self.tell(Step::Text { delta });
                }
                Some(Ok(Delta::Thinking(text))) => self.tell(Step::Thinking { text }),
                Some(Ok(Delta::ToolCall(mut call))) => {
                    // A name that is none is told in errors, and kept.
                    call.name = self.agent.registry.scrubber().text(&call.name, scrub::How::Digests).into_owned();
                    said.calls.push(call);
                }
                Some(Ok(Delta::Done { cut, usage: cost })) => {
                    *usage += cost;
                    said.cut = cut;
                    if cut {
                        tracing::warn!("the model's answer was cut short by a length limit");
                    }
                }
                Some(Err(error)) => {
                    // What was already said was heard: it stays in the conversation.
                    said.calls.clear();
                    self.keep_answer(&said).await?;
                    return Err(Stop("model", error.to_string()));
                }
            }
        }
        if said.text.trim().is_empty() && said.calls.is_empty() {
            return Err(Stop("model", "the model said nothing at all: ask again, or choose another model".into()));
        }
        Ok(said)
    }

    /// Makes one call and stores what it gave at once: a call that was made is not forgotten because another still runs.
    ///
    /// `None` when the call waits for a person for longer than the run does.
    async fn call_and_keep(&self, call: &ToolCall) -> Result<Option<(CallRecord, ToolResult)>, Stop> {
        let Some((record, result)) = self.call(call, None).await else { return Ok(None) };
        if self.conversation.is_some() {
            self.agent.conversations.add_result(&self.cx, self.run, &result, record.duration_ms).await?;
        }
        Ok(Some((record, result)))
    }

    /// Makes one call; whatever goes wrong becomes a result the model can act on.
    pub async fn call(&self, call: &ToolCall, consent: Option<Consent>) -> Option<(CallRecord, ToolResult)> {
        let cx = self.cx.bounded(self.bounds(Some(call.id.as_str().into()), consent));
        let parsed = parse_arguments(call);
        let arguments = self.shown_arguments(call);
        let began = Instant::now();
        let outcome = match parsed {
            // Models copy calls from what was said before, also when told not to make any.
            _ if self.tool_choice == ToolChoice::None => {
                Err(Error::denied("no tools may be called for this message: answer in words"))
            }
            Ok(args) => cx.call(&call.name, args).await,
            Err(error) => Err(error),
        };
        if let Err(Error::Parked(_)) = outcome {
            return None;
        }
        let duration_ms = began.elapsed().as_millis() as u64;
        let (output, is_error) = match outcome {
            Ok(output) => (output, false),
            Err(error) => (Output::text(error.message()), true),
        };
        let content = shown(output.model_text());
        let (name, say) = (call.name.clone(), output.say);
        let record = CallRecord { name, arguments, result: output.content, say, is_error, duration_ms };
        self.tell(Step::ToolEnd { call_id: call.id.clone(), record: record.clone() });
        let result = ToolResult {
            call_id: call.id.clone(),
            name: call.name.clone(),
            content: if is_error { format!("Error: {content}") } else { content },
            say: record.say.clone(),
            is_error,
        };
        Some((record, result))
    }

    fn bounds(&self, model_call: Option<Arc<str>>, consent: Option<Consent>) -> Bounds {
        let model = self.provider.model();
        Bounds {
            provider: model.split('/').next().unwrap_or_default().into(),
            // What a schedule says, nobody says at this moment: a model may have written it.
            by_word: self.provider.acts_by_word() && self.cx.via().channel != Channel::Machine,
            subagent: None,
            only: self.only.clone(),
            model_call,
            consent,
        }
    }

    /// Stores what was said in this turn, if anything was.
    async fn keep_answer(&self, said: &Said) -> Result<(), Stop> {
        if self.conversation.is_none() || (said.text.is_empty() && said.calls.is_empty()) {
            return Ok(());
        }
        let model = self.provider.model();
        Ok(self.agent.conversations.add_answer(&self.cx, self.run, &said.text, &said.calls, &model).await?)
    }

    async fn prompt(&self) -> String {
        let memories = if self.provider.reads_context() { self.memories().await } else { vec![] };
        let (base, theirs) = (&self.agent.config.prompt, &self.theirs.instructions);
        prompt::compose(&self.cx, &prompt::Context { base, memories, theirs })
    }

    /// What is remembered that has to do with this message.
    async fn memories(&self) -> Vec<String> {
        // What came from outside is told when it is asked for; unasked it would taint every run it resembles.
        let filter = Filter { limit: MEMORIES, least: MEMORY_SCORE, own: true, ..Filter::default() };
        match self.agent.memories.recall(&self.cx, &self.text, filter).await {
            Ok(found) => found.hits.into_iter().map(|h| h.memory.content).collect(),
            Err(error) => {
                tracing::warn!(%error, "memory could not be searched for the prompt");
                vec![]
            }
        }
    }

    /// The everyday tools as the model sees them, and the caller's. A caller's tool takes the place of ours of that name, and
    /// where the caller wants one of its own called, ours are not there to be called instead.
    fn tools(&self) -> Vec<ToolDefinition> {
        let theirs = self.theirs.tools.iter().cloned();
        let asked_for = match &self.tool_choice {
            ToolChoice::Required if !self.theirs.tools.is_empty() => return theirs.collect(),
            ToolChoice::Named { name } if self.theirs.has(name) => return theirs.collect(),
            ToolChoice::Named { name } if !registry::EVERYDAY.contains(&name.as_str()) => Some(name.as_str()),
            _ => None,
        };
        let shown = registry::EVERYDAY.iter().copied().chain(asked_for);
        let cx = self.cx.bounded(self.bounds(None, None));
        shown
            .filter(|name| !self.theirs.has(name))
            .filter_map(|name| self.agent.registry.get(name))
            .filter(|t| self.agent.registry.may_ever(&cx, t))
            .inspect(|t| self.cx.taint(t.label))
            .map(|t| ToolDefinition {
                name: t.name.to_string(),
                description: t.description.to_string(),
                parameters: t.parameters.clone(),
            })
            .chain(theirs)
            .collect()
    }

    /// The arguments for people: parsed, or the text as the model broke it; without secrets.
    fn shown_arguments(&self, call: &ToolCall) -> Value {
        let arguments = parse_arguments(call).unwrap_or_else(|_| Value::String(call.arguments.clone()));
        self.agent.registry.masked(&call.name, &arguments).0
    }

    fn tell_start(&self, call: &ToolCall) {
        let arguments = self.shown_arguments(call);
        self.tell(Step::ToolStart { call_id: call.id.clone(), name: call.name.clone(), arguments });
    }

    fn tell(&self, step: Step) {
        // Nobody may be listening any more; the run goes on.
        let _ = self.steps.send(step);
    }

    pub fn publish(&self, topic: &str, mut data: Value) {
        data["runId"] = self.run.to_string().into();
        data["conversationId"] = self.conversation.map(|id| id.to_string()).into();
        self.cx.ports().bus.publish(topic, Some(self.cx.user()), data);
    }
}

const TOO_LONG: &str =
    "the run has grown too long for the model to read: ask for less at once, or begin a new conversation";

fn limit(text: impl Into<String>) -> Stop {
    Stop("limit", text.into())
}

fn cancelled() -> Stop {
    Stop("cancelled", "stopped, as you asked".into())
}

/// The arguments as JSON; broken JSON becomes an error that shows the model where.
fn parse_arguments(call: &ToolCall) -> Result<Value, Error> {
    serde_json::from_str(&call.arguments).map_err(|e| {
        Error::bad_args(format!(
            "the arguments of `{}` are not valid JSON ({e}): write them again as one JSON object",
            call.name
        ))
    })
}

fn shown(mut text: String) -> String {
    if text.len() > RESULT_SHOWN {
        let whole = text.len();
        text.truncate(text.floor_char_boundary(RESULT_SHOWN));
        text.push_str(&format!("\n[cut: {whole} bytes in all; ask for less]"));
    }
    text
}
