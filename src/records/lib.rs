//! Layer 2: what the families of personal records share. A [`Shelf`] adds (one or all of a batch), finds by id or by name,
//! changes, deletes and lists in order; it tells the bus, and makes errors that say what to do.

mod args;
mod due;
mod notices;
#[cfg(test)]
mod tests;
mod words;

pub use args::{
    BATCH, Patch, batch, contains_all_words, day_of, millis, optional_text, page_params, patch_text, read_when,
    required_text, same_or_before, tags,
};
pub use due::{Due, is_past};
pub use notices::{DocumentChange, Notice, tell_notice};
pub use text_kit::truncate;
pub use words::{RecordMeta, day_words, iso, join_list, quote, record_meta, when_words};

use std::fmt::Write as _;
use store::{Audience, Collection, Entry, Record, Store, Tx, Visit, Walk, order};
use tool::{Cx, Error, Id, Result, Scope, UserId};

/// How many candidates are named when a name fits several.
const NAMED: usize = 5;
/// How many records are looked through for one whose name was said.
const LOOKED: usize = 5000;
/// The longest text that is taken for a name, in characters.
const NAME: usize = 500;

/// A record people call by a name.
pub trait NamedRecord: Record {
    /// The tool that lists them and shows their ids.
    const LISTED_BY: &'static str;
    /// An index whose values begin with [`order::text`] of the name. Those that are not over should come first under a name.
    const BY_NAME: u8;
    /// What people call it: a title, a name.
    fn name(&self) -> &str;
    /// Whether it is done with: meant by its name only when no other is.
    fn is_finished(&self) -> bool {
        false
    }
    /// The same where it depends on the time, in milliseconds since 1970.
    fn is_finished_at(&self, _now_ms: i64) -> bool {
        self.is_finished()
    }
    /// How it is told apart from others of its name.
    fn distinguishing_detail(&self) -> String {
        format!("`{}`", truncate(self.name(), 80))
    }
    /// Where one is looked for of whose name only some words were said, the likelier first.
    fn likely() -> Walk {
        Walk::prefix(Self::BY_NAME, [])
    }
}

/// Some of the records, and whether there are more.
#[derive(Debug)]
pub struct Page<T> {
    /// In the order asked for.
    pub entries: Vec<Entry<T>>,
    /// Whether others follow.
    pub more: bool,
}

/// The records of one family; cheap to clone.
pub struct RecordStore<T>(Collection<T>);

impl<T> Clone for RecordStore<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: NamedRecord> RecordStore<T> {
    /// The records of this type in `store`.
    pub fn new(store: &Store) -> Self {
        Self(store.collection())
    }

    /// The collection, for what only one family does.
    pub fn records(&self) -> &Collection<T> {
        &self.0
    }

