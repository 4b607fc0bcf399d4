//! The rules: each returns nothing, or the reason to deny a call or ask about it.

use crate::{
    Rules,
    case::{Case, DecisionRequest},
    compile::List,
    reach::{composed_address, disallowed_host, disallowed_path, is_disallowed},
    voice,
};
use tool::{Area, Channel, Label, Owner, Principal, Risk, Subagent, UserId};

/// A rule: returns a sentence when it applies to the call.
pub(crate) type RuleFn = fn(&Case) -> Option<String>;

/// Deny rules, in order; allow lists follow.
pub(crate) const DENIES: &[(&str, RuleFn)] = &[
    ("group-off", group_off),
    ("role", role),
    ("voice", voice::not_by_voice),
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
    ("voice-approval", voice_approval),
];

/// Ask rules, in order.
pub(crate) const ASKS: &[(&str, RuleFn)] = &[
    ("tainted", tainted),
    ("members-words", members_words),
    ("composed-url", composed_url),
    ("marked-by-person", marked_by_person),
    ("model-made", model_made),
    ("somebody-elses", somebody_elses),
    ("opens", opens),
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
    let role = c.risk().least_role();
    (c.asked.principal.role < role)
        .then(|| format!("`{}` needs the role {role:?}: ask an admin of this Hob", c.tool.name))
}

