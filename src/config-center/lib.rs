//! The Config Center: external services with typed fields, several entries and encrypted secrets.
//!
//! A service comes from a person, from tools that require it, or from hob.toml. Entries are household records. Their
//! secrets are encrypted separately, bound to service and label, and write-only: only the host reads them, to insert
//! them into requests ([`tool::Settings`]). The schema marks the secret fields. Requirements of tools are not stored;
//! tools register them at each start.

mod schema;
mod service;
mod state;
#[cfg(test)]
mod tests;

pub use schema::{Field, Kind, Origin, hosts, origin};
pub use service::{DEFAULT, Definition, Entry, EntryPatch, NewEntry, Required, Service};

use schema::EntryValues;
use serde_json::{Map, Value, json};
use service::{EntryRecord, ServiceRecord, Stored, check_label, check_name, sealed_name};
use state::{Need, State};
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard},
};
use store::{Collection, Listing, Stamp, Store};
use tokio::sync::OwnedMutexGuard;
use tool::{Bus, Cx, Error, Label, Result, Scope};

/// The maximum number of services, and of entries per service.
const SERVICES: usize = 200;
const ENTRIES: usize = 50;

type Listener = Arc<dyn Fn() + Send + Sync>;

/// The services of the household; cheap to clone.
#[derive(Clone)]
pub struct ConfigCenter(Arc<Inner>);

struct Inner {
    records: Collection<Stored>,
    bus: Bus,
    state: RwLock<State>,
    /// Held from reading the state until the resulting write.
    changing: Arc<tokio::sync::Mutex<()>>,
    listeners: Mutex<Vec<Listener>>,
}

impl ConfigCenter {
    /// Open the services in `store` together with those of hob.toml: `[services]`, one table each.
    ///
    /// # Errors
    /// `Failed` when the data cannot be read.
    pub fn open(store: &Store, file: BTreeMap<String, Map<String, Value>>, bus: Bus) -> Result<Self> {
        let records = store.collection::<Stored>();
        let mut stored = BTreeMap::new();
        for entry in records.list_in(Scope::Household, &Listing::default())? {
            let service = entry.value.name.clone();
            let secrets = |label: &str| unseal(store, &service, label);
            match ServiceRecord::of(entry.id, entry.label, entry.value, secrets) {
                Ok((name, service)) => drop(stored.insert(name, service)),
                Err(error) => tracing::warn!(%service, %error, "a service cannot be read and is skipped"),
            }
        }
        let state = RwLock::new(State { stored, needs: BTreeMap::new(), file });
        Ok(Self(Arc::new(Inner { records, bus, state, changing: Arc::default(), listeners: Mutex::default() })))
    }

    /// All services by name, without their secrets.
    pub fn services(&self) -> Vec<Service> {
        let state = self.state();
        state.names().iter().filter_map(|name| state.service(name)).collect()
    }

    /// One service, without its secrets.
    pub fn service(&self, name: &str) -> Option<Service> {
        self.state().service(name)
    }

    /// Create a service or update its definition. Existing entries must fit a new schema.
    ///
    /// # Errors
    /// `BadArgs` when the definition is invalid, an entry does not fit, or there are too many services.
    pub async fn define(&self, cx: &Cx, name: &str, new: Definition) -> Result<Service> {
        check_name(name)?;
        let changing = self.0.changing.clone().lock_owned().await;
        let mut record = self.to_record(name)?;
        record.origin = Origin::Person;
        record.about.change(&new);
        record.about.check()?;
        record.multi_entry = new.multi_entry.unwrap_or(record.multi_entry);
        if !record.multi_entry && record.entries.len() > 1 {
            let count = record.entries.len();
            return Err(Error::bad_args(format!("`{name}` has {count} entries: remove all but one first")));
        }
        if let Some(schema) = new.schema {
            record.schema = schema::checked_schema(schema)?;
            for entry in &mut record.entries {
                entry.parts = entry.parts.with_schema(&record.schema, &entry.label)?;
            }
        }
        self.save(cx, changing, name, Some(record)).await
    }

