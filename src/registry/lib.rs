//! Layer 3: one catalogue, one decision, one dispatch.
//!
//! [`Registry`] has every tool of every family and implements [`tool::Dispatch`]: it finds the tool and sends the call through
//! a chain of steps ([`middleware`]): audit, limits, arguments, the decision, the question to a person where one is due,
//! rates, events, and then the tool itself. Tools never do any of that.

mod approvals;
mod audit;
pub mod authored;
mod call;
mod call_counts;
mod catalogue;
mod coerce;
mod dispatch;
mod entry;
mod groups;
mod limits;
mod mask;
mod meaning;
mod meta;
mod middleware;
mod policies;
mod preauthorize;
mod rates;
mod schema;
mod schema_cost;
mod search;
mod validate;

pub use approvals::{Answer, Approval, ApprovalDecision, Approvals, GrantShown, Reply, State};
pub use audit::{AuditEntry, AuditPage, AuditQuery, Calls};
pub use call::{Call, Middleware};
pub use call_counts::CallKey;
pub use catalogue::{Listed, Stats};
pub use groups::Group;
pub use meaning::{Match, MatchedBy};
pub use meta::{CALLERS, help};
pub use policy::{Autonomy, Decision, Policy, RuleOutcome, Verdict};
pub use rates::PerMinute;
pub use validate::{check_schema, schema_faults};

use audit::Audit;
use call::Chain;
use catalogue::{Catalogue, ResolvedName};
use meaning::Meaning;
use policies::Policies;
use policy::Rules;
use questions::{Questions, SuspendedRun, Timeouts};
use scrub::Scrubber;
use serde_json::Value;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use store::Store;
use tool::{Cx, Error, Family, FamilyParts, Id, Owner, Result, Risk, Run, Tool};

/// How calls are limited and asked about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// The calls allowed in a minute.
    pub per_minute: PerMinute,
    /// How long to wait for an answer.
    pub waits: Timeouts,
}

/// The stored parts of a registry: without them nobody can be asked and nothing is recorded.
struct Persistence {
    approvals: Arc<Approvals>,
    policies: Policies,
    audit: Audit,
}

/// The catalogue and its dispatch; cheap to clone.
#[derive(Clone)]
pub struct Registry(Arc<Inner>);

pub(crate) struct Inner {
    catalogue: RwLock<Catalogue>,
    /// `None` after a change of the policy or the catalogue, until compiled again.
    rules: RwLock<Option<Arc<Rules>>>,
    chain: RwLock<Chain>,
    desk: Option<Persistence>,
    scrubber: Scrubber,
    meaning: OnceLock<Meaning>,
}

impl Registry {
    /// A registry that holds only the meta-tools and stores nothing: where a decision says Ask, the call is refused.
    ///
    /// # Errors
    /// Never in practice: only if the meta-tools' own names were wrong.
    pub fn new() -> Result<Self> {
        Self::build(None, None, PerMinute::default(), Scrubber::default())
    }

    /// A registry that holds only the meta-tools, with the policy, questions and audit log of `store`. The secrets
    /// that `scrubber` knows are removed from every answer.
    ///
    /// # Errors
    /// `Failed` when the stored policy cannot be read.
    pub fn open(store: &Store, terms: Terms, scrubber: Scrubber) -> Result<Self> {
        Self::with_questions(store, Questions::new(store, terms.waits), terms.per_minute, scrubber)
    }

    /// The same, with approvals as a kind of these questions.
    ///
    /// # Errors
    /// As [`Registry::open`].
    pub fn with_questions(
        store: &Store,
        questions: Questions,
        per_minute: PerMinute,
        scrubber: Scrubber,
    ) -> Result<Self> {
        let desk = Persistence {
            approvals: Approvals::open(store, questions)?,
            policies: Policies::open(store)?,
            audit: Audit::open(store)?,
        };
        Self::build(Some(desk), Some(store.clone()), per_minute, scrubber)
    }

