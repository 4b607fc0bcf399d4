//! A copy of each skill in the store, so that backups contain it. The folder is what counts; a copy follows it, and becomes a folder again
//! after a restore, which is recognized by a new lineage of the store.

use crate::{
    Skills, Whose, blocking,
    folder::{Facts, Fingerprint, SkillFolder},
    package::{BYTES, Package},
    scope_of, slug_key,
};
use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use store::{Audience, Entry, Key, Level, Record, Stamp, Tx};
use tool::{Id, Label, Result, Scope, UserId};

/// A copy. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkillCopy {
    slug: String,
    /// The digest of files and facts.
    digest: Vec<u8>,
    /// The files, as JSON of path and text or bytes, compressed.
    files: Vec<u8>,
    /// The facts as JSON; empty for a skill that was put there by hand.
    facts: String,
    /// The lineage of the store it was written in.
    lineage: Id,
    household: bool,
}

const BY_SLUG: u8 = 1;

impl Record for SkillCopy {
    const NAME: &'static str = "skill-copies";
    const WORD: &'static str = "copy of a skill";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_SLUG, slug_key(&self.slug))]
    }
}

/// The file names and contents of a copy; content that is no text is in hex.
type Files = Vec<(String, Option<String>, Vec<u8>)>;

fn packed(package: &Package) -> Option<Vec<u8>> {
    let file = |(path, bytes): (&String, &Vec<u8>)| match str::from_utf8(bytes) {
        Ok(text) => (path.clone(), Some(text.to_owned()), vec![]),
        Err(_) => (path.clone(), None, bytes.clone()),
    };
    let files: Files = package.files.iter().map(file).collect();
    serde_json::to_vec(&files).ok().map(|json| compress_to_vec(&json, 6))
}

fn unpacked(copy: &SkillCopy) -> Result<Package, String> {
    let damaged = || format!("the copy of the skill `{}` is damaged", copy.slug);
    // Bytes are written as numbers: at most four characters each, and a text may double by escaping.
    let json = decompress_to_vec_with_limit(&copy.files, 8 * BYTES).map_err(|_| damaged())?;
    let files: Files = serde_json::from_slice(&json).map_err(|_| damaged())?;
    Package::of(files.into_iter().map(|(path, text, bytes)| (path, text.map_or(bytes, String::into_bytes))).collect())
}

