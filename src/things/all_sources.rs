//! The things of all sources, and the snapshot of the home made of them.

use crate::{
    Address, Command, Home, PlannedCall, Source, Thing,
    home::index::{Fingerprint, Index},
    notes::Notes,
};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use store::Store;
use tokio::sync::Notify;
use tool::Result;

/// The things of all sources; cheap to clone.
#[derive(Clone, Default)]
pub struct Things(Arc<Inner>);

#[derive(Default)]
struct Inner {
    sources: RwLock<Vec<Arc<dyn Source>>>,
    notes: Option<Notes>,
    last: Mutex<Option<Cached>>,
    changed: Arc<Notify>,
}

struct Cached {
    home: Arc<Home>,
    /// The version of the store that its notes are of.
    notes: Option<u64>,
    fingerprint: Fingerprint,
}

impl Things {
    /// Without sources, with the household's notes in a store.
    pub fn new(store: &Store) -> Self {
        Self(Arc::new(Inner { notes: Some(Notes::new(store)), ..Inner::default() }))
    }

    /// Adds a source. The assembly does this once for each.
    pub fn add(&self, source: Arc<dyn Source>) {
        self.0.sources.write().unwrap_or_else(PoisonError::into_inner).push(source);
        self.changed();
    }

    /// The household's notes.
    pub fn notes(&self) -> Option<&Notes> {
        self.0.notes.as_ref()
    }

    /// A source may say that one of its things changed, so that nobody waits for the next look.
    pub fn changed(&self) {
        self.0.changed.notify_one();
    }

    pub(crate) fn when_changed(&self) -> Arc<Notify> {
        self.0.changed.clone()
    }

    /// The home as it is now. The index is built anew only where a name, an alias, an area or a kind changed; states alone
    /// cost one look at what the sources list.
    pub fn home(&self) -> Arc<Home> {
        let sources = self.sources();
        let lists: Vec<Arc<[Thing]>> = sources.iter().map(|source| source.things()).collect();
        let version = self.0.notes.as_ref().map(Notes::version);
        let mut last = self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(cached) = last.as_mut().filter(|cached| cached.notes == version) {
            if cached.home.is_of(&lists) {
                return cached.home.clone();
            }
            let areas: Vec<_> = sources.iter().flat_map(|source| source.areas()).collect();
            let fingerprint = Fingerprint::of(&lists, &areas);
            if cached.fingerprint == fingerprint {
                cached.home = Arc::new(cached.home.with_states(lists));
                return cached.home.clone();
            }
        }
        let notes = self.0.notes.as_ref().map(Notes::all).transpose().unwrap_or_else(|error| {
            tracing::warn!(%error, "the household's notes about things cannot be read");
            None
        });
        let (things, rooms) = notes.unwrap_or_default();
        let areas: Vec<_> = sources.iter().flat_map(|source| source.areas()).collect();
        let fingerprint = Fingerprint::of(&lists, &areas);
        let index = Arc::new(Index::new(&lists, &areas, &things, &rooms));
        let home = Arc::new(Home::new(index, lists));
        *last = Some(Cached { home: home.clone(), notes: version, fingerprint });
        home
    }

    /// All things, in the order of the sources, with the household's names; those it hides are left out.
    pub fn all(&self) -> Vec<Thing> {
        let home = self.home();
        (0..home.len()).filter(|at| !home.get(*at).hidden).map(|at| home.thing(at)).collect()
    }

    /// The thing at an address, as it is now.
    pub fn get(&self, address: &Address) -> Option<Thing> {
        let home = self.home();
        home.at(address).map(|at| home.thing(at))
    }

    /// The call that carries out a command; `None` where the source of the thing is not here. The source gets the thing as
    /// it lists it, whatever kind the household noted.
    pub fn plan(&self, thing: &Thing, command: &Command) -> Option<Result<PlannedCall>> {
        let sources = self.sources();
        let source = sources.iter().find(|source| source.id() == thing.address.source)?;
        let own = source.thing(&thing.address);
        Some(source.plan(own.as_ref().unwrap_or(thing), command))
    }

    fn sources(&self) -> Vec<Arc<dyn Source>> {
        self.0.sources.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
