//! Layer 2: what the families of personal records share. A [`Shelf`] adds (one or all of a batch), finds by id or by name,
//! changes, deletes and lists in order; it tells the bus, and makes errors that say what to do.

use std::fmt::Write as _;
use store::{Audience, Collection, Entry, Keep, Record, Store, Walk, order};
use tool::{Cx, Error, Id, Result, Scope};

/// The most records one call may add.
pub const BATCH: usize = 100;
/// How many candidates are named when a name fits several.
const NAMED: usize = 5;
/// How many records are looked through for one whose name was said.
const LOOKED: usize = 5000;

/// A record people call by a name.
pub trait Item: Record {
    /// The tool that lists them and shows their ids.
    const LISTED_BY: &'static str;
    /// An index whose values begin with [`order::text`] of the name.
    const BY_NAME: u8;
    /// What people call it: a title, a name.
    fn name(&self) -> &str;
    /// Whether it is done with: meant by its name only when no other is.
    fn is_over(&self) -> bool {
        false
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
pub struct Shelf<T>(Collection<T>);

impl<T> Clone for Shelf<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Item> Shelf<T> {
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
        let stamp = self.0.stamp(cx, source);
        let values: Vec<(Id, T, bool)> = values.into_iter().map(|(value, shared)| (Id::new(), value, shared)).collect();
        let records = self.0.clone();
        let added = self.0.store().write(move |tx| {
            values
                .iter()
                .map(|(id, value, shared)| records.put(tx, *id, &stamp.clone().audience(audience(*shared)), value))
                .collect::<store::Result<Vec<_>>>()
        });
        let added = added.await?;
        added.iter().for_each(|entry| tell(cx, entry, "added"));
        Ok(added)
    }

    /// The record this caller means: an id, or a name (the whole of it, else some words of it).
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when several fit, with their ids.
    pub fn find(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let which = which.trim();
        if let Ok(id) = which.parse::<Id>() {
            return self.0.get(cx, id)?.ok_or_else(|| not_found::<T>(which));
        }
        if which.is_empty() {
            let (word, list) = (T::WORD, T::LISTED_BY);
            return Err(Error::bad_args(format!("say which {word}: by its id, which `{list}` shows, or by its name")));
        }
        let exact = self.0.walk(cx, &Walk::prefix(T::BY_NAME, order::text(which)), |_| Keep::Yes)?;
        let found = if exact.is_empty() { self.with_words(cx, which)? } else { exact };
        let open: Vec<_> = found.iter().filter(|entry| !entry.value.is_over()).cloned().collect();
        let mut meant = if open.is_empty() { found } else { open };
        match meant.len() {
            0 => Err(not_found::<T>(which)),
            1 => Ok(meant.remove(0)),
            _ => Err(several(which, &meant)),
        }
    }

    /// Those in whose name all of the words occur.
    fn with_words(&self, cx: &Cx, which: &str) -> Result<Vec<Entry<T>>> {
        let words = words(which);
        let mut looked = 0;
        let found = self.0.walk(cx, &Walk::prefix(T::BY_NAME, []), |entry| {
            looked += 1;
            let name = self::words(entry.value.name());
            match words.iter().all(|word| name.contains(word)) {
                _ if looked > LOOKED => Keep::Stop,
                true => Keep::Yes,
                false => Keep::No,
            }
        })?;
        Ok(found)
    }

    /// Changes the record this caller means; `shared` shows it to the household, or no longer.
    ///
    /// # Errors
    /// As [`Shelf::find`]; `Denied` when it is somebody else's; what `change` answers.
    pub async fn change<F>(&self, cx: &Cx, which: &str, shared: Option<bool>, mut change: F) -> Result<Entry<T>>
    where
        F: FnMut(&mut T) -> store::Result<()> + Send + 'static,
    {
        let found = self.own(cx, which)?;
        let (records, scope, label, id) = (self.0.clone(), Scope::User(cx.user()), cx.label(), found.id);
        let changed = self.0.store().write(move |tx| {
            let changed = records.change(tx, scope, label, id, &mut change)?;
            match shared.map(audience).filter(|audience| *audience != changed.audience) {
                Some(audience) => records.share(tx, scope, id, audience),
                None => Ok(changed),
            }
        });
        let changed = changed.await?;
        // Whoever could read it before learns that they cannot any more.
        if found.audience == Audience::Household && changed.audience == Audience::Private {
            tell(cx, &found, "changed");
        }
        tell(cx, &changed, "changed");
        Ok(changed)
    }

    /// Deletes the record this caller means, and answers it.
    ///
    /// # Errors
    /// As [`Shelf::find`]; `Denied` when it is somebody else's.
    pub async fn remove(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let found = self.own(cx, which)?;
        if !self.0.delete(cx, found.id).await? {
            return Err(not_found::<T>(which));
        }
        tell(cx, &found, "deleted");
        Ok(found)
    }

    /// The record this caller means, which is theirs to change.
    ///
    /// # Errors
    /// As [`Shelf::find`]; `Denied` when it is somebody else's.
    pub fn own(&self, cx: &Cx, which: &str) -> Result<Entry<T>> {
        let found = self.find(cx, which)?;
        if found.owner == cx.user() {
            return Ok(found);
        }
        let (word, name) = (T::WORD, found.value.name());
        Err(Error::denied(format!("the {word} `{name}` is somebody else's, who shares it: only they can change it")))
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
                return Keep::No;
            }
            if kept == limit {
                more = true;
                return Keep::Stop;
            }
            if passed < offset {
                passed += 1;
                return Keep::No;
            }
            kept += 1;
            Keep::Yes
        })?;
        Ok(Page { entries, more })
    }
}

