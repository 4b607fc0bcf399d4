//! Heuristics for values: random strings, placeholders, paths, code and prose.

use crate::names;

/// Words after a secret's name that are not secrets: types, states, schemes, algorithms. In lower case.
const WORDS: &[&str] = &[
    "[redacted]",
    "accepted",
    "aes128",
    "aes256",
    "allowed",
    "any",
    "api-key",
    "api_key",
    "apikey",
    "argon2",
    "argon2id",
    "ask",
    "authentication",
    "available",
    "base64",
    "basic",
    "bcrypt",
    "bearer",
    "below",
    "binary",
    "bitte",
    "bool",
    "boolean",
    "bytes",
    "changed",
    "classified",
    "correct",
    "created",
    "credential",
    "credentials",
    "default",
    "deleted",
    "denied",
    "digest",
    "disabled",
    "ed25519",
    "empty",
    "enabled",
    "encrypted",
    "erforderlich",
    "example",
    "expired",
    "expiring",
    "failed",
    "falsch",
    "false",
    "file",
    "float",
    "forgotten",
    "given",
    "granted",
    "hashed",
    "help",
    "here",
    "hidden",
    "hmac",
    "include",
    "incorrect",
    "int",
    "integer",
    "invalid",
    "keyword",
    "letters",
    "literal",
    "locked",
    "lost",
    "masked",
    "mismatch",
    "missing",
    "n/a",
    "name",
    "needed",
    "negotiate",
    "new",
    "nil",
    "no",
    "none",
    "not_set",
    "null",
    "number",
    "oauth",
    "oauth2",
    "object",
    "obligatoire",
    "off",
    "ok",
    "omit",
    "on",
    "optional",
    "oublié",
    "pass",
    "passwd",
    "password",
    "pbkdf2",
    "pending",
    "placeholder",
    "present",
    "private",
    "protected",
    "provided",
    "public",
    "realm",
    "received",
    "redacted",
    "refreshed",
    "rejected",
    "removed",
    "renewed",
    "required",
    "requis",
    "reset",
    "revoked",
    "rotated",
    "rs256",
    "same-origin",
    "saved",
    "scheme",
    "scrypt",
    "secret",
    "see",
    "sent",
    "set",
    "sha1",
    "sha256",
    "sha512",
    "stored",
    "str",
    "string",
    "strong",
    "symbols",
    "text",
    "todo",
    "token",
    "tokens",
    "true",
    "type",
    "unchanged",
    "undefined",
    "unicode",
    "unknown",
    "unset",
    "unused",
    "updated",
    "used",
    "utf8",
    "uuid",
    "valid",
    "value",
    "varchar",
    "vergessen",
    "verified",
    "weak",
    "wrong",
    "xxx",
    "yes",
];

/// Words typical of sentences about secrets and unlikely in passphrases.
const OF_SENTENCES: &[&str] = &[
    "a",
    "again",
    "and",
    "are",
    "at",
    "be",
    "can",
    "cannot",
    "characters",
    "did",
    "do",
    "enter",
    "expired",
    "field",
    "for",
    "has",
    "have",
    "in",
    "incorrect",
    "invalid",
    "is",
    "it",
    "least",
    "match",
    "missing",
    "must",
    "new",
    "no",
    "not",
    "of",
    "on",
    "optional",
    "or",
    "password",
    "passwords",
    "please",
    "required",
    "secret",
    "should",
    "that",
    "the",
    "this",
    "to",
    "token",
    "too",
    "used",
    "was",
    "with",
    "wrong",
    "you",
    "your",
    "das",
    "der",
    "die",
    "ein",
    "falsch",
    "ist",
    "muss",
    "nicht",
    "passwort",
    "de",
    "la",
    "le",
];

/// Extensions of files that contain secrets or are named like them.
const FILES: &[&str] = &[
    ".asc", ".cer", ".conf", ".crt", ".csv", ".env", ".gpg", ".html", ".js", ".json", ".kdbx", ".key", ".md", ".p12",
    ".pem", ".pfx", ".pub", ".py", ".rs", ".toml", ".ts", ".txt", ".yaml", ".yml",
];

/// The mix of characters in a value.
#[derive(Default)]
struct Shape {
    lower: usize,
    upper: usize,
    digit: usize,
    other: usize,
    /// Changes between lower case, upper case and digits within a word; a leading capital does not count. Random text
    /// changes at every second character, words hardly ever.
    turns: usize,
}

impl Shape {
    fn of(value: &str) -> Self {
        let (mut shape, mut last, mut first) = (Self::default(), b' ', true);
        for c in value.chars() {
            let class = match c {
                '0'..='9' => (&mut shape.digit, b'0'),
                c if c.is_uppercase() => (&mut shape.upper, b'A'),
                c if c.is_alphabetic() => (&mut shape.lower, b'a'),
                _ => (&mut shape.other, b' '),
            };
            *class.0 += 1;
            let capital = first && last == b'A' && class.1 == b'a';
            shape.turns += usize::from(class.1 != last && class.1 != b' ' && last != b' ' && !capital);
            first = last == b' ';
            last = class.1;
        }
        shape
    }

    fn letters(&self) -> usize {
        self.lower + self.upper
    }

    fn len(&self) -> usize {
        self.letters() + self.digit + self.other
    }
}

/// Whether the body of a token with a known prefix is more than words with dashes.
pub fn is_random(body: &str) -> bool {
    let shape = Shape::of(body);
    shape.digit > 0 && shape.letters() > 0 && shape.turns >= 3
}

