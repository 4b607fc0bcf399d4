//! Precedence of environment, page and file, and the address each key is sent to.

use super::*;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::collections::BTreeMap;
use tool::{Clock, SystemClock};

type Variables = &'static [(&'static str, &'static str)];

fn models_of(store: &Store, variables: Variables, file: &str) -> Result<Models> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::new(Some("UTC"))?);
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    let deps = ModelDeps {
        store: store.clone(),
        scrubber: Scrubber::default(),
        ledger: Arc::new(Ledger::open(store, clock)?),
        web: Guarded::new(vec![]),
        environment: Arc::new(move |name| variables.get(name).map(|v| (*v).to_owned())),
        hosts: Arc::new(|| Box::pin(std::future::ready(vec![]))),
        reflex: Arc::new(Silent),
    };
    Ok(Models::new(toml::from_str(file).unwrap(), deps, Choices::open(store)?)?.0)
}

/// A provider that never answers.
struct Silent;

impl Provider for Silent {
    fn model(&self) -> String {
        "reflex".into()
    }
    fn stream(&self, _: llm::Request) -> BoxStream<'static, Result<llm::Delta, llm::Error>> {
        stream::empty().boxed()
    }
}

fn models(variables: Variables, file: &str) -> Models {
    models_of(&Store::in_memory().unwrap(), variables, file).unwrap()
}

fn choice(model: &str, url: Option<&str>, key: Option<&str>) -> ModelChoice {
    ModelChoice { model: model.into(), url: url.map(str::to_owned), key: key.map(str::to_owned) }
}

/// The first model, the address of its server, and its key.
fn first(models: &Models) -> (String, String, Option<String>) {
    let (model, _) = models.first_model();
    let endpoint = models.endpoint(&model, &ProviderPatch::default()).unwrap();
    (model, endpoint.url, endpoint.key)
}

fn endpoint_of(model: &str, url: &str, key: Option<&str>) -> (String, String, Option<String>) {
    (model.into(), url.into(), key.map(str::to_owned))
}

