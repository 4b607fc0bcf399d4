//! An open upload: what the device has of a bundle already, what it needs, and writing what arrives.

use crate::{
    bundle::{self, Head},
    chunks::{self, MAX_CHUNK},
    delta,
    digest::Digest,
    disk::DiskFile,
    error::{Error, Result},
    index::{ChunkSource, Place},
    slots::{SlotName, Slots},
};
use serde::Serialize;
use sha2::Digest as _;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

/// The longest piece of one call of [`Upload::put`].
pub const MAX_PIECE: usize = 1 << 20;

/// A range of the bundle file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Range {
    /// The first byte.
    pub offset: u64,
    /// The number of bytes.
    pub length: u64,
}

/// The bytes of a bundle that a device lacks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// The id of the upload; the same for the same bundle.
    pub id: String,
    /// The version.
    pub version: String,
    /// Its release notes.
    pub notes: String,
    /// The ranges of the bundle file that are needed, in their order.
    pub needed: Vec<Range>,
    /// Their bytes.
    pub needed_bytes: u64,
    /// Bytes of the whole bundle.
    pub total_bytes: u64,
}

/// How far an installation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Progress {
    /// Bytes that arrived of those that were needed.
    pub received: u64,
    /// Bytes that were needed.
    pub needed: u64,
    /// Bytes that are in the slot.
    pub written: u64,
    /// Bytes of the finished slot.
    pub total: u64,
}

/// The progress of the open upload, readable while a step of it runs.
#[derive(Debug, Clone, Default)]
pub struct SharedProgress(Arc<Mutex<Option<Progress>>>);

impl SharedProgress {
    /// The progress; `None` without an upload.
    pub fn get(&self) -> Option<Progress> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces it.
    pub fn set(&self, progress: Option<Progress>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = progress;
    }
}

/// The state of a chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It is in the slot.
    Written,
    /// A source on this device has it.
    Local { source: usize, offset: u64 },
    /// An earlier chunk has the same content.
    SameAs(usize),
    /// It has to arrive.
    Missing,
}

/// Compressed bytes that have to arrive.
#[derive(Debug, Clone, Copy)]
struct Blob {
    place: Place,
    chunk: usize,
    /// The source that a delta refers to, and its length.
    base: Option<(usize, u64)>,
    received: bool,
}

/// The begin of a blob whose end has not arrived.
struct Partial {
    blob: usize,
    bytes: Vec<u8>,
}

/// An open upload.
pub struct Upload {
    pub head: Head,
    pub slot: SlotName,
    states: Vec<State>,
    /// In the order of their places.
    blobs: Vec<Blob>,
    partial: Option<Partial>,
    sources: Vec<Box<dyn DiskFile>>,
    targets: Vec<Box<dyn DiskFile>>,
    progress: Progress,
    shared: SharedProgress,
}

/// The images on the device that chunks can come from.
#[derive(Default)]
struct Sources {
    files: Vec<Box<dyn DiskFile>>,
    /// Hash of a chunk of the new version → source and offset.
    known: HashMap<[u8; 32], (usize, u64)>,
    /// Base of the bundle → the source that is it.
    bases: HashMap<usize, usize>,
}

impl Sources {
    /// Reads an image and notes the chunks of the new version in it.
    fn scan(&mut self, head: &Head, image: usize, file: Box<dyn DiskFile>, length: u64) -> Result<()> {
        let place = self.files.len();
        // The first bytes of the image may be the earlier release; a partition is longer than its image.
        let bases =
            head.layout.bases.iter().enumerate().filter(|(_, base)| base.image == image && base.length <= length);
        let mut hashers: Vec<_> = bases.map(|(at, base)| (at, base.length, sha2::Sha256::new())).collect();
        let wanted: HashMap<[u8; 32], usize> = head.layout.chunks.iter().map(|c| (c.hash, c.length)).collect();
        chunks::for_each_chunk(&*file, length, |offset, chunk| {
            let hash: [u8; 32] = blake3::hash(chunk).into();
            if wanted.get(&hash) == Some(&chunk.len()) {
                self.known.entry(hash).or_insert((place, offset));
            }
            for (_, length, hasher) in &mut hashers {
                let part = usize::try_from(length.saturating_sub(offset)).unwrap_or(usize::MAX).min(chunk.len());
                hasher.update(&chunk[..part]);
            }
            Ok::<_, Error>(())
        })?;
        for (at, _, hasher) in hashers {
            let same = head.layout.bases.get(at).is_some_and(|base| base.sha256 == Digest(hasher.finalize().into()));
            if same {
                self.bases.entry(at).or_insert(place);
            }
        }
        file.drop_cache();
        self.files.push(file);
        Ok(())
    }

