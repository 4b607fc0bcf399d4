//! Where providers are, and whose key opens which.
//!
//! Who decides: the environment, then the page, then hob.toml. A key is told to the address it was given for, and to no other:
//! those of the environment belong to the environment's addresses, those of the page to the page's.

use super::Models;
use api::{From, Provider as Shown, ProviderChange};
use llm::{Endpoint, Preset};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::PoisonError};
use store::Store;
use tool::{Error, Result};

/// The sealed secret that holds the keys, and the one that held the only key there was.
const KEYS: &str = "model-keys";
const KEY: &str = "model-key";
/// The longest key and address, in bytes.
const LONG: usize = 4096;

/// A key, and the address it was given for.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Key {
    pub url: String,
    pub key: String,
}

/// The only key there was, with its server.
#[derive(Deserialize)]
struct Lone {
    provider: String,
    url: String,
    key: String,
}

pub(super) type Keys = BTreeMap<String, Key>;

/// Where a provider is, and what opens it.
pub(super) struct ProviderEndpoint {
    pub preset: &'static Preset,
    pub url: String,
    pub key: Option<String>,
    pub key_from: Option<&'static str>,
}

impl Models {
    /// Where a provider is. `url` and `key` of a change that is not made yet count first.
    pub(super) fn place(&self, provider: &str, change: &ProviderChange) -> Result<ProviderEndpoint> {
        let preset = llm::preset(provider).ok_or_else(|| nobody(provider))?;
        let (model, from) = self.decided();
        let is_first = |model: &str| provider_of(model).and_then(llm::preset).is_some_and(|p| p.id == preset.id);
        let file = &self.config.model;
        // An address without a name is that of a server of one's own.
        let of_file = is_first(&file.name) || (file.name.is_empty() && preset.id == "custom");
        let file = Some(&file.url).filter(|url| !url.is_empty() && of_file);
        let own = self.env(preset.url_env).or_else(|| file.cloned()).unwrap_or_else(|| preset.url.to_owned());
        let fixed = self.env(preset.url_env).is_some() || (from == From::Environment && is_first(&model));
        let chosen = self.choices.now();
        let page = Some(chosen.url.clone()).filter(|url| !url.is_empty() && is_first(&chosen.model));
        let page = page.or_else(|| chosen.terms().urls.get(preset.id).cloned());
        let page = page.filter(|url| !fixed && url != preset.former_url);
        if fixed && change.url.as_deref().is_some_and(|url| !url.is_empty() && url != own) {
            return Err(Error::denied(format!(
                "the environment says where {} is: start Hob without {} to say so here",
                preset.name, preset.url_env
            )));
        }
        let url = match change.url.as_deref() {
            Some("") => own.clone(),
            Some(url) => url.to_owned(),
            None => page.unwrap_or_else(|| own.clone()),
        };
        let (key, key_from) = match (&change.key, self.env(preset.key_env).filter(|_| url == own)) {
            (Some(key), _) => (Some(key.trim().to_owned()).filter(|k| !k.is_empty()), Some("page")),
            (None, Some(key)) => (Some(key), Some("environment")),
            (None, None) => (
                self.keys()
                    .remove(preset.id)
                    // The only key there was may have been given for the usual address, without naming it; and that may
                    // have moved since.
                    .filter(|k| {
                        let usual = !url.is_empty() && url == preset.url;
                        k.url == url || (usual && ["", preset.former_url].contains(&k.url.as_str()))
                    })
                    .map(|k| k.key),
                Some("page"),
            ),
        };
        let key_from = key_from.filter(|_| key.is_some());
        Ok(ProviderEndpoint { preset, url, key, key_from })
    }

    /// How a model is asked.
    pub(super) fn endpoint(&self, model: &str, change: &ProviderChange) -> Result<Endpoint> {
        let Some((provider, name)) = model.split_once('/').filter(|(p, m)| !p.is_empty() && !m.is_empty()) else {
            return Err(Error::bad_args(format!(
                "`{model}` is not provider/model: write it as openai/gpt-5-mini or custom/NAME"
            )));
        };
        let place = self.place(provider, change)?;
        let (preset, url) = (place.preset, place.url);
        if url.is_empty() {
            let how = if preset.url_env.is_empty() { String::new() } else { format!(" (or set {})", preset.url_env) };
            return Err(Error::bad_args(format!(
                "`{model}` needs an address: say where its server is, such as http://192.168.1.5:8080/v1{how}"
            )));
        }
        good_url(&url)?;
        let config = &self.config.model;
        Ok(Endpoint {
            // Rules, counts and what a provider wants back go by one name.
            provider: preset.id.to_owned(),
            model: name.to_owned(),
            wire: preset.wire_at(&url),
            quirks: preset.quirks_for(name, &url),
            url,
            key: place.key,
            max_tokens: Some(config.max_tokens).filter(|n| *n > 0),
            patience: config.patience(),
            retries: config.retries,
            retry_delay: config.retry_delay(),
            facts: self.facts(model),
        })
    }

