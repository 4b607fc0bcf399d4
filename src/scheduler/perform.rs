//! Makes a pre-authorized call when no person is present.

use crate::{Scheduler, Who};
use tokio_util::sync::CancellationToken;
use tool::{Bounds, Channel, Consent, Cx, Error, Id, Label, Output, Peer, PreauthorizedCall, Principal, Result, Via};

impl Scheduler {
    /// Makes a call on behalf of `who`, with their current role and the consent they gave when the call was stored.
    /// `label` is the label of the record that stores the call; `effect` is the call's idempotency key.
    ///
    /// # Errors
    /// `Denied` if the person was removed or lost the right; `Unavailable` if it was stopped; otherwise the tool's
    /// error.
    pub async fn perform(
        &self,
        who: &Who,
        armed: &PreauthorizedCall,
        label: Label,
        cancel: &CancellationToken,
        effect: Option<Id>,
    ) -> Result<Output> {
        let Some(role) = self.0.ports.people.role_of(who.user)? else {
            return Err(Error::denied("the person this was created for was removed"));
        };
        let principal = Principal { user: who.user, role, agent: who.agent };
        let via = Via { channel: Channel::Machine, chat: None, peer: Peer::Machine, clear: who.clear, token: None };
        let consent = armed.consented.then(|| Consent::new(armed.tool.as_str().into(), armed.version, armed.digest));
        let cx =
            Cx::root(self.0.ports.clone(), principal, via).bounded(Bounds { consent, effect, ..Bounds::default() });
        cx.taint(label);
        let done = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Error::unavailable(format!("`{}` was stopped: Hob is closing", armed.tool))),
            done = cx.call(&armed.tool, armed.args.clone()) => done,
        };
        // Content read on the way taints the answer too.
        done.map(|output| Output { label: output.label.max(cx.label()), ..output })
    }
}
