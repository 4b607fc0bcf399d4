//! Known providers: addresses, wire formats and key variables.

use crate::{Endpoint, Quirks, Wire};
use std::net::IpAddr;

/// A known provider.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Preset {
    /// As in `provider/model`.
    pub id: &'static str,
    /// Alternative ids.
    pub aliases: &'static [&'static str],
    /// Display name.
    pub name: &'static str,
    /// Wire format at its default address; see [`Preset::wire_at`].
    pub wire: Wire,
    /// Default address; empty if only the person knows it.
    pub url: &'static str,
    /// Former address, or empty. A key stored for it is valid for the current one.
    pub former_url: &'static str,
    /// Environment variable of the key.
    pub key_env: &'static str,
    /// Environment variable that overrides the address.
    pub url_env: &'static str,
    /// Whether it requires a key.
    pub needs_key: bool,
    /// Whether it is a self-hosted server; see [`Preset::free_at`].
    pub local: bool,
    /// Whether its models may write calls as text at its default address; see [`Preset::reads_text_at`].
    pub reads_text: bool,
    /// Default model if a key is set; empty if there is none.
    pub default_model: &'static str,
    /// How its keys begin; empty if they have no form of their own.
    pub key_prefixes: &'static [&'static str],
    /// A sentence on how to get a key, or which server to start.
    pub key_hint: &'static str,
    /// Quirks at its default address; see [`Preset::quirks_for`].
    pub quirks: Quirks,
}

/// Defaults of cloud providers: chat completions, key required.
const CLOUD: Preset = Preset {
    id: "",
    aliases: &[],
    name: "",
    wire: Wire::OpenAi,
    url: "",
    former_url: "",
    key_env: "",
    url_env: "",
    needs_key: true,
    local: false,
    reads_text: false,
    default_model: "",
    key_prefixes: &[],
    key_hint: "",
    quirks: Quirks::NONE,
};

/// Defaults of self-hosted servers.
const OWN: Preset = Preset { needs_key: false, local: true, reads_text: true, ..CLOUD };

