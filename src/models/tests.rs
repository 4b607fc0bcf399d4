//! Who decides which model answers, and which key goes where.

use super::*;
use std::collections::BTreeMap;
use tool::SystemClock;

type Variables = &'static [(&'static str, &'static str)];

fn models_of(store: &Store, variables: Variables, file: &str) -> anyhow::Result<Arc<Models>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(Some("UTC"))?);
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let minds = Minds {
        registry: Registry::new()?,
        embedder: Embedder::new(std::time::Duration::from_secs(1)),
        clock: clock.clone(),
        store: store.clone(),
        scrubber: Scrubber::default(),
        ledger: Arc::new(Ledger::open(store, clock)?),
        web: Guarded::new(vec![]),
        environment: Arc::new(move |name| variables.get(name).map(|v| (*v).to_owned())),
    };
    Ok(Models::new(toml::from_str(file)?, minds, Choices::open(store)?)?.0)
}

fn models(variables: Variables, file: &str) -> Arc<Models> {
    models_of(&Store::in_memory().unwrap(), variables, file).unwrap()
}

fn choice(model: &str, url: Option<&str>, key: Option<&str>) -> ModelChoice {
    ModelChoice { model: model.into(), url: url.map(str::to_owned), key: key.map(str::to_owned) }
}

/// Where the first model is, and what opens it.
fn first(models: &Models) -> (String, String, Option<String>) {
    let (model, _) = models.decided();
    let endpoint = models.endpoint(&model, &ProviderChange::default()).unwrap();
    (model, endpoint.url, endpoint.key)
}

fn told(model: &str, url: &str, key: Option<&str>) -> (String, String, Option<String>) {
    (model.into(), url.into(), key.map(str::to_owned))
}

#[tokio::test]
async fn the_model_comes_from_the_environment_first() {
    assert_eq!(models(&[], "").decided(), (String::new(), From::BuiltIn));
    assert_eq!(models(&[("HOB_MODEL", "reflex")], "").decided(), (String::new(), From::Environment));
    let custom = models(&[("HOB_MODEL", "custom/a/b"), ("HOB_LLM_URL", " http://x "), ("HOB_LLM_KEY", "k")], "");
    assert_eq!(first(&custom), told("custom/a/b", "http://x", Some("k")));
    let gemini = models(&[("HOB_MODEL", "gemini/x"), ("GEMINI_API_KEY", "g")], "");
    let endpoint = gemini.endpoint("gemini/x", &ProviderChange::default()).unwrap();
    assert_eq!((endpoint.provider.as_str(), endpoint.key.as_deref()), ("google", Some("g")), "rules go by one name");
    let nameless = models(&[("HOB_MODEL", "custom/m")], "[model]\nurl = \"http://pi/v1\"");
    assert_eq!(first(&nameless).1, "http://pi/v1");
    let file = "[model]\nname = \"custom/m\"\nurl = \"http://pi/v1\"";
    assert_eq!(first(&models(&[("HOB_LLM_KEY", "k")], file)), told("custom/m", "http://pi/v1", Some("k")));
    let claude = models(&[("HOB_MODEL", "anthropic/claude-x"), ("ANTHROPIC_API_KEY", "a")], file);
    assert_eq!(first(&claude), told("anthropic/claude-x", "https://api.anthropic.com/v1", Some("a")));
    for (variables, part) in [
        (&[("HOB_MODEL", "gpt")][..], "provider/model"),
        (&[("HOB_MODEL", "custom/m")], "HOB_LLM_URL"),
        (&[("HOB_LLM_URL", "http://x")], "HOB_MODEL=custom/NAME"),
        (&[("HOB_MODEL", "nobody/m")], "is not known"),
        (&[("HOB_MODEL", "custom/m"), ("HOB_LLM_URL", "pi:8080")], "is not a URL"),
    ] {
        let variables: Variables = Box::leak(variables.to_vec().into_boxed_slice());
        let error = models_of(&Store::in_memory().unwrap(), variables, "").map(drop).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[tokio::test]
async fn a_key_goes_to_the_address_it_was_given_for_and_to_no_other() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[("OPENAI_API_KEY", "of-the-environment")], "").unwrap();
    models.chosen(choice("custom/a", Some("http://one/v1"), Some("of-one"))).await.unwrap();
    assert_eq!(first(&models), told("custom/a", "http://one/v1", Some("of-one")));
    models.chosen(choice("custom/b", None, None)).await.unwrap();
    assert_eq!(first(&models), told("custom/b", "http://one/v1", Some("of-one")), "the same server");
    models.chosen(choice("custom/a", Some("http://two/v1"), None)).await.unwrap();
    assert_eq!(first(&models), told("custom/a", "http://two/v1", None));
    models.chosen(choice("openai/gpt", None, None)).await.unwrap();
    assert_eq!(first(&models).2.as_deref(), Some("of-the-environment"));
    models.chosen(choice("openai/gpt", Some("https://proxy.example/v1"), None)).await.unwrap();
    assert_eq!(first(&models), told("openai/gpt", "https://proxy.example/v1", None));
    models.chosen(choice("openai/gpt", Some(""), Some("mine"))).await.unwrap();
    assert_eq!(first(&models).2.as_deref(), Some("of-the-environment"), "the environment wins over the page");

    let elsewhere = ProviderChange { url: Some("https://elsewhere.example".into()), key: None };
    let fixed = models_of(&store, &[("OPENAI_BASE_URL", "https://fixed.example")], "").unwrap();
    assert!(matches!(fixed.changed("openai".into(), elsewhere).await, Err(Error::Denied(_))));

    // All of it is there after a restart, and none of it in the records.
    let again = models_of(&store, &[], "").unwrap();
    assert_eq!(first(&again), told("openai/gpt", "https://api.openai.com/v1", Some("mine")));
    again.changed("openai".into(), ProviderChange { url: None, key: Some(String::new()) }).await.unwrap();
    assert_eq!(first(&again).2, None);
}

