//! The client against a scripted server.

use crate::{
    Access, Connection, HomeAssistant, Settings, Timing,
    fake::{Act, Fake},
};
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::{CancellationToken, DropGuard};
use tool::{Bus, BusEvent, Listener, Topics};

/// A failed test ends, however slow the machine is.
const LIMIT: Duration = Duration::from_secs(60);

fn quick() -> Timing {
    let ms = Duration::from_millis;
    Timing { first_retry: ms(10), last_retry: ms(40), settle: ms(10), ..Timing::default() }
}

fn settings(url: &str) -> Settings {
    Settings { url: url.into(), token: "t0ken".into(), access: Access::default(), fingerprint: None }
}

struct Client {
    ha: HomeAssistant,
    bus: Bus,
    _stop: DropGuard,
}

fn client(url: &str, timing: Timing) -> Client {
    let bus = Bus::default();
    let ha = HomeAssistant::with_timing(bus.clone(), timing);
    let closing = CancellationToken::new();
    tokio::spawn(ha.clone().run(closing.clone()));
    ha.configure(Some(Ok(settings(url))));
    Client { ha, bus, _stop: closing.drop_guard() }
}

impl Client {
    async fn until(&self, wanted: impl Fn(&Connection) -> bool) -> Connection {
        let mut states = self.ha.watch_connection();
        let state = tokio::time::timeout(LIMIT, states.wait_for(wanted)).await;
        state.expect("the state does not come").unwrap().clone()
    }
    async fn connected(&self) {
        self.until(|state| *state == Connection::Connected).await;
    }
    async fn lost(&self) -> String {
        let state = self.until(|state| matches!(state, Connection::Lost { .. })).await;
        state.why().unwrap().to_owned()
    }
    /// Waits until this holds; registries arrive by themselves.
    async fn holds(&self, what: impl Fn(&HomeAssistant) -> bool) {
        let wait = async {
            while !what(&self.ha) {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(LIMIT, wait).await.expect("it does not come to hold");
    }
    fn listen(&self, topics: &str) -> Listener {
        self.bus.listen_to(None, Topics::parse(topics).unwrap())
    }
}

async fn next(listener: &mut Listener) -> Value {
    match tokio::time::timeout(LIMIT, listener.next()).await.expect("no event comes") {
        Some(BusEvent::Event(event)) => event.data.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn entities_registries_and_services_are_received() {
    let fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    client.connected().await;
    client.holds(|ha| ha.entity("light.hall").is_some_and(|(_, details)| !details.aliases.is_empty())).await;
    let (lamp, details) = client.ha.entity("light.hall").unwrap();
    assert_eq!((lamp.state.as_str(), lamp.name().as_str(), lamp.domain()), ("off", "Hall lamp", "light"));
    assert_eq!(details.aliases, ["big lamp"]);
    let area = details.area.unwrap();
    assert_eq!((area.name.as_str(), area.floor.as_deref()), ("Hall", Some("Ground floor")));
    assert_eq!(
        (area.aliases.as_slice(), area.floor_aliases.as_slice()),
        (&["hallway".to_owned()][..], &["downstairs".to_owned()][..])
    );
    let (sensor, details) = client.ha.entity("sensor.outside").unwrap();
    assert_eq!(
        (sensor.changed, sensor.updated, details.secondary, sensor.name().as_str()),
        (1.0, 2.0, true, "Outside")
    );
    client.holds(|ha| ha.service("light", "turn_on").is_ok()).await;
    let service = client.ha.service("light", "turn_on").unwrap();
    assert_eq!(service.fields.iter().map(String::as_str).collect::<Vec<_>>(), ["brightness", "effect"]);
    assert!(client.ha.service("light", "explode").unwrap_err().message().contains("it has turn_on"));
    assert_eq!(client.ha.areas().len(), 2);
    assert_eq!(client.ha.facts().unit_system.temperature, "°C");
}

#[tokio::test]
async fn changes_are_applied_and_published() {
    let fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    client.connected().await;
    let mut listener = client.listen("ha:state");
    fake.event(
        json!({"c": {"light.hall": {"+": {"s": "on", "a": {"brightness": 255, "title": "two words"}, "lc": 9.0}}}}),
    );
    let expected = json!({"entity": "light.hall", "state": "on", "before": "off", "attributes": {"brightness": 255}});
    assert_eq!(next(&mut listener).await, expected);
    // Several messages in one frame; the removal of an attribute alone is no event.
    let joined = json!([
        {"id": 3, "type": "event", "event": {"c": {"light.hall": {"-": {"a": ["title"]}}}}},
        {"id": 3, "type": "event", "event": {"a": {"light.new": {"s": "on", "a": {}, "lc": 1.0}}, "r": ["lock.door"]}},
    ]);
    assert!(fake.push.send(joined.to_string()).is_ok());
    assert_eq!(next(&mut listener).await, json!({"entity": "light.new", "state": "on", "before": null}));
    assert_eq!(next(&mut listener).await, json!({"entity": "lock.door", "state": null, "before": "locked"}));
    assert!(client.ha.entity("lock.door").is_none());
    assert!(client.ha.entity("light.hall").unwrap().0.attributes.get("title").is_none());
}

#[tokio::test]
async fn what_may_not_be_read_is_neither_listed_nor_published() {
    let fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    let access = Access::parse("!lock", "", "", "");
    client.ha.configure(Some(Ok(Settings { access, ..settings(&fake.url) })));
    client.connected().await;
    let mut listener = client.listen("ha:state");
    fake.event(json!({"c": {"lock.door": {"+": {"s": "unlocked"}}}}));
    fake.event(json!({"c": {"light.hall": {"+": {"s": "on"}}}}));
    assert_eq!(next(&mut listener).await["entity"], "light.hall");
    assert!(client.ha.entity("lock.door").is_none() && client.ha.entities().len() == 2);
}

#[tokio::test]
async fn a_refused_token_is_not_tried_again() {
    let fake = Fake::start(vec![Act::Refuse, Act::Good]).await;
    let client = client(&fake.url, quick());
    let state = client.until(|state| matches!(state, Connection::TokenRefused { .. })).await;
    assert!(state.sentence().contains("Invalid access token or password"), "{}", state.sentence());
    assert!(client.ha.ready().err().unwrap().message().contains("enter a new one"));
    // The same again changes nothing; other settings are tried at once, and that is the second connection.
    client.ha.configure(Some(Ok(settings(&fake.url))));
    client.ha.configure(Some(Ok(Settings { access: Access::parse("*", "", "", ""), ..settings(&fake.url) })));
    client.ha.configure(Some(Ok(Settings { access: Access::parse("!x", "", "", ""), ..settings(&fake.url) })));
    client.connected().await;
    assert_eq!(fake.connections(), 2);
}

#[tokio::test]
async fn after_a_loss_everything_is_received_anew() {
    let fake = Fake::start(vec![Act::Closes, Act::Good]).await;
    let client = client(&fake.url, quick());
    let mut listener = client.listen("ha:state");
    for _ in 0..3 {
        next(&mut listener).await;
    }
    let changes = [next(&mut listener).await, next(&mut listener).await];
    assert_eq!(changes[0], json!({"entity": "lock.door", "state": null, "before": "locked"}));
    assert_eq!(changes[1], json!({"entity": "light.hall", "state": "on", "before": "off"}));
}

#[tokio::test]
async fn a_connection_that_is_only_half_open_is_noticed() {
    let ms = Duration::from_millis;
    let fake = Fake::start(vec![Act::GoesSilent, Act::Good]).await;
    let client = client(&fake.url, Timing { ping: ms(30), answer: ms(500), ..quick() });
    let mut states = client.listen("ha:connection");
    let mut seen = vec![];
    while seen.last().is_none_or(|state: &Value| state["state"] != "connected") {
        seen.push(next(&mut states).await);
    }
    let lost = seen.iter().find(|state| state["state"] == "lost").unwrap();
    assert_eq!(lost["why"], "it stopped answering");
    assert!(fake.connections() >= 2);
}

#[tokio::test]
async fn what_is_no_home_assistant_is_left_and_tried_again() {
    let deep = format!("{}1{}", "[".repeat(5000), "]".repeat(5000));
    let event = json!({"id": 3, "type": "event", "event": {"a": 5}}).to_string();
    for (text, why) in [
        ("hello".to_owned(), "something that is not a message"),
        ("{\"type\": 5}".to_owned(), "something that is not a message"),
        (deep, "something that is not a message"),
        (event, "something that is not a message"),
        ("x".repeat(super_size()), "a message larger than 24 MB"),
    ] {
        let fake = Fake::start(vec![Act::Sends(text), Act::Good]).await;
        let client = client(&fake.url, Timing { first_retry: Duration::from_millis(300), ..quick() });
        let said = client.lost().await;
        assert!(said.contains(why), "{said}");
        client.connected().await;
        assert_eq!(fake.connections(), 2);
    }
}

fn super_size() -> usize {
    (24 << 20) + 1
}

#[tokio::test]
async fn a_server_that_says_nothing_is_left() {
    let ms = Duration::from_millis;
    let fake = Fake::start(vec![Act::Mute]).await;
    let mute = client(&fake.url, Timing { answer: ms(50), ..quick() });
    assert_eq!(mute.lost().await, "it did not answer");
    let page = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", page.local_addr().unwrap());
    tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        while let Ok((mut socket, _)) = page.accept().await {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi").await;
        }
    });
    let other = client(&url, quick());
    assert!(other.lost().await.contains("it answered 200 where a WebSocket was expected"));
}

#[tokio::test]
async fn a_home_that_is_away_is_found_once_it_is_back() {
    let fake = Fake::start(vec![Act::Good]).await;
    let address = fake.url.trim_start_matches("http://").to_owned();
    drop(fake);
    let client = client(&format!("http://{address}"), quick());
    assert!(client.lost().await.contains("cannot be reached"));
    let _back = Fake::start_at(&address, vec![Act::Good]).await;
    client.connected().await;
}

#[tokio::test]
async fn events_are_subscribed_to_while_somebody_waits_for_them() {
    let mut fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    client.connected().await;
    let mut listener = client.listen("ha:event");
    client.ha.want_events("rules", ["zha_event".to_owned(), "*".to_owned(), "state_changed".to_owned(), String::new()]);
    let id = loop {
        let command = fake.command("subscribe_events").await;
        if command["event_type"] == "zha_event" {
            break command["id"].clone();
        }
    };
    let event = |data: Value| {
        json!({"id": id, "type": "event", "event": {"event_type": "zha_event", "data": data}}).to_string()
    };
    fake.push.send(event(json!({"command": "on"}))).unwrap();
    assert_eq!(next(&mut listener).await, json!({"type": "zha_event", "data": {"command": "on"}}));
    fake.push.send(event(json!({"long": "x".repeat(9000)}))).unwrap();
    assert_eq!(next(&mut listener).await, json!({"type": "zha_event", "data": null}));
    client.ha.want_events("rules", []);
    assert_eq!(fake.command("unsubscribe_events").await["subscription"], id);
    client.ha.want_events("rules", (0..200).map(|n| format!("type_{n}")));
    assert_eq!(client.ha.wanted_events().len(), 50);
}

#[tokio::test]
async fn changed_registries_are_read_again() {
    let mut fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    client.connected().await;
    let mut ids = std::collections::HashMap::new();
    while !ids.contains_key("entity_registry_updated") {
        let command = fake.command("subscribe_events").await;
        ids.insert(command["event_type"].as_str().unwrap().to_owned(), command["id"].clone());
    }
    fake.command("config/entity_registry/list").await;
    for _ in 0..50 {
        let event = json!({"event_type": "entity_registry_updated", "data": {}});
        fake.push
            .send(json!({"id": ids["entity_registry_updated"], "type": "event", "event": event}).to_string())
            .unwrap();
    }
    fake.command("config/entity_registry/list").await;
}

#[tokio::test]
async fn scripts_that_open_a_door_are_known() {
    let fake = Fake::start(vec![Act::Good]).await;
    fake.entities.lock().unwrap()["script.let_me_in"] = json!({"s": "off", "a": {}, "lc": 1.0});
    fake.entities.lock().unwrap()["scene.reading"] = json!({"s": "off", "a": {"entity_id": ["light.hall"]}, "lc": 1.0});
    fake.entities.lock().unwrap()["scene.guests"] = json!({"s": "off", "a": {"entity_id": ["lock.door"]}, "lc": 1.0});
    fake.entities.lock().unwrap()["cover.garage"] = json!({"s": "closed", "a": {"device_class": "garage"}, "lc": 1.0});
    fake.entities.lock().unwrap()["cover.blind"] = json!({"s": "closed", "a": {"device_class": "blind"}, "lc": 1.0});
    // Groups do what their members do, also groups of groups that contain one another.
    for (id, members) in [
        ("cover.blinds", json!(["cover.blind", "cover.blinds"])),
        ("cover.all", json!(["cover.blinds", "cover.garage"])),
        ("switch.all", json!(["switch.gate_opener"])),
        ("scene.arrival", json!(["light.hall", "cover.all"])),
        ("scene.large", (0..2000).map(|n| format!("light.of_a_large_house_{n}")).collect()),
    ] {
        fake.entities.lock().unwrap()[id] = json!({"s": "off", "a": {"entity_id": members}, "lc": 1.0});
    }
    fake.entities.lock().unwrap()["switch.gate_opener"] = json!({"s": "off", "a": {}, "lc": 1.0});
    let client = client(&fake.url, quick());
    client.connected().await;
    for (domain, service, entity, opens) in [
        ("cover", "open_cover", "cover.blinds", false),
        ("cover", "open_cover", "cover.all", true),
        ("cover", "close_cover", "cover.all", false),
        ("switch", "turn_on", "switch.all", true),
        ("switch", "turn_off", "switch.all", false),
        ("scene", "turn_on", "scene.arrival", true),
        ("scene", "turn_on", "scene.large", true),
        ("light", "turn_on", "light.hall", false),
        ("lock", "lock", "lock.door", false),
        ("lock", "unlock", "lock.door", true),
        ("script", "let_me_in", "", true),
        ("script", "turn_on", "script.let_me_in", true),
        ("script", "turn_on", "script.not_known", true),
        ("script", "turn_off", "script.let_me_in", false),
        ("scene", "turn_on", "scene.reading", false),
        ("scene", "turn_on", "scene.guests", true),
        ("cover", "open_cover", "cover.garage", true),
        ("cover", "close_cover", "cover.garage", false),
        ("cover", "open_cover", "cover.blind", false),
        ("cover", "open_cover", "cover.not_known", true),
        ("cover", "set_cover_position", "", true),
        ("alarm_control_panel", "alarm_disarm", "alarm_control_panel.x", true),
        ("homeassistant", "turn_on", "light.hall", true),
    ] {
        let entities: Vec<&str> = Some(entity).filter(|e| !e.is_empty()).into_iter().collect();
        assert_eq!(client.ha.call_opens(domain, service, &entities), opens, "{domain}.{service} {entity}");
    }
}

/// 5,000 entities and 20,000 changes, with a listener that does not keep up.
#[tokio::test]
async fn a_large_home_that_changes_all_the_time_is_followed() {
    let fake = Fake::start(vec![Act::Good]).await;
    let all: serde_json::Map<String, Value> = (0..5000)
        .map(|n| {
            (
                format!("sensor.s{n}"),
                json!({"s": "0", "a": {"unit_of_measurement": "W", "friendly_name": format!("Sensor {n}")}, "lc": 1.0}),
            )
        })
        .collect();
    *fake.entities.lock().unwrap() = Value::Object(all);
    let client = client(&fake.url, quick());
    let _slow = client.listen("ha:state");
    let changed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = changed.clone();
    client.connected().await;
    client.ha.on_change(move |_| {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    for n in 1..=20_000 {
        fake.event(json!({"c": {format!("sensor.s{}", n % 5000): {"+": {"s": n.to_string(), "lc": f64::from(n)}}}}));
    }
    client.holds(|ha| ha.entity("sensor.s0").is_some_and(|(sensor, _)| sensor.state == "20000")).await;
    assert_eq!(client.ha.entities().len(), 5000);
    assert_eq!(changed.load(std::sync::atomic::Ordering::Relaxed), 20_000);
    assert_eq!(client.ha.entity("sensor.s4999").unwrap().0.state, "19999");
}

#[tokio::test]
async fn settings_that_are_removed_end_the_connection() {
    let fake = Fake::start(vec![Act::Good]).await;
    let client = client(&fake.url, quick());
    client.connected().await;
    client.ha.configure(None);
    assert_eq!(client.ha.connection(), Connection::Off);
    assert!(client.ha.entities().is_empty() && client.ha.version() > 0);
    client.ha.configure(Some(Err(tool::Error::bad_args("no address"))));
    assert!(client.ha.connection().sentence().contains("no address"));
    client.ha.configure(Some(Ok(settings(&fake.url))));
    client.connected().await;
    assert_eq!(fake.connections(), 2);
}
