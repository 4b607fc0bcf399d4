//! One run: ask the model, run the tools it wants, and again, until it answers.

use crate::{
    Agent,
    calls::CallOutcome,
    compact,
    complete::{ClientTools, new_call_id},
    config::{Limits, Preset},
    conversation::{Change, Spoken},
    guard::{Circle, LoopGuard},
    journal::{CallJournal, State, StoredRun},
    media,
    messages::StoredMedia,
    reply::ModelTurn,
    run_queue::RunSlot,
    summary::{CallSummary, done_so_far},
    watch::Watch,
    window::{cost, fit},
};
use futures::StreamExt;
use llm::{Delta, Message, Provider, Request, Routing, ToolCall, ToolChoice, ToolDefinition, Turn, Usage};
use serde_json::{Value, json};
use std::{collections::HashSet, sync::Arc, time::Instant};
use tokio::sync::mpsc;
use tool::{Channel, Cx, Error, Id};

pub(crate) use crate::step::{Answer, CallRecord, RunEvent};

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
    pub theirs: ClientTools,
    /// The only tools this request may use.
    pub only: Option<Arc<[Arc<str>]>>,
    pub preset: Preset,
    pub steps: mpsc::UnboundedSender<RunEvent>,
    pub watch: Option<Arc<dyn Watch>>,
    /// Where it is noted which calls begin; `None` where nothing of the run is kept.
    pub note: Option<Arc<CallJournal>>,
    pub busy: RunSlot,
}

/// How far a run has come.
#[derive(Default)]
pub(crate) struct Progress {
    /// Whether it was begun before, and goes on.
    pub resumed: bool,
    pub turns: u32,
    /// How many calls the model wanted.
    pub calls: u32,
    pub usage: Usage,
    pub guard: LoopGuard,
    pub records: Vec<CallRecord>,
    /// Every call so far and its outcome, also from before the run was resumed.
    pub done: Vec<CallSummary>,
    /// The ids of the calls the model wanted: some servers give the same ones in every turn.
    pub ids: HashSet<String>,
    pub media: Vec<StoredMedia>,
    /// What was said in all its turns, as a caller that reads along has it.
    pub spoken: String,
    /// Which models were tried so far; `None` before the first turn, and of a provider that has nothing to choose.
    pub routing: Option<Routing>,
    /// Whether the model was told already that its answer has the wrong format.
    pub corrected: bool,
}

impl Progress {
    /// Adds how a turn was routed.
    fn routed(&mut self, turn: Routing) {
        self.routing = Some(self.routing.take().unwrap_or_default().then(turn));
    }
}

/// Who wants a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelAttribution {
    /// The model, as `provider/model`.
    pub model: String,
    /// Whether it calls only what the person said word by word.
    pub by_word: bool,
}

