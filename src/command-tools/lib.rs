//! Layer 4: tools that people define as a command with places for parameters, such as `dig +short {{domain}}`.
//!
//! A command tool is a household record. While active it is in the catalogue like any other tool, and each call runs its
//! command in the process sandbox. The values of a call never become text of the command: see [`template`]. Its environment
//! variables are sealed, bound to the tool, and write-only.

mod family;
mod record;
mod template;

pub use family::family;
pub use record::{CommandTool, Draft, Patch};
pub use registry::authored::{Author, Change, Created, Status};

use futures::future::BoxFuture;
use process_sandbox::Limits;
use record::{Environment, Stored, checked};
use registry::{
    Registry,
    authored::{AuthoredTools, GROUP, by_admin, can_see},
};
use scrub::{How, Scrubber};
use serde_json::{Map, Value};
use std::{sync::Arc, time::Duration};
use store::{Entry, Stamp, Store};
use template::{Rendered, Template};
use tool::{Area, Cx, Error, Id, Label, Output, Owner, Result, Risk, Run, Scope, Signature, Tool};
use tools_workshop::{Form, Program, Workshop, answer, check_command, would_destroy};

/// How much longer a call may take than its command: for its turn, and for marks on what it changed.
const AROUND: Duration = Duration::from_secs(60);
/// The maximum number of command tools.
const MOST: usize = 200;
/// The source of sealed values for the scrubber.
const SECRETS: &str = "command-tools";
/// The shortest sealed value that is removed from all output; shorter ones only from that of their tool.
const SHORTEST: usize = 8;

/// The command tools of the household; cheap to clone.
#[derive(Clone)]
pub struct CommandTools {
    tools: AuthoredTools<Stored>,
    workshop: Workshop,
}

impl CommandTools {
    /// Open the command tools in `store`.
    pub fn new(store: &Store, registry: Registry, workshop: Workshop) -> Self {
        Self { tools: AuthoredTools::new(store, registry), workshop }
    }

    /// Publish every active tool to the catalogue at start-up. Invalid ones are logged and skipped.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn load(&self) -> Result<()> {
        self.publish_all()?;
        self.learn_secrets()
    }

    /// Find a tool by its name, if this caller can see it.
    fn named(&self, cx: &Cx, name: &str) -> Result<Entry<Stored>> {
        self.tools.named(name)?.filter(|entry| can_see(cx, entry)).ok_or_else(|| {
            let name = text_kit::truncate(name, 60);
            Error::not_found(format!("there is no command tool called `{name}`: see list_command_tools"))
        })
    }

    /// Run a draft once without storing it.
    ///
    /// # Errors
    /// `BadArgs` when the draft is invalid; those of a call.
    pub async fn test(&self, cx: &Cx, draft: Draft, args: Value) -> Result<Output> {
        let (stored, env) = checked(draft, Created::User)?;
        let (this, env, command) = (self.clone(), Arc::new(env), Arc::new(stored.clone()));
        let run: Run = Arc::new(move |cx, args| {
            let (this, env, command) = (this.clone(), env.clone(), command.clone());
            Box::pin(async move { this.execute(&cx, &command, &env, args).await })
        });
        self.call_once(cx, &stored, args, run).await
    }

    /// A name must be free in the catalogue, and among command tools that are not in it.
    fn check_new_name(&self, name: &str) -> Result<()> {
        if self.tools.registry.get(name).is_none() && self.tools.named(name)?.is_none() {
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
                stored.head.name
            ))
        };
        let sealed = self.tools.records.store().unseal_if_ours(&stored.sealed_name())?;
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
        for entry in self.tools.all()? {
            let env = self.unsealed(&entry.value).unwrap_or_default();
            values.extend(env.into_values().filter(|value| value.trim().len() >= SHORTEST));
        }
        self.workshop.scrubber.set(SECRETS, values);
        Ok(())
    }

    async fn execute(&self, cx: &Cx, stored: &Stored, env: &Environment, args: Value) -> Result<Output> {
        if stored.agent.is_some_and(|agent| agent != cx.agent().0) {
            return Err(Error::denied(format!("`{}` is for another agent: ask that one", stored.head.name)));
        }
        let template = Template::parse(&stored.command, &stored.head.parameters())?;
        let defaults = with_defaults(&stored.head.parameters(), args);
        let Rendered { script, variables, shown } = template.render(&defaults)?;
        check_command(&shown)?;
        let mut program = Program::new(self.workshop.find("sh")?, ["-c".to_owned(), script]);
        program.env = env.clone().into_iter().chain(variables).collect();
        program.folder = Some(folder_of(stored).to_owned());
        let seconds = Duration::from_secs(stored.timeout_seconds.into());
        program.limits = Limits { wall: seconds, cpu: seconds, ..self.workshop.limits() };
        if stored.network {
            program.network = self.workshop.network(cx, &stored.head.name, &shown).await?;
        }
        // Values of the environment that are too short to be removed everywhere.
        let own = Scrubber::default();
        own.set(SECRETS, env.values().cloned());
        let mut ran = self.workshop.run(cx, program).await?;
        ran.stdout = own.text(&ran.stdout, How::Digests).into_owned();
        ran.stderr = own.text(&ran.stderr, How::Digests).into_owned();
        Ok(answer(&ran, Form::Command).meta("commandTool", stored.head.name.as_str()))
    }
}

