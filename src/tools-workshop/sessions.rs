//! Programs that go on after the call that started them: their output as it comes, input, an end, and what is left of them.

mod record;
mod ring;

pub use self::{record::Status, ring::Part};

use self::{
    record::{ALL, OutputRecord, SessionRecord},
    ring::Ring,
};
use crate::output::{Keep, Stream, breaks_off};
use futures::future::BoxFuture;
use process_sandbox::{Ended, Process};
use scrub::Scrubber;
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Audience, Collection, Listing, Stamp, Store};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};
use tool::{
    Bus, Cx, Error, Id, Label, Result, Scope, UserId,
    prelude::{JsonSchema, schemars},
};

/// How many programs of a person run at once, and of everybody.
pub const RUNNING: usize = 8;
const RUNNING_IN_ALL: usize = 24;
/// How much of an output is in memory while the program runs, and is stored when it ended, in bytes.
pub const IN_MEMORY: usize = 256 * 1024;
const STORED: usize = 64 * 1024;
/// How many ended programs of a person are stored.
pub const ENDED: usize = 100;
/// How long a program is silent before a line without an end is shown.
const SILENCE: Duration = Duration::from_millis(300);
/// The shortest time between two events about the output of a program, and the most text in one.
const EVENT_EVERY: Duration = Duration::from_millis(100);
const EVENT_TEXT: usize = 16 * 1024;
/// The most bytes of one input, and how long a program may take to read it.
pub const INPUT: usize = 64 * 1024;
const READS_INPUT: Duration = Duration::from_secs(5);
/// How much of a line that was typed in parts is remembered, in bytes.
const LINE: usize = 16 * 1024;
/// The longest command and title that are stored, in bytes.
const COMMAND: usize = 4 * 1024;
const TITLE: usize = 200;

/// The facts of a program that starts.
#[derive(Debug, Clone)]
pub struct NewSession {
    /// Its family: `command` or `coding`.
    pub kind: &'static str,
    /// Its purpose, in a few words.
    pub title: String,
    /// The command, as a person reads it.
    pub command: String,
    /// Its working directory, as its caller wrote it.
    pub folder: String,
    /// Whether it has a terminal that a person watches.
    pub terminal: bool,
    /// Further facts that its family stores, as an object.
    pub details: Value,
}

/// A program that has ended.
pub struct Over<'a> {
    pub status: Status,
    pub code: Option<i32>,
    /// The last of its output.
    pub output: &'a str,
    /// The label of its output, and of what it wrote.
    pub label: Label,
}

/// Runs once a program has ended; returns the details that replace those it began with.
pub type Finish = Box<dyn FnOnce(Over<'_>) -> BoxFuture<'static, Option<Value>> + Send>;

/// A program as a person or a model sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    pub id: Id,
    /// Its kind: `command` or `coding`.
    pub kind: String,
    /// Its purpose, in a few words.
    pub title: String,
    /// The command.
    pub command: String,
    /// Its working directory.
    pub folder: String,
    pub status: Status,
    /// Its exit code, once it ended by itself; the signal that ended it, as a negative number.
    pub exit_code: Option<i32>,
    /// When it started: milliseconds since 1970.
    pub started_at: u64,
    /// When it ended: milliseconds since 1970.
    pub ended_at: Option<u64>,
    /// Whether it has a terminal: its output then has sequences that colour and move text.
    pub terminal: bool,
    /// Whether its output may have words from outside.
    pub outside: bool,
    /// More about it, by its kind.
    pub details: Value,
}

/// The programs of everybody. Cheap to clone.
#[derive(Clone)]
pub struct Sessions(Arc<Shared>);

struct Shared {
    records: Collection<SessionRecord>,
    outputs: Collection<OutputRecord>,
    scrubber: Scrubber,
    live: Mutex<BTreeMap<Id, Arc<Live>>>,
}

struct Live {
    id: Id,
    user: UserId,
    record: SessionRecord,
    state: Mutex<State>,
    readable: Readable,
    orders: mpsc::Sender<Order>,
    ended: watch::Receiver<bool>,
}

struct State {
    ring: Ring,
    label: Label,
    /// What was typed since the last line break.
    line: String,
}

