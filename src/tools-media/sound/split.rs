//! The tool `split_audio`: files are cut without decoding them.

use super::{Sound, cut::parts, facts, unknown};
use crate::{MediaTools, save::saved};
use std::sync::Arc;
use tool::{Label, prelude::*};
use workspace::{Expect, Located, WriteOptions};

/// The most points.
const POINTS: usize = 50;
/// The largest file that is cut, in bytes.
const LARGEST: u64 = 1 << 30;

/// Split an audio file at points in time into new files of the same format in the workspace; the original stays. WAV is cut at the
/// sample, MP3 and M4A at the frame (26 ms), FLAC at the frame (0.1 s), OGG at the page (1 s at most).
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

pub(crate) async fn split_audio(tools: MediaTools, cx: Cx, args: SplitArgs) -> Result<Output> {
    let points = points(&args.split_points)?;
    let sound = Arc::new(tools.sound(&cx, "split_audio", &args.path).await?);
    if sound.size() > LARGEST {
        return Err(Error::bad_args("the file is larger than 1 GB: cut it with ffmpeg, or send a smaller one"));
    }
    let wanted = points.len() + 1;
    let (reading, path) = (sound.clone(), args.path.clone());
    let (found, parts) = tool::blocking("reading the file", move || {
        let found = facts(&reading)?.ok_or_else(|| unknown(&path))?;
        let parts = parts(&reading, &found, &points)?;
        Ok((found, parts))
    })
    .await?;
    let extension = found.format.to_lowercase();
    let (folder, stem) = tools.place(&cx, &args, &sound)?;
    let (total, mut files) = (parts.len(), vec![]);
    for (n, mut part) in parts.into_iter().enumerate() {
        cx.progress(&format!("Writing part {} of {total}", n + 1));
        let located = tools.workspaces.free_name(&folder.join(&format!("{stem}-{}.{extension}", n + 1))).await?;
        let mut staged = tools.workspaces.stage(&cx, &located).await?;
        staged = staged.receive(part.head.into()).await?;
        loop {
            if cx.cancel().is_cancelled() {
                return Err(Error::unavailable(format!("it was stopped after {n} of {total} parts")));
            }
            let sound = sound.clone();
            let (block, body) = tool::blocking("reading the file", move || {
                let block = part.body.next(&sound)?;
                Ok((block, part.body))
            })
            .await?;
            part.body = body;
            if block.is_empty() {
                break;
            }
            staged = staged.receive(block.into()).await?;
        }
        let label = if matches!(*sound, Sound::Bytes(_)) { Label::Outside } else { Label::Own };
        let options = WriteOptions { expect: Expect::Absent, parents: true, label, ..WriteOptions::default() };
        let written = tools.workspaces.write_staged(&cx, &located, staged, options).await?;
        let media_type = written.entry.media_type.clone().unwrap_or_else(|| format!("audio/{extension}"));
        let saved = serde_json::to_value(saved(&located, written, media_type));
        let mut saved = saved.map_err(|e| Error::failed(format!("the result cannot be written: {e}")))?;
        saved["seconds"] = json!((part.seconds * 1000.0).round() / 1000.0);
        files.push(saved);
    }
    let count = files.len();
    let names = files.first().zip(files.last()).map(|(a, b)| match count {
        1 => a["path"].to_string(),
        _ => format!("{} to {}", a["path"], b["path"]),
    });
    let names = names.unwrap_or_default().replace('"', "");
    let mut sentence = format!("I cut it into {}: {names}.", text_kit::counted(count, "part"));
    if count < wanted {
        sentence += " It has fewer cuts than points: points within one frame of the sound make one cut, and within the last none.";
    }
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
}
