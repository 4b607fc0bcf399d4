//! `/api/v1/device`, `/discover` and `/events`: the device, its neighbours and its events.

use crate::{
    AppState, Caller, KEEP_ALIVE, Neighbour,
    describe::{Routes, get},
    envelope::{Answer, Failure, Json, ok},
    network::bracketed,
    query::Query,
};
use axum::{
    Extension,
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures::{Stream, StreamExt, stream};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use std::{
    convert::Infallible,
    net::{IpAddr, SocketAddr},
    time::Duration,
};
use tool::{
    BusEvent, Id, Topics,
    prelude::{JsonSchema, schemars},
};

/// The interval at which a listener's credential is checked again.
const RECHECK: Duration = Duration::from_secs(15);

pub(crate) fn routes() -> Routes<AppState> {
    let reads = Routes::new()
        .route(
            "/device",
            get(about, "Get the device and its addresses.")
                .patch(rename, "Rename the device.")
                .admin()
                .scope(TokenScope::Admin),
        )
        .route(
            "/discover",
            get(discover, "Find Hobs, Home Assistant, MQTT brokers, voice servers and other devices on the network."),
        )
        .scope(TokenScope::Device);
    Routes::new()
        .route("/events", get(events, "Stream the events that concern the caller.").scope(TokenScope::Events))
        .merge(reads)
}

/// The TLS listener.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Encrypted {
    url: String,
    port: u16,
    /// SHA-256 of the device's certificate, in hexadecimal pairs with colons between them.
    fingerprint: String,
}

/// The device, and how it is reached.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct DeviceView {
    id: Id,
    name: String,
    version: &'static str,
    /// The model that answers, as `provider/model` or `reflex`.
    model: String,
    /// When the daemon started: milliseconds since 1970.
    started_at: u64,
    /// Its name on the network, while it is announced.
    hostname: Option<String>,
    /// The URLs of the page.
    addresses: Vec<String>,
    tls: Option<Encrypted>,
    /// The address and port of the clear-text listener.
    listens_on: Option<String>,
    claimed: bool,
    /// Whether it can be renamed here.
    renameable: bool,
}

/// How the device is reached.
pub(crate) async fn about(State(house): State<AppState>) -> Answer<DeviceView> {
    Ok(ok(device_view(&house)))
}

fn device_view(house: &AppState) -> DeviceView {
    let (listens, hostname) = (house.network.listens(), house.network.hostname());
    let ips = listens.map(|at| addresses_of(at, &house.settings.addresses())).unwrap_or_default();
    let tls = house.network.tls().map(|tls| {
        let host =
            hostname.clone().or_else(|| ips.first().map(|ip| bracketed(*ip))).unwrap_or_else(|| "localhost".into());
        Encrypted { url: format!("https://{host}:{}", tls.port), port: tls.port, fingerprint: tls.fingerprint }
    });
    let port = listens.map_or(0, |at| at.port());
    DeviceView {
        id: house.store.device_id(),
        name: house.settings.name(),
        version: env!("CARGO_PKG_VERSION"),
        model: house.agent.model(),
        started_at: house.started.millis(),
        addresses: ips.iter().map(|ip| format!("http://{}:{port}", bracketed(*ip))).collect(),
        hostname,
        tls,
        listens_on: listens.map(|at| at.to_string()),
        claimed: house.identity.is_claimed(),
        renameable: house.settings.may_rename(),
    }
}

/// The addresses at which a listener at `at` is reached.
fn addresses_of(at: SocketAddr, all: &[IpAddr]) -> Vec<IpAddr> {
    match at.ip().is_unspecified() {
        true => all.iter().copied().filter(|ip| at.is_ipv6() || ip.is_ipv4()).collect(),
        false => vec![at.ip()],
    }
}

/// The changes.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rename {
    /// 1 to 63 letters, digits and dashes.
    name: String,
}

/// Gives the device another name.
pub(crate) async fn rename(State(house): State<AppState>, Json(body): Json<Rename>) -> Answer<DeviceView> {
    house.settings.rename(body.name.trim().to_owned()).await?;
    house.ports.bus.publish("device:changed", None, serde_json::json!({"name": house.settings.name()}));
    Ok(ok(device_view(&house)))
}

/// The neighbours on the network.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Neighbours {
    count: usize,
    found: Vec<Neighbour>,
    /// Why discovery was not possible.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// Looks for Hobs and Home Assistants on the network; takes a second or two.
pub(crate) async fn discover(State(house): State<AppState>) -> Answer<Neighbours> {
    let (found, why) = match house.settings.neighbours().await {
        Ok(found) => (found, None),
        Err(error) => (vec![], Some(error.message().to_owned())),
    };
    Ok(ok(Neighbours { count: found.len(), found, why }))
}

#[derive(Deserialize, JsonSchema)]
pub(crate) struct EventsQuery {
    /// The last event received: later ones are sent first.
    after: Option<u64>,
    /// Topics, separated by commas; `*` matches anything: `tool:*,run:ended`. All when left out.
    #[serde(default)]
    topics: String,
}

/// Everything that happens and concerns this person, with catch-up by `?after=SEQ` or `Last-Event-ID`.
pub(crate) async fn events(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    let open = house.event_streams.open(caller.principal.user)?;
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let listener = house.ports.bus.listen_to(query.after.or(last), Topics::parse(&query.topics)?);
    let (user, identity, key) = (caller.principal.user, house.identity.clone(), caller.key);
    let heard = stream::unfold(listener, |mut listener| async { listener.next().await.map(|heard| (heard, listener)) });
    let events = heard.filter_map(move |heard| async move {
        match heard {
            BusEvent::Resync => Some(Ok(Event::default().event("resync").data("{}"))),
            BusEvent::Event(e) if e.to.is_none_or(|to| to == user) => {
                let data = serde_json::to_string(&*e).unwrap_or_default();
                Some(Ok(Event::default().id(e.seq.to_string()).event(e.topic.clone()).data(data)))
            }
            BusEvent::Event(_) => None,
        }
    });
    let closing = house.closing.clone();
    let end = async move {
        let _open = open;
        while identity.is_valid(key) {
            if closing.run_until_cancelled(tokio::time::sleep(RECHECK)).await.is_none() {
                return;
            }
        }
    };
    Ok(Sse::new(events.take_until(Box::pin(end))).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}
