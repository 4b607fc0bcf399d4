//! Layer 4: tools that people and models write in JavaScript.
//!
//! A custom tool is a household record. While active it is in the catalogue like any other tool, and each call runs
//! its code in the sandbox with access only to operations that [`host`] authorises.

mod family;
mod host;
mod record;
mod secrets;

pub use family::family;
pub use record::{Created, CustomTool, Draft, Patch, Permission, Stats, Status};

use config_center::{ConfigCenter, Required};
use host::ToolHost;
use http_client::Guarded;
use record::{Stored, check_code, checked, handle_of};
use registry::Registry;
use sandbox::{Limits, Sandbox, Script};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use store::{Collection, Entry, Listing, Stamp, Store};
use tool::{Area, Cx, Error, Id, Label, Output, Owner, Result, Risk, Role, Run, Scope, Signature, Tool, UserId};

/// The time limit of a call: 30 s of its own, and time to wait for a slot.
const TIMEOUT: Duration = Duration::from_secs(90);
/// The group of all custom tools.
const GROUP: &str = "custom";

/// The custom tools of the household; cheap to clone.
#[derive(Clone)]
pub struct CustomTools {
    records: Collection<Stored>,
    registry: Registry,
    sandbox: Sandbox,
    web: Guarded,
    config: ConfigCenter,
    /// Held from a write until the catalogue is updated, so that both agree.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl CustomTools {
    /// Open the custom tools in `store`; `web` serves tools with the permission `network`, and `config` registers the
    /// services that they require.
    pub fn new(store: &Store, registry: Registry, sandbox: Sandbox, web: Guarded, config: ConfigCenter) -> Self {
        Self { records: store.collection(), registry, sandbox, web, config, changing: Arc::default() }
    }

