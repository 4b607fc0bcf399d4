//! Waiting for people: what is asked and shown is a record before anybody hears of it; whoever waits in a call waits two
//! minutes, and then the run rests. The answer is a record too, and whoever makes the call again is given it.

mod kept;

use crate::record::{Interaction, PENDING, RUN, Request, State, Stored};
use scrub::{How, Scrubber};
use serde_json::json;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Duration,
};
use store::{Audience, Collection, Entry, Stamp, Store};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tool::{Bounds, Bus, Channel, Cx, Error, Id, Label, Result, Scope, UserId, prelude::Value};

/// How many may wait for one person.
const OPEN: usize = 50;
/// How many of them one run and one conversation may hold, so that a model that asks without end leaves room for others.
const OPEN_IN_RUN: usize = 5;
const OPEN_IN_CONVERSATION: usize = 10;
/// How many that have ended are kept for a person.
const KEPT: usize = 500;
/// How many messages a run may send, and of how many runs that is counted.
const MESSAGES: u32 = 50;
const COUNTED: usize = 256;

/// How long an answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// In the call itself.
    pub in_call_seconds: u64,
    /// By a run that rests meanwhile.
    pub parked_hours: u64,
}

impl Default for Waits {
    fn default() -> Self {
        Self { in_call_seconds: 120, parked_hours: 24 }
    }
}

/// What a run's listener is told.
#[derive(Debug, Clone, Copy)]
pub enum InteractionEvent<'a> {
    /// Something waits for the person.
    Asked(&'a Interaction),
    /// A word in between.
    Message(&'a str),
}

/// A run that rests on an answer, and the call that is to be made again, now that it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// Whose run.
    pub user: UserId,
    /// The run.
    pub run: Id,
    /// The model's id of its call.
    pub model_call: String,
}

/// Which to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListFilter {
    /// Those in this state.
    In(State),
    /// Those that are over: answered or put aside.
    Answered,
    /// Every one.
    All,
}

type Listener = Arc<dyn Fn(InteractionEvent) + Send + Sync>;

/// What waits for the people of the household; cheap to clone.
#[derive(Clone)]
pub struct Interactions(Arc<Inner>);

struct Inner {
    records: Collection<Stored>,
    waits: Waits,
    /// How many calls wait for each.
    waiting: Mutex<HashMap<Id, u32>>,
    /// Those that ended by themselves: that is written with the next commit, and counts at once.
    over: Mutex<HashSet<Id>>,
    /// Changes whenever one ends.
    ended: watch::Sender<u64>,
    /// Held while one ends: a call that gives up and a person who answers at that moment hear of each other.
    settling: tokio::sync::Mutex<()>,
    watchers: Mutex<HashMap<Id, Listener>>,
    /// How many messages the latest runs have sent.
    sent: Mutex<VecDeque<(Id, u32)>>,
    /// Cancelled when the house closes: runs rest at once.
    closing: CancellationToken,
    /// Where it is told what ended; known from the first that waits.
    bus: OnceLock<Bus>,
    /// What is kept is kept without secrets.
    scrubber: Scrubber,
    /// Answers as they were given, for the calls that wait for them right now.
    given: Mutex<HashMap<Id, Value>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn now() -> u64 {
    Id::new().millis()
}

/// What the store knew of a request.
#[derive(Clone)]
enum StoredState {
    New(Box<Entry<Stored>>),
    /// The same call of the same model, made again.
    Again(Box<Entry<Stored>>),
    /// Too many are open: why, as a sentence.
    Full(String),
}

/// Why nothing more can be asked for `new`, where too many of `open` wait.
fn full(open: &[Entry<Stored>], new: &Stored) -> Option<String> {
    let count = |fits: &dyn Fn(&Stored) -> bool| open.iter().filter(|e| fits(&e.value)).count();
    if new.run.is_some() && count(&|o| o.run == new.run) >= OPEN_IN_RUN {
        return Some(format!(
            "{OPEN_IN_RUN} questions and views of this run wait for the person already: ask no more before they have answered"
        ));
    }
    if new.conversation.is_some() && count(&|o| o.conversation == new.conversation) >= OPEN_IN_CONVERSATION {
        return Some(format!(
            "{OPEN_IN_CONVERSATION} questions and views of this conversation wait for the person already: nothing more is \
             asked until they have answered some of them"
        ));
    }
    (open.len() >= OPEN).then(|| {
        format!(
            "{OPEN} questions and views wait for this person already: nothing more is asked until they have answered some \
             of them"
        )
    })
}

impl Interactions {
    /// What waits in `store`.
    pub fn new(store: &Store) -> Self {
        Self::with_waits(store, Waits::default(), Scrubber::default())
    }

