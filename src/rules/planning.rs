//! The schedules of a rule: each of its schedule triggers has one in the scheduler, which calls `fire_trigger`.

use crate::record::Trigger;
use scheduler::{Kind, Missed, Planned, Recurrence, Scheduler};
use store::{Entry, Tx};
use tool::{AgentId, PreauthorizedCall, prelude::*};

/// How many schedules a rule can have.
const MOST: usize = 10;

/// The id of a rule's n-th schedule; the first has the id of the rule.
fn key(rule: Id, n: usize) -> Id {
    if n == 0 { rule } else { store::effect_key(rule, &format!("schedule {n}")) }
}

/// Plans the schedules of a rule in its write, or removes them where it is off.
pub(crate) fn plan_schedules(
    scheduler: Scheduler,
    agent: AgentId,
    all: Vec<Recurrence>,
) -> impl FnMut(&Tx, &Entry<Trigger>) -> store::Result<()> + Send + 'static {
    move |tx, entry| {
        for n in 0..MOST {
            let key = key(entry.id, n);
            let Some(recurrence) = all.get(n).filter(|_| entry.value.enabled) else {
                scheduler.forget(tx, entry.owner, key)?;
                continue;
            };
            let planned = Planned {
                user: entry.owner,
                agent,
                key,
                kind: Kind::Trigger,
                name: entry.value.name.clone(),
                written: entry.value.config.clone(),
                recurrence: recurrence.clone(),
                action: PreauthorizedCall {
                    tool: "fire_trigger".into(),
                    version: 0,
                    args: json!({"triggerId": entry.id}),
                    digest: [0; 32],
                    consented: false,
                },
                missed: Missed::Once,
                label: entry.label,
            };
            scheduler.plan_in(tx, &planned)?;
        }
        Ok(())
    }
}

/// Removes the schedules of a rule in its write.
///
/// # Errors
/// Any store error.
pub(crate) fn forget_schedules(scheduler: &Scheduler, tx: &Tx, entry: &Entry<Trigger>) -> store::Result<()> {
    (0..MOST).try_for_each(|n| scheduler.forget(tx, entry.owner, key(entry.id, n)))
}