    /// Publish every active tool to the catalogue at start-up. Invalid ones are logged and skipped.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn load(&self) -> Result<()> {
        for entry in self.records.list_in(Scope::Household, &Listing::default())? {
            if let Err(error) = self.require_stored_services(&entry) {
                tracing::warn!(tool = %entry.value.name, %error, "the services of a custom tool could not be registered");
            }
            if let Err(error) = self.publish(&entry) {
                tracing::warn!(tool = %entry.value.name, %error, "a custom tool could not be published to the catalogue");
            }
        }
        Ok(())
    }

    /// Create a tool. A model's tool with a dangerous permission waits for a person's approval; others are active at
    /// once.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid or its name is taken.
    pub async fn create(&self, cx: &Cx, draft: Draft, by: Created) -> Result<CustomTool> {
        let needs = Required::parse_list(&draft.required_api_keys)?;
        let stored = checked(draft, by)?;
        self.check_syntax(&stored.code).await?;
        let _changing = self.changing.lock().await;
        if self.registry.get(&stored.name).is_some() {
            return Err(Error::bad_args(format!(
                "there is already a tool called `{}`: choose another name",
                stored.name
            )));
        }
        // Owned by the person of the run: a model's tool runs only for them.
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("create_tool") };
        self.require_services(&stored, stamp.label, needs)?;
        let id = stored.id();
        let kept = self.records.insert_as(stamp, stored).await;
        let entry = kept.inspect_err(|_| self.config.unregister(&id))?;
        self.publish(&entry)?;
        publish_change(cx, &entry);
        Ok(entry.into())
    }

    /// List the tools visible to this caller, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx) -> Result<Vec<CustomTool>> {
        let all = self.records.list_in(Scope::Household, &Listing::default())?;
        Ok(all.into_iter().filter(|e| can_see(cx, e)).map(CustomTool::from).collect())
    }

    /// Find a tool by its id, `tool_` and 16 hex digits.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none.
    pub fn get(&self, cx: &Cx, id: &str) -> Result<CustomTool> {
        let entry = self.entry(id)?;
        if can_see(cx, &entry) { Ok(entry.into()) } else { Err(not_found(id)) }
    }

    /// Find a tool by its name.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn named(&self, name: &str) -> Result<CustomTool> {
        self.find_by(1, name.as_bytes())?
            .map(CustomTool::from)
            .ok_or_else(|| Error::not_found(format!("there is no custom tool called `{name}`: see list_custom_tools")))
    }

    /// Apply a patch; new code or parameters raise the version.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the result is invalid or its new name is taken.
    pub async fn update(&self, cx: &Cx, id: &str, patch: Patch) -> Result<CustomTool> {
        let _changing = self.changing.lock().await;
        let old = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        if let Some(name) = patch.name.as_ref().filter(|n| **n != old.value.name && self.registry.get(n).is_some()) {
            return Err(Error::bad_args(format!("there is already a tool called `{name}`: choose another name")));
        }
        let by_admin = cx.principal().role == Role::Admin && *cx.maker() == Owner::Core;
        // Validate before the write for a precise error; inside the write the record may be newer.
        let changed = patch.clone().apply(&old.value, by_admin)?;
        let needs = match (patch.required_api_keys.is_some(), Required::parse_list(&changed.required_api_keys())) {
            (true, Err(error)) => return Err(error),
            // Ignore an invalid list stored by an earlier version.
            (_, needs) => needs.unwrap_or_default(),
        };
        self.check_syntax(&changed.code).await?;
        let change = move |stored: &mut Stored| {
            let changed = patch.clone().apply(stored, by_admin);
            *stored = changed.map_err(|e| store::Error::Conflict(e.to_string()))?;
            Ok(())
        };
        // A grant applied to the old tool.
        let same = changed.name == old.value.name
            && changed.version == old.value.version
            && changed.permissions == old.value.permissions;
        if !same {
            self.registry.forget_grants(&old.value.name).await?;
        }
        self.require_services(&changed, old.label.max(cx.label()), needs)?;
        let kept = self.records.update_in(Scope::Household, cx.label(), old.id, change).await;
        let entry = kept.inspect_err(|_| drop(self.require_stored_services(&old)))?;
        self.registry.remove(GROUP, &old.value.name);
        self.publish(&entry)?;
        publish_change(cx, &entry);
        Ok(entry.into())
    }

    /// Change the status of a tool. Only a person ends `pending_approval`, by approving or rejecting.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the transition is not possible.
    pub async fn set_status(&self, cx: &Cx, id: &str, change: Change) -> Result<CustomTool> {
        let _changing = self.changing.lock().await;
        let entry = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        let set = move |stored: &mut Stored| {
            stored.status =
                change.from(stored.status, &stored.name).map_err(|e| store::Error::Conflict(e.to_string()))?;
            Ok(())
        };
        let entry = self.records.update_in(Scope::Household, Label::Own, entry.id, set).await?;
        self.registry.remove(GROUP, &entry.value.name);
        self.publish(&entry)?;
        publish_change(cx, &entry);
        Ok(entry.into())
    }

    /// Delete a tool permanently.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub async fn delete(&self, cx: &Cx, id: &str) -> Result<()> {
        let _changing = self.changing.lock().await;
        let entry = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        // A new tool may take its name and also begins with version 1.
        self.registry.forget_grants(&entry.value.name).await?;
        self.records.delete_in(Scope::Household, entry.id).await?;
        self.config.unregister(&entry.value.id());
        self.registry.remove(GROUP, &entry.value.name);
        publish_change(cx, &entry);
        Ok(())
    }

    /// Count the tools.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn stats(&self, cx: &Cx) -> Result<Stats> {
        Ok(Stats::of(&self.list(cx)?))
    }

    /// Run a draft once without storing it.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid; `Failed` with the error that its code threw.
    pub async fn test(&self, cx: &Cx, draft: Draft, args: Value) -> Result<Output> {
        let stored = Arc::new(checked(draft, Created::User)?);
        let (this, code) = (self.clone(), stored.clone());
        let run: Run = Arc::new(move |cx, args| {
            let (this, code) = (this.clone(), code.clone());
            Box::pin(async move { this.run(&cx, &code, args).await })
        });
        // Not in the catalogue, but dispatched like every call.
        let tool = tool(&stored, Owner::Person(cx.user()), Label::Own, run);
        self.registry.call_once(cx.clone(), Arc::new(tool), args).await
    }

    /// Parse the code without running it, to report syntax errors to its author at once.
    async fn check_syntax(&self, code: &str) -> Result<()> {
        struct NoCapabilities;
        impl sandbox::Host for NoCapabilities {
            fn operate(&self, _: &str, _: Value) -> futures::future::BoxFuture<'static, Result<Value, String>> {
                Box::pin(async { Err("not available while parsing".to_owned()) })
            }
            fn query(&self, _: &str, _: Value) -> Result<Value, String> {
                Err("not available while parsing".to_owned())
            }
        }
        let code = format!("return; {code}");
        let script = Script { code, args: json!({}), context: json!({}), network: false, nested: false };
        let outcome = self.sandbox.run(script, Arc::new(NoCapabilities), Limits::default()).await;
        match outcome.result {
            Err(sandbox::Fault::Thrown(text)) => Err(Error::bad_args(format!("the code cannot be parsed: {text}"))),
            Err(busy @ sandbox::Fault::Busy { .. }) => {
                Err(Error::unavailable(format!("the code was not checked: {busy}")))
            }
            _ => Ok(()),
        }
    }

    fn entry(&self, id: &str) -> Result<Entry<Stored>> {
        let found = match handle_of(id) {
            Some(handle) => self.find_by(2, &handle)?,
            None => None,
        };
        found.ok_or_else(|| not_found(id))
    }

    fn find_by(&self, index: u8, value: &[u8]) -> Result<Option<Entry<Stored>>> {
        let listing = Listing { by: Some((index, value.to_vec())), limit: 1, before: None };
        Ok(self.records.list_in(Scope::Household, &listing)?.pop())
    }

    /// Register the required services of a tool with the Config Center, under its current name.
    fn require_services(&self, stored: &Stored, label: Label, needs: Vec<Required>) -> Result<()> {
        self.config.register(&stored.id(), &stored.name, label, needs)
    }

    fn require_stored_services(&self, entry: &Entry<Stored>) -> Result<()> {
        self.require_services(&entry.value, entry.label, Required::parse_list(&entry.value.required_api_keys())?)
    }

    /// Publish an active tool to the catalogue.
    fn publish(&self, entry: &Entry<Stored>) -> Result<()> {
        let stored = &entry.value;
        if stored.status != Status::Active {
            return Ok(());
        }
        let (this, id, version) = (self.clone(), entry.id, stored.version);
        let run: Run = Arc::new(move |cx, args| {
            let this = this.clone();
            Box::pin(async move { this.call(cx, id, version, args).await })
        });
        self.registry.add_tool(tool(stored, tool_owner(stored.created_by, entry.owner), entry.label, run))
    }

    /// Run a call from the catalogue. The record is read again, so that recent changes apply; a decision about one
    /// version never runs another.
    async fn call(&self, cx: Cx, id: Id, version: u32, args: Value) -> Result<Output> {
        let gone = || Error::not_found("this custom tool was deleted a moment ago");
        let entry = self.records.get_in(Scope::Household, id)?.ok_or_else(gone)?;
        if entry.value.status != Status::Active {
            return Err(Error::unavailable(format!("`{}` is not active: a person can enable it", entry.value.name)));
        }
        if entry.value.version != version {
            return Err(Error::unavailable(format!("`{}` was changed a moment ago: call it again", entry.value.name)));
        }
        // Code from outside taints the run.
        cx.taint(entry.label);
        let output = self.run(&cx, &entry.value, args).await;
        self.count_use(id);
        output
    }

    async fn run(&self, cx: &Cx, stored: &Stored, args: Value) -> Result<Output> {
        // Checked again: a restored record may come from another version of Hob.
        check_code(&stored.code)
            .map_err(|e| Error::failed(format!("`{}` is not run: {}", stored.name, e.message())))?;
        let context = json!({
            "toolName": stored.name,
            "callId": cx.call_id(),
            "conversationId": cx.conversation(),
            "userId": cx.user().to_string(),
        });
        let network = stored.permissions.contains(&Permission::Network);
        let reach = Arc::new(ToolHost::new(cx.clone(), self.web.clone(), network, Arc::new(stored.clone())));
        let script = Script { code: stored.code.clone(), args, context, network, nested: cx.is_nested() };
        let outcome = self.sandbox.run(script, reach.clone(), Limits::default()).await;
        for log in &outcome.logs {
            tracing::debug!(level = log.level, "[{}] {}", stored.name, log.text);
        }
        let content = outcome.result.map_err(|fault| match fault {
            sandbox::Fault::Busy { started: false, .. } => Error::unavailable(fault_sentence(&stored.name, &fault)),
            fault => Error::failed(fault_sentence(&stored.name, &fault)),
        })?;
        let logs: Vec<Value> = outcome.logs.iter().map(|l| json!({"level": l.level, "text": l.text})).collect();
        let mut output = Output { content, label: reach.label(), ..Output::default() }
            .meta("dynamicTool", stored.name.as_str())
            .meta("executionTime", outcome.wall.as_millis() as u64);
        if !logs.is_empty() {
            output = output.meta("logs", logs);
        }
        Ok(output)
    }

    fn count_use(&self, id: Id) {
        let (records, now) = (self.records.clone(), Id::new().millis());
        self.records.store().write_later(move |tx| {
            let count = &mut |stored: &mut Stored| {
                stored.usage_count = stored.usage_count.saturating_add(1);
                stored.last_used_ms = now;
                Ok(())
            };
            match records.change(tx, Scope::Household, Label::Own, id, count) {
                Err(store::Error::Missing(_)) => Ok(()),
                other => other.map(drop),
            }
        });
    }
}

