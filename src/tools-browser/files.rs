//! What pages give becomes files of the workspace, marked as from outside. Nothing that is there is replaced.

use crate::open::InUse;
use browser::{Download, DownloadState};
use std::{fs::File, io::Read, time::Duration};
use text_kit::truncate;
use tool::{Label, prelude::*};
use workspace::{Expect, Located, Workspaces, WriteOptions, Written};

/// Where files go.
const DOWNLOADS: &str = "downloads";
const PICTURES: &str = "pictures";
/// How long a call waits for files that come, once for each.
const WAIT: Duration = Duration::from_secs(8);
/// How much is copied at once, in bytes.
const BLOCK: usize = 256 << 10;
/// The longest name, in characters.
const NAME: usize = 100;

/// Saves the downloads that have come; each is told with its path, or with what went wrong.
///
/// # Errors
/// Those of the browser.
pub(crate) async fn save_downloads(cx: &Cx, in_use: &InUse) -> Result<Vec<Value>> {
    let mut all = vec![];
    let downloads = tokio::select! {
        downloads = in_use.browser()?.downloads(WAIT) => downloads,
        () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was stopped")),
    };
    for download in downloads {
        let name = plain_name(&download.name);
        if download.state == DownloadState::Coming {
            all.push(json!({"name": name, "url": download.url, "state": "coming", "received": download.received}));
            continue;
        }
        let saved = match download.state {
            DownloadState::Complete => save_download(cx, in_use, &download, &name).await,
            DownloadState::TooLarge => Err(Error::failed("it is larger than 64 MB: download_file takes up to 256 MB")),
            DownloadState::TooMany => Err(Error::failed("too many files came at once")),
            DownloadState::TooSlow => Err(Error::failed(
                "it came too slowly, and was given up after 5 minutes, or 30 s without any more of it: try download_file",
            )),
            DownloadState::Coming | DownloadState::Failed => Err(Error::failed("it broke off")),
        };
        all.push(match saved {
            Ok((located, written)) => {
                json!({"path": located.display(), "size": written.entry.size, "url": download.url})
            }
            Err(error) => json!({"name": name, "url": download.url, "error": error.message()}),
        });
    }
    Ok(all)
}

async fn save_download(cx: &Cx, in_use: &InUse, download: &Download, name: &str) -> Result<(Located, Written)> {
    let gone = |error: std::io::Error| Error::failed(format!("it could not be read: {error}"));
    let mut file = in_use.browser()?.open_download(download).map_err(gone)?;
    let workspaces = in_use.workspaces();
    let folder = workspaces.locate(cx, DOWNLOADS)?;
    let mut staged = workspaces.stage(cx, &folder.join(name)).await?;
    loop {
        let (rest, block) = tool::blocking("reading the download", move || {
            let mut block = vec![];
            let read = Read::by_ref(&mut file).take(BLOCK as u64).read_to_end(&mut block);
            read.map_err(gone)?;
            Ok::<(File, Vec<u8>), Error>((file, block))
        })
        .await?;
        if block.is_empty() {
            break;
        }
        file = rest;
        staged = staged.receive(block.into()).await?;
    }
    let located = workspaces.free_name(&folder.join(name)).await?;
    let written = workspaces.write_staged(cx, &located, staged, options()).await?;
    Ok((located, written))
}

/// Saves a picture of a page.
///
/// # Errors
/// Those of the workspace.
pub(crate) async fn save_picture(
    cx: &Cx,
    workspaces: &Workspaces,
    name: &str,
    bytes: Vec<u8>,
) -> Result<(Located, Written)> {
    let folder = workspaces.locate(cx, PICTURES)?;
    let located = workspaces.free_name(&folder.join(name)).await?;
    let written = workspaces.write(cx, &located, bytes, options()).await?;
    Ok((located, written))
}

fn options() -> WriteOptions {
    WriteOptions { expect: Expect::Absent, parents: true, label: Label::Outside, ..WriteOptions::default() }
}

/// The name of a file that a page suggests, as a name in a folder: without a path, and with what a shell or a person can read.
pub(crate) fn plain_name(name: &str) -> String {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let kept: String =
        last.chars().map(|c| if c.is_alphanumeric() || "._-()+, ".contains(c) { c } else { '_' }).collect();
    let (kept, _) = html_text::without_invisible(&kept);
    // Chromium makes `_.._a` of `../../a`.
    let kept = kept.trim_end_matches([' ', '.']).trim_start_matches([' ', '.', '_']);
    let ending = kept.rsplit_once('.').map_or(String::new(), |(_, ending)| format!(".{}", truncate(ending, 10)));
    match kept.chars().count() {
        0 => "download".into(),
        length if length > NAME => format!("{}{ending}", text_kit::prefix(kept, NAME - 11).trim_end()),
        _ => kept.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_downloads_lead_nowhere() {
        for (name, expected) in [
            ("report.pdf", "report.pdf"),
            ("../../etc/passwd", "passwd"),
            ("C:\\Windows\\evil.exe", "evil.exe"),
            ("_.._plan.csv", "plan.csv"),
            ("..", "download"),
            (".bashrc", "bashrc"),
            ("", "download"),
            ("a\u{202e}gpj.exe", "a_gpj.exe"),
            ("Übersicht 2026 (1).xlsx", "Übersicht 2026 (1).xlsx"),
            ("a;rm -rf $HOME`x`", "a_rm -rf _HOME_x_"),
        ] {
            assert_eq!(plain_name(name), expected, "{name}");
        }
        let long = plain_name(&format!("{}.pdf", "x".repeat(500)));
        assert!(long.len() < 120 && long.ends_with(".pdf"), "{long}");
    }
}
