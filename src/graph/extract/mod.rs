//! Reads plain statements in texts: "Anna is my sister", "Tom works at Siemens", "The plumber is Mr Huber, 0170 1234567".
//!
//! Rules over words, in four languages. They take a sentence that states one thing plainly and leave every other one alone:
//! questions, conditions, negations and guesses state nothing.

mod words;

#[cfg(test)]
mod tests;

use words::{
    ANIMALS, ARTICLES, ATTRIBUTES, CALLED, COPULAS, ENDS, FIRST_PERSON, HEDGES, NO_NAMES, OCCUPATIONS, Object,
    PARTICLES, POSSESSIVES, RELATIONS, SINCE, TITLES, UNTIL, VERBS,
};

/// The name of the person whose texts they are.
pub const SELF: &str = "me";
/// The most statements of a text, and bytes that are read.
const MOST: usize = 20;
const READ: usize = 8 * 1024;
/// The most words of a sentence.
const WORDS: usize = 60;

/// A named thing in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    pub name: String,
    /// `person`, `place`, `organisation` or `animal`.
    pub kind: &'static str,
}

/// The object of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatedObject {
    Entity(Mention),
    Value(String),
}

/// One statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    pub subject: Mention,
    pub predicate: String,
    pub object: StatedObject,
    /// Years between which it holds; empty for no bound.
    pub from: String,
    pub to: String,
    pub quote: String,
}

/// A word of a sentence.
#[derive(Debug, Clone)]
struct Token {
    text: String,
    lower: String,
    /// Whether a comma, colon or bracket follows.
    ends: bool,
}

/// The statements of a text.
pub fn statements(text: &str) -> Vec<Statement> {
    let end = (0..=READ.min(text.len())).rev().find(|n| text.is_char_boundary(*n)).unwrap_or_default();
    let mut found: Vec<Statement> = vec![];
    for sentence in sentences(&text[..end]) {
        for statement in read(sentence) {
            let same = |other: &Statement| {
                (&other.subject, &other.predicate, &other.object)
                    == (&statement.subject, &statement.predicate, &statement.object)
            };
            if found.len() < MOST && !found.iter().any(same) {
                found.push(statement);
            }
        }
    }
    found
}

/// Splits a text at full stops, but not behind `Mr.` or within a number.
fn sentences(text: &str) -> Vec<&str> {
    let (mut found, mut start) = (vec![], 0);
    for (at, mark) in text.char_indices() {
        let after = text[at + mark.len_utf8()..].chars().next();
        let word = text[start..at].rsplit(|c: char| c.is_whitespace()).next().unwrap_or_default().to_lowercase();
        let ends = match mark {
            '\n' | ';' | '!' | '?' => true,
            '.' => {
                after.is_none_or(char::is_whitespace) && !TITLES.contains(&word.as_str()) && word.chars().count() > 1
            }
            _ => false,
        };
        if ends {
            // A question keeps its mark.
            found.push(text[start..at + if mark == '?' { 1 } else { 0 }].trim());
            start = at + mark.len_utf8();
        }
    }
    found.push(text[start..].trim());
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn tokens(sentence: &str) -> Vec<Token> {
    let token = |word: &str| {
        let text = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '@')).replace('’', "'");
        let ends = word.ends_with([',', ':', ')', ']', '"', '”']);
        Token { lower: text.to_lowercase(), text, ends }
    };
    sentence.split_whitespace().map(token).filter(|token| !token.text.is_empty()).collect()
}