    /// Remove a service with all its entries. Definitions from hob.toml and tools stay.
    ///
    /// # Errors
    /// `NotFound`; `Denied` when only hob.toml or tools define it.
    pub async fn remove(&self, cx: &Cx, name: &str) -> Result<()> {
        let changing = self.0.changing.clone().lock_owned().await;
        let service = self.service(name).ok_or_else(|| self.no_such(name))?;
        if !self.state().stored.contains_key(name) {
            return Err(Error::denied(match service.from {
                Origin::File => format!("`{name}` comes from hob.toml: remove [services.{name}] there"),
                _ => format!("`{name}` is removed when no tool requires it any more"),
            }));
        }
        match self.save(cx, changing, name, None).await {
            Err(Error::NotFound(_)) | Ok(_) => Ok(()),
            Err(other) => Err(other),
        }
    }

    /// Add an entry.
    ///
    /// # Errors
    /// `NotFound` when there is no such service; `BadArgs` when the entry does not fit or its label is taken.
    pub async fn add_entry(&self, cx: &Cx, name: &str, new: NewEntry) -> Result<Service> {
        let changing = self.0.changing.clone().lock_owned().await;
        self.service(name).ok_or_else(|| self.no_such(name))?;
        check_name(name)?;
        let (label, mut record) = (check_label(&new.label)?, self.to_record(name)?);
        if record.entries.iter().any(|e| e.label == label) {
            return Err(Error::bad_args(format!(
                "`{name}` has an entry `{label}` already: change it, or choose another label"
            )));
        }
        if let (false, [only, ..]) = (record.multi_entry, &record.entries[..]) {
            let only = &only.label;
            return Err(Error::bad_args(format!(
                "`{name}` has one entry, `{only}`, and may not have more: change that one"
            )));
        }
        if record.entries.len() >= ENTRIES {
            return Err(Error::bad_args(format!("`{name}` has {ENTRIES} entries, the maximum: remove one first")));
        }
        let parts = EntryValues::new(&record.schema, &new.fields)?;
        let at = if new.default { 0 } else { record.entries.len() };
        record.entries.insert(at, EntryRecord { label, parts });
        self.save(cx, changing, name, Some(record)).await
    }

    /// Update an entry. An omitted secret stays and gains no new destination.
    ///
    /// # Errors
    /// `NotFound`; `Denied` for an entry of hob.toml; `BadArgs` when the result does not fit.
    pub async fn change_entry(&self, cx: &Cx, name: &str, label: &str, patch: EntryPatch) -> Result<Service> {
        let changing = self.0.changing.clone().lock_owned().await;
        let (mut record, at) = self.own_entry(name, label)?;
        let to = patch.label.as_deref().map(check_label).transpose()?.unwrap_or_else(|| label.to_owned());
        if to != label && record.entries.iter().any(|e| e.label == to) {
            return Err(Error::bad_args(format!("`{name}` has an entry `{to}` already: choose another label")));
        }
        let parts = record.entries[at].parts.patched(&record.schema, &patch.fields)?;
        record.entries[at] = EntryRecord { label: to, parts };
        if patch.default {
            record.entries[..=at].rotate_right(1);
        }
        self.save(cx, changing, name, Some(record)).await
    }

    /// Remove an entry; the next one becomes the default. A service that was stored only for its entries is removed
    /// with the last one. Returns the service afterwards.
    ///
    /// # Errors
    /// `NotFound`; `Denied` for an entry of hob.toml.
    pub async fn remove_entry(&self, cx: &Cx, name: &str, label: &str) -> Result<Service> {
        let changing = self.0.changing.clone().lock_owned().await;
        let (mut record, at) = self.own_entry(name, label)?;
        record.entries.remove(at);
        if !record.entries.is_empty() || record.origin == Origin::Person {
            return self.save(cx, changing, name, Some(record)).await;
        }
        let left = self.service(name).map(|service| Service { entries: vec![], ..service });
        match (self.save(cx, changing, name, None).await, left) {
            (Err(Error::NotFound(_)), Some(left)) => Ok(left),
            (other, _) => other,
        }
    }

