//! One connection, from CONNECT to its end.

use crate::{
    Config, MAX_PAYLOAD, MAX_TOPIC, Qos,
    incoming::Incoming,
    outbox::Queued,
    shared::{Phase, Shared, lock},
};
use futures::{StreamExt, stream::FuturesUnordered};
use rumqttc::{
    AsyncClient, ConnectReturnCode, ConnectionError, Event, EventLoop, LastWill, MqttOptions, NetworkOptions, Packet,
    PublishOptions, QoS, StateError, SubscribeFilter, SubscribeReasonCode, TlsConfiguration, Transport,
};
use std::{
    collections::BTreeSet,
    pin::pin,
    sync::{Arc, atomic::Ordering::Relaxed},
    time::{Duration, Instant},
};
use tokio::{sync::mpsc, task::JoinHandle};

const KEEP_ALIVE: u16 = 30;
const CONNECT_SECONDS: u64 = 10;
/// Messages on their way to the broker.
const WINDOW: usize = 64;
/// Filters in one request.
const FILTERS: usize = 50;
/// The largest packet that is read. A larger one ends the connection: MQTT 3.1.1 cannot tell the broker of a limit.
const MAX_PACKET: usize = 2 * 1024 * 1024;
/// How often the bus gets what waited for its rate.
const FLUSH: Duration = Duration::from_millis(50);
/// How long a clean end may take.
const GOODBYE: Duration = Duration::from_secs(2);

/// How a connection ended.
pub(crate) enum End {
    /// It was asked to.
    Asked,
    /// It was lost, or never made.
    Lost(String),
    /// The broker refuses the credentials.
    Refused(String),
}

/// Ends the task with its owner.
struct Pump(JoinHandle<()>);

impl Drop for Pump {
    fn drop(&mut self) {
        self.0.abort();
    }
}

enum Signal {
    Packet(Packet),
    Lost(Box<ConnectionError>),
}

/// Connects and stays connected until `stop`.
pub(crate) async fn run(shared: &Shared, config: &Config, broker: &str, stop: impl Future<Output = ()>) -> End {
    let options = match options(config).await {
        Ok(options) => options,
        Err(why) => return End::Lost(why),
    };
    let (client, mut events) = AsyncClient::builder(options).capacity(2 * WINDOW).build();
    let mut network = NetworkOptions::new();
    network.set_connection_timeout(CONNECT_SECONDS);
    network.set_tcp_nodelay(true);
    events.set_network_options(network);
    let (signals, mut packets) = mpsc::channel(256);
    let mut pump = Pump(tokio::spawn(drive(events, signals)));
    let mut sending = FuturesUnordered::new();
    let (mut connected, mut stop) = (false, pin!(stop));
    let mut flush = tokio::time::interval(FLUSH);
    flush.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let end = loop {
        if connected {
            subscribe(shared, &client);
            while sending.len() < WINDOW {
                let Some(queued) = lock(&shared.outbox).pop() else { break };
                sending.push(send(&client, queued));
            }
        }
        tokio::select! {
            () = &mut stop => break End::Asked,
            signal = packets.recv() => match signal {
                Some(Signal::Packet(Packet::ConnAck(_))) => {
                    lock(&shared.filters).renew();
                    let online = PublishOptions::new(QoS::AtLeastOnce).retained();
                    let _ = client.try_publish(config.status_topic(), "online", online);
                    connected = true;
                    shared.set_phase(Phase::Connected, broker, "");
                }
                Some(Signal::Packet(Packet::Publish(publish))) => receive(shared, &publish),
                Some(Signal::Packet(Packet::SubAck(answer))) => {
                    if answer.return_codes.contains(&SubscribeReasonCode::Failure) {
                        tracing::warn!(broker, "the MQTT broker does not let this user read some topics");
                    }
                }
                Some(Signal::Packet(_)) => {}
                Some(Signal::Lost(error)) => break lost(&error),
                None => break End::Lost("the connection was closed".to_owned()),
            },
            Some((queued, arrived)) = sending.next(), if !sending.is_empty() => settle(shared, queued, arrived),
            () = shared.work.notified(), if connected => {}
            _ = flush.tick(), if connected && lock(&shared.feed).has_waiting() => {
                lock(&shared.feed).flush(Instant::now());
            }
        }
    };
    if matches!(end, End::Asked) && connected {
        let goodbye = async {
            let offline = PublishOptions::new(QoS::AtLeastOnce).retained();
            // A disconnect may overtake a message that is not yet on its way.
            if let Ok(sent) = client.publish_tracked(config.status_topic(), "offline", offline).await {
                let arrived = pin!(sent.wait_completion_async());
                let drained = async { while packets.recv().await.is_some() {} };
                tokio::select! {
                    _ = arrived => {}
                    () = drained => {}
                }
            }
            let _ = client.disconnect_with_timeout(GOODBYE / 2).await;
            while packets.recv().await.is_some() {}
            let _ = (&mut pump.0).await;
        };
        let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    }
    drop(pump);
    // What the broker has not confirmed is sent again, the oldest first.
    drop(client);
    let mut unconfirmed = Vec::new();
    while let Some((queued, arrived)) = sending.next().await {
        if arrived {
            settle(shared, queued, true);
        } else {
            unconfirmed.push(queued);
        }
    }
    unconfirmed.into_iter().rev().for_each(|queued| settle(shared, queued, false));
    end
}

