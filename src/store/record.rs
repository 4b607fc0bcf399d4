//! The trait of record types, and the fields that every stored record has.

use crate::checksum;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tool::{Label, UserId};

/// The scope of a collection's records, with which their keys begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The household's.
    Household,
    /// One person's; a record may be shared with the household.
    User,
    /// One agent's, for everybody.
    Agent,
    /// One agent's, for one person.
    AgentUser,
}

/// One value a record is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Which index; numbers are part of the stored form and never reused.
    pub index: u8,
    /// The value; compared as bytes.
    pub value: Vec<u8>,
    /// Whether no two records of a scope may have it.
    pub unique: bool,
}

impl Key {
    /// A value several records may have.
    pub fn many(index: u8, value: impl AsRef<[u8]>) -> Self {
        Self { index, value: value.as_ref().to_vec(), unique: false }
    }
    /// A value only one record of a scope may have.
    pub fn unique(index: u8, value: impl AsRef<[u8]>) -> Self {
        Self { index, value: value.as_ref().to_vec(), unique: true }
    }
}

/// A type that is stored in a collection. See the evolution rule at the head of the crate.
pub trait Record: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The collection's name; part of the stored form.
    const NAME: &'static str;
    /// One word for a record, for messages: "note", "custom tool".
    const WORD: &'static str;
    /// Raised when the meaning of a field changes (not when one is added).
    const VERSION: u8 = 1;
    /// The scope of the records.
    const LEVEL: Level;
    /// Whether the records stay on this device: backups leave them out, as they do secrets.
    const STAYS: bool = false;
    /// Whether members write records that everybody reads. For a reader they are labelled with their author, unless the
    /// household's owner wrote them; see [`Collection::get`](crate::Collection::get).
    const BY_MEMBERS: bool = matches!(Self::LEVEL, Level::User);
    /// The index values of this record. Where one value is a prefix of another, a search for the shorter finds both: terminate
    /// values of variable length, as [`order::text`](crate::order::text) does, or put the length first.
    fn keys(&self) -> Vec<Key> {
        vec![]
    }
    /// Raised when [`Record::words`] returns another text for the same record: the index of words is then rebuilt. With 0,
    /// records of this type have no index of words.
    const WORDS: u8 = 0;
    /// The texts that are searched for words, separated by line breaks. May contain more than a search looks in, but never less.
    fn words(&self) -> String {
        String::new()
    }
    /// Whether calls that change such a record journal it as it was before, so that they can be undone.
    const UNDO: bool = false;
    /// Whether it is a part of another record of the same change (a step of a goal), which alone is named then.
    const PART: bool = false;
    /// Its name in sentences about a change: "milk". Empty where the change names another record (an event, for its reminder).
    fn title(&self) -> String {
        String::new()
    }
    /// The list it is on, where it is on one: "the shopping list".
    fn on_list(&self) -> String {
        String::new()
    }
    /// Clears the fields that Hob changes by itself, such as a count of uses: they do not count when an undo checks whether a
    /// record is still as a change left it.
    fn settle(&mut self) {}
    /// Takes those fields over from the record as it is now; an undo stores this earlier copy in its place.
    fn revive(&mut self, _now: Option<&Self>) {}
}

/// An enum as a number in a record. Variants are only ever added at the end of `ALL`; a number that this code does not
/// know (a newer Hob wrote it) is read as `UNKNOWN`, so name the most careful variant there.
pub trait Coded: Copy + PartialEq + 'static {
    /// All variants, in the order of their numbers.
    const ALL: &'static [Self];
    /// The variant for an unknown number.
    const UNKNOWN: Self;

    /// The variant that is stored in its place.
    fn stored(self) -> Self {
        self
    }
    /// Its number.
    fn code(self) -> u8 {
        let stored = self.stored();
        Self::ALL.iter().position(|v| *v == stored).map_or(u8::MAX, |n| n as u8)
    }
    /// The variant of a number.
    fn of(code: u8) -> Self {
        Self::ALL.get(usize::from(code)).copied().unwrap_or(Self::UNKNOWN)
    }
}