    /// Register the services that a tool requires, replacing its earlier ones. `tool` is its stable id, and `label`
    /// the label of its author's text. New services exist until the last tool that requires them is removed.
    ///
    /// # Errors
    /// `BadArgs` when there would be too many services; then nothing changes.
    pub fn register(&self, tool: &str, tool_name: &str, label: Label, needs: Vec<Required>) -> Result<()> {
        let need = Need { tool_name: tool_name.to_owned(), label, services: needs };
        let touched = {
            let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
            let new = need.services.iter().filter(|s| !state.has(&s.name)).count();
            if new > 0 && state.names().len() + new > SERVICES {
                return Err(too_many());
            }
            let mut touched: BTreeSet<String> = need.services.iter().map(|s| s.name.clone()).collect();
            let old = match need.services.is_empty() {
                true => state.needs.remove(tool),
                false => state.needs.insert(tool.to_owned(), need),
            };
            touched.extend(old.into_iter().flat_map(|need| need.services).map(|s| s.name));
            touched
        };
        touched.iter().for_each(|service| self.publish_change(service));
        Ok(())
    }

    /// Remove a tool and the services that only it required.
    pub fn unregister(&self, tool: &str) {
        // An empty list never fails.
        let _ = self.register(tool, "", Label::Own, vec![]);
    }

    /// Every secret value, including those of hob.toml, for the scrubber.
    pub fn secrets(&self) -> Vec<String> {
        self.state().secrets()
    }