#[tokio::test]
async fn the_model_comes_from_the_environment_first() {
    assert_eq!(models(&[], "").first_model(), (String::new(), ChosenBy::BuiltIn));
    assert_eq!(models(&[("HOB_MODEL", "reflex")], "").first_model(), (String::new(), ChosenBy::Environment));
    let custom = models(&[("HOB_MODEL", "custom/a/b"), ("HOB_LLM_URL", " http://x "), ("HOB_LLM_KEY", "k")], "");
    assert_eq!(first(&custom), endpoint_of("custom/a/b", "http://x", Some("k")));
    let gemini = models(&[("HOB_MODEL", "gemini/x"), ("GEMINI_API_KEY", "g")], "");
    let endpoint = gemini.endpoint("gemini/x", &ProviderPatch::default()).unwrap();
    assert_eq!((endpoint.provider.as_str(), endpoint.key.as_deref()), ("google", Some("g")), "rules go by one name");
    let nameless = models(&[("HOB_MODEL", "custom/m")], "url = \"http://pi/v1\"");
    assert_eq!(first(&nameless).1, "http://pi/v1");
    let file = "name = \"custom/m\"\nurl = \"http://pi/v1\"";
    assert_eq!(first(&models(&[("HOB_LLM_KEY", "k")], file)), endpoint_of("custom/m", "http://pi/v1", Some("k")));
    let claude = models(&[("HOB_MODEL", "anthropic/claude-x"), ("ANTHROPIC_API_KEY", "a")], file);
    assert_eq!(first(&claude), endpoint_of("anthropic/claude-x", "https://api.anthropic.com/v1", Some("a")));
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
async fn only_self_hosted_models_read_memories_in_the_background() {
    for (variables, file, reads) in [
        (&[][..], "", false),
        (&[("HOB_MODEL", "ollama/qwen3")], "", true),
        (&[("HOB_MODEL", "custom/m"), ("HOB_LLM_URL", "http://192.168.1.5/v1")], "", true),
        (&[("HOB_MODEL", "custom/m"), ("HOB_LLM_URL", "https://models.example.com/v1")], "", false),
        (&[("HOB_MODEL", "ollama/qwen3")], "fallback = [\"openai/gpt-x\"]", false),
        (&[("HOB_MODEL", "openai/gpt-x"), ("OPENAI_API_KEY", "k")], "", false),
        (&[("HOB_MODEL", "openai/gpt-x"), ("OPENAI_API_KEY", "k")], "reads_memories = \"always\"", true),
        (&[("HOB_MODEL", "ollama/qwen3")], "reads_memories = \"never\"", false),
    ] {
        let variables: Variables = Box::leak(variables.to_vec().into_boxed_slice());
        assert_eq!(models(variables, file).may_read_memories(), reads, "{variables:?} {file}");
    }
}

/// The first model, its fallbacks, and whether these are automatic.
fn lineup(variables: Variables, file: &str) -> (String, ChosenBy, String, bool) {
    let models = models(variables, file);
    let in_use = models.in_use();
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
    assert_eq!(lineup(all, ""), (usual("anthropic"), ChosenBy::Key, others.clone(), true));
    assert_eq!(lineup(&[("GROQ_API_KEY", "g")], ""), (usual("groq"), ChosenBy::Key, String::new(), true));
    assert_eq!(lineup(&[("GROQ_API_KEY", " ")], ""), ("reflex".into(), ChosenBy::BuiltIn, String::new(), true));
    assert_eq!(lineup(&[("MISTRAL_API_KEY", "m")], ""), ("reflex".into(), ChosenBy::BuiltIn, String::new(), true));
    // A choice wins over the keys; the other providers are its fallbacks.
    let reflex = lineup(all, "name = \"reflex\"");
    assert_eq!(reflex, ("reflex".into(), ChosenBy::File, String::new(), true));
    let claude = lineup(all, "name = \"claude/claude-x\"");
    assert_eq!(claude, ("claude/claude-x".into(), ChosenBy::File, others, true));
    let own = lineup(&[("OPENAI_API_KEY", "o")], "name = \"custom/m\"\nurl = \"http://pi/v1\"");
    assert_eq!(own, ("custom/m".into(), ChosenBy::File, usual("openai"), true));
    // An explicit list is used as it is, also when empty.
    let none = lineup(all, "fallback = []");
    assert_eq!(none, (usual("anthropic"), ChosenBy::Key, String::new(), false));
    let named = lineup(all, "fallback = [\"groq/x\"]");
    assert_eq!(named, (usual("anthropic"), ChosenBy::Key, "groq/x".into(), false));
}

#[tokio::test]
async fn what_stands_in_can_be_left_to_the_keys_again() {
    let models = models(&[("OPENAI_API_KEY", "o"), ("GROQ_API_KEY", "g")], "");
    let groq = format!("groq/{}", llm::preset("groq").unwrap().default_model);
    let fallback = |fallback: Option<Vec<String>>| ModelSettingsPatch {
        fallback: Some(fallback),
        ..ModelSettingsPatch::default()
    };
    let none = models.change_settings(fallback(Some(vec![]))).await.unwrap();
    assert_eq!((none.fallback, none.automatic_fallback), (vec![], false));
    let unchanged = models.change_settings(ModelSettingsPatch::default()).await.unwrap();
    assert!(!unchanged.automatic_fallback);
    let again = models.change_settings(fallback(None)).await.unwrap();
    assert_eq!((again.fallback, again.automatic_fallback), (vec![groq], true));
    // A key of the environment is not sent to an address chosen here.
    let proxy = ProviderPatch { url: Some("https://proxy.example/v1".into()), key: None };
    models.change_provider("openai", proxy).await.unwrap();
    assert!(models.first_model().0.starts_with("groq/"), "{:?}", models.first_model());
    // A choice made here wins, also when it is reflex.
    models.choose(choice("reflex", None, None)).await.unwrap();
    assert_eq!(models.first_model(), (String::new(), ChosenBy::Page));
}

#[tokio::test]
async fn a_key_goes_to_the_address_it_was_given_for_and_to_no_other() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[("OPENAI_API_KEY", "of-the-environment")], "").unwrap();
    models.choose(choice("custom/a", Some("http://one/v1"), Some("of-one"))).await.unwrap();
    assert_eq!(first(&models), endpoint_of("custom/a", "http://one/v1", Some("of-one")));
    models.choose(choice("custom/b", None, None)).await.unwrap();
    assert_eq!(first(&models), endpoint_of("custom/b", "http://one/v1", Some("of-one")), "the same server");
    models.choose(choice("custom/a", Some("http://two/v1"), None)).await.unwrap();
    assert_eq!(first(&models), endpoint_of("custom/a", "http://two/v1", None));
    models.choose(choice("openai/gpt", None, None)).await.unwrap();
    assert_eq!(first(&models).2.as_deref(), Some("of-the-environment"));
    models.choose(choice("openai/gpt", Some("https://proxy.example/v1"), None)).await.unwrap();
    assert_eq!(first(&models), endpoint_of("openai/gpt", "https://proxy.example/v1", None));
    models.choose(choice("openai/gpt", Some(""), Some("mine"))).await.unwrap();
    assert_eq!(first(&models).2.as_deref(), Some("of-the-environment"), "the environment wins over the page");

    let elsewhere = ProviderPatch { url: Some("https://elsewhere.example".into()), key: None };
    let fixed = models_of(&store, &[("OPENAI_BASE_URL", "https://fixed.example")], "").unwrap();
    assert!(matches!(fixed.change_provider("openai", elsewhere).await, Err(Error::Denied(_))));

    // The choice and its key survive a restart.
    let again = models_of(&store, &[], "").unwrap();
    assert_eq!(first(&again), endpoint_of("openai/gpt", "https://api.openai.com/v1", Some("mine")));
    again.change_provider("openai", ProviderPatch { url: None, key: Some(String::new()) }).await.unwrap();
    assert_eq!(first(&again).2, None);
}

