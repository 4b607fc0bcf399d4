//! Background tasks: schedules and triggers, sensors, the indexes of words, the slow check of stored records, maintenance,
//! events of pins.

use super::{
    awaited::subscribe_for_rules,
    compacting::{IdleHours, compact_in_idle_hours},
    update::{Probe, UpdateService},
};
use agent::Agent;
use anyhow::Result;
use board::{Board, Pin};
use documents::MemoryDocuments;
use home_assistant::HomeAssistant;
use mail::MailWatch;
use rules::Rules;
use scheduler::Scheduler;
use skills::Skills;
use std::{net::SocketAddr, sync::Arc, time::Duration};
use store::Store;
use tokio::{sync::broadcast::error::RecvError, task::JoinHandle};
use tokio_util::sync::CancellationToken;
use tool::{Bus, Channel, Cx, Ports, Principal, UserId, Via};
use tools_browser::BrowserTools;
use vectors::Vectors;
use workspace::Workspaces;

/// Delay after a start before missing embeddings and indexes are computed.
pub(super) const BACKFILL_AFTER: Duration = Duration::from_secs(60);
/// Minimum time between two notices of damage.
const NOTIFY_AGAIN: Duration = Duration::from_secs(24 * 3600);
const DAMAGED: &str = "Some stored records are damaged and cannot be shown. `hob doctor --backup FILE` names them, and the \
                       backup that has them; `hob restore FILE` brings that back.";
/// Interval of maintenance.
pub(super) const MAINTENANCE_EVERY: Duration = Duration::from_secs(600);
/// Delay after a start before the slow check of stored records begins, and its interval.
const CHECK_AFTER: Duration = Duration::from_secs(300);
const CHECK_EVERY: Duration = Duration::from_secs(60);
/// Delay after a start before words are indexed, the interval, and the pause between steps.
const INDEX_AFTER: Duration = Duration::from_secs(20);
const INDEX_EVERY: Duration = Duration::from_secs(60);
const INDEX_PAUSE: Duration = Duration::from_millis(50);

/// The interval at which pins are read that triggers wait for and that do not report their edges, shorter than a press of a
/// button; and of asking for them.
const PINS_EVERY: Duration = Duration::from_millis(100);
const NO_PINS: Duration = Duration::from_secs(2);
/// Interval of removing old files from the trash.
const TRASH_EVERY: Duration = Duration::from_secs(3600);

/// Tasks that only a daemon starts: schedules, triggers, pins and sensors, the indexes of words and the slow check.
pub struct BackgroundTasks {
    pub(super) scheduler: Scheduler,
    pub(super) rules: Rules,
    /// The rules of hob.toml.
    pub(super) file_rules: Vec<serde_json::Map<String, serde_json::Value>>,
    pub(super) board: Board,
    pub(super) pins: tools_hardware::Pins,
    pub(super) home_assistant: HomeAssistant,
    pub(super) store: Store,
    pub(super) ports: Ports,
    pub(super) compacting: IdleHours,
    pub(super) mail: MailWatch,
    pub(super) mqtt: home::mqtt::Door,
    pub(super) care: care::Care,
    pub(super) updates: UpdateService,
}

impl BackgroundTasks {
    /// Proves a version on trial, and follows the channel, until `closing`. `page` is the address of the page, and `network` says
    /// whether the device has an address.
    pub fn start_updates(
        &self,
        page: SocketAddr,
        network: impl Fn() -> bool + Send + Sync + 'static,
        closing: &CancellationToken,
    ) {
        let probe = Probe {
            store: self.store.clone(),
            page,
            network: Arc::new(network),
            home_assistant: self.home_assistant.clone(),
            mqtt: self.mqtt.home.client().clone(),
            board: self.board.clone(),
            pins: self.pins.clone(),
        };
        let proving = self.updates.clone().prove(probe, self.ports.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(proving));
        tokio::spawn(closing.clone().run_until_cancelled_owned(self.updates.clone().sweep()));
        let following = self.updates.clone().follow_channel(self.ports.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(following));
        let looking = self.updates.clone().follow_folders(self.ports.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(looking));
    }