impl Author for CommandTools {
    type Stored = Stored;
    type View = CommandTool;
    type Draft = Draft;
    type Patch = Patch;

    fn tools(&self) -> &AuthoredTools<Stored> {
        &self.tools
    }

    fn entry(&self, stored: &Stored, owner: Owner, label: Label, run: Run) -> Result<Tool> {
        let parameters = stored.head.parameters();
        let template = Template::parse(&stored.command, &parameters)?;
        let (workshop, folder) = (self.workshop.clone(), folder_of(stored).to_owned());
        let destroys = move |cx: &Cx, args: &Value| {
            let rendered = template.render(args.as_object().unwrap_or(&Map::new()));
            rendered.is_ok_and(|rendered| would_destroy(&workshop, cx, &rendered.shown, &folder))
        };
        Ok(Tool {
            signature: Signature::given(&stored.head.description, parameters),
            category: "Command".into(),
            tags: "command shell custom",
            area: Area::Custom,
            version: stored.life.version,
            requires_confirmation: stored.life.requires_approval,
            label,
            destroys: Some(Arc::new(destroys)),
            timeout: Duration::from_secs(stored.timeout_seconds.into()) + AROUND,
            ..Tool::new(&stored.head.name, Risk::Execute, owner, GROUP, run)
        })
    }

    async fn create(&self, cx: &Cx, draft: Draft, by: Created) -> Result<CommandTool> {
        let (stored, env) = checked(draft, by)?;
        let _changing = self.tools.changing().await;
        self.check_new_name(&stored.head.name)?;
        if self.tools.all()?.len() >= MOST {
            return Err(Error::bad_args(format!("there are {MOST} command tools, the maximum: delete one first")));
        }
        // Owned by the person of the run: a model's tool runs only for them.
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("create_command_tool") };
        let id = Id::new();
        let (sealed, values) = (stored.sealed_name(), seal(&env)?);
        let records = self.tools.records.clone();
        let job = move |tx: &store::Tx| {
            let entry = records.put(tx, id, &stamp, &stored)?;
            records.store().seal_in(tx, &sealed, values.as_deref())?;
            Ok(entry)
        };
        let entry = self.tools.records.store().write(job).await?;
        self.learn_secrets()?;
        self.publish_new(cx, entry)
    }

    async fn update(&self, cx: &Cx, id: &str, patch: Patch) -> Result<CommandTool> {
        let _changing = self.tools.changing().await;
        let old = self.tools.managed(cx, id)?;
        if let Some(name) = patch.name.as_ref().filter(|name| **name != old.value.head.name) {
            self.check_new_name(name)?;
        }
        let (env, env_is_new) = (self.unsealed(&old.value).unwrap_or_default(), patch.env.is_some());
        let (new, new_env) = patch.apply(&old.value, &env, by_admin(cx))?;
        if new.head.name != old.value.head.name || new.life.version != old.value.life.version {
            // A grant applied to the old tool.
            self.tools.registry.forget_grants(&old.value.head.name).await?;
        }
        let (sealed, values) = (new.sealed_name(), seal(&new_env)?);
        // Names without values, as after a restore on another device, stay until values are given.
        let keep_names = !env_is_new && new_env.is_empty();
        let names = if keep_names { old.value.env_names.clone() } else { new.env_names.clone() };
        let (records, id, label) = (self.tools.records.clone(), old.id, cx.label());
        let job = move |tx: &store::Tx| {
            let change = &mut |stored: &mut Stored| {
                let counted = (stored.life.usage_count, stored.life.last_used_ms);
                stored.clone_from(&new);
                stored.env_names.clone_from(&names);
                (stored.life.usage_count, stored.life.last_used_ms) = counted;
                Ok(())
            };
            let entry = records.change(tx, Scope::Household, label, id, change)?;
            if env_is_new {
                records.store().seal_in(tx, &sealed, values.as_deref())?;
            }
            Ok(entry)
        };
        let entry = self.tools.records.store().write(job).await?;
        self.learn_secrets()?;
        self.republish(cx, &old.value.head.name, entry)
    }

    async fn delete(&self, cx: &Cx, id: &str) -> Result<()> {
        let _changing = self.tools.changing().await;
        let entry = self.tools.managed(cx, id)?;
        // A new tool may take its name and also begins with version 1.
        self.tools.registry.forget_grants(&entry.value.head.name).await?;
        let (records, sealed, id) = (self.tools.records.clone(), entry.value.sealed_name(), entry.id);
        let job = move |tx: &store::Tx| {
            records.remove(tx, Scope::Household, id)?;
            records.store().seal_in(tx, &sealed, None)
        };
        self.tools.records.store().write(job).await?;
        self.learn_secrets()?;
        self.tools.withdraw(cx, &entry);
        Ok(())
    }

    fn run<'a>(&'a self, cx: &'a Cx, stored: &'a Stored, args: Value) -> BoxFuture<'a, Result<Output>> {
        Box::pin(async move { self.execute(cx, stored, &self.unsealed(stored)?, args).await })
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
