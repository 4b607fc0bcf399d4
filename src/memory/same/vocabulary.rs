//! Words that decide whether two statements are the same fact, in English, German, Spanish and French. All without accents.

/// Phrases and their replacement, before a statement is split into words.
pub(super) const PHRASES: &[(&str, &str)] = &[
    ("mot de passe", "password"),
    ("pour password", "password"),
    ("wi-fi", "wifi"),
    ("phone number", "phone"),
    ("telephone number", "phone"),
    ("numero de telefono", "phone"),
    ("numero de telephone", "phone"),
    ("date of birth", "birthday"),
    ("fecha de nacimiento", "birthday"),
    ("date de naissance", "birthday"),
    ("cumple anos", "birthday"),
    ("fete son anniversaire", "birthday"),
    ("was born", "born"),
    ("est nee", "born"),
    ("est ne", "born"),
    ("bin day", "bins"),
    ("go out", "arrive"),
    ("goes out", "arrive"),
    ("vivimos", "we live"),
    ("habitamos", "we live"),
    ("en casa de", "chez"),
    ("can not", "cannot"),
    ("can't", "cannot"),
    ("license plate", "numberplate"),
    ("licence plate", "numberplate"),
    ("number plate", "numberplate"),
    ("plaque d'immatriculation", "numberplate"),
    ("se mudo", "moved"),
    ("nos mudamos", "we moved"),
    ("has moved", "moved"),
    ("have moved", "moved"),
    ("not any more", "not anymore"),
    ("any more", "anymore"),
    ("any longer", "anymore"),
    ("no longer", "not anymore"),
    ("nicht mehr", "not anymore"),
    ("ya no", "not anymore"),
    ("from now on", "now"),
    ("ab jetzt", "now"),
    ("ab sofort", "now"),
    ("von nun an", "now"),
    ("a partir de ahora", "now"),
    ("a partir de maintenant", "now"),
    ("ha cambiado a", "changed to"),
    ("cambio a", "changed to"),
    ("a change pour", "changed to"),
    ("hat sich geandert auf", "changed to"),
    ("instead of", "not"),
    ("en vez de", "not"),
    ("en lugar de", "not"),
    ("au lieu de", "not"),
    ("and not", "not"),
    ("und nicht", "not"),
    ("y no", "not"),
    ("et pas", "not"),
    ("et non", "not"),
];

/// Words that say nothing by themselves.
pub(super) const FILLERS: &[&str] = &[
    // English
    "the",
    "a",
    "an",
    "is",
    "are",
    "be",
    "been",
    "am",
    "has",
    "have",
    "does",
    "do",
    "did",
    "its",
    "it",
    "that",
    "called",
    "named",
    "kept",
    "stored",
    "located",
    "lie",
    "lies",
    "s",
    "usually",
    "there",
    "and",
    "will",
    // German
    "der",
    "die",
    "das",
    "den",
    "dem",
    "ein",
    "eine",
    "einen",
    "einem",
    "einer",
    "ist",
    "sind",
    "hat",
    "habe",
    "haben",
    "es",
    "dass",
    "heisst",
    "lautet",
    "liegt",
    "liegen",
    "steht",
    "stehen",
    "befindet",
    "sich",
    "uhr",
    "und",
    "wird",
    // Spanish
    "el",
    "la",
    "los",
    "las",
    "un",
    "una",
    "unos",
    "son",
    "esta",
    "estan",
    "se",
    "le",
    "les",
    "que",
    "llama",
    "llamo",
    "y",
    "su",
    "tiene",
    "tengo",
    "encuentra",
    "soy",
    // French
    "l",
    "une",
    "est",
    "sont",
    "ont",
    "qu",
    "appelle",
    "trouve",
    "et",
    "suis",
    "ai",
    "avons",
    "sommes",
    "avoir",
    "h",
];

