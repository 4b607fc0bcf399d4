//! Commands: verb, target, value and time of a sentence.

use super::{
    super::times::Times,
    Before, emit,
    grammar::{BEFORE_NAMES, HIDDEN, SUN},
    reader::{Reader, Set},
    sun::SunTime,
    which,
};
use crate::{
    classification::{BY_SUN, Classification, Stage, fixed_reply},
    sentence::Sentence,
    slots::number,
};
use jiff::Zoned;
use serde_json::{Value, json};
use things::{Home, Kind, NotResolved, Scale, Span, Target, Verb, What};

/// How much "a bit brighter" is, in percent; and "louder"; and "warmer", in degrees.
const LIGHTER: i8 = 20;
const LOUDER: i8 = 10;
const WARMER: i8 = 1;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
struct Act {
    verb: Verb,
    level: Option<u8>,
    by: Option<i8>,
    temperature: Option<f64>,
    /// The scale of the temperature, or of the difference, where it is said.
    unit: Option<Scale>,
    text: Option<String>,
    mute: Option<bool>,
    /// The kinds that are meant where no kind is named.
    usual: &'static [Kind],
}

impl Act {
    fn new(verb: Verb, usual: &'static [Kind]) -> Self {
        Self { verb, level: None, by: None, temperature: None, unit: None, text: None, mute: None, usual }
    }
    fn leveled(level: f64, usual: &'static [Kind]) -> Option<Self> {
        let level = (0.0..=100.0).contains(&level).then_some(level.round() as u8)?;
        Some(Self { level: Some(level), ..Self::new(Verb::SetLevel, usual) })
    }
    fn changed(by: i8, usual: &'static [Kind]) -> Self {
        Self { by: Some(by), ..Self::new(Verb::SetLevel, usual) }
    }
}

const SWITCHED: &[Kind] = &[Kind::Light, Kind::Switch, Kind::Fan, Kind::Media];
const LIGHT: &[Kind] = &[Kind::Light];
const MEDIA: &[Kind] = &[Kind::Media];
const CLIMATE: &[Kind] = &[Kind::Climate];
const COVER: &[Kind] = &[Kind::Cover];
const VACUUM: &[Kind] = &[Kind::Vacuum];

/// A command in a sentence.
pub(super) fn command(s: &Sentence, home: &Home, before: Option<&Before>, now: &Zoned) -> Option<Classification> {
    if let Some((rest, sun)) = SunTime::apart(s)
        && let Some(proposed) = Reader::of(&rest, home, false).and_then(|reader| reader.at_the_sun(&sun, None, now))
    {
        return Some(proposed);
    }
    Reader::of(s, home, before.is_some())?.read(before, None, now)
}

/// A command whose target was chosen after the question which one.
pub(super) fn command_about(s: &Sentence, home: &Home, chosen: &Before, now: &Zoned) -> Option<Classification> {
    if let Some((rest, sun)) = SunTime::apart(s) {
        return Reader::of(&rest, home, true)?.at_the_sun(&sun, Some(chosen), now);
    }
    Reader::of(s, home, true)?.read(None, Some(chosen), now)
}

