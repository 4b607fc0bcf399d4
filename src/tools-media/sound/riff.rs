//! WAV: chunks of RIFF.

use super::{Facts, Sound};
use tool::prelude::*;

/// The most chunks that are looked at.
const CHUNKS: usize = 200;

/// Where the parts of a WAV file are.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wav {
    /// The `fmt ` chunk without its head.
    pub format: Vec<u8>,
    /// Where the samples begin, and how many bytes they have.
    pub data: (u64, u64),
    pub rate: u32,
    /// Bytes of one second.
    pub speed: u32,
    /// Bytes of one sample of all channels.
    pub frame: u64,
}

/// Finds the parts of a WAV file.
pub(crate) fn parts(sound: &Sound) -> Result<Option<Wav>> {
    let (mut at, mut format) = (12, None);
    for _ in 0..CHUNKS {
        let Some(head) = sound.exact::<8>(at)? else { return Ok(None) };
        let size = u64::from(u32::from_le_bytes([head[4], head[5], head[6], head[7]]));
        match &head[..4] {
            b"fmt " if (16..=256).contains(&size) => format = Some(sound.read(at + 8, size as usize)?),
            b"data" => {
                let Some(format) = format.filter(|format: &Vec<u8>| format.len() >= 16) else { return Ok(None) };
                let rate = u32::from_le_bytes([format[4], format[5], format[6], format[7]]);
                let speed = u32::from_le_bytes([format[8], format[9], format[10], format[11]]);
                let frame = u64::from(u16::from_le_bytes([format[12], format[13]]));
                if rate == 0 || frame == 0 {
                    return Ok(None);
                }
                // A recording that was cut off, or streamed, claims more than is there.
                let there = sound.size().saturating_sub(at + 8);
                let length = size.min(there) / frame * frame;
                return Ok(Some(Wav { format, data: (at + 8, length), rate, speed, frame }));
            }
            _ => {}
        }
        at = at.saturating_add(8 + size + size % 2);
    }
    Ok(None)
}

impl Wav {
    /// How many blocks of samples a second has. `None` where the head contradicts itself.
    pub fn blocks_a_second(&self) -> Option<f64> {
        let word = |at: usize| u16::from_le_bytes([self.format[at], self.format[at + 1]]);
        let by_rate = u64::from(self.rate) * self.frame;
        match word(0) {
            // One sample of all channels.
            1 | 3 | 6 | 7 | 0xFFFE => {
                let is_whole = self.frame * 8 >= u64::from(word(2)) * u64::from(word(14)) && word(2) > 0;
                let fits = self.speed == 0 || u64::from(self.speed) == by_rate;
                (is_whole && fits).then_some(f64::from(self.rate))
            }
            // Several in one block.
            _ => (self.speed > 0 && u64::from(self.speed) <= by_rate)
                .then_some(f64::from(self.speed) / self.frame as f64),
        }
    }
}

pub(crate) fn facts(sound: &Sound) -> Result<Option<Facts>> {
    let Some(wav) = parts(sound)? else { return Ok(None) };
    let word = |at: usize| u16::from_le_bytes([wav.format[at], wav.format[at + 1]]);
    let bits = word(14);
    let codec = match word(0) {
        1 => format!("PCM, {bits} bit"),
        3 => format!("PCM, {bits} bit float"),
        6 => "A-law".to_owned(),
        7 => "µ-law".to_owned(),
        0x55 => "MP3".to_owned(),
        0xFFFE => format!("PCM, {bits} bit"),
        other => format!("0x{other:04x}"),
    };
    let seconds = match wav.speed {
        0 => wav.data.1 as f64 / wav.frame as f64 / f64::from(wav.rate),
        rate => wav.data.1 as f64 / f64::from(rate),
    };
    Ok(Some(Facts {
        format: "WAV",
        codec,
        seconds: Some(seconds),
        sample_rate: wav.rate,
        channels: word(2),
        bits_per_sample: Some(bits).filter(|bits| *bits > 0),
        ..Facts::default()
    }))
}

/// The head of a WAV file with samples of so many bytes.
pub(crate) fn head(format: &[u8], length: u64) -> Vec<u8> {
    let pad = length % 2;
    let whole = 4 + 8 + format.len() as u64 + 8 + length + pad;
    let word = |n: u64| u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes();
    [b"RIFF", &word(whole)[..], b"WAVEfmt ", &word(format.len() as u64), format, b"data", &word(length)].concat()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn wav(rate: u32, channels: u16, bits: u16, frames: usize) -> Vec<u8> {
        let frame = channels * bits / 8;
        let format = [
            &1u16.to_le_bytes()[..],
            &channels.to_le_bytes(),
            &rate.to_le_bytes(),
            &(rate * u32::from(frame)).to_le_bytes(),
            &frame.to_le_bytes(),
            &bits.to_le_bytes(),
        ]
        .concat();
        let samples: Vec<u8> = (0..frames * usize::from(frame)).map(|n| (n % 251) as u8).collect();
        [head(&format, samples.len() as u64), samples].concat()
    }

    #[test]
    fn a_head_that_claims_too_much_is_corrected() {
        let mut file = wav(8_000, 2, 16, 8_000);
        file[40..44].copy_from_slice(&u32::MAX.to_le_bytes());
        file.truncate(44 + 16_001);
        let found = parts(&Sound::Bytes(file.into())).unwrap().unwrap();
        assert_eq!((found.data, found.frame), ((44, 16_000), 4));
    }
}
