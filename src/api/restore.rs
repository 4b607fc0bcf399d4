//! `POST /api/v1/restore`: replaces the data of a running daemon with a backup.
//!
//! The body is streamed to the disk and verified. Then it is renamed to the file that the next start looks for, and
//! the daemon restarts; that start restores it as `hob restore` does, before anything opens the data.

use crate::{
    AppState, Caller,
    describe::{DescribeInput, Operation, Routes, Schemas, post},
    document::refused,
    envelope::{Accepted, Failure},
    restart::Leave,
};
use axum::{
    Extension,
    body::{Body, HttpBody},
    extract::{FromRequest, Request, State},
    http::HeaderMap,
};
use futures::StreamExt;
use identity::TokenScope;
use serde::Serialize;
use std::{
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::io::AsyncWriteExt;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// The verified backup, in the data folder, until the next start has restored it.
pub const PENDING: &str = "restore.pending";
/// Prefix and suffix of the names of unverified uploads.
pub const UPLOAD: (&str, &str) = ("restore-", ".tmp");
/// An upload may take this fraction of the free disk: it is copied, and its files are unpacked.
const DISK_FRACTION: u64 = 3;
/// Disk space that stays free, in bytes.
const SPARE: u64 = 32 << 20;
/// The header of the passphrase, and its largest length.
const PASSPHRASE: &str = "x-backup-passphrase";
const MAX_PASSPHRASE: usize = 8192;
/// The timeout for the next chunk of the body.
const SILENCE: Duration = Duration::from_secs(20);

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/restore",
            post(
                restore,
                "Replace all data with a backup, and restart. The passphrase of an encrypted one is in the header \
                 X-Backup-Passphrase, percent-encoded.",
            )
            .admin()
            .secret()
            .streams_body(),
        )
        .scope(TokenScope::Admin)
}

/// That a backup replaces the data.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Restoring {
    /// True: Hob restarts. No backup contains tokens for Hob and sessions, so sign in again then.
    restarting: bool,
    /// The size of the backup in bytes.
    size: u64,
}

/// The body as a stream.
pub(crate) struct BodyStream(pub Body);

impl<S: Send + Sync> FromRequest<S> for BodyStream {
    type Rejection = Failure;

    async fn from_request(request: Request, _: &S) -> Result<Self, Failure> {
        Ok(Self(request.into_body()))
    }
}

impl DescribeInput for BodyStream {
    fn describe(schemas: &mut Schemas, operation: &mut Operation) {
        operation.takes_bytes();
        let codes = [(408, "The body did not come."), (413, "There is no room for the backup.")];
        refused(schemas, operation, &codes);
    }
}

/// A file that is removed on drop, unless it was moved.
struct Temporary(Option<PathBuf>);

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

pub(crate) async fn restore(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    BodyStream(body): BodyStream,
) -> Result<Accepted<Restoring>, Failure> {
    let Some(folder) = house.store.folder().filter(|_| house.lasting).map(Path::to_path_buf) else {
        let text = "no daemon runs over this data: restore it with `hob restore FILE`";
        return Err(Failure::new(409, "unavailable", text));
    };
    let Some(_busy) = house.restart.reserve() else {
        return Err(Failure::new(409, "unavailable", "another backup is being restored: wait for it to end"));
    };
    let passphrase = passphrase(&headers)?;
    let temporary = || folder.join(format!("{}{}{}", UPLOAD.0, Id::new(), UPLOAD.1));
    let (upload, ready) = (temporary(), temporary());
    let (mut received, mut decrypted) = (Temporary(Some(upload.clone())), Temporary(Some(ready.clone())));
    let size = receive(body, &upload, room(&folder)?).await?;
    let cx = house.cx(&caller);
    // Runs to completion even if the client disconnects: the backup is complete.
    let verified = tokio::task::spawn_blocking(move || {
        if store::is_encrypted(&upload) {
            house.store.prepare_restore(&upload, &ready, passphrase.as_deref())?;
            put_in_place(&ready, &folder)?;
            decrypted.0.take();
            drop(received);
        } else {
            store::verify_backup(&upload)?;
            put_in_place(&upload, &folder)?;
            received.0.take();
        }
        house.registry.audit_change(&cx, "restore", &serde_json::json!({"size": size}));
        // Before the response: no write that the restore discards is acknowledged after it.
        house.store.seal_for_restore();
        tracing::info!(size, "a backup is restored: starting again");
        house.restart.soon(Leave::Again);
        Ok::<_, Failure>(())
    });
    let broken = |_| Failure::new(422, "failed", "checking the backup broke off: the log has more");
    verified.await.map_err(broken)??;
    Ok(Accepted(Restoring { restarting: true, size }))
}

/// The passphrase in the headers.
fn passphrase(headers: &HeaderMap) -> Result<Option<String>, Failure> {
    let Some(given) = headers.get(PASSPHRASE) else { return Ok(None) };
    let text = given.to_str().ok().filter(|text| text.len() <= MAX_PASSPHRASE);
    let odd = || Failure::new(400, "bad_args", "the header X-Backup-Passphrase is not percent-encoded text");
    Ok(Some(text_kit::percent_decode(text.ok_or_else(odd)?)))
}

/// The largest upload, in bytes.
fn room(folder: &Path) -> Result<u64, Failure> {
    let unknown = |e| Failure::new(422, "failed", format!("the free space of the disk cannot be read: {e}"));
    let disk = rustix::fs::statvfs(folder).map_err(unknown)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize).saturating_sub(SPARE) / DISK_FRACTION)
}

/// Writes the body into a new file and returns its size.
async fn receive(body: Body, file: &Path, room: u64) -> Result<u64, Failure> {
    let large = || {
        let text = format!(
            "there is no room for the backup: {} MB may come, a third of what is free; delete something first",
            room >> 20
        );
        Failure::new(413, "too_large", text)
    };
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Failure::new(409, "unavailable", "the disk is full: delete something first")
        }
        _ => Failure::new(422, "failed", format!("the backup could not be written: {e}")),
    };
    if body.size_hint().lower() > room {
        return Err(large());
    }
    let new = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).map_err(failed)?;
    let mut new = tokio::fs::File::from_std(new);
    let (mut pieces, mut size) = (body.into_data_stream(), 0);
    let slow = |_| Failure::new(408, "too_slow", "the body did not come: send it without pauses");
    while let Some(piece) = tokio::time::timeout(SILENCE, pieces.next()).await.map_err(slow)? {
        let piece = piece.map_err(|_| Failure::new(400, "bad_args", "the body broke off: send it again"))?;
        size += piece.len() as u64;
        if size > room {
            return Err(large());
        }
        new.write_all(&piece).await.map_err(failed)?;
    }
    if size == 0 {
        return Err(Failure::new(400, "bad_args", "the body is empty: send the file that `hob backup` wrote"));
    }
    new.sync_all().await.map_err(failed)?;
    Ok(size)
}

/// Renames the verified upload durably, so that the next start restores it, also after a power cut.
fn put_in_place(upload: &Path, folder: &Path) -> Result<(), Failure> {
    let put = || {
        std::fs::File::open(upload)?.sync_all()?;
        std::fs::rename(upload, folder.join(PENDING))?;
        std::fs::File::open(folder)?.sync_all()
    };
    put().map_err(|e| Failure::new(422, "failed", format!("the backup could not be put in place: {e}")))
}
