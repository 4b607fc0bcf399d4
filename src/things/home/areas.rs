//! Areas: rooms, and floors around them.

use crate::{
    Thing,
    home::index::key,
    notes::{AreaNote, Noted},
    source::AreaOfSource,
};
use std::{collections::HashMap, sync::Arc};
use tool::{Id, Label};

/// How deep areas may be in areas.
const DEEPEST: usize = 8;

/// An area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Area {
    /// Its name.
    pub name: String,
    /// Other names.
    pub aliases: Vec<String>,
    /// The number of the area around it.
    pub parent: Option<usize>,
    /// The record of the household, where it made or changed the area.
    pub record: Option<Id>,
    /// Whose words its names are.
    pub label: Label,
}

/// All areas, the household's own first, and their names.
pub(crate) fn collect(
    lists: &[Arc<[Thing]>],
    of_sources: &[AreaOfSource],
    notes: &[Noted<AreaNote>],
    also: &[String],
) -> (Vec<Area>, HashMap<String, usize>) {
    let (mut areas, mut names, mut parents): (Vec<Area>, HashMap<String, usize>, Vec<String>) = Default::default();
    let mut add = |name: &str, aliases: &[String], parent: &str, record: Option<Id>, label: Label| {
        let own = key(name);
        if own.is_empty() {
            return;
        }
        let at = *names.entry(own).or_insert_with(|| {
            areas.push(Area { name: name.trim().to_owned(), aliases: vec![], parent: None, record, label });
            parents.push(String::new());
            areas.len() - 1
        });
        if parents[at].is_empty() {
            parent.clone_into(&mut parents[at]);
        }
        for alias in aliases {
            let taken = *names.entry(key(alias)).or_insert(at);
            if taken == at && !areas[at].aliases.contains(alias) && *alias != areas[at].name {
                areas[at].aliases.push(alias.clone());
            }
        }
    };
    for Noted { id, label, note } in notes {
        add(&note.name, &note.aliases, &note.parent, Some(*id), *label);
    }
    for area in of_sources {
        add(&area.name, &area.aliases, &area.parent, None, of_source(&area.name, &area.aliases));
    }
    let named = lists.iter().flat_map(|list| list.iter()).map(|thing| &thing.area).chain(also);
    for name in named {
        add(name, &[], "", None, Label::Own);
    }
    // A floor that only its rooms name is an area too.
    let around = notes.iter().map(|noted| &noted.note.parent).chain(of_sources.iter().map(|area| &area.parent));
    for parent in around {
        add(parent, &[], "", None, Label::Own);
    }
    for (at, parent) in parents.iter().enumerate() {
        areas[at].parent = names.get(&key(parent)).copied().filter(|parent| *parent != at);
    }
    (areas, names)
}

/// The label of names that a source gives: those that read as sentences come from outside.
fn of_source(name: &str, aliases: &[String]) -> Label {
    let mut names = std::iter::once(name).chain(aliases.iter().map(String::as_str));
    if names.all(text_kit::reads_as_name) { Label::Own } else { Label::Outside }
}

/// Whether an area is another one or inside of it.
pub(crate) fn is_within(areas: &[Area], mut area: usize, of: usize) -> bool {
    for _ in 0..DEEPEST {
        if area == of {
            return true;
        }
        match areas.get(area).and_then(|area| area.parent) {
            Some(parent) => area = parent,
            None => return false,
        }
    }
    false
}
