//! Parses `hob-settings.txt`, which a person edits on any computer: every encoding, line ending and mistake is expected.

use std::collections::BTreeMap;

/// The file as it is delivered, with every value empty.
pub const TEMPLATE: &str = include_str!("hob-settings.txt");
/// Maximum size of the file, in bytes.
pub const MAX_BYTES: u64 = 64 * 1024;
/// Maximum number of problems to report.
const MAX_PROBLEMS: usize = 30;
/// Minimum similarity of a misspelt key to be named in its problem.
const SIMILAR: f64 = 0.8;
/// As in `identity`: the fewest letters and digits of a claim code, and how many of them differ.
const CODE_LENGTH: usize = 12;
const CODE_VARIETY: usize = CODE_LENGTH / 2;

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    Name,
    WifiName,
    WifiPassword,
    WifiCountry,
    TimeZone,
    Model,
    Secret,
    ClaimCode,
}

impl Key {
    const ALL: [Self; 8] = [
        Self::Name,
        Self::WifiName,
        Self::WifiPassword,
        Self::WifiCountry,
        Self::TimeZone,
        Self::Model,
        Self::Secret,
        Self::ClaimCode,
    ];

    /// Its name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Name => "NAME",
            Self::WifiName => "WIFI_NAME",
            Self::WifiPassword => "WIFI_PASSWORD",
            Self::WifiCountry => "WIFI_COUNTRY",
            Self::TimeZone => "TIME_ZONE",
            Self::Model => "MODEL",
            Self::Secret => "MODEL_KEY",
            Self::ClaimCode => "CLAIM_CODE",
        }
    }

    /// Its name in a sentence.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Name => "the name",
            Self::WifiName => "the Wi-Fi",
            Self::WifiPassword => "the Wi-Fi password",
            Self::WifiCountry => "the country",
            Self::TimeZone => "the time zone",
            Self::Model => "the model",
            Self::Secret => "the model's key",
            Self::ClaimCode => "the claim code",
        }
    }
}

/// The content of the file: valid values, and sentences about the rest. No sentence contains a value, which may be a password
/// on a wrong line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Settings {
    pub values: BTreeMap<Key, String>,
    pub problems: Vec<String>,
    /// Further sentences about the values, for a person.
    pub notes: Vec<String>,
}

impl Settings {
    /// Parses the bytes of the file.
    pub fn parse(bytes: &[u8]) -> Self {
        let mut settings = Self::default();
        let text = decode(bytes).replace("\r\n", "\n");
        for (line, text) in text.split(['\n', '\r']).enumerate() {
            if let Err(problem) = settings.read_line(text) {
                settings.report(format!("Line {}: {problem}", line + 1));
            }
        }
        settings.check();
        settings
    }

    /// A setting, if the file has a valid one.
    pub fn get(&self, key: Key) -> Option<&str> {
        self.values.get(&key).map(String::as_str)
    }

    /// Adds a problem, as long as there are few.
    pub fn report(&mut self, problem: String) {
        match self.problems.len() {
            MAX_PROBLEMS => self.problems.push("There are more lines that Hob could not use.".into()),
            count if count < MAX_PROBLEMS => self.problems.push(problem),
            _ => {}
        }
    }

    /// Adds something that a person has to know.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    fn read_line(&mut self, line: &str) -> Result<(), String> {
        let line = line.trim_matches(is_blank);
        if line.is_empty() || line.starts_with(['#', ';']) {
            return Ok(());
        }
        let Some((typed, value)) = line.split_once('=') else {
            return Err("this is no setting. Write each as NAME=value, on a line of its own.".into());
        };
        let typed: String = typed
            .trim_matches(is_blank)
            .chars()
            .map(|c| if c == '-' || is_blank(c) { '_' } else { c.to_ascii_uppercase() })
            .collect();
        let Some(key) = Key::ALL.into_iter().find(|key| key.name() == typed) else {
            let nearest = Key::ALL
                .into_iter()
                .map(|key| (strsim::jaro_winkler(&typed, key.name()), key.name()))
                .max_by(|a, b| a.0.total_cmp(&b.0))
                .filter(|(similarity, _)| *similarity >= SIMILAR);
            return Err(match nearest {
                Some((_, name)) => format!("Hob knows no setting of this name; did you mean {name}?"),
                None => "Hob knows no setting of this name.".into(),
            });
        };
        let value = value.trim_matches(is_blank);
        // A password may begin and end with quotation marks; no other value does.
        let value = if key == Key::WifiPassword { value } else { unquote(value) };
        if value.is_empty() {
            return Ok(());
        }
        let value = check_value(key, value)?;
        match self.values.insert(key, value) {
            None => Ok(()),
            Some(_) => Err(format!("{} is there twice; the last one counts.", key.name())),
        }
    }

    /// Checks what only makes sense together.
    fn check(&mut self) {
        for key in [Key::WifiPassword, Key::WifiCountry] {
            if self.get(Key::WifiName).is_none() && self.values.remove(&key).is_some() {
                self.report(format!("{} was given without WIFI_NAME, so it was not used.", key.name()));
            }
        }
        if let Some(key) = self.get(Key::Secret)
            && self.get(Key::Model).is_none()
            && provider_of(key).is_none()
        {
            self.values.remove(&Key::Secret);
            self.report(
                "MODEL_KEY was given without MODEL, and does not show whose key it is, so it was not kept.".into(),
            );
        }
    }
}

