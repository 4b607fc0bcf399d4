//! The virtual files: one service to read, write, edit, list and delete by path, whoever stores the text.

use crate::{
    Edit, MemoryDocuments, VirtualPath,
    memory::{Change, Stored},
    path::{AgentType, ContextFile, Place, Route, Versions, route},
};
use embed::Embedder;
use futures::future::BoxFuture;
use std::sync::Arc;
use store::{ChangeSource, Entry, Store};
use tool::{Cx, Error, Label, Result};

/// The text of a context file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText {
    /// Empty if it was never written.
    pub text: String,
    /// Counts from 1; 0 where the caller reads the agent's, or nobody has written one.
    pub version: u32,
    /// When it was written: milliseconds since 1970.
    pub updated_ms: Option<u64>,
    /// Its label for this reader.
    pub label: Label,
}

/// The context files of the agents, as `persona` stores them. Checks who may change which.
pub trait ContextFiles: Send + Sync + 'static {
    /// The type of the caller's agent.
    fn agent_type(&self, cx: &Cx) -> AgentType;
    /// The caller's version, or the agent's. Does not taint.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    fn peek(&self, cx: &Cx, file: ContextFile) -> Result<ContextText>;
    /// Edits a file; an empty result deletes it, and the caller reads the agent's again. An empty `BOOTSTRAP.md` hides the agent's:
    /// the first steps are done.
    ///
    /// # Errors
    /// `Denied` when only an admin may change it; `BadArgs` when the edit does not apply; `Unavailable` when the current version
    /// is not `expected`.
    fn edit<'a>(
        &'a self,
        cx: &'a Cx,
        file: ContextFile,
        edit: Edit,
        expected: Option<u32>,
    ) -> BoxFuture<'a, Result<ContextText>>;
}

/// A virtual file with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VirtualFile {
    /// Its path.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Counts from 1; 0 where the caller reads the agent's.
    pub version: u32,
    /// When it was written: milliseconds since 1970.
    pub updated_ms: Option<u64>,
    /// Its owner.
    pub place: Place,
    /// Its label for this reader.
    pub label: Label,
}

/// A line of a list of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its path.
    pub path: String,
    /// Its length in bytes.
    pub size: usize,
    /// Counts from 1; 0 where the caller reads the agent's.
    pub version: u32,
    /// When it was written: milliseconds since 1970.
    pub updated_ms: Option<u64>,
    /// Its owner.
    pub place: Place,
}

/// Files in the store, by path; cheap to clone.
#[derive(Clone)]
pub struct VirtualFiles {
    context: Arc<dyn ContextFiles>,
    pub(crate) memory: MemoryDocuments,
}

impl VirtualFiles {
    /// Over the memory documents in `store` and these context files.
    pub fn new(store: &Store, embedder: Embedder, context: Arc<dyn ContextFiles>) -> Self {
        Self { context, memory: MemoryDocuments::new(store, embedder) }
    }

    /// The memory documents.
    pub fn memory(&self) -> &MemoryDocuments {
        &self.memory
    }

    /// The place of a file, by its path, for this caller's agent.
    ///
    /// # Errors
    /// `BadArgs` when the path is not safe.
    pub(crate) fn route(&self, cx: &Cx, path: &str) -> Result<(VirtualPath, Route)> {
        let path = VirtualPath::parse(path)?;
        let route = route(&path, self.context.agent_type(cx));
        Ok((path, route))
    }

    /// Reads a file. A text from outside taints the run.
    ///
    /// # Errors
    /// `BadArgs` when the path is not safe or names no virtual file; `NotFound` when there is none.
    pub fn read(&self, cx: &Cx, path: &str) -> Result<VirtualFile> {
        let (path, route) = self.route(cx, path)?;
        let file = self.peek(cx, &path, route)?;
        let file =
            file.ok_or_else(|| Error::not_found(format!("there is no document `{path}`: list or search them")))?;
        cx.taint(file.label);
        Ok(file)
    }

    /// Whether there is a file with text. Does not taint.
    ///
    /// # Errors
    /// `BadArgs` when the path is not safe or names no virtual file.
    pub fn has(&self, cx: &Cx, path: &str) -> Result<bool> {
        let (path, route) = self.route(cx, path)?;
        Ok(self.peek(cx, &path, route)?.is_some())
    }

    fn peek(&self, cx: &Cx, path: &VirtualPath, route: Route) -> Result<Option<VirtualFile>> {
        match route {
            Route::Context(file, versions) => Ok(self.peek_context(cx, file, versions)?),
            Route::Memory(versions) => {
                let places: &[Place] = match versions {
                    Versions::OwnThenAgents => &[Place::Own, Place::Agents],
                    Versions::Agents => &[Place::Agents],
                };
                for place in places {
                    if let Some(entry) = self.memory.peek(cx, path, *place)? {
                        return Ok(Some(file_of(entry, *place)));
                    }
                }
                Ok(None)
            }
            Route::Workspace => Err(not_virtual(path)),
        }
    }

    pub(crate) fn peek_context(&self, cx: &Cx, file: ContextFile, versions: Versions) -> Result<Option<VirtualFile>> {
        let ContextText { text, version, updated_ms, label } = self.context.peek(cx, file)?;
        let own = versions == Versions::OwnThenAgents && version > 0;
        let place = if own { Place::Own } else { Place::Agents };
        let found = VirtualFile { path: file.path().into(), text, version, updated_ms, place, label };
        Ok(Some(found).filter(|file| !file.text.is_empty()))
    }

