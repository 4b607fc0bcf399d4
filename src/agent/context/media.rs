//! Pictures, sounds and files of a conversation: kept as uploads, and brought to a model as bytes just before it is asked.

use crate::conversation::{StoredMedia, kind_of};
use llm::{Content, Kind, Media, Message, Part, Source};
use std::collections::HashMap;
use tool::{Cx, Error, Id, Label, Result};
use uploads::Uploads;

/// How many pictures, sounds and files a model is shown at most, and how many bytes of them; older ones are named.
const SHOWN: usize = 8;
const BYTES: usize = 32 << 20;

/// Keeps what was sent as bytes, so that the conversation can name it. What names a file is looked up: it must be the
/// person's, and its type is what it was found to be.
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

/// Keeps what a model made.
pub(crate) async fn store_model_media(uploads: &Uploads, cx: &Cx, media: Media) -> Result<StoredMedia> {
    let upload = match media.source {
        Source::Stored(id) => uploads.get(cx, id)?,
        Source::Bytes(bytes) => uploads.put(cx, &media.name, &media.media_type, bytes.to_vec()).await?,
    };
    Ok(StoredMedia { id: upload.id, media_type: upload.media_type, name: upload.name })
}

/// Puts the bytes of the newest into their places; what is older, too much or gone is named in words. Nobody here wrote what is
/// in them, so whoever is shown any, or only their names, has read from outside.
pub(crate) async fn load_media(uploads: &Uploads, cx: &Cx, messages: &mut [Message]) {
    let mut bytes = HashMap::<Id, Source>::new();
    let (mut shown, mut size) = (0, 0);
    for message in messages.iter_mut().rev() {
        let Message::User(content) = message else { continue };
        for part in content.0.iter_mut().rev() {
            let Part::Media(media) = part else { continue };
            cx.taint(Label::Outside);
            let Source::Stored(id) = media.source else { continue };
            if shown < SHOWN
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
    // Its size is known before it is read.
    let upload = uploads.get(cx, id).ok()?;
    if *size + upload.size as usize > BYTES {
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
