//! Commands and questions about what is connected to the pins, by its name or pin: "its dark, get the bench light on", "porch
//! light on for 20 minutes", "is the pump still going?", "heater on at 6 every weekday and off at 8", "everything off".
//!
//! A sentence counts only if it names something that is connected here, and neither forbids, imagines nor stores anything.

mod command;
pub(crate) mod first;
mod going_on;
pub(crate) mod home;
mod times;
mod vocabulary;

use crate::{
    classification::{Classification, Stage, fixed_reply, unknown},
    sentence::Sentence,
    slots::{self, duration, number},
    stance::opens_question,
    talkback::exchange::Exchange,
};
use command::is_command;
use going_on::{only_asks_state, only_corrects, only_goes_on};
use jiff::Zoned;
use serde_json::{Map, Value, json};
use strsim::osa_distance;
use times::Times;
use vocabulary::{BLINK, NOT, OTHER, RUNS_BY_ITSELF, STARTS};

/// Something connected to a pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Its BCM pin number.
    pub pin: u8,
    /// What the household calls it; empty for a pin without a name.
    pub name: String,
    /// Whether it is only read.
    pub sensor: bool,
}

impl Device {
    fn called(&self) -> String {
        if self.name.is_empty() { format!("pin {}", self.pin) } else { format!("the {}", self.name.to_lowercase()) }
    }
}

/// The most words of such a sentence.
const MOST: usize = 40;
/// How often something blinks when no number is given, and at most.
const BLINKS: u32 = 3;
const MOST_BLINKS: u32 = 10;

/// A device that a sentence names: the tokens, and all that the words fit.
struct Mention {
    at: usize,
    end: usize,
    devices: Vec<Device>,
}

/// A call for a pin as one for the thing that is connected to it: by voice only things can be used, and each says whether it may.
pub(crate) fn as_thing((tool, arguments): (String, Value)) -> (String, Value) {
    let thing = json!(format!("pin:{}", arguments["pin"]));
    match (tool.as_str(), arguments["high"].as_bool()) {
        ("gpio_list", _) => ("list_things".to_owned(), json!({})),
        ("gpio_read", _) => ("get_thing".to_owned(), json!({"thing": thing})),
        ("gpio_write", Some(high)) => {
            let mut args = json!({"thing": thing, "action": if high { "turn_on" } else { "turn_off" }});
            if let Some(lasts) = arguments.get("for") {
                args["for"] = lasts.clone();
            }
            ("control_thing".to_owned(), args)
        }
        _ => (tool, arguments),
    }
}

/// The classification of a sentence about devices; `before` is the last device and level that was switched, for what goes on.
pub(crate) fn classified(
    s: &Sentence,
    devices: &[Device],
    before: Option<(&Device, bool)>,
    now: &Zoned,
) -> Option<Classification> {
    if s.len() == 0 || s.len() > MOST {
        return None;
    }
    if let Some(all) = everything(s, devices) {
        return Some(all);
    }
    let mut named = mentions(s, devices);
    if named.is_empty() {
        let (device, _) = before?;
        named = vec![Mention { at: s.len(), end: s.len(), devices: vec![device.clone()] }];
    }
    if s.mentions(OTHER) {
        return None;
    }
    let but_weekends = ["weekends", "on weekends", "at weekends"]
        .iter()
        .any(|days| s.text.to_lowercase().contains(&format!("not {days}")));
    if s.mentions(NOT) && !but_weekends {
        return unplanned(s, &named);
    }
    let asks = (opens_question(s) || s.asks) && !s.requests;
    let states = states(s, &named);
    let blinks = s.mentions(BLINK);
    if let Some(planned) = asks.then(|| when_planned(s, &named)).flatten() {
        return Some(planned);
    }
    if s.mentions(&["when"]) {
        return None;
    }
    let starts =
        STARTS.contains(&s.word(0)) && named.iter().all(|m| m.at < s.len()) || before.is_some() && s.word(0) == "run";
    if !asks && !blinks && states.is_empty() && !starts && !before.is_some_and(|_| bare_duration(s)) {
        return None;
    }
    let targets = match chosen(&named) {
        Ok(targets) => targets,
        Err(which) => return Some(fixed_reply(&which, "several devices fit")),
    };
    if asks {
        // "would turning it on help?" asks for more than its state.
        if !only_asks_state(s, &named) {
            return None;
        }
        let about = !states.is_empty()
            || s.mentions(&["going", "running", "burning", "reading", "look", "doing", "working", "state", "active"]);
        let reads = targets.iter().map(|d| ("gpio_read", json!({"pin": d.pin})));
        return if about { calls(reads, "asks about a device") } else { None };
    }
    if !is_command(s, &named, before.is_some()) {
        return None;
    }
    if let Some(sensor) = targets.iter().find(|device| device.sensor) {
        let say = format!("I can only read {}: it is a sensor.", sensor.called());
        return Some(fixed_reply(&say, "a sensor is not switched"));
    }
    if blinks {
        let times = times(s);
        return calls(targets.iter().map(|d| ("blink_pin", json!({"pin": d.pin, "times": times}))), "blinks a device");
    }
    if let Some(level) = level(s) {
        let say = format!("I can only switch {} on or off, not to {level}.", join(&targets));
        return Some(fixed_reply(&say, "devices here do not dim"));
    }
    switched(s, &targets, &states, before.map(|(_, high)| high), now)
}

