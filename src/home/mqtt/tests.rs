//! The door at a broker that forgets everything with each connection.

use super::*;
use serde_json::Map;
use std::sync::Mutex;
use store::Store;
use things::{Address, Command, Kind, PlannedCall, Source, State, Verb};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore, mpsc},
};
use tool::{Dispatch, Output, Ports, Settings, SystemClock, ToolInfo};

const PATIENCE: Duration = Duration::from_secs(20);

struct OneBroker(Value);

impl Settings for OneBroker {
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
        let entry = self.0.as_object().filter(|_| service == "mqtt").cloned();
        entry.into_iter().map(|entry| ("default".to_owned(), entry)).collect()
    }
}

struct Lamp;

impl Source for Lamp {
    fn id(&self) -> &'static str {
        "pin"
    }
    fn things(&self) -> Arc<[Thing]> {
        let lamp = Thing {
            address: Address::new("pin", 17),
            name: "Hall lamp".into(),
            aliases: vec![],
            area: String::new(),
            kind: Kind::Light,
            verbs: vec![Verb::TurnOn, Verb::TurnOff],
            state: State { value: "on".into(), active: Some(true), ..State::default() },
            guarded: false,
            class: String::new(),
        };
        [lamp].into()
    }
    fn plan(&self, _: &Thing, _: &Command) -> tool::Result<PlannedCall> {
        Err(Error::bad_args("not here"))
    }
}

/// The rule tools: one rule of the household, and one that only the owner sees.
#[derive(Default)]
struct RuleTools {
    /// Whether the next list waits until it may go on.
    holds: Mutex<bool>,
    held: Notify,
    may_go_on: Notify,
    runs: Mutex<Vec<String>>,
}

const SHARED: &str = "01a219a7-69e5-7000-9d90-7bad2cb79742";
const PRIVATE: &str = "01a219a7-69e5-7000-9d90-7bad2cb79743";

struct Tools(Arc<RuleTools>);

impl Dispatch for Tools {
    fn call(&self, cx: Cx, name: &str, args: Value) -> futures::future::BoxFuture<'static, tool::Result<Output>> {
        let (tools, name) = (self.0.clone(), name.to_owned());
        Box::pin(async move {
            let rule = |id: &str, name: &str| json!({"id": id, "name": name, "enabled": true});
            match &*name {
                "list_rules" => {
                    if std::mem::take(&mut *tools.holds.lock().unwrap()) {
                        tools.held.notify_one();
                        tools.may_go_on.notified().await;
                    }
                    let mut rules = vec![rule(SHARED, "Evening")];
                    if cx.user() == UserId::OWNER {
                        rules.push(rule(PRIVATE, "Present for Mia"));
                    }
                    Output::json(json!({"rules": rules, "hasMore": false}))
                }
                "run_rule" => {
                    tools.runs.lock().unwrap().push(args["ruleId"].as_str().unwrap_or_default().to_owned());
                    Output::json(json!({}))
                }
                _ => Err(Error::not_found("no such tool")),
            }
        })
    }
    fn list(&self, _: &Cx) -> Vec<ToolInfo> {
        vec![]
    }
}

/// What a client sent: its connection, the topic, the payload, and whether it is retained.
type Sent = (usize, String, String, bool);

/// A broker of one client: it confirms everything, hands on what is published, and keeps nothing.
struct Broker {
    port: u16,
    sent: mpsc::UnboundedReceiver<Sent>,
    connections: Arc<Semaphore>,
    hang_up: Arc<Notify>,
    push: tokio::sync::broadcast::Sender<(String, String, bool)>,
}