    /// Call `f` after each change. It must not change the Config Center itself.
    pub fn on_change(&self, f: impl Fn() + Send + Sync + 'static) {
        self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::new(f));
    }

    fn state(&self) -> RwLockReadGuard<'_, State> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The record of a service, current or new, with all fields that tools require.
    fn to_record(&self, name: &str) -> Result<ServiceRecord> {
        let state = self.state();
        if !state.has(name) && state.names().len() >= SERVICES {
            return Err(too_many());
        }
        Ok(state.to_record(name))
    }

    /// A service and the index of an entry that a person created.
    fn own_entry(&self, name: &str, label: &str) -> Result<(ServiceRecord, usize)> {
        let service = self.service(name).ok_or_else(|| self.no_such(name))?;
        let record = self.to_record(name)?;
        if let Some(at) = record.entries.iter().position(|e| e.label == label) {
            return Ok((record, at));
        }
        if service.entries.iter().any(|e| e.label == label) {
            return Err(Error::denied(format!(
                "the entry `{label}` of `{name}` comes from hob.toml: change it there, or add one of the same label, which wins"
            )));
        }
        let label: String = label.chars().take(80).collect();
        Err(Error::not_found(format!("`{name}` has no entry `{label}`")))
    }

    fn no_such(&self, name: &str) -> Error {
        let (name, known): (String, _) = (name.chars().take(80).collect(), self.state().names());
        let known: Vec<&str> = known.iter().map(String::as_str).take(20).collect();
        Error::not_found(match known.is_empty() {
            true => format!("there is no service `{name}`: an admin can define it"),
            false => {
                format!("there is no service `{name}`: there are {}; an admin can define others", known.join(", "))
            }
        })
    }

    /// Write a service and its secrets in one commit and publish it. Both complete even if the caller disconnects.
    /// Returns the service afterwards; `NotFound` when it was removed.
    async fn save(
        &self,
        cx: &Cx,
        changing: OwnedMutexGuard<()>,
        name: &str,
        new: Option<ServiceRecord>,
    ) -> Result<Service> {
        let (this, name) = (self.clone(), name.to_owned());
        let stamp = Stamp { owner: cx.user(), label: cx.label(), ..Stamp::household("config") };
        let work = async move {
            let _changing = changing;
            this.write(stamp, &name, new).await?;
            this.publish_change(&name);
            this.service(&name).ok_or_else(|| this.no_such(&name))
        };
        tokio::spawn(work).await.unwrap_or_else(|_| Err(Error::failed("the change was interrupted: check its result")))
    }

    async fn write(&self, mut stamp: Stamp, name: &str, mut new: Option<ServiceRecord>) -> Result<()> {
        let old = self.state().stored.get(name).cloned();
        let sealed_of = |record: &Option<ServiceRecord>| {
            record.as_ref().map(|k| k.sealed(name)).transpose().map(Option::unwrap_or_default)
        };
        let (was, is) = (sealed_of(&old)?, sealed_of(&new)?);
        let gone = was.keys().filter(|at| !is.contains_key(*at)).map(|at| (at.clone(), None)).collect::<Vec<_>>();
        // Also clear names without secrets, such as leftovers of a restored backup.
        let changed = is.iter().filter(|(at, text)| text.is_none() || was.get(*at) != Some(*text));
        let sealed: Vec<_> = changed.map(|(at, text)| (at.clone(), text.clone())).chain(gone).collect();

        let (records, existing) = (self.0.records.clone(), old.as_ref().map(|old| old.id));
        let record = new.as_ref().map(|new| new.stored(name)).transpose()?;
        let id = existing.or(new.as_ref().map(|new| new.id));
        stamp.label = stamp.label.max(new.as_ref().map(|new| new.label).unwrap_or_default());
        let label = stamp.label;
        let job = move |tx: &store::Tx| {
            match (existing, id, &record) {
                (Some(id), _, Some(record)) => {
                    let replace = &mut |stored: &mut Stored| {
                        stored.clone_from(record);
                        Ok(())
                    };
                    records.change(tx, stamp.scope, label, id, replace)?;
                }
                (None, Some(id), Some(record)) => drop(records.put(tx, id, &stamp, record)?),
                (Some(id), _, None) => drop(records.remove(tx, stamp.scope, id)?),
                _ => {}
            }
            for (at, text) in &sealed {
                records.store().seal_in(tx, at, text.as_deref())?;
            }
            Ok(())
        };
        self.0.records.store().write(job).await?;

        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        match new.take() {
            Some(mut new) => {
                new.label = label;
                state.stored.insert(name.to_owned(), new);
            }
            None => drop(state.stored.remove(name)),
        }
        Ok(())
    }

    /// Publish that a service changed, without its content.
    fn publish_change(&self, service: &str) {
        let listeners = self.0.listeners.lock().unwrap_or_else(PoisonError::into_inner).clone();
        listeners.iter().for_each(|f| f());
        self.0.bus.publish("config:changed", None, json!({"service": service}));
    }
}

fn too_many() -> Error {
    Error::bad_args(format!("there are {SERVICES} services, the maximum: remove one first"))
}

/// Decrypt the secrets of an entry. Secrets of another device, as after a restore, count as none.
fn unseal(store: &Store, service: &str, label: &str) -> Result<Option<Vec<u8>>> {
    match store.unseal(&sealed_name(service, label)) {
        Err(store::Error::Damaged(why)) => {
            tracing::warn!(service, "the secrets of a service are lost: {why}");
            Ok(None)
        }
        other => Ok(other?),
    }
}

impl tool::Settings for ConfigCenter {
    fn services(&self) -> Vec<String> {
        let state = self.state();
        state.names().into_iter().filter(|name| !state.entries(name).is_empty()).collect()
    }
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
        self.state().entries(service)
    }
    fn is_secret(&self, service: &str, field: &str) -> bool {
        self.state().is_secret(service, field)
    }
}
