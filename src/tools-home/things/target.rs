//! Which things a call means.

use ::things::{Home, Kind, NotResolved, Target, Verb};
use text_kit::{join_and, which_one};
use tool::{Peer, prelude::*};

/// Names of the whole home in `area`.
const EVERYWHERE: &[&str] = &["everywhere", "home", "house", "everything", "all", "whole house", "the house"];

/// Whether this caller may see or use a thing: what the voice door may not use does not exist for it.
pub(super) fn is_for(cx: &Cx, home: &Home, at: usize) -> bool {
    !matches!(cx.via().peer, Peer::Voice) || home.get(at).voice
}

/// An error for this caller. By voice it is the same whether a thing is not there or may not be used.
pub(super) fn for_caller(cx: &Cx, error: Error) -> Error {
    if matches!(cx.via().peer, Peer::Voice) && matches!(error, Error::NotFound(_)) {
        return error.say("I know nothing of that name that may be used by voice. Hob's page shows everything.");
    }
    error
}

/// The kinds that a verb means where only an area is named. "Everything off" leaves heating, locks and alarms alone.
pub(super) fn usual_kinds(verb: Verb) -> &'static [Kind] {
    match verb {
        Verb::TurnOff => &[Kind::Light, Kind::Switch, Kind::Fan, Kind::Media],
        Verb::TurnOn | Verb::Toggle | Verb::SetLevel | Verb::SetColor => &[Kind::Light],
        Verb::Open | Verb::Close => &[Kind::Cover],
        Verb::Lock | Verb::Unlock => &[Kind::Lock],
        Verb::Arm | Verb::Disarm => &[Kind::Alarm],
        Verb::SetTemperature | Verb::SetMode => &[Kind::Climate],
        Verb::Play | Verb::Pause | Verb::Next | Verb::Previous | Verb::Mute => &[Kind::Media],
        Verb::Stop => &[Kind::Cover, Kind::Media, Kind::Vacuum],
        Verb::Return => &[Kind::Vacuum],
        Verb::Activate => &[Kind::Scene],
    }
}

/// Whether a thing can be told to do something, perhaps by another verb of its kind.
pub(super) fn can(home: &Home, at: usize, verb: Verb) -> bool {
    let verbs = home.get(at).verbs;
    let has = |verb: &Verb| verbs.contains(verb);
    has(&verb)
        || match verb {
            Verb::TurnOn => has(&Verb::Activate) || home.get(at).kind == Kind::Media && has(&Verb::Play),
            Verb::Toggle => has(&Verb::TurnOn) && has(&Verb::TurnOff) || has(&Verb::Open) && has(&Verb::Close),
            Verb::Activate => has(&Verb::TurnOn) && home.get(at).kind == Kind::Scene,
            _ => false,
        }
}

/// The things that a text means, of those that fit.
pub(super) fn named(home: &Home, text: &str, fits: &dyn Fn(usize) -> bool) -> Result<Target> {
    home.resolve(text, fits).map_err(|trouble| error(home, text, &trouble))
}

fn error(home: &Home, text: &str, trouble: &NotResolved) -> Error {
    match trouble {
        NotResolved::Nothing { near } if near.is_empty() => {
            Error::not_found(format!("nothing in the home is called `{text}`: `list_things` shows what is here"))
                .say(format!("I know nothing called “{text}” in the home."))
        }
        NotResolved::Nothing { near } => {
            Error::not_found(format!("nothing in the home is called `{text}`; near names are {}", join_and(near)))
                .say(format!("I know nothing called “{text}” in the home. Did you mean {}?", near.join(" or ")))
        }
        NotResolved::Several { things } => {
            let names = home.names(things);
            let addresses: Vec<String> =
                things.iter().take(names.len()).map(|at| home.get(*at).address.to_string()).collect();
            Error::bad_args(format!(
                "`{text}` may be {}: name one of them, by its whole name or its address ({})",
                join_and(&names),
                addresses.join(", ")
            ))
            .say(which_one("one", &names).replace("Which one:", "Which one do you mean:"))
        }
    }
}

/// The things in an area, of a kind where one is given, else of the usual kinds.
pub(super) fn in_area(
    home: &Home,
    area: Option<&str>,
    kind: Option<Kind>,
    usual: &[Kind],
    fits: &dyn Fn(usize) -> bool,
) -> Result<Vec<usize>> {
    let area = area.map(str::trim).filter(|area| !EVERYWHERE.contains(&area.to_lowercase().as_str()));
    let area = area.map(|name| area_named(home, name)).transpose()?;
    let wanted = |at: &usize| {
        let known = home.get(*at);
        let inside = area.is_none_or(|area| home.area_of(*at).is_some_and(|own| home.is_within(own, area)));
        let of_kind = kind.map_or(usual.is_empty() || usual.contains(&known.kind), |kind| known.kind == kind);
        inside && of_kind && !known.hidden && fits(*at)
    };
    Ok((0..home.len()).filter(wanted).collect())
}

/// The area of a name, with slips of spelling.
pub(super) fn area_named(home: &Home, name: &str) -> Result<usize> {
    let plain = name.trim().to_lowercase();
    let plain = plain.strip_prefix("the ").unwrap_or(&plain);
    if let Some(area) = home.area(plain) {
        return Ok(area);
    }
    let likeness = |other: &str| strsim::jaro_winkler(plain, &other.to_lowercase());
    let mut near: Vec<(f64, usize)> =
        home.areas().iter().enumerate().map(|(at, area)| (likeness(&area.name), at)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    match near[..] {
        [(best, at), ref rest @ ..] if best > 0.92 && rest.first().is_none_or(|(next, _)| *next < best) => Ok(at),
        _ => {
            let names: Vec<&str> = home.areas().iter().take(12).map(|area| area.name.as_str()).collect();
            let known = match names.is_empty() {
                true => "no areas are known yet".to_owned(),
                false => format!("known areas are {}", join_and(&names)),
            };
            Err(Error::not_found(format!("no area is called `{name}`; {known}"))
                .say(format!("I know no room or floor called “{name}”.")))
        }
    }
}
