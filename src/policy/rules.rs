//! The rules: each says nothing, or why a call must not be, or must be asked about.

use crate::{
    Rules,
    case::Case,
    compile::List,
    reach::{composed, is_stray, stray_host, stray_path},
};
use tool::{Area, Channel, Label, Owner, Principal, Risk, Subagent};

/// What a rule says of a call: nothing, or a sentence.
pub(crate) type Says = fn(&Case) -> Option<String>;

/// What denies, in order; the allow lists come after.
pub(crate) const DENIES: &[(&str, Says)] = &[
    ("group-off", group_off),
    ("role", role),
    ("model-made-for-another", model_made_for_another),
    ("denied-user", denied_user),
    ("denied", denied),
    ("denied-agent", denied_agent),
    ("denied-subagent", denied_subagent),
    ("denied-leaf", denied_leaf),
    ("level", level),
    ("area", area),
    ("path", path),
    ("host", host),
];

/// What asks, in order.
pub(crate) const ASKS: &[(&str, Says)] = &[
    ("tainted", tainted),
    ("composed-url", composed_url),
    ("marked-by-person", marked_by_person),
    ("model-made", model_made),
    ("somebody-elses", somebody_elses),
    ("confirmation", confirmation),
    ("ask-list", ask_list),
    ("autonomy", autonomy),
];

fn group_off(c: &Case) -> Option<String> {
    let (name, group) = (&c.tool.name, c.tool.off_by.as_ref().unwrap_or(&c.tool.group));
    (!c.tool.enabled).then(|| {
        format!(
            "`{name}` is off with its group `{group}`: an admin can turn it on under Tools on the page, or with PUT \
             /api/v1/tool-groups/{group} {{\"enabled\": true}}"
        )
    })
}

fn role(c: &Case) -> Option<String> {
    let role = c.tool.risk.least_role();
    (c.asked.principal.role < role)
        .then(|| format!("`{}` needs the role {role:?}: ask an admin of this Hob", c.tool.name))
}

fn model_made_for_another(c: &Case) -> Option<String> {
    let Owner::Model(user) = &c.tool.owner else { return None };
    (*user != c.asked.principal.user).then(|| {
        format!(
            "`{}` was written by a model for somebody else and runs for them only: have one made for you",
            c.tool.name
        )
    })
}

fn denied_user(c: &Case) -> Option<String> {
    c.user?.denied.has(c.tool).then(|| format!("this user may not use `{}`: ask an admin of this Hob", c.tool.name))
}

fn denied(c: &Case) -> Option<String> {
    c.rules
        .deny
        .has(c.tool)
        .then(|| format!("nobody may use `{}` here: an admin can take it off the household's deny list", c.tool.name))
}

fn denied_agent(c: &Case) -> Option<String> {
    (c.asked.in_run && c.agent?.deny.has(c.tool)).then(|| {
        format!("this agent may not use `{}`: the person can use it themselves, or ask another agent", c.tool.name)
    })
}

fn denied_subagent(c: &Case) -> Option<String> {
    let is = c.asked.in_run && c.asked.bounds.subagent.is_some() && c.rules.subagent.has(c.tool);
    is.then(|| format!("`{}` is not for runs that another run began: leave it to the run above", c.tool.name))
}

fn denied_leaf(c: &Case) -> Option<String> {
    let is = c.asked.in_run && c.asked.bounds.subagent == Some(Subagent::Leaf) && c.rules.leaf.has(c.tool);
    is.then(|| format!("`{}` is not for runs at the greatest depth: leave it to the run above", c.tool.name))
}

fn level(c: &Case) -> Option<String> {
    (c.lacks_level() && !c.meta && !c.is_allowed_tool()).then(|| {
        let (has, needs) = (c.level_and_areas().0, c.tool.risk.level());
        format!(
            "`{}` needs the level {}, and this user has {}: an admin can raise it, or allow them just this tool",
            c.tool.name,
            word(needs),
            word(has)
        )
    })
}

fn area(c: &Case) -> Option<String> {
    (c.lacks_area() && !c.meta && !c.is_allowed_tool()).then(|| {
        format!(
            "`{}` is in the area {}, which is not open to this user: an admin can open it, or allow them just this tool",
            c.tool.name,
            word(c.tool.area)
        )
    })
}

