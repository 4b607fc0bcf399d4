//! Places: the folders that a caller sees.

use crate::{
    Shared,
    config::AddedFolder,
    path::{DeniedNames, RelPath},
    resolve::{Regains, Root, error, has_files, open_host_folder},
};
use rustix::{fs::Mode, io::Errno};
use serde::Serialize;
use std::{
    ffi::OsStr,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
        mpsc,
    },
    time::Duration,
};
use tool::{
    AgentId, Cx, Error, Label, Result, Role, UserId,
    prelude::{JsonSchema, schemars},
};

/// How long a folder that was added may take to answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// The most looks at a folder that wait at once.
const WAITING: u32 = 8;
/// The folder within the workspace's own with their trash.
pub(crate) const HELD_FOLDER: &str = "held";

/// Whose a place is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PlaceKind {
    /// The person's own.
    Own,
    /// The household's.
    Household,
    /// The agent's, for everybody who talks to it.
    Agent,
    /// A folder or mount that an admin added.
    Added,
}

/// A place as a caller sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// Its id, with which paths begin: `household:/menu.md`.
    pub id: String,
    /// Its display name.
    pub name: String,
    pub kind: PlaceKind,
    /// Whether the caller can change nothing in it.
    pub read_only: bool,
    /// Whether it can be reached now.
    pub available: bool,
    /// Why it cannot be reached.
    pub reason: Option<String>,
    /// Its path for programs that run in it.
    pub inside: String,
    /// Its path on this machine; for admins.
    pub path: Option<String>,
    /// Whether what is in it counts as the household's own words, where it is not marked.
    pub trusted: bool,
    /// Whether an admin can remove it here; one of hob.toml is removed there.
    pub removable: bool,
    /// The bytes in it with its trash; none where they are not counted.
    pub used_bytes: Option<u64>,
    /// The most bytes it holds; none for no bound.
    pub quota_bytes: Option<u64>,
}

/// A place.
#[derive(Debug)]
pub(crate) struct PlaceRef {
    /// Its stored name.
    pub key: String,
    pub id: String,
    pub name: String,
    pub kind: PlaceKind,
    pub read_only: bool,
    pub trusted: bool,
    pub configured: bool,
    pub admins_only: bool,
    /// Whether several people write in it.
    pub shared: bool,
    /// Its folder: within the workspace's own, or anywhere.
    pub source: Source,
    pub denied: Arc<DeniedNames>,
    /// How many looks at it wait for its disk.
    pub waits: Arc<AtomicU32>,
}

#[derive(Debug, Clone)]
pub(crate) enum Source {
    Own(PathBuf),
    Host(PathBuf),
}

/// A file or folder in a place, which need not exist.
#[derive(Debug, Clone)]
pub struct Located {
    pub(crate) place: Arc<PlaceRef>,
    pub(crate) path: RelPath,
    /// Whether its place is the one where relative paths begin.
    pub(crate) first: bool,
}

impl Located {
    /// The id of its place.
    pub fn place_id(&self) -> &str {
        &self.place.id
    }
    /// Its path in the place.
    pub fn path(&self) -> &RelPath {
        &self.path
    }
    /// Its last name; none for the place itself.
    pub fn name(&self) -> Option<&str> {
        self.path.name()
    }
    /// Something below it.
    #[must_use]
    pub fn join(&self, name: &str) -> Located {
        Located { path: self.path.join(name), ..self.clone() }
    }
    /// Another path of its place.
    #[must_use]
    pub fn at(&self, path: RelPath) -> Located {
        Located { path, ..self.clone() }
    }
    /// The folder it is in; `None` for the place itself.
    pub fn parent(&self) -> Option<Located> {
        Some(self.at(self.path.parent()?))
    }
    /// Whether its place takes no changes.
    pub fn is_read_only(&self) -> bool {
        self.place.read_only
    }
    /// As the caller writes it: relative where relative paths begin in its place, and else with the place's id.
    pub fn display(&self) -> String {
        match (self.first, self.path.is_root()) {
            (true, true) => ".".into(),
            (true, false) => self.path.text(),
            (false, _) => format!("{}:/{}", self.place.id, self.path.text()),
        }
    }
    /// Its path for programs that run in the workspace.
    pub fn inside(&self) -> PathBuf {
        let folder = inside(&self.place.id, self.first);
        if self.path.is_root() { folder } else { folder.join(self.path.on_disk()) }
    }
}

/// The folder of a place for programs.
pub(crate) fn inside(id: &str, first: bool) -> PathBuf {
    if first { PathBuf::from("/workspace") } else { Path::new("/places").join(id) }
}

