//! Model servers that do not answer: who, since when, and when they are back.
//!
//! Failures of real requests begin a trouble (`llm::Health`). Only then is the server's list of models asked for from
//! time to time, less and less often, until it answers. While all is well nothing is asked.

use crate::{Inner, Models, provider_of, views::ModelTrouble};
use futures::future::join_all;
use llm::Problem;
use serde::Serialize;
use std::{
    sync::{Weak, atomic::Ordering},
    time::Duration,
};
use tool::prelude::{JsonSchema, schemars};

/// The longest pause between two looks.
const LONGEST: Duration = Duration::from_secs(15 * 60);
/// How long a look may take.
const LOOK: Duration = Duration::from_secs(10);

/// The outcome of a check of one model's server.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ModelCheck {
    /// As `provider/model`.
    pub model: String,
    /// Whether its server answers, and takes the key.
    pub ok: bool,
    /// The outcome, in a sentence.
    pub message: String,
}

impl Models {
    /// The models that are asked, in order.
    fn asked(&self) -> Vec<String> {
        let (first, _) = self.first_model();
        let others = self.fallback().into_iter().filter(|other| *other != first);
        Some(first.clone()).filter(|first| !first.is_empty()).into_iter().chain(others).collect()
    }

    /// The models that do not answer, in the order in which they are asked.
    pub fn troubles(&self) -> Vec<ModelTrouble> {
        let view = |trouble: llm::Outage| {
            let provider = provider_of(&trouble.model).and_then(llm::preset);
            let view = provider.map(|preset| self.provider_view(preset));
            ModelTrouble {
                // "Another server" is the name of a choice, and not of a server.
                provider: view.as_ref().filter(|v| v.id != "custom").map_or("The model server", |v| &v.name).to_owned(),
                url: view.as_ref().map(|view| view.url.clone()).unwrap_or_default(),
                local: view.is_some_and(|view| view.local),
                model: trouble.model,
                problem: trouble.problem,
                message: trouble.message,
                since: trouble.since_ms,
            }
        };
        self.asked().iter().filter_map(|model| self.0.health.outage(model)).map(view).collect()
    }

    /// Sets the receiver of the model whose trouble begins, changes or ends, and the looks at those in trouble.
    pub fn on_trouble(&self, receive: impl Fn(&str) + Send + Sync + 'static) {
        let inner = std::sync::Arc::downgrade(&self.0);
        self.0.health.on_change(move |model| {
            receive(model);
            if let Some(inner) = inner.upgrade() {
                Models(inner).look_later();
            }
        });
    }

    /// Checks the servers of all models that are asked, and remembers the outcome.
    pub async fn check(&self) -> Vec<ModelCheck> {
        join_all(self.asked().into_iter().map(|model| self.check_one(model))).await
    }

    async fn check_one(&self, model: String) -> ModelCheck {
        let failed = |message| ModelCheck { model: model.clone(), ok: false, message };
        let endpoint = match self.endpoint(&model, &Default::default()) {
            Ok(endpoint) => endpoint,
            Err(error) => return failed(error.message().to_owned()),
        };
        match llm::models_within(&endpoint, LOOK).await {
            Err(error) if !matches!(Problem::of(&error), Problem::Refused | Problem::Busy) => {
                self.0.health.unavailable(&model, &error);
                failed(error.to_string())
            }
            answer => {
                let trouble = self.0.health.outage(&model);
                if trouble.as_ref().is_none_or(|trouble| trouble.problem.ends_with_a_list()) {
                    self.0.health.recovered(&model);
                } else if let Some(trouble) = trouble {
                    return failed(trouble.message);
                }
                let is_local = llm::preset(&endpoint.provider).is_some_and(|preset| preset.local);
                match answer {
                    Ok(models) if is_local && !offers(&models, &endpoint.model) => {
                        let (server, name) = (&endpoint.provider, &endpoint.model);
                        failed(format!("the model server `{server}` answers, and has no model `{name}`: load it there"))
                    }
                    _ => ModelCheck { model, ok: true, message: "it answers".to_owned() },
                }
            }
        }
    }

    /// A provider with another key or address starts with no outage.
    pub(crate) fn forget_troubles(&self, provider: &str) {
        let of = |model: &&String| provider_of(model).and_then(llm::preset).is_some_and(|p| p.id == provider);
        self.asked().iter().filter(of).for_each(|model| self.0.health.recovered(model));
    }

    /// Looks at the models in trouble until there are none.
    fn look_later(&self) {
        let is_first = !self.0.looking.swap(true, Ordering::AcqRel);
        if is_first && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(look(std::sync::Arc::downgrade(&self.0), self.0.config.recheck()));
        }
    }
}

/// Whether a list has a model; Ollama leaves out the tag of the newest.
fn offers(models: &[String], name: &str) -> bool {
    models.iter().any(|one| one == name || one.strip_suffix(":latest") == Some(name))
}

async fn look(inner: Weak<Inner>, first: Duration) {
    let mut pause = first;
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LONGEST);
        let Some(models) = inner.upgrade().map(Models) else { return };
        let is_to_look =
            |model: &String| models.0.health.outage(model).is_some_and(|trouble| trouble.problem.ends_with_a_list());
        let troubled: Vec<String> = models.asked().into_iter().filter(is_to_look).collect();
        join_all(troubled.into_iter().map(|model| models.check_one(model))).await;
        if !models.asked().iter().any(is_to_look) {
            models.0.looking.store(false, Ordering::Release);
            // A trouble may have begun since.
            if !models.asked().iter().any(is_to_look) || models.0.looking.swap(true, Ordering::AcqRel) {
                return;
            }
            pause = first;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_a_model_has_no_tag() {
        let models = ["qwen3:latest".to_owned(), "llama3.2:3b".to_owned()];
        assert!(offers(&models, "qwen3") && offers(&models, "llama3.2:3b") && offers(&models, "qwen3:latest"));
        assert!(!offers(&models, "llama3.2"));
    }
}