impl Reader<'_> {
    /// The value; of "from blue to white" the second.
    fn value(&self) -> Option<&Set> {
        let value = if self.has(&["from"]) { self.values.last() } else { self.values.first() };
        value.map(|(.., set)| set)
    }
    fn kinds_named(&self) -> Vec<Kind> {
        let of = |span: &Span| match &span.what {
            What::Kind(kind) => kind.kinds.to_vec(),
            What::Names { things, .. } => things.iter().map(|at| self.home.get(*at).kind).collect(),
            _ => vec![],
        };
        self.spans.iter().flat_map(of).collect()
    }

    /// What is to be done. The order decides: what is said of volume is of no light.
    fn act(&self) -> Option<Act> {
        let (named, value) = (self.kinds_named(), self.value());
        let is = |kind: Kind| named.contains(&kind);
        let up = self.has(&["up", "increase", "raise", "louder"]);
        let down = self.has(&["down", "decrease", "lower", "reduce", "quieter", "softer"]);
        let amount = |value: Option<&Set>| match value {
            Some(Set::Percent(n) | Set::Bare(n) | Set::Degrees(n, _)) => Some(*n),
            _ => None,
        };
        let by = |usual: i8| match amount(value) {
            Some(n) if self.has(&["by"]) && n <= 100.0 => n.round() as i8,
            _ => usual,
        };
        if self.begins(&["mute"]) || self.begins(&["unmute"]) {
            let mute = self.has(&["mute"]);
            return Some(Act { mute: Some(mute), ..Act::new(Verb::Mute, MEDIA) });
        }
        let sounds = (up || down) && self.has(&["sound", "audio"]);
        if sounds || self.has(&["volume", "louder", "quieter", "softer"]) {
            return match amount(value).filter(|_| !self.has(&["by"])) {
                Some(level) => Act::leveled(level, MEDIA),
                None if up => Some(Act::changed(by(LOUDER), MEDIA)),
                None if down => Some(Act::changed(-by(LOUDER), MEDIA)),
                None => None,
            };
        }
        let media = |verb| Some(Act::new(verb, MEDIA));
        let other_media = named.is_empty() || is(Kind::Media);
        if other_media && self.begins(&["previous"])
            || self.has(&["previous"]) && self.has(&["go", "skip", "play", "back"])
        {
            return media(Verb::Previous);
        }
        if other_media
            && self.has(&["back"])
            && self.has(&["go", "skip"])
            && self.has(&["track", "song", "item", "one"])
        {
            return media(Verb::Previous);
        }
        let track = self.has(&["track", "song", "item", "one", "video", "episode"]);
        let plays_last = self.has(&["play"]) && !self.has(&["show", "shows", "music"]);
        let again = self.has(&["last"]) && (track && self.has(&["go", "skip", "back"]) || plays_last);
        let back = self.has(&["go"]) && self.has(&["back"]) && !self.spans.is_empty();
        if other_media && (again || back || self.begins(&["replay"])) {
            return media(Verb::Previous);
        }
        if other_media && (self.begins(&["next", "skip"]) || self.has(&["next"]) && self.has(&["play", "go"])) {
            return media(Verb::Next);
        }
        if other_media && self.begins(&["pause"]) {
            return media(Verb::Pause);
        }
        if other_media && self.begins(&["resume", "unpause", "continue", "play"]) {
            return media(Verb::Play);
        }
        // What opens is told so by the verb: "the front door unlock …" may be the beginning of anything.
        let opens = |verb: &str| self.word(self.first) == verb && !self.is_named(self.first);
        if opens("unlock") {
            return Some(Act::new(Verb::Unlock, &[Kind::Lock]));
        }
        if self.word(self.first) == "lock" && !self.is_named(self.first) {
            return Some(Act::new(Verb::Lock, &[Kind::Lock]));
        }
        if opens("disarm") || self.begins(&["arm"]) {
            let verb = if opens("disarm") { Verb::Disarm } else { Verb::Arm };
            return Some(Act::new(verb, &[Kind::Alarm]));
        }
        // "turn the kitchen up to 40 %" is said of what is heard; "turn up the kitchen to 40 %" of what is seen.
        let tuned =
            (1..self.words.len()).any(|at| self.word(at) == "to" && ["up", "down"].contains(&self.word(at - 1)));
        let unnamed = named.is_empty() && !self.has(&["brightness", "temperature", "temp", "it", "them", "that"]);
        let heard = match value {
            Some(Set::Percent(n)) => Some(n),
            Some(Set::Bare(n)) if !self.warms(*n) => Some(n),
            _ => None,
        };
        if let Some(n) = heard
            && tuned
            && unnamed
            && self.begins(&["turn"])
            && self.of_areas(Kind::Media).next().is_some()
        {
            return Act::leveled(*n, MEDIA);
        }
        if let Some(act) = self.of_level(&named, value, (up, down), &by) {
            return act;
        }
        // "All gates open" is rather asked.
        let tells = opens("open") || self.begins(&["open"]) && !self.has(&["all", "every", "each", "both"]);
        if tells || is(Kind::Cover) && self.begins(&["raise", "lift"]) {
            return Some(Act::new(Verb::Open, COVER));
        }
        let shuts = is(Kind::Cover) && self.begins(&["shut", "lower"]);
        if self.begins(&["close"]) || shuts && !self.has(&["off", "down"]) || shuts && self.has(&["down"]) {
            return Some(Act::new(Verb::Close, COVER));
        }
        if is(Kind::Vacuum) && self.begins(&["return", "dock", "send"])
            || self.begins(&["return", "dock", "send"]) && self.has(&["base", "dock", "home", "station"])
        {
            return Some(Act::new(Verb::Return, VACUUM));
        }
        let only_areas = named.is_empty();
        if self.begins(&["start", "begin"]) && self.has(&["cleaning", "vacuuming", "hoovering"]) && only_areas {
            return Some(Act::new(Verb::TurnOn, VACUUM));
        }
        if self.begins(&["clean", "vacuum", "hoover"]) && (only_areas || is(Kind::Vacuum)) {
            return Some(Act::new(Verb::TurnOn, VACUUM));
        }
        if self.begins(&["stop", "halt"]) {
            return Some(Act::new(Verb::Stop, &[Kind::Cover, Kind::Media, Kind::Vacuum]));
        }
        let scene = is(Kind::Scene);
        if scene
            && self.begins(&["transition", "change", "set", "run", "trigger", "start", "go", "switch"])
            && self.states().is_empty()
        {
            return Some(Act::new(Verb::Activate, &[Kind::Scene]));
        }
        self.switched()
    }

    /// On or off.
    fn switched(&self) -> Option<Act> {
        let on = || Some(Act::new(Verb::TurnOn, LIGHT));
        let off = || Some(Act::new(Verb::TurnOff, SWITCHED));
        if self.begins(&["toggle"]) && self.states().is_empty() {
            return Some(Act::new(Verb::Toggle, LIGHT));
        }
        if self.begins(&["deactivate", "disable", "kill"]) || self.begins(&["cut"]) && self.states().is_empty() {
            return off();
        }
        let lights_up = self.begins(&["light"]) && self.has(&["up"]) || self.begins(&["illuminate"]);
        // "Start the day with coffee" starts no machine.
        let close = |at: usize| {
            let between = |at: usize| BEFORE_NAMES.contains(&self.word(at)) || self.word(at) == "up";
            (self.first + 1..at).all(between)
        };
        let is_thing = |span: &Span| matches!(span.what, What::Names { .. } | What::Kind(_));
        let names = self.spans.iter().any(|span| is_thing(span) && close(span.at)) || self.after_names().is_some();
        let makes = self.begins(&["make", "brew", "prepare"]) && self.is_one_switch();
        let starts = self.begins(&["activate", "enable"])
            || makes
            || names && self.begins(&["start", "run", "trigger"])
            || self.begins(&["power"]) && self.has(&["up"]);
        if lights_up || starts && !self.states().contains(&false) {
            return on();
        }
        let states = self.states();
        // "The bench light" is said to somebody who switches it on.
        if states.is_empty() && self.is_a_light() {
            return on();
        }
        let (first, rest) = states.split_first()?;
        if rest.iter().any(|other| other != first) {
            return None;
        }
        const VERBS: &[&str] = &[
            "turn", "switch", "toggle", "change", "put", "pop", "flick", "flip", "power", "get", "set", "make",
            "bring", "shut", "leave", "keep", "cut",
        ];
        let verb = self.word(self.first);
        let has_verb = VERBS.contains(&verb) && !self.is_named(self.first);
        // "get off the sofa" is said to a child.
        if verb == "get" && self.word(self.first + 1) == "off" {
            return None;
        }
        // "hall lamp on for ten minutes", "all lights off", "everything off".
        let names_first = self.after_names().is_some() || self.spans.iter().any(|span| span.at <= self.first + 3);
        (has_verb || self.wishes || names_first || ["on", "off"].contains(&verb))
            .then(|| if *first { on() } else { off() })?
    }

    /// Whether what is named is one switch: "make coffee" switches the coffee machine on.
    fn is_one_switch(&self) -> bool {
        let [Span { what: What::Names { things, .. }, .. }] = &self.spans[..] else { return false };
        matches!(things[..], [at] if self.home.get(at).kind == Kind::Switch) && self.values.is_empty()
    }

    /// Whether nothing is said but the whole name of one light, of two words or more.
    fn is_a_light(&self) -> bool {
        let [Span { at, end, what: What::Names { things, whole: true } }] = &self.spans[..] else { return false };
        let [light] = things[..] else { return false };
        self.home.get(light).kind == Kind::Light && end - at > 1 && self.after_names() == Some(self.words.len())
    }

    /// Brightness, colour, position, temperature, mode.
    fn of_level(
        &self,
        named: &[Kind],
        value: Option<&Set>,
        (up, down): (bool, bool),
        by: &dyn Fn(i8) -> i8,
    ) -> Option<Option<Act>> {
        let is = |kind: Kind| named.contains(&kind);
        let relative = self.has(&["by"]);
        let set = |temperature: f64| Act { temperature: Some(temperature), ..Act::new(Verb::SetTemperature, CLIMATE) };
        let sets = self.has(&[
            "set",
            "change",
            "adjust",
            "turn",
            "put",
            "make",
            "dim",
            "brighten",
            "open",
            "close",
            "raise",
            "lower",
            "increase",
            "decrease",
            "reduce",
            "heat",
            "cool",
            "warm",
            "bring",
            "switch",
            "to",
            "lift",
            "shut",
            "color",
            "colour",
            "brightness",
        ]) || self.after_names().is_some()
            || ["temperature", "the"].contains(&self.word(self.first));
        let bright = self.has(&["brightness", "bright", "dim", "brighten", "intensity"]);
        let warm = self.has(&["temperature", "temp", "warm", "heat", "cool"]) || is(Kind::Climate);
        match value {
            Some(Set::Degrees(n, unit)) if sets && !relative => return Some(Some(Act { unit: *unit, ..set(*n) })),
            Some(Set::Bare(n)) if sets && !relative && warm => return Some(Some(set(*n))),
            Some(Set::Mode(mode)) if is(Kind::Climate) => {
                return Some(Some(Act { text: Some(mode.clone()), ..Act::new(Verb::SetMode, CLIMATE) }));
            }
            Some(Set::Color(color)) if sets && (named.is_empty() || is(Kind::Light)) => {
                return Some(Some(Act { text: Some(color.clone()), ..Act::new(Verb::SetColor, LIGHT) }));
            }
            // "set the living room to 21" warms it; where nothing there heats, or it would be too hot, its lights are meant.
            Some(Set::Bare(n)) if sets && !relative && named.is_empty() && !bright => {
                let says_so = self.after_names().is_none() || self.has(&["to"]);
                let dims = says_so && self.of_areas(Kind::Light).next().is_some();
                return Some(if self.warms(*n) { Some(set(*n)) } else { Act::leveled(*n, LIGHT).filter(|_| dims) });
            }
            Some(Set::Percent(n) | Set::Bare(n)) if sets && !relative => {
                let usual = if bright || named.is_empty() {
                    LIGHT
                } else {
                    &[Kind::Light, Kind::Cover, Kind::Fan, Kind::Media][..]
                };
                return Some(Act::leveled(*n, usual));
            }
            _ => {}
        }
        // "lights down", "lower the lights"; but "power the lights up".
        let lights = !named.is_empty() && named.iter().all(|kind| *kind == Kind::Light) && self.states().is_empty();
        let verb = self.words[self.first].starts_with(HIDDEN);
        let dims = bright || lights && !verb && !self.begins(&["power"]);
        if self.has(&["brighter", "brighten"]) || dims && up || self.begins(&["bright"]) {
            return Some(Some(Act::changed(by(LIGHTER), LIGHT)));
        }
        if self.has(&["darker", "dimmer", "dim"]) || dims && down {
            return Some(Some(Act::changed(-by(LIGHTER), LIGHT)));
        }
        let warmer = self.has(&["warmer", "hotter"]) || warm && up;
        if warmer || self.has(&["cooler", "colder"]) || warm && down {
            let degrees = if warmer { by(WARMER) } else { -by(WARMER) };
            let unit = if let Some(Set::Degrees(_, unit)) = value { *unit } else { None };
            return Some(Some(Act { by: Some(degrees), unit, ..Act::new(Verb::SetTemperature, CLIMATE) }));
        }
        None
    }

    /// The things of a kind in the areas that are named.
    fn of_areas(&self, kind: Kind) -> impl Iterator<Item = usize> {
        let areas: Vec<usize> = self
            .spans
            .iter()
            .filter_map(|span| if let What::Area(area) = span.what { Some(area) } else { None })
            .collect();
        let inside = move |at: usize| {
            let own = self.home.area_of(at);
            areas.iter().any(|area| own.is_some_and(|own| self.home.is_within(own, *area)))
        };
        (0..self.home.len()).filter(move |at| self.home.get(*at).kind == kind && inside(*at))
    }

    /// Whether a number is how warm a room shall be, on the scale of what heats there.
    fn warms(&self, n: f64) -> bool {
        self.of_areas(Kind::Climate).any(|at| {
            let scale = self.home.get(at).state.unit.as_deref().and_then(Scale::of);
            let range = if scale == Some(Scale::Fahrenheit) { 50.0..=86.0 } else { 10.0..=30.0 };
            range.contains(&n)
        })
    }

    fn read(&self, before: Option<&Before>, chosen: Option<&Before>, now: &Zoned) -> Option<Classification> {
        let act = self.act()?;
        let (target, act) = match chosen {
            Some(chosen) => (chosen.target.clone(), act),
            None => match self.target(&act, before)? {
                Ok(target) => {
                    let everything = self.spans.iter().any(|span| matches!(span.what, What::Everything));
                    let areas_alone =
                        self.spans.iter().all(|span| matches!(span.what, What::Area(_) | What::Everywhere));
                    let wide = everything || areas_alone && act.verb == Verb::TurnOff;
                    let one_kind = target.kind.or_else(|| act.usual.first().copied().filter(|_| act.usual.len() == 1));
                    let target = Target { kind: one_kind.filter(|_| target.group), ..target };
                    (emit::target(self.home, &target, wide), act)
                }
                Err(Ok(before)) => (before, act),
                Err(Err(reply)) => return Some(*reply),
            },
        };
        self.calls(&act, &target, now)
    }

    /// The question whether to make a rule of a command: the sun is no time that a schedule knows.
    fn at_the_sun(&self, sun: &SunTime, chosen: Option<&Before>, now: &Zoned) -> Option<Classification> {
        let placed = self.read(None, chosen, now)?;
        let (Some("control_thing"), [], Value::Object(mut action)) =
            (placed.tool.as_deref(), &placed.more[..], placed.arguments.clone())
        else {
            // A question which one, or that nothing is called that.
            return placed.tool.is_none().then_some(placed);
        };
        if !["thing", "things", "area"].iter().any(|part| action.contains_key(*part)) {
            action.insert("area".to_owned(), "everywhere".into());
        }
        let words: Vec<&str> = self.s.tokens.iter().map(|token| token.word.as_str()).collect();
        let words = words.join(" ");
        action.insert("type".to_owned(), "thing".into());
        let rule = json!({"triggers": [sun.trigger()], "actions": [action]});
        let say = sun.question(&words);
        Some(Classification {
            proposes: Some(("create_rule".to_owned(), rule)),
            stage: Stage::Asked,
            ..fixed_reply(&say, BY_SUN)
        })
    }

    /// The things that are meant, or the target before, or a reply.
    #[allow(clippy::type_complexity)]
    fn target(
        &self,
        act: &Act,
        before: Option<&Before>,
    ) -> Option<Result<Target, Result<serde_json::Map<String, Value>, Box<Classification>>>> {
        let home = self.home;
        let reply = |placed: Classification| Some(Err(Err(Box::new(placed))));
        let able = |at: usize| can(home, at, act);
        let wanted: Vec<usize> = (0..home.len())
            .filter(|at| !home.get(*at).hidden && able(*at) && act.usual.contains(&home.get(*at).kind))
            .collect();
        if self.spans.is_empty() {
            if let Some(before) = before {
                let fits = before.things.iter().all(|at| able(*at));
                return fits.then(|| Err(Ok(before.target.clone())));
            }
            let lights_up = self.words[self.first].starts_with(HIDDEN) && act.usual == LIGHT;
            if self.has(&["it", "that", "them", "those", "these"]) && act.usual != MEDIA && !lights_up {
                return None;
            }
            if self.is_here() || lights_up {
                return reply(fixed_reply("I can't tell which room you are in: say its name.", "which room is meant"));
            }
            // What plays is paused, what is on is dimmed.
            let active = |at: &usize| home.get(*at).state.active == Some(act.verb != Verb::Play);
            let likely: Vec<usize> = wanted.iter().copied().filter(active).collect();
            let one = if likely.len() == 1 { &likely } else { &wanted };
            return match one[..] {
                [] => reply(nothing(act, None)),
                [at] => Some(Ok(Target { things: vec![at], ..Target::default() })),
                _ if wanted.len() <= 6 => reply(which(home, &wanted)),
                _ => reply(fixed_reply("Say which one, or in which room.", "several things fit")),
            };
        }
        let placed = |span: &Span| matches!(span.what, What::Area(_) | What::Names { .. } | What::Everywhere);
        if self.is_here() && !self.spans.iter().any(placed) {
            return reply(fixed_reply("I can't tell which room you are in: say its name.", "which room is meant"));
        }
        let said: Vec<&str> = self.words.iter().map(|word| word.trim_start_matches(HIDDEN)).collect();
        match home.meant(&self.spans, &said, act.usual, &able) {
            Ok(target) => Some(Ok(target)),
            Err(NotResolved::Several { things }) => reply(which(home, &things)),
            // Is it there, and cannot do that?
            Err(NotResolved::Nothing { .. }) => match home.meant(&self.spans, &said, &[], &|_| true) {
                Ok(other) if other.things.len() == 1 && self.names() => {
                    let known = home.get(other.things[0]);
                    let say = match known.is_controlled() {
                        true => format!("{} can't do that.", known.name),
                        false => format!("I can only read {}: it is a sensor.", known.name),
                    };
                    reply(fixed_reply(&say, "it cannot do that"))
                }
                _ => reply(nothing(act, Some(self.named_words()))),
            },
        }
    }

    fn names(&self) -> bool {
        self.spans.iter().any(|span| matches!(span.what, What::Names { .. }))
    }
    fn named_words(&self) -> String {
        let (from, to) = (self.spans.first().map_or(0, |span| span.at), self.spans.last().map_or(0, |span| span.end));
        (from..to).map(|at| self.word(at)).filter(|word| !["on", "off"].contains(word)).collect::<Vec<_>>().join(" ")
    }

    fn calls(&self, act: &Act, target: &serde_json::Map<String, Value>, now: &Zoned) -> Option<Classification> {
        let arguments = |verb: Verb, lasts: Option<&String>| {
            let mut all = target.clone();
            all.insert("action".to_owned(), json!(verb));
            let parts = [
                ("level", act.level.map(Value::from)),
                ("by", act.by.map(Value::from)),
                ("temperature", act.temperature.map(number::json)),
                ("unit", act.unit.map(|unit| json!(unit))),
                ("text", act.text.clone().map(Value::from)),
                ("mute", act.mute.map(Value::from)),
                ("for", lasts.cloned().map(Value::from)),
            ];
            all.extend(parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
            Value::Object(all)
        };
        // The times are in what is left of the sentence.
        let left = |at: &usize| !self.is_named(*at) && !self.is_value(*at);
        let tokens: Vec<_> = (0..self.words.len()).filter(left).map(|at| self.s.tokens[at].clone()).collect();
        let rest = Sentence { tokens, ..self.s.clone() };
        if rest.mentions(SUN) {
            let say = "By the sun I do things at sunset or sunrise or some time before or after, once or every day: \
                       “… half an hour before sunset”, “… every day at sunset”. Or give a time: “… at 17:00”.";
            return Some(fixed_reply(say, "another time by the sun"));
        }
        let timed = (0..self.words.len()).filter(left).any(|at| self.is_timed(at));
        let times = if timed { Times::read(&rest, now) } else { Times::default() };
        if times.vague || timed && times.lasts.is_none() && times.every.is_none() && times.moments.is_empty() {
            return None;
        }
        let call = |verb: Verb, lasts| ("control_thing", arguments(verb, lasts));
        let name = format!("{} {}", self.named_words(), verb_words(act.verb));
        let plan = |verb: Verb, schedule: &str, lasts| {
            let arguments = arguments(verb, lasts);
            (
                "create_scheduled_task",
                json!({"name": name.trim(), "schedule": schedule, "tool": "control_thing", "arguments": arguments}),
            )
        };
        let lasts = times.lasts.as_ref();
        let all = match (&times.every, &times.moments[..]) {
            (Some(_), _) => vec![plan(act.verb, &times.pattern(0)?, lasts)],
            (None, [one]) if times.until => vec![call(act.verb, None), plan(emit::opposite(act.verb)?, one, None)],
            (None, [one]) => vec![plan(act.verb, one, lasts)],
            (None, []) => vec![call(act.verb, lasts)],
            _ => return None,
        };
        emit::calls(all, "a command for things")
    }
}