/// Switches at once, for a while, or at a time.
fn switched(
    s: &Sentence,
    targets: &[Device],
    states: &[(usize, bool)],
    last: Option<bool>,
    now: &Zoned,
) -> Option<Classification> {
    let times = Times::read(s, now);
    if times.vague || s.mentions(&["for"]) && times.lasts.is_none() {
        return None;
    }
    let high = states.first().map(|(_, high)| *high).or(last.filter(|_| times.lasts.is_some()));
    let high = high.or((STARTS.contains(&s.word(0))).then_some(true))?;
    if times.sun && times.every.is_none() && times.moments.is_empty() {
        let say = format!(
            "I don't know when the sun rises or sets, so I can't do that by itself. With a time I can: “turn {} {} every day at 17:00”.",
            if high { "on" } else { "off" },
            join(targets)
        );
        return Some(fixed_reply(&say, "the sun is not known"));
    }
    let plan = |high: bool, schedule: &str, lasts: Option<&String>| {
        let of = move |device: &Device| {
            let mut arguments =
                Map::from_iter([("pin".to_owned(), json!(device.pin)), ("high".to_owned(), json!(high))]);
            if let Some(lasts) = lasts {
                arguments.insert("for".to_owned(), json!(lasts));
            }
            let name = format!("{} {}", device.called().trim_start_matches("the "), if high { "on" } else { "off" });
            json!({"name": name, "schedule": schedule, "tool": "gpio_write", "arguments": arguments})
        };
        targets.iter().map(|device| ("create_scheduled_task", of(device))).collect::<Vec<_>>()
    };
    let now_calls = |high: bool, lasts: Option<&String>| {
        let of = |device: &Device| match lasts {
            Some(lasts) => json!({"pin": device.pin, "high": high, "for": lasts}),
            None => json!({"pin": device.pin, "high": high}),
        };
        targets.iter().map(|device| ("gpio_write", of(device))).collect::<Vec<_>>()
    };
    // "pin 4 on and pin 5 off" are two commands.
    if targets.len() > 1 && states.iter().any(|(_, level)| *level != high) {
        return None;
    }
    let pair = states.iter().skip(1).find(|(_, then)| *then != high).copied();
    let all = match (&times.every, &times.moments[..], pair) {
        // "on at seven every morning and off at five", "on 5pm off 11pm daily".
        (Some(_), _, Some((_, off))) => {
            let (first, second) = (times.pattern(0)?, times.pattern(1)?);
            if first == second {
                return None;
            }
            [plan(high, &first, None), plan(off, &second, None)].concat()
        }
        (Some(_), ..) => plan(high, &times.pattern(0)?, times.lasts.as_ref()),
        (None, [first, second], Some((_, off))) => [plan(high, first, None), plan(off, second, None)].concat(),
        // "on, and off again at 10", "on until 10".
        (None, [one], Some((at, off))) if times.at.first().is_some_and(|moment| *moment > at) => {
            [now_calls(high, None), plan(off, one, None)].concat()
        }
        (None, [one], None) if times.until => [now_calls(high, None), plan(!high, one, None)].concat(),
        (None, [one], None) => plan(high, one, times.lasts.as_ref()),
        (None, [], _) => now_calls(high, times.lasts.as_ref()),
        _ => return None,
    };
    calls(all.into_iter(), "switches a device")
}

/// Whether these words follow each other somewhere.
fn has_run(s: &Sentence, words: &[&str]) -> bool {
    (0..s.len()).any(|at| s.has(at, words))
}

