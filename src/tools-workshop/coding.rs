//! Coding agents of others (Claude Code, Codex …): which there are, and tasks that they work on in the sandbox, each a session
//! with a terminal.

mod agents;
mod task;

pub use agents::{AgentSettings, AgentSettingsView};
pub use task::family as coding_agents;

use crate::{CliTools, Workshop, given, verify};
use agents::{AgentRecord, CodingAgent, merged};
use process_sandbox::Mount;
use serde::Serialize;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Collection, Entry, Listing, Stamp, Store};
use tool::{
    Cx, Error, Result, Role, Scope,
    prelude::{JsonSchema, schemars},
};

/// The most agents that an admin adds or changes.
const SET: usize = 50;

/// The coding agents. Cheap to clone.
#[derive(Clone)]
pub struct CodingAgents {
    records: Collection<AgentRecord>,
    workshop: Workshop,
    programs: CliTools,
    /// Held from reading a record until the resulting write.
    changing: Arc<tokio::sync::Mutex<()>>,
}

/// A coding agent as a caller sees it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CodingAgentView {
    /// The provider, as `run_coding_task` takes it: `claude-code`, or `custom:NAME`.
    pub provider: String,
    /// Its name for people.
    pub title: String,
    /// Whether its program is on this device.
    pub installed: bool,
    /// Whether the service it needs has been set up.
    pub configured: bool,
    /// Its version, where it says it.
    pub version: Option<String>,
    /// The service of the Config Center that it works with.
    pub service: Option<String>,
    /// The hosts that it may reach.
    pub hosts: Vec<String>,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Whether members may use it, and not only admins.
    pub members: bool,
    /// Whether the caller can use it now.
    pub available: bool,
    /// Why not.
    pub problem: Option<String>,
    /// Whether an admin added it.
    pub custom: bool,
    /// What was set of it; only admins see that, and no tool returns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<AgentSettingsView>,
}

/// The program of an agent.
struct Located {
    inside: PathBuf,
    mounts: Vec<Mount>,
}

impl CodingAgents {
    /// The agents over the data in `store`; `programs` finds and installs their programs.
    pub fn new(store: &Store, workshop: Workshop, programs: CliTools) -> Self {
        Self { records: store.collection(), workshop, programs, changing: Arc::default() }
    }

    /// All agents, those that Hob knows first.
    ///
    /// # Errors
    /// As every read.
    pub async fn list(&self, cx: &Cx) -> Result<Vec<CodingAgentView>> {
        let mut views = vec![];
        for agent in self.all()? {
            views.push(self.view(cx, &agent).await);
        }
        Ok(views)
    }

    /// The same with what an admin set of each, if the caller is one.
    ///
    /// # Errors
    /// As every read.
    pub async fn list_settings(&self, cx: &Cx) -> Result<Vec<CodingAgentView>> {
        let mut views = self.list(cx).await?;
        if check_admin(cx).is_ok() {
            let stored = self.stored()?;
            for view in &mut views {
                let name = view.provider.strip_prefix("custom:").unwrap_or(&view.provider);
                view.settings = stored.iter().find(|entry| entry.value.name == name).map(|entry| entry.value.view());
            }
        }
        Ok(views)
    }

