//! Layer 2: skills, folders with a `SKILL.md` that tell a model how to do a task. Those in `skills/` of the data folder are the household's,
//! those in `user-skills/ID/` a person's, which come first. Files may be changed by hand at any time: every look compares them.
//!
//! The text of a skill from elsewhere is a stranger's until a person vouches for it, and taints the run that reads it.

mod check;
mod copies;
mod folder;
mod manifest;
mod package;
mod search;
#[cfg(test)]
mod tests;
mod zip;

pub use folder::Facts;
pub use manifest::{Manifest, is_slug, slug_of};
pub use package::{BYTES, FILES, MANIFEST, Package};
pub use search::Match;

use embed::{Embedder, Quantized};
use folder::{Fingerprint, SkillFolder};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError, atomic::AtomicBool},
};
use store::{Audience, Collection, Key, Level, Record, Stamp, Store, Tx, Visit, Walk, order};
use tool::{Cx, Error, Id, Label, Result, Role, Scope, UserId, prelude::json};

/// The maximum number of skills of a person, and of the household.
pub const MOST: usize = 200;
/// The folders in the data folder.
const HOUSEHOLD: &str = "skills";
const PEOPLE: &str = "user-skills";

/// The owner of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// One person's.
    Own,
    /// The household's.
    Household,
}

/// A skill as a list shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name of its folder, by which it is used.
    pub slug: String,
    /// Its owner.
    pub whose: Whose,
    /// Its `SKILL.md`, or why it cannot be used.
    pub manifest: Result<Arc<Manifest>, String>,
    /// Facts about the installed version; `None` for one that a person put there by hand.
    pub facts: Option<Facts>,
    /// Whether it is switched on.
    pub enabled: bool,
    /// How often it was used.
    pub uses: u32,
    version: u32,
}

impl Skill {
    /// The number of its version.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// The label of its text.
    pub fn label(&self) -> Label {
        if self.facts.as_ref().is_some_and(|facts| facts.outside) { Label::Outside } else { Label::Own }
    }

    /// Its manifest if a model may use it.
    pub fn usable(&self) -> Option<&Arc<Manifest>> {
        self.manifest.as_ref().ok().filter(|_| self.enabled)
    }
}

/// Hob's notes about a skill beside its files. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Note {
    slug: String,
    disabled: bool,
    uses: u32,
}

const BY_SLUG: u8 = 1;

impl Record for Note {
    const NAME: &'static str = "skills";
    const WORD: &'static str = "skill";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_SLUG, order::text(&self.slug))]
    }
}

/// A parsed skill, and the state of its files it was parsed from.
#[derive(Clone)]
struct Parsed {
    print: Fingerprint,
    manifest: Result<Arc<Manifest>, String>,
    facts: Option<Facts>,
    version: u32,
}

type Cache = HashMap<(SkillFolder, String), Parsed>;

/// The skills of all people; cheap to clone.
#[derive(Clone)]
pub struct Skills {
    data: Arc<Path>,
    notes: Collection<Note>,
    copies: Collection<copies::SkillCopy>,
    embedder: Embedder,
    parsed: Arc<Mutex<Cache>>,
    /// Vectors of descriptions.
    vectors: Arc<Mutex<HashMap<[u8; 32], Quantized>>>,
    /// Skills whose copies in the store are right.
    compared: Arc<Mutex<copies::Compared>>,
    /// Whether the copies of a restored backup have become folders.
    has_folders: Arc<AtomicBool>,
    /// One change of files at a time.
    writing: Arc<tokio::sync::Mutex<()>>,
}

/// A change of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Change {
    /// Whether models may use it.
    pub enabled: Option<bool>,
    /// Whether a person vouches for its text.
    pub trusted: Option<bool>,
    /// The version that the person has seen; another is not changed.
    pub version: Option<u32>,
}

impl Skills {
    /// The skills in the data folder `data`.
    pub fn open(store: &Store, embedder: Embedder, data: &Path) -> Self {
        let this = Self {
            data: data.into(),
            notes: store.collection(),
            copies: store.collection(),
            compared: Arc::default(),
            has_folders: Arc::default(),
            embedder,
            parsed: Arc::default(),
            vectors: Arc::default(),
            writing: Arc::default(),
        };
        this.household().tidy();
        let people = std::fs::read_dir(this.data.join(PEOPLE)).into_iter().flatten().flatten();
        people.for_each(|entry| SkillFolder(entry.path()).tidy());
        this
    }

