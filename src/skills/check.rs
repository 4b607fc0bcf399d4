//! Compares skills with their copies in the store, and has those that are not whole made again.

use crate::{
    Skills,
    copies::{CopyHead, Name, digest, facts_text, is_whole},
    off_thread,
};
use std::collections::HashSet;
use store::{Compared, Until};
use tool::{Error, Result};

#[derive(Default)]
struct Comparison {
    found: Compared,
    /// Copies that are not whole.
    broken: Vec<(Name, CopyHead)>,
}

impl Skills {
    /// Compares the copies with what they say of themselves, and with their folders. A folder that changed by hand, or since the last
    /// look, is brought in line in the background and no disagreement. Blocks.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read; `Unavailable` when a folder cannot.
    pub fn check(&self, until: Until) -> Result<Compared> {
        Ok(self.compare(until)?.found)
    }

    /// The same without a limit of time; then makes copies that are not whole from their folders, and brings all in line. A broken copy
    /// without a folder stays: it may be all that is left of a skill.
    ///
    /// # Errors
    /// As [`Skills::check`]; `Unavailable` when the disk is full.
    pub async fn repair(&self) -> Result<Compared> {
        let this = self.clone();
        let Comparison { found, broken } = off_thread(move || this.compare(Until::DONE)).await?;
        if !broken.is_empty() {
            let _one = self.writing.lock().await;
            let lineage = self.copies.store().lineage();
            for (name, head) in broken.into_iter().filter(|(_, head)| head.lineage == lineage) {
                // Without its digest it is not the same as any folder.
                self.copy(name, Some(CopyHead { digest: vec![], ..head })).await?;
            }
        }
        self.reconcile().await?;
        Ok(found)
    }

    fn compare(&self, until: Until) -> Result<Comparison> {
        let (mut all, mut copied) = (Comparison::default(), HashSet::new());
        self.copies.scan(|entry| {
            if until.is_over() {
                all.found.cut_short = true;
                return;
            }
            all.found.compared += 1;
            let (name, copy) = (entry.value.name(entry.owner), entry.value);
            let folder = self.folder(name.0, name.1);
            let package = folder.package(&name.2);
            let same = package.is_ok_and(|package| digest(&package, &facts_text(&folder, &name.2)) == copy.digest);
            if is_whole(&copy) {
                all.found.pending += u64::from(!same);
            } else {
                all.found.wrong += 1;
                all.broken.push((name.clone(), CopyHead::of(entry.id, copy)));
            }
            copied.insert(name);
        })?;
        for (user, whose) in self.everybody().map_err(Error::unavailable)? {
            for (slug, _) in self.folder(user, whose).scan(crate::MOST).map_err(crate::unreadable)? {
                let name = (user, whose, slug);
                // What cannot be read has no copy.
                let lacks = !copied.contains(&name) && self.folder(user, whose).package(&name.2).is_ok();
                all.found.pending += u64::from(lacks && !all.found.cut_short);
            }
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{house, text};
    use store::Tx;

    #[tokio::test]
    async fn copies_that_are_not_whole_are_found_and_made_again() {
        let house = house();
        for name in ["bread", "soup"] {
            house.put(&format!("skills/{name}/SKILL.md"), &text(name, "Cook it."));
        }
        let skills = house.skills.clone();
        let found = || {
            let found = skills.check(Until::DONE).unwrap();
            assert!(!found.cut_short, "{found:?}");
            (found.compared, found.wrong, found.pending)
        };
        assert_eq!(found(), (0, 0, 2));
        skills.repair().await.unwrap();
        assert_eq!(found(), (2, 0, 0));
        assert!(skills.check(Until::within(std::time::Duration::ZERO)).unwrap().cut_short);
        house.put("skills/soup/more.md", "Salt.");
        assert_eq!(found(), (2, 0, 1));
        // The files of one are those of the other.
        let mut copies = vec![];
        skills.copies.scan(|copy| copies.push(copy)).unwrap();
        let (this, spoiled, other) = (skills.clone(), copies[0].clone(), copies[1].clone());
        let spoil = move |tx: &Tx<'_>| {
            let stamp = store::Stamp { owner: spoiled.owner, ..store::Stamp::household("t") };
            this.copies.put(tx, spoiled.id, &stamp, &spoiled.value.with_files_of(&other.value)).map(drop)
        };
        house.store.write(spoil).await.unwrap();
        assert_eq!((found().1, skills.repair().await.unwrap().wrong), (1, 1));
        assert_eq!(found(), (2, 0, 0));
    }
}