/// Prepositions, and one word for those of one meaning. One statement may lack one; two different ones are two facts.
pub(super) const LINKS: &[(&str, &str)] = &[
    ("of", OF),
    ("at", AT),
    ("on", "on"),
    ("in", "in"),
    ("for", "for"),
    ("by", "by"),
    ("to", "to"),
    ("over", "to"),
    ("against", "against"),
    ("with", "with"),
    ("im", "in"),
    ("um", "um"),
    ("bei", AT),
    ("beim", AT),
    ("von", OF),
    ("vom", OF),
    ("zum", "zu"),
    ("zur", "zu"),
    ("zu", "zu"),
    ("fur", "for"),
    ("gegen", "against"),
    ("mit", "with"),
    ("nach", "nach"),
    ("auf", "auf"),
    ("de", OF),
    ("del", OF),
    ("des", OF),
    ("du", OF),
    ("d", OF),
    ("al", "a"),
    ("au", "a"),
    ("aux", "a"),
    ("en", "in"),
    ("dans", "in"),
    ("con", "with"),
    ("avec", "with"),
    ("chez", AT),
];
/// Those that are other words in other languages.
pub(super) const GERMAN_LINKS: &[(&str, &str)] = &[("am", "an"), ("an", "an")];
pub(super) const ROMANCE_LINKS: &[(&str, &str)] = &[("a", "a")];
pub(super) const OF: &str = "of";
pub(super) const AT: &str = "at";
/// Stands for the preposition after "changed": it fits any other.
pub(super) const CHANGED: &str = "changed";

/// Titles: as with prepositions.
pub(super) const TITLES: &[(&str, &str)] =
    &[("mr", "mr"), ("herr", "mr"), ("mrs", "mrs"), ("frau", "mrs"), ("ms", "ms"), ("miss", "ms")];

/// Words for those who speak. One statement may lack them; they keep their place.
pub(super) const OWN: &[&[&str]] = &[
    &[
        "i", "me", "my", "mine", "ich", "mir", "mich", "mein", "meine", "meinen", "meinem", "meiner", "yo", "mi",
        "mis", "je", "j", "mon", "ma", "mes", "moi",
    ],
    &[
        "we", "us", "our", "wir", "uns", "unser", "unsere", "unseren", "unserem", "nosotros", "nuestro", "nuestra",
        "nuestros", "nous", "notre", "nos",
    ],
];

/// Verbs that say that something was so: it may be so no more.
pub(super) const PAST: &[&str] =
    &["was", "were", "had", "war", "waren", "hatte", "hatten", "era", "estaba", "fue", "tenia", "etait", "avait"];

/// Words between two facts in one statement.
pub(super) const JOINS: &[&str] =
    &["and", "but", "or", "und", "aber", "sondern", "oder", "y", "pero", "sino", "et", "mais", "ou"];

/// Verbs around which a statement may be turned: "the teacher is Anna", "Anna is the teacher".
pub(super) const COPULAS: &[&str] = &[
    "is",
    "are",
    "ist",
    "sind",
    "lautet",
    "heisst",
    "liegt",
    "liegen",
    "steht",
    "stehen",
    "befindet",
    "lie",
    "lies",
    "kept",
    "called",
    "es",
    "son",
    "esta",
    "estan",
    "llama",
    "encuentra",
    "est",
    "sont",
    "appelle",
    "trouve",
];
/// "Ana has the key" is "the key is at Ana's".
pub(super) const HAS: &[&str] = &["has", "have", "hat", "habe", "haben", "tiene", "tengo"];

/// Attributes: their place among the other words says nothing, "Ben is allergic to nuts", "Ben has a nut allergy".
pub(super) const FREE: &[&str] =
    &["password", "code", "birthday", "size", "allergic", "phone", "address", "favorite", "numberplate"];

/// Verbs for another home, if a place follows, and the prepositions before that.
pub(super) const MOVED: &[&str] = &["moved", "umgezogen", "demenage"];
pub(super) const MOVED_TO: &[&str] = &["to", "a", "nach"];

/// Words that Spanish or French has and English has not.
pub(super) const ROMANCE: &[&str] = &[
    "el", "la", "los", "las", "del", "le", "les", "du", "est", "sont", "en", "une", "una", "nous", "je", "j", "l", "d",
    "nos", "se", "mi", "esta", "qu", "con", "por",
];

