//! What the household calls a thing, and where it is.

use super::{list, target};
use ::things::{
    Home, Kind, Things,
    notes::{Notes, ThingNote},
};
use records::{publish_change, rejected, required_text};
use store::{Audience, Stamp, Walk};
use tool::{Scope, prelude::*};

/// The most characters of a name, and the most aliases.
pub(super) const NAME: usize = 60;
const ALIASES: usize = 10;
/// The most things with notes.
const MOST: usize = 5000;

/// Change what the household calls a thing of the home, its aliases, area or kind, hide it, or set whether the voice door may
/// use it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Name, alias or address of the thing, such as `pin:17`.
    thing: String,
    /// Its new name; empty for the name its source gives it.
    #[schemars(length(max = 60))]
    name: Option<String>,
    /// All other names people use, 10 at most.
    #[schemars(length(max = 10))]
    aliases: Option<Vec<String>>,
    /// Its room; empty for the one its source gives it.
    #[schemars(length(max = 60))]
    area: Option<String>,
    /// What it is, such as `light` for a lamp at a switch.
    kind: Option<Kind>,
    /// Whether it is left out of lists and groups.
    hidden: Option<bool>,
    /// Whether the voice door may see and control it. Default: everything but locks, alarms and what is guarded.
    voice: Option<bool>,
}

/// A name that nothing else has.
fn free(home: &Home, at: usize, name: &str) -> Result<String> {
    let name = required_text("name", name, NAME)?;
    // What is hidden or called alike by its source does not matter; what is found by this very name does.
    let taken =
        home.resolve(&name, &|other| other != at).ok().filter(|target| !target.group && target.things.len() == 1);
    let same = taken.and_then(|target| target.things.first().copied()).filter(|other| {
        let known = home.get(*other);
        let alike = |own: &str| records::same_text(own, &name);
        alike(known.name) || known.aliases.iter().any(|alias| alike(alias))
    });
    match same {
        Some(other) => {
            let known = home.get(other);
            Err(Error::bad_args(format!("`{name}` is the name of {} already: choose another", known.address)))
        }
        None => Ok(name),
    }
}

pub(super) async fn update(things: Things, cx: Cx, args: Update) -> Result<Output> {
    let Some(notes) = things.notes().cloned() else {
        return Err(Error::unavailable("names of things cannot be stored here"));
    };
    let home = things.home();
    let target = target::named(&home, &args.thing, &|_| true)?;
    let [at] = target.things[..] else {
        return Err(Error::bad_args(format!("`{}` is several things: name one", args.thing)));
    };
    let known = home.get(at);
    let address = known.address.clone();
    let set_name = match args.name.as_deref().map(str::trim) {
        Some("") => Some(String::new()),
        Some(name) => Some(free(&home, at, name)?),
        None => None,
    };
    let aliases = args.aliases.as_ref().map(|all| {
        if all.len() > ALIASES {
            return Err(Error::bad_args(format!("{ALIASES} aliases at most")));
        }
        all.iter().map(|alias| free(&home, at, alias)).collect::<Result<Vec<_>>>()
    });
    let aliases = aliases.transpose()?;
    let area = args.area.as_deref().map(str::trim).map(|area| match (area, home.area(area)) {
        ("", _) => Ok(String::new()),
        // As it is written there.
        (_, Some(area)) => Ok(home.areas()[area].name.clone()),
        (area, None) => required_text("area", area, NAME),
    });
    let area = area.transpose()?;
    // The name of a pin is the pin's: one name everywhere.
    let pin: Option<u8> = (address.source == "pin").then(|| address.key.parse().ok()).flatten();
    let mut stored_name = set_name.clone();
    if let (Some(pin), Some(name)) = (pin, &set_name) {
        cx.call("name_pin", json!({"pin": pin, "name": name})).await?;
        stored_name = Some(String::new());
    }
    let (records, label, key) = (notes.things.clone(), cx.label(), Notes::key(&address));
    let stamp = Stamp { audience: Audience::Household, ..records.stamp(&cx, "update_thing") };
    let full = records.count(&cx, &Walk::prefix(Notes::BY_ADDRESS, []))? >= MOST;
    let change = {
        let (stored_name, aliases, area) = (stored_name.clone(), aliases.clone(), area.clone());
        let (kind, hidden, voice) = (args.kind, args.hidden, args.voice);
        move |note: &mut ThingNote| {
            if let Some(name) = &stored_name {
                note.name.clone_from(name);
            }
            if let Some(aliases) = &aliases {
                (note.aliases, note.own_aliases) = (aliases.clone(), true);
            }
            if let Some(area) = &area {
                note.area.clone_from(area);
            }
            if let Some(kind) = kind {
                note.choose_kind(kind);
            }
            note.hidden = hidden.unwrap_or(note.hidden);
            note.voice = voice.map_or(note.voice, |voice| if voice { 1 } else { 2 });
        }
    };
    let mut noted = ThingNote { address: address.to_string(), ..ThingNote::default() };
    change(&mut noted);
    let stored = notes.things.store().write(move |tx| {
        match records.find(tx, Scope::Household, Notes::BY_ADDRESS, &key)?.pop() {
            Some(old) => records.change(tx, Scope::Household, label, old.id, &mut |old| {
                change(old);
                Ok(())
            }),
            None if full => Err(rejected(format!("{MOST} things have notes already: that is the most"))),
            None => records.put(tx, Id::new(), &stamp, &noted),
        }
    });
    let stored = stored.await?;
    publish_change(&cx, &stored, "changed");
    things.changed();
    let home = things.home();
    let at = home.at(&address).ok_or_else(|| Error::unavailable("the thing has gone meanwhile"))?;
    let known = home.get(at);
    let place = known.area.filter(|_| args.area.is_some()).map(|area| format!(" in {}", area.name)).unwrap_or_default();
    let said = match (&set_name, args.hidden) {
        (Some(_), _) => format!("That is now called {}{place}.", known.name),
        (None, Some(true)) => format!("{} is hidden now.", known.name),
        _ => format!("{} is changed{place}.", known.name),
    };
    Ok(Output::json(list::shown(&home, at))?.say(said))
}
