//! The decision: evaluate the rules in order and return the verdict of the first that applies.

use crate::{
    META_TOOLS, Rules,
    compile::{AgentRules, ProviderRules, UserRules},
    rules,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{
    Area, Bounds, Label, Level, Owner, Principal, Role, Tool, Via, prelude::schemars, prelude::schemars::JsonSchema,
};

/// The verdict on a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The call may run.
    Allow,
    /// The call needs a person's approval.
    Ask,
    /// The call is refused.
    Deny,
}

/// A verdict and the rule behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The verdict.
    pub verdict: Verdict,
    /// The deciding rule.
    pub rule: &'static str,
    /// The reason and a way forward, as a sentence for the caller. Empty on Allow.
    pub reason: String,
}

/// The outcome of one rule for a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: &'static str,
    /// `does not apply`, `denies: …` or `would ask: …`. The last entry names the deciding rule and begins with
    /// `denied`, `asks` or `allowed`.
    pub says: String,
}

/// The caller of a tool and its context.
#[derive(Clone, Copy)]
pub struct DecisionRequest<'a> {
    /// The principal of the call.
    pub principal: &'a Principal,
    /// The channel of the call.
    pub via: &'a Via,
    /// The author of the custom tool in the call chain above; `Core` when there is none.
    pub maker: &'a Owner,
    /// Whether a model makes the call in a run; otherwise a person or program does.
    pub in_run: bool,
    /// The bounds of the run.
    pub bounds: &'a Bounds,
    /// The label of the run: the least trusted content it has read.
    pub label: Label,
    /// Whether the call only adds data and changes nothing existing; see [`Tool::additive`].
    pub additive: bool,
    /// Whether a URL is trusted: a person wrote it, or a search returned it.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether a person approved exactly this call.
    pub consented: bool,
}

/// A call together with the rules that concern it.
pub(crate) struct Case<'a> {
    pub rules: &'a Rules,
    pub asked: &'a DecisionRequest<'a>,
    pub tool: &'a Tool,
    pub args: &'a Value,
    pub user: Option<&'a UserRules>,
    pub agent: Option<&'a AgentRules>,
    pub provider: Option<&'a ProviderRules>,
    /// Whether it is a meta-tool, which reaches other tools.
    pub meta: bool,
}

impl<'a> Case<'a> {
    fn new(rules: &'a Rules, asked: &'a DecisionRequest, tool: &'a Tool, args: &'a Value) -> Self {
        Self {
            rules,
            asked,
            tool,
            args,
            user: rules.users.get(&asked.principal.user),
            agent: rules.agents.get(&asked.principal.agent),
            provider: rules.providers.get(&*asked.bounds.provider),
            meta: tool.owner == Owner::Core && META_TOOLS.contains(&&*tool.name),
        }
    }

    /// The user's level, and their areas unless they have all.
    pub fn level_and_areas(&self) -> (Level, Option<&'a [Area]>) {
        let of_role = match self.asked.principal.role {
            Role::Viewer => Level::Read,
            Role::Member => Level::Execute,
            Role::Admin => Level::Admin,
        };
        let own = self.user.and_then(|u| u.level);
        (own.unwrap_or(of_role), self.user.and_then(|u| u.areas.as_deref()))
    }
    pub fn lacks_level(&self) -> bool {
        self.level_and_areas().0 < self.tool.risk.level()
    }
    pub fn lacks_area(&self) -> bool {
        self.level_and_areas().1.is_some_and(|areas| !areas.contains(&self.tool.area))
    }
    /// Whether the user is allowed this tool by name, whatever its level and area.
    pub fn is_allowed_tool(&self) -> bool {
        self.user.is_some_and(|u| u.allowed.has(self.tool))
    }
    /// Whether the agent is allowed this tool in addition to its lists.
    pub fn is_also_allowed(&self) -> bool {
        self.rules.also_allow.has(self.tool) || self.agent.is_some_and(|a| a.also_allow.has(self.tool))
    }
    /// Whether a model, or a tool written by one, makes the call. A literal command of the person does not count.
    pub fn by_model(&self) -> bool {
        self.asked.in_run && !self.asked.bounds.by_word
    }
    /// Whether a custom tool makes the call.
    pub fn by_tool(&self) -> bool {
        *self.asked.maker != Owner::Core
    }