    /// Keeps a record of this caller; `shared` shows it to the household.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn add(&self, cx: &Cx, source: &str, value: T, shared: bool) -> Result<Entry<T>> {
        let mut added = self.add_all(cx, source, vec![(value, shared)]).await?;
        added.pop().ok_or_else(|| Error::failed(format!("the {} was not kept: try again", T::WORD)))
    }

    /// Keeps all of them or none, in order.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn add_all(&self, cx: &Cx, source: &str, values: Vec<(T, bool)>) -> Result<Vec<Entry<T>>> {
        self.add_all_with(cx, source, values, |_, _| Ok(())).await
    }

    /// Keeps all of them or none; what `also` writes for each is part of the same commit.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full; what `also` answers.
    pub async fn add_all_with<A>(
        &self,
        cx: &Cx,
        source: &str,
        values: Vec<(T, bool)>,
        mut also: A,
    ) -> Result<Vec<Entry<T>>>
    where
        A: FnMut(&Tx, &Entry<T>) -> store::Result<()> + Send + 'static,
    {
        let stamp = self.0.stamp(cx, source);
        let values: Vec<(Id, T, bool)> = values.into_iter().map(|(value, shared)| (Id::new(), value, shared)).collect();
        let records = self.0.clone();
        let added = self.0.store().write(move |tx| {
            let mut keep = |(id, value, shared): &(Id, T, bool)| {
                let kept = records.put(tx, *id, &stamp.clone().audience(audience(*shared)), value)?;
                also(tx, &kept)?;
                Ok(kept)
            };
            values.iter().map(&mut keep).collect::<store::Result<Vec<_>>>()
        });
        let added = added.await?;
        added.iter().for_each(|entry| publish_change(cx, entry, "added"));
        Ok(added)
    }

    /// The record this caller means: an id, or a name (the whole of it, else some words of it).
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when several fit, with their ids.
    pub fn find(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let which = checked_name::<T>(which)?;
        if let Ok(id) = which.parse::<Id>() {
            return self.0.get(cx, id)?.ok_or_else(|| not_found::<T>(which));
        }
        exactly_one(cx, which, self.matching(cx, which, None)?)
    }

    /// The record this caller means, which is theirs to change; of a name that fits their own and others', their own.
    ///
    /// # Errors
    /// As [`Shelf::find`]; `Denied` when it is somebody else's.
    pub fn find_own(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let which = checked_name::<T>(which)?;
        let mine = match which.parse::<Id>() {
            Ok(_) => vec![],
            Err(_) => self.matching(cx, which, Some(cx.user()))?,
        };
        if !mine.is_empty() {
            return exactly_one(cx, which, mine);
        }
        let found = self.find(cx, which)?;
        if found.owner == cx.user() {
            return Ok(found);
        }
        let (word, name) = (T::WORD, truncate(found.value.name(), 80));
        Err(Error::denied(format!("the {word} `{name}` is somebody else's, who shares it: only they can change it")))
    }

    /// Of the caller's own records of this name, when all of them are over, the one that was changed last.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn last_finished(&self, cx: &Cx, name: &str) -> Result<Option<Entry<T>>> {
        let Ok(name) = checked_name::<T>(name) else { return Ok(None) };
        let now = now_ms(cx);
        for place in name_prefixes::<T>(name) {
            let fits = self.scan_prefix(cx, &place, Some(cx.user()))?;
            if fits.iter().any(|entry| !entry.value.is_finished_at(now)) {
                return Ok(None);
            }
            if !fits.is_empty() {
                return self.last_of(cx, place, now);
            }
        }
        Ok(None)
    }

    /// Of the caller's own in a place that are over, the one that was changed last. Few of them are kept in mind at once,
    /// however many there are.
    fn last_of(&self, cx: &Cx, place: NamePrefix, now: i64) -> Result<Option<Entry<T>>> {
        // Under one name the latest stand at the end; elsewhere the likelier come first as it is.
        let walk = if place.words.is_empty() { place.walk.clone().down() } else { place.walk.clone() };
        let (mut looked, mut last) = (0, None);
        self.0.walk(&untainted(cx), &walk, |entry| {
            looked += 1;
            if looked > LOOKED {
                return Visit::Stop;
            }
            if entry.owner == cx.user() && entry.value.is_finished_at(now) && place.fits(entry.value.name()) {
                last = last.max(Some((entry.updated_ms, entry.id)));
            }
            Visit::No
        })?;
        match last {
            Some((_, id)) => Ok(self.0.get(cx, id)?),
            None => Ok(None),
        }
    }

    /// Those a text may mean, and no more than it takes to say that it is several; the run is not tainted by them.
    fn matching(&self, cx: &Cx, which: &str, owner: Option<UserId>) -> Result<Vec<Entry<T>>> {
        for place in name_prefixes::<T>(which) {
            let found = self.scan_prefix(cx, &place, owner)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(vec![])
    }

    fn scan_prefix(&self, cx: &Cx, place: &NamePrefix, owner: Option<UserId>) -> Result<Vec<Entry<T>>> {
        // Most are thrown away again: only what is answered taints the run.
        let (now, mut looked, mut open, mut over) = (now_ms(cx), 0, 0, 0);
        let found = self.0.walk(&untainted(cx), &place.walk, |entry| {
            looked += 1;
            if looked > LOOKED || open > NAMED {
                return Visit::Stop;
            }
            if owner.is_some_and(|owner| owner != entry.owner) || !place.fits(entry.value.name()) {
                return Visit::No;
            }
            let count = if entry.value.is_finished_at(now) { &mut over } else { &mut open };
            *count += 1;
            if *count > NAMED + 1 { Visit::No } else { Visit::Yes }
        })?;
        Ok(found)
    }

    /// Changes the record this caller means; `shared` shows it to the household, or no longer.
    ///
    /// # Errors
    /// As [`Shelf::own`]; what `change` answers.
    pub async fn change<F>(&self, cx: &Cx, which: &str, shared: Option<bool>, change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> store::Result<()> + Send + 'static,
    {
        self.change_with(cx, which, shared, change, |_, _| Ok(())).await
    }

    /// Changes the record this caller means; what `also` writes for it is part of the same commit.
    ///
    /// # Errors
    /// As [`Shelf::change`]; what `also` answers.
    pub async fn change_with<F, A>(
        &self,
        cx: &Cx,
        which: &str,
        shared: Option<bool>,
        mut change: F,
        mut also: A,
    ) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> store::Result<()> + Send + 'static,
        A: FnMut(&Tx, &Entry<T>) -> store::Result<()> + Send + 'static,
    {
        let found = self.find_own(cx, which)?;
        let (records, scope, label, id) = (self.0.clone(), Scope::User(cx.user()), cx.label(), found.id);
        let changed = self.0.store().write(move |tx| {
            let mut changed = records.change(tx, scope, label, id, &mut change)?;
            if let Some(audience) = shared.map(audience).filter(|audience| *audience != changed.audience) {
                changed = records.share(tx, scope, id, audience)?;
            }
            also(tx, &changed)?;
            Ok(changed)
        });
        let changed = changed.await?;
        // Whoever could read it before learns that they cannot any more.
        if found.audience == Audience::Household && changed.audience == Audience::Private {
            publish_change(cx, &found, "changed");
        }
        publish_change(cx, &changed, "changed");
        Ok(changed)
    }

    /// Deletes the record this caller means, and answers it.
    ///
    /// # Errors
    /// As [`Shelf::own`].
    pub async fn remove(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        self.remove_with(cx, which, |_, _| Ok(())).await
    }

    /// Deletes the record this caller means, by its id or its whole name: some words of a name are too little to lose it by.
    /// What `also` writes for it is part of the same commit.
    ///
    /// # Errors
    /// As [`Shelf::own`]; what `also` answers.
    pub async fn remove_with<A>(&self, cx: &Cx, which: &str, mut also: A) -> Result<Entry<T>>
    where
        A: FnMut(&Tx, &Entry<T>) -> store::Result<()> + Send + 'static,
    {
        let found = self.find_own(cx, which)?;
        require_exact_name(which, found.id, found.value.name())?;
        let (records, scope, entry) = (self.0.clone(), Scope::User(cx.user()), found.clone());
        let removed = self.0.store().write(move |tx| {
            let removed = records.remove(tx, scope, entry.id)?;
            if removed {
                also(tx, &entry)?;
            }
            Ok(removed)
        });
        if !removed.await? {
            return Err(not_found::<T>(which));
        }
        publish_change(cx, &found, "deleted");
        Ok(found)
    }

    /// Some records in the order of a walk: those that `wanted` lets through, without the first `offset`, `limit` at most.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn page(
        &self,
        cx: &Cx,
        walk: &Walk,
        (offset, limit): (usize, usize),
        wanted: impl Fn(&Entry<T>) -> bool,
    ) -> Result<Page<T>> {
        let (mut passed, mut kept, mut more) = (0, 0, false);
        let entries = self.0.walk(cx, walk, |entry| {
            if !wanted(entry) {
                return Visit::No;
            }
            if passed < offset {
                passed += 1;
                return Visit::No;
            }
            if kept == limit {
                more = true;
                return Visit::Stop;
            }
            kept += 1;
            Visit::Yes
        })?;
        Ok(Page { entries, more })
    }
}

