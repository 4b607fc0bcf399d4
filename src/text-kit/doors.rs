//! Names of what lets somebody in, or lets water, gas or heat out.

use unicode_normalization::UnicodeNormalization;

/// Words for such things, in the singular.
const DOORS: &[&str] = &[
    "door",
    "gate",
    "garage",
    "lock",
    "latch",
    "strike",
    "deadbolt",
    "valve",
    "bolt",
    "hatch",
    "shutter",
    "barrier",
    "bollard",
    "turnstile",
    "opener",
    "padlock",
    "maglock",
    "unlocker",
    "unlock",
    "keybox",
    "keysafe",
    "vault",
    "safe",
    "skylight",
    "roller",
    "boom",
    "flap",
    "lift",
    "carport",
    "sluice",
    "gas",
    "faucet",
    "tap",
    "stove",
    "burner",
    "oven",
    "buzzer",
    "stopcock", // German
    "tür",
    "tuer",
    "türe",
    "tor",
    "tore",
    "riegel",
    "schloss",
    "schloß",
    "rolltor",
    "garagentor",
    "hoftor",
    "einfahrtstor",
    "schiebetor",
    "gartentor",
    "sektionaltor",
    "scheunentor",
    "schranke",
    "ventil",
    "öffner",
    "türöffner",
    "toröffner",
    "herd",
    "backofen", // Romance languages
    "porta",
    "portão",
    "portao",
    "portone",
    "serratura",
    "cancello",
    "fechadura",
    "puerta",
    "portón",
    "cerradura",
    "válvula",
    "valvola",
    "fermeture",
    "porte",
    "portail",
    "serrure",
    "verrou",
    "vanne",
    "gâche", // Dutch and Nordic
    "deur",
    "poort",
    "slot",
    "lås",
    "dörr",
    "dør",
    "grind",
    "ovi",
    "portti",
    "lukko", // Slavic languages
    "drzwi",
    "brama",
    "zamek",
    "furtka",
    "dveře",
    "dvere",
    "brána",
    "vrata",
    "дверь",
    "двери",
    "ворота",
    "замок",
    "калитка",
    "шлагбаум",
    "клапан",
    "двері",
    "брама",
    "πόρτα",
];

/// Such words in languages without spaces between words.
const DOOR_SIGNS: &[&str] = &["门", "門", "锁", "鎖", "ドア", "扉", "대문", "현관문", "도어락"];

/// The ends of longer words: `frontdoor`, `Haustür`, `voordeur`.
const ENDS: &[&str] = &[
    "door",
    "doorlock",
    "tür",
    "tuer",
    "garagentor",
    "schloss",
    "riegel",
    "schranke",
    "ventil",
    "deur",
    "poort",
    "dörr",
];

/// Words that come before such a word and are written together with it: `frontgate`.
const PLACES: &[&str] = &[
    "front", "back", "rear", "side", "main", "garage", "garden", "yard", "house", "drive", "driveway", "entry",
    "entrance", "patio", "cellar", "basement", "car", "water", "gas", "solenoid", "roller", "up", "roof",
];

/// Words that come after such a word and are written together with it: `doorrelay`.
const MEANS: &[&str] = &[
    "relay",
    "opener",
    "opening",
    "open",
    "motor",
    "release",
    "unlocker",
    "unlock",
    "lock",
    "strike",
    "latch",
    "bolt",
    "buzzer",
    "actuator",
    "solenoid",
    "drive",
    "driver",
    "controller",
    "control",
    "trigger",
    "pulse",
    "switch",
    "output",
    "pin",
    "valve",
    "gate",
];

/// Words that end like a door and are none.
const NEITHER: &[&str] = &["outdoor", "indoor"];

/// Words that say that a name is that of something else at or near such a thing, or that is only read.
const OTHERS: &[&str] = &[
    "lamp",
    "light",
    "lighting",
    "lantern",
    "bulb",
    "spotlight",
    "led",
    "fan",
    "socket",
    "plug",
    "outlet",
    "heater",
    "heating",
    "radiator",
    "pump",
    "bell",
    "doorbell",
    "chime",
    "flasher",
    "siren",
    "camera",
    "radio",
    "speaker",
    "sensor",
    "contact",
    "button",
    "meter",
    "detector",
    "thermometer",
    "display",
    "child",
    "noise", // Other languages
    "lampe",
    "licht",
    "leuchte",
    "klingel",
    "lumière",
    "sonnette",
    "sonnerie",
    "capteur",
    "luz",
    "lámpara",
    "timbre",
    "lâmpada",
    "lampada",
    "luce",
    "campanello",
    "lampa",
    "ljus",
    "lys",
    "lamppu",
    "światło",
    "czujnik",
    "dzwonek",
    "światła",
    "světlo",
    "свет",
    "лампа",
    "звонок",
    "датчик",
];

/// The same where words have no spaces between them.
const OTHER_SIGNS: &[&str] = &["灯", "燈", "照明", "ライト", "조명"];

/// Whether a name is that of something that lets somebody in, or lets water, gas or heat out: "garage door", "Haustür",
/// `GateRelay2`, and not "garage door lamp". A name that only looks like such a word counts, too.
pub fn names_a_door(name: &str) -> bool {
    let shown: String = name.nfkc().filter(|c| !is_hidden(*c)).collect::<String>().to_lowercase().nfc().collect();
    if OTHER_SIGNS.iter().any(|sign| shown.contains(sign)) {
        return false;
    }
    let words = || shown.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let is_other = |word: &str| forms(word).iter().any(|form| OTHERS.contains(form));
    let is_door = |word: &str| is_door_word(word) || is_door_word(&folded(word)) || is_door_word(&spelled(word));
    (words().any(is_door) || DOOR_SIGNS.iter().any(|sign| shown.contains(sign))) && !words().any(is_other)
}

