//! What reflex computes once: the meanings of its example sentences, kept for the next start.

use anyhow::Result;
use reflex::Reflex;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use store::{Collection, Entry, Level, Listing, Record, Stamp, Store};
use tokio_util::sync::CancellationToken;
use tool::Scope;

/// How long after a start they are computed where they are missing: a start has better things to do.
const AFTER: Duration = Duration::from_secs(5);

/// The vectors of one set of phrases. New fields go last.
#[derive(Clone, Serialize, Deserialize)]
struct Phrases {
    fingerprint: u64,
    vectors: Vec<u8>,
}

impl Record for Phrases {
    const NAME: &'static str = "phrase-vectors";
    const WORD: &'static str = "set of phrase vectors";
    const LEVEL: Level = Level::Household;
}

/// Gives reflex the vectors it computed before, or lets it compute and keep them in the background.
pub fn warm(reflex: Reflex, store: &Store, closing: CancellationToken) -> Result<()> {
    let kept: Collection<Phrases> = store.collection();
    let old = kept.list_in(Scope::Household, &Listing::default())?;
    if old.iter().any(|e| e.value.fingerprint == reflex.fingerprint() && reflex.give(&e.value.vectors)) {
        return Ok(());
    }
    let compute = async move {
        tokio::time::sleep(AFTER).await;
        if let Some(vectors) = reflex.warm().await
            && let Err(error) = keep(&kept, old, Phrases { fingerprint: reflex.fingerprint(), vectors }).await
        {
            tracing::warn!(%error, "the meanings of the phrases could not be kept and will be computed again");
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(compute));
    Ok(())
}

/// One set is kept: those of earlier versions go.
async fn keep(kept: &Collection<Phrases>, old: Vec<Entry<Phrases>>, new: Phrases) -> store::Result<()> {
    let (all, id) = (kept.clone(), tool::Id::new());
    let replace = move |tx: &store::Tx| {
        for entry in &old {
            all.remove(tx, Scope::Household, entry.id)?;
        }
        all.put(tx, id, &Stamp::household("reflex"), &new).map(drop)
    };
    kept.store().write(replace).await
}
