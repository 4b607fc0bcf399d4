//! Neighbours and paths: breadth first, within bounds.

use crate::{
    Graph,
    records::{BY_OBJECT, BY_SUBJECT, FactRecord},
};
use std::collections::{HashMap, HashSet, VecDeque};
use store::{Entry, Visit, Walk};
use tool::{Id, Result, Scope};

/// The most facts of one entity that are followed, entities of a walk, and steps of a path.
const EACH: usize = 200;
const VISITED: usize = 2000;
const PATH: usize = 6;

/// Entities with their distances, in the order in which they were reached, and the facts between them.
#[derive(Default)]
pub(crate) struct Around {
    pub entities: Vec<(Id, u32)>,
    pub facts: Vec<Entry<FactRecord>>,
}

impl Graph {
    /// The facts that an entity is an end of.
    pub(crate) fn facts_around(&self, scope: Scope, entity: Id) -> Result<Vec<Entry<FactRecord>>> {
        let mut found = vec![];
        for index in [BY_SUBJECT, BY_OBJECT] {
            let mut count = 0;
            let walk = Walk::prefix(index, entity.as_bytes());
            found.extend(self.facts.walk_in(scope, &walk, |fact| {
                count += 1;
                match count {
                    // One between the entity and itself would come twice.
                    _ if index == BY_OBJECT && fact.value.subject == entity => Visit::No,
                    count if count > EACH => Visit::Stop,
                    _ => Visit::Yes,
                }
            })?);
        }
        Ok(found)
    }

    /// What is around some entities, up to `depth` steps away.
    pub(crate) fn around(
        &self,
        scope: Scope,
        from: &[Id],
        depth: u32,
        (entities, facts): (usize, usize),
    ) -> Result<Around> {
        let mut around = Around::default();
        let mut seen: HashSet<Id> = HashSet::new();
        let mut listed: HashSet<Id> = HashSet::new();
        let mut next: VecDeque<(Id, u32)> = from.iter().filter(|id| seen.insert(**id)).map(|id| (*id, 0)).collect();
        while let Some((id, distance)) = next.pop_front() {
            if around.entities.len() >= entities {
                break;
            }
            around.entities.push((id, distance));
            if distance >= depth {
                continue;
            }
            for fact in self.facts_around(scope, id)? {
                let other = if fact.value.subject == id { fact.value.object } else { fact.value.subject };
                if other != Id::NIL && seen.len() < VISITED && seen.insert(other) {
                    next.push_back((other, distance + 1));
                }
                if around.facts.len() < facts && listed.insert(fact.id) {
                    around.facts.push(fact);
                }
            }
        }
        Ok(around)
    }

    /// The shortest way between two entities, as facts in its order; `None` where there is none within [`PATH`] steps.
    pub(crate) fn path(&self, scope: Scope, from: Id, to: Id) -> Result<Option<Vec<Entry<FactRecord>>>> {
        let mut reached: HashMap<Id, Option<(Id, Entry<FactRecord>)>> = HashMap::from([(from, None)]);
        let mut next = VecDeque::from([(from, 0)]);
        while let Some((id, steps)) = next.pop_front() {
            if id == to {
                break;
            }
            if steps == PATH {
                continue;
            }
            for fact in self.facts_around(scope, id)? {
                let other = if fact.value.subject == id { fact.value.object } else { fact.value.subject };
                if other != Id::NIL && reached.len() < VISITED && !reached.contains_key(&other) {
                    reached.insert(other, Some((id, fact)));
                    next.push_back((other, steps + 1));
                }
            }
        }
        let (mut path, mut at) = (vec![], to);
        while at != from {
            let Some(Some((before, fact))) = reached.remove(&at) else { return Ok(None) };
            path.push(fact);
            at = before;
        }
        path.reverse();
        Ok(Some(path))
    }
}
