//! The one decision: may this caller make this call? A pure function over data, so that it can be tabled.

use serde_json::Value;
use tool::{Channel, Label, Owner, Principal, Risk, Tool, Via};

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Go on.
    Allow,
    /// Only with a person's yes.
    Ask,
    /// No.
    Deny,
}

/// What was decided, and by which rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// What was decided.
    pub verdict: Verdict,
    /// The rule that decided.
    pub rule: &'static str,
    /// For the caller: why, and what would help. Empty on Allow.
    pub reason: String,
}

impl Decision {
    fn new(verdict: Verdict, rule: &'static str, reason: impl Into<String>) -> Self {
        Self { verdict, rule, reason: reason.into() }
    }
}

/// Who asks for a call, and how.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// On whose behalf.
    pub principal: &'a Principal,
    /// Through which door.
    pub via: &'a Via,
    /// Who made the custom tool in the chain of calls; `Core` when there is none.
    pub maker: &'a Owner,
    /// Whether a model asks, in a run; otherwise a person or program does.
    pub in_run: bool,
    /// What the run has read so far.
    pub label: Label,
}

/// Decides one call. `_args` is for path and host rules to come. Deny beats ask beats allow.
pub fn decide(asked: &Asked, tool: &Tool, _args: &Value) -> Decision {
    let Asked { principal, via, maker, in_run, label } = *asked;
    let name = &tool.name;
    if principal.role < tool.risk.least_role() {
        let role = tool.risk.least_role();
        return Decision::new(
            Verdict::Deny,
            "role",
            format!("`{name}` needs the role {role:?}: ask an admin of this Hob"),
        );
    }
    if let Owner::Model(user) = &tool.owner
        && (*user != principal.user || via.channel == Channel::Machine)
    {
        return Decision::new(
            Verdict::Deny,
            "model-made",
            format!(
                "`{name}` was written by a model and runs only for the person who asked for it, from their own door"
            ),
        );
    }
    if tool.requires_confirmation && *maker != Owner::Core {
        return Decision::new(
            Verdict::Deny,
            "confirmation-inside-tool",
            format!("`{name}` needs a person's yes, so a custom tool cannot call it: call it yourself"),
        );
    }
    if tool.requires_confirmation && in_run && matches!(tool.owner, Owner::Person(_)) {
        let text = format!("`{name}` is marked to need a person's yes each time: ask them to run it themselves");
        return Decision::new(Verdict::Ask, "marked-by-person", text);
    }
    // A custom tool runs in the sandbox, whose host judges what it fetches; what it calls is judged here again.
    let dangerous_when_tainted = matches!(tool.risk, Risk::Actuate | Risk::Send | Risk::Destroy | Risk::Admin)
        || (tool.requires_confirmation && tool.owner == Owner::Core);
    if label == Label::Outside && dangerous_when_tainted {
        return Decision::new(
            Verdict::Ask,
            "tainted",
            format!(
                "this run has read content from outside, so `{name}` needs a person's yes, and there is no way to give it \
                 yet: the person can ask for it in a new conversation"
            ),
        );
    }
    Decision::new(Verdict::Allow, "default", "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tool::{Id, Role, UserId};

    fn tool(risk: Risk, owner: Owner, confirm: bool) -> Tool {
        Tool {
            name: "t".into(),
            description: "".into(),
            parameters: Value::Null,
            risk,
            owner,
            category: "".into(),
            group: "".into(),
            aliases: vec![],
            tags: vec![],
            area: risk.area(),
            version: 0,
            instructs: false,
            digests: false,
            examples: vec![],
            requires_confirmation: confirm,
            enabled: true,
            timeout: Default::default(),
            run: Arc::new(|_, _| Box::pin(async { Ok(Default::default()) })),
        }
    }

    #[test]
    fn the_table() {
        use Role::{Member, Viewer};
        use {Channel::*, Label::*, Risk::*, Verdict::*};
        let me = UserId(Id::new());
        let other = UserId(Id::new());
        let core = || Owner::Core;
        let rows: Vec<(Role, Channel, Owner, Tool, Label, Verdict, &str)> = vec![
            (Viewer, Page, core(), tool(Observe, core(), false), Own, Allow, "default"),
            (Viewer, Page, core(), tool(Write, core(), false), Own, Deny, "role"),
            (Member, Page, core(), tool(Actuate, core(), false), Own, Allow, "default"),
            (Member, Page, core(), tool(Risk::Admin, core(), false), Own, Deny, "role"),
            (Role::Admin, Page, core(), tool(Risk::Admin, core(), false), Own, Allow, "default"),
            (Role::Admin, Page, core(), tool(Execute, Owner::Model(me), false), Own, Allow, "default"),
            (Role::Admin, Page, core(), tool(Execute, Owner::Model(other), false), Own, Deny, "model-made"),
            (Role::Admin, Machine, core(), tool(Execute, Owner::Model(me), false), Own, Deny, "model-made"),
            (Role::Admin, Machine, core(), tool(Execute, Owner::Person(other), false), Own, Allow, "default"),
            (Role::Admin, Page, Owner::Model(me), tool(Write, core(), true), Own, Deny, "confirmation-inside-tool"),
            (Role::Admin, Page, core(), tool(Write, core(), true), Own, Allow, "default"),
            (Role::Admin, Page, core(), tool(Execute, Owner::Person(me), true), Own, Ask, "marked-by-person"),
            (Role::Admin, Page, core(), tool(Execute, Owner::Model(me), true), Own, Allow, "default"),
            (Role::Admin, Page, core(), tool(Actuate, core(), false), Outside, Ask, "tainted"),
            (Role::Admin, Page, core(), tool(Write, core(), true), Outside, Ask, "tainted"),
            (Role::Admin, Page, core(), tool(Write, core(), false), Outside, Allow, "default"),
        ];
        for (i, (role, channel, maker, tool, label, verdict, rule)) in rows.into_iter().enumerate() {
            let principal = Principal { user: me, role, ..Principal::owner() };
            let via = Via::direct(channel);
            let asked = Asked { principal: &principal, via: &via, maker: &maker, in_run: true, label };
            let got = decide(&asked, &tool, &Value::Null);
            assert_eq!((got.verdict, got.rule), (verdict, rule), "row {i}");
            assert_eq!(got.reason.is_empty(), verdict == Allow, "row {i}");
        }
    }
}
