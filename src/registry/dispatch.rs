//! The dispatch: every call of every tool goes through here, once.

use crate::{
    Registry,
    approvals::ApprovalRequest,
    call::{Call, through},
    entry::Entry,
    validate,
};
use futures::{FutureExt, future::BoxFuture};
use policy::{Decision, DecisionRequest, Pattern, RuleOutcome, Verdict};
use serde_json::{Value, json};
use std::{panic::AssertUnwindSafe, pin::pin, sync::Arc, time::Duration};
use store::{ChangeSource, EffectSource};
use tool::{
    Answer, Ask, Channel, Consult, Cx, Dispatch, Error, Label, Output, Owner, Principal, Question, Result, Risk, Role,
    Tool, ToolInfo, UserId,
};
use tracing::Instrument;

/// How often to check whether a person is still being asked, once the timeout of a call has passed.
const LOOK: Duration = Duration::from_millis(200);
/// How long a cancelled call may take to return the result of a write in progress.
const FINISHES: Duration = Duration::from_millis(300);
/// How long the effect of a scheduled call may wait for the call's result.
const CLAIMED_CALL: Duration = Duration::from_millis(400);

impl Dispatch for Registry {
    fn call(&self, cx: Cx, name: &str, args: Value) -> BoxFuture<'static, Result<Output>> {
        let (registry, name) = (self.clone(), name.to_owned());
        Box::pin(async move { registry.dispatch(cx, &name, args).await })
    }

    fn list(&self, cx: &Cx) -> Vec<ToolInfo> {
        self.tools()
            .iter()
            .filter(|t| Registry::visible(cx, t) && self.may_ever(cx, t))
            .map(|t| ToolInfo {
                name: t.name.to_string(),
                description: t.description().to_owned(),
                parameters: t.parameters().clone(),
                risk: t.risk,
                label: t.label,
            })
            .collect()
    }
}

impl Registry {
    async fn dispatch(&self, cx: Cx, name: &str, args: Value) -> Result<Output> {
        let found = self.find(&cx, name)?;
        let args = found.adapted(validate::normalise(name, args)?);
        self.make(cx, found.entry, args).await
    }

    /// Calls a tool that need not be in the catalogue through the same checks, decision and limits, to try it out.
    ///
    /// # Errors
    /// Those of every call.
    pub async fn call_once(&self, cx: Cx, tool: Arc<Tool>, args: Value) -> Result<Output> {
        let args = validate::normalise(&tool.name, args)?;
        self.make(cx, Arc::new(Entry::new(tool)), args).await
    }

    async fn make(&self, cx: Cx, entry: Arc<Entry>, args: Value) -> Result<Output> {
        let span = tracing::info_span!("dispatch", tool = %entry.tool.name);
        let chain = self.chain();
        let made = through(&chain, Call::new(cx, entry, args), run_within_limits).instrument(span);
        // Writes of the steps are no effect of the call.
        store::with_effect(None, made).await
    }

    /// The decision about a call, and the outcome of each rule.
    pub fn explain(&self, cx: &Cx, tool: &Tool, args: &Value) -> (Decision, Vec<RuleOutcome>) {
        let (rules, knows) = (self.rules(), |url: &str| is_known(cx, tool, url));
        let authors = authors(cx);
        let asked = decision_request(cx, &authors, &knows, false, (tool, args));
        (policy::decide(&rules, &asked, tool, args), policy::explain(&rules, &asked, tool, args))
    }

    /// Whether this caller may ever call a tool: with some arguments, or after an approval.
    pub fn may_ever(&self, cx: &Cx, tool: &Tool) -> bool {
        let (knows, none) = (|_: &str| true, Value::Object(Default::default()));
        policy::decide(&self.rules(), &decision_request(cx, &[], &knows, true, (tool, &none)), tool, &none).verdict
            != Verdict::Deny
    }

    pub(crate) fn decide(&self, call: &Call, consented: bool) -> Decision {
        let knows = |url: &str| is_known(&call.caller, call.tool(), url);
        let (this, authors) = ((&**call.tool(), &call.args), authors(&call.caller));
        let asked = decision_request(&call.caller, &authors, &knows, consented, this);
        policy::decide(&self.rules(), &asked, call.tool(), &call.args)
    }

    /// Handles a call that is not simply allowed: asks a person, or refuses it.
    pub(crate) async fn ask_or_refuse(&self, call: &mut Call, mut decision: Decision) -> Result<()> {
        call.decision = Some(decision.clone());
        if decision.verdict == Verdict::Ask {
            let (tool, digest) = (call.tool().clone(), call.digest());
            if !call.caller.has_consent(&tool.name, tool.version, &digest) {
                call.approval = Some(self.ask_person(call, &decision, digest).await?);
            }
            // An answer takes time: the tool and the rules may have changed by now.
            if self.get(&tool.name).is_some_and(|now| now.version != tool.version || now.owner != tool.owner) {
                return Err(Error::denied(format!(
                    "`{}` was changed while a person was being asked: call it again",
                    tool.name
                )));
            }
            decision = self.decide(call, true);
            if decision.verdict == Verdict::Allow {
                call.decision = Some(decision);
                return Ok(());
            }
            call.decision = Some(decision.clone());
        }
        let (cx, name) = (&call.cx, &call.tool().name);
        let reason = self.scrubber().text(&decision.reason, scrub::How::All);
        let data = json!({"tool": name, "runId": cx.run(), "rule": decision.rule, "reason": reason});
        cx.ports().bus.publish("tool:refused", Some(cx.user()), data);
        Err(refusal(decision))
    }

