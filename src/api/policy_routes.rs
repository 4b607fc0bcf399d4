//! `/api/v1/policy`, `/autonomy`, `/tool-groups`, `/audit` and explaining a decision.

use crate::{
    AppState, Caller,
    auth_middleware::must_be_admin,
    describe::{Routes, get, put},
    envelope::{Answer, Failure, Json, PathText, ok},
    query::{Limit, Query},
};
use axum::{Extension, extract::State};
use identity::{OWNER, TokenScope};
use policy::{Autonomy, Policy, Preset, Profile, RuleOutcome, UserPolicy, Verdict};
use registry::{AuditPage, AuditQuery, Group, Registry, Stats};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};
use tool::{
    AgentId, Bounds, Channel, Cx, Id, Label, Principal, UserId, Via,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    let tools = Routes::new()
        .route(
            "/tools/{name}/explain",
            get(explain, "Explain whether a call would be allowed, and which rule decides."),
        )
        .route("/tool-groups", get(groups, "List the groups of tools, and which are on."))
        .route("/tool-stats", get(stats, "Count tools by category, group and owner."))
        .route(
            "/autonomy",
            get(autonomy, "Get how much Hob does for the caller without asking.")
                .put(choose_autonomy, "Set how much Hob does without asking.")
                .scope(TokenScope::Admin),
        )
        .scope(TokenScope::Tools);
    Routes::new()
        .route("/tool-groups/{id}", put(switch_group, "Turn a group of tools on or off.").admin())
        .route("/policy", get(policy, "Get the policy.").admin().put(replace_policy, "Replace the policy.").admin())
        .route("/audit", get(audit, "List audited calls, newest first."))
        .scope(TokenScope::Admin)
        .merge(tools)
}

/// The policy, and the meaning of its presets.
#[derive(Serialize, JsonSchema)]
pub(crate) struct PolicyView {
    policy: Policy,
    /// Names and groups in it that nobody knows.
    warnings: Vec<String>,
    /// The contents of each user preset.
    presets: BTreeMap<&'static str, UserPolicy>,
    /// The tools of each profile, besides the meta-tools.
    profiles: BTreeMap<&'static str, &'static [&'static str]>,
}

fn policy_view(house: &AppState) -> PolicyView {
    let (policy, warnings) = house.registry.policy();
    let presets = Preset::ALL.iter().map(|p| (p.name(), p.policy())).collect();
    let profiles = Profile::ALL.iter().map(|p| (p.name(), p.members())).collect();
    PolicyView { policy, warnings, presets, profiles }
}

/// The policy as it is.
pub(crate) async fn policy(State(house): State<AppState>) -> Answer<PolicyView> {
    Ok(ok(policy_view(&house)))
}

/// Puts another policy in its place.
pub(crate) async fn replace_policy(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(policy): Json<Policy>,
) -> Answer<PolicyView> {
    house.registry.change_policy(&house.cx(&caller), move |p| *p = policy).await?;
    Ok(ok(policy_view(&house)))
}

/// How much Hob does for the caller without asking.
#[derive(Serialize, JsonSchema)]
pub(crate) struct AutonomyView {
    pub(crate) level: Autonomy,
    /// The origin of the choice: `own`, `household` or `built-in`.
    pub(crate) from: &'static str,
    /// The choices, most careful first.
    levels: Vec<Choice>,
}

#[derive(Serialize, JsonSchema)]
pub(crate) struct Choice {
    level: Autonomy,
    /// Its meaning, in a sentence.
    about: &'static str,
}

pub(crate) fn unasked(house: &AppState, caller: &Caller) -> AutonomyView {
    let policy = house.registry.policy().0;
    let own = policy.users.get(&caller.principal.user).and_then(|u| u.autonomy);
    let from = match (own, policy.autonomy) {
        (Some(_), _) => "own",
        (None, Some(_)) => "household",
        (None, None) => "built-in",
    };
    let levels = Autonomy::ALL.iter().map(|level| Choice { level: *level, about: level.about() }).collect();
    AutonomyView { level: house.registry.autonomy(&house.cx(caller)), from, levels }
}

/// How much Hob does for the caller without asking.
pub(crate) async fn autonomy(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Answer<AutonomyView> {
    Ok(ok(unasked(&house, &caller)))
}

/// The new autonomy level.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewAutonomy {
    pub(crate) level: Autonomy,
}

/// Chooses how much Hob does for the caller without asking.
pub(crate) async fn choose_autonomy(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(chosen): Json<NewAutonomy>,
) -> Answer<AutonomyView> {
    if !caller.in_person {
        must_be_admin(&caller)?;
    }
    let user = caller.principal.user;
    let set = move |p: &mut Policy| p.users.entry(user).or_default().autonomy = Some(chosen.level);
    house.registry.change_policy(&house.cx(&caller), set).await?;
    Ok(ok(unasked(&house, &caller)))
}

/// For whom, and how, a call is to be explained.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ExplainQuery {
    /// The agent that acts; `general` or an id.
    agent: Option<String>,
    /// The person, by name or id; for admins.
    user: Option<String>,
    /// The provider of the model that asks.
    #[serde(default)]
    provider: String,
    /// Whether the run has read from outside.
    #[serde(default)]
    tainted: bool,
    /// With what it is called, as a JSON object.
    arguments: Option<String>,
    /// Whether a model asks, in a run; true when left out.
    #[serde(default = "yes")]
    in_run: bool,
}

