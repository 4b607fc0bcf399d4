//! Interactions: what calls ask and show people. A kind of question ([`questions`]): the call that is made again gets the
//! answer. Beside questions, messages to the person while a run goes on.

use crate::record::{Interaction, Request, State, Stored};
use questions::{Listeners, Listening, QuestionKind, Questions, SuspendedRun};
use scrub::{How, Scrubber};
use serde_json::json;
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tool::{Bounds, Channel, Cx, Error, Id, Result, prelude::Value};

/// How many messages a run may send, and of how many runs that is counted.
const MESSAGES: u32 = 50;
const COUNTED: usize = 256;

/// An event for a follower of a run.
#[derive(Debug, Clone, Copy)]
pub enum InteractionEvent<'a> {
    /// A question or view waits for the person.
    Asked(&'a Interaction),
    /// A message to the person.
    Message(&'a str),
}

/// Which interactions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFilter {
    /// Those in this state.
    In(State),
    /// Those that are answered or dismissed.
    Answered,
    /// Every one.
    All,
}

/// The interactions of the household. Cheap to clone.
#[derive(Clone)]
pub struct Interactions(Arc<Inner>);

struct Inner {
    questions: QuestionKind<Stored>,
    service: Questions,
    /// Removes secrets from what is stored.
    scrubber: Scrubber,
    messages: Listeners<str>,
    /// How many messages the latest runs have sent.
    sent: Mutex<VecDeque<(Id, u32)>>,
}