    fn household(&self) -> SkillFolder {
        SkillFolder(self.data.join(HOUSEHOLD))
    }

    fn folder(&self, user: UserId, whose: Whose) -> SkillFolder {
        match whose {
            Whose::Own => SkillFolder(self.data.join(PEOPLE).join(user.to_string())),
            Whose::Household => self.household(),
        }
    }

    /// All skills of the caller by slug; an own one hides the household's. Nothing taints: the label of each is its own.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when a folder cannot.
    pub async fn list(&self, cx: &Cx) -> Result<Vec<Skill>> {
        self.list_from(cx, &[Whose::Household, Whose::Own]).await
    }

    async fn list_from(&self, cx: &Cx, from: &[Whose]) -> Result<Vec<Skill>> {
        let (this, user, from) = (self.clone(), cx.user(), from.to_owned());
        off_thread(move || {
            let mut all = BTreeMap::new();
            for whose in from {
                for skill in this.list_of(user, whose)? {
                    all.insert(skill.slug.clone(), skill);
                }
            }
            Ok(all.into_values().collect())
        })
        .await
    }

    fn list_of(&self, user: UserId, whose: Whose) -> Result<Vec<Skill>> {
        let folder = self.folder(user, whose);
        let found = folder.scan(MOST).map_err(unreadable)?;
        let mut notes = HashMap::new();
        self.notes.walk_in(scope_of(user, whose), &Walk::prefix(BY_SLUG, []), |entry| {
            notes.insert(entry.value.slug.clone(), entry.value.clone());
            Visit::No
        })?;
        let mut parsed = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        parsed.retain(|(of, slug), _| *of != folder || found.iter().any(|(name, _)| name == slug));
        let skill = |(slug, print): (String, Fingerprint)| {
            let key = (folder.clone(), slug.clone());
            let known = parsed.get(&key).filter(|known| known.print == print).cloned();
            let known = known.unwrap_or_else(|| {
                let new = parse(&folder, &slug, print);
                parsed.insert(key, new.clone());
                new
            });
            let Note { disabled, uses, .. } = notes.remove(&slug).unwrap_or_default();
            let Parsed { manifest, facts, version, .. } = known;
            Skill { slug, whose, manifest, facts, enabled: !disabled, uses, version }
        };
        Ok(found.into_iter().map(skill).collect())
    }

    /// One skill of the caller: their own, or else the household's; with `whose`, that one.
    ///
    /// # Errors
    /// `NotFound` when there is none of that name.
    pub async fn get(&self, cx: &Cx, slug: &str, whose: Option<Whose>) -> Result<Skill> {
        let mut all = match whose {
            Some(whose) => self.list_from(cx, &[whose]).await?,
            None => self.list(cx).await?,
        };
        let at = all.iter().position(|skill| skill.slug == slug);
        at.map(|at| all.swap_remove(at)).ok_or_else(|| {
            let name = text_kit::truncate(slug, 80);
            Error::not_found(format!("there is no skill `{name}`: find one with skill_search"))
        })
    }

    /// The folder of a skill within the data folder, for tools that work with its files.
    pub fn base_dir(&self, cx: &Cx, skill: &Skill) -> PathBuf {
        let folder = self.folder(cx.user(), skill.whose).0.join(&skill.slug);
        folder.strip_prefix(&self.data).map(Path::to_owned).unwrap_or(folder)
    }

    /// The files of a skill, and their sizes.
    ///
    /// # Errors
    /// `Failed` when looking for them breaks off.
    pub async fn files(&self, cx: &Cx, skill: &Skill) -> Result<BTreeMap<String, u64>> {
        let (folder, slug) = (self.folder(cx.user(), skill.whose), skill.slug.clone());
        off_thread(move || Ok(folder.files(&slug))).await
    }

    /// One file of a skill as text. Taints the run as its skill does.
    ///
    /// # Errors
    /// `NotFound` when it has none of that path; `BadArgs` when it is no text.
    pub async fn file(&self, cx: &Cx, skill: &Skill, path: &str) -> Result<String> {
        let (folder, slug, wanted) = (self.folder(cx.user(), skill.whose), skill.slug.clone(), path.to_owned());
        let bytes = off_thread(move || folder.file(&slug, &wanted, BYTES).map_err(Error::not_found)).await?;
        let text = String::from_utf8(bytes);
        let text = text.map_err(|_| Error::bad_args(format!("`{}` is no text", text_kit::truncate(path, 80))))?;
        cx.taint(skill.label());
        Ok(text)
    }