async fn options(config: &Config) -> Result<MqttOptions, String> {
    let mut options = MqttOptions::new(&config.client_id, (config.host.as_str(), config.port));
    options.set_keep_alive(KEEP_ALIVE).set_max_packet_size(MAX_PACKET, MAX_PAYLOAD + MAX_TOPIC + 64);
    options.set_max_request_batch(WINDOW);
    options.set_last_will(LastWill::new(config.status_topic(), "offline", QoS::AtLeastOnce, true));
    match (&config.username, &config.password) {
        (Some(user), Some(password)) => drop(options.set_credentials(user, password.clone())),
        (Some(user), None) => drop(options.set_username(user)),
        // MQTT 3.1.1 has no password without a user name.
        (None, _) => {}
    }
    if let Some(ca) = config.authorities().await? {
        options.set_transport(Transport::Tls(TlsConfiguration::Simple { ca, alpn: None, client_auth: None }));
    }
    Ok(options)
}

/// Polls in a task of its own: a poll that is dropped half-way could lose a packet.
async fn drive(mut events: EventLoop, signals: mpsc::Sender<Signal>) {
    loop {
        let signal = match events.poll().await {
            Ok(Event::Incoming(packet @ (Packet::ConnAck(_) | Packet::Publish(_) | Packet::SubAck(_)))) => {
                Signal::Packet(packet)
            }
            Ok(_) => continue,
            Err(error) => {
                let _ = signals.send(Signal::Lost(Box::new(error))).await;
                return;
            }
        };
        if signals.send(signal).await.is_err() {
            return;
        }
    }
}

fn send(client: &AsyncClient, queued: Queued) -> impl Future<Output = (Queued, bool)> + use<> {
    let message = &queued.message;
    let qos = match message.qos {
        Qos::AtMostOnce => QoS::AtMostOnce,
        Qos::AtLeastOnce => QoS::AtLeastOnce,
    };
    let options = PublishOptions::new(qos).retain(message.retain);
    let notice = client.try_publish_tracked(message.topic.clone(), message.payload.clone(), options);
    async move {
        let arrived = match notice {
            Ok(notice) => notice.wait_completion_async().await.is_ok(),
            Err(_) => false,
        };
        (queued, arrived)
    }
}

fn settle(shared: &Shared, queued: Queued, arrived: bool) {
    match (arrived, queued.message.qos) {
        (true, _) => {
            shared.sent.fetch_add(1, Relaxed);
            queued.confirm.map(|confirm| confirm.send(()));
        }
        (false, Qos::AtLeastOnce) => lock(&shared.outbox).put_back(queued),
        (false, Qos::AtMostOnce) => lock(&shared.outbox).dropped += 1,
    }
}

/// Tells the broker which filters are new and which are gone. What does not fit into its queue remains for the next time.
fn subscribe(shared: &Shared, client: &AsyncClient) {
    let mut filters = lock(&shared.filters);
    while !filters.fresh.is_empty() {
        let some: Vec<String> = filters.fresh.iter().take(FILTERS).cloned().collect();
        let request = some.iter().map(|filter| SubscribeFilter::new(filter.clone(), QoS::AtLeastOnce));
        if client.try_subscribe_many(request).is_err() {
            return;
        }
        let some: BTreeSet<String> = some.into_iter().collect();
        filters.fresh.retain(|filter| !some.contains(filter));
    }
    while let Some(filter) = filters.gone.first().cloned() {
        if client.try_unsubscribe(filter.as_str()).is_err() {
            return;
        }
        filters.gone.remove(&filter);
    }
}

fn receive(shared: &Shared, publish: &rumqttc::Publish) {
    let Ok(topic) = std::str::from_utf8(&publish.topic) else { return };
    if publish.payload.len() > MAX_PAYLOAD || topic.len() > MAX_TOPIC {
        shared.too_large.fetch_add(1, Relaxed);
        return;
    }
    // Not a view into the buffer of the connection, which would be held for as long as the value is.
    let payload = bytes::Bytes::copy_from_slice(&publish.payload);
    shared.receive(Incoming { topic: Arc::from(topic), payload, retain: publish.retain, at: Instant::now() });
}

fn lost(error: &ConnectionError) -> End {
    let why = match error {
        ConnectionError::ConnectionRefused(
            ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized,
        ) => return End::Refused("the broker refuses the user name or the password".to_owned()),
        ConnectionError::ConnectionRefused(ConnectReturnCode::BadClientId) => {
            return End::Refused("the broker refuses this client's id".to_owned());
        }
        ConnectionError::ConnectionRefused(ConnectReturnCode::RefusedProtocolVersion) => {
            return End::Refused("the broker does not speak MQTT 3.1.1".to_owned());
        }
        ConnectionError::ConnectionRefused(_) => "the broker is not available at the moment".to_owned(),
        ConnectionError::NetworkTimeout | ConnectionError::FlushTimeout => "the broker does not answer".to_owned(),
        ConnectionError::Tls(error) => format!("the encrypted connection failed: {error}"),
        ConnectionError::Io(error) => match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "nothing listens there".to_owned(),
            _ => format!("it cannot be reached: {error}"),
        },
        ConnectionError::MqttState(StateError::Deserialization(
            rumqttc::mqttbytes::Error::PayloadSizeLimitExceeded(_),
        )) => format!("it sent a message larger than {} MB", MAX_PACKET >> 20),
        ConnectionError::MqttState(_) => "the connection was lost".to_owned(),
        other => format!("the connection was lost: {other}"),
    };
    End::Lost(truncated(why))
}

fn truncated(text: String) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}
