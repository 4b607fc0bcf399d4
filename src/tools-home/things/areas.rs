//! Areas: rooms, and floors around them.

use super::{notes::NAME, target};
use ::things::{
    Home, Things,
    notes::{AreaNote, Notes},
};
use records::{publish_change, rejected, required_text};
use store::{Audience, Stamp, Walk, order};
use text_kit::join_and;
use tool::{Scope, prelude::*};

const ALIASES: usize = 10;
/// The most areas with a record.
const MOST: usize = 500;

/// List the areas of the home: rooms and floors, with how many things each has.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct List {}

/// How many things an area has, and how many of them are on; with `None` those that have no area.
fn count(home: &Home, area: Option<usize>) -> (usize, usize) {
    let mine = (0..home.len()).filter(|thing| home.area_of(*thing) == area && !home.get(*thing).hidden);
    mine.fold((0, 0), |(all, on), thing| (all + 1, on + usize::from(home.get(thing).state.active == Some(true))))
}

fn shown(home: &Home, at: usize) -> Value {
    let area = &home.areas()[at];
    let (things, active) = count(home, Some(at));
    let mut one = json!({"area": area.name, "things": things, "active": active});
    if !area.aliases.is_empty() {
        one["aliases"] = json!(area.aliases);
    }
    if let Some(parent) = area.parent {
        one["parent"] = home.areas()[parent].name.clone().into();
    }
    one
}

pub(super) async fn list(things: Things, cx: Cx, List {}: List) -> Result<Output> {
    let home = things.home();
    home.areas().iter().for_each(|area| cx.taint(area.label));
    let all: Vec<Value> = (0..home.areas().len()).map(|at| shown(&home, at)).collect();
    let mut sentences: Vec<String> = vec![];
    let rooms_of = |parent: Option<usize>| -> Vec<String> {
        home.areas().iter().filter(|area| area.parent == parent).map(|area| area.name.clone()).collect()
    };
    for (at, area) in home.areas().iter().enumerate() {
        let rooms = rooms_of(Some(at));
        if !rooms.is_empty() {
            sentences.push(format!("{}: {}.", area.name, join_and(&rooms)));
        }
    }
    let is_floor = |name: &String| sentences.iter().any(|said| said.starts_with(&format!("{name}: ")));
    let alone: Vec<String> = rooms_of(None).into_iter().filter(|name| !is_floor(name)).collect();
    if !alone.is_empty() {
        sentences.push(format!("{}: {}.", if sentences.is_empty() { "Rooms" } else { "Others" }, join_and(&alone)));
    }
    if sentences.is_empty() {
        sentences.push("No rooms are known yet.".to_owned());
    }
    let (things, active) = count(&home, None);
    Ok(Output::json(json!({"areas": all, "unplaced": {"things": things, "active": active}}))?.say(sentences.join(" ")))
}

/// Make an area of the home, or change one: rename it, name its aliases, or put it on a floor. Things are put into it by
/// `update_thing`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    /// Name or alias of the area; a new name makes one.
    #[schemars(length(max = 60))]
    area: String,
    /// Its new name.
    #[schemars(length(max = 60))]
    name: Option<String>,
    /// All other names people use, 10 at most.
    #[schemars(length(max = 10))]
    aliases: Option<Vec<String>>,
    /// The area around it, such as a floor; empty for none.
    #[schemars(length(max = 60))]
    parent: Option<String>,
}

