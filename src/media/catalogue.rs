//! The providers and chains of `providers.toml`, and the order that an admin chose instead.

use crate::job::Task;
use serde::Deserialize;
use std::sync::LazyLock;
use tool::Settings;

/// The service of the Config Center with other orders of chains.
pub const ORDERS: &str = "media";
/// The most links of a chain that an admin wrote.
const LINKS: usize = 8;
/// The largest file that is sent where a link names no size, in bytes.
const LARGEST: u64 = 10 * 1024 * 1024;
/// How long an answer may take where a link does not say, in seconds.
const SECONDS: u64 = 120;
/// The assumed usage of a request that is billed by tokens.
const TOKENS: (u64, u64) = (2_000, 1_000);

/// How a provider is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// The model that answers in chats, through its own provider.
    Model,
    /// Voice servers in the home.
    Wyoming,
    OpenAi,
    /// OpenAI's chat completions, with pictures in answers.
    Chat,
    Gemini,
    Anthropic,
    DashScope,
    MiniMax,
    ElevenLabs,
    Suno,
    /// The read-aloud voices of the browser.
    Edge,
}

/// A provider.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Its name in chains, and that of its service in the Config Center.
    pub id: String,
    /// Its display name.
    pub name: String,
    pub wire: Wire,
    /// Its default address; empty where an admin enters one.
    #[serde(default)]
    pub url: String,
    /// The provider of models whose key serves too.
    #[serde(default)]
    pub models: String,
    /// Whether it needs no key, and is used once an admin has switched it on.
    #[serde(default)]
    pub keyless: bool,
    /// A description for people.
    #[serde(default)]
    pub about: String,
    /// The URL of its documentation.
    #[serde(default)]
    pub docs: String,
}

impl Provider {
    /// Whether it has a service of its own in the Config Center.
    pub fn is_service(&self) -> bool {
        !matches!(self.wire, Wire::Model | Wire::Wyoming)
    }
}

/// Prices in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Price {
    /// Of a million input tokens.
    pub input: Option<f64>,
    /// Of a million output tokens.
    pub output: Option<f64>,
    /// Of a picture, a piece of music, or a video.
    pub piece: Option<f64>,
    /// Of a minute of sound.
    pub minute: Option<f64>,
    /// Of a million characters.
    pub characters: Option<f64>,
}

/// How much of something a request used, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// Input and output tokens, where the provider counted them.
    pub tokens: Option<(u64, u64)>,
    pub pieces: u32,
    pub seconds: Option<f64>,
    pub characters: u64,
}

impl Price {
    /// The cost of a usage in US dollars; `None` where it is not known.
    pub fn cost(&self, usage: &Usage) -> Option<f64> {
        let of_tokens =
            |(input, output): (u64, u64)| Some((input as f64 * self.input? + output as f64 * self.output?) / 1e6);
        usage
            .tokens
            .and_then(of_tokens)
            .or_else(|| self.piece.filter(|_| usage.pieces > 0).map(|price| price * f64::from(usage.pieces)))
            .or_else(|| usage.seconds.and_then(|seconds| Some(self.minute? * seconds / 60.0)))
            .or_else(|| self.characters.filter(|_| usage.characters > 0).map(|c| c * usage.characters as f64 / 1e6))
    }

    /// The expected cost of a request, in US dollars.
    pub fn expected(&self, usage: &Usage) -> f64 {
        self.cost(usage).or_else(|| self.cost(&Usage { tokens: Some(TOKENS), ..*usage })).unwrap_or(0.0)
    }
}

/// A provider in a chain, with its model for the task.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    pub task: Task,
    pub provider: String,
    #[serde(default)]
    pub model: String,
    /// The largest file that is sent, in bytes.
    #[serde(default = "largest")]
    pub largest: u64,
    /// The most results of a request; for more it is asked again.
    #[serde(default = "one")]
    pub most: u32,
    /// How long an answer may take.
    #[serde(default = "seconds")]
    pub seconds: u64,
    #[serde(default)]
    pub price: Option<Price>,
}

fn largest() -> u64 {
    LARGEST
}
fn one() -> u32 {
    1
}
fn seconds() -> u64 {
    SECONDS
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Catalogue {
    #[serde(default)]
    provider: Vec<Provider>,
    #[serde(default)]
    link: Vec<Link>,
}

/// The file is part of the program, and a test reads it.
static CATALOGUE: LazyLock<Catalogue> =
    LazyLock::new(|| toml::from_str(include_str!("providers.toml")).unwrap_or_default());

/// All providers.
pub fn providers() -> &'static [Provider] {
    &CATALOGUE.provider
}

/// A provider by its id.
pub fn provider(id: &str) -> Option<&'static Provider> {
    providers().iter().find(|provider| provider.id == id)
}

/// The links of a task in their usual order.
pub fn links(task: Task) -> impl Iterator<Item = &'static Link> {
    CATALOGUE.link.iter().filter(move |link| link.task == task)
}

