//! Tells things what to do: finds them, checks that they can, and makes the calls that their sources plan.

use super::{target, undo, words};
use ::things::{
    Address, Command, Home, Kind, Scale, State, Things, Verb,
    lasting::{self, WayBack},
    state_words,
};
use futures::{StreamExt, stream};
use jiff::SignedDuration;
use std::time::Duration;
use text_kit::join_and;
use tool::prelude::*;

/// The most things of one call.
const MOST: usize = 200;
/// How many are told at once.
const AT_ONCE: usize = 8;
/// How long is waited for a thing to say that it did what it was told, before the answer says that it is doing it.
const SETTLES: Duration = Duration::from_millis(500);
const LOOKS: Duration = Duration::from_millis(25);
/// The end of the names of schedules that take things back.
const AGAIN: &str = "as before again";
/// Tools whose own changes are noted for undoing.
const NOTE_THEMSELVES: &str = "gpio_";

/// Control things of the home: lights, switches, fans, covers, heating, media, locks, alarms, vacuums, scenes. Name them by
/// `thing`, `things`, or `area` (with `kind`). Opening, unlocking and disarming asks a person.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Control {
    /// Name, alias or address (`hall lamp`, `pin:17`), or a group in words (`kitchen lights`).
    thing: Option<String>,
    /// Several things, each as in `thing`.
    #[schemars(length(max = 200))]
    things: Option<Vec<String>>,
    /// A room or floor, or `everywhere`: all in it of this `kind`.
    area: Option<String>,
    /// The kind, with `area` or for all of it in the home.
    kind: Option<Kind>,
    /// What to do.
    action: Option<Verb>,
    /// Brightness, position, speed or volume in percent, for `set_level` or `turn_on`.
    #[schemars(range(max = 100))]
    level: Option<u8>,
    /// Relative: percent for `set_level`, degrees for `set_temperature`; negative is less.
    #[schemars(range(min = -100, max = 100))]
    by: Option<i8>,
    /// For `set_temperature`, in `unit`.
    temperature: Option<f64>,
    /// The unit of `temperature`, and of `by` for it. Default: the unit of the thing.
    unit: Option<Scale>,
    /// Colour for `set_color` (`red`, `#ff8800`), mode for `set_mode` (`heat`, `eco`).
    #[schemars(length(max = 100))]
    text: Option<String>,
    /// For `mute`: false unmutes.
    mute: Option<bool>,
    /// How long, as `PT10M`: then it is as before again.
    #[serde(rename = "for")]
    lasts: Option<String>,
}

/// Whether a call would open, unlock or disarm something. What cannot be understood does: it will fail, or be asked about.
pub(super) fn opens(things: &Things, args: &Value) -> bool {
    let Ok(control) = serde_json::from_value::<Control>(args.clone()) else { return true };
    let Some(verb) = control.action else { return true };
    let home = things.home();
    // Who asks does not matter here: what the voice door may not use counts too.
    let Ok(found) = found(&home, &control, verb, &|_| true) else {
        // A rule may name by its address what is only known once its source is connected.
        let addressed = control.thing.iter().chain(control.things.iter().flatten()).any(|text| text.contains(':'));
        let closes = matches!(verb, Verb::Close | Verb::Lock | Verb::Arm | Verb::TurnOff);
        return matches!(verb, Verb::Unlock | Verb::Disarm) || addressed && !closes;
    };
    found.iter().any(|at| opens_thing(&home, *at, verb, &control))
}

/// Whether it opens now, or when the time of `for` is over.
fn opens_thing(home: &Home, at: usize, verb: Verb, control: &Control) -> bool {
    let known = home.get(at);
    let back = || matches!(verb, Verb::Close | Verb::Lock | Verb::Arm | Verb::TurnOff | Verb::SetLevel);
    known.opens(verb, control.level, control.by)
        || control.lasts.is_some() && back() && known.opens(Verb::Open, None, None)
}

