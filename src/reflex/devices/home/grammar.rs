//! The words that commands and questions about things are made of. A sentence counts only if each of its words is one of
//! these, a name, a value or a time.

use super::super::command;

/// Words before a command.
pub(super) const LEADS: &[&str] =
    &["please", "ok", "okay", "right", "now", "and", "just", "yes", "can", "could", "would", "will", "you", "hob", "hey", "then"];
/// Words around names.
const AROUND: &[&str] = &[
    "the", "a", "an", "my", "our", "all", "every", "each", "single", "both", "of", "in", "on", "at", "to", "from", "for",
    "me", "us", "please", "now", "and", "here", "this", "room", "space", "again", "back", "across", "throughout", "off",
    "out", "up", "down", "side", "over", "with", "by", "its", "it", "that", "them", "those", "these", "thanks", "there",
    "lot", "bit", "little", "some", "more", "s", "inside", "floor", "about", "around",
];
/// Verbs, and what says how.
const VERBS: &[&str] = &[
    "turn", "switch", "put", "pop", "flick", "power", "get", "set", "change", "adjust", "make", "bring", "activate",
    "deactivate", "enable", "disable", "kill", "shut", "cut", "start", "stop", "run", "open", "close", "raise", "lower",
    "lock", "unlock", "arm", "disarm", "dim", "brighten", "illuminate", "light", "play", "pause", "resume", "unpause",
    "continue", "skip", "next", "previous", "mute", "unmute", "increase", "decrease", "clean", "vacuum", "return", "dock",
    "send", "transition", "go", "toggle", "hoover", "trigger", "reduce", "warm", "cool", "heat", "halt", "rewind",
];
const ABOUT: &[&str] = &[
    "brightness", "bright", "brighter", "darker", "dimmer", "volume", "louder", "quieter", "softer", "temperature", "temp",
    "warmer", "hotter", "cooler", "colder", "position", "speed", "color", "colour", "level", "percent", "%", "degrees",
    "degree", "°", "celsius", "fahrenheit", "track", "song", "item", "music", "show", "playback", "sound", "base",
    "dock", "station", "charger", "scene", "mode", "cleaning", "c", "f", "video", "movie", "episode", "one",
];
/// What levels are called.
pub(super) const LEVELS: &[(&str, u8)] = &[
    ("max", 100),
    ("maximum", 100),
    ("highest", 100),
    ("brightest", 100),
    ("full", 100),
    ("fully", 100),
    ("min", 1),
    ("minimum", 1),
    ("lowest", 1),
    ("dimmest", 1),
    ("half", 50),
    ("halfway", 50),
];
pub(super) const COLORS: &[&str] = &[
    "red", "green", "blue", "yellow", "orange", "purple", "violet", "pink", "white", "cyan", "turquoise", "magenta", "teal",
    "gold", "brown", "black", "indigo", "lavender", "lime", "salmon", "crimson", "amber", "maroon",
];
pub(super) const MODES: &[&str] = &["heat", "cool", "auto", "dry", "eco"];
pub(super) const SUN: &[&str] =
    &["dusk", "sunset", "sundown", "dawn", "sunrise", "sunup", "nightfall", "twilight"];
/// Words that say that something is done at a time or for one.
pub(super) const TIMED: &[&str] = &[
    "until", "till", "daily", "tomorrow", "tonight", "morning", "mornings", "evening", "evenings", "afternoon", "night",
    "nights", "weekdays", "weekends", "noon", "midnight", "midday",
];

/// Words of questions.
const QUESTIONS: &[&str] = &[
    "is", "are", "was", "any", "there", "do", "does", "did", "have", "has", "i", "we", "which", "what", "whats", "how",
    "many", "much", "hot", "warm", "cold", "state", "status", "tell", "whether", "if", "check", "currently", "still",
    "already", "right", "open", "opened", "closed", "locked", "unlocked", "playing", "paused", "running", "securely",
    "humidity", "show", "list", "moment", "left", "shut", "armed", "disarmed", "not", "been", "or", "home", "set", "see",
    "lit", "going", "degrees", "can", "you", "ones", "leave", "anything", "moving", "being",
];

/// Whether a word may stand in a command.
pub(super) fn in_command(word: &str) -> bool {
    let word = word.trim_start_matches(HIDDEN);
    is_number(word)
        || LEADS.contains(&word)
        || AROUND.contains(&word)
        || VERBS.contains(&word)
        || ABOUT.contains(&word)
        || COLORS.contains(&word)
        || MODES.contains(&word)
        || SUN.contains(&word)
        || LEVELS.iter().any(|(level, _)| *level == word)
        || command::is_time_word(word)
}

/// Whether a word may stand in a question.
pub(super) fn in_question(word: &str) -> bool {
    QUESTIONS.contains(&word) || LEADS.contains(&word) || AROUND.contains(&word) || ABOUT.contains(&word) || is_number(word)
}

/// Marks a word that is a verb here, so that it names no kind.
pub(super) const HIDDEN: char = '\u{1}';

fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit()) || word == "hundred"
}
