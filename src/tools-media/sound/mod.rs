//! Facts about sound files by their headers, and files cut into parts: WAV, MP3, FLAC, OGG and M4A, without decoding any sound.

mod boxes;
mod checks;
mod cut;
mod flac;
mod flac_cut;
mod id3;
mod m4a_cut;
mod mp3;
mod ogg;
mod ogg_cut;
mod riff;
mod split;

pub(crate) use split::split_audio;

use crate::{
    MediaTools,
    source::{Kind, Named},
};
use bytes::Bytes;
use text_kit::truncate;
use tool::prelude::*;
use workspace::OpenFile;

/// The longest text of a tag, in characters.
const TAG: usize = 200;

/// Where the bytes of a file are.
pub(crate) enum Sound {
    Bytes(Bytes),
    File(OpenFile),
}

impl Sound {
    pub fn size(&self) -> u64 {
        match self {
            Sound::Bytes(bytes) => bytes.len() as u64,
            Sound::File(file) => file.entry.size,
        }
    }

    /// Up to `most` bytes from an offset. Blocks on the disk.
    pub fn read(&self, at: u64, most: usize) -> Result<Vec<u8>> {
        match self {
            Sound::Bytes(bytes) => {
                let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
                Ok(bytes[start..start.saturating_add(most).min(bytes.len())].to_vec())
            }
            Sound::File(file) => file.read_at(at, most),
        }
    }

    /// Exactly so many bytes.
    pub fn exact<const N: usize>(&self, at: u64) -> Result<Option<[u8; N]>> {
        Ok(self.read(at, N)?.try_into().ok())
    }
}

/// What the headers of a file say.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Facts {
    /// WAV, MP3, FLAC, OGG or M4A.
    pub format: &'static str,
    pub codec: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    pub sample_rate: u32,
    pub channels: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bits_per_sample: Option<u16>,
    /// Kilobits a second, on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kbps: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artist: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub album: Option<String>,
}

impl Facts {
    /// Sets a tag that has none yet.
    fn tag(&mut self, key: &str, value: &str) {
        let to = match key.to_ascii_lowercase().as_str() {
            "title" | "tit2" | "tt2" => &mut self.title,
            "artist" | "tpe1" | "tp1" => &mut self.artist,
            "album" | "talb" | "tal" => &mut self.album,
            _ => return,
        };
        let plain: String = value.chars().filter(|c| !c.is_control()).take(2 * TAG).collect();
        let plain = truncate(plain.trim(), TAG);
        if to.is_none() && !plain.is_empty() {
            *to = Some(plain);
        }
    }
}

/// Reads the headers of a file; `None` where it is none of the known formats.
pub(crate) fn facts(sound: &Sound) -> Result<Option<Facts>> {
    let start = sound.read(0, 64)?;
    let found = match &start[..] {
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'A', b'V', b'E', ..] => riff::facts(sound)?,
        [b'f', b'L', b'a', b'C', ..] => flac::facts(sound, 0)?,
        [b'O', b'g', b'g', b'S', ..] => ogg::facts(sound)?,
        [_, _, _, _, b'f', b't', b'y', b'p', ..] => boxes::facts(sound)?,
        _ => mp3::facts(sound)?,
    };
    Ok(found.map(|mut facts| {
        facts.seconds = facts.seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        if let (None, Some(seconds)) = (facts.kbps, facts.seconds.filter(|seconds| *seconds > 0.0)) {
            facts.kbps = Some((sound.size() as f64 * 8.0 / seconds / 1000.0).round() as u32);
        }
        facts
    }))
}

/// The facts about a file in memory.
pub(crate) fn facts_of(bytes: &Bytes) -> Option<Facts> {
    facts(&Sound::Bytes(bytes.clone())).ok().flatten()
}

pub(crate) fn be32(bytes: [u8; 4]) -> u64 {
    u32::from_be_bytes(bytes).into()
}

/// Get facts about an audio file: format, codec, duration, sample rate, channels, bit rate and tags. WAV, MP3, FLAC, OGG and M4A.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Info {
    /// The file: its path in the workspace, the id of a file that was sent, or a URL.
    path: String,
}

