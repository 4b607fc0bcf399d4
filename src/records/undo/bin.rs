//! Deleted records: listing them, bringing one back, and deleting them for good.

use super::Undo;
use crate::{contains_all_words, rejected};
use std::collections::HashSet;
use store::{BinItem, Did, Part, Tx};
use tool::{Cx, Error, Id, Label, Result};

/// A deleted record.
#[derive(Debug, Clone)]
pub struct Deleted {
    /// Its id.
    pub id: Id,
    /// The word for its kind: "task", "note".
    pub kind: &'static str,
    /// Its title.
    pub title: String,
    /// The list it was on; empty where there is none.
    pub list: String,
    /// When it was deleted: milliseconds since 1970.
    pub at_ms: u64,
    item: BinItem,
}

impl Deleted {
    /// Its label, for whoever shows it.
    pub fn label(&self) -> Label {
        self.item.label
    }
}

impl Undo {
    /// The records this caller deleted, the newest first: of a kind ("task" or "tasks"), with words in their titles.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn deleted(&self, cx: &Cx, kind: Option<&str>, query: Option<&str>) -> Result<Vec<Deleted>> {
        let all = self.store.bin(cx.user())?;
        let whole: HashSet<Id> =
            all.iter().filter(|item| !self.store.is_part(&item.part.table)).map(|item| item.change).collect();
        let wanted = kind.map(|kind| kind.trim().to_lowercase()).filter(|kind| !kind.is_empty());
        let fits = |item: BinItem| {
            let kind = self.store.word_of(&item.part.table)?;
            let of_kind = wanted.as_ref().is_none_or(|wanted| {
                *wanted == kind || *wanted == item.part.table || wanted.strip_suffix('s') == Some(kind)
            });
            // The steps of a deleted goal come back with it.
            let hidden =
                item.part.title.is_empty() || (self.store.is_part(&item.part.table) && whole.contains(&item.change));
            let found = query.is_none_or(|query| contains_all_words(query, &[&item.part.title, &item.part.list]));
            let kept = self.undoer(&item.part.table).is_none_or(|undoer| undoer.is_in_bin());
            (of_kind && !hidden && found && kept).then_some(())?;
            let (title, list) = (item.part.title.clone(), item.part.list.clone());
            Some(Deleted { id: item.part.id()?, kind, title, list, at_ms: item.at_ms, item })
        };
        Ok(all.into_iter().filter_map(fits).collect())
    }

    /// Brings back a deleted record, by its id or its title, with those that were deleted as parts of it.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when several have this title, or it is there again already.
    pub async fn restore(&self, cx: &Cx, which: &str) -> Result<Deleted> {
        let (which, id) = (which.trim(), which.trim().parse::<Id>().ok());
        let same = |title: &str| title.to_lowercase() == which.to_lowercase();
        let mut found = self.deleted(cx, None, None)?;
        let mains = |change: Id, found: &[Deleted]| found.iter().filter(|other| other.item.change == change).count();
        let counts: Vec<usize> = found.iter().map(|one| mains(one.item.change, &found)).collect();
        let fits: Vec<usize> = found
            .iter()
            .enumerate()
            .filter(|(_, one)| id.map_or_else(|| same(&one.title), |id| one.id == id))
            .map(|(at, _)| at)
            .collect();
        let at = match fits.as_slice() {
            [one] => *one,
            [] => {
                let which = crate::truncate(which, 80);
                let text =
                    format!("no deleted record `{which}` is left: `list_deleted` shows them for 30 days, with ids");
                return Err(Error::not_found(text).say(format!("There is no {} in the bin.", crate::quote(&which))));
            }
            [_, _, ..] => {
                let ids: Vec<String> =
                    fits.iter().take(5).filter_map(|at| found.get(*at)).map(|one| one.id.to_string()).collect();
                let text = format!("several deleted records have this title; name one by its id: {}", ids.join(", "));
                let which = crate::quote(which);
                return Err(Error::bad_args(text)
                    .say(format!("There are {} called {which} in the bin. Bring one back on the page.", fits.len())));
            }
        };
        let alone = counts.get(at) == Some(&1);
        let chosen = found.swap_remove(at);
        cx.taint(chosen.item.label);
        let (user, own) = (cx.user(), chosen.id);
        let with = |item: &BinItem| item.change == chosen.item.change && (alone || item.part.id() == Some(own));
        let parts: Vec<Part> = self.store.bin(user)?.into_iter().filter(with).map(|item| item.part).collect();
        let (here, restored) = (self.clone(), parts.clone());
        let job = move |tx: &Tx| {
            let (_, kept) = here.put_back_in(tx, &restored)?;
            if !kept.is_empty() {
                return Err(rejected("it is there already: nothing was restored"));
            }
            let back = |part: &Part| {
                part.did() == Did::Deleted && restored.iter().any(|of| of.key == part.key && of.table == part.table)
            };
            here.store.erase_copies(tx, user, back).map(drop)
        };
        self.store.write(job).await?;
        self.announce(cx, user, &parts).await;
        Ok(chosen)
    }

    /// Deletes what this caller deleted for good; returns how many records that were.
    ///
    /// # Errors
    /// `Unavailable` when the disk is full.
    pub async fn empty_bin(&self, cx: &Cx) -> Result<usize> {
        let (count, user, store) = (self.deleted(cx, None, None)?.len(), cx.user(), self.store.clone());
        let job = move |tx: &Tx| store.erase_copies(tx, user, |part| part.did() == Did::Deleted).map(drop);
        store::without_change(self.store.write(job)).await?;
        Ok(count)
    }
}