    /// The same, with other patience, and kept without what is a secret to `scrubber`.
    pub fn with_waits(store: &Store, waits: Waits, scrubber: Scrubber) -> Self {
        let records: Collection<Stored> = store.collection();
        let this = Self(Arc::new(Inner {
            records,
            waits,
            waiting: Mutex::default(),
            over: Mutex::default(),
            ended: watch::Sender::default(),
            settling: tokio::sync::Mutex::default(),
            watchers: Mutex::default(),
            sent: Mutex::default(),
            closing: CancellationToken::new(),
            bus: OnceLock::new(),
            scrubber,
            given: Mutex::default(),
        }));
        let mut lost = vec![];
        // Nobody waits in a call any more; what a run rests on stays.
        let scanned = this.0.records.scan(|e| {
            if e.value.state == State::Pending && !e.value.parks {
                lost.push((e.owner, e.id));
            }
        });
        if let Err(error) = scanned {
            tracing::warn!(%error, "what waited for people could not be looked through");
        }
        lost.into_iter().for_each(|(user, id)| this.expire_later(user, id));
        this
    }

    /// Hears of everything a run asks, shows and tells, until the guard is dropped.
    pub fn watch(&self, run: Id, hear: impl Fn(InteractionEvent) + Send + Sync + 'static) -> Watching {
        lock(&self.0.watchers).insert(run, Arc::new(hear));
        Watching(self.clone(), run)
    }

    /// Lets every run rest that can: the house closes.
    pub fn rest(&self) {
        self.0.closing.cancel();
    }

    /// Asks or shows, and waits for the person. A model's call that is made again is given the answer there is, or waits for
    /// what it had asked before. Where nobody answers in the call, a run rests.
    ///
    /// # Errors
    /// `BadArgs` when it cannot be shown; `Parked` when the run is to rest; `Denied` when the person puts a question aside or
    /// nobody answered for a day; `Unavailable` when nobody answered in the call, or too much is open.
    pub async fn ask(&self, cx: &Cx, request: Request) -> Result<Value> {
        self.ask_as(cx, request, cx.is_direct()).await
    }

    /// The same for a question in the middle of other work, which cannot be taken up again later.
    pub(crate) async fn ask_now(&self, cx: &Cx, request: Request) -> Result<Value> {
        self.ask_as(cx, request, false).await
    }

    async fn ask_as(&self, cx: &Cx, request: Request, parks: bool) -> Result<Value> {
        let this = &self.0;
        let request = request.checked()?;
        let (user, bus) = (cx.user(), this.bus.get_or_init(|| cx.ports().bus.clone()));
        // A call is kept without its secrets, so one that has any cannot be made again later, when its answer comes.
        let secret = parks && request.has_secret(&this.scrubber);
        let stored = Stored::new(cx, &request, parks && !secret, this.waits, now())?.clean(&this.scrubber);
        let mut ended = this.ended.subscribe();
        // Whatever ends this wait without an answer ends what was asked too.
        let mut waiting = Waiting::new(self, user, Id::new(), stored.parks);
        let found = self.find_or_put(user, waiting.id, stored).await.inspect_err(|_| waiting.leave())?;
        let (entry, new) = match found {
            StoredState::New(entry) => (*entry, true),
            StoredState::Again(entry) => {
                waiting.leave();
                waiting = Waiting::new(self, user, entry.id, true);
                (*entry, false)
            }
            StoredState::Full(why) => {
                waiting.leave();
                return Err(Error::unavailable(why));
            }
        };
        let id = entry.id;
        if entry.value.state == State::Pending {
            self.tell(cx, bus, entry, new).await;
        }
        let paused = cx.pause().begin();
        let outcome = self.wait(cx, &mut ended, &mut waiting, secret).await;
        drop(paused);
        let ended = outcome?;
        if !ended.taken {
            let records = this.records.clone();
            this.records.store().write_later(move |tx| change(&records, tx, user, id, |s| s.taken = true));
        }
        // What the person wrote themselves, no model made up.
        ended.words().iter().for_each(|words| cx.vouch_for(words));
        ended.outcome(this.waits.parked_hours)
    }

