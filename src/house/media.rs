//! Media: its providers, with the keys of models, their budget, and the model that answers.

use agent::Agent;
use config_center::{ConfigCenter, Required};
use futures::future::BoxFuture;
use llm::{Kind, Ledger, Source};
use media::{ChatModel, Deps, Keys, Look, Media, ORDERS, Task, VoiceServers};
use models::Models;
use registry::Registry;
use serde_json::{Value, json};
use std::sync::{Arc, OnceLock};
use tool::{Cx, Label, Result};
use tools_media::LedgerCosts;

/// The keys of models, which are there later than media.
#[derive(Clone, Default)]
pub(super) struct ModelKeys(Arc<OnceLock<Models>>);

impl ModelKeys {
    pub fn set(&self, models: Models) {
        let _ = self.0.set(models);
    }
}

impl Keys for ModelKeys {
    fn key(&self, provider: &str) -> Option<(String, String)> {
        self.0.get()?.key_of(provider)
    }
}

struct Answering(Agent);

impl ChatModel for Answering {
    fn sees(&self) -> bool {
        self.0.sees_pictures()
    }

    fn look(&self, cx: Cx, look: Look) -> BoxFuture<'static, Result<(String, String)>> {
        let agent = self.0.clone();
        Box::pin(async move {
            let picture = |file: media::Blob| llm::Media {
                kind: Kind::Image,
                media_type: file.media_type,
                name: file.name,
                source: Source::Bytes(file.bytes.to_vec().into()),
            };
            let pictures = look.files.into_iter().map(picture).collect();
            agent.answer_about(&cx, &look.question, pictures).await
        })
    }
}

/// The providers of media.
pub(super) fn media(keys: ModelKeys, ledger: Arc<Ledger>, voices: VoiceServers) -> Media {
    Media::new(Deps { keys: Arc::new(keys), costs: Arc::new(LedgerCosts(ledger)), voices })
}

/// Lets media ask the model that answers.
pub(super) fn set_model(media: &Media, agent: Agent) {
    media.set_model(Arc::new(Answering(agent)));
}

/// Lists the services under which people enter keys of providers, and another order of their chains.
pub(super) fn register(services: &ConfigCenter) -> Result<()> {
    let secret = json!({"name": "api_key", "label": "API key", "type": "secret"});
    let switch = json!({"name": "enabled", "label": "Use it", "type": "boolean", "required": true});
    let service = |provider: &media::Provider| {
        let url = match provider.url.as_str() {
            "" => json!({"name": "base_url", "label": "Address", "type": "url", "required": true,
                "description": "Such as http://192.168.1.7:8000/v1."}),
            url => json!({"name": "base_url", "label": "Address", "type": "url",
                "description": format!("Left out: {url}.")}),
        };
        let access = if provider.keyless { &switch } else { &secret };
        let mut service = json!({"name": provider.id, "displayName": provider.name, "category": "Media",
            "description": provider.about, "configSchema": [access, url]});
        if !provider.docs.is_empty() {
            service["docsUrl"] = provider.docs.as_str().into();
        }
        service
    };
    let order = |task: &Task| {
        let usual: Vec<&str> = media::links(*task).map(|link| link.provider.as_str()).collect();
        json!({"name": task.id(), "label": format!("To {}", task.words()), "type": "string",
            "description": format!("Providers in order, each with a model if you like, as gemini, openai/MODEL. Left out: {}.", usual.join(", "))})
    };
    let orders = json!({"name": ORDERS, "displayName": "Order of media providers", "category": "Media",
        "description": "Which provider is asked first to read and make pictures, sound and video, and which ones follow.",
        "configSchema": Task::ALL.iter().map(order).collect::<Vec<Value>>()});
    // A tool requires ten services at most.
    let (by_picture, by_sound): (Vec<&media::Provider>, Vec<&media::Provider>) = media::providers()
        .iter()
        .filter(|provider| provider.is_service())
        .partition(|provider| media::links(Task::Image).any(|link| link.provider == provider.id));
    let pictures: Vec<Value> = by_picture.into_iter().map(service).chain([orders]).collect();
    let sounds: Vec<Value> = by_sound.into_iter().map(service).collect();
    services.register("media-pictures", "generate_image", Label::Own, Required::parse_list(&pictures.into())?)?;
    services.register("media-sounds", "create_audio", Label::Own, Required::parse_list(&sounds.into())?)
}

/// Enables the tool groups of what is set up, now and at each change: services with an entry, and providers with a key of models.
pub(super) fn sync_groups(
    registry: &Registry,
    services: &ConfigCenter,
    models: &Models,
) -> Arc<dyn Fn() + Send + Sync> {
    let (registry, known, models) = (registry.clone(), services.clone(), models.clone());
    let learn: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let entered = known.services().into_iter().filter(|service| !service.entries.is_empty()).map(|s| s.name);
        let by_models = media::providers().iter().filter(|provider| models.key_of(&provider.models).is_some());
        registry.set_services(entered.chain(by_models.map(|provider| provider.id.clone())).collect());
    });
    learn();
    let again = learn.clone();
    services.on_change(move || again());
    learn
}
