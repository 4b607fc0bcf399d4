//! One connection, from its handshake to its end.

use crate::{
    Access, Change, Connection, Details, Settings,
    model::{Facts, read_services},
    opening,
    registries::{FullRow, Registries},
    shared::Shared,
    wire::{self, BusEvent, Message},
};
use http_client::{Error, Utf8Bytes, WebSocket};
use serde_json::{Value, json, value::RawValue};
use std::{
    collections::{BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};
use tokio::time::{Instant, timeout};

/// The largest message: all entities or registry entries of a large home in one.
const MESSAGE: usize = 24 << 20;
/// The most of an event's data that is passed on.
const EVENT: usize = 8 * 1024;
/// Entities whose aliases are asked for at once, and scripts that are read.
const BATCH: usize = 250;
const SCRIPTS: usize = 500;
/// Changed entities that are published at once, and the pause before the next ones.
const PUBLISHED: usize = 250;
const PAUSE: Duration = Duration::from_millis(5);

/// Why a connection ended.
#[derive(Debug)]
pub(crate) enum End {
    /// The token is refused.
    Refused(String),
    /// Its certificate is not accepted.
    Untrusted { why: String, fingerprint: String },
    /// Anything else; whether all entities had been received.
    Lost { why: String, was_ready: bool },
}

/// A reason to end.
type Ended<T> = Result<T, String>;

/// Connects, and stays until something ends it.
pub(crate) async fn run(shared: &Shared, settings: &Settings) -> End {
    let lost = |why| End::Lost { why, was_ready: false };
    let mut socket = match connect(shared, settings).await {
        Ok(socket) => socket,
        Err(error) => {
            return match error.refused_certificate() {
                Some(shown) => End::Untrusted { why: error.to_string(), fingerprint: shown.to_string() },
                None => lost(error.to_string()),
            };
        }
    };
    match sign_in(shared, settings, &mut socket).await {
        Ok(None) => {}
        Ok(Some(refused)) => return End::Refused(refused),
        Err(why) => return lost(why),
    }
    let mut session = Session {
        shared,
        access: &settings.access,
        socket,
        next: 1,
        pending: HashMap::new(),
        entities: 0,
        events: HashMap::new(),
        is_ready: false,
        has_services: false,
        has_registries: false,
        is_synced: false,
        registries: Registries::default(),
        registries_at: None,
        services_at: None,
        latest: Instant::now(),
        pinged: false,
    };
    let Err(why) = session.stay().await else { return lost(String::new()) };
    let was_ready = session.is_ready;
    session.socket.close().await;
    End::Lost { why, was_ready }
}

async fn connect(shared: &Shared, settings: &Settings) -> http_client::Result<WebSocket> {
    shared.http(settings).web_socket(&format!("{}/api/websocket", settings.url), MESSAGE).await
}

/// Signs in; returns the reason if Home Assistant refuses the token.
async fn sign_in(shared: &Shared, settings: &Settings, socket: &mut WebSocket) -> Ended<Option<String>> {
    let mut answered = false;
    loop {
        let text =
            timeout(shared.timing.answer, receive(socket)).await.map_err(|_| "it did not answer".to_owned())??;
        let message: Message<'_> = serde_json::from_str(&text).map_err(|_| garbage())?;
        match &*message.kind {
            "auth_required" if !answered => {
                answered = true;
                send(shared, socket, &json!({"type": "auth", "access_token": settings.token})).await?;
            }
            "auth_ok" => return Ok(None),
            "auth_invalid" => {
                let why = message.message.unwrap_or_default();
                return Ok(Some(text_kit::truncate(&text_kit::one_line(&why), 200)));
            }
            _ => return Err("it does not speak Home Assistant's protocol".into()),
        }
    }
}

async fn receive(socket: &mut WebSocket) -> Ended<Utf8Bytes> {
    loop {
        match socket.receive().await {
            Ok(Some(http_client::Message::Text(text))) => return Ok(text),
            Ok(Some(http_client::Message::Binary(_))) => {}
            Ok(None) => return Err("it closed the connection".into()),
            Err(Error::TooLarge { .. }) => return Err(format!("it sent a message larger than {} MB", MESSAGE >> 20)),
            Err(error) => return Err(reason(error)),
        }
    }
}

async fn send(shared: &Shared, socket: &mut WebSocket, message: &Value) -> Ended<()> {
    match timeout(shared.timing.answer, socket.send(message.to_string())).await {
        Ok(sent) => sent.map_err(reason),
        Err(_) => Err("it does not read what is sent".into()),
    }
}

/// Why a connection broke, without the advice to try again: that is done anyway.
fn reason(error: Error) -> String {
    match error {
        Error::Broken { why, .. } => why,
        other => other.to_string(),
    }
}

fn garbage() -> String {
    "it sent something that is not a message of Home Assistant".into()
}

/// The question behind a number.
enum Asked {
    Facts,
    Floors,
    Areas,
    Devices,
    Entities,
    Aliases,
    Services,
    Script(String),
    /// Its answer means nothing more.
    Nothing,
}

/// An event stream.
enum Stream {
    Registry,
    Services,
    /// A type that somebody waits for.
    Wanted(String),
}

struct Session<'a> {
    shared: &'a Shared,
    access: &'a Access,
    socket: WebSocket,
    next: u64,
    pending: HashMap<u64, Asked>,
    /// The number of the subscription to entities.
    entities: u64,
    events: HashMap<u64, Stream>,
    /// Whether entities, services and registries have arrived once.
    is_ready: bool,
    has_services: bool,
    has_registries: bool,
    is_synced: bool,
    registries: Registries,
    /// When changed registries and services are read again.
    registries_at: Option<Instant>,
    services_at: Option<Instant>,
    /// When the last message arrived.
    latest: Instant,
    pinged: bool,
}

