//! Pins switched several at a time or several times: blinking, and everything off.

use crate::{
    names::{called, capital},
    pins::Pins,
};
use board::{Board, Pin};
use futures::FutureExt;
use std::time::Duration;
use text_kit::{counted, join_and};
use tool::prelude::*;

/// How long a blinking pin stays at each level.
const EACH: Duration = Duration::from_millis(350);
/// How often it blinks if no number is given, and at most.
const TIMES: u32 = 3;
const MOST: u32 = 10;

/// Switch an output pin on and off some times, and leave it as it was.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Blink {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// How often (default: 3).
    #[schemars(range(min = 1, max = 10))]
    times: Option<u32>,
}

/// Leaves a pin as it was, also when the call is cancelled while it is on.
struct Back(Board, Pin, bool);

impl Drop for Back {
    fn drop(&mut self) {
        let Self(board, pin, before) = self;
        if let Some(Err(error)) = board.write(*pin, *before).now_or_never() {
            tracing::warn!(%pin, %error, "a pin that blinked could not be left as it was");
        }
    }
}

pub(crate) async fn blink(pins: Pins, cx: Cx, Blink { pin, times }: Blink) -> Result<Output> {
    let names = pins.names.all(&cx)?;
    let (name, times) = (called(&names, pin), times.unwrap_or(TIMES).clamp(1, MOST));
    let before = pins.board.read(pin).await?.high;
    let back = Back(pins.board.clone(), pin, before);
    let all = async {
        for _ in 0..times {
            pins.board.write(pin, !before).await?;
            tokio::time::sleep(EACH).await;
            pins.board.write(pin, before).await?;
            tokio::time::sleep(EACH).await;
        }
        Ok::<_, board::Error>(())
    };
    let done = all.await;
    drop(back);
    done?;
    let often = match times {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => counted(times, "time"),
    };
    let after = if before { "on" } else { "off" };
    let sentence = format!("{} blinked {} and is {after} again.", capital(&name), often);
    Ok(Output::json(json!({"pin": pin, "times": times, "high": before}))?.say(sentence))
}

/// Switch off all output pins that are on. Sensors are left alone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AllOff {}

pub(crate) async fn all_off(pins: Pins, cx: Cx, AllOff {}: AllOff) -> Result<Output> {
    let names = pins.names.all(&cx)?;
    let levels = pins.board.levels().await?;
    let is_sensor = |pin: Pin| names.get(&pin.number()).is_some_and(|named| named.sensor);
    let mut off = vec![];
    for level in levels.into_iter().filter(|level| level.high && level.driven && !is_sensor(level.pin)) {
        let name = called(&names, level.pin);
        pins.switch(level.pin, false, &name).await?;
        off.push((level.pin, name));
    }
    let said: Vec<&str> = off.iter().map(|(_, name)| name.as_str()).collect();
    let sentence = match said.as_slice() {
        [] => "Everything was off already.".to_owned(),
        [one] => format!("{} is off.", capital(one)),
        several => format!("{} are off.", capital(&join_and(several))),
    };
    let all: Vec<Pin> = off.iter().map(|(pin, _)| *pin).collect();
    Ok(Output::json(json!({"count": all.len(), "pins": all}))?.say(sentence))
}