/// All presets, in display order.
///
/// `openai` uses Responses: since GPT-5.4 OpenAI rejects tools together with reasoning in chat completions, and only
/// Responses keeps reasoning between tool calls.
pub const PRESETS: &[Preset] = &[
    Preset {
        id: "anthropic",
        aliases: &["claude"],
        name: "Anthropic",
        wire: Wire::Anthropic,
        url: "https://api.anthropic.com/v1",
        default_model: "claude-haiku-5-5",
        key_env: "ANTHROPIC_API_KEY",
        url_env: "ANTHROPIC_BASE_URL",
        key_prefixes: &["sk-ant-"],
        key_hint: "Make one at platform.claude.com under API keys; it begins with sk-ant-.",
        ..CLOUD
    },
    Preset {
        id: "openai",
        name: "OpenAI",
        wire: Wire::Responses,
        url: "https://api.openai.com/v1",
        default_model: "gpt-6-luna",
        key_env: "OPENAI_API_KEY",
        url_env: "OPENAI_BASE_URL",
        key_prefixes: &["sk-", "sk-proj-", "sk-svcacct-", "sk-None-"],
        key_hint: "Make one at platform.openai.com under API keys; it begins with sk-.",
        quirks: Quirks { max_completion_tokens: true, prompt_cache_key: true, file_parts: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "google",
        aliases: &["gemini"],
        name: "Google Gemini",
        wire: Wire::Gemini,
        url: "https://generativelanguage.googleapis.com/v1beta",
        default_model: "gemini-3.8-flash",
        key_env: "GEMINI_API_KEY",
        url_env: "GEMINI_BASE_URL",
        key_prefixes: &["AIza", "AQ."],
        key_hint: "Make one at aistudio.google.com under Get API key.",
        ..CLOUD
    },
    Preset {
        id: "deepseek",
        name: "DeepSeek",
        url: "https://api.deepseek.com/v1",
        default_model: "deepseek-v4-flash",
        key_env: "DEEPSEEK_API_KEY",
        url_env: "DEEPSEEK_BASE_URL",
        reads_text: true,
        key_prefixes: &["sk-"],
        key_hint: "Make one at platform.deepseek.com under API keys.",
        quirks: Quirks { reasoning_back: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "groq",
        name: "Groq",
        url: "https://api.groq.com/openai/v1",
        default_model: "openai/gpt-oss-120b",
        key_env: "GROQ_API_KEY",
        url_env: "GROQ_BASE_URL",
        reads_text: true,
        key_prefixes: &["gsk_"],
        key_hint: "Make one at console.groq.com under API keys; it begins with gsk_.",
        ..CLOUD
    },
    Preset {
        id: "mistral",
        name: "Mistral",
        url: "https://api.mistral.ai/v1",
        key_env: "MISTRAL_API_KEY",
        url_env: "MISTRAL_BASE_URL",
        key_hint: "Make one at console.mistral.ai under API keys.",
        // It rejects unknown fields, and reports usage unasked.
        quirks: Quirks { no_stream_options: true, short_ids: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "zhipu",
        aliases: &["zhipuai", "glm"],
        name: "Zhipu GLM",
        url: "https://open.bigmodel.cn/api/paas/v4",
        key_env: "ZHIPU_API_KEY",
        url_env: "ZHIPU_BASE_URL",
        key_hint: "Make one at open.bigmodel.cn; with a key of z.ai put https://api.z.ai/api/paas/v4 as the address.",
        quirks: Quirks { no_tool_choice_required: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "cohere",
        name: "Cohere",
        url: "https://api.cohere.ai/compatibility/v1",
        key_env: "COHERE_API_KEY",
        url_env: "COHERE_BASE_URL",
        key_hint: "Make one at dashboard.cohere.com under API keys.",
        quirks: Quirks { no_stream_options: true, no_tool_choice_required: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "together",
        aliases: &["togetherai"],
        name: "Together AI",
        url: "https://api.together.xyz/v1",
        key_env: "TOGETHER_API_KEY",
        url_env: "TOGETHER_BASE_URL",
        reads_text: true,
        key_prefixes: &["tgp_v1_"],
        key_hint: "Make one at api.together.ai under API keys.",
        ..CLOUD
    },
    Preset {
        id: "fireworks",
        aliases: &["fireworks-ai"],
        name: "Fireworks AI",
        url: "https://api.fireworks.ai/inference/v1",
        key_env: "FIREWORKS_API_KEY",
        url_env: "FIREWORKS_BASE_URL",
        reads_text: true,
        key_prefixes: &["fw_"],
        key_hint: "Make one at app.fireworks.ai under API keys; it begins with fw_.",
        ..CLOUD
    },
    Preset {
        id: "perplexity",
        name: "Perplexity",
        wire: Wire::Responses,
        url: "https://api.perplexity.ai/v1",
        // Its chat completions, retired on 27 September 2026.
        former_url: "https://api.perplexity.ai/.",
        key_env: "PERPLEXITY_API_KEY",
        url_env: "PERPLEXITY_BASE_URL",
        key_prefixes: &["pplx-"],
        key_hint: "Make one at perplexity.ai in the settings under API; it begins with pplx-.",
        // It rejects unknown fields, including `include`; it never sends reasoning items.
        quirks: Quirks {
            no_stream_options: true,
            no_tool_choice_required: true,
            no_encrypted_reasoning: true,
            ..Quirks::NONE
        },
        ..CLOUD
    },
    Preset {
        id: "openrouter",
        name: "OpenRouter",
        url: "https://openrouter.ai/api/v1",
        key_env: "OPENROUTER_API_KEY",
        url_env: "OPENROUTER_BASE_URL",
        reads_text: true,
        key_prefixes: &["sk-or-"],
        key_hint: "Make one at openrouter.ai under Keys; it begins with sk-or-.",
        quirks: Quirks { file_parts: true, ..Quirks::NONE },
        ..CLOUD
    },
    Preset {
        id: "huggingface",
        aliases: &["hf"],
        name: "Hugging Face",
        url: "https://router.huggingface.co/v1",
        key_env: "HF_TOKEN",
        url_env: "HF_BASE_URL",
        reads_text: true,
        key_prefixes: &["hf_"],
        key_hint: "Make one at huggingface.co under Access Tokens; it begins with hf_.",
        ..CLOUD
    },
    Preset {
        id: "xai",
        aliases: &["grok"],
        name: "xAI",
        url: "https://api.x.ai/v1",
        key_env: "XAI_API_KEY",
        url_env: "XAI_BASE_URL",
        key_prefixes: &["xai-"],
        key_hint: "Make one at console.x.ai under API keys; it begins with xai-.",
        ..CLOUD
    },
    Preset {
        id: "ollama",
        name: "Ollama",
        url: "http://127.0.0.1:11434/v1",
        key_env: "OLLAMA_API_KEY",
        url_env: "OLLAMA_BASE_URL",
        key_hint: "No key: start Ollama, and let it read more than 4096 tokens with OLLAMA_CONTEXT_LENGTH.",
        ..OWN
    },
    Preset {
        id: "llamacpp",
        aliases: &["local", "llama.cpp"],
        name: "llama.cpp",
        url: "http://127.0.0.1:8080/v1",
        key_env: "LLAMACPP_API_KEY",
        url_env: "LLAMACPP_BASE_URL",
        key_hint: "No key: start llama-server with --jinja, so that the model can call tools.",
        ..OWN
    },
    Preset {
        id: "lmstudio",
        name: "LM Studio",
        url: "http://127.0.0.1:1234/v1",
        key_env: "LMSTUDIO_API_KEY",
        url_env: "LMSTUDIO_BASE_URL",
        key_hint: "No key: load a model in LM Studio and start its server.",
        ..OWN
    },
    Preset {
        id: "custom",
        name: "Another server",
        url: "",
        key_env: "HOB_LLM_KEY",
        url_env: "HOB_LLM_URL",
        needs_key: false,
        reads_text: true,
        key_hint: "Any server that speaks OpenAI's chat completions: give its address, and a key if it wants one.",
        ..CLOUD
    },
];

/// Providers used automatically if their keys are in the environment, in order of preference.
pub const FROM_ENVIRONMENT: [&str; 5] = ["anthropic", "openai", "google", "deepseek", "groq"];

/// Looks up a preset by id or alias.
pub fn preset(id: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.id == id || preset.aliases.contains(&id))
}

impl Preset {
    /// The wire format at an address. A proxy or local server in OpenAI's place supports chat completions, and often
    /// nothing else.
    pub fn wire_at(&self, url: &str) -> Wire {
        if self.wire == Wire::Responses && !self.is_official_host(url) { Wire::OpenAi } else { self.wire }
    }

    /// Whether calls are parsed from its models' text at this address: servers that host open models of many vendors
    /// leave some calls in the text. In the text of closed models' own servers a call is a quotation.
    pub fn reads_text_at(&self, url: &str) -> bool {
        self.reads_text || (self.id == "openai" && !self.is_official_host(url))
    }

    /// Its quirks for this model at this address.
    pub fn quirks_for(&self, model: &str, url: &str) -> Quirks {
        let usual = if self.id == "openai" && !self.is_official_host(url) { Quirks::NONE } else { self.quirks };
        let begins = |names: &[&str]| names.iter().any(|name| model.starts_with(name));
        let thinks = match self.id {
            "openai" => begins(&["o1", "o3", "o4", "gpt-5", "gpt-6"]) && !model.contains("chat"),
            "anthropic" => {
                let newer = begins(&["claude-opus-4-7", "claude-opus-4-8", "claude-fable", "claude-mythos"]);
                newer || begins(&["claude-opus-5", "claude-sonnet-5", "claude-haiku-5"])
            }
            _ => false,
        };
        Quirks {
            no_temperature: usual.no_temperature || thinks,
            no_encrypted_reasoning: usual.no_encrypted_reasoning || (self.id == "openai" && !thinks),
            makes_images: usual.makes_images || (self.id == "google" && model.contains("-image")),
            ..usual
        }
    }

    /// Whether requests to this address are free: a self-hosted server in the local network.
    pub fn free_at(&self, url: &str) -> bool {
        (self.local || self.id == "custom") && is_local_network(if url.is_empty() { self.url } else { url })
    }

    /// An endpoint for a model of this provider. An empty `url` is the default one. Timeouts, retries and facts are
    /// left to the caller.
    pub fn endpoint(&self, model: &str, url: &str, key: Option<String>) -> Endpoint {
        let url = if url.is_empty() { self.url } else { url };
        Endpoint {
            provider: self.id.into(),
            model: model.into(),
            wire: self.wire_at(url),
            url: url.into(),
            key,
            quirks: self.quirks_for(model, url),
            ..Endpoint::default()
        }
    }

    /// Whether that address is the provider's own.
    fn is_official_host(&self, url: &str) -> bool {
        // OpenAI has regional hosts too, such as eu.api.openai.com.
        let (asked, own) = (host(url), host(self.url));
        url.is_empty() || asked == own || asked.strip_suffix(&own).is_some_and(|part| part.ends_with('.'))
    }
}

/// Whether an address is on this device or the local network.
fn is_local_network(url: &str) -> bool {
    let host = host(url);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(v4)) => v4.is_loopback() || v4.is_private() || v4.is_link_local(),
        Ok(IpAddr::V6(v6)) => v6.is_loopback() || v6.is_unique_local() || v6.is_unicast_link_local(),
        Err(_) => {
            let names = [".local", ".lan", ".home", ".internal", ".home.arpa", ".localhost"];
            !host.is_empty() && (!host.contains('.') || names.iter().any(|end| host.ends_with(end)))
        }
    }
}

/// The host of a URL, in lower case.
fn host(url: &str) -> String {
    let after = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = after.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    let host = match place.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    };
    host.to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Message, Request, ToolChoice, ToolDefinition, ask};
    use serde_json::json;
    use std::collections::BTreeSet;

    #[test]
    fn the_usual_model_of_a_provider_is_known_with_its_price() {
        let catalogue = crate::Catalogue::built_in();
        for id in FROM_ENVIRONMENT {
            let found = preset(id).unwrap();
            let model = format!("{id}/{}", found.default_model);
            assert!(!found.key_env.is_empty() && catalogue.get(&model).is_some(), "{model}");
            assert!(matches!(catalogue.price(&model), crate::Price::Known { .. }), "{model}");
        }
    }

    #[test]
    fn every_preset_can_be_used() {
        let mut names = BTreeSet::new();
        for p in PRESETS {
            for id in p.aliases.iter().chain([&p.id]) {
                assert!(names.insert(*id), "`{id}` is there twice");
                assert_eq!(preset(id).map(|p| p.id), Some(p.id));
            }
            assert!(!p.name.is_empty() && p.key_hint.ends_with('.'), "{}", p.id);
            assert!(p.key_env.ends_with("_KEY") || p.key_env == "HF_TOKEN", "{}", p.id);
            assert!(p.id == "custom" || p.url_env.ends_with("_BASE_URL"), "{}", p.id);
            let address = p.url.starts_with("https://") || (p.local && p.url.starts_with("http://127.0.0.1:"));
            assert!(address || p.id == "custom", "{}", p.id);
            assert_eq!(p.needs_key, !p.local && p.id != "custom", "{}", p.id);
            assert_eq!(p.free_at(""), p.local, "{}", p.id);
        }
        assert_eq!(preset("nobody"), None);
        assert_eq!(preset("gemini").map(|p| p.key_env), Some("GEMINI_API_KEY"));
    }

    #[test]
    fn openai_itself_is_asked_by_responses_and_whoever_stands_in_by_chat_completions() {
        let openai = preset("openai").unwrap();
        for (url, wire, newer_limit) in [
            ("", Wire::Responses, true),
            ("https://api.openai.com/v1/", Wire::Responses, true),
            ("https://API.openai.com", Wire::Responses, true),
            ("https://eu.api.openai.com/v1", Wire::Responses, true),
            ("https://evilapi.openai.com/v1", Wire::OpenAi, false),
            ("http://127.0.0.1:8080/v1", Wire::OpenAi, false),
            ("https://api.openai.com.evil.example/v1", Wire::OpenAi, false),
        ] {
            let endpoint = openai.endpoint("gpt-4o", url, None);
            assert_eq!((endpoint.wire, endpoint.quirks.max_completion_tokens), (wire, newer_limit), "{url}");
            assert!(!endpoint.url.is_empty());
        }
        let anthropic = preset("anthropic").unwrap();
        assert_eq!(anthropic.wire_at("http://10.0.0.2/v1"), Wire::Anthropic, "only OpenAI's wire is copied by all");
    }

    #[test]
    fn perplexity_is_asked_by_responses_with_nothing_it_does_not_know() {
        let endpoint = preset("perplexity").unwrap().endpoint("perplexity/sonar", "", None);
        assert_eq!(endpoint.address(), "https://api.perplexity.ai/v1/responses");
        let request = Request {
            messages: vec![Message::System("s".into()), Message::user("hi")].into(),
            tools: vec![ToolDefinition { name: "t".into(), description: "d".into(), parameters: json!({}) }].into(),
            tool_choice: ToolChoice::Required,
            max_tokens: Some(100),
            temperature: Some(0.5),
            user: Some(tool::UserId::OWNER),
            ..Request::default()
        };
        let body = ask::body(&endpoint, &request);
        let mut fields: Vec<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
        fields.sort_unstable();
        let known = ["input", "instructions", "max_output_tokens", "model", "store", "stream", "temperature", "tools"];
        assert_eq!(fields, known);
        assert_eq!((&body["model"], &body["store"]), (&json!("perplexity/sonar"), &json!(false)));
    }

    #[test]
    fn what_a_model_refuses_is_known_by_its_name() {
        let quirks = |id: &str, model: &str| preset(id).unwrap().quirks_for(model, "");
        for (id, model, fixed) in [
            ("openai", "gpt-5.6-terra", true),
            ("openai", "gpt-5-chat-latest", false),
            ("openai", "gpt-4.1", false),
            ("anthropic", "claude-opus-4-8", true),
            ("anthropic", "claude-haiku-4-5", false),
            ("groq", "openai/gpt-oss-120b", false),
        ] {
            assert_eq!(quirks(id, model).no_temperature, fixed, "{id}/{model}");
        }
        assert!(quirks("google", "gemini-3-pro-image").makes_images);
        assert!(!quirks("google", "gemini-3.8-flash").makes_images);
        assert!(quirks("deepseek", "deepseek-v4-pro").reasoning_back);
    }

    #[test]
    fn whose_calls_are_read_from_text() {
        for (id, url, expected) in [
            ("openai", "", false),
            ("openai", "https://eu.api.openai.com/v1", false),
            ("openai", "http://127.0.0.1:8080/v1", true),
            ("anthropic", "", false),
            ("google", "", false),
            ("mistral", "", false),
            ("xai", "", false),
            ("openrouter", "", true),
            ("together", "", true),
            ("fireworks", "", true),
            ("groq", "", true),
            ("deepseek", "", true),
            ("ollama", "https://rented.example.com/v1", true),
            ("llamacpp", "", true),
            ("lmstudio", "", true),
            ("custom", "https://models.example.com/v1", true),
        ] {
            assert_eq!(preset(id).unwrap().reads_text_at(url), expected, "{id} {url}");
        }
    }

    #[test]
    fn what_stands_in_the_house_costs_nothing() {
        let free = |id: &str, url: &str| preset(id).unwrap().free_at(url);
        for (id, url, expected) in [
            ("custom", "http://192.168.1.5:8080/v1", true),
            ("custom", "http://gpu-box:8080", true),
            ("custom", "http://user:pw@kitchen.local/v1", true),
            ("custom", "http://[fd00::1]:8080/v1", true),
            ("custom", "https://models.example.com/v1", false),
            ("custom", "", false),
            ("ollama", "https://rented.example.com/v1", false),
            ("openai", "http://192.168.1.5:4000/v1", false),
        ] {
            assert_eq!(free(id, url), expected, "{id} {url}");
        }
    }
}
