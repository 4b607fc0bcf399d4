//! Test fixtures: a small catalogue, and a builder for calls.

use crate::{Decision, DecisionRequest, Grant, Names, Pattern, Policy, RuleOutcome, Rules, Verdict, decide, explain};
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Alias, Area, Bounds, Channel, Id, Label, Owner, Principal, Risk, Role, Subagent, Tool, UserId, Via};

/// The caller in tests.
pub const ME: UserId = UserId(Id::from_bytes([1; 16]));
/// Another member of the household.
pub const MIA: UserId = UserId(Id::from_bytes([2; 16]));
/// Another user.
pub const OTHER: UserId = UserId(Id::from_bytes([2; 16]));

/// The tools as `name[/alias] group risk area` and marks.
const TOOLS: &[(&str, &str, Risk, Area, &str)] = &[
    ("list_notes/notes", "notes", Risk::Observe, Area::Memory, ""),
    ("add_note", "notes", Risk::Write, Area::Memory, "adds"),
    ("update_note", "notes", Risk::Write, Area::Memory, ""),
    ("gpio_write", "gpio", Risk::Actuate, Area::Actuate, ""),
    ("send_mail/message", "mail", Risk::Send, Area::NetworkWrite, ""),
    ("execute_shell/exec", "runtime", Risk::Execute, Area::System, ""),
    ("execute_python", "runtime", Risk::Execute, Area::CodeExecute, ""),
    ("delete_file", "fs", Risk::Destroy, Area::FileDelete, ""),
    ("set_clock", "device", Risk::Admin, Area::System, ""),
    ("read_file", "fs", Risk::Observe, Area::FileRead, ""),
    ("write_file", "fs", Risk::Write, Area::FileWrite, ""),
    ("fetch_web_page/web_fetch", "web", Risk::Observe, Area::NetworkRead, ""),
    ("search_web/web_search", "web", Risk::Observe, Area::NetworkRead, ""),
    ("create_scheduled_task/cron", "automation", Risk::Write, Area::Memory, "instructs"),
    ("remember", "memory", Risk::Write, Area::Memory, "adds"),
    ("memory_search", "memoryDocs", Risk::Observe, Area::Memory, ""),
    ("session_status", "sessions", Risk::Observe, Area::Memory, ""),
    ("sessions_list", "sessions", Risk::Observe, Area::Memory, ""),
    ("spawn", "sessions", Risk::Write, Area::Memory, ""),
    ("light_set", "home", Risk::Actuate, Area::Home, ""),
    ("control_thing", "home", Risk::Actuate, Area::Home, ""),
    ("unlock", "home", Risk::Actuate, Area::Home, "opens"),
    ("wipe", "device", Risk::Write, Area::Memory, "confirm"),
    ("parked", "off", Risk::Observe, Area::Memory, "off"),
    ("use_tool", "meta", Risk::Observe, Area::Memory, ""),
    ("search_tools", "meta", Risk::Observe, Area::Memory, ""),
    ("get_tool_help", "meta", Risk::Observe, Area::Memory, ""),
    ("batch_use_tool", "meta", Risk::Observe, Area::Memory, ""),
    ("mine", "custom", Risk::Execute, Area::Custom, "own"),
    ("persons", "custom", Risk::Execute, Area::Custom, "person"),
    ("persons_marked", "custom", Risk::Execute, Area::Custom, "person confirm"),
    ("models", "custom", Risk::Execute, Area::Custom, "model"),
    ("models_other", "custom", Risk::Execute, Area::Custom, "other"),
    ("plugins_marked", "custom", Risk::Execute, Area::Custom, "plugin confirm"),
];

/// The names of all tools.
pub fn names() -> Vec<&'static str> {
    TOOLS.iter().flat_map(|t| t.0.split('/')).collect()
}

/// The ids of all groups, including composite ones.
pub const GROUPS: &[&str] = &["notes", "fs", "web", "memory", "runtime", "sessions", "custom", "meta", "nobody"];

