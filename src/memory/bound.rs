//! The bound on a person's memories. Nothing is forgotten by itself before a person has more than that; then the least
//! valuable go, into the bin, and the person is notified.

use crate::{
    Memories,
    decay::value_of,
    holder::Changed,
    records::{MOST, Stored},
};
use std::collections::HashMap;
use store::{ChangeSource, Record, Tx};
use tool::{Id, Result, Scope, UserId};

/// How many memories one commit forgets: their copies for the bin have to fit into one change.
const PIECE: usize = 100;
/// So many below the bound, so that not each new memory forgets an old one.
const MARGIN: usize = 100;

impl Memories {
    /// Forgets the least valuable memories of people who have more than the bound: returns how many of whom.
    pub(crate) async fn forget_excess(&self) -> Result<Vec<(UserId, usize)>> {
        let total = self.records.store().stats()?.records.get(Stored::NAME).copied().unwrap_or_default();
        let most = self.most.unwrap_or(MOST);
        if total as usize <= most {
            return Ok(vec![]);
        }
        let now = Id::now_ms();
        let mut people: HashMap<UserId, Vec<(f32, Id)>> = HashMap::new();
        self.records.scan(|mut entry| {
            self.uses.of(entry.owner, entry.id).add_to(&mut entry.value);
            let value = value_of(&entry.value, entry.id.millis(), now);
            people.entry(entry.owner).or_default().push((value, entry.id));
        })?;
        let mut forgotten = vec![];
        for (owner, mut all) in people.into_iter().filter(|(_, all)| all.len() > most) {
            all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let excess = all.len() - most + MARGIN.min(most / 10);
            let gone: Vec<Id> = all.into_iter().take(excess).map(|(_, id)| id).collect();
            for some in gone.chunks(PIECE) {
                self.forget_some(owner, some.to_vec()).await?;
            }
            forgotten.push((owner, gone.len()));
        }
        Ok(forgotten)
    }

    async fn forget_some(&self, owner: UserId, ids: Vec<Id>) -> Result<()> {
        let source = ChangeSource {
            id: Id::new(),
            user: owner,
            tool: "forget".into(),
            conversation: None,
            run: None,
            unattended: true,
            undoes: None,
        };
        let changed = ids.iter().map(|id| Changed { owner, id: *id, content: true }).collect();
        let this = self.clone();
        let job = move |tx: &Tx| {
            for id in &ids {
                this.vectors.remove(tx, Scope::User(owner), *id)?;
                if this.records.remove(tx, Scope::User(owner), *id)? {
                    this.index.journal.mark(tx, owner, *id)?;
                }
            }
            Ok(())
        };
        Ok(store::with_change(Some(source), self.write(changed, job)).await?)
    }
}
