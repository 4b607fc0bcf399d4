//! The context of one call: its caller, its channel, its run, and the ports.

use crate::{
    AgentId, Answer, Bounds, Channel, Consent, Error, Id, Label, Output, Owner, Pause, Peer, Ports, Principal,
    Question, Result, UserId, Via,
    bounds::{KnownUrls, Tally},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};
use tokio_util::sync::CancellationToken;

/// How deep calls may call calls.
pub const MAX_DEPTH: u8 = 8;
/// How many calls tools may make in one request or run: otherwise a tool that calls itself forty times would fill eight
/// levels.
const MAX_NESTED: u32 = 500;

/// The context of a call. Cheap to clone; a door creates it ([`Cx::root`]), and on the way down it is only narrowed.
#[derive(Clone)]
pub struct Cx(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    call: Id,
    run: Option<Id>,
    conversation: Option<Id>,
    principal: Principal,
    via: Via,
    maker: Owner,
    /// How many tools of this chain are not built in.
    made: u8,
    depth: u8,
    /// Whether a tool above this call was decided on as one that opens something.
    opened: bool,
    /// Whether a tool that is no facade is above this call.
    inside: bool,
    /// Whether only `use_tool` is above this call, so that the model's own call repeats it.
    plain: bool,
    /// The same for the call above: dispatch has made a call of this one since.
    direct: bool,
    workspace: Option<PathBuf>,
    bounds: Arc<Bounds>,
    /// Shared by the calls of a run: the time a person was asked, and URLs that no model made up.
    pause: Pause,
    known: KnownUrls,
    /// Shared by every call of a run: once it has read something from outside, the run stays tainted.
    tainted: Arc<AtomicBool>,
    /// Shared in the same way: the other members whose words it has read.
    authors: Arc<Mutex<Vec<UserId>>>,
    /// Shared in the same way: how many calls tools have made.
    nested: Arc<AtomicU32>,
    /// Shared in the same way, also with runs that this one started.
    tally: Tally,
    cancel: CancellationToken,
    ports: Ports,
}

impl Cx {
    /// The context of a request that a door received.
    pub fn root(ports: Ports, principal: Principal, via: Via) -> Self {
        Self(Arc::new(Inner {
            call: Id::new(),
            run: None,
            conversation: None,
            principal,
            via,
            maker: Owner::Core,
            made: 0,
            depth: 0,
            opened: false,
            inside: false,
            plain: true,
            direct: true,
            workspace: None,
            bounds: Arc::default(),
            pause: Pause::default(),
            known: KnownUrls::default(),
            tainted: Arc::default(),
            authors: Arc::default(),
            nested: Arc::default(),
            tally: Tally::default(),
            cancel: CancellationToken::new(),
            ports,
        }))
    }

    /// The same caller within a run, and a conversation where there is one. Cancelling the token ends every call of the run.
    pub fn in_run(&self, run: Id, conversation: impl Into<Option<Id>>, cancel: CancellationToken) -> Self {
        self.with(|c| {
            c.run = Some(run);
            c.conversation = conversation.into();
            c.cancel = cancel;
            // Its calls have their own keys.
            if c.bounds.effect.is_some() {
                c.bounds = Arc::new(Bounds { effect: None, ..(*c.bounds).clone() });
            }
            // A run resumes by itself, so its model's calls can be repeated. Not where a custom tool started it: its part in
            // the run is known only while it waits.
            if c.maker == Owner::Core {
                (c.plain, c.direct) = (true, true);
            }
        })
    }

    /// The same caller at one tool call: a new call id, and the owner of the tool. Dispatch does this. The owner of the first
    /// tool in the chain that is not built in stays, whatever that tool calls.
    pub fn at_call(&self, tool: &str, owner: &Owner) -> Self {
        self.with(|c| {
            c.call = Id::new();
            c.direct = c.plain;
            c.plain &= tool == "use_tool";
            if *owner != Owner::Core {
                c.made += 1;
            }
            if c.maker == Owner::Core {
                c.maker = owner.clone();
            }
            c.cancel = self.0.cancel.child_token();
        })
    }

    /// The same caller below a call that opens something and was decided on as such: dispatch does this, so that nobody is
    /// asked about the same thing twice.
    pub fn opening(&self) -> Self {
        self.with(|c| c.opened = true)
    }

    /// The same caller below a call of a tool that is no facade: dispatch does this.
    pub fn inside(&self) -> Self {
        self.with(|c| c.inside = true)
    }

    /// The same caller within bounds, with its own pause clock. The agent sets them at each call of the model.
    pub fn bounded(&self, bounds: Bounds) -> Self {
        self.with(|c| (c.bounds, c.pause) = (Arc::new(bounds), Pause::default()))
    }

    /// The same caller, with a folder for file tools.
    pub fn in_workspace(&self, folder: PathBuf) -> Self {
        self.with(|c| c.workspace = Some(folder))
    }

