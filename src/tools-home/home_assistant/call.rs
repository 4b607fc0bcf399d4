//! Calls that do something: services, scenes and scripts, events, sentences.

use super::{
    Ha,
    kinds::is_word,
    never::{is_internal, why_never},
    state::{phrase, row},
};
use home_assistant::{Entity, ServiceFields, Settings, domain_of};
use serde_json::Map;
use std::{sync::Arc, time::Duration};
use tool::prelude::*;

/// The most entities of one call, and the most changed ones in its answer.
const ENTITIES: usize = 50;
const CHANGED: usize = 20;
/// The most bytes of data of a call, and of what a service answers.
const DATA: usize = 8 * 1024;
const ANSWER: usize = 4 * 1024;
/// How long is waited for an entity to change, and how often is looked: many answer before they do.
const SETTLE: Duration = Duration::from_millis(700);
const LOOK: Duration = Duration::from_millis(25);
/// Fields of a call that choose entities in ways that are not checked.
const TARGETS: &[&str] = &["entity_id", "device_id", "area_id", "floor_id", "label_id", "target"];

/// One entity, or several.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(super) enum Entities {
    /// An id or a name.
    One(#[schemars(length(min = 1, max = 255))] String),
    /// Several of them.
    Many(#[schemars(length(max = 50))] Vec<String>),
}

/// Call a service of Home Assistant, such as `light.turn_on`, for entities. Opening, unlocking and disarming asks a person.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CallService {
    /// Such as `light`.
    #[schemars(length(min = 1, max = 64))]
    domain: String,
    /// Such as `turn_on`.
    #[schemars(length(min = 1, max = 64))]
    service: String,
    /// Entity ids or names.
    entity: Option<Entities>,
    /// Fields of the service, such as `{"brightness_pct": 40}`.
    data: Option<Map<String, Value>>,
}

impl CallService {
    fn names(&self) -> Vec<&str> {
        match &self.entity {
            None => vec![],
            Some(Entities::One(one)) => vec![one],
            Some(Entities::Many(many)) => many.iter().map(String::as_str).collect(),
        }
    }
    /// People and models write `light.turn_on` into either field.
    fn normalized(mut self) -> Self {
        for text in [&mut self.domain, &mut self.service] {
            *text = text.trim().to_lowercase();
        }
        let prefix = format!("{}.", self.domain);
        if let Some(rest) = self.service.strip_prefix(&prefix) {
            self.service = rest.to_owned();
        }
        self
    }
}

/// Whether a call opens something. What cannot be read counts as such.
pub(super) fn opens(ha: &Ha, args: &Value) -> bool {
    let Ok(call) = serde_json::from_value::<CallService>(args.clone()) else { return true };
    let call = call.normalized();
    let found: Option<Vec<Arc<Entity>>> =
        call.names().into_iter().map(|name| ha.entity_named(name, &call.domain).ok()).collect();
    let names = call.names();
    match &found {
        Some(found) => {
            let ids: Vec<&str> = found.iter().map(|entity| &*entity.id).collect();
            ha.client.call_opens(&call.domain, &call.service, &ids) || ha.client.is_asked_about(&ids)
        }
        // It will fail, unless it comes to be known meanwhile.
        None => ha.client.call_opens(&call.domain, &call.service, &names),
    }
}

pub(super) async fn call_service(ha: Ha, cx: Cx, args: CallService) -> Result<Output> {
    let settings = ha.client.ready()?;
    let call = args.normalized();
    let (domain, service) = (call.domain.as_str(), call.service.as_str());
    if let Some(why) = why_never(domain, service) {
        return Err(Error::denied(format!("Hob never calls `{domain}.{service}`: {why}")));
    }
    let fields = ha.client.service(domain, service)?;
    let entities = ha.entities_of(&settings, &call)?;
    if entities.is_empty() && fields.has_target && domain != "script" {
        return Err(Error::bad_args(format!("`{domain}.{service}` needs an `entity`: look with ha_find_entities")));
    }
    let may = format!("{domain}.{service}");
    let acts_on_own = entities.iter().all(|entity| entity.domain() == domain) && !entities.is_empty();
    if !acts_on_own && !settings.access.act.fit(&may) {
        return Err(not_allowed(&may));
    }
    let data = checked_data(domain, service, &fields, call.data.unwrap_or_default())?;
    ha.check_opening(&cx, domain, service, &entities)?;
    ha.do_call(domain, service, &entities, data, &fields).await
}