/// Whether it is little more than a length of time: "10 mins only".
fn bare_duration(s: &Sentence) -> bool {
    (0..s.len()).any(|at| duration::duration(s, at).is_some_and(|(count, _)| count + 3 > s.len()))
}

/// The levels a sentence names, outside of names.
fn states(s: &Sentence, named: &[Mention]) -> Vec<(usize, bool)> {
    let outside = |at: &usize| !named.iter().any(|m| (m.at..m.end).contains(at));
    let level = |at: usize| match s.word(at) {
        "on" if every_day(s.word(at + 1)) => None,
        "on" | "high" | "lit" => Some(true),
        "off" if ["to", "work", "out"].contains(&s.word(at + 1)) => None,
        "off" | "low" | "out" => Some(false),
        "kill" | "cut" if at == 0 => Some(false),
        _ => None,
    };
    (0..s.len()).filter(outside).filter_map(|at| Some((at, level(at)?))).collect()
}

fn every_day(word: &str) -> bool {
    ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "weekdays", "weekends"]
        .iter()
        .any(|day| word.starts_with(day))
}

/// "at 50%".
fn level(s: &Sentence) -> Option<String> {
    let percent = |at: usize| number::whole(s, at).filter(|(count, _)| ["%", "percent"].contains(&s.word(at + count)));
    let spoken = (0..s.len()).find_map(|at| percent(at).map(|(_, n)| format!("{n} %")));
    spoken.or_else(|| s.text.split_whitespace().find(|word| word.ends_with('%') && word.len() > 1).map(str::to_owned))
}

fn times(s: &Sentence) -> u32 {
    let counted =
        |at: usize| number::whole(s, at).filter(|(count, _)| ["times", "time", "x"].contains(&s.word(at + count)));
    let n = (0..s.len()).find_map(|at| match s.word(at) {
        "once" => Some(1),
        "twice" => Some(2),
        "thrice" => Some(3),
        _ => counted(at).map(|(_, n)| n),
    });
    n.unwrap_or(BLINKS).clamp(1, MOST_BLINKS)
}

/// The one device of each mention; where several fit, the question which.
fn chosen(named: &[Mention]) -> Result<Vec<Device>, String> {
    let mut all: Vec<Device> = vec![];
    for mention in named {
        match &mention.devices[..] {
            [one] => {
                if !all.iter().any(|known| known.pin == one.pin) {
                    all.push(one.clone());
                }
            }
            several if several.iter().any(|one| all.contains(one)) => {}
            several => {
                let names: Vec<String> = several.iter().map(Device::called).collect();
                return Err(format!("Which one: {}?", names.join(" or ")));
            }
        }
    }
    Ok(all)
}

/// The devices that a sentence names.
fn mentions(s: &Sentence, devices: &[Device]) -> Vec<Mention> {
    let mut all: Vec<Mention> = vec![];
    let mut at = 0;
    while at < s.len() {
        if let Some((count, pin)) = pin(s, at, all.last()) {
            let known = devices.iter().find(|device| u32::from(device.pin) == pin).cloned();
            let device = known.unwrap_or(Device { pin: pin as u8, name: String::new(), sensor: false });
            all.push(Mention { at, end: at + count, devices: vec![device] });
            at += count;
            continue;
        }
        let whole = devices.iter().filter_map(|device| Some((whole_name(s, at, &device.name)?, device)));
        if let Some((count, device)) = whole.max_by_key(|(count, _)| *count) {
            all.push(Mention { at, end: at + count, devices: vec![device.clone()] });
            at += count;
            continue;
        }
        let fits: Vec<Device> = devices.iter().filter(|device| has_word(&device.name, s.word(at))).cloned().collect();
        if !fits.is_empty() {
            match all.last_mut().filter(|last| last.end == at) {
                // "bench lamp" is the bench light.
                Some(last) => {
                    let both: Vec<Device> = last.devices.iter().filter(|one| fits.contains(one)).cloned().collect();
                    (last.end, last.devices) = (at + 1, if both.is_empty() { last.devices.clone() } else { both });
                }
                None => all.push(Mention { at, end: at + 1, devices: fits }),
            }
        }
        at += 1;
    }
    all
}