/// The worst label of what a program can read by now.
pub type Readable = Box<dyn Fn() -> Label + Send + Sync>;

enum Order {
    Input(String, oneshot::Sender<bool>),
    CloseInput,
    Resize(u16, u16),
    Stop,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sessions {
    /// The programs over the data in `store`.
    pub fn new(store: &Store, scrubber: Scrubber) -> Self {
        let (records, outputs) = (store.collection(), store.collection());
        Self(Arc::new(Shared { records, outputs, scrubber, live: Mutex::default() }))
    }

    /// Whether one more program may run for this caller.
    ///
    /// # Errors
    /// `Unavailable` where too many run already.
    pub fn check_room(&self, cx: &Cx) -> Result<()> {
        let live = locked(&self.0.live);
        let own = live.values().filter(|one| one.user == cx.user()).count();
        if own >= RUNNING {
            return Err(Error::unavailable(format!(
                "{own} programs run already, which is the most: wait for one to end, or stop one"
            )));
        }
        if live.len() >= RUNNING_IN_ALL {
            return Err(Error::unavailable("too many programs of this household run at once: wait for one to end"));
        }
        Ok(())
    }

    /// Follows a program that has started, whose output has the label of what it can read and of what is typed into it.
    /// `finish` runs once it has ended, whatever ended it.
    ///
    /// # Errors
    /// `Unavailable` where too many run; as every write. The program is stopped then.
    pub async fn follow(
        &self,
        cx: &Cx,
        new: NewSession,
        process: Process,
        readable: Readable,
        finish: Finish,
    ) -> Result<Session> {
        self.check_room(cx).inspect_err(|_| process.stop())?;
        let label = readable().max(cx.label());
        let clean = |text: &str, most| {
            let text = self.0.scrubber.text(text, scrub::How::All).into_owned();
            text_kit::truncate(&text, most)
        };
        let record = SessionRecord {
            kind: new.kind.to_owned(),
            title: clean(&new.title, TITLE),
            command: clean(&new.command, COMMAND),
            folder: new.folder,
            status: Status::Running,
            code: None,
            started: now(cx),
            ended: None,
            terminal: new.terminal,
            details: new.details.to_string(),
            conversation: cx.conversation(),
            run: cx.run(),
        };
        let (id, stamp) = (Id::new(), Stamp { label, ..self.0.records.stamp(cx, "process") });
        if let Err(error) = self.add(id, stamp, record.clone()).await {
            process.stop();
            return Err(error);
        }
        let (orders, receiver) = mpsc::channel(32);
        let (end, ended) = watch::channel(false);
        let state = Mutex::new(State { ring: Ring::new(IN_MEMORY), label, line: String::new() });
        let live = Arc::new(Live { id, user: cx.user(), record, state, readable, orders, ended });
        locked(&self.0.live).insert(id, live.clone());
        let view = live.view();
        let pump = Pump {
            sessions: self.clone(),
            stream: Stream::new(self.0.scrubber.clone(), if new.terminal { Keep::Terminal } else { Keep::Text }),
            bus: cx.ports().bus.clone(),
            clock: cx.ports().clock.clone(),
            live,
            reported: 0,
            last_event: None,
        };
        // Apart from the call, which ends now.
        tokio::spawn(async move {
            pump.run(process, receiver, finish).await;
            let _ = end.send(true);
        });
        Ok(view)
    }

    async fn add(&self, id: Id, stamp: Stamp, record: SessionRecord) -> Result<()> {
        let this = self.0.clone();
        let running: Vec<Id> = locked(&this.live).keys().copied().collect();
        let written = this.records.store().clone();
        let done = written.write(move |tx| {
            this.records.put(tx, id, &stamp, &record)?;
            let mut all: Vec<Id> =
                this.records.find(tx, stamp.scope, ALL, &[])?.into_iter().map(|entry| entry.id).collect();
            all.retain(|other| *other != id && !running.contains(other));
            all.sort_unstable();
            let excess = (all.len() + 1).saturating_sub(ENDED);
            for old in all.into_iter().take(excess) {
                this.records.remove(tx, stamp.scope, old)?;
                this.outputs.remove(tx, stamp.scope, old)?;
            }
            Ok(())
        });
        Ok(done.await?)
    }

    /// The caller's programs, newest first; `kind` narrows them.
    ///
    /// # Errors
    /// As every read.
    pub fn list(&self, cx: &Cx, kind: Option<&str>) -> Result<Vec<Session>> {
        let listing = Listing { by: Some((ALL, vec![])), ..Listing::default() };
        let all = self.0.records.list(cx, &listing)?.into_iter();
        let mut all: Vec<Session> = all
            .filter(|entry| entry.owner == cx.user() && kind.is_none_or(|kind| entry.value.kind == kind))
            .map(|entry| self.of_record(entry.id, entry.value, entry.label))
            .collect();
        all.sort_unstable_by_key(|session| std::cmp::Reverse(session.id));
        Ok(all)
    }

    /// One of the caller's programs.
    ///
    /// # Errors
    /// `NotFound` where they have none with this id.
    pub fn get(&self, cx: &Cx, id: Id) -> Result<Session> {
        let found = self.0.records.peek(cx, id)?.filter(|entry| entry.owner == cx.user());
        let entry = found.ok_or_else(no_such)?;
        Ok(self.of_record(id, entry.value, entry.label))
    }

    /// A part of what it printed, from an offset on; `None` is its end. What came from outside taints the run.
    ///
    /// # Errors
    /// `NotFound` where the caller has no such program.
    pub fn read(&self, cx: &Cx, id: Id, from: Option<u64>, most: usize) -> Result<(Session, Part)> {
        let session = self.get(cx, id)?;
        let live = locked(&self.0.live).get(&id).cloned();
        let (part, label) = match live {
            Some(live) => {
                live.look();
                let state = locked(&live.state);
                (part(&state.ring, from, most), state.label)
            }
            None => {
                let stored = self.0.outputs.peek(cx, id)?;
                let label = stored.as_ref().map_or(Label::Own, |entry| entry.label);
                let ring = stored.map_or(Ring::new(0), |entry| Ring::restored(entry.value.text, entry.value.start));
                (part(&ring, from, most), label)
            }
        };
        cx.taint(if session.outside { Label::Outside } else { label });
        Ok((session, part))
    }

    fn of_record(&self, id: Id, record: SessionRecord, label: Label) -> Session {
        match locked(&self.0.live).get(&id) {
            Some(live) => live.view(),
            // It ended with the Hob that started it.
            None if record.status == Status::Running => {
                view(id, SessionRecord { status: Status::Lost, ..record }, label)
            }
            None => view(id, record, label),
        }
    }

    fn live(&self, cx: &Cx, id: Id) -> Result<Arc<Live>> {
        let session = self.get(cx, id)?;
        let live = locked(&self.0.live).get(&id).cloned();
        live.ok_or_else(|| {
            Error::unavailable(format!("“{}” does not run any more: read its output instead", session.title))
        })
    }

    /// Gives a running program input; `None` ends its input.
    ///
    /// # Errors
    /// `BadArgs` for too much; `Unavailable` where it has ended or does not read.
    pub async fn write(&self, cx: &Cx, id: Id, text: Option<String>) -> Result<()> {
        let live = self.live(cx, id)?;
        let Some(text) = text else { return live.order(Order::CloseInput).await };
        if text.len() > INPUT {
            return Err(Error::bad_args(format!("the input is longer than {} KB: give it in parts", INPUT / 1024)));
        }
        {
            let mut state = locked(&live.state);
            // What it prints may be what was typed.
            state.label = state.label.max(cx.label());
            state.line.push_str(&text);
            let begin = state.line.rfind('\n').map_or(0, |at| at + 1).max(state.line.len().saturating_sub(LINE));
            let begin = state.line.ceil_char_boundary(begin);
            state.line.drain(..begin);
        }
        let (done, read) = oneshot::channel();
        live.order(Order::Input(text, done)).await?;
        match timeout(READS_INPUT * 2, read).await {
            Ok(Ok(true)) => Ok(()),
            _ => Err(Error::unavailable("the program does not read its input: wait, or stop it")),
        }
    }

    /// What was typed into a program since the last line break, in parts.
    ///
    /// # Errors
    /// `NotFound` where the caller has no such program.
    pub fn unfinished(&self, cx: &Cx, id: Id) -> Result<String> {
        self.get(cx, id)?;
        let live = locked(&self.0.live).get(&id).cloned();
        Ok(live.map(|live| locked(&live.state).line.clone()).unwrap_or_default())
    }

    /// Stops a running program.
    ///
    /// # Errors
    /// `Unavailable` where it has ended.
    pub async fn stop(&self, cx: &Cx, id: Id) -> Result<Session> {
        let live = self.live(cx, id)?;
        live.order(Order::Stop).await?;
        let mut ended = live.ended.clone();
        let _ = timeout(READS_INPUT, ended.wait_for(|ended| *ended)).await;
        self.get(cx, id)
    }

    /// Sets the size of a program's terminal.
    ///
    /// # Errors
    /// `BadArgs` for a size that no terminal has; `Unavailable` where it has ended.
    pub async fn resize(&self, cx: &Cx, id: Id, columns: u16, rows: u16) -> Result<()> {
        if !(2..=500).contains(&columns) || !(2..=500).contains(&rows) {
            return Err(Error::bad_args("a terminal has 2 to 500 columns and rows"));
        }
        self.live(cx, id)?.order(Order::Resize(columns, rows)).await
    }

    /// Waits until a program has ended, at most this long; returns whether it has.
    ///
    /// # Errors
    /// `NotFound` where the caller has no such program.
    pub async fn wait(&self, cx: &Cx, id: Id, at_most: Duration) -> Result<bool> {
        self.get(cx, id)?;
        let Some(live) = locked(&self.0.live).get(&id).cloned() else { return Ok(true) };
        let mut ended = live.ended.clone();
        Ok(timeout(at_most, ended.wait_for(|ended| *ended)).await.is_ok())
    }

    /// Stops every program and waits until their ends are stored, at most this long.
    pub async fn stop_all(&self, at_most: Duration) {
        let all: Vec<Arc<Live>> = locked(&self.0.live).values().cloned().collect();
        let ends = all.iter().map(|live| async move {
            let _ = live.orders.send(Order::Stop).await;
            let mut ended = live.ended.clone();
            let _ = ended.wait_for(|ended| *ended).await;
        });
        let _ = timeout(at_most, futures::future::join_all(ends)).await;
    }
}

fn no_such() -> Error {
    Error::not_found("there is no such program: list the programs to see their ids")
}

fn part(ring: &Ring, from: Option<u64>, most: usize) -> Part {
    from.map_or_else(|| ring.tail(most), |from| ring.part(from, most))
}

fn view(id: Id, record: SessionRecord, label: Label) -> Session {
    Session {
        id,
        kind: record.kind,
        title: record.title,
        command: record.command,
        folder: record.folder,
        status: record.status,
        exit_code: record.code,
        started_at: record.started,
        ended_at: record.ended,
        terminal: record.terminal,
        outside: label == Label::Outside,
        details: serde_json::from_str(&record.details).unwrap_or_default(),
    }
}

fn now(cx: &Cx) -> u64 {
    cx.ports().clock.now().as_millisecond().max(0) as u64
}

impl Live {
    /// Looks at what it can read by now.
    fn look(&self) {
        let label = (self.readable)();
        let mut state = locked(&self.state);
        state.label = state.label.max(label);
    }

