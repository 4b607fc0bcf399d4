//! Where files come from: the workspace, what people sent, or the internet.

use crate::MediaTools;
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http_client::{Fetch, MAX_REDIRECTS, Streamed};
use media::Blob;
use std::time::{Duration, Instant};
use text_kit::truncate;
use tool::{Consult, Label, prelude::*};

/// How long a file that is read, and one that a provider made, may take to come from the internet.
const FETCH: Duration = Duration::from_secs(60);
pub(crate) const FETCH_RESULT: Duration = Duration::from_secs(300);

/// What a file is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Image,
    Audio,
    Video,
}

impl Kind {
    /// The largest file that is read, in bytes.
    pub fn largest(self) -> u64 {
        match self {
            Kind::Image => 10 << 20,
            Kind::Audio | Kind::Video => 20 << 20,
        }
    }

    /// The name of its parameter and of the thing.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Image => "picture",
            Kind::Audio => "sound",
            Kind::Video => "video",
        }
    }

    /// Whether a media type is one that providers read.
    fn reads(self, media_type: &str) -> bool {
        match self {
            Kind::Image => ["image/png", "image/jpeg", "image/webp", "image/gif"].contains(&media_type),
            // Recordings are often in the containers of video.
            Kind::Audio => {
                media_type.starts_with("audio/") || ["video/mp4", "video/webm", "video/x-m4v"].contains(&media_type)
            }
            Kind::Video => media_type.starts_with("video/"),
        }
    }

    fn unreadable(self, parameter: &str, media_type: &str) -> Error {
        let media_type = truncate(media_type, 60);
        Error::bad_args(match self {
            Kind::Image => {
                format!("`{parameter}` is a file of the type {media_type}: give a PNG, JPEG, WebP or GIF picture")
            }
            Kind::Audio => format!(
                "`{parameter}` is a file of the type {media_type}: give a sound file, such as WAV, MP3, FLAC, OGG or M4A"
            ),
            Kind::Video => {
                format!("`{parameter}` is a file of the type {media_type}: give a video, such as MP4 or WebM")
            }
        })
    }
}

/// The end of a file's name by its type.
pub(crate) fn extension(media_type: &str) -> &'static str {
    match media_type {
        "image/jpeg" => "jpg",
        "image/webp" => "webp",
        "image/gif" => "gif",
        "image/avif" => "avif",
        t if t.starts_with("image/") => "png",
        "audio/x-wav" | "audio/wav" => "wav",
        "audio/ogg" | "audio/opus" => "ogg",
        "audio/x-flac" | "audio/flac" => "flac",
        "audio/m4a" | "audio/mp4" => "m4a",
        "audio/aac" => "aac",
        t if t.starts_with("audio/") => "mp3",
        "video/webm" => "webm",
        "video/quicktime" => "mov",
        _ => "mp4",
    }
}

/// A file that a call names.
pub(crate) struct Named<'a> {
    pub tool: &'static str,
    pub parameter: &'static str,
    /// A path, an id, or a URL.
    pub text: &'a str,
    pub kind: Kind,
}

impl MediaTools {
    /// The file that a call names, checked by its content. Taints the run by its label.
    pub(crate) async fn open(&self, cx: &Cx, named: &Named<'_>) -> Result<Blob> {
        let (text, kind) = (named.text.trim(), named.kind);
        if text.is_empty() {
            return Err(Error::bad_args(format!(
                "`{}` is empty: give the path of a {} in the workspace, the id of a file that was sent, or a URL",
                named.parameter,
                kind.words()
            )));
        }
        let (name, declared, bytes) = self.bytes(cx, named, text).await?;
        let media_type = uploads::media_type(&bytes, &declared, &name);
        if bytes.is_empty() || !kind.reads(&media_type) {
            return Err(kind.unreadable(named.parameter, &media_type));
        }
        // Some providers go by the end of the name.
        let name = if name.contains('.') { name } else { format!("{}.{}", kind.words(), extension(&media_type)) };
        Ok(Blob { name, media_type, bytes })
    }

