//! Models that nobody named: those of providers whose keys are in the environment answer, and stand in, by themselves.

use super::{Models, provider_of};
use crate::config::Fallback;
use llm::Preset;

impl Models {
    /// The providers whose keys are in the environment and good where the provider is, the first first.
    fn with_keys(&self) -> impl Iterator<Item = &'static Preset> + '_ {
        let moved = self.terms().urls;
        // A key of the environment is not sent to an address that was chosen at the page.
        let usable = move |p: &&Preset| self.env(p.key_env).is_some() && !moved.contains_key(p.id);
        llm::FROM_ENVIRONMENT.iter().filter_map(|id| llm::preset(id)).filter(usable)
    }

    /// The model that answers where nobody chose one, if there is a key for any.
    pub(super) fn by_key(&self) -> Option<String> {
        self.with_keys().next().map(usual)
    }

    /// Which models stand in, as somebody chose, else the others with keys.
    pub(super) fn fallback(&self) -> Vec<String> {
        match (self.terms().fallback, &self.config.model.fallback) {
            (Some(chosen), _) => chosen,
            (None, Fallback::Models(models)) => models.clone(),
            (None, Fallback::Auto(_)) => self.others_with_keys(),
        }
    }

    /// Whether nobody chose which models stand in.
    pub(super) fn is_fallback_automatic(&self) -> bool {
        self.terms().fallback.is_none() && matches!(self.config.model.fallback, Fallback::Auto(_))
    }

    fn others_with_keys(&self) -> Vec<String> {
        let (first, _) = self.decided();
        let Some(first) = provider_of(&first).and_then(llm::preset) else { return vec![] };
        self.with_keys().filter(|p| p.id != first.id).map(usual).collect()
    }
}

/// The model of a provider that is used where nobody named one.
fn usual(preset: &'static Preset) -> String {
    format!("{}/{}", preset.id, preset.default_model)
}