impl Session<'_> {
    /// Stays until something ends the connection, and returns what.
    async fn stay(&mut self) -> Ended<()> {
        let begun = Instant::now();
        self.ask(json!({"type": "supported_features", "features": {"coalesce_messages": 1}}), Asked::Nothing).await?;
        self.ask(json!({"type": "get_config"}), Asked::Facts).await?;
        self.entities = self.ask(json!({"type": "subscribe_entities"}), Asked::Nothing).await?;
        for kind in ["area", "floor", "device", "entity"] {
            self.subscribe(&format!("{kind}_registry_updated"), Stream::Registry).await?;
        }
        for kind in ["service_registered", "service_removed", "core_config_updated"] {
            self.subscribe(kind, Stream::Services).await?;
        }
        self.read_registries().await?;
        self.ask(json!({"type": "get_services"}), Asked::Services).await?;
        let mut wanted = self.shared.wanted.subscribe();
        let types = wanted.borrow_and_update().clone();
        self.subscribe_wanted(types).await?;
        loop {
            let timing = self.shared.timing;
            let quiet = if self.pinged { timing.answer } else { timing.ping };
            let mut wake = self.latest + quiet;
            for at in [self.registries_at, self.services_at].into_iter().flatten() {
                wake = wake.min(at);
            }
            if !self.is_synced {
                wake = wake.min(begun + timing.sync);
            }
            tokio::select! {
                text = receive(&mut self.socket) => {
                    self.latest = Instant::now();
                    self.pinged = false;
                    self.read(&text?).await?;
                }
                changed = wanted.changed() => {
                    changed.map_err(|_| "Hob is stopping".to_owned())?;
                    let types = wanted.borrow_and_update().clone();
                    self.subscribe_wanted(types).await?;
                }
                () = tokio::time::sleep_until(wake) => self.tick(begun).await?,
            }
        }
    }

    /// Runs everything that is due: reads after changes, pings, timeouts.
    async fn tick(&mut self, begun: Instant) -> Ended<()> {
        let (now, timing) = (Instant::now(), self.shared.timing);
        if self.registries_at.is_some_and(|at| at <= now) {
            self.registries_at = None;
            self.read_registries().await?;
        }
        if self.services_at.is_some_and(|at| at <= now) {
            self.services_at = None;
            self.ask(json!({"type": "get_config"}), Asked::Facts).await?;
            self.ask(json!({"type": "get_services"}), Asked::Services).await?;
            // Scripts are services too.
            let ids: Vec<Arc<str>> = self.shared.model().entities.keys().cloned().collect();
            self.read_scripts(ids).await?;
        }
        if !self.is_synced && begun + timing.sync <= now {
            return Err("it did not send its entities and services".into());
        }
        match self.pinged {
            true if self.latest + timing.answer <= now => return Err("it stopped answering".into()),
            false if self.latest + timing.ping <= now => {
                self.ask(json!({"type": "ping"}), Asked::Nothing).await?;
                (self.pinged, self.latest) = (true, now);
            }
            _ => {}
        }
        Ok(())
    }

    async fn ask(&mut self, mut command: Value, asked: Asked) -> Ended<u64> {
        let id = self.next;
        self.next += 1;
        command["id"] = id.into();
        self.pending.insert(id, asked);
        send(self.shared, &mut self.socket, &command).await?;
        Ok(id)
    }

    async fn subscribe(&mut self, event_type: &str, stream: Stream) -> Ended<()> {
        let id = self.ask(json!({"type": "subscribe_events", "event_type": event_type}), Asked::Nothing).await?;
        self.events.insert(id, stream);
        Ok(())
    }

    /// Subscribes to the types that are waited for, and ends the others.
    async fn subscribe_wanted(&mut self, mut types: BTreeSet<String>) -> Ended<()> {
        let mut ended = vec![];
        self.events.retain(|id, stream| match stream {
            Stream::Wanted(kind) if !types.remove(kind) => {
                ended.push(*id);
                false
            }
            _ => true,
        });
        for subscription in ended {
            self.ask(json!({"type": "unsubscribe_events", "subscription": subscription}), Asked::Nothing).await?;
        }
        for kind in types {
            self.subscribe(&kind.clone(), Stream::Wanted(kind)).await?;
        }
        Ok(())
    }

    async fn read_registries(&mut self) -> Ended<()> {
        self.registries = Registries::default();
        for (registry, asked) in
            [("floor", Asked::Floors), ("area", Asked::Areas), ("device", Asked::Devices), ("entity", Asked::Entities)]
        {
            self.ask(json!({"type": format!("config/{registry}_registry/list")}), asked).await?;
        }
        Ok(())
    }

    async fn read(&mut self, frame: &str) -> Ended<()> {
        for message in wire::read(frame).map_err(|_| garbage())? {
            match (&*message.kind, message.event, message.success) {
                ("event", Some(event), _) if message.id == self.entities => self.entities(event).await?,
                ("event", Some(event), _) => self.event(message.id, event),
                ("result", _, Some(success)) => {
                    let Some(asked) = self.pending.remove(&message.id) else { continue };
                    if success {
                        self.result(asked, message.result.map_or("null", RawValue::get)).await?;
                    } else {
                        self.refused(message.id, asked, message.error)?;
                        self.join_registries().await?;
                    }
                }
                ("pong", ..) => drop(self.pending.remove(&message.id)),
                // A later version may send other kinds.
                _ => {}
            }
        }
        Ok(())
    }

    async fn entities(&mut self, event: &RawValue) -> Ended<()> {
        let event: wire::Entities = serde_json::from_str(event.get()).map_err(|_| garbage())?;
        let first = !self.is_ready;
        let changes = self.shared.model().apply(event, first);
        // A script that is loaded again was away for a moment.
        let came = changes.iter().filter(|change| change.before.as_ref().is_none_or(|before| !before.is_available()));
        let came: Vec<Arc<str>> = came.filter_map(|c| c.now.as_ref()).map(|now| now.id.clone()).collect();
        let mut changes = changes.into_iter();
        loop {
            let some: Vec<Change> = changes.by_ref().take(PUBLISHED).collect();
            if some.is_empty() {
                break;
            }
            let more = some.len() == PUBLISHED;
            self.shared.publish(some, self.access);
            // A restart changes thousands of entities at once, more than listeners of the bus may be behind.
            if more {
                tokio::time::sleep(PAUSE).await;
            }
        }
        self.is_ready = true;
        self.note_synced();
        self.read_scripts(came).await
    }

    /// Says that it is connected once everything has arrived.
    fn note_synced(&mut self) {
        if !self.is_synced && self.is_ready && self.has_services && self.has_registries {
            self.is_synced = true;
            self.shared.set_connection(Connection::Connected);
        }
    }

    /// Asks for the steps of scripts: some open something. Until they are here, a script counts as one that does.
    async fn read_scripts(&mut self, ids: Vec<Arc<str>>) -> Ended<()> {
        let mut known = self.shared.model().scripts.len();
        for id in ids.iter().filter(|id| id.starts_with("script.")) {
            known -= usize::from(self.shared.model().scripts.remove(&**id).is_some());
            known += 1;
            if known > SCRIPTS {
                break;
            }
            let command = json!({"type": "script/config", "entity_id": &**id});
            self.ask(command, Asked::Script(id.to_string())).await?;
        }
        Ok(())
    }

    fn event(&mut self, id: u64, event: &RawValue) {
        let soon = Instant::now() + self.shared.timing.settle;
        match self.events.get(&id) {
            Some(Stream::Registry) => self.registries_at = Some(soon),
            Some(Stream::Services) => self.services_at = Some(soon),
            Some(Stream::Wanted(_)) => {
                let Ok(event) = serde_json::from_str::<BusEvent<'_>>(event.get()) else { return };
                let data = event.data.filter(|data| data.get().len() <= EVENT);
                let data = data.and_then(|data| serde_json::from_str::<Value>(data.get()).ok()).unwrap_or_default();
                self.shared.bus.publish("ha:event", None, json!({"type": event.event_type, "data": data}));
            }
            None => {}
        }
    }

    async fn result(&mut self, asked: Asked, json: &str) -> Ended<()> {
        fn rows<T: serde::de::DeserializeOwned>(json: &str) -> Ended<T> {
            serde_json::from_str(json).map_err(|_| garbage())
        }
        match asked {
            Asked::Facts => self.shared.model().facts = rows::<Facts>(json)?.bounded(),
            Asked::Floors => self.registries.floors = Some(rows(json)?),
            Asked::Areas => self.registries.areas = Some(rows(json)?),
            Asked::Devices => self.registries.devices = Some(rows(json)?),
            Asked::Entities => self.registries.entities = Some(rows(json)?),
            Asked::Services => {
                let services = read_services(json).map_err(|_| garbage())?;
                self.shared.model().services = services;
                self.has_services = true;
                self.note_synced();
            }
            Asked::Script(id) => {
                let config: Value = rows(json)?;
                self.shared.model().scripts.insert(id, opening::of_script(&config["config"]));
            }
            Asked::Aliases => {
                let rows: HashMap<String, Option<FullRow>> = rows(json)?;
                let mut model = self.shared.model();
                for (id, row) in rows {
                    if let (Some(details), Some(row)) = (model.details.get_mut(&*id), row) {
                        details.aliases = row.aliases;
                    }
                }
                model.version += 1;
            }
            Asked::Nothing => {}
        }
        self.join_registries().await
    }

    /// Once all four lists are here: takes them over, and asks for the aliases of what people control.
    async fn join_registries(&mut self) -> Ended<()> {
        let Some((areas, details)) = self.registries.join() else { return Ok(()) };
        let named = |(_, details): &(&Arc<str>, &Details)| !details.secondary;
        let ids: Vec<Arc<str>> = details.iter().filter(named).map(|(id, _)| id.clone()).collect();
        {
            let mut model = self.shared.model();
            let old = std::mem::replace(&mut model.details, details);
            // Aliases stay until they are read again.
            for (id, old) in old {
                if let Some(new) = model.details.get_mut(&id) {
                    new.aliases = old.aliases;
                }
            }
            model.areas = areas;
            model.version += 1;
        }
        self.has_registries = true;
        self.note_synced();
        for some in ids.chunks(BATCH) {
            let ids: Vec<&str> = some.iter().map(|id| &**id).collect();
            self.ask(json!({"type": "config/entity_registry/get_entries", "entity_ids": ids}), Asked::Aliases).await?;
        }
        Ok(())
    }

    /// A refused command: without entities there is no use in staying; everything else can be done without.
    fn refused(&mut self, id: u64, asked: Asked, error: Option<wire::ErrorBody>) -> Ended<()> {
        let why = error.map(|error| format!("{} ({})", error.message, error.code)).unwrap_or_default();
        let why = text_kit::truncate(&text_kit::one_line(&why), 200);
        if id == self.entities {
            return Err(format!("it does not show its entities: {why}"));
        }
        self.events.remove(&id);
        tracing::debug!(why, "Home Assistant refused a command");
        // An older one has no floors.
        match asked {
            Asked::Floors => self.registries.floors = Some(vec![]),
            Asked::Areas => self.registries.areas = Some(vec![]),
            Asked::Devices => self.registries.devices = Some(vec![]),
            Asked::Entities => self.registries.entities = Some(vec![]),
            Asked::Services => self.has_services = true,
            _ => {}
        }
        self.note_synced();
        Ok(())
    }
}