fn not_allowed(what: &str) -> Error {
    Error::denied(format!(
        "Hob may not control `{what}`: an admin can allow it in the Config Center, home_assistant, \"May control\""
    ))
}

fn checked_data(
    domain: &str,
    service: &str,
    fields: &ServiceFields,
    data: Map<String, Value>,
) -> Result<Map<String, Value>> {
    if let Some(target) = data.keys().find(|key| TARGETS.contains(&key.as_str())) {
        return Err(Error::bad_args(format!("leave `{target}` out of `data` and name entities in `entity`")));
    }
    let size = serde_json::to_string(&data).map_or(usize::MAX, |text| text.len());
    if size > DATA {
        return Err(Error::bad_args(format!("`data` has {size} bytes, the most is {DATA}: shorten it")));
    }
    let names = |names: &std::collections::BTreeSet<String>| {
        names.iter().filter(|name| !TARGETS.contains(&name.as_str())).take(40).cloned().collect::<Vec<_>>().join(", ")
    };
    if !fields.fields.is_empty()
        && let Some(unknown) = data.keys().find(|key| !fields.fields.contains(*key))
    {
        let unknown = text_kit::truncate(unknown, 60);
        let known = names(&fields.fields);
        return Err(Error::bad_args(format!("`{domain}.{service}` has no field `{unknown}`; it has {known}")));
    }
    let missing = |name: &&String| !TARGETS.contains(&name.as_str()) && !data.contains_key(*name);
    match fields.required.iter().find(missing) {
        Some(name) => Err(Error::bad_args(format!("`{domain}.{service}` needs `{name}` in `data`"))),
        None => Ok(data),
    }
}

impl Ha {
    /// The entities of a call, each of which Hob may control.
    fn entities_of(&self, settings: &Settings, call: &CallService) -> Result<Vec<Arc<Entity>>> {
        let names = call.names();
        if names.len() > ENTITIES {
            return Err(Error::bad_args(format!("name {ENTITIES} entities at most in one call")));
        }
        let mut all: Vec<Arc<Entity>> = vec![];
        for name in names {
            // "all" would act on what is not listed here.
            if matches!(name.trim(), "all" | "*" | "none" | "") {
                return Err(Error::bad_args("name each entity: `all` cannot be checked"));
            }
            let entity = self.entity_named(name, &call.domain)?;
            if !settings.access.act.fit(&entity.id) {
                return Err(not_allowed(&entity.id));
            }
            if all.iter().all(|known| known.id != entity.id) {
                all.push(entity);
            }
        }
        Ok(all)
    }

    /// The entity of this name, of the domain if there is one there.
    fn entity_named(&self, name: &str, domain: &str) -> Result<Arc<Entity>> {
        let (entity, _) = self.resolve(name, Some(domain)).or_else(|_| self.resolve(name, None))?;
        Ok(entity)
    }

    /// Names may mean other entities now than when the call was decided about.
    fn check_opening(&self, cx: &Cx, domain: &str, service: &str, entities: &[Arc<Entity>]) -> Result<()> {
        let ids: Vec<&str> = entities.iter().map(|entity| &*entity.id).collect();
        let opens = self.client.call_opens(domain, service, &ids) || self.client.is_asked_about(&ids);
        if opens && !cx.is_opening() {
            return Err(Error::denied(
                "this would open, unlock or disarm something, and that was not asked about: call it again",
            ));
        }
        Ok(())
    }

