//! Files cut into parts, without decoding any sound: WAV at the sample, MP3, FLAC and M4A at the frame, OGG at the page.

use super::{Facts, Sound, flac_cut, id3, m4a_cut, mp3, ogg_cut, riff};
use tool::prelude::*;

/// How much is copied at once, in bytes.
const BLOCK: u64 = 256 * 1024;

/// A part of a file: what comes before its bytes, and what these are.
pub(crate) struct Part {
    pub head: Vec<u8>,
    pub body: Body,
    pub seconds: f64,
}

/// Where the bytes of a part come from.
pub(crate) enum Body {
    /// Stretches of the file, as they are.
    Copied(Vec<(u64, u64)>),
    /// Frames that are numbered anew.
    Flac(flac_cut::Frames),
    /// Pages that are numbered anew.
    Ogg(ogg_cut::Pages),
}

impl Body {
    /// The next bytes; none at the end. Blocks on the disk.
    pub fn next(&mut self, sound: &Sound) -> Result<Vec<u8>> {
        match self {
            Body::Copied(stretches) => copied(stretches, sound),
            Body::Flac(frames) => block(|| frames.next_numbered(sound)),
            Body::Ogg(pages) => block(|| pages.next_numbered(sound)),
        }
    }
}

/// Pieces up to about a block.
fn block(mut next: impl FnMut() -> Result<Vec<u8>>) -> Result<Vec<u8>> {
    let mut all = vec![];
    while (all.len() as u64) < BLOCK {
        let piece = next()?;
        if piece.is_empty() {
            break;
        }
        all.extend(piece);
    }
    Ok(all)
}

/// The file is not what it was when the parts were made.
pub(crate) fn changed() -> Error {
    Error::failed("the file ended early: it was changed meanwhile. Try again")
}

/// Bytes of the next stretches, the first last.
fn copied(stretches: &mut Vec<(u64, u64)>, sound: &Sound) -> Result<Vec<u8>> {
    let mut all = vec![];
    while let Some((from, to)) = stretches.pop() {
        let most = (to - from).min(BLOCK - all.len() as u64);
        let block = sound.read(from, most as usize)?;
        if (block.len() as u64) < most {
            return Err(changed());
        }
        all.extend(block);
        if from + most < to {
            stretches.push((from + most, to));
        }
        if all.len() as u64 == BLOCK {
            break;
        }
    }
    Ok(all)
}

/// The parts of a file between points in seconds, which are in order.
pub(crate) fn parts(sound: &Sound, found: &Facts, points: &[f64]) -> Result<Vec<Part>> {
    let length = found.seconds.unwrap_or_default();
    if let Some(late) = points.iter().find(|point| **point >= length) {
        return Err(Error::bad_args(format!("`splitPoints` has {late} s, and the file is {length:.3} s long")));
    }
    let parts = match (found.format, found.codec.as_str()) {
        ("WAV", codec) if codec != "MP3" => cut_wav(sound, points),
        ("MP3", _) => cut_mp3(sound, points),
        ("FLAC", _) => flac_cut::cut(sound, points),
        ("OGG", "Vorbis" | "Opus") => ogg_cut::cut(sound, points),
        ("M4A", _) => m4a_cut::cut(sound, points),
        (format, codec) => Err(Error::bad_args(format!(
            "{format} files with {codec} cannot be cut here: convert it first, such as by `ffmpeg -i FILE file.flac`"
        ))),
    }?;
    // A head may claim any length.
    let there: f64 = parts.iter().map(|part| part.seconds).sum();
    let late: Vec<String> = points.iter().filter(|point| **point >= there).map(|point| format!("{point} s")).collect();
    if !late.is_empty() && parts.len() <= points.len() {
        return Err(Error::bad_args(format!(
            "the head of the file claims {length:.3} s, and the sound in it is {there:.3} s long: of `splitPoints`, {} {} beyond its \
             end. Nothing was cut: leave out what is beyond",
            text_kit::join_and(&late),
            if late.len() == 1 { "lies" } else { "lie" }
        )));
    }
    Ok(parts)
}