/// The provider whose keys begin like this one.
pub fn provider_of(key: &str) -> Option<&'static str> {
    let known =
        [("sk-ant-", "anthropic"), ("sk-or-", "openrouter"), ("AIza", "google"), ("gsk_", "groq"), ("sk-", "openai")];
    known.into_iter().find(|(start, _)| key.starts_with(start)).map(|(_, provider)| provider)
}

/// Checks a value on its own; returns it in its stored form.
fn check_value(key: Key, value: &str) -> Result<String, String> {
    let error = |what: &str| Err(format!("{} {what}", key.name()));
    if value.chars().any(char::is_control) {
        return error("has invisible characters.");
    }
    match key {
        Key::Name => {
            let name: String = value.chars().map(|c| if c == ' ' || c == '_' { '-' } else { c }).collect();
            let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            match plain && name.len() <= 63 && !name.starts_with('-') && !name.ends_with('-') {
                true => Ok(name.to_ascii_lowercase()),
                false => error("may have letters from a to z, digits and dashes, and at most 63 of them."),
            }
        }
        Key::WifiName => match value.len() <= 32 {
            true => Ok(value.into()),
            false => error("is longer than a Wi-Fi's name can be (32 characters)."),
        },
        Key::WifiPassword => match (8..=63).contains(&value.len()) && value.is_ascii() {
            true => Ok(value.into()),
            false => error("is not possible: a Wi-Fi password has 8 to 63 letters, digits and signs without accents."),
        },
        Key::WifiCountry => match value.len() == 2 && value.chars().all(|c| c.is_ascii_alphabetic()) {
            true => Ok(value.to_ascii_uppercase()),
            false => error("is two letters, such as AT, DE, GB or US."),
        },
        Key::ClaimCode => {
            let letters: Vec<char> = value.chars().filter(char::is_ascii_alphanumeric).collect();
            let different: std::collections::BTreeSet<char> = letters.iter().map(char::to_ascii_uppercase).collect();
            match letters.len() >= CODE_LENGTH && different.len() >= CODE_VARIETY && value.len() <= 64 {
                true => Ok(value.into()),
                false => error("is too easy to guess: use at least 12 letters and digits, and not always the same."),
            }
        }
        Key::TimeZone | Key::Model | Key::Secret => match value.len() <= 512 && value.is_ascii() {
            true => Ok(value.into()),
            false => error("is too long, or has letters that it cannot have."),
        },
    }
}

/// Blanks, also those that word processors and web pages add.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{feff}' | '\u{200b}' | '\0')
}

/// Removes quotation marks around a value.
fn unquote(value: &str) -> &str {
    [('"', '"'), ('\'', '\''), ('“', '”'), ('„', '“')]
        .into_iter()
        .find_map(|(open, close)| value.strip_prefix(open)?.strip_suffix(close))
        .map_or(value, |value| value.trim_matches(is_blank))
}

