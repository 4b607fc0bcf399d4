//! How a record looks in bytes: a header that says whose it is, and a postcard body.

use crate::{
    Error, Result,
    checksum::{self, SUMMED, Verdict},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tool::{Label, UserId};

/// Whose the records of a collection are: the scope their keys begin with.
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
    /// Whether they stay on this device: backups leave them out, as they do secrets.
    const STAYS: bool = false;
    /// Whether any member may have written what everybody reads. For a reader, another member's words are from outside,
    /// unless the household's owner wrote them; see [`Collection::get`](crate::Collection::get).
    const BY_MEMBERS: bool = matches!(Self::LEVEL, Level::User);
    /// The values this record is found by. Where one of an index begins with another, looking for the shorter reads both:
    /// end what differs in length, as [`order::text`](crate::order::text) does, or put its length in front.
    fn keys(&self) -> Vec<Key> {
        vec![]
    }
}

/// An enum as a number in a record. Variants are only ever added at the end of `ALL`; a number that this code does not
/// know (a newer Hob wrote it) is read as `UNKNOWN`, so name the most careful variant there.
pub trait Coded: Copy + PartialEq + 'static {
    /// All variants, in the order of their numbers.
    const ALL: &'static [Self];
    /// What an unknown number is taken for.
    const UNKNOWN: Self;

    /// Its number.
    fn code(self) -> u8 {
        Self::ALL.iter().position(|v| *v == self).map_or(u8::MAX, |n| n as u8)
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
    const ALL: &'static [Self] = &[Label::Own, Label::Outside];
    const UNKNOWN: Self = Label::Outside;
}

impl Coded for tool::Role {
    const ALL: &'static [Self] = &[tool::Role::Viewer, tool::Role::Member, tool::Role::Admin];
    const UNKNOWN: Self = tool::Role::Viewer;
}

/// Who may read a record besides its owner.
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

/// What a newer Hob wrote behind the fields this code knows; written back unchanged, so that code which was rolled back
/// loses nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Tails {
    header: Vec<u8>,
    body: Vec<u8>,
}

/// How far short an old record may be: more zeros than all fields ever added to one type can need.
const PADDING: usize = 256;

/// Header length, header, body; the header ends with the checksum, and with what newer code wrote behind it.
pub(crate) fn encode<T: Record>(key: &[u8], header: &Header, body: &T, tails: &Tails) -> Result<Vec<u8>> {
    const { assert!(T::VERSION & SUMMED == 0, "the highest bit of the version is taken") };
    let wrong = |e| Error::Io(format!("a {} could not be written: {e}", T::WORD));
    let header = Header { version: header.version | SUMMED, ..header.clone() };
    let mut head = postcard::to_stdvec(&header).map_err(wrong)?;
    let end = head.len();
    head.extend(&tails.header);
    let length =
        u16::try_from(head.len()).map_err(|_| Error::Io(format!("the source of a {} is too long", T::WORD)))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(&head);
    let mut bytes = postcard::to_extend(body, bytes).map_err(wrong)?;
    bytes.extend(&tails.body);
    let (sum_at, body_at) = (end - checksum::LENGTH, 2 + head.len());
    let sum = checksum::of(T::NAME, key, &head[..sum_at], &head[end..], &bytes[body_at..]);
    bytes[2 + sum_at..2 + end].copy_from_slice(&sum);
    Ok(bytes)
}

/// Looks at a record whatever its type.
pub(crate) fn verify(table: &str, key: &[u8], bytes: &[u8]) -> Verdict {
    let Some((head, body)) = checksum::parts(bytes) else { return Verdict::Damaged };
    if head.first().is_none_or(|version| version & SUMMED == 0) {
        return Verdict::Unsummed;
    }
    // Whole, and not padded: who wrote a checksum wrote all that is before it.
    let Ok((header, tail)) = postcard::take_from_bytes::<Header>(head) else { return Verdict::Damaged };
    let end = head.len() - tail.len();
    match checksum::of(table, key, &head[..end - checksum::LENGTH], tail, body) == header.sum {
        true => Verdict::Sound,
        false => Verdict::Damaged,
    }
}

