//! Encodes, verifies and decodes a stored record: a header (owner, label, source) and a postcard body.

use crate::{
    Error, Result,
    checksum::{self, SUMMED, Verdict},
    kind::{Erased, Kind},
    record::{Header, Tails, decode_padded},
};
use std::any::Any;
use tool::UserId;

/// Writes header length, header and body. The header ends with the checksum and the bytes of newer code.
pub(crate) fn encode(kind: &Kind, key: &[u8], header: &Header, body: &dyn Any, tails: &Tails) -> Result<Vec<u8>> {
    let header = Header { version: header.version | SUMMED, ..header.clone() };
    let wrong = |e| Error::Io(format!("a {} could not be written: {e}", kind.word));
    let mut head = postcard::to_stdvec(&header).map_err(wrong)?;
    let end = head.len();
    head.extend(&tails.header);
    let length =
        u16::try_from(head.len()).map_err(|_| Error::Io(format!("the source of a {} is too long", kind.word)))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(&head);
    let mut bytes = (kind.encode)(body, bytes)?;
    bytes.extend(&tails.body);
    let (sum_at, body_at) = (end - checksum::LENGTH, 2 + head.len());
    let sum = checksum::of(kind.name, key, &head[..sum_at], &head[end..], &bytes[body_at..]);
    bytes[2 + sum_at..2 + end].copy_from_slice(&sum);
    Ok(bytes)
}

/// Compares a record of any type with its checksum.
pub(crate) fn verify(table: &str, key: &[u8], bytes: &[u8]) -> Verdict {
    let Some((head, body)) = checksum::parts(bytes) else { return Verdict::Damaged };
    if head.first().is_none_or(|version| version & SUMMED == 0) {
        return Verdict::Unsummed;
    }
    // Not padded: code that wrote a checksum wrote every field before it.
    let Ok((header, tail)) = postcard::take_from_bytes::<Header>(head) else { return Verdict::Damaged };
    let end = head.len() - tail.len();
    match checksum::of(table, key, &head[..end - checksum::LENGTH], tail, body) == header.sum {
        true => Verdict::Sound,
        false => Verdict::Damaged,
    }
}

/// Reads the bytes that are stored under a key.
pub(crate) fn decode(kind: &Kind, key: &[u8], bytes: &[u8]) -> Result<(Header, Erased, Tails)> {
    let damaged = || {
        let id = key.last_chunk::<16>().map(|id| tool::Id::from_bytes(*id).to_string()).unwrap_or_default();
        Error::Damaged(format!(
            "the stored {} {id} is damaged: `hob doctor --backup FILE` says which backup has it, `hob restore FILE` restores one",
            kind.word
        ))
    };
    if verify(kind.name, key, bytes) == Verdict::Damaged {
        return Err(damaged());
    }
    let (head, body) = checksum::parts(bytes).ok_or_else(damaged)?;
    let (mut header, header_tail) = decode_padded::<Header>(head).ok_or_else(damaged)?;
    let (value, body_tail) = (kind.decode)(body).ok_or_else(damaged)?;
    header.version &= !SUMMED;
    Ok((header, value, Tails { header: header_tail, body: body_tail }))
}

/// The owner of a stored record, if it can be read.
pub(crate) fn owner(bytes: &[u8]) -> Option<UserId> {
    decode_padded::<Header>(checksum::parts(bytes)?.0).map(|(header, _)| header.owner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Audience, Level, Record, coded};
    use serde::{Deserialize, Serialize};
    use tool::Label;

    fn encode<T: Record>(key: &[u8], header: &Header, body: &T, tails: &Tails) -> Result<Vec<u8>> {
        super::encode(Kind::of::<T>(), key, header, body, tails)
    }

    fn decode<T: Record>(key: &[u8], bytes: &[u8]) -> Result<(Header, T, Tails)> {
        super::decode(Kind::of::<T>(), key, bytes)
            .map(|(header, value, tails)| (header, *value.downcast().unwrap(), tails))
    }

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

        // A record first written by old code has no checksum.
        let first = old_encode(&head, &old, &Tails::default());
        assert_eq!(verify("t", KEY, &first), Verdict::Unsummed);
        assert_eq!(decode::<Old>(KEY, &first).unwrap().1, old);
    }

    #[test]
    fn every_flipped_bit_is_noticed_or_changes_nothing() {
        let value = New { name: "a".into(), count: 300, note: Some("n".into()), tags: vec![], on: true, ratio: 0.5 };
        // With the bytes of a newer Hob after the fields.
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

        // Old code changes the record; the bytes that new code wrote are still there afterwards.
        back.count = 301;
        let (_, again, _) = decode::<New>(KEY, &encode(KEY, &head, &back, &tails).unwrap()).unwrap();
        assert_eq!(again, New { count: 301, ..new });
    }

    #[test]
    fn nonsense_is_refused_not_panicked_on() {
        for bytes in [&[][..], &[0], &[9, 0, 1], &[255, 255, 0]] {
            assert!(matches!(decode::<Old>(KEY, bytes), Err(Error::Damaged(_))), "{bytes:?}");
        }
    }
}
