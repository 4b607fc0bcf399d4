//! Which things some words mean.

use super::{
    Home,
    index::{key, stem, words},
    scan::{Span, What},
    vocabulary::KindWord,
};
use crate::{Address, Kind};
use std::collections::BTreeSet;

/// The most names in an error.
const NAMED: usize = 6;

/// What some words mean.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    /// The numbers of the things, in the order of the home; never empty.
    pub things: Vec<usize>,
    /// The area that was named.
    pub area: Option<usize>,
    /// The kind that was named, where no thing was.
    pub kind: Option<Kind>,
    /// Whether a group was named and no single thing: "all lights", "the kitchen".
    pub group: bool,
}

/// Why words mean nothing here, or too much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotResolved {
    /// Nothing is called that; these names are near.
    Nothing {
        /// Near names.
        near: Vec<String>,
    },
    /// Several things fit, and one was meant.
    Several {
        /// Their numbers.
        things: Vec<usize>,
    },
}

const SMALL: &[&str] = &[
    "the", "my", "our", "a", "an", "in", "of", "on", "at", "all", "every", "each", "single", "and", "that", "this",
    "is", "are", "s", "room", "floor", "both", "one", "ones", "please",
];

impl Home {
    /// What a text in a call means: an address, a name or alias, an area with a kind, some words of a name.
    ///
    /// # Errors
    /// [`NotResolved`].
    pub fn resolve(&self, text: &str, fits: &dyn Fn(usize) -> bool) -> Result<Target, NotResolved> {
        if let Ok(address) = text.trim().parse::<Address>()
            && let Some(at) = self.at(&address).filter(|at| fits(*at))
        {
            return Ok(Target { things: vec![at], ..Target::default() });
        }
        let named = self.index().names.get(&key(text)).cloned().unwrap_or_default();
        match &named.iter().copied().filter(|at| fits(*at)).collect::<Vec<_>>()[..] {
            [] => {}
            one @ [_] => return Ok(Target { things: one.to_vec(), ..Target::default() }),
            several => return Err(NotResolved::Several { things: several.to_vec() }),
        }
        let words = words(text);
        let said: Vec<&str> = words.iter().map(String::as_str).collect();
        let spans = self.scan(&said, &|word| SMALL.contains(&word), fits, 2);
        let open = (0..said.len())
            .any(|at| !SMALL.contains(&said[at]) && !spans.iter().any(|span| (span.at..span.end).contains(&at)));
        if spans.is_empty() || open {
            return Err(NotResolved::Nothing { near: self.near(text) });
        }
        self.meant(&spans, &said, &[], fits)
    }

    /// What named parts of a sentence mean together: "kitchen" and "light" the lights there, "ceiling" and "kitchen" the one of
    /// that name there. `usual` are the kinds that are meant where only an area is named.
    ///
    /// # Errors
    /// [`NotResolved`].
    pub fn meant(
        &self,
        spans: &[Span],
        said: &[&str],
        usual: &[Kind],
        fits: &dyn Fn(usize) -> bool,
    ) -> Result<Target, NotResolved> {
        let of = |what: fn(&What) -> bool| spans.iter().filter(move |span| what(&span.what));
        let areas: Vec<usize> =
            spans.iter().filter_map(|span| if let What::Area(area) = span.what { Some(area) } else { None }).collect();
        let kind = spans.iter().find_map(|span| if let What::Kind(kind) = span.what { Some(kind) } else { None });
        let all = spans.iter().any(|span| matches!(span.what, What::Everywhere | What::Everything));
        let quantified = said.iter().any(|word| ["all", "every", "each", "both"].contains(word));
        // "in the kitchen and the hall" are both; "kitchen first floor" is the kitchen.
        let both = areas.len() > 1 && said.contains(&"and");
        let inside = |at: usize| {
            let own = self.area_of(at);
            let within = |area: &usize| own.is_some_and(|own| self.is_within(own, *area));
            areas.is_empty() || if both { areas.iter().any(within) } else { areas.iter().all(within) }
        };
        let of_kind = |at: usize, kind: &KindWord| kind.kinds.contains(&self.get(at).kind);
        let names: Vec<&Span> = of(|what| matches!(what, What::Names { .. })).collect();
        let area = areas.first().copied().filter(|_| areas.len() == 1);
        if !names.is_empty() {
            let mut things = BTreeSet::new();
            for span in names {
                let What::Names { things: found, whole } = &span.what else { continue };
                let mut found: Vec<usize> = found.iter().copied().filter(|at| fits(*at)).collect();
                // "kitchen ceiling" is not the ceiling of the hall.
                let there: Vec<usize> = found.iter().copied().filter(|at| inside(*at)).collect();
                match there.is_empty() {
                    false => found = there,
                    true if !areas.is_empty() && found.iter().all(|at| self.area_of(*at).is_some()) => {
                        return Err(NotResolved::Nothing { near: self.names(&found) });
                    }
                    true => {}
                }
                if let Some(kind) = &kind {
                    let such: Vec<usize> = found.iter().copied().filter(|at| of_kind(*at, kind)).collect();
                    found = if such.is_empty() && *whole { found } else { such };
                }
                match found.len() {
                    0 => return Err(NotResolved::Nothing { near: vec![] }),
                    1 => things.extend(found),
                    _ if quantified || kind.is_some_and(|kind| kind.plural) && !whole => things.extend(found),
                    _ => return Err(NotResolved::Several { things: found }),
                }
            }
            let group = things.len() > 1 && quantified;
            return Ok(Target { things: things.into_iter().collect(), area, kind: None, group });
        }
        let visible = |at: &usize| !self.get(*at).hidden && fits(*at) && inside(*at);
        if let Some(kind) = kind {
            let chosen = kind.kinds.iter().find_map(|one| {
                let such: Vec<usize> =
                    (0..self.len()).filter(|at| self.get(*at).kind == *one).filter(visible).collect();
                let such = self.of_class(such, kind.class);
                (!such.is_empty()).then_some((*one, such))
            });
            let Some((one, things)) = chosen else { return Err(NotResolved::Nothing { near: vec![] }) };
            let group = kind.plural || quantified || all || !areas.is_empty();
            // "The thermostat" is the one of that name where another is called "Office thermostat".
            let things = if group { things } else { self.called(spans, said, things) };
            return match things.len() {
                1 => Ok(Target { things, area, kind: Some(one), group }),
                _ if group => Ok(Target { things, area, kind: Some(one).filter(|_| kind.class.is_none()), group }),
                _ => Err(NotResolved::Several { things }),
            };
        }
        if areas.is_empty() && !all {
            return Err(NotResolved::Nothing { near: vec![] });
        }
        let wanted = |at: &usize| usual.is_empty() || usual.contains(&self.get(*at).kind);
        let things: Vec<usize> = (0..self.len()).filter(visible).filter(wanted).collect();
        match things.is_empty() {
            true => Err(NotResolved::Nothing { near: vec![] }),
            false => Ok(Target { things, area, kind: None, group: true }),
        }
    }