    async fn ask_person(&self, call: &Call, decision: &Decision, digest: [u8; 32]) -> Result<tool::Id> {
        let tool = call.tool();
        let Some(desk) = self.desk() else { return Err(Error::denied(decision.reason.clone())) };
        let tainted = call.caller.label() != tool::Label::Own;
        let pattern = match tool.owner {
            Owner::Core => Pattern::exactly(&call.args),
            _ if tainted => Pattern::exactly(&call.args),
            _ => Pattern::any(),
        };
        let (args, secret) = self.masked(&tool.name, &call.args);
        let wish = ApprovalRequest {
            tool: tool.name.to_string(),
            version: tool.version,
            risk: tool.risk_of(&call.caller, &call.args),
            args,
            digest,
            about: tool.description().lines().next().unwrap_or_default().to_owned(),
            rule: decision.rule,
            reason: self.scrubber().text(&decision.reason, scrub::How::All).into_owned(),
            pattern: Some(pattern).filter(|p| !(secret && p.is_exact())),
            // A call is stored without its secrets, so one that has any cannot be made again later.
            suspends: call.caller.is_plain() && !secret,
        };
        desk.approvals.ask(&call.cx, wish).await
    }
}

/// The error of a refused call, with a sentence for people.
pub(crate) fn refusal(decision: Decision) -> Error {
    match decision.rule {
        "group-off" => Error::unavailable(decision.reason).say("That is turned off here. An admin can turn it on."),
        "voice" | "voice-approval" => Error::denied(decision.reason).say("I can't do that by voice. Use Hob's page."),
        // Only the role or the rights of this person keep them from it.
        _ => Error::denied(decision.reason).say("You may not do that here. Ask an admin of this Hob."),
    }
}

/// The other members whose words the run has read, with their roles; whoever is gone may only look.
fn authors(cx: &Cx) -> Vec<Principal> {
    let role = |user: UserId| match user {
        // The author is not stored, so the least rights are assumed.
        UserId::SOMEBODY => Role::Viewer,
        user => cx.ports().people.role_of(user).ok().flatten().unwrap_or_default(),
    };
    let authors = cx.authors().into_iter();
    authors.map(|user| Principal { user, role: role(user), agent: cx.agent() }).collect()
}

/// Whether no model made up what this tool would send to a URL.
fn is_known(cx: &Cx, tool: &Tool, url: &str) -> bool {
    if tool.runs_pages { cx.knows_whole(url) } else { cx.knows(url) }
}

/// A call as the input of a decision.
fn decision_request<'a>(
    cx: &'a Cx,
    authors: &'a [Principal],
    knows: &'a dyn Fn(&str) -> bool,
    consented: bool,
    (tool, args): (&Tool, &Value),
) -> DecisionRequest<'a> {
    // The check may read the store, and matters only in a tainted run.
    let looks = cx.label() != Label::Own && matches!(tool.risk, Risk::Write | Risk::Execute);
    DecisionRequest {
        principal: cx.principal(),
        via: cx.via(),
        maker: cx.maker(),
        in_run: cx.run().is_some(),
        bounds: cx.bounds(),
        label: cx.label(),
        authors,
        inside: cx.is_inside(),
        opens: !cx.is_opening() && tool.opens.as_ref().is_some_and(|opens| opens(args)),
        destroys: tool.destroys.as_ref().is_some_and(|destroys| destroys(cx, args)),
        additive: looks && tool.additive.as_ref().is_some_and(|only_adds| only_adds(cx, args)),
        knows,
        consented,
    }
}

