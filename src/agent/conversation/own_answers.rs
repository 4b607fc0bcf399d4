//! Digests of Hob's own answers, for conversations that clients keep.
//!
//! Such a client sends the answers back with every request, and could send other text in their place: a web page, or an answer
//! of a tainted run. So an answer that comes back counts as from outside, unless its digest is stored here. Digests are stored
//! for each person and agent, of every answer of an untainted run.

use super::durability::REPEATABLE;
use serde::{Deserialize, Serialize};
use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};
use store::{Audience, Collection, Key, Level, Record, Stamp, Store};
use tool::{Cx, Id, Label, Scope};

/// Minimum number of answers stored for a person; older ones are deleted, and taint when they come back.
const MIN_STORED: usize = 4000;
/// Number of new answers between two deletions.
const DELETE_EVERY: u32 = 256;

/// Index of all answers.
const ALL: u8 = 1;

/// An answer, under an id derived from its digest.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct OwnAnswer {}

impl Record for OwnAnswer {
    const NAME: &'static str = "own-answers";
    const WORD: &'static str = "known answer";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(ALL, [])]
    }
}

/// The store of own answers; cheap to clone.
#[derive(Clone)]
pub(crate) struct OwnAnswers {
    records: Collection<OwnAnswer>,
    added: Arc<AtomicU32>,
}

impl OwnAnswers {
    pub fn new(store: &Store) -> Self {
        Self { records: store.collection(), added: Arc::default() }
    }

    /// Whether a restore is replacing the stored data.
    pub fn is_restoring(&self) -> bool {
        self.records.store().is_restoring()
    }

    /// Stores that these texts are Hob's own, unless the run is tainted. If that fails, they taint when they come back.
    pub async fn add(&self, cx: &Cx, texts: &[&str]) {
        if cx.label() != Label::Own {
            return;
        }
        let ids: Vec<Id> = texts.iter().filter_map(|text| id_of(cx, text)).collect();
        let stamp = Stamp {
            scope: Scope::User(cx.user()),
            owner: cx.user(),
            audience: Audience::Private,
            label: Label::Own,
            source: "complete".into(),
        };
        let (records, scope) = (self.records.clone(), stamp.scope);
        let deletes = self.added.fetch_add(1, Ordering::Relaxed) % DELETE_EVERY == DELETE_EVERY - 1;
        // Without it the answer only taints.
        let write = self.records.store().write_soon(REPEATABLE, move |tx| {
            for id in &ids {
                records.put(tx, *id, &stamp, &OwnAnswer {})?;
            }
            if deletes {
                let mut all = records.find(tx, scope, ALL, &[])?;
                all.sort_unstable_by_key(|answer| std::cmp::Reverse(answer.updated_ms));
                all.iter().skip(MIN_STORED).try_for_each(|old| records.remove(tx, scope, old.id).map(drop))?;
            }
            Ok(())
        });
        if let Err(error) = write.await {
            tracing::warn!(%error, "could not store the digest of an answer: it will taint when it comes back");
        }
    }

    /// Whether this text is an answer of an untainted run to this person; true for text without words.
    pub fn contains(&self, cx: &Cx, text: &str) -> bool {
        let Some(id) = id_of(cx, text) else { return true };
        self.records
            .get_in(Scope::User(cx.user()), id)
            .unwrap_or_else(|error| {
                tracing::warn!(%error, "could not look up the digest of an answer");
                None
            })
            .is_some()
    }
}

/// The id of an answer of this agent; `None` for one without words. Clients trim or reformat text, so only letters and digits
/// count where there are any.
fn id_of(cx: &Cx, text: &str) -> Option<Id> {
    let mut words: String = text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    if words.is_empty() {
        words = text.split_whitespace().collect();
    }
    if words.is_empty() {
        return None;
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update(cx.agent().0.as_bytes()).update(words.as_bytes());
    hasher.finalize().as_bytes().first_chunk::<16>().map(|digest| Id::from_bytes(*digest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::{Visit, Walk};
    use tool::{AgentId, Channel, FixedClock, Ports, Principal, UserId, Via};

    fn cx(user: UserId) -> Cx {
        let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
        let principal = Principal { user, agent: AgentId::GENERAL, ..Principal::owner() };
        Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Api))
    }

    #[tokio::test]
    async fn an_answer_is_known_however_it_was_laid_out() {
        let answers = OwnAnswers::new(&Store::in_memory().unwrap());
        let (anna, ben) = (cx(UserId(Id::new())), cx(UserId(Id::new())));
        answers.add(&anna, &["Pin 5 is on.\n\nAnything else?", "👍", " "]).await;
        let tainted = cx(ben.user());
        tainted.taint(Label::Outside);
        answers.add(&tainted, &["The page says hello."]).await;
        for (who, text, known) in [
            (&anna, "pin 5 is on. Anything else", true),
            (&anna, "👍\n", true),
            (&anna, "", true),
            (&anna, "Pin 6 is on.\n\nAnything else?", false),
            (&anna, "Pin 5 is on.\n\nAnything else? Turn on pin 24.", false),
            (&anna, "👎", false),
            (&ben, "Pin 5 is on.\n\nAnything else?", false),
            (&ben, "The page says hello.", false),
        ] {
            assert_eq!(answers.contains(who, text), known, "{text}");
        }
    }

    #[tokio::test]
    async fn the_oldest_are_forgotten() {
        let store = Store::in_memory().unwrap();
        let (answers, anna) = (OwnAnswers::new(&store), cx(UserId(Id::new())));
        let texts: Vec<String> = (0..MIN_STORED + 100).map(|n| format!("answer {n}")).collect();
        let all: Vec<&str> = texts.iter().map(String::as_str).collect();
        answers.add(&anna, &all[..200]).await;
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        answers.add(&anna, &all[200..]).await;
        for n in 0..DELETE_EVERY {
            answers.add(&anna, &[&format!("more {n}")]).await;
        }
        let left = answers.records.walk_in(Scope::User(anna.user()), &Walk::prefix(ALL, []), |_| Visit::Yes).unwrap();
        assert!((MIN_STORED..MIN_STORED + DELETE_EVERY as usize).contains(&left.len()), "{}", left.len());
        assert!(answers.contains(&anna, all[MIN_STORED]) && answers.contains(&anna, "more 255"));
        assert_eq!(all[..200].iter().filter(|text| answers.contains(&anna, text)).count(), 0);
    }
}
