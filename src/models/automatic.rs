//! Automatic choice: models of providers whose keys are in the environment answer, and are fallbacks, without
//! configuration.

use crate::{Fallback, Models, provider_of};
use llm::Preset;

impl Models {
    /// The providers whose keys are in the environment and usable at their addresses, in order of preference.
    fn with_keys(&self) -> impl Iterator<Item = &'static Preset> + '_ {
        let moved = self.settings().urls;
        // A key of the environment is not sent to an address of the page.
        let usable = move |p: &&Preset| self.env(p.key_env).is_some() && !moved.contains_key(p.id);
        llm::FROM_ENVIRONMENT.iter().filter_map(|id| llm::preset(id)).filter(usable)
    }

    /// The model that answers when none is chosen.
    pub(super) fn by_key(&self) -> Option<String> {
        self.with_keys().next().map(default_model)
    }

    /// The fallbacks: as chosen, else the other providers with keys.
    pub(super) fn fallback(&self) -> Vec<String> {
        match (self.settings().fallback, &self.0.config.fallback) {
            (Some(chosen), _) => chosen,
            (None, Fallback::Models(models)) => models.clone(),
            (None, Fallback::Auto(_)) => self.others_with_keys(),
        }
    }

    /// Whether the fallbacks were not chosen.
    pub(super) fn is_fallback_automatic(&self) -> bool {
        self.settings().fallback.is_none() && matches!(self.0.config.fallback, Fallback::Auto(_))
    }

    fn others_with_keys(&self) -> Vec<String> {
        let (first, _) = self.first_model();
        let Some(first) = provider_of(&first).and_then(llm::preset) else { return vec![] };
        self.with_keys().filter(|p| p.id != first.id).map(default_model).collect()
    }
}

/// The default model of a provider.
fn default_model(preset: &'static Preset) -> String {
    format!("{}/{}", preset.id, preset.default_model)
}
