//! Results become files of the workspace, marked as from outside. Nothing that is there is replaced.

use crate::{
    MediaTools,
    source::{FETCH_RESULT, Kind, extension},
};
use bytes::Bytes;
use media::MadeFile;
use text_kit::truncate;
use tool::{Label, prelude::*};
use workspace::{Expect, Located, WriteOptions, Written};

/// The largest result, in bytes; those behind a link, such as videos, go to the disk as they come.
const LARGEST: u64 = 256 << 20;
/// How much is written at once, in bytes.
const BLOCK: usize = 256 << 10;
/// How often another name is looked for where somebody else takes the free one meanwhile.
const TRIES: usize = 5;
/// The longest part of a prompt in a name, in characters.
const SLUG: usize = 40;

/// Where results go.
#[derive(Clone)]
pub(crate) struct Target {
    tool: &'static str,
    /// The file or, for a path with `/` at its end, the folder with the first part of the name.
    located: Located,
    kind: Kind,
}

/// A file that was saved.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Saved {
    pub path: String,
    media_type: String,
    size: u64,
    version: String,
    /// Where the page shows it.
    url: String,
}

impl MediaTools {
    /// Where the results of a call go: into `path`, else into a folder by the kind of thing. Asked before anything is paid for.
    pub(crate) async fn target(
        &self,
        cx: &Cx,
        tool: &'static str,
        (path, prompt): (Option<&str>, &str),
        kind: Kind,
    ) -> Result<Target> {
        let today = cx.ports().clock.local().date();
        let usual = format!("{today} {}", slug(prompt, kind));
        let path = path.map(str::trim).filter(|path| !path.is_empty());
        let located = match path {
            Some(folder) if folder.ends_with('/') => self.workspaces.locate(cx, folder)?.join(&usual),
            Some(path) => self.workspaces.locate(cx, path)?,
            None => {
                let folder = match kind {
                    Kind::Image => "pictures",
                    Kind::Audio => "sounds",
                    Kind::Video => "videos",
                };
                self.workspaces.locate(cx, folder)?.join(&usual)
            }
        };
        if located.name().is_none() {
            return Err(Error::bad_args(
                "`path` names a place: give the name of a file, or of a folder with / at its end",
            ));
        }
        if located.is_read_only() {
            return Err(Error::denied(format!(
                "`{}` is in a place that is only read: choose another `path`",
                located.display()
            )));
        }
        if path.is_some_and(|path| !path.ends_with('/')) && self.workspaces.exists(cx, &located).await? {
            return Err(Error::bad_args(format!("`{}` exists already: choose another name", located.display())));
        }
        Ok(Target { tool, located, kind })
    }

    /// Saves a result.
    pub(crate) async fn save(&self, cx: &Cx, target: &Target, file: MadeFile) -> Result<Saved> {
        match file {
            MadeFile::Bytes(bytes) => self.save_bytes(cx, target, bytes).await,
            MadeFile::Link(url) => self.save_link(cx, target, &url).await,
        }
    }

    async fn save_bytes(&self, cx: &Cx, target: &Target, bytes: Bytes) -> Result<Saved> {
        let media_type = checked_type(target, &bytes)?;
        let wished = target.named(&media_type);
        let mut tries = 0..TRIES;
        loop {
            let located = self.workspaces.free_name(&wished).await?;
            match self.workspaces.write(cx, &located, bytes.to_vec(), options()).await {
                // Somebody else took the name.
                Err(Error::BadArgs(_)) if tries.next().is_some() && self.workspaces.exists(cx, &located).await? => {}
                written => return Ok(saved(&located, written?, media_type)),
            }
        }
    }

