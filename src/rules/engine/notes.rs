//! Stores that a rule runs, and how that ended.

use super::{Rules, live::Cause};
use crate::record::{BY_TRIGGER, Firing, Status, Trigger};
use futures::FutureExt;
use std::time::Duration;
use store::{Audience, Entry, Stamp, Tx, Visit, Walk};
use tool::{Label, Scope, prelude::*};

/// Stored runs per rule.
const FIRINGS_KEPT: usize = 100;
/// Maximum length of a stored result, in characters.
const MAX_RESULT: usize = 500;
/// Within which time the record of a run that a pin started is on disk.
const RECORDED: Duration = Duration::from_secs(5);

impl Rules {
    fn begun(
        &self,
        entry: &Entry<Trigger>,
        id: Id,
        cause: &Cause,
        label: Label,
        resumable: bool,
    ) -> impl FnMut(&Tx) -> store::Result<()> + Send + 'static {
        let (shelf, firings) = (self.0.shelf.records().clone(), self.0.firings.clone());
        let stamp = Stamp {
            scope: Scope::User(entry.owner),
            owner: entry.owner,
            audience: Audience::Private,
            label: label.max(entry.label),
            source: "trigger".into(),
        };
        let (trigger, now) = (entry.id, self.0.ports.clock.now().as_millisecond().max(0) as u64);
        let firing = Firing {
            trigger,
            why: cause.why.clone(),
            status: Status::Interrupted,
            finished_ms: 0,
            result: String::new(),
            error: String::new(),
            resumable,
            about: if resumable { cause.about.to_string() } else { String::new() },
            resumed: 0,
            log: if cause.found.is_null() { String::new() } else { json!({"conditions": cause.found}).to_string() },
        };
        move |tx| {
            // It may have been deleted meanwhile.
            if shelf.read(tx, stamp.scope, trigger)?.is_none() {
                return Ok(());
            }
            shelf.change(tx, stamp.scope, Label::Own, trigger, &mut |t| {
                (t.count, t.last_ms) = (t.count.saturating_add(1), now);
                Ok(())
            })?;
            firings.put(tx, id, &stamp, &firing).map(drop)
        }
    }

    /// Stores that a rule runs, before its calls.
    pub(super) async fn note(
        &self,
        entry: &Entry<Trigger>,
        id: Id,
        cause: &Cause,
        label: Label,
        resumable: bool,
    ) -> Result<()> {
        let begun = self.begun(entry, id, cause, label, resumable);
        Ok(self.0.shelf.records().store().write(begun).await?)
    }

    /// Stores that a rule runs, while it does. A power cut may lose that, and never repeats the run.
    pub(super) fn note_later(&self, entry: &Entry<Trigger>, id: Id, cause: &Cause, label: Label) {
        let begun = self.begun(entry, id, cause, label, false);
        let store = self.0.shelf.records().store().clone();
        let write = async move {
            if let Err(error) = store.write_soon(RECORDED, begun).await {
                tracing::warn!(%error, "a run could not be stored");
            }
        };
        let mut write = store::with_effect(None, write).boxed();
        // Queued here and now, so that it comes before the end of the run.
        if (&mut write).now_or_never().is_none() {
            tokio::spawn(write);
        }
    }

    /// Stores how a run ended.
    pub(super) async fn note_end(
        &self,
        entry: &Entry<Trigger>,
        id: Id,
        status: Status,
        result: &Result<Output>,
        log: Option<&Value>,
        soon: bool,
    ) {
        let (told, error) = match result {
            Ok(output) => (output.say.clone().unwrap_or_else(|| output.model_text()), String::new()),
            Err(error) => (String::new(), error.message().to_owned()),
        };
        let cut = |text: String| text.chars().take(MAX_RESULT).collect::<String>();
        let (told, error, log) = (cut(told), cut(error), log.map(Value::to_string));
        let (shelf, firings) = (self.0.shelf.records().clone(), self.0.firings.clone());
        let read = result.as_ref().map_or(Label::Own, |output| output.label);
        let (scope, trigger, label) = (Scope::User(entry.owner), entry.id, entry.label.max(read));
        let now = self.0.ports.clock.now().as_millisecond().max(0) as u64;
        let old = self.stored_firings(entry).into_iter().skip(FIRINGS_KEPT).collect::<Vec<_>>();
        let keys: Vec<Id> =
            (0..Self::calls_of(&entry.value).len()).map(|at| Self::key_of(&entry.value, id, at)).collect();
        let end = move |tx: &Tx| {
            keys.iter().try_for_each(|key| firings.store().forget_effect(tx, *key))?;
            // It may have been deleted meanwhile.
            if firings.read(tx, scope, id)?.is_some() {
                firings.change(tx, scope, label, id, &mut |f| {
                    (f.status, f.finished_ms, f.resumable) = (status, now, false);
                    f.about.clear();
                    f.result.clone_from(&told);
                    f.error.clone_from(&error);
                    if let Some(log) = &log {
                        f.log.clone_from(log);
                    }
                    Ok(())
                })?;
            }
            old.iter().try_for_each(|id| firings.remove(tx, scope, *id).map(drop))?;
            if status == Status::Failed && shelf.read(tx, scope, trigger)?.is_some() {
                shelf.change(tx, scope, Label::Own, trigger, &mut |t| {
                    t.failures = t.failures.saturating_add(1);
                    Ok(())
                })?;
            }
            Ok(())
        };
        let store = self.0.shelf.records().store();
        let noted = match soon {
            true => store.write_soon(RECORDED, end).await,
            false => store.write(end).await,
        };
        if let Err(error) = noted {
            tracing::warn!(rule = %entry.id, %error, "a rule's result could not be stored");
        }
    }

    /// The ids of its stored runs, newest first.
    fn stored_firings(&self, entry: &Entry<Trigger>) -> Vec<Id> {
        let walk = Walk::prefix(BY_TRIGGER, entry.id.as_bytes()).down();
        let found = self.0.firings.walk_in(Scope::User(entry.owner), &walk, |_| Visit::Yes);
        found.map(|all| all.into_iter().map(|f| f.id).collect()).unwrap_or_default()
    }
}