impl PlaceRef {
    fn own(key: String, id: &str, name: &str, kind: PlaceKind, folder: PathBuf, denied: &Arc<DeniedNames>) -> Self {
        Self {
            key,
            id: id.into(),
            name: name.into(),
            kind,
            read_only: false,
            trusted: true,
            configured: true,
            admins_only: false,
            shared: kind != PlaceKind::Own,
            source: Source::Own(folder),
            denied: denied.clone(),
            waits: Arc::default(),
        }
    }

    pub fn added(folder: &AddedFolder, configured: bool, denied: DeniedNames) -> Self {
        Self {
            key: format!("added/{}", folder.name),
            id: folder.name.clone(),
            name: folder.name.clone(),
            kind: PlaceKind::Added,
            read_only: folder.read_only,
            trusted: folder.trusted,
            configured,
            admins_only: folder.admins_only,
            shared: true,
            source: Source::Host(folder.path.clone().into()),
            denied: Arc::new(denied),
            waits: Arc::default(),
        }
    }

    /// Whether Hob counts what is in it.
    pub fn is_counted(&self) -> bool {
        matches!(self.source, Source::Own(_))
    }

    /// The label of what is in it and not marked.
    pub fn base_label(&self) -> Label {
        if self.trusted { Label::Own } else { Label::Outside }
    }
}

impl Shared {
    pub(crate) fn place_of_user(&self, user: UserId) -> PlaceRef {
        let folder = Path::new("people").join(user.to_string());
        PlaceRef::own(format!("user/{user}"), "mine", "My files", PlaceKind::Own, folder, &self.denied)
    }

    fn place_of_household(&self) -> PlaceRef {
        PlaceRef::own(
            "household".into(),
            "household",
            "Household files",
            PlaceKind::Household,
            "household".into(),
            &self.denied,
        )
    }

    fn place_of_agent(&self, agent: AgentId) -> PlaceRef {
        let folder = Path::new("agents").join(agent.0.to_string());
        PlaceRef::own(format!("agent/{}", agent.0), "agent", "Agent's files", PlaceKind::Agent, folder, &self.denied)
    }

    /// The places that a caller sees; relative paths begin in the first.
    pub(crate) fn visible(&self, cx: &Cx) -> Vec<Arc<PlaceRef>> {
        let is_by_voice = cx.is_by_voice() || cx.user() == UserId::VOICE;
        let mut places = vec![];
        if !is_by_voice && cx.user() != UserId::SOMEBODY {
            places.push(Arc::new(self.place_of_user(cx.user())));
        }
        places.push(Arc::new(self.place_of_household()));
        if cx.agent() != AgentId::GENERAL {
            places.push(Arc::new(self.place_of_agent(cx.agent())));
        }
        if !is_by_voice {
            let is_admin = cx.principal().role == Role::Admin;
            let added = self.added.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            places.extend(added.iter().filter(|place| is_admin || !place.admins_only).cloned());
        }
        places
    }

    /// The place with a stored name, also one that this caller does not see.
    pub(crate) fn place_by_key(&self, key: &str) -> Option<Arc<PlaceRef>> {
        let place = match key.split_once('/') {
            None if key == "household" => self.place_of_household(),
            Some(("user", id)) => self.place_of_user(UserId(id.parse().ok()?)),
            Some(("agent", id)) => self.place_of_agent(AgentId(id.parse().ok()?)),
            _ => {
                let added = self.added.read().unwrap_or_else(std::sync::PoisonError::into_inner);
                return added.iter().find(|place| place.key == key).cloned();
            }
        };
        Some(Arc::new(place))
    }

    /// Opens the folder of a place; one of the workspace's own is made where it is missing.
    pub(crate) fn root(&self, place: &PlaceRef) -> Result<Root> {
        self.guard.refresh();
        let fd = match &place.source {
            Source::Own(folder) => self.own_folder(folder).map_err(|e| error(e, &place.name))?,
            Source::Host(path) => host_folder(path, &place.waits).map_err(|why| gone(place, &why))?,
        };
        if let Source::Host(_) = &place.source {
            let stat = rustix::fs::fstat(&fd).map_err(|e| error(e, &place.name))?;
            if !has_files(&fd) || self.guard.has(&stat) {
                return Err(gone(place, "what is there holds no files of people"));
            }
        }
        let regains = if place.is_counted() { Regains::All } else { Regains::None };
        Ok(Root { fd, guard: self.guard.clone(), denied: place.denied.clone(), regains })
    }

