//! GPIO: look at and drive the header pins.

use crate::{
    blink, buses, configure, drive, map,
    names::{self, PinNames, answer, called},
    pins::Pins,
    pwm,
    record::PinName,
    serial, undo,
};
use board::{Level, Pin};
use std::{collections::BTreeMap, time::Duration};
use text_kit::join_and;
use things::lasting;
use tool::prelude::*;

/// The pin that a call names.
fn pin_of(args: &Value) -> Option<Pin> {
    args["pin"].as_i64().and_then(Pin::new)
}

/// The header pins.
pub fn family(pins: Pins) -> Family<Pins> {
    Family::new("gpio", "Read and drive the header pins.", pins)
        .title("Pins")
        .category("GPIO")
        .area(Area::Actuate)
        .phrases(include_str!("gpio.en"))
        .tool("gpio_read", Risk::Observe, read)
        .everyday_while(Pins::are_used)
        .tags("pin input level state high low")
        .tool("gpio_write", Risk::Actuate, write)
        .everyday_while(Pins::are_used)
        .tags("pin output switch turn on off high low relay lamp")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), args["high"].as_bool()))
        .tool("gpio_list", Risk::Observe, list)
        .tags("pins header levels board")
        .tool("blink_pin", Risk::Actuate, blink::blink)
        .tags("pin blink flash lamp")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), None))
        .tool("gpio_all_off", Risk::Actuate, blink::all_off)
        .tags("pins off everything lamps switch")
        .opens_where(|pins: &Pins, _| Pin::all().any(|pin| pins.opens(Some(pin), Some(false))))
        .tool("name_pin", Risk::Write, |pins: Pins, cx, args| names::name(pins.names, cx, args))
        .tags("pin call label rename device lamp pump sensor door")
        .persists_instructions()
        .opens_where(|pins: &Pins, args| pins.names.unguards(args))
        .idempotent()
        .tool("configure_pin", Risk::Actuate, configure::configure)
        .tags("pin direction input output pull debounce kind safety interlock boot fail-safe button")
        .opens_where(configure::opens)
        .idempotent()
        .tool("gpio_toggle", Risk::Actuate, drive::toggle)
        .tags("pin output switch toggle flip")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), None))
        .tool("gpio_pulse", Risk::Actuate, drive::pulse)
        .tags("pin output pulse push door opener bell milliseconds")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), None))
        .timeout(Duration::from_secs(65))
        .tool("gpio_watch", Risk::Observe, drive::watch)
        .tags("pin input wait edge change button press sensor")
        .timeout(Duration::from_secs(u64::from(drive::LONGEST_WAIT) + 5))
        .tool("pin_map", Risk::Observe, map::map)
        .tags("pins header layout physical numbers function board")
        .tool("pwm_write", Risk::Actuate, pwm::write)
        .tags("pin pwm duty dim brightness fan speed frequency")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), None))
        .idempotent()
        .tool("servo_move", Risk::Actuate, pwm::servo)
        .tags("servo motor angle turn degrees pwm")
        .opens_where(|pins: &Pins, args| pins.opens(pin_of(args), None))
        .idempotent()
        .tool("i2c_scan", Risk::Observe, buses::scan)
        .tags("i2c bus devices addresses detect")
        .tool("i2c_read", Risk::Observe, buses::read)
        .tags("i2c bus register sensor bytes")
        .tool("i2c_write", Risk::Actuate, buses::write)
        .tags("i2c bus register bytes")
        .tool("spi_transfer", Risk::Actuate, buses::transfer)
        .tags("spi bus bytes device")
        .tool("serial_transfer", Risk::Actuate, serial::transfer)
        .tags("serial uart rs232 tty modem bytes device")
        .timeout(Duration::from_secs(25))
        .tool("read_temperature_sensors", Risk::Observe, buses::temperatures)
        .tags("temperature thermometer 1-wire ds18b20 sensor")
        .timeout(Duration::from_secs(30))
}

/// Read the level of one pin without changing its mode.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Read {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
}

async fn read(Pins { board, used, names, .. }: Pins, cx: Cx, Read { pin }: Read) -> Result<Output> {
    let level = board.read(pin).await?;
    used.note();
    answer(&names.all(&cx)?, level)
}