    /// Keeps a request, unless the same call was made before.
    async fn find_or_put(&self, user: UserId, id: Id, stored: Stored) -> Result<StoredState> {
        let (this, records, scope) = (self.clone(), self.0.records.clone(), Scope::User(user));
        let write = move |tx: &store::Tx| {
            if let Some(run) = stored.run.filter(|_| stored.parks) {
                let mut before = records.find(tx, scope, RUN, run.as_bytes())?;
                before.retain(|e| stored.is_again(&e.value));
                // One that ended because its call did is asked anew.
                before.retain(|e| match e.value.state {
                    State::Pending => this.is_open(e),
                    State::Expired => e.value.expires_ms <= now(),
                    State::Answered | State::Dismissed => true,
                });
                if let Some(latest) = before.into_iter().max_by_key(|e| e.id) {
                    return Ok(StoredState::Again(Box::new(latest)));
                }
            }
            let mut open = records.find(tx, scope, PENDING, &[])?;
            open.retain(|e| this.is_open(e));
            if let Some(why) = full(&open, &stored) {
                return Ok(StoredState::Full(why));
            }
            Ok(StoredState::New(Box::new(records.put(tx, id, &stamp(user), &stored)?)))
        };
        Ok(self.0.records.store().write(write).await?)
    }

    /// Tells the person: everywhere where it is new, and whoever listens to the run in any case.
    async fn tell(&self, cx: &Cx, bus: &Bus, entry: Entry<Stored>, new: bool) {
        let about = entry.value.about();
        let shown = Interaction::from(entry);
        if new {
            let told = json!({"id": shown.id, "kind": shown.kind, "runId": shown.run_id,
                              "conversationId": shown.conversation_id});
            bus.publish("interaction:pending", Some(cx.user()), told);
        }
        self.tell_listener(shown.run_id, InteractionEvent::Asked(&shown));
        if new && cx.channel() == Channel::Machine {
            // Nobody is there. That it was told is no step of the call that asks.
            let apart = cx.bounded(Bounds { begins: None, ..cx.bounds().clone() });
            if let Err(error) = apart.call("notify", json!({"title": "Hob asks you something", "text": about})).await {
                tracing::warn!(%error, "nobody was told that something is asked");
            }
        }
    }

    fn tell_listener(&self, run: Option<Id>, told: InteractionEvent) {
        let hear = run.and_then(|run| lock(&self.0.watchers).get(&run).cloned());
        if let Some(hear) = hear {
            hear(told);
        }
    }

