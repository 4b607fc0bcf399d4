//! Notes on updates beside the journal: a file in the data folder with what worked before, and of what people were notified.

use super::health::Baseline;
use ::update::Release;
use serde::{Deserialize, Serialize};
use std::{
    fs,
    io::{self, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

/// The file in the data folder.
const FILE: &str = "update.json";
/// Its largest size in bytes.
const MAX: u64 = 64 * 1024;

/// The content of the file. Fields of other versions are ignored, and missing ones have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Content {
    /// Everything that worked when the last update was installed.
    pub baseline: Baseline,
    /// The release it was taken for; empty once its trial is over.
    pub baseline_of: String,
    /// The version of the channel of which people were notified.
    pub told_version: String,
    /// The outcome of which people were notified: its time in seconds.
    pub told_outcome: i64,
    /// The upload that was begun last, and when: milliseconds since 1970.
    pub upload: String,
    pub upload_at: u64,
    /// The version of that outcome: two may end within a second.
    pub told_outcome_version: String,
    /// The bundle in a folder of which people were notified: its id.
    pub told_found: String,
}

impl Content {
    /// The connections that worked when this release was installed; nothing is known where it came in another way.
    pub fn baseline_for(&self, release: Option<&Release>) -> Baseline {
        match release.is_some_and(|release| mark(release) == self.baseline_of) {
            true => self.baseline.clone(),
            false => Baseline::default(),
        }
    }
}

/// Names a release in the notes.
pub fn mark(release: &Release) -> String {
    format!("{} {}", release.version, release.id)
}

/// The file, and its content in memory.
pub struct Notes {
    path: Option<PathBuf>,
    content: Mutex<Content>,
}

impl Notes {
    /// Reads the file; one that cannot be read counts as empty.
    pub fn open(data: Option<&Path>) -> Self {
        let path = data.map(|data| data.join(FILE));
        let content = path.as_deref().and_then(|path| read(path).ok()).unwrap_or_default();
        Self { path, content: Mutex::new(content) }
    }

    /// The content.
    pub fn get(&self) -> Content {
        self.content.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes it, durably. A disk that refuses is reported and changes nothing else.
    pub fn change(&self, change: impl FnOnce(&mut Content)) {
        let mut content = self.content.lock().unwrap_or_else(PoisonError::into_inner);
        let before = content.clone();
        change(&mut content);
        if let Some(path) = self.path.as_deref().filter(|_| *content != before)
            && let Err(error) = write(path, &content)
        {
            tracing::warn!(%error, file = %path.display(), "could not be written");
        }
    }
}

fn read(path: &Path) -> io::Result<Content> {
    let mut text = vec![];
    store::open_plain(path)?.take(MAX).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn write(path: &Path, content: &Content) -> io::Result<()> {
    let new = path.with_extension("json.new");
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    file.sync_all()?;
    fs::rename(&new, path)?;
    fs::File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_outlast_a_restart_and_other_versions_read_them() {
        let dir = std::env::temp_dir().join(format!("hob-notes-{}", tool::Id::new()));
        fs::create_dir_all(&dir).unwrap();
        let notes = Notes::open(Some(&dir));
        assert_eq!(notes.get(), Content::default());
        let baseline = Baseline { network: true, pins: vec![4, 17], ..Baseline::default() };
        notes.change(|content| content.baseline = baseline.clone());
        assert_eq!(Notes::open(Some(&dir)).get().baseline, baseline);
        fs::write(dir.join(FILE), r#"{"toldVersion": "0.2.0", "later": {"x": 1}}"#).unwrap();
        assert_eq!(Notes::open(Some(&dir)).get().told_version, "0.2.0");
        // A baseline is held against the release it was noted for.
        let of = |id: &str, version: &str| Release {
            id: id.into(),
            version: version.parse().unwrap(),
            serial: 2,
            slot: ::update::slots::SlotName::B,
            next_key: None,
            by_announced: false,
        };
        notes.change(|content| (content.baseline, content.baseline_of) = (baseline.clone(), mark(&of("abc", "0.2.0"))));
        let for_it = |release: Option<Release>| notes.get().baseline_for(release.as_ref());
        assert_eq!(for_it(Some(of("abc", "0.2.0"))), baseline);
        for other in [None, Some(of("", "0.2.0")), Some(of("abd", "0.2.0")), Some(of("abc", "0.2.1"))] {
            assert_eq!(for_it(other), Baseline::default());
        }
        fs::write(dir.join(FILE), "{").unwrap();
        assert_eq!(Notes::open(Some(&dir)).get(), Content::default());
        fs::remove_dir_all(dir).unwrap();
    }
}