pub(crate) async fn audio_info(tools: MediaTools, cx: Cx, args: Info) -> Result<Output> {
    let sound = tools.sound(&cx, "audio_info", &args.path).await?;
    let read = tool::blocking("reading the file", move || facts(&sound).map(|found| (found, sound.size())));
    let (found, size) = read.await?;
    let facts = found.ok_or_else(|| unknown(&args.path))?;
    let mut sentence = format!("It is a {} file", facts.format);
    if let Some(seconds) = facts.seconds {
        sentence += &format!(", {} long", text_kit::duration_words(seconds.round() as i64));
    }
    let mut content =
        serde_json::to_value(&facts).map_err(|e| Error::failed(format!("the facts cannot be written: {e}")))?;
    content["size"] = size.into();
    // Titles are the words of whoever made the file.
    let output = Output::json(content)?.say(format!("{sentence}."));
    let has_words = facts.title.is_some() || facts.artist.is_some() || facts.album.is_some();
    Ok(if has_words { output.from_outside() } else { output })
}

fn unknown(path: &str) -> Error {
    let path = truncate(path, 100);
    Error::bad_args(format!("`{path}` is no sound file that can be read: give a WAV, MP3, FLAC, OGG or M4A file"))
}

impl MediaTools {
    /// A sound file that a call names; one in the workspace may be of any size.
    pub(crate) async fn sound(&self, cx: &Cx, tool: &'static str, text: &str) -> Result<Sound> {
        let text = text.trim();
        let elsewhere = text.contains("://")
            || text.starts_with("data:")
            || text.strip_prefix("/api/v1/files/").unwrap_or(text).parse::<Id>().is_ok();
        if elsewhere || text.is_empty() {
            let named = Named { tool, parameter: "path", text, kind: Kind::Audio };
            return Ok(Sound::Bytes(self.open(cx, &named).await?.bytes));
        }
        let located = self.workspaces.locate(cx, text)?;
        let file = self.workspaces.open_file(cx, &located).await?;
        Ok(Sound::File(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every known format, minimal and valid.
    pub(super) fn samples() -> Vec<(&'static str, Vec<u8>)> {
        vec![
            ("WAV", riff::tests::wav(8_000, 1, 16, 4_000)),
            ("MP3", mp3::tests::mp3(50)),
            ("FLAC", flac::tests::flac(44_100, 2, 16, 88_200)),
            ("OGG", ogg::tests::vorbis(44_100, 2, 132_300)),
            ("OGG", ogg::tests::opus(2, 312, 48_000 * 4 + 312)),
            ("M4A", boxes::tests::m4a(44_100, 2, 5)),
        ]
    }

    #[test]
    fn formats_are_told_by_their_content() {
        let seconds = [0.5, 1.3061, 2.0, 3.0, 4.0, 5.0];
        for ((format, bytes), expected) in samples().into_iter().zip(seconds) {
            let facts = facts_of(&bytes.into()).unwrap();
            assert_eq!(facts.format, format);
            let seconds = facts.seconds.unwrap();
            assert!((seconds - expected).abs() < 0.001, "{format}: {seconds}");
            assert!(facts.sample_rate >= 8_000 && facts.channels >= 1 && facts.kbps.is_some(), "{facts:?}");
        }
        for other in [&b""[..], b"hello, this is a text and no sound at all", b"\x89PNG\r\n\x1a\n", &[0; 4096]] {
            assert_eq!(facts_of(&Bytes::copy_from_slice(other)), None);
        }
    }

    #[test]
    fn broken_files_end_without_a_panic() {
        for (_, bytes) in samples() {
            for length in (0..bytes.len().min(600)).chain([bytes.len() - 1]) {
                let _ = facts_of(&Bytes::copy_from_slice(&bytes[..length]));
            }
            for at in 0..bytes.len().min(400) {
                for byte in [0, 1, 0x7f, 0x80, 0xff] {
                    let mut other = bytes.clone();
                    other[at] = byte;
                    let _ = facts_of(&other.into());
                }
            }
        }
    }
}
