//! Names of folders: their form on the wire (UTF-7 as IMAP changed it), and which one holds deleted or sent mail.

use base64::{Engine, alphabet::IMAP_MUTF7, engine::GeneralPurpose, engine::general_purpose::NO_PAD};

const BASE64: GeneralPurpose = GeneralPurpose::new(&IMAP_MUTF7, NO_PAD);

/// A folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    /// Its name, with those of the folders above it.
    pub name: String,
    /// What separates these names.
    pub(crate) delimiter: Option<char>,
    /// Its attributes, such as `\Trash`.
    pub(crate) attributes: Vec<String>,
}

/// The folders of an account.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Folders(pub Vec<Folder>);

/// Names of folders for deleted mail, where the server does not say which one it is; in the languages of common programs.
const TRASH: &[&str] = &[
    "trash",
    "deleted items",
    "deleted messages",
    "deleted",
    "bin",
    "papierkorb",
    "gelöschte elemente",
    "gelöscht",
    "gelöschte objekte",
    "corbeille",
    "éléments supprimés",
    "papelera",
    "elementos eliminados",
    "cestino",
    "posta eliminata",
];
/// The same for sent mail.
const SENT: &[&str] = &[
    "sent",
    "sent items",
    "sent messages",
    "sent mail",
    "gesendet",
    "gesendete elemente",
    "gesendete objekte",
    "envoyés",
    "éléments envoyés",
    "messages envoyés",
    "enviados",
    "elementos enviados",
    "inviati",
    "posta inviata",
];

impl Folders {
    /// The folder for deleted mail.
    pub fn trash(&self) -> Option<&str> {
        self.of("\\Trash", TRASH)
    }

    /// The folder for sent mail.
    pub fn sent(&self) -> Option<&str> {
        self.of("\\Sent", SENT)
    }

    /// The folder that a person means by a name, whatever its case; also by the last part of its name.
    pub fn named(&self, name: &str) -> Option<&str> {
        let wanted = name.trim().to_lowercase();
        let whole = self.0.iter().find(|folder| folder.name.to_lowercase() == wanted);
        let found = whole.or_else(|| self.0.iter().find(|folder| folder.last().to_lowercase() == wanted));
        found.map(|folder| &*folder.name)
    }

    fn of(&self, attribute: &str, names: &[&str]) -> Option<&str> {
        let has = |folder: &&Folder| folder.attributes.iter().any(|found| found.eq_ignore_ascii_case(attribute));
        let called = |folder: &&Folder| names.contains(&&*folder.last().to_lowercase());
        self.0.iter().find(has).or_else(|| self.0.iter().find(called)).map(|folder| &*folder.name)
    }
}

impl Folder {
    fn last(&self) -> &str {
        self.delimiter.and_then(|d| self.name.rsplit_once(d)).map_or(&*self.name, |(_, last)| last)
    }
}

/// The form of a name on the wire.
pub(crate) fn encoded(name: &str) -> String {
    let (mut text, mut rest) = (String::new(), name);
    while let Some(c) = rest.chars().next() {
        if matches!(c, ' '..='~') {
            text.push(c);
            if c == '&' {
                text.push('-');
            }
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = rest.find(|c| matches!(c, ' '..='~')).unwrap_or(rest.len());
        let wide: Vec<u8> = rest[..end].encode_utf16().flat_map(u16::to_be_bytes).collect();
        text.push('&');
        text.push_str(&BASE64.encode(wide));
        text.push('-');
        rest = &rest[end..];
    }
    text
}

/// A name by its form on the wire; what is not in that form stays as it is.
pub(crate) fn decoded(text: &str) -> String {
    let (mut name, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('&') {
        name.push_str(before);
        let Some((inner, then)) = after.split_once('-') else {
            name.push('&');
            name.push_str(after);
            return name;
        };
        let wide = BASE64.decode(inner).ok().filter(|bytes| bytes.len() % 2 == 0);
        let wide =
            wide.map(|bytes| bytes.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect::<Vec<_>>());
        match wide.map(|wide| String::from_utf16(&wide)) {
            _ if inner.is_empty() => name.push('&'),
            Some(Ok(decoded)) => name.push_str(&decoded),
            _ => {
                name.push('&');
                name.push_str(inner);
                name.push('-');
            }
        }
        rest = then;
    }
    name + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_letters() {
        for (name, wire) in [
            ("INBOX", "INBOX"),
            ("Entwürfe", "Entw&APw-rfe"),
            ("A & B", "A &- B"),
            ("台北", "&U,BTFw-"),
            ("😀x", "&2D3eAA-x"),
        ] {
            assert_eq!((encoded(name).as_str(), decoded(wire).as_str()), (wire, name));
        }
        for odd in ["&", "a&b", "&!!-", "&AP-"] {
            assert_eq!(decoded(odd), odd);
        }
    }

    #[test]
    fn the_trash_is_found() {
        let folder = |name: &str, attributes: &[&str]| Folder {
            name: name.into(),
            delimiter: Some('/'),
            attributes: attributes.iter().map(|a| (*a).to_owned()).collect(),
        };
        let told = Folders(vec![folder("Trash", &[]), folder("[Gmail]/Papierkorb", &["\\HasNoChildren", "\\trash"])]);
        assert_eq!((told.trash(), told.sent()), (Some("[Gmail]/Papierkorb"), None));
        let named = Folders(vec![folder("INBOX", &[]), folder("INBOX/Gelöschte Elemente", &[]), folder("SENT", &[])]);
        assert_eq!((named.trash(), named.sent()), (Some("INBOX/Gelöschte Elemente"), Some("SENT")));
        assert_eq!(named.named(" gelöschte elemente"), Some("INBOX/Gelöschte Elemente"));
        assert_eq!(named.named("inbox"), Some("INBOX"));
        assert_eq!(named.named("nothing"), None);
    }
}
