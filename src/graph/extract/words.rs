//! The words that rules know, in English, German, Spanish and French.

/// Relations between people: the word, and the relation in English.
pub(super) const RELATIONS: &[(&str, &str)] = &[
    ("mother", "mother"), ("mom", "mother"), ("mum", "mother"), ("father", "father"), ("dad", "father"),
    ("sister", "sister"), ("brother", "brother"), ("daughter", "daughter"), ("son", "son"), ("wife", "wife"),
    ("husband", "husband"), ("partner", "partner"), ("girlfriend", "girlfriend"), ("boyfriend", "boyfriend"),
    ("grandmother", "grandmother"), ("grandma", "grandmother"), ("grandfather", "grandfather"), ("grandpa", "grandfather"),
    ("aunt", "aunt"), ("uncle", "uncle"), ("cousin", "cousin"), ("niece", "niece"), ("nephew", "nephew"),
    ("friend", "friend"), ("neighbour", "neighbour"), ("neighbor", "neighbour"), ("colleague", "colleague"), ("boss", "boss"),
    ("landlord", "landlord"), ("landlady", "landlady"), ("teacher", "teacher"), ("flatmate", "flatmate"),
    ("mutter", "mother"), ("vater", "father"), ("schwester", "sister"), ("bruder", "brother"), ("tochter", "daughter"),
    ("sohn", "son"), ("ehefrau", "wife"), ("ehemann", "husband"), ("mann", "husband"), ("oma", "grandmother"),
    ("opa", "grandfather"), ("großmutter", "grandmother"), ("großvater", "grandfather"), ("tante", "aunt"), ("onkel", "uncle"),
    ("cousine", "cousin"), ("nichte", "niece"), ("neffe", "nephew"), ("freund", "friend"), ("freundin", "friend"),
    ("nachbar", "neighbour"), ("nachbarin", "neighbour"), ("kollege", "colleague"), ("kollegin", "colleague"),
    ("chef", "boss"), ("chefin", "boss"), ("vermieter", "landlord"), ("vermieterin", "landlady"), ("lehrer", "teacher"),
    ("lehrerin", "teacher"),
    ("madre", "mother"), ("padre", "father"), ("hermana", "sister"), ("hermano", "brother"), ("hija", "daughter"),
    ("hijo", "son"), ("esposa", "wife"), ("esposo", "husband"), ("marido", "husband"), ("abuela", "grandmother"),
    ("abuelo", "grandfather"), ("tía", "aunt"), ("tío", "uncle"), ("prima", "cousin"), ("primo", "cousin"),
    ("sobrina", "niece"), ("sobrino", "nephew"), ("amiga", "friend"), ("amigo", "friend"), ("vecina", "neighbour"),
    ("vecino", "neighbour"), ("jefa", "boss"), ("jefe", "boss"),
    ("mère", "mother"), ("père", "father"), ("sœur", "sister"), ("soeur", "sister"), ("frère", "brother"),
    ("fille", "daughter"), ("fils", "son"), ("épouse", "wife"), ("époux", "husband"), ("mari", "husband"),
    ("grand-mère", "grandmother"), ("grand-père", "grandfather"), ("oncle", "uncle"), ("nièce", "niece"), ("neveu", "nephew"),
    ("ami", "friend"), ("amie", "friend"), ("voisin", "neighbour"), ("voisine", "neighbour"), ("collègue", "colleague"),
];

/// Occupations of people a household calls.
pub(super) const OCCUPATIONS: &[(&str, &str)] = &[
    ("plumber", "plumber"), ("electrician", "electrician"), ("doctor", "doctor"), ("dentist", "dentist"), ("vet", "vet"),
    ("gardener", "gardener"), ("carpenter", "carpenter"), ("painter", "painter"), ("roofer", "roofer"), ("mechanic", "mechanic"),
    ("cleaner", "cleaner"), ("babysitter", "babysitter"), ("nanny", "nanny"), ("lawyer", "lawyer"), ("accountant", "accountant"),
    ("hairdresser", "hairdresser"), ("caretaker", "caretaker"), ("janitor", "caretaker"), ("locksmith", "locksmith"),
    ("optician", "optician"), ("pharmacist", "pharmacist"), ("therapist", "therapist"), ("paediatrician", "paediatrician"),
    ("pediatrician", "paediatrician"), ("nurse", "nurse"), ("architect", "architect"), ("builder", "builder"),
    ("klempner", "plumber"), ("installateur", "plumber"), ("elektriker", "electrician"), ("arzt", "doctor"), ("ärztin", "doctor"),
    ("hausarzt", "doctor"), ("hausärztin", "doctor"), ("zahnarzt", "dentist"), ("zahnärztin", "dentist"), ("tierarzt", "vet"),
    ("tierärztin", "vet"), ("gärtner", "gardener"), ("tischler", "carpenter"), ("maler", "painter"), ("dachdecker", "roofer"),
    ("mechaniker", "mechanic"), ("anwalt", "lawyer"), ("anwältin", "lawyer"), ("steuerberater", "accountant"),
    ("friseur", "hairdresser"), ("friseurin", "hairdresser"), ("hausmeister", "caretaker"), ("kinderarzt", "paediatrician"),
    ("fontanero", "plumber"), ("electricista", "electrician"), ("médico", "doctor"), ("médica", "doctor"), ("dentista", "dentist"),
    ("veterinario", "vet"), ("veterinaria", "vet"), ("jardinero", "gardener"), ("carpintero", "carpenter"), ("pintor", "painter"),
    ("mecánico", "mechanic"), ("abogado", "lawyer"), ("abogada", "lawyer"), ("peluquera", "hairdresser"), ("portero", "caretaker"),
    ("plombier", "plumber"), ("électricien", "electrician"), ("médecin", "doctor"), ("docteur", "doctor"), ("dentiste", "dentist"),
    ("vétérinaire", "vet"), ("jardinier", "gardener"), ("menuisier", "carpenter"), ("peintre", "painter"), ("couvreur", "roofer"),
    ("mécanicien", "mechanic"), ("avocat", "lawyer"), ("avocate", "lawyer"), ("coiffeur", "hairdresser"), ("coiffeuse", "hairdresser"),
    ("concierge", "caretaker"),
];

