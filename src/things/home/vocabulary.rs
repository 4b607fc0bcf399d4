//! What people call kinds of things: "lights", "the blinds", "the telly".

use crate::Kind;

/// A word for a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KindWord {
    /// The kinds it may mean, the likeliest first.
    pub kinds: &'static [Kind],
    /// A part of the kind, where the word means only that: curtains among covers.
    pub class: Option<&'static str>,
    /// Whether it means several.
    pub plural: bool,
}

const DOOR: &[Kind] = &[Kind::Cover, Kind::Lock, Kind::Contact];
const COVER: &[Kind] = &[Kind::Cover, Kind::Contact];

/// Words in the singular, the class among its kind, and the kinds.
const WORDS: &[(&str, Option<&str>, &[Kind])] = &[
    ("light", None, &[Kind::Light]),
    ("lamp", None, &[Kind::Light]),
    ("bulb", None, &[Kind::Light]),
    ("lighting", None, &[Kind::Light]),
    ("switch", None, &[Kind::Switch]),
    ("plug", None, &[Kind::Switch]),
    ("socket", None, &[Kind::Switch]),
    ("outlet", None, &[Kind::Switch]),
    ("fan", None, &[Kind::Fan]),
    ("curtain", Some("curtain"), COVER),
    ("drape", Some("curtain"), COVER),
    ("blind", Some("blind"), COVER),
    ("shade", Some("shade"), COVER),
    ("shutter", Some("shutter"), DOOR),
    ("awning", Some("awning"), COVER),
    ("window", Some("window"), DOOR),
    ("gate", Some("gate"), DOOR),
    ("cover", None, COVER),
    ("valve", Some("valve"), COVER),
    ("garage door", Some("garage"), DOOR),
    ("door", Some("door"), DOOR),
    ("lock", None, &[Kind::Lock]),
    ("door lock", None, &[Kind::Lock]),
    ("thermostat", None, &[Kind::Climate]),
    ("heating", None, &[Kind::Climate]),
    ("radiator", None, &[Kind::Climate]),
    ("ac", None, &[Kind::Climate]),
    ("air conditioner", None, &[Kind::Climate]),
    ("air conditioning", None, &[Kind::Climate]),
    ("aircon", None, &[Kind::Climate]),
    ("hvac", None, &[Kind::Climate]),
    ("tv", Some("tv"), &[Kind::Media]),
    ("telly", Some("tv"), &[Kind::Media]),
    ("television", Some("tv"), &[Kind::Media]),
    ("speaker", Some("speaker"), &[Kind::Media]),
    ("stereo", None, &[Kind::Media]),
    ("radio", None, &[Kind::Media]),
    ("media player", None, &[Kind::Media]),
    ("player", None, &[Kind::Media]),
    ("alarm", None, &[Kind::Alarm]),
    ("alarm system", None, &[Kind::Alarm]),
    ("siren", None, &[Kind::Alarm]),
    ("vacuum", None, &[Kind::Vacuum]),
    ("vacuum cleaner", None, &[Kind::Vacuum]),
    ("hoover", None, &[Kind::Vacuum]),
    ("robot", None, &[Kind::Vacuum]),
    ("robot vacuum", None, &[Kind::Vacuum]),
    ("robot vacuum cleaner", None, &[Kind::Vacuum]),
    ("vacuum robot", None, &[Kind::Vacuum]),
    ("mower", None, &[Kind::Vacuum]),
    ("sensor", None, &[Kind::Sensor, Kind::Contact]),
    ("scene", None, &[Kind::Scene]),
    ("script", None, &[Kind::Scene]),
];

/// The most words of one.
pub(crate) const LONGEST: usize = 3;

/// The kind that these words mean.
pub fn kind_word(words: &[&str]) -> Option<KindWord> {
    let said = words.join(" ");
    let find = |text: &str| WORDS.iter().find(|(word, ..)| *word == text);
    let of = |(_, class, kinds): &(&str, Option<&'static str>, &'static [Kind]), plural| KindWord {
        kinds,
        class: *class,
        plural,
    };
    if let Some(found) = find(&said) {
        return Some(of(found, said == "lighting"));
    }
    let one = said.strip_suffix("es").filter(|one| *one == "switch").or_else(|| said.strip_suffix('s'))?;
    find(one).map(|found| of(found, true))
}

/// All words, to find misspelled ones.
pub(crate) fn all_words() -> impl Iterator<Item = &'static str> {
    WORDS.iter().map(|(word, ..)| *word).filter(|word| word.len() > 3 && !word.contains(' '))
}

impl Kind {
    /// What people call things of this kind: "light", "lights".
    pub fn word(self, count: usize) -> &'static str {
        let (one, many) = match self {
            Self::Light => ("light", "lights"),
            Self::Switch => ("switch", "switches"),
            Self::Fan => ("fan", "fans"),
            Self::Cover => ("cover", "covers"),
            Self::Climate => ("thermostat", "thermostats"),
            Self::Media => ("player", "players"),
            Self::Lock => ("lock", "locks"),
            Self::Alarm => ("alarm", "alarms"),
            Self::Vacuum => ("vacuum cleaner", "vacuum cleaners"),
            Self::Sensor => ("sensor", "sensors"),
            Self::Contact => ("contact", "contacts"),
            Self::Scene => ("scene", "scenes"),
        };
        if count == 1 { one } else { many }
    }
}