/// Set one output pin. The level stays until it is changed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Write {
    /// BCM pin number.
    #[schemars(with = "u8", range(max = 27))]
    pin: Pin,
    /// Drive high (true) or low (false).
    high: bool,
    /// How long, as `PT10M`: it is switched back then.
    #[serde(rename = "for")]
    lasts: Option<String>,
}

async fn write(pins: Pins, cx: Cx, Write { pin, high, lasts }: Write) -> Result<Output> {
    let names = pins.names.all(&cx)?;
    let name = called(&names, pin);
    let lasts = lasts.as_deref().map(lasting::read).transpose()?;
    // Written down first: whatever happens then, nothing stays on.
    pins.forget_way_back(&cx, &name).await;
    let back = match lasts {
        Some(lasts) => Some((lasts, pins.plan_way_back(&cx, (pin, &name), !high, lasts).await?)),
        None => None,
    };
    let level = pins.switch(pin, high, &name).await?;
    let mut output = answer(&names, level)?;
    if let Some((lasts, back)) = back {
        let said = output.say.take().unwrap_or_default();
        let sentence = format!("{} {}.", said.trim_end_matches('.'), lasting::words(lasts, &back));
        output.content["until"] = back.into();
        return Ok(output.say(sentence));
    }
    Ok(output)
}

impl Pins {
    /// Switches a pin, and notes it for undoing.
    pub(crate) async fn switch(&self, pin: Pin, high: bool, name: &str) -> Result<Level> {
        let before = self.board.read(pin).await?;
        let level = self.board.write(pin, high).await?;
        self.used.note();
        if before.high != level.high {
            // The pin is switched, whether or not that can be undone.
            if let Err(error) = self.store.note_outside(undo::part(pin, before.high, name)).await {
                tracing::warn!(%error, "a switched pin could not be noted for undoing");
            }
        }
        Ok(level)
    }
}

/// List all GPIO pins with their level, their name if they have one, and whether Hob drives them, and name the board driver.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

async fn list(Pins { board, names, .. }: Pins, cx: Cx, List {}: List) -> Result<Output> {
    let names = names.all(&cx)?;
    let pins = |pins: &[Pin]| pins_of(&names, pins);
    let levels = board.levels().await?;
    let described = board.describe();
    let (high, driven): (Vec<_>, Vec<_>) = (
        levels.iter().filter(|l| l.high).map(|l| l.pin).collect(),
        levels.iter().filter(|l| l.driven).map(|l| l.pin).collect(),
    );
    let on = match high.as_slice() {
        [] => "all pins are off".to_owned(),
        one @ [_] => format!("pin {} is on and all others are off", pins(one)),
        many => format!("pins {} are on and all others are off", pins(many)),
    };
    let mine = match driven.as_slice() {
        [] => "I drive none of them".to_owned(),
        one @ [_] => format!("I drive pin {}", pins(one)),
        many => format!("I drive pins {}", pins(many)),
    };
    let mut sentence = format!("{on}; {mine}.");
    sentence[..1].make_ascii_uppercase();
    if !names.is_empty() {
        sentence = named_levels(&names, &levels);
    }
    let levels: Vec<_> = levels.into_iter().map(|level| PinNames::named(&names, level)).collect();
    Ok(Output::json(json!({"driver": described.driver, "why": described.why, "pins": levels}))?.say(sentence))
}

