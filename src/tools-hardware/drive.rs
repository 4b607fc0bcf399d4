//! Toggle a pin, pulse it, and wait for it to change.

use crate::{
    names::{answer, called, capital},
    pins::Pins,
};
use board::Pin;
use std::time::{Duration, Instant};
use text_kit::duration_words;
use tokio::sync::broadcast::error::RecvError;
use tool::prelude::*;

/// The longest pulse in milliseconds.
const LONGEST_PULSE: u32 = 60_000;
/// How long is waited for an edge by default, and at most, in seconds.
const WAIT: u32 = 10;
pub(crate) const LONGEST_WAIT: u32 = 60;
/// How often a pin is read that does not report its edges.
const READ_EVERY: Duration = Duration::from_millis(20);

/// Switch one output pin to the other level.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Toggle {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
}

pub(crate) async fn toggle(pins: Pins, cx: Cx, Toggle { pin }: Toggle) -> Result<Output> {
    let names = pins.names.all(&cx)?;
    let name = called(&names, pin);
    pins.forget_way_back(&cx, &name).await;
    let high = !pins.board.read(pin).await?.high;
    let level = pins.switch(pin, high, &name).await?;
    answer(&names, level)
}

/// Switch one output pin on for some milliseconds, such as a door opener. The board switches it off by itself.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pulse {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// How long it is on, in milliseconds.
    #[schemars(range(min = 1, max = 60_000))]
    ms: u32,
}

pub(crate) async fn pulse(pins: Pins, cx: Cx, Pulse { pin, ms }: Pulse) -> Result<Output> {
    if ms == 0 || ms > LONGEST_PULSE {
        return Err(Error::bad_args(format!("`ms` is {ms}: give 1 to {LONGEST_PULSE} milliseconds")));
    }
    let name = called(&pins.names.all(&cx)?, pin);
    let lasts = Duration::from_millis(ms.into());
    let mut edges = pins.board.edges();
    pins.board.pulse(pin, lasts).await?;
    pins.used.note();
    // It ends without this call; waiting for it reports that it did.
    let ended = async {
        while let Ok(edge) = edges.recv().await {
            if edge.pin == pin && !edge.high {
                return;
            }
        }
    };
    let _ = tokio::time::timeout(lasts + Duration::from_secs(1), ended).await;
    let high = pins.board.read(pin).await?.high;
    let time = if ms.is_multiple_of(1000) { duration_words((ms / 1000).into()) } else { format!("{ms} ms") };
    let after = if high { "on" } else { "off again" };
    let sentence = format!("{} was on for {time} and is {after}.", capital(&name));
    Ok(Output::json(json!({"pin": pin, "ms": ms, "high": high}))?.say(sentence))
}

/// Which change to wait for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Change {
    /// From low to high.
    Rising,
    /// From high to low.
    Falling,
    #[default]
    Both,
}

/// Wait until one pin changes its level, such as a button that is pressed. Returns at the change, or when the time is over.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Watch {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// Which change (default: both).
    #[serde(default)]
    edge: Change,
    /// How many seconds to wait (default: 10).
    #[schemars(range(min = 1, max = 60))]
    seconds: Option<u32>,
}

pub(crate) async fn watch(pins: Pins, cx: Cx, Watch { pin, edge, seconds }: Watch) -> Result<Output> {
    let name = capital(&called(&pins.names.all(&cx)?, pin));
    let seconds = seconds.unwrap_or(WAIT);
    if seconds == 0 || seconds > LONGEST_WAIT {
        return Err(Error::bad_args(format!("`seconds` is {seconds}: give 1 to {LONGEST_WAIT}")));
    }
    let mut edges = pins.board.edges();
    let watched = pins.board.watch(pin);
    let before = pins.board.read(pin).await?.high;
    pins.used.note();
    let began = Instant::now();
    let wanted = |high: bool| match edge {
        Change::Rising => high,
        Change::Falling => !high,
        Change::Both => true,
    };
    let change = async {
        loop {
            match edges.recv().await {
                Ok(edge) if edge.pin == pin && wanted(edge.high) => return Some(edge.high),
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return None,
            }
        }
    };
    let reads = async {
        loop {
            tokio::time::sleep(READ_EVERY).await;
            // Reading reports the edge.
            if !watched {
                pins.board.read(pin).await?;
            }
        }
    };
    let changed = tokio::select! {
        changed = change => changed,
        failed = reads => return failed,
        () = tokio::time::sleep(Duration::from_secs(seconds.into())) => None,
    };
    let on_or_off = |high: bool| if high { "on" } else { "off" };
    let sentence = match changed {
        Some(high) => format!("{name} is {} now.", on_or_off(high)),
        None => {
            let time = duration_words(seconds.into());
            format!("{name} did not change for {time}; it is {}.", on_or_off(before))
        }
    };
    let after = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
    let found = json!({
        "pin": pin,
        "changed": changed.is_some(),
        "high": changed.unwrap_or(before),
        "afterMs": after,
    });
    Ok(Output::json(found)?.say(sentence))
}
