//! The address and key of each provider.
//!
//! The environment wins, then the page, then hob.toml. A key is sent only to the address it was given for: keys of the
//! environment belong to addresses of the environment, keys of the page to addresses of the page.

use super::Models;
use crate::views::{ChosenBy, ProviderPatch, ProviderView};
use llm::{Endpoint, Preset};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, sync::PoisonError};
use store::Store;
use tool::{Error, Result};

/// The sealed secret that holds the keys, and its predecessor with a single key.
const KEYS: &str = "model-keys";
const KEY: &str = "model-key";
/// The longest key or address, in bytes.
const MAX_LENGTH: usize = 4096;

/// A key and the address it was given for.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct ApiKey {
    pub url: String,
    pub key: String,
}

/// The single key of an older Hob.
#[derive(Deserialize)]
struct SingleKey {
    provider: String,
    url: String,
    key: String,
}

/// By provider.
pub(super) type ApiKeys = BTreeMap<String, ApiKey>;

/// The address and key of a provider.
pub(super) struct ProviderEndpoint {
    pub preset: &'static Preset,
    pub url: String,
    pub key: Option<String>,
    pub key_from: Option<&'static str>,
}

impl Models {
    /// The address and key of a provider, as if the patch were stored.
    pub(super) fn provider_endpoint(&self, provider: &str, patch: &ProviderPatch) -> Result<ProviderEndpoint> {
        let preset = llm::preset(provider).ok_or_else(|| unknown_provider(provider))?;
        let (model, by) = self.first_model();
        let is_first = |model: &str| provider_of(model).and_then(llm::preset).is_some_and(|p| p.id == preset.id);
        let file = &self.0.config;
        // An address without a model belongs to `custom`.
        let of_file = is_first(&file.name) || (file.name.is_empty() && preset.id == "custom");
        let file = Some(&file.url).filter(|url| !url.is_empty() && of_file);
        let own = self.env(preset.url_env).or_else(|| file.cloned()).unwrap_or_else(|| preset.url.to_owned());
        let fixed = self.env(preset.url_env).is_some() || (by == ChosenBy::Environment && is_first(&model));
        let chosen = self.0.choices.current();
        let page = Some(chosen.url.clone()).filter(|url| !url.is_empty() && is_first(&chosen.model));
        let page = page.or_else(|| chosen.model_settings().urls.get(preset.id).cloned());
        let page = page.filter(|url| !fixed && url != preset.former_url);
        if fixed && patch.url.as_deref().is_some_and(|url| !url.is_empty() && url != own) {
            return Err(Error::denied(format!(
                "the environment says where {} is: start Hob without {} to say so here",
                preset.name, preset.url_env
            )));
        }
        let url = match patch.url.as_deref() {
            Some("") => own.clone(),
            Some(url) => url.to_owned(),
            None => page.unwrap_or_else(|| own.clone()),
        };
        let (key, key_from) = match (&patch.key, self.env(preset.key_env).filter(|_| url == own)) {
            (Some(key), _) => (Some(key.trim().to_owned()).filter(|k| !k.is_empty()), Some("page")),
            (None, Some(key)) => (Some(key), Some("environment")),
            (None, None) => (
                self.keys()
                    .remove(preset.id)
                    // The single key of an older Hob may have been given for the default address without naming it; and
                    // that may have moved since.
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

    /// The address and key of a provider, for requests that are no chat; `None` without a key.
    pub fn key_of(&self, provider: &str) -> Option<(String, String)> {
        let found = self.provider_endpoint(provider, &ProviderPatch::default()).ok()?;
        Some((found.url, found.key?))
    }

    /// How requests reach a model.
    pub(super) fn endpoint(&self, model: &str, patch: &ProviderPatch) -> Result<Endpoint> {
        let Some((provider, name)) = model.split_once('/').filter(|(p, m)| !p.is_empty() && !m.is_empty()) else {
            return Err(Error::bad_args(format!(
                "`{model}` is not provider/model: write it as openai/gpt-5-mini or custom/NAME"
            )));
        };
        let found = self.provider_endpoint(provider, patch)?;
        let (preset, url) = (found.preset, found.url);
        if url.is_empty() {
            let how = if preset.url_env.is_empty() { String::new() } else { format!(" (or set {})", preset.url_env) };
            return Err(Error::bad_args(format!(
                "`{model}` needs an address: say where its server is, such as http://192.168.1.5:8080/v1{how}"
            )));
        }
        check_url(&url)?;
        let config = &self.0.config;
        Ok(Endpoint {
            // The canonical name: limits, counts and provider state go by it.
            provider: preset.id.to_owned(),
            model: name.to_owned(),
            wire: preset.wire_at(&url),
            quirks: preset.quirks_for(name, &url),
            url,
            key: found.key,
            max_tokens: Some(config.max_tokens).filter(|n| *n > 0),
            patience: config.patience(),
            retries: config.retries,
            retry_delay: config.retry_delay(),
            facts: self.facts(model),
        })
    }

    /// Stores the address and key of a provider.
    pub(super) async fn store_provider(&self, preset: &'static Preset, patch: &ProviderPatch) -> Result<()> {
        let endpoint = self.provider_endpoint(preset.id, patch)?;
        if endpoint.url.is_empty() && patch.key.as_ref().is_some_and(|key| !key.is_empty()) {
            let text = "a key is sent to one address only: give the `url` of the server it is for as well";
            return Err(Error::bad_args(text));
        }
        if let Some(key) = patch.key.clone() {
            let mut keys = self.keys();
            match key.is_empty() {
                true => drop(keys.remove(preset.id)),
                false => drop(keys.insert(preset.id.to_owned(), ApiKey { url: endpoint.url.clone(), key })),
            }
            self.0.deps.store.seal(KEYS, &serde_json::to_vec(&keys).map_err(not_written)?).await?;
            // The single key of an older Hob is among them now, or removed.
            self.0.deps.store.forget_secret(KEY).await?;
            *self.0.keys.lock().unwrap_or_else(PoisonError::into_inner) = keys;
        }
        if let Some(url) = patch.url.clone() {
            self.update_settings(move |settings| match url.is_empty() {
                true => drop(settings.urls.remove(preset.id)),
                false => drop(settings.urls.insert(preset.id.to_owned(), url.clone())),
            })
            .await?;
        }
        Ok(())
    }

    pub(super) fn provider_view(&self, preset: &'static Preset) -> ProviderView {
        let endpoint = self.provider_endpoint(preset.id, &ProviderPatch::default()).ok();
        let (url, key_from) = endpoint.map(|e| (e.url, e.key_from)).unwrap_or_default();
        ProviderView {
            id: preset.id.into(),
            name: preset.name.into(),
            wire: preset.wire,
            url,
            default_url: preset.url.into(),
            needs_key: preset.needs_key,
            has_key: key_from.is_some(),
            key_from,
            key_hint: preset.key_hint.into(),
            key_prefixes: preset.key_prefixes.to_vec(),
            local: preset.local,
        }
    }
}

fn not_written(error: serde_json::Error) -> Error {
    Error::failed(format!("the keys could not be stored: {error}"))
}

/// The provider in `provider/model`.
pub(super) fn provider_of(model: &str) -> Option<&str> {
    model.split_once('/').map(|(provider, _)| provider)
}

pub(super) fn unknown_provider(provider: &str) -> Error {
    let known: Vec<&str> = llm::PRESETS.iter().map(|p| p.id).collect();
    Error::bad_args(format!(
        "the provider `{provider}` is not known: use one of {}; `custom` is any server that speaks OpenAI's format",
        known.join(", ")
    ))
}

/// Checks an address, with messages for the page.
pub(super) fn check_url(url: &str) -> Result<()> {
    match url::Url::parse(url) {
        Ok(parsed) if !parsed.username().is_empty() || parsed.password().is_some() => {
            Err(Error::bad_args("`url` has a name or password in it: give those as the `key`"))
        }
        Ok(parsed) if ["http", "https"].contains(&parsed.scheme()) && parsed.has_host() && url.len() <= MAX_LENGTH => {
            Ok(())
        }
        _ => Err(Error::bad_args(format!(
            "the address `{}` is not a URL: write it as http://192.168.1.5:8080/v1",
            url.chars().take(80).collect::<String>()
        ))),
    }
}

/// Trims the values of a patch and checks its key.
pub(super) fn normalize_patch(patch: &mut ProviderPatch) -> Result<()> {
    for text in [&mut patch.url, &mut patch.key].into_iter().flatten() {
        *text = text.trim().to_owned();
    }
    let odd = |k: &String| k.len() > MAX_LENGTH || k.chars().any(|c| c.is_control() || c.is_whitespace());
    if patch.key.as_ref().is_some_and(odd) {
        return Err(Error::bad_args("`key` is not a key: it has blanks or line breaks in it, or is too long"));
    }
    Ok(())
}

/// Loads the keys; those of a backup from another device cannot be unsealed and are left out.
pub(super) fn load_keys(store: &Store) -> Result<ApiKeys> {
    if let Some(keys) = store.unseal_if_ours(KEYS)? {
        return serde_json::from_slice(&keys)
            .map_err(|e| Error::failed(format!("the keys of models cannot be read: {e}")));
    }
    let single = store.unseal_if_ours(KEY)?.and_then(|bytes| serde_json::from_slice::<SingleKey>(&bytes).ok());
    Ok(single.map(|l| (l.provider, ApiKey { url: l.url, key: l.key })).into_iter().collect())
}