    /// Those whose whole name is what was said of their kind; all where that is not one.
    fn called(&self, spans: &[Span], said: &[&str], things: Vec<usize>) -> Vec<usize> {
        let Some(span) = spans.iter().find(|span| matches!(span.what, What::Kind(_))) else { return things };
        let name = key(&said[span.at..span.end].concat());
        let such: Vec<usize> = things.iter().copied().filter(|at| key(self.get(*at).name) == name).collect();
        if such.len() == 1 { such } else { things }
    }

    /// Whether the name of a thing ends with this word: a "Garage door" is a door.
    fn name_ends(&self, at: usize, class: &str) -> bool {
        words(self.get(at).name).last().is_some_and(|word| stem(word) == class)
    }

    /// Those of a class, by their device class, else by a word of their name or alias; where none says what it is, all whose names say nothing else.
    fn of_class(&self, things: Vec<usize>, class: Option<&str>) -> Vec<usize> {
        const CLASSES: &[&str] = &[
            "curtain", "drape", "blind", "shade", "shutter", "awning", "window", "gate", "garage", "door", "tv",
            "speaker", "valve",
        ];
        let Some(class) = class else { return things };
        let named = |at: usize, classes: &[&str]| {
            let known = self.get(at);
            let mut own = std::iter::once(known.name).chain(known.aliases.iter().map(String::as_str)).flat_map(words);
            own.any(|word| classes.contains(&stem(&word).as_str()))
        };
        let own = |at: usize| self.get(at).class.trim_end_matches("_door");
        let is = |at: &usize| match own(*at) {
            "" | "opening" => named(*at, &[class]),
            // What is called a door is one, whatever its class.
            own => own == class || self.name_ends(*at, class),
        };
        let such: Vec<usize> = things.iter().copied().filter(is).collect();
        // A door's lock says no more than the name of the door.
        let is_lock = |at: &usize| class == "door" && self.get(*at).kind == Kind::Lock;
        if !such.is_empty() && !things.iter().any(&is_lock) {
            return such;
        }
        let is_neutral = |at: &usize| ["", "opening"].contains(&own(*at)) && !named(*at, CLASSES);
        things.into_iter().filter(|at| is_lock(at) || is_neutral(at)).collect()
    }

    /// The names of some things, with their areas where they are needed to tell them apart.
    pub fn names(&self, things: &[usize]) -> Vec<String> {
        let mut all: Vec<String> = things.iter().take(NAMED).map(|at| self.get(*at).name.to_owned()).collect();
        for (at, number) in things.iter().take(NAMED).enumerate() {
            let known = self.get(*number);
            let same = things.iter().filter(|other| self.get(**other).name.eq_ignore_ascii_case(known.name)).count();
            if same > 1 {
                let place = if known.area.is_some() { known.area_name().to_owned() } else { known.address.to_string() };
                all[at] = format!("{} ({place})", known.name);
            }
        }
        all
    }

    /// Names that are nearly this text.
    pub fn near(&self, text: &str) -> Vec<String> {
        let said = key(text);
        let mut found: Vec<(f64, usize)> = (0..self.len())
            .filter(|at| !self.get(*at).hidden)
            .map(|at| (strsim::jaro_winkler(&said, &key(self.get(at).name)), at))
            .filter(|(likeness, _)| *likeness > 0.82)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        let nearest: Vec<usize> = found.into_iter().take(3).map(|(_, at)| at).collect();
        self.names(&nearest)
    }
}
