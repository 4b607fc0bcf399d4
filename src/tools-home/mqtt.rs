//! MQTT: messages, and things behind topics.

mod announced;
mod entity;
mod home;
mod plan;
mod record;
mod settings;
mod template;
#[cfg(test)]
mod tests;

pub use home::{MqttHome, object_id};
pub use settings::{MqttSettings, mqtt_service};

use mqtt::{Message, Phase, Qos, is_filter, matches};
use record::AddThing;
use records::{publish_change, truncate};
use std::time::{Duration, Instant};
use store::{Audience, Listing, Stamp};
use text_kit::listing;
use tool::{Scope, prelude::*};

/// How long the broker may take to confirm a message.
const CONFIRM: Duration = Duration::from_secs(5);
/// How long a look waits: for retained messages, which come at once, and at most.
const LOOK: f64 = 1.0;
const LONGEST_LOOK: f64 = 30.0;
/// The longest payload that is shown.
const SHOWN: usize = 4000;
/// The most MQTT things that people describe.
const THINGS: usize = 500;

/// The tools of MQTT.
pub fn family(home: MqttHome) -> Family<MqttHome> {
    Family::new("mqtt", "The MQTT broker of this home: messages and devices.", home)
        .title("MQTT")
        .category("Home")
        .area(Area::Home)
        .services(&["mqtt"])
        .tool("mqtt_publish", Risk::Actuate, publish)
        .opens_where(|home, args| home.opens(text(args, "topic"), text(args, "payload")))
        .tags("mqtt send message topic broker zigbee tasmota esphome device")
        .example(json!({"topic": "cmnd/plug/POWER", "payload": "ON"}))
        .tool("mqtt_read", Risk::Observe, read)
        .page((20, 100))
        .tags("mqtt message topic broker value retained subscribe sensor")
        .example(json!({"topic": "zigbee2mqtt/+"}))
        .tool("mqtt_status", Risk::Observe, status)
        .tags("mqtt broker connection connected")
        .tool("add_mqtt_thing", Risk::Write, add)
        .persists_instructions()
        .tags("mqtt new device lamp plug sensor tasmota esphome create")
        .example(json!({"name": "Desk lamp", "kind": "light", "commandTopic": "cmnd/desk/POWER", "stateTopic": "stat/desk/POWER"}))
        .tool("delete_mqtt_thing", Risk::Destroy, delete)
        .tags("mqtt remove device forget")
}

fn text<'a>(args: &'a Value, key: &str) -> &'a str {
    args.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Publish a message to a topic of the MQTT broker, such as a command for a device.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Publish {
    /// The topic, such as cmnd/plug/POWER.
    #[schemars(length(min = 1, max = 256))]
    topic: String,
    /// The payload: text or JSON.
    payload: String,
    /// Whether the broker gives it to those who subscribe later.
    #[serde(default)]
    retain: bool,
    /// 0: sent once; 1: confirmed by the broker (default).
    #[schemars(range(max = 1))]
    qos: Option<u8>,
}

async fn publish(home: MqttHome, _: Cx, args: Publish) -> Result<Output> {
    if let Some(settings) = home.settings() {
        may_publish(&settings, &args.topic)?;
    }
    let qos = if args.qos == Some(0) { Qos::AtMostOnce } else { Qos::AtLeastOnce };
    let message = Message { topic: args.topic.clone(), payload: args.payload.into(), qos, retain: args.retain };
    home.client().publish_now(message, CONFIRM).await?;
    Ok(Output::json(json!({"topic": args.topic, "published": true}))?
        .say(format!("Sent to {}.", truncate(&args.topic, 80))))
}

