//! Layer 3: the models that answer. Providers and their keys, the chosen model and its fallbacks, the catalogue and
//! the budget.
//!
//! A choice at the page wins over hob.toml, and the environment over both.

mod automatic;
mod catalogue;
mod choices;
mod config;
mod endpoints;
mod home;
mod servers;
mod trial;
mod views;
mod watch;

pub use choices::{Choices, ChosenSettings};
pub use config::{Auto, Config, Fallback, MemoryReading};
pub use home::{Arrival, ArrivalStep, HomeSettings, StepState, Units};
pub use servers::{FoundServers, KnownHost, KnownHosts, ModelServer};
pub use views::{
    CatalogueUpdate, ChosenBy, KnownModels, ModelChoice, ModelInUse, ModelSettingsPatch, ModelTrouble, ProviderPatch,
    ProviderTest, ProviderTrial, ProviderView, Spending, SpendingToday,
};
pub use watch::ModelCheck;

use catalogue::{CurrentCatalogue, StoredCatalogue};
use choices::ModelSettings;
use endpoints::{ApiKeys, check_url, load_keys, normalize_patch, provider_of, unknown_provider};
use http_client::Guarded;
use llm::{Chain, Endpoint, Facts, Health, Ledger, Link, Metered, Price, Provider, Strategy};
use scrub::Scrubber;
use std::{
    collections::HashSet,
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, RwLock, atomic::AtomicBool},
};
use store::{Collection, Store};
use tool::{Error, Result};

/// The most models in `fallback`.
const MAX_FALLBACKS: usize = 8;
/// The largest daily budget, in US dollars.
const MAX_BUDGET: f64 = 100_000.0;

/// The dependencies of the service.
pub struct ModelDeps {
    pub store: Store,
    /// Learns the keys of providers, to remove them from output.
    pub scrubber: Scrubber,
    pub ledger: Arc<Ledger>,
    pub web: Guarded,
    pub environment: Environment,
    /// The machines on which a model server is looked for.
    pub hosts: KnownHosts,
    /// Answers last, or alone where no model is chosen.
    pub reflex: Arc<dyn Provider>,
}

/// The models of this device; cheap to clone.
#[derive(Clone)]
pub struct Models(Arc<Inner>);

/// Loads the catalogue when first needed.
type LoadCatalogue = Box<dyn FnOnce() -> RwLock<CurrentCatalogue> + Send + Sync>;

struct Inner {
    config: Config,
    deps: ModelDeps,
    choices: Choices,
    keys: Mutex<ApiKeys>,
    stored_catalogue: Collection<StoredCatalogue>,
    catalogue: LazyLock<RwLock<CurrentCatalogue>, LoadCatalogue>,
    /// Held while settings change: one change at a time.
    changing: tokio::sync::Mutex<()>,
    on_change: OnceLock<OnChange>,
    /// Observed health of the models, shared by all chains.
    health: Arc<Health>,
    /// Whether models in trouble are looked at from time to time.
    looking: AtomicBool,
}

/// Called with the new provider after each change.
type OnChange = Box<dyn Fn(Arc<dyn Provider>) + Send + Sync>;

/// Reads an environment variable.
pub type Environment = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// The environment of this process.
pub fn environment() -> Environment {
    Arc::new(|name| std::env::var(name).ok())
}

impl Models {
    /// The models over the stored choices, with the provider they make.
    ///
    /// # Errors
    /// `BadArgs` when the model of the environment or of hob.toml cannot be used.
    pub fn new(config: Config, deps: ModelDeps, choices: Choices) -> Result<(Self, Arc<dyn Provider>)> {
        let keys = Mutex::new(load_keys(&deps.store)?);
        let stored_catalogue: Collection<StoredCatalogue> = deps.store.collection();
        // A Hob without a model of its own does not need it.
        let stored = stored_catalogue.clone();
        let load: LoadCatalogue = Box::new(move || RwLock::new(CurrentCatalogue::load(&stored)));
        let catalogue = LazyLock::new(load);
        let (changing, on_change, health, looking) = Default::default();
        let inner =
            Inner { config, deps, choices, keys, stored_catalogue, catalogue, changing, on_change, health, looking };
        let models = Self(Arc::new(inner));
        models.register_secrets();
        models.0.deps.ledger.set_budget(models.budget());
        let provider = match models.provider() {
            Ok(provider) => provider,
            // A choice of the page that became unusable must not prevent the device from starting.
            Err(error) if !models.0.choices.current().model.is_empty() && !models.by_environment() => {
                tracing::warn!("the model that was chosen cannot be used: {error}");
                models.0.deps.reflex.clone()
            }
            Err(error) => return Err(error),
        };
        Ok((models, provider))
    }

