//! One call as the rules see it: who asks for it, and the rules that are for it.

use crate::{
    Rules,
    compile::{AgentRules, ProviderRules, UserRules},
};
use serde_json::Value;
use tool::{Area, Bounds, Label, Level, Owner, Principal, Risk, Role, Tool, Via};

/// The request for a decision: principal, door and context of a call.
#[derive(Clone, Copy)]
pub struct DecisionRequest<'a> {
    /// On whose behalf.
    pub principal: &'a Principal,
    /// The door of the request.
    pub via: &'a Via,
    /// The maker of the custom tool in the chain of calls above this one; `Core` if there is none.
    pub maker: &'a Owner,
    /// Whether a model requests it in a run; otherwise a person or program does.
    pub in_run: bool,
    /// The bounds of the run.
    pub bounds: &'a Bounds,
    /// The label of everything the run has read so far.
    pub label: Label,
    /// The other members of the household whose words the run has read, with their roles.
    pub authors: &'a [Principal],
    /// Whether the call only adds data and changes nothing that exists; see [`Tool::additive`].
    pub additive: bool,
    /// Whether a tool that is no facade makes it.
    pub inside: bool,
    /// Whether the call opens, unlocks or disarms something; see [`Tool::opens`].
    pub opens: bool,
    /// Whether the call destroys something; see [`Tool::destroys`].
    pub destroys: bool,
    /// Whether an address is vouched for: the person wrote it, or a search returned it.
    pub knows: &'a dyn Fn(&str) -> bool,
    /// Whether a person approved exactly this call.
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
    pub fn new(rules: &'a Rules, asked: &'a DecisionRequest, tool: &'a Tool, args: &'a Value) -> Self {
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

    /// The risk of this call: that of its tool, unless the arguments say that it destroys something.
    pub fn risk(&self) -> Risk {
        if self.asked.destroys { Risk::Destroy } else { self.tool.risk }
    }
    /// The user's level, and their areas unless all.
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
        self.level_and_areas().0 < self.risk().level()
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

    /// The authors whose rights may be less than the caller's: an admin without limits of their own may do everything.
    pub fn authors_above(&self) -> impl Iterator<Item = &'a Principal> {
        let (authors, rules) = (self.asked.authors, self.rules);
        authors.iter().filter(|author| author.role < Role::Admin || rules.users.contains_key(&author.user))
    }

    /// Whether the user has a standing approval; where others may have chosen the arguments, of exactly these.
    pub fn is_granted(&self, exactly: bool) -> bool {
        let exactly = exactly || self.asked.label == Label::Outside;
        self.rules.is_granted(self.asked.principal.user, &self.tool.name, self.tool.version, exactly, self.args)
    }
}
