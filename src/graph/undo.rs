//! What must hold when a change of the graph is undone.

use crate::{
    Graph,
    records::{EntityRecord, FactRecord},
};
use store::{Did, Part, Record, Tx, rejected};
use tool::{Id, Scope, UserId};

fn place(part: &Part) -> Option<(UserId, Id)> {
    match (part.scope(), part.id()) {
        (Some(Scope::User(owner)), Some(id)) => Some((owner, id)),
        _ => None,
    }
}

impl Graph {
    /// Within the write that undid a part of a change.
    ///
    /// # Errors
    /// `Conflict` where a fact would be left without its ends.
    pub fn put_back_in(&self, tx: &Tx, part: &Part) -> store::Result<()> {
        let Some((owner, id)) = place(part) else { return Ok(()) };
        let scope = Scope::User(owner);
        if part.table == EntityRecord::NAME && part.did() == Did::Added {
            self.vectors.remove(tx, scope, id)?;
            if self.has_facts_in(tx, scope, id)? {
                let text = format!("nothing was undone: there are other facts about {} by now", part.title);
                return Err(rejected(text));
            }
        }
        if part.table == FactRecord::NAME
            && let Some(fact) = self.facts.read(tx, scope, id)?.filter(|fact| !fact.value.retracted)
        {
            for end in [fact.value.subject, fact.value.object].into_iter().filter(|end| *end != Id::NIL) {
                if self.entities.read(tx, scope, end)?.is_none() {
                    return Err(rejected("nothing was undone: what the fact is about was deleted since"));
                }
            }
        }
        Ok(())
    }

    /// After that write: vectors follow.
    pub async fn was_put_back(&self, part: &Part) {
        let Some((owner, id)) = place(part) else { return };
        let mut touched = vec![id];
        if part.table == FactRecord::NAME {
            let fact = self.facts.get_in(Scope::User(owner), id).ok().flatten();
            touched = fact.map(|fact| vec![fact.value.subject, fact.value.object]).unwrap_or_default();
        }
        self.embed_entities(owner, touched).await;
    }
}