    /// Sets the receiver of each new provider.
    pub fn on_change(&self, receive: impl Fn(Arc<dyn Provider>) + Send + Sync + 'static) {
        let _ = self.0.on_change.set(Box::new(receive));
    }

    fn env(&self, name: &str) -> Option<String> {
        let value = (self.0.deps.environment)(name)?.trim().to_owned();
        Some(value).filter(|v| !name.is_empty() && !v.is_empty())
    }

    /// Whether the environment decides which model answers.
    fn by_environment(&self) -> bool {
        ["HOB_MODEL", "HOB_LLM_URL"].iter().any(|name| self.env(name).is_some())
    }

    fn keys(&self) -> ApiKeys {
        self.0.keys.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settings(&self) -> ModelSettings {
        self.0.choices.current().model_settings()
    }

    fn budget(&self) -> Option<f64> {
        let file = self.0.config.daily_budget;
        Some(self.settings().daily_budget.unwrap_or(file)).filter(|budget| *budget > 0.0)
    }

    fn strategy(&self) -> Strategy {
        self.settings().strategy.unwrap_or(self.0.config.strategy)
    }

    fn prefer_reflex(&self) -> bool {
        self.settings().prefer_reflex.unwrap_or(self.0.config.prefer_reflex)
    }

    /// The first model, empty for reflex, and where it was chosen.
    fn first_model(&self) -> (String, ChosenBy) {
        let chosen = self.0.choices.current().model;
        let (model, by) = match (self.env("HOB_MODEL"), chosen.is_empty(), self.0.config.name.as_str()) {
            (Some(model), ..) => (model, ChosenBy::Environment),
            (None, false, _) => (chosen, ChosenBy::Page),
            (None, true, "") => {
                self.by_key().map_or((String::new(), ChosenBy::BuiltIn), |model| (model, ChosenBy::Key))
            }
            (None, true, file) => (file.to_owned(), ChosenBy::File),
        };
        (if model == "reflex" { String::new() } else { model }, by)
    }

    /// The chain that answers: the first model, its fallbacks, and reflex last.
    fn provider(&self) -> Result<Arc<dyn Provider>> {
        let (reflex, (model, by)) = (self.0.deps.reflex.clone(), self.first_model());
        let unchosen = matches!(by, ChosenBy::BuiltIn | ChosenBy::Key) || model.is_empty() && by == ChosenBy::File;
        if unchosen && self.env("HOB_LLM_URL").is_some() {
            let text = "HOB_LLM_URL is set and HOB_MODEL is not: say which model with HOB_MODEL=custom/NAME";
            return Err(Error::bad_args(text));
        }
        if model.is_empty() {
            return Ok(reflex);
        }
        let fallback: Vec<String> = self.fallback().into_iter().filter(|other| *other != model).collect();
        let mut links = vec![self.link(&model, !fallback.is_empty())?];
        for (n, model) in fallback.iter().enumerate() {
            match self.link(model, n + 1 < fallback.len()) {
                Ok(link) => links.push(link),
                Err(error) => tracing::warn!("`{model}` cannot be a fallback: {error}"),
            }
        }
        let chain = Chain::new(links, reflex, self.prefer_reflex());
        Ok(Arc::new(chain.strategy(self.strategy()).health(self.0.health.clone())))
    }

    /// One model of the chain; it is retried less when another one follows.
    fn link(&self, model: &str, has_fallback: bool) -> Result<Link> {
        let mut endpoint = self.endpoint(model, &ProviderPatch::default())?;
        if has_fallback {
            endpoint.retries = endpoint.retries.min(1);
        }
        let catalogue = self.catalogue();
        let preset = llm::preset(&endpoint.provider);
        let price = self.price_at(model, &endpoint);
        let reads_text = preset.is_some_and(|p| p.reads_text_at(&endpoint.url));
        let fitted = llm::text::fitted(llm::connect(endpoint), reads_text);
        let metered = Metered::new(fitted, self.0.deps.ledger.clone(), price);
        Ok(Link::new(Arc::new(metered), &catalogue).at(price))
    }

    /// Whether the model may read new memories in the background, as the configuration says.
    pub fn may_read_memories(&self) -> bool {
        let is_self_hosted =
            |model: &String| self.endpoint(model, &ProviderPatch::default()).is_ok_and(|e| is_self_hosted(&e));
        let (first, _) = self.first_model();
        match self.0.config.reads_memories {
            MemoryReading::Never => false,
            MemoryReading::Always => !first.is_empty(),
            MemoryReading::SelfHosted => {
                !first.is_empty() && std::iter::once(&first).chain(self.fallback().iter()).all(is_self_hosted)
            }
        }
    }

    /// The price of a model at this endpoint.
    fn price_at(&self, model: &str, endpoint: &Endpoint) -> Price {
        if is_self_hosted(endpoint) { Price::Free } else { self.catalogue().price(model) }
    }

    /// The facts about a model; the configuration overrides the size of its context.
    fn facts(&self, model: &str) -> Facts {
        let facts = self.catalogue().facts(model);
        let (first, by) = self.first_model();
        let is_configured = model == first && !matches!(by, ChosenBy::Page | ChosenBy::Key);
        match self.0.config.context {
            // It applies to the model of hob.toml or the environment, and to unknown ones.
            context if context > 0 && (facts.context == 0 || is_configured) => Facts { context, ..facts },
            _ => facts,
        }
    }

    /// Puts changed settings into effect.
    fn apply(&self) -> Result<()> {
        let provider = self.provider()?;
        self.register_secrets();
        self.0.deps.ledger.set_budget(self.budget());
        if let Some(receive) = self.0.on_change.get() {
            receive(provider);
        }
        Ok(())
    }

    /// Registers the keys as secrets, so that they are removed from every output and every line of the log.
    fn register_secrets(&self) {
        self.0.deps.scrubber.set("model-keys", self.keys().into_values().map(|k| k.key));
    }

    /// The first model and how models are chosen.
    pub fn in_use(&self) -> ModelInUse {
        let (model, from) = self.first_model();
        let endpoint =
            provider_of(&model).and_then(|provider| self.provider_endpoint(provider, &ProviderPatch::default()).ok());
        ModelInUse {
            url: endpoint.as_ref().map(|e| e.url.clone()).unwrap_or_default(),
            has_key: endpoint.is_some_and(|e| e.key.is_some()),
            model: if model.is_empty() { "reflex".to_owned() } else { model },
            from,
            changeable: !self.by_environment(),
            fallback: self.fallback(),
            automatic_fallback: self.is_fallback_automatic(),
            strategy: self.strategy(),
            prefer_reflex: self.prefer_reflex(),
            daily_budget: self.budget(),
            trouble: self.troubles(),
        }
    }

    /// Chooses the first model.
    ///
    /// # Errors
    /// `BadArgs` for a model that cannot be used, `Denied` when the environment decides.
    pub async fn choose(&self, choice: ModelChoice) -> Result<ModelInUse> {
        uncancelled(self.clone().choose_uncancelled(choice)).await
    }

    async fn choose_uncancelled(self, choice: ModelChoice) -> Result<ModelInUse> {
        let _changing = self.0.changing.lock().await;
        if self.by_environment() {
            return Err(Error::denied(
                "HOB_MODEL and HOB_LLM_URL decide which model answers: start Hob without them to choose here",
            ));
        }
        let model = choice.model.trim().to_owned();
        let mut patch = ProviderPatch { url: choice.url, key: choice.key };
        if let Some(provider) = provider_of(&model) {
            let preset = llm::preset(provider).ok_or_else(|| unknown_provider(provider))?;
            normalize_patch(&mut patch)?;
            self.update_settings(|_| {}).await?;
            self.endpoint(&model, &patch)?;
            self.store_provider(preset, &patch).await?;
            self.forget_troubles(preset.id);
        } else if !["", "reflex"].contains(&model.as_str()) {
            return Err(Error::bad_args(
                "`model` is provider/model, such as openai/gpt-5-mini or custom/qwen3; or `reflex`, which needs none",
            ));
        }
        // Before the model changes: the address of an older record belongs to its provider.
        self.update_settings(|_| {}).await?;
        self.0.choices.update(move |chosen| chosen.model.clone_from(&model)).await?;
        self.apply()?;
        Ok(self.in_use())
    }

    async fn update_settings(&self, change: impl Fn(&mut ModelSettings) + Send + 'static) -> Result<()> {
        let update = move |chosen: &mut ChosenSettings| {
            let mut settings = chosen.model_settings();
            // An older record has one address, that of the chosen model's provider.
            let only = std::mem::take(&mut chosen.url);
            if let Some(preset) = provider_of(&chosen.model).and_then(llm::preset).filter(|_| !only.is_empty()) {
                settings.urls.insert(preset.id.to_owned(), only);
            }
            change(&mut settings);
            chosen.set_model_settings(&settings);
        };
        self.0.choices.update(update).await
    }

    /// Changes fallbacks, strategy and budget.
    ///
    /// # Errors
    /// `BadArgs` for values that cannot be used.
    pub async fn change_settings(&self, patch: ModelSettingsPatch) -> Result<ModelInUse> {
        uncancelled(self.clone().change_settings_uncancelled(patch)).await
    }

    async fn change_settings_uncancelled(self, patch: ModelSettingsPatch) -> Result<ModelInUse> {
        let _changing = self.0.changing.lock().await;
        let ModelSettingsPatch { mut fallback, strategy, prefer_reflex, daily_budget } = patch;
        if let Some(Some(models)) = &mut fallback {
            models.iter_mut().for_each(|model| *model = model.trim().to_owned());
            let mut seen = HashSet::new();
            models.retain(|model| seen.insert(model.clone()));
            if models.len() > MAX_FALLBACKS {
                let text = format!("`fallback` names {} models, and {MAX_FALLBACKS} is the most", models.len());
                return Err(Error::bad_args(text));
            }
            for model in models {
                self.endpoint(model, &ProviderPatch::default())?;
            }
        }
        let budget = match daily_budget {
            Some(Some(budget)) if !(budget > 0.0 && budget <= MAX_BUDGET) => {
                let text = format!("`dailyBudget` is {budget}: give US dollars above 0, or null for any amount");
                return Err(Error::bad_args(text));
            }
            given => given.map(Option::unwrap_or_default),
        };
        self.update_settings(move |settings| {
            if let Some(fallback) = &fallback {
                settings.fallback.clone_from(fallback);
            }
            settings.strategy = strategy.or(settings.strategy);
            settings.prefer_reflex = prefer_reflex.or(settings.prefer_reflex);
            settings.daily_budget = budget.or(settings.daily_budget);
        })
        .await?;
        self.apply()?;
        Ok(self.in_use())
    }

    /// The providers.
    pub fn providers(&self) -> Vec<ProviderView> {
        llm::PRESETS.iter().map(|preset| self.provider_view(preset)).collect()
    }

    /// Changes the address or key of a provider.
    ///
    /// # Errors
    /// `NotFound` for an unknown provider, `BadArgs` for values that cannot be used.
    pub async fn change_provider(&self, id: &str, patch: ProviderPatch) -> Result<ProviderView> {
        uncancelled(self.clone().change_provider_uncancelled(id.to_owned(), patch)).await
    }

    async fn change_provider_uncancelled(self, id: String, mut patch: ProviderPatch) -> Result<ProviderView> {
        let _changing = self.0.changing.lock().await;
        let preset = llm::preset(&id).ok_or_else(|| Error::not_found(unknown_provider(&id).message().to_owned()))?;
        normalize_patch(&mut patch)?;
        if let Some(url) = patch.url.as_deref().filter(|url| !url.is_empty()) {
            check_url(url)?;
        }
        // The first model must keep an address.
        let (first, _) = self.first_model();
        if provider_of(&first).and_then(llm::preset).is_some_and(|p| p.id == preset.id) {
            self.endpoint(&first, &patch)?;
        }
        self.store_provider(preset, &patch).await?;
        self.forget_troubles(preset.id);
        self.apply()?;
        Ok(self.provider_view(preset))
    }

    /// The full name and price of a model; of the first model when `None`.
    ///
    /// # Errors
    /// `BadArgs` for a model that cannot be used.
    pub fn price(&self, model: Option<&str>) -> Result<(String, Price)> {
        let model = model.map_or_else(|| self.first_model().0, |model| model.trim().to_owned());
        if ["", "reflex"].contains(&model.as_str()) {
            return Ok(("reflex".to_owned(), Price::Free));
        }
        let endpoint = self.endpoint(&model, &ProviderPatch::default())?;
        let price = self.price_at(&model, &endpoint);
        Ok((model, price))
    }

    /// The use of each model since the start.
    pub fn since_start(&self) -> Vec<llm::ModelUse> {
        self.0.deps.ledger.since_start()
    }

    /// The spending of the last days.
    pub fn spending(&self, days: u16) -> Result<Spending> {
        let ledger = &self.0.deps.ledger;
        let day = ledger.this_day()?;
        let today = SpendingToday {
            cost: day.cost,
            tokens: day.prompt_tokens.saturating_add(day.completion_tokens),
            requests: day.requests,
            budget: ledger.budget(),
            left: ledger.left(),
        };
        Ok(Spending { today, days: ledger.days(days)? })
    }
}

fn is_self_hosted(endpoint: &Endpoint) -> bool {
    llm::preset(&endpoint.provider).is_some_and(|preset| preset.free_at(&endpoint.url))
}

/// Runs a change to its end, also when the caller is dropped: key and address belong together.
async fn uncancelled<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    let done = tokio::spawn(work).await;
    done.map_err(|_| Error::failed("the choice broke off: look what is chosen now"))?
}

#[cfg(test)]
mod tests;