    /// Runs schedules and triggers until `closing`. The returned task ends once the outcomes of the last calls are stored.
    pub fn start(self, closing: &CancellationToken) -> Result<JoinHandle<()>> {
        self.rules.watch(closing)?;
        if let Some(folder) = self.store.folder() {
            self.rules.follow_files(folder, self.file_rules, closing);
        }
        let subscribed =
            subscribe_for_rules(self.rules.clone(), self.mqtt.home.client().clone(), self.home_assistant.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(subscribed));
        tokio::spawn(closing.clone().run_until_cancelled_owned(watch_pins(self.board.clone(), self.rules)));
        let presses = tools_hardware::publish_presses(&self.pins, self.ports.bus.clone());
        tokio::spawn(closing.clone().run_until_cancelled_owned(presses));
        self.board.boot();
        tokio::spawn(leave_safe(self.board, closing.clone()));
        tokio::spawn(self.home_assistant.run(closing.clone()));
        tokio::spawn(self.mail.run(closing.clone()));
        tokio::spawn(compact_in_idle_hours(self.store.clone(), self.compacting, closing.clone()));
        tokio::spawn(closing.clone().run_until_cancelled_owned(self.pins.watch_sensors()));
        tokio::spawn(closing.clone().run_until_cancelled_owned(tend_words(self.store.clone())));
        tokio::spawn(closing.clone().run_until_cancelled_owned(check_slowly(self.store, self.ports)));
        let (mqtt, calling) = (self.mqtt.start(closing), self.scheduler.start(closing.clone()));
        let caring = tokio::spawn(self.care.work(closing.clone()));
        Ok(tokio::spawn(async move {
            let _ = tokio::join!(mqtt, calling, caring);
        }))
    }
}

/// Expires unanswered questions, resumes the runs that waited for them, and deletes the oldest records of both.
pub(super) fn schedule_maintenance(agent: Agent, ports: Ports, closing: CancellationToken) {
    let maintenance = async move {
        loop {
            tokio::time::sleep(MAINTENANCE_EVERY).await;
            if let Err(error) = agent.maintain(&ports) {
                tracing::warn!(%error, "could not delete old runs");
            }
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(maintenance));
}

/// Closes the browsers at shutdown.
pub(super) fn close_browsers(browsers: BrowserTools, closing: CancellationToken) {
    tokio::spawn(async move {
        closing.cancelled().await;
        browsers.close_all();
    });
}

/// Drops collections of vectors that nobody uses from memory.
pub(super) fn maintain_vectors(vectors: Vectors, closing: CancellationToken) {
    let maintenance = async move {
        loop {
            tokio::time::sleep(MAINTENANCE_EVERY).await;
            vectors.maintain();
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(maintenance));
}

/// Publishes changed pins on the bus.
pub(super) fn publish_pin_changes(board: &Board, bus: Bus) {
    let mut edges = board.edges();
    tokio::spawn(async move {
        loop {
            match edges.recv().await {
                Ok(edge) => {
                    bus.publish("pin:changed", None, serde_json::json!({"pin": edge.pin, "high": edge.high}));
                }
                // Some changes were missed; continue with the next ones.
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            }
        }
    });
}

/// Drives fail-safe states at the end. Calls that end later may still switch; dropping the board then drives them again.
async fn leave_safe(board: Board, closing: CancellationToken) {
    closing.cancelled().await;
    board.fail_safe();
}

/// Watches the pins that triggers wait for; those that do not report their edges are read.
async fn watch_pins(board: Board, rules: Rules) {
    if !board.has_driver() {
        return;
    }
    loop {
        let awaited = rules.awaited_pins();
        let mut pins: Vec<Pin> = awaited.iter().filter_map(|number| Pin::new(*number)).collect();
        pins.retain(|pin| !board.watch(*pin));
        for pin in pins.iter().copied() {
            // A pin that cannot be read says so wherever somebody looks at it.
            let _ = board.read(pin).await;
        }
        tokio::time::sleep(if pins.is_empty() { NO_PINS } else { PINS_EVERY }).await;
    }
}

/// Checks some stored records a minute. Publishes the number of damaged ones, and notifies the owner once a day. Everybody
/// reads the bus: only the log and `hob doctor` name the records.
async fn check_slowly(store: Store, ports: Ports) {
    tokio::time::sleep(CHECK_AFTER).await;
    let mut notified: Option<tokio::time::Instant> = None;
    loop {
        match store.patrol().await {
            Ok(found) if !found.damaged.is_empty() => {
                ports.bus.publish("data:damaged", None, serde_json::json!({"records": found.damaged.len()}));
                if notified.is_none_or(|at| at.elapsed() >= NOTIFY_AGAIN) {
                    notified = Some(tokio::time::Instant::now());
                    notify_owner(&ports, "Damaged data", DAMAGED).await;
                }
            }
            Ok(_) => {}
            Err(error) => tracing::warn!(%error, "stored records could not be checked"),
        }
        tokio::time::sleep(CHECK_EVERY).await;
    }
}

/// Builds the indexes of words, and includes in them what was written since.
async fn tend_words(store: Store) {
    tokio::time::sleep(INDEX_AFTER).await;
    loop {
        loop {
            match store.tend_words().await {
                Ok(true) => tokio::time::sleep(INDEX_PAUSE).await,
                Ok(false) => break,
                Err(error) => {
                    tracing::warn!(%error, "words could not be indexed; searches read everything instead");
                    break;
                }
            }
        }
        tokio::time::sleep(INDEX_EVERY).await;
    }
}

/// Notifies a person that their least valuable memories made room for new ones.
pub(super) async fn notify_of_forgotten(ports: &Ports, person: UserId, count: usize) {
    let principal = Principal { user: person, ..Principal::owner() };
    let cx = Cx::root(ports.clone(), principal, Via::direct(Channel::Machine));
    let text = format!(
        "You have more than {} memories, the most there is room for. The {count} least important and longest unused ones are in \
         the bin, which brings them back for 30 days.",
        memory::MOST
    );
    let args = serde_json::json!({"title": "Memories made room", "text": text});
    if let Err(error) = cx.call("notify", args).await {
        tracing::warn!(%error, "a person could not be notified of forgotten memories");
    }
}

/// Notifies the owner of a problem of the device.
pub(super) async fn notify_owner(ports: &Ports, title: &str, text: &str) {
    let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Machine));
    if let Err(error) = cx.call("notify", serde_json::json!({"title": title, "text": text})).await {
        tracing::warn!(%error, title, "the owner could not be notified");
    }
}

