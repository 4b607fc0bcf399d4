//! The handle of the client: publishing, subscribing, the latest messages, and the loop that keeps it connected.

use crate::{
    Config, MAX_PAYLOAD, Message,
    bus::BusFeed,
    incoming::Incoming,
    is_filter, is_topic,
    outbox::Queued,
    session::{self, End},
    shared::{Phase, Shared, Status, lock},
};
use std::{
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::sync::{Notify, oneshot, watch};
use tokio_util::sync::CancellationToken;
use tool::{Bus, Error, Result};

/// The pause before the next attempt: doubled each time, up to a maximum. A broker that refuses the credentials is asked rarely,
/// because some lock out who asks too often.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);
const REFUSED_PAUSE: Duration = Duration::from_secs(120);
/// A connection that lasted this long starts the pauses from the beginning.
const LASTED: Duration = Duration::from_secs(20);

/// A client of one broker; cheap to clone.
#[derive(Clone)]
pub struct Mqtt(pub(crate) Arc<Shared>);

/// A subscription; it ends when it is dropped.
pub struct Subscription {
    client: Mqtt,
    filter: String,
    bus: bool,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let shared = &self.client.0;
        let mut filters = lock(&shared.filters);
        if filters.remove(&self.filter, self.bus) {
            // The values of its topics would grow old unseen.
            let mut latest = lock(&shared.latest);
            match is_topic(&self.filter) {
                true if filters.covers(&self.filter) => {}
                true => latest.remove(&self.filter),
                false => latest.retain(|topic| filters.covers(topic)),
            }
            shared.work.notify_one();
        }
    }
}

impl Mqtt {
    /// A client without a broker.
    pub fn new(bus: Bus) -> Self {
        Self(Arc::new(Shared {
            config: watch::Sender::new(None),
            status: watch::Sender::default(),
            outbox: Mutex::default(),
            work: Notify::new(),
            filters: Mutex::default(),
            latest: Mutex::default(),
            arrived: Notify::new(),
            handlers: RwLock::default(),
            feed: Mutex::new(BusFeed::new(bus.clone())),
            bus,
            received: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            too_large: AtomicU64::new(0),
        }))
    }

    /// Sets the broker; `None` for none. A change ends the connection in order.
    pub fn configure(&self, config: Option<Config>) {
        self.0.config.send_if_modified(|now| {
            let changed = *now != config;
            *now = config;
            changed
        });
    }

    /// The broker that is set up.
    pub fn config(&self) -> Option<Config> {
        self.0.config.borrow().clone()
    }

    /// Stays connected until `closing`, then says `offline` and disconnects.
    pub async fn run(self, closing: CancellationToken) {
        let shared = &self.0;
        let mut configs = shared.config.subscribe();
        while !closing.is_cancelled() {
            let chosen = configs.borrow_and_update().clone();
            lock(&shared.outbox).clear();
            lock(&shared.latest).clear();
            let Some(config) = chosen else {
                shared.set_phase(Phase::Off, "", "");
                tokio::select! {
                    () = closing.cancelled() => return,
                    changed = configs.changed() => if changed.is_err() { return },
                }
                continue;
            };
            let broker = format!("{}:{}", config.host, config.port);
            shared.set_phase(Phase::Connecting, &broker, "");
            let mut failures = 0u32;
            loop {
                let begun = Instant::now();
                let stop = async {
                    tokio::select! {
                        () = closing.cancelled() => {}
                        _ = configs.changed() => {}
                    }
                };
                let (why, pause) = match session::run(shared, &config, &broker, stop).await {
                    End::Asked => break,
                    End::Lost(why) => {
                        failures = if begun.elapsed() >= LASTED { 0 } else { failures.saturating_add(1) };
                        shared.set_phase(Phase::Connecting, &broker, &why);
                        (why, (FIRST_PAUSE * 2u32.saturating_pow(failures.min(10).saturating_sub(1))).min(MAX_PAUSE))
                    }
                    End::Refused(why) => {
                        shared.set_phase(Phase::Refused, &broker, &why);
                        (why, REFUSED_PAUSE)
                    }
                };
                let pause = with_jitter(pause);
                tracing::info!(broker, seconds = pause.as_secs(), "no connection to the MQTT broker: {why}");
                tokio::select! {
                    () = closing.cancelled() => return,
                    _ = configs.changed() => break,
                    () = tokio::time::sleep(pause) => {}
                }
            }
        }
    }

    /// Publishes a message. It is sent now or after the next connection, in order; this does not wait.
    ///
    /// # Errors
    /// `BadArgs` for a topic or payload that cannot be; `Unavailable` without a broker, or with a full queue.
    pub fn publish(&self, message: Message) -> Result<()> {
        self.push(message, None)
    }

