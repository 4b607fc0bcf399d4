//! The tools without a broker, and announced devices as things.

use super::*;
use ::mqtt::Incoming;
use std::sync::Arc;
use store::Store;
use things::{Command, Source, Verb};
use tool::{Channel, Cx, Ports, Principal, Settings, SystemClock, Via};

struct OneBroker(Value);

impl Settings for OneBroker {
    fn entries(&self, service: &str) -> Vec<(String, serde_json::Map<String, Value>)> {
        let entry = self.0.as_object().filter(|_| service == "mqtt").cloned();
        entry.into_iter().map(|entry| ("default".to_owned(), entry)).collect()
    }
}

fn home(entry: Value) -> MqttHome {
    let clock = Arc::new(SystemClock::new(None).unwrap());
    let ports = Ports { settings: Arc::new(OneBroker(entry)), ..Ports::unconnected(clock) };
    let home = MqttHome::new(&Store::in_memory().unwrap(), ports);
    home.refresh("Kitchen");
    home
}

async fn call(home: &MqttHome, tool: &str, args: Value) -> Result<Output> {
    let tools = family(home.clone()).into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == tool).unwrap();
    (tool.run)(Cx::root(home.ports().clone(), Principal::owner(), Via::direct(Channel::Api)), args).await
}

fn deliver(home: &MqttHome, topic: &str, payload: &str) {
    home.deliver(&Incoming {
        topic: topic.into(),
        payload: payload.to_owned().into(),
        retain: true,
        at: Instant::now(),
    });
}

fn names(home: &MqttHome) -> Vec<String> {
    home.things().iter().map(|thing| thing.name.clone()).collect()
}

