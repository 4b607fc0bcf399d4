//! The context of one call: who, where, on whose behalf, and the ports.

use crate::{
    AgentId, Answer, Bounds, Channel, Consent, Error, Id, Label, Output, Owner, Pause, Ports, Principal, Question,
    Result, UserId, Via,
    bounds::{KnownUrls, Tally},
};
use serde_json::{Value, json};
use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};
use tokio_util::sync::CancellationToken;

/// How deep calls may call calls.
pub const MAX_DEPTH: u8 = 8;
/// How many calls tools may make in all within one request or run: a tool that calls itself forty times would else fill
/// eight levels.
const MAX_NESTED: u32 = 500;

/// What a call knows. Cheap to clone; made by a door ([`Cx::root`]) and narrowed on the way down, never widened.
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
    /// How many tools in this chain are not Hob's own.
    made: u8,
    depth: u8,
    /// Whether nothing but `use_tool` stands above this call, so that it can be made again from the model's own call.
    plain: bool,
    /// The same of the call above it: dispatch has made a call of this one since.
    direct: bool,
    workspace: Option<PathBuf>,
    bounds: Arc<Bounds>,
    /// Shared by the calls of a run: time during which a person was asked, and addresses nobody made up.
    pause: Pause,
    known: KnownUrls,
    /// Shared by every call of a run: once something from outside was read, the run stays tainted.
    tainted: Arc<AtomicBool>,
    /// Shared likewise: how many calls tools have made so far.
    nested: Arc<AtomicU32>,
    /// Shared likewise, runs below this one among them.
    tally: Tally,
    cancel: CancellationToken,
    ports: Ports,
}

impl Cx {
    /// The context of something a door received.
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
            plain: true,
            direct: true,
            workspace: None,
            bounds: Arc::default(),
            pause: Pause::default(),
            known: KnownUrls::default(),
            tainted: Arc::default(),
            nested: Arc::default(),
            tally: Tally::default(),
            cancel: CancellationToken::new(),
            ports,
        }))
    }

    /// The same caller within a run, of a conversation where one is kept; cancelling the token ends every call of the run.
    pub fn in_run(&self, run: Id, conversation: impl Into<Option<Id>>, cancel: CancellationToken) -> Self {
        self.with(|c| {
            c.run = Some(run);
            c.conversation = conversation.into();
            c.cancel = cancel;
            // Its calls have keys of their own.
            if c.bounds.effect.is_some() {
                c.bounds = Arc::new(Bounds { effect: None, ..(*c.bounds).clone() });
            }
            // A run is gone on with by itself, whoever began it: the calls of its model can be made again. Not where
            // somebody's tool began it, whose part in it is known only as long as it waits.
            if c.maker == Owner::Core {
                (c.plain, c.direct) = (true, true);
            }
        })
    }

    /// The same caller at one tool call: a fresh call id, and who made the tool. Dispatch does this. Once a tool that is
    /// not Hob's own is in the chain its maker stays, whatever it calls through.
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

    /// The same caller within bounds, with a clock of its own. The agent sets them at each call of the model.
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
    /// The way the call came in.
    pub fn via(&self) -> &Via {
        &self.0.via
    }
    /// The door.
    pub fn channel(&self) -> Channel {
        self.0.via.channel
    }
    /// Who made the outermost tool in this chain of calls that is not Hob's own; `Core` when there is none.
    pub fn maker(&self) -> &Owner {
        &self.0.maker
    }
    /// Whether a tool that is not Hob's own waits for this one, which is none of Hob's either.
    pub fn is_nested(&self) -> bool {
        self.0.made > 1
    }
    /// What the run is bound by.
    pub fn bounds(&self) -> &Bounds {
        &self.0.bounds
    }
    /// Whether a person has already said yes to just this call; true once.
    pub fn has_consent(&self, tool: &str, version: u32, digest: &[u8; 32]) -> bool {
        self.0.bounds.consent.as_ref().is_some_and(|c: &Consent| c.covers(tool, version, digest))
    }
    /// Whether a person makes this call with their own hand: no run, no schedule, and no tool of anybody's in between.
    pub fn is_in_person(&self) -> bool {
        self.0.run.is_none() && self.0.maker == Owner::Core && self.0.via.channel != Channel::Machine
    }
    /// Whether a model decided to make this call, or the call above it.
    pub fn is_by_model(&self) -> bool {
        self.0.run.is_some() && self.0.bounds.model_call.is_some() && !self.0.bounds.by_word
    }
    /// Counts one `action` of this request or run, and of the runs below it; `false` when it was counted `most` times already.
    pub fn try_count(&self, action: &'static str, most: u32) -> bool {
        self.0.tally.take(action, most)
    }
    /// An action that was counted came to nothing.
    pub fn uncount(&self, action: &'static str) {
        self.0.tally.give_back(action);
    }
    /// Whether nothing but `use_tool` stands above this call, so that it can be made again from the model's own call.
    pub fn is_plain(&self) -> bool {
        self.0.plain
    }
    /// For a tool that runs: whether nothing but `use_tool` stands above its own call, so that it is called again when the
    /// model's call is made again.
    pub fn is_direct(&self) -> bool {
        self.0.direct
    }
    /// Time that does not count against this chain of calls.
    pub fn pause(&self) -> &Pause {
        &self.0.pause
    }
    /// The addresses in this text were not made up by a model: the person wrote them, or a search gave them.
    pub fn vouch_for(&self, text: &str) {
        self.0.known.add(text);
    }
    /// Whether somebody vouched for this address.
    pub fn knows(&self, url: &str) -> bool {
        self.0.known.has(url)
    }
    /// How many calls stand above this one.
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

    /// `Outside` once anything from outside was read in this run.
    pub fn label(&self) -> Label {
        if self.0.tainted.load(Ordering::Relaxed) { Label::Outside } else { Label::Own }
    }
    /// Something with this label was read: the run takes the worse of both.
    pub fn taint(&self, label: Label) {
        if label == Label::Outside {
            self.0.tainted.store(true, Ordering::Relaxed);
        }
    }

    /// The token that ends this call.
    pub fn cancel(&self) -> &CancellationToken {
        &self.0.cancel
    }

    /// Calls another tool as the same principal: same budget and taint, one level deeper.
    ///
    /// # Errors
    /// Whatever the tool answers; `Denied` beyond [`MAX_DEPTH`], or when tools have made too many calls.
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

    /// Tells how far the call has come; `note` is a short plain phrase.
    pub fn progress(&self, note: &str) {
        let data = json!({"callId": self.0.call, "runId": self.0.run, "note": note});
        self.0.ports.bus.publish("tool:progress", Some(self.user()), data);
    }
}
