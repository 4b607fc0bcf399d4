//! MP3: frames of MPEG audio, layer III.

use super::{Facts, Sound, be32, id3};
use tool::prelude::*;

/// How far the first frame may be from the tags, in bytes.
const SEARCH: usize = 64 * 1024;
/// How much is read at once, and how much of a file is followed frame by frame.
const BLOCK: usize = 256 * 1024;
const FOLLOWED: u64 = 512 << 20;

/// Kilobits a second by index: MPEG 1, and MPEG 2 with 2.5.
const RATES_1: [u32; 15] = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const RATES_2: [u32; 15] = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/// The head of a frame.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub rate: u32,
    pub channels: u16,
    kbps: u32,
    /// Samples of the frame, and its bytes.
    pub samples: u32,
    pub size: usize,
    is_mpeg1: bool,
}

impl Frame {
    pub fn read(head: [u8; 4]) -> Option<Self> {
        let bits = u32::from_be_bytes(head);
        let (sync, version, layer) = (bits >> 21, bits >> 19 & 3, bits >> 17 & 3);
        let (index, rate, padding) = ((bits >> 12 & 15) as usize, (bits >> 10 & 3) as usize, bits >> 9 & 1);
        if sync != 0x7ff || version == 1 || layer != 1 || rate == 3 || bits & 3 == 2 {
            return None;
        }
        let is_mpeg1 = version == 3;
        let kbps = *(if is_mpeg1 { RATES_1 } else { RATES_2 }).get(index).filter(|kbps| **kbps > 0)?;
        let rate = [44_100, 48_000, 32_000][rate] / [4, 1, 2, 1][version as usize];
        let samples = if is_mpeg1 { 1_152 } else { 576 };
        let size = (samples / 8 * kbps * 1_000 / rate + padding) as usize;
        let channels = if bits >> 6 & 3 == 3 { 1 } else { 2 };
        Some(Self { rate, channels, kbps, samples, size, is_mpeg1 })
    }

    /// Whether another frame can belong to the same stream.
    fn fits(&self, other: &Frame) -> bool {
        self.rate == other.rate && self.is_mpeg1 == other.is_mpeg1
    }

    /// Where the note of an encoder about the whole file begins in the first frame.
    fn note(&self) -> u64 {
        match (self.is_mpeg1, self.channels) {
            (true, 1) | (false, 2) => 4 + 17,
            (true, _) => 4 + 32,
            (false, _) => 4 + 9,
        }
    }
}

/// Frames one after another.
pub(crate) struct Frames<'a> {
    sound: &'a Sound,
    /// Where the next frame begins.
    pub at: u64,
    first: Frame,
    block: Vec<u8>,
    block_at: u64,
}

impl<'a> Frames<'a> {
    /// From the first frame on, which another has to follow: bytes that look like one occur in any file.
    pub fn find(sound: &'a Sound, start: u64) -> Result<Option<Self>> {
        let bytes = sound.read(start, SEARCH + 4)?;
        for (offset, head) in bytes.windows(4).enumerate() {
            let Some(first) = head.try_into().ok().and_then(Frame::read) else { continue };
            let at = start + offset as u64;
            let next = sound.exact::<4>(at + first.size as u64)?;
            let last = at + first.size as u64 == sound.size();
            if last || next.and_then(Frame::read).is_some_and(|next| next.fits(&first)) {
                return Ok(Some(Self { sound, at, first, block: vec![], block_at: 0 }));
            }
        }
        Ok(None)
    }

    pub fn first(&self) -> Frame {
        self.first
    }

    /// The next frame and where it begins. What is no frame is passed over.
    pub fn next(&mut self) -> Result<Option<(u64, Frame)>> {
        let mut passed = 0;
        while passed <= SEARCH {
            let Some(head) = self.head()? else { return Ok(None) };
            match Frame::read(head).filter(|frame| frame.fits(&self.first)) {
                Some(frame) => {
                    let at = self.at;
                    self.at += frame.size as u64;
                    return Ok(Some((at, frame)));
                }
                None => (self.at, passed) = (self.at + 1, passed + 1),
            }
        }
        Ok(None)
    }

