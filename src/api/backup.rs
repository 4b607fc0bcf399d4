//! `/api/v1/backup`: a copy of all data as a download, and backups that are made by themselves. Restoring one: `restore.rs`.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post, put},
    document::Download,
    envelope::{Answer, Failure, Json, OptionalJson, ok},
};
use ::care::{BackupView, PlanChange};
use axum::{Extension, body::Body, extract::State, http::header};
use futures::stream;
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use store::BackupOptions;
use tokio::io::AsyncReadExt;
use tool::{
    Id,
    prelude::{JsonSchema, schemars},
};

/// The size of a chunk of a backup, in bytes.
const CHUNK: usize = 64 * 1024;

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/backup",
            post(backup, "Download a copy of all data; under a passphrase with all secrets, encrypted.")
                .admin()
                .secret()
                .get(view, "Get when backups are made by themselves, and the last one.")
                .admin(),
        )
        .route("/backup/plan", put(plan, "Plan backups that are made by themselves into a folder.").admin().secret())
        .route(
            "/backup/size",
            get(size, "Get how large a backup would be, and what of the workspace it leaves out.").admin(),
        )
        .route("/backup/run", post(run, "Make the planned backup now.").admin())
        .scope(TokenScope::Admin)
}

/// How the copy is protected.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct BackupRequest {
    /// Encrypts the copy, in the format of `age`; at least 8 characters. With it the copy contains all keys and passwords of
    /// services, without it none.
    passphrase: Option<String>,
    /// Whether the copy contains the files of the workspace; it does when this is left out.
    files: Option<bool>,
}

/// The contents that a backup would have. Its file is smaller where the data file has free space.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BackupSize {
    /// Bytes of the data file.
    data: u64,
    /// Bytes of the files that people sent.
    uploads: u64,
    /// Bytes of the files of the workspace, and how many there are.
    files: u64,
    file_count: u64,
    /// How many entries of the workspace no backup contains: links, pipes, sockets, devices, and what cannot be read.
    skipped: u64,
}

/// A consistent copy of all data, with the files people sent and those of the workspace, as a download.
pub(crate) async fn backup(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    OptionalJson(request): OptionalJson<BackupRequest>,
) -> Result<Download, Failure> {
    let passphrase = request.passphrase.filter(|passphrase| !passphrase.is_empty());
    if let Some(passphrase) = &passphrase {
        house.care.backups.check_passphrase(passphrase)?;
    }
    let encrypted = passphrase.is_some();
    let options = BackupOptions { passphrase, without_workspace: request.files == Some(false) };
    // Beside the data: the system's temporary folder is often in RAM.
    let folder = house.store.folder().map_or_else(std::env::temp_dir, std::path::Path::to_path_buf);
    let file = folder.join(format!("backup-{}.tmp", Id::new()));
    let cx = house.cx(&caller);
    // Only a daemon's are of use to know: a command may run beside another device's data.
    let known = house.lasting.then(|| house.care.backups.clone());
    // Runs to completion even if the client disconnects, so that no copy is left behind.
    let copy = tokio::spawn(async move {
        let made = house.uploads.backup(file.clone(), options).await.map_err(Failure::from);
        let opened = tokio::fs::File::open(&file).await;
        // The open file stays readable.
        let _ = tokio::fs::remove_file(&file).await;
        let broken = |e| Failure::new(422, "failed", format!("the backup could not be read: {e}"));
        let (made, opened) = (made?, opened.map_err(broken)?);
        let noted = serde_json::json!({"size": made.size, "encrypted": encrypted, "files": made.workspace.files});
        house.registry.audit_change(&cx, "backup", &noted);
        Ok::<_, Failure>((made, opened))
    });
    let broken = |_| Failure::new(422, "failed", "the backup broke off: the log has more");
    let (made, opened) = copy.await.map_err(broken)??;
    let size = made.size;
    let pieces = stream::try_unfold((opened, 0, known), move |(mut file, sent, mut known)| async move {
        let mut piece = vec![0; CHUNK];
        let read = file.read(&mut piece).await?;
        piece.truncate(read);
        let sent = sent + read as u64;
        // With the last piece, because nobody asks for what follows it: a download that breaks off before is no backup.
        if let Some(backups) = known.take_if(|_| sent >= size) {
            backups.downloaded(made, encrypted).await;
        }
        Ok::<_, std::io::Error>((read > 0).then_some((piece, (file, sent, known))))
    });
    let name = if encrypted { "backup.hob.age" } else { "backup.hob" };
    let headers = [
        (header::CONTENT_LENGTH, size.to_string()),
        (header::CONTENT_DISPOSITION, format!("attachment; filename=\"{name}\"")),
    ];
    Ok(Download::new((headers, Body::from_stream(pieces))))
}

pub(crate) async fn size(State(house): State<AppState>) -> Answer<BackupSize> {
    let store = house.store.clone();
    let look = move || {
        let (data, uploads, files) = (store.size_on_disk(), store.uploads_size()?, store.workspace_size()?);
        Ok(BackupSize { data, uploads, files: files.bytes, file_count: files.files, skipped: files.skipped })
    };
    Ok(ok(tool::blocking("the look at the files", look).await?))
}

pub(crate) async fn view(State(house): State<AppState>) -> Answer<BackupView> {
    Ok(ok(house.care.backups.view()?))
}

pub(crate) async fn plan(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Json(change): Json<PlanChange>,
) -> Answer<BackupView> {
    let details = serde_json::json!({"every": change.every, "folder": change.folder});
    let view = house.care.backups.set(change).await?;
    house.registry.audit_change(&house.cx(&caller), "backup_plan", &details);
    Ok(ok(view))
}

pub(crate) async fn run(State(house): State<AppState>) -> Answer<BackupView> {
    Ok(ok(house.care.backups.run().await?))
}