    /// Scans the running slot, and the other one where its old images stay readable.
    fn of(slots: &dyn Slots, head: &Head, running: SlotName) -> Result<Self> {
        let mut sources = Self::default();
        let other = slots.keeps_old_image().then_some(running.other());
        for slot in std::iter::once(running).chain(other) {
            let about = slots.manifest(slot)?;
            // A slot without a manifest may be half written; what runs is whole.
            if slot != running && about.is_none() {
                continue;
            }
            for (image, name) in slots.payload().images().iter().enumerate() {
                let Some(file) = slots.open(slot, name)? else { continue };
                let declared = about.as_ref().and_then(|about| about.bundle.as_ref());
                let declared = declared.and_then(|bundle| bundle.images.get(image)).map(|image| image.length);
                let all = file.length().map_err(|why| Error::disk("the running version cannot be read", &why))?;
                sources.scan(head, image, file, declared.unwrap_or(all).min(all))?;
            }
        }
        Ok(sources)
    }
}

impl Upload {
    /// Opens the slot for writing and finds out what is missing. Bytes of an interrupted upload count as present.
    pub fn open(slots: &dyn Slots, head: Head, running: SlotName, shared: SharedProgress) -> Result<Self> {
        let slot = running.other();
        let sources = Sources::of(slots, &head, running)?;
        let mut targets = vec![];
        for image in &head.manifest.images {
            targets.push(slots.writer(slot, &image.name, image.length)?);
        }
        let mut upload = Self {
            slot,
            states: vec![State::Missing; head.layout.chunks.len()],
            blobs: vec![],
            partial: None,
            sources: sources.files,
            targets,
            progress: Progress { total: head.manifest.images.iter().map(|i| i.length).sum(), ..Progress::default() },
            shared,
            head,
        };
        let mut buffer = vec![0; MAX_CHUNK];
        for (at, chunk) in upload.head.layout.chunks.iter().enumerate() {
            let state = match (chunk.source, sources.known.get(&chunk.hash)) {
                _ if has_chunk(&upload.targets, chunk.image, chunk.offset, chunk.length, &chunk.hash, &mut buffer) => {
                    upload.progress.written += chunk.length as u64;
                    State::Written
                }
                (_, Some(&(source, offset))) => State::Local { source, offset },
                (ChunkSource::SameAs(first), None) => State::SameAs(first),
                (ChunkSource::Stored(_), None) => State::Missing,
            };
            upload.states[at] = state;
        }
        // A chunk that a later one repeats may be missing although the later one is there: fetch it all the same.
        for at in 0..upload.states.len() {
            if upload.states[at] == State::Missing {
                upload.expect(at, Some(&sources.bases));
            }
        }
        upload.blobs.sort_by_key(|blob| blob.place.offset);
        upload.share();
        Ok(upload)
    }

    /// Notes that a chunk has to arrive: as the delta to an image that is here where that is smaller, else whole.
    fn expect(&mut self, chunk: usize, bases: Option<&HashMap<usize, usize>>) {
        let Some(about) = self.head.layout.chunks.get(chunk) else { return };
        let ChunkSource::Stored(whole) = about.source else { return };
        let deltas = bases.into_iter().flatten().filter_map(|(base, source)| {
            let base = self.head.layout.bases.get(*base)?;
            let place = (*base.deltas.get(chunk.checked_sub(base.first_chunk)?)?)?;
            Some((place, Some((*source, base.length))))
        });
        let (place, base) = deltas.chain([(whole, None)]).min_by_key(|(p, _)| p.stored.length).unwrap_or((whole, None));
        self.progress.needed += u64::from(place.stored.length);
        self.states[chunk] = State::Missing;
        self.blobs.push(Blob { place, chunk, base, received: false });
    }

    /// Notes that a chunk has to arrive whole, after a source on this device turned out to be unreadable.
    fn expect_whole(&mut self, chunk: usize) {
        if self.blobs.iter().any(|blob| blob.chunk == chunk && !blob.received) {
            return;
        }
        self.partial = None;
        if self.states.get(chunk) == Some(&State::Written) {
            let length = self.head.layout.chunks.get(chunk).map_or(0, |chunk| chunk.length as u64);
            self.progress.written = self.progress.written.saturating_sub(length);
        }
        // It arrived whole before, and was lost on the disk: two blobs with one place would hide each other.
        if let Some(known) = self.blobs.iter_mut().find(|blob| blob.chunk == chunk && blob.base.is_none()) {
            known.received = false;
            self.progress.received = self.progress.received.saturating_sub(known.place.stored.length.into());
            self.states[chunk] = State::Missing;
        } else {
            self.expect(chunk, None);
            self.blobs.sort_by_key(|blob| blob.place.offset);
        }
        self.share();
    }

