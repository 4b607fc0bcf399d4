//! FLAC: its stream information and comments, also those of Vorbis and Opus, which are the same.

use super::{Facts, Sound};
use tool::prelude::*;

/// The most metadata blocks, and the largest block of comments that is read, in bytes.
const BLOCKS: usize = 64;
const COMMENTS: usize = 256 * 1024;

/// Reads a FLAC stream that begins at an offset.
pub(crate) fn facts(sound: &Sound, start: u64) -> Result<Option<Facts>> {
    let mut facts: Option<Facts> = None;
    let mut at = start + 4;
    for _ in 0..BLOCKS {
        let Some([kind, a, b, c]) = sound.exact::<4>(at)? else { break };
        let size = u64::from(u32::from_be_bytes([0, a, b, c]));
        match kind & 0x7f {
            0 => facts = sound.exact::<34>(at + 4)?.and_then(stream_info),
            4 => {
                let block = sound.read(at + 4, COMMENTS.min(size as usize))?;
                if let Some(facts) = &mut facts {
                    comments(facts, &block);
                }
            }
            _ => {}
        }
        if kind & 0x80 != 0 {
            break;
        }
        at += 4 + size;
    }
    Ok(facts)
}

fn stream_info(block: [u8; 34]) -> Option<Facts> {
    let packed =
        u64::from_be_bytes([block[10], block[11], block[12], block[13], block[14], block[15], block[16], block[17]]);
    let (rate, samples) = ((packed >> 44) as u32, packed & 0xf_ffff_ffff);
    (rate > 0).then(|| Facts {
        format: "FLAC",
        codec: "FLAC".into(),
        // Streams may not know their length.
        seconds: (samples > 0).then(|| samples as f64 / f64::from(rate)),
        sample_rate: rate,
        channels: (packed >> 41 & 7) as u16 + 1,
        bits_per_sample: Some((packed >> 36 & 31) as u16 + 1),
        ..Facts::default()
    })
}

/// Reads comments as Vorbis has them: the vendor, a count, and texts `KEY=value`, each after its length.
pub(crate) fn comments(facts: &mut Facts, block: &[u8]) {
    let Some((_, rest)) = text(block) else { return };
    let Some((count, mut rest)) = rest.split_first_chunk::<4>() else { return };
    for _ in 0..u32::from_le_bytes(*count).min(1_000) {
        let Some((comment, after)) = text(rest) else { return };
        if let Some((key, value)) = String::from_utf8_lossy(comment).split_once('=') {
            facts.tag(key, value);
        }
        rest = after;
    }
}

/// A text after its length, and what follows it.
fn text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, after) = bytes.split_first_chunk::<4>()?;
    after.split_at_checked(u32::from_le_bytes(*length) as usize)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn comment_block(all: &[&str]) -> Vec<u8> {
        let text = |text: &str| [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat();
        let mut block = [text("hob"), (all.len() as u32).to_le_bytes().to_vec()].concat();
        all.iter().for_each(|comment| block.extend(text(comment)));
        block
    }

    pub fn flac(rate: u32, channels: u8, bits: u8, samples: u64) -> Vec<u8> {
        let packed = u64::from(rate) << 44 | u64::from(channels - 1) << 41 | u64::from(bits - 1) << 36 | samples;
        let info = [&[16, 0, 16, 0, 0, 0, 0, 0, 0, 0][..], &packed.to_be_bytes(), &[0; 16]].concat();
        let comments = comment_block(&["TITLE=Nocturne", "artist=Field", "x"]);
        let size = (comments.len() as u32).to_be_bytes();
        [b"fLaC\0\0\0\x22", &info[..], &[0x84, size[1], size[2], size[3]], &comments, &[0xff; 100]].concat()
    }

    #[test]
    fn comments_are_tags() {
        let facts = facts(&Sound::Bytes(flac(96_000, 2, 24, 0).into()), 0).unwrap().unwrap();
        assert_eq!((facts.seconds, facts.bits_per_sample, facts.channels), (None, Some(24), 2));
        assert_eq!((facts.title.as_deref(), facts.artist.as_deref()), (Some("Nocturne"), Some("Field")));
        let mut odd = Facts::default();
        for block in [&[][..], &[255; 3], &[255; 40], &[0, 0, 0, 0, 255, 255, 255, 255]] {
            comments(&mut odd, block);
        }
        assert_eq!(odd, Facts::default());
    }
}
