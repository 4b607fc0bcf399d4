//! The decision: evaluate the rules in order and return the verdict of the first that applies.

use crate::{
    Rules,
    case::{Case, DecisionRequest},
    rules,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{Tool, prelude::schemars, prelude::schemars::JsonSchema};

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

impl Case<'_> {
    /// The outcome of every rule, in order.
    fn outcomes(&self) -> impl Iterator<Item = (&'static str, Verdict, Option<String>)> {
        let denies = rules::DENIES.iter().map(|(name, says)| (*name, Verdict::Deny, says(self)));
        let steps = rules::STEPS.iter().map(|step| (step.rule, Verdict::Deny, step.reason(self)));
        let request = std::iter::once_with(|| ("request-allow", Verdict::Deny, rules::request(self)));
        let asks = rules::ASKS.iter().map(|(name, says)| (*name, Verdict::Ask, says(self)));
        denies.chain(steps).chain(request).chain(asks)
    }

    /// The decision of the first rule that applies.
    fn decision(&self, first: Option<(&'static str, Verdict, String)>) -> Decision {
        let allow = |rule| Decision { verdict: Verdict::Allow, rule, reason: String::new() };
        match first {
            Some((_, Verdict::Ask, _)) if self.asked.consented => allow("approved"),
            Some((rule, Verdict::Ask, _)) if self.is_granted(matches!(rule, "members-words" | "composed-url")) => {
                allow("grant")
            }
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
