//! Command-line tools of a catalogue: which are installed, which may run, and running and installing them.

mod catalogue;
mod discover;
mod install;
mod tools;

pub use catalogue::{CliToolSettings, RiskLevel, ToolPolicy};
pub use tools::family as cli_tools;

use crate::Workshop;
use catalogue::{CliTool, StoredTool, is_known, merged};
use discover::Versions;
use serde::Serialize;
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};
use store::{Collection, Entry, Listing, Stamp, Store};
use tool::{
    Cx, Error, Result, Role, Scope,
    prelude::{JsonSchema, schemars},
};

/// The most tools that an admin adds or changes.
const SET: usize = 200;

/// The command-line tools. Cheap to clone.
#[derive(Clone)]
pub struct CliTools {
    records: Collection<StoredTool>,
    workshop: Workshop,
    /// The folder with the tools that were installed.
    folder: PathBuf,
    versions: Versions,
    /// Held from reading a record until the resulting write.
    changing: Arc<tokio::sync::Mutex<()>>,
    /// Held while a tool is installed or removed.
    installing: Arc<tokio::sync::Mutex<()>>,
}

/// A command-line tool as a caller sees it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CliToolView {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// The heading in lists.
    pub category: String,
    /// How much harm it can do.
    pub risk_level: RiskLevel,
    /// Whether it may run.
    pub policy: ToolPolicy,
    /// Whether it is installed.
    pub installed: bool,
    /// Its version, where it is installed and says it.
    pub version: Option<String>,
    /// Where it is installed: `system`, or `hob` for one that `install_cli_tool` installed.
    pub source: Option<String>,
    /// The npm package that `install_cli_tool` installs.
    pub npx_package: Option<String>,
    /// The hosts that it may reach.
    pub hosts: Vec<String>,
    /// Whether it may change files.
    pub writes: bool,
    /// Whether an admin added it.
    pub custom: bool,
}

impl CliTools {
    /// The tools over the data in `store`, with those that were installed in `folder`.
    pub fn new(store: &Store, workshop: Workshop, folder: &Path) -> Self {
        install::remove_parts(folder);
        Self {
            records: store.collection(),
            workshop,
            folder: folder.to_owned(),
            versions: Versions::default(),
            changing: Arc::default(),
            installing: Arc::default(),
        }
    }

    /// All tools, by name.
    ///
    /// # Errors
    /// As every read.
    pub async fn list(&self) -> Result<Vec<CliToolView>> {
        let all = self.all()?;
        let found = self.discover(all.values()).await;
        Ok(all.values().map(|tool| view(tool, found.get(&tool.name))).collect())
    }

    /// Sets the policy of a tool, or adds one.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `BadArgs` with what is wrong.
    pub async fn set(&self, cx: &Cx, name: &str, settings: CliToolSettings) -> Result<CliToolView> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let new = StoredTool::read(name, settings)?;
        let stored = self.stored()?;
        let old = stored.iter().find(|entry| entry.value.name == name).map(|entry| entry.id);
        if old.is_none() && stored.len() >= SET {
            return Err(Error::bad_args(format!("{SET} tools are set up, the most: remove one first")));
        }
        let records = self.records.clone();
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("cli-tools") };
        let written = self.records.store().write(move |tx| {
            match old {
                Some(id) => {
                    let replace = &mut |stored: &mut StoredTool| {
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
        let tool = self.get(name)?;
        let found = self.discover([&tool]).await;
        Ok(view(&tool, found.get(name)))
    }

    /// Takes back what an admin set for a tool; one that they added is gone then.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `NotFound`.
    pub async fn unset(&self, cx: &Cx, name: &str) -> Result<()> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let old = self.stored()?.into_iter().find(|entry| entry.value.name == name).map(|entry| entry.id);
        let Some(id) = old else {
            return match is_known(name) {
                // Nothing was set, and nothing is.
                true => Ok(()),
                false => Err(no_such(name)),
            };
        };
        self.records.delete_in(Scope::Household, id).await?;
        Ok(())
    }

    fn stored(&self) -> Result<Vec<Entry<StoredTool>>> {
        Ok(self.records.list_in(Scope::Household, &Listing::default())?)
    }

    fn all(&self) -> Result<BTreeMap<String, CliTool>> {
        let stored: Vec<StoredTool> = self.stored()?.into_iter().map(|entry| entry.value).collect();
        Ok(merged(&stored))
    }

    fn get(&self, name: &str) -> Result<CliTool> {
        self.all()?.remove(name).ok_or_else(|| no_such(name))
    }
}

fn check_admin(cx: &Cx) -> Result<()> {
    match cx.principal().role {
        Role::Admin => Ok(()),
        _ => Err(Error::denied("only an admin decides on command-line tools: ask one of this Hob")),
    }
}

fn no_such(name: &str) -> Error {
    let name = text_kit::truncate(name, 40);
    Error::not_found(format!(
        "there is no command-line tool `{name}`: list_cli_tools lists them, and an admin can add others"
    ))
}

fn view(tool: &CliTool, found: Option<&discover::Installed>) -> CliToolView {
    CliToolView {
        name: tool.name.clone(),
        title: tool.title.clone(),
        about: tool.about.clone(),
        category: tool.category.clone(),
        risk_level: tool.risk,
        policy: tool.policy(),
        installed: found.is_some(),
        version: found.and_then(|found| found.version.clone()),
        source: found.map(|found| if found.by_hob { "hob" } else { "system" }.to_owned()),
        npx_package: (!tool.package.is_empty()).then(|| tool.package.clone()),
        hosts: found.map_or_else(|| tool.hosts.clone(), |found| found.hosts.clone()),
        writes: tool.writes,
        custom: tool.custom,
    }
}