fn path(c: &Case) -> Option<String> {
    let defaults = match c.tool.area {
        Area::FileRead | Area::FileWrite => true,
        // What is destroyed there need not be a file.
        Area::FileDelete => false,
        _ => return None,
    };
    let allowed = c.user.and_then(|u| u.paths.as_deref());
    let path = stray_path(c.args, allowed, defaults)?;
    Some(match allowed {
        None => format!("`{path}` leaves the workspace: give a path inside it"),
        Some(_) => format!(
            "`{path}` is in none of the places this user may touch: use one of those, written as they are (inside the \
             workspace or absolute), or ask an admin"
        ),
    })
}

fn host(c: &Case) -> Option<String> {
    let schemes_only = match c.tool.area {
        Area::NetworkRead | Area::NetworkWrite => false,
        // A download writes a file.
        Area::FileRead | Area::FileWrite | Area::FileDelete => true,
        _ => return None,
    };
    let address = stray_host(c.args, c.user?.hosts.as_deref()?, schemes_only)?;
    Some(off_limits(address))
}

fn off_limits(address: &str) -> String {
    format!("`{address}` is on no host this user may reach: use one of those, or ask an admin to add it")
}

impl Rules {
    /// Why this person may not reach a host, when `allowedHosts` leaves it out. For what a tool reaches while it runs: the
    /// arguments, which the decision looks at, need not show it.
    pub fn host_denied(&self, principal: &Principal, host: &str) -> Option<String> {
        let allowed = self.users.get(&principal.user)?.hosts.as_deref()?;
        is_stray(host, allowed).then(|| off_limits(host))
    }
}

/// One step of the allow pipeline: a list that, where there is one, leaves out what is not on it.
pub(crate) struct Step {
    pub rule: &'static str,
    /// Whose list it is, for the sentence.
    whose: &'static str,
    list: for<'a> fn(&Case<'a>) -> Option<&'a List>,
}

/// The seven steps, in order.
pub(crate) const STEPS: &[Step] = &[
    Step { rule: "profile", whose: "the profile of this agent", list: profile },
    Step {
        rule: "provider-profile",
        whose: "the profile for this provider of models",
        list: |c| c.provider?.profile.as_ref(),
    },
    Step { rule: "allow", whose: "the household's allow list", list: |c| c.rules.allow.as_ref() },
    Step {
        rule: "provider-allow",
        whose: "the allow list for this provider of models",
        list: |c| c.provider?.allow.as_ref(),
    },
    Step { rule: "agent-allow", whose: "this agent's allow list", list: |c| c.agent?.allow.as_ref() },
    Step {
        rule: "agent-provider-allow",
        whose: "this agent's allow list for this provider of models",
        list: |c| c.agent?.providers.get(&*c.asked.bounds.provider),
    },
    Step { rule: "chat-allow", whose: "the allow list of this chat", list: chat },
];

fn profile<'a>(c: &Case<'a>) -> Option<&'a List> {
    match c.agent.and_then(|a| a.profile.as_ref()) {
        Some(own) => own.as_ref(),
        None => c.rules.profile.as_ref(),
    }
}

fn chat<'a>(c: &Case<'a>) -> Option<&'a List> {
    c.rules.chats.get(&**c.asked.via.chat.as_ref()?)
}

impl Step {
    /// Whether its list leaves the tool out.
    pub fn leaves_out(&self, c: &Case) -> bool {
        c.asked.in_run && !c.meta && (self.list)(c).is_some_and(|list| !list.has(c.tool))
    }
    /// Why the call must not be, unless it is allowed besides.
    pub fn says(&self, c: &Case) -> Option<String> {
        (self.leaves_out(c) && !c.is_also_allowed()).then(|| {
            format!(
                "`{}` is not in {}: use another tool; an admin can add it there or to alsoAllow",
                c.tool.name, self.whose
            )
        })
    }
}

/// The list that came with the request; the last to narrow.
pub(crate) fn request(c: &Case) -> Option<String> {
    let only = c.asked.bounds.only.as_deref()?;
    (c.asked.in_run && !c.meta && !only.iter().any(|entry| c.rules.means(entry, c.tool)))
        .then(|| format!("`{}` is not among the tools this request may use: do without it", c.tool.name))
}