/// Why a run ended without an answer.
pub(crate) struct Stop(pub &'static str, pub String);

impl From<Error> for Stop {
    fn from(e: Error) -> Self {
        Stop(e.code(), e.message().to_owned())
    }
}

impl Run {
    pub async fn go(self, history: Vec<Message>, mut progress: Progress) {
        let began = Instant::now();
        if !progress.resumed {
            self.publish("run:started", json!({}));
        }
        let end = self.answer(history, &mut progress).await.map_err(|stop| match stop {
            Stop(code @ "limit", text) => Stop(code, format!("{text}\n\n{}", done_so_far(&progress.done))),
            Stop(code @ "model", text) if !progress.done.is_empty() => {
                Stop(code, format!("{text}\n\n{}", done_so_far(&progress.done)))
            }
            stop => stop,
        });
        if let (Ok(answer), None) = (&end, self.conversation) {
            self.agent
                .own_answers
                .add(&self.cx, &[answer.refusal.as_deref().unwrap_or(&answer.response), &progress.spoken])
                .await;
        }
        if end.is_err() {
            self.keep_cost(&progress).await;
        }
        self.end(end, began).await;
    }

    /// Ends the run: keeps how, and tells everybody.
    pub async fn end(self, end: Result<Answer, Stop>, began: Instant) {
        let end = end.map_err(|stop| match stop.0 {
            "cancelled" if self.interrupted_by_shutdown() => match self.agent.own_answers.is_restoring() {
                true => Stop("closing", store::Error::Restoring.to_string()),
                false => closing(self.conversation.is_some()),
            },
            _ => stop,
        });
        if let Err(error) = self.keep_end(&end).await {
            tracing::warn!(run = %self.run, %error, "how a run ended was not kept");
        }
        let step = match end {
            Ok(answer) => RunEvent::Done(answer),
            Err(Stop(code, message)) => RunEvent::Error { code, message },
        };
        let outcome = if let RunEvent::Error { code, .. } = &step { code } else { "ok" };
        tracing::info!(run = %self.run, outcome, ms = began.elapsed().as_millis() as u64, "run ended");
        let suspended = matches!(&step, RunEvent::Done(answer) if !answer.waiting.is_empty());
        self.agent.counts.ended(if suspended { "suspended" } else { outcome });
        self.publish("run:ended", json!({"outcome": outcome}));
        if self.steps.is_closed() && self.cx.channel() == Channel::Machine {
            self.tell_person(&step).await;
        }
        let (steps, watch) = (self.steps.clone(), self.watch.clone());
        // The conversation is free again before anybody hears that the run is over.
        drop(self);
        if let Some(watch) = watch {
            watch.on_step(&step);
        }
        let _ = steps.send(step);
    }

    /// Keeps what a turn cost that gave nothing to keep.
    async fn keep_cost(&self, progress: &Progress) {
        let Some(_) = self.conversation else { return };
        let (usage, turns) = (progress.usage, if self.interrupted_by_shutdown() { 0 } else { progress.turns });
        let routing = progress.routing.clone();
        let cost = move |run: &mut StoredRun| {
            run.costs(turns, &usage);
            run.set_routing(routing.as_ref());
        };
        if let Err(error) = self.agent.conversations.change_run(self.cx.user(), self.run, cost).await {
            tracing::warn!(run = %self.run, %error, "what a run cost was not kept");
        }
    }

    async fn keep_end(&self, end: &Result<Answer, Stop>) -> Result<(), Error> {
        let Some(conversation) = self.conversation else { return Ok(()) };
        let conversations = &self.agent.conversations;
        let user = self.cx.user();
        match end {
            // Its state was kept with its last message.
            Ok(_) => {}
            Err(Stop("closing", _)) => {
                conversations.change_run(user, self.run, |run| run.laid_down = true).await?;
                return Ok(());
            }
            Err(Stop(code, error)) => {
                let (code, error) = (*code, error.clone());
                let state = if code == "cancelled" { State::Cancelled } else { State::Failed };
                conversations.change_run(user, self.run, move |run| run.ends(state, code, &error)).await?;
                // What it rested on asks nobody any more: nothing would come of the answer.
                self.agent.end_questions_of(user, self.run);
            }
        }
        let rests = matches!(end, Ok(answer) if !answer.waiting.is_empty());
        if rests { Ok(()) } else { self.agent.finish(user, self.run, conversation).await }
    }

    /// Whether it ends because the house closes, and goes on after the next start.
    pub fn interrupted_by_shutdown(&self) -> bool {
        let cut = self.cx.cancel().is_cancelled() && self.agent.places.closing.is_cancelled();
        cut && !self.busy.stopped()
    }

    pub fn limits(&self) -> Limits {
        self.preset.limits(&self.agent.config)
    }

    async fn answer(&self, history: Vec<Message>, progress: &mut Progress) -> Result<Answer, Stop> {
        let _watching = self.hear_questions();
        let limits = self.limits();
        let mut messages = compact::ready(self, history, progress.resumed, &mut progress.usage).await;
        let tools = self.tools();
        let (mut made, mut corrected, mut last) = (0, false, String::new());
        while progress.turns < limits.turns {
            // It is bound to call something only until it has: a model told so every time would never end.
            let bound = progress.ids.is_empty() || std::mem::take(&mut corrected);
            let tool_choice = if bound { self.tool_choice.clone() } else { ToolChoice::Auto };
            let demanded = tool_choice.clone();
            progress.turns += 1;
            self.tell_turn(progress.turns);
            let tools = if self.tool_choice == ToolChoice::None { vec![] } else { tools.clone() };
            let room = compact::budget(self);
            if !fit(&mut messages, room) {
                let told = messages.first().map_or(0, |prompt| cost(std::slice::from_ref(prompt)));
                let said = messages.len() > 2;
                let text = match said {
                    _ if told > room / 2 => TOLD_TOO_MUCH,
                    true => TOO_LONG,
                    false => MESSAGE_TOO_LONG,
                };
                self.theirs.status.failed(llm::Error::TooLong(text.to_owned()));
                return Err(limit(text));
            }
            let mut said = self.ask(self.request(&messages, tools, tool_choice).await, progress).await?;
            self.name_theirs(&mut said.calls);
            name_apart(&mut said.calls, &mut progress.ids);
            progress.calls += said.calls.len() as u32;
            let corrections = self.corrects(&mut said, &demanded, &mut messages, progress)?;
            if corrections > 0 {
                (made, corrected) = (made + corrections, true);
                continue;
            }
            self.keep_answer(&said, progress).await?;
            if said.calls.is_empty() {
                return Ok(self.answered(said, progress, vec![]));
            }
            if progress.calls > limits.calls {
                let most = limits.calls;
                let text = format!(
                    "the model wanted more than {most} tool calls in one run and was stopped: ask for less at once"
                );
                return Err(limit(text));
            }
            let (theirs, ours): (Vec<_>, Vec<_>) = said.calls.iter().cloned().partition(|c| self.is_theirs(&c.name));
            let results = self.make_all(&ours, &said.by).await;
            messages.push(Message::Assistant(Turn {
                content: said.text.clone(),
                tool_calls: said.calls.clone(),
                kept: said.kept.clone(),
            }));
            made += 1 + results.len();
            let (mut circling, mut waits) = (None, vec![]);
            for (done, call) in results.into_iter().zip(&ours) {
                let (record, mut result) = match done? {
                    CallOutcome::Gave(gave) => *gave,
                    CallOutcome::Parked => {
                        waits.push(call.id.clone());
                        continue;
                    }
                };
                let changed = !result.is_error && self.agent.parts.registry.may_change(&call.name, &record.arguments);
                match progress.guard.note(&call.name, &call.arguments, &result.content, changed) {
                    Some(Circle::Warn(text)) => result.content.push_str(&format!("\n\n[Hob: {text}]")),
                    Some(Circle::End(text)) => circling = Some(text),
                    None => {}
                }
                progress.done.push(CallSummary::of(&record));
                messages.push(Message::Tool(result));
                progress.records.push(record);
            }
            if self.cx.cancel().is_cancelled() && (waits.is_empty() || !self.interrupted_by_shutdown()) {
                return Err(cancelled());
            }
            if !waits.is_empty() {
                return self.rests(said, progress, waits).await;
            }
            if !theirs.is_empty() {
                // Room is made from the oldest messages, so what this run has made is at the end.
                self.agent.asides.keep(&self.cx, &theirs, messages.split_off(messages.len() - made));
                return Ok(self.answered(said, progress, theirs));
            }
            if let Some(text) = circling {
                return Err(limit(text));
            }
            progress.guard.next_turn();
            if !said.text.trim().is_empty() {
                last.clone_from(&said.text);
            }
        }
        if limits.completes {
            return self.completed(last, progress).await;
        }
        let turns = limits.turns;
        Err(limit(format!(
            "the model did not come to an answer within {turns} turns and was stopped: ask for less at once"
        )))
    }

    /// The end of a run that has used up its turns and ends with what was said last.
    async fn completed(&self, last: String, progress: &mut Progress) -> Result<Answer, Stop> {
        let by = self.by();
        let said_before = !last.is_empty();
        let text = match said_before {
            true => last,
            false => format!("[Max iterations reached]\n\n{}", done_so_far(&progress.done)),
        };
        let said = ModelTurn { text, cut: true, ..ModelTurn::by(by) };
        if !said_before {
            self.keep_answer(&said, progress).await?;
        } else if self.conversation.is_some() {
            // The words are stored already, where they were said.
            let ends = |run: &mut StoredRun| run.ends(State::Done, "", "");
            self.agent.conversations.change_run(self.cx.user(), self.run, ends).await?;
        }
        Ok(self.answered(said, progress, vec![]))
    }

    async fn request(&self, messages: &[Message], tools: Vec<ToolDefinition>, tool_choice: ToolChoice) -> Request {
        let mut messages = messages.to_vec();
        if self.provider.reads_context() {
            media::load(&self.agent.parts.uploads, &self.cx, &mut messages).await;
        }
        let config = &self.agent.config;
        let max_tokens = Some(config.answer_tokens).filter(|most| *most > 0);
        let temperature = config.temperature.value();
        let (sampling, format) = (self.theirs.sampling.clone(), self.theirs.format.clone());
        Request { messages, tools, tool_choice, max_tokens, temperature, sampling, format, user: Some(self.cx.user()) }
    }

    /// Whether a call is for the caller to make. Nobody makes calls where none are allowed.
    pub(crate) fn is_theirs(&self, name: &str) -> bool {
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

    /// Who answers, unless the provider says that another does.
    pub fn by(&self) -> ModelAttribution {
        ModelAttribution { model: self.provider.model(), by_word: self.provider.acts_by_word() }
    }

    /// Asks the model once and passes on what it says.
    async fn ask(&self, request: Request, progress: &mut Progress) -> Result<ModelTurn, Stop> {
        let held = self.holds_back(&request.tool_choice);
        let mut stream = self.provider.stream(request);
        let mut filter = self.stop_filter();
        self.theirs.status.answers(&self.provider.model());
        let mut said = ModelTurn { held, ..ModelTurn::by(self.by()) };
        let mut notice = None;
        loop {
            let delta = tokio::select! {
                biased;
                () = self.cx.cancel().cancelled() => {
                    if !self.interrupted_by_shutdown() {
                        self.keep_half(said, progress, &cancelled()).await?;
                    }
                    return Err(cancelled());
                }
                delta = stream.next() => delta,
            };
            match delta {
                None => break,
                Some(Ok(Delta::Text(delta))) => {
                    let words = filter.take(&delta);
                    // Nothing is heard of what the filter holds back.
                    if !words.is_empty() || delta.is_empty() {
                        self.hear(&mut said, words);
                    }
                }
                Some(Ok(Delta::Refusal(text))) if self.conversation.is_none() => said.refusal.push_str(&text),
                Some(Ok(Delta::Refusal(text))) => self.hear(&mut said, text),
                Some(Ok(Delta::Thinking(text))) => self.tell(RunEvent::Thinking { text }),
                Some(Ok(Delta::ToolCall(mut call))) => {
                    // A name that is none is told in errors, and kept.
                    call.name = self.agent.parts.registry.scrubber().text(&call.name, scrub::How::Digests).into_owned();
                    said.calls.push(call);
                }
                Some(Ok(Delta::Keep(kept))) => said.kept = Some(kept),
                Some(Ok(Delta::By { model, by_word })) => {
                    self.theirs.status.answers(&model);
                    filter.limit(self.most_bytes(!by_word));
                    said.by = ModelAttribution { model, by_word };
                }
                Some(Ok(Delta::Routing(routing))) => progress.routed(self.without_secrets(*routing)),
                Some(Ok(Delta::Filtered(why))) => (said.filtered, notice) = (true, Some(why)),
                Some(Ok(Delta::Media(media))) => {
                    let media = media::keep_made(&self.agent.parts.uploads, &self.cx, media).await?;
                    self.tell(RunEvent::Media { media: media.clone() });
                    said.media.push(media.clone());
                    progress.media.push(media);
                }
                Some(Ok(Delta::Done { cut, usage: cost })) => {
                    progress.usage += cost;
                    said.cut = cut;
                    if cut {
                        tracing::warn!("the model's answer was cut short by a length limit");
                    }
                }
                Some(Err(error)) => {
                    let code = if matches!(error, llm::Error::Filtered(_)) { "content_filter" } else { "model" };
                    let stop = Stop(code, error.to_string());
                    self.theirs.status.failed(error);
                    self.keep_half(said, progress, &stop).await?;
                    return Err(stop);
                }
            }
        }
        let ended = filter.end().is_some();
        self.heard(&mut said, filter);
        // A program that keeps the conversation is told by the finish reason.
        if let Some(notice) = notice.filter(|_| self.conversation.is_some()) {
            self.hear(&mut said, format!("\n\n{notice}"));
        }
        progress.spoken.push_str(&said.text);
        progress.spoken.push_str(&said.refusal);
        if said.text.trim().is_empty()
            && said.refusal.is_empty()
            && said.calls.is_empty()
            && said.media.is_empty()
            && !ended
            && !said.filtered
        {
            return Err(Stop("model", if said.cut { ONLY_THOUGHT } else { SAID_NOTHING }.into()));
        }
        Ok(said)
    }

    /// A routing whose errors repeat no secret.
    fn without_secrets(&self, mut routing: Routing) -> Routing {
        let scrubber = self.agent.parts.registry.scrubber();
        for error in routing.attempts.iter_mut().filter_map(|attempt| attempt.error.as_mut()) {
            *error = scrubber.text(error, scrub::How::Digests).into_owned();
        }
        routing
    }

    /// Stores what was said in this turn, and how far the run has come: a turn without calls is its end.
    async fn keep_answer(&self, said: &ModelTurn, progress: &Progress) -> Result<(), Stop> {
        if let Some(note) = &self.note {
            note.turn();
        }
        let ends = said.calls.is_empty();
        let (mut turned, by) = (turned(progress), said.by.clone());
        self.keep(said, move |run| {
            turned(run, &by);
            if ends {
                run.ends(State::Done, "", "");
            }
        })
        .await
    }

    /// Stores what was said before it broke off: it was heard, so it stays in the conversation.
    async fn keep_half(&self, mut said: ModelTurn, progress: &Progress, stop: &Stop) -> Result<(), Stop> {
        said.calls.clear();
        if said.text.is_empty() && said.media.is_empty() {
            return Ok(());
        }
        let (mut turned, by, code, error) = (turned(progress), said.by.clone(), stop.0, stop.1.clone());
        let state = if code == "cancelled" { State::Cancelled } else { State::Failed };
        self.keep(&said, move |run| {
            turned(run, &by);
            run.ends(state, code, &error);
        })
        .await
    }

    async fn keep(&self, said: &ModelTurn, change: impl FnMut(&mut StoredRun) + Send + 'static) -> Result<(), Stop> {
        if self.conversation.is_none() {
            return Ok(());
        }
        let ModelTurn { text, calls, media, kept, by, .. } = said;
        let spoken = Spoken { text, calls, model: &by.model, media, kept: kept.as_ref() };
        let change: Change = Box::new(change);
        Ok(self.agent.conversations.add_answer(&self.cx, self.run, &spoken, change).await?)
    }

    /// The everyday tools as the model sees them, and the caller's. A caller's tool takes the place of ours of that name, and
    /// where the caller wants one of its own called, ours are not there to be called instead.
    fn tools(&self) -> Vec<ToolDefinition> {
        let (theirs, registry) = (self.theirs.tools.iter().cloned(), &self.agent.parts.registry);
        let asked_for = match &self.tool_choice {
            ToolChoice::Required if !self.theirs.tools.is_empty() => return theirs.collect(),
            ToolChoice::Named { name } if self.theirs.has(name) => return theirs.collect(),
            ToolChoice::Named { name } => registry.get(name).filter(|tool| !tool.everyday),
            _ => None,
        };
        let cx = self.cx.bounded(self.bounds(None, &self.by(), None));
        let offered = registry.everyday().into_iter().chain(asked_for);
        offered
            .filter(|t| !self.theirs.has(&t.name))
            .filter(|t| registry.may_ever(&cx, t))
            .inspect(|t| self.cx.taint(t.label))
            .map(|t| ToolDefinition {
                name: t.name.to_string(),
                description: t.description.to_string(),
                parameters: t.parameters.clone(),
            })
            .chain(theirs)
            .collect()
    }

    fn tell_turn(&self, turn: u32) {
        self.publish("run:turn", json!({"turn": turn}));
        if let Some(watch) = &self.watch {
            watch.on_progress(&format!("turn {turn}"));
        }
    }

    pub fn tell(&self, step: RunEvent) {
        if let Some(watch) = &self.watch {
            watch.on_step(&step);
        }
        // Nobody may be listening any more; the run goes on.
        let _ = self.steps.send(step);
    }

    pub fn publish(&self, topic: &str, mut data: Value) {
        data["runId"] = self.run.to_string().into();
        data["conversationId"] = self.conversation.map(|id| id.to_string()).into();
        self.cx.ports().bus.publish(topic, Some(self.cx.user()), data);
    }
}

/// What a turn changes of what is kept of the run.
fn turned(progress: &Progress) -> impl FnMut(&mut StoredRun, &ModelAttribution) + Send + use<> {
    let (turns, calls, usage, routing) = (progress.turns, progress.calls, progress.usage, progress.routing.clone());
    move |run, by| {
        run.turned(turns, calls, &usage, by);
        run.set_routing(routing.as_ref());
    }
}

/// Gives a call another id where one of this run had it before: by its id it is known what has begun and what waits.
fn name_apart(calls: &mut [ToolCall], ids: &mut HashSet<String>) {
    for call in calls {
        while !ids.insert(call.id.clone()) {
            call.id = new_call_id();
        }
    }
}

const TOO_LONG: &str =
    "the run has grown too long for the model to read: ask for less at once, or begin a new conversation";

const MESSAGE_TOO_LONG: &str =
    "the message is too long for the model to read: say it in fewer words, or choose a model that reads more";

const SAID_NOTHING: &str = "the model said nothing at all: ask again, or choose another model";

const ONLY_THOUGHT: &str = "the model thought until its answer had no room left: raise `max_tokens` under [model], ask for less at \
                            once, or choose another model";

const TOLD_TOO_MUCH: &str = "what the model is told before the conversation leaves it too little room: shorten the documents under \
                             Device, Who Hob is, or choose a model that reads more";

pub(crate) fn limit(text: impl Into<String>) -> Stop {
    Stop("limit", text.into())
}

pub(crate) fn cancelled() -> Stop {
    Stop("cancelled", "stopped, as you asked".into())
}

fn closing(goes_on: bool) -> Stop {
    let then = if goes_on { "this goes on by itself when it has started again" } else { "ask again in a moment" };
    Stop("closing", format!("Hob is closing: {then}"))
}