/// Computes the indexes of documents that a power cut, a restore or another model left without.
pub(super) fn schedule_indexing(documents: MemoryDocuments, closing: CancellationToken) {
    let index = async move {
        tokio::time::sleep(BACKFILL_AFTER).await;
        match documents.backfill().await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "indexed memory documents"),
            Err(error) => tracing::warn!(%error, "could not index memory documents"),
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(index));
}

/// Brings the copies of skills, which backups contain, in line with their folders, at the start and every ten minutes; after a
/// restore the folders with the copies.
pub(super) fn schedule_skills(skills: Skills, closing: CancellationToken) {
    let reconcile = async move {
        loop {
            if let Err(error) = skills.reconcile().await {
                tracing::warn!(%error, "skills could not be copied for backups");
            }
            tokio::time::sleep(MAINTENANCE_EVERY).await;
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(reconcile));
}

/// Finishes what a power cut left of changes of files, and removes old files from the trash now and then.
pub(super) fn maintain_workspace(workspaces: Workspaces, closing: CancellationToken) {
    let maintain = async move {
        workspaces.repair().await;
        loop {
            tokio::time::sleep(TRASH_EVERY).await;
            workspaces.prune().await;
        }
    };
    tokio::spawn(closing.run_until_cancelled_owned(maintain));
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::BoxFuture;
    use persona::Documents;
    use serde_json::Value;
    use std::sync::Mutex;
    use tool::{BusEvent, Dispatch, Output, SystemClock, ToolInfo, Topics};

    /// Records the calls that are made.
    #[derive(Default)]
    struct Calls(Mutex<Vec<(String, Value)>>);

    impl Dispatch for Calls {
        fn call(&self, _: Cx, name: &str, args: Value) -> BoxFuture<'static, tool::Result<Output>> {
            self.0.lock().unwrap().push((name.to_owned(), args));
            Box::pin(async { Ok(Output::text("done")) })
        }
        fn list(&self, _: &Cx) -> Vec<ToolInfo> {
            vec![]
        }
    }

    /// A record that cannot be read as a document: its text has no end.
    #[derive(Clone, serde::Serialize, serde::Deserialize)]
    struct Bent(u64);

    impl store::Record for Bent {
        const NAME: &'static str = "documents";
        const WORD: &'static str = "document";
        const LEVEL: store::Level = store::Level::Household;
    }

    #[tokio::test(start_paused = true)]
    async fn damage_is_published_and_the_owner_notified_some_minutes_after_a_start() {
        let (calls, store) = (Arc::new(Calls::default()), Store::in_memory().unwrap());
        let _documents = Documents::new(&store);
        let clock = Arc::new(SystemClock::new(Some("UTC")).unwrap());
        let ports = Ports { dispatch: calls.clone(), ..Ports::unconnected(clock) };
        let cx = Cx::root(ports.clone(), Principal::owner(), Via::direct(Channel::Api));
        store.collection::<Bent>().insert(&cx, "t", Bent(u64::MAX)).await.unwrap();
        let mut events = ports.bus.listen_to(None, Topics::parse("data:*").unwrap());
        let begun = tokio::time::Instant::now();
        let checking = tokio::spawn(check_slowly(store, ports));
        let Some(BusEvent::Event(event)) = events.next().await else { panic!("nothing was published") };
        assert_eq!((&event.topic[..], &event.data), ("data:damaged", &serde_json::json!({"records": 1})));
        assert!((CHECK_AFTER..CHECK_AFTER + CHECK_EVERY).contains(&begun.elapsed()));
        tokio::time::sleep(CHECK_EVERY).await;
        checking.abort();
        let calls = calls.0.lock().unwrap();
        assert!(matches!(&calls[..], [(name, _)] if name == "notify"), "{calls:?}");
    }
}
