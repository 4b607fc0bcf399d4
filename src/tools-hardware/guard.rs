//! Which changes of a pin are an admin's alone: those after which a door opens that nobody is asked about.

use crate::record::PinName;
use board::{PinSettings, Rest};

fn settings(pin: &PinName) -> PinSettings {
    pin.table().map(|table| table.settings()).unwrap_or_default()
}

/// The part of a change of a pin that an admin has to do, if there is one: the pin as it holds before it and after it. `disarms` says
/// whether an interlock group has a pin that opens, unlocks or disarms something when it goes off.
pub(crate) fn admins_part(before: &PinName, after: &PinName, disarms: impl Fn(&str) -> bool) -> Option<&'static str> {
    let (was, is) = (before.opens_at(), after.opens_at());
    let (old, new) = (settings(before), settings(after));
    if was.is_some() && is != was {
        return Some("say that it is something else");
    }
    if was.is_some() && (old.active_low, old.direction) != (new.active_low, new.direction) {
        return Some("change its direction or the level at which it is on");
    }
    let opens = |rest: Rest| matches!((is, rest), (Some(true), Rest::On) | (Some(false), Rest::Off));
    let at_boot = opens(new.rest_at_boot()) && old.rest_at_boot() != new.rest_at_boot();
    let at_stop = opens(new.rest_at_stop()) && old.rest_at_stop() != new.rest_at_stop();
    if at_boot || at_stop {
        return Some("set a state at a start or a stop in which it is open");
    }
    // An alarm that goes off by itself is disarmed.
    if was == Some(false) && (old.max_on, &old.interlock) != (new.max_on, &new.interlock) {
        return Some("set when it goes off by itself");
    }
    let joins = (&old.interlock, old.interlock_switches) != (&new.interlock, new.interlock_switches);
    if joins && new.interlock_switches && !new.interlock.is_empty() && disarms(&new.interlock) {
        return Some("let it switch off the others of its interlock group, one of which is an alarm");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Direction, Pin, PinKind, PinTable};

    fn pin(name: &str, change: impl FnOnce(&mut PinTable)) -> PinName {
        let mut table = PinTable::new(Pin::new(4).unwrap());
        change(&mut table);
        PinName::new(4, name, false).with(&table)
    }

    #[test]
    fn what_takes_a_guard_or_opens_is_an_admins() {
        let none = |_: &mut PinTable| {};
        let kind = |kind| move |table: &mut PinTable| table.kind = Some(kind);
        let door = || pin("garage door", none);
        let lock = |change: fn(&mut PinTable)| {
            pin("Back entrance", |table| {
                table.kind = Some(PinKind::Lock);
                change(table);
            })
        };
        let alarm = |change: fn(&mut PinTable)| {
            pin("Siren", |table| {
                table.kind = Some(PinKind::Alarm);
                change(table);
            })
        };
        for (before, after, is_admins) in [
            (door(), pin("garage door", kind(PinKind::Light)), true),
            (door(), pin("desk lamp two", none), true),
            (door(), pin("", none), true),
            (door(), pin("garage door", kind(PinKind::Alarm)), true),
            (door(), PinName::new(4, "garage door", true), true),
            (door(), pin("garage door", |table| table.direction = Some(Direction::Input)), true),
            (door(), pin("back gate", none), false),
            (door(), pin("garage door", kind(PinKind::Cover)), false),
            (lock(|_| {}), pin("Back entrance", none), true),
            (lock(|_| {}), lock(|table| table.boot = Some(Rest::On)), true),
            (lock(|_| {}), lock(|table| table.fail_safe = Some(Rest::On)), true),
            (lock(|_| {}), lock(|table| table.fail_safe = Some(Rest::Off)), false),
            (lock(|_| {}), lock(|table| table.active_low = Some(true)), true),
            (lock(|_| {}), lock(|table| table.max_on_seconds = Some(5)), false),
            (lock(|table| table.boot = Some(Rest::On)), lock(|_| {}), false),
            (alarm(|_| {}), alarm(|table| table.boot = Some(Rest::On)), false),
            (alarm(|_| {}), alarm(|table| table.boot = Some(Rest::Off)), true),
            (alarm(|_| {}), alarm(|table| table.max_on_seconds = Some(5)), true),
            (alarm(|_| {}), alarm(|table| table.interlock = Some("x".into())), true),
            (pin("desk lamp", none), pin("garage door", none), false),
            (pin("desk lamp", none), lock(|table| table.boot = Some(Rest::On)), true),
            (pin("desk lamp", none), lock(|_| {}), false),
        ] {
            let part = admins_part(&before, &after, |_| false);
            assert_eq!(part.is_some(), is_admins, "{before:?} to {after:?}: {part:?}");
        }
        let joined = pin("desk lamp", |table| {
            (table.interlock, table.interlock_switches) = (Some("x".into()), Some(true));
        });
        assert!(admins_part(&pin("desk lamp", none), &joined, |group| group == "x").is_some());
        assert!(admins_part(&pin("desk lamp", none), &joined, |group| group == "y").is_none());
    }
}
