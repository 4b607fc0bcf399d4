//! Layer 2: personal records. A [`RecordStore`] adds one or a batch, finds by id or name, changes, deletes and lists in order,
//! and publishes each change on the bus.

mod addressee;
mod args;
mod due;
pub mod kind;
mod notices;
mod several;
#[cfg(test)]
mod tests;
pub mod undo;
mod words;

pub use addressee::{Addressee, EVERYONE};
pub use args::{
    BATCH, Patch, batch, contains_all_words, day_of, millis, optional_text, page_params, passes, read_when,
    required_text, same_or_before, same_text, set_optional, set_required, tags,
};
pub use due::{Due, is_past};
pub use kind::{RecordKind, names};
pub use notices::{DocumentChange, Notice, tell_notice};
pub use several::{Change, can_change};
pub use store::rejected;
pub use text_kit::{counted, day_words, truncate};
pub use undo::{Undo, Undoer};
pub use words::{iso, join_list, local_text, names_owner, quote, view, when_words};

use several::Caller;
use std::fmt::Write as _;
use store::{Audience, Collection, Entry, Record, Store, Tx, Visit, Walk, Words, order};
use text_kit::{plural, which_one};
use tool::{Cx, Error, Id, Result, Scope, UserId};

/// How many candidates an error names when a name fits several.
const NAMED: usize = 5;
/// How many records are searched for a name.
const SCANNED: usize = 5000;
/// The longest text that can be a name, in characters.
const NAME: usize = 500;

/// A record that people call by a name.
pub trait NamedRecord: Record {
    /// The tool that lists such records with their ids.
    const LISTED_BY: &'static str;
    /// An index whose values begin with [`order::text`] of the name. Under a name, unfinished records should come first.
    const BY_NAME: u8;
    /// Its title or name.
    fn name(&self) -> &str;
    /// Whether it is finished: its name means it only when no unfinished record has that name.
    fn is_finished(&self) -> bool {
        false
    }
    /// The same for a record that finishes by time, in milliseconds since 1970.
    fn is_finished_at(&self, _now_ms: i64) -> bool {
        self.is_finished()
    }
    /// A detail that distinguishes it from others of its name, for an error.
    fn distinguishing_detail(&self) -> String {
        format!("`{}`", truncate(self.name(), 80))
    }
    /// Whether members of the household change and delete it while it is shared, not only its owner.
    fn is_everybodys(&self) -> bool {
        false
    }
    /// The name of the list or area it belongs to.
    fn group(&self) -> Option<&str> {
        None
    }
    /// The order in which records are searched for words of a name, the likelier first.
    fn likely() -> Walk {
        Walk::prefix(Self::BY_NAME, [])
    }
}

/// A page of records.
#[derive(Debug)]
pub struct Page<T> {
    /// The records, in order.
    pub entries: Vec<Entry<T>>,
    /// Whether more follow.
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

    /// The underlying collection.
    pub fn records(&self) -> &Collection<T> {
        &self.0
    }

