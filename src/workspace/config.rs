//! The section `[workspace]` of hob.toml.

use serde::{Deserialize, Serialize};

/// Which folders there are, and their bounds.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Where the folders of the household, its people and agents are; empty for `workspace` in the data folder.
    pub folder: String,
    /// The most that each of these folders holds with its trash, in MB; 0 for no bound.
    pub quota_mb: u64,
    /// Whether admins reach the home folder of the user that runs Hob, as `home:`.
    pub home: bool,
    /// Whether admins reach `/tmp`, as `tmp:`.
    pub tmp: bool,
    /// Names of files and folders that do not exist in any place, in whatever case they are written.
    pub deny: Vec<String>,
    /// Folders and mounts that are added.
    pub places: Vec<AddedFolder>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            folder: String::new(),
            quota_mb: 2048,
            home: false,
            tmp: false,
            deny: vec![".goclaw".into()],
            places: vec![],
        }
    }
}

/// A folder or mount that is added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
pub struct AddedFolder {
    /// Its name, with which paths begin: `usb:/photos`.
    pub name: String,
    /// Its absolute path on this machine, without links.
    pub path: String,
    /// Whether nothing is changed in it.
    #[serde(default)]
    pub read_only: bool,
    /// Names that do not exist in it.
    #[serde(default)]
    pub deny: Vec<String>,
    /// Whether only admins reach it.
    #[serde(default)]
    pub admins_only: bool,
    /// Whether what is in it counts as the household's own words; otherwise as from outside.
    #[serde(default)]
    pub trusted: bool,
}

/// Names that added folders cannot have.
const RESERVED: &[&str] =
    &["mine", "household", "agent", "home", "tmp", "workspace", "places", "file", "http", "https"];
/// The most added folders.
pub(crate) const MOST_ADDED: usize = 32;
/// Names that do not exist in the home folder: keys and sign-ins of programs.
pub(crate) const HOME_DENY: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".mozilla",
    ".config",
    ".local",
    ".cache",
    ".bash_history",
    ".zsh_history",
    ".python_history",
];

impl Config {
    /// Checks what types cannot express.
    ///
    /// # Errors
    /// With what is wrong and how to write it.
    pub fn check(&self) -> Result<(), String> {
        if !self.folder.is_empty() && !self.folder.starts_with('/') {
            return Err("`workspace.folder` is no absolute path: write it as /srv/workspace".into());
        }
        if self.places.len() > MOST_ADDED {
            return Err(format!("`workspace.places` has more than {MOST_ADDED} folders: leave some out"));
        }
        for (at, place) in self.places.iter().enumerate() {
            place.check().map_err(|why| format!("`workspace.places`: {why}"))?;
            if self.places[..at].iter().any(|other| other.name == place.name) {
                return Err(format!("`workspace.places` has two folders `{}`: give each its own name", place.name));
            }
        }
        self.deny.iter().try_for_each(|name| check_denied(name))
    }

    /// The same with the environment of the seeds: `WORKSPACE_DIR`, `ALLOW_HOME_DIR_ACCESS`.
    #[must_use]
    pub fn with_environment(mut self) -> Self {
        if let Ok(folder) = std::env::var("WORKSPACE_DIR")
            && self.folder.is_empty()
            && folder.starts_with('/')
        {
            self.folder = folder;
        }
        let allowed = std::env::var("ALLOW_HOME_DIR_ACCESS").unwrap_or_default();
        self.home |= matches!(allowed.to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on");
        self
    }
}

impl AddedFolder {
    /// Checks its fields.
    ///
    /// # Errors
    /// With what is wrong and how to write it.
    pub fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        let name = &self.name;
        if name.len() < 2 || name.len() > 32 || !name.chars().all(plain) {
            return Err(format!(
                "the name `{}` must have 2 to 32 small letters, digits and dashes",
                text_kit::truncate(name, 40)
            ));
        }
        if RESERVED.contains(&name.as_str()) {
            return Err(format!("the name `{name}` is taken: choose another"));
        }
        if !self.path.starts_with('/') || self.path.len() > 1024 || self.path.contains('\0') {
            return Err(format!("the folder `{name}` needs an absolute path, such as /media/usb"));
        }
        if self.deny.len() > 100 {
            return Err(format!("the folder `{name}` denies more than 100 names: leave some out"));
        }
        self.deny.iter().try_for_each(|name| check_denied(name))
    }
}

fn check_denied(name: &str) -> Result<(), String> {
    if name.is_empty() || name.contains('/') || matches!(name, "." | "..") {
        let name = text_kit::truncate(name, 40);
        return Err(format!("the denied name `{name}` is no name of a file or folder: write it without `/`"));
    }
    Ok(())
}