#[tokio::test]
async fn a_key_is_good_where_its_provider_moved_to() {
    let store = Store::in_memory().unwrap();
    let former = llm::preset("perplexity").unwrap().former_url;
    let given = ProviderPatch { url: Some(former.into()), key: Some("pplx-1".into()) };
    models_of(&store, &[], "").unwrap().change_provider("perplexity", given).await.unwrap();
    let again = models_of(&store, &[], "").unwrap();
    let endpoint = again.endpoint("perplexity/perplexity/sonar", &ProviderPatch::default()).unwrap();
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
        let error = models.choose(given).await.unwrap_err();
        assert!(matches!(&error, Error::BadArgs(text) if text.contains(part)), "{error}");
    }
    let terms =
        |daily_budget| ModelSettingsPatch { daily_budget: Some(Some(daily_budget)), ..ModelSettingsPatch::default() };
    for wrong in [0.0, -1.0, f64::NAN, 1e9] {
        assert!(models.change_settings(terms(wrong)).await.is_err(), "{wrong}");
    }
    let fallback = |models: &[&str]| ModelSettingsPatch {
        fallback: Some(Some(models.iter().map(|m| (*m).to_owned()).collect())),
        ..ModelSettingsPatch::default()
    };
    assert!(models.change_settings(fallback(&["gpt"])).await.is_err());
    assert!(models.change_settings(fallback(&["openai/a"; 9])).await.is_ok(), "the same nine times is one");
    let nine: Vec<String> = (0..9).map(|n| format!("openai/{n}")).collect();
    assert!(models.change_settings(fallback(&nine.iter().map(String::as_str).collect::<Vec<_>>())).await.is_err());
    assert!(models.change_provider("nobody", ProviderPatch::default()).await.is_err());
    let no_address = ProviderPatch { url: None, key: Some("k".into()) };
    let error = models.change_provider("custom", no_address).await.unwrap_err();
    assert!(error.message().contains("one address"), "{error}");
}

#[tokio::test]
async fn terms_are_kept_one_by_one() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[], "daily_budget = 3.0").unwrap();
    assert_eq!(models.budget(), Some(3.0));
    let terms = ModelSettingsPatch { strategy: Some(Strategy::Cheapest), ..ModelSettingsPatch::default() };
    models.change_settings(terms).await.unwrap();
    models
        .change_settings(ModelSettingsPatch {
            daily_budget: Some(None),
            prefer_reflex: Some(true),
            ..ModelSettingsPatch::default()
        })
        .await
        .unwrap();
    let again = models_of(&store, &[], "daily_budget = 3.0").unwrap();
    let in_use = again.in_use();
    assert_eq!((in_use.strategy, in_use.prefer_reflex, in_use.daily_budget), (Strategy::Cheapest, true, None));
}

#[tokio::test]
async fn fresh_facts_are_kept_and_nonsense_changes_nothing() {
    let store = Store::in_memory().unwrap();
    let models = models_of(&store, &[], "").unwrap();
    let before = models.known(None).models.len();
    let wrong = CatalogueUpdate { catalogue: Some(serde_json::json!({"hello": 1})), url: None };
    assert!(models.update_catalogue(wrong).await.is_err());
    assert_eq!(models.known(None).models.len(), before);
    let fresh = serde_json::json!({"openai": {"models": {"gpt-99": {"id": "gpt-99", "cost": {"input": 1.0, "output": 2.0},
        "limit": {"context": 1000, "output": 100}, "tool_call": true, "modalities": {"input": ["text"]}}}}});
    models.update_catalogue(CatalogueUpdate { catalogue: Some(fresh), url: None }).await.unwrap();
    let again = models_of(&store, &[], "").unwrap();
    let known = again.known(Some("openai"));
    assert!(known.models.iter().any(|m| m.model == "openai/gpt-99") && known.source == "given");
    let usage = llm::Usage { prompt_tokens: 1_000_000, ..llm::Usage::default() };
    assert_eq!(again.catalogue().cost("openai/gpt-99", &usage), Some(1.0));
}