/// The tool of this name, or a tool of a risk under the name of the risk.
pub fn tool(name: &str) -> Tool {
    let row = TOOLS.iter().find(|t| t.0.split('/').any(|n| n == name)).unwrap_or_else(|| panic!("no tool {name}"));
    let (mut all, is) = (row.0.split('/'), |mark: &str| row.4.split(' ').any(|m| m == mark));
    let owner = match () {
        _ if is("own") => Owner::Person(ME),
        _ if is("person") => Owner::Person(OTHER),
        _ if is("model") => Owner::Model(ME),
        _ if is("other") => Owner::Model(OTHER),
        _ if is("plugin") => Owner::Plugin("p".into()),
        _ => Owner::Core,
    };
    let name = all.next().unwrap();
    let run: tool::Run = Arc::new(|_, _| Box::pin(async { Ok(Default::default()) }));
    Tool {
        meta: row.1 == "meta",
        aliases: all.map(|n| Alias { name: n.into(), adapt: None }).collect(),
        area: row.3,
        version: 3,
        requires_confirmation: is("confirm"),
        persists_instructions: is("instructs"),
        opens: is("opens").then(|| Arc::new(|_: &Value| true) as tool::Opens),
        additive: is("adds").then(|| Arc::new(|_: &tool::Cx, _: &Value| true) as tool::Additive),
        enabled: !is("off"),
        ..Tool::new(name, row.2, owner, row.1, run)
    }
}

/// The catalogue of these tools; the group `memory` also contains the memory documents.
pub struct Catalogue;

impl Names for Catalogue {
    fn canonical(&self, name: &str) -> Option<Arc<str>> {
        TOOLS.iter().find(|t| t.0.split('/').any(|n| n == name)).map(|t| tool(t.0.split('/').next().unwrap()).name)
    }
    fn group(&self, id: &str) -> Option<Vec<Arc<str>>> {
        let is = |group: &str| group == id || id == "memory" && group == "memoryDocs";
        let all: Vec<_> = TOOLS.iter().filter(|t| is(t.1)).map(|t| t.0.split('/').next().unwrap().into()).collect();
        (!all.is_empty()).then_some(all)
    }
    fn groups(&self) -> Vec<Arc<str>> {
        TOOLS.iter().map(|t| t.1.into()).collect()
    }
}

/// Parse a policy; `ME` under `users` stands for the caller.
pub fn policy(json: Value) -> Policy {
    serde_json::from_str(&json.to_string().replace("\"ME\"", &format!("\"{ME}\""))).unwrap()
}

/// A call; by default by a model in an admin's run from the page.
#[derive(Clone)]
pub struct Call {
    pub tool: Tool,
    pub args: Value,
    pub principal: Principal,
    pub via: Via,
    pub maker: Owner,
    pub in_run: bool,
    pub bounds: Bounds,
    pub label: Label,
    pub authors: Vec<Principal>,
    pub additive: bool,
    pub opens: bool,
    pub destroys: bool,
    pub inside: bool,
    pub known: Vec<String>,
    pub consented: bool,
    pub grants: Vec<Grant>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Call {
            tool,
            args,
            principal,
            via,
            maker,
            in_run,
            bounds,
            label,
            authors,
            additive: _,
            opens: _,
            destroys: _,
            inside: _,
            known: _,
            consented,
            grants,
        } = self;
        write!(f, "{} {args} {principal:?} {via:?} {maker:?} in_run={in_run} {bounds:?} ", tool.name)?;
        write!(f, "{label:?} {authors:?} consented={consented} {grants:?}")
    }
}

pub fn call(name: &str) -> Call {
    Call {
        additive: tool(name).additive.is_some(),
        opens: tool(name).opens.is_some(),
        destroys: false,
        inside: false,
        tool: tool(name),
        args: json!({}),
        principal: Principal { user: ME, role: Role::Admin, ..Principal::owner() },
        via: Via::direct(Channel::Page),
        maker: Owner::Core,
        in_run: true,
        bounds: Bounds { provider: "openai".into(), ..Bounds::default() },
        label: Label::Own,
        authors: vec![],
        known: vec![],
        consented: false,
        grants: vec![],
    }
}