    /// Waits in the call, until it has ended. `secret` is why a run does not rest on it.
    async fn wait(
        &self,
        cx: &Cx,
        ended: &mut watch::Receiver<u64>,
        waiting: &mut Waiting,
        secret: bool,
    ) -> Result<Stored> {
        let this = &self.0;
        let (user, id, parks) = (waiting.user, waiting.id, waiting.parks);
        // Without a person at the door the run rests at once.
        let patience = match parks && cx.channel() == Channel::Machine {
            true => Duration::ZERO,
            false => Duration::from_secs(this.waits.in_call_seconds),
        };
        let patience = tokio::time::sleep(patience);
        tokio::pin!(patience);
        loop {
            ended.borrow_and_update();
            if let Some(over) = self.over(user, id)? {
                waiting.leave();
                return Ok(over);
            }
            tokio::select! {
                biased;
                _ = ended.changed() => continue,
                () = this.closing.cancelled(), if parks => {}
                () = cx.cancel().cancelled() => {
                    return Err(Error::unavailable("it was stopped while it waited for a person"));
                }
                () = &mut patience => {}
            }
            // Somebody may be answering at this very moment.
            let _settling = this.settling.lock().await;
            if let Some(over) = self.over(user, id)? {
                waiting.leave();
                return Ok(over);
            }
            waiting.leave();
            if !parks {
                self.expire_later(user, id);
                let next = match secret {
                    true => "there is a secret in it, so it waits no longer: ask again without the secret, or go on",
                    false => "go on without it, or ask again later",
                };
                return Err(Error::unavailable(format!(
                    "nobody answered within {} s: {next}",
                    this.waits.in_call_seconds
                )));
            }
            return Err(Error::Parked(format!(
                "this waits for a person: the run goes on when they answer, for {} hours",
                this.waits.parked_hours
            )));
        }
    }

    /// The record, once it is over.
    fn over(&self, user: UserId, id: Id) -> Result<Option<Stored>> {
        let entry = self.0.records.get_in(Scope::User(user), id)?;
        let mut stored = entry.ok_or_else(|| Error::unavailable("what was waited for is gone"))?.value;
        let late = stored.parks && stored.expires_ms <= now();
        if stored.state == State::Pending && (late || lock(&self.0.over).contains(&id)) {
            stored.state = State::Expired;
        }
        let given = lock(&self.0.given).get(&id).cloned();
        let stored = given.into_iter().fold(stored, |stored, answer| stored.with_answer(&answer));
        Ok(Some(stored).filter(|s| s.state != State::Pending))
    }

    /// Takes a person's answer. The second part is set when nobody waits in the call any more and its run has to be gone on
    /// with.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` when it is over; `BadArgs` when the answer has not the form of
    /// one; `Failed`, with the name of the field in front, when a value is not what was asked for.
    pub async fn respond(&self, cx: &Cx, id: Id, answer: Value) -> Result<(Interaction, Option<Wake>)> {
        self.settle(cx, id, Some(answer)).await
    }

    /// Puts it aside: the person does not want to answer.
    ///
    /// # Errors
    /// As [`Interactions::respond`].
    pub async fn dismiss(&self, cx: &Cx, id: Id) -> Result<(Interaction, Option<Wake>)> {
        self.settle(cx, id, None).await
    }

    async fn settle(&self, cx: &Cx, id: Id, answer: Option<Value>) -> Result<(Interaction, Option<Wake>)> {
        let (this, user) = (&self.0, cx.user());
        let scope = Scope::User(user);
        let _settling = this.settling.lock().await;
        let found = this.records.get_in(scope, id)?.ok_or_else(|| missing(id))?;
        if !self.is_open(&found) {
            return Err(Error::unavailable("this was answered already, or nobody waits for it any more"));
        }
        let found = found.value;
        let (state, answer) = match answer {
            Some(answer) => found.taken_from(answer)?,
            None => (State::Dismissed, found.dismissed()),
        };
        // Before anybody can read that it ended: the call that waits is given what was said.
        {
            let waiting = lock(&this.waiting);
            if waiting.contains_key(&id) {
                lock(&this.given).insert(id, answer.clone());
            }
        }
        let (records, mut kept) = (this.records.clone(), answer);
        this.scrubber.value(&mut kept, How::All);
        let write = move |tx: &store::Tx| {
            records.change(tx, scope, Label::Own, id, &mut |s: &mut Stored| {
                s.end(state, &kept, now());
                Ok(())
            })
        };
        let entry = this.records.store().write(write).await.inspect_err(|_| drop(lock(&this.given).remove(&id)))?;
        this.bus.get_or_init(|| cx.ports().bus.clone());
        self.tell_end(user, id, state);
        // Who waits in the call goes on by themselves; they can no more leave it unseen, for this is held.
        let waited = lock(&this.waiting).contains_key(&id);
        let wake = wake(user, &entry.value).filter(|_| !waited);
        Ok((Interaction::from(entry), wake))
    }

