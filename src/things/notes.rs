//! What the household itself notes about things and areas: names, aliases, areas, and what the voice door may use. It lies
//! over what the sources list, and stays when a source is not there.

use crate::{Address, Kind};
use serde::{Deserialize, Serialize};
use store::{Coded, Collection, Key, Level, Record, Store, Visit, Walk, order};
use tool::{Id, Label, Scope};

const BY_ADDRESS: u8 = 1;
const BY_NAME: u8 = 1;

impl Coded for Kind {
    const ALL: &'static [Self] = &[
        Self::Light,
        Self::Switch,
        Self::Fan,
        Self::Cover,
        Self::Climate,
        Self::Media,
        Self::Lock,
        Self::Alarm,
        Self::Vacuum,
        Self::Sensor,
        Self::Contact,
        Self::Scene,
    ];
    /// A lock is asked about before it is opened.
    const UNKNOWN: Self = Self::Lock;
}

/// What the household notes about a thing. Empty fields leave what the source says. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThingNote {
    /// Its address, as text.
    pub address: String,
    /// What the household calls it.
    pub name: String,
    /// Other names; they replace those of the source where `own_aliases`.
    pub aliases: Vec<String>,
    /// Whether `aliases` counts.
    pub own_aliases: bool,
    /// Its area.
    pub area: String,
    /// One more than the number of its kind; 0 leaves that of the source.
    pub kind: u8,
    /// Whether it is left out of lists, and found by its address alone.
    pub hidden: bool,
    /// Whether the voice door may use it: 0 as usual for its kind, 1 yes, 2 no.
    pub voice: u8,
}

impl ThingNote {
    /// The kind that was chosen.
    pub fn chosen_kind(&self) -> Option<Kind> {
        self.kind.checked_sub(1).map(Kind::of)
    }
    /// Chooses a kind.
    pub fn choose_kind(&mut self, kind: Kind) {
        self.kind = kind.code().saturating_add(1);
    }
}

impl Record for ThingNote {
    const NAME: &'static str = "things";
    const WORD: &'static str = "thing";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        if self.name.is_empty() { self.address.clone() } else { self.name.clone() }
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_ADDRESS, order::text(&self.address))]
    }
}

/// An area of the home that the household named: a room, or a floor around rooms. New fields go last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AreaNote {
    /// Its name.
    pub name: String,
    /// Other names, among them those that sources give it.
    pub aliases: Vec<String>,
    /// The area around it, such as a floor; empty where there is none.
    pub parent: String,
}

impl Record for AreaNote {
    const NAME: &'static str = "areas";
    const WORD: &'static str = "area";
    const LEVEL: Level = Level::Household;
    const BY_MEMBERS: bool = true;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.name.clone()
    }
    fn keys(&self) -> Vec<Key> {
        vec![Key::unique(BY_NAME, order::text(&self.name))]
    }
}

/// A note with the label of whoever wrote it.
#[derive(Debug, Clone)]
pub struct Noted<T> {
    /// Its id.
    pub id: Id,
    /// Whose words it has.
    pub label: Label,
    /// The note.
    pub note: T,
}

/// The notes of a household; cheap to clone.
#[derive(Clone)]
pub struct Notes {
    /// About things.
    pub things: Collection<ThingNote>,
    /// About areas.
    pub areas: Collection<AreaNote>,
}

impl Notes {
    /// Those in a store.
    pub fn new(store: &Store) -> Self {
        Self { things: store.collection(), areas: store.collection() }
    }

    /// The index value of a thing's address.
    pub fn key(address: &Address) -> Vec<u8> {
        order::text(&address.to_string())
    }

    /// The index of addresses.
    pub const BY_ADDRESS: u8 = BY_ADDRESS;
    /// The index of areas' names.
    pub const BY_NAME: u8 = BY_NAME;

    /// Changes with every write to the store.
    pub(crate) fn version(&self) -> u64 {
        self.things.store().version()
    }

    pub(crate) fn all(&self) -> store::Result<AllNotes> {
        Ok((all(&self.things)?, all(&self.areas)?))
    }
}

/// The notes about things, and about areas.
type AllNotes = (Vec<Noted<ThingNote>>, Vec<Noted<AreaNote>>);

fn all<T: Record>(records: &Collection<T>) -> store::Result<Vec<Noted<T>>> {
    let found = records.walk_in(Scope::Household, &Walk::prefix(1, []), |_| Visit::Yes)?;
    Ok(found.into_iter().map(|entry| Noted { id: entry.id, label: entry.label, note: entry.value }).collect())
}
