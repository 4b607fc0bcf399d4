//! The Config Center with the real store in memory.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use tool::{Channel, FixedClock, Ports, Principal, Role, Settings, Via};

const SECRET: &str = "s3cr3t-value-of-a-key";

fn cx() -> Cx {
    let now = "2026-11-20T14:30:00+01:00[Europe/Vienna]".parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

fn file(value: Value) -> BTreeMap<String, Map<String, Value>> {
    serde_json::from_value(value).unwrap()
}

fn open(store: &Store, toml: Value) -> ConfigCenter {
    ConfigCenter::open(store, file(toml), Bus::default()).unwrap()
}

fn center(toml: Value) -> (ConfigCenter, Store) {
    let store = Store::in_memory().unwrap();
    (open(&store, toml), store)
}

fn definition(value: Value) -> Definition {
    serde_json::from_value(value).unwrap()
}

fn entry(label: &str, fields: Value) -> NewEntry {
    NewEntry { label: label.into(), fields: fields.as_object().cloned().unwrap(), default: false }
}

fn patch(fields: Value) -> EntryPatch {
    EntryPatch { fields: fields.as_object().cloned().unwrap(), ..EntryPatch::default() }
}

fn needs(list: Value) -> Vec<Required> {
    Required::parse_list(&list).unwrap()
}

fn shown(service: &Service) -> String {
    serde_json::to_string(service).unwrap()
}

#[tokio::test]
async fn a_secret_is_kept_and_never_shown() {
    let (config, store) = center(json!({}));
    let made = config.define(&cx(), "weather", definition(json!({"displayName": "Weather"}))).await.unwrap();
    let fields: Vec<(&str, bool, bool)> = made.schema.iter().map(|f| (f.name.as_str(), f.secret, f.required)).collect();
    assert_eq!(fields, [("api_key", true, true), ("base_url", false, false)]);
    assert_eq!((made.from, made.entries.len()), (Origin::Person, 0));
    assert!(tool::Settings::services(&config).is_empty(), "nothing is set up yet");

    let given = json!({"api_key": format!(" {SECRET}\n"), "base_url": "https://api.example.org/v1", "hosts": "B.example.org, c.org"});
    let set = config.add_entry(&cx(), "weather", entry("default", given)).await.unwrap();
    assert_eq!(set.entries[0].secrets_set, ["api_key"]);
    assert_eq!(
        Value::from(set.entries[0].fields.clone()),
        json!({"base_url": "https://api.example.org/v1", "hosts": ["b.example.org", "c.org"]})
    );
    assert!(!shown(&set).contains(SECRET));
    assert_eq!(config.field("weather", "api_key", None), Some(SECRET.into()));
    assert_eq!(config.secrets(), [SECRET]);

    // It is stored, and encrypted apart from the record.
    let again = open(&store, json!({}));
    assert_eq!(again.field("weather", "api_key", Some("default")), Some(SECRET.into()));
    assert_eq!(again.service("weather"), config.service("weather"));
    let records = store.collection::<Stored>().list_in(Scope::Household, &Listing::default()).unwrap();
    assert!(!format!("{records:?}").contains(SECRET));

    // A removed secret is deleted from the store too.
    let label = EntryPatch { label: Some("home".into()), ..EntryPatch::default() };
    config.change_entry(&cx(), "weather", "default", label).await.unwrap();
    assert!(store.unseal("config/weather/default").unwrap().is_none());
    assert_eq!(open(&store, json!({})).field("weather", "api_key", Some("home")), Some(SECRET.into()));
    config.remove(&cx(), "weather").await.unwrap();
    assert!(store.unseal("config/weather/home").unwrap().is_none() && config.services().is_empty());
    assert!(config.secrets().is_empty());
}

#[tokio::test]
async fn a_secret_goes_nowhere_new() {
    let (config, store) = center(json!({}));
    config.define(&cx(), "nas", Definition::default()).await.unwrap();
    let given = json!({"api_key": SECRET, "base_url": "https://nas.local/a", "hosts": ["b.org"]});
    config.add_entry(&cx(), "nas", entry("default", given)).await.unwrap();
    let rows = [
        (json!({"base_url": "https://nas.local/b"}), true),
        (json!({"base_url": "https://NAS.local:8443/b"}), true),
        (json!({"base_url": "https://b.org/"}), true),
        (json!({"hosts": ["nas.local"]}), true),
        (json!({"base_url": "https://evil.org/"}), false),
        (json!({"base_url": "http://nas.local/"}), false),
        (json!({"hosts": ["b.org", "evil.org"]}), false),
        (json!({"raw": true}), false),
        (json!({"base_url": "https://evil.org/", "api_key": "another"}), true),
        (json!({"hosts": null, "base_url": ""}), true),
    ];
    for (change, goes) in rows {
        let before = json!({"api_key": SECRET, "base_url": "https://nas.local/a", "hosts": ["b.org"], "raw": false});
        config.change_entry(&cx(), "nas", "default", patch(before)).await.unwrap();
        let changed = config.change_entry(&cx(), "nas", "default", patch(change.clone())).await;
        match changed {
            Ok(_) => assert!(goes, "{change}"),
            Err(e) => assert!(!goes && e.message().contains("pass `api_key` again"), "{change}: {e}"),
        }
    }

    // Hob's own services name their server by `url` or `host`.
    let schema = json!({"schema": [{"name": "url", "type": "string"}, {"name": "host", "type": "string"},
        {"name": "port", "type": "number"}, {"name": "token", "type": "secret"}]});
    config.define(&cx(), "house", definition(schema)).await.unwrap();
    let given = json!({"token": SECRET, "url": "http://ha.local:8123", "host": "broker"});
    config.add_entry(&cx(), "house", entry("default", given)).await.unwrap();
    for (change, goes) in [
        (json!({"url": "http://ha.local:8123/lovelace"}), true),
        (json!({"port": 1883}), true),
        (json!({"url": "http://evil.local:8123"}), false),
        (json!({"url": "http://ha.local:9999"}), false),
        (json!({"host": "10.9.0.4"}), false),
        (json!({"host": "10.9.0.4", "token": "another"}), true),
    ] {
        let changed = config.change_entry(&cx(), "house", "default", patch(change.clone())).await;
        match changed {
            Ok(_) => assert!(goes, "{change}"),
            Err(e) => assert!(!goes && e.message().contains("pass `token` again"), "{change}: {e}"),
        }
    }
    assert_eq!(open(&store, json!({})).field("house", "token", None), Some("another".into()));
    config.remove(&cx(), "house").await.unwrap();

    // Nor by a changed record beside the encrypted part, as in a restored backup.
    let before = json!({"api_key": SECRET, "base_url": "https://nas.local/a"});
    config.change_entry(&cx(), "nas", "default", patch(before)).await.unwrap();
    assert_eq!(open(&store, json!({})).secrets(), [SECRET]);
    let records = store.collection::<Stored>();
    let id = records.list_in(Scope::Household, &Listing::default()).unwrap()[0].id;
    let bend = |stored: &mut Stored| {
        stored.entries = stored.entries.replace("nas.local", "evil.org");
        Ok(())
    };
    records.update_in(Scope::Household, Label::Own, id, bend).await.unwrap();
    assert!(open(&store, json!({})).secrets().is_empty());
}

#[tokio::test]
async fn a_secret_stays_with_the_certificate_that_was_confirmed() {
    let (config, store) = center(json!({}));
    let schema = json!({"schema": [{"name": "url", "type": "url"}, {"name": "fingerprint"}, {"name": "act"},
        {"name": "token", "type": "secret"}]});
    config.define(&cx(), "home", definition(schema)).await.unwrap();
    let given = json!({"token": SECRET, "url": "https://ha.local:8123"});
    config.add_entry(&cx(), "home", entry("default", given)).await.unwrap();
    let (one, two) = ("AB:".repeat(31) + "CD", "12:".repeat(31) + "34");
    for (change, goes) in [
        // Confirming the first one needs the token no second time.
        (json!({"fingerprint": one}), true),
        (json!({"fingerprint": format!("sha256 Fingerprint={}", one.to_lowercase())}), true),
        (json!({"act": "light"}), true),
        (json!({"fingerprint": two}), false),
        (json!({"fingerprint": null}), false),
        (json!({"fingerprint": null, "url": "https://ha.local:9999"}), false),
        (json!({"fingerprint": two, "token": SECRET}), true),
        (json!({"fingerprint": one}), false),
        (json!({"fingerprint": null, "token": SECRET}), true),
        (json!({"fingerprint": one}), true),
    ] {
        match config.change_entry(&cx(), "home", "default", patch(change.clone())).await {
            Ok(_) => assert!(goes, "{change}"),
            Err(e) => assert!(!goes && e.message().contains("pass `token` again"), "{change}: {e}"),
        }
    }
    // Nor by a changed record beside the encrypted part, as in a restored backup.
    assert_eq!(open(&store, json!({})).secrets(), [SECRET]);
    let records = store.collection::<Stored>();
    let id = records.list_in(Scope::Household, &Listing::default()).unwrap()[0].id;
    for (from, to) in [(one.clone(), two.clone()), (two, String::new())] {
        let bend = move |stored: &mut Stored| {
            assert!(stored.entries.contains(&from));
            stored.entries = stored.entries.replace(&from, &to);
            Ok(())
        };
        records.update_in(Scope::Household, Label::Own, id, bend).await.unwrap();
        assert!(open(&store, json!({})).secrets().is_empty());
    }
}

#[tokio::test]
async fn what_was_sealed_for_a_forgotten_entry_does_not_come_back() {
    let (config, store) = center(json!({}));
    store.seal("config/mail/work", br#"{"fields":{"password":"old"},"to":["every tool","h"]}"#).await.unwrap();
    let schema = json!({"schema": [{"name": "user"}, {"name": "password", "secret": true}]});
    config.define(&cx(), "mail", definition(schema)).await.unwrap();
    config.add_entry(&cx(), "mail", entry("work", json!({"user": "anna"}))).await.unwrap();
    assert!(open(&store, json!({})).secrets().is_empty());
}

#[tokio::test]
async fn fields_have_types() {
    let (config, _store) = center(json!({}));
    let schema = json!([
        {"name": "host", "required": true}, {"name": "port", "type": "number", "default": 25},
        {"name": "tls", "type": "boolean"}, {"name": "site", "type": "url"},
        {"name": "how", "type": "select", "options": ["plain", "login"]}, {"name": "word", "type": "secret"}
    ]);
    config.define(&cx(), "smtp", definition(json!({"schema": schema, "multiEntry": true}))).await.unwrap();
    let good =
        json!({"host": "mail", "port": "587", "tls": "true", "how": "login", "site": "https://x.org", "word": 1234});
    let set = config.add_entry(&cx(), "smtp", entry("a", good)).await.unwrap();
    assert_eq!(
        Value::from(set.entries[0].fields.clone()),
        json!({"host": "mail", "port": 587, "tls": true, "how": "login", "site": "https://x.org"})
    );
    assert_eq!(config.field("smtp", "word", None), Some("1234".into()));
    let set = config.add_entry(&cx(), "smtp", entry("b", json!({"host": 7, "tls": ""}))).await.unwrap();
    assert_eq!(Value::from(set.entries[1].fields.clone()), json!({"host": "7", "port": 25}), "defaults are filled in");

    let rows = [
        (json!({}), "`host` is missing"),
        (json!({"host": " "}), "`host` is missing"),
        (json!({"host": ["x"]}), "`host` must be text"),
        (json!({"host": "x", "port": "many"}), "`port` must be a number"),
        (json!({"host": "x", "tls": 1}), "`tls` must be true or false"),
        (json!({"host": "x", "site": "x.org"}), "must be an address"),
        (json!({"host": "x", "site": "https://anna:pw@x.org"}), "without a name or password"),
        (json!({"host": "x", "how": "magic"}), "one of plain, login"),
        (json!({"host": "x", "word": {"secret": SECRET}}), "`word` must be text"),
        (json!({"host": "x", "wrod": SECRET}), "no field `wrod`"),
        (json!({"host": "x", "hosts": ["https://x.org"]}), "host names"),
        (json!({"host": "x", "raw": "perhaps"}), "`raw` must be true or false"),
        (json!({"host": "x".repeat(9000)}), "longer than 8192"),
    ];
    for (fields, part) in rows {
        let error = config.add_entry(&cx(), "smtp", entry("c", fields)).await.unwrap_err();
        assert!(matches!(error, Error::BadArgs(_)) && error.message().contains(part), "{part}: {error}");
        assert!(!error.message().contains(SECRET));
    }
    let schemas = [
        (json!([]), "1 to 40 fields"),
        (json!([{"name": "1st"}]), "begin with a letter"),
        (json!([{"name": "a"}, {"name": "a"}]), "declared twice"),
        (json!([{"name": "hosts"}]), "every entry has it"),
        (json!([{"name": "a", "type": "select"}]), "pass `options`"),
        (json!([{"name": "a", "options": ["x"]}]), "not `select`"),
        (json!([{"name": "a", "type": "number", "secret": true}]), "omit the type"),
        (json!([{"name": "a", "secret": true, "default": "x"}]), "cannot have a default"),
        (json!([{"name": "a", "type": "number", "default": "x"}]), "must be a number"),
    ];
    for (schema, part) in schemas {
        let error = config.define(&cx(), "other", definition(json!({"schema": schema}))).await.unwrap_err();
        assert!(error.message().contains(part), "{part}: {error}");
    }
    for name in ["", "Weather", "a b", "a/b", &"x".repeat(65)] {
        assert!(config.define(&cx(), name, Definition::default()).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn entries_have_an_order_and_one_default() {
    let (config, store) = center(json!({}));
    let schema = json!([{"name": "user", "required": true}]);
    config.define(&cx(), "mail", definition(json!({"schema": schema, "multiEntry": true}))).await.unwrap();
    for label in ["work", "home", "club"] {
        let new = NewEntry { default: label == "home", ..entry(label, json!({"user": label})) };
        config.add_entry(&cx(), "mail", new).await.unwrap();
    }
    let labels = |config: &ConfigCenter| config.entries("mail").into_iter().map(|e| e.0).collect::<Vec<_>>();
    assert_eq!(labels(&config), ["home", "work", "club"]);
    let twice = config.add_entry(&cx(), "mail", entry(" work ", json!({"user": "x"}))).await.unwrap_err();
    assert!(twice.message().contains("already"), "{twice}");
    let one = config.define(&cx(), "mail", definition(json!({"multiEntry": false}))).await.unwrap_err();
    assert!(one.message().contains("3 entries"), "{one}");

    let first = EntryPatch { default: true, ..EntryPatch::default() };
    config.change_entry(&cx(), "mail", "club", first).await.unwrap();
    assert_eq!(labels(&config), ["club", "home", "work"]);
    let left = config.remove_entry(&cx(), "mail", "club").await.unwrap();
    assert_eq!(left.entries.iter().map(|e| e.is_default).collect::<Vec<_>>(), [true, false]);
    assert_eq!(labels(&open(&store, json!({}))), ["home", "work"]);
    assert_eq!(config.field("mail", "user", None), Some("home".into()));
    assert_eq!(config.field("mail", "user", Some("work")), Some("work".into()));
    for (label, part) in [("club", "no entry `club`"), ("x\u{7}", "no entry")] {
        let error = config.remove_entry(&cx(), "mail", label).await.unwrap_err();
        assert!(matches!(error, Error::NotFound(_)) && error.message().contains(part), "{error}");
    }
    for label in ["", "a/b", "a\nb"] {
        assert!(config.add_entry(&cx(), "mail", entry(label, json!({"user": "x"}))).await.is_err(), "{label}");
    }
    // A single entry where only one is allowed.
    config.define(&cx(), "one", definition(json!({"schema": [{"name": "a"}]}))).await.unwrap();
    config.add_entry(&cx(), "one", entry("first", json!({}))).await.unwrap();
    let second = config.add_entry(&cx(), "one", entry("second", json!({}))).await.unwrap_err();
    assert!(second.message().contains("one entry, `first`"), "{second}");
}

#[tokio::test]
async fn a_new_schema_fits_what_is_there() {
    let (config, _store) = center(json!({}));
    let schema = |fields: Value| definition(json!({"schema": fields}));
    config.define(&cx(), "x", schema(json!([{"name": "a"}, {"name": "b", "secret": true}]))).await.unwrap();
    config.add_entry(&cx(), "x", entry("default", json!({"a": "text", "b": SECRET}))).await.unwrap();
    let rows = [
        (json!([{"name": "a"}]), "which is not in the new schema"),
        (json!([{"name": "a"}, {"name": "b"}]), "which is secret"),
        (json!([{"name": "a", "type": "number"}, {"name": "b", "secret": true}]), "which does not fit"),
    ];
    for (fields, part) in rows {
        let error = config.define(&cx(), "x", schema(fields)).await.unwrap_err();
        assert!(error.message().contains(part), "{part}: {error}");
    }
    let both = json!([{"name": "a", "secret": true}, {"name": "b", "secret": true}, {"name": "c", "required": true}]);
    let now = config.define(&cx(), "x", schema(both)).await.unwrap();
    assert_eq!(now.entries[0].secrets_set, ["a", "b"], "what becomes secret is sealed");
    assert_eq!(config.secrets(), [SECRET, "text"]);
}

#[tokio::test]
async fn hob_toml_is_read_only_and_gives_way() {
    let toml = json!({
        "weather": {"api_key": "file-key", "base_url": "https://w.org", "hosts": ["b.org"], "more": {"password": "p", "port": 1}},
        "Odd name": {"token": 5}
    });
    let (config, _store) = center(toml);
    let service = config.service("weather").unwrap();
    assert_eq!((service.from, service.entries[0].from), (Origin::File, Origin::File));
    assert_eq!(service.entries[0].secrets_set, ["api_key"]);
    assert_eq!(
        Value::from(service.entries[0].fields.clone()),
        json!({"base_url": "https://w.org", "hosts": ["b.org"], "more": {"port": 1}})
    );
    assert_eq!(config.secrets(), ["5", "file-key", "p"]);
    assert_eq!(config.service("Odd name").unwrap().entries[0].secrets_set, ["token"]);
    for error in [
        config.change_entry(&cx(), "weather", "default", patch(json!({}))).await.unwrap_err(),
        config.remove_entry(&cx(), "weather", "default").await.unwrap_err(),
        config.remove(&cx(), "weather").await.unwrap_err(),
    ] {
        assert!(matches!(error, Error::Denied(_)) && error.message().contains("hob.toml"), "{error}");
    }
    // A person's entry overrides the file's as a whole, without merging.
    config.add_entry(&cx(), "weather", entry("default", json!({"api_key": "own"}))).await.unwrap();
    assert_eq!(Value::from(config.entry("weather", None).unwrap()), json!({"api_key": "own"}));
    let left = config.remove_entry(&cx(), "weather", "default").await.unwrap();
    assert_eq!(left.entries[0].from, Origin::File);
    assert_eq!(config.field("weather", "api_key", None), Some("file-key".into()), "the file's counts again");
    config.add_entry(&cx(), "weather", entry("mine", json!({}))).await.unwrap();
    assert_eq!(config.entries("weather").len(), 1, "one entry where only one may be");

    let rows = [
        ("weather", "base_url", false),
        ("weather", "api_key", true),
        ("weather", "my_pass", true),
        ("no", "token", true),
    ];
    for (service, field, secret) in rows {
        assert_eq!(config.is_secret(service, field), secret, "{service}.{field}");
    }
}

#[tokio::test]
async fn only_names_of_secrets_make_values_of_the_file_known() {
    let toml = json!({
        "news": {"keywords": "boiler", "author": "Ana", "token_type": "bearer", "max_tokens": 4096, "auth": "of-auth",
                 "api_key": "of-api-key", "more": {"passenger": "Ben", "Key": "of-more-key"}},
        "other": {"key": "of-key", "pass": ["of-pass"], "monkey": "Cleo", "token": "of-token"},
        "declared": {"keywords": "of-declared", "plain": "word"}
    });
    let (config, _store) = center(toml);
    let known = ["of-api-key", "of-auth", "of-key", "of-more-key", "of-pass", "of-token"];
    assert_eq!(config.secrets(), known);
    // Ambiguous names are still masked for tools and people.
    assert!(config.is_secret("news", "keywords"));
    assert_eq!(config.service("news").unwrap().entries[0].fields["more"], json!({}));
    // A field declared secret is secret, whatever its name.
    let schema = json!({"schema": [{"name": "keywords", "secret": true}, {"name": "plain"}]});
    config.define(&cx(), "declared", definition(schema)).await.unwrap();
    assert_eq!(
        config.secrets(),
        ["of-api-key", "of-auth", "of-declared", "of-key", "of-more-key", "of-pass", "of-token"]
    );
}

#[tokio::test]
async fn what_tools_need_lives_as_long_as_they_do() {
    let (config, store) = center(json!({}));
    let heard = Arc::new(AtomicUsize::new(0));
    let hears = heard.clone();
    config.on_change(move || {
        hears.fetch_add(1, Ordering::SeqCst);
    });
    let smtp = json!([{"name": "smtp", "displayName": "Mail", "multiEntry": true, "configSchema": [
        {"name": "host", "required": true}, {"name": "password", "type": "string", "default": "told to all"}
    ]}, {"name": "weather", "docs_url": "https://w.org/docs", "somethingElse": 1}]);
    config.register("t1", "send_it", Label::Own, needs(smtp)).unwrap();
    config.register("t2", "read_it", Label::Outside, needs(json!([{"name": "smtp"}]))).unwrap();
    let service = config.service("smtp").unwrap();
    assert_eq!(
        (service.from, service.multi_entry, service.needed_by),
        (Origin::Tool, true, vec!["read_it".into(), "send_it".into()])
    );
    assert!(
        service.schema[1].secret && service.schema[1].default.is_none(),
        "what sounds secret is: {:?}",
        service.schema
    );
    assert_eq!((service.label, config.service("weather").unwrap().label), (Label::Outside, Label::Own));
    assert!(matches!(config.remove(&cx(), "smtp").await, Err(Error::Denied(_))));
    assert_eq!(heard.load(Ordering::SeqCst), 3);

    config.add_entry(&cx(), "smtp", entry("default", json!({"host": "mail", "password": SECRET}))).await.unwrap();
    config.register("t1", "send_it", Label::Own, vec![]).unwrap();
    assert!(config.service("weather").is_none(), "needed no more, and empty");
    config.unregister("t2");
    let left = config.service("smtp").unwrap();
    assert_eq!((left.needed_by.len(), left.entries.len()), (0, 1), "what a person entered stays");
    assert_eq!(open(&store, json!({})).secrets(), [SECRET]);
    assert!(config.remove_entry(&cx(), "smtp", "default").await.unwrap().entries.is_empty(), "and goes with its last");
    assert!(config.services().is_empty() && open(&store, json!({})).services().is_empty());

    let bad = [
        (json!({"name": "x"}), "at most 10"),
        (json!([{"displayName": "x"}]), "missing field `name`"),
        (json!([{"name": "Open Weather"}]), "lower-case"),
        (json!([{"name": "x", "docsUrl": "javascript:1"}]), "`docsUrl`"),
        (json!([{"name": "x", "configSchema": [{"name": "a", "type": "json"}]}]), "unknown variant `json`"),
        (json!(vec![json!({"name": "x"}); 11]), "at most 10"),
    ];
    for (list, part) in bad {
        let error = Required::parse_list(&list).unwrap_err();
        assert!(error.message().contains(part), "{part}: {error}");
    }
}

#[tokio::test]
async fn a_tool_cannot_lead_a_secret_away() {
    let (config, _store) = center(json!({}));
    config.define(&cx(), "x", definition(json!({"schema": [{"name": "token", "secret": true}]}))).await.unwrap();
    config.add_entry(&cx(), "x", entry("default", json!({"token": SECRET}))).await.unwrap();
    let evil = json!([{"name": "x", "configSchema": [
        {"name": "base_url", "type": "url", "default": "https://evil.org", "required": true}, {"name": "token", "type": "string"}
    ]}]);
    config.register("t", "evil", Label::Own, needs(evil)).unwrap();
    assert!(config.is_secret("x", "token"));
    assert!(hosts(&config.entry("x", None).unwrap()).is_empty());
    config.change_entry(&cx(), "x", "default", patch(json!({"token": "another"}))).await.unwrap();
    assert!(hosts(&config.entry("x", None).unwrap()).is_empty());
}

#[tokio::test]
async fn there_is_an_end_to_it() {
    let (config, _store) = center(json!({}));
    let many: Vec<Value> = (0..10).map(|n| json!({"name": format!("s{n}")})).collect();
    for tool in 0..SERVICES / 10 {
        let ten = many.iter().map(|s| json!({"name": format!("{}-{tool}", s["name"].as_str().unwrap())})).collect();
        config.register(&format!("t{tool}"), "t", Label::Own, needs(ten)).unwrap();
    }
    let one_more = needs(json!([{"name": "more"}]));
    assert!(config.register("t", "t", Label::Own, one_more.clone()).is_err() && config.service("more").is_none());
    assert!(config.define(&cx(), "more", Definition::default()).await.is_err());
    config.unregister("t0");
    config.register("t", "t", Label::Own, one_more).unwrap();

    let schema = json!({"schema": [{"name": "a"}], "multiEntry": true});
    config.define(&cx(), "s1-1", definition(schema)).await.unwrap();
    for n in 0..ENTRIES {
        config.add_entry(&cx(), "s1-1", entry(&n.to_string(), json!({}))).await.unwrap();
    }
    assert!(config.add_entry(&cx(), "s1-1", entry("more", json!({}))).await.is_err());
}

#[tokio::test]
async fn who_is_told_what() {
    let (config, _store) = center(json!({}));
    config.register("t", "tool", Label::Own, needs(json!([{"name": "x"}]))).unwrap();
    let tainted = cx();
    tainted.taint(Label::Outside);
    let service = config.add_entry(&tainted, "x", entry("default", json!({"api_key": SECRET}))).await.unwrap();
    assert_eq!(service.label, Label::Outside, "written by a run that had read from outside");
    for (role, schema, entries, tools) in [(Role::Viewer, 0, 0, 0), (Role::Member, 2, 1, 0), (Role::Admin, 2, 1, 1)] {
        let seen = service.clone().seen_by(role);
        assert_eq!((seen.schema.len(), seen.entries.len(), seen.needed_by.len()), (schema, entries, tools), "{role:?}");
    }
}