impl Call {
    pub fn args(mut self, args: Value) -> Self {
        self.args = args;
        self
    }
    pub fn role(mut self, role: Role) -> Self {
        self.principal.role = role;
        self
    }
    pub fn maker(mut self, maker: Owner) -> Self {
        self.maker = maker;
        self
    }
    /// Made by a person or program directly.
    pub fn direct(mut self) -> Self {
        self.in_run = false;
        self
    }
    pub fn machine(mut self) -> Self {
        self.via = Via::direct(Channel::Machine);
        self
    }
    /// Spoken in a room.
    pub fn voice(mut self) -> Self {
        (self.principal, self.via.peer) = (Principal::voice(), tool::Peer::Voice);
        self
    }
    /// Made by a tool that is no facade.
    pub fn inside(mut self) -> Self {
        self.inside = true;
        self
    }
    pub fn chat(mut self, chat: &str) -> Self {
        self.via.chat = Some(chat.into());
        self
    }
    pub fn by_word(mut self) -> Self {
        self.bounds.by_word = true;
        self
    }
    pub fn sub(mut self, subagent: Subagent) -> Self {
        self.bounds.subagent = Some(subagent);
        self
    }
    pub fn only(mut self, only: &[&str]) -> Self {
        self.bounds.only = Some(only.iter().map(|o| Arc::from(*o)).collect());
        self
    }
    pub fn tainted(mut self) -> Self {
        self.label = Label::Outside;
        self
    }
    /// In a run that has read the words of another member.
    pub fn after_words_of(mut self, user: UserId, role: Role) -> Self {
        self.authors.push(Principal { user, role, ..Principal::owner() });
        self.label = Label::Member(user);
        self
    }
    pub fn knows(mut self, url: &str) -> Self {
        self.known.push(url.into());
        self
    }
    pub fn destroying(mut self) -> Self {
        self.destroys = true;
        self
    }
    pub fn consented(mut self) -> Self {
        self.consented = true;
        self
    }
    /// The caller granted this version and pattern of the tool.
    pub fn granted(self, version: u32, pattern: Value) -> Self {
        self.granted_to(ME, version, pattern)
    }
    pub fn granted_to(mut self, user: UserId, version: u32, pattern: Value) -> Self {
        let pattern = Pattern::parse(&pattern).unwrap();
        self.grants.push(Grant { id: Id::NIL, user, tool: self.tool.name.clone(), version, pattern });
        self
    }

    /// The decision and the explanation under a policy.
    pub fn under(&self, policy: &Policy) -> (Decision, Vec<RuleOutcome>) {
        self.by(&Rules::compile(policy, &self.grants, &Catalogue).0)
    }

    pub fn by(&self, rules: &Rules) -> (Decision, Vec<RuleOutcome>) {
        let knows = |url: &str| self.known.iter().any(|k| k == url);
        let asked = DecisionRequest {
            principal: &self.principal,
            via: &self.via,
            maker: &self.maker,
            in_run: self.in_run,
            bounds: &self.bounds,
            label: self.label,
            authors: &self.authors,
            additive: self.additive,
            opens: self.opens,
            destroys: self.destroys,
            inside: self.inside,
            knows: &knows,
            consented: self.consented,
        };
        let decision = decide(rules, &asked, &self.tool, &self.args);
        assert_eq!(decision, decide(rules, &asked, &self.tool, &self.args), "the same twice");
        (decision, explain(rules, &asked, &self.tool, &self.args))
    }
}

/// Check that the explanation agrees with the decision.
pub fn agree(decision: &Decision, told: &[RuleOutcome]) {
    let (verdict, rule) = (decision.verdict, decision.rule);
    assert_eq!(told.last().map(|h| h.rule), Some(rule), "{told:#?}");
    assert_eq!(decision.reason.is_empty(), verdict == Verdict::Allow, "{decision:?}");
    let first = |start: &str| told.iter().find(|h| h.says.starts_with(start)).map(|h| h.rule);
    match verdict {
        Verdict::Deny => assert_eq!(first("denies: "), Some(rule), "{told:#?}"),
        Verdict::Ask => assert_eq!((first("denies: "), first("would ask: ")), (None, Some(rule)), "{told:#?}"),
        Verdict::Allow => assert_eq!(first("denies: "), None, "{told:#?}"),
    }
}

/// Checks one row of a table.
pub fn check(row: &str, policy_json: Value, call: &Call, verdict: Verdict, rule: &str) {
    let policy = policy(policy_json);
    policy.check().unwrap_or_else(|why| panic!("{row}: {why}"));
    let (decision, told) = call.under(&policy);
    assert_eq!((decision.verdict, decision.rule), (verdict, rule), "{row}: {decision:?}");
    agree(&decision, &told);
}