#[tokio::test]
async fn a_thing_is_added_commanded_and_deleted() {
    let home = home(json!({"host": "127.0.0.1", "port": 1}));
    let lamp = json!({"name": "Desk lamp", "kind": "light", "area": "Study", "commandTopic": "cmnd/d/POWER", "stateTopic": "stat/d/RESULT",
                      "valuePath": "POWER", "levelTopic": "cmnd/d/Dimmer"});
    let added = call(&home, "add_mqtt_thing", lamp.clone()).await.unwrap();
    assert_eq!(
        (added.content["thing"].as_str(), added.say.as_deref()),
        (Some("mqtt:own-desk_lamp"), Some("Desk lamp is added."))
    );
    let again =
        call(&home, "add_mqtt_thing", json!({"name": "desk LAMP", "kind": "switch", "commandTopic": "x"})).await;
    assert!(matches!(again, Err(Error::BadArgs(why)) if why.contains("already")));
    deliver(&home, "stat/d/RESULT", r#"{"POWER":"ON"}"#);
    let thing = home.things()[0].clone();
    assert_eq!((&*thing.area, &*thing.state.value, thing.state.active), ("Study", "on", Some(true)));
    let planned = home.plan(&thing, &Command { level: Some(30), ..Command::new(Verb::SetLevel) }).unwrap();
    assert_eq!((planned.tool, planned.args), ("mqtt_publish", json!({"topic": "cmnd/d/Dimmer", "payload": "30"})));
    home.load();
    assert_eq!(home.things()[0].state.value, "on", "reading the things again keeps their states");
    let missing = call(&home, "delete_mqtt_thing", json!({"thing": "Lamp"})).await;
    assert!(matches!(missing, Err(Error::NotFound(why)) if why.contains("Desk lamp")));
    call(&home, "delete_mqtt_thing", json!({"thing": "mqtt:own-desk_lamp"})).await.unwrap();
    assert!(home.things().is_empty());
}

#[tokio::test]
async fn an_earlier_installation_of_this_hob_leaves_no_things() {
    let home = home(json!({"host": "127.0.0.1", "port": 1}));
    let hob = |name: &str, id: &str| {
        json!({"dev": {"ids": [id], "name": name}, "o": {"name": "Hob"}, "avty_t": format!("hob/{id}/status"),
               "cmps": {"pin_17": {"p": "light", "name": "Lamp", "uniq_id": format!("{id}_pin_17"),
                                   "stat_t": format!("hob/{id}/pin/17/state"), "cmd_t": format!("hob/{id}/pin/17/set")}}})
    };
    deliver(&home, "homeassistant/device/hob_old/config", &hob("Kitchen", "hob_old").to_string());
    deliver(&home, "homeassistant/device/hob_attic/config", &hob("Attic", "hob_attic").to_string());
    assert_eq!(names(&home), ["Attic Lamp"]);
    // Another Hob of that name, which is there, has things.
    home.index_now();
    deliver(&home, "hob/hob_old/status", "online");
    assert_eq!(names(&home), ["Attic Lamp", "Kitchen Lamp"]);
    deliver(&home, "hob/hob_old/status", "offline");
    assert_eq!(names(&home), ["Attic Lamp"]);
}

#[tokio::test]
async fn bad_things_are_refused_with_a_reason() {
    let home = home(json!({"host": "127.0.0.1", "port": 1}));
    for (args, why) in [
        (json!({"name": "A", "kind": "switch"}), "commandTopic"),
        (json!({"name": "A", "kind": "sensor"}), "stateTopic"),
        (json!({"name": "A", "kind": "sensor", "stateTopic": "a", "commandTopic": "b"}), "only read"),
        (json!({"name": "A", "kind": "media", "commandTopic": "a"}), "kind"),
        (json!({"name": "A", "kind": "switch", "commandTopic": "a/#"}), "not a topic"),
        (json!({"name": "A", "kind": "switch", "commandTopic": "a", "valuePath": "a..b"}), "path"),
        (json!({"name": " ", "kind": "switch", "commandTopic": "a"}), "name"),
        (json!({"name": "A", "kind": "switch", "commandTopic": "a", "area": "x\ny"}), "area"),
    ] {
        let error = call(&home, "add_mqtt_thing", args.clone()).await.unwrap_err();
        assert!(matches!(&error, Error::BadArgs(said) if said.contains(why)), "{args}: {error}");
    }
    assert!(home.things().is_empty());
}

#[tokio::test]
async fn topics_are_allowed_reserved_or_guarded() {
    let home = home(json!({"host": "127.0.0.1", "port": 1, "publish": "cmnd/#", "guarded": "cmnd/gate/#"}));
    for (topic, denied) in [
        ("cmnd/plug/POWER", false),
        ("other", true),
        ("$SYS/x", true),
        ("homeassistant/light/a/config", true),
        (&*format!("{}/pin/17/set", home.settings().unwrap().config.base), true),
    ] {
        let error = call(&home, "mqtt_publish", json!({"topic": topic, "payload": "1"})).await.unwrap_err();
        // Nothing listens at port 1, so an allowed topic is not available.
        assert_eq!(matches!(error, Error::Denied(_)), denied, "{topic}: {error}");
    }
    assert!(home.opens("cmnd/gate/set", "x") && !home.opens("cmnd/plug/set", "x"));
    let opens = family(home.clone()).into_parts().tools.remove(0).opens.unwrap();
    assert!(opens(&json!({"topic": "cmnd/gate/set", "payload": "ON"})));
    deliver(&home, "homeassistant/lock/front/config", r#"{"name":"Front","cmd_t":"l/set","stat_t":"l"}"#);
    assert!(home.opens("l/set", "UNLOCK") && !home.opens("l/set", "LOCK"));
}

#[tokio::test]
async fn announced_devices_come_change_and_go() {
    let mut home = home(json!({"host": "127.0.0.1", "port": 1}));
    let switch = |name: &str| json!({"name": name, "cmd_t": "s/set", "stat_t": "s", "uniq_id": "s1"}).to_string();
    deliver(&home, "homeassistant/switch/a/config", &switch("Pump"));
    deliver(&home, "homeassistant/switch/b/config", &switch("Impostor"));
    assert_eq!(names(&home), ["Pump"], "nobody takes the place of another");
    deliver(&home, "homeassistant/switch/a/config", &switch("Well pump"));
    assert_eq!(names(&home), ["Well pump"]);
    let own = format!("homeassistant/device/{}/config", object_id(home.device()));
    deliver(&home, &own, r#"{"cmps":{"a":{"p":"switch","cmd_t":"x"}}}"#);
    assert_eq!(names(&home), ["Well pump"], "Hob's own pins are not things behind MQTT");
    deliver(&home, "homeassistant/switch/a/config", "");
    assert!(home.things().is_empty());
    for n in 0..2100 {
        deliver(
            &home,
            &format!("homeassistant/switch/x{n}/config"),
            &json!({"name": "X", "cmd_t": "a", "uniq_id": n.to_string()}).to_string(),
        );
    }
    assert_eq!((home.things().len(), home.announced()), (2000, (2000, 100)));
    home = self::home(json!({"host": "127.0.0.1", "port": 1, "adopt": false}));
    deliver(&home, "homeassistant/switch/a/config", &switch("Pump"));
    assert!(home.things().is_empty());
}

#[tokio::test]
async fn without_a_broker_the_tools_say_so() {
    let home = home(Value::Null);
    for (tool, args) in [("mqtt_read", json!({"topic": "a"})), ("mqtt_publish", json!({"topic": "a", "payload": ""}))] {
        let error = call(&home, tool, args).await.unwrap_err();
        assert!(matches!(&error, Error::Unavailable(_)), "{error}");
        assert_eq!(error.said(), Some("No MQTT broker is set up yet."));
    }
    let status = call(&home, "mqtt_status", json!({})).await.unwrap();
    assert_eq!(
        (status.content["state"].as_str(), status.say.as_deref()),
        (Some("off"), Some("No MQTT broker is set up."))
    );
}
