//! Words of a question or a fact: tokens, stop words of the language, stems, synonyms, rarity.

use crate::words::stem;
use std::collections::{HashMap, HashSet};

/// Words of one meaning in a household; a compound counts by its last part. Lower case.
const SYNONYMS: &[&[&str]] = &[
    &["wifi", "wlan", "wireless", "internet", "wi", "fi"],
    &["password", "passcode", "passphrase", "passwd", "passwort", "kennwort", "pwd"],
    &["pin", "code", "combination", "combo", "passcode", "zahlencode", "geheimzahl", "zugangscode"],
    &["phone", "telephone", "mobile", "cell", "cellphone", "telefon", "handy", "telefonnummer", "handynummer"],
    &["mum", "mom", "mother", "mama", "mutter", "mummy", "mommy"],
    &["dad", "father", "papa", "vater", "daddy"],
    &["grandma", "grandmother", "granny", "nana", "gran", "oma", "großmutter"],
    &["grandpa", "grandfather", "grandad", "granddad", "opa", "großvater"],
    &["kid", "child", "children", "kids", "kinder", "kind"],
    &["wife", "husband", "spouse", "partner"],
    &["fridge", "refrigerator", "kühlschrank"],
    &["bin", "trash", "garbage", "rubbish", "waste", "recycling", "müll", "mülltonne", "müllabfuhr"],
    &["boiler", "heating", "furnace", "heater", "heizung"],
    &["doctor", "gp", "physician", "arzt", "ärztin", "hausarzt"],
    &["dentist", "zahnarzt", "zahnärztin"],
    &["vet", "veterinarian", "tierarzt"],
    &["car", "auto", "vehicle"],
    &["bike", "bicycle", "fahrrad", "rad"],
    &["birthday", "born", "geburtstag", "bday", "geboren"],
    &["sofa", "couch"],
    &["tv", "television", "telly", "fernseher"],
    &["shop", "store"],
    &["cellar", "basement", "keller"],
    &["attic", "loft", "dachboden"],
    &["garden", "yard", "backyard", "garten"],
    &["holiday", "vacation", "urlaub"],
    &["medicine", "medication", "pills", "tablets", "meds", "medikament", "medikamente"],
    &["cleaner", "cleaning", "putzfrau"],
    &["neighbour", "neighbor", "nachbar", "nachbarin"],
    &["licence", "license", "registration"],
    &["plate", "kennzeichen"],
    &["colour", "color", "farbe"],
    &["paint", "painted", "wandfarbe"],
    &["spare", "extra", "ersatz", "second"],
    &["stopcock", "valve", "mains"],
    &["fuse", "breaker", "sicherung", "fusebox"],
    &["allergic", "allergy", "allergies", "ill", "allergisch"],
    &["favourite", "favorite", "like", "love", "enjoy", "enjoys", "likes", "loves", "prefers", "lieblings"],
    &[
        "serviced",
        "looked",
        "repaired",
        "fixed",
        "maintained",
        "service",
        "mended",
        "inspected",
        "gewartet",
        "repariert",
    ],
    &["bought", "purchased", "purchase", "buy", "gekauft"],
    &["cost", "costs", "paid", "price", "pay", "kostet", "bezahlt", "gekostet"],
    &["lives", "address", "live", "wohnt", "adresse"],
    &["works", "job", "employed", "arbeitet"],
    &["ends", "expires", "expire", "end", "expiry", "runs"],
    &["begins", "starts", "begin", "start"],
    &["kept", "stored", "stashed", "hidden", "keep"],
    &["lend", "lent", "borrowed", "borrow", "loaned"],
    &["married", "wedding", "anniversary"],
    &["hoover", "vacuum"],
    &["kindergarten", "nursery", "kita"],
    &["letterbox", "mailbox", "briefkasten"],
    &["garage", "carport"],
    &["schlüssel", "key", "keys"],
    &["wine", "wein"],
    &["number", "nummer"],
    &["size", "größe"],
    &["tyre", "tire", "tyres", "tires", "reifen"],
    &["insurance", "insured", "versicherung"],
    &["film", "movie"],
    &["flat", "apartment", "wohnung"],
];

/// Words of a question that say nothing about what is asked, besides stop words.
const FRAME: &[&str] = &[
    "about",
    "actually",
    "again",
    "already",
    "also",
    "anybody",
    "anyone",
    "anything",
    "called",
    "could",
    "currently",
    "date",
    "did",
    "does",
    "else",
    "ever",
    "exactly",
    "find",
    "get",
    "give",
    "go",
    "going",
    "got",
    "has",
    "have",
    "hello",
    "hey",
    "hi",
    "hob",
    "know",
    "let",
    "long",
    "many",
    "may",
    "mention",
    "mentioned",
    "might",
    "much",
    "must",
    "name",
    "need",
    "often",
    "ok",
    "okay",
    "please",
    "recall",
    "remember",
    "remind",
    "said",
    "say",
    "shall",
    "somebody",
    "someone",
    "something",
    "sort",
    "tell",
    "thing",
    "think",
    "time",
    "told",
    "us",
    "use",
    "used",
    "want",
    "would",
    "whose",
    "yet",
    "kind",
    "type",
    "old",
    "day",
    "year",
    "month",
    "today",
    "now",
    "heißt",
    "name",
    "sag",
    "bitte",
    "weißt",
    "welche",
    "welcher",
    "welches",
    "viel",
    "viele",
    "lange",
    "oft",
    "wem",
    "wessen",
    "wofür",
];

