//! Layer 2: the workspace. Each person, the household and each agent have a folder, and admins add others. Files are reached by
//! handle only; every change is atomic, keeps the marks of content from outside, and can be undone.
//!
//! A change stores a [`records::StepRecord`] first, renames then, and stores the result last. A start finishes or takes back
//! the steps that a power cut left ([`repair`]), and marks what programs wrote that were cut off ([`running`]).

mod access;
mod change;
mod config;
mod copying;
mod diff;
mod entry;
mod journal;
mod marks;
mod moves;
mod path;
mod places;
mod program;
mod read;
mod records;
mod repair;
mod resolve;
mod running;
mod search;
mod search_root;
mod settings;
mod staging;
mod step;
#[cfg(test)]
mod tests;
pub mod text;
mod trash;
mod tree;
mod undo;
mod usage;
mod walk;
mod watch;

pub use change::{Expect, WriteOptions, Written};
pub use config::{AddedFolder, Config};
pub use diff::ChangedFiles;
pub use entry::{Entry, EntryKind, media_type_of};
pub use journal::UNDO_TABLE;
pub use path::{DEEPEST, LONGEST, RelPath};
pub use places::{Located, Place, PlaceKind};
pub use program::{ProgramWatch, WorkspaceAccess, WorkspaceMount};
pub use read::{Listing, OpenFile};
pub use search::{FoundFile, FoundFiles};
pub use search_root::{Folder, SearchRoot};
pub use staging::Staged;
pub use trash::TrashEntry;
pub use walk::{WalkOptions, Walked, Walker};

use path::DeniedNames;
use places::PlaceRef;
use records::{HeldRecord, MarkRecord, PlaceRecord, RunningRecord, StepRecord};
use resolve::Guard;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, RwLock},
};
use store::{Collection, Store};
use tool::{Cx, Error, Result};

/// The folder of the workspace in the data folder.
pub const FOLDER: &str = "workspace";

/// All files of the workspace; cheap to clone.
#[derive(Clone)]
pub struct Workspaces(Arc<Shared>);

pub(crate) struct Shared {
    store: Store,
    config: Config,
    data: PathBuf,
    /// Where the workspace's own folders are.
    folder: PathBuf,
    guard: Guard,
    denied: Arc<DeniedNames>,
    added: RwLock<Vec<Arc<PlaceRef>>>,
    marks: Collection<MarkRecord>,
    held: Collection<HeldRecord>,
    steps: Collection<StepRecord>,
    places: Collection<PlaceRecord>,
    runs: Collection<RunningRecord>,
    /// Held while something changes its name; see [`Shared::changes`].
    changing: tokio::sync::Mutex<repair::Repaired>,
    usage: usage::Usage,
    /// Ids of this process are greater.
    started: tool::Id,
    watched: watch::WatchedMemory,
    programs: running::Programs,
}

impl Workspaces {
    /// Opens the workspace of a data folder. What a power cut interrupted is finished or taken back.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn open(store: &Store, data: &Path, config: Config) -> Result<Self> {
        let data =
            std::fs::canonicalize(data).map_err(|e| Error::failed(format!("the data folder cannot be opened: {e}")))?;
        let folder = match config.folder.is_empty() {
            true => data.join(FOLDER),
            // Links in it count as they are now.
            false => std::fs::canonicalize(&config.folder).unwrap_or_else(|_| PathBuf::from(&config.folder)),
        };
        let guard = Guard::new(&data, FOLDER)
            .map_err(|e| Error::failed(format!("the data folder cannot be looked at: {e}")))?;
        let shared = Shared {
            store: store.clone(),
            guard,
            denied: Arc::new(DeniedNames::new(config.deny.iter().map(String::as_str))),
            data,
            folder,
            added: RwLock::default(),
            marks: store.collection(),
            held: store.collection(),
            steps: store.collection(),
            places: store.collection(),
            runs: store.collection(),
            changing: tokio::sync::Mutex::default(),
            usage: usage::Usage::default(),
            started: tool::Id::new(),
            watched: watch::WatchedMemory::default(),
            programs: running::Programs::default(),
            config,
        };
        shared.load_added()?;
        shared.load_running()?;
        Ok(Self(Arc::new(shared)))
    }

    /// The folder that has those of the household, its people and agents in it.
    pub fn folder(&self) -> &Path {
        &self.0.folder
    }

    /// The places that this caller sees. Relative paths begin in the first.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn places(&self, cx: &Cx) -> Result<Vec<Place>> {
        let visible = self.0.visible(cx);
        Ok(visible.iter().enumerate().map(|(at, place)| self.0.view(cx, place, at == 0)).collect())
    }

    /// The file of a path: `notes/a.md`, `household:/menu.md`, `/workspace/notes/a.md`, `/places/usb/x`. It need not exist.
    ///
    /// # Errors
    /// `BadArgs` for a path that leads out; `NotFound` for a place that this caller does not see.
    pub fn locate(&self, cx: &Cx, path: &str) -> Result<Located> {
        let visible = self.0.visible(cx);
        let start = places::start(path, |id| visible.iter().any(|place| place.id == id));
        let (at, rest) = match start {
            places::Start::Relative(rest) => (0, rest.to_owned()),
            places::Start::InPlace(id, rest) => (index_of(&visible, id)?, rest.to_owned()),
            places::Start::Home(rest) => (index_of(&visible, "home")?, rest.to_owned()),
            places::Start::Absolute(text) => on_host(&visible, text)?,
        };
        let place = visible.get(at).cloned().ok_or_else(|| Error::not_found("you have no workspace"))?;
        Ok(Located { place, path: RelPath::parse(&rest)?, first: at == 0 })
    }

    /// The file of a path in a place.
    ///
    /// # Errors
    /// As [`Workspaces::locate`].
    pub fn locate_in(&self, cx: &Cx, place: &str, path: &str) -> Result<Located> {
        let visible = self.0.visible(cx);
        let at = if place.is_empty() { 0 } else { index_of(&visible, place)? };
        let place = visible.get(at).cloned().ok_or_else(|| Error::not_found("you have no workspace"))?;
        Ok(Located { place, path: RelPath::parse(path)?, first: at == 0 })
    }
}

fn index_of(visible: &[Arc<PlaceRef>], id: &str) -> Result<usize> {
    visible.iter().position(|place| place.id == id).ok_or_else(|| {
        let known: Vec<&str> = visible.iter().map(|place| place.id.as_str()).collect();
        let id = text_kit::truncate(id, 40);
        Error::not_found(format!("there is no place `{id}` in the workspace: there are {}", known.join(", ")))
    })
}

/// The place that a path on this machine is in, and its path there.
fn on_host(visible: &[Arc<PlaceRef>], text: &str) -> Result<(usize, String)> {
    let text_path = RelPath::parse(text)?;
    let within = |place: &PlaceRef| match &place.source {
        places::Source::Host(host) => {
            let host = RelPath::parse(host.to_str()?).ok()?;
            text_path.is_in(&host).then(|| (host.names().len(), text_path.names()[host.names().len()..].join("/")))
        }
        places::Source::Own(_) => None,
    };
    let found = visible.iter().enumerate().filter_map(|(at, place)| Some((at, within(place)?)));
    let deepest = found.max_by_key(|(_, (length, _))| *length);
    deepest.map(|(at, (_, rest))| (at, rest)).ok_or_else(|| {
        let text = text_kit::truncate(&text.escape_debug().to_string(), 80);
        Error::bad_args(format!(
            "`{text}` is not in the workspace: write paths from the workspace on, such as `notes/a.md`, or with a place, such as `household:/a.md`"
        ))
    })
}
