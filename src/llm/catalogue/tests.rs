//! The built-in catalogue, and parsing of external documents.

use super::*;

#[test]
fn every_line_of_the_built_in_catalogue_makes_sense() {
    let known = Catalogue::built_in();
    let written: serde_json::Value = serde_json::from_str(BUILT_IN).unwrap();
    for line in written["models"].as_array().unwrap() {
        assert!(line["tools"].is_boolean() && line["images"].is_boolean(), "what is not said is tried: {line}");
    }
    assert_eq!(reading::document(BUILT_IN.as_bytes()).unwrap().skipped, 0);
    assert!((40..=100).contains(&known.all().len()), "{}", known.all().len());
    assert!(known.as_of.starts_with("20"), "{}", known.as_of);
    for model in known.all() {
        let preset = presets::preset(model.provider());
        assert!(preset.is_some_and(|p| p.id == model.provider()), "{} is of no preset", model.model);
        assert!(model.context >= 4096 && model.quality.is_some() && model.speed.is_some(), "{}", model.model);
        assert_eq!(model.price() == Price::Free, preset.unwrap().local, "{}", model.model);
        if let Price::Known { input, cached, cache_write, output } = model.price() {
            assert!(cached <= input && input <= cache_write && input <= output, "{}", model.model);
        }
    }
    // Each preset provider has a known model; gateways use those of others.
    let of = |provider: &str| known.all().any(|model| model.provider() == provider);
    let without = ["openrouter", "huggingface", "llamacpp", "lmstudio", "custom"];
    for preset in presets::PRESETS.iter().filter(|p| !without.contains(&p.id)) {
        assert!(of(preset.id), "no model of {}", preset.id);
    }
}

#[test]
fn models_are_found_past_dates_and_tags() {
    let known = Catalogue::built_in();
    for (asked, found) in [
        ("anthropic/claude-haiku-4-5", Some("anthropic/claude-haiku-4-5")),
        ("anthropic/claude-haiku-4-5-20251001", Some("anthropic/claude-haiku-4-5")),
        ("claude/claude-haiku-4-5-latest", Some("anthropic/claude-haiku-4-5")),
        ("openai/gpt-4o-2024-08-06", Some("openai/gpt-4o")),
        ("openai/gpt-4o-mini", Some("openai/gpt-4o-mini")),
        ("openai/gpt-4o-maxi", None),
        ("openai/gpt-4", None),
        ("openai/gpt-5", None),
        ("gemini/gemini-2.5-flash-preview-09-2025", Some("google/gemini-2.5-flash")),
        ("google/gemini-2.5-pro-preview-05-06", Some("google/gemini-2.5-pro")),
        ("mistral/mistral-large-2512", Some("mistral/mistral-large-latest")),
        ("cohere/command-a", Some("cohere/command-a-03-2025")),
        ("ollama/llama3.2:3b", Some("ollama/llama3.2")),
        ("openrouter/anthropic/claude-haiku-4.5", Some("anthropic/claude-haiku-4-5")),
        ("openrouter/x-ai/grok-4.3:online", Some("xai/grok-4.3")),
        ("openrouter/nobody/nothing", None),
        ("deepseek/deepseek-v4-flash-0731", Some("deepseek/deepseek-v4-flash")),
        ("custom/claude-haiku-4-5", None),
        ("claude-haiku-4-5", None),
        ("", None),
        ("/", None),
    ] {
        assert_eq!(known.get(asked).map(|m| m.model.as_str()), found, "{asked}");
    }
}

#[test]
fn names_that_look_like_dates_stay() {
    for (name, base) in [
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1", "claude-opus-4-1"),
        ("gpt-4-0613", "gpt-4"),
        ("o1-2024-12-17", "o1"),
        ("llama-3.3-70b", "llama-3-3-70b"),
        ("gemini-2.0-flash-001", "gemini-2-0-flash"),
        ("grok-4.20-0309-reasoning", "grok-4-20-0309-reasoning"),
        ("latest", "latest"),
        ("2024", "2024"),
        ("2024-05", "2024-05"),
        ("", ""),
        ("--", "--"),
    ] {
        assert_eq!(name::base(name), base, "{name}");
    }
}