/// Whether a text is the id or the whole name of a record that is to be deleted.
///
/// # Errors
/// `BadArgs` with the whole name.
pub fn require_exact_name(which: &str, id: Id, name: &str) -> Result<()> {
    let words = |text: &str| -> Vec<String> {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
        words.map(str::to_lowercase).collect()
    };
    if which.trim().parse::<Id>().is_ok_and(|given| given == id) || words(which) == words(name) {
        return Ok(());
    }
    Err(Error::bad_args(format!("nothing was deleted; if you mean {}, give its whole name or its id", quote(name))))
}

/// Who may read it.
pub fn audience(shared: bool) -> Audience {
    if shared { Audience::Household } else { Audience::Private }
}

/// Tells whom it concerns that a record was `added`, `changed` or `deleted`: `{"id", "change"}` under `NAME:changed`.
pub fn publish_change<T: Record>(cx: &Cx, entry: &Entry<T>, change: &str) {
    let to = Some(entry.owner).filter(|_| entry.audience == Audience::Private);
    let data = tool::prelude::json!({"id": entry.id, "change": change});
    cx.ports().bus.publish(format!("{}:changed", T::NAME), to, data);
}

/// Why a change within a write cannot be: it reaches the caller as `BadArgs`.
pub fn rejected(text: impl Into<String>) -> store::Error {
    store::Error::Conflict(text.into())
}