    /// Adds a record of this caller; `shared` shows it to the household.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn add(&self, cx: &Cx, source: &str, value: T, shared: bool) -> Result<Entry<T>> {
        let mut added = self.add_all(cx, source, vec![(value, shared)]).await?;
        added.pop().ok_or_else(|| Error::failed(format!("the {} was not saved: try again", T::WORD)))
    }

    /// Adds all of them or none, in order.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn add_all(&self, cx: &Cx, source: &str, values: Vec<(T, bool)>) -> Result<Vec<Entry<T>>> {
        self.add_all_with(cx, source, values, |_, _| Ok(())).await
    }

    /// Adds all of them or none; `also` writes for each of them in the same commit.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full; the errors of `also`.
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
        let (records, is_by_voice) = (self.0.clone(), cx.user() == UserId::VOICE);
        let added = self.0.store().write(move |tx| {
            let mut put = |(id, value, shared): &(Id, T, bool)| {
                // Records made by voice are the household's.
                let audience = audience(*shared || is_by_voice);
                let added = records.put(tx, *id, &stamp.clone().audience(audience), value)?;
                also(tx, &added)?;
                Ok(added)
            };
            values.iter().map(&mut put).collect::<store::Result<Vec<_>>>()
        });
        let added = added.await?;
        added.iter().for_each(|entry| publish_change(cx, entry, "added"));
        Ok(added)
    }

    /// The record this caller means, by its id, its whole name, or some words of its name.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` with their ids when several fit.
    pub fn find(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let which = checked_name::<T>(which)?;
        if let Ok(id) = which.parse::<Id>() {
            return self.0.get(cx, id)?.ok_or_else(|| not_found::<T>(which));
        }
        exactly_one(cx, which, self.matching(cx, which, None)?)
    }

    /// The record this caller means and can change: their own, or a shared one that is everybody's; among equal names their own
    /// wins.
    ///
    /// # Errors
    /// As [`RecordStore::find`]; `Denied` when it is another person's.
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
        if can_change(cx, &found) {
            return Ok(found);
        }
        let (word, name) = (T::WORD, truncate(found.value.name(), 80));
        let text = format!("the {word} `{name}` is somebody else's and shared with you: only they can change it");
        let said = format!("{} belongs to somebody else, and only they can change it.", quote(&name));
        Err(Error::denied(text).say(said))
    }

    /// The last changed of the caller's own records of this name, if all of them are finished.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn last_finished(&self, cx: &Cx, name: &str) -> Result<Option<Entry<T>>> {
        let Ok(name) = checked_name::<T>(name) else { return Ok(None) };
        let now = now_ms(cx);
        for prefix in name_prefixes::<T>(name) {
            let fits = self.scan_prefix(cx, &prefix, Some(cx.user()))?;
            if fits.iter().any(|entry| !entry.value.is_finished_at(now)) {
                return Ok(None);
            }
            if !fits.is_empty() {
                return self.last_of(cx, prefix, now);
            }
        }
        Ok(None)
    }

    /// The last changed of the caller's own finished records under a prefix, in constant memory.
    fn last_of(&self, cx: &Cx, prefix: NamePrefix, now: i64) -> Result<Option<Entry<T>>> {
        // Under one name the newest come last; `likely` is in order already.
        let walk = if prefix.words.is_empty() { prefix.walk.clone().down() } else { prefix.walk.clone() };
        let (mut scanned, mut last) = (0, None);
        self.0.walk(&untainted(cx), &walk, |entry| {
            scanned += 1;
            if scanned > SCANNED {
                return Visit::Stop;
            }
            if entry.owner == cx.user() && entry.value.is_finished_at(now) && prefix.fits(entry.value.name()) {
                last = last.max(Some((entry.updated_ms, entry.id)));
            }
            Visit::No
        })?;
        match last {
            Some((_, id)) => Ok(self.0.get(cx, id)?),
            None => Ok(None),
        }
    }

    /// The records that a text may mean, at most one more than an error names. Does not taint the run.
    fn matching(&self, cx: &Cx, which: &str, owner: Option<UserId>) -> Result<Vec<Entry<T>>> {
        for prefix in name_prefixes::<T>(which) {
            let found = self.scan_prefix(cx, &prefix, owner)?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        Ok(vec![])
    }

    fn scan_prefix(&self, cx: &Cx, prefix: &NamePrefix, owner: Option<UserId>) -> Result<Vec<Entry<T>>> {
        // Only returned records taint the run.
        let (now, mut scanned, mut open, mut finished) = (now_ms(cx), 0, 0, 0);
        let found = self.0.walk(&untainted(cx), &prefix.walk, |entry| {
            scanned += 1;
            if scanned > SCANNED || open > NAMED {
                return Visit::Stop;
            }
            if owner.is_some_and(|owner| owner != entry.owner) || !prefix.fits(entry.value.name()) {
                return Visit::No;
            }
            let count = if entry.value.is_finished_at(now) { &mut finished } else { &mut open };
            *count += 1;
            if *count > NAMED + 1 { Visit::No } else { Visit::Yes }
        })?;
        Ok(found)
    }

    /// Changes the record this caller means; `shared` sets whether the household sees it.
    ///
    /// # Errors
    /// As [`RecordStore::find_own`]; the errors of `change`.
    pub async fn change<F>(&self, cx: &Cx, which: &str, shared: Option<bool>, change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> store::Result<()> + Send + 'static,
    {
        self.change_with(cx, which, shared, change, |_, _| Ok(())).await
    }

    /// Changes the record this caller means; `also` writes in the same commit.
    ///
    /// # Errors
    /// As [`RecordStore::change`]; the errors of `also`.
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
        if shared.is_some() && found.owner != cx.user() {
            return Err(Error::denied(format!(
                "the {} {} is somebody else's: only they choose who sees it",
                T::WORD,
                quote(found.value.name())
            )));
        }
        let (records, scope, id) = (self.0.clone(), Scope::User(found.owner), found.id);
        let caller = Caller::of(cx);
        let changed = self.0.store().write(move |tx| {
            let mut changed = caller.change(tx, &records, scope, id, &mut change)?;
            if let Some(audience) = shared.map(audience).filter(|audience| *audience != changed.audience) {
                changed = records.share(tx, scope, id, audience)?;
            }
            also(tx, &changed)?;
            Ok(changed)
        });
        let changed = changed.await?;
        // Tell those who could read it until now.
        if found.audience == Audience::Household && changed.audience == Audience::Private {
            publish_change(cx, &found, "changed");
        }
        let finished = !found.value.is_finished() && changed.value.is_finished();
        publish(cx, &changed, "changed", finished);
        Ok(changed)
    }

    /// Deletes the record this caller means, and returns it.
    ///
    /// # Errors
    /// As [`RecordStore::remove_with`].
    pub async fn remove(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        self.remove_with(cx, which, |_, _| Ok(())).await
    }

    /// Deletes the record this caller means, by its id or its whole name: some words of a name are not enough. `also` writes in
    /// the same commit.
    ///
    /// # Errors
    /// As [`RecordStore::find_own`] and [`require_exact_name`]; the errors of `also`.
    pub async fn remove_with<A>(&self, cx: &Cx, which: &str, mut also: A) -> Result<Entry<T>>
    where
        A: FnMut(&Tx, &Entry<T>) -> store::Result<()> + Send + 'static,
    {
        let found = self.find_own(cx, which)?;
        require_exact_name(which, found.id, found.value.name())?;
        let (records, scope, entry) = (self.0.clone(), Scope::User(found.owner), found.clone());
        let caller = Caller::of(cx);
        let removed = self.0.store().write(move |tx| {
            caller.check(tx, &records, scope, entry.id)?;
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

    /// A page of the records of a walk that `wanted` accepts: without the first `offset`, `limit` at most.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn page(
        &self,
        cx: &Cx,
        walk: &Walk,
        window: (usize, usize),
        wanted: impl Fn(&Entry<T>) -> bool,
    ) -> Result<Page<T>> {
        self.search_page(cx, walk, None, window, wanted)
    }

    /// Like [`RecordStore::page`]; `words` narrows the records that `wanted` is asked about to those that may contain them.
    ///
    /// # Errors
    /// As [`RecordStore::page`].
    pub fn search_page(
        &self,
        cx: &Cx,
        walk: &Walk,
        words: Option<&Words>,
        (offset, limit): (usize, usize),
        wanted: impl Fn(&Entry<T>) -> bool,
    ) -> Result<Page<T>> {
        let (mut skipped, mut taken, mut more) = (0, 0, false);
        let entries = self.0.search(cx, walk, words, |entry| {
            if !wanted(entry) {
                return Visit::No;
            }
            if skipped < offset {
                skipped += 1;
                return Visit::No;
            }
            if taken == limit {
                more = true;
                return Visit::Stop;
            }
            taken += 1;
            Visit::Yes
        })?;
        Ok(Page { entries, more })
    }
}

/// Requires the id or the whole name of a record that is to be deleted.
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
    let text = format!("nothing was deleted; if you mean {}, give its whole name or its id", quote(name));
    let said = format!("Nothing was deleted. Do you mean {}? Then say its whole name.", quote(name));
    Err(Error::bad_args(text).say(said))
}

/// The audience of a record that is shared or not.
pub fn audience(shared: bool) -> Audience {
    if shared { Audience::Household } else { Audience::Private }
}

/// Publishes that a record was `added`, `changed` or `deleted`, to those who can read it: `{"id", "change"}` under
/// `NAME:changed`.
pub fn publish_change<T: Record>(cx: &Cx, entry: &Entry<T>, change: &str) {
    publish(cx, entry, change, false);
}

/// Like [`publish_change`]; a change that finished the record says so: `"finished": true`.
fn publish<T: Record>(cx: &Cx, entry: &Entry<T>, change: &str, finished: bool) {
    let to = Some(entry.owner).filter(|_| entry.audience == Audience::Private);
    let mut data = tool::prelude::json!({"id": entry.id, "change": change});
    if finished {
        data["finished"] = true.into();
    }
    cx.ports().bus.publish(format!("{}:changed", T::NAME), to, data);
}

/// The same caller in a run of its own, for scanning records of which few are returned. Whoever returns one taints the run.
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

/// A part of an index to search for a name.
struct NamePrefix {
    walk: Walk,
    /// Words the name must contain; empty where all records of the walk have the name.
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

/// The index prefixes to search for a name: the whole name first, then its words.
fn name_prefixes<T: NamedRecord>(name: &str) -> impl Iterator<Item = NamePrefix> {
    let (whole, words) = (Walk::prefix(T::BY_NAME, order::text(name)), words(name));
    let some = (!words.is_empty()).then(|| NamePrefix { walk: T::likely(), words });
    [Some(NamePrefix { walk: whole, words: vec![] }), some].into_iter().flatten()
}

/// A text that can be an id or a name, trimmed.
fn checked_name<T: NamedRecord>(which: &str) -> Result<&str> {
    let (word, list, which) = (T::WORD, T::LISTED_BY, which.trim());
    if which.is_empty() {
        let text = format!("say which {word}: by its id, which `{list}` shows, or by its name");
        return Err(Error::bad_args(text).say(format!("Which {word}?")));
    }
    if which.chars().nth(NAME).is_some() { Err(not_found::<T>(which)) } else { Ok(which) }
}

/// The one record that is meant; finished ones only when no other fits.
fn exactly_one<T: NamedRecord>(cx: &Cx, which: &str, fits: Vec<Entry<T>>) -> Result<Entry<T>> {
    let now = now_ms(cx);
    let (finished, open): (Vec<_>, Vec<_>) = fits.into_iter().partition(|entry| entry.value.is_finished_at(now));
    let mut matches = if open.is_empty() { finished } else { open };
    matches.iter().for_each(|entry| cx.taint(entry.label));
    match matches.len() {
        0 => Err(not_found::<T>(which)),
        1 => Ok(matches.remove(0)),
        _ => Err(ambiguous(which, &matches)),
    }
}

fn not_found<T: NamedRecord>(which: &str) -> Error {
    let which = truncate(which.trim(), 80);
    let text = format!("there is no {} `{which}`: `{}` shows what there is, with ids", T::WORD, T::LISTED_BY);
    Error::not_found(text).say(format!("I found no {} called {}.", T::WORD, quote(&which)))
}

fn ambiguous<T: NamedRecord>(which: &str, matches: &[Entry<T>]) -> Error {
    let count = if matches.len() > NAMED { format!("more than {NAMED}") } else { matches.len().to_string() };
    let mut text = format!("{count} {}s fit `{}`; name one by its id: ", T::WORD, truncate(which, 80));
    for (n, entry) in matches.iter().take(NAMED).enumerate() {
        let comma = if n > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{} ({})", entry.value.distinguishing_detail(), entry.id);
    }
    if matches.len() > NAMED {
        text.push_str(", …");
    }
    let mut details: Vec<String> =
        matches.iter().map(|one| one.value.distinguishing_detail().replace('`', "")).collect();
    let more = details.len() > NAMED;
    details.truncate(NAMED);
    let question = match details.windows(2).all(|pair| pair[0] == pair[1]) {
        true => format!("There are {count} {} called {}. Choose one on the page.", plural(T::WORD), quote(&details[0])),
        false if more => format!("Which {}: {}?", T::WORD, join_list(&details, true)),
        false => which_one(T::WORD, &details),
    };
    Error::bad_args(text).say(question)
}
