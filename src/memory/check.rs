//! Compares memories with their vectors and with the search index, and corrects what disagrees.

use crate::{
    Memories,
    holder::{facts, unless_damaged},
    index::{Expected, Index},
    records::Stored,
};
use std::time::Duration;
use store::{Compared, Entry, Tx, Until};
use tool::{Id, Result, Scope, UserId};

/// How often memories are compared again because others wrote meanwhile, and the pause before that.
const ATTEMPTS: usize = 40;
const PAUSE: Duration = Duration::from_millis(5);
/// How many rows of the index are looked up at once.
const ROWS: usize = 1000;
/// The most vectors without a memory that one pass removes.
const MOST: usize = 10_000;
/// How many of them one commit removes.
const AT_ONCE: usize = 500;

#[derive(Default)]
struct Comparison {
    found: Compared,
    /// Whether some of it is in the index.
    in_index: bool,
    /// Vectors without a memory.
    orphans: Vec<(UserId, Id)>,
}

impl Comparison {
    fn add_to_index(&mut self, wrong: usize) {
        self.found.wrong += wrong as u64;
        self.in_index |= wrong > 0;
    }
}

impl Memories {
    /// Compares the memories with their vectors and with the search index. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn check(&self, until: Until) -> Result<Compared> {
        Ok(self.compare(until)?.found)
    }

    /// The same without a limit of time; then removes vectors without a memory, and has a wrong index built again.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Compared> {
        let this = self.clone();
        let work = move || {
            let comparison = this.compare(Until::DONE)?;
            if comparison.in_index {
                this.index.discard();
            }
            Ok(comparison)
        };
        let Comparison { found, orphans, .. } = tool::blocking("the comparison of memories", work).await?;
        for some in orphans.chunks(AT_ONCE) {
            let (this, some) = (self.clone(), some.to_vec());
            let remove = move |tx: &Tx| {
                for (owner, id) in &some {
                    if this.is_orphan_in(tx, *owner, *id)? {
                        this.vectors.remove(tx, Scope::User(*owner), *id)?;
                    }
                }
                Ok(())
            };
            store::without_change(self.vectors.store().write(remove)).await?;
        }
        Ok(found)
    }

    /// Whether a vector has no memory; one that cannot be read has it.
    fn is_orphan_in(&self, tx: &Tx, owner: UserId, id: Id) -> store::Result<bool> {
        match self.records.read(tx, Scope::User(owner), id) {
            Err(store::Error::Damaged(_)) => Ok(false),
            read => Ok(read?.is_none()),
        }
    }

    fn compare(&self, until: Until) -> Result<Comparison> {
        let (mut all, mut count) = (Comparison::default(), 0);
        let ended = self.records.each_page(until, &mut |page| {
            count += page.len();
            all.found.compared += page.len() as u64;
            match self.quietly(&|index| self.disagreeing(index, &page))? {
                Some((wrong, without_vector)) => {
                    all.add_to_index(wrong);
                    all.found.pending += without_vector as u64;
                }
                None => all.found.cut_short = true,
            }
            Ok(())
        })?;
        let ended = ended
            && self.vectors.each_page(until, &mut |page| {
                all.found.compared += page.len() as u64;
                for vector in page {
                    if self.has_no_memory(vector.owner, vector.id)? {
                        all.found.wrong += 1;
                        all.orphans.extend(Some((vector.owner, vector.id)).filter(|_| all.orphans.len() < MOST));
                    }
                }
                Ok(())
            })?;
        if !ended {
            all.found.cut_short = true;
            return Ok(all);
        }
        match self.quietly(&|index| Ok((index.miscounted(), index.len())))? {
            Some((miscounted, living)) => {
                all.add_to_index(miscounted);
                // Memories that came or went meanwhile make a pass over the index needless, and do no harm.
                if living != count {
                    self.compare_rows(until, &mut all)?;
                }
            }
            None => all.found.cut_short = true,
        }
        Ok(all)
    }

    /// Looks with the index while nobody writes; `None` when somebody always does.
    fn quietly<T>(&self, look: &dyn Fn(&Index) -> store::Result<T>) -> store::Result<Option<T>> {
        for _ in 0..ATTEMPTS {
            let found = self.index.compare(look)?;
            if found.is_some() {
                return Ok(found);
            }
            std::thread::sleep(PAUSE);
        }
        Ok(None)
    }

    /// How many of these memories the index has in another way, and how many have no vector.
    fn disagreeing(&self, index: &Index, page: &[Entry<Stored>]) -> store::Result<(usize, usize)> {
        let vectors: Vec<_> = page.iter().map(|entry| self.index.vector(entry.owner, entry.id)).collect();
        let without = vectors.iter().filter(|vector| vector.is_none()).count();
        let all: Vec<Expected> = page.iter().zip(vectors).map(|(entry, vector)| expected(entry, vector)).collect();
        let mut wrong = 0;
        let suspects = index.disagreements(&all).into_iter().zip(page).filter(|(wrong, _)| *wrong);
        for (_, entry) in suspects {
            // It was read before: it may have been changed since.
            let (owner, id) = (entry.owner, entry.id);
            let now = unless_damaged(self.records.get_in(Scope::User(owner), id))?;
            let still = now.is_some_and(|now| {
                let now = [expected(&now, self.index.vector(owner, id))];
                index.disagreements(&now).contains(&true)
            });
            wrong += usize::from(still && !self.index.is_being_put_back(owner, id));
        }
        Ok((wrong, without))
    }

    /// Whether a vector is stored and its memory is not. Both go in one write: the vector is read last.
    fn has_no_memory(&self, owner: UserId, id: Id) -> store::Result<bool> {
        let scope = Scope::User(owner);
        match self.records.get_in(scope, id) {
            Err(store::Error::Damaged(_)) => Ok(false),
            read => Ok(read?.is_none() && unless_damaged(self.vectors.get_in(scope, id))?.is_some()),
        }
    }

    /// Counts the memories that only the index has.
    fn compare_rows(&self, until: Until, all: &mut Comparison) -> Result<()> {
        let mut from = Some(0);
        while let Some(row) = from {
            let look = |index: &Index| {
                let (rows, next) = index.living(row, ROWS);
                let mut wrong = 0;
                for (owner, id) in rows {
                    let gone = matches!(self.records.get_in(Scope::User(owner), id), Ok(None));
                    wrong += usize::from(gone && !self.index.is_being_put_back(owner, id));
                }
                Ok((wrong, next))
            };
            let looked = if until.is_over() { None } else { self.quietly(&look)? };
            let Some((wrong, next)) = looked else {
                all.found.cut_short = true;
                return Ok(());
            };
            all.add_to_index(wrong);
            from = next;
        }
        Ok(())
    }
}

fn expected(entry: &Entry<Stored>, vector: Option<embed::Quantized>) -> Expected<'_> {
    Expected { facts: facts(entry), content: &entry.value.content, vector }
}