/// The chain of a task: as an admin ordered it, else the usual one.
///
/// # Errors
/// A sentence, where the admin's order cannot be read.
pub fn chain(task: Task, settings: &dyn Settings) -> Result<Vec<Link>, String> {
    let order = settings.field(ORDERS, task.id(), None);
    match order.as_ref().and_then(|order| order.as_str()).map(str::trim).filter(|order| !order.is_empty()) {
        Some(order) => ordered(task, order),
        None => Ok(links(task).cloned().collect()),
    }
}

/// Reads `gemini, openai/gpt-image-2`.
fn ordered(task: Task, order: &str) -> Result<Vec<Link>, String> {
    let mut chain = vec![];
    for part in order.split([',', '\n']).map(str::trim).filter(|part| !part.is_empty()).take(LINKS) {
        chain.push(link(task, part).map_err(|why| format!("`{}` under Services, `{ORDERS}`: {why}", task.id()))?);
    }
    Ok(chain)
}

/// A link by `provider` or `provider/model`.
///
/// # Errors
/// A sentence, where the provider does not do the task.
pub fn link(task: Task, text: &str) -> Result<Link, String> {
    let (id, model) = text.split_once('/').map_or((text, None), |(id, model)| (id, Some(model)));
    let Some(mut link) = links(task).find(|link| link.provider == id).cloned() else {
        let known: Vec<&str> = links(task).map(|link| link.provider.as_str()).collect();
        let id = text_kit::truncate(id, 40);
        return Err(format!("`{id}` does not {}: choose from {}", task.words(), known.join(", ")));
    };
    if let Some(model) = model.map(str::trim).filter(|model| !model.is_empty() && *model != link.model) {
        // The price of another model is not known; where it costs something, it is counted as unknown.
        link.model = text_kit::truncate(model, 120);
        link.price = link.price.map(|_| Price::default());
    }
    Ok(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Map, Value, json};

    struct Orders(Value);
    impl Settings for Orders {
        fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
            let entry = self.0.as_object().cloned().filter(|_| service == ORDERS);
            entry.map(|entry| ("default".to_owned(), entry)).into_iter().collect()
        }
    }

    #[test]
    fn the_file_is_read_and_agrees_with_itself() {
        let file: Catalogue = toml::from_str(include_str!("providers.toml")).unwrap();
        for link in &file.link {
            let provider = file.provider.iter().find(|provider| provider.id == link.provider);
            let provider = provider.unwrap_or_else(|| panic!("{link:?} names no provider"));
            assert_eq!(link.model.is_empty(), !provider.is_service() || provider.wire == Wire::Edge, "{link:?}");
            assert!(link.largest <= 20 << 20 && link.most > 0 && link.seconds <= 900, "{link:?}");
        }
        for task in Task::ALL {
            assert!(links(*task).next().is_some(), "{task:?} has no provider");
        }
        for provider in &file.provider {
            assert!(!provider.keyless || !provider.url.is_empty(), "nobody enters the address of {}", provider.id);
            assert!(file.link.iter().any(|link| link.provider == provider.id), "{} does nothing", provider.id);
        }
    }

    #[test]
    fn an_admin_orders_a_chain() {
        let names = |order: Value| {
            let chain = chain(Task::Image, &Orders(json!({"image": order})));
            chain.map(|chain| chain.iter().map(|l| format!("{}/{}", l.provider, l.model)).collect::<Vec<_>>())
        };
        assert_eq!(names(json!("minimax, gemini/x")).unwrap(), ["minimax/image-01", "gemini/x"]);
        assert_eq!(names(json!("")).unwrap().len(), links(Task::Image).count());
        assert_eq!(names(Value::Null).unwrap().len(), links(Task::Image).count());
        let why = names(json!("openai, suno")).unwrap_err();
        assert!(why.contains("`suno` does not make pictures") && why.contains("minimax"), "{why}");
        assert_eq!(link(Task::Image, "openai/other").unwrap().price, Some(Price::default()));
        assert_eq!(link(Task::Speech, "wyoming/x").unwrap().price, None);
    }

    #[test]
    fn costs_follow_from_what_is_known() {
        let price = Price { input: Some(1.0), output: Some(10.0), piece: Some(0.05), ..Price::default() };
        let usage = |tokens| Usage { tokens, pieces: 2, ..Usage::default() };
        assert_eq!(price.cost(&usage(Some((1_000_000, 100_000)))), Some(2.0));
        assert_eq!(price.cost(&usage(None)), Some(0.1));
        assert_eq!(Price::default().cost(&usage(None)), None);
        let minutes = Price { minute: Some(0.6), ..Price::default() };
        assert_eq!(minutes.cost(&Usage { seconds: Some(30.0), ..Usage::default() }), Some(0.3));
        let letters = Price { characters: Some(100.0), ..Price::default() };
        assert_eq!(letters.cost(&Usage { characters: 10_000, ..Usage::default() }), Some(1.0));
        let by_tokens = Price { input: Some(1.0), output: Some(1.0), ..Price::default() };
        assert!(by_tokens.expected(&Usage::default()) > 0.0);
    }
}