#[test]
fn costs_are_counted_with_what_came_from_the_cache() {
    let known = Catalogue::built_in();
    let usage = Usage {
        prompt_tokens: 1000,
        completion_tokens: 100,
        total_tokens: 1100,
        cached_tokens: 400,
        micros: None,
        written_to_cache: 0,
    };
    let priced = Price::Known { input: 1.0, cached: 0.1, cache_write: 1.25, output: 5.0 };
    assert_eq!(priced.cost(&usage), Some((600.0 * 1.0 + 400.0 * 0.1 + 100.0 * 5.0) / 1e6));
    // A server that reports more cached tokens than tokens.
    assert_eq!(priced.cost(&Usage { cached_tokens: u64::MAX, ..usage }), Some((1000.0 * 0.1 + 500.0) / 1e6));
    let kept = Usage { written_to_cache: 500, ..usage };
    assert_eq!(priced.cost(&kept), Some((100.0 * 1.0 + 400.0 * 0.1 + 500.0 * 1.25 + 100.0 * 5.0) / 1e6));
    assert_eq!(priced.cost(&Usage { written_to_cache: u64::MAX, ..usage }), Some((40.0 + 750.0 + 500.0) / 1e6));
    assert_eq!(known.cost("anthropic/claude-haiku-4-5-20251001", &kept), priced.cost(&kept), "1.25 of what is read");
    // Not part of the API; records stored without it still read.
    assert!(!serde_json::to_string(&kept).unwrap().to_lowercase().contains("written"));
    assert_eq!(known.cost("anthropic/claude-haiku-4-5-20251001", &usage), priced.cost(&usage));
    assert_eq!(known.cost("ollama/whatever", &usage), Some(0.0));
    assert_eq!(known.cost("reflex", &usage), Some(0.0));
    assert_eq!(known.cost("openrouter/nobody/nothing:free", &usage), Some(0.0));
    for unknown in ["custom/x", "openai/gpt-99", "nonsense"] {
        assert_eq!(known.cost(unknown, &usage), None, "{unknown}");
    }
    // Without a cache price, the regular price.
    let dear = Model { input_price: Some(2.0), output_price: Some(4.0), ..Model::default() };
    assert_eq!(dear.price(), Price::Known { input: 2.0, cached: 2.0, cache_write: 2.0, output: 4.0 });
    assert_eq!(priced.estimate(1_000_000, 1_000_000), Some(6.0));
}

#[test]
fn what_is_not_known_is_tried() {
    let known = Catalogue::built_in();
    assert_eq!(known.facts("custom/x"), Facts::default());
    assert!(known.facts("google/gemini-2.5-flash").audio);
    assert!(!known.facts("ollama/phi4").tools);
    let small = known.facts("ollama/some-model:7b");
    assert_eq!((small.context, small.tools), (4096, true), "Ollama drops what is longer without a word");
}

#[test]
fn a_document_of_models_dev_goes_over_the_built_in_one() {
    let document = r#"{
        "anthropic": {"id": "anthropic", "npm": "x", "models": {
            "claude-haiku-4-5": {"id": "claude-haiku-4-5", "tool_call": true, "attachment": true,
                "cost": {"input": 0.5, "output": 2.5, "cache_read": 0.05, "cache_write": 0.6, "context_over_200k": {"input": 1}},
                "limit": {"context": 300000, "output": 32000}, "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]}},
            "claude-new": {"tool_call": true, "limit": {"context": 10, "output": 1}, "modalities": {"input": ["text"]}},
            "painter": {"modalities": {"output": ["image"]}},
            "absurd": {"cost": {"input": -1, "output": 1}},
            "odd": {"limit": "none"}, "list": [], "null": null}},
        "zhipuai": {"models": {"glm-9": {"cost": {"input": 1, "output": 2}}}},
        "a-provider-of-no-preset": {"models": {"x": {}}},
        "perplexity": {"models": {"sonar-pro": {}}},
        "perplexity-agent": {"models": {"perplexity/new": {}}},
        "openai": {"models": {}},
        "mistral": 7
    }"#;
    let err = Catalogue::read(document).unwrap_err().to_string();
    assert!(err.contains("models.dev/api.json"), "a provider that is a number is no such document: {err}");

    let document = document.replace("\"mistral\": 7", "\"mistral\": {\"models\": {}}");
    assert_eq!(reading::document(document.as_bytes()).unwrap().skipped, 4);
    let known = Catalogue::read(&document).unwrap();
    let haiku = known.get("anthropic/claude-haiku-4-5").unwrap();
    assert_eq!(haiku.price(), Price::Known { input: 0.5, cached: 0.05, cache_write: 0.6, output: 2.5 });
    assert_eq!(
        (haiku.context, haiku.output, haiku.images, haiku.files, haiku.audio),
        (300_000, 32_000, true, true, false)
    );
    assert_eq!(haiku.quality, Catalogue::built_in().get("anthropic/claude-haiku-4-5").unwrap().quality, "stays");
    assert_eq!(known.get("anthropic/claude-new").map(Model::price), Some(Price::Unknown));
    assert!(known.get("zhipu/glm-9").is_some());
    assert_eq!(known.get("anthropic/painter"), None);
    assert!(known.get("perplexity/perplexity/new").is_some() && known.get("perplexity/sonar-pro").is_none());
    assert!(known.get("openai/gpt-4o").is_some(), "what the document does not name stays");
}