/// Animals of a household.
pub(super) const ANIMALS: &[(&str, &str)] = &[
    ("dog", "dog"), ("cat", "cat"), ("horse", "horse"), ("rabbit", "rabbit"), ("parrot", "parrot"), ("hamster", "hamster"),
    ("hund", "dog"), ("katze", "cat"), ("kater", "cat"), ("pferd", "horse"), ("hase", "rabbit"), ("perro", "dog"), ("perra", "dog"),
    ("gato", "cat"), ("gata", "cat"), ("caballo", "horse"), ("chien", "dog"), ("chienne", "dog"), ("chat", "cat"), ("chatte", "cat"),
    ("cheval", "horse"), ("lapin", "rabbit"),
];

/// The kind of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Object {
    Person,
    Place,
    Organisation,
    Value,
}

/// What a third person does, and the predicate in English.
pub(super) const VERBS: &[(&str, &str, Object)] = &[
    ("works at", "works at", Object::Organisation), ("works for", "works at", Object::Organisation),
    ("works in", "works in", Object::Place), ("works as a", "occupation", Object::Value), ("works as an", "occupation", Object::Value),
    ("studies at", "studies at", Object::Organisation), ("goes to school at", "studies at", Object::Organisation),
    ("lives in", "lives in", Object::Place), ("lives at", "lives at", Object::Value), ("moved to", "lives in", Object::Place),
    ("was born on", "born on", Object::Value), ("was born in", "born in", Object::Value), ("comes from", "comes from", Object::Place),
    ("is married to", "married to", Object::Person), ("is allergic to", "allergic to", Object::Value),
    ("likes", "likes", Object::Value), ("loves", "likes", Object::Value), ("hates", "dislikes", Object::Value),
    ("plays", "plays", Object::Value), ("speaks", "speaks", Object::Value), ("drives a", "drives", Object::Value),
    ("arbeitet bei", "works at", Object::Organisation), ("arbeitet für", "works at", Object::Organisation),
    ("arbeitet in", "works in", Object::Place), ("arbeitet als", "occupation", Object::Value), ("wohnt in", "lives in", Object::Place),
    ("lebt in", "lives in", Object::Place), ("kommt aus", "comes from", Object::Place), ("ist verheiratet mit", "married to", Object::Person),
    ("ist allergisch gegen", "allergic to", Object::Value), ("mag", "likes", Object::Value), ("spielt", "plays", Object::Value),
    ("spricht", "speaks", Object::Value),
    ("trabaja en", "works at", Object::Organisation), ("trabaja para", "works at", Object::Organisation),
    ("trabaja como", "occupation", Object::Value), ("vive en", "lives in", Object::Place), ("está casado con", "married to", Object::Person),
    ("está casada con", "married to", Object::Person), ("es alérgico a", "allergic to", Object::Value),
    ("es alérgica a", "allergic to", Object::Value), ("habla", "speaks", Object::Value),
    ("travaille chez", "works at", Object::Organisation), ("travaille pour", "works at", Object::Organisation),
    ("travaille à", "works in", Object::Place), ("travaille comme", "occupation", Object::Value), ("habite à", "lives in", Object::Place),
    ("vit à", "lives in", Object::Place), ("est marié à", "married to", Object::Person), ("est mariée à", "married to", Object::Person),
    ("est allergique à", "allergic to", Object::Value), ("est allergique aux", "allergic to", Object::Value),
    ("parle", "speaks", Object::Value),
];

