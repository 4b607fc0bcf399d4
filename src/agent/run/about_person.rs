//! Learns what a person says about themselves in a message, by rules, before it is answered.

use super::{ModelAttribution, Run};
use persona::{Statement, statements};
use policy::Verdict;
use tool::{Bounds, Channel, Label, Peer, UserId};

/// The tool that stores it.
const TOOL: &str = "update_profile";

impl Run {
    /// Stores lasting statements of the person in their profile, as a call like any other, which they can undo. Only what they
    /// write themselves into a conversation of their own counts, and only where no rule would ask about the call. Statements
    /// that reflex answers with a call are left to it.
    pub(super) async fn learn_about_person(&self) {
        let (cx, reflex) = (&self.cx, !self.provider.reads_context());
        let alone = cx.via().peer == Peer::Direct && cx.channel() != Channel::Machine && cx.user() != UserId::VOICE;
        if self.conversation.is_none() || !alone || cx.label() != Label::Own {
            return;
        }
        let mut all = statements(&self.text);
        all.retain(|statement| !(reflex && statement.is_addressed()));
        let registry = &self.agent.parts.registry;
        let Some(tool) = registry.get(TOOL).filter(|tool| tool.enabled && !all.is_empty()) else { return };
        let args = Statement::arguments(&all);
        let by = ModelAttribution { model: String::new(), by_word: true };
        let cx = cx.bounded(Bounds { effect: None, begins: None, ..self.bounds(None, &by, None) });
        if registry.explain(&cx, &tool, &args).0.verdict != Verdict::Allow {
            return;
        }
        if let Err(error) = cx.call(TOOL, args).await {
            // A full profile, or a full disk: the message is answered all the same.
            tracing::debug!(run = ?self.cx.run(), %error, "nothing was learned about the person");
        }
    }
}
