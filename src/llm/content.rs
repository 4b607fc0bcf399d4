//! Message content: text, images, audio and files, in order.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, sync::Arc};
use tool::Id;

/// The parts of one message, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Content(pub Vec<Part>);

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Text.
    Text(String),
    /// An image, audio or file.
    Media(Media),
}

/// The kind of media.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An image.
    Image,
    /// Audio.
    Audio,
    /// Any other file: text is sent as text, the rest if the model reads such files.
    File,
}

/// An image, audio or file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// Its kind.
    pub kind: Kind,
    /// MIME type, such as `image/png`.
    pub media_type: String,
    /// Display name; may be empty.
    pub name: String,
    /// The location of its bytes.
    pub source: Source,
}

/// Location of the bytes of a [`Media`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// Stored under this id; resolved to bytes before a request.
    Stored(Id),
    /// In memory, for the duration of a request.
    #[serde(skip)]
    Bytes(Arc<[u8]>),
}

impl Content {
    /// Its text alone, parts separated by a line break.
    pub fn text(&self) -> Cow<'_, str> {
        let mut texts = self.0.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Media(_) => None,
        });
        match (texts.next(), texts.next()) {
            (None, _) => Cow::Borrowed(""),
            (Some(only), None) => Cow::Borrowed(only),
            (Some(first), Some(second)) => {
                Cow::Owned([first, second].into_iter().chain(texts).collect::<Vec<_>>().join("\n"))
            }
        }
    }

    /// Its images, audio and files.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.0.iter().filter_map(|part| match part {
            Part::Media(media) => Some(media),
            Part::Text(_) => None,
        })
    }

    /// Whether it has neither text nor media.
    pub fn is_empty(&self) -> bool {
        self.media().next().is_none() && self.text().trim().is_empty()
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Content(vec![Part::Text(text.to_owned())])
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Content(vec![Part::Text(text)])
    }
}
