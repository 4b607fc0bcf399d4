//! What an admin changes while the house is open: its name and the model that answers. What is chosen here is kept in the
//! store; a flag or the environment wins over it, and it wins over hob.toml.

use crate::config::{Config, check_name};
use agent::Agent;
use api::{DeviceSettings, From, ModelChoice, ModelInUse, Neighbour, Network};
use discovery::{Announcer, Found};
use embed::Embedder;
use futures::{FutureExt, future::BoxFuture};
use llm::{OpenAi, OpenAiConfig, Provider};
use reflex::Reflex;
use registry::Registry;
use scrub::Scrubber;
use serde::{Deserialize, Serialize};
use std::{
    net::IpAddr,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};
use store::{Collection, Level, Record, Stamp, Store};
use tool::{Clock, Error, Id, Label, Result, Scope};

/// The record's id: there is one.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 3]);
/// The sealed secret that holds the model's key, and the server it is for.
const KEY: &str = "model-key";

/// A key, and the server it was given for: it is told to no other, whatever else is restored or chosen.
#[derive(Serialize, Deserialize)]
struct Key {
    provider: String,
    url: String,
    key: String,
}
/// How long the network is looked at.
const LOOK: Duration = Duration::from_millis(1500);

/// What was chosen; empty is not chosen. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Chosen {
    name: String,
    model: String,
    url: String,
}

impl Record for Chosen {
    const NAME: &'static str = "settings";
    const WORD: &'static str = "set of settings";
    const LEVEL: Level = Level::Household;
}

/// What a provider is made of.
pub struct Minds {
    pub registry: Registry,
    pub embedder: Embedder,
    pub clock: Arc<dyn Clock>,
    pub store: Store,
    pub scrubber: Scrubber,
}

impl Minds {
    /// The provider for a model, or reflex for none.
    fn provider(&self, model: Option<OpenAiConfig>) -> Result<Arc<dyn Provider>> {
        self.scrubber.set("model-key", model.iter().filter_map(|m| m.key.clone()));
        let Some(model) = model else {
            let tools = self.registry.clone();
            let risk = move |name: &str| tools.get(name).filter(|t| t.enabled).map(|t| t.risk);
            let (embedder, clock) = (self.embedder.clone(), self.clock.clone());
            let reflex = Reflex::new(&self.registry.phrases(), risk, embedder, clock)
                .map_err(|e| Error::failed(format!("reflex cannot begin: {e}")))?;
            return Ok(Arc::new(reflex));
        };
        Ok(Arc::new(OpenAi::new(model)))
    }
}

/// The settings of this device.
pub struct Settings {
    config: Config,
    minds: Minds,
    kept: Collection<Chosen>,
    chosen: Mutex<(Chosen, ModelInUse)>,
    network: Network,
    /// One choice at a time.
    choosing: tokio::sync::Mutex<()>,
    agent: OnceLock<Agent>,
    announcer: OnceLock<Announcer>,
}

/// Whether the environment decides which model answers.
fn by_environment() -> bool {
    ["HOB_MODEL", "HOB_LLM_URL"].iter().any(|name| environment(name).is_some())
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|v| !v.is_empty())
}

impl Settings {
    /// The settings over what was chosen before, and the provider they come to.
    pub fn new(config: Config, minds: Minds, network: Network) -> anyhow::Result<(Self, Arc<dyn Provider>)> {
        let kept: Collection<Chosen> = minds.store.collection();
        let chosen = kept.get_in(Scope::Household, ONE)?.map(|e| e.value).unwrap_or_default();
        let key = key_of(&minds.store, &chosen)?;
        let (model, in_use) = match decided(&config, &chosen, key) {
            Ok(decided) => decided,
            // What was chosen at the page made sense then; it must not keep the device from starting.
            Err(error) if !chosen.model.is_empty() && !by_environment() => {
                tracing::warn!("the model that was chosen cannot be used: {error:#}");
                decided(&config, &Chosen { name: chosen.name.clone(), ..Chosen::default() }, None)?
            }
            Err(error) => return Err(error),
        };
        let provider = minds.provider(model)?;
        let (agent, announcer) = (OnceLock::new(), OnceLock::new());
        let chosen = Mutex::new((chosen, in_use));
        let choosing = tokio::sync::Mutex::default();
        let settings = Self { config, minds, kept, chosen, network, choosing, agent, announcer };
        settings.network.answer_to(&settings.name());
        settings.network.answer_to(&format!("{}.local", settings.name()));
        Ok((settings, provider))
    }