/// Whether a thing can do what is to be done, perhaps by another verb of its kind.
fn can(home: &Home, at: usize, act: &Act) -> bool {
    let known = home.get(at);
    let has = |verb: Verb| known.verbs.contains(&verb);
    match act.verb {
        Verb::TurnOn => has(Verb::TurnOn) || has(Verb::Activate) || known.kind == Kind::Media && has(Verb::Play),
        Verb::Toggle => has(Verb::Toggle) || has(Verb::TurnOn) && has(Verb::TurnOff),
        Verb::Activate => has(Verb::Activate) || known.kind == Kind::Scene && has(Verb::TurnOn),
        verb => has(verb),
    }
}

fn verb_words(verb: Verb) -> String {
    let name = serde_json::to_value(verb).ok();
    let name = name.as_ref().and_then(Value::as_str).unwrap_or_default();
    name.trim_start_matches("turn_").replace('_', " ")
}

/// Nothing here is called that, or can do that.
fn nothing(act: &Act, named: Option<String>) -> Classification {
    let deed_words = verb_words(act.verb);
    let can = match act.verb {
        Verb::TurnOn | Verb::TurnOff => "switch".to_owned(),
        Verb::SetLevel => "set".to_owned(),
        _ => deed_words,
    };
    let say = match named.filter(|named| !named.is_empty()) {
        Some(named) => format!("I have nothing called “{named}” that I can {can}."),
        None => {
            let noun = act.usual.first().map_or("thing", |kind| kind.word(1));
            format!("I know no {noun} here that I can {can}.")
        }
    };
    fixed_reply(&say, "nothing is called that")
}
