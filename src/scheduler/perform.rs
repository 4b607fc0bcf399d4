//! Making a call that was written down, when no person is there.

use crate::{Scheduler, Who};
use tokio_util::sync::CancellationToken;
use tool::{Bounds, Channel, Consent, Cx, Error, Id, Label, Output, Peer, PreauthorizedCall, Principal, Result, Via};

impl Scheduler {
    /// Makes a call on behalf of `who`, as they may now: their role of today counts, and what they said yes to when the call
    /// was written down. `label` is that of the record it stands in. `effect` is the
    /// idempotency key of the call.
    ///
    /// # Errors
    /// `Denied` when the person is gone or may no longer; `Unavailable` when it was stopped; what the tool answers.
    pub async fn perform(
        &self,
        who: &Who,
        armed: &PreauthorizedCall,
        label: Label,
        cancel: &CancellationToken,
        effect: Option<Id>,
    ) -> Result<Output> {
        let Some(role) = self.0.ports.people.role_of(who.user)? else {
            return Err(Error::denied("the person this was made for does not live here any more"));
        };
        let principal = Principal { user: who.user, role, agent: who.agent };
        let via = Via { channel: Channel::Machine, chat: None, peer: Peer::Machine, clear: who.clear };
        let consent = armed.consented.then(|| Consent::new(armed.tool.as_str().into(), armed.version, armed.digest));
        let cx =
            Cx::root(self.0.ports.clone(), principal, via).bounded(Bounds { consent, effect, ..Bounds::default() });
        cx.taint(label);
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::unavailable(format!("`{}` was stopped: Hob is closing", armed.tool))),
            done = cx.call(&armed.tool, armed.args.clone()) => done,
        };
        // What it read on the way counts as much as where its answer says it is from.
        done.map(|output| Output { label: output.label.max(cx.label()), ..output })
    }
}