    /// Publishes a message now and waits until the broker confirms it. A message that was given up is not sent later.
    ///
    /// # Errors
    /// As [`Mqtt::publish`]; `Unavailable` where there is no connection, or no confirmation in time.
    pub async fn publish_now(&self, message: Message, patience: Duration) -> Result<()> {
        let status = self.0.status.borrow().clone();
        if status.state != Phase::Connected {
            return Err(match (self.config(), status.why.as_str()) {
                (None, _) => no_broker(),
                (_, "") => Error::unavailable("the MQTT broker is not connected yet: try again in a moment"),
                (_, why) => Error::unavailable(format!("the MQTT broker is not connected: {why}")),
            });
        }
        let (confirm, confirmed) = oneshot::channel();
        self.push(message, Some(confirm))?;
        match tokio::time::timeout(patience, confirmed).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Error::unavailable(
                "the MQTT broker did not confirm the message in time: it may have received it, or not",
            )),
        }
    }

    fn push(&self, message: Message, confirm: Option<oneshot::Sender<()>>) -> Result<()> {
        if !is_topic(&message.topic) {
            return Err(Error::bad_args("this is not an MQTT topic: write it as `home/lamp/set`, without + and #"));
        }
        if message.payload.len() > MAX_PAYLOAD {
            return Err(Error::bad_args(format!("the payload is longer than {MAX_PAYLOAD} bytes")));
        }
        if self.0.config.borrow().is_none() {
            return Err(no_broker());
        }
        lock(&self.0.outbox).push(Queued { message, confirm })?;
        self.0.work.notify_one();
        Ok(())
    }

    /// Subscribes to a filter for as long as the result is held. Handlers and [`Mqtt::latest`] get its messages.
    ///
    /// # Errors
    /// `BadArgs` for text that is no filter; `Unavailable` when there are too many.
    pub fn subscribe(&self, filter: &str) -> Result<Subscription> {
        self.add(filter, false)
    }

    /// The same, and its messages are also published on the bus as `mqtt:message {topic, payload, retained}`, at a bounded rate:
    /// in a flood only the newest message of each topic.
    ///
    /// # Errors
    /// As [`Mqtt::subscribe`].
    pub fn want(&self, filter: &str) -> Result<Subscription> {
        self.add(filter, true)
    }

    fn add(&self, filter: &str, bus: bool) -> Result<Subscription> {
        if !is_filter(filter) {
            return Err(Error::bad_args(
                "this is not an MQTT topic: write it as `home/lamp/state`, `home/+/state` or `home/#`",
            ));
        }
        lock(&self.0.filters).add(filter, bus)?;
        self.0.work.notify_one();
        Ok(Subscription { client: self.clone(), filter: filter.to_owned(), bus })
    }

    /// Calls `handler` with each message. It must be quick and must not block.
    pub fn on_message(&self, handler: impl Fn(&Incoming) + Send + Sync + 'static) {
        self.0.handlers.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(handler));
    }

    /// The latest messages that a filter covers, newest first. Only topics of subscriptions are remembered.
    pub fn latest(&self, filter: &str, most: usize) -> Vec<Incoming> {
        lock(&self.0.latest).find(filter, most)
    }

    /// Resolves after the next message.
    pub fn arrival(&self) -> impl Future<Output = ()> + '_ {
        self.0.arrived.notified()
    }

    /// The state of the connection.
    pub fn status(&self) -> Status {
        let shared = &self.0;
        let status = shared.status.borrow().clone();
        let outbox = lock(&shared.outbox);
        let skipped = lock(&shared.feed).skipped;
        Status {
            received: shared.received.load(Relaxed),
            sent: shared.sent.load(Relaxed),
            dropped: outbox.dropped + shared.too_large.load(Relaxed) + skipped,
            waiting: outbox.len(),
            subscriptions: lock(&shared.filters).len(),
            ..status
        }
    }

    /// Follows the state of the connection.
    pub fn watch(&self) -> watch::Receiver<Status> {
        self.0.status.subscribe()
    }
}

fn no_broker() -> Error {
    Error::unavailable("no MQTT broker is set up: set up the service `mqtt` with its host")
        .say("No MQTT broker is set up yet.")
}

/// A quarter more or less, so that many devices do not come back at the same moment.
fn with_jitter(pause: Duration) -> Duration {
    let mut byte = [128];
    let _ = getrandom::fill(&mut byte);
    pause.mul_f64(0.75 + f64::from(byte[0]) / 512.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn subscriptions_are_counted() {
        let client = Mqtt::new(Bus::default());
        let (one, two) = (client.subscribe("a/+").unwrap(), client.want("a/+").unwrap());
        let known = |client: &Mqtt| {
            let bus = lock(&client.0.filters).bus.len();
            (bus, client.status().subscriptions)
        };
        assert_eq!(known(&client), (1, 1));
        client.0.receive(Incoming { topic: "a/b".into(), payload: "1".into(), retain: false, at: Instant::now() });
        drop(two);
        assert_eq!(known(&client), (0, 1));
        assert_eq!(client.latest("a/b", 1)[0].text(), "1");
        drop(one);
        assert_eq!(known(&client), (0, 0));
        assert!(client.latest("a/b", 1).is_empty(), "its value would grow old unseen");
        assert!(client.subscribe("a/#/b").is_err());
    }

    #[test]
    fn pauses_vary() {
        let all: BTreeSet<_> = (0..50).map(|_| with_jitter(Duration::from_secs(60))).collect();
        assert!(all.len() > 5);
        let (least, most) = (all.first().unwrap(), all.last().unwrap());
        assert!(*least >= Duration::from_secs(45) && *most <= Duration::from_secs(75));
    }

    #[tokio::test]
    async fn without_a_broker_nothing_is_queued() {
        let client = Mqtt::new(Bus::default());
        assert!(matches!(client.publish(Message::state("a", "1")), Err(Error::Unavailable(_))));
        let sent = client.publish_now(Message::event("a", "1"), Duration::from_secs(1)).await;
        assert!(matches!(sent, Err(Error::Unavailable(why)) if why.contains("set up")));
        assert!(matches!(client.publish(Message::state("a/+", "1")), Err(Error::BadArgs(_))));
    }
}