    fn build(
        desk: Option<Persistence>,
        store: Option<Store>,
        per_minute: PerMinute,
        scrubber: Scrubber,
    ) -> Result<Self> {
        let inner = Arc::new_cyclic(|inner| {
            let mut chain: Vec<Arc<dyn Middleware>> = vec![];
            if let Some(desk) = &desk {
                chain.push(Arc::new(desk.audit.clone()));
            }
            chain.push(Arc::new(middleware::Cap));
            chain.push(Arc::new(middleware::Scrub(scrubber.clone())));
            chain.push(Arc::new(middleware::Confidential));
            chain.push(Arc::new(middleware::Limits));
            chain.push(Arc::new(middleware::Validate));
            chain.push(Arc::new(middleware::Decide(inner.clone())));
            chain.push(Arc::new(rates::Rates::new(per_minute)));
            chain.push(Arc::new(middleware::Events));
            if let Some(store) = &store {
                chain.push(Arc::new(middleware::Changes(store.clone(), scrubber.clone())));
            }
            let audit = desk.as_ref().map(|desk| desk.audit.clone());
            chain.push(Arc::new(middleware::Begin { store, audit }));
            let mut catalogue = Catalogue::default();
            if let Some(desk) = &desk {
                catalogue.set_groups(desk.policies.switches());
            }
            Inner {
                catalogue: RwLock::new(catalogue),
                rules: RwLock::default(),
                chain: RwLock::new(chain.into()),
                desk,
                scrubber,
                meaning: OnceLock::new(),
            }
        });
        let registry = Self(inner);
        registry.add(meta::family(registry.clone()))?;
        Ok(registry)
    }

    /// The same registry, which also finds tools by meaning where words find few.
    pub fn with_meaning(self, embedder: embed::Embedder, store: &Store) -> Self {
        let _ = self.0.meaning.set(Meaning::new(embedder, store));
        self
    }

    /// Adds a step to the chain, before arguments are limited and checked, and within scrubbing and cap.
    pub fn add_middleware(&self, step: Arc<dyn Middleware>) {
        let mut chain = self.0.chain.write().unwrap_or_else(PoisonError::into_inner);
        let at = chain.iter().position(|s| s.name() == "confidential").unwrap_or(0);
        let mut steps: Vec<_> = chain.to_vec();
        steps.insert(at, step);
        *chain = steps.into();
    }

    fn chain(&self) -> Chain {
        self.0.chain.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Adds all tools of a family.
    ///
    /// # Errors
    /// `BadArgs` when a name is malformed or taken; nothing is added then.
    pub fn add<S: Clone + Send + Sync + 'static>(&self, family: Family<S>) -> Result<()> {
        self.add_families(vec![family.into_parts()])
    }

    /// Adds all tools of several families at once: a start has two dozen, and each change looks at the whole catalogue.
    ///
    /// # Errors
    /// As [`Registry::add`]; nothing of any is added then.
    pub fn add_families(&self, families: Vec<FamilyParts>) -> Result<()> {
        self.change(|c| c.add_families(families))
    }

    /// Adds one tool, as custom tools do at run time.
    ///
    /// # Errors
    /// `BadArgs` when the name is malformed or taken.
    pub fn add_tool(&self, tool: Tool) -> Result<()> {
        self.change(|c| c.add_all(vec![tool]))
    }

    /// Removes a tool of a group by its canonical name; `false` when there is none.
    pub fn remove(&self, group: &str, name: &str) -> bool {
        self.change(|c| c.remove(group, name))
    }

    /// Removes every tool of one owner (a plugin, an MCP server, a person's or model's custom tools) and returns how many.
    pub fn remove_owner(&self, owner: &Owner) -> usize {
        self.change(|c| c.remove_owner(owner))
    }

    /// Replaces the function of a tool; everything else stays. `false` when there is no such tool.
    pub fn replace(&self, name: &str, run: Run) -> bool {
        self.change(|c| c.replace(name, run))
    }