fn read(sentence: &str) -> Vec<Statement> {
    let mut tokens = tokens(sentence);
    let certain = !sentence.contains('?') && !tokens.iter().any(|token| HEDGES.contains(&token.lower.as_str()));
    if !certain || tokens.len() < 2 || tokens.len() > WORDS {
        return vec![];
    }
    let quote: String = sentence.chars().take(200).collect();
    let (from, to) = years(&tokens);
    let contact = contacts(sentence);
    // "my sister Anna works at …" states two things.
    let mut found = vec![];
    if let Some((mention, relation, length)) = apposition(&tokens) {
        found.push(relation_to_self(&mention, relation));
        let name = tokens.drain(1..length).skip(1).collect::<Vec<_>>();
        tokens.splice(0..1, name);
    }
    let rest = related(&tokens)
        .or_else(|| role(&tokens))
        .or_else(|| attribute(&tokens))
        .or_else(|| first_person(&tokens))
        .or_else(|| verb(&tokens));
    found.extend(rest);
    // A number belongs to the one person of the sentence.
    let person = found
        .iter()
        .find_map(|(subject, ..)| (subject.name != SELF && subject.kind == "person").then(|| subject.clone()));
    if let Some(person) = person {
        for (predicate, value) in contact {
            let stated = found.iter().any(|(_, other, _)| other == predicate);
            if !stated {
                found.push((person.clone(), predicate.to_owned(), StatedObject::Value(value)));
            }
        }
    }
    let statement = |(subject, predicate, object)| Statement {
        subject,
        predicate,
        object,
        from: from.clone(),
        to: to.clone(),
        quote: quote.clone(),
    };
    found.into_iter().map(statement).collect()
}

type Triple = (Mention, String, StatedObject);

fn me() -> Mention {
    Mention { name: SELF.into(), kind: "person" }
}

fn relation_to_self(mention: &Mention, relation: &str) -> Triple {
    (mention.clone(), format!("{relation} of"), StatedObject::Entity(me()))
}

fn entry(list: &[(&'static str, &'static str)], word: &str) -> Option<&'static str> {
    list.iter().find(|(known, _)| *known == word).map(|(_, english)| *english)
}

/// A relation, an occupation or an animal, with the kind of what it is.
fn known_relation(word: &str) -> Option<(&'static str, &'static str)> {
    let person = entry(RELATIONS, word).or_else(|| entry(OCCUPATIONS, word)).map(|english| (english, "person"));
    person.or_else(|| entry(ANIMALS, word).map(|english| (english, "animal")))
}

/// "my sister Anna …": the name, the relation, and how many words they take.
fn apposition(tokens: &[Token]) -> Option<(Mention, &'static str, usize)> {
    let [mine, relation, rest @ ..] = tokens else { return None };
    let (english, kind) = known_relation(&relation.lower).filter(|_| POSSESSIVES.contains(&mine.lower.as_str()))?;
    let length = (1..=rest.len().min(4)).rev().find(|n| name(&rest[..*n], kind).is_some())?;
    // The name alone says nothing more; a verb follows.
    let mention = name(&rest[..length], kind).filter(|_| rest.len() > length)?;
    Some((mention, english, 2 + length))
}

/// "Anna is my sister", "my sister is called Anna", "Anna is Tom's sister".
fn related(tokens: &[Token]) -> Option<Triple> {
    if POSSESSIVES.contains(&tokens[0].lower.as_str()) {
        let (english, kind) = known_relation(&tokens.get(1)?.lower)?;
        let mut called = 2 + phrase(&tokens[2..], CALLED)?;
        called += usize::from(tokens.get(called).is_some_and(|token| ARTICLES.contains(&token.lower.as_str())));
        let name = leading_name(&tokens[called..], kind)?;
        return Some(relation_to_self(&name, english));
    }
    let at = tokens.iter().position(|token| COPULAS.contains(&token.lower.as_str()))?;
    let (left, right) = (&tokens[..at], &tokens[at + 1..]);
    let [owner, relation, rest @ ..] = right else { return None };
    if !rest.is_empty() && !relation.ends {
        return None;
    }
    let (english, kind) = known_relation(&relation.lower)?;
    if POSSESSIVES.contains(&owner.lower.as_str()) {
        return Some(relation_to_self(&name(left, kind)?, english));
    }
    let owner = owner.text.strip_suffix("'s").map(|name| Token {
        text: name.into(),
        lower: name.to_lowercase(),
        ends: false,
    })?;
    let owner = name(&[owner], "person")?;
    Some((name(left, kind)?, format!("{english} of"), StatedObject::Entity(owner)))
}