    fn head(&mut self) -> Result<Option<[u8; 4]>> {
        let within = |this: &Self| {
            let from = usize::try_from(this.at.checked_sub(this.block_at)?).ok()?;
            this.block.get(from..from + 4)?.try_into().ok()
        };
        if let Some(head) = within(self) {
            return Ok(Some(head));
        }
        (self.block, self.block_at) = (self.sound.read(self.at, BLOCK)?, self.at);
        Ok(within(self))
    }
}

/// Whether the first frame is a note about the file, and the number of frames that it tells.
pub(crate) fn note(sound: &Sound, at: u64, frame: Frame) -> Result<Option<Option<u64>>> {
    if let Some(mark) = sound.exact::<12>(at + frame.note())?
        && (mark.starts_with(b"Xing") || mark.starts_with(b"Info"))
    {
        let counted = mark[7] & 1 != 0;
        return Ok(Some(counted.then(|| be32([mark[8], mark[9], mark[10], mark[11]]))));
    }
    match sound.exact::<18>(at + 36)? {
        Some(mark) if mark.starts_with(b"VBRI") => Ok(Some(Some(be32([mark[14], mark[15], mark[16], mark[17]])))),
        _ => Ok(None),
    }
}

pub(crate) fn facts(sound: &Sound) -> Result<Option<Facts>> {
    let mut facts = Facts { format: "MP3", codec: "MP3".into(), ..Facts::default() };
    let start = id3::read(sound, &mut facts)?;
    let Some(mut frames) = Frames::find(sound, start)? else { return Ok(None) };
    let (at, first) = (frames.at, frames.first());
    (facts.sample_rate, facts.channels) = (first.rate, first.channels);
    let seconds = |count: u64| count as f64 * f64::from(first.samples) / f64::from(first.rate);
    facts.seconds = match note(sound, at, first)? {
        Some(Some(count)) if count > 0 => Some(seconds(count)),
        _ if sound.size() - at > FOLLOWED => Some((sound.size() - at) as f64 * 8.0 / f64::from(first.kbps) / 1_000.0),
        told => {
            let mut count = 0;
            while frames.next()?.is_some() {
                count += 1;
            }
            Some(seconds(count - u64::from(told.is_some()).min(count)))
        }
    };
    Ok(Some(facts))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Silent frames of 128 kbit/s at 44,100 Hz after tags.
    pub fn mp3(frames: usize) -> Vec<u8> {
        let frame = [&[0xff, 0xfb, 0x90, 0x00][..], &[0; 413]].concat();
        [id3::tests::tags("Silence"), frame.repeat(frames)].concat()
    }

    #[test]
    fn frames_are_read_and_strangers_passed_over() {
        let frame = Frame::read([0xff, 0xfb, 0x90, 0x00]).unwrap();
        assert_eq!((frame.rate, frame.channels, frame.samples, frame.size), (44_100, 2, 1_152, 417));
        let low = Frame::read([0xff, 0xf3, 0x40, 0xc0]).unwrap();
        assert_eq!((low.rate, low.channels, low.samples, low.size), (22_050, 1, 576, 104));
        for odd in [[0xff, 0xfb, 0xf0, 0], [0xff, 0xfb, 0x00, 0], [0xff, 0xfb, 0x9c, 0], [0xff, 0xe8, 0x90, 0], [0; 4]]
        {
            assert_eq!(Frame::read(odd), None, "{odd:?}");
        }
        let mut file = mp3(10);
        let middle = file.len() - 5 * 417;
        file.splice(middle..middle, *b"junk in between");
        let facts = facts(&Sound::Bytes(file.into())).unwrap().unwrap();
        assert_eq!(facts.title.as_deref(), Some("Silence"));
        assert!((facts.seconds.unwrap() - 10.0 * 1_152.0 / 44_100.0).abs() < 1e-9, "{facts:?}");
    }

    #[test]
    fn a_note_of_the_encoder_counts() {
        let mut file = mp3(3);
        let at = file.len() - 3 * 417 + 36;
        file[at..at + 12].copy_from_slice(b"Xing\0\0\0\x01\0\0\x03\xe8");
        let facts = facts(&Sound::Bytes(file.into())).unwrap().unwrap();
        assert!((facts.seconds.unwrap() - 1_000.0 * 1_152.0 / 44_100.0).abs() < 1e-9, "{facts:?}");
    }
}
