//! Names that precede a secret.

/// The strength of the evidence that a name gives for its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// `password`, `api_key`: hardly ever precedes anything else.
    Strong,
    /// `secret`, `client-secret`: also a word in prose and types.
    Middling,
    /// `token`, `authorization`: also a word in parsers, models and prose.
    Weak,
    /// `…_KEY` outside the start of an `.env` line, and `the secret` in a sentence: the value itself must look
    /// random.
    Faint,
}
use Strength::{Middling, Strong, Weak};

/// Substrings of all secret names, matched by the automaton in any case.
pub const WORDS: &[&str] = &[
    "pass",
    "pwd",
    "kennwort",
    "secret",
    "token",
    "key",
    "credential",
    "creds",
    "authorization",
    "bearer",
    "psk",
    "dsn=",
    "virtual_",
];

/// Endings that make the last word of a name a password.
const PASSWORDS: &[&str] =
    &["password", "passwords", "passwd", "passphrase", "passwort", "passcode", "kennwort", "pwd"];

/// Words before `pass`, which alone is a verb, a mountain road and a ticket.
const PASS_OF: &[&str] = &[
    "admin", "api", "app", "auth", "basic", "cam", "camera", "database", "db", "email", "ftp", "http", "imap", "login",
    "mail", "mqtt", "my", "mysql", "pg", "postgres", "proxy", "redis", "root", "rtsp", "service", "smtp", "ssh",
    "sudo", "svc", "user", "wifi", "wlan",
];

/// Words before `key`, which alone opens doors, sorts tables and is pressed.
const KEY_OF: &[&str] = &[
    "access",
    "account",
    "admin",
    "aes",
    "api",
    "app",
    "application",
    "auth",
    "client",
    "consumer",
    "decryption",
    "encryption",
    "hmac",
    "jwt",
    "licence",
    "license",
    "master",
    "network",
    "private",
    "rapidapi",
    "secret",
    "service",
    "shared",
    "signing",
    "subscription",
    "webhook",
    "wifi",
    "wpa",
];

/// Words before `token` that make it a credential.
const TOKEN_OF: &[&str] = &[
    "access", "account", "admin", "api", "app", "auth", "bearer", "bot", "client", "deploy", "device", "github",
    "gitlab", "hf", "id", "jwt", "login", "oauth", "oauth2", "personal", "private", "refresh", "registry", "secret",
    "security", "session", "slack", "telegram", "user",
];

/// Words before `token` that make it a cursor or a lexical token, which a model needs to continue.
const NO_TOKEN_OF: &[&str] = &[
    "bos",
    "cancel",
    "cancellation",
    "change",
    "cls",
    "continuation",
    "continue",
    "count",
    "delta",
    "design",
    "end",
    "eos",
    "expected",
    "first",
    "input",
    "invalid",
    "last",
    "mask",
    "max",
    "maximum",
    "min",
    "minimum",
    "next",
    "num",
    "output",
    "pad",
    "page",
    "pagination",
    "per",
    "prev",
    "previous",
    "prompt",
    "resume",
    "sep",
    "skip",
    "special",
    "start",
    "stop",
    "sync",
    "syntax",
    "total",
    "unexpected",
    "unk",
    "watch",
];

/// First words of names that ask or describe something about a secret.
const ABOUT: &[&str] = &[
    "allow", "can", "change", "disable", "enable", "enter", "expose", "forget", "forgot", "has", "have", "hide",
    "invalid", "is", "missing", "must", "need", "needs", "no", "require", "required", "requires", "reset", "should",
    "show", "supports", "use", "uses", "with", "without", "wrong",
];

/// Neutral words after the name of a secret: `password_hash`, `token_value`, `secret_2`.
const AFTER: &[&str] = &[
    "again",
    "b64",
    "base64",
    "confirm",
    "confirmation",
    "current",
    "encrypted",
    "hash",
    "new",
    "old",
    "plain",
    "plaintext",
    "raw",
    "repeat",
    "value",
];

/// Whether a field of this name holds a secret: `api_key`, `smtpPassword`, `GITHUB_TOKEN`, `client-secret` do;
/// `max_tokens`, `nextPageToken`, `has_password`, `primaryKey`, `keyboard` do not.
pub fn is_secret_name(name: &str) -> bool {
    strength(name).is_some()
}