/// "The plumber is Mr Huber", "Mr Huber is the plumber".
fn role(tokens: &[Token]) -> Option<Triple> {
    let occupation =
        |mention: Mention, english: &str| (mention, "occupation".to_owned(), StatedObject::Value(english.to_owned()));
    let is_article = |token: &Token| ARTICLES.contains(&token.lower.as_str());
    if is_article(&tokens[0]) {
        let english = entry(OCCUPATIONS, &tokens.get(1)?.lower)?;
        let called = 2 + phrase(&tokens[2..], CALLED)?;
        return Some(occupation(leading_name(&tokens[called..], "person")?, english));
    }
    let at = tokens.iter().position(|token| COPULAS.contains(&token.lower.as_str()))?;
    let right: Vec<&Token> = tokens[at + 1..].iter().skip_while(|token| is_article(token)).collect();
    let [word, rest @ ..] = right.as_slice() else { return None };
    let english = entry(OCCUPATIONS, &word.lower).filter(|_| rest.is_empty() || word.ends)?;
    Some(occupation(name(&tokens[..at], "person")?, english))
}

/// "Anna's birthday is on 4 July".
fn attribute(tokens: &[Token]) -> Option<Triple> {
    let at = tokens.iter().position(|token| token.text.ends_with("'s"))?;
    let mut owner = tokens[..=at].to_vec();
    let last = owner.last_mut()?;
    last.text = last.text.strip_suffix("'s")?.to_owned();
    last.lower = last.text.to_lowercase();
    let owner = name(&owner, "person")?;
    let rest = &tokens[at + 1..];
    let (length, predicate) =
        ATTRIBUTES.iter().find_map(|(words, predicate)| Some((phrase(rest, &[words])?, *predicate)))?;
    let is = phrase(&rest[length..], &["is on", "is in", "is at", "is"])?;
    let value = joined(&rest[length + is..], 8, false)?;
    Some((owner, predicate.to_owned(), StatedObject::Value(value)))
}

fn first_person(tokens: &[Token]) -> Option<Triple> {
    let (length, predicate, object) = FIRST_PERSON
        .iter()
        .find_map(|(words, predicate, object)| Some((phrase(tokens, &[words])?, *predicate, *object)))?;
    Some((me(), predicate.to_owned(), object_of(&tokens[length..], object)?))
}

/// "Tom works at Siemens".
fn verb(tokens: &[Token]) -> Option<Triple> {
    for at in 1..tokens.len().min(5) {
        let known = VERBS
            .iter()
            .filter_map(|(words, predicate, object)| Some((phrase(&tokens[at..], &[words])?, *predicate, *object)));
        let Some((length, predicate, object)) = known.max_by_key(|(length, ..)| *length) else { continue };
        let subject = name(&tokens[..at], "person")?;
        return Some((subject, predicate.to_owned(), object_of(&tokens[at + length..], object)?));
    }
    None
}

fn object_of(tokens: &[Token], object: Object) -> Option<StatedObject> {
    let entity = |kind: &'static str, most| {
        let name = joined(tokens, most, true)?;
        Some(StatedObject::Entity(Mention { name, kind }))
    };
    match object {
        Object::Person => Some(StatedObject::Entity(leading_name(tokens, "person")?)),
        Object::Place => entity("place", 4),
        Object::Organisation => entity("organisation", 5),
        Object::Value => joined(tokens, 8, false).map(StatedObject::Value),
    }
}

/// The words up to the end of an object, without a leading article for a `name`.
fn joined(tokens: &[Token], most: usize, name: bool) -> Option<String> {
    let skipped = usize::from(name && tokens.first().is_some_and(|token| ARTICLES.contains(&token.lower.as_str())));
    let mut words = vec![];
    for token in &tokens[skipped..] {
        if ENDS.contains(&token.lower.as_str()) {
            break;
        }
        words.push(token.text.as_str());
        if token.ends {
            break;
        }
    }
    (!words.is_empty() && words.len() <= most).then(|| words.join(" "))
}