    fn tell_end(&self, user: UserId, id: Id, state: State) {
        self.0.ended.send_modify(|count| *count = count.wrapping_add(1));
        if let Some(bus) = self.0.bus.get() {
            bus.publish("interaction:ended", Some(user), json!({"id": id, "state": state}));
        }
    }

    /// A word to the person in the middle of the work.
    ///
    /// # Errors
    /// `Denied` when the run has said enough.
    pub fn send(&self, cx: &Cx, text: &str) -> Result<()> {
        if let Some(run) = cx.run() {
            let mut sent = lock(&self.0.sent);
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
        self.tell_listener(cx.run(), InteractionEvent::Message(text));
        let told = json!({"text": text, "runId": cx.run(), "conversationId": cx.conversation()});
        cx.ports().bus.publish("message:sent", Some(cx.user()), told);
        Ok(())
    }

    fn expire_later(&self, user: UserId, id: Id) {
        lock(&self.0.over).insert(id);
        let records = self.0.records.clone();
        self.0.records.store().write_later(move |tx| {
            change(&records, tx, user, id, |s| {
                // Somebody may have answered after all.
                if s.state == State::Pending {
                    s.end(State::Expired, &Value::Null, now());
                }
            })
        });
        self.tell_end(user, id, State::Expired);
    }
}

fn change(
    records: &Collection<Stored>,
    tx: &store::Tx,
    user: UserId,
    id: Id,
    change: impl Fn(&mut Stored),
) -> store::Result<()> {
    let changed = records.change(tx, Scope::User(user), Label::Own, id, &mut |s: &mut Stored| {
        change(s);
        Ok(())
    });
    match changed {
        Err(store::Error::Missing(_)) => Ok(()),
        other => other.map(drop),
    }
}

fn wake(user: UserId, stored: &Stored) -> Option<Wake> {
    let run = stored.run.filter(|_| stored.parks)?;
    Some(Wake { user, run, model_call: stored.model_call.clone() })
}

fn missing(id: Id) -> Error {
    Error::not_found(format!("there is no question or view {id} of yours"))
}

fn stamp(user: UserId) -> Stamp {
    // What is asked may be a stranger's words; only people read it, so it taints nobody.
    let (scope, owner, audience) = (Scope::User(user), user, Audience::Private);
    Stamp { scope, owner, audience, label: Label::Own, source: "interaction".into() }
}

/// Stops hearing of a run when dropped.
pub struct Watching(Interactions, Id);

impl Drop for Watching {
    fn drop(&mut self) {
        lock(&self.0.0.watchers).remove(&self.1);
    }
}

/// Ends what a call waited for that went away, unless its run is to go on later.
struct Waiting {
    interactions: Interactions,
    user: UserId,
    id: Id,
    parks: bool,
    over: bool,
}

impl Waiting {
    fn new(interactions: &Interactions, user: UserId, id: Id, parks: bool) -> Self {
        *lock(&interactions.0.waiting).entry(id).or_default() += 1;
        Self { interactions: interactions.clone(), user, id, parks, over: false }
    }

    /// The call waits no more; the record stays as it is.
    fn leave(&mut self) {
        self.over = true;
        self.count_down();
    }

    /// Whether nobody waits any more.
    fn count_down(&self) -> bool {
        let mut waiting = lock(&self.interactions.0.waiting);
        let left = waiting.get_mut(&self.id).map(|count| {
            *count -= 1;
            *count
        });
        if left == Some(0) {
            waiting.remove(&self.id);
            lock(&self.interactions.0.given).remove(&self.id);
        }
        !waiting.contains_key(&self.id)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let closing = self.parks && self.interactions.0.closing.is_cancelled();
        if self.count_down() && !closing {
            self.interactions.expire_later(self.user, self.id);
        }
    }
}