/// The words of a name: `myAPIKey_2` is `my`, `api`, `key`, `2`.
fn words(name: &str) -> Vec<String> {
    let (mut words, mut word, mut last) = (vec![], String::new(), ' ');
    let mut chars = name.chars().peekable();
    while let Some(c) = chars.next() {
        let next_lower = chars.peek().is_some_and(|n| n.is_lowercase());
        let camel =
            c.is_uppercase() && (last.is_lowercase() || last.is_ascii_digit() || next_lower && last.is_uppercase());
        if (camel || !c.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        last = c;
    }
    words.extend((!word.is_empty()).then_some(word));
    words
}

/// The strength of a field name; `None` when it does not name a secret.
pub fn strength(name: &str) -> Option<Strength> {
    // The current and the previous directory of a shell.
    if name.len() > 128 || matches!(name, "PWD" | "OLDPWD") {
        return None;
    }
    let mut words = words(name);
    let digits = |w: &String| w.bytes().all(|b| b.is_ascii_digit());
    while words.len() > 1 && words.last().is_some_and(|w| digits(w) || AFTER.contains(&w.as_str())) {
        words.pop();
    }
    let last = words.pop()?;
    let last = last.trim_end_matches(|c: char| c.is_ascii_digit());
    if words.first().is_some_and(|first| ABOUT.contains(&first.as_str())) {
        return None;
    }
    let before = words.last().map_or("", String::as_str);
    // `apikey` and `accesstoken` are two words written as one.
    let whole = |end: &str, of: &[&str]| {
        last.strip_suffix(end).is_some_and(|head| {
            if head.is_empty() { of.contains(&before) } else { of.iter().any(|word| head.ends_with(word)) }
        })
    };
    if PASSWORDS.iter().any(|end| last.ends_with(end)) || last == "psk" {
        return Some(Strong);
    }
    if whole("key", KEY_OF) || whole("keys", KEY_OF) || whole("pass", PASS_OF) {
        return Some(Strong);
    }
    if whole("token", NO_TOKEN_OF) {
        return None;
    }
    if whole("token", TOKEN_OF) || whole("tokens", TOKEN_OF) {
        return Some(Strong);
    }
    if last.ends_with("secret") {
        return Some(Middling);
    }
    let weak = ["credential", "credentials", "creds", "authorization", "bearer"].contains(&last);
    (weak || last.ends_with("token")).then_some(Weak)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_and_names_like_them() {
        let rows: &[(Option<Strength>, &str)] = &[
            (
                Some(Strong),
                "password Password PASSWORD db_password dbPassword passwd passphrase pwd MYSQL_PWD wifi-password psk \
                 wifi_psk api_key apiKey APIKEY api-key X-Api-Key x_api_key_2 OPENAI_API_KEY secret_key private_key \
                 aws_secret_access_key AccountKey SharedAccessKey encryptionKey license_key access_token accessToken \
                 AUTH_TOKEN bot_token refreshToken id_token GITHUB_TOKEN password_hash new_password password2 smtp_pass \
                 passwordConfirmation userpassword apikey passwort passwords api_keys network_key",
            ),
            (Some(Middling), "secret client_secret clientSecret SECRET webhook_secret secretValue appsecret"),
            (Some(Weak), "token TOKEN X-Token csrf_token credentials credential creds Authorization bearer"),
            (
                None,
                "secrets tokens max_tokens tokens_used tokenizer token_count token_type token_expires nextPageToken page_token \
                 continuation_token cancellationToken sync_token eos_token keyboard monkey turkey key keys keyword \
                 primaryKey primary_key foreign_key public_key publicKey sort_key cacheKey idempotency_key key_id \
                 access_key_id api_key_name apiKeyEnv api_key_url compass passed passenger passport pass bypass \
                 test_pass boarding_pass passwordless password_length password_policy password_changed_at has_password \
                 hasApiKey requires_api_key is_secret secretary secretsSet secret_name show_password forgot_password \
                 reset_password PWD OLDPWD author authority authorized author_id authorizations bearing name",
            ),
        ];
        for (expected, names) in rows {
            for name in names.split_whitespace() {
                assert_eq!(strength(name), *expected, "{name}");
                assert_eq!(is_secret_name(name), expected.is_some(), "{name}");
            }
        }
        assert!(!is_secret_name("") && !is_secret_name("_") && !is_secret_name("пароль"));
    }

    #[test]
    fn every_secret_name_has_a_word_the_automaton_sees() {
        let lists =
            [PASSWORDS, &["key", "token", "secret", "credentials", "creds", "psk", "pass", "authorization", "bearer"]];
        for name in lists.concat() {
            assert!(WORDS.iter().any(|word| name.contains(word)), "{name}");
        }
    }
}