impl Interactions {
    /// The interactions of this service, stored without what is a secret to `scrubber`.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn open(service: &Questions, scrubber: Scrubber) -> Result<Self> {
        let (questions, service) = (service.kind()?, service.clone());
        let (messages, sent) = (Listeners::default(), Mutex::default());
        Ok(Self(Arc::new(Inner { questions, service, scrubber, messages, sent })))
    }

    /// The service that keeps the questions.
    pub fn questions(&self) -> &Questions {
        &self.0.service
    }

    /// Calls `hear` with everything a run asks, shows and says, until the guard is dropped.
    pub fn watch(
        &self,
        run: Id,
        hear: impl Fn(InteractionEvent) + Send + Sync + 'static,
    ) -> (Listening<Interaction>, Listening<str>) {
        let hear = Arc::new(hear);
        let asked = hear.clone();
        let asked = self.0.questions.watch(run, move |shown| asked(InteractionEvent::Asked(shown)));
        (asked, self.0.messages.watch(run, move |text: &str| hear(InteractionEvent::Message(text))))
    }

    /// Asks or shows, and waits for the person. A model's call that is made again gets the answer to its question, or waits
    /// for it again.
    ///
    /// # Errors
    /// `BadArgs` when it cannot be shown; `Parked` when the run is to be suspended; `Denied` when the person dismisses a
    /// question or nobody answered for a day; `Unavailable` when nobody answered in the call, or too many are open.
    pub async fn ask(&self, cx: &Cx, request: Request) -> Result<Value> {
        self.ask_as(cx, request, cx.is_direct()).await
    }

    /// The same for a question in the middle of other work, which cannot be resumed later.
    pub(crate) async fn ask_now(&self, cx: &Cx, request: Request) -> Result<Value> {
        self.ask_as(cx, request, false).await
    }

    async fn ask_as(&self, cx: &Cx, request: Request, suspends: bool) -> Result<Value> {
        let (this, timeouts) = (&self.0, self.0.service.timeouts());
        let request = request.validated()?;
        // A call is stored without its secrets, so one that has any cannot be made again later.
        let secret = suspends && request.has_secret(&this.scrubber);
        let id = Id::new();
        let stored = Stored::new(cx, id, &request, suspends && !secret, timeouts)?.without_secrets(&this.scrubber);
        let (about, suspends) = (stored.about(), stored.suspends());
        let asked = this.questions.ask(cx, id, stored).await?;
        let unattended = cx.channel() == Channel::Machine;
        if unattended && asked.is_new {
            // The notice is no step of the call that asks.
            let apart = cx.bounded(Bounds { begins: None, ..cx.bounds().clone() });
            if let Err(error) = apart.call("notify", json!({"title": "Hob asks you something", "text": about})).await {
                tracing::warn!(%error, "the person could not be notified of a question");
            }
        }
        // With nobody at the door, the run is suspended at once.
        let patience = if unattended && suspends { Duration::ZERO } else { timeouts.in_call() };
        let (ended, answer) = asked.answer(cx, patience).await?;
        if ended.state == State::Expired && !ended.suspends() {
            let next = match secret {
                true => "there is a secret in it, so it waits no longer: ask again without the secret, or go on",
                false => "go on without it, or ask again later",
            };
            let seconds = timeouts.in_call_seconds;
            return Err(Error::unavailable(format!("nobody answered within {seconds} s: {next}")));
        }
        // The call gets the answer as it was given, with its secrets.
        let ended = answer.into_iter().fold(ended, |ended, answer| ended.with_answer(&answer));
        // No model made up what the person wrote.
        ended.own_words().iter().for_each(|words| cx.vouch_for(words));
        ended.outcome(timeouts.parked_hours)
    }

    /// Stores a person's answer. The second part is the run that has to be resumed.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` when it has ended; `BadArgs` when the answer has the wrong form;
    /// `Failed`, with the name of the field in front, when a value does not fit.
    pub async fn respond(&self, cx: &Cx, id: Id, answer: Value) -> Result<(Interaction, Option<SuspendedRun>)> {
        self.settle(cx, id, Some(answer)).await
    }

    /// Dismisses it: the person does not want to answer.
    ///
    /// # Errors
    /// As [`Interactions::respond`].
    pub async fn dismiss(&self, cx: &Cx, id: Id) -> Result<(Interaction, Option<SuspendedRun>)> {
        self.settle(cx, id, None).await
    }

    async fn settle(&self, cx: &Cx, id: Id, answer: Option<Value>) -> Result<(Interaction, Option<SuspendedRun>)> {
        let decide = |question: &Stored| {
            let (state, answer) = match answer {
                Some(answer) => question.parse_answer(answer)?,
                None => (State::Dismissed, question.dismissal()),
            };
            let mut clean = answer.clone();
            self.0.scrubber.value(&mut clean, How::All);
            let change = move |_: &store::Tx, question: &mut Stored| {
                question.end(state, &clean, Id::new().millis());
                Ok(())
            };
            Ok((answer, change))
        };
        self.0.questions.settle(cx, cx.user(), id, decide).await
    }

    /// The interactions of this person, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx, which: ListFilter, before: Option<Id>, limit: usize) -> Result<Vec<Interaction>> {
        let fits = |question: &Stored| match which {
            ListFilter::In(state) => question.state == state,
            ListFilter::Answered => matches!(question.state, State::Answered | State::Dismissed),
            ListFilter::All => true,
        };
        match which {
            ListFilter::In(State::Pending) => self.0.questions.pending(Some(cx.user()), before, limit),
            _ => self.0.questions.list(Some(cx.user()), fits, before, limit),
        }
    }

    /// One interaction of this person.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Interaction> {
        self.0.questions.get(cx.user(), id)
    }

    /// Sends the person a message while the run goes on.
    ///
    /// # Errors
    /// `Denied` when the run has sent too many.
    pub fn send(&self, cx: &Cx, text: &str) -> Result<()> {
        if let Some(run) = cx.run() {
            let mut sent = self.0.sent.lock().unwrap_or_else(PoisonError::into_inner);
            let count = match sent.iter().position(|(of, _)| *of == run).and_then(|at| sent.remove(at)) {
                Some((_, count)) => count,
                None => 0,
            };
            sent.push_back((run, count.saturating_add(1)));
            if sent.len() > COUNTED {
                sent.pop_front();
            }
            if count >= MESSAGES {
                return Err(Error::denied(format!(
                    "this run has sent {MESSAGES} messages already: say the rest in the answer"
                )));
            }
        }
        self.0.messages.notify(cx.run(), text);
        let data = json!({"text": text, "runId": cx.run(), "conversationId": cx.conversation()});
        cx.ports().bus.publish("message:sent", Some(cx.user()), data);
        Ok(())
    }
}