/// "pin 5", and after it "and 6".
fn pin(s: &Sentence, at: usize, last: Option<&Mention>) -> Option<(usize, u32)> {
    let several = s.word(at) == "pins";
    let goes_on =
        s.word(at) == "and" && last.is_some_and(|last| last.end == at && s.word(last.at).starts_with(['p', 'g']));
    let listed = || number::whole(s, at + 1).map(|(count, n)| (count + 1, n));
    let found = if several || goes_on { listed() } else { slots::pin(s, at) };
    found.filter(|(_, n)| *n <= slots::LAST_PIN)
}

/// The tokens at `at` that are a whole name, however it is spaced, with a slip in longer ones.
fn whole_name(s: &Sentence, at: usize, name: &str) -> Option<usize> {
    let words = Sentence::whole(name).tokens.len();
    let joined: String = name.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect();
    if joined.is_empty() {
        return None;
    }
    let slips = if joined.len() > 6 { 1 } else { 0 };
    let fits = |count: &usize| {
        let said: String = (at..at + count).flat_map(|i| s.word(i).chars()).filter(|c| c.is_alphanumeric()).collect();
        at + count <= s.len() && !said.is_empty() && osa_distance(&said, &joined) <= slips
    };
    (1..=words + 1).rev().filter(fits).min_by_key(|count| {
        let said: String = (at..at + count).flat_map(|i| s.word(i).chars()).filter(|c| c.is_alphanumeric()).collect();
        osa_distance(&said, &joined)
    })
}

/// Whether a word is one of a name's.
fn has_word(name: &str, word: &str) -> bool {
    const SMALL: &[&str] = &["the", "and", "for", "off", "pin", "one", "out", "all"];
    let plain = |word: &str| word.trim_end_matches('s').to_owned();
    let alike =
        |own: &str| plain(own) == plain(word) || own.len() > 4 && word.len() > 4 && osa_distance(own, word) == 1;
    word.len() > 2
        && !SMALL.contains(&word)
        && name.to_lowercase().split_whitespace().any(|own| own.len() > 2 && alike(own))
}

/// "everything off", "turn em all off", "all lights off".
fn everything(s: &Sentence, devices: &[Device]) -> Option<Classification> {
    const THINGS: &[&str] = &[
        "lights", "lamps", "pins", "devices", "switches", "them", "em", "of", "off", "the", "things", "relays",
        "outputs",
    ];
    let all = (0..s.len()).find(|at| match s.word(*at) {
        "everything" => true,
        "all" => THINGS.contains(&s.word(at + 1)) || s.word(at + 1).is_empty(),
        _ => false,
    })?;
    let near = (all.saturating_sub(3)..(all + 5).min(s.len())).any(|at| ["off", "kill"].contains(&s.word(at)));
    let other = s.mentions(OTHER)
        || s.mentions(&["except", "but", "apart", "alarms", "marked", "tick", "ticked", "done", "crossed"]);
    let plain = near && !other && !s.mentions(NOT) && !s.asks && !opens_question(s) && s.len() < 14;
    let timed = (0..s.len()).any(|at| duration::duration(s, at).is_some() || s.word(at) == "at");
    const WORDS: &[&str] = &[
        "everything",
        "all",
        "turn",
        "switch",
        "kill",
        "shut",
        "power",
        "please",
        "now",
        "down",
        "it",
        "my",
        "in",
        "here",
    ];
    let only = (0..s.len()).all(|at| THINGS.contains(&s.word(at)) || WORDS.contains(&s.word(at)));
    let fits = plain && only && !timed && !devices.is_empty();
    if fits { calls([("gpio_all_off", json!({}))].into_iter(), "all off") } else { None }
}

/// "stop the pump coming on of a morning": its schedule is cancelled, after a question.
fn unplanned(s: &Sentence, named: &[Mention]) -> Option<Classification> {
    let plans = s.mentions(RUNS_BY_ITSELF) || has_run(s, &["any", "more"]);
    if !plans || s.mentions(&["turn", "switch"]) && !s.mentions(&["stop", "quit", "cancel"]) {
        return None;
    }
    let [device] = &chosen(named).ok()?[..] else { return None };
    let arguments = json!({"taskId": device.called().trim_start_matches("the ")});
    let say = format!("Shall I cancel what is planned for {}? Say yes or no.", device.called());
    let proposes = Some(("delete_scheduled_task".to_owned(), arguments));
    Some(Classification {
        proposes,
        stage: Stage::Asked,
        confidence: 0.9,
        ..unknown(say, "a device is to run no more by itself")
    })
}

