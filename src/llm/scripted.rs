//! A scripted provider, for tests.

use crate::{Confidence, Delta, Error, Facts, Provider, ProviderState, Request, Usage};
use futures::{
    StreamExt,
    future::BoxFuture,
    stream::{self, BoxStream},
};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

pub(crate) type Said = Result<Delta, Error>;

/// Answers one script entry per request after a delay, and repeats the last one. Counts requests.
#[derive(Default)]
pub(crate) struct Script {
    pub name: &'static str,
    pub facts: Facts,
    pub answers: Mutex<VecDeque<Vec<Said>>>,
    pub asked: Mutex<Vec<Request>>,
    pub takes: Duration,
    /// Whether it is sure, and whether it understood.
    pub confidence: (bool, bool),
    pub by_word: bool,
}

impl Script {
    pub fn new(name: &'static str, answers: impl IntoIterator<Item = Vec<Said>>) -> Self {
        Self { name, answers: Mutex::new(answers.into_iter().collect()), ..Self::default() }
    }
    pub fn asked(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
    pub fn shared(self) -> Arc<Self> {
        Arc::new(self)
    }
}

impl Provider for Script {
    fn model(&self) -> String {
        self.name.into()
    }
    fn acts_by_word(&self) -> bool {
        self.by_word
    }
    fn facts(&self) -> Facts {
        self.facts
    }
    fn would_answer(&self, _: &Request, confidence: Confidence) -> BoxFuture<'static, bool> {
        let (sure, understood) = self.confidence;
        Box::pin(async move { if confidence == Confidence::Sure { sure } else { understood } })
    }
    fn stream(&self, request: Request) -> BoxStream<'static, Said> {
        self.asked.lock().unwrap().push(request);
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        let takes = self.takes;
        let wait = async move { tokio::time::sleep(takes).await };
        stream::once(wait).flat_map(move |()| stream::iter(answer.clone().unwrap_or_default())).boxed()
    }
}

pub(crate) fn text(text: &str) -> Said {
    Ok(Delta::Text(text.into()))
}

pub(crate) fn keep(provider: &str) -> Said {
    Ok(Delta::Keep(ProviderState { provider: provider.into(), value: serde_json::Value::Null }))
}

pub(crate) fn done(read: u64, written: u64) -> Said {
    let usage = Usage {
        prompt_tokens: read,
        completion_tokens: written,
        total_tokens: read + written,
        cached_tokens: 0,
        micros: None,
        written_to_cache: 0,
    };
    Ok(Delta::Done { cut: false, usage })
}