/// The same caller in a run of its own: for looking at records of which most are thrown away again. Whoever answers one of
/// them taints the run itself.
pub fn untainted(cx: &Cx) -> Cx {
    Cx::root(cx.ports().clone(), cx.principal().clone(), cx.via().clone())
}

fn now_ms(cx: &Cx) -> i64 {
    cx.ports().clock.now().as_millisecond()
}

fn words(text: &str) -> Vec<String> {
    let all = text.to_lowercase();
    all.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

/// Where one is looked for that was named.
struct NamePrefix {
    walk: Walk,
    /// What its name has to have; none where all that are walked have the name.
    words: Vec<String>,
}

impl NamePrefix {
    fn fits(&self, name: &str) -> bool {
        self.words.is_empty() || {
            let name = words(name);
            self.words.iter().all(|word| name.contains(word))
        }
    }
}

/// Where one of a name is looked for: among those of the whole name, else among those that have its words.
fn name_prefixes<T: NamedRecord>(name: &str) -> impl Iterator<Item = NamePrefix> {
    let (whole, words) = (Walk::prefix(T::BY_NAME, order::text(name)), words(name));
    let some = (!words.is_empty()).then(|| NamePrefix { walk: T::likely(), words });
    [Some(NamePrefix { walk: whole, words: vec![] }), some].into_iter().flatten()
}

/// What can be an id or a name.
fn checked_name<T: NamedRecord>(which: &str) -> Result<&str> {
    let (word, list, which) = (T::WORD, T::LISTED_BY, which.trim());
    if which.is_empty() {
        return Err(Error::bad_args(format!("say which {word}: by its id, which `{list}` shows, or by its name")));
    }
    if which.chars().nth(NAME).is_some() { Err(not_found::<T>(which)) } else { Ok(which) }
}

/// The one that is meant: what is over is meant only when nothing else is.
fn exactly_one<T: NamedRecord>(cx: &Cx, which: &str, fits: Vec<Entry<T>>) -> Result<Entry<T>> {
    let now = now_ms(cx);
    let (over, open): (Vec<_>, Vec<_>) = fits.into_iter().partition(|entry| entry.value.is_finished_at(now));
    let mut meant = if open.is_empty() { over } else { open };
    meant.iter().for_each(|entry| cx.taint(entry.label));
    match meant.len() {
        0 => Err(not_found::<T>(which)),
        1 => Ok(meant.remove(0)),
        _ => Err(ambiguous(which, &meant)),
    }
}

fn not_found<T: NamedRecord>(which: &str) -> Error {
    let which = truncate(which.trim(), 80);
    Error::not_found(format!("there is no {} `{which}`: `{}` shows what there is, with ids", T::WORD, T::LISTED_BY))
}

fn ambiguous<T: NamedRecord>(which: &str, meant: &[Entry<T>]) -> Error {
    let count = if meant.len() > NAMED { format!("more than {NAMED}") } else { meant.len().to_string() };
    let mut text = format!("{count} {}s fit `{}`; name one by its id: ", T::WORD, truncate(which, 80));
    for (n, entry) in meant.iter().take(NAMED).enumerate() {
        let comma = if n > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{} ({})", entry.value.distinguishing_detail(), entry.id);
    }
    if meant.len() > NAMED {
        text.push_str(", …");
    }
    Error::bad_args(text)
}