    /// Calls a service, and returns what changed.
    async fn do_call(
        &self,
        domain: &str,
        service: &str,
        entities: &[Arc<Entity>],
        data: Map<String, Value>,
        fields: &ServiceFields,
    ) -> Result<Output> {
        let mut body = data;
        if !entities.is_empty() {
            let ids: Vec<&str> = entities.iter().map(|entity| &*entity.id).collect();
            body.insert("entity_id".into(), json!(ids));
        }
        let query = if fields.responds { "?return_response" } else { "" };
        let path = format!("services/{domain}/{service}{query}");
        let mut answer = self.client.rest("POST", &path, Some(&Value::Object(body))).await?;
        let response = answer
            .get_mut("service_response")
            .map(Value::take)
            .filter(|r| r.as_object().is_some_and(|r| !r.is_empty()));
        let listed = if answer.is_array() { answer } else { answer["changed_states"].take() };
        let ids = listed.as_array().into_iter().flatten().filter_map(|state| state["entity_id"].as_str());
        let mut changed: Vec<String> = ids.map(str::to_owned).collect();
        self.settle(entities, &mut changed).await;
        changed.sort();
        changed.dedup();
        let known = |id: &String| self.client.entity(id);
        let rows: Vec<Value> = changed.iter().filter_map(known).take(CHANGED).map(|(e, d)| row(&e, &d)).collect();
        let mut content = json!({"called": format!("{domain}.{service}"), "changed": rows});
        let shown: Vec<String> = match entities {
            [] => changed.iter().filter_map(known).take(5).map(|(entity, _)| phrase(&entity)).collect(),
            some => {
                let now = |entity: &Arc<Entity>| self.client.entity(&entity.id).map(|(now, _)| phrase(&now));
                some.iter().take(5).filter_map(now).collect()
            }
        };
        let more = entities.len().saturating_sub(5);
        let sentence = match (shown.is_empty(), more) {
            (true, _) => "Done.".to_owned(),
            (false, 0) => format!("{}.", text_kit::join_and(&shown)),
            (false, more) => format!("{}, and {more} more.", shown.join(", ")),
        };
        let Some(response) = response else { return Ok(Output::json(content)?.say(sentence)) };
        let text = response.to_string();
        content["response"] = if text.len() <= ANSWER { response } else { text_kit::truncate(&text, ANSWER).into() };
        Ok(Output::json(content)?.say(sentence).from_outside())
    }