/// A fault as a sentence; QuickJS's message for deep recursion says too little.
fn fault_sentence(name: &str, fault: &sandbox::Fault) -> String {
    let text = format!("`{name}` failed: {fault}");
    match text.contains("call stack size exceeded") {
        true => format!("{text}. It recurses too deeply: use a loop, or recurse less"),
        false => text,
    }
}

/// The catalogue entry of a stored tool.
fn tool(stored: &Stored, owner: Owner, label: Label, run: Run) -> Tool {
    Tool {
        signature: Signature::given(&stored.description, stored.parameters()),
        category: stored.category.as_deref().unwrap_or("Custom").into(),
        tags: "custom",
        area: Area::Custom,
        version: stored.version,
        // A hash that the code computes is meant to be returned.
        returns_digests: stored.code.contains("utils.hash("),
        requires_confirmation: stored.requires_approval,
        label,
        timeout: TIMEOUT,
        ..Tool::new(&stored.name, Risk::Execute, owner, GROUP, run)
    }
}

/// A model's tool is visible to the person it was made for, and to admins, who are responsible for it.
fn can_see(cx: &Cx, entry: &Entry<Stored>) -> bool {
    entry.value.created_by == Created::User || entry.owner == cx.user() || cx.principal().role == Role::Admin
}