#[test]
fn hobs_own_form_is_written_and_read_again() {
    let document = r#"{"asOf": "2030-01-02", "models": [
            {"model": "custom/mine", "name": "mine", "context": 8000, "inputPrice": 0, "outputPrice": 0, "quality": 250},
            {"provider": "openai", "name": "gpt-4o", "tools": true},
            {"model": "custom/other", "name": "mine"},
            {"name": ""}, 5
        ]}"#;
    let known = Catalogue::read(document).unwrap();
    assert_eq!((reading::document(document.as_bytes()).unwrap().skipped, known.as_of.as_str()), (3, "2030-01-02"));
    let mine = known.get("custom/mine").unwrap();
    assert_eq!((mine.price(), mine.quality), (Price::Free, Some(100)));
    assert_eq!(
        known.get("openai/gpt-4o").unwrap().price(),
        Catalogue::built_in().price("openai/gpt-4o"),
        "price stays"
    );
    // The compact form contains the document's facts and nothing built in.
    let compact = Catalogue::compact(document).unwrap();
    assert_eq!(Catalogue::read(&compact).unwrap(), known);
    let kept: serde_json::Value = serde_json::from_str(&compact).unwrap();
    let gpt = serde_json::json!({"model": "openai/gpt-4o", "name": "gpt-4o", "context": 0, "output": 0, "tools": true});
    assert_eq!((kept["models"].as_array().map(Vec::len), &kept["models"][1]), (Some(2), &gpt));
    assert!(Catalogue::compact("{}").is_err());
}

#[test]
fn what_a_document_does_not_say_stays_and_what_nobody_said_is_tried() {
    let ours = r#"{"models": [
        {"model": "openai/gpt-4o", "name": "gpt-4o", "inputPrice": 1, "outputPrice": 2},
        {"model": "custom/new", "name": "new"},
        {"model": "custom/mute", "name": "mute", "tools": false, "images": false}
    ]}"#;
    let theirs = r#"{
        "openai": {"models": {"gpt-4o": {"cost": {"input": 1, "output": 2}}}},
        "ollama": {"models": {"phi4": {"modalities": {"input": ["text"]}}}},
        "mistral": {"models": {"mute": {"tool_call": false, "modalities": {"input": ["text"]}}, "new": {}}}
    }"#;
    let built_in = Catalogue::built_in();
    for (document, place) in [(ours, "custom"), (theirs, "mistral")] {
        for document in [document.to_owned(), Catalogue::compact(document).unwrap()] {
            let known = Catalogue::read(&document).unwrap();
            assert_eq!(known.facts("openai/gpt-4o"), built_in.facts("openai/gpt-4o"), "{document}");
            assert_eq!(
                known.price("openai/gpt-4o"),
                Price::Known { input: 1.0, cached: 1.0, cache_write: 1.0, output: 2.0 }
            );
            assert_eq!(known.facts(&format!("{place}/new")), Facts::default(), "{document}");
            let mute = known.facts(&format!("{place}/mute"));
            assert_eq!((mute.tools, mute.images), (false, false), "{document}");
            assert!(!known.facts("ollama/phi4").tools, "{document}");
        }
    }
}

#[test]
fn what_is_no_catalogue_is_refused() {
    let too_large = format!("{{\"x\": \"{}\"}}", "a".repeat(9 << 20));
    let deep = "[".repeat(5000);
    for (document, expected) in [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{", "cannot be read"),
        ("{} {}", "cannot be read"),
        ("{}", "no model"),
        ("{\"models\": []}", "no model"),
        ("{\"models\": 5}", "cannot be read"),
        ("{\"models\": [{\"model\": \"a/b\", \"name\": \"c\"}]}", "1 entries"),
        (&*deep, "cannot be read"),
        (&*too_large, "larger than 8 MB"),
    ] {
        let error = Catalogue::read(document).unwrap_err();
        assert!(matches!(error, tool::Error::BadArgs(_)), "{error:?}");
        assert!(error.to_string().contains(expected), "{:.40}: {error}", document);
    }
}