    /// The outcome of every rule, in order.
    fn outcomes(&self) -> impl Iterator<Item = (&'static str, Verdict, Option<String>)> {
        let denies = rules::DENIES.iter().map(|(name, says)| (*name, Verdict::Deny, says(self)));
        let steps = rules::STEPS.iter().map(|step| (step.rule, Verdict::Deny, step.reason(self)));
        let request = std::iter::once_with(|| ("request-allow", Verdict::Deny, rules::request(self)));
        let asks = rules::ASKS.iter().map(|(name, says)| (*name, Verdict::Ask, says(self)));
        denies.chain(steps).chain(request).chain(asks)
    }

    /// Whether the user granted the call permanently.
    fn is_granted(&self) -> bool {
        let (user, label) = (self.asked.principal.user, self.asked.label);
        self.rules.is_granted(user, &self.tool.name, self.tool.version, label, self.args)
    }

    /// The decision from the first rule that applies.
    fn decision(&self, first: Option<(&'static str, Verdict, String)>) -> Decision {
        let allow = |rule| Decision { verdict: Verdict::Allow, rule, reason: String::new() };
        match first {
            Some((_, Verdict::Ask, _)) if self.asked.consented => allow("approved"),
            Some((_, Verdict::Ask, _)) if self.is_granted() => allow("grant"),
            Some((rule, verdict, reason)) => Decision { verdict, rule, reason },
            None if self.meta => allow("meta"),
            None if self.lacks_level() || self.lacks_area() => allow("allowed-tool"),
            None if rules::STEPS.iter().any(|step| step.excludes(self)) => allow("also-allow"),
            None => allow("default"),
        }
    }
}

/// Decide one call. The first rule that applies wins: deny beats ask beats allow.
pub fn decide(rules: &Rules, asked: &DecisionRequest, tool: &Tool, args: &Value) -> Decision {
    let case = Case::new(rules, asked, tool, args);
    let first = case.outcomes().find_map(|(rule, verdict, says)| Some((rule, verdict, says?)));
    case.decision(first)
}

/// The outcome of every rule for a call, in order, and last the decision.
pub fn explain(rules: &Rules, asked: &DecisionRequest, tool: &Tool, args: &Value) -> Vec<RuleOutcome> {
    let case = Case::new(rules, asked, tool, args);
    let mut first = None;
    let mut all: Vec<RuleOutcome> = case
        .outcomes()
        .map(|(rule, verdict, says)| {
            let text = match &says {
                None => "does not apply".to_owned(),
                Some(why) if verdict == Verdict::Deny => format!("denies: {why}"),
                Some(why) => format!("would ask: {why}"),
            };
            if let (None, Some(why)) = (&first, says) {
                first = Some((rule, verdict, why));
            }
            RuleOutcome { rule, says: text }
        })
        .collect();
    let Decision { verdict, rule, .. } = case.decision(first);
    let says = match (verdict, rule) {
        (Verdict::Deny, _) => "denied: the first rule that denies decides",
        (Verdict::Ask, _) => "asks: nothing denies it, and the first rule that asks decides",
        (_, "approved") => "allowed: a person approved this call",
        (_, "grant") => "allowed: the user granted such calls",
        (_, "meta") => "allowed: each call made through it is decided separately",
        (_, "allowed-tool") => "allowed: it is one of the user's allowed tools, whatever their level and areas",
        (_, "also-allow") => "allowed: profiles or allow lists exclude it, and alsoAllow includes it",
        _ => "allowed: no rule denies it or asks",
    };
    all.push(RuleOutcome { rule, says: says.into() });
    all
}