    /// The numbers of the earlier versions of a skill, ascending.
    ///
    /// # Errors
    /// As [`Skills::files`].
    pub async fn versions(&self, cx: &Cx, skill: &Skill) -> Result<Vec<u32>> {
        let (folder, slug) = (self.folder(cx.user(), skill.whose), skill.slug.clone());
        off_thread(move || Ok(folder.versions(&slug))).await
    }

    /// Counts one use.
    pub fn count_use(&self, cx: &Cx, skill: &Skill) {
        let (notes, stamp, slug) = (self.notes.clone(), stamp_of(cx, skill.whose), skill.slug.clone());
        self.notes.store().write_later(move |tx| {
            note(&notes, tx, &stamp, &slug, &mut |note| note.uses = note.uses.saturating_add(1))
        });
    }

    /// Installs a skill, or a new version of it, under `slug` or the slug of its name.
    ///
    /// # Errors
    /// `BadArgs` when it has no usable name; `Denied` when only an admin may; `Unavailable` when there is no room.
    pub async fn install(&self, cx: &Cx, package: Package, target: Target<'_>) -> Result<Skill> {
        let Target { slug, whose, outside, source } = target;
        self.check_may(cx, whose)?;
        let slug = slug.map_or_else(|| package.slug(), str::to_owned);
        if !is_slug(&slug) {
            return Err(Error::bad_args(format!(
                "`{}` cannot be the name of a skill's folder: use lower-case letters, digits and single hyphens, such as `bake-bread`",
                text_kit::truncate(&slug, 80)
            )));
        }
        let _one = self.writing.lock().await;
        self.make_folders_once().await;
        let folder = self.folder(cx.user(), whose);
        let at = u64::try_from(cx.ports().clock.now().as_millisecond()).unwrap_or_default();
        let facts = Facts { version: 0, outside, source: source.to_owned(), at };
        let name = slug.clone();
        let install = move || {
            let all = folder.scan(MOST + 1).map_err(|error| unreadable(error).to_string())?;
            if all.len() >= MOST && !all.iter().any(|(other, _)| *other == name) {
                return Err(format!("there are {MOST} skills, which is the maximum: delete one first"));
            }
            folder.install(&name, &package, facts)
        };
        blocking(install).await?;
        self.copy_changed(cx.user(), whose, &slug).await;
        self.changed(cx, whose, &slug);
        self.get(cx, &slug, Some(whose)).await
    }

    /// Installs an earlier version again, as a new one; also of a deleted skill.
    ///
    /// # Errors
    /// `NotFound` when that version is not stored; as [`Skills::install`].
    pub async fn restore(&self, cx: &Cx, slug: &str, whose: Whose, version: u32) -> Result<Skill> {
        if !is_slug(slug) {
            return Err(Error::not_found("there is no skill of that name"));
        }
        let (folder, name) = (self.folder(cx.user(), whose), slug.to_owned());
        let (package, facts) = off_thread(move || folder.version(&name, version).map_err(Error::not_found)).await?;
        let outside = facts.is_some_and(|facts| facts.outside);
        self.install(cx, package, Target { slug: Some(slug), whose, outside, source: "restore" }).await
    }

    /// Switches a skill, or vouches for it.
    ///
    /// # Errors
    /// `NotFound` when there is none; `Denied` when only an admin may; `Unavailable` when it has another version meanwhile.
    pub async fn change(&self, cx: &Cx, slug: &str, whose: Option<Whose>, change: Change) -> Result<Skill> {
        let _one = self.writing.lock().await;
        self.make_folders_once().await;
        let skill = self.changeable(cx, slug, whose, change.version).await?;
        if let Some(enabled) = change.enabled {
            let (notes, stamp, slug) = (self.notes.clone(), stamp_of(cx, skill.whose), skill.slug.clone());
            let write = move |tx: &Tx| note(&notes, tx, &stamp, &slug, &mut |note| note.disabled = !enabled);
            self.notes.store().write(write).await?;
        }
        if let Some(trusted) = change.trusted {
            let (folder, slug) = (self.folder(cx.user(), skill.whose), skill.slug.clone());
            blocking(move || folder.set_outside(&slug, !trusted)).await?;
            self.copy_changed(cx.user(), skill.whose, &skill.slug).await;
        }
        self.changed(cx, skill.whose, slug);
        self.get(cx, slug, Some(skill.whose)).await
    }