fn found(home: &Home, control: &Control, verb: Verb, mine: &dyn Fn(usize) -> bool) -> Result<Vec<usize>> {
    let able = |at: usize| mine(at) && target::can(home, at, verb);
    let named = |text: &str| match target::named(home, text, &able) {
        Ok(target) if !target.group || target.kind.is_some() => Ok(target.things),
        Ok(target) => {
            // "the kitchen" is its lights where it is turned on.
            let usual = target::usual_kinds(verb);
            let kept: Vec<usize> =
                target.things.iter().copied().filter(|at| usual.contains(&home.get(*at).kind)).collect();
            Ok(if kept.is_empty() { target.things } else { kept })
        }
        // It is there, and cannot do that.
        Err(error) => match target::named(home, text, mine) {
            Ok(other) => Ok(other.things),
            Err(_) => Err(error),
        },
    };
    let several = control.things.iter().flatten().map(String::as_str);
    let texts: Vec<&str> = control.thing.iter().map(String::as_str).chain(several).collect();
    let mut all: Vec<usize> = vec![];
    match (&texts[..], &control.area, control.kind) {
        ([], None, None) => {
            return Err(Error::bad_args("name what to control: a `thing`, `things`, or an `area`")
                .say("Which thing do you mean?"));
        }
        ([], area, kind) => {
            all = target::in_area(home, area.as_deref(), kind, target::usual_kinds(verb), &able)?;
            if all.is_empty() {
                let noun = kind.map_or("thing", |kind| kind.word(1));
                let place = area.as_deref().map_or_else(String::new, |area| format!(" in {area}"));
                let why = format!("there is no {noun}{place} that can do that: `list_things` shows what is here");
                return Err(Error::not_found(why).say(format!("There is no {noun}{place} that can do that.")));
            }
        }
        (texts, area, kind) => {
            for &text in texts {
                // An area beside a name tells two of the same name apart.
                let text = match (area, kind) {
                    (Some(area), _) if !text.contains(':') => format!("{text} in {area}"),
                    _ => text.to_owned(),
                };
                for at in named(&text)? {
                    if !all.contains(&at) {
                        all.push(at);
                    }
                }
            }
        }
    }
    if all.len() > MOST {
        return Err(Error::bad_args(format!("{} things are too many for one call: name an area or kind", all.len())));
    }
    Ok(all)
}

/// The command for a thing: verbs of its kind in place of general ones, relative levels as absolute ones.
fn command_for(home: &Home, at: usize, verb: Verb, control: &Control) -> Result<Command> {
    let known = home.get(at);
    let (has, state) = (|verb: Verb| known.verbs.contains(&verb), known.state);
    let mut command = Command {
        verb,
        level: control.level,
        by: control.by,
        temperature: control.temperature,
        text: control.text.clone(),
        mute: control.mute,
    };
    let missing = |what: &str| Error::bad_args(format!("`{what}` is missing: it says what to set"));
    // What is said in the other scale; a thing that names no unit is taken at its word.
    let scales = control.unit.zip(state.unit.as_deref().and_then(Scale::of));
    if let Some((said, own)) = scales {
        command.temperature = command.temperature.map(|temperature| said.to(own, temperature));
    }
    match verb {
        Verb::TurnOn if !has(verb) && has(Verb::Activate) => command.verb = Verb::Activate,
        Verb::TurnOn if !has(verb) && has(Verb::Play) => command.verb = Verb::Play,
        Verb::TurnOn if control.level.is_some() && has(Verb::SetLevel) => command.verb = Verb::SetLevel,
        Verb::Activate if !has(verb) && has(Verb::TurnOn) => command.verb = Verb::TurnOn,
        Verb::Toggle if !has(verb) => {
            let on = state.active == Some(true);
            command.verb = match (has(Verb::TurnOn), on) {
                (true, true) => Verb::TurnOff,
                (true, false) => Verb::TurnOn,
                (false, true) => Verb::Close,
                (false, false) => Verb::Open,
            };
        }
        Verb::SetLevel if control.level.is_none() && control.by.is_none() => return Err(missing("level")),
        Verb::SetTemperature if control.temperature.is_none() && control.by.is_none() => {
            return Err(missing("temperature"));
        }
        Verb::SetColor | Verb::SetMode if control.text.as_deref().is_none_or(|text| text.trim().is_empty()) => {
            return Err(missing("text"));
        }
        Verb::Mute if control.mute.is_none() => command.mute = Some(true),
        _ => {}
    }
    if let (Verb::SetLevel, None, Some(by)) = (command.verb, command.level, command.by)
        && let Some(level) = state.level.or((state.active == Some(false)).then_some(0))
    {
        // "A bit darker" does not turn a lamp off.
        let least = if known.kind == Kind::Light { 1 } else { 0 };
        let now = if state.active == Some(false) && known.kind == Kind::Light { 0 } else { i16::from(level) };
        command.level = u8::try_from((now + i16::from(by)).clamp(least, 100)).ok();
        command.by = None;
    }
    if let (Verb::SetTemperature, None, Some(by)) = (command.verb, command.temperature, command.by) {
        let from = state.target.or(state.temperature).ok_or_else(|| missing("temperature"))?;
        let by = scales.map_or(by.into(), |(said, own)| said.difference_to(own, by.into()));
        (command.temperature, command.by) = (Some(from + by), None);
    }
    if let Some(temperature) = command.temperature.filter(|t| !t.is_finite() || t.abs() > 500.0) {
        return Err(Error::bad_args(format!("{temperature} is no temperature of a home")));
    }
    if !known.verbs.contains(&command.verb) {
        let can: Vec<String> = known.verbs.iter().filter_map(|verb| verb_name(*verb)).collect();
        let told = verb_name(verb).unwrap_or_default();
        return Err(match can.is_empty() {
            true => Error::bad_args(format!("{} is only read: it cannot be controlled", known.name))
                .say(format!("I can only read {}: it is a sensor.", known.name)),
            false => Error::bad_args(format!("{} cannot do `{told}`; it can do {}", known.name, join_and(&can)))
                .say(format!("{} can't do that.", known.name)),
        });
    }
    Ok(command)
}

