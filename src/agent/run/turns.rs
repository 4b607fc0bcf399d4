//! The loop of a run: ask the model, make its calls, and again, until it answers or reaches a limit.

use super::{
    ModelAttribution, Progress, Run, Stop,
    call_summary::{CallSummary, done_so_far},
    calls::CallOutcome,
    cancelled,
    client_tools::make_ids_unique,
    loop_guard::Circle,
    reply::ModelTurn,
};
use crate::{
    context::{ContextRequest, budget, cost, fit, store_model_media},
    conversation::{Change, Spoken, State, StoredRun, durability::REPEATABLE},
    events::{Answer, RunEvent},
};
use futures::{FutureExt, StreamExt};
use llm::{Delta, Message, Messages, Request, Routing, ToolChoice, Tools, Turn};
use serde_json::json;
use std::time::{Duration, Instant};

impl Run {
    /// Runs turns until the run ends.
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
            self.store_cost(&progress).await;
        }
        self.end(end, began).await;
    }

    async fn answer(&self, history: Vec<Message>, progress: &mut Progress) -> Result<Answer, Stop> {
        let _watching = self.forward_questions();
        let limits = self.limits();
        if !progress.resumed {
            self.learn_about_person().await;
        }
        let context = ContextRequest {
            agent: &self.agent,
            cx: &self.cx,
            provider: self.provider.as_ref(),
            conversation: self.conversation,
            text: &self.text,
            instructions: &self.client.instructions,
            may_call: self.tool_choice != ToolChoice::None,
            resumed: progress.resumed,
        };
        let (messages, compaction) = context.build(history, &mut progress.usage).await;
        let mut messages = Messages::from(messages);
        if let Some(compaction) = compaction {
            let (messages, summary_length) = (compaction.messages, compaction.summary_length);
            self.send(RunEvent::Compacted { messages, summary_length });
        }
        let tools = self.tools();
        // Messages that this run has added, and the last text beside calls.
        let (mut added, mut corrected, mut last) = (0, false, String::new());
        while progress.turns < limits.turns {
            // Demand the call once: a model that must call in every turn would never end.
            let demands_call = progress.ids.is_empty() || std::mem::take(&mut corrected);
            let tool_choice = if demands_call { self.tool_choice.clone() } else { ToolChoice::Auto };
            let demanded = tool_choice.clone();
            progress.turns += 1;
            self.announce_turn(progress.turns);
            let tools = if self.tool_choice == ToolChoice::None { Tools::default() } else { tools.clone() };
            let room = budget(&self.agent, self.provider.as_ref());
            if !fit(&mut messages, room) {
                let prompt = messages.first().map_or(0, |prompt| cost(std::slice::from_ref(prompt)));
                let text = match messages.len() > 2 {
                    _ if prompt > room / 2 => PROMPT_TOO_LONG,
                    true => RUN_TOO_LONG,
                    false => MESSAGE_TOO_LONG,
                };
                self.client.status.set_error(llm::Error::TooLong(text.to_owned()));
                return Err(limit_stop(text));
            }
            let mut said = self.ask(self.request(messages.clone(), tools, tool_choice).await, progress).await?;
            self.assign_client_call_ids(&mut said.calls);
            make_ids_unique(&mut said.calls, &mut progress.ids);
            progress.calls += said.calls.len() as u32;
            let corrections = self.correct(&mut said, &demanded, &mut messages, progress)?;
            if corrections > 0 {
                (added, corrected) = (added + corrections, true);
                continue;
            }
            self.store_turn(&said, progress).await?;
            if said.calls.is_empty() {
                return Ok(self.answered(said, progress, vec![]));
            }
            if progress.calls > limits.calls {
                let limit = limits.calls;
                return Err(limit_stop(format!(
                    "the model requested more than {limit} tool calls in one run and was stopped: ask for less at once"
                )));
            }
            let (handed_over, own): (Vec<_>, Vec<_>) =
                said.calls.iter().cloned().partition(|c| self.is_client_tool(&c.name));
            let results = self.make_all(&own, &said.by).await;
            messages.push(Message::Assistant(Turn {
                content: said.text.clone(),
                tool_calls: said.calls.clone(),
                kept: said.kept.clone(),
            }));
            added += 1 + results.len();
            let (mut circle, mut waits) = (None, vec![]);
            for (outcome, call) in results.into_iter().zip(&own) {
                let (record, mut result) = match outcome? {
                    CallOutcome::Completed(completed) => *completed,
                    CallOutcome::Suspended => {
                        waits.push(call.id.clone());
                        continue;
                    }
                };
                let changed = !result.is_error && self.agent.parts.registry.may_change(&call.name, &record.arguments);
                match progress.guard.note(&call.name, &call.arguments, &result.content, changed) {
                    Some(Circle::Warn(text)) => result.content.push_str(&format!("\n\n[Hob: {text}]")),
                    Some(Circle::End(text)) => circle = Some(text),
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
                return self.suspend(said, progress, waits).await;
            }
            if !handed_over.is_empty() {
                // `fit` drops the oldest messages, so those of this run are at the end.
                let at = messages.len() - added;
                self.agent.continuations.add(&self.cx, &handed_over, messages.split_off(at));
                return Ok(self.answered(said, progress, handed_over));
            }
            if let Some(text) = circle {
                return Err(limit_stop(text));
            }
            progress.guard.next_turn();
            if !said.text.trim().is_empty() {
                last.clone_from(&said.text);
            }
        }
        if limits.completes {
            return self.complete_at_limit(last, progress).await;
        }
        let turns = limits.turns;
        Err(limit_stop(format!("the model did not answer within {turns} turns and was stopped: ask for less at once")))
    }

    /// Answers with the last text of a run that has used up its turns.
    async fn complete_at_limit(&self, last: String, progress: &mut Progress) -> Result<Answer, Stop> {
        let by = self.attribution();
        let is_stored = !last.is_empty();
        let text = match is_stored {
            true => last,
            false => format!("[Max iterations reached]\n\n{}", done_so_far(&progress.done)),
        };
        let said = ModelTurn { text, cut: true, ..ModelTurn::by(by) };
        if !is_stored {
            self.store_turn(&said, progress).await?;
        } else if self.conversation.is_some() {
            let ends = |run: &mut StoredRun| run.ends(State::Done, "", "");
            self.agent.conversations.change_run(self.cx.user(), self.run, ends).await?;
        }
        Ok(self.answered(said, progress, vec![]))
    }

    /// Asks the model once, and sends its output as events.
    async fn ask(&self, request: Request, progress: &mut Progress) -> Result<ModelTurn, Stop> {
        let held = self.holds_back(&request.tool_choice);
        let mut stream = self.provider.stream(request);
        let mut filter = self.stop_filter();
        self.client.status.set_model(&self.provider.model());
        let mut said = ModelTurn { held, ..ModelTurn::by(self.attribution()) };
        let mut notice = None;
        loop {
            // An answer that is there at once is stored before its first words are shown: one commit instead of two.
            let ready = if self.events.holds_any() { stream.next().now_or_never() } else { None };
            let delta = match ready {
                Some(delta) => delta,
                None => {
                    self.events.release_held();
                    tokio::select! {
                        biased;
                        () = self.cx.cancel().cancelled() => {
                            if !self.interrupted_by_shutdown() {
                                self.store_partial(said, progress, &cancelled()).await?;
                            }
                            return Err(cancelled());
                        }
                        delta = stream.next() => delta,
                    }
                }
            };
            match delta {
                None => break,
                Some(Ok(Delta::Text(delta))) => {
                    let words = filter.take(&delta);
                    if !words.is_empty() || delta.is_empty() {
                        self.append(&mut said, words);
                    }
                }
                Some(Ok(Delta::Refusal(text))) if self.conversation.is_none() => said.refusal.push_str(&text),
                Some(Ok(Delta::Refusal(text))) => self.append(&mut said, text),
                Some(Ok(Delta::Thinking(text))) => self.send(RunEvent::Thinking { text }),
                Some(Ok(Delta::ToolCall(mut call))) => {
                    // Errors repeat unknown names, and the store keeps them.
                    call.name = self.agent.parts.registry.scrubber().text(&call.name, scrub::How::Digests).into_owned();
                    said.calls.push(call);
                }
                Some(Ok(Delta::Keep(kept))) => said.kept = Some(kept),
                Some(Ok(Delta::By { model, by_word })) => {
                    self.client.status.set_model(&model);
                    filter.limit(self.max_bytes(!by_word));
                    said.by = ModelAttribution { model, by_word };
                }
                Some(Ok(Delta::Routing(routing))) => progress.add_routing(self.without_secrets(*routing)),
                Some(Ok(Delta::Filtered(why))) => (said.filtered, notice) = (true, Some(why)),
                Some(Ok(Delta::Media(media))) => {
                    let media = store_model_media(&self.agent.parts.uploads, &self.cx, media).await?;
                    self.send(RunEvent::Media { media: media.clone() });
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
                    self.client.status.set_error(error);
                    self.store_partial(said, progress, &stop).await?;
                    return Err(stop);
                }
            }
        }
        let ended = filter.end().is_some();
        self.finish_text(&mut said, filter);
        // A client that keeps the conversation reads the finish reason instead.
        if let Some(notice) = notice.filter(|_| self.conversation.is_some()) {
            self.append(&mut said, format!("\n\n{notice}"));
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
            return Err(Stop("model", if said.cut { ONLY_THOUGHTS } else { EMPTY_ANSWER }.into()));
        }
        Ok(said)
    }

    /// Removes secrets from the errors of a routing.
    fn without_secrets(&self, mut routing: Routing) -> Routing {
        let scrubber = self.agent.parts.registry.scrubber();
        for error in routing.attempts.iter_mut().filter_map(|attempt| attempt.error.as_mut()) {
            *error = scrubber.text(error, scrub::How::Digests).into_owned();
        }
        routing
    }

    /// Stores a turn and the progress; a turn without calls ends the run.
    async fn store_turn(&self, said: &ModelTurn, progress: &Progress) -> Result<(), Stop> {
        if let Some(journal) = &self.journal {
            journal.next_turn();
        }
        let ends = said.calls.is_empty();
        let (mut record, by) = (record_turn(progress), said.by.clone());
        let within = (!ends).then_some(REPEATABLE);
        self.store(said, within, move |run| {
            record(run, &by);
            if ends {
                run.ends(State::Done, "", "");
            }
        })
        .await
    }

    /// Stores the text of a turn that was interrupted: the person has read it.
    async fn store_partial(&self, mut said: ModelTurn, progress: &Progress, stop: &Stop) -> Result<(), Stop> {
        said.calls.clear();
        if said.text.is_empty() && said.media.is_empty() {
            return Ok(());
        }
        let (mut record, by, code, error) = (record_turn(progress), said.by.clone(), stop.0, stop.1.clone());
        let state = if code == "cancelled" { State::Cancelled } else { State::Failed };
        self.store(&said, None, move |run| {
            record(run, &by);
            run.ends(state, code, &error);
        })
        .await
    }

    async fn store(
        &self,
        said: &ModelTurn,
        within: Option<Duration>,
        change: impl FnMut(&mut StoredRun) + Send + 'static,
    ) -> Result<(), Stop> {
        if self.conversation.is_none() {
            return Ok(());
        }
        let ModelTurn { text, calls, media, kept, by, .. } = said;
        let spoken = Spoken { text, calls, model: &by.model, media, kept: kept.as_ref() };
        let change: Change = Box::new(change);
        Ok(self.agent.conversations.add_answer(&self.cx, self.run, &spoken, change, within).await?)
    }

    fn announce_turn(&self, turn: u32) {
        self.publish("run:turn", json!({"turn": turn}));
        if let Some(watch) = &self.watch {
            watch.on_progress(&format!("turn {turn}"));
        }
    }
}

/// The change of the stored run at the end of a turn.
fn record_turn(progress: &Progress) -> impl FnMut(&mut StoredRun, &ModelAttribution) + Send + use<> {
    let (turns, calls, usage, routing) = (progress.turns, progress.calls, progress.usage, progress.routing.clone());
    move |run, by| {
        run.add_turn(turns, calls, &usage, &by.model, by.by_word);
        run.set_routing(routing.as_ref());
    }
}

fn limit_stop(text: impl Into<String>) -> Stop {
    Stop("limit", text.into())
}

const RUN_TOO_LONG: &str =
    "the run has grown too long for the model to read: ask for less at once, or begin a new conversation";

const MESSAGE_TOO_LONG: &str =
    "the message is too long for the model to read: shorten it, or choose a model with a larger context";

const EMPTY_ANSWER: &str = "the model said nothing at all: ask again, or choose another model";

const ONLY_THOUGHTS: &str = "the model's thoughts left no room for its answer: raise `max_tokens` under [model], ask for less at \
                             once, or choose another model";

const PROMPT_TOO_LONG: &str = "the instructions leave the model too little room for the conversation: shorten the documents under \
                               Device, Personality, or choose a model with a larger context";
