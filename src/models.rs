//! Which models answer: where each is and whose key opens it, in what order they stand in for each other, and what was spent.
//!
//! What an admin chooses at the page wins over hob.toml, and the environment over both.

mod automatic;
mod late;
mod places;

use crate::{
    config::Config,
    runtime_settings::{Choices, Terms},
};
use agent::Agent;
use api::{
    Fresh, From, Known, ModelChoice, ModelInUse, ModelTerms, Provider as Shown, ProviderChange, Spent, Today, Tried,
};
use embed::Embedder;
use futures::{FutureExt, future::BoxFuture};
use http_client::{Fetch, Guarded};
use llm::{Catalogue, Chain, Endpoint, Facts, Health, Ledger, Link, Metered, Price, Provider, Strategy};
use places::{Keys, good_change, good_url, kept_keys, nobody, provider_of};
use registry::Registry;
use scrub::Scrubber;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Clock, Error, Id, Result, Scope};

/// The record with what was fetched: there is one.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 4]);
/// How many models may stand in.
const STAND_IN: usize = 8;
/// Where facts about models are to be had.
const CATALOGUE: &str = "https://models.dev/api.json";
/// The largest budget that is one, in US dollars.
const BUDGET: f64 = 100_000.0;

/// Facts about models that were fetched or given. New fields go last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct StoredCatalogue {
    source: String,
    /// Milliseconds since 1970.
    at: u64,
    /// The catalogue as JSON text.
    catalogue: String,
}

impl Record for StoredCatalogue {
    const NAME: &'static str = "model-catalogue";
    const WORD: &'static str = "catalogue of models";
    const LEVEL: Level = Level::Household;
}

/// What models are made of.
pub struct ModelDeps {
    pub registry: Registry,
    pub embedder: Embedder,
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub scrubber: Scrubber,
    pub ledger: Arc<Ledger>,
    pub web: Guarded,
    pub environment: Environment,
}

/// The models of this device.
pub struct Models {
    config: Config,
    minds: ModelDeps,
    choices: Choices,
    keys: Mutex<Keys>,
    kept: Collection<StoredCatalogue>,
    /// What is known of models, and where from and since when.
    catalogue: RwLock<(Catalogue, StoredCatalogue)>,
    /// One choice at a time.
    choosing: tokio::sync::Mutex<()>,
    agent: OnceLock<Agent>,
    /// What was seen of the models, whichever chain they are in.
    health: Arc<Health>,
    reflex: Arc<dyn Provider>,
}

/// What the environment says of a name.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of this process.
pub fn environment() -> Environment {
    Arc::new(|name| std::env::var(name).ok())
}

impl Models {
    /// The models over what was chosen before, and the provider they come to.
    pub fn new(config: Config, minds: ModelDeps, choices: Choices) -> anyhow::Result<(Arc<Self>, Arc<dyn Provider>)> {
        let keys = Mutex::new(kept_keys(&minds.store)?);
        let kept: Collection<StoredCatalogue> = minds.store.collection();
        let catalogue = RwLock::new(kept_catalogue(&kept));
        let (choosing, agent) = (tokio::sync::Mutex::default(), OnceLock::new());
        let (health, reflex) = (Arc::default(), late::reflex(&minds));
        let models = Self { config, minds, choices, keys, kept, catalogue, choosing, agent, health, reflex };
        models.learn_keys();
        models.minds.ledger.set_budget(models.budget());
        let provider = match models.mind() {
            Ok(provider) => provider,
            // What was chosen at the page made sense then; it must not keep the device from starting.
            Err(error) if !models.choices.now().model.is_empty() && !models.by_environment() => {
                tracing::warn!("the model that was chosen cannot be used: {error}");
                models.reflex.clone()
            }
            Err(error) => anyhow::bail!("{error}"),
        };
        Ok((Arc::new(models), provider))
    }

    fn env(&self, name: &str) -> Option<String> {
        let value = (self.minds.environment)(name)?.trim().to_owned();
        Some(value).filter(|v| !name.is_empty() && !v.is_empty())
    }

