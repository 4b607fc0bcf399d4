//! Callbacks by run: whoever follows a run hears what it asks and says while it waits.

use crate::lock;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use tool::Id;

type Callbacks<E> = Mutex<HashMap<Id, Arc<dyn Fn(&E) + Send + Sync>>>;

/// At most one callback a run. Cheap to clone.
pub struct Listeners<E: ?Sized>(Arc<Callbacks<E>>);

impl<E: ?Sized> Clone for Listeners<E> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<E: ?Sized> Default for Listeners<E> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<E: ?Sized> Listeners<E> {
    /// Calls `hear` with every event of the run until the guard is dropped.
    pub fn watch(&self, run: Id, hear: impl Fn(&E) + Send + Sync + 'static) -> Listening<E> {
        lock(&self.0).insert(run, Arc::new(hear));
        Listening(self.clone(), run)
    }

    /// Passes an event to whoever follows the run.
    pub fn notify(&self, run: Option<Id>, event: &E) {
        let hear = run.and_then(|run| lock(&self.0).get(&run).cloned());
        if let Some(hear) = hear {
            hear(event);
        }
    }
}

/// Removes the callback of a run when dropped.
pub struct Listening<E: ?Sized>(Listeners<E>, Id);

impl<E: ?Sized> Drop for Listening<E> {
    fn drop(&mut self) {
        lock(&self.0.0).remove(&self.1);
    }
}