/// Whether a value looks like a secret where one is expected: letters and digits mixed, many digits, or high
/// disorder.
pub fn is_likely_secret(value: &str) -> bool {
    let shape = Shape::of(value);
    let mixed = shape.len() >= 6 && shape.digit > 0 && shape.letters() > 0;
    let digits = shape.digit >= 6 && shape.len() == shape.digit;
    let irregular = shape.len() >= 8 && shape.lower > 0 && shape.upper > 0 && (shape.other > 0 || shape.turns >= 4);
    let long = shape.len() >= 24 && shape.len() == shape.letters();
    mixed || digits || irregular || long
}

/// Whether a value looks like a secret where a word is expected.
pub fn is_evident_secret(value: &str) -> bool {
    let shape = Shape::of(value);
    // A contract or memory address.
    let address = value.starts_with("0x") && shape.len() <= 42;
    let mixed = shape.digit > 0 && shape.letters() > 0;
    let with_digits = mixed && shape.len() >= 8 && shape.turns >= 4;
    let letters = shape.lower > 0 && shape.upper > 0 && shape.len() >= 20 && shape.turns * 3 >= shape.len();
    !address && (with_digits || letters)
}

/// Whether a quoted value after `token` is a secret: letters with digits, or a word that names itself a secret
/// (`my-secret-token`).
pub fn is_quoted_token(value: &str) -> bool {
    let shape = Shape::of(value);
    let called = ["secret", "token", "pass", "key"].iter().any(|word| value.to_ascii_lowercase().contains(word));
    let one_word = !value.contains(char::is_whitespace);
    shape.len() >= 8 && one_word && (shape.digit > 0 && shape.letters() > 0 || called) || is_evident_secret(value)
}

/// Whether a word is a placeholder or states that there is no secret.
pub fn is_placeholder(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let hashed = value.starts_with('$') && value.matches('$').count() > 1 && !value.contains(['{', '(']);
    let starts = [
        "$", "<", "{", "[", "%s", "%(", "%d", "%{", "!secret", "!env", "!vault", "env:", "op://", "vault:", "@", "&",
        "#",
    ];
    let yours =
        ["your_", "your-", "your ", "yourapi", "yourpass", "yourtok", "my_api_key", "enter_", "insert_", "replace_"];
    // The placeholder that custom tools get instead of a secret.
    let ours = value.starts_with("HOBSECRET_") && value.ends_with("_END");
    let crossed = value.len() >= 3;
    let sign = |c: char| c == '_' || c.is_ascii_punctuation() || c == '•' || c == '…' || c.is_whitespace();
    let uniform = value.chars().all(|c| sign(c) || crossed && (c == 'x' || c == 'X'));
    lower.is_empty()
        || ours
        || !hashed && starts.iter().any(|start| lower.starts_with(start))
        || yours.iter().any(|start| lower.starts_with(start))
        || lower.contains("redacted")
        || lower.contains("***")
        || lower.contains("xxxx")
        || value.ends_with("...") && value.len() <= 12
        || value.ends_with('…') && value.len() <= 12
        || uniform
        || is_algorithm_list(&lower)
        || WORDS.contains(&lower.trim_end_matches(['.', '!', '?']))
}

/// Whether a value such as `ed25519-sha512` consists of non-secret words, one of them with digits.
fn is_algorithm_list(lower: &str) -> bool {
    let digits = lower.contains(|c: char| c.is_ascii_digit());
    digits && lower.contains('-') && lower.split('-').all(|part| WORDS.contains(&part))
}

/// Whether a value is a path, a URL, a date or a file: possibly named after a secret, but not one.
pub fn is_location(value: &str) -> bool {
    let path = ["/", "./", "../", "~/", "~\\", ".\\"].iter().any(|start| value.starts_with(start))
        || value.as_bytes().get(1..3) == Some(b":\\");
    let lower = value.to_ascii_lowercase();
    let date = value.len() >= 10
        && value
            .bytes()
            .take(10)
            .enumerate()
            .all(|(at, b)| if at == 4 || at == 7 { b == b'-' } else { b.is_ascii_digit() });
    path && !is_evident_secret(value) || value.contains("://") || date || FILES.iter().any(|end| lower.ends_with(end))
}

/// Whether a value is code: `settings.password`, `getpass()`, `Option<String>`, `OPENAI_API_KEY`.
pub fn is_code(value: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b"_&.:'".contains(&b);
    let head = value.bytes().take_while(|b| word(*b)).count();
    let call = head > 0 && value.as_bytes().get(head).is_some_and(|b| b"([<".contains(b)) || value.contains("::");
    let path = value.contains('.') && value.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'.');
    call || path || is_reference(value)
}

/// Whether a value is the name of a secret: in capitals, or with a path to it.
pub fn is_reference(value: &str) -> bool {
    let shape = Shape::of(value);
    let names = value
        .split('.')
        .all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
    let dotted = value.contains('.') && shape.turns < 4;
    let capitals = shape.lower == 0 && value.contains('_') && shape.turns < 3;
    names && (capitals || dotted) && (names::is_secret_name(value) || dotted && shape.digit == 0)
}

/// Whether a value is an unquoted variable name such as `user_password`.
pub fn is_variable(value: &str) -> bool {
    let word = value.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    word && value.contains('_') && names::is_secret_name(value) && Shape::of(value).turns < 3
}

/// Whether a value is a form's hint instead of its content: "must be at least 8 characters".
pub fn is_sentence(value: &str) -> bool {
    let mut words = value.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty());
    value.trim().contains(char::is_whitespace) && words.any(|w| OF_SENTENCES.contains(&w.to_lowercase().as_str()))
}
