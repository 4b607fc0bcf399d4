//! Getting a bundle: from the release a channel offers, by HTTP ranges, or from a file.

use crate::{
    builder::read_head,
    bundle,
    channel::{Channel, ChannelRelease, MAX_CHANNEL},
    clock,
    digest::Digest,
    disk::{Disk, Mode, RealDisk},
    error::{Error, Result},
    install::Updater,
    upload::{MAX_PIECE, Plan, Range},
};
use http_client::{DownloadHttp, Streaming};
use std::{path::Path, sync::Arc, time::Duration};
use url::Url;

/// Ranges with fewer bytes between them are fetched in one request: a request costs about as much.
const GAP: u64 = 32 << 10;
/// How long reading the channel may take: it is two small files.
const CHECK: Duration = Duration::from_secs(60);
/// The longest minisign signature file.
const MAX_SIGNATURE: usize = 4 << 10;

/// A newer release that a channel offers this device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The release.
    pub release: ChannelRelease,
    /// The absolute URL of its bundle.
    pub url: String,
    /// When the channel that offers it ends to count: Unix seconds.
    pub expires: i64,
}

fn network(why: http_client::Error) -> Error {
    Error::Network(format!("the update could not be fetched: {why}"))
}

/// Runs a step of the updater on a blocking thread.
async fn blocking<T: Send + 'static>(
    updater: &Arc<Updater>,
    step: impl FnOnce(&Updater) -> Result<T> + Send + 'static,
) -> Result<T> {
    let updater = updater.clone();
    let done = tokio::task::spawn_blocking(move || step(&updater)).await;
    done.map_err(|why| Error::Disk(format!("a step of the update ended unexpectedly: {why}")))?
}

/// A small file, whole.
async fn small_file(http: &DownloadHttp, url: &str, limit: usize) -> Result<Vec<u8>> {
    let answer = http.get(url, None).await.map_err(network)?;
    match answer.status {
        200 => answer.bytes(limit).await.map_err(network),
        status => Err(Error::Network(format!("{url} answers {status}: check the address of the update channel"))),
    }
}

/// Fetches the channel at `url`, verifies signature, expiry and serial, and returns the newest release for this device above the
/// running one; `None` when there is none.
///
/// # Errors
/// `Network`; `Refused` when it is not signed by a trusted key, has expired, or is older than one seen before.
pub async fn check(updater: &Arc<Updater>, url: &str) -> Result<Option<Offer>> {
    let http = &DownloadHttp::default();
    let base =
        Url::parse(url).map_err(|_| Error::BadRequest(format!("`{url}` is not the address of an update channel")))?;
    let mut signature_url = base.clone();
    signature_url.set_path(&format!("{}.minisig", base.path()));
    let both = async {
        let file = small_file(http, url, MAX_CHANNEL).await?;
        Ok::<_, Error>((file, small_file(http, signature_url.as_str(), MAX_SIGNATURE).await?))
    };
    let late =
        |_| Error::Network(format!("the update channel did not answer within {} s: try again later", CHECK.as_secs()));
    let (file, signature) = tokio::time::timeout(CHECK, both).await.map_err(late)??;
    let keys = updater.keys();
    let (channel, _) = Channel::read(&file, &signature, &keys, clock::now(), updater.channel_serial(url))?;
    // The same key signs other channels, too: the address says which one is meant.
    let asked = base.path_segments().and_then(Iterator::last).and_then(|file| file.strip_suffix(".json"));
    if let Some(asked) = asked.filter(|asked| *asked != channel.channel) {
        return Err(Error::Refused(format!(
            "the address is that of the update channel `{asked}`, and it serves the channel `{}`: check the channel's address",
            channel.channel
        )));
    }
    let (noted, serial) = (url.to_owned(), channel.serial);
    blocking(updater, move |updater| updater.note_channel_serial(&noted, serial)).await?;
    let newest = blocking(updater, Updater::newest_serial).await?;
    let running = blocking(updater, Updater::newest_version).await?;
    let newest = channel.newest(updater.device(), updater.payload(), newest, &running);
    let Some(release) = newest else { return Ok(None) };
    let joined = base.join(&release.url).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let joined = joined.ok_or_else(|| Error::refused("the update channel names an unusable address of a bundle"))?;
    Ok(Some(Offer { release: release.clone(), url: joined.into(), expires: channel.expires_at()? }))
}

