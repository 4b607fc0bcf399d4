//! Recovery of interrupted firings: a call without effects is made after the next start, and none is made twice.

use super::{
    record::{Firing, Status, Trigger},
    watch::{FiredBy, Triggers},
};
use crate::action::PROMPT;
use std::time::Duration;
use store::Entry;
use tool::{Label, Scope, prelude::*};

/// Maximum age of a firing that is resumed.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// How often a firing is resumed: it may be what crashes Hob.
const MAX_RESUMES: u32 = 5;

impl Triggers {
    /// Resumes interrupted firings in the background.
    ///
    /// # Errors
    /// `Failed` if they cannot be read.
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
            let live = self.mark_busy(trigger.id);
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
        let unknown = |why: &str| Err(Error::failed(format!("{why}: please check")));
        let prompt = trigger.value.action.armed().tool == PROMPT;
        let age = Id::new().millis().saturating_sub(firing.id.millis());
        let (status, result) = match self.parts().firings.store().effect(firing.id)? {
            Some(effect) if effect.is_whole() && !prompt => {
                let text = "Completed, but Hob was interrupted right after it and the answer was lost.";
                (Status::Ok, Ok(Output::text(text)))
            }
            Some(_) if prompt => {
                (Status::Interrupted, unknown("Hob was interrupted; the prompt continues in its conversation"))
            }
            Some(effect) => {
                let why = format!("Hob was interrupted during it (started or completed: {})", effect.done());
                (Status::Interrupted, unknown(&why))
            }
            None if !trigger.value.enabled
                || firing.value.resumed >= MAX_RESUMES
                || age > LONGEST.as_millis() as u64 =>
            {
                (Status::Interrupted, Err(Error::failed("Hob was interrupted before it ran, and did not run it later")))
            }
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
