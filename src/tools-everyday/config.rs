//! Tools for the Config Center: listing and reading services, and setting entries. Secrets are write-only.

use config_center::{ConfigCenter, DEFAULT, Definition, EntryPatch, NewEntry, Origin, Service};
use std::collections::BTreeMap;
use tool::prelude::*;

/// The services people set up.
pub fn family(config: ConfigCenter) -> Family<ConfigCenter> {
    Family::new("config", "The services people set up, and their keys.", config)
        .title("Services")
        .category("Config Center")
        .area(Area::System)
        .tool("config_list_services", Risk::Observe, list)
        .tags("services settings accounts keys api credentials configured")
        .tool("config_get_service", Risk::Observe, get)
        .tags("service settings account address fields schema entries")
        .tool("config_set_entry", Risk::Admin, set)
        .tags("set up configure service account api key token password credential save")
        .example(json!({"service": "weather", "fields": {"api_key": "…", "base_url": "https://api.example.org"}}))
}

/// List the services that are set up or that tools need (keys, addresses, accounts).
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

async fn list(config: ConfigCenter, cx: Cx, _: List) -> Result<Output> {
    let services = config.services();
    services.iter().for_each(|s| cx.taint(s.label));
    let short = |s: Service| {
        let configured = !s.entries.is_empty();
        let s = s.seen_by(cx.principal().role);
        let labels: Vec<&str> = s.entries.iter().map(|e| e.label.as_str()).collect();
        json!({"name": s.name, "displayName": s.display_name, "description": s.description, "category": s.category,
               "configured": configured, "entries": labels})
    };
    let listed: Vec<Value> = services.into_iter().map(short).collect();
    let named = |s: &Value| {
        let state = if s["configured"] == true { "set up" } else { "not set up" };
        format!("{} ({state})", s["displayName"].as_str().unwrap_or_default())
    };
    let say = match listed.len() {
        0 => "No services are set up.".to_owned(),
        _ => format!("Services: {}.", listed.iter().map(named).collect::<Vec<_>>().join(", ")),
    };
    Ok(Output::json(json!({"count": listed.len(), "services": listed}))?.say(say))
}

/// Get one service: its fields and entries. Secrets are write-only: the result says which are set.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Get {
    /// Its name, as config_list_services shows it.
    service: String,
}

async fn get(config: ConfigCenter, cx: Cx, Get { service }: Get) -> Result<Output> {
    let service = config.service(&service).ok_or_else(|| {
        let shown: String = service.chars().take(80).collect();
        Error::not_found(format!("there is no service `{shown}`: see config_list_services"))
    })?;
    cx.taint(service.label);
    Output::json(service.seen_by(cx.principal().role))
}

/// Set up a service: create an entry, or change some fields of one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Set {
    /// The service's name.
    service: String,
    /// Which entry; the default one when left out.
    label: Option<String>,
    /// Values by field name; null removes one, other fields stay.
    #[schemars(extend("writeOnly" = true))]
    fields: BTreeMap<String, Value>,
    /// Whether it becomes the default entry.
    #[serde(default)]
    default: bool,
    /// Create the service if there is none, with the fields api_key and base_url.
    #[serde(default)]
    create: bool,
}