/// "what time does the porch go off": what is planned for it.
fn when_planned(s: &Sentence, named: &[Mention]) -> Option<Classification> {
    let asked = (s.word(0) == "when" || s.has(0, &["what", "time"]))
        && !s.mentions(&["did", "was", "turn", "turned", "switch"]);
    let device = named.first().filter(|_| asked && states(s, named).len() == 1)?.devices.first()?;
    let search = device.called().trim_start_matches("the ").to_owned();
    calls(
        [("list_scheduled_tasks", json!({"search": search, "enabled": true}))].into_iter(),
        "when a device is switched",
    )
}

fn join(devices: &[Device]) -> String {
    text_kit::join_and(&devices.iter().map(Device::called).collect::<Vec<_>>())
}

/// These calls, the first of them first.
fn calls(all: impl Iterator<Item = (&'static str, Value)>, why: &str) -> Option<Classification> {
    let mut all = all.map(|(tool, arguments)| (tool.to_owned(), arguments));
    let (tool, arguments) = all.next()?;
    let more = all.collect();
    let placed = Classification { tool: Some(tool), arguments, more, ..fixed_reply("", why) };
    Some(placed.speechless())
}

/// "turn on the bathroom heater", where nothing is called that: honest, and with the way to change it.
pub(crate) fn nothing_called(s: &Sentence, devices: &[Device]) -> Option<Classification> {
    let numbers = (0..s.len()).any(|at| s.word(at).starts_with(|c: char| c.is_ascii_digit()));
    if numbers || !mentions(s, devices).is_empty() {
        return None;
    }
    const VERBS: &[&str] = &["turn", "switch", "put", "pop", "flick", "power", "get"];
    const PRONOUNS: &[&str] =
        &["it", "them", "that", "this", "everything", "all", "me", "us", "these", "those", "one", "pin", "gpio"];
    let verb = (0..s.len().min(6)).find(|at| VERBS.contains(&s.word(*at)))?;
    if s.mentions(OTHER) || s.mentions(NOT) || s.asks && !s.requests || s.len() > 14 {
        return None;
    }
    let is_state = |at: usize| ["on", "off"].contains(&s.word(at));
    let article = |at: usize| usize::from(["the", "my", "our", "that"].contains(&s.word(at)));
    let plain = ["turn", "switch", "flick", "power"].contains(&s.word(verb));
    let (from, to) = if is_state(verb + 1) && plain {
        let from = verb + 2 + article(verb + 2);
        let ends = |at: &usize| {
            ["for", "at", "in", "please", "when", "until", "every", "so", "because", "on"].contains(&s.word(*at))
                || s.tokens[*at].after_break
        };
        (from, (from..s.len()).find(ends).unwrap_or(s.len()))
    } else {
        let from = verb + 1 + article(verb + 1);
        (from, (from..s.len().min(from + 4)).find(|at| is_state(*at)).filter(|_| plain || article(verb + 1) > 0)?)
    };
    let fits = (1..=3).contains(&(to.checked_sub(from)?)) && !(from..to).any(|at| PRONOUNS.contains(&s.word(at)));
    let name = fits.then(|| s.slice(from, to))?;
    let say = format!(
        "I have nothing called “{name}” that I can switch. If it is wired to one of my pins, tell me which one, as in “call pin 17 the \
         {name}”."
    );
    Some(fixed_reply(&say, "nothing is called that"))
}

/// "turn it off", where nothing was switched before: the only thing there is, else asks.
pub(crate) fn which(s: &Sentence, devices: &[Device]) -> Option<Classification> {
    let on = (0..s.len()).find_map(|at| match s.word(at) {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    })?;
    let fits = s.len() <= 4 && s.mentions(&["it", "that", "light", "lamp"]) && s.mentions(&["turn", "switch", "put"]);
    let all: Vec<&Device> = devices.iter().filter(|device| !device.sensor).collect();
    match &all[..] {
        [only] if fits => calls([("gpio_write", json!({"pin": only.pin, "high": on}))].into_iter(), "the only device"),
        [_, .., _] if fits && all.len() < 6 => {
            let names: Vec<String> = all.iter().map(|device| device.called()).collect();
            Some(fixed_reply(&format!("Which one: {}?", names.join(" or ")), "several devices fit"))
        }
        _ => None,
    }
}

/// What a sentence means after the exchanges before: the answer to "Which one?", a correction, or more about the same device.
pub(crate) fn after(text: &str, exchanges: &[Exchange], devices: &[Device], now: &Zoned) -> Option<Classification> {
    let (s, last) = (Sentence::read(text), exchanges.first()?);
    if s.len() > 12 {
        return None;
    }
    let named = mentions(&s, devices);
    if last.answered.starts_with("Which one: ") && last.calls.is_empty() {
        let [device] = &chosen(&named).ok()?[..] else { return None };
        let before = Sentence::read(&last.said);
        let alone = std::slice::from_ref(device);
        let high = before.mentions(&["on"]);
        return classified(&before, alone, Some((device, high)), now);
    }
    let (device, high) = last_of(exchanges, devices)?;
    if let Some(corrected) = corrected(&s, &named, &device, high, last, devices) {
        return Some(corrected);
    }
    if !named.is_empty() || s.mentions(&["other", "others", "everything", "all"]) {
        return None;
    }
    let goes_on = || classified(&s, devices, Some((&device, high)), now).filter(|_| only_goes_on(&s));
    weekdays(&s, last).or_else(goes_on)
}

/// "no, I meant 18": the device before is switched back, and this one as that was.
fn corrected(
    s: &Sentence,
    named: &[Mention],
    before: &Device,
    high: bool,
    last: &Exchange,
    devices: &[Device],
) -> Option<Classification> {
    let corrects =
        ["no", "nope", "oops", "sorry", "wrong", "actually"].contains(&s.word(0)) || s.mentions(&["meant", "mean"]);
    let call = last.calls.iter().rfind(|call| !call.failed).filter(|call| corrects && call.tool == "gpio_write")?;
    if s.len() > 8
        || !only_corrects(s, named)
        || s.mentions(&["not", "on", "off", "leave"])
        || call.arguments.contains_key("for")
    {
        return None;
    }
    let number = || {
        // "wrong one, it should be 18": the last number.
        let written = |at: &usize| s.word(*at).chars().all(|c| c.is_ascii_digit());
        let (count, pin) = (0..s.len()).rev().filter(written).find_map(|at| number::whole(s, at))?;
        let known = devices.iter().find(|device| u32::from(device.pin) == pin).cloned();
        let device = known.unwrap_or(Device { pin: u8::try_from(pin).ok()?, name: String::new(), sensor: false });
        (count == 1 && pin <= slots::LAST_PIN).then_some(device)
    };
    let meant = match named {
        [] => number()?,
        named => chosen(named).ok()?.pop()?,
    };
    let switch = |pin: u8, high: bool| ("gpio_write", json!({"pin": pin, "high": high}));
    let both = [switch(before.pin, !high), switch(meant.pin, high)];
    if meant.pin == before.pin || meant.sensor { None } else { calls(both.into_iter(), "another device was meant") }
}

/// "not weekends", after a daily schedule.
fn weekdays(s: &Sentence, last: &Exchange) -> Option<Classification> {
    let call = last.calls.iter().rfind(|call| !call.failed).filter(|call| call.tool == "create_scheduled_task")?;
    let only = has_run(s, &["not", "weekends"]) || has_run(s, &["not", "at", "weekends"]) || s.mentions(&["weekdays"]);
    let daily = call.text("schedule")?.strip_suffix(" * * *").filter(|_| only && s.len() < 6)?;
    let task = call.content["id"].as_str().or(call.text("name"))?;
    let arguments = json!({"taskId": task, "schedule": format!("{daily} * * 1-5")});
    calls([("update_scheduled_task", arguments)].into_iter(), "on weekdays only")
}

/// The device that the calls before were about, with the level they set.
fn last_of(exchanges: &[Exchange], devices: &[Device]) -> Option<(Device, bool)> {
    let call = exchanges.first()?.calls.iter().rfind(|call| !call.failed)?;
    let arguments = if call.tool == "create_scheduled_task" {
        call.arguments.get("arguments")?.as_object()?
    } else {
        &call.arguments
    };
    let about =
        ["gpio_write", "gpio_read", "blink_pin", "name_pin", "create_scheduled_task"].contains(&call.tool.as_str());
    let pin = arguments.get("pin").and_then(Value::as_u64).filter(|_| about)? as u8;
    let known = devices.iter().find(|device| device.pin == pin).cloned();
    let high = arguments.get("high").and_then(Value::as_bool).unwrap_or(true);
    Some((known.unwrap_or(Device { pin, name: String::new(), sensor: false }), high))
}
