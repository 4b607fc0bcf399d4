//! FLAC files cut at frames. Frames do not tell their size: one ends where its checksum fits and the next one begins. In a part they
//! are numbered from 0, which changes their headers and checksums and not the sound.

use super::{
    Sound,
    checks::{crc8, crc16},
    cut::{Body, Part, changed},
};
use tool::prelude::*;

/// The most metadata blocks before the first frame.
const BLOCKS: usize = 128;
/// The largest frame, in bytes: 65,535 samples of 8 channels with 32 bits have 2 MB.
const LARGEST: usize = 4 << 20;
/// How much is read at once, how much a frame has as a rule, and a header at most, in bytes.
const READ: usize = 256 * 1024;
const USUAL: usize = 32 * 1024;
const HEADER: usize = 16;

/// The header of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Header {
    /// The number of the frame, or of its first sample in streams of frames of different sizes.
    number: u64,
    /// Whether it counts samples.
    counts_samples: bool,
    samples: u32,
    /// Bytes of the number, and of the header with its checksum.
    coded: usize,
    size: usize,
}

impl Header {
    fn read(bytes: &[u8]) -> Option<Self> {
        let [0xff, sync @ (0xf8 | 0xf9), sizes, kinds, rest @ ..] = bytes else { return None };
        let (block, rate) = (sizes >> 4, sizes & 15);
        if block == 0 || rate == 15 || kinds >> 4 > 10 || kinds & 1 != 0 || kinds >> 1 & 7 == 3 {
            return None;
        }
        let coded = match rest.first()?.leading_ones() as usize {
            0 => 1,
            length @ 2..=7 => length,
            _ => return None,
        };
        let lead = u64::from(rest[0]) & if coded == 1 { 0x7f } else { 0xff >> (coded + 1).min(8) };
        let number = rest
            .get(1..coded)?
            .iter()
            .try_fold(lead, |number, byte| (byte & 0xc0 == 0x80).then(|| number << 6 | u64::from(byte & 0x3f)))?;
        let mut at = 4 + coded;
        let samples = match block {
            1 => 192,
            2..=5 => 576 << (block - 2),
            6 => {
                at += 1;
                u32::from(*bytes.get(at - 1)?) + 1
            }
            7 => {
                at += 2;
                u32::from(u16::from_be_bytes([*bytes.get(at - 2)?, *bytes.get(at - 1)?])) + 1
            }
            _ => 256 << (block - 8),
        };
        at += match rate {
            12 => 1,
            13 | 14 => 2,
            _ => 0,
        };
        let fits = crc8(bytes.get(..at)?) == *bytes.get(at)?;
        fits.then_some(Self { number, counts_samples: *sync == 0xf9, samples, coded, size: at + 1 })
    }

    /// Whether another frame comes next in the same stream.
    fn is_followed_by(&self, next: &Header) -> bool {
        let step = if self.counts_samples { u64::from(self.samples) } else { 1 };
        self.counts_samples == next.counts_samples && self.number + step == next.number
    }
}

/// A number as the header of a frame has it, in up to 7 bytes.
fn coded(number: u64) -> Vec<u8> {
    if number < 0x80 {
        return vec![number as u8];
    }
    let count = (2..7).find(|count| number < 1 << (5 * count + 1)).unwrap_or(7);
    let lead = (0xff00u32 >> count) as u8 | (number >> (6 * (count - 1))).min(0xff) as u8;
    let rest = (0..count - 1).rev().map(|n| 0x80 | (number >> (6 * n)) as u8 & 0x3f);
    std::iter::once(lead).chain(rest).collect()
}

/// Frames one after another.
pub(crate) struct Frames {
    /// Where the next frame begins, and where no more are read.
    at: u64,
    end: u64,
    /// The number of the first frame of the part.
    first: Option<u64>,
    block: Vec<u8>,
    block_at: u64,
}

impl Frames {
    fn between(at: u64, end: u64) -> Self {
        Self { at, end, first: None, block: vec![], block_at: at }
    }

    /// Reads on until at least so many bytes from the next frame on are there, or all up to the end. Returns where they begin.
    fn fill(&mut self, sound: &Sound, least: usize) -> Result<usize> {
        let from = usize::try_from(self.at - self.block_at).unwrap_or(usize::MAX).min(self.block.len());
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        if self.block.len() - from >= least.min(left) {
            return Ok(from);
        }
        self.block.drain(..from);
        self.block_at = self.at;
        let wanted = least.max(READ).min(left);
        let more = sound.read(self.at + self.block.len() as u64, wanted - self.block.len())?;
        self.block.extend(more);
        Ok(0)
    }

