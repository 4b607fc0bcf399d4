//! Vectors of entities: each is that of its name, its summary and its facts.

use crate::{Graph, WORK, records::VectorRecord};
use embed::Quantized;
use std::collections::{BTreeMap, HashSet};
use store::{Audience, Entry, Stamp};
use tool::{Id, Label, Scope, UserId, blocking};

/// How many facts of an entity its vector takes in.
const FACTS: usize = 12;
/// How many entities one commit takes.
const AT_ONCE: usize = 50;
/// Entities that are less similar to a question than this are not meant.
const LEAST: f32 = 0.3;

impl Graph {
    /// Computes the vectors of entities anew; without the model they are found by words alone, and this returns false.
    pub(crate) async fn embed_entities(&self, owner: UserId, touched: Vec<Id>) -> bool {
        let scope = Scope::User(owner);
        let touched: HashSet<Id> = touched.into_iter().filter(|id| *id != Id::NIL).collect();
        let (mut vectors, mut all) = (vec![], true);
        for id in touched {
            let text = match self.description(scope, id) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "an entity could not be read");
                    continue;
                }
            };
            match self.embedder.embed_quantized(&text).await {
                Ok(vector) => vectors.push((id, vector.to_bytes().to_vec())),
                Err(error) => {
                    tracing::debug!(%error, "an entity is found by words alone");
                    all = false;
                    break;
                }
            }
        }
        let this = self.clone();
        let written = self.vectors.store().write(move |tx| {
            let stamp = Stamp { scope, owner, audience: Audience::Private, label: Label::Own, source: "graph".into() };
            for (id, bytes) in &vectors {
                // Unless the entity went meanwhile.
                if this.entities.read(tx, scope, *id)?.is_some() {
                    let record = VectorRecord { model: this.embedder.model().into(), bytes: bytes.clone() };
                    this.vectors.put(tx, *id, &stamp, &record)?;
                }
            }
            Ok(())
        });
        if let Err(error) = store::without_change(written).await {
            tracing::warn!(%error, "the vectors of entities could not be stored");
            return false;
        }
        all
    }

    /// Computes the vectors that the model in use has not made yet, and removes entities that nothing is known about any more.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read, `Unavailable` when the disk is full.
    pub async fn complete_entities(&self) -> tool::Result<()> {
        let this = self.clone();
        let missing = blocking(WORK, move || {
            let mut made = HashSet::new();
            this.vectors.scan(|vector| {
                if vector.value.model == this.embedder.model() {
                    made.insert((vector.owner, vector.id));
                }
            })?;
            let mut missing: BTreeMap<UserId, Vec<Id>> = BTreeMap::new();
            let mut known = HashSet::new();
            this.facts.scan(|fact| {
                if !fact.value.retracted {
                    known.extend([(fact.owner, fact.value.subject), (fact.owner, fact.value.object)]);
                }
            })?;
            let mut lonely: BTreeMap<UserId, Vec<Id>> = BTreeMap::new();
            this.entities.scan(|entity| {
                let of = (entity.owner, entity.id);
                if !made.contains(&of) {
                    missing.entry(entity.owner).or_default().push(entity.id);
                }
                if !entity.value.by_hand && !known.contains(&of) {
                    lonely.entry(entity.owner).or_default().push(entity.id);
                }
            })?;
            Ok((missing, lonely))
        });
        let (missing, lonely) = missing.await?;
        for (owner, ids) in lonely {
            for part in ids.chunks(AT_ONCE) {
                let (this, part) = (self.clone(), part.to_vec());
                let removed =
                    self.entities.store().write(move |tx| this.remove_lonely_in(tx, Scope::User(owner), &part));
                store::without_change(removed).await?;
            }
        }
        for (owner, ids) in missing {
            for part in ids.chunks(AT_ONCE) {
                if !self.embed_entities(owner, part.to_vec()).await {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// An entity in sentences.
    fn description(&self, scope: Scope, id: Id) -> tool::Result<Option<String>> {
        let Some(entity) = self.entities.get_in(scope, id)? else { return Ok(None) };
        let (mut facts, _) = self.facts_around(scope, id)?;
        facts.truncate(FACTS);
        let views = self.fact_views(scope, &facts, "", &|_| {})?;
        let facts = views.iter().map(crate::FactView::words).collect::<Vec<_>>().join(". ");
        let it = entity.value;
        Ok(Some(format!("{}, {}. {} {facts}", it.names().cloned().collect::<Vec<_>>().join(", "), it.kind, it.summary)))
    }

    /// The vector of a question; `None` without the model.
    pub(crate) async fn asked(&self, text: &str) -> Option<Quantized> {
        self.embedder.embed_query_quantized(text).await.ok()
    }

    /// The entities nearest in meaning to a question, best first.
    pub(crate) fn near(&self, scope: Scope, asked: &Quantized, most: usize) -> Vec<Id> {
        let mut found: Vec<(f32, Id)> = vec![];
        let mut before = None;
        loop {
            let listing = store::Listing { by: None, before, limit: 1000 };
            let page: Vec<Entry<VectorRecord>> = match self.vectors.list_in(scope, &listing) {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "the vectors of entities could not be read");
                    break;
                }
            };
            let of_model = page.iter().filter(|entry| entry.value.model == self.embedder.model());
            let scored = of_model.filter_map(|entry| {
                let vector = Quantized::from_bytes(&entry.value.bytes).ok()?;
                Some((vector.dot(asked), entry.id))
            });
            found.extend(scored.filter(|(score, _)| *score >= LEAST));
            before = page.last().map(|entry| entry.id);
            if page.len() < 1000 {
                break;
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(most).map(|(_, id)| id).collect()
    }
}
