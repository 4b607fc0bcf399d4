//! A scripted Home Assistant for tests: a WebSocket server on loopback that behaves, or misbehaves, connection by connection.

use futures::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{broadcast, mpsc},
    task::AbortHandle,
};
use tokio_tungstenite::{WebSocketStream, accept_async, tungstenite::Message};

/// The behaviour of a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Answers like Home Assistant.
    Good,
    /// Refuses the token.
    Refuse,
    /// Answers until the entities are sent, and never again.
    GoesSilent,
    /// Never answers the first message.
    Mute,
    /// Sends this after signing in.
    Sends(String),
    /// Closes after the entities, and then the lamp is turned on and the lock is removed.
    Closes,
}

pub(crate) struct Fake {
    pub url: String,
    pub accepted: Arc<AtomicUsize>,
    pub entities: Arc<Mutex<Value>>,
    /// Sends a text to each connection.
    pub push: broadcast::Sender<String>,
    /// The commands that arrive.
    pub commands: mpsc::UnboundedReceiver<Value>,
    task: AbortHandle,
}

impl Fake {
    pub async fn start(acts: Vec<Act>) -> Self {
        Self::start_at("127.0.0.1:0", acts).await
    }

    pub async fn start_at(address: &str, acts: Vec<Act>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (push, _) = broadcast::channel(100_000);
        let (told, commands) = mpsc::unbounded_channel();
        let accepted = Arc::new(AtomicUsize::new(0));
        let entities = Arc::new(Mutex::new(json!({
            "light.hall": {"s": "off", "a": {"friendly_name": "Hall lamp", "supported_color_modes": ["brightness"]}, "c": "x", "lc": 1.0},
            "sensor.outside": {"s": "5.5", "a": {"unit_of_measurement": "°C"}, "c": "x", "lc": 1.0, "lu": 2.0},
            "lock.door": {"s": "locked", "a": {}, "lc": 1.0},
        })));
        let (count, home, pushed) = (accepted.clone(), entities.clone(), push.clone());
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let n = count.fetch_add(1, Ordering::SeqCst);
                let act = acts.get(n).or(acts.last()).cloned().unwrap();
                let (home, pushed, told) = (home.clone(), pushed.subscribe(), told.clone());
                tokio::spawn(talk(socket, act, home, pushed, told));
            }
        });
        Self { url, accepted, entities, push, commands, task: task.abort_handle() }
    }

    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }

    /// Sends an event of the subscription to entities, which is number 3.
    pub fn event(&self, event: Value) {
        self.push.send(json!({"id": 3, "type": "event", "event": event}).to_string()).unwrap();
    }

    /// Waits for a command of this type, and returns it.
    pub async fn command(&mut self, kind: &str) -> Value {
        loop {
            let command = self.commands.recv().await.unwrap();
            if command["type"] == kind {
                return command;
            }
        }
    }
}

impl Drop for Fake {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn talk(
    socket: TcpStream,
    act: Act,
    home: Arc<Mutex<Value>>,
    mut pushed: broadcast::Receiver<String>,
    told: mpsc::UnboundedSender<Value>,
) {
    let Ok(mut ws) = accept_async(socket).await else { return };
    if matches!(act, Act::Mute) {
        return std::future::pending().await;
    }
    say(&mut ws, json!({"type": "auth_required", "ha_version": "2024.12.5"})).await;
    while let Some(Ok(Message::Text(text))) = ws.next().await {
        let auth: Value = serde_json::from_str(&text).unwrap();
        if auth["type"] == "auth" {
            assert_eq!(auth["access_token"], "t0ken");
            break;
        }
    }
    if matches!(act, Act::Refuse) {
        say(&mut ws, json!({"type": "auth_invalid", "message": "Invalid access token or password"})).await;
        return;
    }
    say(&mut ws, json!({"type": "auth_ok", "ha_version": "2024.12.5"})).await;
    if let Act::Sends(text) = act {
        let _ = ws.send(Message::text(text)).await;
        return std::future::pending().await;
    }
    loop {
        tokio::select! {
            message = ws.next() => {
                let Some(Ok(message)) = message else { return };
                let Message::Text(text) = message else { continue };
                let command: Value = serde_json::from_str(&text).unwrap();
                let _ = told.send(command.clone());
                answer(&mut ws, &command, &home).await;
                if command["type"] == "subscribe_entities" {
                    match act {
                        Act::GoesSilent => return std::future::pending().await,
                        Act::Closes => {
                            {
                                let mut home = home.lock().unwrap();
                                home["light.hall"]["s"] = "on".into();
                                home.as_object_mut().unwrap().remove("lock.door");
                            }
                            let _ = ws.close(None).await;
                            // Read the rest of the input: otherwise the system discards the output too.
                            while let Some(Ok(_)) = ws.next().await {}
                            return;
                        }
                        _ => {}
                    }
                }
            }
            text = pushed.recv() => drop(ws.send(Message::text(text.unwrap())).await),
        }
    }
}

async fn say(ws: &mut WebSocketStream<TcpStream>, message: Value) {
    let _ = ws.send(Message::text(message.to_string())).await;
}

async fn answer(ws: &mut WebSocketStream<TcpStream>, command: &Value, home: &Mutex<Value>) {
    let id = &command["id"];
    let result = match command["type"].as_str().unwrap() {
        "ping" => return say(ws, json!({"id": id, "type": "pong"})).await,
        "get_config" => {
            json!({"location_name": "Home", "version": "2024.12.5", "unit_system": {"temperature": "°C"}, "state": "RUNNING"})
        }
        "config/floor_registry/list" => {
            json!([{"floor_id": "g", "name": "Ground floor", "aliases": ["downstairs"], "level": 0}])
        }
        "config/area_registry/list" => json!([
            {"area_id": "hall", "name": "Hall", "aliases": ["hallway"], "floor_id": "g", "picture": null},
            {"area_id": "attic", "name": "Attic", "aliases": [], "floor_id": null},
        ]),
        "config/device_registry/list" => json!([{"id": "d1", "area_id": "hall", "name": "Bulb", "name_by_user": null}]),
        "config/entity_registry/list" => json!([
            {"entity_id": "light.hall", "area_id": null, "device_id": "d1", "hidden_by": null, "disabled_by": null, "entity_category": null},
            {"entity_id": "lock.door", "area_id": "attic", "device_id": null, "hidden_by": null, "disabled_by": null, "entity_category": null},
            {"entity_id": "sensor.outside", "area_id": null, "device_id": null, "hidden_by": null, "disabled_by": null, "entity_category": "diagnostic"},
        ]),
        "config/entity_registry/get_entries" => {
            json!({"light.hall": {"entity_id": "light.hall", "aliases": ["big lamp"]}, "lock.door": null})
        }
        "get_services" => json!({"light": {"turn_on": {"name": "Turn on", "fields": {
            "brightness": {"required": false},
            "advanced_fields": {"collapsed": true, "fields": {"effect": {}}},
        }, "target": {"entity": [{}]}}}}),
        "script/config" => json!({"config": {"sequence": [{"action": "lock.unlock"}]}}),
        _ => Value::Null,
    };
    say(ws, json!({"id": id, "type": "result", "success": true, "result": result})).await;
    if command["type"] == "subscribe_entities" {
        let all = home.lock().unwrap().clone();
        say(ws, json!({"id": id, "type": "event", "event": {"a": all}})).await;
    }
}
