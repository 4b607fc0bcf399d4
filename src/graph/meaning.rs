//! Vectors of entities: each is that of its name, its summary and its facts.

use crate::{Graph, records::VectorRecord, scope};
use embed::Quantized;
use std::collections::HashSet;
use store::{Audience, Entry, Stamp};
use tool::{Cx, Id, Label, Scope, UserId};

/// How many facts of an entity its vector takes in.
const FACTS: usize = 12;
/// Entities that are less similar to a question than this are not meant.
const LEAST: f32 = 0.3;

impl Graph {
    /// Computes the vectors of entities anew; without the model they are found by words alone.
    pub(crate) async fn embed_entities(&self, owner: UserId, touched: Vec<Id>) {
        let scope = Scope::User(owner);
        let touched: HashSet<Id> = touched.into_iter().filter(|id| *id != Id::NIL).collect();
        let mut vectors = vec![];
        for id in touched {
            let text = match self.description(scope, id) {
                Ok(Some(text)) => text,
                Ok(None) => continue,
                Err(error) => {
                    tracing::warn!(%error, "an entity could not be read");
                    continue;
                }
            };
            match self.embedder.embed(&text).await.and_then(|vector| Quantized::quantize(&vector)) {
                Ok(vector) => vectors.push((id, vector.to_bytes().to_vec())),
                Err(error) => {
                    tracing::debug!(%error, "an entity is found by words alone");
                    return;
                }
            }
        }
        let this = self.clone();
        let written = self.vectors.store().write(move |tx| {
            let stamp = Stamp { scope, owner, audience: Audience::Private, label: Label::Own, source: "graph".into() };
            for (id, bytes) in &vectors {
                // Unless the entity went meanwhile.
                if this.entities.read(tx, scope, *id)?.is_some() {
                    let record = VectorRecord { model: embed::MODEL.into(), bytes: bytes.clone() };
                    this.vectors.put(tx, *id, &stamp, &record)?;
                }
            }
            Ok(())
        });
        if let Err(error) = store::without_change(written).await {
            tracing::warn!(%error, "the vectors of entities could not be stored");
        }
    }

    /// An entity in sentences.
    fn description(&self, scope: Scope, id: Id) -> tool::Result<Option<String>> {
        let Some(entity) = self.entities.get_in(scope, id)? else { return Ok(None) };
        let mut facts = self.facts_around(scope, id)?;
        facts.truncate(FACTS);
        let views = self.fact_views(scope, &facts, "")?;
        let facts = views.iter().map(crate::FactView::words).collect::<Vec<_>>().join(". ");
        let it = entity.value;
        Ok(Some(format!("{}, {}. {} {facts}", it.names().cloned().collect::<Vec<_>>().join(", "), it.kind, it.summary)))
    }

    /// The entities nearest in meaning to a text, best first.
    pub(crate) async fn near(&self, cx: &Cx, text: &str, most: usize) -> Vec<Id> {
        let asked = self.embedder.embed(text).await.and_then(|vector| Quantized::quantize(&vector));
        let Ok(asked) = asked else { return vec![] };
        let mut found: Vec<(f32, Id)> = vec![];
        let (this, scope) = (self.clone(), scope(cx));
        let mut before = None;
        loop {
            let listing = store::Listing { by: None, before, limit: 1000 };
            let page: Vec<Entry<VectorRecord>> = match this.vectors.list_in(scope, &listing) {
                Ok(page) => page,
                Err(error) => {
                    tracing::warn!(%error, "the vectors of entities could not be read");
                    break;
                }
            };
            let of_model = page.iter().filter(|entry| entry.value.model == embed::MODEL);
            let scored = of_model.filter_map(|entry| {
                let vector = Quantized::from_bytes(&entry.value.bytes).ok()?;
                Some((vector.dot(&asked), entry.id))
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