    fn view(&self) -> Session {
        view(self.id, self.record.clone(), locked(&self.state).label)
    }

    async fn order(&self, order: Order) -> Result<()> {
        let sent = timeout(READS_INPUT, self.orders.send(order)).await;
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Error::unavailable("the program has just ended: read its output instead")),
            Err(_) => Err(Error::unavailable("the program does not read its input: wait, or stop it")),
        }
    }
}

/// The status and exit code of a program that ended.
pub fn status(ended: &Ended) -> (Status, Option<i32>) {
    match ended {
        Ended::Exited(code) => (Status::Exited, Some(*code)),
        Ended::Signaled(signal) => (Status::Killed, Some(-*signal)),
        Ended::TimedOut => (Status::TimedOut, None),
        Ended::OutOfMemory => (Status::OutOfMemory, None),
        Ended::OutputLimit => (Status::OutputLimit, None),
        Ended::DiskFull => (Status::DiskFull, None),
        Ended::Stopped => (Status::Stopped, None),
    }
}

/// Takes a program's output in until it ends.
struct Pump {
    sessions: Sessions,
    stream: Stream,
    bus: Bus,
    clock: Arc<dyn tool::Clock>,
    live: Arc<Live>,
    /// The offset up to which events reported the output.
    reported: u64,
    last_event: Option<Instant>,
}