    /// The ranges that are still missing.
    pub fn plan(&self) -> Plan {
        let mut needed: Vec<Range> = vec![];
        for blob in self.blobs.iter().filter(|blob| !blob.received) {
            // Of a blob that began to arrive only the rest is needed.
            let partial = self
                .partial
                .as_ref()
                .filter(|partial| self.blobs.get(partial.blob).is_some_and(|b| b.place == blob.place));
            let here = partial.map_or(0, |partial| partial.bytes.len() as u64);
            let (offset, length) = (blob.place.offset + here, u64::from(blob.place.stored.length) - here);
            match needed.last_mut() {
                Some(last) if last.offset + last.length == offset => last.length += length,
                _ => needed.push(Range { offset, length }),
            }
        }
        let manifest = &self.head.manifest;
        Plan {
            id: self.head.id.clone(),
            version: manifest.version.to_string(),
            notes: manifest.notes.clone(),
            needed_bytes: needed.iter().map(|range| range.length).sum(),
            needed,
            total_bytes: manifest.bundle_length,
        }
    }

    fn share(&self) {
        self.shared.set(Some(self.progress()));
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        let partial = self.partial.as_ref().map_or(0, |partial| partial.bytes.len() as u64);
        Progress { received: self.progress.received + partial, ..self.progress }
    }

    /// Takes a piece of the bundle. Pieces follow one another or begin where a needed chunk begins; repeated ones are skipped.
    pub fn put(&mut self, offset: u64, piece: &[u8]) -> Result<()> {
        if piece.is_empty() || piece.len() > MAX_PIECE {
            return Err(Error::BadRequest(format!("send pieces of 1 to {MAX_PIECE} bytes")));
        }
        let (mut at, mut rest) = (offset, piece);
        while !rest.is_empty() {
            let place =
                self.blobs.partition_point(|blob| blob.place.offset + u64::from(blob.place.stored.length) <= at);
            let blob = self.blobs.get(place).copied().filter(|blob| blob.place.offset <= at);
            let Some(blob) = blob else {
                return Err(Error::BadRequest(format!("the bytes at {at} are not needed: ask again which ranges are")));
            };
            let (within, whole) = ((at - blob.place.offset) as usize, blob.place.stored.length as usize);
            let (now, later) = rest.split_at(rest.len().min(whole - within));
            (at, rest) = (at + now.len() as u64, later);
            if blob.received {
                continue;
            }
            if within == 0 && now.len() == whole {
                self.partial = None;
                self.accept(place, now)?;
                continue;
            }
            let mut partial = self.partial.take().filter(|partial| partial.blob == place);
            let known = partial.as_ref().map_or(0, |partial| partial.bytes.len());
            if within > known {
                let expected = blob.place.offset + known as u64;
                self.partial = partial;
                return Err(Error::BadRequest(format!("bytes are missing before {offset}: continue at {expected}")));
            }
            let mut bytes = partial.take().map(|partial| partial.bytes).unwrap_or_default();
            bytes.truncate(within);
            bytes.extend_from_slice(now);
            match bytes.len() == whole {
                true => self.accept(place, &bytes)?,
                false => self.partial = Some(Partial { blob: place, bytes }),
            }
        }
        self.share();
        Ok(())
    }

    /// Checks a blob, and writes its chunk.
    fn accept(&mut self, place: usize, bytes: &[u8]) -> Result<()> {
        let Some(blob) = self.blobs.get(place).copied() else { return Ok(()) };
        if !blob.place.stored.matches(bytes) {
            return Err(Error::Refused(format!(
                "the bytes at {} are not those of this bundle: they were damaged or exchanged on the way; send them again",
                blob.place.offset
            )));
        }
        let Some(chunk) = self.head.layout.chunks.get(blob.chunk).cloned() else { return Ok(()) };
        let content = match blob.base.and_then(|(source, length)| Some((self.sources.get(source)?, length))) {
            Some((base, length)) => {
                let raw = bundle::decompress(bytes, delta::limit(chunk.length))?;
                delta::decode(&raw, &**base, length, chunk.length)
            }
            None => bundle::decompress(bytes, chunk.length),
        };
        let content = content.and_then(|content| match blake3::hash(&content) == chunk.hash {
            true => Ok(content),
            false => {
                Err(Error::refused("a chunk of the bundle is not what the index declares: do not use this bundle"))
            }
        });
        match content {
            Ok(content) => {
                self.write(blob.chunk, &content)?;
                self.note_received(place);
                self.share();
                Ok(())
            }
            // The running version does not read back as it did: the chunk itself is still to be had.
            Err(why) if blob.base.is_some() => {
                tracing::warn!(%why, chunk = blob.chunk, "a delta did not fit; the whole chunk is fetched instead");
                self.note_received(place);
                self.expect_whole(blob.chunk);
                Ok(())
            }
            Err(why) => Err(why),
        }
    }