/// Decodes UTF-8, UTF-16 of either order, with and without its mark, and else Windows' Latin letters.
fn decode(bytes: &[u8]) -> String {
    let utf16 = |bytes: &[u8], read: fn([u8; 2]) -> u16| {
        let units = bytes.chunks_exact(2).map(|pair| read([pair[0], pair[1]]));
        char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    // In UTF-16 every second byte of plain text is zero.
    let zeros =
        |parity: usize| bytes.iter().skip(parity).step_by(2).filter(|byte| **byte == 0).count() * 4 > bytes.len();
    match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        _ if zeros(1) && !zeros(0) => utf16(bytes, u16::from_le_bytes),
        _ if zeros(0) && !zeros(1) => utf16(bytes, u16::from_be_bytes),
        _ => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => bytes.iter().map(|byte| char::from(*byte)).collect(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FILLED: &str = "# Mine\nNAME=Kitchen Hob\nwifi-name = \"Café 5\"\nWIFI_PASSWORD= \"correct horse\" \nWifi Country=at\n\
        TIME_ZONE=Europe/Vienna\nMODEL=\nMODEL_KEY=sk-ant-0123\nCLAIM_CODE=alpha-7391-bravo\n";

    fn values(text: &[u8]) -> Vec<(Key, String)> {
        let settings = Settings::parse(text);
        assert_eq!(settings.problems, Vec::<String>::new());
        settings.values.into_iter().collect()
    }

    #[test]
    fn every_encoding_and_line_ending_reads_the_same() {
        let expected = values(FILLED.as_bytes());
        assert_eq!(
            expected,
            [
                (Key::Name, "kitchen-hob"),
                (Key::WifiName, "Café 5"),
                (Key::WifiPassword, "\"correct horse\""),
                (Key::WifiCountry, "AT"),
                (Key::TimeZone, "Europe/Vienna"),
                (Key::Secret, "sk-ant-0123"),
                (Key::ClaimCode, "alpha-7391-bravo"),
            ]
            .map(|(key, value)| (key, value.to_owned()))
        );
        let crlf = FILLED.replace('\n', "\r\n");
        let units: Vec<u16> = format!("\u{feff}{crlf}").encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        let latin: Vec<u8> = FILLED.chars().map(|c| c as u8).collect();
        for file in [
            crlf.as_bytes(),
            FILLED.replace('\n', "\r").as_bytes(),
            format!("\u{feff}{crlf}").as_bytes(),
            &little,
            &little[2..],
            &big,
            &big[2..],
            &latin,
        ] {
            assert_eq!(values(file), expected);
        }
    }

    #[test]
    fn the_template_sets_nothing_and_names_every_setting() {
        assert_eq!(Settings::parse(TEMPLATE.as_bytes()), Settings::default());
        for key in Key::ALL {
            assert!(TEMPLATE.lines().any(|line| line == format!("{}=", key.name())), "{}", key.name());
        }
    }

    #[test]
    fn what_cannot_be_used_is_reported_in_words_and_without_its_value() {
        for (line, problem) in [
            ("WIFI_PASWORD=hunter2hunter2", "did you mean WIFI_PASSWORD?"),
            ("hunter2hunter2", "this is no setting"),
            ("hunter2=x", "knows no setting of this name."),
            ("WIFI_NAME=x\nWIFI_PASSWORD=short", "has 8 to 63 letters"),
            ("WIFI_PASSWORD=hunter2hunter2", "without WIFI_NAME"),
            ("WIFI_NAME=a name of more than thirty-two bytes", "longer than"),
            ("WIFI_NAME=x\nWIFI_COUNTRY=Austria", "two letters"),
            ("NAME=küche", "letters from a to z"),
            ("NAME=-x", "letters from a to z"),
            ("CLAIM_CODE=aaaaaaaaaaaaaa", "too easy"),
            ("CLAIM_CODE=hunter2", "too easy"),
            ("MODEL_KEY=hunter2", "does not show whose key"),
            ("TIME_ZONE=Európe/Vienna", "cannot have"),
            ("NAME=a\nNAME=b", "twice"),
            ("NAME=a\u{7}b", "invisible"),
        ] {
            let settings = Settings::parse(line.as_bytes());
            let [only] = settings.problems.as_slice() else { panic!("{line}: {:?}", settings.problems) };
            assert!(only.contains(problem) && !only.contains("hunter2"), "{line}: {only}");
        }
        let many = Settings::parse("?\n".repeat(1000).as_bytes());
        assert_eq!(many.problems.len(), MAX_PROBLEMS + 1);
    }

    proptest! {
        #[test]
        fn any_bytes_give_valid_values(bytes: Vec<u8>) {
            Settings::parse(&bytes);
        }

        #[test]
        fn any_values_are_valid_or_reported(key in 0..Key::ALL.len(), value in "\\PC{0,80}", wide: bool) {
            let text = format!("{}={value}\r\nNAME=other\r\n", Key::ALL[key].name());
            let wide: Vec<u8> = match wide {
                true => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
                false => text.into_bytes(),
            };
            let settings = Settings::parse(&wide);
            // Each value fits on one line of the files that the image reads.
            for (key, value) in &settings.values {
                prop_assert!(!value.is_empty() && value.len() <= 512 && !value.chars().any(char::is_control), "{key:?}");
                if matches!(key, Key::WifiPassword | Key::ClaimCode) {
                    prop_assert!(value.len() <= 64);
                }
            }
        }
    }
}
