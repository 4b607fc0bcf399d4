//! Endpoints: address, wire format and quirks of a model server.

use crate::Facts;
use http_client::Patience;
use serde::{Deserialize, Serialize};
use std::{fmt, time::Duration};

/// Wire formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// OpenAI's chat completions, the most common one.
    #[default]
    OpenAi,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Google's generateContent.
    Gemini,
}

/// Deviations of a server from its wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Quirks {
    /// The output limit is called `max_completion_tokens`, and `max_tokens` is rejected (OpenAI's own).
    pub max_completion_tokens: bool,
    /// `stream_options` is rejected; usage comes unasked or not at all.
    pub no_stream_options: bool,
    /// A tool call cannot be forced: `required` and a named tool become `auto`.
    pub no_tool_choice_required: bool,
    /// Instructions have the role `developer` instead of `system`.
    pub system_as_developer: bool,
    /// Reasoning of turns with tool calls must be sent back as `reasoning_content` (DeepSeek).
    pub reasoning_back: bool,
    /// Tool parameters are reduced to basic JSON Schema.
    pub strip_schema: bool,
    /// The temperature is fixed and must not be sent (reasoning models).
    pub no_temperature: bool,
    /// `prompt_cache_key` is supported (OpenAI's own).
    pub prompt_cache_key: bool,
    /// PDF files may be sent as a `file` part (OpenAI's own; most others reject it, whatever the model reads).
    pub file_parts: bool,
    /// Encrypted reasoning is unavailable, and requesting it is rejected (OpenAI's non-reasoning models).
    pub no_encrypted_reasoning: bool,
    /// Call ids have nine letters and digits; any other is rejected (Mistral).
    pub short_ids: bool,
    /// Stop sequences are rejected (OpenAI's reasoning models).
    pub no_stop: bool,
    /// A response format is rejected, always or together with tools (llama.cpp).
    pub no_response_format: bool,
    /// The model may generate images (Gemini, with images among the response modalities).
    pub makes_images: bool,
}

impl Quirks {
    /// A server that conforms to its format.
    pub const NONE: Quirks = Quirks {
        max_completion_tokens: false,
        no_stream_options: false,
        no_tool_choice_required: false,
        system_as_developer: false,
        reasoning_back: false,
        strip_schema: false,
        no_temperature: false,
        prompt_cache_key: false,
        file_parts: false,
        no_encrypted_reasoning: false,
        short_ids: false,
        no_stop: false,
        no_response_format: false,
        makes_images: false,
    };
}

/// Address and parameters of a model.
#[derive(Clone, Default)]
pub struct Endpoint {
    /// The provider's name, as in `provider/model`.
    pub provider: String,
    /// The server's name of the model.
    pub model: String,
    /// The wire format.
    pub wire: Wire,
    /// The base URL, such as `http://192.168.1.5:8080/v1`; with or without the version.
    pub url: String,
    /// The API key, if the server needs one.
    pub key: Option<String>,
    /// Maximum tokens of an answer; the server's limit if `None`.
    pub max_tokens: Option<u32>,
    /// Timeouts.
    pub patience: Patience,
    /// Maximum number of retries.
    pub retries: u32,
    /// Delay before the first retry.
    pub retry_delay: Duration,
    /// Known limits and abilities of the model.
    pub facts: Facts,
    /// The server's deviations.
    pub quirks: Quirks,
}

impl fmt::Debug for Endpoint {
    /// Omits the key: this may be logged.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("model", &format_args!("{}/{}", self.provider, self.model))
            .field("wire", &self.wire)
            .field("url", &self.url)
            .field("has_key", &self.key.is_some())
            .field("quirks", &self.quirks)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The base URL with version: `…/v1` or, for Gemini, `…/v1beta`. People give it with or without the version, and
    /// some paste the full request URL.
    pub(crate) fn base(&self) -> String {
        let (version, tails): (&str, &[&str]) = match self.wire {
            Wire::OpenAi => ("v1", &["/chat/completions"]),
            Wire::Responses => ("v1", &["/responses", "/chat/completions"]),
            Wire::Anthropic => ("v1", &["/messages"]),
            Wire::Gemini => ("v1beta", &["/models"]),
        };
        let mut base = self.url.trim().trim_end_matches('/');
        for tail in tails {
            base = base.strip_suffix(tail).unwrap_or(base).trim_end_matches('/');
        }
        let path = base.split_once("://").map_or(base, |(_, rest)| rest).split_once('/').map(|(_, path)| path);
        let is_version = |s: &str| s.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
        let complete = match self.wire {
            // Servers mount their API at arbitrary paths; a bare host gets the usual one.
            Wire::OpenAi | Wire::Responses => path.is_some(),
            Wire::Anthropic | Wire::Gemini => path.and_then(|p| p.rsplit('/').next()).is_some_and(is_version),
        };
        if complete { base.to_owned() } else { format!("{base}/{version}") }
    }