fn model_made_for_another(c: &Case) -> Option<String> {
    let Owner::Model(user) = &c.tool.owner else { return None };
    (*user != c.asked.principal.user).then(|| {
        format!(
            "`{}` was written by a model for another person and runs for them only: create one of your own",
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
    is.then(|| format!("`{}` is not available to subagents: leave it to the parent run", c.tool.name))
}

fn denied_leaf(c: &Case) -> Option<String> {
    let is = c.asked.in_run && c.asked.bounds.subagent == Some(Subagent::Leaf) && c.rules.leaf.has(c.tool);
    is.then(|| {
        format!("`{}` is not available at the maximum depth of subagents: leave it to the parent run", c.tool.name)
    })
}

fn level(c: &Case) -> Option<String> {
    (c.lacks_level() && !c.meta && !c.is_allowed_tool()).then(|| {
        let (has, needs) = (c.level_and_areas().0, c.risk().level());
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
        // Deletions in this area need not concern a file.
        Area::FileDelete => false,
        // A program reaches all of the workspace, whatever its arguments name.
        Area::CodeExecute if c.tool.owner == Owner::Core => {
            let allowed = c.user?.paths.as_deref()?;
            disallowed_path(&serde_json::Value::Null, &[], Some(allowed), true)?;
            return Some(format!(
                "`{}` runs programs, which reach all of the workspace, and this user may touch only some of it: ask an admin",
                c.tool.name
            ));
        }
        _ => return None,
    };
    let allowed = c.user.and_then(|u| u.paths.as_deref());
    let path = disallowed_path(c.args, c.tool.not_paths, allowed, defaults)?;
    Some(match allowed {
        None => format!("`{path}` leaves the workspace: give a path inside it"),
        Some(_) => in_no_place(path),
    })
}

fn in_no_place(path: &str) -> String {
    format!(
        "`{path}` is in none of the places this user may touch: use one of those, written as they are (inside the workspace or \
         absolute), or ask an admin"
    )
}

fn host(c: &Case) -> Option<String> {
    let schemes_only = match c.tool.area {
        Area::NetworkRead | Area::NetworkWrite => false,
        // A download writes a file.
        Area::FileRead | Area::FileWrite | Area::FileDelete => true,
        _ => return None,
    };
    let address = disallowed_host(c.args, c.user?.hosts.as_deref()?, schemes_only)?;
    Some(off_limits(address))
}

fn off_limits(address: &str) -> String {
    format!("`{address}` is on no host this user may reach: use an allowed one, or ask an admin to add it")
}

/// Refuses by voice each call that would need a question: nobody can approve it there.
fn voice_approval(c: &Case) -> Option<String> {
    if !voice::is_by_voice(c) {
        return None;
    }
    let why = ASKS.iter().find_map(|(_, asks)| asks(c))?;
    Some(format!("{why}, and nobody can approve by voice: say that it can be done on the page of this Hob"))
}

impl Rules {
    /// The reason why `allowedHosts` excludes a host for this person. For requests during a tool's run, which its
    /// arguments need not show.
    pub fn host_denied(&self, principal: &Principal, host: &str) -> Option<String> {
        let allowed = self.users.get(&principal.user)?.hosts.as_deref()?;
        is_disallowed(host, allowed).then(|| off_limits(host))
    }

    /// The reason why `allowedPaths` excludes a path for this person: as with hosts.
    pub fn path_denied(&self, principal: &Principal, path: &str) -> Option<String> {
        let allowed = self.users.get(&principal.user)?.paths.as_deref()?;
        disallowed_path(&serde_json::json!({ "path": path }), &[], Some(allowed), true).map(in_no_place)
    }
}

/// One step of the allow pipeline: a list that, if present, excludes the tools it does not contain.
pub(crate) struct Step {
    pub rule: &'static str,
    /// The owner of the list, for the sentence.
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
    /// Whether the list excludes the tool.
    pub fn excludes(&self, c: &Case) -> bool {
        c.asked.in_run && !c.meta && (self.list)(c).is_some_and(|list| !list.has(c.tool))
    }
    /// The reason to deny the call, unless it is allowed in addition.
    pub fn reason(&self, c: &Case) -> Option<String> {
        (self.excludes(c) && !c.is_also_allowed()).then(|| {
            format!(
                "`{}` is not in {}: use another tool; an admin can add it there or to alsoAllow",
                c.tool.name, self.whose
            )
        })
    }
}

/// The allow list of the request, the last step.
pub(crate) fn request(c: &Case) -> Option<String> {
    let only = c.asked.bounds.only.as_deref()?;
    (c.asked.in_run && !c.meta && !only.iter().any(|entry| c.rules.means(entry, c.tool)))
        .then(|| format!("`{}` is not among the tools this request may use: do without it", c.tool.name))
}

fn tainted(c: &Case) -> Option<String> {
    let dangerous = match c.risk() {
        Risk::Actuate | Risk::Send | Risk::Destroy | Risk::Admin => true,
        // Any change, removal or replacement of existing data. Tools not declared additive count as such.
        Risk::Write => c.tool.persists_instructions || !c.asked.additive,
        // Code may change files, unless the tool says for which calls it does not.
        Risk::Execute => c.tool.persists_instructions || c.tool.additive.is_some() && !c.asked.additive,
        Risk::Observe => c.tool.persists_instructions,
    };
    (c.asked.label == Label::Outside && dangerous && !c.meta).then(|| {
        format!(
            "`{}` needs a person's approval, because this run has read content from outside, which may carry instructions of a \
             stranger",
            c.tool.name
        )
    })
}

/// Words of another member taint only for what that member may not do. A person's own sentence and click are theirs, whatever
/// they have read.
fn members_words(c: &Case) -> Option<String> {
    if c.meta || !(c.by_model() || c.by_tool()) {
        return None;
    }
    c.authors_above().any(|author| exceeds(c, author)).then(|| {
        format!(
            "`{}` needs a person's approval, because this run has read words of another member of the household, who may not \
             do this for you",
            c.tool.name
        )
    })
}

/// Whether a call reaches further than its author may: by their role and rules, or because it sends, deletes, changes or
/// instructs in the name of the reader, who sees and keeps what they do not.
fn exceeds(c: &Case, author: &Principal) -> bool {
    let reaches_the_readers = match c.risk() {
        Risk::Send | Risk::Destroy | Risk::Admin => true,
        Risk::Write => c.tool.persists_instructions || !c.asked.additive,
        Risk::Execute => c.tool.persists_instructions || c.tool.additive.is_some() && !c.asked.additive,
        Risk::Observe | Risk::Actuate => c.tool.persists_instructions,
    };
    let may_not = |author: &Principal| {
        let asked = DecisionRequest { principal: author, ..*c.asked };
        let theirs = Case::new(c.rules, &asked, c.tool, c.args);
        let denies: [RuleFn; 7] = [role, denied_user, model_made_for_another, level, area, path, host];
        denies.iter().any(|denies| denies(&theirs).is_some())
    };
    // The author may be the one with the least rights.
    let limited = (author.user == UserId::SOMEBODY).then(|| c.rules.users.keys()).into_iter().flatten();
    let mut limited = limited.map(|user| Principal { user: *user, ..author.clone() });
    reaches_the_readers || may_not(author) || limited.any(|author| may_not(&author))
}

fn composed_url(c: &Case) -> Option<String> {
    let fetches = matches!(c.tool.area, Area::NetworkRead | Area::NetworkWrite);
    let by_member = (c.by_model() || c.by_tool()) && c.authors_above().next().is_some();
    if !(c.asked.label == Label::Outside || by_member) || !fetches || c.meta {
        return None;
    }
    let address = composed_address(c.args, c.asked.knows)?;
    Some(format!(
        "`{}` needs a person's approval, because this run has read words of others, and neither the person nor a search \
         gave `{address}`: what was read could leave in it",
        c.tool.name
    ))
}

fn marked_by_person(c: &Case) -> Option<String> {
    let marked = c.tool.requires_confirmation && matches!(c.tool.owner, Owner::Person(_));
    let applies = marked && (c.asked.in_run || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("`{}` needs a person's approval for each call: its author requires it", c.tool.name))
}

fn model_made(c: &Case) -> Option<String> {
    let applies = matches!(c.tool.owner, Owner::Model(_))
        && (c.by_model() || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("`{}` was written by a model, so a person must approve it before it runs", c.tool.name))
}

/// The caller should know whose code runs with their rights.
fn somebody_elses(c: &Case) -> Option<String> {
    let theirs = matches!(c.tool.owner, Owner::Person(user) if user != c.asked.principal.user);
    let applies = theirs && (c.by_model() || c.by_tool() || c.asked.via.channel == Channel::Machine);
    applies.then(|| format!("another person wrote `{}`, and it would act with your rights", c.tool.name))
}

/// A sentence that was misheard, a schedule or a model must not open the door: whoever acts by hand may.
fn opens(c: &Case) -> Option<String> {
    let by_hand = !(c.asked.in_run || c.by_tool() || c.asked.via.channel == Channel::Machine);
    (c.asked.opens && !by_hand).then(|| {
        format!("`{}` would open, unlock or disarm something here, which needs a person's approval", c.tool.name)
    })
}

fn confirmation(c: &Case) -> Option<String> {
    let made_here = matches!(c.tool.owner, Owner::Person(_) | Owner::Model(_));
    let marked = c.tool.requires_confirmation && !c.meta && !made_here;
    // Custom code may not persist instructions for a model without a person's approval.
    let planted = c.tool.persists_instructions && c.by_tool();
    (marked && (c.by_model() || c.by_tool()) || planted)
        .then(|| format!("`{}` always needs a person's approval", c.tool.name))
}

fn ask_list(c: &Case) -> Option<String> {
    if c.meta || !(c.asked.in_run || c.by_tool()) {
        return None;
    }
    let listed = c.rules.ask.has(c.tool) || c.user.is_some_and(|u| u.ask.has(c.tool));
    listed.then(|| format!("`{}` is on the list of tools that need a person's approval", c.tool.name))
}

fn autonomy(c: &Case) -> Option<String> {
    // Code of a model or of another person does not act for the person who runs it.
    let foreign = match c.asked.maker {
        Owner::Model(_) => true,
        Owner::Person(user) => *user != c.asked.principal.user,
        _ => false,
    };
    if c.meta || !(c.by_model() || foreign) {
        return None;
    }
    let autonomy = c.rules.autonomy(c.asked.principal.user, c.asked.principal.agent);
    autonomy.asks(c.risk()).then(|| {
        format!(
            "`{}` can {}, which needs a person's approval when autonomy is {}",
            c.tool.name,
            risk_words(c.risk()),
            autonomy.name()
        )
    })
}

fn risk_words(risk: Risk) -> &'static str {
    match risk {
        Risk::Observe => "look things up",
        Risk::Write => "change records",
        Risk::Actuate => "control devices",
        Risk::Send => "send data out",
        Risk::Execute => "run code",
        Risk::Destroy => "delete things permanently",
        Risk::Admin => "administer this Hob",
    }
}

/// The name in JSON.
fn word(of: impl serde::Serialize) -> String {
    serde_json::to_value(of).ok().and_then(|v| v.as_str().map(str::to_owned)).unwrap_or_default()
}
