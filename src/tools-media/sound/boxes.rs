//! M4A: the boxes of MPEG-4.

use super::{Facts, Sound, be32};
use tool::prelude::*;

/// The most boxes that are looked at in a file, and how deep.
const BOXES: u32 = 2_000;
const DEPTH: u8 = 8;

/// What is found on the way.
#[derive(Default)]
struct Reading {
    looked: u32,
    /// The kind of the track that is read.
    is_sound: bool,
    /// Its time scale and length.
    length: Option<(u64, u64)>,
    facts: Option<Facts>,
}

pub(crate) fn facts(sound: &Sound) -> Result<Option<Facts>> {
    let mut found = Reading::default();
    read(sound, (0, sound.size()), 0, &mut found)?;
    Ok(found.facts)
}

/// Reads the boxes between two offsets.
fn read(sound: &Sound, (mut at, end): (u64, u64), depth: u8, found: &mut Reading) -> Result<()> {
    while depth <= DEPTH && at + 8 <= end && found.looked < BOXES {
        found.looked += 1;
        let Some([a, b, c, d, kind @ ..]) = sound.exact::<8>(at)? else { return Ok(()) };
        let (mut size, mut head) = (be32([a, b, c, d]), 8);
        if size == 1 {
            let Some(long) = sound.exact::<8>(at + 8)? else { return Ok(()) };
            (size, head) = (u64::from_be_bytes(long), 16);
        } else if size == 0 {
            size = end - at;
        }
        if size < head || size > end - at {
            return Ok(());
        }
        let (body, next) = (at + head, at + size);
        match &kind {
            b"moov" | b"mdia" | b"minf" | b"stbl" => read(sound, (body, next), depth + 1, found)?,
            b"trak" => {
                (found.is_sound, found.length) = (false, None);
                read(sound, (body, next), depth + 1, found)?;
                if let (Some((scale, length)), true, Some(facts)) = (found.length, found.is_sound, &mut found.facts) {
                    facts.seconds.get_or_insert(length as f64 / scale as f64);
                }
            }
            b"mdhd" => found.length = length(sound, body)?,
            b"hdlr" => found.is_sound = sound.exact::<4>(body + 8)?.is_some_and(|kind| &kind == b"soun"),
            b"stsd" if found.is_sound && found.facts.is_none() => found.facts = description(sound, body)?,
            _ => {}
        }
        at = next;
    }
    Ok(())
}

/// The time scale and length of a track.
fn length(sound: &Sound, at: u64) -> Result<Option<(u64, u64)>> {
    let Some([version, ..]) = sound.exact::<4>(at)? else { return Ok(None) };
    let (scale, length) = if version == 1 {
        (sound.exact::<4>(at + 20)?.map(be32), sound.exact::<8>(at + 24)?.map(u64::from_be_bytes))
    } else {
        (sound.exact::<4>(at + 12)?.map(be32), sound.exact::<4>(at + 16)?.map(be32))
    };
    Ok(scale.zip(length).filter(|(scale, _)| *scale > 0))
}

/// The first description of samples.
fn description(sound: &Sound, at: u64) -> Result<Option<Facts>> {
    let Some(entry) = sound.exact::<36>(at + 8)? else { return Ok(None) };
    let word = |at: usize| u16::from_be_bytes([entry[at], entry[at + 1]]);
    let codec = match &entry[4..8] {
        b"mp4a" => "AAC",
        b"alac" => "ALAC",
        b"Opus" => "Opus",
        b"fLaC" => "FLAC",
        b"ac-3" => "AC-3",
        b"ec-3" => "E-AC-3",
        _ => return Ok(None),
    };
    let rate = u32::from(word(32));
    Ok((rate > 0).then(|| Facts {
        format: "M4A",
        codec: codec.into(),
        sample_rate: rate,
        channels: word(24),
        bits_per_sample: (codec == "ALAC").then(|| word(26)),
        ..Facts::default()
    }))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    fn boxed(kind: &[u8; 4], body: &[u8]) -> Vec<u8> {
        [&(body.len() as u32 + 8).to_be_bytes()[..], kind, body].concat()
    }

    pub fn m4a(rate: u16, channels: u16, seconds: u32) -> Vec<u8> {
        let length = [&[0; 12][..], &1_000u32.to_be_bytes(), &(seconds * 1_000).to_be_bytes(), &[0; 4]].concat();
        let handler = [&[0; 8][..], b"soun", &[0; 13]].concat();
        let mut entry = vec![0; 36];
        entry[3] = 36;
        entry[4..8].copy_from_slice(b"mp4a");
        entry[24..26].copy_from_slice(&channels.to_be_bytes());
        entry[32..34].copy_from_slice(&rate.to_be_bytes());
        let description = boxed(b"stsd", &[&[0, 0, 0, 0, 0, 0, 0, 1][..], &entry].concat());
        let inner = boxed(b"minf", &boxed(b"stbl", &description));
        let media = boxed(b"mdia", &[boxed(b"mdhd", &length), boxed(b"hdlr", &handler), inner].concat());
        let track = boxed(b"trak", &media);
        [boxed(b"ftyp", b"M4A \0\0\0\0"), boxed(b"mdat", &[0; 500]), boxed(b"moov", &track)].concat()
    }

    #[test]
    fn boxes_within_boxes_end() {
        let mut deep = boxed(b"moov", b"");
        for _ in 0..5_000 {
            deep = boxed(b"moov", &deep);
        }
        let file = [boxed(b"ftyp", b"M4A "), deep].concat();
        assert_eq!(facts(&Sound::Bytes(file.into())).unwrap(), None);
        let many = [boxed(b"ftyp", b"M4A "), boxed(b"free", b"").repeat(100_000)].concat();
        assert_eq!(facts(&Sound::Bytes(many.into())).unwrap(), None);
    }
}