/// A word of a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Word {
    /// In lower case, without `'s`.
    pub text: String,
    pub stem: String,
    /// Whether it is a possessive: `Tom's`.
    pub owns: bool,
    pub capital: bool,
    pub number: bool,
}

/// The words of a text, in order.
pub(crate) fn words(text: &str) -> Vec<Word> {
    let mut all = vec![];
    let text = text.replace('€', " euros ").replace('$', " dollars ").replace('£', " pounds ");
    for raw in text.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '’') {
        let raw = raw.trim_matches(['\'', '’']);
        let (base, suffix) = raw.split_once(['\'', '’']).unwrap_or((raw, ""));
        if base.is_empty() {
            continue;
        }
        let text = base.to_lowercase();
        let contraction = ["what", "who", "where", "when", "how", "that", "it", "he", "she", "there", "here", "let"];
        all.push(Word {
            stem: stem(&text).to_owned(),
            owns: suffix.eq_ignore_ascii_case("s") && !contraction.contains(&text.as_str()),
            capital: base.chars().next().is_some_and(char::is_uppercase),
            number: base.chars().any(|c| c.is_ascii_digit()),
            text,
        });
    }
    all
}

/// The code of the language whose stop words a text has most of; English in doubt.
pub(crate) fn language(words: &[Word]) -> &'static str {
    let count = |code: &str| {
        let list = stop_words::lookup(code).unwrap_or_default();
        words.iter().filter(|word| list.contains(&word.text.as_str())).count()
    };
    let mut best = ("en", count("en"));
    for code in stop_words::available_languages().iter().filter(|code| !["en", "hinglish"].contains(code)) {
        let found = count(code);
        if found > best.1 {
            best = (code, found);
        }
    }
    best.0
}

/// The stop words of a language, and English ones.
pub(crate) fn stop_words_of(language: &str) -> HashSet<&'static str> {
    let of = |code: &str| stop_words::lookup(code).unwrap_or_default().iter().copied();
    of(language).chain(of("en")).collect()
}

/// Whether a word of a question is neither a stop word nor a phrase around the question.
pub(crate) fn is_content(word: &Word, stop: &HashSet<&str>) -> bool {
    !stop.contains(word.text.as_str()) && !FRAME.contains(&word.text.as_str()) && word.text.chars().count() > 1
        || word.number
}

/// How far two words say the same: 1 for one word in two forms, less for synonyms and compounds, else 0.
pub(crate) fn likeness(a: &Word, b: &Word, compounds: bool) -> f32 {
    if a.stem == b.stem {
        return 1.0;
    }
    if a.number || b.number {
        return 0.0;
    }
    if are_synonyms(a, b) {
        return 0.9;
    }
    let (short, long) = if a.stem.len() < b.stem.len() { (&a.stem, &b.stem) } else { (&b.stem, &a.stem) };
    let is_form = short.len() >= 4 && long.starts_with(short.as_str()) && long.len() - short.len() <= 3;
    let has_part = long.ends_with(short.as_str()) || compounds && long.starts_with(short.as_str());
    let is_compound = short.chars().count() >= 4 && has_part;
    if is_form || is_compound { 0.8 } else { 0.0 }
}

fn are_synonyms(a: &Word, b: &Word) -> bool {
    let is_in = |group: &[&str], word: &Word| group.iter().any(|g| *g == word.text || stem(g) == word.stem);
    SYNONYMS.iter().any(|group| is_in(group, a) && is_in(group, b))
}

/// The synonyms of a word, for a search by words.
pub(crate) fn synonyms(word: &Word) -> impl Iterator<Item = &'static str> {
    let (text, stemmed) = (word.text.clone(), word.stem.clone());
    let groups = SYNONYMS.iter().filter(move |group| group.iter().any(|g| *g == text || stem(g) == stemmed));
    groups.flat_map(|group| group.iter().copied())
}

/// How rare a word is, 0 to 1: by its rank among English words, and by how many of a person's memories have it.
pub(crate) fn rarity(word: &Word, ranks: &HashMap<&str, usize>, in_memories: usize, memories: usize) -> f32 {
    let rank = ranks.get(word.text.as_str()).or_else(|| ranks.get(word.stem.as_str()));
    let general = rank.map_or(1.0, |rank| ((1.0 + *rank as f32 / 40.0).ln() / 251_f32.ln()).clamp(0.05, 1.0));
    // In a small household a few memories say little about how common a word is.
    let memories = memories.max(50) as f32;
    let own = ((memories + 1.0) / (in_memories as f32 + 0.5)).ln() / ((memories + 1.0) / 0.5).ln();
    general * own.clamp(0.2, 1.0)
}

/// Whether it is a word around a question rather than of it.
pub(crate) fn is_frame(word: &Word) -> bool {
    FRAME.contains(&word.text.as_str())
}
