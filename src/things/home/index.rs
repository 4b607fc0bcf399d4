//! The index of a home: which words find which things.

use super::{
    areas::{self, Area},
    vocabulary,
};
use crate::{
    Address, Kind, Thing,
    notes::{AreaNote, Noted, ThingNote},
    source::AreaOfSource,
};
use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};
use tool::Label;

/// The most words of a name that are looked up as a whole.
const MOST_WORDS: usize = 8;

/// A thing in the index.
pub(crate) struct Slot {
    pub address: Address,
    pub source: usize,
    pub at: usize,
    pub name: String,
    pub aliases: Vec<String>,
    pub area: Option<usize>,
    pub kind: Kind,
    pub guarded: bool,
    pub hidden: bool,
    pub voice: bool,
    pub label: Label,
    /// Whether a text from its source reads as a sentence of a stranger, and not as a name.
    pub strange: bool,
}

pub(crate) struct Index {
    pub slots: Vec<Slot>,
    pub areas: Vec<Area>,
    pub by_address: HashMap<Address, usize>,
    /// By [`key`] of a name or alias.
    pub names: HashMap<String, Vec<usize>>,
    /// By [`stem`] of a word of a name or alias.
    pub words: HashMap<String, Vec<usize>>,
    pub area_names: HashMap<String, usize>,
    /// The most words of a name.
    pub longest: usize,
}

/// What the index depends on, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub fn of(lists: &[Arc<[Thing]>], areas: &[AreaOfSource]) -> Self {
        let mut hasher = DefaultHasher::new();
        for thing in lists.iter().flat_map(|list| list.iter()) {
            (&thing.address, &thing.name, &thing.aliases, &thing.area, thing.kind, thing.guarded).hash(&mut hasher);
            thing.class.hash(&mut hasher);
        }
        lists.iter().for_each(|list| list.len().hash(&mut hasher));
        areas.iter().for_each(|area| (&area.name, &area.aliases, &area.parent).hash(&mut hasher));
        Self(hasher.finish())
    }
}

/// The words of a name in lower case, without punctuation.
pub(crate) fn words(text: &str) -> Vec<String> {
    let plain = text.to_lowercase().replace(['\'', '’'], "");
    plain.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A name as it is compared: however it is spaced, whatever its capitals.
pub(crate) fn key(text: &str) -> String {
    text.to_lowercase().chars().filter(|c| c.is_alphanumeric()).collect()
}

/// A word without its plural.
pub(crate) fn stem(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(one) if one.len() > 2 && !one.ends_with('s') => one.to_owned(),
        _ => word.to_owned(),
    }
}

/// Whether one of the shown texts comes from the source, and is no name: people name the pins, and write the notes.
fn is_strange(thing: &Thing, name: &str, aliases: &[String], area: &str) -> bool {
    let own = [(&*thing.name, name), (&*thing.area, area)].into_iter().filter(|(own, shown)| own == shown);
    let mut own =
        own.map(|(own, _)| own).chain(thing.aliases.iter().filter(|own| aliases.contains(own)).map(String::as_str));
    thing.address.source != "pin" && own.any(|text| !text_kit::reads_as_name(text))
}

impl Index {
    pub fn new(
        lists: &[Arc<[Thing]>],
        of_sources: &[AreaOfSource],
        notes: &[Noted<ThingNote>],
        rooms: &[Noted<AreaNote>],
    ) -> Self {
        let by_text: HashMap<&str, &Noted<ThingNote>> =
            notes.iter().map(|noted| (noted.note.address.as_str(), noted)).collect();
        let also: Vec<String> = notes.iter().map(|noted| noted.note.area.clone()).collect();
        let (areas, area_names) = areas::collect(lists, of_sources, rooms, &also);
        let mut index = Self {
            slots: vec![],
            areas,
            by_address: HashMap::new(),
            names: HashMap::new(),
            words: HashMap::new(),
            area_names,
            longest: 1,
        };
        for (source, list) in lists.iter().enumerate() {
            for (at, thing) in list.iter().enumerate() {
                let noted = by_text.get(thing.address.to_string().as_str()).copied();
                index.add(source, at, thing, noted);
            }
        }
        let most = index.area_names.keys().map(String::len).max().unwrap_or_default();
        index.longest = index.longest.max(most / 3).min(MOST_WORDS);
        index
    }