#[tokio::test]
async fn a_key_is_good_where_its_provider_moved_to() {
    let store = Store::in_memory().unwrap();
    let former = llm::preset("perplexity").unwrap().former_url;
    let given = ProviderChange { url: Some(former.into()), key: Some("pplx-1".into()) };
    models_of(&store, &[], "").unwrap().changed("perplexity".into(), given).await.unwrap();
    let again = models_of(&store, &[], "").unwrap();
    let endpoint = again.endpoint("perplexity/perplexity/sonar", &ProviderChange::default()).unwrap();
    assert_eq!((endpoint.url.as_str(), endpoint.key.as_deref()), ("https://api.perplexity.ai/v1", Some("pplx-1")));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_with_what_to_do() {
    let models = models(&[], "");
    for (given, part) in [
        (choice("gpt", None, None), "provider/model"),
        (choice("nobody/m", None, None), "is not known"),
        (choice("custom/m", None, None), "needs an address"),
        (choice("custom/m", Some("ftp://x"), None), "is not a URL"),
        (choice("custom/m", Some("http://a:b@x"), None), "name or password"),
        (choice("openai/m", None, Some("two words")), "is not a key"),
    ] {
        let error = models.chosen(given).await.unwrap_err();
        assert!(matches!(&error, Error::BadArgs(text) if text.contains(part)), "{error}");
    }
    let terms = |daily_budget| ModelTerms { daily_budget: Some(Some(daily_budget)), ..ModelTerms::default() };
    for wrong in [0.0, -1.0, f64::NAN, 1e9] {
        assert!(models.adjusted(terms(wrong)).await.is_err(), "{wrong}");
    }
    let fallback = |models: &[&str]| ModelTerms {
        fallback: Some(models.iter().map(|m| (*m).to_owned()).collect()),
        ..ModelTerms::default()
    };
    assert!(models.adjusted(fallback(&["gpt"])).await.is_err());
    assert!(models.adjusted(fallback(&["openai/a"; 9])).await.is_ok(), "the same nine times is one");
    let nine: Vec<String> = (0..9).map(|n| format!("openai/{n}")).collect();
    assert!(models.adjusted(fallback(&nine.iter().map(String::as_str).collect::<Vec<_>>())).await.is_err());
    assert!(models.changed("nobody".into(), ProviderChange::default()).await.is_err());
    let no_address = ProviderChange { url: None, key: Some("k".into()) };
    let error = models.changed("custom".into(), no_address).await.unwrap_err();
    assert!(error.message().contains("one address"), "{error}");
}

#[tokio::test]
async fn terms_are_kept_one_by_one() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[], "[model]\ndaily_budget = 3.0").unwrap();
    assert_eq!(models.budget(), Some(3.0));
    let terms = ModelTerms { strategy: Some(Strategy::Cheapest), ..ModelTerms::default() };
    models.adjusted(terms).await.unwrap();
    models
        .adjusted(ModelTerms { daily_budget: Some(None), prefer_reflex: Some(true), ..ModelTerms::default() })
        .await
        .unwrap();
    let again = models_of(&store, &[], "[model]\ndaily_budget = 3.0").unwrap();
    let in_use = api::Models::in_use(&*again);
    assert_eq!((in_use.strategy, in_use.prefer_reflex, in_use.daily_budget), (Strategy::Cheapest, true, None));
}

#[tokio::test]
async fn fresh_facts_are_kept_and_nonsense_changes_nothing() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[], "").unwrap();
    let before = api::Models::known(&*models, None).models.len();
    let wrong = Fresh { catalogue: Some(serde_json::json!({"hello": 1})), url: None };
    assert!(models.refreshed(wrong).await.is_err());
    assert_eq!(api::Models::known(&*models, None).models.len(), before);
    let fresh = serde_json::json!({"openai": {"models": {"gpt-99": {"id": "gpt-99", "cost": {"input": 1.0, "output": 2.0},
        "limit": {"context": 1000, "output": 100}, "tool_call": true, "modalities": {"input": ["text"]}}}}});
    models.refreshed(Fresh { catalogue: Some(fresh), url: None }).await.unwrap();
    let again = models_of(&store, &[], "").unwrap();
    let known = api::Models::known(&*again, Some("openai"));
    assert!(known.models.iter().any(|m| m.model == "openai/gpt-99") && known.source == "given");
    let usage = llm::Usage { prompt_tokens: 1_000_000, ..llm::Usage::default() };
    assert_eq!(again.catalogue().cost("openai/gpt-99", &usage), Some(1.0));
}