    fn with(&self, change: impl FnOnce(&mut Inner)) -> Self {
        let mut inner = (*self.0).clone();
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// This call's id.
    pub fn call_id(&self) -> Id {
        self.0.call
    }
    /// The run this call is part of.
    pub fn run(&self) -> Option<Id> {
        self.0.run
    }
    /// The conversation this call is part of.
    pub fn conversation(&self) -> Option<Id> {
        self.0.conversation
    }
    /// On whose behalf.
    pub fn principal(&self) -> &Principal {
        &self.0.principal
    }
    /// The person.
    pub fn user(&self) -> UserId {
        self.0.principal.user
    }
    /// The agent that acts for them.
    pub fn agent(&self) -> AgentId {
        self.0.principal.agent
    }
    /// How the call came in.
    pub fn via(&self) -> &Via {
        &self.0.via
    }
    /// The channel.
    pub fn channel(&self) -> Channel {
        self.0.via.channel
    }
    /// The owner of the outermost tool in this chain that is not built in; `Core` when there is none.
    pub fn maker(&self) -> &Owner {
        &self.0.maker
    }
    /// Whether a tool above this call was decided on as one that opens something.
    pub fn is_opening(&self) -> bool {
        self.0.opened
    }
    /// Whether a tool that is no facade makes this call.
    pub fn is_inside(&self) -> bool {
        self.0.inside
    }
    /// Whether somebody speaks in a room: anybody there can, and everybody there hears the answer.
    pub fn is_by_voice(&self) -> bool {
        self.0.principal.user == UserId::VOICE || self.0.via.peer == Peer::Voice
    }
    /// Whether this tool is not built in and another such tool waits for it.
    pub fn is_nested(&self) -> bool {
        self.0.made > 1
    }
    /// The bounds of the run.
    pub fn bounds(&self) -> &Bounds {
        &self.0.bounds
    }
    /// Whether a person has approved exactly this call; true once.
    pub fn has_consent(&self, tool: &str, version: u32, digest: &[u8; 32]) -> bool {
        self.0.bounds.consent.as_ref().is_some_and(|c: &Consent| c.covers(tool, version, digest))
    }
    /// Whether a person makes this call directly: without a run, a schedule or a custom tool in between.
    pub fn is_in_person(&self) -> bool {
        self.0.run.is_none() && self.0.maker == Owner::Core && self.0.via.channel != Channel::Machine
    }
    /// Whether a model decided on this call, or on the call above it.
    pub fn is_by_model(&self) -> bool {
        self.0.run.is_some() && self.0.bounds.model_call.is_some() && !self.0.bounds.by_word
    }
    /// Counts one `action` of this request or run, including runs it started; `false` when the count is already `most`.
    pub fn try_count(&self, action: &'static str, most: u32) -> bool {
        self.0.tally.take(action, most)
    }
    /// Takes back the count of an action that failed.
    pub fn uncount(&self, action: &'static str) {
        self.0.tally.give_back(action);
    }
    /// Whether only `use_tool` is above this call, so that the model's own call repeats it.
    pub fn is_plain(&self) -> bool {
        self.0.plain
    }
    /// For a running tool: whether only `use_tool` is above its own call, so that it runs again when the model's call is
    /// repeated.
    pub fn is_direct(&self) -> bool {
        self.0.direct
    }
    /// Time that does not count against this chain of calls.
    pub fn pause(&self) -> &Pause {
        &self.0.pause
    }
    /// Records the URLs in a text as not made up by a model: the person wrote them, or a search returned them.
    pub fn vouch_for(&self, text: &str) {
        self.0.known.add(text);
    }
    /// Whether this URL is recorded as not made up.
    pub fn knows(&self, url: &str) -> bool {
        self.0.known.has(url)
    }
    /// Whether this URL is recorded as not made up, its fragment included.
    pub fn knows_whole(&self, url: &str) -> bool {
        self.0.known.has_whole(url)
    }
    /// How many calls are above this one.
    pub fn depth(&self) -> u8 {
        self.0.depth
    }
    /// The folder for file tools, where there is one.
    pub fn workspace(&self) -> Option<&Path> {
        self.0.workspace.as_deref()
    }
    /// The ports.
    pub fn ports(&self) -> &Ports {
        &self.0.ports
    }

    /// The worst label of anything this run has read.
    pub fn label(&self) -> Label {
        if self.0.tainted.load(Ordering::Relaxed) {
            return Label::Outside;
        }
        self.authors().into_iter().map(Label::Member).fold(Label::Own, Label::max)
    }
    /// The other members of the household whose words this run has read.
    pub fn authors(&self) -> Vec<UserId> {
        self.0.authors.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
    /// The run has read something with this label, and takes the worse of both.
    pub fn taint(&self, label: Label) {
        match label {
            Label::Own => {}
            Label::Member(author) => {
                let mut authors = self.0.authors.lock().unwrap_or_else(PoisonError::into_inner);
                if author != self.user() && !authors.contains(&author) {
                    authors.push(author);
                }
            }
            Label::Outside => self.0.tainted.store(true, Ordering::Relaxed),
        }
    }

    /// The token that ends this call.
    pub fn cancel(&self) -> &CancellationToken {
        &self.0.cancel
    }

    /// Calls another tool as the same principal: same budget and taint, one level deeper.
    ///
    /// # Errors
    /// Those of the tool; `Denied` beyond [`MAX_DEPTH`], or when tools have made too many calls.
    pub async fn call(&self, name: &str, args: Value) -> Result<Output> {
        if self.0.depth >= MAX_DEPTH {
            return Err(Error::denied(format!(
                "calls are nested deeper than {MAX_DEPTH}: `{name}` was not called; call it from further up"
            )));
        }
        if self.0.depth > 0 && self.0.nested.fetch_add(1, Ordering::Relaxed) >= MAX_NESTED {
            return Err(Error::denied(format!(
                "tools made more than {MAX_NESTED} calls in one run: `{name}` was not called; do less at once"
            )));
        }
        let deeper = self.with(|c| c.depth += 1);
        self.0.ports.dispatch.call(deeper, name, args).await
    }

    /// Asks the person behind this call.
    ///
    /// # Errors
    /// `Unavailable` where nobody can be asked.
    pub async fn ask(&self, question: Question) -> Result<Answer> {
        self.0.ports.ask.ask(self.clone(), question).await
    }

    /// Publishes the progress of the call; `note` is a short phrase.
    pub fn progress(&self, note: &str) {
        let data = json!({"callId": self.0.call, "runId": self.0.run, "note": note});
        self.0.ports.bus.publish("tool:progress", Some(self.user()), data);
    }
}