impl Broker {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sending, sent) = mpsc::unbounded_channel();
        let (connections, hang_up) = (Arc::new(Semaphore::new(0)), Arc::new(Notify::new()));
        let push = tokio::sync::broadcast::Sender::new(64);
        let (counted, hanging, pushed) = (connections.clone(), hang_up.clone(), push.clone());
        tokio::spawn(async move {
            for connection in 1.. {
                let Ok((socket, _)) = listener.accept().await else { return };
                tokio::select! {
                    _ = serve(socket, connection, &sending, &counted, pushed.subscribe()) => {}
                    () = hanging.notified() => {}
                }
            }
        });
        Self { port, sent, connections, hang_up, push }
    }

    async fn next(&mut self, wanted: impl Fn(&Sent) -> bool) -> Sent {
        let find = async {
            loop {
                let sent = self.sent.recv().await.expect("the broker ended");
                if wanted(&sent) {
                    return sent;
                }
            }
        };
        tokio::time::timeout(PATIENCE, find).await.expect("it was not sent")
    }

    async fn connected(&self) {
        let permit = tokio::time::timeout(PATIENCE, self.connections.acquire()).await;
        permit.expect("nobody connects").unwrap().forget();
    }
}

async fn packet(socket: &mut TcpStream) -> std::io::Result<(u8, Vec<u8>)> {
    let (kind, mut length, mut shift) = (socket.read_u8().await?, 0, 0);
    loop {
        let byte = socket.read_u8().await?;
        length |= usize::from(byte & 127) << shift;
        shift += 7;
        if byte < 128 {
            break;
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await?;
    Ok((kind, body))
}

async fn serve(
    mut socket: TcpStream,
    connection: usize,
    sending: &mpsc::UnboundedSender<Sent>,
    counted: &Semaphore,
    mut pushed: tokio::sync::broadcast::Receiver<(String, String, bool)>,
) -> std::io::Result<()> {
    loop {
        let (kind, body) = tokio::select! {
            read = packet(&mut socket) => read?,
            Ok((topic, payload, retain)) = pushed.recv() => {
                let mut made = vec![0x30 | u8::from(retain), (2 + topic.len() + payload.len()) as u8, 0, topic.len() as u8];
                made.extend([topic.as_bytes(), payload.as_bytes()].concat());
                socket.write_all(&made).await?;
                continue;
            }
        };
        match kind >> 4 {
            1 => {
                socket.write_all(&[0x20, 2, 0, 0]).await?;
                counted.add_permits(1);
            }
            3 => {
                let end = 2 + usize::from(u16::from_be_bytes([body[0], body[1]]));
                let (topic, mut rest) = (&body[2..end], &body[end..]);
                if kind & 6 != 0 {
                    socket.write_all(&[0x40, 2, rest[0], rest[1]]).await?;
                    rest = &rest[2..];
                }
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let _ = sending.send((connection, text(topic), text(rest), kind & 1 != 0));
            }
            8 => {
                // The filters, each with its quality of service.
                let (mut at, mut granted) = (2, vec![]);
                while at < body.len() {
                    let end = at + 2 + usize::from(u16::from_be_bytes([body[at], body[at + 1]]));
                    let filter = String::from_utf8_lossy(&body[at + 2..end]).into_owned();
                    let _ = sending.send((connection, "subscribe".into(), filter, false));
                    granted.push(1);
                    at = end + 1;
                }
                let mut answer = vec![0x90, 2 + granted.len() as u8, body[0], body[1]];
                answer.extend(granted);
                socket.write_all(&answer).await?;
            }
            10 => socket.write_all(&[0xb0, 2, body[0], body[1]]).await?,
            12 => socket.write_all(&[0xd0, 0]).await?,
            14 => return Ok(()),
            _ => {}
        }
    }
}

struct At {
    tools: Arc<RuleTools>,
    ports: Ports,
    _closing: tokio_util::sync::DropGuard,
}

fn door(port: u16, more: Value) -> At {
    let mut entry = json!({"host": "127.0.0.1", "port": port, "base": "hob/k"});
    entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let tools = Arc::new(RuleTools::default());
    let ports = Ports {
        settings: Arc::new(OneBroker(entry)),
        dispatch: Arc::new(Tools(tools.clone())),
        ..Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()))
    };
    let store = Store::in_memory().unwrap();
    let things = Things::new(&store);
    things.add(Arc::new(Lamp));
    let door = Door {
        home: MqttHome::new(&store, ports.clone()),
        things,
        device: Device::new("/nowhere"),
        name: Arc::new(|| "Kitchen".to_owned()),
        version: "1.2.3",
        updates: Arc::new(UpdateState::default),
    };
    let closing = CancellationToken::new();
    drop(door.start(&closing));
    At { tools, ports, _closing: closing.drop_guard() }
}

