//! OGG: the first packets of a stream, and the position of its last page.

use super::{Facts, Sound, flac};
use tool::prelude::*;

/// How much of the end is searched for the last page: a page has 65,307 bytes at most.
const END: u64 = 128 * 1024;
/// How much of the beginning is read for the first packets.
const BEGINNING: usize = 64 * 1024;

pub(crate) fn facts(sound: &Sound) -> Result<Option<Facts>> {
    let start = sound.read(0, BEGINNING)?;
    let Some((serial, packet, next)) = page(&start) else { return Ok(None) };
    let mut skipped = 0;
    let mut facts = match packet {
        [1, b'v', b'o', b'r', b'b', b'i', b's', _, _, _, _, channels, a, b, c, d, ..] => Facts {
            codec: "Vorbis".into(),
            sample_rate: u32::from_le_bytes([*a, *b, *c, *d]),
            channels: (*channels).into(),
            ..Facts::default()
        },
        [b'O', b'p', b'u', b's', b'H', b'e', b'a', b'd', _, channels, a, b, ..] => {
            skipped = u64::from(u16::from_le_bytes([*a, *b]));
            Facts { codec: "Opus".into(), sample_rate: 48_000, channels: (*channels).into(), ..Facts::default() }
        }
        [0x7f, b'F', b'L', b'A', b'C', ..] => {
            // The stream follows its version and the number of headers.
            let at = (start.len() - next.len() - packet.len()) as u64 + 9;
            return Ok(flac::facts(sound, at)?.map(|facts| Facts { format: "OGG", ..facts }));
        }
        _ => return Ok(None),
    };
    facts.format = "OGG";
    if facts.sample_rate == 0 {
        return Ok(None);
    }
    if let Some((_, packet, _)) = page(next) {
        let block = packet.strip_prefix(b"\x03vorbis").or_else(|| packet.strip_prefix(b"OpusTags"));
        flac::comments(&mut facts, block.unwrap_or_default());
    }
    facts.seconds = last_position(sound, serial)?
        .map(|position| position.saturating_sub(skipped) as f64 / f64::from(facts.sample_rate));
    Ok(Some(facts))
}

/// The stream's number and the body of the page at the beginning of some bytes, and what follows it.
fn page(bytes: &[u8]) -> Option<([u8; 4], &[u8], &[u8])> {
    let rest = bytes.strip_prefix(b"OggS")?;
    let serial = rest.get(10..14)?.try_into().ok()?;
    let count = usize::from(*rest.get(22)?);
    let sizes = rest.get(23..23 + count)?;
    let length: usize = sizes.iter().map(|size| usize::from(*size)).sum();
    // Of a long page what was read is enough.
    let body = rest.get(23 + count..)?;
    let (packet, next) = body.split_at(length.min(body.len()));
    Some((serial, packet, next))
}

/// The position of the last page of a stream, in samples.
fn last_position(sound: &Sound, serial: [u8; 4]) -> Result<Option<u64>> {
    let at = sound.size().saturating_sub(END);
    let end = sound.read(at, END as usize)?;
    let found = (0..end.len().saturating_sub(27)).rev().find_map(|at| {
        let page = end.get(at..at + 27)?;
        let position = u64::from_le_bytes(page.get(6..14)?.try_into().ok()?);
        // All ones: no packet ends on the page.
        (page.starts_with(b"OggS\0") && page.get(14..18)? == serial && position < u64::MAX >> 1).then_some(position)
    });
    Ok(found)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn page(position: u64, packet: &[u8]) -> Vec<u8> {
        let mut sizes = vec![255u8; packet.len() / 255];
        sizes.push((packet.len() % 255) as u8);
        let head =
            [b"OggS\0\0", &position.to_le_bytes()[..], &[7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &[sizes.len() as u8]];
        [&head.concat()[..], &sizes, packet].concat()
    }

    pub fn vorbis(rate: u32, channels: u8, samples: u64) -> Vec<u8> {
        let head = [b"\x01vorbis\0\0\0\0", &[channels][..], &rate.to_le_bytes(), &[0; 14]].concat();
        let comments = [b"\x03vorbis", &flac::tests::comment_block(&["TITLE=Rain"])[..], &[1]].concat();
        [page(0, &head), page(0, &comments), page(samples, &[9; 300])].concat()
    }

    pub fn opus(channels: u8, skipped: u16, position: u64) -> Vec<u8> {
        let head = [b"OpusHead\x01", &[channels][..], &skipped.to_le_bytes(), &[0; 7]].concat();
        let tags = [b"OpusTags", &flac::tests::comment_block(&["artist=Sea"])[..]].concat();
        [page(0, &head), page(0, &tags), page(position, &[9; 30]), page(u64::MAX, &[9; 30])].concat()
    }

    #[test]
    fn streams_have_tags_and_a_length() {
        let found = facts(&Sound::Bytes(vorbis(44_100, 2, 44_100).into())).unwrap().unwrap();
        assert_eq!((found.codec.as_str(), found.seconds, found.title.as_deref()), ("Vorbis", Some(1.0), Some("Rain")));
        let found = facts(&Sound::Bytes(opus(1, 480, 480 + 24_000).into())).unwrap().unwrap();
        assert_eq!((found.codec.as_str(), found.seconds, found.artist.as_deref()), ("Opus", Some(0.5), Some("Sea")));
        assert_eq!(facts(&Sound::Bytes(page(0, b"theora").into())).unwrap(), None);
    }
}
