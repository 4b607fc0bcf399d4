//! The tool `split_audio`: WAV and MP3 files are cut without decoding them.

use super::{Facts, Sound, facts, id3, mp3, riff, unknown};
use crate::MediaTools;
use std::sync::Arc;
use tool::{Label, prelude::*};
use workspace::{Expect, Located, WriteOptions};

/// The most points.
const POINTS: usize = 50;
/// The largest file that is cut, and how much is copied at once, in bytes.
const LARGEST: u64 = 1 << 30;
const BLOCK: usize = 256 * 1024;

/// Split an audio file at points in time into new files in the workspace; the original stays. WAV is cut at the sample, MP3 at the
/// frame (26 ms); other formats have to be converted first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct SplitArgs {
    /// The file: its path in the workspace, the id of a file that was sent, or a URL.
    path: String,
    /// Points in time in seconds, or as "mm:ss" or "h:mm:ss"; 50 at most. Two points make three files.
    split_points: Vec<Point>,
    /// The folder of the new files (default: that of the file, or sounds/).
    folder: Option<String>,
}

/// A point in time.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Point {
    /// In seconds.
    Seconds(f64),
    /// As `mm:ss`.
    Text(String),
}

impl Point {
    fn seconds(&self) -> Option<f64> {
        let seconds = match self {
            Point::Seconds(seconds) => *seconds,
            Point::Text(text) => {
                let parts: Option<Vec<f64>> = text.trim().split(':').map(|part| part.trim().parse().ok()).collect();
                let parts = parts.filter(|parts| (1..=3).contains(&parts.len()) && parts.iter().all(|p| *p >= 0.0))?;
                parts.iter().fold(0.0, |sum, part| sum * 60.0 + part)
            }
        };
        (seconds.is_finite() && seconds > 0.0).then_some(seconds)
    }
}

/// A part of a file: what comes before its bytes, and where these are.
#[derive(Debug, Clone, PartialEq)]
struct Part {
    head: Vec<u8>,
    from: u64,
    to: u64,
    seconds: f64,
}

pub(crate) async fn split_audio(tools: MediaTools, cx: Cx, args: SplitArgs) -> Result<Output> {
    let points = points(&args.split_points)?;
    let sound = Arc::new(tools.sound(&cx, "split_audio", &args.path).await?);
    if sound.size() > LARGEST {
        return Err(Error::bad_args("the file is larger than 1 GB: cut it with ffmpeg, or send a smaller one"));
    }
    let (reading, path) = (sound.clone(), args.path.clone());
    let (found, parts) = tool::blocking("reading the file", move || {
        let found = facts(&reading)?.ok_or_else(|| unknown(&path))?;
        let parts = parts(&reading, &found, &points)?;
        Ok((found, parts))
    })
    .await?;
    let extension = if found.format == "WAV" { "wav" } else { "mp3" };
    let (folder, stem) = tools.place(&cx, &args, &sound)?;
    let mut files = vec![];
    for (n, part) in parts.iter().enumerate() {
        cx.progress(&format!("Writing part {} of {}", n + 1, parts.len()));
        let located = tools.free(&cx, &folder, &format!("{stem}-{}", n + 1), extension).await?;
        let mut staged = tools.workspaces.stage(&cx, &located).await?;
        staged = staged.receive(part.head.clone().into()).await?;
        let mut at = part.from;
        while at < part.to {
            if cx.cancel().is_cancelled() {
                return Err(Error::unavailable(format!(
                    "it was stopped after {} of {} parts",
                    files.len(),
                    parts.len()
                )));
            }
            let (sound, most) = (sound.clone(), BLOCK.min(usize::try_from(part.to - at).unwrap_or(BLOCK)));
            let block = tool::blocking("reading the file", move || sound.read(at, most)).await?;
            if block.is_empty() {
                return Err(Error::failed("the file ended early: it was changed meanwhile. Try again"));
            }
            at += block.len() as u64;
            staged = staged.receive(block.into()).await?;
        }
        let label = if matches!(*sound, Sound::Bytes(_)) { Label::Outside } else { Label::Own };
        let options = WriteOptions { expect: Expect::Absent, parents: true, label, ..WriteOptions::default() };
        let written = tools.workspaces.write_staged(&cx, &located, staged, options).await?;
        let seconds = (part.seconds * 1000.0).round() / 1000.0;
        files.push(json!({"path": located.display(), "seconds": seconds, "size": written.entry.size}));
    }
    let count = files.len();
    let names = files.first().zip(files.last()).map(|(a, b)| format!("{} to {}", a["path"], b["path"]));
    let sentence = format!("I cut it into {count} parts: {}.", names.unwrap_or_default().replace('"', ""));
    Ok(Output::json(json!({"format": found.format, "files": files}))?.say(sentence))
}

fn points(given: &[Point]) -> Result<Vec<f64>> {
    if given.is_empty() || given.len() > POINTS {
        return Err(Error::bad_args(format!("`splitPoints` has {} points: give 1 to {POINTS}", given.len())));
    }
    let read: Option<Vec<f64>> = given.iter().map(Point::seconds).collect();
    let mut points = read.ok_or_else(|| {
        Error::bad_args("`splitPoints` has something that is no point in time: give seconds above 0, or \"mm:ss\"")
    })?;
    points.sort_by(f64::total_cmp);
    points.dedup();
    Ok(points)
}