    /// Deletes a skill, with `version` only if that is its version; it can be restored.
    ///
    /// # Errors
    /// As [`Skills::change`].
    pub async fn delete(&self, cx: &Cx, slug: &str, whose: Option<Whose>, version: Option<u32>) -> Result<()> {
        let _one = self.writing.lock().await;
        self.make_folders_once().await;
        let skill = self.changeable(cx, slug, whose, version).await?;
        let (folder, name) = (self.folder(cx.user(), skill.whose), skill.slug.clone());
        blocking(move || folder.remove(&name)).await?;
        let (this, notes) = (self.clone(), self.notes.clone());
        let (scope, key) = (scope_of(cx.user(), skill.whose), order::text(&skill.slug));
        let forget = move |tx: &Tx| {
            this.forget_copy(tx, scope, &key)?;
            let found = notes.find(tx, scope, BY_SLUG, &key)?;
            found.into_iter().try_for_each(|entry| notes.remove(tx, scope, entry.id).map(drop))
        };
        self.notes.store().write(forget).await?;
        self.changed(cx, skill.whose, &skill.slug);
        Ok(())
    }

    /// A skill that this caller may change, in the version they have seen.
    async fn changeable(&self, cx: &Cx, slug: &str, whose: Option<Whose>, seen: Option<u32>) -> Result<Skill> {
        let skill = self.get(cx, slug, whose).await?;
        self.check_may(cx, skill.whose)?;
        match seen {
            Some(seen) if seen != skill.version => Err(Error::unavailable(format!(
                "`{slug}` has changed since you read it and is version {}: read it again, then repeat your change",
                skill.version
            ))),
            _ => Ok(skill),
        }
    }

    fn check_may(&self, cx: &Cx, whose: Whose) -> Result<()> {
        match (cx.principal().role, whose) {
            (Role::Viewer, _) => Err(Error::denied("a viewer may read skills, and not change them: ask an admin")),
            (Role::Member, Whose::Household) => {
                Err(Error::denied("a skill of the household is used by everybody, and only an admin may change it"))
            }
            _ => Ok(()),
        }
    }

    fn changed(&self, cx: &Cx, whose: Whose, slug: &str) {
        let to = (whose == Whose::Own).then(|| cx.user());
        cx.ports().bus.publish("skill:changed", to, json!({"name": slug}));
    }
}

/// The place of a new skill, and its origin.
#[derive(Debug, Clone, Copy)]
pub struct Target<'t> {
    /// The name of its folder, where that is not made from its name.
    pub slug: Option<&'t str>,
    /// Its owner.
    pub whose: Whose,
    /// Whether its text may be a stranger's.
    pub outside: bool,
    /// Its origin, for lists.
    pub source: &'t str,
}

fn parse(folder: &SkillFolder, slug: &str, print: Fingerprint) -> Parsed {
    let manifest = folder.text(slug).and_then(|text| Manifest::parse(&text)).map(Arc::new);
    let facts = folder.facts(slug);
    let version = facts.as_ref().map_or_else(|| folder.number(slug), |facts| facts.version);
    Parsed { print, manifest, facts, version }
}

fn scope_of(user: UserId, whose: Whose) -> Scope {
    match whose {
        Whose::Own => Scope::User(user),
        Whose::Household => Scope::Household,
    }
}

fn stamp_of(cx: &Cx, whose: Whose) -> Stamp {
    let audience = if whose == Whose::Own { Audience::Private } else { Audience::Household };
    Stamp { scope: scope_of(cx.user(), whose), owner: cx.user(), audience, label: Label::Own, source: "skills".into() }
}

/// Within a write: changes the note about a skill, or begins one.
fn note(
    notes: &Collection<Note>,
    tx: &Tx,
    stamp: &Stamp,
    slug: &str,
    change: &mut dyn FnMut(&mut Note),
) -> store::Result<()> {
    let found = notes.find(tx, stamp.scope, BY_SLUG, &order::text(slug))?.pop();
    let (id, mut value) = match found {
        Some(entry) => (entry.id, entry.value),
        None => (Id::new(), Note { slug: slug.to_owned(), ..Note::default() }),
    };
    change(&mut value);
    notes.put(tx, id, stamp, &value).map(drop)
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, String> + Send + 'static) -> Result<T> {
    off_thread(move || work().map_err(Error::unavailable)).await
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tool::blocking("the work on skills", work).await
}

fn unreadable(error: std::io::Error) -> Error {
    Error::unavailable(format!("the skills cannot be read ({error})"))
}
