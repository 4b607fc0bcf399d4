//! The device itself: what happens on it, and a copy of what it keeps.

use crate::{
    Caller, House,
    access::must_be_admin,
    envelope::{Failure, Query},
};
use axum::{
    Extension,
    body::Body,
    extract::State,
    http::{HeaderMap, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use futures::{Stream, StreamExt, stream};
use serde::Deserialize;
use std::{convert::Infallible, io::Read, time::Duration};
use tool::{Heard, Id};

/// How often a quiet stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(10);
/// How much of a backup is in memory at once.
const PIECE: usize = 64 * 1024;

#[derive(Deserialize)]
pub(crate) struct After {
    after: Option<u64>,
}

/// Everything that happens and concerns this person, with catch-up by `?after=SEQ` or `Last-Event-ID`.
pub(crate) async fn events(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
    Query(query): Query<After>,
    headers: HeaderMap,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let last = headers.get("last-event-id").and_then(|v| v.to_str().ok()).and_then(|v| v.parse().ok());
    let listener = house.ports.bus.listen(query.after.or(last));
    let user = caller.0.user;
    let heard = stream::unfold(listener, |mut listener| async { listener.next().await.map(|heard| (heard, listener)) });
    let events = heard.filter_map(move |heard| async move {
        match heard {
            Heard::Resync => Some(Ok(Event::default().event("resync").data("{}"))),
            Heard::Event(e) if e.to.is_none_or(|to| to == user) => {
                let data = serde_json::to_string(&*e).unwrap_or_default();
                Some(Ok(Event::default().id(e.seq.to_string()).event(e.topic.clone()).data(data)))
            }
            Heard::Event(_) => None,
        }
    });
    let closing = house.closing.clone().cancelled_owned();
    Sse::new(events.take_until(closing)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// A consistent copy of all data but the secrets, as a download.
pub(crate) async fn backup(
    State(house): State<House>,
    Extension(caller): Extension<Caller>,
) -> Result<Response, Failure> {
    must_be_admin(&caller)?;
    // Beside the data, where there is room for it: the system's temporary folder is often in RAM.
    let folder = house.store.folder().map_or_else(std::env::temp_dir, std::path::Path::to_path_buf);
    let file = folder.join(format!("backup-{}.tmp", Id::new()));
    let size = house.store.backup(file.clone()).await?;
    let opened = std::fs::File::open(&file);
    // The open file lives on until it is read; nothing stays behind even if the client leaves.
    let _ = std::fs::remove_file(&file);
    let opened = opened.map_err(|e| Failure::new(422, "failed", format!("the backup could not be read: {e}")))?;
    let pieces = stream::try_unfold(opened, |mut file| async {
        let mut piece = vec![0; PIECE];
        let read = file.read(&mut piece)?;
        piece.truncate(read);
        Ok::<_, std::io::Error>((read > 0).then_some((piece, file)))
    });
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        (header::CONTENT_LENGTH, size.to_string()),
        (header::CONTENT_DISPOSITION, "attachment; filename=\"backup.hob\"".to_owned()),
    ];
    Ok((headers, Body::from_stream(pieces)).into_response())
}
