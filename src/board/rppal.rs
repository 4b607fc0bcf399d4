//! Raspberry Pi pins through rppal, which maps the GPIO registers; edges come from the GPIO character device, and PWM from the
//! PWM peripheral where the firmware routes it to the pin.

use crate::{
    Error, Pin, Result,
    buses::{Buses, LinuxBuses},
    cdev::{Cdev, JOIN_GROUP},
    driver::{Driver, PwmSource},
    pin::Wave,
    settings::{Direction, Pull},
};
use rppal::{
    gpio::{Bias, Error as RppalError, Gpio, InputPin, Level, Mode, OutputPin},
    pwm::{Channel, Polarity, Pwm},
};
use std::{collections::BTreeMap, sync::Arc, time::Duration};

/// The header of a Raspberry Pi.
pub(crate) struct Rppal {
    gpio: Gpio,
    /// Dropping an output resets its pin, so outputs live as long as the board.
    outputs: BTreeMap<Pin, OutputPin>,
    /// Inputs that the character device does not give.
    inputs: BTreeMap<Pin, InputPin>,
    hardware: BTreeMap<Pin, Pwm>,
    /// Reports edges, where it could be opened.
    lines: Option<Cdev>,
    /// Whether this is a Raspberry Pi 5, whose PWM channels are others.
    is_5: bool,
}

impl Rppal {
    /// Opens the registers, or says in words why not.
    pub(crate) fn open(model: &str, lines: Option<Cdev>) -> Result<Self, String> {
        let is_5 = model.contains("Pi 5") || model.contains("Module 5");
        match Gpio::new() {
            Ok(gpio) => {
                let (outputs, inputs, hardware) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
                Ok(Self { gpio, outputs, inputs, hardware, lines, is_5 })
            }
            Err(RppalError::PermissionDenied(path)) => Err(format!("no permission for {path}: {JOIN_GROUP}")),
            Err(why) => Err(why.to_string()),
        }
    }

    fn release_input(&mut self, pin: Pin) {
        self.inputs.remove(&pin);
        if let Some(lines) = &mut self.lines {
            lines.release_input(pin);
        }
    }

    /// The PWM channel of a pin, where the firmware routes one to it (`dtoverlay=pwm`): the pin then has an alternate mode.
    fn channel(&self, pin: Pin) -> Option<Channel> {
        let channel = match (pin.number(), self.is_5) {
            (12, _) | (18, false) => Channel::Pwm0,
            (13, _) | (19, false) => Channel::Pwm1,
            (18, true) => Channel::Pwm2,
            (19, true) => Channel::Pwm3,
            _ => return None,
        };
        let mode = self.gpio.get(pin.number()).ok()?.mode();
        (!matches!(mode, Mode::Input | Mode::Output | Mode::Null)).then_some(channel)
    }
}

fn failed(pin: Pin) -> impl Fn(RppalError) -> Error {
    move |why| Error::Failed { pin, what: why.to_string() }
}

impl Driver for Rppal {
    fn name(&self) -> &'static str {
        "rppal"
    }
    fn has(&self, _: Pin) -> bool {
        true
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        let high = match (self.outputs.get(&pin), self.inputs.get(&pin)) {
            // The level at the pin, not the level that was set: this shows a short to ground.
            (Some(output), _) => output.is_set_high(),
            (None, Some(input)) => input.is_high(),
            (None, None) => self.gpio.get(pin.number()).map_err(failed(pin))?.read() == Level::High,
        };
        Ok(high)
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.hardware.remove(&pin);
        if let Some(output) = self.outputs.get_mut(&pin) {
            output.clear_pwm().map_err(failed(pin))?;
            output.write(Level::from(high));
            return Ok(());
        }
        self.release_input(pin);
        let free = self.gpio.get(pin.number()).map_err(failed(pin))?;
        // The level is set before the direction, so that a relay does not click on the way.
        let output = if high { free.into_output_high() } else { free.into_output_low() };
        self.outputs.insert(pin, output);
        Ok(())
    }
    fn input(&mut self, pin: Pin, pull: Option<Pull>) -> Result<bool> {
        self.hardware.remove(&pin);
        self.outputs.remove(&pin);
        self.release_input(pin);
        if let Some(lines) = &mut self.lines
            && let Ok(watched) = lines.input(pin, pull)
        {
            return Ok(watched);
        }
        let mut input = self.gpio.get(pin.number()).map_err(failed(pin))?.into_input();
        input.set_bias(match pull {
            Some(Pull::Up) => Bias::PullUp,
            Some(Pull::Down) => Bias::PullDown,
            Some(Pull::Off) | None => Bias::Off,
        });
        self.inputs.insert(pin, input);
        Ok(false)
    }
    fn direction(&mut self, pin: Pin) -> Option<Direction> {
        if self.outputs.contains_key(&pin) {
            return Some(Direction::Output);
        }
        if self.inputs.contains_key(&pin) {
            return Some(Direction::Input);
        }
        match self.gpio.get(pin.number()).ok()?.mode() {
            Mode::Input => Some(Direction::Input),
            Mode::Output => Some(Direction::Output),
            _ => None,
        }
    }
    fn lost(&mut self) -> Vec<Pin> {
        self.lines.as_mut().map(Cdev::lost).unwrap_or_default()
    }
    fn hold(&mut self, pin: Pin, high: bool) -> Result<()> {
        self.write(pin, high)?;
        if let Some(output) = self.outputs.get_mut(&pin) {
            output.set_reset_on_drop(false);
        }
        Ok(())
    }
    fn pwm(&mut self, pin: Pin, wave: Wave) -> Result<PwmSource> {
        let (period, on) = (Duration::from_nanos(wave.period_ns.into()), Duration::from_nanos(wave.on_ns.into()));
        if !self.outputs.contains_key(&pin)
            && let Some(channel) = self.channel(pin)
        {
            let failed = |why: rppal::pwm::Error| Error::Failed { pin, what: format!("its PWM channel: {why}") };
            if let Some(pwm) = self.hardware.get(&pin) {
                // A pulse longer than the period is refused, so the pulse is shortened first.
                pwm.set_pulse_width(Duration::ZERO).map_err(failed)?;
                pwm.set_period(period).map_err(failed)?;
                pwm.set_pulse_width(on).map_err(failed)?;
            } else {
                let pwm = Pwm::with_period(channel, period, on, Polarity::Normal, true).map_err(failed)?;
                self.hardware.insert(pin, pwm);
            }
            return Ok(PwmSource::Hardware);
        }
        if !self.outputs.contains_key(&pin) {
            self.write(pin, false)?;
        }
        if let Some(output) = self.outputs.get_mut(&pin) {
            output.set_pwm(period, on).map_err(failed(pin))?;
        }
        Ok(PwmSource::Software)
    }
    fn buses(&self) -> Arc<dyn Buses> {
        Arc::new(LinuxBuses)
    }
}