/// Who may read it.
pub fn audience(shared: bool) -> Audience {
    if shared { Audience::Household } else { Audience::Private }
}

/// Tells whom it concerns that a record was `added`, `changed` or `deleted`: `{"id", "change"}` under `NAME:changed`.
pub fn tell<T: Record>(cx: &Cx, entry: &Entry<T>, change: &str) {
    let to = Some(entry.owner).filter(|_| entry.audience == Audience::Private);
    let data = tool::prelude::json!({"id": entry.id, "change": change});
    cx.ports().bus.publish(format!("{}:changed", T::NAME), to, data);
}

/// A text that must say something, trimmed.
///
/// # Errors
/// `BadArgs` when it is empty or longer than `most` characters.
pub fn said(what: &str, text: &str, most: usize) -> Result<String> {
    let text = text.trim();
    if text.is_empty() {
        return Err(Error::bad_args(format!("the {what} is empty: write something")));
    }
    if text.chars().count() > most {
        return Err(Error::bad_args(format!("the {what} is longer than {most} characters: shorten it")));
    }
    Ok(text.to_owned())
}

/// Checks the items of a batch, and says which of them is wrong; nothing is kept then.
///
/// # Errors
/// `BadArgs` when there are none or more than [`BATCH`]; what `check` answers, with the place of the item.
pub fn batch<A, B>(word: &str, items: Vec<A>, mut check: impl FnMut(A) -> Result<B>) -> Result<Vec<B>> {
    if items.is_empty() || items.len() > BATCH {
        return Err(Error::bad_args(format!("give 1 to {BATCH} {word}s at once")));
    }
    let checked = items.into_iter().enumerate().map(|(n, item)| {
        check(item).map_err(|e| {
            let text = format!("{word} {} of the batch: {}; nothing was added", n + 1, e.message());
            e.with_message(text)
        })
    });
    checked.collect()
}

/// Whether all words of a search occur in one of the texts.
pub fn mentions(search: &str, texts: &[&str]) -> bool {
    let texts = texts.join("\n").to_lowercase();
    search.to_lowercase().split_whitespace().all(|word| texts.contains(word))
}

fn words(text: &str) -> Vec<String> {
    let all = text.to_lowercase();
    all.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(str::to_owned).collect()
}

fn not_found<T: Item>(which: &str) -> Error {
    let which: String = which.chars().take(80).collect();
    Error::not_found(format!("there is no {} `{which}`: `{}` shows what there is, with ids", T::WORD, T::LISTED_BY))
}

fn several<T: Item>(which: &str, meant: &[Entry<T>]) -> Error {
    let mut text = format!("{} {}s fit `{which}`; name one by its id: ", meant.len(), T::WORD);
    for entry in meant.iter().take(NAMED) {
        let _ = write!(text, "`{}` ({}), ", entry.value.name(), entry.id);
    }
    let rest = if meant.len() > NAMED { "…" } else { "" };
    Error::bad_args(format!("{}{rest}", text.trim_end_matches(", ")))
}