fn parts(sound: &Sound, found: &Facts, points: &[f64]) -> Result<Vec<Part>> {
    let length = found.seconds.unwrap_or_default();
    if let Some(late) = points.iter().find(|point| **point >= length) {
        return Err(Error::bad_args(format!("`splitPoints` has {late} s, and the file is {length:.3} s long")));
    }
    match (found.format, found.codec.as_str()) {
        ("WAV", codec) if codec != "MP3" => cut_wav(sound, points),
        ("MP3", _) => cut_mp3(sound, points),
        (format, _) => Err(Error::bad_args(format!(
            "{format} files cannot be cut here, only WAV and MP3: convert it first, such as by `ffmpeg -i FILE file.wav`"
        ))),
    }
}

fn cut_wav(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let wav = riff::parts(sound)?.ok_or_else(|| Error::bad_args("the WAV file has no samples"))?;
    let (start, length) = wav.data;
    let edges = points.iter().map(|point| ((point * f64::from(wav.rate)) as u64 * wav.frame).min(length));
    let edges: Vec<u64> = std::iter::once(0).chain(edges).chain([length]).collect();
    let between = edges.windows(2).filter(|pair| pair[1] > pair[0]);
    Ok(between
        .map(|pair| Part {
            head: riff::head(&wav.format, pair[1] - pair[0]),
            from: start + pair[0],
            to: start + pair[1],
            seconds: ((pair[1] - pair[0]) / wav.frame) as f64 / f64::from(wav.rate),
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
    let mut points = points.iter().peekable();
    let mut end = frames.at;
    while let Some((at, frame)) = frames.next()? {
        if points.next_if(|point| seconds(samples) >= **point).is_some() && at > from {
            parts.push(Part { head: vec![], from, to: at, seconds: seconds(samples - before) });
            (from, before) = (at, samples);
        }
        samples += u64::from(frame.samples);
        end = (at + frame.size as u64).min(sound.size());
    }
    parts.push(Part { head: vec![], from, to: end, seconds: seconds(samples - before) });
    Ok(parts)
}

impl MediaTools {
    /// The folder of the parts, and the beginning of their names.
    fn place(&self, cx: &Cx, args: &SplitArgs, sound: &Sound) -> Result<(Located, String)> {
        let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
        let source = match sound {
            Sound::File(_) => Some(self.workspaces.locate(cx, args.path.trim())?),
            Sound::Bytes(_) => None,
        };
        let name = source.as_ref().and_then(|located| located.name()).map_or_else(|| "sound".to_owned(), stem);
        let folder = match (args.folder.as_deref().map(str::trim).filter(|folder| !folder.is_empty()), source) {
            (Some(folder), _) => self.workspaces.locate(cx, folder)?,
            (None, Some(located)) if !located.is_read_only() => {
                located.parent().ok_or_else(|| Error::bad_args("`path` names no file"))?
            }
            _ => self.workspaces.locate(cx, "sounds")?,
        };
        Ok((folder, name))
    }

    /// A name that is free.
    async fn free(&self, cx: &Cx, folder: &Located, stem: &str, extension: &str) -> Result<Located> {
        for n in 1..=200 {
            let name = if n == 1 { format!("{stem}.{extension}") } else { format!("{stem} ({n}).{extension}") };
            let located = folder.join(&name);
            if !self.workspaces.exists(cx, &located).await? {
                return Ok(located);
            }
        }
        Err(Error::bad_args("there are too many files with such names already: give another `folder`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_read() {
        for (point, expected) in [
            (Point::Seconds(1.5), Some(1.5)),
            (Point::Text("90".into()), Some(90.0)),
            (Point::Text("1:30".into()), Some(90.0)),
            (Point::Text("1:00:00.5".into()), Some(3600.5)),
            (Point::Text("1:-30".into()), None),
            (Point::Text("a".into()), None),
            (Point::Text("1:2:3:4".into()), None),
            (Point::Seconds(0.0), None),
            (Point::Seconds(f64::INFINITY), None),
        ] {
            assert_eq!(point.seconds(), expected);
        }
    }

    #[test]
    fn parts_are_whole_files_that_make_up_the_original() {
        for (name, bytes) in [("WAV", riff::tests::wav(8_000, 2, 16, 16_000)), ("MP3", mp3::tests::mp3(100))] {
            let sound = Sound::Bytes(bytes.into());
            let found = facts(&sound).unwrap().unwrap();
            let length = found.seconds.unwrap();
            let parts = parts(&sound, &found, &[0.5, 1.25]).unwrap();
            assert_eq!(parts.len(), 3, "{name}");
            let mut sum = 0.0;
            for part in &parts {
                let body = sound.read(part.from, (part.to - part.from) as usize).unwrap();
                let file = [part.head.clone(), body].concat();
                let found = super::super::facts_of(&file.into()).unwrap();
                assert_eq!(found.format, name);
                let seconds = found.seconds.unwrap();
                assert!((seconds - part.seconds).abs() < 1e-6, "{name}: {seconds} {part:?}");
                sum += seconds;
            }
            assert!((sum - length).abs() < 1e-6, "{name}: {sum} of {length}");
            assert!((parts[0].seconds - 0.5).abs() < 0.03, "{name}: {parts:?}");
        }
    }

    #[test]
    fn other_formats_and_late_points_are_refused() {
        for (format, bytes) in super::super::tests::samples() {
            let sound = Sound::Bytes(bytes.into());
            let found = facts(&sound).unwrap().unwrap();
            assert!(parts(&sound, &found, &[3600.0]).is_err(), "{format}");
            let cut = parts(&sound, &found, &[0.1]);
            assert_eq!(cut.is_ok(), ["WAV", "MP3"].contains(&format), "{format}");
        }
    }
}