    /// A folder within the workspace's own, which is made where it is missing.
    pub(crate) fn own_folder(&self, folder: &Path) -> Result<OwnedFd, Errno> {
        // That in the data folder is found by handle: folders above it may have got other names.
        let (mut at, first) = match self.config.folder.is_empty() {
            true => (self.guard.data()?, Some(OsStr::new(crate::FOLDER))),
            false => match open_host_folder(&self.folder) {
                Err(Errno::NOENT) => {
                    std::fs::create_dir_all(&self.folder).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
                    (open_host_folder(&self.folder)?, None)
                }
                opened => (opened?, None),
            },
        };
        for name in first.into_iter().chain(folder.components().map(|name| name.as_os_str())) {
            let flags = rustix::fs::OFlags::PATH
                | rustix::fs::OFlags::NOFOLLOW
                | rustix::fs::OFlags::DIRECTORY
                | rustix::fs::OFlags::CLOEXEC;
            at = match rustix::fs::openat(&at, name, flags, Mode::empty()) {
                Err(Errno::NOENT) => {
                    match rustix::fs::mkdirat(&at, name, Mode::RWXU) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(e) => return Err(e),
                    }
                    rustix::fs::openat(&at, name, flags, Mode::empty())?
                }
                opened => opened?,
            };
        }
        // A program may have closed it to everybody, also to Hob.
        store::regain(&at, &rustix::fs::fstat(&at)?);
        Ok(at)
    }
}

fn gone(place: &PlaceRef, why: &str) -> Error {
    Error::unavailable(format!("the folder `{}` is not available: {why}", place.id))
}

/// Opens a folder that was added, without waiting for a disk that does not answer.
fn host_folder(path: &Path, waits: &Arc<AtomicU32>) -> Result<OwnedFd, String> {
    if waits.fetch_add(1, Ordering::AcqRel) >= WAITING {
        waits.fetch_sub(1, Ordering::AcqRel);
        return Err("its disk does not answer".into());
    }
    let (answer, answered) = mpsc::sync_channel(1);
    let (path, done) = (path.to_path_buf(), waits.clone());
    let look = move || {
        let opened = open_host_folder(&path).and_then(|fd| rustix::fs::fstatfs(&fd).map(|_| fd));
        done.fetch_sub(1, Ordering::AcqRel);
        let _ = answer.send(opened.map_err(|e| why_not(e, &path)));
    };
    if std::thread::Builder::new().name("place".into()).stack_size(64 * 1024).spawn(look).is_err() {
        waits.fetch_sub(1, Ordering::AcqRel);
        return Err("no thread could be started for it".into());
    }
    answered.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("its disk does not answer".into()))
}

fn why_not(e: Errno, path: &Path) -> String {
    match (e, std::fs::canonicalize(path)) {
        (Errno::NOENT, _) => "there is nothing at its path; connect the disk, or mount it".into(),
        (Errno::NOTDIR | Errno::LOOP, Ok(real)) if real != path => {
            "its path leads through a link, and may have been replaced: an admin adds the folder itself".into()
        }
        (Errno::NOTDIR, _) => "its path is no folder".into(),
        (Errno::ACCESS | Errno::PERM, _) => "the system denies Hob access to it".into(),
        (e, _) => e.to_string(),
    }
}

/// What a path begins with.
pub(crate) enum Start<'a> {
    Relative(&'a str),
    InPlace(&'a str, &'a str),
    Absolute(&'a str),
    Home(&'a str),
}

/// Whether a text could be the id of a place.
fn is_name(id: &str) -> bool {
    (2..=32).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
}

/// Reads the beginning of a path: a place's id where the caller sees such a place, or where it can be nothing else.
pub(crate) fn start<'a>(text: &'a str, is_place: impl Fn(&str) -> bool) -> Start<'a> {
    if text == "~" || text.starts_with("~/") {
        return Start::Home(&text[1..]);
    }
    if let Some(rest) = text.strip_prefix("/places/") {
        let (id, rest) = rest.split_once('/').unwrap_or((rest, ""));
        return Start::InPlace(id, rest);
    }
    if let Some(rest) = text.strip_prefix("/workspace")
        && (rest.is_empty() || rest.starts_with('/'))
    {
        return Start::Relative(rest);
    }
    if text.starts_with('/') {
        return Start::Absolute(text);
    }
    match text.split_once(':') {
        // With a slash it can only mean a place, and one that is not there is no folder either.
        Some((id, rest)) if is_place(id) || is_name(id) && rest.starts_with('/') && !rest.starts_with("//") => {
            Start::InPlace(id, rest)
        }
        _ => Start::Relative(text),
    }
}
