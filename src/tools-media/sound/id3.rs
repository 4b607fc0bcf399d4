//! ID3: tags before the frames of MP3 files.

use super::{Facts, Sound};
use tool::prelude::*;

/// How much of the tags is read: pictures follow the texts as a rule.
const READ: usize = 128 * 1024;

/// The size of the tags at the beginning, 0 where there are none; their texts go to `facts`.
pub(crate) fn read(sound: &Sound, facts: &mut Facts) -> Result<u64> {
    let Some(head) = sound.exact::<10>(0)? else { return Ok(0) };
    if !head.starts_with(b"ID3") || head[6..].iter().any(|b| b & 0x80 != 0) {
        return Ok(0);
    }
    let size = seven_bits(&head[6..]);
    let whole = 10 + size + if head[5] & 0x10 != 0 { 10 } else { 0 };
    // Frames of the old version have short heads; texts after an extended header are left out.
    if head[5] & 0x40 == 0 && head[5] & 0x80 == 0 {
        let body = sound.read(10, READ.min(size as usize))?;
        frames(&body, head[3], facts);
    }
    Ok(whole)
}

fn seven_bits(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, b| sum << 7 | u64::from(b & 0x7f))
}

fn frames(mut body: &[u8], version: u8, facts: &mut Facts) {
    let (name, head) = if version == 2 { (3, 6) } else { (4, 10) };
    while body.len() > head && body[0] != 0 {
        let size = match version {
            2 => u64::from(u32::from_be_bytes([0, body[3], body[4], body[5]])),
            4 => seven_bits(&body[4..8]),
            _ => u64::from(u32::from_be_bytes([body[4], body[5], body[6], body[7]])),
        };
        let Some((text, rest)) = body[head..].split_at_checked(usize::try_from(size).unwrap_or(usize::MAX)) else {
            return;
        };
        if body[0] == b'T' && text.len() < 4_096 {
            let key = String::from_utf8_lossy(&body[..name]).into_owned();
            facts.tag(&key, &decoded(text));
        }
        body = rest;
    }
}

/// A text in the encoding of its first byte.
fn decoded(text: &[u8]) -> String {
    let Some((encoding, text)) = text.split_first() else { return String::new() };
    let wide = |text: &[u8], big: bool| {
        let units = text.chunks_exact(2).map(|pair| match big {
            true => u16::from_be_bytes([pair[0], pair[1]]),
            false => u16::from_le_bytes([pair[0], pair[1]]),
        });
        char::decode_utf16(units.take_while(|unit| *unit != 0)).map(|c| c.unwrap_or('\u{fffd}')).collect()
    };
    match (encoding, text) {
        (0, text) => text.iter().take_while(|b| **b != 0).map(|b| char::from(*b)).collect(),
        (1, [0xff, 0xfe, rest @ ..]) => wide(rest, false),
        (1, [0xfe, 0xff, rest @ ..]) => wide(rest, true),
        (1 | 2, text) => wide(text, true),
        (_, text) => String::from_utf8_lossy(text).split('\0').next().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Tags of the version 2.3 with a title.
    pub fn tags(title: &str) -> Vec<u8> {
        let text = [&[3][..], title.as_bytes()].concat();
        let frame = [b"TIT2", &(text.len() as u32).to_be_bytes()[..], &[0, 0], &text].concat();
        let size = frame.len() as u32 + 20;
        let head = [b"ID3\x03\0\0", &[0, 0, (size >> 7) as u8, (size & 0x7f) as u8][..]].concat();
        [head, frame, vec![0; 20]].concat()
    }

    #[test]
    fn texts_are_decoded() {
        for (text, expected) in [
            (&b"\0caf\xe9\0x"[..], "café"),
            (b"\x01\xff\xfeH\0i\0", "Hi"),
            (b"\x01\xfe\xff\0H\0i", "Hi"),
            (b"\x03h\xc3\xbcbsch", "hübsch"),
            (b"", ""),
            (b"\x01\xff", ""),
        ] {
            assert_eq!(decoded(text), expected, "{text:?}");
        }
    }
}