    /// Whether the environment decides which model answers.
    fn by_environment(&self) -> bool {
        ["HOB_MODEL", "HOB_LLM_URL"].iter().any(|name| self.env(name).is_some())
    }

    /// Whom to tell of another model.
    pub fn tell(&self, agent: Agent) {
        let _ = self.agent.set(agent);
    }

    fn keys(&self) -> Keys {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn catalogue(&self) -> Catalogue {
        self.catalogue.read().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    fn terms(&self) -> Terms {
        self.choices.now().terms()
    }

    fn budget(&self) -> Option<f64> {
        let file = self.config.model.daily_budget;
        Some(self.terms().daily_budget.unwrap_or(file)).filter(|budget| *budget > 0.0)
    }

    fn strategy(&self) -> Strategy {
        self.terms().strategy.unwrap_or(self.config.model.strategy)
    }

    fn prefer_reflex(&self) -> bool {
        self.terms().prefer_reflex.unwrap_or(self.config.model.prefer_reflex)
    }

    /// The model that answers first, empty for reflex, and by whom that was decided.
    fn decided(&self) -> (String, From) {
        let chosen = self.choices.now().model;
        let (model, from) = match (self.env("HOB_MODEL"), chosen.is_empty(), self.config.model.name.as_str()) {
            (Some(model), ..) => (model, From::Environment),
            (None, false, _) => (chosen, From::Page),
            (None, true, "") => self.by_key().map_or((String::new(), From::BuiltIn), |model| (model, From::Key)),
            (None, true, file) => (file.to_owned(), From::File),
        };
        (if model == "reflex" { String::new() } else { model }, from)
    }

    /// What answers: the chosen model with those that stand in, and reflex last.
    fn mind(&self) -> Result<Arc<dyn Provider>> {
        let (reflex, (model, from)) = (self.reflex.clone(), self.decided());
        let nobody_chose = matches!(from, From::BuiltIn | From::Key) || model.is_empty() && from == From::File;
        if nobody_chose && self.env("HOB_LLM_URL").is_some() {
            let text = "HOB_LLM_URL is set and HOB_MODEL is not: say which model with HOB_MODEL=custom/NAME";
            return Err(Error::bad_args(text));
        }
        if model.is_empty() {
            return Ok(reflex);
        }
        // Where another stands in, it need not be waited for long.
        let fallback: Vec<String> = self.fallback().into_iter().filter(|other| *other != model).collect();
        let mut links = vec![self.link(&model, !fallback.is_empty())?];
        for (n, model) in fallback.iter().enumerate() {
            match self.link(model, n + 1 < fallback.len()) {
                Ok(link) => links.push(link),
                Err(error) => tracing::warn!("`{model}` cannot stand in: {error}"),
            }
        }
        let chain = Chain::new(links, reflex, self.prefer_reflex());
        Ok(Arc::new(chain.strategy(self.strategy()).health(self.health.clone())))
    }

    /// One model of the chain: asked in its format, within its context, and paid for.
    fn link(&self, model: &str, another_stands_in: bool) -> Result<Link> {
        let mut endpoint = self.endpoint(model, &ProviderChange::default())?;
        if another_stands_in {
            endpoint.retries = endpoint.retries.min(1);
        }
        let catalogue = self.catalogue();
        let preset = llm::preset(&endpoint.provider);
        let price = self.price_at(model, &endpoint);
        let reads_text = preset.is_some_and(|p| p.reads_text_at(&endpoint.url));
        let fitted = llm::text::fitted(llm::connect(endpoint), reads_text);
        let metered = Metered::new(fitted, self.minds.ledger.clone(), price);
        Ok(Link::new(Arc::new(metered), &catalogue).at(price))
    }

    /// What a model costs where it is asked.
    fn price_at(&self, model: &str, endpoint: &Endpoint) -> Price {
        let at_home = llm::preset(&endpoint.provider).is_some_and(|p| p.free_at(&endpoint.url));
        if at_home { Price::Free } else { self.catalogue().price(model) }
    }

    /// What is known of a model; the configuration knows better how much it reads.
    fn facts(&self, model: &str) -> Facts {
        let facts = self.catalogue().facts(model);
        match self.config.model.context {
            // It is said of the model that hob.toml or the environment names, and of those nobody knows.
            context if context > 0 && (facts.context == 0 || self.is_configured(model)) => Facts { context, ..facts },
            _ => facts,
        }
    }

    fn is_configured(&self, model: &str) -> bool {
        let (first, from) = self.decided();
        model == first && !matches!(from, From::Page | From::Key)
    }

    /// Puts what was chosen in the place of what answered.
    fn take_effect(&self) -> Result<()> {
        let mind = self.mind()?;
        self.learn_keys();
        self.minds.ledger.set_budget(self.budget());
        if let Some(agent) = self.agent.get() {
            agent.set_provider(mind);
        }
        Ok(())
    }

    async fn fetch(&self, url: &str) -> Result<Vec<u8>> {
        let fetched = self.minds.web.fetch(Fetch::get(url)).await;
        let fetched = fetched.map_err(|e| Error::unavailable(format!("{url} could not be fetched: {e}")))?;
        if fetched.status != 200 {
            return Err(Error::unavailable(format!(
                "{url} answered with status {}: nothing was changed",
                fetched.status
            )));
        }
        Ok(fetched.body.to_vec())
    }

    /// Keys are taken out of every answer and every line of the log.
    fn learn_keys(&self) {
        self.minds.scrubber.set("model-keys", self.keys().into_values().map(|k| k.key));
    }

    async fn chosen(&self, choice: ModelChoice) -> Result<ModelInUse> {
        let _choosing = self.choosing.lock().await;
        if self.by_environment() {
            return Err(Error::denied(
                "HOB_MODEL and HOB_LLM_URL decide which model answers: start Hob without them to choose here",
            ));
        }
        let model = choice.model.trim().to_owned();
        let mut change = ProviderChange { url: choice.url, key: choice.key };
        if let Some(provider) = provider_of(&model) {
            let preset = llm::preset(provider).ok_or_else(|| nobody(provider))?;
            good_change(&mut change)?;
            self.change_terms(|_| {}).await?;
            self.endpoint(&model, &change)?;
            self.keep_place(preset, &change).await?;
        } else if !["", "reflex"].contains(&model.as_str()) {
            return Err(Error::bad_args(
                "`model` is provider/model, such as openai/gpt-5-mini or custom/qwen3; or `reflex`, which needs none",
            ));
        }
        // Where the only server was goes along first.
        self.change_terms(|_| {}).await?;
        self.choices.keep(move |chosen| chosen.model.clone_from(&model)).await?;
        self.take_effect()?;
        Ok(api::Models::in_use(self))
    }

    async fn change_terms(&self, change: impl Fn(&mut Terms) + Send + 'static) -> Result<()> {
        let keep = move |chosen: &mut crate::runtime_settings::Chosen| {
            let mut terms = chosen.terms();
            // Where the only server was is among the others from now on.
            let only = std::mem::take(&mut chosen.url);
            if let Some(preset) = provider_of(&chosen.model).and_then(llm::preset).filter(|_| !only.is_empty()) {
                terms.urls.insert(preset.id.to_owned(), only);
            }
            change(&mut terms);
            chosen.set_terms(&terms);
        };
        self.choices.keep(keep).await
    }

    async fn adjusted(&self, terms: ModelTerms) -> Result<ModelInUse> {
        let _choosing = self.choosing.lock().await;
        let ModelTerms { mut fallback, strategy, prefer_reflex, daily_budget } = terms;
        if let Some(Some(models)) = &mut fallback {
            models.iter_mut().for_each(|model| *model = model.trim().to_owned());
            let mut seen = std::collections::HashSet::new();
            models.retain(|model| seen.insert(model.clone()));
            if models.len() > STAND_IN {
                return Err(Error::bad_args(format!(
                    "`fallback` names {} models, and {STAND_IN} is the most",
                    models.len()
                )));
            }
            for model in models {
                self.endpoint(model, &ProviderChange::default())?;
            }
        }
        let budget = match daily_budget {
            Some(Some(budget)) if !(budget > 0.0 && budget <= BUDGET) => {
                return Err(Error::bad_args(format!(
                    "`dailyBudget` is {budget}: give US dollars above 0, or null for any amount"
                )));
            }
            given => given.map(Option::unwrap_or_default),
        };
        self.change_terms(move |kept| {
            if let Some(fallback) = &fallback {
                kept.fallback.clone_from(fallback);
            }
            kept.strategy = strategy.or(kept.strategy);
            kept.prefer_reflex = prefer_reflex.or(kept.prefer_reflex);
            kept.daily_budget = budget.or(kept.daily_budget);
        })
        .await?;
        self.take_effect()?;
        Ok(api::Models::in_use(self))
    }

    async fn changed(&self, id: String, mut change: ProviderChange) -> Result<Shown> {
        let _choosing = self.choosing.lock().await;
        let preset = llm::preset(&id).ok_or_else(|| Error::not_found(nobody(&id).message().to_owned()))?;
        good_change(&mut change)?;
        if let Some(url) = change.url.as_deref().filter(|url| !url.is_empty()) {
            good_url(url)?;
        }
        // The model that answers must not be left without its server.
        let (first, _) = self.decided();
        if provider_of(&first).and_then(llm::preset).is_some_and(|p| p.id == preset.id) {
            self.endpoint(&first, &change)?;
        }
        self.keep_place(preset, &change).await?;
        self.take_effect()?;
        Ok(self.provider_view(preset))
    }

    async fn attempted(&self, id: String, mut change: ProviderChange) -> Result<Tried> {
        let preset = llm::preset(&id).ok_or_else(|| Error::not_found(nobody(&id).message().to_owned()))?;
        good_change(&mut change)?;
        // Any name will do: the model is not asked.
        let endpoint = match self.endpoint(&format!("{}/any", preset.id), &change) {
            Ok(endpoint) if endpoint.key.is_none() && preset.needs_key => {
                return Ok(Tried {
                    ok: false,
                    models: vec![],
                    message: format!("{} answers nobody without a key. {}", preset.name, preset.key_hint),
                });
            }
            other => other?,
        };
        Ok(match llm::models_of(&endpoint).await {
            Ok(models) => {
                let message = match models.len() {
                    0 => format!("{} answers, and offers no models.", preset.name),
                    1 => format!("{} answers, and offers one model.", preset.name),
                    n => format!("{} answers, and offers {n} models.", preset.name),
                };
                Tried { ok: true, models, message }
            }
            Err(error) => Tried { ok: false, models: vec![], message: error.to_string() },
        })
    }

    async fn refreshed(&self, fresh: Fresh) -> Result<Known> {
        let (document, source) = match (fresh.catalogue, fresh.url) {
            (Some(_), Some(_)) => return Err(Error::bad_args("give `catalogue` or `url`, not both")),
            (Some(catalogue), None) => (catalogue.to_string().into_bytes(), "given".to_owned()),
            (None, url) => {
                let url = url.unwrap_or_else(|| CATALOGUE.to_owned());
                (self.fetch(&url).await?, url)
            }
        };
        let catalogue = Catalogue::read(&document)?;
        let kept = StoredCatalogue { source, at: Id::new().millis(), catalogue: Catalogue::compact(&document)? };
        let (records, keeping) = (self.kept.clone(), kept.clone());
        self.kept
            .store()
            .write(move |tx| records.put(tx, ONE, &Stamp::household("models"), &keeping).map(drop))
            .await?;
        let mut now = self.catalogue.write().unwrap_or_else(PoisonError::into_inner);
        *now = (catalogue, StoredCatalogue { catalogue: String::new(), ..kept });
        drop(now);
        self.take_effect()?;
        Ok(api::Models::known(self, None))
    }
}

/// What was fetched, else what is in the binary.
fn kept_catalogue(kept: &Collection<StoredCatalogue>) -> (Catalogue, StoredCatalogue) {
    let found = kept.get_in(Scope::Household, ONE).ok().flatten().map(|e| e.value);
    let read = found.and_then(|kept| {
        Some((Catalogue::read(&kept.catalogue).ok()?, StoredCatalogue { catalogue: String::new(), ..kept }))
    });
    read.unwrap_or_else(|| (Catalogue::built_in(), StoredCatalogue::default()))
}

impl api::Models for Models {
    fn in_use(&self) -> ModelInUse {
        let (model, from) = self.decided();
        let place = provider_of(&model).and_then(|p| self.place(p, &ProviderChange::default()).ok());
        ModelInUse {
            url: place.as_ref().map(|p| p.url.clone()).unwrap_or_default(),
            has_key: place.is_some_and(|p| p.key.is_some()),
            model: if model.is_empty() { "reflex".to_owned() } else { model },
            from,
            changeable: !self.by_environment(),
            fallback: self.fallback(),
            automatic_fallback: self.is_fallback_automatic(),
            strategy: self.strategy(),
            prefer_reflex: self.prefer_reflex(),
            daily_budget: self.budget(),
        }
    }

    fn choose(self: Arc<Self>, choice: ModelChoice) -> BoxFuture<'static, Result<ModelInUse>> {
        to_its_end(async move { self.chosen(choice).await })
    }

    fn adjust(self: Arc<Self>, terms: ModelTerms) -> BoxFuture<'static, Result<ModelInUse>> {
        to_its_end(async move { self.adjusted(terms).await })
    }

