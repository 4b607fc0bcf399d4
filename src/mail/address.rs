//! Addresses of mail: reading what a person or model writes, and what is in mails.

use text_kit::check_email;

/// How many recipients one mail may have, in all.
pub const MAX_RECIPIENTS: usize = 20;
/// The longest name beside an address, in characters.
const NAME: usize = 100;

/// Somebody with an address.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Person {
    /// Their name.
    pub name: Option<String>,
    /// Their address.
    pub address: String,
}

impl Person {
    /// `Name <address>`, or the address alone.
    pub fn shown(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} <{}>", self.address),
            None => self.address.clone(),
        }
    }

    /// Whether it is the same mailbox.
    pub fn is_at(&self, address: &str) -> bool {
        self.address.eq_ignore_ascii_case(address)
    }
}

/// Reads one recipient: an address, or `Name <address>`.
///
/// # Errors
/// Why it is unusable, as the end of a sentence.
pub fn parse_person(text: &str) -> Result<Person, String> {
    let shown = text_kit::truncate(&text_kit::one_line(text), 80);
    if text.chars().any(char::is_control) {
        return Err(format!("`{shown}` has a line break or another control character in it"));
    }
    let text = text.trim();
    let (name, address) = match text.strip_suffix('>').and_then(|text| text.rsplit_once('<')) {
        Some((name, address)) => (name.trim().trim_matches('"').trim(), address.trim()),
        None => ("", text),
    };
    let address = check_email(address).map_err(|why| format!("`{shown}` is no mail address: {why}"))?;
    if !address.is_ascii() {
        return Err(format!("`{shown}` has letters that not all mail servers take: use an address of plain letters"));
    }
    let name: String = name.chars().filter(|c| !"<>\"".contains(*c)).take(NAME).collect();
    Ok(Person { name: (!name.trim().is_empty()).then(|| name.trim().to_owned()), address })
}

/// Reads recipients: each text holds one or several, separated by commas or semicolons. One that is there twice counts once.
///
/// # Errors
/// Why one is unusable, as the end of a sentence.
pub fn parse_people(texts: &[String]) -> Result<Vec<Person>, String> {
    let mut people: Vec<Person> = vec![];
    for text in texts {
        for one in split(text) {
            let person = parse_person(one)?;
            if !people.iter().any(|known| known.is_at(&person.address)) {
                people.push(person);
            }
            if people.len() > MAX_RECIPIENTS {
                return Err(format!("there are more than {MAX_RECIPIENTS} recipients: send it to fewer at once"));
            }
        }
    }
    Ok(people)
}

/// Splits at commas and semicolons outside of quotation marks and angle brackets.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut bracket) = (false, false);
    let at_end = move |c: char| {
        match c {
            '"' => quoted = !quoted,
            '<' if !quoted => bracket = true,
            '>' if !quoted => bracket = false,
            _ => {}
        }
        !quoted && !bracket && matches!(c, ',' | ';')
    };
    text.split(at_end).filter(|part| !part.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn people(texts: &[&str]) -> Result<Vec<String>, String> {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        Ok(parse_people(&texts)?.iter().map(Person::shown).collect())
    }

    #[test]
    fn recipients_are_read() {
        for (texts, expected) in [
            (&["nora@Example.org"][..], &["nora@example.org"][..]),
            (&["a@b.example, c@d.example;e@f.example"], &["a@b.example", "c@d.example", "e@f.example"]),
            (&["\"Quist, Nora\" <n@b.example>", "n@B.example"], &["Quist, Nora <n@b.example>"]),
            (&["Jürgen <j@b.example>", ""], &["Jürgen <j@b.example>"]),
        ] {
            assert_eq!(people(texts).unwrap(), expected, "{texts:?}");
        }
    }

    #[test]
    fn nothing_is_smuggled_into_headers_or_commands() {
        for (text, says) in [
            ("a@b.example\r\nBcc: c@d.example", "line break"),
            ("A\nB <a@b.example>", "line break"),
            ("a@b.example> SIZE=1 <c@d.example", "no mail address"),
            ("a b@c.example", "no mail address"),
            ("nobody", "no mail address"),
            ("jürgen@b.example", "plain letters"),
        ] {
            let error = people(&[text]).unwrap_err();
            assert!(error.contains(says), "{text}: {error}");
        }
        let many: Vec<String> = (0..=MAX_RECIPIENTS).map(|n| format!("a{n}@b.example")).collect();
        assert!(parse_people(&many).unwrap_err().contains("more than 20"));
        assert!(parse_people(&many[1..]).is_ok());
    }
}
