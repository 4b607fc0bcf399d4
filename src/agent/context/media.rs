//! Pictures, sounds and files of a conversation: stored as uploads, and loaded just before a request.

use crate::conversation::{StoredMedia, kind_of};
use llm::{Content, Kind, Media, Message, Part, Source};
use std::collections::HashMap;
use tool::{Cx, Error, Id, Label, Result};
use uploads::Uploads;

/// Maximum number of media in a request, and of their bytes; older ones are replaced by their names.
const MAX_MEDIA: usize = 8;
const MAX_BYTES: usize = 32 << 20;

/// Stores bytes as uploads. Looks up references to files, which must be this person's, and sets their detected types.
pub(crate) async fn store_media(uploads: &Uploads, cx: &Cx, content: Content) -> Result<Content> {
    let mut parts = vec![];
    for part in content.0 {
        parts.push(match part {
            Part::Text(text) => Part::Text(text),
            Part::Media(media) => {
                let upload = match &media.source {
                    Source::Stored(id) => uploads.get(cx, *id)?,
                    Source::Bytes(bytes) => uploads.put(cx, &media.name, &media.media_type, bytes.to_vec()).await?,
                };
                let (kind, source) = (kind_of(&upload.media_type), Source::Stored(upload.id));
                if media.kind != Kind::File && media.kind != kind {
                    let (name, is) = (upload.name, upload.media_type);
                    let text = format!("the file `{name}` is {is}: send it as the part of that type, or as a `file`");
                    return Err(Error::bad_args(text));
                }
                Part::Media(Media { kind, media_type: upload.media_type, name: upload.name, source })
            }
        });
    }
    Ok(Content(parts))
}

/// Stores media that a model made.
pub(crate) async fn store_model_media(uploads: &Uploads, cx: &Cx, media: Media) -> Result<StoredMedia> {
    let upload = match media.source {
        Source::Stored(id) => uploads.get(cx, id)?,
        Source::Bytes(bytes) => uploads.put(cx, &media.name, &media.media_type, bytes.to_vec()).await?,
    };
    Ok(StoredMedia { id: upload.id, media_type: upload.media_type, name: upload.name })
}

/// Whether a person sent media.
pub(crate) fn has_media(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message, Message::User(content) if content.media().next().is_some()))
}

/// Loads the bytes of the newest media; replaces older, too large or missing ones by their names. Media and their names taint:
/// nobody here wrote them.
pub(crate) async fn load_media(uploads: &Uploads, cx: &Cx, messages: &mut [Message]) {
    let mut bytes = HashMap::<Id, Source>::new();
    let (mut shown, mut size) = (0, 0);
    for message in messages.iter_mut().rev() {
        let Message::User(content) = message else { continue };
        for part in content.0.iter_mut().rev() {
            let Part::Media(media) = part else { continue };
            cx.taint(Label::Outside);
            let Source::Stored(id) = media.source else { continue };
            if shown < MAX_MEDIA
                && let Some(source) = source(uploads, cx, id, &mut bytes, &mut size).await
            {
                media.source = source;
                shown += 1;
                continue;
            }
            let word = match media.kind {
                Kind::Image => "picture",
                Kind::Audio => "sound",
                Kind::File => "file",
            };
            *part = Part::Text(format!("[{word} {}]", media.name));
        }
    }
}

async fn source(
    uploads: &Uploads,
    cx: &Cx,
    id: Id,
    known: &mut HashMap<Id, Source>,
    size: &mut usize,
) -> Option<Source> {
    if let Some(source) = known.get(&id) {
        return Some(source.clone());
    }
    let upload = uploads.get(cx, id).ok()?;
    if *size + upload.size as usize > MAX_BYTES {
        return None;
    }
    match uploads.load(cx, id).await {
        Ok((_, bytes)) => {
            *size += bytes.len();
            let source = Source::Bytes(bytes);
            known.insert(id, source.clone());
            Some(source)
        }
        Err(error) => {
            tracing::warn!(%id, %error, "a file of a conversation could not be read");
            None
        }
    }
}
