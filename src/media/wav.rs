//! WAV files: read in any usual form and brought to the form that a server expects, and written.

use hound::{SampleFormat, WavReader, WavSpec, WavWriter};
use std::io::Cursor;
use tool::{Error, Result};
use wyoming::{Audio, Format};

/// The longest recording, in seconds: a small board needs as long to transcribe it.
const SECONDS: u64 = 300;
/// The rates that are read.
const RATES: std::ops::RangeInclusive<u32> = 4_000..=192_000;

/// Reads a WAV file and converts it to 16-bit samples of one channel at the rate of `to`.
pub(crate) fn decode(bytes: &[u8], to: Format) -> Result<Audio> {
    let unreadable = |error: hound::Error| {
        Error::bad_args(format!(
            "the file is no WAV file that can be read ({error}): convert it first, such as by `ffmpeg -i FILE -ar 16000 \
             -ac 1 speech.wav`"
        ))
    };
    let mut reader = WavReader::new(Cursor::new(bytes)).map_err(unreadable)?;
    let spec = reader.spec();
    let channels = usize::from(spec.channels);
    if !RATES.contains(&spec.sample_rate) || !(1..=8).contains(&channels) {
        return Err(Error::bad_args("the WAV file needs 1 to 8 channels and 4,000 to 192,000 samples a second"));
    }
    if u64::from(reader.duration()) > SECONDS * u64::from(spec.sample_rate) {
        return Err(Error::bad_args(format!("the recording is longer than {SECONDS} seconds: send it in parts")));
    }
    let frames = reader.duration() as usize;
    if frames == 0 {
        return Err(Error::bad_args("the WAV file has no sound in it"));
    }
    // Sample by sample: of a large file only the result, which `SECONDS` bounds, is in memory.
    let mut resampler = Resampler::new(spec.sample_rate, to.rate, frames);
    let mut feed = |samples: &mut dyn Iterator<Item = hound::Result<f32>>| -> hound::Result<()> {
        for _ in 0..frames {
            let mut sum = 0.0;
            for _ in 0..channels {
                sum += samples.next().ok_or(hound::Error::FormatError("it ends too early"))??;
            }
            resampler.push(sum / channels as f32);
        }
        Ok(())
    };
    match spec.sample_format {
        SampleFormat::Float => feed(&mut reader.samples::<f32>()),
        SampleFormat::Int => {
            let full = (1u64 << (u32::from(spec.bits_per_sample).clamp(1, 32) - 1)) as f32;
            feed(&mut reader.samples::<i32>().map(|sample| sample.map(|sample| sample as f32 / full)))
        }
    }
    .map_err(unreadable)?;
    Ok(Audio { format: Format { width: 2, channels: 1, ..to }, bytes: resampler.finish() })
}

/// Linear interpolation. Where the rate falls, each new sample averages those it replaces, so that high tones do not turn into
/// low ones: enough for speech.
struct Resampler {
    /// How many old samples a new one takes.
    step: f64,
    /// How many new samples there will be, and how many there are.
    count: usize,
    made: usize,
    /// How many old samples came, and the last of them.
    taken: usize,
    last: f32,
    /// Sum and number of the old samples for the next new one, where the rate falls.
    sum: f32,
    summed: usize,
    bytes: Vec<u8>,
}

impl Resampler {
    fn new(from: u32, to: u32, frames: usize) -> Self {
        let step = f64::from(from) / f64::from(to);
        let count = ((frames as f64 / step).floor() as usize).max(1);
        let bytes = Vec::with_capacity(2 * count);
        Self { step, count, made: 0, taken: 0, last: 0.0, sum: 0.0, summed: 0, bytes }
    }

    /// Where a new sample lies among the old ones.
    fn place(&self, made: usize) -> f64 {
        made as f64 * self.step
    }

    fn push(&mut self, sample: f32) {
        if self.step >= 1.0 {
            (self.sum, self.summed, self.taken) = (self.sum + sample, self.summed + 1, self.taken + 1);
            if self.taken >= self.place(self.made + 1) as usize {
                self.make(self.sum / self.summed as f32);
                (self.sum, self.summed) = (0.0, 0);
            }
            return;
        }
        if self.taken > 0 {
            self.between(sample);
        }
        (self.last, self.taken) = (sample, self.taken + 1);
    }

