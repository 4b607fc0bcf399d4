//! One rename with all that belongs to it: marks, what is held, and the journal. Stored before, done, stored after.

use crate::{
    Shared,
    entry::{file_type, modified_ns, size_of},
    marks,
    path::RelPath,
    places::PlaceRef,
    records::{HeldRecord, MarkRecord, Spot, StepRecord},
    resolve::{error, missing},
    staging::sync_folder,
};
use rustix::{
    fs::{AtFlags, FileType, RenameFlags, Stat, linkat, renameat, renameat_with, statat, unlinkat},
    io::Errno,
};
use std::{ffi::CString, os::fd::OwnedFd, sync::Arc};
use store::{Part, Stamp, Tx};
use tool::{Error, Id, Label, Result, Scope};

/// A rename to be made.
pub(crate) struct Plan {
    pub from: (Arc<PlaceRef>, Spot),
    pub to: (Arc<PlaceRef>, Spot),
    /// Whether what is at `to` takes the name `from`.
    pub exchange: bool,
    /// What is held afterwards.
    pub held: Option<(Id, HeldRecord)>,
    /// What is held no more.
    pub released: Option<Id>,
    /// The label of new content, beside the marks that come along.
    pub label: Label,
}

/// Where something is: its folder by handle, and its name there.
pub(crate) struct FoundSpot {
    pub folder: OwnedFd,
    pub name: CString,
    pub stat: Option<Stat>,
}

impl Plan {
    /// A rename of what has marks of its own.
    pub fn of(from: (Arc<PlaceRef>, Spot), to: (Arc<PlaceRef>, Spot)) -> Self {
        Self { from, to, exchange: false, held: None, released: None, label: Label::Own }
    }
}

impl Spot {
    /// A path of a place.
    pub fn at(place: &PlaceRef, path: &RelPath) -> Self {
        Self { place: place.key.clone(), held: false, path: path.text() }
    }
    /// Something held for a place.
    pub fn held(place: &PlaceRef, id: Id) -> Self {
        Self { place: place.key.clone(), held: true, path: id.to_string() }
    }
}

impl Shared {
    /// Finds a spot by handle. The folder must exist. Blocks on the disk.
    pub(crate) fn find_spot(&self, place: &PlaceRef, spot: &Spot) -> Result<FoundSpot> {
        if spot.held {
            let folder = self.held_folder(place)?;
            let name = CString::new(spot.path.as_str()).map_err(|_| missing(&spot.path))?;
            let stat = match statat(&folder, name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => Some(stat),
                Err(Errno::NOENT) => None,
                Err(e) => return Err(error(e, &spot.path)),
            };
            return Ok(FoundSpot { folder, name, stat });
        }
        let found = self.root(place)?.resolve(&RelPath::parse(&spot.path)?, false)?;
        Ok(FoundSpot { folder: found.folder, name: found.name, stat: found.stat })
    }

    /// Makes a rename. `parts` describes it for the journal, from what is at `to` then. The caller holds `changing`.
    pub(crate) async fn apply(
        self: &Arc<Self>,
        plan: Plan,
        parts: impl FnOnce(&Stat) -> Vec<Part> + Send + 'static,
    ) -> Result<Stat> {
        let (from, to) = (plan.from.1.clone(), plan.to.1.clone());
        let (from_place, to_place) = (plan.from.0.clone(), plan.to.0.clone());
        let (looked, from_spot, to_looked) = (self.clone(), from.clone(), plan.to.clone());
        let moved = blocking(move || {
            let stat = looked.find_spot(&from_place, &from_spot)?.stat.ok_or_else(|| missing(&from_spot.path))?;
            let over = looked.find_spot(&to_looked.0, &to_looked.1).ok().and_then(|found| found.stat);
            Ok((triple(&stat), stat, over))
        })
        .await?;
        let (moved, stat, over) = moved;
        // Marks change only while `changing` is held.
        let coming = self.mark_tree(&from.marks_place(), &from.path)?;
        let going = if plan.exchange { self.mark_tree(&to.marks_place(), &to.path)? } else { vec![] };
        let rest = self.rest_of(&plan.from, &plan.to)?.max(self.running_at(&from, Some(&stat))?);
        let rest_back = match plan.exchange {
            true => self.rest_of(&plan.to, &plan.from)?.max(self.running_at(&to, over.as_ref())?),
            false => Label::Own,
        };
        let step = Id::new();
        let record = StepRecord {
            from: from.clone(),
            to: to.clone(),
            exchange: plan.exchange,
            moved,
            held: plan.held.clone(),
            released: plan.released,
        };
        let before = {
            let (shared, from, to, coming, going) =
                (self.clone(), from.clone(), to.clone(), coming.clone(), going.clone());
            move |tx: &Tx| {
                shared.steps.put(tx, step, &Stamp::household("workspace"), &record)?;
                marks::copy(&shared.marks, tx, &coming, (&from, &to), rest)?;
                marks::copy(&shared.marks, tx, &going, (&to, &from), rest_back)?;
                marks::worsen(&shared.marks, tx, &to.marks_place(), &to.path, plan.label)
            }
        };
        // New content without a mark, where nothing was: a power cut leaves it without its name, or whole.
        let is_plain = plan.from.1.held && plan.held.is_none() && plan.released.is_none() && !plan.exchange;
        if !(is_plain && coming.is_empty() && rest == Label::Own && plan.label == Label::Own) {
            store::without_change(self.store.write(before)).await?;
        }
        let (renaming, exchange) = (self.clone(), plan.exchange);
        let (from_pair, to_pair) = (plan.from.clone(), (to_place, to.clone()));
        let renamed = blocking(move || renaming.rename(&from_pair, &to_pair, exchange)).await;
        let outcome = Outcome { coming, going, rest, rest_back, label: plan.label };
        match renamed {
            Ok(stat) => {
                let parts = parts(&stat);
                for spot in [&from, &to].into_iter().filter(|spot| !spot.held) {
                    self.programs.touch(&spot.place, &spot.path);
                }
                self.settle(step, (&from, &to), outcome, (plan.held, plan.released), parts).await?;
                Ok(stat)
            }
            Err(why) => {
                self.take_back(step, (&from, &to), outcome.coming, outcome.going).await?;
                Err(why)
            }
        }
    }