fn verb_name(verb: Verb) -> Option<String> {
    serde_json::to_value(verb).ok()?.as_str().map(str::to_owned)
}

/// What became of one thing.
struct Told {
    at: usize,
    command: Command,
    reached: bool,
    until: Option<String>,
}

pub(super) async fn control(things: Things, cx: Cx, args: Control) -> Result<Output> {
    let Some(verb) = args.action else { return Err(Error::bad_args("`action` is missing: it says what to do")) };
    let lasts = args.lasts.as_deref().map(lasting::read).transpose()?;
    let home = things.home();
    let found = found(&home, &args, verb, &|at| target::is_for(&cx, &home, at));
    let found = found.map_err(|error| target::for_caller(&cx, error))?;
    // What was decided about was this call; a name may have got another meaning since.
    if !cx.is_opening() && found.iter().any(|at| opens_thing(&home, *at, verb, &args)) {
        return Err(Error::denied(
            "this would open, unlock or disarm something, and that was not asked about: call it again",
        ));
    }
    found.iter().for_each(|at| cx.taint(home.get(*at).label));
    let names: Vec<&str> = found.iter().map(|at| home.get(*at).name).collect();
    let plans: Vec<String> = names.iter().map(|name| way_back_title(name)).collect();
    lasting::forget(&cx, AGAIN, &plans).await;
    let one = |at: usize| {
        let (things, cx, home, args) = (&things, &cx, &home, &args);
        async move { (at, tell(things, cx, home, at, (verb, args, lasts)).await) }
    };
    let all: Vec<(usize, Result<Told>)> =
        stream::iter(found.iter().copied()).map(one).buffered(AT_ONCE).collect().await;
    report(&things, &home, all, lasts)
}

/// The name of the schedule that takes a thing back.
fn way_back_title(name: &str) -> String {
    format!("{name}: {AGAIN}")
}

async fn tell(
    things: &Things,
    cx: &Cx,
    home: &Home,
    at: usize,
    (verb, args, lasts): (Verb, &Control, Option<SignedDuration>),
) -> Result<Told> {
    let command = command_for(home, at, verb, args)?;
    let thing = home.thing(at);
    let (known, before) = (home.get(at), thing.state.clone());
    let planned = things.plan(&thing, &command).ok_or_else(|| {
        Error::unavailable(format!(
            "{} is not reachable: its source `{}` is not here",
            thing.name, thing.address.source
        ))
    });
    let mut planned = planned??;
    let back = undo::way_back(&thing.verbs, &before, &command);
    let mut until = None;
    if let Some(lasts) = lasts {
        // A pin plans its own way back. By voice nobody may call the tools of pins, now or later: this tool goes back then.
        if planned.tool == "gpio_write" && !cx.is_by_voice() {
            planned.args["for"] = args.lasts.clone().into();
        } else {
            let back = back.clone().filter(|back| back.verb != command.verb || back.level != command.level);
            let back = back.or_else(|| opposite(&command)).filter(|back| thing.verbs.contains(&back.verb));
            let back = back.ok_or_else(|| {
                Error::bad_args(format!("{} cannot go back by itself after that: leave out `for`", thing.name))
            })?;
            // Written down first: whatever happens then, nothing stays on.
            let arguments = undo::arguments(&thing.address, &back);
            let back = WayBack { title: way_back_title(&thing.name), tool: "control_thing", arguments };
            until = Some(lasting::plan(cx, back, lasts).await?);
        }
    }
    let output = cx.call(planned.tool, planned.args).await?;
    cx.taint(output.label);
    let until = until.or_else(|| output.content["until"].as_str().filter(|_| lasts.is_some()).map(str::to_owned));
    let (state, reached) = settled(things, &thing.address, &command).await;
    let note = back.filter(|_| state != before && !planned.tool.starts_with(NOTE_THEMSELVES));
    if let (Some(back), Some(notes)) = (note, things.notes())
        && let Err(error) = notes.things.store().note_outside(undo::part(&known, &back, &state)).await
    {
        tracing::warn!(%error, "what a thing was told could not be noted for undoing");
    }
    Ok(Told { at, command, reached, until })
}

