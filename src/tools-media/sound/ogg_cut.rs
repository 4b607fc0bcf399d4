//! OGG files with Vorbis or Opus cut at pages. A part begins with the headers of the stream; its pages are numbered from there, and
//! their positions begin with 0.

use super::{
    Sound,
    checks::crc32,
    cut::{Body, Part, changed},
};
use tool::prelude::*;

/// The head of a page without the sizes of its packets.
const HEAD: usize = 27;
/// The largest headers of a stream, with its tags and pictures, in bytes: each part has them.
const HEADERS: usize = 1 << 20;
/// Marks of a page: a packet goes on from the page before, the stream begins, the stream ends.
const CONTINUED: u8 = 1;
const BEGINS: u8 = 2;
const ENDS: u8 = 4;
/// The position of a page on which no packet ends.
const NOWHERE: u64 = u64::MAX;

/// A page as its head tells it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Page {
    at: u64,
    size: u64,
    /// How much of it is its head.
    head: u64,
    marks: u8,
    position: u64,
    serial: u32,
    /// How many packets end on it, and whether the last one does.
    packets: usize,
    is_whole: bool,
}

impl Page {
    fn read(sound: &Sound, at: u64) -> Result<Option<Self>> {
        let bytes = sound.read(at, HEAD + 255)?;
        let Some(head) = bytes.get(..HEAD).filter(|head| head.starts_with(b"OggS\0")) else { return Ok(None) };
        let Some(sizes) = bytes.get(HEAD..HEAD + usize::from(head[26])) else { return Ok(None) };
        let size = (HEAD + sizes.len()) as u64 + sizes.iter().map(|size| u64::from(*size)).sum::<u64>();
        let Some(position) = head[6..14].first_chunk().map(|bytes| u64::from_le_bytes(*bytes)) else { return Ok(None) };
        let page = Self {
            at,
            size,
            head: (HEAD + sizes.len()) as u64,
            marks: head[5],
            position,
            serial: u32::from_le_bytes([head[14], head[15], head[16], head[17]]),
            packets: sizes.iter().filter(|size| **size < 255).count(),
            is_whole: sizes.last().is_none_or(|size| *size < 255),
        };
        Ok((at + size <= sound.size()).then_some(page))
    }
}

/// The pages of one part.
pub(crate) struct Pages {
    at: u64,
    end: u64,
    serial: u32,
    /// The number of the next page.
    number: u32,
    /// The position at which the part begins.
    base: u64,
}

impl Pages {
    /// The next page as the part has it; none at the end.
    pub fn next_numbered(&mut self, sound: &Sound) -> Result<Vec<u8>> {
        while self.at < self.end {
            let page = Page::read(sound, self.at)?.ok_or_else(changed)?;
            self.at += page.size;
            if page.serial != self.serial {
                continue;
            }
            let mut bytes = sound.read(page.at, page.size as usize)?;
            if bytes.len() as u64 != page.size {
                return Err(changed());
            }
            // A page that is damaged stays so: players pass it over.
            let damaged = !is_sound(&bytes);
            let ends = if self.at >= self.end { ENDS } else { 0 };
            bytes[5] = page.marks & CONTINUED | ends;
            if page.position != NOWHERE {
                bytes[6..14].copy_from_slice(&page.position.saturating_sub(self.base).to_le_bytes());
            }
            numbered(&mut bytes, self.number);
            bytes[22] ^= u8::from(damaged);
            self.number += 1;
            return Ok(bytes);
        }
        Ok(vec![])
    }
}

/// Whether the checksum of a page fits.
fn is_sound(page: &[u8]) -> bool {
    let crc = [&page[..22], &[0; 4], &page[26..]].into_iter().fold(0, crc32);
    page[22..26] == crc.to_le_bytes()
}

/// Sets the number of a page, and its checksum.
fn numbered(page: &mut [u8], number: u32) {
    page[18..22].copy_from_slice(&number.to_le_bytes());
    page[22..26].fill(0);
    let crc = crc32(0, page);
    page[22..26].copy_from_slice(&crc.to_le_bytes());
}

/// The headers of a stream.
struct Headers {
    bytes: Vec<u8>,
    first: Page,
    pages: u32,
    /// Where its sound begins in the file.
    end: u64,
    rate: u32,
    /// Samples at the beginning that are not heard.
    skipped: u64,
}

/// The packet of Opus that begins a stream.
const OPUS: &[u8] = b"OpusHead";

