//! `/api/v1/database`: the SQL database of the caller as a real file, out and in.

use crate::{
    AppState, Caller,
    describe::{Routes, get, post},
    document::Download,
    envelope::{Answer, Failure, ok},
    query::Query,
    restore::{BodyStream, UPLOAD},
};
use axum::{Extension, body::Body, extract::State, http::header};
use futures::{StreamExt, stream};
use identity::TokenScope;
use serde::{Deserialize, Serialize};
use std::{
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tool::{
    Id, Role,
    prelude::{JsonSchema, schemars},
};

/// The size of a chunk of an export, in bytes.
const CHUNK: usize = 64 * 1024;
/// The largest file that may come in, in bytes.
const MOST: u64 = 100 << 20;
/// An import is on the disk three times for a while: as it came, converted, and in the store.
const DISK_FRACTION: u64 = 4;
/// The timeout for the next chunk of the body.
const SILENCE: Duration = Duration::from_secs(20);

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route("/database/export", get(export, "Download the SQL database of the caller's agent as an SQLite file."))
        .route(
            "/database/import",
            post(
                import,
                "Replace the SQL database of the caller's agent with an SQLite file of 100 MB at most. The file is checked first; \
                 all of the database is replaced or nothing.",
            )
            .streams_body(),
        )
        .scope(TokenScope::Tools)
}

/// How the content counts.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ImportQuery {
    /// Whether you vouch for what is in the file. Otherwise it counts as content from outside: after reading it, an agent
    /// changes and sends nothing without asking.
    vouch: bool,
}

/// The database after an import.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportedDatabase {
    /// Its tables, with the number of their rows.
    tables: Vec<ImportedTable>,
    /// Its size in bytes.
    bytes: u64,
}

/// A table of an imported database.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ImportedTable {
    name: String,
    rows: u64,
}

/// A file beside the data that is removed on drop, or else at the next start.
struct Temporary(PathBuf);

impl Temporary {
    fn new(house: &AppState) -> Self {
        // Beside the data: the system's temporary folder is often in RAM.
        let folder = house.store.folder().map_or_else(std::env::temp_dir, Path::to_path_buf);
        Self(folder.join(format!("{}{}{}", UPLOAD.0, Id::new(), UPLOAD.1)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

pub(crate) async fn export(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
) -> Result<Download, Failure> {
    let (cx, file) = (house.cx(&caller), Temporary::new(&house));
    // Runs to completion even if the client disconnects, so that no file is left behind.
    let copy = tokio::spawn(async move {
        let size = house.databases.export(&cx, file.0.clone()).await.map_err(tool::Error::from)?;
        let broken = |e| Failure::new(422, "failed", format!("the export could not be read: {e}"));
        // The open file stays readable when it is removed.
        let opened = tokio::fs::File::open(&file.0).await.map_err(broken)?;
        house.registry.audit_change(&cx, "database_export", &serde_json::json!({"size": size}));
        Ok::<_, Failure>((size, opened))
    });
    let (size, opened) =
        copy.await.map_err(|_| Failure::new(422, "failed", "the export broke off: the log has more"))??;
    let pieces = stream::try_unfold(opened, |mut file| async move {
        let mut piece = vec![0; CHUNK];
        let read = file.read(&mut piece).await?;
        piece.truncate(read);
        Ok::<_, std::io::Error>((read > 0).then_some((piece, file)))
    });
    let headers = [
        (header::CONTENT_LENGTH, size.to_string()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"database.db\"".to_owned()),
    ];
    Ok(Download::new((headers, Body::from_stream(pieces))))
}

pub(crate) async fn import(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<ImportQuery>,
    BodyStream(body): BodyStream,
) -> Answer<ImportedDatabase> {
    if caller.principal.role == Role::Viewer {
        return Err(Failure::new(403, "denied", "a viewer has no database to replace: ask an admin"));
    }
    let (cx, file) = (house.cx(&caller), Temporary::new(&house));
    receive(body, &file.0).await?;
    // Runs to completion even if the client disconnects.
    let import = tokio::spawn(async move {
        let imported = house.databases.import(&cx, "import", file.0.clone(), query.vouch).await;
        let imported = imported.map_err(tool::Error::from)?;
        let details = serde_json::json!({"size": imported.bytes, "vouched": query.vouch});
        house.registry.audit_change(&cx, "database_import", &details);
        Ok::<_, Failure>(imported)
    });
    let broken = |_| Failure::new(422, "failed", "the import broke off: the log has more");
    let imported = import.await.map_err(broken)??;
    let tables = imported.tables.into_iter().map(|table| ImportedTable { name: table.name, rows: table.rows });
    Ok(ok(ImportedDatabase { tables: tables.collect(), bytes: imported.bytes }))
}

/// Writes the body into a new file.
async fn receive(body: Body, file: &Path) -> Result<(), Failure> {
    let failed = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            Failure::new(409, "unavailable", "the disk is full: delete something first")
        }
        _ => Failure::new(422, "failed", format!("the file could not be written: {e}")),
    };
    let folder = file.parent().unwrap_or(Path::new("."));
    let disk = rustix::fs::statvfs(folder).map_err(|e| failed(e.into()))?;
    let room = disk.f_bavail.saturating_mul(disk.f_frsize) / DISK_FRACTION;
    let new = std::fs::OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(file);
    let mut new = tokio::fs::File::from_std(new.map_err(failed)?);
    let (mut pieces, mut size) = (body.into_data_stream(), 0);
    let slow = |_| Failure::new(408, "too_slow", "the body did not come: send it without pauses");
    while let Some(piece) = tokio::time::timeout(SILENCE, pieces.next()).await.map_err(slow)? {
        let piece = piece.map_err(|_| Failure::new(400, "bad_args", "the body broke off: send it again"))?;
        size += piece.len() as u64;
        if size > MOST {
            return Err(Failure::new(413, "too_large", "a database takes 100 MB at most: remove something first"));
        }
        if size > room {
            return Err(Failure::new(413, "too_large", "there is no room for the file: delete something first"));
        }
        new.write_all(&piece).await.map_err(failed)?;
    }
    if size == 0 {
        return Err(Failure::new(400, "bad_args", "the body is empty: send an SQLite database file"));
    }
    new.sync_all().await.map_err(failed)
}
