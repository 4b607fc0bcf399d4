//! The clock as a port, so that tests can fix the time.

use jiff::{Timestamp, Zoned, tz::TimeZone};

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

/// The system's clock.
pub struct SystemClock {
    zone: TimeZone,
}

impl SystemClock {
    /// The system's clock in `zone` (an IANA name such as `Europe/Vienna`), else in the system's own zone.
    ///
    /// # Errors
    /// `BadArgs` when the zone is unknown.
    pub fn new(zone: Option<&str>) -> crate::Result<Self> {
        let zone = match zone {
            None => crate::zone::system(),
            Some(name) => crate::zone(name).ok_or_else(|| {
                crate::Error::bad_args(format!("`{name}` is not a time zone: use a name such as Europe/Vienna"))
            })?,
        };
        Ok(Self { zone })
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
    fn zone(&self) -> TimeZone {
        self.zone.clone()
    }
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
