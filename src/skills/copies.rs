//! A copy of each skill in the store, so that backups contain it. The folder is what counts; a copy follows it, and becomes a folder again
//! after a restore, which is recognized by a new lineage of the store. A restore brings skills back and takes none away: one that is newer
//! than the backup stays.

use crate::{
    Skills, Whose, blocking,
    folder::{Facts, SkillFolder, names_in},
    off_thread,
    package::{BYTES, Package},
    scope_of,
};
use miniz_oxide::{deflate::compress_to_vec, inflate::decompress_to_vec_with_limit};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::atomic::Ordering,
};
use store::{Audience, Key, Level, Record, Stamp, Tx, Visit, Walk, order};
use tool::{Id, Label, Result, Scope, UserId};

/// A copy. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SkillCopy {
    slug: String,
    /// The digest of files and facts.
    pub digest: Vec<u8>,
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
        vec![Key::unique(BY_SLUG, order::text(&self.slug))]
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

/// Whether a copy can be unpacked, and is what its digest says.
pub(crate) fn is_whole(copy: &SkillCopy) -> bool {
    unpacked(copy).is_ok_and(|package| digest(&package, &copy.facts) == copy.digest)
}

fn unpacked(copy: &SkillCopy) -> Result<Package, String> {
    let damaged = || format!("the copy of the skill `{}` is damaged", copy.slug);
    // Bytes are written as numbers: at most four characters each, and a text may double by escaping.
    let json = decompress_to_vec_with_limit(&copy.files, 8 * BYTES).map_err(|_| damaged())?;
    let files: Files = serde_json::from_slice(&json).map_err(|_| damaged())?;
    Package::of(files.into_iter().map(|(path, text, bytes)| (path, text.map_or(bytes, String::into_bytes))).collect())
}