impl Pump {
    async fn run(mut self, mut process: Process, mut orders: mpsc::Receiver<Order>, finish: Finish) {
        let mut has_spoken = false;
        loop {
            let pause = if self.is_behind() { EVENT_EVERY } else { SILENCE };
            let has_news = self.is_behind() || has_spoken;
            tokio::select! {
                chunk = process.next() => match chunk {
                    Some(chunk) => {
                        has_spoken = true;
                        let text = self.stream.push(&chunk.bytes);
                        self.show(&text);
                    }
                    None => break,
                },
                Some(order) = orders.recv() => match order {
                    Order::Input(text, done) => {
                        let written = timeout(READS_INPUT, process.write(text.as_bytes())).await;
                        let _ = done.send(matches!(written, Ok(Ok(()))));
                    }
                    Order::CloseInput => process.close_stdin(),
                    Order::Resize(columns, rows) => process.resize(process_sandbox::TerminalSize { columns, rows }),
                    Order::Stop => process.stop(),
                },
                () = tokio::time::sleep(pause), if has_news => {
                    has_spoken = false;
                    let text = self.stream.quiet();
                    self.show(&text);
                    self.report(true);
                }
            }
        }
        let ended = process.wait().await;
        let rest = self.stream.end(breaks_off(ended));
        self.show(&rest);
        self.report(true);
        self.close(ended, finish).await;
    }