    /// The label that something has by programs that write it now; of a folder, by any that may have written in it.
    fn running_at(&self, spot: &Spot, stat: Option<&Stat>) -> Result<Label> {
        if spot.held {
            return Ok(Label::Own);
        }
        let stat = stat.filter(|stat| file_type(stat) != FileType::Directory);
        self.running_label(&spot.place, &spot.path, stat)
    }

    /// The label that something has from where it is, and not from where it goes.
    fn rest_of(&self, from: &(Arc<PlaceRef>, Spot), to: &(Arc<PlaceRef>, Spot)) -> Result<Label> {
        let of = |(place, spot): &(Arc<PlaceRef>, Spot)| -> Result<Label> {
            if spot.held {
                return Ok(Label::Own);
            }
            self.label_above(None, place, &RelPath::parse(&spot.path)?)
        };
        let (from, to) = (of(from)?, of(to)?);
        Ok(if from == to { Label::Own } else { from })
    }

    /// Stores that a rename was made.
    async fn settle(
        self: &Arc<Self>,
        step: Id,
        (from, to): (&Spot, &Spot),
        outcome: Outcome,
        (held, released): (Option<(Id, HeldRecord)>, Option<Id>),
        parts: Vec<Part>,
    ) -> Result<()> {
        let mut stale = self.mark_tree(&from.marks_place(), &from.path)?;
        stale.extend(self.mark_tree(&to.marks_place(), &to.path)?);
        let (shared, from, to) = (self.clone(), from.clone(), to.clone());
        let after = move |tx: &Tx| {
            marks::remove(&shared.marks, tx, &stale)?;
            marks::copy(&shared.marks, tx, &outcome.coming, (&from, &to), outcome.rest)?;
            marks::copy(&shared.marks, tx, &outcome.going, (&to, &from), outcome.rest_back)?;
            marks::worsen(&shared.marks, tx, &to.marks_place(), &to.path, outcome.label)?;
            if let Some(id) = released {
                shared.held.remove(tx, Scope::Household, id)?;
            }
            if let Some((id, record)) = &held {
                shared.held.put(tx, *id, &Stamp::household("workspace"), record)?;
            }
            shared.steps.remove(tx, Scope::Household, step)?;
            parts.iter().for_each(|part| tx.note_outside(part.clone()));
            Ok(())
        };
        Ok(self.store.write(after).await?)
    }

    /// Stores that a rename was not made.
    async fn take_back(
        self: &Arc<Self>,
        step: Id,
        (from, to): (&Spot, &Spot),
        coming: Vec<(Id, MarkRecord)>,
        going: Vec<(Id, MarkRecord)>,
    ) -> Result<()> {
        let mut stale = self.mark_tree(&from.marks_place(), &from.path)?;
        stale.extend(self.mark_tree(&to.marks_place(), &to.path)?);
        let (shared, from, to) = (self.clone(), from.clone(), to.clone());
        let after = move |tx: &Tx| {
            marks::remove(&shared.marks, tx, &stale)?;
            marks::copy(&shared.marks, tx, &coming, (&from, &from), Label::Own)?;
            marks::copy(&shared.marks, tx, &going, (&to, &to), Label::Own)?;
            shared.steps.remove(tx, Scope::Household, step).map(drop)
        };
        Ok(store::without_change(self.store.write(after)).await?)
    }