fn yes() -> bool {
    true
}

/// Explain the decision for a call.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Explanation {
    tool: String,
    verdict: Verdict,
    /// The rule that decides.
    rule: &'static str,
    /// In a sentence; empty when the call is allowed.
    reason: String,
    /// Every rule in order, and what it says.
    trail: Vec<RuleOutcome>,
    /// The person's name.
    user: String,
    agent: String,
}

/// Explain the decision for a call of a tool, with the deciding rule.
pub(crate) async fn explain(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(name): PathText,
    Query(supposed): Query<ExplainQuery>,
) -> Answer<Explanation> {
    let bad = |text: String| Failure::new(400, "bad_args", text);
    let (principal, user) = person(&house, &caller, supposed.user.as_deref())?;
    let agent = supposed.agent.as_deref().unwrap_or("general");
    if agent != "general" && agent.parse() != Ok(AgentId::GENERAL.0) {
        return Err(Failure::new(404, "not_found", "there is only the agent `general` so far"));
    }
    let args: Value = match &supposed.arguments {
        Some(text) => serde_json::from_str(text).map_err(|e| bad(format!("`arguments` is not JSON: {e}")))?,
        None => Value::Object(Default::default()),
    };
    let mut cx = Cx::root(house.ports.clone(), principal, Via::direct(Channel::Page));
    if supposed.in_run {
        cx = cx.in_run(Id::new(), None, Default::default());
    }
    cx = cx.bounded(Bounds { provider: Arc::from(supposed.provider), ..Bounds::default() });
    if supposed.tainted {
        cx.taint(Label::Outside);
    }
    let found = house.registry.get(&name).filter(|t| Registry::visible(&cx, t));
    let tool = found.ok_or_else(|| {
        let name: String = name.chars().take(64).collect();
        Failure::new(404, "not_found", format!("there is no tool called `{name}`: see GET /api/v1/tools"))
    })?;
    let (decision, trail) = house.registry.explain(&cx, &tool, &args);
    let (verdict, rule, reason) = (decision.verdict, decision.rule, decision.reason);
    Ok(ok(Explanation { tool: tool.name.to_string(), verdict, rule, reason, trail, user, agent: agent.into() }))
}

/// The caller, or the person an admin names; and their name.
fn person(house: &AppState, caller: &Caller, named: Option<&str>) -> Result<(Principal, String), Failure> {
    let own = caller.principal.user;
    let Some(named) = named else {
        let name = house.identity.person(own)?.map_or_else(|| OWNER.to_owned(), |person| person.name);
        return Ok((caller.principal.clone(), name));
    };
    let person = house.identity.find_person(named)?;
    if person.as_ref().is_none_or(|person| UserId(person.id) != own) {
        must_be_admin(caller)?;
    }
    let person = person.ok_or_else(|| {
        let named: String = named.chars().take(64).collect();
        Failure::new(404, "not_found", format!("there is nobody called `{named}`: see GET /api/v1/people"))
    })?;
    Ok((Principal { user: UserId(person.id), role: person.role, agent: AgentId::GENERAL }, person.name))
}

/// The groups of tools.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Groups {
    count: usize,
    groups: Vec<Group>,
}

/// The groups of tools, and which are on.
pub(crate) async fn groups(State(house): State<AppState>, Extension(caller): Extension<Caller>) -> Answer<Groups> {
    let cx = house.cx(&caller);
    let mut groups = house.registry.groups();
    for group in &mut groups {
        group.tools.retain(|name| house.registry.get(name).is_none_or(|tool| Registry::visible(&cx, &tool)));
    }
    Ok(ok(Groups { count: groups.len(), groups }))
}

/// Whether a group is to be on.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GroupSwitch {
    enabled: bool,
}

/// Turns a group of tools on or off.
pub(crate) async fn switch_group(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    PathText(id): PathText,
    Json(switch): Json<GroupSwitch>,
) -> Answer<Groups> {
    house.registry.switch_group(&house.cx(&caller), &id, switch.enabled).await?;
    groups(State(house), Extension(caller)).await
}

/// How many tools there are, and how they were used.
pub(crate) async fn stats(State(house): State<AppState>) -> Answer<Stats> {
    Ok(ok(house.registry.stats()))
}

/// Which calls.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct AuditLog {
    /// Only of this tool, by any of its names.
    tool: Option<String>,
    /// Only with this outcome: `ok`, or the kind of error.
    outcome: Option<String>,
    /// Only with this verdict.
    verdict: Option<Verdict>,
    /// Only those before this number.
    before: Option<u64>,
    /// How many at most, up to 200.
    #[serde(default)]
    limit: Limit<50>,
    /// Everybody's; for admins.
    #[serde(default)]
    everybody: bool,
}

/// The calls that were made, the newest first.
pub(crate) async fn audit(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(calls): Query<AuditLog>,
) -> Answer<AuditPage> {
    if calls.everybody {
        must_be_admin(&caller)?;
    }
    let canonical = |name: String| house.registry.get(&name).map_or(name, |tool| tool.name.to_string());
    let query = AuditQuery {
        user: (!calls.everybody).then_some(caller.principal.user),
        tool: calls.tool.map(canonical),
        outcome: calls.outcome,
        verdict: calls.verdict,
        before: calls.before,
        limit: calls.limit.get(),
    };
    Ok(ok(house.registry.audit(&query)?))
}