async fn set(config: ConfigCenter, cx: Cx, args: Set) -> Result<Output> {
    let name = args.service;
    if args.create && config.service(&name).is_none() {
        config.define(&cx, &name, Definition::default()).await?;
    }
    let entries = config.service(&name).map(|s| s.entries).unwrap_or_default();
    let first = || entries.first().map_or(DEFAULT, |e| e.label.as_str()).to_owned();
    let label = args.label.unwrap_or_else(first);
    let fields = args.fields.into_iter().collect();
    let own = entries.iter().any(|e| e.label == label && e.from == Origin::Person);
    let service = match own {
        true => {
            let patch = EntryPatch { label: None, fields, default: args.default };
            config.change_entry(&cx, &name, &label, patch).await?
        }
        false => {
            let new = NewEntry { label: label.clone(), fields, default: args.default };
            config.add_entry(&cx, &name, new).await?
        }
    };
    let say = format!("The entry {label} of {} is set.", service.display_name);
    Ok(Output::json(service.seen_by(cx.principal().role))?.say(say))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};
    use tool::{Cx, Label, Principal, Role};

    fn center() -> ConfigCenter {
        let store = store::Store::in_memory().unwrap();
        ConfigCenter::open(&store, Default::default(), Default::default()).unwrap()
    }

    fn viewer() -> Cx {
        let cx = cx();
        let principal = Principal { role: Role::Viewer, ..Principal::owner() };
        Cx::root(cx.ports().clone(), principal, cx.via().clone())
    }

    #[tokio::test]
    async fn set_up_looked_at_and_changed() {
        let config = center();
        let ask = |name: &'static str, args: Value| {
            let config = config.clone();
            async move { call(family(config), &cx(), name, args).await }
        };
        assert_eq!(ask("config_list_services", json!({})).await.unwrap().say.unwrap(), "No services are set up.");
        let fields = json!({"api_key": "s3cr3t", "base_url": "https://w.org"});
        let args = json!({"service": "weather", "fields": fields});
        assert!(matches!(ask("config_set_entry", args.clone()).await, Err(Error::NotFound(_))));
        let mut create = args;
        create["create"] = true.into();
        let made = ask("config_set_entry", create).await.unwrap();
        assert_eq!(made.content["entries"][0]["secretsSet"], json!(["api_key"]));

        let change = json!({"service": "weather", "fields": {"base_url": "https://w.org/v2"}});
        ask("config_set_entry", change).await.unwrap();
        let got = ask("config_get_service", json!({"service": "weather"})).await.unwrap();
        let entry = &got.content["entries"][0];
        assert_eq!((&entry["label"], &entry["fields"]), (&json!("default"), &json!({"base_url": "https://w.org/v2"})));
        let listed = ask("config_list_services", json!({})).await.unwrap();
        assert_eq!(listed.content["services"][0]["configured"], true);
        assert_eq!(listed.say.as_deref(), Some("Services: weather (set up)."));
        for output in [&made, &got, &listed] {
            assert!(!format!("{output:?}").contains("s3cr3t"));
        }
        assert_eq!(config.secrets(), ["s3cr3t"]);

        let bad = [
            ("config_get_service", json!({"service": "no"}), "there is no service `no`"),
            ("config_set_entry", json!({"service": "weather", "label": "two", "fields": {}}), "may not have more"),
            ("config_set_entry", json!({"service": "weather", "fields": {"key": "x"}}), "no field `key`"),
            ("config_set_entry", json!({"service": "A B", "fields": {}, "create": true}), "lower-case"),
        ];
        for (tool, args, part) in bad {
            let error = ask(tool, args).await.unwrap_err();
            assert!(error.message().contains(part), "{part}: {error}");
        }
    }

    #[tokio::test]
    async fn viewers_learn_names_and_outside_words_taint() {
        let config = center();
        let tainted = cx();
        tainted.taint(Label::Outside);
        let args = json!({"service": "nas", "fields": {"api_key": "k", "base_url": "https://nas.org"}, "create": true});
        call(family(config.clone()), &tainted, "config_set_entry", args).await.unwrap();
        for (tool, args) in [("config_list_services", json!({})), ("config_get_service", json!({"service": "nas"}))] {
            let viewer = viewer();
            let seen = call(family(config.clone()), &viewer, tool, args).await.unwrap();
            assert!(seen.content.to_string().contains("nas") && !seen.content.to_string().contains("nas.org"));
            assert!(!seen.content.to_string().contains("default\""), "{}", seen.content);
            assert_eq!(viewer.label(), Label::Outside);
        }
    }
}