    /// A folder that has the data folder in it stays where it is: Hob finds its data there after the next start.
    pub(crate) fn refuse_around_data(&self, stat: &Stat, shown: &str) -> Result<()> {
        if self.guard.is_below(stat) {
            let shown = text_kit::truncate(shown, 200);
            return Err(Error::denied(format!(
                "`{shown}` has the data folder of Hob in it, so it is not moved, renamed or deleted: do that with the other files in it"
            )));
        }
        Ok(())
    }

    /// Renames, and puts both folders on the disk.
    pub(crate) fn rename(
        &self,
        from: &(Arc<PlaceRef>, Spot),
        to: &(Arc<PlaceRef>, Spot),
        exchange: bool,
    ) -> Result<Stat> {
        let (source, target) = (self.find_spot(&from.0, &from.1)?, self.find_spot(&to.0, &to.1)?);
        let shown = &to.1.path;
        for (found, (_, spot)) in [(&source, from), (&target, to)] {
            found.stat.as_ref().map_or(Ok(()), |stat| self.refuse_around_data(stat, &spot.path))?;
        }
        let done = if exchange { exchange_names(&source, &target) } else { rename_free(&source, &target) };
        done.map_err(|e| match e {
            Errno::XDEV => Error::bad_args(OTHER_DISK),
            e => error(e, shown),
        })?;
        sync_folder(&target.folder).map_err(|e| error(e, shown))?;
        sync_folder(&source.folder).map_err(|e| error(e, &from.1.path))?;
        statat(&target.folder, target.name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW).map_err(|e| error(e, shown))
    }
}

/// Marks, and labels of what is not marked, on both sides of a rename.
struct Outcome {
    coming: Vec<(Id, MarkRecord)>,
    going: Vec<(Id, MarkRecord)>,
    rest: Label,
    rest_back: Label,
    label: Label,
}

/// The error for a rename from one disk to another.
const OTHER_DISK: &str = "it is on another disk: copy it there, and delete it here";

/// By which content is recognised after a start.
pub(crate) fn triple(stat: &Stat) -> (u64, i64, u64) {
    (stat.st_ino, modified_ns(stat), size_of(stat))
}

/// Gives something a name that is free.
fn rename_free(source: &FoundSpot, target: &FoundSpot) -> Result<(), Errno> {
    match renameat_with(
        &source.folder,
        source.name.as_c_str(),
        &target.folder,
        target.name.as_c_str(),
        RenameFlags::NOREPLACE,
    ) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return done,
    }
    // File systems without that: a link is refused where the name is taken.
    let is_file = source.stat.as_ref().is_some_and(|stat| file_type(stat) == FileType::RegularFile);
    if is_file
        && linkat(&source.folder, source.name.as_c_str(), &target.folder, target.name.as_c_str(), AtFlags::empty())
            .is_ok()
    {
        return unlinkat(&source.folder, source.name.as_c_str(), AtFlags::empty());
    }
    match statat(&target.folder, target.name.as_c_str(), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => renameat(&source.folder, source.name.as_c_str(), &target.folder, target.name.as_c_str()),
        Ok(_) => Err(Errno::EXIST),
        Err(e) => Err(e),
    }
}

/// The name that old content has for a moment where names cannot be exchanged.
pub(crate) fn aside(name: &CString) -> CString {
    CString::new([name.as_bytes(), b".old"].concat()).unwrap_or_else(|_| name.clone())
}

/// Exchanges two names; where the file system cannot, by a third name in the folder of held files.
fn exchange_names(source: &FoundSpot, target: &FoundSpot) -> Result<(), Errno> {
    match renameat_with(
        &source.folder,
        source.name.as_c_str(),
        &target.folder,
        target.name.as_c_str(),
        RenameFlags::EXCHANGE,
    ) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
        done => return done,
    }
    let aside = aside(&source.name);
    renameat(&target.folder, target.name.as_c_str(), &source.folder, aside.as_c_str())?;
    renameat(&source.folder, source.name.as_c_str(), &target.folder, target.name.as_c_str())?;
    renameat(&source.folder, aside.as_c_str(), &source.folder, source.name.as_c_str())
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|e| Err(Error::failed(format!("the disk could not be used: {e}"))))
}