    /// The next frame. `None` at the end, or where no frame begins.
    fn next(&mut self, sound: &Sound) -> Result<Option<(u64, Header, Vec<u8>)>> {
        let (mut have, mut scanned, mut crc) = (USUAL, 0, 0);
        loop {
            let left = self.end - self.at;
            let from = self.fill(sound, have)?;
            let bytes = &self.block[from..];
            let Some(header) = Header::read(bytes) else { return Ok(None) };
            let last = bytes.len() as u64 == left;
            while scanned < bytes.len() {
                crc = crc16(crc, bytes[scanned]);
                scanned += 1;
                if crc != 0 || scanned < header.size + 2 {
                    continue;
                }
                let rest = &bytes[scanned..];
                if rest.is_empty() && last || Header::read(rest).is_some_and(|next| header.is_followed_by(&next)) {
                    let (at, frame) = (self.at, bytes[..scanned].to_vec());
                    self.at += scanned as u64;
                    return Ok(Some((at, header, frame)));
                }
                // A header that is not read to its end yet.
                if rest.len() < HEADER && !last {
                    (scanned, crc) = (0, 0);
                    break;
                }
            }
            // The end of the file within a frame, or something after the last one.
            if last || have >= LARGEST {
                return Ok(None);
            }
            have = (have * 2).min(LARGEST);
        }
    }

    /// The next frame with its number from the beginning of the part; none at the end.
    pub fn next_numbered(&mut self, sound: &Sound) -> Result<Vec<u8>> {
        if self.at >= self.end {
            return Ok(vec![]);
        }
        let (_, header, frame) = self.next(sound)?.ok_or_else(changed)?;
        let first = *self.first.get_or_insert(header.number);
        let number = coded(header.number.saturating_sub(first));
        let mut new = [&frame[..4], &number, &frame[4 + header.coded..header.size - 1]].concat();
        new.push(crc8(&new));
        new.extend(&frame[header.size..frame.len() - 2]);
        let crc = new.iter().fold(0, |crc, byte| crc16(crc, *byte));
        new.extend(crc.to_be_bytes());
        Ok(new)
    }
}

pub(crate) fn cut(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let none = || Error::bad_args("the FLAC file has no frames that can be read: it may be damaged");
    let (info, start) = beginning(sound)?.ok_or_else(none)?;
    let rate = (u32::from_be_bytes([0, info[10], info[11], info[12]]) >> 4).max(1);
    let seconds = |samples: u64| samples as f64 / f64::from(rate);
    let part = |from: u64, to: u64, samples: u64| Part {
        head: head(&info, samples),
        body: Body::Flac(Frames::between(from, to)),
        seconds: seconds(samples),
    };
    let mut frames = Frames::between(start.min(sound.size()), sound.size());
    let (mut parts, mut from, mut samples, mut before) = (vec![], start, 0u64, 0u64);
    let mut points = points.iter().peekable();
    while let Some((at, header, _)) = frames.next(sound)? {
        if points.next_if(|point| seconds(samples) >= **point).is_some() && at > from {
            parts.push(part(from, at, samples - before));
            (from, before) = (at, samples);
        }
        while points.next_if(|point| seconds(samples) >= **point).is_some() {}
        samples += u64::from(header.samples);
    }
    if samples == before {
        return Err(none());
    }
    parts.push(part(from, frames.at, samples - before));
    Ok(parts)
}

/// The facts about the stream, and where its first frame is.
fn beginning(sound: &Sound) -> Result<Option<([u8; 34], u64)>> {
    let (mut at, mut info) = (4, None);
    for _ in 0..BLOCKS {
        let Some([kind, a, b, c]) = sound.exact::<4>(at)? else { return Ok(None) };
        if kind & 0x7f == 0 && info.is_none() {
            info = sound.exact::<34>(at + 4)?;
        }
        at += 4 + u64::from(u32::from_be_bytes([0, a, b, c]));
        if kind & 0x80 != 0 {
            return Ok(info.map(|info| (info, at)));
        }
    }
    Ok(None)
}