/// "On: Hall lamp (pin 17). Off: Pump (pin 4)." Pins without a name only where they are on.
fn named_levels(names: &BTreeMap<u8, PinName>, levels: &[Level]) -> String {
    let word = |level: &&Level| match names.get(&level.pin.number()) {
        Some(named) => format!("{} (pin {})", named.name, level.pin),
        None => format!("pin {}", level.pin),
    };
    let (on, off): (Vec<&Level>, Vec<&Level>) =
        levels.iter().filter(|l| l.high || names.contains_key(&l.pin.number())).partition(|l| l.high);
    let part = |word_of: &str, all: Vec<&Level>| match all.is_empty() {
        true => None,
        false => Some(format!("{word_of}: {}.", join_and(&all.iter().map(word).collect::<Vec<_>>()))),
    };
    [part("On", on), part("Off", off)].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Pins in a sentence: `0, 17 (Lamp) and 27`.
fn pins_of(names: &BTreeMap<u8, PinName>, pins: &[Pin]) -> String {
    let word = |pin: &Pin| match names.get(&pin.number()) {
        Some(named) => format!("{pin} ({})", named.name),
        None => pin.to_string(),
    };
    join_and(&pins.iter().map(word).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Board, BoardKind};
    use std::sync::Arc;
    use store::Store;
    use tool::{Channel, Ports, Principal, SystemClock, Via};

    fn cx() -> Cx {
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
    }

    async fn ask(board: &Board, cx: &Cx, tool: &str, args: Value) -> Result<Output> {
        let tools = family(Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap()).into_parts().tools;
        let tool = tools.into_iter().find(|t| &*t.name == tool).unwrap();
        (tool.run)(cx.clone(), args).await
    }

    #[tokio::test]
    async fn pins_are_read_driven_and_listed() {
        let board = Board::open(BoardKind::Sim);
        let table = [
            ("gpio_read", json!({"pin": 17}), "Pin 17 is off."),
            ("gpio_list", json!({}), "All pins are off; I drive none of them."),
            ("gpio_write", json!({"pin": 17, "high": true}), "Pin 17 is on."),
            ("gpio_read", json!({"pin": 17}), "Pin 17 is on."),
            ("gpio_list", json!({}), "Pin 17 is on and all others are off; I drive pin 17."),
            ("gpio_write", json!({"pin": 0, "high": true}), "Pin 0 is on."),
            ("gpio_write", json!({"pin": 27, "high": false}), "Pin 27 is off."),
            ("gpio_list", json!({}), "Pins 0 and 17 are on and all others are off; I drive pins 0, 17 and 27."),
        ];
        for (tool, args, expected) in table {
            assert_eq!(ask(&board, &cx(), tool, args.clone()).await.unwrap().say.unwrap(), expected, "{tool} {args}");
        }
        let read = ask(&board, &cx(), "gpio_read", json!({"pin": 17})).await.unwrap();
        assert_eq!(read.content, json!({"pin": 17, "high": true, "driven": true}));
        let all = ask(&board, &cx(), "gpio_list", json!({})).await.unwrap();
        assert_eq!((all.content["pins"].as_array().unwrap().len(), &all.content["driver"]), (28, &json!("sim")));
    }

    #[tokio::test]
    async fn a_named_pin_is_spoken_of_by_its_name() {
        let (board, store) = (Board::open(BoardKind::Sim), Store::in_memory().unwrap());
        let call = async |tool: &str, args: Value| {
            let tools = family(Pins::open(board.clone(), &store).unwrap()).into_parts().tools;
            let tool = tools.into_iter().find(|t| &*t.name == tool).unwrap();
            (tool.run)(cx(), args).await
        };
        for (tool, args, expected) in [
            ("name_pin", json!({"pin": 17, "name": " Lamp "}), "Pin 17 is now Lamp."),
            ("name_pin", json!({"pin": 4, "name": "Door", "sensor": true}), "Pin 4 is now Door, a sensor."),
            ("gpio_write", json!({"pin": 17, "high": true}), "Lamp is on."),
            ("gpio_read", json!({"pin": 4}), "Door is off."),
            ("gpio_read", json!({"pin": 5}), "Pin 5 is off."),
            ("gpio_list", json!({}), "On: Lamp (pin 17). Off: Door (pin 4)."),
            ("name_pin", json!({"pin": 4, "name": "Front door"}), "Pin 4 is now Front door, a sensor."),
            ("name_pin", json!({"pin": 17, "name": "LAMP"}), "Pin 17 is now LAMP."),
            ("name_pin", json!({"pin": 17, "name": ""}), "Pin 17 is no longer called LAMP."),
            ("name_pin", json!({"pin": 17, "name": " "}), "Pin 17 has no name."),
            ("gpio_read", json!({"pin": 17}), "Pin 17 is on."),
        ] {
            assert_eq!(call(tool, args.clone()).await.unwrap().say.unwrap(), expected, "{tool} {args}");
        }
        for (args, why) in [
            (json!({"pin": 5, "name": "front DOOR"}), "pin 4 is called Front door already"),
            (json!({"pin": 28, "name": "x"}), "BCM numbers from 0 to 27"),
            (json!({"pin": 5, "name": "x".repeat(41)}), "40"),
        ] {
            let error = call("name_pin", args.clone()).await.unwrap_err();
            assert!(matches!(&error, Error::BadArgs(said) if said.contains(why)), "{args}: {error}");
        }
        let read = call("gpio_read", json!({"pin": 4})).await.unwrap().content;
        assert_eq!(read, json!({"pin": 4, "high": false, "driven": false, "name": "Front door", "sensor": true}));
        // The page learns which level opens something.
        call("name_pin", json!({"pin": 22, "name": "Garage door"})).await.unwrap();
        let listed = call("gpio_list", json!({})).await.unwrap().content;
        let opens_at = |pin: usize| listed["pins"][pin].get("opensAt").cloned();
        assert_eq!((opens_at(22), opens_at(4), opens_at(17)), (Some(json!(true)), None, None));
    }

    #[tokio::test]
    async fn what_is_no_pin_is_refused_and_moves_nothing() {
        let board = Board::open(BoardKind::Sim);
        for pin in [json!(28), json!(-1), json!(300), json!("17"), json!(1.5), json!(null)] {
            for tool in ["gpio_read", "gpio_write"] {
                let mut args = json!({"pin": pin});
                if tool == "gpio_write" {
                    args["high"] = true.into();
                }
                let error = ask(&board, &cx(), tool, args).await.unwrap_err();
                assert!(matches!(&error, Error::BadArgs(_)), "{tool} {pin}: {error}");
            }
        }
        let error = ask(&board, &cx(), "gpio_read", json!({"pin": 28})).await.unwrap_err();
        assert!(error.message().contains("BCM numbers from 0 to 27"), "{error}");
        assert!(board.levels().await.unwrap().iter().all(|l| !l.high && !l.driven));
    }

    #[tokio::test]
    async fn without_pins_the_tools_say_why() {
        let board = Board::open(BoardKind::None);
        for (tool, args) in [("gpio_list", json!({})), ("gpio_write", json!({"pin": 1, "high": true}))] {
            let error = ask(&board, &cx(), tool, args).await.unwrap_err();
            assert!(matches!(&error, Error::Unavailable(why) if why.contains("--board none")), "{tool}: {error}");
        }
    }

    #[tokio::test]
    async fn requests_offer_pins_once_they_are_used() {
        let due = |tools: &[tool::Tool]| tools[..6].iter().map(|t| t.offer.is_due(|_| true)).collect::<Vec<_>>();
        for (kind, call, after) in [
            (BoardKind::Sim, json!({"pin": 3}), [true, true, false, false, false, false]),
            (BoardKind::Sim, json!({"pin": 28}), [false; 6]),
            (BoardKind::None, json!({"pin": 3}), [false; 6]),
        ] {
            let store = Store::in_memory().unwrap();
            let tools = family(Pins::open(Board::open(kind), &store).unwrap()).into_parts().tools;
            assert_eq!(due(&tools), [false; 6]);
            let _ = (tools[0].run)(cx(), call.clone()).await;
            assert_eq!(due(&tools), after, "{kind:?} {call}");
            store.flush().await.unwrap();
            let again = family(Pins::open(Board::open(kind), &store).unwrap()).into_parts().tools;
            assert_eq!(due(&again), after, "after a restart");
            let unplugged = family(Pins::open(Board::open(BoardKind::None), &store).unwrap()).into_parts().tools;
            assert_eq!(due(&unplugged), [false; 6]);
        }
    }

    #[test]
    fn the_schema_names_the_range() {
        let tools =
            family(Pins::open(Board::open(BoardKind::Sim), &Store::in_memory().unwrap()).unwrap()).into_parts().tools;
        let pin = &tools[1].parameters()["properties"]["pin"];
        assert_eq!((&pin["type"], &pin["minimum"], &pin["maximum"]), (&json!("integer"), &json!(0), &json!(27)));
        assert_eq!(tools[1].risk, Risk::Actuate);
    }
}
