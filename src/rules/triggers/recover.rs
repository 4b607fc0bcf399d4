//! Firings that a power cut interrupted: what has changed nothing is done after the next start, and nothing is done twice.

use super::{
    record::{Firing, Status, Trigger},
    watch::{FiredBy, Triggers},
};
use crate::action::PROMPT;
use std::time::Duration;
use store::Entry;
use tool::{Label, Scope, prelude::*};

/// How old a firing may be to be resumed.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How often one is resumed: it may be what ends Hob.
const RESUMED: u32 = 5;

impl Triggers {
    /// Resumes the interrupted firings, in the background.
    ///
    /// # Errors
    /// `Failed` when they cannot be read.
    pub(super) fn recover(&self) -> Result<()> {
        let mut open = vec![];
        self.parts().firings.scan(|firing| {
            if firing.value.resumable && firing.value.status == Status::Interrupted {
                open.push(firing);
            }
        })?;
        for firing in open {
            let Some(trigger) = self.parts().shelf.records().get_in(Scope::User(firing.owner), firing.value.trigger)?
            else {
                continue;
            };
            let live = self.occupied(trigger.id);
            let this = self.clone();
            tokio::spawn(async move {
                if let Err(error) = this.resume(&trigger, &firing).await {
                    tracing::warn!(trigger = %trigger.id, %error, "an interrupted firing could not be resumed");
                }
                if let Some(live) = live {
                    this.rest(&live);
                }
            });
        }
        Ok(())
    }

    async fn resume(&self, trigger: &Entry<Trigger>, firing: &Entry<Firing>) -> Result<()> {
        let unknown = |why: &str| Err(Error::failed(format!("{why}: see whether it is done")));
        let prompt = trigger.value.action.armed().tool == PROMPT;
        let age = Id::new().millis().saturating_sub(firing.id.millis());
        let (status, result) = match self.parts().firings.store().effect(firing.id)? {
            Some(effect) if effect.is_whole() && !prompt => {
                let text = "It was done. Hob was interrupted right after it, so its answer is lost.";
                (Status::Ok, Ok(Output::text(text)))
            }
            Some(_) if prompt => {
                (Status::Interrupted, unknown("Hob was interrupted; the prompt goes on in its conversation"))
            }
            Some(effect) => {
                let why = format!("Hob was interrupted in the middle of it (begun or done: {})", effect.done());
                (Status::Interrupted, unknown(&why))
            }
            None if !trigger.value.enabled || firing.value.resumed >= RESUMED || age > LONGEST.as_millis() as u64 => (
                Status::Interrupted,
                Err(Error::failed("Hob was interrupted before it was done, and did not do it later")),
            ),
            None => {
                let count = |firing: &mut Firing| {
                    firing.resumed += 1;
                    Ok(())
                };
                let scope = Scope::User(firing.owner);
                self.parts().firings.update_in(scope, Label::Own, firing.id, count).await?;
                let about = serde_json::from_str(&firing.value.about).unwrap_or_default();
                self.go(trigger, firing.id, &about, FiredBy::Agreed(firing.label)).await;
                return Ok(());
            }
        };
        self.note_end(trigger, firing.id, status, &result).await;
        self.fired(trigger, status, result);
        Ok(())
    }
}
