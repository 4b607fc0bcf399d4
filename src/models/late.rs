//! Reflex, made when it is first needed: the sentences it knows take some megabytes, and where a model answers they may
//! never be asked for.

use super::ModelDeps;
use futures::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use llm::{Confidence, Delta, Error, Facts, Provider, Request};
use reflex::Reflex;
use std::sync::{Arc, OnceLock};

type Make = Box<dyn Fn() -> Option<Reflex> + Send + Sync>;

/// What it says before it is made, it says of itself anyway.
struct Late {
    make: Make,
    made: OnceLock<Option<Reflex>>,
}

/// Reflex over the phrases of all families.
pub(super) fn reflex(minds: &ModelDeps) -> Arc<dyn Provider> {
    let (registry, embedder, clock) = (minds.registry.clone(), minds.embedder.clone(), minds.clock.clone());
    let make: Make = Box::new(move || {
        let tools = registry.clone();
        let risk = move |name: &str| tools.get(name).filter(|t| t.enabled).map(|t| t.risk);
        let made = Reflex::new(&registry.phrases(), risk, embedder.clone(), clock.clone());
        made.inspect_err(|error| tracing::error!(%error, "reflex cannot begin")).ok()
    });
    Arc::new(Late { make, made: OnceLock::new() })
}

impl Late {
    fn get(&self) -> Option<&Reflex> {
        self.made.get_or_init(|| (self.make)()).as_ref()
    }
}

impl Provider for Late {
    fn model(&self) -> String {
        "reflex".to_owned()
    }
    fn acts_by_word(&self) -> bool {
        true
    }
    fn reads_context(&self) -> bool {
        false
    }
    fn facts(&self) -> Facts {
        Facts { images: false, ..Facts::default() }
    }
    fn would_answer(&self, request: &Request, surety: Confidence) -> BoxFuture<'static, bool> {
        match self.get() {
            Some(reflex) => reflex.would_answer(request, surety),
            None => async { false }.boxed(),
        }
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        match self.get() {
            Some(reflex) => reflex.stream(request),
            None => stream::once(async { Err(Error::Refused("reflex cannot begin: the log has more".into())) }).boxed(),
        }
    }
}
