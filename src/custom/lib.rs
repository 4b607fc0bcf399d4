//! Layer 4: tools that people and models write in JavaScript.
//!
//! A custom tool is a household record. While active it is in the catalogue like any other tool, and each call runs
//! its code in the sandbox with access only to operations that [`host`] authorises.

mod family;
mod host;
mod record;
mod secrets;

pub use family::family;
pub use record::{CustomTool, Draft, Patch, Permission, Stats};
pub use registry::authored::{Author, Change, Created, Status};

use config_center::{ConfigCenter, Required};
use futures::future::BoxFuture;
use host::ToolHost;
use http_client::Guarded;
use record::{Stored, check_code, checked};
use registry::{
    Registry,
    authored::{Authored, AuthoredTools, GROUP, by_admin},
};
use sandbox::{Limits, Sandbox, Script};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use store::{Entry, Stamp, Store};
use tool::{Area, Cx, Error, Label, Output, Owner, Result, Risk, Run, Scope, Signature, Tool};

/// The time limit of a call: 30 s of its own, and time to wait for a slot.
const TIMEOUT: Duration = Duration::from_secs(90);

/// The custom tools of the household; cheap to clone.
#[derive(Clone)]
pub struct CustomTools {
    tools: AuthoredTools<Stored>,
    sandbox: Sandbox,
    web: Guarded,
    config: ConfigCenter,
}

impl CustomTools {
    /// Open the custom tools in `store`; `web` serves tools with the permission `network`, and `config` registers the
    /// services that they require.
    pub fn new(store: &Store, registry: Registry, sandbox: Sandbox, web: Guarded, config: ConfigCenter) -> Self {
        Self { tools: AuthoredTools::new(store, registry), sandbox, web, config }
    }

    /// Publish every active tool to the catalogue at start-up. Invalid ones are logged and skipped.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn load(&self) -> Result<()> {
        for entry in self.tools.all()? {
            if let Err(error) = self.require_stored_services(&entry) {
                tracing::warn!(tool = %entry.value.head.name, %error, "the services of a custom tool could not be registered");
            }
        }
        self.publish_all()
    }

    fn check_is_free(&self, name: &str) -> Result<()> {
        match self.tools.registry.get(name) {
            None => Ok(()),
            Some(_) => Err(Error::bad_args(format!("there is already a tool called `{name}`: choose another name"))),
        }
    }

    /// Find a tool by its name.
    fn named(&self, name: &str) -> Result<Entry<Stored>> {
        let gone = || Error::not_found(format!("there is no custom tool called `{name}`: see list_custom_tools"));
        self.tools.named(name)?.ok_or_else(gone)
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
        let stored = checked(draft, Created::User)?;
        let (this, code) = (self.clone(), Arc::new(stored.clone()));
        let run: Run = Arc::new(move |cx, args| {
            let (this, code) = (this.clone(), code.clone());
            Box::pin(async move { this.execute(&cx, &code, args).await })
        });
        self.call_once(cx, &stored, args, run).await
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

    /// Register the required services of a tool with the Config Center, under its current name.
    fn require_services(&self, stored: &Stored, label: Label, needs: Vec<Required>) -> Result<()> {
        self.config.register(&stored.id(), &stored.head.name, label, needs)
    }

    fn require_stored_services(&self, entry: &Entry<Stored>) -> Result<()> {
        self.require_services(&entry.value, entry.label, Required::parse_list(&entry.value.required_api_keys())?)
    }

    async fn execute(&self, cx: &Cx, stored: &Stored, args: Value) -> Result<Output> {
        // Checked again: a restored record may come from another version of Hob.
        check_code(&stored.code)
            .map_err(|e| Error::failed(format!("`{}` is not run: {}", stored.head.name, e.message())))?;
        let context = json!({
            "toolName": stored.head.name,
            "callId": cx.call_id(),
            "conversationId": cx.conversation(),
            "userId": cx.user().to_string(),
        });
        let network = stored.permissions.contains(&Permission::Network);
        let reach = Arc::new(ToolHost::new(cx.clone(), self.web.clone(), network, Arc::new(stored.clone())));
        let script = Script { code: stored.code.clone(), args, context, network, nested: cx.is_nested() };
        let outcome = self.sandbox.run(script, reach.clone(), Limits::default()).await;
        for log in &outcome.logs {
            tracing::debug!(level = log.level, "[{}] {}", stored.head.name, log.text);
        }
        let content = outcome.result.map_err(|fault| match fault {
            sandbox::Fault::Busy { started: false, .. } => {
                Error::unavailable(fault_sentence(&stored.head.name, &fault))
            }
            fault => Error::failed(fault_sentence(&stored.head.name, &fault)),
        })?;
        let logs: Vec<Value> = outcome.logs.iter().map(|l| json!({"level": l.level, "text": l.text})).collect();
        let mut output = Output { content, label: reach.label(), ..Output::default() }
            .meta("dynamicTool", stored.head.name.as_str())
            .meta("executionTime", outcome.wall.as_millis() as u64);
        if !logs.is_empty() {
            output = output.meta("logs", logs);
        }
        Ok(output)
    }
}