    fn add(&mut self, source: usize, at: usize, thing: &Thing, noted: Option<&Noted<ThingNote>>) {
        let number = self.slots.len();
        if self.by_address.contains_key(&thing.address) {
            return;
        }
        let note = noted.map(|noted| &noted.note);
        let said = |own: &str, noted: Option<&String>| match noted {
            Some(noted) if !noted.is_empty() => noted.clone(),
            _ => own.to_owned(),
        };
        let name = said(&thing.name, note.map(|note| &note.name));
        let aliases = match note.filter(|note| note.own_aliases) {
            Some(note) => note.aliases.clone(),
            None => thing.aliases.clone(),
        };
        let area = said(&thing.area, note.map(|note| &note.area));
        let kind = note.and_then(ThingNote::chosen_kind).unwrap_or(thing.kind);
        let hidden = note.is_some_and(|note| note.hidden);
        let closed = |kind| matches!(kind, Kind::Lock | Kind::Alarm);
        let careful = thing.guarded || closed(kind) || closed(thing.kind);
        let slot = Slot {
            address: thing.address.clone(),
            source,
            at,
            area: self.area_names.get(&key(&area)).copied(),
            kind,
            guarded: thing.guarded,
            hidden,
            voice: match note.map_or(0, |note| note.voice) {
                1 => true,
                2 => false,
                _ => !careful,
            },
            label: noted.map_or(Label::Own, |noted| noted.label),
            strange: is_strange(thing, &name, &aliases, &area),
            name,
            aliases,
        };
        self.by_address.insert(thing.address.clone(), number);
        if !hidden {
            for name in std::iter::once(&slot.name).chain(&slot.aliases) {
                let words = words(name);
                self.longest = self.longest.max(words.len());
                push(&mut self.names, key(name), number);
                for word in &words {
                    push(&mut self.words, stem(word), number);
                }
            }
        }
        self.slots.push(slot);
    }

    /// Whether a word is one of a name, an area or a kind.
    pub fn knows(&self, word: &str) -> bool {
        self.words.contains_key(&stem(word))
            || self.area_names.contains_key(&key(word))
            || self.names.contains_key(&key(word))
            || vocabulary::kind_word(&[word]).is_some()
            || self.areas.iter().any(|area| words(&area.name).iter().any(|own| own == word))
    }

    /// The word of the home that a misspelled one may be; `None` where none or several are as near.
    pub fn nearest(&self, word: &str) -> Option<String> {
        let most = match word.chars().count() {
            0..=3 => return None,
            4..=7 => 1,
            _ => 2,
        };
        let area_words = self.areas.iter().flat_map(|area| words(&area.name));
        let kinds = vocabulary::all_words().map(str::to_owned);
        let (mut best, mut found, mut several) = (most + 1, None, false);
        for known in self.words.keys().cloned().chain(area_words).chain(kinds) {
            if known.len() < 3 || known.len().abs_diff(word.len()) > most || found.as_ref() == Some(&known) {
                continue;
            }
            let distance = strsim::osa_distance(&known, word).min(strsim::osa_distance(&known, &stem(word)));
            // The first letter is rarely wrong.
            let first = known.chars().next() == word.chars().next();
            if distance > most || !first && distance > 1 {
                continue;
            }
            match distance.cmp(&best) {
                std::cmp::Ordering::Less => (best, found, several) = (distance, Some(known), false),
                std::cmp::Ordering::Equal => several = true,
                std::cmp::Ordering::Greater => {}
            }
        }
        found.filter(|_| !several)
    }
}

fn push(map: &mut HashMap<String, Vec<usize>>, key: String, number: usize) {
    if key.is_empty() {
        return;
    }
    let all = map.entry(key).or_default();
    if all.last() != Some(&number) {
        all.push(number);
    }
}
