//! The one decision: who may call which tool, as a pure function over data.
//!
//! A [`Policy`] is what people write, a [`Grant`] what they said yes to for good. [`Rules::compile`] makes both into
//! sets of canonical names, which [`decide`] asks in a fixed order; [`explain`] tells what each of them says.
//!
//! ```text
//! deny   group-off · role · model-made-for-another · denied-user · denied · denied-agent · denied-subagent · denied-leaf
//!        · level · area · path · host
//!        · profile · provider-profile · allow · provider-allow · agent-allow · agent-provider-allow · chat-allow
//!        · request-allow
//! ask    tainted · composed-url · marked-by-person · model-made · somebody-elses · confirmation · ask-list · autonomy
//! allow  approved · grant · meta · allowed-tool · also-allow · default
//! ```
//!
//! The first that applies decides, so deny beats ask beats allow. Denies of users and of the household hold for
//! everybody; those of agents and subagents, and all allow lists, bind the agent: they hold in a run.

mod autonomy;
mod case;
mod compile;
mod decide;
mod document;
mod grant;
mod presets;
mod reach;
mod rules;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_ask;

pub use autonomy::Autonomy;
pub use case::DecisionRequest;
pub use compile::{Names, Rules};
pub use decide::{Decision, RuleOutcome, Verdict, decide, explain};
pub use document::{AgentPolicy, AllowPolicy, Policy, ProviderPolicy, SubagentPolicy, UserPolicy};
pub use grant::{Grant, Pattern};
pub use presets::{META_TOOLS, Preset, Profile, SUBAGENT_DENIES, SUBAGENT_LEAF_DENIES};