impl Headers {
    fn read(sound: &Sound) -> Result<Option<Self>> {
        let Some(first) = Page::read(sound, 0)? else { return Ok(None) };
        let Some(body) = sound.exact::<19>(first.head)?.filter(|_| first.size >= first.head + 19) else {
            return Ok(None);
        };
        let (rate, wanted, skipped) = if body.starts_with(OPUS) {
            (48_000, 2, u64::from(u16::from_le_bytes([body[10], body[11]])))
        } else {
            (u32::from_le_bytes([body[12], body[13], body[14], body[15]]), 3, 0)
        };
        if rate == 0 || first.packets != 1 || !first.is_whole {
            return Ok(None);
        }
        let mut headers = Self { bytes: vec![], first, pages: 0, end: 0, rate, skipped };
        let mut packets = 0;
        while packets < wanted {
            let Some(page) = Page::read(sound, headers.end)? else { return Ok(None) };
            headers.end += page.size;
            if page.serial != headers.first.serial {
                continue;
            }
            if headers.bytes.len() as u64 + page.size > HEADERS as u64 {
                return Err(Error::bad_args(
                    "the file has more than 1 MB of tags and pictures before its sound: remove the picture",
                ));
            }
            headers.bytes.extend(sound.read(page.at, page.size as usize)?);
            headers.pages += 1;
            packets += page.packets;
            // The sound begins on a page of its own.
            if packets > wanted || packets == wanted && !page.is_whole {
                return Ok(None);
            }
        }
        Ok(Some(headers))
    }

    /// The headers of a later part: what was skipped at the beginning is none of its sound.
    fn without_skip(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let (body, end) = (self.first.head as usize, self.first.size as usize);
        if bytes[body..end].starts_with(OPUS) {
            bytes[body + 10..body + 12].fill(0);
            numbered(&mut bytes[..end], 0);
        }
        bytes
    }
}