    /// Whom to tell of another model.
    pub fn tell(&self, agent: Agent) {
        let _ = self.agent.set(agent);
    }

    /// What makes the device known on the network.
    pub fn announce_with(&self, announcer: Announcer) {
        let _ = self.announcer.set(announcer);
    }

    fn chosen(&self) -> std::sync::MutexGuard<'_, (Chosen, ModelInUse)> {
        self.chosen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a choice for the next start.
    async fn keep(&self, change: impl Fn(&mut Chosen) + Send + 'static) -> Result<()> {
        let kept = self.kept.clone();
        let keep = move |tx: &store::Tx| {
            if kept.read(tx, Scope::Household, ONE)?.is_none() {
                kept.put(tx, ONE, &Stamp::household("settings"), &Chosen::default())?;
            }
            kept.change(tx, Scope::Household, Label::Own, ONE, &mut |chosen| {
                change(chosen);
                Ok(())
            })
        };
        self.chosen().0 = self.kept.store().write(keep).await?.value;
        Ok(())
    }

    async fn choose(&self, choice: ModelChoice) -> Result<ModelInUse> {
        let _choosing = self.choosing.lock().await;
        if by_environment() {
            return Err(Error::denied(
                "HOB_MODEL and HOB_LLM_URL decide which model answers: start Hob without them to choose here",
            ));
        }
        let before = self.chosen().clone();
        let model = choice.model.trim().to_owned();
        let provider = model.split('/').next().unwrap_or_default();
        let same_provider = before.0.model.split('/').next() == Some(provider);
        let url = match choice.url.as_deref().map(str::trim) {
            Some(url) => url.to_owned(),
            None if same_provider => before.0.url.clone(),
            None => String::new(),
        };
        sensible(&model, provider, &url)?;
        // A key is told to the server it was given for, and to no other.
        let same = same_provider && before.0.url == url;
        let key = match choice.key.as_deref().map(str::trim) {
            Some("") => None,
            Some(key) => Some(key.to_owned()),
            None if same => key_of(&self.minds.store, &before.0)?,
            None => None,
        };
        if key.as_deref().is_some_and(|k| k.len() > 4096 || k.chars().any(|c| c.is_control() || c.is_whitespace())) {
            return Err(Error::bad_args("`key` is not a key: it has blanks or line breaks in it, or is too long"));
        }
        let wanted = Chosen { name: before.0.name, model: model.clone(), url: url.clone() };
        let (config, in_use) =
            decided(&self.config, &wanted, key.clone()).map_err(|e| Error::bad_args(format!("{e:#}")))?;
        let mind = self.minds.provider(config)?;
        let sealed = key.map(|key| Key { provider: provider.to_owned(), url: url.clone(), key });
        match sealed.and_then(|key| serde_json::to_vec(&key).ok()) {
            Some(key) => self.minds.store.seal(KEY, &key).await?,
            None => self.minds.store.forget_secret(KEY).await?,
        }
        self.keep(move |chosen| (chosen.model, chosen.url) = (model.clone(), url.clone())).await?;
        self.chosen().1 = in_use.clone();
        if let Some(agent) = self.agent.get() {
            agent.set_provider(mind);
        }
        Ok(in_use)
    }

    async fn take_name(&self, name: String) -> Result<()> {
        check_name(&name).map_err(|e| Error::bad_args(format!("{e:#}")))?;
        if self.config.name_is_fixed {
            return Err(Error::denied("the name was given with --name: start Hob without it to rename it here"));
        }
        let keeping = name.clone();
        self.keep(move |chosen| chosen.name.clone_from(&keeping)).await?;
        self.network.answer_to(&name);
        self.network.answer_to(&format!("{name}.local"));
        if let Some(announcer) = self.announcer.get() {
            announcer.update(|announced| announced.name = name);
        }
        Ok(())
    }

    async fn look(&self) -> Result<Vec<Neighbour>> {
        let announcer = self.announcer.get().filter(|a| a.may_look());
        let Some(announcer) = announcer else {
            return Err(Error::unavailable(
                "Hob does not look at the network: it was told so by --no-mdns or hob.toml",
            ));
        };
        let found = announcer.browse(LOOK).await.map_err(|e| Error::unavailable(e.to_string()))?;
        let own = self.minds.store.device_id().to_string();
        let neighbour = |f: Found| Neighbour {
            this: f.id.as_deref() == Some(own.as_str()),
            kind: serde_json::to_value(f.kind).ok().and_then(|k| k.as_str().map(str::to_owned)).unwrap_or_default(),
            name: f.name,
            host: f.host,
            port: f.port,
            url: Some(f.url),
            id: f.id,
            version: f.version,
            claimed: f.claimed,
        };
        Ok(found.into_iter().map(neighbour).collect())
    }
}