    /// The new samples between the last old one and this.
    fn between(&mut self, next: f32) {
        let begin = self.taken - 1;
        while self.made < self.count && (self.place(self.made) as usize) <= begin {
            let rest = self.place(self.made).fract() as f32;
            self.make(self.last * (1.0 - rest) + next * rest);
        }
    }

    fn make(&mut self, sample: f32) {
        if self.made < self.count {
            let sample = (sample.clamp(-1.0, 1.0) * 32_767.0).round() as i16;
            self.bytes.extend(sample.to_le_bytes());
            self.made += 1;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        if self.step < 1.0 {
            self.between(self.last);
        } else if self.summed > 0 {
            self.make(self.sum / self.summed as f32);
        }
        self.bytes
    }
}

/// A WAV file of raw 16-bit samples of one channel.
pub(crate) fn of_pcm(bytes: &[u8], rate: u32) -> Result<Vec<u8>> {
    let format = Format { rate, width: 2, channels: 1 };
    encode(&Audio { format, bytes: bytes.to_vec() }).map(|(file, _)| file)
}

/// A WAV file of raw audio, and its length in seconds.
pub(crate) fn encode(audio: &Audio) -> Result<(Vec<u8>, f64)> {
    let Format { rate, width, channels } = audio.format;
    let spec = WavSpec { channels, sample_rate: rate, bits_per_sample: width * 8, sample_format: SampleFormat::Int };
    let unwritable = |error: hound::Error| Error::failed(format!("the server's audio could not be stored: {error}"));
    let mut file = Cursor::new(vec![]);
    let mut writer = WavWriter::new(&mut file, spec).map_err(unwritable)?;
    let frame = usize::from(width) * usize::from(channels);
    let whole = audio.bytes.len() / frame * frame;
    for sample in audio.bytes[..whole].chunks_exact(usize::from(width)) {
        let sample = match *sample {
            // Bytes have no sign in this format.
            [a] => i32::from(a) - 128,
            [a, b] => i16::from_le_bytes([a, b]).into(),
            [a, b, c] => i32::from_le_bytes([0, a, b, c]) >> 8,
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        writer.write_sample(sample).map_err(unwritable)?;
    }
    writer.finalize().map_err(unwritable)?;
    Ok((file.into_inner(), (whole / frame) as f64 / f64::from(rate)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tone of 440 Hz that lasts half a second.
    fn tone(spec: WavSpec) -> Vec<u8> {
        let mut file = Cursor::new(vec![]);
        let mut writer = WavWriter::new(&mut file, spec).unwrap();
        for n in 0..spec.sample_rate / 2 {
            let value = (f64::from(n) * 440.0 * std::f64::consts::TAU / f64::from(spec.sample_rate)).sin() * 0.5;
            for _ in 0..spec.channels {
                match spec.sample_format {
                    SampleFormat::Float => writer.write_sample(value as f32).unwrap(),
                    SampleFormat::Int => {
                        let full = f64::from(u32::MAX >> (33 - spec.bits_per_sample));
                        writer.write_sample((value * full) as i32).unwrap();
                    }
                }
            }
        }
        writer.finalize().unwrap();
        file.into_inner()
    }

    fn spec(sample_rate: u32, bits_per_sample: u16, channels: u16, sample_format: SampleFormat) -> WavSpec {
        WavSpec { channels, sample_rate, bits_per_sample, sample_format }
    }

    #[test]
    fn files_of_any_form_become_speech() {
        for (rate, bits, channels, form) in [
            (16_000, 16, 1, SampleFormat::Int),
            (8_000, 8, 1, SampleFormat::Int),
            (44_100, 16, 2, SampleFormat::Int),
            (48_000, 24, 2, SampleFormat::Int),
            (22_050, 32, 1, SampleFormat::Int),
            (96_000, 32, 1, SampleFormat::Float),
        ] {
            let audio = decode(&tone(spec(rate, bits, channels, form)), Format::SPEECH).unwrap();
            let samples: Vec<i16> = audio.bytes.chunks(2).map(|b| i16::from_le_bytes([b[0], b[1]])).collect();
            assert!(samples.len().abs_diff(8_000) <= 1, "{rate}: {}", samples.len());
            // 440 Hz for half a second, at half the loudness.
            let rises = samples.windows(2).filter(|pair| pair[0] < 0 && pair[1] >= 0).count();
            let peak = samples.iter().map(|s| i32::from(*s).abs()).max().unwrap();
            assert!((218..=221).contains(&rises) && (15_000..17_500).contains(&peak), "{rate} {bits}: {rises} {peak}");
        }
    }

    #[test]
    fn bad_files_are_refused() {
        let good = tone(spec(16_000, 16, 1, SampleFormat::Int));
        let mut fast = good.clone();
        fast[24..28].copy_from_slice(&1_000_000u32.to_le_bytes());
        fast[28..32].copy_from_slice(&2_000_000u32.to_le_bytes());
        for (bytes, part) in [
            (&b""[..], "ffmpeg"),
            (b"hello", "ffmpeg"),
            (b"RIFF\xff\xff\xff\xffWAVEfmt ", "ffmpeg"),
            (&fast, "4,000 to 192,000"),
            (&good[..44], "ffmpeg"),
        ] {
            let error = decode(bytes, Format::SPEECH).unwrap_err();
            assert!(matches!(&error, Error::BadArgs(_)) && error.message().contains(part), "{error}");
        }
        for at in 0..60 {
            for byte in [0, 1, 255] {
                let mut other = good[..2_000].to_vec();
                other[at] = byte;
                let _ = decode(&other, Format::SPEECH);
            }
        }
        let long = tone(spec(4_000, 8, 1, SampleFormat::Int));
        let (header, second) = (long[..44].to_vec(), long[44..].repeat(2));
        let mut whole = [header, second.repeat(301)].concat();
        let length = (whole.len() - 44) as u32;
        whole[4..8].copy_from_slice(&(length + 36).to_le_bytes());
        whole[40..44].copy_from_slice(&length.to_le_bytes());
        let error = decode(&whole, Format::SPEECH).unwrap_err();
        assert!(error.message().contains("300 seconds"), "{error}");
    }

    /// Of a file of 20 MB nothing is in memory but the file and what is made of it. In a process of its own, since the high-water
    /// mark is that of a process.
    #[test]
    fn a_large_file_needs_little_memory() {
        const CHILD: &str = "HOB_TEST_LARGE_WAV";
        if std::env::var_os(CHILD).is_none() {
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["--exact", "wav::tests::a_large_file_needs_little_memory", "--nocapture"]).env(CHILD, "1");
            let ended = child.output().unwrap();
            let said = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
            assert!(ended.status.success() && said.contains("1 passed"), "{said}");
            return;
        }
        let small = tone(spec(48_000, 16, 2, SampleFormat::Int));
        let mut large = vec![0; 20_000_000];
        large.fill(7);
        large[..44].copy_from_slice(&small[..44]);
        let length = (large.len() - 44) as u32;
        large[4..8].copy_from_slice(&(length + 36).to_le_bytes());
        large[40..44].copy_from_slice(&length.to_le_bytes());
        let peak_kb = || {
            let status = std::fs::read_to_string("/proc/self/status").unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
            line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
        };
        let before = peak_kb();
        let audio = decode(&large, Format::SPEECH).unwrap();
        assert_eq!(audio.bytes.len(), 2 * (4_999_989 / 3));
        let more = peak_kb() - before;
        assert!(more < 8_000, "{more} kB more than before");
    }

    #[test]
    fn audio_becomes_a_file() {
        for width in 1..=4u16 {
            let format = Format { rate: 22_050, width, channels: 1 };
            // A piece of a sample at the end is dropped.
            let audio = Audio { format, bytes: vec![7; 22_050 * usize::from(width) + usize::from(width > 1)] };
            let (bytes, seconds) = encode(&audio).unwrap();
            assert_eq!(seconds, 1.0);
            let reader = WavReader::new(Cursor::new(&bytes)).unwrap();
            assert_eq!((reader.spec().sample_rate, reader.duration()), (22_050, 22_050));
            assert_eq!(bytes[bytes.len() - usize::from(width)..], vec![7; width.into()][..]);
        }
    }
}