    /// The request URL.
    pub(crate) fn address(&self) -> String {
        let base = self.base();
        match self.wire {
            Wire::OpenAi => format!("{base}/chat/completions"),
            Wire::Responses => format!("{base}/responses"),
            Wire::Anthropic => format!("{base}/messages"),
            Wire::Gemini => format!("{base}/{}:streamGenerateContent?alt=sse", model_path(&self.model)),
        }
    }

    /// Authentication and version headers.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![];
        if self.wire == Wire::Anthropic {
            headers.push(("anthropic-version".to_owned(), "2023-06-01".to_owned()));
        }
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        headers.extend(key.map(|key| match self.wire {
            Wire::OpenAi | Wire::Responses => ("authorization".to_owned(), format!("Bearer {key}")),
            Wire::Anthropic => ("x-api-key".to_owned(), key.to_owned()),
            // Never in the URL, as in Google's examples: URLs are logged.
            Wire::Gemini => ("x-goog-api-key".to_owned(), key.to_owned()),
        }));
        headers
    }

    /// Maximum tokens of an answer: the requested number, within the configured and the model's limit.
    pub(crate) fn limit(&self, wanted: Option<u32>) -> Option<u32> {
        let least = [wanted, self.max_tokens].into_iter().flatten().min()?;
        Some(if self.facts.output > 0 { least.min(self.facts.output) } else { least })
    }
}

/// The model in a URL path: `models/NAME` unless the name is a path already; escaped so that it cannot end the path.
fn model_path(model: &str) -> String {
    let path = if model.contains('/') { model.to_owned() } else { format!("models/{model}") };
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"-._/@".contains(b);
    path.bytes().map(|b| if plain(&b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_people_write() {
        use Wire::*;
        let gemini = "https://g.org/v1beta/models/m:streamGenerateContent?alt=sse";
        for (wire, url, expected) in [
            (OpenAi, "http://pi:8080", "http://pi:8080/v1/chat/completions"),
            (OpenAi, "http://pi:8080/v1/", "http://pi:8080/v1/chat/completions"),
            (OpenAi, "https://x.org/openai/v1", "https://x.org/openai/v1/chat/completions"),
            (OpenAi, "https://x.org/v1/chat/completions", "https://x.org/v1/chat/completions"),
            (Responses, "https://x.org", "https://x.org/v1/responses"),
            (Responses, "https://x.org/v1/responses", "https://x.org/v1/responses"),
            (Anthropic, "https://a.org", "https://a.org/v1/messages"),
            (Anthropic, "https://a.org/v1", "https://a.org/v1/messages"),
            (Anthropic, "https://d.org/anthropic/", "https://d.org/anthropic/v1/messages"),
            (Anthropic, "https://a.org/v1/messages", "https://a.org/v1/messages"),
            (Gemini, "https://g.org", gemini),
            (Gemini, "https://g.org/v1beta/", gemini),
            (Gemini, "https://g.org/v1beta/models", gemini),
            (Gemini, "https://g.org/v1", "https://g.org/v1/models/m:streamGenerateContent?alt=sse"),
        ] {
            let endpoint = Endpoint { wire, url: url.into(), model: "m".into(), ..Endpoint::default() };
            assert_eq!(endpoint.address(), expected, "{url}");
        }
        assert_eq!(model_path("a?key=1#b c"), "models/a%3Fkey%3D1%23b%20c");
        assert_eq!(model_path("tunedModels/x"), "tunedModels/x");
    }

    #[test]
    fn keys_are_in_headers_and_not_in_the_log() {
        for (wire, name) in [
            (Wire::OpenAi, "authorization"),
            (Wire::Responses, "authorization"),
            (Wire::Anthropic, "x-api-key"),
            (Wire::Gemini, "x-goog-api-key"),
        ] {
            let endpoint = Endpoint { wire, key: Some("geheim".into()), ..Endpoint::default() };
            let header = endpoint.headers().into_iter().find(|h| h.0 == name).unwrap();
            assert!(header.1.contains("geheim"));
            assert!(!format!("{endpoint:?} {}", endpoint.address()).contains("geheim"));
        }
    }

    #[test]
    fn the_least_limit_counts() {
        let limit = |set, output, wanted| {
            let facts = Facts { output, ..Facts::default() };
            Endpoint { max_tokens: set, facts, ..Endpoint::default() }.limit(wanted)
        };
        assert_eq!(limit(None, 100, None), None);
        assert_eq!(limit(Some(50), 100, Some(70)), Some(50));
        assert_eq!(limit(Some(500), 100, None), Some(100));
        assert_eq!(limit(None, 0, Some(70)), Some(70));
    }
}