pub(super) async fn update(things: Things, cx: Cx, args: Update) -> Result<Output> {
    let Some(notes) = things.notes().cloned() else {
        return Err(Error::unavailable("areas cannot be stored here"));
    };
    let home = things.home();
    let given = required_text("area", &args.area, NAME)?;
    let at = home.area(&given);
    let known = at.map(|at| &home.areas()[at]);
    let old_name = known.map_or(given.clone(), |area| area.name.clone());
    let free = |name: &str| {
        let name = required_text("name", name, NAME)?;
        match home.area(&name).filter(|other| Some(*other) != at) {
            Some(other) => {
                let other = &home.areas()[other].name;
                Err(Error::bad_args(format!("`{name}` is the area {other} already: choose another name")))
            }
            None => Ok(name),
        }
    };
    let name = args.name.as_deref().map(&free).transpose()?.unwrap_or_else(|| old_name.clone());
    let mut aliases = match &args.aliases {
        Some(all) if all.len() > ALIASES => return Err(Error::bad_args(format!("{ALIASES} aliases at most"))),
        Some(all) => all.iter().map(|alias| free(alias)).collect::<Result<Vec<_>>>()?,
        None => known.map(|area| area.aliases.clone()).unwrap_or_default(),
    };
    // Things and people call it by the name before, too.
    if !records::same_text(&name, &old_name) && !aliases.contains(&old_name) {
        aliases.push(old_name.clone());
    }
    aliases.retain(|alias| !records::same_text(alias, &name));
    let parent = match args.parent.as_deref().map(str::trim) {
        Some("") => String::new(),
        Some(parent) => {
            let parent_at = home.area(parent);
            if let (Some(at), Some(around)) = (at, parent_at)
                && home.is_within(around, at)
            {
                return Err(Error::bad_args(format!("{old_name} cannot be inside of {parent}, which is inside of it")));
            }
            match parent_at {
                Some(around) => home.areas()[around].name.clone(),
                None => required_text("parent", parent, NAME)?,
            }
        }
        None => known.and_then(|area| area.parent).map(|at| home.areas()[at].name.clone()).unwrap_or_default(),
    };
    let record = known.and_then(|area| area.record);
    let note = AreaNote { name: name.clone(), aliases, parent };
    let (records, label) = (notes.areas.clone(), cx.label());
    let stamp = Stamp { audience: Audience::Household, ..records.stamp(&cx, "update_area") };
    let full = records.count(&cx, &Walk::prefix(Notes::BY_NAME, []))? >= MOST;
    let stored = notes.areas.store().write(move |tx| {
        let same = records.find(tx, Scope::Household, Notes::BY_NAME, &order::text(&note.name))?.pop();
        match record.or(same.map(|same| same.id)) {
            Some(id) => records.change(tx, Scope::Household, label, id, &mut |old| {
                old.clone_from(&note);
                Ok(())
            }),
            None if full => Err(rejected(format!("{MOST} areas are the most"))),
            None => records.put(tx, Id::new(), &stamp, &note),
        }
    });
    let stored = stored.await?;
    publish_change(&cx, &stored, "changed");
    things.changed();
    let home = things.home();
    let at = target::area_named(&home, &name)?;
    let around = home.areas()[at].parent.map(|parent| home.areas()[parent].name.as_str());
    let place = around.map(|around| format!(", in {around}")).unwrap_or_default();
    let said = match known.is_some() {
        true if name != old_name => format!("{old_name} is now called {name}{place}."),
        true => format!("{name} is changed{place}."),
        false => format!("{name} is a new area{place}."),
    };
    Ok(Output::json(shown(&home, at))?.say(said))
}

/// Delete what the household noted about an area. Its things stay; an area that Home Assistant has keeps its name there.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Delete {
    /// Name or alias of the area.
    area: String,
}

pub(super) async fn delete(things: Things, cx: Cx, Delete { area }: Delete) -> Result<Output> {
    let Some(notes) = things.notes().cloned() else {
        return Err(Error::unavailable("areas cannot be stored here"));
    };
    let home = things.home();
    let found = home.area(&area).map(|at| home.areas()[at].clone());
    let Some(found) = found else {
        return Err(Error::not_found(format!("no area is called `{area}`: `list_areas` shows them"))
            .say(format!("I know no room or floor called “{area}”.")));
    };
    let Some(id) = found.record else {
        return Err(Error::bad_args(format!(
            "{} comes from where its things live, and the household noted nothing about it: rename or remove it there",
            found.name
        )));
    };
    let (records, in_it) = (notes.areas.clone(), notes.things.clone());
    let names: Vec<String> = std::iter::once(found.name.clone()).chain(found.aliases.clone()).collect();
    let label = cx.label();
    let noted = in_it.walk(&cx, &Walk::prefix(Notes::BY_ADDRESS, []), |entry| {
        match names.iter().any(|name| records::same_text(name, &entry.value.area)) {
            true => store::Visit::Yes,
            false => store::Visit::No,
        }
    })?;
    let gone = notes.areas.store().write(move |tx| {
        let old = records.read(tx, Scope::Household, id)?;
        records.remove(tx, Scope::Household, id)?;
        // Else the area would come back with the things that were put into it.
        for entry in &noted {
            in_it.change(tx, Scope::Household, label, entry.id, &mut |note| {
                note.area.clear();
                Ok(())
            })?;
        }
        Ok(old)
    });
    if let Some(old) = gone.await? {
        publish_change(&cx, &old, "deleted");
    }
    things.changed();
    Ok(Output::json(json!({"area": found.name, "deleted": true}))?.say(format!("{} is no longer an area.", found.name)))
}
