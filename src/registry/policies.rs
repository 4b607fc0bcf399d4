//! Stores the policy of the household and the switches of tool groups.

use policy::Policy;
use serde::{Deserialize, Serialize};
use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Id, Label, Result, Scope};

/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 4]);

/// Both as JSON text; empty is the default. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Stored {
    policy: String,
    groups: String,
}

impl Record for Stored {
    const NAME: &'static str = "policy";
    const WORD: &'static str = "policy";
    const LEVEL: Level = Level::Household;
}

/// The groups that people switched.
pub(crate) type Switches = BTreeMap<String, bool>;

pub(crate) struct Policies {
    records: Collection<Stored>,
    now: Mutex<(Policy, Switches)>,
    /// One change at a time.
    changing: tokio::sync::Mutex<()>,
}

impl Policies {
    /// Reads the stored policy. One that cannot be read is an error: a start without it would allow forbidden calls.
    pub fn open(store: &Store) -> Result<Self> {
        let records: Collection<Stored> = store.collection();
        let stored = records.get_in(Scope::Household, ONE)?.map(|e| e.value).unwrap_or_default();
        let broken = |e: serde_json::Error| tool::Error::failed(format!("the stored policy cannot be read: {e}"));
        let policy = match stored.policy.as_str() {
            "" => Policy::default(),
            text => serde_json::from_str(text).map_err(broken)?,
        };
        let switches = serde_json::from_str(&stored.groups).unwrap_or_default();
        Ok(Self { records, now: Mutex::new((policy, switches)), changing: tokio::sync::Mutex::default() })
    }

    fn now(&self) -> MutexGuard<'_, (Policy, Switches)> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn policy(&self) -> Policy {
        self.now().0.clone()
    }

    pub fn switches(&self) -> Switches {
        self.now().1.clone()
    }

    /// Changes both, durably, before the change takes effect.
    pub async fn change(&self, change: impl FnOnce(&mut Policy, &mut Switches) -> Result<()>) -> Result<()> {
        let _changing = self.changing.lock().await;
        let (mut policy, mut switches) = self.now().clone();
        change(&mut policy, &mut switches)?;
        policy.check().map_err(tool::Error::bad_args)?;
        let text = |e: serde_json::Error| tool::Error::failed(format!("the policy could not be written: {e}"));
        let stored = Stored {
            policy: serde_json::to_string(&policy).map_err(text)?,
            groups: serde_json::to_string(&switches).map_err(text)?,
        };
        let records = self.records.clone();
        let write = move |tx: &store::Tx| match records.read(tx, Scope::Household, ONE)? {
            None => records.put(tx, ONE, &Stamp::household("policy"), &stored).map(drop),
            Some(_) => {
                let set = &mut |s: &mut Stored| {
                    s.clone_from(&stored);
                    Ok(())
                };
                records.change(tx, Scope::Household, Label::Own, ONE, set).map(drop)
            }
        };
        self.records.store().write(write).await?;
        *self.now() = (policy, switches);
        Ok(())
    }
}
