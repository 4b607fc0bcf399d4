//! Why a pin could not be read or driven.

use crate::Pin;

/// The result of a pin call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a pin could not be read or driven.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The number is none of a header pin.
    #[error("{0} is not a pin: header pins have BCM numbers from 0 to {max}", max = Pin::MAX)]
    BadPin(i64),
    /// There is no driver; the text says why and what to do about it.
    #[error("pins cannot be used here: {0}")]
    NoDriver(String),
    /// The driver does not have this pin.
    #[error("this board has no pin {0}: `gpio_list` shows the pins it has")]
    NoSuchPin(Pin),
    /// It is switched too fast.
    #[error(
        "pin {pin} is switched too often: {most} times a second are let through, after a short burst; try again in {seconds} s"
    )]
    TooFast {
        /// Which pin.
        pin: Pin,
        /// How often it may be switched in a second.
        most: u32,
        /// When it may be switched again.
        seconds: u64,
    },
    /// A rule of this board forbids it: the allow-list, an interlock, the direction.
    #[error("{0}")]
    Refused(String),
    /// The driver cannot do this at all, or not here; the text says why.
    #[error("{0}")]
    Unsupported(String),
    /// A bus or a device on it did not do it.
    #[error("{0}")]
    Bus(String),
    /// The driver could not do it.
    #[error("pin {pin} could not be used: {what}")]
    Failed {
        /// Which pin.
        pin: Pin,
        /// The system's error.
        what: String,
    },
}

impl TryFrom<i64> for Pin {
    type Error = Error;
    fn try_from(number: i64) -> Result<Self> {
        Self::new(number).ok_or(Error::BadPin(number))
    }
}

impl From<Error> for tool::Error {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::BadPin(_) => Self::BadArgs(text.into()),
            Error::NoDriver(_) => Self::Unavailable(text.into()),
            Error::NoSuchPin(_) => Self::NotFound(text.into()),
            Error::TooFast { .. } => Self::RateLimited(text.into()),
            Error::Refused(_) => Self::Denied(text.into()),
            Error::Unsupported(_) => Self::Unavailable(text.into()),
            Error::Failed { .. } | Error::Bus(_) => Self::Failed(text.into()),
        }
    }
}