/// Words that deny.
pub(super) const NEGATIONS: &[&str] = &[
    "not", "no", "never", "nobody", "without", "isnt", "doesnt", "dont", "cannot", "nicht", "nie", "niemals", "ohne",
    "nunca", "jamas", "sin", "nadie", "pas", "jamais", "aucun", "aucune", "sans", "kein", "keine", "keinen", "keinem",
    "keiner",
];

/// Words that say that something is new: the statement takes the place of an older one.
pub(super) const MARKERS: &[&str] = &[
    "now",
    "new",
    "changed",
    "anymore",
    "jetzt",
    "nun",
    "neu",
    "neue",
    "neuer",
    "neues",
    "neuen",
    "geandert",
    "mehr",
    "kunftig",
    "ahora",
    "nuevo",
    "nueva",
    "cambio",
    "maintenant",
    "desormais",
    "nouveau",
    "nouvelle",
    "nouvel",
    "nowadays",
    "instead",
    "stattdessen",
    "plus",
];

/// Words between what a statement is about and what it says.
pub(super) const PIVOTS: &[&str] = &[
    "is",
    "are",
    "was",
    "were",
    "am",
    "changed",
    "lives",
    "live",
    "moved",
    "works",
    "work",
    "speaks",
    "comes",
    "come",
    "expires",
    "ist",
    "sind",
    "lautet",
    "heisst",
    "wohnt",
    "wohnen",
    "wohne",
    "umgezogen",
    "kommt",
    "kommen",
    "arbeitet",
    "liegt",
    "steht",
    "es",
    "son",
    "esta",
    "estan",
    "vive",
    "viven",
    "vivimos",
    "vivo",
    "llama",
    "pasa",
    "trabaja",
    "viene",
    "est",
    "sont",
    "habite",
    "habitons",
    "habitent",
    "demenage",
    "appelle",
    "travaille",
    "vient",
    "sortent",
    "goes",
    "leaves",
    "lie",
    "kept",
    "called",
    "arrive",
];

/// Words of one meaning; the first stands for all.
pub(super) const SYNONYMS: &[&[&str]] = &[
    &["wifi", "wlan", "wireless"],
    &["password", "passwort", "kennwort", "passphrase", "contrasena", "clave"],
    &["code", "combination", "codigo", "zahlencode"],
    &["birthday", "geburtstag", "cumpleanos", "anniversaire", "bday"],
    &["phone", "telephone", "telefonnummer", "telefono", "telefon"],
    &["plumber", "installateur", "klempner", "fontanero", "plombier"],
    &["bins", "bin", "garbage", "trash", "rubbish", "mullabfuhr", "mull", "basura", "poubelle", "poubelles"],
    &["allergic", "allergy", "allergisch", "allergie", "alergico", "alergica", "allergique"],
    &["cellar", "basement", "keller"],
    &["begin", "begins", "start", "starts", "beginnt", "startet", "empieza", "comienza", "commence", "debute"],
    &[
        "live", "lives", "wohnt", "wohnen", "wohne", "vive", "vivo", "vivimos", "viven", "habite", "habitons",
        "habitent",
    ],
    &["favorite", "favourite", "lieblings"],
    &["sofa", "couch"],
    &["fridge", "refrigerator"],
    &["tv", "television", "telly"],
    &["car", "auto", "coche", "voiture"],
    &["like", "love", "likes", "loves"],
    &["mum", "mom", "mother", "mama"],
    &["dad", "father", "papa"],
    &["grandma", "grandmother", "granny", "oma"],
    &["grandpa", "grandfather", "grandad", "opa"],
    &["colour", "color"],
    &["repaired", "fixed", "mended"],
    &["holiday", "vacation"],
    &["arrive", "comes", "kommt", "kommen", "viene", "vient", "pasa", "sortent"],
    &["size", "grosse", "talla", "taille"],
    &["address", "adresse", "direccion"],
];

/// Meanings of which a thing or a person has one at a time: another value takes the place of the old one.
pub(super) const SINGLE: &[&str] = &["password", "code", "birthday", "live", "favorite", "bins", "numberplate", "size"];