fn tainted(c: &Case) -> Option<String> {
    let dangerous = match c.tool.risk {
        Risk::Actuate | Risk::Send | Risk::Destroy | Risk::Admin => true,
        // Whatever changes, hides or replaces what somebody made; a tool that does not say what it does counts as such.
        Risk::Write => c.tool.persists_instructions || !c.asked.additive,
        Risk::Observe | Risk::Execute => c.tool.persists_instructions,
    };
    (c.asked.label == Label::Outside && dangerous && !c.meta).then(|| {
        format!(
            "`{}` needs a person's yes, because this run has read content from outside, which may carry instructions of a \
             stranger",
            c.tool.name
        )
    })
}

fn composed_url(c: &Case) -> Option<String> {
    let fetches = matches!(c.tool.area, Area::NetworkRead | Area::NetworkWrite);
    if c.asked.label != Label::Outside || !fetches || c.meta {
        return None;
    }
    let address = composed(c.args, c.asked.knows)?;
    Some(format!(
        "`{}` needs a person's yes, because this run has read content from outside, and neither the person nor a search \
         gave `{address}`: what was read could leave in it",
        c.tool.name
    ))
}

fn marked_by_person(c: &Case) -> Option<String> {
    let marked = c.tool.requires_confirmation && matches!(c.tool.owner, Owner::Person(_));
    let applies = marked && (c.asked.in_run || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("`{}` needs a person's yes each time: who made it said so", c.tool.name))
}

fn model_made(c: &Case) -> Option<String> {
    let applies = matches!(c.tool.owner, Owner::Model(_))
        && (c.by_model() || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("`{}` was written by a model, so a person must say yes before it runs", c.tool.name))
}

/// Whose code runs with the rights of whoever calls it should be known to them.
fn somebody_elses(c: &Case) -> Option<String> {
    let theirs = matches!(c.tool.owner, Owner::Person(user) if user != c.asked.principal.user);
    let applies = theirs && (c.by_model() || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("somebody else wrote `{}`, and it would act with your rights", c.tool.name))
}

fn confirmation(c: &Case) -> Option<String> {
    let made_here = matches!(c.tool.owner, Owner::Person(_) | Owner::Model(_));
    let marked = c.tool.requires_confirmation && !c.meta && !made_here;
    // What custom code would have a model follow is a person's affair too.
    let planted = c.tool.persists_instructions && c.by_tool();
    (marked && (c.by_model() || c.by_tool()) || planted)
        .then(|| format!("`{}` is never called without a person's yes", c.tool.name))
}

fn ask_list(c: &Case) -> Option<String> {
    if c.meta || !(c.asked.in_run || c.by_tool()) {
        return None;
    }
    let listed = c.rules.ask.has(c.tool) || c.user.is_some_and(|u| u.ask.has(c.tool));
    listed.then(|| format!("`{}` is on the list of what a person is asked about first", c.tool.name))
}

fn autonomy(c: &Case) -> Option<String> {
    // Code of a model, or of somebody else, is not the hand of whoever runs it.
    let foreign = match c.asked.maker {
        Owner::Model(_) => true,
        Owner::Person(user) => *user != c.asked.principal.user,
        _ => false,
    };
    if c.meta || !(c.by_model() || foreign) {
        return None;
    }
    let autonomy = c.rules.autonomy(c.asked.principal.user, c.asked.principal.agent);
    autonomy.asks(c.tool.risk).then(|| {
        format!(
            "`{}` can {}, which a person is asked about first when autonomy is {}",
            c.tool.name,
            does(c.tool.risk),
            autonomy.name()
        )
    })
}

fn does(risk: Risk) -> &'static str {
    match risk {
        Risk::Observe => "look things up",
        Risk::Write => "change records",
        Risk::Actuate => "move things in the world",
        Risk::Send => "send data out",
        Risk::Execute => "run code",
        Risk::Destroy => "destroy things for good",
        Risk::Admin => "administer this Hob",
    }
}

/// The word something is written with.
fn word(of: impl serde::Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
