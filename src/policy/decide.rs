//! The decision itself: the rules in their order, and what comes of the first that applies.

use crate::{
    Rules,
    compile::{AgentRules, ProviderRules, UserRules},
    rules,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{
    Area, Bounds, Label, Level, Owner, Principal, Role, Tool, Via, prelude::schemars, prelude::schemars::JsonSchema,
};

/// What was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
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
    /// For the caller, a sentence: why, and what would help. Empty on Allow.
    pub reason: String,
}

/// What one rule says of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: &'static str,
    /// `does not apply`, `denies: …` or `would ask: …`; the last entry names the rule that decided and begins with
    /// `denied`, `asks` or `allowed`.
    pub says: String,
}

/// Who asks for a call, and how.
#[derive(Clone, Copy)]
pub struct DecisionRequest<'a> {
    /// On whose behalf.
    pub principal: &'a Principal,
    /// Through which door.
    pub via: &'a Via,
    /// Who made the custom tool in the chain of calls above this one; `Core` when there is none.
    pub maker: &'a Owner,
    /// Whether a model asks, in a run; otherwise a person or program does.
    pub in_run: bool,
    /// What the run is bound by.
    pub bounds: &'a Bounds,
    /// What the run has read so far.
    pub label: Label,
    /// Whether the call only adds something, and changes nothing that is there; see [`Tool::additive`].
    pub additive: bool,
    /// Whether somebody vouched for an address: the person wrote it, or a search gave it.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether a person has said yes to exactly this call.
    pub consented: bool,
}

/// One call beside the rules that are for it.
pub(crate) struct Case<'a> {
    pub rules: &'a Rules,
    pub asked: &'a DecisionRequest<'a>,
    pub tool: &'a Tool,
    pub args: &'a Value,
    pub user: Option<&'a UserRules>,
    pub agent: Option<&'a AgentRules>,
    pub provider: Option<&'a ProviderRules>,
    /// Whether it is one of the tools through which others are reached.
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
            meta: tool.owner == Owner::Core && tool.meta,
        }
    }

    /// The user's level, and the areas where not all.
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
    /// Whether the user was given just this tool, whatever its level and area.
    pub fn is_allowed_tool(&self) -> bool {
        self.user.is_some_and(|u| u.allowed.has(self.tool))
    }
    /// Whether the agent gets it besides what its lists say.
    pub fn is_also_allowed(&self) -> bool {
        self.rules.also_allow.has(self.tool) || self.agent.is_some_and(|a| a.also_allow.has(self.tool))
    }
    /// Whether a tool that a model wrote acts, or a model itself, which did not just repeat the person's words.
    pub fn by_model(&self) -> bool {
        self.asked.in_run && !self.asked.bounds.by_word
    }
    /// Whether a tool that is not Hob's own makes the call.
    pub fn by_tool(&self) -> bool {
        *self.asked.maker != Owner::Core
    }

    /// What every rule says, in order.
    fn hear(&self) -> impl Iterator<Item = (&'static str, Verdict, Option<String>)> {
        let denies = rules::DENIES.iter().map(|(name, says)| (*name, Verdict::Deny, says(self)));
        let steps = rules::STEPS.iter().map(|step| (step.rule, Verdict::Deny, step.says(self)));
        let request = std::iter::once_with(|| ("request-allow", Verdict::Deny, rules::request(self)));
        let asks = rules::ASKS.iter().map(|(name, says)| (*name, Verdict::Ask, says(self)));
        denies.chain(steps).chain(request).chain(asks)
    }

    /// Whether the user said yes for good.
    fn is_granted(&self) -> bool {
        let (user, label) = (self.asked.principal.user, self.asked.label);
        self.rules.is_granted(user, &self.tool.name, self.tool.version, label, self.args)
    }

    /// What comes of the first rule that applies.
    fn conclude(&self, first: Option<(&'static str, Verdict, String)>) -> Decision {
        let allow = |rule| Decision { verdict: Verdict::Allow, rule, reason: String::new() };
        match first {
            Some((_, Verdict::Ask, _)) if self.asked.consented => allow("approved"),
            Some((_, Verdict::Ask, _)) if self.is_granted() => allow("grant"),
            Some((rule, verdict, reason)) => Decision { verdict, rule, reason },
            None if self.meta => allow("meta"),
            None if self.lacks_level() || self.lacks_area() => allow("allowed-tool"),
            None if rules::STEPS.iter().any(|step| step.leaves_out(self)) => allow("also-allow"),
            None => allow("default"),
        }
    }
}

/// Decides one call. The first rule that applies decides: deny beats ask beats allow.
pub fn decide(rules: &Rules, asked: &DecisionRequest, tool: &Tool, args: &Value) -> Decision {
    let case = Case::new(rules, asked, tool, args);
    let first = case.hear().find_map(|(rule, verdict, says)| Some((rule, verdict, says?)));
    case.conclude(first)
}

/// Tells what every rule says of a call, in order, and at the end which one decides.
pub fn explain(rules: &Rules, asked: &DecisionRequest, tool: &Tool, args: &Value) -> Vec<RuleOutcome> {
    let case = Case::new(rules, asked, tool, args);
    let mut first = None;
    let mut all: Vec<RuleOutcome> = case
        .hear()
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
    let Decision { verdict, rule, .. } = case.conclude(first);
    let says = match (verdict, rule) {
        (Verdict::Deny, _) => "denied: the first rule that denies decides",
        (Verdict::Ask, _) => "asks: nothing denies it, and the first rule that asks decides",
        (_, "approved") => "allowed: a person said yes to this call",
        (_, "grant") => "allowed: the user said yes to such calls for good",
        (_, "meta") => "allowed: what is called through it is judged by itself",
        (_, "allowed-tool") => "allowed: it is one of the user's allowed tools, whatever their level and areas",
        (_, "also-allow") => "allowed: profiles or allow lists leave it out, and alsoAllow adds it again",
        _ => "allowed: no rule denies it or asks",
    };
    all.push(RuleOutcome { rule, says: says.into() });
    all
}
