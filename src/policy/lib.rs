//! Tool policy: decides who may call which tool, as a pure function over data.
//!
//! A [`Policy`] is the document that people edit; a [`Grant`] is a permanent approval. [`Rules::compile`] turns both
//! into sets of canonical names, which [`decide`] checks in a fixed order; [`explain`] returns the outcome of every
//! rule.
//!
//! ```text
//! deny   group-off · role · voice · model-made-for-another · denied-user · denied · denied-agent · denied-subagent · denied-leaf
//!        · level · area · path · host · voice-approval
//!        · profile · provider-profile · allow · provider-allow · agent-allow · agent-provider-allow · chat-allow
//!        · request-allow
//! ask    tainted · members-words · composed-url · marked-by-person · model-made · somebody-elses · confirmation · ask-list · autonomy
//! allow  approved · grant · meta · allowed-tool · also-allow · default
//! ```
//!
//! The first rule that applies decides, so deny beats ask beats allow. Denies of users and of the household apply to
//! everybody; those of agents and subagents, and all allow lists, apply in runs only.

mod autonomy;
mod case;
mod compile;
mod decide;
mod document;
mod grant;
mod presets;
mod reach;
mod rules;
mod voice;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_ask;
#[cfg(test)]
mod tests_voice;

pub use autonomy::Autonomy;
pub use case::DecisionRequest;
pub use compile::{Names, Rules};
pub use decide::{Decision, RuleOutcome, Verdict, decide, explain};
pub use document::{AgentPolicy, AllowPolicy, Policy, ProviderPolicy, SubagentPolicy, UserPolicy};
pub use grant::{Grant, Pattern};
pub use presets::{Preset, Profile, SUBAGENT_DENIES, SUBAGENT_LEAF_DENIES, VOICE_TOOLS};
