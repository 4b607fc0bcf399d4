//! Who decides which model answers, and which key goes where.

use super::*;
use std::collections::BTreeMap;
use tool::SystemClock;

type Variables = &'static [(&'static str, &'static str)];

fn models_of(store: &Store, variables: Variables, file: &str) -> anyhow::Result<Arc<Models>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(Some("UTC"))?);
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let minds = ModelDeps {
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

/// What answers, what stands in, and whether nobody chose the latter.
fn lineup(variables: Variables, file: &str) -> (String, From, String, bool) {
    let models = models(variables, file);
    let in_use = api::Models::in_use(&*models);
    (in_use.model, in_use.from, in_use.fallback.join(" "), in_use.automatic_fallback)
}

#[tokio::test]
async fn keys_in_the_environment_stand_in_by_themselves() {
    let all: Variables = &[
        ("GROQ_API_KEY", "g"),
        ("DEEPSEEK_API_KEY", "d"),
        ("GEMINI_API_KEY", "g"),
        ("OPENAI_API_KEY", "o"),
        ("ANTHROPIC_API_KEY", "a"),
        ("MISTRAL_API_KEY", "m"),
    ];
    let usual = |id: &str| format!("{id}/{}", llm::preset(id).unwrap().default_model);
    let several = |ids: &[&str]| ids.iter().map(|id| usual(id)).collect::<Vec<_>>().join(" ");
    let others = several(&["openai", "google", "deepseek", "groq"]);
    assert_eq!(lineup(all, ""), (usual("anthropic"), From::Key, others.clone(), true));
    assert_eq!(lineup(&[("GROQ_API_KEY", "g")], ""), (usual("groq"), From::Key, String::new(), true));
    assert_eq!(lineup(&[("GROQ_API_KEY", " ")], ""), ("reflex".into(), From::BuiltIn, String::new(), true));
    assert_eq!(lineup(&[("MISTRAL_API_KEY", "m")], ""), ("reflex".into(), From::BuiltIn, String::new(), true));
    // What somebody chose holds, and the others stand in for it.
    let reflex = lineup(all, "[model]\nname = \"reflex\"");
    assert_eq!(reflex, ("reflex".into(), From::File, String::new(), true));
    let claude = lineup(all, "[model]\nname = \"claude/claude-x\"");
    assert_eq!(claude, ("claude/claude-x".into(), From::File, others, true));
    let own = lineup(&[("OPENAI_API_KEY", "o")], "[model]\nname = \"custom/m\"\nurl = \"http://pi/v1\"");
    assert_eq!(own, ("custom/m".into(), From::File, usual("openai"), true));
    // A list that somebody gave is the list, also where it is empty.
    let none = lineup(all, "[model]\nfallback = []");
    assert_eq!(none, (usual("anthropic"), From::Key, String::new(), false));
    let named = lineup(all, "[model]\nfallback = [\"groq/x\"]");
    assert_eq!(named, (usual("anthropic"), From::Key, "groq/x".into(), false));
}

#[tokio::test]
async fn what_stands_in_can_be_left_to_the_keys_again() {
    let models = models(&[("OPENAI_API_KEY", "o"), ("GROQ_API_KEY", "g")], "");
    let groq = format!("groq/{}", llm::preset("groq").unwrap().default_model);
    let fallback = |fallback: Option<Vec<String>>| ModelTerms { fallback: Some(fallback), ..ModelTerms::default() };
    let none = models.adjusted(fallback(Some(vec![]))).await.unwrap();
    assert_eq!((none.fallback, none.automatic_fallback), (vec![], false));
    let unchanged = models.adjusted(ModelTerms::default()).await.unwrap();
    assert!(!unchanged.automatic_fallback);
    let again = models.adjusted(fallback(None)).await.unwrap();
    assert_eq!((again.fallback, again.automatic_fallback), (vec![groq], true));
    // A key of the environment does not follow to an address chosen here.
    let proxy = ProviderChange { url: Some("https://proxy.example/v1".into()), key: None };
    models.changed("openai".into(), proxy).await.unwrap();
    assert!(models.decided().0.starts_with("groq/"), "{:?}", models.decided());
    // What was chosen here, reflex too, is what answers.
    models.chosen(choice("reflex", None, None)).await.unwrap();
    assert_eq!(models.decided(), (String::new(), From::Page));
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
        fallback: Some(Some(models.iter().map(|m| (*m).to_owned()).collect())),
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
