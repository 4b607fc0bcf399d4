//! Programs that work with a credential (gh, aws, kubectl …), set up by an admin: started directly and without a shell, with the
//! commands that are permitted, and with the secret in their environment only.

mod commands;
mod presets;
mod record;
mod run;

pub use presets::Preset;
pub use record::{BinarySettings, Files};
pub use run::family as credentialed;

use crate::{Workshop, verify};
use record::{Binary, Sealed, check_secrets, sealed_name};
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

/// The most programs.
const BINARIES: usize = 50;
/// The source of their secrets for the scrubber.
const SECRETS: &str = "credentialed-binaries";
/// The most programs that a prompt names.
const TIPS: usize = 12;

/// The programs with a credential. Cheap to clone.
#[derive(Clone)]
pub struct Credentialed {
    records: Collection<Binary>,
    workshop: Workshop,
    /// The folder for files that programs are given.
    folder: PathBuf,
    /// Held from reading a record until the resulting write.
    changing: Arc<tokio::sync::Mutex<()>>,
}

/// A program with a credential, without its secrets.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BinaryView {
    /// Its name.
    pub name: String,
    /// Its preset, if it has one.
    pub preset: Option<String>,
    /// Its path; none where it is looked for by name.
    pub path: Option<String>,
    /// The names of the secrets that are set.
    pub secrets_set: Vec<String>,
    /// Variables that are no secrets.
    pub settings: BTreeMap<String, String>,
    /// The commands that were listed; empty where they are those of the preset.
    pub commands: Vec<String>,
    /// The commands that may run, without their flags.
    pub permitted: Vec<String>,
    /// Patterns of arguments that are refused.
    pub deny_args: Vec<String>,
    /// Flags that are refused.
    pub deny_verbose: Vec<String>,
    /// How long a call may take.
    pub timeout_seconds: u32,
    /// How to use it, for models.
    pub tips: String,
    /// The hosts that it may reach.
    pub hosts: Vec<String>,
    /// Whether it sees the caller's files.
    pub files: Files,
    /// Whether members may use it, and not only admins.
    pub members: bool,
    /// Whether it may be used at all.
    pub enabled: bool,
    /// Why it cannot be used now.
    pub problem: Option<String>,
}