    /// Writes a file: the caller's own where they have one of their own, or the agent's (`place`, for memory documents). An empty
    /// text deletes it. With `expected`, only if that is the current version.
    ///
    /// # Errors
    /// `BadArgs` when path or text cannot be stored; `Denied` when only an admin may change it; `Unavailable` when the version
    /// differs, there is no room, or the disk is full.
    pub async fn write(
        &self,
        cx: &Cx,
        path: &str,
        text: &str,
        (place, expected): (Place, Option<u32>),
    ) -> Result<Option<VirtualFile>> {
        self.change(cx, path, Edit::Replace(text.to_owned()), (place, expected)).await
    }

    /// Edits a file; one that only the agent has becomes the caller's own where files are personal. Reading it taints the run.
    ///
    /// # Errors
    /// `NotFound` when there is none; `BadArgs` when the text to find is not in it; as [`VirtualFiles::write`].
    pub async fn edit(
        &self,
        cx: &Cx,
        path: &str,
        edit: Edit,
        (place, expected): (Place, Option<u32>),
    ) -> Result<Option<VirtualFile>> {
        // Errors quote the text, and the rest of it keeps its label.
        self.read(cx, path)?;
        self.change(cx, path, edit, (place, expected)).await
    }

    async fn change(
        &self,
        cx: &Cx,
        path: &str,
        edit: Edit,
        (place, expected): (Place, Option<u32>),
    ) -> Result<Option<VirtualFile>> {
        let (path, route) = self.route(cx, path)?;
        match route {
            Route::Context(file, versions) => {
                if place == Place::Agents && versions == Versions::OwnThenAgents {
                    return Err(Error::bad_args(format!("`{path}` is personal: write your own")));
                }
                self.context.edit(cx, file, edit, expected).await?;
                self.peek_context(cx, file, versions)
            }
            Route::Memory(_) => {
                let change = Change { place, edit, expected };
                // Within a tool's call this belongs to that call's change.
                let source = change_source(cx);
                let written = store::with_change(Some(source), self.memory.change(cx, &path, &change)).await?;
                Ok(written.map(|entry| file_of(entry, place)))
            }
            Route::Workspace => Err(not_virtual(&path)),
        }
    }

    /// Deletes a file; behind the caller's own, the agent's appears again.
    ///
    /// # Errors
    /// `NotFound` when the caller has none; as [`VirtualFiles::write`].
    pub async fn delete(&self, cx: &Cx, path: &str, place: Place) -> Result<()> {
        let (path, route) = self.route(cx, path)?;
        let found = match route {
            // Behind the agent's first steps there are none of their own to delete: emptied, they are done.
            Route::Context(file, versions) => self.peek_context(cx, file, versions)?.is_some_and(|found| {
                found.place == Place::Own || versions == Versions::Agents || file == ContextFile::Bootstrap
            }),
            Route::Memory(_) => self.memory.peek(cx, &path, place)?.is_some(),
            Route::Workspace => return Err(not_virtual(&path)),
        };
        if !found {
            let whose = if place == Place::Own { "you have" } else { "the agent has" };
            return Err(Error::not_found(format!("{whose} no document `{path}`: there is nothing to delete")));
        }
        self.change(cx, path.as_str(), Edit::Replace(String::new()), (place, None)).await.map(drop)
    }

    /// The files whose path begins with `under`, by path; an own file hides the agent's. Texts are not shown, so nothing taints.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub async fn list(&self, cx: &Cx, under: &str) -> Result<Vec<FileLine>> {
        let (this, cx, under) = (self.clone(), cx.clone(), under.to_owned());
        let listed = tokio::task::spawn_blocking(move || this.list_now(&cx, &under)).await;
        listed.map_err(|error| Error::failed(format!("listing the documents stopped: {error}")))?
    }

    fn list_now(&self, cx: &Cx, under: &str) -> Result<Vec<FileLine>> {
        let mut all = std::collections::BTreeMap::new();
        let of = self.context.agent_type(cx);
        for file in ContextFile::ALL {
            let Route::Context(file, versions) = route(&VirtualPath::parse(file.path())?, of) else { continue };
            if file.path().starts_with(under)
                && let Some(file) = self.peek_context(cx, file, versions)?
            {
                all.insert(file.path.clone(), line_of(&file));
            }
        }
        for place in [Place::Agents, Place::Own] {
            for entry in self.memory.all(cx, place, under)? {
                let file = file_of(entry, place);
                all.insert(crate::path::fold(&file.path), line_of(&file));
            }
        }
        Ok(all.into_values().collect())
    }
}

/// A write by a door, so that it can be undone.
fn change_source(cx: &Cx) -> ChangeSource {
    ChangeSource {
        id: cx.call_id(),
        user: cx.user(),
        tool: "write_file".into(),
        conversation: cx.conversation(),
        run: cx.run(),
        unattended: false,
        undoes: None,
    }
}

fn file_of(entry: Entry<Stored>, place: Place) -> VirtualFile {
    let Entry { updated_ms, label, value: Stored { path, text, version, .. }, .. } = entry;
    VirtualFile { path, text, version, updated_ms: Some(updated_ms), place, label }
}

fn line_of(file: &VirtualFile) -> FileLine {
    let VirtualFile { path, text, version, updated_ms, place, .. } = file;
    FileLine { path: path.clone(), size: text.len(), version: *version, updated_ms: *updated_ms, place: *place }
}

fn not_virtual(path: &VirtualPath) -> Error {
    let files: Vec<&str> = ContextFile::ALL.iter().map(|file| file.path()).collect();
    Error::bad_args(format!("`{path}` is no memory document: those are in `memory/`, or one of {}", files.join(", ")))
}