fn may_publish(settings: &MqttSettings, topic: &str) -> Result<()> {
    let own = [settings.config.base.as_str(), settings.discovery.as_str()];
    let reserved =
        own.iter().any(|at| topic.strip_prefix(at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    if topic.starts_with('$') || reserved {
        return Err(Error::denied(format!(
            "`{}` is reserved for the broker, Home Assistant's discovery or this Hob: publish to a topic of the device",
            truncate(topic, 80)
        )));
    }
    match settings.allowed.is_empty() || settings.allowed.iter().any(|filter| matches(filter, topic)) {
        true => Ok(()),
        false => Err(Error::denied(format!(
            "`{}` is not among the topics that tools may publish to: an admin can add it in the service `mqtt`",
            truncate(topic, 80)
        ))),
    }
}

/// Read the latest message of an MQTT topic, or of all topics that a filter covers.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Read {
    /// A topic, or a filter: `+` is any one level, `#` at the end all others.
    #[schemars(length(min = 1, max = 256))]
    topic: String,
    /// How many seconds to wait for a message (default: 1, max: 30).
    #[schemars(range(min = 0, max = 30))]
    wait_seconds: Option<f64>,
    limit: Option<u32>,
}

async fn read(home: MqttHome, _: Cx, args: Read) -> Result<Output> {
    if !is_filter(&args.topic) {
        return Err(Error::bad_args(
            "`topic` is not a topic: write it as `home/lamp/state`, `home/+/state` or `home/#`",
        ));
    }
    let client = home.client();
    let status = client.status();
    if status.state != Phase::Connected {
        let why = if status.why.is_empty() { "it is being connected" } else { &status.why };
        return Err(match status.state {
            Phase::Off => Error::unavailable("no MQTT broker is set up: set up the service `mqtt`")
                .say("No MQTT broker is set up yet."),
            _ => Error::unavailable(format!("the MQTT broker is not connected: {why}")),
        });
    }
    // The broker sends what it has retained, once it knows the subscription.
    let limit = args.limit.unwrap_or(20).clamp(1, 100) as usize;
    let _subscription = client.subscribe(&args.topic)?;
    let wait = args.wait_seconds.filter(|s| s.is_finite()).unwrap_or(LOOK).clamp(0.0, LONGEST_LOOK);
    let until = Instant::now() + Duration::from_secs_f64(wait);
    let one = mqtt::is_topic(&args.topic);
    let found = loop {
        let arrival = client.arrival();
        let found = client.latest(&args.topic, limit);
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || (one && !found.is_empty()) || found.len() >= limit {
            break found;
        }
        let _ = tokio::time::timeout(left, arrival).await;
    };
    let shown: Vec<Value> = found
        .iter()
        .map(|m| {
            let payload = truncate(&m.text(), SHOWN);
            json!({"topic": *m.topic, "payload": payload, "retained": m.retain, "secondsAgo": m.at.elapsed().as_secs()})
        })
        .collect();
    let sentence = match found.as_slice() {
        [] => format!("Nothing arrived at {}.", truncate(&args.topic, 80)),
        [one] => format!("{}: {}", truncate(&one.topic, 80), truncate(&one.text(), 200)),
        many => listing("Messages at", &many.iter().map(|m| truncate(&m.topic, 80)).collect::<Vec<_>>(), false),
    };
    let output = Output::json(json!({"count": shown.len(), "messages": shown}))?.say(sentence);
    // Other programs wrote them.
    Ok(if found.is_empty() { output } else { output.from_outside() })
}

/// Get the state of the connection to the MQTT broker.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct StatusOf {}

async fn status(home: MqttHome, _: Cx, _: StatusOf) -> Result<Output> {
    let status = home.client().status();
    let sentence = match status.state {
        Phase::Off => "No MQTT broker is set up.".to_owned(),
        Phase::Connected => format!("The MQTT broker {} is connected.", status.broker),
        Phase::Connecting if status.why.is_empty() => format!("The MQTT broker {} is being connected.", status.broker),
        _ => format!("The MQTT broker {} is not connected: {}.", status.broker, status.why),
    };
    let (announced, refused) = home.announced();
    let mut shown = serde_json::to_value(&status).unwrap_or_default();
    shown["announcedThings"] = announced.into();
    if refused > 0 {
        shown["announcedThingsLeftOut"] = refused.into();
    }
    if let Some(settings) = home.settings() {
        shown["baseTopic"] = settings.config.base.clone().into();
    }
    Ok(Output::json(shown)?.say(sentence))
}

async fn add(home: MqttHome, cx: Cx, args: AddThing) -> Result<Output> {
    let thing = args.record()?;
    let records = home.records();
    let all = records.list_in(Scope::Household, &Listing::default())?;
    if all.len() >= THINGS {
        return Err(Error::bad_args(format!("there are {THINGS} MQTT things, the maximum: delete one first")));
    }
    let key = thing.key();
    if let Some(other) = all.iter().find(|other| other.value.key() == key) {
        return Err(Error::bad_args(format!(
            "there is an MQTT thing {} already: choose another name",
            other.value.name
        )));
    }
    let (collection, stamp) =
        (records.clone(), Stamp { audience: Audience::Household, ..records.stamp(&cx, "add_mqtt_thing") });
    let stored = records.store().write(move |tx| collection.put(tx, Id::new(), &stamp, &thing)).await?;
    home.load();
    publish_change(&cx, &stored, "changed");
    let thing = &stored.value;
    let content = json!({"thing": format!("mqtt:{key}"), "name": thing.name, "kind": thing.kind.0, "area": thing.area});
    Ok(Output::json(content)?.say(format!("{} is added.", thing.name)))
}

/// Delete a thing that was added with add_mqtt_thing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteThing {
    /// Its name, or its address such as mqtt:own-desk_lamp.
    thing: String,
}

async fn delete(home: MqttHome, cx: Cx, args: DeleteThing) -> Result<Output> {
    let records = home.records();
    let wanted = args.thing.trim();
    let all = records.list_in(Scope::Household, &Listing::default())?;
    let by_address = wanted.strip_prefix("mqtt:").and_then(|key| all.iter().find(|entry| entry.value.key() == key));
    let found = by_address.or_else(|| all.iter().find(|entry| records::same_text(&entry.value.name, wanted)));
    let Some(entry) = found else {
        let known: Vec<&str> = all.iter().take(20).map(|entry| entry.value.name.as_str()).collect();
        let known =
            if known.is_empty() { "none was added".to_owned() } else { format!("there are {}", known.join(", ")) };
        return Err(Error::not_found(format!("there is no MQTT thing `{}`: {known}", truncate(wanted, 60))));
    };
    let (collection, id) = (records.clone(), entry.id);
    records.store().write(move |tx| collection.remove(tx, Scope::Household, id)).await?;
    home.load();
    publish_change(&cx, entry, "deleted");
    let name = &entry.value.name;
    Ok(Output::json(json!({"deleted": name}))?.say(format!("{name} is deleted.")))
}