/// The beginning of a file with so many samples. The sizes of its frames and the digest of its sound are left open.
fn head(info: &[u8; 34], samples: u64) -> Vec<u8> {
    let mut new = *info;
    new[4..10].fill(0);
    new[18..].fill(0);
    let samples = if samples < 1 << 36 { samples } else { 0 };
    new[13] = info[13] & 0xf0 | (samples >> 32) as u8;
    new[14..18].copy_from_slice(&(samples as u32).to_be_bytes());
    [b"fLaC\x80\0\0\x22", &new[..]].concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A frame with this number, and any bytes in place of sound.
    fn frame(number: u64, counts_samples: bool, samples: u16) -> Vec<u8> {
        let mut frame = vec![0xff, 0xf8 | u8::from(counts_samples), 0x70, 0x08];
        frame.extend(coded(number));
        frame.extend((samples - 1).to_be_bytes());
        frame.push(crc8(&frame));
        // Beginnings of frames within the sound are none.
        frame.extend([0xff, 0xf8, 0x70, 0x08, 0, 0, 0, 7].repeat(3));
        frame.extend((0..40).map(|n| (n as u64 * 7 + number) as u8));
        let crc = frame.iter().fold(0, |crc, byte| crc16(crc, *byte));
        frame.extend(crc.to_be_bytes());
        frame
    }

    /// A file of frames with so many samples each.
    pub fn flac(rate: u32, frames: &[u16], counts_samples: bool) -> Vec<u8> {
        let total: u64 = frames.iter().map(|samples| u64::from(*samples)).sum();
        let packed = u64::from(rate) << 44 | 15 << 36 | total;
        let info = [&[16, 0, 16, 0, 0, 0, 9, 0, 0, 9][..], &packed.to_be_bytes(), &[7; 16]].concat();
        let mut file = [b"fLaC\0\0\0\x22", &info[..], &[0x81, 0, 0, 3, 0, 0, 0]].concat();
        let mut at = 0;
        for (n, samples) in frames.iter().enumerate() {
            file.extend(frame(if counts_samples { at } else { n as u64 }, counts_samples, *samples));
            at += u64::from(*samples);
        }
        file
    }

    #[test]
    fn numbers_are_coded_as_they_are_read() {
        for number in [
            0,
            1,
            0x7f,
            0x80,
            0x7ff,
            0x800,
            0xffff,
            0x10000,
            0x1f_ffff,
            0x20_0000,
            0x3ff_ffff,
            0x7fff_ffff,
            0xf_ffff_ffff,
        ] {
            let bytes = frame(number, true, 500);
            let header = Header::read(&bytes).unwrap();
            assert_eq!((header.number, header.coded, header.samples), (number, coded(number).len(), 500), "{number:x}");
        }
        assert_eq!(Header::read(&[0xff, 0xf8, 0x70]), None);
    }

    #[test]
    fn frames_of_a_part_begin_with_0_and_have_their_sound() {
        let sound = Sound::Bytes(flac(8_000, &[160; 300], false).into());
        let mut parts = cut(&sound, &[2.0]).unwrap();
        let second = super::super::cut::tests::whole(parts.remove(1), &sound);
        let frames: Vec<u8> = second[42..].to_vec();
        // Of 100 to 299 becomes 0 to 199; the bytes of the sound stay.
        let mut expected = vec![];
        for number in 100..300u64 {
            let old = frame(number, false, 160);
            let header = Header::read(&old).unwrap();
            let new = frame(number - 100, false, 160);
            let size = Header::read(&new).unwrap().size;
            let mut mixed = [&new[..size], &old[header.size..old.len() - 2]].concat();
            let crc = mixed.iter().fold(0, |crc, byte| crc16(crc, *byte));
            mixed.extend(crc.to_be_bytes());
            expected.extend(mixed);
        }
        assert!(frames == expected);
    }

    #[test]
    fn a_file_that_ends_within_a_frame_is_cut_up_to_it() {
        let mut bytes = flac(8_000, &[160; 100], false);
        bytes.truncate(bytes.len() - 30);
        let sound = Sound::Bytes(bytes.into());
        let parts = cut(&sound, &[1.0]).unwrap();
        let seconds: f64 = parts.iter().map(|part| part.seconds).sum();
        assert!((seconds - 98.0 * 0.02).abs() < 1e-9 || (seconds - 99.0 * 0.02).abs() < 1e-9, "{seconds}");
    }
}