    /// The tool behind a name or alias.
    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        self.read(|c| c.get(name))
    }

    /// Up to three tools that this caller sees and whose names are similar, the most similar first.
    pub fn similar_names(&self, cx: &Cx, name: &str) -> Vec<Arc<str>> {
        self.read(|c| c.nearest(name, |tool| Self::visible(cx, tool)))
    }

    /// Checks that each entry is a tool that this caller sees, a group (`group:memory`), or `*`.
    ///
    /// # Errors
    /// `BadArgs` with the first that is none.
    pub fn check_names(&self, cx: &Cx, entries: &[String]) -> Result<()> {
        entries.iter().try_for_each(|entry| match entry.strip_prefix("group:") {
            _ if matches!(entry.as_str(), "*" | "group:all") => Ok(()),
            Some(id) if self.read(|c| policy::Names::group(c, id)).is_some() => Ok(()),
            Some(id) => {
                let id: String = id.chars().take(64).collect();
                Err(Error::bad_args(format!("there is no group of tools called `{id}`: see GET /api/v1/tool-groups")))
            }
            None => self.find(cx, entry).map(drop).map_err(|e| Error::bad_args(e.message())),
        })
    }

    /// Whether a call may change something; for a call within a call, whether the inner one may.
    pub fn may_change(&self, name: &str, args: &Value) -> bool {
        let behind = |call: &Value| {
            let [name, args] = [["tool_name", "tool"], ["arguments", "args"]].map(|keys| keys.map(|key| &call[key]));
            let name = name.into_iter().find_map(Value::as_str).unwrap_or_default();
            !meta::CALLERS.contains(&name)
                && self.may_change(name, args.into_iter().find(|v| v.is_object()).unwrap_or(&Value::Null))
        };
        match name {
            meta::USE_TOOL => behind(args),
            meta::BATCH_USE_TOOL => args["operations"].as_array().is_some_and(|all| all.iter().any(behind)),
            name => self.get(name).is_some_and(|tool| tool.risk != Risk::Observe),
        }
    }

    /// Every tool by canonical name, in order of name.
    pub fn tools(&self) -> Vec<Arc<Tool>> {
        self.read(Catalogue::all)
    }

    /// The tools that a request to a model may offer, or whose names models know ([`tool::Offer`]), in the order they were
    /// added.
    pub fn everyday(&self) -> Vec<Arc<Tool>> {
        self.read(Catalogue::everyday)
    }

    /// Whether a repeated call of a tool has the same effect as one. Unknown for tools that call others, so `false`.
    pub fn is_idempotent(&self, name: &str) -> bool {
        !meta::CALLERS.contains(&name) && self.get(name).is_none_or(|tool| tool.idempotent)
    }

    /// The tools that match, best first: word by word in name, description, tags and category; `all` or an empty query
    /// matches everything.
    pub fn search(&self, query: &str, category: Option<&str>) -> Vec<Arc<Tool>> {
        self.read(|c| c.search(query, category))
    }

    /// Counts of tools by category, group and owner, and of calls.
    pub fn stats(&self) -> Stats {
        let calls = self.desk().map(|d| d.audit.calls()).unwrap_or_default();
        Stats { calls, ..self.read(Catalogue::stats) }
    }

    /// Whether this caller may see a tool at all: a model's tool is visible only to the person it was made for.
    pub fn visible(cx: &Cx, tool: &Tool) -> bool {
        !matches!(&tool.owner, Owner::Model(user) if *user != cx.user())
    }

    /// The phrase files of all families, for `reflex`.
    pub fn phrases(&self) -> Vec<&'static str> {
        self.read(|c| c.phrases.clone())
    }

    /// The groups of tools, and which of them are on.
    pub fn groups(&self) -> Vec<Group> {
        self.read(Catalogue::groups)
    }

    /// Turns a group on or off, durably. The groups it needs are turned on with it.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when it cannot be turned off; `Unavailable` when the disk is full.
    pub async fn switch_group(&self, cx: &Cx, id: &str, on: bool) -> Result<()> {
        let (policies, mut follow) = (&self.persistence()?.policies, vec![]);
        policies
            .change(|_, switches| {
                follow = self.read(|c| c.switch(switches, id, on))?;
                Ok(())
            })
            .await?;
        self.change(|c| c.set_groups(policies.switches()));
        let data = serde_json::json!({"group": id, "enabled": on, "follow": follow});
        cx.ports().bus.publish("groups:changed", None, data);
        Ok(())
    }

    /// The policy as people set it, and warnings about unknown names in it.
    pub fn policy(&self) -> (Policy, Vec<String>) {
        let policy = self.0.desk.as_ref().map(|d| d.policies.policy()).unwrap_or_default();
        let warnings = self.read(|c| Rules::compile(&policy, &[], c)).1;
        (policy, warnings)
    }

    /// Changes the policy, durably, from the next call on.
    ///
    /// # Errors
    /// `BadArgs` when the result is invalid; `Unavailable` when the disk is full.
    pub async fn change_policy(&self, cx: &Cx, change: impl FnOnce(&mut Policy)) -> Result<()> {
        self.persistence()?
            .policies
            .change(|policy, _| {
                change(policy);
                Ok(())
            })
            .await?;
        self.forget_rules();
        cx.ports().bus.publish("policy:changed", None, serde_json::json!({}));
        Ok(())
    }

    /// How much an agent may do for a person without asking.
    pub fn autonomy(&self, cx: &Cx) -> Autonomy {
        self.rules().autonomy(cx.user(), cx.agent())
    }

    /// The service for questions to people; `None` where nobody can be asked.
    pub fn questions(&self) -> Option<&Questions> {
        self.desk().map(|d| d.approvals.service())
    }

    /// The approvals; `None` where nobody can be asked.
    pub fn approvals(&self) -> Option<&Arc<Approvals>> {
        self.desk().map(|d| &d.approvals)
    }

    /// Stores the answer to an approval. The second part is the run that has to be resumed.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's; `Unavailable` when it is settled already; `Denied` when their role does not
    /// suffice; `BadArgs` when the pattern is invalid.
    pub async fn settle(&self, cx: &Cx, id: Id, answer: Answer) -> Result<(Approval, Option<SuspendedRun>)> {
        let always = answer.decision == ApprovalDecision::AllowAlways;
        let settled = self.persistence()?.approvals.settle(cx, id, answer).await?;
        if always {
            self.forget_rules();
        }
        Ok(settled)
    }

    /// Revokes a standing grant.
    ///
    /// # Errors
    /// `NotFound` when it is not this person's.
    pub async fn take_back(&self, cx: &Cx, grant: Id) -> Result<()> {
        let taken = self.persistence()?.approvals.grant_store().revoke(cx, grant).await;
        self.forget_rules();
        taken
    }

    /// Deletes every standing grant for a tool, before the tool changes or another one takes its name.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn forget_grants(&self, tool: &str) -> Result<()> {
        let Some(desk) = self.desk() else { return Ok(()) };
        let forgotten = desk.approvals.grant_store().forget_tool(tool).await;
        self.forget_rules();
        forgotten
    }

    /// Records a change that a person made without a tool in the audit log.
    pub fn audit_change(&self, cx: &Cx, what: &str, details: &Value) {
        if let Some(desk) = self.desk() {
            desk.audit.note_change(cx, what, details);
        }
    }

    /// A page of the audit log.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn audit(&self, query: &AuditQuery) -> Result<AuditPage> {
        self.persistence()?.audit.page(query)
    }

    /// The scrubber that removes secrets from texts.
    pub fn scrubber(&self) -> &Scrubber {
        &self.0.scrubber
    }

    /// Removes every tool, and with it whatever the tools hold; calls return `NotFound` from then on.
    pub fn close(&self) {
        self.change(|c| *c = Catalogue::default());
    }

    fn desk(&self) -> Option<&Persistence> {
        self.0.desk.as_ref()
    }
    fn persistence(&self) -> Result<&Persistence> {
        self.desk().ok_or_else(|| Error::unavailable("nothing is kept here: there is no store"))
    }

    /// The rules, compiled when first needed: a start changes the catalogue many times before the first call.
    fn rules(&self) -> Arc<Rules> {
        if let Some(rules) = &*self.0.rules.read().unwrap_or_else(PoisonError::into_inner) {
            return rules.clone();
        }
        // Locked while all of it is read, so that a change meanwhile invalidates them again.
        let mut rules = self.0.rules.write().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let (policy, grants) = match self.desk() {
                Some(desk) => (desk.policies.policy(), desk.approvals.grant_store().in_force()),
                None => Default::default(),
            };
            Arc::new(self.read(|c| Rules::compile(&policy, &grants, c)).0)
        };
        rules.get_or_insert_with(make).clone()
    }

    /// Invalidates the rules: the policy has changed, or a name means another tool.
    fn forget_rules(&self) {
        *self.0.rules.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    fn read<T>(&self, f: impl FnOnce(&Catalogue) -> T) -> T {
        f(&self.0.catalogue.read().unwrap_or_else(PoisonError::into_inner))
    }
    fn change<T>(&self, f: impl FnOnce(&mut Catalogue) -> T) -> T {
        let changed = f(&mut self.0.catalogue.write().unwrap_or_else(PoisonError::into_inner));
        self.forget_rules();
        changed
    }

    /// The tool behind a name, or an error that names similar ones.
    pub(crate) fn find(&self, cx: &Cx, name: &str) -> Result<ResolvedName> {
        if let Some(found) = self.read(|c| c.find(name)).filter(|f| Self::visible(cx, &f.entry.tool)) {
            return Ok(found);
        }
        let near = self.similar_names(cx, name);
        let hint = match near.as_slice() {
            [] => "find one with search_tools".to_owned(),
            near => {
                format!("did you mean {}?", near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "))
            }
        };
        let name: String = name.chars().take(64).collect();
        Err(Error::not_found(format!("there is no tool called `{name}`: {hint}")))
    }
}
