//! The vectors of memories: computed in the background where they are missing, as after a change of the model; a line for the
//! doctor, and a notice when the household's model cannot be used.

use super::background::{BACKFILL_AFTER, MAINTENANCE_EVERY, notify_of_forgotten, notify_owner};
use care::{Check, Checks};
use memory::{Embedding, Memories};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tool::Ports;

/// Delay after a start before missing embeddings are computed with a model of the household: everything may have to be embedded
/// again, and people learn early whether the model can be used.
const OWN_AFTER: Duration = Duration::from_secs(5);
/// Then the memory index, which that has built, is saved once it is idle: the first search after the next start is quick.
const SAVE_AFTER: Duration = Duration::from_secs(90);

/// Computes missing embeddings, then saves the memory index now and then, and continues with what failed.
pub(super) fn schedule(memories: Memories, ports: Ports, closing: CancellationToken) {
    let counted = memories.clone();
    let work = async move {
        let built_in = memories.embedding_model().1;
        tokio::time::sleep(if built_in { BACKFILL_AFTER } else { OWN_AFTER }).await;
        let (mut wait, mut pending, mut notified) = (SAVE_AFTER, true, false);
        loop {
            if pending {
                pending = !backfill(&memories).await;
            }
            if let Some(problem) = memories.embedding().problem.filter(|_| !built_in && !notified) {
                notified = true;
                let text = format!("Memories are found by their words only: {problem}.");
                notify_owner(&ports, "The embedding model", &text).await;
            }
            tokio::time::sleep(wait).await;
            match memories.maintain().await {
                Ok(forgotten) => {
                    for (person, count) in forgotten {
                        notify_of_forgotten(&ports, person, count).await;
                    }
                }
                Err(error) => tracing::warn!(%error, "the memory index could not be saved"),
            }
            wait = MAINTENANCE_EVERY;
        }
    };
    tokio::spawn(async move {
        closing.run_until_cancelled_owned(work).await;
        counted.write_uses();
    });
}

/// Computes missing embeddings; returns whether that succeeded.
async fn backfill(memories: &Memories) -> bool {
    match memories.backfill_embeddings().await {
        Ok(0) => true,
        Ok(count) => {
            tracing::info!(count, model = memories.embedding_model().0, "computed missing embeddings of memories");
            true
        }
        Err(error) => {
            tracing::warn!(%error, "could not compute missing embeddings of memories");
            false
        }
    }
}

/// Adds the doctor's line: how far the embedding is, or why the model cannot be used. None for the built-in model, unless it works.
pub(super) fn add_check(checks: &Checks, memories: Memories) {
    checks.add(move || {
        let (model, built_in) = memories.embedding_model();
        line(model, built_in, &memories.embedding())
    });
}

fn line(model: &str, built_in: bool, embedding: &Embedding) -> Option<Check> {
    const NAME: &str = "meaning";
    let Embedding { counted, total, missing, problem } = embedding;
    let ready = total.saturating_sub(*missing);
    if let Some(problem) = problem.as_ref().filter(|_| !built_in) {
        let text = format!("Memories are found by their words only: {problem}.");
        let todo = "put a usable model into the folder `models` of the data folder, or set `model = \"built-in\"` in `[memory]` \
                    of hob.toml, and restart Hob";
        return Some(Check::wrong(NAME, text, todo));
    }
    match (built_in, missing) {
        (true, 0) => None,
        (_, 1..) => {
            let text =
                format!("{ready} of {total} memories are embedded; the others are found by their words until then.");
            Some(Check::well(NAME, text))
        }
        (false, 0) if !counted => {
            let text = format!("Memories are found by their words until the model \"{model}\" is prepared.");
            Some(Check::well(NAME, text))
        }
        (false, 0) => Some(Check::well(NAME, format!("Memories are found by meaning with the model \"{model}\"."))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use care::Outcome;

    #[test]
    fn the_line_has_progress_and_problems() {
        let of = |total, missing, problem: Option<&str>| Embedding {
            counted: total > 0,
            total,
            missing,
            problem: problem.map(str::to_owned),
        };
        assert_eq!(line("", true, &of(9, 0, None)), None);
        let all = line("e5", false, &of(9, 0, None)).unwrap();
        assert!(all.text.contains("\"e5\"") && all.outcome == Outcome::Well);
        let early = line("e5", false, &of(0, 0, None)).unwrap();
        assert!(early.text.contains("until the model") && early.outcome == Outcome::Well);
        let some = line("e5", false, &of(9, 2, None)).unwrap();
        assert!(some.text.starts_with("7 of 9 memories") && some.todo.is_none());
        let broken = line("", false, &of(0, 0, Some("there is no tokenizer.json"))).unwrap();
        assert_eq!(broken.outcome, Outcome::Wrong);
        assert!(broken.text.contains("words only: there is no tokenizer.json.") && broken.todo.is_some());
    }
}