/// The same of the person who speaks, at the beginning of a sentence.
pub(super) const FIRST_PERSON: &[(&str, &str, Object)] = &[
    ("i work at", "works at", Object::Organisation), ("i work for", "works at", Object::Organisation),
    ("i work in", "works in", Object::Place), ("i live in", "lives in", Object::Place), ("we live in", "lives in", Object::Place),
    ("i was born on", "born on", Object::Value), ("i was born in", "born in", Object::Value), ("i come from", "comes from", Object::Place),
    ("i am married to", "married to", Object::Person), ("i'm married to", "married to", Object::Person),
    ("i am allergic to", "allergic to", Object::Value), ("i'm allergic to", "allergic to", Object::Value),
    ("ich arbeite bei", "works at", Object::Organisation), ("ich arbeite für", "works at", Object::Organisation),
    ("ich arbeite in", "works in", Object::Place), ("ich wohne in", "lives in", Object::Place), ("wir wohnen in", "lives in", Object::Place),
    ("ich bin verheiratet mit", "married to", Object::Person), ("ich bin allergisch gegen", "allergic to", Object::Value),
    ("trabajo en", "works at", Object::Organisation), ("vivo en", "lives in", Object::Place), ("vivimos en", "lives in", Object::Place),
    ("soy alérgico a", "allergic to", Object::Value), ("soy alérgica a", "allergic to", Object::Value),
    ("je travaille chez", "works at", Object::Organisation), ("je travaille pour", "works at", Object::Organisation),
    ("j'habite à", "lives in", Object::Place), ("nous habitons à", "lives in", Object::Place),
    ("je suis allergique à", "allergic to", Object::Value), ("je suis allergique aux", "allergic to", Object::Value),
];

/// Parts of a person's data: the word, and the predicate.
pub(super) const ATTRIBUTES: &[(&str, &str)] = &[
    ("birthday", "birthday"), ("phone number", "phone"), ("phone", "phone"), ("mobile", "phone"), ("number", "phone"),
    ("email", "email"), ("email address", "email"), ("address", "address"), ("car", "car"), ("shoe size", "shoe size"),
];

pub(super) const POSSESSIVES: &[&str] = &[
    "my", "our", "mein", "meine", "unser", "unsere", "mi", "nuestro", "nuestra", "mon", "ma", "notre",
];
pub(super) const ARTICLES: &[&str] =
    &["the", "a", "an", "der", "die", "das", "dem", "den", "ein", "eine", "einer", "el", "la", "los", "las", "le", "les", "un", "une", "una"];
/// Between a name and a relation, and the other way round.
pub(super) const COPULAS: &[&str] = &["is", "ist", "es", "est", "was"];
pub(super) const CALLED: &[&str] =
    &["is called", "is named", "heißt", "heisst", "se llama", "s'appelle", "is", "ist", "es", "est"];
/// A sentence with one of these states nothing for certain.
pub(super) const HEDGES: &[&str] = &[
    "not", "never", "no", "if", "maybe", "perhaps", "would", "could", "might", "should", "wants", "want", "isn't", "doesn't", "don't",
    "wasn't", "whether", "nicht", "nie", "kein", "keine", "wenn", "vielleicht", "würde", "ob", "nunca", "si", "quizás", "tal", "pas",
    "jamais", "peut-être", "ne", "longer", "think", "believe", "glaube", "creo", "crois", "used",
];
/// No names although they begin with a capital letter.
pub(super) const NO_NAMES: &[&str] = &[
    "i", "he", "she", "it", "we", "they", "you", "this", "that", "there", "the", "a", "an", "my", "our", "his", "her", "their", "your", "who",
    "what", "when", "where", "everybody", "everyone", "nobody", "somebody", "someone", "anybody", "people", "today", "tomorrow", "yesterday", "and", "but", "also",
    "er", "sie", "es", "wir", "ich", "du", "ihr", "der", "die", "das", "mein", "meine", "unser", "unsere", "wer", "was", "wo", "heute", "morgen",
    "gestern", "und", "aber", "auch", "jeder", "niemand", "el", "ella", "él", "ellos", "yo", "nosotros", "mi", "hoy", "y", "quien", "il", "elle",
    "ils", "elles", "je", "nous", "vous", "on", "mon", "ma", "notre", "le", "la", "les", "qui", "aujourd'hui", "et", "monday", "tuesday",
    "wednesday", "thursday", "friday", "saturday", "sunday", "remember", "note", "grandma", "grandpa", "mum", "dad", "mom",
];
/// Between parts of a name, and before one.
pub(super) const PARTICLES: &[&str] = &["van", "von", "de", "der", "den", "di", "da", "del", "la", "zu", "du", "le"];
pub(super) const TITLES: &[&str] = &[
    "mr", "mrs", "ms", "miss", "dr", "prof", "herr", "herrn", "frau", "señor", "señora", "don", "doña", "monsieur", "madame", "mme", "m", "sr", "sra",
];
/// After these an object ends; the second word is the predicate of what follows, where that is a date.
pub(super) const ENDS: &[&str] = &[
    "and", "but", "because", "since", "until", "till", "who", "which", "where", "with", "while", "und", "aber", "weil", "seit", "bis", "mit", "y",
    "pero", "porque", "desde", "hasta", "con", "et", "mais", "parce", "depuis", "jusqu'à", "avec", "now", "from", "today", "tomorrow",
    "every", "as", "again", "for", "heute", "hoy", "für", "als", "jeden",
];
pub(super) const SINCE: &[&str] = &["since", "from", "seit", "desde", "depuis"];
pub(super) const UNTIL: &[&str] = &["until", "till", "to", "bis", "hasta", "jusqu'en"];