/// What somebody at the page should hear, who knows nothing of variables and files.
fn sensible(model: &str, provider: &str, url: &str) -> Result<()> {
    let wrong = |text: &str| Err(Error::bad_args(text));
    if !url.is_empty() {
        match url::Url::parse(url) {
            Ok(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
                return wrong("`url` has a name or password in it: give those as the `key`");
            }
            Ok(parsed) if ["http", "https"].contains(&parsed.scheme()) && parsed.has_host() => {}
            _ => return wrong("`url` is not an address: write it as http://192.168.1.5:8080/v1"),
        }
    }
    let named = model.split_once('/').is_some_and(|(_, name)| !name.is_empty());
    match provider {
        "" | "reflex" if !named => Ok(()),
        "openai" | "custom" if !named => wrong("`model` is provider/model, such as openai/gpt-5-mini or custom/qwen3"),
        "custom" if url.is_empty() => {
            wrong("a custom model needs the `url` of its server, such as http://192.168.1.5:8080/v1")
        }
        "openai" | "custom" => Ok(()),
        _ => wrong("`model` is `reflex`, openai/MODEL, or custom/MODEL for any server that speaks OpenAI's format"),
    }
}

/// The key for the server that was chosen, where it was given for that one.
fn key_of(store: &Store, chosen: &Chosen) -> Result<Option<String>> {
    let kept = store.unseal_if_ours(KEY)?.and_then(|key| serde_json::from_slice::<Key>(&key).ok());
    let fits = |key: &Key| chosen.model.split('/').next() == Some(&key.provider) && chosen.url == key.url;
    Ok(kept.filter(fits).map(|key| key.key))
}

/// Which model answers, by whom that was decided, and how it is reached.
fn decided(
    config: &Config,
    chosen: &Chosen,
    key: Option<String>,
) -> anyhow::Result<(Option<OpenAiConfig>, ModelInUse)> {
    let (model, from) = if by_environment() || chosen.model.is_empty() {
        let from = match (by_environment(), config.model.name.is_empty()) {
            (true, _) => From::Environment,
            (_, false) => From::File,
            (_, true) => From::BuiltIn,
        };
        (config.model(environment)?, from)
    } else {
        let mut chosen_config = config.clone();
        (chosen_config.model.name, chosen_config.model.url) = (chosen.model.clone(), chosen.url.clone());
        // The environment's keys belong to the environment's servers.
        let own = |name: &str| key.clone().filter(|_| name.ends_with("_KEY"));
        (chosen_config.model(own)?, From::Page)
    };
    let in_use = ModelInUse {
        model: model.as_ref().map_or_else(|| "reflex".to_owned(), |m| format!("{}/{}", m.provider, m.model)),
        url: model.as_ref().map(|m| m.url.clone()).unwrap_or_default(),
        has_key: model.as_ref().is_some_and(|m| m.key.is_some()),
        from,
        changeable: !by_environment(),
    };
    Ok((model, in_use))
}

impl DeviceSettings for Settings {
    fn name(&self) -> String {
        let chosen = self.chosen().0.name.clone();
        if self.config.name_is_fixed || chosen.is_empty() { self.config.name.clone() } else { chosen }
    }

    fn rename(&self, name: String) -> BoxFuture<'_, Result<()>> {
        self.take_name(name).boxed()
    }

    fn may_rename(&self) -> bool {
        !self.config.name_is_fixed
    }

    fn claimed(&self) {
        if let Some(announcer) = self.announcer.get() {
            announcer.update(|announced| announced.claimed = true);
        }
    }

    fn model(&self) -> ModelInUse {
        self.chosen().1.clone()
    }

    fn choose_model(self: Arc<Self>, choice: ModelChoice) -> BoxFuture<'static, Result<ModelInUse>> {
        // Goes on to its end also when whoever asked is gone: key and server belong together.
        let done = tokio::spawn(async move { self.choose(choice).await });
        async move { done.await.map_err(|_| Error::failed("the choice broke off: look which model answers now"))? }
            .boxed()
    }

    fn neighbours(&self) -> BoxFuture<'_, Result<Vec<Neighbour>>> {
        self.look().boxed()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.network.listens().map(|at| discovery::addresses(at.ip(), &self.config.network.ignore)).unwrap_or_default()
    }
}