/// Off after on, where a thing is already as it was told.
fn opposite(command: &Command) -> Option<Command> {
    let verb = match command.verb {
        Verb::TurnOn | Verb::SetLevel => Verb::TurnOff,
        Verb::TurnOff => Verb::TurnOn,
        Verb::Open => Verb::Close,
        Verb::Close => Verb::Open,
        Verb::Lock => Verb::Unlock,
        Verb::Unlock => Verb::Lock,
        Verb::Play => Verb::Pause,
        Verb::Pause => Verb::Play,
        _ => return None,
    };
    Some(Command::new(verb))
}

/// Waits a moment for the thing to be as it was told, and returns its state then.
async fn settled(things: &Things, address: &Address, command: &Command) -> (State, bool) {
    let is = |state: &State| match command.verb {
        Verb::TurnOn | Verb::Open | Verb::Unlock | Verb::Play => {
            state.active == Some(true) && !matches!(state.value.as_str(), "opening" | "unlocking")
        }
        Verb::TurnOff | Verb::Close | Verb::Lock | Verb::Pause => {
            state.active == Some(false) && !matches!(state.value.as_str(), "closing" | "locking" | "jammed")
        }
        Verb::Arm => state.value.starts_with("armed"),
        Verb::Disarm => state.value == "disarmed",
        Verb::SetLevel => match (command.level, state.level) {
            (Some(0), _) if state.active == Some(false) => true,
            (Some(wanted), Some(now)) => wanted.abs_diff(now) <= 2,
            (None, _) => true,
            _ => false,
        },
        Verb::SetTemperature => state.target == command.temperature,
        Verb::SetMode => Some(&state.value) == command.text.as_ref(),
        _ => true,
    };
    let begun = tokio::time::Instant::now();
    loop {
        let state = things.get(address).map(|thing| thing.state).unwrap_or_default();
        let reached = is(&state);
        if reached || begun.elapsed() >= SETTLES {
            return (state, reached);
        }
        tokio::time::sleep(LOOKS).await;
    }
}

/// The result of all: each thing with what became of it, and sentences for people.
fn report(
    things: &Things,
    home: &Home,
    mut all: Vec<(usize, Result<Told>)>,
    lasts: Option<SignedDuration>,
) -> Result<Output> {
    if all.len() == 1
        && let Some((_, Err(error))) = all.pop_if(|(_, one)| one.is_err())
    {
        return Err(error);
    }
    let (mut results, mut failed, mut groups) = (vec![], vec![], Vec::<(String, Vec<usize>)>::new());
    let mut until = None;
    for (at, told) in &all {
        let known = home.get(*at);
        let mut result = json!({"thing": known.address, "name": known.name});
        match told {
            Ok(told) => {
                let now = things.get(known.address).map(|thing| thing.state).unwrap_or_default();
                result["state"] = now.value.clone().into();
                result["done"] = told.reached.into();
                if let Some(level) = now.level {
                    result["level"] = level.into();
                }
                if let Some(moment) = &told.until {
                    result["until"] = moment.clone().into();
                    until = Some(moment.clone());
                }
                let (done, doing) = words::goal(&told.command, known.kind, known.state.unit.as_deref().unwrap_or("°"));
                let what = match (told.reached, told.command.verb) {
                    (true, Verb::TurnOn | Verb::Toggle | Verb::Arm) => {
                        let said = state_words(known.kind, &now).short;
                        if told.command.verb == Verb::Toggle || said.starts_with(&done) { said } else { done }
                    }
                    (true, _) => done,
                    (false, _) => doing,
                };
                match groups.iter_mut().find(|(other, _)| *other == what) {
                    Some((_, same)) => same.push(told.at),
                    None => groups.push((what, vec![told.at])),
                }
            }
            Err(error) => {
                result["error"] = error.message().into();
                failed.push((*at, error));
            }
        }
        results.push(result);
    }
    let count = all.len() - failed.len();
    let mut sentences: Vec<String> = groups.iter().map(|(what, same)| words::done(home, same, what)).collect();
    if let (Some(moment), Some(lasts), Some(last)) = (&until, lasts, sentences.last_mut()) {
        *last = format!("{} {}.", last.trim_end_matches('.'), lasting::words(lasts, moment));
    }
    if let [(at, error), rest @ ..] = &failed[..] {
        let others = if rest.is_empty() { String::new() } else { format!(" (and {} more)", rest.len()) };
        let name = home.get(*at).name;
        let why = error.said().unwrap_or(error.message()).trim_end_matches('.');
        sentences.push(format!("{name}{others} did not follow: {why}."));
    }
    let said = sentences.join(" ");
    if count == 0 && !failed.is_empty() {
        return Err(Error::failed(said.clone()).say(said));
    }
    let content = match &mut results[..] {
        [one] => one.take(),
        _ => json!({"results": results, "done": count, "failed": failed.len()}),
    };
    let output = Output::json(content)?.say(said);
    let strange = all.iter().any(|(at, _)| home.get(*at).strange);
    Ok(if strange { output.from_outside() } else { output })
}