/// Reads the bytes that are stored under a key.
pub(crate) fn decode<T: Record>(key: &[u8], bytes: &[u8]) -> Result<(Header, T, Tails)> {
    let damaged = || {
        let id = key.last_chunk::<16>().map(|id| tool::Id::from_bytes(*id).to_string()).unwrap_or_default();
        Error::Damaged(format!(
            "the stored {} {id} is damaged: `hob doctor --backup FILE` says which backup has it, `hob restore FILE` restores one",
            T::WORD
        ))
    };
    if verify(T::NAME, key, bytes) == Verdict::Damaged {
        return Err(damaged());
    }
    let (head, body) = checksum::parts(bytes).ok_or_else(damaged)?;
    let (mut header, header_tail) = decode_padded::<Header>(head).ok_or_else(damaged)?;
    let (value, body_tail) = decode_padded(body).ok_or_else(damaged)?;
    header.version &= !SUMMED;
    Ok((header, value, Tails { header: header_tail, body: body_tail }))
}

/// Whose record these bytes are, as far as that can be read.
pub(crate) fn owner(bytes: &[u8]) -> Option<UserId> {
    decode_padded::<Header>(checksum::parts(bytes)?.0).map(|(header, _)| header.owner)
}

/// Reads what is there and takes zeros for what is missing; answers the tail nobody asked for.
fn decode_padded<T: DeserializeOwned>(bytes: &[u8]) -> Option<(T, Vec<u8>)> {
    let mut padded = Vec::with_capacity(bytes.len() + PADDING);
    padded.extend_from_slice(bytes);
    padded.resize(bytes.len() + PADDING, 0);
    let (value, rest) = postcard::take_from_bytes(&padded).ok()?;
    Some((value, rest[..rest.len().saturating_sub(PADDING)].to_vec()))
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
            sum: [0; 8],
        }
    }

    const KEY: &[u8] = b"a scope and sixteen bytes of an id";

    /// The header as it was before there were checksums, with the code that wrote it.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct OldHeader {
        version: u8,
        owner: UserId,
        #[serde(with = "coded")]
        audience: Audience,
        #[serde(with = "coded")]
        label: Label,
        source: String,
        updated_ms: u64,
    }

    fn old_encode(header: &OldHeader, body: &Old, tails: &Tails) -> Vec<u8> {
        let mut head = postcard::to_stdvec(header).unwrap();
        head.extend(&tails.header);
        let mut bytes = (head.len() as u16).to_le_bytes().to_vec();
        bytes.extend(head);
        let mut bytes = postcard::to_extend(body, bytes).unwrap();
        bytes.extend(&tails.body);
        bytes
    }

    fn old_decode(bytes: &[u8]) -> (OldHeader, Old, Tails) {
        let (head, body) = checksum::parts(bytes).unwrap();
        let ((header, header_tail), (value, body_tail)) = (decode_padded(head).unwrap(), decode_padded(body).unwrap());
        (header, value, Tails { header: header_tail, body: body_tail })
    }

    #[test]
    fn old_code_reads_summed_records_and_what_it_rewrites_is_not_taken_for_damaged() {
        let value = New { name: "a".into(), count: 7, note: Some("n".into()), tags: vec![], on: true, ratio: 0.5 };
        let summed = encode(KEY, &header(), &value, &Tails::default()).unwrap();
        let (mut head, mut old, tails) = old_decode(&summed);
        assert_eq!((&old.name[..], old.count, &head.source[..], head.updated_ms), ("a", 7, "chat", 7));

        // It changes the record: it writes its version and a new time, and keeps the tail with the stale checksum.
        (head.version, head.updated_ms, old.count) = (1, 8, 8);
        let rewritten = old_encode(&head, &old, &tails);
        assert_eq!(verify("t", KEY, &rewritten), Verdict::Unsummed);
        let (back, again, tails) = decode::<New>(KEY, &rewritten).unwrap();
        assert_eq!((again.clone(), back.updated_ms, back.version), (New { count: 8, ..value }, 8, 1));
        // New code writes it with a checksum that counts, and one that is as long as before.
        let summed = encode(KEY, &back, &again, &tails).unwrap();
        assert_eq!(verify("t", KEY, &summed), Verdict::Sound);
        assert_eq!(summed.len(), rewritten.len());

        // What old code wrote first has none.
        let first = old_encode(&head, &old, &Tails::default());
        assert_eq!(verify("t", KEY, &first), Verdict::Unsummed);
        assert_eq!(decode::<Old>(KEY, &first).unwrap().1, old);
    }

    #[test]
    fn every_flipped_bit_is_noticed_or_changes_nothing() {
        let value = New { name: "a".into(), count: 300, note: Some("n".into()), tags: vec![], on: true, ratio: 0.5 };
        // With what a newer Hob wrote behind the fields.
        let tails = Tails { header: vec![1, 2], body: vec![3] };
        let bytes = encode(KEY, &header(), &value, &tails).unwrap();
        let (head, ..) = decode::<New>(KEY, &bytes).unwrap();
        for bit in 0..bytes.len() * 8 {
            let mut bent = bytes.clone();
            bent[bit / 8] ^= 1 << (bit % 8);
            match decode::<New>(KEY, &bent) {
                Ok(read) => assert_eq!((bit, read), (2 * 8 + 7, (head.clone(), value.clone(), tails.clone()))),
                Err(error) => assert!(matches!(error, Error::Damaged(_)), "{error}"),
            }
        }
        for length in 0..bytes.len() {
            assert!(decode::<New>(KEY, &bytes[..length]).is_err(), "cut to {length}");
        }
        assert!(decode::<New>(b"another key of the same length....", &bytes).is_err(), "found under another key");
    }

    #[test]
    fn new_code_reads_old_bytes_and_old_code_reads_new_bytes() {
        let old = Old { name: "a".into(), count: 300 };
        let plain = Tails::default();
        let (head, new, tails) = decode::<New>(KEY, &encode(KEY, &header(), &old, &plain).unwrap()).unwrap();
        assert_eq!(tails, plain);
        assert_eq!(Header { sum: [0; 8], ..head }, header());
        assert_eq!(new, New { name: "a".into(), count: 300, note: None, tags: vec![], on: false, ratio: 0.0 });

        let new = New { note: Some("n".into()), tags: vec!["x".into()], on: true, ratio: 0.5, ..new };
        let (head, mut back, tails) = decode::<Old>(KEY, &encode(KEY, &header(), &new, &plain).unwrap()).unwrap();
        assert_eq!(back, old);

        // Old code changes the record, and what the new code wrote is still there afterwards.
        back.count = 301;
        let (_, again, _) = decode::<New>(KEY, &encode(KEY, &head, &back, &tails).unwrap()).unwrap();
        assert_eq!(again, New { count: 301, ..new });
    }

    #[test]
    fn unknown_numbers_are_read_with_care() {
        assert_eq!((Label::of(Label::Own.code()), Label::of(200)), (Label::Own, Label::Outside));
        assert_eq!((Audience::of(1), Audience::of(9)), (Audience::Household, Audience::Private));
        assert_eq!(tool::Role::of(77), tool::Role::Viewer);
    }

    #[test]
    fn nonsense_is_refused_not_panicked_on() {
        for bytes in [&[][..], &[0], &[9, 0, 1], &[255, 255, 0]] {
            assert!(matches!(decode::<Old>(KEY, bytes), Err(Error::Damaged(_))), "{bytes:?}");
        }
    }
}
