//! The chunk index of a bundle: the hash and the place of each chunk, and deltas to earlier releases.

use crate::{
    chunks::MAX_CHUNK,
    digest::Digest,
    error::{Error, Result},
    manifest::Manifest,
};
use serde::{Deserialize, Serialize};

/// The most bytes that a chunk or a delta takes in the bundle.
pub const MAX_STORED: usize = MAX_CHUNK + 1024;
/// The most earlier releases that a bundle has deltas to.
pub const MAX_BASES: usize = 8;

/// The place of compressed bytes in the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The number of bytes. The places follow one another in the order of the index.
    pub length: u32,
    /// The first half of the BLAKE3 hash of the bytes, checked before they are decompressed.
    pub hash: [u8; 16],
}

impl Stored {
    /// Describes compressed bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u32, hash: half(bytes) }
    }

    /// Whether these are the bytes.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.length as usize && half(bytes) == self.hash
    }
}

fn half(bytes: &[u8]) -> [u8; 16] {
    let mut half = [0; 16];
    half.copy_from_slice(&blake3::hash(bytes).as_bytes()[..16]);
    half
}

/// A chunk of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// BLAKE3 of its content.
    pub hash: [u8; 32],
    /// Bytes of its content.
    pub length: u32,
    /// The compressed content; `None` when an earlier chunk of the bundle has the same content.
    pub stored: Option<Stored>,
}

/// Deltas of an image to that of an earlier release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaseIndex {
    /// The image, as its place in the manifest.
    pub image: u8,
    /// Bytes of the earlier image.
    pub length: u64,
    /// SHA-256 of the earlier image.
    pub sha256: [u8; 32],
    /// A delta for each chunk of the image; `None` where the chunk itself is smaller, or the base contains it.
    pub deltas: Vec<Option<Stored>>,
}

/// The index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// The chunks of all images, in order.
    pub chunks: Vec<Chunk>,
    /// Earlier releases.
    pub bases: Vec<BaseIndex>,
}

/// Bytes in the bundle file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The first byte in the bundle file.
    pub offset: u64,
    /// Their number and hash.
    pub stored: Stored,
}

/// A chunk with all its places.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedChunk {
    /// BLAKE3 of the content.
    pub hash: [u8; 32],
    /// The image, as its place in the manifest.
    pub image: usize,
    /// The first byte in the image.
    pub offset: u64,
    /// Bytes of the content.
    pub length: usize,
    /// The compressed content, or the earlier chunk with the same content.
    pub source: ChunkSource,
}

/// The source of a chunk in the bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkSource {
    /// Compressed bytes.
    Stored(Place),
    /// The same as an earlier chunk.
    SameAs(usize),
}

/// An earlier release with the places of its deltas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedBase {
    /// The image, as its place in the manifest.
    pub image: usize,
    /// Bytes of the earlier image.
    pub length: u64,
    /// SHA-256 of the earlier image.
    pub sha256: Digest,
    /// The first chunk of the image in the list of all chunks.
    pub first_chunk: usize,
    /// A delta for each chunk of the image.
    pub deltas: Vec<Option<Place>>,
}

/// The index with the place of everything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// The chunks of all images, in order.
    pub chunks: Vec<PlacedChunk>,
    /// Earlier releases.
    pub bases: Vec<PlacedBase>,
}

impl Index {
    /// The bytes of the index in a bundle.
    ///
    /// # Errors
    /// Never for an index that was built here.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        postcard::to_stdvec(self).map_err(|why| Error::BadRequest(format!("the chunk index cannot be written: {why}")))
    }

    /// Reads an index; every bound of it is checked by [`Index::layout`].
    ///
    /// # Errors
    /// `Refused`.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        match postcard::take_from_bytes(bytes) {
            Ok((index, [])) => Ok(index),
            _ => Err(damaged("it cannot be read")),
        }
    }

    /// The places of all chunks and deltas in a bundle whose head has `head` bytes.
    ///
    /// # Errors
    /// `Refused` when chunks do not add up to the images, a length is out of bounds, or the bundle's length differs.
    pub fn layout(&self, manifest: &Manifest, head: u64) -> Result<Layout> {
        let (mut chunks, mut first_of_image) = (Vec::with_capacity(self.chunks.len()), vec![]);
        let mut known = std::collections::HashMap::with_capacity(self.chunks.len());
        let mut at = head;
        let mut place = |stored: Stored| {
            let offset = at;
            at += u64::from(stored.length);
            match (1..=MAX_STORED).contains(&(stored.length as usize)) {
                true => Ok(Place { offset, stored }),
                false => Err(damaged("a chunk takes too much room or none")),
            }
        };
        let mut rest = self.chunks.iter();
        for (image, about) in manifest.images.iter().enumerate() {
            first_of_image.push(chunks.len());
            let mut offset = 0;
            while offset < about.length {
                let chunk = rest.next().ok_or_else(|| damaged("chunks are missing"))?;
                let length = chunk.length as usize;
                if !(1..=MAX_CHUNK).contains(&length) {
                    return Err(damaged("a chunk is too long or empty"));
                }
                let source = match chunk.stored {
                    Some(stored) => ChunkSource::Stored(place(stored)?),
                    None => match known.get(&chunk.hash) {
                        Some(&(first, same)) if same == length => ChunkSource::SameAs(first),
                        _ => return Err(damaged("a chunk refers to one that is not there")),
                    },
                };
                known.entry(chunk.hash).or_insert((chunks.len(), length));
                chunks.push(PlacedChunk { hash: chunk.hash, image, offset, length, source });
                offset += length as u64;
            }
            if offset != about.length {
                return Err(damaged("the chunks do not add up to the images"));
            }
        }
        if rest.next().is_some() {
            return Err(damaged("the chunks do not add up to the images"));
        }
        if self.bases.len() > MAX_BASES {
            return Err(damaged("it refers to too many earlier versions"));
        }
        let mut bases = vec![];
        for base in &self.bases {
            let image = usize::from(base.image);
            let first_chunk = *first_of_image.get(image).ok_or_else(|| damaged("a delta belongs to no image"))?;
            let end = first_of_image.get(image + 1).copied().unwrap_or(chunks.len());
            if base.deltas.len() != end - first_chunk {
                return Err(damaged("the deltas do not match the chunks"));
            }
            let deltas: Result<Vec<_>> = base.deltas.iter().map(|delta| delta.map(&mut place).transpose()).collect();
            let (length, sha256) = (base.length, Digest(base.sha256));
            bases.push(PlacedBase { image, length, sha256, first_chunk, deltas: deltas? });
        }
        if at != manifest.bundle_length {
            return Err(damaged("its length is not the declared one"));
        }
        Ok(Layout { chunks, bases })
    }
}

fn damaged(why: &str) -> Error {
    Error::Refused(format!("the chunk index of this bundle is wrong ({why}): it was not made by `hob bundle build`"))
}