    fn note_received(&mut self, place: usize) {
        if let Some(blob) = self.blobs.get_mut(place) {
            blob.received = true;
            self.progress.received += u64::from(blob.place.stored.length);
        }
    }

    fn write(&mut self, chunk: usize, content: &[u8]) -> Result<()> {
        let (Some(about), Some(state)) = (self.head.layout.chunks.get(chunk), self.states.get_mut(chunk)) else {
            return Ok(());
        };
        if let Some(target) = self.targets.get(about.image) {
            let written = target.write_at(about.offset, content);
            written.map_err(|why| Error::disk("the new version cannot be written", &why))?;
        }
        *state = State::Written;
        self.progress.written += content.len() as u64;
        self.share();
        Ok(())
    }

    /// Copies what this device has, syncs, and reads everything back.
    pub fn complete(&mut self) -> Result<()> {
        self.check_received()?;
        for chunk in 0..self.states.len() {
            let content = match self.states[chunk] {
                State::Written | State::Missing => continue,
                State::Local { source, offset } => self.sources.get(source).map(|file| (file, offset)),
                State::SameAs(first) => {
                    let first = self.head.layout.chunks.get(first);
                    first.and_then(|first| Some((self.targets.get(first.image)?, first.offset)))
                }
            };
            let about = &self.head.layout.chunks[chunk];
            let mut bytes = vec![0; about.length];
            let read = content.is_some_and(|(file, offset)| file.read_exact_at(offset, &mut bytes).is_ok());
            if read && blake3::hash(&bytes) == about.hash {
                self.write(chunk, &bytes)?;
                continue;
            }
            let whole = match about.source {
                ChunkSource::Stored(_) => chunk,
                ChunkSource::SameAs(first) => first,
            };
            tracing::warn!(chunk, "a part of the running version cannot be read any more and is fetched");
            if whole != chunk {
                self.states[chunk] = State::SameAs(whole);
            }
            self.expect_whole(whole);
        }
        self.check_received()?;
        for (target, image) in self.targets.iter().zip(&self.head.manifest.images) {
            let failed = |why| Error::disk("the new version cannot be written", &why);
            target.set_length(image.length).map_err(failed)?;
            target.sync().map_err(failed)?;
            target.drop_cache();
        }
        self.read_back()
    }

    fn check_received(&self) -> Result<()> {
        let left: u64 = self.plan().needed_bytes;
        match left {
            0 => Ok(()),
            left => Err(Error::Busy(format!("{left} bytes of the bundle are still missing: send them first"))),
        }
    }

    /// Compares the slot with the manifest. Chunks that read back wrong are missing again.
    fn read_back(&mut self) -> Result<()> {
        for image in 0..self.targets.len() {
            let (Some(target), Some(about)) = (self.targets.get(image), self.head.manifest.images.get(image)) else {
                continue;
            };
            let (mut hasher, mut buffer, mut at) = (sha2::Sha256::new(), vec![0; MAX_CHUNK], 0);
            let mut readable = true;
            while at < about.length && readable {
                let piece = usize::try_from(about.length - at).unwrap_or(usize::MAX).min(buffer.len());
                readable = target.read_exact_at(at, &mut buffer[..piece]).is_ok();
                hasher.update(&buffer[..piece]);
                at += piece as u64;
            }
            if readable && Digest(hasher.finalize().into()) == about.sha256 {
                continue;
            }
            let chunks = self.head.layout.chunks.iter().enumerate().filter(|(_, chunk)| chunk.image == image);
            let wrong: Vec<usize> = chunks
                .filter(|(_, c)| !has_chunk(&self.targets, c.image, c.offset, c.length, &c.hash, &mut buffer))
                .map(|(at, _)| at)
                .collect();
            for chunk in &wrong {
                match self.head.layout.chunks[*chunk].source {
                    ChunkSource::Stored(_) => self.expect_whole(*chunk),
                    ChunkSource::SameAs(first) => {
                        let length = self.head.layout.chunks[*chunk].length as u64;
                        self.progress.written = self.progress.written.saturating_sub(length);
                        self.states[*chunk] = State::SameAs(first);
                    }
                }
            }
            return Err(Error::Disk(format!(
                "the new version does not read back as it was written ({} parts differ): the storage may be failing; try once \
                 more, and replace the card if it happens again",
                wrong.len()
            )));
        }
        Ok(())
    }
}

/// Whether an image has a chunk at its place.
fn has_chunk(
    files: &[Box<dyn DiskFile>],
    image: usize,
    offset: u64,
    length: usize,
    hash: &[u8; 32],
    buffer: &mut [u8],
) -> bool {
    let (Some(file), Some(buffer)) = (files.get(image), buffer.get_mut(..length)) else { return false };
    file.read_exact_at(offset, buffer).is_ok() && blake3::hash(buffer) == *hash
}