/// Characters that are not seen, or only change the direction of writing.
fn is_hidden(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180e}' | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// The word, and what may be its singular; without numbers around it.
fn forms(word: &str) -> Vec<&str> {
    let plain = word.trim_matches(|c: char| c.is_numeric());
    [Some(plain), plain.strip_suffix('s'), plain.strip_suffix("es")].into_iter().flatten().collect()
}

fn is_door_word(word: &str) -> bool {
    forms(word).into_iter().any(|form| is_door_form(form, 0))
}

fn is_door_form(word: &str, depth: u8) -> bool {
    if word.is_empty() || depth > 3 || NEITHER.contains(&word) {
        return false;
    }
    DOORS.contains(&word)
        || ENDS.iter().any(|end| word.ends_with(end))
        || PLACES.iter().any(|place| word.strip_prefix(place).is_some_and(|rest| is_door_form(rest, depth + 1)))
        || MEANS.iter().any(|means| word.strip_suffix(means).is_some_and(|start| is_door_form(start, depth + 1)))
}

/// The word with the Latin letters that its letters look like, and without accents.
fn folded(word: &str) -> String {
    word.nfd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)).map(looks_like).collect()
}

/// The same with letters for the digits that stand for them: `d00r`.
fn spelled(word: &str) -> String {
    let word = folded(word);
    let inner = word.trim_matches(|c: char| c.is_numeric());
    // `1ock`, and not `2 gates`.
    let from_start = if word.starts_with('1') { word.trim_end_matches(|c: char| c.is_numeric()) } else { inner };
    let letter = |c: char| match c {
        '0' => 'o',
        '1' => 'l',
        '3' => 'e',
        '4' => 'a',
        '5' => 's',
        other => other,
    };
    from_start.chars().map(letter).collect()
}

/// The Latin letter that a Cyrillic, Greek or other letter looks like.
fn looks_like(c: char) -> char {
    match c {
        'а' | 'α' | 'ɑ' => 'a',
        'в' | 'β' => 'b',
        'с' | 'ϲ' => 'c',
        'ԁ' => 'd',
        'е' | 'ε' | 'ҽ' => 'e',
        'ɡ' => 'g',
        'һ' => 'h',
        'і' | 'ı' | 'ι' => 'i',
        'ј' => 'j',
        'к' | 'κ' => 'k',
        'ӏ' => 'l',
        'м' => 'm',
        'ո' => 'n',
        'о' | 'ο' | 'օ' | 'ø' => 'o',
        'р' | 'ρ' => 'p',
        'г' => 'r',
        'ѕ' => 's',
        'т' | 'τ' => 't',
        'υ' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' => 'w',
        'х' | 'χ' => 'x',
        'у' => 'y',
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_opens_something_is_known_by_its_name() {
        for name in [
            "garage door",
            "Front-door lock",
            "GATE",
            "gates",
            "frontdoor",
            "water valve",
            "deadbolt",
            "roller shutter",
            "Barrier 2",
            "bollard",
            "turnstile",
            "gate opener",
            "padlock",
            "maglock",
            "key safe",
            "hatches",
            "skylight",
            "parking boom",
            "cat flap",
            "goods lift",
            "gas",
            "Gas main",
            "taps",
            "stove",
            "burner",
            "oven",
            "entry buzzer",
            "Haustür",
            "Haustu\u{308}r",
            "Tor",
            "Garagentor",
            "Türschloss",
            "Magnetventil",
            "Türöffner",
            "porta",
            "portão",
            "puerta",
            "fermeture",
            "Porte d'entrée",
            "portail",
            "voordeur",
            "poort",
            "slot",
            "lås",
            "ytterdörr",
            "grind",
            "drzwi",
            "brama",
            "zamek",
            "ulko ovi",
            "portti",
            "lukko",
            "dveře",
            "Дверь",
            "ворота",
            "замок",
            "车库门",
            "玄関ドア",
            "Door2",
            "door_2",
            "3door",
            "doorrelay",
            "GarageDoorOpener",
            "gaterelay1",
            "frontgate",
            "watervalve",
            "lockmotor",
            "d00r",
            "D00R2",
            "1ock",
            "g4te",
            "dооr",
            "ｇａｔｅ",
            "ga\u{200b}te",
            "dóor",
            "lосk",
        ] {
            assert!(names_a_door(name), "{name}");
        }
    }

    #[test]
    fn what_is_only_near_it_is_not() {
        for name in [
            "garage door lamp",
            "garage lights",
            "door bell",
            "doorbell",
            "clock",
            "blocker",
            "gas meter sensor",
            "hall lamp",
            "outdoor",
            "Outdoors",
            "indoor",
            "motor",
            "Monitor",
            "ventilator",
            "navigator",
            "aggregate",
            "child lock",
            "Garagentor Licht",
            "门灯",
            "relay 2",
            "switch",
            "pump",
            "kettle",
            "mood",
            "floor",
            "poor",
            "block 4",
            "drive",
            "свет",
            "las escaleras",
            "main pin",
            "",
            "  ",
            "17",
        ] {
            assert!(!names_a_door(name), "{name}");
        }
    }
}