impl Author for CustomTools {
    type Stored = Stored;
    type View = CustomTool;
    type Draft = Draft;
    type Patch = Patch;

    fn tools(&self) -> &AuthoredTools<Stored> {
        &self.tools
    }

    fn entry(&self, stored: &Stored, owner: Owner, label: Label, run: Run) -> Result<Tool> {
        Ok(Tool {
            signature: Signature::given(&stored.head.description, stored.head.parameters()),
            category: stored.category.as_deref().unwrap_or("Custom").into(),
            tags: "custom",
            area: Area::Custom,
            version: stored.life.version,
            // A hash that the code computes is meant to be returned.
            returns_digests: stored.code.contains("utils.hash("),
            requires_confirmation: stored.life.requires_approval,
            label,
            timeout: TIMEOUT,
            ..Tool::new(&stored.head.name, Risk::Execute, owner, GROUP, run)
        })
    }

    async fn create(&self, cx: &Cx, draft: Draft, by: Created) -> Result<CustomTool> {
        let needs = Required::parse_list(&draft.required_api_keys)?;
        let stored = checked(draft, by)?;
        self.check_syntax(&stored.code).await?;
        let _changing = self.tools.changing().await;
        self.check_is_free(&stored.head.name)?;
        // Owned by the person of the run: a model's tool runs only for them.
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("create_tool") };
        self.require_services(&stored, stamp.label, needs)?;
        let id = stored.id();
        let kept = self.tools.records.insert_as(stamp, stored).await;
        let entry = kept.inspect_err(|_| self.config.unregister(&id))?;
        self.publish_new(cx, entry)
    }

    async fn update(&self, cx: &Cx, id: &str, patch: Patch) -> Result<CustomTool> {
        let _changing = self.tools.changing().await;
        let old = self.tools.managed(cx, id)?;
        if let Some(name) = patch.name.as_ref().filter(|name| **name != old.value.head.name) {
            self.check_is_free(name)?;
        }
        let by_admin = by_admin(cx);
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
        let same = changed.head.name == old.value.head.name
            && changed.life.version == old.value.life.version
            && changed.permissions == old.value.permissions;
        if !same {
            self.tools.registry.forget_grants(&old.value.head.name).await?;
        }
        self.require_services(&changed, old.label.max(cx.label()), needs)?;
        let kept = self.tools.records.update_in(Scope::Household, cx.label(), old.id, change).await;
        let entry = kept.inspect_err(|_| drop(self.require_stored_services(&old)))?;
        self.republish(cx, &old.value.head.name, entry)
    }

    async fn delete(&self, cx: &Cx, id: &str) -> Result<()> {
        let _changing = self.tools.changing().await;
        let entry = self.tools.managed(cx, id)?;
        // A new tool may take its name and also begins with version 1.
        self.tools.registry.forget_grants(&entry.value.head.name).await?;
        self.tools.records.delete_in(Scope::Household, entry.id).await?;
        self.config.unregister(&entry.value.id());
        self.tools.withdraw(cx, &entry);
        Ok(())
    }

    fn run<'a>(&'a self, cx: &'a Cx, stored: &'a Stored, args: Value) -> BoxFuture<'a, Result<Output>> {
        Box::pin(self.execute(cx, stored, args))
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

#[cfg(test)]
mod tests;
