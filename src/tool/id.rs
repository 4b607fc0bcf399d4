//! Ids: 16 bytes, ordered by time even when the clock goes backwards, written as UUID version 7.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::{fmt, str::FromStr, sync::Mutex, time::SystemTime};

/// A time-ordered id. Bytes 0–5 are milliseconds since 1970, then 12 bits of sequence and 62 random bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Id([u8; 16]);

/// The last (milliseconds, sequence): one per process, because ids must be unique in it.
static LAST: Mutex<(u64, u16)> = Mutex::new((0, 0));
const SEQUENCE_END: u16 = 1 << 12;

impl Id {
    /// The nil id: all zero.
    pub const NIL: Id = Id([0; 16]);

    /// The time of an id made now: milliseconds since 1970. Like ids, it does not go back with the clock; cheaper than
    /// making one.
    pub fn now_ms() -> u64 {
        let now = clock_ms();
        let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if now > last.0 || is_absurd(last.0, now) {
            *last = (now, 0);
        }
        last.0
    }

    /// A new id, greater than every id made before it in this process and above [`Id::raise_floor`].
    pub fn new() -> Self {
        let now = clock_ms();
        let (ms, sequence) = {
            let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            *last = match *last {
                (ms, _) if now > ms || is_absurd(ms, now) => (now, 0),
                (ms, n) if n + 1 < SEQUENCE_END => (ms, n + 1),
                (ms, _) => (ms + 1, 0),
            };
            *last
        };
        let mut b = [0u8; 16];
        // Without randomness the sequence alone still keeps ids of one process apart.
        let _ = getrandom::fill(&mut b[8..]);
        b[..6].copy_from_slice(&ms.to_be_bytes()[2..]);
        b[6..8].copy_from_slice(&(0x7000 | sequence).to_be_bytes());
        b[8] = 0x80 | (b[8] & 0x3f);
        Self(b)
    }

    /// Makes new ids later than `ms` (milliseconds since 1970). The store calls this with the
    /// newest time it has seen, so that a clock that went back cannot reorder records. A time more than a year ahead of a
    /// clock that was set is not used: it was wrong once, and would hold all later ids there.
    pub fn raise_floor(ms: u64) {
        let mut last = LAST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if ms > last.0 && !is_absurd(ms, clock_ms()) {
            *last = (ms, 0);
        }
    }

    /// When the id was made: milliseconds since 1970.
    pub fn millis(&self) -> u64 {
        self.0[..6].iter().fold(0, |ms, b| ms << 8 | u64::from(*b))
    }

    /// The 16 bytes, as stored in keys.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// An id from its 16 bytes.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

/// A clock before 2025 (milliseconds since 1970) has not been set: the newest time known is better than it.
const CLOCK_IS_SET: u64 = 1_735_689_600_000;
/// How far, in milliseconds, a clock that was set may be behind. A board without a battery was perhaps off for that long.
const FURTHEST: u64 = 366 * 24 * 3_600_000;

/// Whether a time cannot have been right, by what the clock says now.
fn is_absurd(ms: u64, now: u64) -> bool {
    now >= CLOCK_IS_SET && ms > now.saturating_add(FURTHEST)
}

fn clock_ms() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64)
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, b) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{b:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Id {
    type Err = crate::Error;
    /// Reads the 36 characters of a UUID; dashes may be left out.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || {
            let start: String = text.chars().take(40).collect();
            crate::Error::bad_args(format!("`{start}` is not an id: ids look like 0197f3a2-…."))
        };
        let mut bytes = [0u8; 16];
        let mut digits = text.bytes().filter(|b| *b != b'-');
        for byte in &mut bytes {
            let hex = |d: Option<u8>| d.and_then(|d| (d as char).to_digit(16)).ok_or_else(wrong);
            *byte = (hex(digits.next())? << 4 | hex(digits.next())?) as u8;
        }
        if digits.next().is_some() { Err(wrong()) } else { Ok(Self(bytes)) }
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if s.is_human_readable() { s.collect_str(self) } else { self.0.serialize(s) }
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        if d.is_human_readable() {
            String::deserialize(d)?.parse().map_err(de::Error::custom)
        } else {
            <[u8; 16]>::deserialize(d).map(Self)
        }
    }
}

impl schemars::JsonSchema for Id {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Id".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string", "format": "uuid"})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_even_when_the_clock_does_not() {
        let ids: Vec<Id> = (0..10_000).map(|_| Id::new()).collect();
        assert!(ids.windows(2).all(|w| w[0] < w[1]));
        let future = Id::new().millis() + 3_600_000;
        Id::raise_floor(future);
        assert!(Id::new().millis() >= future && Id::now_ms() >= future);
        let (before, time, after) = (Id::new(), Id::now_ms(), Id::new());
        assert!(before.millis() <= time && time <= after.millis() && before < after);
    }

    #[test]
    fn a_clock_that_was_wrong_once_does_not_hold_later_ids() {
        let now = clock_ms();
        Id::raise_floor(now + 2 * FURTHEST);
        assert!(Id::now_ms() < now + FURTHEST && Id::new().millis() < now + FURTHEST);
        // While it runs, too.
        assert!(is_absurd(now + 2 * FURTHEST, now) && !is_absurd(now + FURTHEST / 2, now));
        // A board that starts in 1970 goes by the newest time it knows.
        assert!(!is_absurd(now, 0) && !is_absurd(now + 2 * FURTHEST, CLOCK_IS_SET - 1));
    }

    #[test]
    fn text_and_back() {
        let id = Id::new();
        assert_eq!(id.to_string().len(), 36);
        assert_eq!(id.to_string().parse::<Id>(), Ok(id));
        for bad in ["", "12", "zz97f3a2-0000-7000-8000-000000000000", "0197f3a2-0000-7000-8000-0000000000000"] {
            assert!(bad.parse::<Id>().is_err(), "{bad}");
        }
    }
}
