//! The tool `download_file`: from the internet, through the guard, into the workspace.

use crate::target::{FileTools, size_words};
use http_client::{Fetch, MAX_REDIRECTS, Streamed};
use std::time::{Duration, Instant};
use text_kit::truncate;
use tool::{Consult, Label, prelude::*};
use workspace::{EntryKind, Expect, WriteOptions};

/// The largest file, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;
/// How long a download may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(300);
/// How much is written at once, in bytes.
const BLOCK: usize = 256 * 1024;

/// Download a file from the internet (256 MB at most) into the workspace. What is in it counts as from outside. Addresses in the home
/// are refused unless an admin allowed them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct DownloadFile {
    /// http or https URL.
    url: String,
    /// Path of the new file, or of a folder to put it into.
    path: String,
    /// Replace a file that is there.
    #[serde(default)]
    overwrite: bool,
}

pub(crate) async fn download_file(tools: FileTools, cx: Cx, args: DownloadFile) -> Result<Output> {
    let mut located = tools.file(&cx, &args.path, "replaced by a download").await?;
    let is_folder = args.path.trim().ends_with('/')
        || tools.workspaces.stat(&cx, &located).await.is_ok_and(|entry| entry.kind == EntryKind::Folder);
    if is_folder {
        located = located.join(&name_of(&args.url));
    }
    if !args.overwrite && tools.workspaces.exists(&cx, &located).await? {
        let path = located.display();
        return Err(Error::bad_args(format!(
            "`{path}` exists already: pass `overwrite`: true, or choose another name"
        )));
    }
    let began = Instant::now();
    let (mut answer, url) = follow(&tools, &cx, &args.url, began).await?;
    // Whatever comes from here on, even an error, is a stranger's word.
    cx.taint(Label::Outside);
    if !answer.is_success() {
        return Err(Error::failed(format!(
            "the server answered {} {}: check the address",
            answer.status,
            truncate(answer.status_text(), 60)
        )));
    }
    let media_type = answer.header("content-type").map(|value| truncate(value, 100));
    let mut staged = tools.workspaces.stage(&cx, &located).await?;
    let mut block = Vec::with_capacity(BLOCK);
    loop {
        let piece = tokio::select! {
            () = cx.cancel().cancelled() => return Err(Error::unavailable("the download was cancelled")),
            piece = answer.chunk() => piece?,
        };
        if let Some(piece) = &piece {
            block.extend_from_slice(piece);
            if staged.size() + block.len() as u64 > LARGEST {
                return Err(Error::failed(format!(
                    "the file is larger than {}: nothing was saved",
                    size_words(LARGEST)
                )));
            }
        }
        if block.len() >= BLOCK || piece.is_none() && !block.is_empty() {
            staged = staged.receive(std::mem::take(&mut block).into()).await?;
        }
        if piece.is_none() {
            break;
        }
    }
    let expect = if args.overwrite { Expect::Any } else { Expect::Absent };
    let options = WriteOptions { expect, parents: true, label: Label::Outside, ..WriteOptions::default() };
    let written = tools.workspaces.write_staged(&cx, &located, staged, options).await?;
    let path = located.display();
    let mut content = json!({
        "path": path,
        "url": url,
        "size": written.entry.size,
        "created": written.created,
        "version": written.entry.version,
    });
    if let Some(media_type) = media_type {
        content["mediaType"] = media_type.into();
    }
    let sentence = format!("I downloaded {path} ({}).", size_words(written.entry.size));
    Ok(Output::json(content)?.say(sentence).from_outside())
}

/// Requests the file and follows redirects; the person's rules are asked about each host.
async fn follow(tools: &FileTools, cx: &Cx, url: &str, began: Instant) -> Result<(http_client::Streaming, String)> {
    let mut fetch = Fetch::get(url);
    for _ in 0..=MAX_REDIRECTS {
        let host = tools.web.check(&fetch.url)?;
        let consult = Consult {
            tool: "download_file".into(),
            version: 0,
            action: "fetch",
            details: json!({"host": host}),
            risk: Risk::Send,
            ask: false,
            about: format!("Download a file from {host}."),
            reason: String::new(),
        };
        cx.ports().ask.consult(cx.clone(), consult).await?;
        let left = TIMEOUT.saturating_sub(began.elapsed());
        match tools.web.stream_once(fetch.clone(), left).await? {
            Streamed::Done(answer) => return Ok((answer, fetch.url)),
            Streamed::Redirect { status, location } => {
                cx.taint(Label::Outside);
                fetch = fetch.redirected(status, &location)?.fetch;
            }
        }
    }
    Err(http_client::Error::too_many_redirects(&fetch).into())
}

/// The name of a file by its URL.
fn name_of(url: &str) -> String {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let after_host = path.split_once("://").map_or(path, |(_, rest)| rest);
    let last = after_host.split_once('/').map_or("", |(_, path)| path).rsplit('/').next().unwrap_or_default();
    let decoded = text_kit::percent_decode(last);
    let is_plain = |c: &char| !c.is_control() && !"/\\:*?\"<>|".contains(*c);
    let name: String = decoded.chars().filter(is_plain).take(100).collect();
    let name = name.trim().trim_start_matches('.');
    if name.is_empty() { "download".to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::name_of;

    #[test]
    fn names_are_those_of_urls() {
        for (url, expected) in [
            ("https://example.org/a/b.pdf?x=1#y", "b.pdf"),
            ("https://example.org/M%C3%A4rz%2F..%2Fx.txt", "März..x.txt"),
            ("https://example.org/", "download"),
            ("https://example.org", "download"),
            ("https://example.org/.ssh", "ssh"),
            ("https://example.org/..", "download"),
        ] {
            assert_eq!(name_of(url), expected, "{url}");
        }
    }
}