fn digest(package: &Package, facts: &str) -> Vec<u8> {
    let mut hash = blake3::Hasher::new();
    for (path, bytes) in &package.files {
        for part in [path.as_bytes(), bytes] {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    hash.update(facts.as_bytes()).finalize().as_bytes().to_vec()
}

/// Folders as they were when they were compared last.
pub(crate) type Compared = HashMap<(SkillFolder, String), Fingerprint>;

impl Skills {
    /// Brings the copies in line with the folders, and after a restore the folders with the copies.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when the disk is full.
    pub async fn reconcile(&self) -> Result<()> {
        let _one = self.writing.lock().await;
        let lineage = self.notes.store().lineage();
        let mut copies: HashMap<(UserId, Whose, String), Entry<SkillCopy>> = HashMap::new();
        self.copies.scan(|entry| {
            let whose = if entry.value.household { Whose::Household } else { Whose::Own };
            let owner = if entry.value.household { UserId::OWNER } else { entry.owner };
            copies.insert((owner, whose, entry.value.slug.clone()), entry);
        })?;
        // From another lineage: the data were restored.
        for ((user, whose, slug), entry) in copies.iter().filter(|(_, entry)| entry.value.lineage != lineage) {
            let (folder, slug, copy) = (self.folder(*user, *whose), slug.clone(), entry.value.clone());
            let restored = blocking(move || restore(&folder, &slug, &copy)).await;
            if let Err(error) = restored {
                tracing::warn!(%error, "a skill of the backup could not be restored");
            }
        }
        let mut seen = vec![];
        for (user, whose) in self.everybody()? {
            let folder = self.folder(user, whose);
            for (slug, print) in folder.scan(crate::MOST) {
                let (key, known) = ((folder.clone(), slug.clone()), copies.get(&(user, whose, slug.clone())));
                seen.push((user, whose, slug.clone()));
                let current = known.is_some_and(|known| known.value.lineage == lineage);
                if current && self.compared().get(&key) == Some(&print) {
                    continue;
                }
                let (disk, name) = (folder.clone(), slug.clone());
                // A broken one has no copy: what cannot be read cannot be restored.
                let Ok((package, facts)) = blocking(move || Ok((disk.package(&name)?, disk.read(&name)?.1))).await
                else {
                    continue;
                };
                let facts = facts.and_then(|facts| serde_json::to_string(&facts).ok()).unwrap_or_default();
                let digest = digest(&package, &facts);
                if !(current && known.is_some_and(|known| known.value.digest == digest)) {
                    let Some(files) = packed(&package) else { continue };
                    let household = whose == Whose::Household;
                    let copy = SkillCopy { slug, digest, files, facts, lineage, household };
                    self.put_copy((user, whose), known.map(|known| known.id), copy).await?;
                }
                self.compared().insert(key, print);
            }
        }
        // Deleted by hand.
        let gone = copies.into_iter().filter(|(key, _)| !seen.contains(key));
        for ((user, whose, slug), _) in gone {
            self.remove_copy(user, whose, &slug).await?;
        }
        Ok(())
    }

    fn compared(&self) -> std::sync::MutexGuard<'_, Compared> {
        self.compared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Everybody who has a folder of skills, and the household.
    fn everybody(&self) -> Result<Vec<(UserId, Whose)>> {
        let entries = std::fs::read_dir(self.data.join(crate::PEOPLE)).into_iter().flatten().flatten();
        let people = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<Id>().ok());
        let people = people.map(|id| (UserId(id), Whose::Own));
        Ok(std::iter::once((UserId::OWNER, Whose::Household)).chain(people).collect())
    }

    async fn put_copy(&self, (user, whose): (UserId, Whose), id: Option<Id>, copy: SkillCopy) -> Result<()> {
        let scope = scope_of(user, whose);
        let audience = if whose == Whose::Household { Audience::Household } else { Audience::Private };
        let stamp = Stamp { scope, owner: user, audience, label: Label::Own, source: "skills".into() };
        let (copies, id) = (self.copies.clone(), id.unwrap_or_else(Id::new));
        Ok(self.copies.store().write(move |tx| copies.put(tx, id, &stamp, &copy).map(drop)).await?)
    }

    async fn remove_copy(&self, user: UserId, whose: Whose, slug: &str) -> Result<()> {
        let (this, scope, key) = (self.clone(), scope_of(user, whose), slug_key(slug));
        Ok(self.copies.store().write(move |tx| this.forget_copy(tx, scope, &key)).await?)
    }

    /// Within a write: removes the copy of a skill that is deleted.
    pub(crate) fn forget_copy(&self, tx: &Tx, scope: Scope, key: &[u8]) -> store::Result<()> {
        let found = self.copies.find(tx, scope, BY_SLUG, key)?;
        found.into_iter().try_for_each(|entry| self.copies.remove(tx, scope, entry.id).map(drop))
    }
}

/// Makes a folder what its copy says; the version that is there becomes an earlier one.
fn restore(folder: &SkillFolder, slug: &str, copy: &SkillCopy) -> Result<(), String> {
    let package = unpacked(copy)?;
    let facts: Option<Facts> = serde_json::from_str(&copy.facts).ok();
    let same = |facts: &Option<Facts>| {
        let text = facts.as_ref().and_then(|facts| serde_json::to_string(facts).ok()).unwrap_or_default();
        folder.package(slug).is_ok_and(|now| digest(&now, &text) == copy.digest)
    };
    if folder.read(slug).is_ok_and(|(_, now)| same(&now)) {
        return Ok(());
    }
    let facts = facts.unwrap_or(Facts { version: 0, outside: false, source: "folder".into(), at: 0 });
    folder.install(slug, &package, facts).map(drop)
}
