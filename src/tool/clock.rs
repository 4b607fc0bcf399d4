//! The clock as a port, so that tests can fix the time.

use jiff::{Timestamp, Zoned, tz::TimeZone};
use std::sync::{PoisonError, RwLock};

/// The time and the time zone.
pub trait Clock: Send + Sync + 'static {
    /// Now.
    fn now(&self) -> Timestamp;
    /// The household's time zone.
    fn zone(&self) -> TimeZone;
    /// Now, in the household's time zone.
    fn local(&self) -> Zoned {
        self.now().to_zoned(self.zone())
    }
}

/// The system's clock, in a time zone that can be changed while it runs.
pub struct SystemClock {
    zone: RwLock<TimeZone>,
}

impl SystemClock {
    /// The system's clock in `zone` (an IANA name such as `Europe/Vienna`), else in the system's own zone.
    ///
    /// # Errors
    /// `BadArgs` when the zone is unknown.
    pub fn new(zone: Option<&str>) -> crate::Result<Self> {
        Ok(Self { zone: RwLock::new(zone_or_system(zone)?) })
    }

    /// Changes the zone, named as in [`SystemClock::new`].
    ///
    /// # Errors
    /// `BadArgs` when the zone is unknown; the clock keeps its own then.
    pub fn set_zone(&self, zone: Option<&str>) -> crate::Result<()> {
        let zone = zone_or_system(zone)?;
        *self.zone.write().unwrap_or_else(PoisonError::into_inner) = zone;
        Ok(())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
    fn zone(&self) -> TimeZone {
        self.zone.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn zone_or_system(name: Option<&str>) -> crate::Result<TimeZone> {
    let Some(name) = name else { return Ok(crate::zone::system()) };
    crate::zone(name)
        .ok_or_else(|| crate::Error::bad_args(format!("`{name}` is not a time zone: use a name such as Europe/Vienna")))
}

/// A fixed time, for tests.
pub struct FixedClock(pub Zoned);

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        self.0.timestamp()
    }
    fn zone(&self) -> TimeZone {
        self.0.time_zone().clone()
    }
}