    /// Waits a moment for the entities of a call to change, and for the live state to have what the answer named.
    async fn settle(&self, before: &[Arc<Entity>], changed: &mut Vec<String>) {
        let end = tokio::time::Instant::now() + SETTLE;
        loop {
            let moved = |old: &&Arc<Entity>| {
                self.client
                    .entity(&old.id)
                    .is_none_or(|(now, _)| now.state != old.state || now.attributes != old.attributes)
            };
            let moved: Vec<String> = before.iter().filter(moved).map(|entity| entity.id.to_string()).collect();
            let named = |entity: &Arc<Entity>| changed.iter().any(|id| **id == *entity.id);
            // The answer names changed entities; if it names none, they may be in the wanted state already.
            let is_over = match changed.is_empty() {
                true => !moved.is_empty(),
                false => {
                    before.iter().filter(|entity| named(entity)).all(|entity| moved.iter().any(|id| **id == *entity.id))
                }
            };
            if is_over || before.is_empty() || tokio::time::Instant::now() >= end {
                changed.extend(moved);
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Activate a scene or run a script of Home Assistant.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RunScene {
    /// Scene: id or name.
    #[schemars(length(max = 255))]
    scene: Option<String>,
    /// Script: id or name.
    #[schemars(length(max = 255))]
    script: Option<String>,
    /// Variables of the script.
    data: Option<Map<String, Value>>,
}

impl RunScene {
    fn target(&self) -> Result<(&'static str, &str)> {
        match (self.scene.as_deref(), self.script.as_deref()) {
            (Some(scene), None) => Ok(("scene", scene)),
            (None, Some(script)) => Ok(("script", script)),
            _ => Err(Error::bad_args("name a `scene` or a `script`")),
        }
    }
}

/// Whether a scene or script opens something.
pub(super) fn run_opens(ha: &Ha, args: &Value) -> bool {
    let Ok(run) = serde_json::from_value::<RunScene>(args.clone()) else { return true };
    let Ok((domain, name)) = run.target() else { return false };
    match ha.resolve(name, Some(domain)) {
        Ok((entity, _)) => {
            ha.client.call_opens(domain, "turn_on", &[&entity.id]) || ha.client.is_asked_about(&[&entity.id])
        }
        // It will fail.
        Err(_) => false,
    }
}

pub(super) async fn run_scene(ha: Ha, cx: Cx, args: RunScene) -> Result<Output> {
    let settings = ha.client.ready()?;
    let (domain, name) = args.target()?;
    let (entity, _) = ha.resolve(name, Some(domain))?;
    if domain_of(&entity.id) != domain {
        return Err(Error::bad_args(format!("`{}` is no {domain}", entity.id)));
    }
    if !settings.access.act.fit(&entity.id) {
        return Err(not_allowed(&entity.id));
    }
    let mut data = args.data.unwrap_or_default();
    if domain == "script" && !data.is_empty() {
        data = Map::from_iter([("variables".to_owned(), Value::Object(data))]);
    }
    let fields = ServiceFields { has_target: true, ..ServiceFields::default() };
    let data = checked_data(domain, "turn_on", &fields, data)?;
    ha.check_opening(&cx, domain, "turn_on", std::slice::from_ref(&entity))?;
    let begun = ha.do_call(domain, "turn_on", std::slice::from_ref(&entity), data, &fields).await?;
    let verb = if domain == "scene" { "is active" } else { "was started" };
    Ok(Output { say: Some(format!("{} {verb}.", entity.name())), ..begun })
}

/// Fire an event in Home Assistant, for its automations.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FireEvent {
    /// Type, such as `hob_button`.
    #[schemars(length(min = 1, max = 64))]
    event_type: String,
    /// Its data.
    data: Option<Map<String, Value>>,
}

pub(super) async fn fire_event(ha: Ha, _: Cx, FireEvent { event_type, data }: FireEvent) -> Result<Output> {
    let settings = ha.client.ready()?;
    let kind = event_type.trim().to_lowercase();
    if !kind.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') || kind.is_empty() {
        return Err(Error::bad_args("an event type has letters, digits and underscores: `hob_button`"));
    }
    if is_internal(&kind) {
        return Err(Error::denied(format!("`{kind}` is an event of Home Assistant itself: choose another type")));
    }
    if !settings.access.events.fit(&kind) {
        return Err(Error::denied(format!(
            "Hob may not fire `{kind}`: begin with `hob_`, or let an admin allow it in the Config Center, home_assistant"
        )));
    }
    let data = checked_data("event", &kind, &ServiceFields::default(), data.unwrap_or_default())?;
    ha.client.rest("POST", &format!("events/{kind}"), Some(&Value::Object(data))).await?;
    Ok(Output::json(json!({"fired": kind}))?.say(format!("{kind} was fired.")))
}

/// Tell Home Assistant's own assistant a sentence, and get its answer. It can do whatever Home Assistant shows to it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Converse {
    /// The sentence.
    #[schemars(length(min = 1, max = 500))]
    text: String,
    /// Its language, such as `en`.
    #[schemars(length(max = 10))]
    language: Option<String>,
    /// To continue a conversation: the id of the answer before.
    #[schemars(length(max = 100))]
    conversation_id: Option<String>,
}

pub(super) async fn converse(ha: Ha, _: Cx, args: Converse) -> Result<Output> {
    ha.client.ready()?;
    let mut body = json!({"text": args.text});
    if let Some(language) = args.language {
        body["language"] = language.into();
    }
    if let Some(id) = args.conversation_id {
        body["conversation_id"] = id.into();
    }
    let answer = ha.client.rest("POST", "conversation/process", Some(&body)).await?;
    let response = &answer["response"];
    let speech = response["speech"]["plain"]["speech"].as_str().unwrap_or_default();
    let speech = text_kit::truncate(speech, 2000);
    let content = json!({
        "answer": speech,
        "type": response["response_type"].as_str().filter(|kind| is_word(kind)),
        "conversation_id": answer["conversation_id"].as_str().map(|id| text_kit::truncate(id, 100)),
    });
    Ok(Output::json(content)?.say(speech).from_outside())
}
