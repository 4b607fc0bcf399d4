//! Layer 2: care of the device. Scheduled backups, checks in plain words, the budget of what is written to the card, a clean
//! end before the power is gone, the last lines of the log, and the support bundle.
//!
//! Nothing here decides who may ask: the doors do. What this crate cannot know by itself is given to it: the copying of the
//! data ([`Backups`]), the names of people ([`support::Input`]), checks of other parts ([`Checks::add`]).

mod backups;
mod checks;
mod disk;
mod logs;
mod mask;
mod plan;
mod power;
mod shutdown;
pub mod support;
mod writes;

pub use backups::{BackupView, Backups, Copying};
pub use checks::{Check, Checks, Clockwork, Facts, ModelFacts, NetworkFacts, Outcome};
pub use disk::DiskIo;
pub use logs::LogRing;
pub use plan::{Every, PlanChange, PlanView};
pub use power::{Power, PowerConfig};
pub use writes::{OwnWrites, WriteReport, Writes};

use futures::future::BoxFuture;
use jiff::civil::Date;
use scrub::Scrubber;
use std::{
    path::Path,
    sync::{Arc, LazyLock, OnceLock},
    time::Duration,
};
use store::Store;
use tokio_util::sync::CancellationToken;
use tool::Ports;

/// How often is looked at what was written.
const LOOK_EVERY: Duration = Duration::from_secs(600);

/// The last lines of the log of this process.
static LOG: LazyLock<LogRing> = LazyLock::new(LogRing::default);
static OWN_WRITES: OnceLock<OwnWrites> = OnceLock::new();

/// Opens what this process may not open once it hides its memory from others; to be called first of all.
pub fn begin() {
    let _ = OWN_WRITES.set(OwnWrites::open());
}

/// The last lines of the log, to which the writer of the log adds.
pub fn log() -> LogRing {
    LOG.clone()
}

/// Everything that cares for the device; cheap to clone.
#[derive(Clone)]
pub struct Care {
    pub backups: Backups,
    pub checks: Checks,
    pub writes: Writes,
    pub power: Power,
    pub scrubber: Scrubber,
    /// The configuration without what is personal, for the support bundle.
    pub config: Arc<str>,
    store: Store,
    ports: Ports,
    tell: Telling,
}

/// The parts that the care of a device needs.
pub struct Parts {
    pub store: Store,
    pub ports: Ports,
    pub board: board::Board,
    pub scrubber: Scrubber,
    pub copy: Copying,
    pub tell: Telling,
    pub power: PowerConfig,
    /// The bytes that may be written each day, in MB; 0: computed from the card.
    pub daily_write_mb: u64,
    pub config: String,
}

impl Care {
    pub fn new(parts: Parts) -> Self {
        let Parts { store, ports, board, scrubber, copy, tell, power, daily_write_mb, config } = parts;
        Self {
            backups: Backups::new(&store, ports.clone(), copy, tell.clone(), scrubber.clone()),
            checks: Checks::default(),
            writes: Writes::open(&store, OWN_WRITES.get().map(OwnWrites::again).unwrap_or_default(), daily_write_mb),
            power: Power::new(power, board, &store, ports.clone(), tell.clone()),
            scrubber,
            config: config.into(),
            store,
            ports,
            tell,
        }
    }

    /// What was written to the disk up to now.
    pub fn written(&self) -> WriteReport {
        self.writes.look(self.today(), self.store.folder().and_then(DiskIo::of_folder))
    }

    fn today(&self) -> Date {
        self.ports.clock.local().date()
    }

    /// Works until `closing`: makes backups, watches the power, and counts what is written.
    pub async fn work(self, closing: CancellationToken) {
        let backups = self.backups.clone().watch(closing.clone());
        let power = self.power.clone().watch(closing.clone());
        tokio::join!(backups, power, self.count(closing));
    }

    async fn count(&self, closing: CancellationToken) {
        let counting = async {
            loop {
                let report = self.written();
                if self.writes.is_due() {
                    self.writes.save();
                }
                if report.exceeded && self.writes.should_tell(self.today()) {
                    tracing::warn!(bytes = report.all_today, "more is written to the disk than it bears for long");
                    tell_household(&self.tell, "The card wears out", &report.say).await;
                }
                tokio::time::sleep(LOOK_EVERY).await;
            }
        };
        let _ = closing.run_until_cancelled(counting).await;
        self.written();
        self.writes.save();
    }

    /// The data folder; `None` in memory.
    pub fn folder(&self) -> Option<&Path> {
        self.store.folder()
    }
}

/// Shows everybody in the household a notice of Hob's own, by its title and text.
pub type Telling = Arc<dyn Fn(String, String) -> BoxFuture<'static, tool::Result<()>> + Send + Sync>;

/// Tells everybody in the household something that a person should do.
async fn tell_household(tell: &Telling, title: &str, text: &str) {
    if let Err(error) = tell(title.to_owned(), text.to_owned()).await {
        tracing::warn!(%error, %title, "the household could not be notified");
    }
}