    /// Keeps where a provider is, and its key.
    pub(super) async fn keep_place(&self, preset: &'static Preset, change: &ProviderChange) -> Result<()> {
        let place = self.place(preset.id, change)?;
        if place.url.is_empty() && change.key.as_ref().is_some_and(|key| !key.is_empty()) {
            let text = "a key is told to one address only: give the `url` of the server it is for as well";
            return Err(Error::bad_args(text));
        }
        if let Some(key) = change.key.clone() {
            let mut keys = self.keys();
            match key.is_empty() {
                true => drop(keys.remove(preset.id)),
                false => drop(keys.insert(preset.id.to_owned(), Key { url: place.url.clone(), key })),
            }
            self.minds.store.seal(KEYS, &serde_json::to_vec(&keys).map_err(not_written)?).await?;
            // The only key there was is among them now, or forgotten.
            self.minds.store.forget_secret(KEY).await?;
            *self.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        }
        if let Some(url) = change.url.clone() {
            self.change_terms(move |terms| match url.is_empty() {
                true => drop(terms.urls.remove(preset.id)),
                false => drop(terms.urls.insert(preset.id.to_owned(), url.clone())),
            })
            .await?;
        }
        Ok(())
    }

    pub(super) fn provider_view(&self, preset: &'static Preset) -> Shown {
        let place = self.place(preset.id, &ProviderChange::default()).ok();
        let (url, key_from) = place.map(|p| (p.url, p.key_from)).unwrap_or_default();
        Shown {
            id: preset.id.into(),
            name: preset.name.into(),
            wire: preset.wire,
            url,
            default_url: preset.url.into(),
            needs_key: preset.needs_key,
            has_key: key_from.is_some(),
            key_from,
            key_hint: preset.key_hint.into(),
            local: preset.local,
        }
    }
}

fn not_written(error: serde_json::Error) -> Error {
    Error::failed(format!("the keys were not kept: {error}"))
}

/// The provider in `provider/model`.
pub(super) fn provider_of(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}

pub(super) fn nobody(provider: &str) -> Error {
    let known: Vec<&str> = llm::PRESETS.iter().map(|p| p.id).collect();
    Error::bad_args(format!(
        "the provider `{provider}` is not known: use one of {}; `custom` is any server that speaks OpenAI's format",
        known.join(", ")
    ))
}

/// What somebody at the page should hear, who knows nothing of variables and files.
pub(super) fn good_url(url: &str) -> Result<()> {
    match url::Url::parse(url) {
        Ok(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
            Err(Error::bad_args("`url` has a name or password in it: give those as the `key`"))
        }
        Ok(parsed) if ["http", "https"].contains(&parsed.scheme()) && parsed.has_host() && url.len() <= LONG => Ok(()),
        _ => Err(Error::bad_args(format!(
            "the address `{}` is not a URL: write it as http://192.168.1.5:8080/v1",
            url.chars().take(80).collect::<String>()
        ))),
    }
}

pub(super) fn good_change(change: &mut ProviderChange) -> Result<()> {
    for text in [&mut change.url, &mut change.key].into_iter().flatten() {
        *text = text.trim().to_owned();
    }
    let odd = |k: &String| k.len() > LONG || k.chars().any(|c| c.is_control() || c.is_whitespace());
    if change.key.as_ref().is_some_and(odd) {
        return Err(Error::bad_args("`key` is not a key: it has blanks or line breaks in it, or is too long"));
    }
    Ok(())
}

/// The keys that are kept; a restored copy brings none that this device can open.
pub(super) fn kept_keys(store: &Store) -> Result<Keys> {
    if let Some(keys) = store.unseal_if_ours(KEYS)? {
        return serde_json::from_slice(&keys)
            .map_err(|e| Error::failed(format!("the keys of models cannot be read: {e}")));
    }
    let lone = store.unseal_if_ours(KEY)?.and_then(|bytes| serde_json::from_slice::<Lone>(&bytes).ok());
    Ok(lone.map(|l| (l.provider, Key { url: l.url, key: l.key })).into_iter().collect())
}
