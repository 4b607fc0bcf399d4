//! Bundles in a folder, such as that of a stick: looked for now and then, verified, and offered. Nothing is installed by itself.

use super::service::UpdateService;
use ::update::{
    found::{Content, FoundBundle, look, read, take},
    slots::SlotKind,
};
use api::UpdateFound;
use std::{path::PathBuf, sync::PoisonError, time::Duration};
use tokio::time::sleep;
use tool::{Error, Ports, Result};

/// How often is looked.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// The folders in which the image has its card's first partition, and sticks.
const IMAGE: [&str; 2] = ["/boot", "/media"];

/// The bundles found last, and the serial that was the newest then.
#[derive(Default)]
pub(super) struct FoundState {
    newest: u64,
    all: Vec<FoundBundle>,
}

impl UpdateService {
    /// The folders that are looked at.
    fn folders(&self) -> Vec<PathBuf> {
        match self.0.config.folder.as_str() {
            "" if self.updater().is_ok_and(|updater| updater.status().is_ok_and(|s| s.kind != SlotKind::Dir)) => {
                IMAGE.iter().map(PathBuf::from).collect()
            }
            "" => vec![],
            folder => vec![folder.into()],
        }
    }

    /// Whether there are folders to look at.
    pub(super) fn looks_for_files(&self) -> bool {
        !self.folders().is_empty()
    }

    /// Looks into the folders; reads what is new in them, or everything when a person asks (`again`): a file may have been replaced
    /// by one that looks the same.
    ///
    /// # Errors
    /// `Unavailable` without slots; `Failed` when the disk fails.
    pub(super) async fn look_for_files(&self, again: bool) -> Result<()> {
        let folders = self.folders();
        if folders.is_empty() {
            return Ok(());
        }
        let this = self.clone();
        let new = self.blocking(move |updater| {
            let (files, newest) = (look(&folders), updater.newest_serial()?);
            {
                let state = this.0.found.lock().unwrap_or_else(PoisonError::into_inner);
                let same = state.newest == newest && state.all.iter().map(|found| &found.file).eq(files.iter());
                if same && !again {
                    return Ok(false);
                }
            }
            let all = read(&updater, files)?;
            *this.0.found.lock().unwrap_or_else(PoisonError::into_inner) = FoundState { newest, all };
            Ok(true)
        });
        if new.await? {
            let newest = self.newest_found().map(|(_, content)| content.version.to_string());
            self.0.bus.publish("update:available", None, serde_json::json!({"version": newest}));
        }
        Ok(())
    }

    /// The newest version beyond the running one in the folders.
    pub(super) fn newest_found(&self) -> Option<(PathBuf, Content)> {
        let state = self.0.found.lock().unwrap_or_else(PoisonError::into_inner);
        let newer = state.all.iter().filter_map(|found| Some((&found.file.path, found.content.as_ref().ok()?)));
        let newest = newer.filter(|(_, content)| content.is_newer).max_by_key(|(_, content)| content.serial);
        newest.map(|(path, content)| (path.clone(), content.clone()))
    }

    /// The bundles found, for people.
    pub(super) fn found_view(&self) -> Vec<UpdateFound> {
        let state = self.0.found.lock().unwrap_or_else(PoisonError::into_inner);
        let view = |found: &FoundBundle| {
            let content = found.content.as_ref().ok();
            UpdateFound {
                id: content.map(|content| content.id.clone()),
                path: found.file.path.display().to_string(),
                bytes: found.file.bytes,
                version: content.map(|content| content.version.to_string()),
                notes: content.map(|content| content.notes.clone()),
                newer: content.is_some_and(|content| content.is_newer),
                problem: found.content.as_ref().err().cloned(),
            }
        };
        state.all.iter().map(view).collect()
    }

    /// The file and the version of a bundle that was found.
    ///
    /// # Errors
    /// `NotFound`.
    pub(super) fn found(&self, id: &str) -> Result<(PathBuf, String)> {
        let state = self.0.found.lock().unwrap_or_else(PoisonError::into_inner);
        let with_id = |found: &&FoundBundle| found.content.as_ref().is_ok_and(|content| content.id == id);
        let found = state.all.iter().find(with_id);
        let version = found.and_then(|found| Some(found.content.as_ref().ok()?.version.to_string()));
        found.map(|found| found.file.path.clone()).zip(version).ok_or_else(|| {
            Error::not_found("this bundle is not in the folder any more: plug the stick in, and look again")
        })
    }

    /// Copies a bundle that was found into the other slot, and returns the id of the upload.
    pub(super) async fn take_found(&self, path: PathBuf, id: String) -> Result<String> {
        Ok(self.blocking(move |updater| take(&updater, &path, &id)).await?.id)
    }

    /// Looks now and then, for as long as it is polled.
    pub async fn follow_folders(self, ports: Ports) {
        if !self.looks_for_files() {
            return;
        }
        loop {
            match self.look_for_files(false).await {
                Ok(()) => self.tell_of_offers(&ports).await,
                Err(error) => tracing::debug!(%error, "bundles could not be looked for"),
            }
            sleep(LOOK_EVERY).await;
        }
    }
}