/// How many words one of these phrases takes at the beginning.
fn phrase(tokens: &[Token], phrases: &[&str]) -> Option<usize> {
    phrases.iter().find_map(|phrase| {
        let words: Vec<&str> = phrase.split(' ').collect();
        let fits = tokens.len() >= words.len() && words.iter().zip(tokens).all(|(word, token)| token.lower == *word);
        fits.then_some(words.len())
    })
}

/// The longest name at the beginning, which must end with the sentence or a comma, or before a year.
fn leading_name(tokens: &[Token], kind: &'static str) -> Option<Mention> {
    let length = (1..=tokens.len().min(5)).rev().find(|n| name(&tokens[..*n], kind).is_some())?;
    let followed = tokens.get(length).is_some_and(|next| {
        !tokens[length - 1].ends
            && !ENDS.contains(&next.lower.as_str())
            && !next.text.starts_with(|c: char| c == '+' || c.is_ascii_digit())
    });
    if followed { None } else { name(&tokens[..length], kind) }
}

/// A name of one to five words.
fn name(tokens: &[Token], kind: &'static str) -> Option<Mention> {
    let [first, .., last] = tokens else {
        let [only] = tokens else { return None };
        return (is_name(only) && !TITLES.contains(&only.lower.as_str()))
            .then(|| Mention { name: only.text.clone(), kind });
    };
    let inner = |token: &Token| {
        is_name(token) || PARTICLES.contains(&token.lower.as_str()) || TITLES.contains(&token.lower.as_str())
    };
    let fits = tokens.len() <= 5
        && (is_name(first) || TITLES.contains(&first.lower.as_str()))
        && is_name(last)
        && tokens.iter().all(inner)
        && tokens[..tokens.len() - 1].iter().all(|token| !token.ends);
    let text = tokens.iter().map(|token| token.text.as_str()).collect::<Vec<_>>().join(" ");
    fits.then_some(Mention { name: text, kind })
}

fn is_name(token: &Token) -> bool {
    let mut letters = token.text.chars();
    letters.next().is_some_and(char::is_uppercase)
        && letters.all(|c| c.is_alphabetic() || matches!(c, '-' | '\'' | '.'))
        && !token.text.ends_with("'s")
        && !NO_NAMES.contains(&token.lower.as_str())
}

/// Phone numbers and email addresses.
fn contacts(sentence: &str) -> Vec<(&'static str, String)> {
    let mut found = vec![];
    let mail = |word: &&str| word.split_once('@').is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
    if let Some(word) = sentence.split_whitespace().find(mail) {
        found.push(("email", word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned()));
    }
    let (mut number, mut digits) = (String::new(), 0);
    // A space at the end closes the last one.
    for mark in sentence.chars().chain(['\u{0}']) {
        match mark {
            '0'..='9' => {
                number.push(mark);
                digits += 1;
            }
            '+' if number.is_empty() => number.push(mark),
            ' ' | '-' | '/' | '(' | ')' if !number.is_empty() => number.push(mark),
            _ => {
                let text = number.trim_end_matches([' ', '-', '/', '(']).to_owned();
                if digits >= 6 && (text.starts_with(['0', '+']) || digits >= 9) {
                    found.push(("phone", text));
                    break;
                }
                (number, digits) = (String::new(), 0);
            }
        }
    }
    found
}

/// "since 2020", "from 2019 to 2021", "until 2024".
fn years(tokens: &[Token]) -> (String, String) {
    let year = |token: &Token| token.text.len() == 4 && matches!(token.text.parse(), Ok(1900..=2100));
    let after = |words: &[&str]| {
        let pairs = tokens.windows(2).filter(|pair| words.contains(&pair[0].lower.as_str()));
        pairs.map(|pair| &pair[1]).find(|token| year(token)).map(|token| token.text.clone()).unwrap_or_default()
    };
    (after(SINCE), after(UNTIL))
}
