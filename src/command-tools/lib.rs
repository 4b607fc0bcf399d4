//! Layer 4: tools that people define as a command with places for parameters, such as `dig +short {{domain}}`.
//!
//! A command tool is a household record. While active it is in the catalogue like any other tool, and each call runs its
//! command in the process sandbox. The values of a call never become text of the command: see [`template`]. Its environment
//! variables are sealed, bound to the tool, and write-only.

mod family;
mod record;
mod template;

pub use family::family;
pub use record::{CommandTool, Created, Draft, Patch, Status};

use process_sandbox::Limits;
use record::{Environment, Stored, checked, handle_of};
use registry::Registry;
use scrub::{How, Scrubber};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};
use store::{Collection, Entry, Listing, Stamp, Store};
use template::{Rendered, Template};
use tool::{Area, Cx, Error, Id, Label, Output, Owner, Result, Risk, Role, Run, Scope, Signature, Tool, UserId};
use tools_workshop::{Form, Program, Workshop, answer, check_command, would_destroy};

/// How much longer a call may take than its command: for its turn, and for marks on what it changed.
const AROUND: Duration = Duration::from_secs(60);
/// The group of all tools that people and models define.
const GROUP: &str = "custom";
/// The maximum number of command tools.
const MOST: usize = 200;
/// The source of sealed values for the scrubber.
const SECRETS: &str = "command-tools";
/// The shortest sealed value that is removed from all output; shorter ones only from that of their tool.
const SHORTEST: usize = 8;

/// The command tools of the household; cheap to clone.
#[derive(Clone)]
pub struct CommandTools {
    records: Collection<Stored>,
    registry: Registry,
    workshop: Workshop,
    /// Held from a write until the catalogue is updated, so that both agree.
    changing: Arc<tokio::sync::Mutex<()>>,
}

impl CommandTools {
    /// Open the command tools in `store`.
    pub fn new(store: &Store, registry: Registry, workshop: Workshop) -> Self {
        Self { records: store.collection(), registry, workshop, changing: Arc::default() }
    }