#[tokio::test]
async fn after_a_connection_that_was_lost_and_made_again_unseen_everything_is_published_again() {
    let mut broker = Broker::start().await;
    let at = door(broker.port, json!({}));
    broker.connected().await;
    broker.next(|sent| sent.1 == "hob/k/pin/17/state" && sent.2 == "ON" && sent.3).await;
    // The door waits for an answer while the connection is lost and made again.
    *at.tools.holds.lock().unwrap() = true;
    at.ports.bus.publish("rules:changed", None, json!({}));
    tokio::time::timeout(PATIENCE, at.tools.held.notified()).await.unwrap();
    broker.hang_up.notify_one();
    broker.connected().await;
    broker.next(|sent| sent.0 == 2 && sent.1 == "hob/k/status" && sent.2 == "online").await;
    at.tools.may_go_on.notify_one();
    let mut wanted = vec!["pin", "rule", "update", "config", "set"];
    while !wanted.is_empty() {
        let sent = broker.next(|sent| sent.0 == 2).await;
        let what = match &*sent.1 {
            "hob/k/pin/17/state" if sent.2 == "ON" => "pin",
            "hob/k/update" => "update",
            "subscribe" if sent.2 == "hob/k/pin/+/set" => "set",
            topic if topic.starts_with("hob/k/rule/") => "rule",
            topic if topic.starts_with("homeassistant/device/") && sent.3 => "config",
            _ => continue,
        };
        wanted.retain(|still| *still != what);
    }
}

#[tokio::test]
async fn private_rules_are_neither_announced_nor_run_unless_the_settings_say_so() {
    for private in [false, true] {
        let mut broker = Broker::start().await;
        let at = door(broker.port, json!({"private_rules": private}));
        let config = broker.next(|sent| sent.1.ends_with("/config") && sent.2.contains(SHARED)).await.2;
        assert_eq!(config.contains(PRIVATE) && config.contains("Present for Mia"), private, "{config}");
        assert!(config.contains("Evening"), "{config}");
        // The rule's state is published after the one of the pin, and what fires in the order in which it fired.
        for (id, name) in [(PRIVATE, "Present for Mia"), (SHARED, "Evening")] {
            let fired = json!({"id": id, "name": name, "status": "ok"});
            at.ports.bus.publish("rule:fired", Some(UserId::OWNER), fired);
        }
        let fired = broker.next(|sent| sent.1 == "hob/k/rule/fired").await.2;
        assert_eq!(fired.contains("Present for Mia"), private, "{fired}");
        for id in [PRIVATE, SHARED] {
            broker.push.send((format!("hob/k/rule/{id}/run"), "PRESS".into(), false)).unwrap();
        }
        let wanted: Vec<&str> = if private { vec![PRIVATE, SHARED] } else { vec![SHARED] };
        let ran = async {
            while *at.tools.runs.lock().unwrap() != wanted {
                tokio::task::yield_now().await;
            }
        };
        let done = tokio::time::timeout(PATIENCE, ran).await;
        assert!(done.is_ok(), "{:?}", at.tools.runs.lock().unwrap());
    }
}

#[tokio::test]
async fn retained_states_of_what_is_gone_are_cleared() {
    let mut broker = Broker::start().await;
    let _at = door(broker.port, json!({"private_rules": false}));
    broker.next(|sent| sent.1 == "subscribe" && sent.2 == "hob/k/rule/+/state").await;
    let states =
        ["pin/4/state", "pin/17/state", &format!("rule/{PRIVATE}/state"), &format!("rule/{SHARED}/state"), "own/x"];
    for state in states {
        broker.push.send((format!("hob/k/{state}"), "ON".into(), true)).unwrap();
    }
    let mut cleared = vec![];
    while cleared.len() < 2 {
        let sent = broker.next(|sent| sent.1.starts_with("hob/k/") && sent.2.is_empty()).await;
        assert!(sent.3, "{sent:?}");
        cleared.push(sent.1);
    }
    cleared.sort();
    assert_eq!(cleared, ["hob/k/pin/4/state".to_owned(), format!("hob/k/rule/{PRIVATE}/state")]);
}