/// Things that are copied letter by letter; the last part of the word.
pub(super) const WRITTEN: &[&str] = &[
    "password",
    "passphrase",
    "passwort",
    "kennwort",
    "passe",
    "code",
    "pin",
    "key",
    "schlüssel",
    "clave",
    "contraseña",
    "codigo",
    "código",
    "wifi",
    "wlan",
    "plate",
];

/// Verbs of which one object excludes no other: "likes tea" and "now likes coffee" are both true.
pub(super) const OPEN: &[&str] = &[
    "like", "own", "owns", "eat", "drink", "speak", "play", "know", "need", "want", "allergic", "hate", "enjoy",
    "collect", "mag", "isst", "trinkt", "spricht", "spielt", "kann", "gusta", "gustan", "come", "bebe", "habla",
    "juega", "aime", "mange", "boit", "parle", "joue", "buy", "bought", "read", "take",
];

/// A word that one statement may lack: "the bins go out on Monday", "bin day is Monday".
pub(super) const SOFT: &str = "arrive";

pub(super) const MONTHS: &[&[&str]] = &[
    &["january", "januar", "janner", "enero", "janvier"],
    &["february", "februar", "febrero", "fevrier"],
    &["march", "marz", "marzo", "mars"],
    &["april", "abril", "avril"],
    &["may", "mai", "mayo"],
    &["june", "juni", "junio", "juin"],
    &["july", "juli", "julio", "juillet"],
    &["august", "agosto", "aout"],
    &["september", "septiembre", "septembre"],
    &["october", "oktober", "octubre", "octobre"],
    &["november", "noviembre", "novembre"],
    &["december", "dezember", "diciembre", "decembre"],
];

pub(super) const WEEKDAYS: &[&[&str]] = &[
    &["monday", "mondays", "montag", "montags", "lunes", "lundi"],
    &["tuesday", "tuesdays", "dienstag", "dienstags", "martes", "mardi"],
    &["wednesday", "wednesdays", "mittwoch", "mittwochs", "miercoles", "mercredi"],
    &["thursday", "thursdays", "donnerstag", "donnerstags", "jueves", "jeudi"],
    &["friday", "fridays", "freitag", "freitags", "viernes", "vendredi"],
    &["saturday", "saturdays", "samstag", "samstags", "sabado", "samedi"],
    &["sunday", "sundays", "sonntag", "sonntags", "domingo", "dimanche"],
];

pub(super) const NUMBERS: &[&[&str]] = &[
    &["zero", "null", "cero"],
    &["one", "eins", "uno"],
    &["two", "zwei", "dos", "deux"],
    &["three", "drei", "tres", "trois"],
    &["four", "vier", "cuatro", "quatre"],
    &["five", "funf", "cinco", "cinq"],
    &["six", "sechs", "seis"],
    &["seven", "sieben", "siete", "sept"],
    &["eight", "acht", "ocho", "huit"],
    &["nine", "neun", "nueve", "neuf"],
    &["ten", "zehn", "diez", "dix"],
];

/// Words that only German has: there each noun has a capital letter.
pub(super) const GERMAN: &[&str] = &[
    "der", "das", "dem", "den", "ist", "und", "nicht", "vom", "beim", "im", "am", "bei", "unser", "mein", "hat",
    "kein", "keine", "keinen", "wohnt", "wir", "ich", "als", "zur", "zum", "lautet", "heisst", "kommt", "mag", "isst",
];

/// Words before a noun. A German word with a capital letter and none of these before it may be a name.
pub(super) const DETERMINERS: &[&str] = &[
    "der", "die", "das", "den", "dem", "des", "ein", "eine", "einen", "einem", "einer", "kein", "keine", "keinen",
    "mein", "meine", "meinen", "unser", "unsere", "unseren", "unserem", "im", "am", "vom", "beim", "zum", "zur",
];

/// Last parts of German compounds.
pub(super) const HEADS: &[&str] = &["passwort", "kennwort", "code", "geburtstag", "nummer"];