    /// Publish every active tool to the catalogue at start-up. Invalid ones are logged and skipped.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn load(&self) -> Result<()> {
        for entry in self.all()? {
            if let Err(error) = self.publish(&entry) {
                tracing::warn!(tool = %entry.value.name, %error, "a command tool could not be published to the catalogue");
            }
        }
        self.learn_secrets()
    }

    /// Create a tool. A model's tool waits for a person's approval; others are active at once.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid, its name is taken, or there are too many.
    pub async fn create(&self, cx: &Cx, draft: Draft, by: Created) -> Result<CommandTool> {
        let (stored, env) = checked(draft, by)?;
        let _changing = self.changing.lock().await;
        self.check_new_name(&stored.name)?;
        if self.all()?.len() >= MOST {
            return Err(Error::bad_args(format!("there are {MOST} command tools, the maximum: delete one first")));
        }
        // Owned by the person of the run: a model's tool runs only for them.
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("create_command_tool") };
        let id = Id::new();
        let (sealed, values) = (stored.sealed_name(), seal(&env)?);
        let records = self.records.clone();
        let job = move |tx: &store::Tx| {
            let entry = records.put(tx, id, &stamp, &stored)?;
            records.store().seal_in(tx, &sealed, values.as_deref())?;
            Ok(entry)
        };
        let entry = self.records.store().write(job).await?;
        self.learn_secrets()?;
        self.publish(&entry)?;
        publish_change(cx, &entry);
        Ok(entry.into())
    }

    /// List the tools visible to this caller, the newest first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn list(&self, cx: &Cx) -> Result<Vec<CommandTool>> {
        Ok(self.all()?.into_iter().filter(|e| can_see(cx, e)).map(CommandTool::from).collect())
    }

    /// Find a tool by its id, `cmd_` and 16 hex digits.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none.
    pub fn get(&self, cx: &Cx, id: &str) -> Result<CommandTool> {
        let entry = self.entry(id)?;
        if can_see(cx, &entry) { Ok(entry.into()) } else { Err(not_found(id)) }
    }

    /// Find a tool by its name.
    ///
    /// # Errors
    /// `NotFound` when this caller can see none.
    pub fn named(&self, cx: &Cx, name: &str) -> Result<CommandTool> {
        let found = self.find_by(1, name.as_bytes())?.filter(|entry| can_see(cx, entry)).map(CommandTool::from);
        found.ok_or_else(|| {
            let name = text_kit::truncate(name, 60);
            Error::not_found(format!("there is no command tool called `{name}`: see list_command_tools"))
        })
    }

    /// Apply a patch; the next call uses the result.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the result is invalid or its new name is taken.
    pub async fn update(&self, cx: &Cx, id: &str, patch: Patch) -> Result<CommandTool> {
        let _changing = self.changing.lock().await;
        let old = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        if let Some(name) = patch.name.as_ref().filter(|name| **name != old.value.name) {
            self.check_new_name(name)?;
        }
        let by_admin = cx.principal().role == Role::Admin && *cx.maker() == Owner::Core;
        let (env, env_is_new) = (self.unsealed(&old.value).unwrap_or_default(), patch.env.is_some());
        let (new, new_env) = patch.apply(&old.value, &env, by_admin)?;
        if new.name != old.value.name || new.version != old.value.version {
            // A grant applied to the old tool.
            self.registry.forget_grants(&old.value.name).await?;
        }
        let (sealed, values) = (new.sealed_name(), seal(&new_env)?);
        // Names without values, as after a restore on another device, stay until values are given.
        let keep_names = !env_is_new && new_env.is_empty();
        let names = if keep_names { old.value.env_names.clone() } else { new.env_names.clone() };
        let (records, id, label) = (self.records.clone(), old.id, cx.label());
        let job = move |tx: &store::Tx| {
            let change = &mut |stored: &mut Stored| {
                let counted = (stored.usage_count, stored.last_used_ms);
                stored.clone_from(&new);
                stored.env_names.clone_from(&names);
                (stored.usage_count, stored.last_used_ms) = counted;
                Ok(())
            };
            let entry = records.change(tx, Scope::Household, label, id, change)?;
            if env_is_new {
                records.store().seal_in(tx, &sealed, values.as_deref())?;
            }
            Ok(entry)
        };
        let entry = self.records.store().write(job).await?;
        self.learn_secrets()?;
        self.republish(cx, &old.value.name, entry)
    }

    /// Change the status of a tool. Only a person ends `pending_approval`, by approving or rejecting.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the transition is not possible.
    pub async fn set_status(&self, cx: &Cx, id: &str, change: Change) -> Result<CommandTool> {
        let _changing = self.changing.lock().await;
        let entry = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        change.from(entry.value.status, &entry.value.name)?;
        let set = move |stored: &mut Stored| {
            stored.status =
                change.from(stored.status, &stored.name).map_err(|e| store::Error::Conflict(e.to_string()))?;
            Ok(())
        };
        let entry = self.records.update_in(Scope::Household, Label::Own, entry.id, set).await?;
        let name = entry.value.name.clone();
        self.republish(cx, &name, entry)
    }

    /// Delete a tool permanently, with its sealed values.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub async fn delete(&self, cx: &Cx, id: &str) -> Result<()> {
        let _changing = self.changing.lock().await;
        let entry = self.entry(id)?;
        may_manage(cx, &self.get(cx, id)?)?;
        // A new tool may take its name and also begins with version 1.
        self.registry.forget_grants(&entry.value.name).await?;
        let (records, sealed, id) = (self.records.clone(), entry.value.sealed_name(), entry.id);
        let job = move |tx: &store::Tx| {
            records.remove(tx, Scope::Household, id)?;
            records.store().seal_in(tx, &sealed, None)
        };
        self.records.store().write(job).await?;
        self.registry.remove(GROUP, &entry.value.name);
        self.learn_secrets()?;
        publish_change(cx, &entry);
        Ok(())
    }

    /// Run a draft once without storing it.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid; those of a call.
    pub async fn test(&self, cx: &Cx, draft: Draft, args: Value) -> Result<Output> {
        let (stored, env) = checked(draft, Created::User)?;
        let (stored, env) = (Arc::new(stored), Arc::new(env));
        let (this, code) = (self.clone(), stored.clone());
        let run: Run = Arc::new(move |cx, args| {
            let (this, code, env) = (this.clone(), code.clone(), env.clone());
            Box::pin(async move { this.run(&cx, &code, &env, args).await })
        });
        // Not in the catalogue, but dispatched like every call.
        let tool = self.tool(&stored, Owner::Person(cx.user()), Label::Own, run)?;
        self.registry.call_once(cx.clone(), Arc::new(tool), args).await
    }

    fn all(&self) -> Result<Vec<Entry<Stored>>> {
        Ok(self.records.list_in(Scope::Household, &Listing::default())?)
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

    /// A name must be free in the catalogue, and among command tools that are not in it.
    fn check_new_name(&self, name: &str) -> Result<()> {
        if self.registry.get(name).is_none() && self.find_by(1, name.as_bytes())?.is_none() {
            return Ok(());
        }
        let name = text_kit::truncate(name, 60);
        Err(Error::bad_args(format!("there is already a tool called `{name}`: choose another name")))
    }

    /// The values of a tool's environment.
    fn unsealed(&self, stored: &Stored) -> Result<Environment> {
        let lost = || {
            Error::unavailable(format!(
                "the environment of `{}` cannot be read on this device, as after a restore: set its variables again",
                stored.name
            ))
        };
        let sealed = self.records.store().unseal_if_ours(&stored.sealed_name())?;
        let env: Environment = match sealed {
            Some(bytes) => serde_json::from_slice(&bytes).map_err(|_| lost())?,
            None => Environment::default(),
        };
        if stored.env_names.iter().any(|name| !env.contains_key(name)) {
            return Err(lost());
        }
        Ok(env)
    }

    /// Tell the scrubber every sealed value.
    fn learn_secrets(&self) -> Result<()> {
        let mut values = vec![];
        for entry in self.all()? {
            let env = self.unsealed(&entry.value).unwrap_or_default();
            values.extend(env.into_values().filter(|value| value.trim().len() >= SHORTEST));
        }
        self.workshop.scrubber.set(SECRETS, values);
        Ok(())
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
        let owner = match stored.created_by {
            Created::User => Owner::Person(entry.owner),
            Created::Llm => Owner::Model(entry.owner),
        };
        self.registry.add_tool(self.tool(stored, owner, entry.label, run)?)
    }

    fn republish(&self, cx: &Cx, old_name: &str, entry: Entry<Stored>) -> Result<CommandTool> {
        self.registry.remove(GROUP, old_name);
        self.publish(&entry)?;
        publish_change(cx, &entry);
        Ok(entry.into())
    }

    /// The catalogue entry of a stored tool.
    fn tool(&self, stored: &Stored, owner: Owner, label: Label, run: Run) -> Result<Tool> {
        let parameters = stored.parameters();
        let template = Template::parse(&stored.command, &parameters)?;
        let (workshop, folder) = (self.workshop.clone(), folder_of(stored).to_owned());
        let destroys = move |cx: &Cx, args: &Value| {
            let rendered = template.render(args.as_object().unwrap_or(&Map::new()));
            rendered.is_ok_and(|rendered| would_destroy(&workshop, cx, &rendered.shown, &folder))
        };
        Ok(Tool {
            signature: Signature::given(&stored.description, parameters),
            category: "Command".into(),
            tags: "command shell custom",
            area: Area::Custom,
            version: stored.version,
            requires_confirmation: stored.requires_approval,
            label,
            destroys: Some(Arc::new(destroys)),
            timeout: Duration::from_secs(stored.timeout_seconds.into()) + AROUND,
            ..Tool::new(&stored.name, Risk::Execute, owner, GROUP, run)
        })
    }

    /// Run a call from the catalogue. The record is read again, so that recent changes apply; a decision about one
    /// version never runs another.
    async fn call(&self, cx: Cx, id: Id, version: u32, args: Value) -> Result<Output> {
        let gone = || Error::not_found("this command tool was deleted a moment ago");
        let entry = self.records.get_in(Scope::Household, id)?.ok_or_else(gone)?;
        let name = &entry.value.name;
        if entry.value.status != Status::Active {
            return Err(Error::unavailable(format!("`{name}` is not active: a person can enable it")));
        }
        if entry.value.version != version {
            return Err(Error::unavailable(format!("`{name}` was changed a moment ago: call it again")));
        }
        // A command from outside taints the run.
        cx.taint(entry.label);
        let env = self.unsealed(&entry.value)?;
        let output = self.run(&cx, &entry.value, &env, args).await;
        self.count_use(id);
        output
    }

    async fn run(&self, cx: &Cx, stored: &Stored, env: &Environment, args: Value) -> Result<Output> {
        if stored.agent.is_some_and(|agent| agent != cx.agent().0) {
            return Err(Error::denied(format!("`{}` is for another agent: ask that one", stored.name)));
        }
        let template = Template::parse(&stored.command, &stored.parameters())?;
        let defaults = with_defaults(&stored.parameters(), args);
        let Rendered { script, variables, shown } = template.render(&defaults)?;
        check_command(&shown)?;
        let mut program = Program::new(self.workshop.find("sh")?, ["-c".to_owned(), script]);
        program.env = env.clone().into_iter().chain(variables).collect();
        program.folder = Some(folder_of(stored).to_owned());
        let seconds = Duration::from_secs(stored.timeout_seconds.into());
        program.limits = Limits { wall: seconds, cpu: seconds, ..self.workshop.limits() };
        if stored.network {
            program.network = self.workshop.network(cx, &stored.name, &shown).await?;
        }
        // Values of the environment that are too short to be removed everywhere.
        let own = Scrubber::default();
        own.set(SECRETS, env.values().cloned());
        let mut ran = self.workshop.run(cx, program).await?;
        ran.stdout = own.text(&ran.stdout, How::Digests).into_owned();
        ran.stderr = own.text(&ran.stderr, How::Digests).into_owned();
        Ok(answer(&ran, Form::Command).meta("commandTool", stored.name.as_str()))
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

/// The folder that a tool runs in.
fn folder_of(stored: &Stored) -> &str {
    if stored.working_dir.is_empty() { "." } else { &stored.working_dir }
}

/// The arguments of a call, with the defaults of its parameters.
fn with_defaults(parameters: &Value, args: Value) -> Map<String, Value> {
    let mut args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    for (name, parameter) in parameters["properties"].as_object().into_iter().flatten() {
        if let Some(default) = parameter.get("default") {
            args.entry(name.clone()).or_insert_with(|| default.clone());
        }
    }
    args
}

/// The values of an environment to be sealed; nothing where there are none.
fn seal(env: &Environment) -> Result<Option<Vec<u8>>> {
    if env.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(env).map(Some).map_err(|_| Error::failed("the environment could not be stored"))
}

/// A model's tool is visible to the person it was made for, and to admins, who are responsible for it.
fn can_see(cx: &Cx, entry: &Entry<Stored>) -> bool {
    entry.value.created_by == Created::User || entry.owner == cx.user() || cx.principal().role == Role::Admin
}

/// Only its owner or an admin may change, switch or delete a tool.
pub(crate) fn may_manage(cx: &Cx, tool: &CommandTool) -> Result<()> {
    if tool.user_id == cx.user().to_string() || cx.principal().role == Role::Admin {
        return Ok(());
    }
    Err(Error::denied(format!("`{}` belongs to another person: ask them or an admin to change it", tool.name)))
}

fn not_found(id: &str) -> Error {
    let id = text_kit::truncate(id, 40);
    Error::not_found(format!("there is no command tool with the id `{id}`: ids look like cmd_0123456789abcdef"))
}

/// Publish that command tools changed, without details; clients read them with their own access.
fn publish_change(cx: &Cx, entry: &Entry<Stored>) {
    let to: Option<UserId> = (entry.value.created_by == Created::Llm).then_some(entry.owner);
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