/// Only its owner or an admin may change, switch or delete a tool.
pub(crate) fn may_manage(cx: &Cx, tool: &CustomTool) -> Result<()> {
    if tool.user_id == cx.user().to_string() || cx.principal().role == Role::Admin {
        return Ok(());
    }
    Err(Error::denied(format!("`{}` belongs to another person: ask them or an admin to change it", tool.name)))
}

fn not_found(id: &str) -> Error {
    let id: String = id.chars().take(40).collect();
    Error::not_found(format!("there is no custom tool with the id `{id}`: ids look like tool_0123456789abcdef"))
}

fn tool_owner(by: Created, person: UserId) -> Owner {
    match by {
        Created::User => Owner::Person(person),
        Created::Llm => Owner::Model(person),
    }
}

/// Publish that custom tools changed, without details; clients read them with their own access.
fn publish_change(cx: &Cx, entry: &Entry<Stored>) {
    let to = (entry.value.created_by == Created::Llm).then_some(entry.owner);
    cx.ports().bus.publish("tools:changed", to, serde_json::json!({"tool": entry.value.name}));
}

/// A change of status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Activate.
    Enable,
    /// Deactivate.
    Disable,
    /// Approve a model's tool that is pending or was rejected.
    Approve,
    /// Reject a model's pending tool.
    Reject,
}

impl Change {
    fn from(self, status: Status, name: &str) -> Result<Status> {
        use Status::{Active, Disabled, PendingApproval, Rejected};
        match (self, status) {
            (Change::Approve, PendingApproval | Rejected) => Ok(Active),
            (Change::Reject, PendingApproval) => Ok(Rejected),
            (Change::Approve | Change::Reject, _) => {
                Err(Error::bad_args(format!("`{name}` is not waiting for approval: it is {}", status.word())))
            }
            (Change::Enable, PendingApproval | Rejected) => Err(Error::bad_args(format!(
                "`{name}` is {}: only a person's approval can make it usable",
                status.word()
            ))),
            (Change::Enable, _) => Ok(Active),
            (Change::Disable, PendingApproval | Rejected) => {
                Err(Error::bad_args(format!("`{name}` is {} and cannot be used anyway", status.word())))
            }
            (Change::Disable, _) => Ok(Disabled),
        }
    }
}

#[cfg(test)]
mod tests;