    fn price(&self, model: Option<&str>) -> Result<(String, Price)> {
        let model = model.map_or_else(|| self.decided().0, |model| model.trim().to_owned());
        if ["", "reflex"].contains(&model.as_str()) {
            return Ok(("reflex".to_owned(), Price::Free));
        }
        let endpoint = self.endpoint(&model, &ProviderChange::default())?;
        let price = self.price_at(&model, &endpoint);
        Ok((model, price))
    }

    fn providers(&self) -> Vec<Shown> {
        llm::PRESETS.iter().map(|preset| self.provider_view(preset)).collect()
    }

    fn change(self: Arc<Self>, id: String, change: ProviderChange) -> BoxFuture<'static, Result<Shown>> {
        to_its_end(async move { self.changed(id, change).await })
    }

    fn attempt(self: Arc<Self>, id: String, change: ProviderChange) -> BoxFuture<'static, Result<Tried>> {
        async move { self.attempted(id, change).await }.boxed()
    }

    fn known(&self, provider: Option<&str>) -> Known {
        let known = self.catalogue.read().unwrap_or_else(PoisonError::into_inner);
        let (catalogue, kept) = &*known;
        let of = |model: &&llm::Model| provider.is_none_or(|p| model.provider() == p);
        let source = if kept.source.is_empty() { "built-in" } else { &kept.source };
        Known {
            models: catalogue.all().filter(of).cloned().collect(),
            source: source.to_owned(),
            updated_at: Some(kept.at).filter(|at| *at > 0),
        }
    }

    fn refresh(self: Arc<Self>, fresh: Fresh) -> BoxFuture<'static, Result<Known>> {
        to_its_end(async move { self.refreshed(fresh).await })
    }

    fn since_start(&self) -> Vec<llm::ModelUse> {
        self.minds.ledger.since_start()
    }

    fn spent(&self, days: u16) -> Result<Spent> {
        let ledger = &self.minds.ledger;
        let day = ledger.this_day()?;
        let today = Today {
            cost: day.cost,
            tokens: day.prompt_tokens.saturating_add(day.completion_tokens),
            requests: day.requests,
            budget: ledger.budget(),
            left: ledger.left(),
        };
        Ok(Spent { today, days: ledger.days(days)? })
    }
}

/// Goes on to its end also when whoever asked is gone: key and address belong together.
fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = Result<T>> + Send + 'static,
) -> BoxFuture<'static, Result<T>> {
    let done = tokio::spawn(work);
    async move { done.await.map_err(|_| Error::failed("the choice broke off: look what is chosen now"))? }.boxed()
}

#[cfg(test)]
mod tests;