    /// Changes who may use an agent and where its program is, or adds one.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `BadArgs` with what is wrong.
    pub async fn set(&self, cx: &Cx, name: &str, settings: AgentSettings) -> Result<CodingAgentView> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let keeps_env = settings.env.is_none();
        let mut new = AgentRecord::read(name, settings)?;
        let stored = self.stored()?;
        let old = stored.iter().find(|entry| entry.value.name == new.name);
        if let Some(old) = old.filter(|_| keeps_env) {
            new.keep_env(&old.value);
        }
        let old = old.map(|entry| entry.id);
        if old.is_none() && stored.len() >= SET {
            return Err(Error::bad_args(format!("{SET} coding agents are set up, the most: remove one first")));
        }
        let (records, name) = (self.records.clone(), new.name.clone());
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("coding-agents") };
        let written = self.records.store().write(move |tx| {
            match old {
                Some(id) => {
                    let replace = &mut |stored: &mut AgentRecord| {
                        stored.clone_from(&new);
                        Ok(())
                    };
                    records.change(tx, stamp.scope, stamp.label, id, replace)?;
                }
                None => drop(records.put(tx, tool::Id::new(), &stamp, &new)?),
            }
            Ok(())
        });
        written.await?;
        let agent = self.all()?.into_iter().find(|agent| agent.name == name);
        let agent = agent.ok_or_else(|| Error::failed("the coding agent was removed meanwhile: set it up again"))?;
        Ok(self.view(cx, &agent).await)
    }

    /// Takes back what an admin set; an agent that they added is gone then.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `NotFound`.
    pub async fn unset(&self, cx: &Cx, name: &str) -> Result<()> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let name = name.strip_prefix("custom:").unwrap_or(name);
        let old = self.stored()?.into_iter().find(|entry| entry.value.name == name).map(|entry| entry.id);
        let Some(id) = old else {
            return match self.all()?.iter().any(|agent| agent.name == name) {
                // Nothing was set, and nothing is.
                true => Ok(()),
                false => Err(self.no_such(name)),
            };
        };
        self.records.delete_in(Scope::Household, id).await?;
        Ok(())
    }

    fn stored(&self) -> Result<Vec<Entry<AgentRecord>>> {
        Ok(self.records.list_in(Scope::Household, &Listing::default())?)
    }

    fn all(&self) -> Result<Vec<CodingAgent>> {
        let stored: Vec<AgentRecord> = self.stored()?.into_iter().map(|entry| entry.value).collect();
        Ok(merged(&stored))
    }

    fn find(&self, provider: &str) -> Result<CodingAgent> {
        let found = self.all()?.into_iter().find(|agent| agent.is_called(provider));
        found.ok_or_else(|| self.no_such(provider))
    }

    fn no_such(&self, provider: &str) -> Error {
        let known: Vec<String> = self.all().unwrap_or_default().iter().map(CodingAgent::provider).collect();
        let provider = text_kit::truncate(provider, 40);
        Error::not_found(format!(
            "there is no coding agent `{provider}`: there are {}; an admin can add others with PUT /api/v1/coding-agents/NAME",
            known.join(", ")
        ))
    }

    async fn view(&self, cx: &Cx, agent: &CodingAgent) -> CodingAgentView {
        let located = self.locate(agent);
        let key = agent.environment(cx);
        let version =
            if located.is_ok() && agent.path.is_empty() { self.programs.version_of(&agent.tool).await } else { None };
        let usable = check_use(cx, agent);
        let (installed, configured) = (located.is_ok(), key.is_ok());
        let problem = usable.err().or(located.err()).or(key.err()).map(|error| error.message().to_owned());
        CodingAgentView {
            provider: agent.provider(),
            title: agent.title.clone(),
            installed,
            configured,
            version,
            service: (!agent.service.is_empty()).then(|| agent.service.clone()),
            hosts: agent.all_hosts(cx),
            enabled: agent.enabled,
            members: agent.members,
            available: problem.is_none(),
            problem,
            custom: agent.custom,
            settings: None,
        }
    }

    /// Where the program of an agent is.
    ///
    /// # Errors
    /// `Unavailable` where it is not installed, or is not safe to run any more.
    fn locate(&self, agent: &CodingAgent) -> Result<Located> {
        self.workshop.check()?;
        if agent.path.is_empty() {
            let found = self.programs.program_of(&agent.tool)?;
            let (inside, mounts) = found.ok_or_else(|| {
                Error::unavailable(format!(
                    "{} is not installed: install_cli_tool installs `{}`, or an admin sets its path",
                    agent.title, agent.tool
                ))
            })?;
            return Ok(Located { inside, mounts });
        }
        let now = verify::program(&agent.path).map_err(|error| Error::unavailable(error.message()))?;
        if now != Path::new(&agent.path) {
            return Err(Error::unavailable(format!(
                "`{}` leads to another file than the one that was set up: an admin has to set it up again",
                agent.path
            )));
        }
        let (inside, mount) = given::program(&now, &agent.name)?;
        Ok(Located { inside, mounts: mount.into_iter().collect() })
    }
}

/// Whether this caller may use an agent.
///
/// # Errors
/// `Denied`, or `Unavailable` where it is switched off.
fn check_use(cx: &Cx, agent: &CodingAgent) -> Result<()> {
    let role = cx.principal().role;
    if role < Role::Admin && !(agent.members && role == Role::Member) {
        return Err(Error::denied(format!(
            "only admins may use {}, because it works with the household's key: an admin can open it to members",
            agent.title
        )));
    }
    match agent.enabled {
        true => Ok(()),
        false => Err(Error::unavailable(format!("{} is switched off: an admin can switch it on", agent.title))),
    }
}

fn check_admin(cx: &Cx) -> Result<()> {
    match cx.principal().role {
        Role::Admin => Ok(()),
        _ => Err(Error::denied("only an admin sets up coding agents: ask one of this Hob")),
    }
}
