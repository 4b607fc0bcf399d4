//! The catalogue of known models: the built-in one, or a newer one that was fetched or sent.

use crate::{
    Models, uncancelled,
    views::{CatalogueUpdate, KnownModels},
};
use http_client::Fetch;
use llm::Catalogue;
use serde::{Deserialize, Serialize};
use std::sync::PoisonError;
use store::{Collection, Level, Record, Stamp};
use tool::{Error, Id, Result, Scope};

/// The id of the only record.
const ONE: Id = Id::from_bytes([0, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, 4]);
/// The default address of a newer catalogue.
const URL: &str = "https://models.dev/api.json";

/// A catalogue that was fetched or sent. New fields go last.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StoredCatalogue {
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

/// The catalogue in use and where it is from.
pub(crate) struct CurrentCatalogue {
    catalogue: Catalogue,
    /// Empty for the built-in one.
    source: String,
    /// Milliseconds since 1970.
    at: u64,
}

impl CurrentCatalogue {
    /// The stored catalogue, else the built-in one.
    pub fn load(stored: &Collection<StoredCatalogue>) -> Self {
        let found = stored.get_in(Scope::Household, ONE).ok().flatten().map(|e| e.value);
        let read = found.and_then(|stored| {
            let catalogue = Catalogue::read(&stored.catalogue).ok()?;
            Some(Self { catalogue, source: stored.source, at: stored.at })
        });
        read.unwrap_or_else(|| Self { catalogue: Catalogue::built_in(), source: String::new(), at: 0 })
    }
}

impl Models {
    pub(crate) fn catalogue(&self) -> Catalogue {
        self.0.catalogue.read().unwrap_or_else(PoisonError::into_inner).catalogue.clone()
    }

    /// The known models, of one provider or all.
    pub fn known(&self, provider: Option<&str>) -> KnownModels {
        let current = self.0.catalogue.read().unwrap_or_else(PoisonError::into_inner);
        let of = |model: &&llm::Model| provider.is_none_or(|p| model.provider() == p);
        let source = if current.source.is_empty() { "built-in" } else { &current.source };
        KnownModels {
            models: current.catalogue.all().filter(of).cloned().collect(),
            source: source.to_owned(),
            updated_at: Some(current.at).filter(|at| *at > 0),
        }
    }

    /// Replaces the catalogue.
    ///
    /// # Errors
    /// `BadArgs` when the document is no catalogue, `Unavailable` when it could not be fetched.
    pub async fn update_catalogue(&self, update: CatalogueUpdate) -> Result<KnownModels> {
        let this = self.clone();
        uncancelled(async move {
            let (document, source) = match (update.catalogue, update.url) {
                (Some(_), Some(_)) => return Err(Error::bad_args("give `catalogue` or `url`, not both")),
                (Some(catalogue), None) => (catalogue.to_string().into_bytes(), "given".to_owned()),
                (None, url) => {
                    let url = url.unwrap_or_else(|| URL.to_owned());
                    (this.fetch(&url).await?, url)
                }
            };
            let catalogue = Catalogue::read(&document)?;
            let at = Id::new().millis();
            let stored = StoredCatalogue { source: source.clone(), at, catalogue: Catalogue::compact(&document)? };
            let records = this.0.stored_catalogue.clone();
            let put = move |tx: &store::Tx| records.put(tx, ONE, &Stamp::household("models"), &stored).map(drop);
            this.0.stored_catalogue.store().write(put).await?;
            *this.0.catalogue.write().unwrap_or_else(PoisonError::into_inner) =
                CurrentCatalogue { catalogue, source, at };
            this.apply()?;
            Ok(this.known(None))
        })
        .await
    }

    async fn fetch(&self, url: &str) -> Result<Vec<u8>> {
        let fetched = self.0.deps.web.fetch(Fetch::get(url)).await;
        let fetched = fetched.map_err(|e| Error::unavailable(format!("{url} could not be fetched: {e}")))?;
        if fetched.status != 200 {
            let text = format!("{url} answered with status {}: nothing was changed", fetched.status);
            return Err(Error::unavailable(text));
        }
        Ok(fetched.body.to_vec())
    }
}
