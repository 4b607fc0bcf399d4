//! PWM: dimming, fan speed, servos.

use crate::{
    names::{called, capital},
    pins::Pins,
};
use board::{Pin, PwmSource, Wave};
use tool::prelude::*;

/// The frequency by default, and the limits, in hertz.
const HERTZ: f64 = 1000.0;
const HERTZ_RANGE: (f64, f64) = (0.5, 50_000.0);
/// Servos take a pulse fifty times a second: of these microseconds at 0° and at 180°, by default, and within these limits.
const SERVO_HERTZ: f64 = 50.0;
const SERVO_PULSES: (u32, u32) = (500, 2500);
const SERVO_LIMITS: (u32, u32) = (200, 3000);

/// Drive one output pin with a PWM signal, such as to dim a lamp or to set the speed of a fan. `gpio_write` ends it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PwmWrite {
    /// BCM pin number. 12, 13, 18 and 19 can have exact signals; others are made by software and jitter.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// How much of each period it is on, in percent.
    #[schemars(range(min = 0, max = 100))]
    percent: f64,
    /// Frequency (default: 1000).
    #[schemars(range(min = 0.5, max = 50_000))]
    hertz: Option<f64>,
}

fn by(source: PwmSource) -> &'static str {
    match source {
        PwmSource::Hardware => "hardware",
        PwmSource::Software => "software",
        PwmSource::Simulated => "simulated",
    }
}

pub(crate) async fn write(pins: Pins, cx: Cx, PwmWrite { pin, percent, hertz }: PwmWrite) -> Result<Output> {
    let hertz = hertz.unwrap_or(HERTZ);
    if !(0.0..=100.0).contains(&percent) {
        return Err(Error::bad_args(format!("`percent` is {percent}: give 0 to 100")));
    }
    if !(HERTZ_RANGE.0..=HERTZ_RANGE.1).contains(&hertz) {
        let (least, most) = HERTZ_RANGE;
        return Err(Error::bad_args(format!("`hertz` is {hertz}: give {least} to {most}")));
    }
    let name = capital(&called(&pins.names.all(&cx)?, pin));
    let (level, source) = pins.board.pwm(pin, Wave::new(hertz, percent)).await?;
    pins.used.note();
    let sentence = format!("{name} is at {percent}%.");
    let found = json!({"pin": level.pin, "percent": percent, "hertz": hertz, "source": by(source)});
    Ok(Output::json(found)?.say(sentence))
}

/// Turn a servo at an output pin to an angle. It holds the angle until `gpio_write` ends the signal.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ServoMove {
    /// BCM pin number. 12, 13, 18 and 19 can have exact signals; at others the servo trembles.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// The angle in degrees.
    #[schemars(range(min = 0, max = 180))]
    angle: f64,
    /// Pulse at 0° in microseconds (default: 500).
    #[schemars(range(min = 200, max = 3000))]
    min_us: Option<u32>,
    /// Pulse at 180° in microseconds (default: 2500).
    #[schemars(range(min = 200, max = 3000))]
    max_us: Option<u32>,
}

pub(crate) async fn servo(pins: Pins, cx: Cx, args: ServoMove) -> Result<Output> {
    let ServoMove { pin, angle, min_us, max_us } = args;
    if !(0.0..=180.0).contains(&angle) {
        return Err(Error::bad_args(format!("`angle` is {angle}: give 0 to 180 degrees")));
    }
    let (min, max) = (min_us.unwrap_or(SERVO_PULSES.0), max_us.unwrap_or(SERVO_PULSES.1));
    let (least, most) = SERVO_LIMITS;
    if min < least || max > most || min >= max {
        let given = format!("`min_us` is {min} and `max_us` is {max}");
        return Err(Error::bad_args(format!("{given}: give {least} to {most} microseconds, the first smaller")));
    }
    let name = capital(&called(&pins.names.all(&cx)?, pin));
    let pulse = f64::from(min) + f64::from(max - min) * angle / 180.0;
    let percent = pulse * SERVO_HERTZ / 1e4;
    let (level, source) = pins.board.pwm(pin, Wave::new(SERVO_HERTZ, percent)).await?;
    pins.used.note();
    let found = json!({"pin": level.pin, "angle": angle, "pulseUs": pulse.round(), "source": by(source)});
    Ok(Output::json(found)?.say(format!("{name} is at {angle}°.")))
}
