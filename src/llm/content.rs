//! What a person sends: words, pictures, sound and files, in the order they were put.

use serde::{Deserialize, Serialize};
use std::{borrow::Cow, sync::Arc};
use tool::Id;

/// The parts of one message, in order.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Content(pub Vec<Part>);

/// One part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Part {
    /// Words.
    Text(String),
    /// A picture, sound or file.
    Media(Media),
}

/// What sort of thing a model is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A picture.
    Image,
    /// Sound.
    Audio,
    /// Any other file: text goes in as words, the rest where the model reads such files.
    File,
}

/// A picture, sound or file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Media {
    /// What sort of thing it is.
    pub kind: Kind,
    /// Its type, such as `image/png`.
    pub media_type: String,
    /// Its name, for people; may be empty.
    pub name: String,
    /// Where its bytes are.
    pub source: Source,
}

/// Where the bytes of a [`Media`] are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Source {
    /// Kept by Hob under this id; whoever asks a provider turns it into bytes first.
    Stored(Id),
    /// Here. Only for the length of a request.
    #[serde(skip)]
    Bytes(Arc<[u8]>),
}

impl Content {
    /// Its words alone, parts divided by a line break.
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

    /// Its pictures, sounds and files.
    pub fn media(&self) -> impl Iterator<Item = &Media> {
        self.0.iter().filter_map(|part| match part {
            Part::Media(media) => Some(media),
            Part::Text(_) => None,
        })
    }

    /// Whether there is neither a word nor anything else in it.
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
