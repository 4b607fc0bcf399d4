//! How a record looks in bytes: a header that says whose it is, and a postcard body.

use crate::{Error, Result};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tool::{Label, UserId};

/// Whose the records of a collection are: the scope their keys begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level {
    /// The household's.
    Household,
    /// One person's; a record may be shared with the household.
    User,
    /// One agent's.
    Agent,
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

/// A type that is kept in a collection. See the evolution rule at the head of the crate.
pub trait Record: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// The collection's name; part of the stored form.
    const NAME: &'static str;
    /// One word for a record, for messages: "note", "custom tool".
    const WORD: &'static str;
    /// Raised when the meaning of a field changes (not when one is added).
    const VERSION: u8 = 1;
    /// Whose the records are.
    const LEVEL: Level;
    /// The values this record is found by.
    fn keys(&self) -> Vec<Key> {
        vec![]
    }
}

/// Who may read a record besides its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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
    pub audience: Audience,
    pub label: Label,
    pub source: String,
    pub updated_ms: u64,
}

/// How far short an old record may be: more zeros than all fields ever added to one type can need.
const PADDING: usize = 256;

/// Header length, header, body.
pub(crate) fn encode<T: Record>(header: &Header, body: &T) -> Result<Vec<u8>> {
    let wrong = |e| Error::Io(format!("a {} could not be written: {e}", T::WORD));
    let head = postcard::to_stdvec(header).map_err(wrong)?;
    let length =
        u16::try_from(head.len()).map_err(|_| Error::Io(format!("the source of a {} is too long", T::WORD)))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(head);
    postcard::to_extend(body, bytes).map_err(wrong)
}

pub(crate) fn decode<T: Record>(bytes: &[u8]) -> Result<(Header, T)> {
    let damaged =
        || Error::Damaged(format!("a stored {} cannot be read: restore a backup with `hob restore FILE`", T::WORD));
    let (length, rest) = bytes.split_first_chunk::<2>().ok_or_else(damaged)?;
    let (head, body) = rest.split_at_checked(u16::from_le_bytes(*length).into()).ok_or_else(damaged)?;
    Ok((decode_padded(head).ok_or_else(damaged)?, decode_padded(body).ok_or_else(damaged)?))
}

/// Reads what is there and takes zeros for what is missing; a tail nobody asks for is ignored.
fn decode_padded<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let mut padded = Vec::with_capacity(bytes.len() + PADDING);
    padded.extend_from_slice(bytes);
    padded.resize(bytes.len() + PADDING, 0);
    postcard::take_from_bytes(&padded).ok().map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Old {
        name: String,
        count: u32,
    }
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct New {
        name: String,
        count: u32,
        note: Option<String>,
        tags: Vec<String>,
        on: bool,
        ratio: f32,
    }
    impl Record for Old {
        const NAME: &'static str = "t";
        const WORD: &'static str = "thing";
        const LEVEL: Level = Level::User;
    }
    impl Record for New {
        const NAME: &'static str = "t";
        const WORD: &'static str = "thing";
        const LEVEL: Level = Level::User;
    }

    fn header() -> Header {
        Header {
            version: 1,
            owner: UserId::OWNER,
            audience: Audience::Household,
            label: Label::Outside,
            source: "chat".into(),
            updated_ms: 7,
        }
    }

    #[test]
    fn new_code_reads_old_bytes_and_old_code_reads_new_bytes() {
        let old = Old { name: "a".into(), count: 300 };
        let (head, new) = decode::<New>(&encode(&header(), &old).unwrap()).unwrap();
        assert_eq!(head, header());
        assert_eq!(new, New { name: "a".into(), count: 300, note: None, tags: vec![], on: false, ratio: 0.0 });

        let new = New { note: Some("n".into()), tags: vec!["x".into()], on: true, ratio: 0.5, ..new };
        let (_, back) = decode::<Old>(&encode(&header(), &new).unwrap()).unwrap();
        assert_eq!(back, old);
    }

    #[test]
    fn nonsense_is_refused_not_panicked_on() {
        for bytes in [&[][..], &[0], &[9, 0, 1], &[255, 255, 0]] {
            assert!(matches!(decode::<Old>(bytes), Err(Error::Damaged(_))), "{bytes:?}");
        }
    }
}
