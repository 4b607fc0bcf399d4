//! Reflex, built on first use: its phrases take some megabytes, and where a model answers they may never be needed.

use crate::{Error as ReflexError, Reflex};
use futures::{
    FutureExt, StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use llm::{Confidence, Delta, Error, Facts, Provider, Request};
use std::sync::{Arc, OnceLock};

type Build = Box<dyn Fn() -> Result<Reflex, ReflexError> + Send + Sync>;

struct LazyReflex {
    build: Build,
    built: OnceLock<Option<Reflex>>,
}

/// A provider that builds Reflex on first use.
pub fn lazy(build: impl Fn() -> Result<Reflex, ReflexError> + Send + Sync + 'static) -> Arc<dyn Provider> {
    Arc::new(LazyReflex { build: Box::new(build), built: OnceLock::new() })
}

impl LazyReflex {
    fn get(&self) -> Option<&Reflex> {
        let build = || (self.build)().inspect_err(|error| tracing::error!(%error, "reflex cannot start")).ok();
        self.built.get_or_init(build).as_ref()
    }
}

impl Provider for LazyReflex {
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
    fn would_answer(&self, request: &Request, confidence: Confidence) -> BoxFuture<'static, bool> {
        match self.get() {
            Some(reflex) => reflex.would_answer(request, confidence),
            None => async { false }.boxed(),
        }
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        match self.get() {
            Some(reflex) => reflex.stream(request),
            None => stream::once(async { Err(Error::Refused("reflex cannot start: the log has more".into())) }).boxed(),
        }
    }
}