impl Credentialed {
    /// The programs in `store`. `folder` is where files for them are made.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn open(store: &Store, workshop: Workshop, folder: &Path) -> Result<Self> {
        let this = Self { records: store.collection(), workshop, folder: folder.to_owned(), changing: Arc::default() };
        this.register_secrets()?;
        Ok(this)
    }

    /// The presets.
    pub fn presets(&self) -> &'static [Preset] {
        presets::presets()
    }

    /// All programs, by name.
    ///
    /// # Errors
    /// As every read.
    pub fn list(&self) -> Result<Vec<BinaryView>> {
        let mut all: Vec<BinaryView> = self.all()?.iter().map(|entry| self.view(&entry.value)).collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// One program.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn get(&self, name: &str) -> Result<BinaryView> {
        Ok(self.view(&self.find(name)?.ok_or_else(|| no_such(name))?.value))
    }

    /// Sets a program up, or replaces its settings. Secrets that are left out stay, unless the program, its files or its hosts
    /// are others than those they were entered for.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `BadArgs` with what is wrong.
    pub async fn set(&self, cx: &Cx, name: &str, settings: BinarySettings) -> Result<BinaryView> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let mut binary = Binary::read(name, &settings)?;
        let old = self.find(name)?;
        if old.is_none() && self.all()?.len() >= BINARIES {
            return Err(Error::bad_args(format!("there are {BINARIES} programs, the most: remove one first")));
        }
        let secrets = match settings.secrets {
            Some(secrets) => secrets,
            None => match self.sealed(name)? {
                Some(sealed) if sealed.fits(&binary) => sealed.secrets,
                Some(_) => {
                    return Err(Error::bad_args(
                        "this change would give the secrets to another program, to more files or to another host: pass `secrets` \
                         again with it",
                    ));
                }
                None => return Err(Error::bad_args("`secrets` is missing: pass {\"VARIABLE\": \"value\"}")),
            },
        };
        check_secrets(&binary, &secrets)?;
        binary.secrets = secrets.keys().cloned().collect();
        let sealed = serde_json::to_vec(&Sealed::new(secrets, &binary))
            .map_err(|_| Error::failed("the secrets cannot be written: enter them again"))?;
        let view = self.view(&binary);
        let (records, at) = (self.records.clone(), sealed_name(name));
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("credentialed-binaries") };
        let written = self.records.store().write(move |tx| {
            match &old {
                Some(old) => {
                    let replace = &mut |stored: &mut Binary| {
                        stored.clone_from(&binary);
                        Ok(())
                    };
                    records.change(tx, stamp.scope, stamp.label, old.id, replace)?;
                }
                None => drop(records.put(tx, tool::Id::new(), &stamp, &binary)?),
            }
            records.store().seal_in(tx, &at, Some(&sealed))
        });
        written.await?;
        self.register_secrets()?;
        Ok(view)
    }

    /// Removes a program with its secrets.
    ///
    /// # Errors
    /// `Denied` for anybody but an admin; `NotFound`.
    pub async fn remove(&self, cx: &Cx, name: &str) -> Result<()> {
        check_admin(cx)?;
        let _changing = self.changing.lock().await;
        let old = self.find(name)?.ok_or_else(|| no_such(name))?;
        let (records, at) = (self.records.clone(), sealed_name(name));
        let written = self.records.store().write(move |tx| {
            records.remove(tx, Scope::Household, old.id)?;
            records.store().seal_in(tx, &at, None)
        });
        written.await?;
        self.register_secrets()
    }

    /// The programs that this caller may use, for a prompt: a line each, with how to use it.
    pub fn tips(&self, cx: &Cx) -> String {
        let all = self.all().unwrap_or_else(|error| {
            tracing::warn!(%error, "the programs with a credential could not be read for the prompt");
            vec![]
        });
        let mut lines: Vec<String> = all
            .iter()
            .map(|entry| &entry.value)
            .filter(|binary| binary.enabled && may_use(cx, binary))
            .map(|binary| format!("- {}: {}", binary.name, text_kit::one_line(&binary.tips)))
            .collect();
        lines.sort_unstable();
        lines.truncate(TIPS);
        lines.join("\n")
    }

    fn all(&self) -> Result<Vec<Entry<Binary>>> {
        Ok(self.records.list_in(Scope::Household, &Listing::default())?)
    }

    fn find(&self, name: &str) -> Result<Option<Entry<Binary>>> {
        let by = Some((1, name.as_bytes().to_vec()));
        let found = self.records.list_in(Scope::Household, &Listing { by, ..Listing::default() })?;
        Ok(found.into_iter().find(|entry| entry.value.name == name))
    }

    /// The sealed part of a program; none where it is that of another device, as after a restore.
    fn sealed(&self, name: &str) -> Result<Option<Sealed>> {
        let sealed = match self.records.store().unseal(&sealed_name(name)) {
            Err(store::Error::Damaged(why)) => {
                tracing::warn!(program = name, "the secrets of a program are lost: {why}");
                None
            }
            other => other?,
        };
        Ok(sealed.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Tells the scrubber every secret.
    fn register_secrets(&self) -> Result<()> {
        let mut values = vec![];
        for entry in self.all()? {
            values.extend(self.sealed(&entry.value.name)?.into_iter().flat_map(|sealed| sealed.secrets.into_values()));
        }
        self.workshop.scrubber.set(SECRETS, values);
        Ok(())
    }

    /// Where a program is.
    ///
    /// # Errors
    /// `Unavailable` where it is not installed, or is not safe to run any more.
    fn path(&self, binary: &Binary) -> Result<PathBuf> {
        if binary.path.is_empty() {
            let found = self.workshop.sandbox.find(&binary.name);
            return found.ok_or_else(|| {
                Error::unavailable(format!(
                    "`{}` is not installed on this device: an admin can install it for the system, or set its path",
                    binary.name
                ))
            });
        }
        let now = verify::program(&binary.path).map_err(|error| Error::unavailable(error.message()))?;
        match now == Path::new(&binary.path) {
            true => Ok(now),
            false => Err(Error::unavailable(format!(
                "`{}` leads to another file than the one that was set up: an admin has to set it up again",
                binary.path
            ))),
        }
    }

    fn view(&self, binary: &Binary) -> BinaryView {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let problem =
            self.workshop.sandbox.refusal().or_else(|| self.path(binary).err().map(|e| e.message().to_owned()));
        BinaryView {
            name: binary.name.clone(),
            preset: text(&binary.preset),
            path: text(&binary.path),
            secrets_set: binary.secrets.clone(),
            settings: binary.settings.clone(),
            commands: binary.commands.clone(),
            permitted: binary.permitted().map(|commands| commands.names()).unwrap_or_default(),
            deny_args: binary.deny_args.clone(),
            deny_verbose: binary.deny_verbose.clone(),
            timeout_seconds: binary.timeout_seconds,
            tips: binary.tips.clone(),
            hosts: binary.all_hosts(),
            files: binary.files,
            members: binary.members,
            enabled: binary.enabled,
            problem,
        }
    }
}

fn may_use(cx: &Cx, binary: &Binary) -> bool {
    cx.principal().role == Role::Admin || (binary.members && cx.principal().role == Role::Member)
}

fn check_admin(cx: &Cx) -> Result<()> {
    match cx.principal().role {
        Role::Admin => Ok(()),
        _ => Err(Error::denied("only an admin sets up programs with a credential: ask one of this Hob")),
    }
}

fn no_such(name: &str) -> Error {
    let name = text_kit::truncate(name, 40);
    Error::not_found(format!(
        "no program `{name}` is set up with a credential: GET /api/v1/credentialed-binaries lists them"
    ))
}
