//! The decision itself: the rules in their order, and what comes of the first that applies.

use crate::{
    Rules,
    case::{Case, DecisionRequest},
    rules,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{Tool, prelude::schemars, prelude::schemars::JsonSchema};

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

impl Case<'_> {
    /// What every rule says, in order.
    fn hear(&self) -> impl Iterator<Item = (&'static str, Verdict, Option<String>)> {
        let denies = rules::DENIES.iter().map(|(name, says)| (*name, Verdict::Deny, says(self)));
        let steps = rules::STEPS.iter().map(|step| (step.rule, Verdict::Deny, step.says(self)));
        let request = std::iter::once_with(|| ("request-allow", Verdict::Deny, rules::request(self)));
        let asks = rules::ASKS.iter().map(|(name, says)| (*name, Verdict::Ask, says(self)));
        denies.chain(steps).chain(request).chain(asks)
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