/// Runs the function; a timeout, a cancelled run and a panic each end it with an error that says so. The time a person is
/// asked does not count.
async fn run_within_limits(cx: Cx, tool: Arc<Tool>, args: Value) -> Result<Output> {
    let name = &tool.name;
    let paused_before = cx.pause().total();
    let broke = || Error::failed(format!("`{name}` broke inside; this is a fault of Hob, and the log has more"));
    let opens = tool.opens.as_ref().is_some_and(|opens| opens(&args));
    let cx = if opens { cx.opening() } else { cx };
    let cx = if tool.meta { cx } else { cx.inside() };
    let run = store::with_effect(effect_of(&cx, &tool), (tool.run)(cx.clone(), args));
    let run = store::with_change(change_of(&cx, &tool), run);
    let run = store::with_soon(sync_within(&cx, &tool), run);
    let mut call = pin!(AssertUnwindSafe(run).catch_unwind());
    // Cancels on return everything the call has started and left running.
    let _guard = cx.cancel().clone().drop_guard();
    let began = tokio::time::Instant::now();
    let late = async {
        loop {
            let paused = cx.pause().total().saturating_sub(paused_before);
            let until = began + tool.timeout + paused;
            if tokio::time::Instant::now() < until {
                tokio::time::sleep_until(until).await;
            } else if cx.pause().is_on() {
                tokio::time::sleep(LOOK).await;
            } else {
                return;
            }
        }
    };
    let result = tokio::select! {
        biased;
        // Let a write in progress finish, and return its result.
        () = cx.cancel().cancelled() => match tokio::time::timeout(FINISHES, &mut call).await {
            Ok(done) => done.unwrap_or_else(|_| Err(broke())),
            Err(_) => Err(Error::unavailable(format!("`{name}` was stopped{}", in_doubt(&tool)))),
        },
        done = &mut call => done.unwrap_or_else(|_| Err(broke())),
        () = late => {
            let seconds = tool.timeout.as_secs();
            Err(Error::failed(format!("`{name}` took longer than {seconds} s and was stopped{}", in_doubt(&tool))))
        }
    };
    if let Ok(output) = &result {
        cx.taint(output.label);
    }
    result
}

/// The source of a tool's writes; `None` where the call has no key, or the tool only observes.
fn effect_of(cx: &Cx, tool: &Tool) -> Option<EffectSource> {
    let key = cx.bounds().effect.filter(|_| tool.risk.changes_something())?;
    Some(EffectSource { key, tool: tool.name.clone(), whole: cx.is_direct() })
}

/// Whether all that a call of this tool changes is one change. Calls of a batch belong to the batch.
pub(crate) fn is_change(tool: &Tool) -> bool {
    tool.risk.changes_something() || *tool.name == *crate::meta::BATCH_USE_TOOL
}

/// The change that a tool's writes belong to, unless it runs within another one.
fn change_of(cx: &Cx, tool: &Tool) -> Option<ChangeSource> {
    is_change(tool).then(|| ChangeSource {
        id: cx.call_id(),
        user: cx.user(),
        tool: tool.name.clone(),
        conversation: cx.conversation(),
        run: cx.run(),
        unattended: cx.channel() == Channel::Machine,
        undoes: None,
    })
}

/// Within which time the writes of a tool have to be durable; `None` is before each returns. A schedule's call that only
/// changes the store is made again when a power cut undoes all of it, so its claim, its effect and its result share a commit.
fn sync_within(cx: &Cx, tool: &Tool) -> Option<Duration> {
    let bounds = cx.bounds();
    match tool.is_confined() {
        // An effect outside the store must not come before what it follows from.
        false if tool.risk.changes_something() => None,
        true if cx.is_direct() && bounds.effect.is_some() && bounds.begins.is_none() => Some(CLAIMED_CALL),
        _ => store::sync_within(),
    }
}

/// A warning about an interrupted call, unless it only observed.
fn in_doubt(tool: &Tool) -> &'static str {
    match tool.risk {
        Risk::Observe => "",
        _ => ": whether it was done is not known, so look before doing it again",
    }
}

impl Ask for Registry {
    fn ask(&self, _: Cx, _: Question) -> BoxFuture<'static, Result<Answer>> {
        async { Err(Error::unavailable("nobody can be asked through this door yet")) }.boxed()
    }

    fn consult(&self, cx: Cx, consult: Consult) -> BoxFuture<'static, Result<()>> {
        let registry = self.clone();
        async move { registry.consulted(&cx, consult).await }.boxed()
    }
}

impl Registry {
    /// Judges what a tool wants to do while it runs; asks a person where that is required and no standing grant
    /// covers it.
    async fn consulted(&self, cx: &Cx, consult: Consult) -> Result<()> {
        let Consult { tool, version, action, details, risk, ask, about, reason } = consult;
        let denied = details["host"].as_str().and_then(|host| self.rules().host_denied(cx.principal(), host));
        let path = || details["path"].as_str().and_then(|path| self.rules().path_denied(cx.principal(), path));
        if let Some(reason) = denied.or_else(path) {
            return Err(Error::denied(reason));
        }
        if !ask {
            return Ok(());
        }
        let name = format!("{tool}#{action}");
        let Some(desk) = self.desk() else { return Err(Error::denied(reason)) };
        if self.rules().is_granted(cx.user(), &name, version, cx.label() != Label::Own, &details) {
            return Ok(());
        }
        let wish = ApprovalRequest {
            digest: crate::call::digest_of(&name, &details),
            pattern: Some(Pattern::exactly(&details)),
            tool: name,
            version,
            risk,
            args: details,
            about,
            rule: "consult",
            reason,
            // A tool in the middle of its work cannot be taken up again later.
            suspends: false,
        };
        desk.approvals.ask(cx, wish).await.map(drop)
    }
}