    async fn bytes(&self, cx: &Cx, named: &Named<'_>, text: &str) -> Result<(String, String, Bytes)> {
        let largest = named.kind.largest();
        if let Some(data) = text.strip_prefix("data:") {
            cx.taint(Label::Outside);
            return inline(named, data);
        }
        if let Ok(id) = text.strip_prefix("/api/v1/files/").unwrap_or(text).parse::<Id>() {
            let (upload, bytes) = self.uploads.load(cx, id).await?;
            cx.taint(Label::Outside);
            check_size(named, bytes.len() as u64)?;
            return Ok((upload.name, upload.media_type, Bytes::from_owner(bytes)));
        }
        if text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http")) && text.contains("://") {
            return self.fetched(cx, named, text).await;
        }
        let located = self.workspaces.locate(cx, text)?;
        let entry = self.workspaces.stat(cx, &located).await?;
        check_size(named, entry.size)?;
        let (entry, bytes) = self.workspaces.read(cx, &located, largest).await?;
        Ok((entry.name, entry.media_type.unwrap_or_default(), bytes.into()))
    }

    /// A file of the internet, through the guard.
    async fn fetched(&self, cx: &Cx, named: &Named<'_>, url: &str) -> Result<(String, String, Bytes)> {
        let asks = cx.label() == Label::Outside && !cx.knows(url);
        let answer = self.follow(cx, named.tool, url, (asks, FETCH)).await?;
        cx.taint(Label::Outside);
        if !answer.is_success() {
            return Err(Error::failed(format!(
                "the server answered {}: check the address in `{}`",
                answer.status, named.parameter
            )));
        }
        let declared = answer.header("content-type").unwrap_or_default().to_owned();
        let largest = usize::try_from(named.kind.largest()).unwrap_or(usize::MAX);
        let bytes = tokio::select! {
            () = cx.cancel().cancelled() => return Err(Error::unavailable("it was stopped")),
            bytes = answer.bytes(largest) => bytes?,
        };
        let name = url.split(['?', '#']).next().and_then(|path| path.rsplit('/').next()).unwrap_or_default();
        Ok((truncate(name, 100), declared, bytes.into()))
    }

    /// Requests a URL and follows redirects; the person's rules are asked about each host, and the person where `asks`.
    pub(crate) async fn follow(
        &self,
        cx: &Cx,
        tool: &str,
        url: &str,
        (asks, within): (bool, Duration),
    ) -> Result<http_client::Streaming> {
        let (began, mut fetch) = (Instant::now(), Fetch::get(url));
        for hop in 0..=MAX_REDIRECTS {
            let host = self.web.check(&fetch.url)?;
            let ask = asks && hop == 0;
            let reason = match ask {
                true => format!(
                    "`{tool}` needs a person's approval to fetch from {host}, because this run has read content from outside, and \
                     neither the person nor a search gave that address"
                ),
                false => String::new(),
            };
            let consult = Consult {
                tool: tool.into(),
                version: 0,
                action: "fetch",
                details: json!({"host": host}),
                risk: Risk::Send,
                ask,
                about: format!("Fetch a file from {host}."),
                reason,
            };
            cx.ports().ask.consult(cx.clone(), consult).await?;
            let left = within.saturating_sub(began.elapsed());
            match self.web.stream_once(fetch.clone(), left).await? {
                Streamed::Done(answer) => return Ok(answer),
                Streamed::Redirect { status, location } => {
                    cx.taint(Label::Outside);
                    fetch = fetch.redirected(status, &location)?.fetch;
                }
            }
        }
        Err(http_client::Error::too_many_redirects(&fetch).into())
    }
}

/// A file in a `data:` URL.
fn inline(named: &Named<'_>, data: &str) -> Result<(String, String, Bytes)> {
    let bad =
        || Error::bad_args(format!("`{}` is no data URL in base64: write data:image/png;base64,…", named.parameter));
    let (declared, text) = data.split_once(";base64,").ok_or_else(bad)?;
    check_size(named, text.len() as u64 / 4 * 3)?;
    let bytes = STANDARD.decode(text.trim()).map_err(|_| bad())?;
    Ok((named.kind.words().to_owned(), declared.to_owned(), bytes.into()))
}

fn check_size(named: &Named<'_>, size: u64) -> Result<()> {
    let largest = named.kind.largest();
    if size <= largest {
        return Ok(());
    }
    Err(Error::bad_args(format!(
        "`{}` has {} MB, and {} MB is the most for a {}: make it smaller first",
        named.parameter,
        size.div_ceil(1 << 20),
        largest >> 20,
        named.kind.words()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_urls_are_read_within_bounds() {
        let named = Named { tool: "analyze_image", parameter: "image", text: "", kind: Kind::Image };
        assert_eq!(inline(&named, "image/png;base64,aGk=").unwrap().2, "hi");
        for odd in ["image/png,aGk=", "image/png;base64,!", ""] {
            assert!(matches!(inline(&named, odd), Err(Error::BadArgs(_))), "{odd}");
        }
        let long = format!("image/png;base64,{}", "A".repeat(15 << 20));
        let error = inline(&named, &long).unwrap_err();
        assert!(error.message().contains("10 MB is the most"), "{error}");
    }

    #[test]
    fn kinds_know_their_types() {
        for (kind, media_type, expected) in [
            (Kind::Image, "image/png", true),
            (Kind::Image, "image/svg+xml", false),
            (Kind::Image, "text/html", false),
            (Kind::Audio, "audio/mpeg", true),
            (Kind::Audio, "video/webm", true),
            (Kind::Audio, "image/png", false),
            (Kind::Video, "video/mp4", true),
            (Kind::Video, "audio/mpeg", false),
        ] {
            assert_eq!(kind.reads(media_type), expected, "{kind:?} {media_type}");
        }
    }
}