    fn show(&mut self, text: &str) {
        if !text.is_empty() {
            locked(&self.live.state).ring.push(text);
            self.report(false);
        }
    }

    fn is_behind(&self) -> bool {
        locked(&self.live.state).ring.end() > self.reported
    }

    /// Publishes new output to the person, not too often.
    fn report(&mut self, is_due: bool) {
        let is_due = is_due || self.last_event.is_none_or(|last| last.elapsed() >= EVENT_EVERY);
        if !is_due || !self.is_behind() {
            return;
        }
        let part = {
            let ring = &locked(&self.live.state).ring;
            let from = self.reported.max(ring.end().saturating_sub(EVENT_TEXT as u64));
            ring.part(from, EVENT_TEXT)
        };
        (self.reported, self.last_event) = (part.next, Some(Instant::now()));
        let data = json!({"id": self.live.id, "from": part.from, "next": part.next, "text": part.text});
        self.bus.publish("process:output", Some(self.live.user), data);
    }

    async fn close(self, ended: Ended, finish: Finish) {
        let live = &self.live;
        let (status, code) = self::status(&ended);
        live.look();
        let (tail, label) = {
            let state = locked(&live.state);
            (state.ring.tail(STORED), state.label)
        };
        let details = finish(Over { status, code, output: &tail.text, label }).await;
        let at = self.clock.now().as_millisecond().max(0) as u64;
        let details = details.map(|details| details.to_string());
        let (shared, id, scope) = (self.sessions.0.clone(), live.id, Scope::User(live.user));
        let stamp = Stamp { scope, owner: live.user, audience: Audience::Private, label, source: "process".into() };
        let output = OutputRecord { text: tail.text, start: tail.from };
        let (store, records) = (shared.records.store().clone(), shared.clone());
        let stored = store.write(move |tx| {
            records.outputs.put(tx, id, &stamp, &output)?;
            records.records.change(tx, scope, label, id, &mut |record| {
                (record.status, record.code, record.ended) = (status, code, Some(at));
                if let Some(details) = &details {
                    record.details.clone_from(details);
                }
                Ok(())
            })?;
            Ok(())
        });
        if let Err(error) = stored.await {
            tracing::warn!(%error, %id, "the end of a program could not be stored");
        }
        locked(&shared.live).remove(&id);
        let data = json!({"id": id, "kind": live.record.kind, "title": live.record.title, "status": status, "exitCode": code,
                          "durationMs": at.saturating_sub(live.record.started)});
        self.bus.publish("process:ended", Some(live.user), data);
    }
}