/// `#[serde(with = "store::coded")]` for a [`Coded`] field.
pub mod coded {
    use super::Coded;
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes the number.
    ///
    /// # Errors
    /// The serializer's.
    pub fn serialize<T: Coded, S: Serializer>(value: &T, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_u8(value.code())
    }
    /// Reads the number.
    ///
    /// # Errors
    /// The deserializer's.
    pub fn deserialize<'de, T: Coded, D: Deserializer<'de>>(d: D) -> Result<T, D::Error> {
        u8::deserialize(d).map(T::of)
    }

    /// `#[serde(with = "store::coded::many")]` for a list of them.
    pub mod many {
        use super::super::Coded;
        use serde::{Deserialize, Deserializer, Serialize, Serializer};

        /// Writes the numbers.
        ///
        /// # Errors
        /// The serializer's.
        pub fn serialize<T: Coded, S: Serializer>(values: &[T], s: S) -> Result<S::Ok, S::Error> {
            values.iter().map(|v| v.code()).collect::<Vec<u8>>().serialize(s)
        }
        /// Reads the numbers.
        ///
        /// # Errors
        /// The deserializer's.
        pub fn deserialize<'de, T: Coded, D: Deserializer<'de>>(d: D) -> Result<Vec<T>, D::Error> {
            Ok(Vec::<u8>::deserialize(d)?.into_iter().map(T::of).collect())
        }
    }
}

impl Coded for Audience {
    const ALL: &'static [Self] = &[Audience::Private, Audience::Household];
    const UNKNOWN: Self = Audience::Private;
}

impl Coded for Label {
    /// Which member it was is not stored: the reader's run learns that somebody's words are in it.
    const ALL: &'static [Self] = &[Label::Own, Label::Outside, Label::Member(UserId::SOMEBODY)];
    const UNKNOWN: Self = Label::Outside;
    fn stored(self) -> Self {
        match self {
            Label::Member(_) => Label::Member(UserId::SOMEBODY),
            other => other,
        }
    }
}

impl Coded for tool::Role {
    const ALL: &'static [Self] = &[tool::Role::Viewer, tool::Role::Member, tool::Role::Admin];
    const UNKNOWN: Self = tool::Role::Viewer;
}

/// The readers of a record besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// Nobody.
    #[default]
    Private,
    /// Everybody of the household.
    Household,
}

/// The header of every record. New fields go last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Header {
    pub version: u8,
    pub owner: UserId,
    #[serde(with = "coded")]
    pub audience: Audience,
    #[serde(with = "coded")]
    pub label: Label,
    pub source: String,
    pub updated_ms: u64,
    /// Counts when the version says so; see [`checksum`].
    pub sum: [u8; checksum::LENGTH],
}

/// Bytes of a newer Hob after the fields this code knows; written back unchanged, so that a rollback loses nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tails {
    pub header: Vec<u8>,
    pub body: Vec<u8>,
}

/// The zeros an old record is padded with: more than all fields ever added to one type can need.
const PADDING: usize = 256;

/// Reads a value, with zeros for the fields that are missing, and returns the bytes after it.
pub(crate) fn decode_padded<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, Vec<u8>)> {
    let padded = pad(bytes);
    let (value, rest) = postcard::take_from_bytes(&padded).ok()?;
    Some((value, tail(rest)))
}

fn pad(bytes: &[u8]) -> Vec<u8> {
    let mut padded = Vec::with_capacity(bytes.len() + PADDING);
    padded.extend_from_slice(bytes);
    padded.resize(bytes.len() + PADDING, 0);
    padded
}

fn tail(rest: &[u8]) -> Vec<u8> {
    rest[..rest.len().saturating_sub(PADDING)].to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_numbers_are_read_with_care() {
        assert_eq!((Label::of(Label::Own.code()), Label::of(200)), (Label::Own, Label::Outside));
        let somebody = Label::Member(UserId::SOMEBODY);
        assert_eq!((Label::of(Label::Member(UserId::OWNER).code()), somebody.code()), (somebody, 2));
        assert_eq!((Audience::of(1), Audience::of(9)), (Audience::Household, Audience::Private));
        assert_eq!(tool::Role::of(77), tool::Role::Viewer);
    }
}