pub(crate) fn cut(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let none = || Error::bad_args("the OGG file has no pages that can be read: it may be damaged");
    let headers = Headers::read(sound)?.ok_or_else(none)?;
    let rest = headers.without_skip();
    let seconds = |samples: u64| samples as f64 / f64::from(headers.rate);
    let part = |n: usize, (from, to): (u64, u64), (base, last): (u64, u64)| {
        let skipped = if n == 0 { headers.skipped } else { 0 };
        let pages = Pages { at: from, end: to, serial: headers.first.serial, number: headers.pages, base };
        Part {
            head: if n == 0 { headers.bytes.clone() } else { rest.clone() },
            body: Body::Ogg(pages),
            seconds: seconds(last.saturating_sub(base).saturating_sub(skipped)),
        }
    };
    let mut parts = vec![];
    let (mut at, mut from, mut base, mut last) = (headers.end, headers.end, 0, 0);
    // Where the last page of the stream ends.
    let mut end = headers.end;
    let mut points = points.iter().peekable();
    while let Some(page) = Page::read(sound, at)? {
        at += page.size;
        if page.serial != headers.first.serial {
            continue;
        }
        // Another stream of the same number follows.
        if page.marks & BEGINS != 0 {
            break;
        }
        let heard = seconds(u64::saturating_sub(last, headers.skipped));
        if page.marks & CONTINUED == 0 && points.next_if(|point| heard >= **point).is_some() && last > base {
            parts.push(part(parts.len(), (from, end), (base, last)));
            (from, base) = (page.at, last);
        }
        end = at;
        if page.position != NOWHERE {
            if page.position < last || page.position > u64::MAX >> 1 {
                return Err(none());
            }
            last = page.position;
        }
        if page.marks & ENDS != 0 {
            break;
        }
    }
    if end == headers.end {
        return Err(none());
    }
    parts.push(part(parts.len(), (from, end), (base, last)));
    Ok(parts)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sound::{cut::tests::whole, flac};

    /// A page with whole packets.
    fn page(number: u32, marks: u8, position: u64, packets: &[&[u8]]) -> Vec<u8> {
        let mut sizes = vec![];
        for packet in packets {
            sizes.extend(vec![255; packet.len() / 255]);
            sizes.push((packet.len() % 255) as u8);
        }
        let head =
            [b"OggS\0", &[marks][..], &position.to_le_bytes(), &7u32.to_le_bytes(), &[0; 8], &[sizes.len() as u8]];
        let mut page = [&head.concat()[..], &sizes, &packets.concat()].concat();
        numbered(&mut page, number);
        page
    }

    /// A page on which a packet of so many times 255 bytes does not end.
    fn open_page(number: u32, marks: u8, count: u8) -> Vec<u8> {
        let mut open = page(number, marks, NOWHERE, &[&vec![number as u8; 255 * usize::from(count)]]);
        open[26] = count;
        open.remove(HEAD + usize::from(count));
        numbered(&mut open, number);
        open
    }

    fn sounds(first: u32, count: u32, step: u64, skipped: u64) -> Vec<u8> {
        let one = |n: u32| {
            let marks = if n + 1 == count { ENDS } else { 0 };
            page(first + n, marks, u64::from(n + 1) * step + skipped, &[&[n as u8; 300], &[n as u8; 20]])
        };
        (0..count).flat_map(one).collect()
    }

    /// So many pages with a 50th of a second each.
    pub fn vorbis(count: u32) -> Vec<u8> {
        let head = [b"\x01vorbis\0\0\0\0\x02", &8_000u32.to_le_bytes()[..], &[0; 14]].concat();
        let comments = [b"\x03vorbis", &flac::tests::comment_block(&["TITLE=Rain"])[..], &[1]].concat();
        let setup = [&b"\x05vorbis"[..], &[5; 900]].concat();
        [page(0, BEGINS, 0, &[&head]), page(1, 0, 0, &[&comments, &setup]), sounds(2, count, 160, 0)].concat()
    }

    pub fn opus(count: u32) -> Vec<u8> {
        let head = [b"OpusHead\x01\x01", &312u16.to_le_bytes()[..], &[0; 7]].concat();
        let tags = [b"OpusTags", &flac::tests::comment_block(&["artist=Sea"])[..]].concat();
        [page(0, BEGINS, 0, &[&head]), page(1, 0, 0, &[&tags]), sounds(2, count, 960, 312)].concat()
    }

    /// Number, position, marks and body of each page, whose checksums fit.
    fn pages(file: &[u8]) -> Vec<(u32, u64, u8, Vec<u8>)> {
        let sound = Sound::Bytes(file.to_vec().into());
        let (mut at, mut all) = (0, vec![]);
        while let Some(page) = Page::read(&sound, at).unwrap() {
            let bytes = &file[at as usize..(at + page.size) as usize];
            let number = u32::from_le_bytes(bytes[18..22].try_into().unwrap());
            assert!(is_sound(bytes), "the checksum of page {number}");
            all.push((number, page.position, page.marks, bytes[HEAD + usize::from(bytes[26])..].to_vec()));
            at += page.size;
        }
        assert_eq!(at, file.len() as u64);
        all
    }

    #[test]
    fn pages_of_a_part_are_numbered_and_keep_their_sound() {
        for (name, bytes, step) in [("vorbis", vorbis(50), 160), ("opus", opus(50), 960)] {
            let old = pages(&bytes);
            let sound = Sound::Bytes(bytes.into());
            let files: Vec<Vec<u8>> =
                cut(&sound, &[0.4]).unwrap().into_iter().map(|part| whole(part, &sound)).collect();
            let (first, second) = (pages(&files[0]), pages(&files[1]));
            assert_eq!(first.len() + second.len(), old.len() + 2, "{name}: both have the headers");
            for part in [&first, &second] {
                assert!(part.iter().enumerate().all(|(n, page)| page.0 == n as u32), "{name}");
                assert_eq!((part[0].2, part[part.len() - 1].2 & ENDS), (BEGINS, ENDS), "{name}");
                assert!(part[..part.len() - 1].iter().all(|page| page.2 & ENDS == 0), "{name}");
            }
            let bodies: Vec<_> = first[2..].iter().chain(&second[2..]).map(|page| &page.3).collect();
            assert!(bodies.iter().zip(&old[2..]).all(|(new, old)| **new == old.3), "{name}");
            // The first position of a part is the length of its first page.
            assert_eq!(second[2].1, step, "{name}");
        }
        // What Opus skips at the beginning of the whole is not skipped in the middle of it.
        let bytes = opus(50);
        let sound = Sound::Bytes(bytes.into());
        let second = whole(cut(&sound, &[0.4]).unwrap().remove(1), &sound);
        assert_eq!(pages(&second)[0].3[10..12], [0, 0]);
    }

    #[test]
    fn other_streams_and_packets_over_pages_are_kept_apart() {
        let mut other = page(0, BEGINS, 0, &[b"other"]);
        other[14] = 9;
        numbered(&mut other, 0);
        let one = |n: u32, marks, position| page(n, marks, position, &[&[n as u8; 200]]);
        // A packet goes on from the third page to the fourth: there is no cut between them.
        let open = open_page(4, 0, 1);
        let head = vorbis(0);
        let bytes = [
            head.clone(),
            one(2, 0, 160),
            other.clone(),
            one(3, 0, 320),
            open,
            one(5, CONTINUED, 480),
            one(6, ENDS, 640),
        ]
        .concat();
        let sound = Sound::Bytes(bytes.into());
        let parts = cut(&sound, &[0.045]).unwrap();
        assert_eq!(parts.iter().map(|part| part.seconds).collect::<Vec<_>>(), [0.06, 0.02]);
        for part in parts {
            assert!(pages(&whole(part, &sound)).iter().all(|page| page.3 != b"other"));
        }
        // A damaged page stays damaged.
        let mut bytes = vorbis(20);
        let last = bytes.len() - 5;
        bytes[last] ^= 1;
        let sound = Sound::Bytes(bytes.into());
        let second = whole(cut(&sound, &[0.2]).unwrap().remove(1), &sound);
        let at = second.len() - (HEAD + 3 + 320);
        assert!(!is_sound(&second[at..]) && second[at..].starts_with(b"OggS"));

        // Tags of 1.2 MB are too many to repeat.
        let many: Vec<u8> = (1..20).flat_map(|n| open_page(n, if n > 1 { CONTINUED } else { 0 }, 250)).collect();
        let head = page(0, BEGINS, 0, &[&[b"\x01vorbis\0\0\0\0\x02", &8_000u32.to_le_bytes()[..], &[0; 14]].concat()]);
        let error = cut(&Sound::Bytes([head, many].concat().into()), &[0.1]).err().unwrap();
        assert!(error.to_string().contains("1 MB of tags"), "{error}");
    }
}