/// Fetches the ranges of an offered bundle that the device lacks, through [`Updater::begin`] and [`Updater::put`]. Then call
/// [`Updater::stage`]. Interrupted and called again it resumes.
///
/// # Errors
/// `Network`, and those of the updater.
pub async fn download(updater: &Arc<Updater>, offer: &Offer) -> Result<Plan> {
    updater.can_install()?;
    if clock::now() >= offer.expires {
        return Err(Error::refused("what the update channel offered has expired: check the channel again"));
    }
    let http = &DownloadHttp::default();
    let length = offer.release.head_length;
    if length > bundle::MAX_HEAD as u64 || length < bundle::PREFIX as u64 {
        return Err(Error::refused("the update channel announces a bundle whose head is too large or too small"));
    }
    let mut file = Remote { http, url: &offer.url, answer: None };
    let mut head = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.read(Range { offset: 0, length }, &mut async |piece| {
        head.extend_from_slice(&piece);
        Ok(())
    })
    .await?;
    if Digest::sha256(&head) != offer.release.head_sha256 {
        return Err(Error::refused(
            "the bundle is not the one that the update channel names: the server may be in the middle of a release; try again later",
        ));
    }
    let plan = blocking(updater, move |updater| updater.begin(&head)).await?;
    // A second round fetches whole chunks in place of deltas that did not fit.
    for _ in 0..2 {
        let id = plan.id.clone();
        let needed = match blocking(updater, move |updater| updater.plan(&id)).await {
            Ok(plan) => plan.needed,
            // It is staged already.
            Err(Error::NotFound(_)) => vec![],
            Err(why) => return Err(why),
        };
        for group in groups(&needed) {
            fetch_group(&mut file, updater, &plan.id, group).await?;
        }
    }
    Ok(plan)
}

/// Ranges that are fetched in one request.
fn groups(needed: &[Range]) -> Vec<&[Range]> {
    needed.chunk_by(|a, b| b.offset - (a.offset + a.length) <= GAP).collect()
}

/// Fetches neighbouring ranges, and gives the updater what is inside of them.
async fn fetch_group(file: &mut Remote<'_>, updater: &Arc<Updater>, id: &str, group: &[Range]) -> Result<()> {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return Ok(()) };
    let whole = Range { offset: first.offset, length: last.offset + last.length - first.offset };
    let mut at = whole.offset;
    file.read(whole, &mut async |piece: http_client::Bytes| {
        let end = at + piece.len() as u64;
        for range in group {
            let (from, to) = (range.offset.max(at), (range.offset + range.length).min(end));
            if from >= to {
                continue;
            }
            let part = piece.slice((from - at) as usize..(to - at) as usize);
            let id = id.to_owned();
            blocking(updater, move |updater| {
                let mut from = from;
                for piece in part.chunks(MAX_PIECE) {
                    updater.put(&id, from, piece)?;
                    from += piece.len() as u64;
                }
                Ok(())
            })
            .await?;
        }
        at = end;
        Ok(())
    })
    .await
}

/// A file on a server that may or may not know ranges.
struct Remote<'a> {
    http: &'a DownloadHttp,
    url: &'a str,
    /// The answer with the whole file, where the server does not know ranges, and the place it has come to.
    answer: Option<(Streaming, u64, http_client::Bytes)>,
}

impl Remote<'_> {
    /// Calls `each` with the bytes of a range, piece by piece.
    async fn read(&mut self, range: Range, each: &mut impl AsyncFnMut(http_client::Bytes) -> Result<()>) -> Result<()> {
        let end = range.offset + range.length;
        let (mut answer, mut at, mut left) = match self.answer.take().filter(|(_, at, _)| *at <= range.offset) {
            Some(answer) => answer,
            None => {
                let answer = self.http.get(self.url, Some((range.offset, range.length))).await.map_err(network)?;
                let at = match answer.status {
                    206 => range.offset,
                    200 => 0,
                    status => {
                        return Err(Error::Network(format!("{} answers {status}: try again later", self.url)));
                    }
                };
                (answer, at, http_client::Bytes::new())
            }
        };
        let whole = answer.status == 200;
        while at < end {
            if left.is_empty() {
                let next = answer.chunk().await.map_err(network)?;
                left = next.ok_or_else(|| Error::Network(format!("{} ended early: try again later", self.url)))?;
            }
            let skip = range.offset.saturating_sub(at).min(left.len() as u64);
            left = left.slice(skip as usize..);
            at += skip;
            let take = (end - at).min(left.len() as u64);
            if at >= range.offset && take > 0 {
                each(left.slice(..take as usize)).await?;
                left = left.slice(take as usize..);
                at += take;
            }
        }
        if whole {
            self.answer = Some((answer, at, left));
        }
        Ok(())
    }
}

/// Takes a bundle from a file (a USB stick, say) up to the point where it can be staged. Blocks on the disk.
///
/// # Errors
/// Those of the updater; `Disk` when the file cannot be read.
pub fn take_file(updater: &Updater, file: &Path) -> Result<Plan> {
    let plan = updater.begin(&read_head(file)?)?;
    let failed = |why: std::io::Error| match why.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::refused("the bundle is cut off: copy it again"),
        _ => Error::disk(format!("{} cannot be read", file.display()), &why),
    };
    let bundle = RealDisk.open(file, Mode::Read).map_err(failed)?;
    let mut buffer = vec![0; MAX_PIECE];
    let mut needed = plan.needed.clone();
    while !needed.is_empty() {
        for range in &needed {
            let (mut at, end) = (range.offset, range.offset + range.length);
            while at < end {
                let piece = usize::try_from(end - at).unwrap_or(MAX_PIECE).min(MAX_PIECE);
                bundle.read_exact_at(at, &mut buffer[..piece]).map_err(failed)?;
                updater.put(&plan.id, at, &buffer[..piece])?;
                at += piece as u64;
            }
        }
        needed = updater.plan(&plan.id)?.needed;
    }
    Ok(plan)
}