fn cut_wav(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let wav = riff::parts(sound)?.ok_or_else(|| Error::bad_args("the WAV file has no samples"))?;
    let (start, length) = wav.data;
    let blocks = wav.blocks_a_second().ok_or_else(|| {
        Error::bad_args(
            "the head of the WAV file contradicts itself: its bytes a second are not its rate times the bytes of a sample. It may be \
             damaged: write it anew first, such as by `ffmpeg -i FILE new.wav`",
        )
    })?;
    let edges = points.iter().map(|point| ((point * blocks) as u64).saturating_mul(wav.frame).min(length));
    let edges: Vec<u64> = std::iter::once(0).chain(edges).chain([length]).collect();
    let between = edges.windows(2).filter(|pair| pair[1] > pair[0]);
    Ok(between
        .map(|pair| Part {
            head: riff::head(&wav.format, pair[1] - pair[0]),
            body: Body::Copied(vec![(start + pair[0], start + pair[1])]),
            seconds: ((pair[1] - pair[0]) / wav.frame) as f64 / blocks,
        })
        .collect())
}

fn cut_mp3(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let start = id3::read(sound, &mut Facts::default())?;
    let none = || Error::bad_args("the MP3 file has no frames");
    let mut frames = mp3::Frames::find(sound, start)?.ok_or_else(none)?;
    let first = frames.first();
    let noted = mp3::note(sound, frames.at, first)?.is_some();
    if noted {
        // It tells the length of the whole.
        frames.next()?;
    }
    let (mut parts, mut from, mut samples, mut before) = (vec![], frames.at, 0u64, 0u64);
    let seconds = |samples: u64| samples as f64 / f64::from(first.rate);
    let part =
        |from, to, samples| Part { head: vec![], body: Body::Copied(vec![(from, to)]), seconds: seconds(samples) };
    let mut points = points.iter().peekable();
    let mut end = frames.at;
    while let Some((at, frame)) = frames.next()? {
        if points.next_if(|point| seconds(samples) >= **point).is_some() && at > from {
            parts.push(part(from, at, samples - before));
            (from, before) = (at, samples);
        }
        samples += u64::from(frame.samples);
        end = (at + frame.size as u64).min(sound.size());
    }
    parts.push(part(from, end, samples - before));
    Ok(parts)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sound::{facts, facts_of, flac_cut, m4a_cut, mp3, ogg_cut, riff, tests::samples};

    /// The bytes of a part.
    pub fn whole(mut part: Part, sound: &Sound) -> Vec<u8> {
        let mut all = part.head;
        loop {
            let block = part.body.next(sound).unwrap();
            if block.is_empty() {
                return all;
            }
            all.extend(block);
        }
    }

    #[test]
    fn parts_are_whole_files_that_make_up_the_original() {
        for (name, bytes, exact) in [
            ("WAV", riff::tests::wav(8_000, 2, 16, 16_000), 0.001),
            ("MP3", mp3::tests::mp3(100), 0.03),
            ("FLAC", flac_cut::tests::flac(8_000, &[160; 120], false), 0.021),
            ("FLAC", flac_cut::tests::flac(8_000, &[150, 170, 4_000, 300].repeat(5), true), 0.51),
            ("M4A", m4a_cut::tests::m4a(&[1_024; 90], 3), 0.03),
            ("OGG", ogg_cut::tests::vorbis(100), 0.03),
            ("OGG", ogg_cut::tests::opus(100), 0.03),
        ] {
            let sound = Sound::Bytes(bytes.into());
            let found = facts(&sound).unwrap().unwrap();
            let length = found.seconds.unwrap();
            let parts = parts(&sound, &found, &[0.5, 1.25]).unwrap();
            assert_eq!(parts.len(), 3, "{name}");
            let mut sum = 0.0;
            for (n, part) in parts.into_iter().enumerate() {
                let told = part.seconds;
                assert!(n > 0 || told >= 0.5 && told < 0.5 + exact, "{name}: {told}");
                let file = whole(part, &sound);
                let found = facts_of(&file.into()).unwrap();
                assert_eq!(found.format, name);
                let seconds = found.seconds.unwrap();
                assert!((seconds - told).abs() < 1e-6, "{name}: {seconds} {told}");
                sum += seconds;
            }
            assert!((sum - length).abs() < 1e-6, "{name}: {sum} of {length}");
        }
    }

    #[test]
    fn parts_can_be_cut_again() {
        for (name, bytes) in [
            ("FLAC", flac_cut::tests::flac(8_000, &[160; 200], false)),
            ("M4A", m4a_cut::tests::m4a(&[1_024; 200], 7)),
            ("OGG", ogg_cut::tests::vorbis(200)),
            ("OGG", ogg_cut::tests::opus(200)),
        ] {
            let mut sound = Sound::Bytes(bytes.into());
            for _ in 0..3 {
                let found = facts(&sound).unwrap().unwrap();
                let mut all = parts(&sound, &found, &[found.seconds.unwrap() / 2.0]).unwrap();
                assert_eq!(all.len(), 2, "{name}");
                let last = all.remove(1);
                sound = Sound::Bytes(whole(last, &sound).into());
            }
        }
    }

    #[test]
    fn a_wav_file_that_contradicts_itself_is_refused() {
        let wav = riff::tests::wav(8_000, 2, 16, 16_000);
        for (at, bytes) in [(24, [0xff; 4]), (28, [1, 0, 0, 0]), (32, [8, 0, 16, 0]), (22, [0xff, 0xff, 0x40, 0x1f])] {
            let mut odd = wav.clone();
            odd[at..at + 4].copy_from_slice(&bytes);
            let sound = Sound::Bytes(odd.into());
            let found = facts(&sound).unwrap().unwrap();
            let point = found.seconds.unwrap() / 2.0;
            let why = parts(&sound, &found, &[point]).map(|parts| parts.len()).unwrap_err().to_string();
            assert!(why.contains("contradicts itself"), "{at}: {why}");
        }
        // 20 s of a codec with several samples in a block: it is cut by its bytes a second.
        let mut coded = riff::tests::wav(8_000, 2, 16, 20_275);
        (coded[20], coded[28], coded[29]) = (0x11, 0xd7, 0x0f);
        let sound = Sound::Bytes(coded.into());
        let found = facts(&sound).unwrap().unwrap();
        let seconds: Vec<f64> = parts(&sound, &found, &[5.0]).unwrap().iter().map(|part| part.seconds).collect();
        assert!((seconds[0] - 5.0).abs() < 0.01 && (seconds[1] - 15.0).abs() < 0.1, "{seconds:?}");
    }

    #[test]
    fn points_beyond_the_sound_in_the_file_are_named() {
        let mut flac = flac_cut::tests::flac(8_000, &[160; 100], false);
        // More than 100 hours are claimed.
        flac[21] = 0xf1;
        let sound = Sound::Bytes(flac.into());
        let found = facts(&sound).unwrap().unwrap();
        assert!(found.seconds.unwrap() > 1_000.0);
        let why = parts(&sound, &found, &[1.0, 3.0, 60.5]).map(|parts| parts.len()).unwrap_err().to_string();
        assert!(why.contains("is 2.000 s long") && why.contains("3 s and 60.5 s lie beyond"), "{why}");
        assert_eq!(parts(&sound, &found, &[1.0]).unwrap().len(), 2);
    }

    #[test]
    fn late_points_and_files_without_frames_are_refused() {
        for (format, bytes) in samples() {
            let sound = Sound::Bytes(bytes.into());
            let found = facts(&sound).unwrap().unwrap();
            assert!(parts(&sound, &found, &[3600.0]).is_err(), "{format}");
            // The samples of these have headers, and no frames that could be cut.
            let cut = parts(&sound, &found, &[0.1]);
            assert!(cut.is_err() || !["FLAC", "M4A"].contains(&format), "{format}");
        }
    }

    #[test]
    fn broken_files_end_without_a_panic() {
        for (name, bytes) in [
            ("FLAC", flac_cut::tests::flac(8_000, &[160; 6], false)),
            ("M4A", m4a_cut::tests::m4a(&[1_024; 6], 5)),
            ("OGG", ogg_cut::tests::vorbis(4)),
            ("OGG", ogg_cut::tests::opus(4)),
        ] {
            let try_it = |bytes: Vec<u8>| {
                let size = bytes.len();
                let sound = Sound::Bytes(bytes.into());
                let Ok(Some(found)) = facts(&sound) else { return };
                for mut part in parts(&sound, &found, &[0.05]).unwrap_or_default() {
                    let mut made = part.head.len();
                    while let Ok(block) = part.body.next(&sound) {
                        if block.is_empty() {
                            break;
                        }
                        made += block.len();
                        assert!(made < 4 * size + 8_192, "{name}: it grows");
                    }
                }
            };
            for length in 0..bytes.len() {
                try_it(bytes[..length].to_vec());
            }
            for at in 0..bytes.len() {
                for byte in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut other = bytes.clone();
                    other[at] = byte;
                    try_it(other);
                }
            }
        }
    }
}