/// The digest of files and facts.
pub(crate) fn digest(package: &Package, facts: &str) -> Vec<u8> {
    let mut hash = blake3::Hasher::new();
    for (path, bytes) in &package.files {
        for part in [path.as_bytes(), bytes] {
            hash.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
    }
    hash.update(facts.as_bytes()).finalize().as_bytes().to_vec()
}

/// The state of each folder when it was compared last, and whether it has a copy: what cannot be read has none.
pub(crate) type Compared = HashMap<(SkillFolder, String), (blake3::Hash, bool)>;

/// A skill, by its owner.
pub(crate) type Name = (UserId, Whose, String);

/// A copy without its files, for comparison.
pub(crate) struct CopyHead {
    pub id: Id,
    pub digest: Vec<u8>,
    pub lineage: Id,
}

impl SkillCopy {
    /// The skill it is of.
    pub fn name(&self, owner: UserId) -> Name {
        match self.household {
            true => (UserId::OWNER, Whose::Household, self.slug.clone()),
            false => (owner, Whose::Own, self.slug.clone()),
        }
    }
}

#[cfg(test)]
impl SkillCopy {
    pub fn with_files_of(&self, other: &Self) -> Self {
        Self { files: other.files.clone(), ..self.clone() }
    }
}

impl CopyHead {
    pub fn of(id: Id, copy: SkillCopy) -> Self {
        let SkillCopy { digest, lineage, .. } = copy;
        Self { id, digest, lineage }
    }
}

impl Skills {
    /// Brings the copies in line with the folders, and after a restore the folders with the copies.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when a folder cannot be read, or the disk is full.
    pub async fn reconcile(&self) -> Result<()> {
        let _one = self.writing.lock().await;
        self.make_folders().await?;
        let lineage = self.copies.store().lineage();
        let mut copies = self.copy_heads().await?;
        let this = self.clone();
        let (found, unreadable) = blocking(move || {
            let (mut found, mut unreadable) = (vec![], None);
            for (user, whose) in this.everybody()? {
                let folder = this.folder(user, whose);
                match folder.scan(crate::MOST) {
                    Ok(all) => found.extend(all.into_iter().map(|(slug, _)| {
                        let print = folder.print(&slug);
                        ((user, whose, slug), print)
                    })),
                    Err(error) => unreadable = Some(error),
                }
            }
            Ok((found, unreadable))
        })
        .await?;
        let mut seen = HashSet::new();
        for (name, print) in found {
            let key = (self.folder(name.0, name.1), name.2.clone());
            seen.insert(key.clone());
            let known = copies.remove(&name);
            // Could not become a folder: it is the only copy of what was there at the backup.
            if known.as_ref().is_some_and(|known| known.lineage != lineage) {
                continue;
            }
            let print = match print {
                Ok(print) => print,
                Err(error) => {
                    tracing::warn!(%error, skill = name.2, "a skill cannot be read, and is in no new backup");
                    continue;
                }
            };
            let before = self.compared().get(&key).copied();
            if before.is_some_and(|(old, is_copied)| old == print && (known.is_some() || !is_copied)) {
                continue;
            }
            let is_copied = self.copy(name, known).await?;
            self.compared().insert(key, (print, is_copied));
        }
        self.compared().retain(|key, _| seen.contains(key));
        // Deleted by hand.
        for ((user, whose, slug), _) in copies.into_iter().filter(|(_, copy)| copy.lineage == lineage) {
            let (folder, name) = (self.folder(user, whose), slug.clone());
            if blocking(move || Ok(folder.is_gone(&name))).await? {
                self.remove_copy(user, whose, &slug).await?;
            }
        }
        unreadable.map_or(Ok(()), |error| Err(crate::unreadable(error)))
    }

    /// Under `writing`: before the first change of files after a restore, makes folders of the copies. A failure is no reason to
    /// refuse the change, and is repeated by [`Skills::reconcile`].
    pub(crate) async fn make_folders_once(&self) {
        if !self.has_folders.load(Ordering::Acquire)
            && let Err(error) = self.make_folders().await
        {
            tracing::warn!(%error, "the skills of the backup could not be restored");
        }
    }

    /// Under `writing`: makes folders of the copies from another lineage, which then are copies of this one. One that cannot become
    /// a folder stays as it is.
    async fn make_folders(&self) -> Result<()> {
        let lineage = self.copies.store().lineage();
        for (name, copy) in self.copy_heads().await?.into_iter().filter(|(_, copy)| copy.lineage != lineage) {
            let (this, (user, whose, slug), id) = (self.clone(), name.clone(), copy.id);
            let made = blocking(move || {
                let entry = this.copies.get_in(scope_of(user, whose), id).map_err(|error| error.to_string())?;
                entry.map_or(Ok(()), |entry| restore(&this.folder(user, whose), &slug, &entry.value))
            });
            match made.await {
                Ok(()) => drop(self.copy(name, Some(copy)).await?),
                Err(error) => tracing::warn!(%error, skill = name.2, "a skill of the backup could not be restored"),
            }
        }
        self.has_folders.store(true, Ordering::Release);
        Ok(())
    }

    /// Under `writing`: copies a skill that was just changed. It is installed whether or not that succeeds; the next look tries again.
    pub(crate) async fn copy_changed(&self, user: UserId, whose: Whose, slug: &str) {
        let (this, name) = (self.clone(), (user, whose, slug.to_owned()));
        let key = order::text(slug);
        let known = off_thread(move || {
            let found = this.copies.walk_in(scope_of(user, whose), &Walk::prefix(BY_SLUG, key), |_| Visit::Yes)?.pop();
            Ok(found.map(|entry| CopyHead::of(entry.id, entry.value)))
        });
        let copied = match known.await {
            Ok(known) => self.copy(name, known).await.map(drop),
            Err(error) => Err(error),
        };
        if let Err(error) = copied {
            tracing::warn!(%error, "a skill is in no backup yet");
        }
    }

    /// Writes the copy of a skill where it differs. Returns whether there is one: what cannot be read cannot be restored.
    pub(crate) async fn copy(&self, (user, whose, slug): Name, known: Option<CopyHead>) -> Result<bool> {
        let lineage = self.copies.store().lineage();
        let (folder, name, id) = (self.folder(user, whose), slug.clone(), known.as_ref().map(|known| known.id));
        let known = known.filter(|known| known.lineage == lineage).map(|known| known.digest);
        let made = blocking(move || {
            let package = folder.package(&slug)?;
            let facts = facts_text(&folder, &slug);
            let digest = digest(&package, &facts);
            if known.as_ref() == Some(&digest) {
                return Ok(None);
            }
            let files = packed(&package).ok_or("its files cannot be packed")?;
            Ok(Some(SkillCopy { slug, digest, files, facts, lineage, household: whose == Whose::Household }))
        });
        match made.await {
            Ok(None) => Ok(true),
            Ok(Some(copy)) => self.put_copy((user, whose), id, copy).await.map(|()| true),
            Err(error) => {
                tracing::warn!(%error, skill = name, "a skill is in no new backup");
                Ok(false)
            }
        }
    }

    /// All copies, without their files.
    async fn copy_heads(&self) -> Result<HashMap<Name, CopyHead>> {
        let this = self.clone();
        off_thread(move || {
            let mut copies = HashMap::new();
            this.copies.scan(|entry| {
                copies.insert(entry.value.name(entry.owner), CopyHead::of(entry.id, entry.value));
            })?;
            Ok(copies)
        })
        .await
    }

    fn compared(&self) -> std::sync::MutexGuard<'_, Compared> {
        self.compared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Everybody who has a folder of skills, and the household.
    pub(crate) fn everybody(&self) -> Result<Vec<(UserId, Whose)>, String> {
        let names = names_in(&self.data.join(crate::PEOPLE));
        let names = names.map_err(|error| format!("the folders of people's skills cannot be read ({error})"))?;
        let people = names.iter().filter_map(|name| Some((UserId(name.parse().ok()?), Whose::Own)));
        Ok(std::iter::once((UserId::OWNER, Whose::Household)).chain(people).collect())
    }

    async fn put_copy(&self, (user, whose): (UserId, Whose), id: Option<Id>, copy: SkillCopy) -> Result<()> {
        let scope = scope_of(user, whose);
        let audience = if whose == Whose::Household { Audience::Household } else { Audience::Private };
        let stamp = Stamp { scope, owner: user, audience, label: Label::Own, source: "skills".into() };
        let fresh = Id::new();
        let (copies, id) = (self.copies.clone(), id.unwrap_or(fresh));
        Ok(self.copies.store().write(move |tx| copies.put(tx, id, &stamp, &copy).map(drop)).await?)
    }

    async fn remove_copy(&self, user: UserId, whose: Whose, slug: &str) -> Result<()> {
        let (this, scope, key) = (self.clone(), scope_of(user, whose), order::text(slug));
        Ok(self.copies.store().write(move |tx| this.forget_copy(tx, scope, &key)).await?)
    }

    /// Within a write: removes the copy of a skill that is deleted.
    pub(crate) fn forget_copy(&self, tx: &Tx, scope: Scope, key: &[u8]) -> store::Result<()> {
        let found = self.copies.find(tx, scope, BY_SLUG, key)?;
        found.into_iter().try_for_each(|entry| self.copies.remove(tx, scope, entry.id).map(drop))
    }
}

/// The facts about a skill as a copy has them.
pub(crate) fn facts_text(folder: &SkillFolder, slug: &str) -> String {
    folder.facts(slug).and_then(|facts| serde_json::to_string(&facts).ok()).unwrap_or_default()
}

/// Makes a folder what its copy says; the version that is there becomes an earlier one.
fn restore(folder: &SkillFolder, slug: &str, copy: &SkillCopy) -> Result<(), String> {
    let package = unpacked(copy)?;
    let facts: Option<Facts> = serde_json::from_str(&copy.facts).ok();
    let is_outside = |facts: Option<&Facts>| facts.is_some_and(|facts| facts.outside);
    let same = folder.package(slug).is_ok_and(|now| now.files == package.files);
    if same && is_outside(folder.facts(slug).as_ref()) == is_outside(facts.as_ref()) {
        return Ok(());
    }
    let facts = facts.unwrap_or(Facts { version: 0, outside: false, source: "folder".into(), at: 0 });
    folder.install(slug, &package, facts).map(drop)
}