    /// Fetches a result through the guard, onto the disk as it comes.
    async fn save_link(&self, cx: &Cx, target: &Target, url: &str) -> Result<Saved> {
        let mut answer = self.follow(cx, target.tool, url, (false, FETCH_RESULT)).await?;
        if !answer.is_success() {
            return Err(Error::failed(format!(
                "the result could not be fetched: its server answered {}",
                answer.status
            )));
        }
        let (mut block, mut staged, mut media_type) = (vec![], None, None);
        let (staged, media_type) = loop {
            let piece = tokio::select! {
                () = cx.cancel().cancelled() => return Err(Error::unavailable("it was stopped")),
                piece = answer.chunk() => piece?,
            };
            if let Some(piece) = &piece {
                block.extend_from_slice(piece);
            }
            if block.len() < BLOCK && piece.is_some() {
                continue;
            }
            // The first block shows what it is, before anything is on the disk.
            let media_type = match &media_type {
                Some(known) => known,
                None => media_type.insert(checked_type(target, &block)?),
            };
            let stage = match staged.take() {
                Some(staged) => staged,
                None => self.workspaces.stage(cx, &target.located).await?,
            };
            let size = workspace::Staged::size(&stage) + block.len() as u64;
            if size > LARGEST {
                return Err(Error::failed(format!(
                    "the result is larger than {} MB: nothing was saved",
                    LARGEST >> 20
                )));
            }
            let stage = if block.is_empty() { stage } else { stage.receive(std::mem::take(&mut block).into()).await? };
            if piece.is_none() {
                break (stage, media_type.clone());
            }
            staged = Some(stage);
        };
        let located = self.workspaces.free_name(&target.named(&media_type)).await?;
        let written = self.workspaces.write_staged(cx, &located, staged, options()).await?;
        Ok(saved(&located, written, media_type))
    }
}

fn options() -> WriteOptions {
    WriteOptions { expect: Expect::Absent, parents: true, label: Label::Outside, ..WriteOptions::default() }
}

/// A file that was written, as results tell it.
pub(crate) fn saved(located: &Located, written: Written, media_type: String) -> Saved {
    let (place, path) =
        (text_kit::percent_encode(located.place_id()), text_kit::percent_encode(&located.path().text()));
    Saved {
        path: located.display(),
        media_type,
        size: written.entry.size,
        version: written.entry.version,
        url: format!("/api/v1/workspace/file?place={place}&path={path}"),
    }
}

/// The media type by content, if it is what was asked for: a page of a provider is no picture.
fn checked_type(target: &Target, bytes: &[u8]) -> Result<String> {
    let media_type = uploads::media_type(bytes, "", "");
    let fits = match target.kind {
        Kind::Image => media_type.starts_with("image/"),
        Kind::Audio => media_type.starts_with("audio/"),
        Kind::Video => media_type.starts_with("video/"),
    };
    match fits {
        true => Ok(media_type),
        false => Err(Error::failed(format!(
            "the provider gave a file of the type {}, which is no {}: nothing was saved. Try again, or with another `provider`",
            truncate(&media_type, 60),
            target.kind.words()
        ))),
    }
}

impl Target {
    /// The wished name, with the ending of what came.
    fn named(&self, media_type: &str) -> Located {
        let name = self.located.name().unwrap_or("file");
        let stem = match name.rsplit_once('.') {
            Some((stem, end)) if workspace::media_type_of(name) != "application/octet-stream" && !end.contains(' ') => {
                stem
            }
            _ => name,
        };
        let folder = self.located.parent().unwrap_or_else(|| self.located.clone());
        folder.join(&format!("{stem}.{}", extension(media_type)))
    }
}

/// The beginning of a prompt as a part of a name.
fn slug(prompt: &str, kind: Kind) -> String {
    let words = prompt.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = String::new();
    for word in words {
        if slug.chars().count() + word.chars().count() >= SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug += &word.to_lowercase();
    }
    if slug.is_empty() { kind.words().to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_of_prompts() {
        for (prompt, expected) in [
            ("A cat in a hat, oil on canvas", "a-cat-in-a-hat-oil-on-canvas"),
            ("../../etc/passwd", "etc-passwd"),
            ("Übergröße: ein Fluß", "übergröße-ein-fluß"),
            ("!!!", "picture"),
            (&"x".repeat(100), "picture"),
        ] {
            assert_eq!(slug(prompt, Kind::Image), expected, "{prompt}");
        }
        assert!(slug(&"word ".repeat(50), Kind::Image).chars().count() <= SLUG);
    }
}
