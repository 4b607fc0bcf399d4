//! The index file in the data folder: a cache of the index, so that the first search after a start reads some megabytes
//! instead of every memory.
//!
//! It may be deleted at any time. It begins with its head's length and checksum; the head holds the columns and the
//! words, and the vectors follow one by one. `journal.rs` decides whether it may be used.

use crate::{
    index::{Columns, Fetch, Index},
    postings::Dictionary,
    records::Model,
    scan::Bits,
    vectors::{VectorFile, Vectors, stored, stride},
};
use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use tool::{Id, UserId};

const MAGIC: [u8; 8] = *b"hobmem01";
/// The length of the head and its checksum.
const START: usize = MAGIC.len() + size_of::<u64>() + blake3::OUT_LEN;

/// The generation that the journal names, the device, and the model of the vectors.
#[derive(Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub generation: Id,
    pub device: Id,
    pub model: &'a Model,
}

/// Identifies the maker of a file, and code that makes the same words and vectors.
fn digest(maker: Maker) -> [u8; blake3::OUT_LEN] {
    let Maker { generation, device, model } = maker;
    let mut hasher = blake3::Hasher::new();
    hasher.update(generation.as_bytes()).update(device.as_bytes());
    hasher.update(model.name.as_bytes()).update(include_bytes!("words.rs"));
    *hasher.finalize().as_bytes()
}

/// A written file that is not in its place yet.
pub(crate) struct Written {
    file: File,
    part: PathBuf,
    path: PathBuf,
}

/// Writes the index next to `path`.
///
/// # Errors
/// Those of the file system.
pub(crate) fn write(path: &Path, maker: Maker, index: &Index, fetch: Fetch) -> io::Result<Written> {
    let part = path.with_extension("index.new");
    let _ = fs::remove_file(&part);
    let (rows, words, order) = index.compacted();
    let mut head = digest(maker).to_vec();
    put_head(&mut head, &rows, &words);
    let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
    let write = || -> io::Result<File> {
        let mut file = BufWriter::with_capacity(1 << 18, file);
        file.write_all(&MAGIC)?;
        file.write_all(&(head.len() as u64).to_le_bytes())?;
        file.write_all(blake3::hash(&head).as_bytes())?;
        file.write_all(&head)?;
        drop(head);
        for (old, id) in order.iter().zip(&rows.ids) {
            file.write_all(&stored(*id, index.vector_of(*old, fetch).as_ref(), maker.model.dimensions))?;
        }
        file.into_inner().map_err(io::IntoInnerError::into_error)
    };
    match write() {
        Ok(file) => Ok(Written { file, part, path: path.to_owned() }),
        Err(error) => {
            let _ = fs::remove_file(&part);
            Err(error)
        }
    }
}

impl Written {
    /// Puts the file in its place, durably: after a power cut the old file is there, or this one.
    ///
    /// # Errors
    /// Those of the file system; the old file is unchanged then.
    pub fn put_in_place(self) -> io::Result<()> {
        let placed = self.file.sync_all().and_then(|()| fs::rename(&self.part, &self.path));
        if placed.is_err() {
            let _ = fs::remove_file(&self.part);
        }
        placed?;
        self.path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    }
}

/// Reads an index that was saved for this generation; `None` where there is no such file, or it is damaged.
pub(crate) fn load(path: &Path, maker: Maker) -> Option<Index> {
    let mut file = match store::open_plain(path) {
        Ok(file) => file,
        Err(error) => {
            tracing::debug!(%error, "there is no index file of memories");
            return None;
        }
    };
    let length = file.metadata().ok()?.len();
    let mut start = [0; START];
    file.read_exact(&mut start).ok()?;
    let mut read = Reader(&start);
    let magic = read.take(MAGIC.len())?;
    let head_length = u64::from_le_bytes(read.take(size_of::<u64>())?.try_into().ok()?);
    if magic != MAGIC || head_length > length {
        return None;
    }
    let mut head = vec![0; usize::try_from(head_length).ok()?];
    file.read_exact(&mut head).ok()?;
    if blake3::hash(&head).as_bytes() != read.0 {
        tracing::warn!("the index file of memories is damaged: the index is built from the memories");
        return None;
    }
    let mut read = Reader(&head);
    if read.take(blake3::OUT_LEN)? != digest(maker) {
        return None;
    }
    let (rows, words) = read.head()?;
    let start = START as u64 + head_length;
    let (count, stride) = (rows.ids.len(), stride(maker.model.dimensions));
    if length != start + (count * stride) as u64 {
        return None;
    }
    Some(Index::new(rows, words, Vectors::new(Some(VectorFile { file, start, rows: count, stride }))))
}

/// A number of fixed size in a column.
trait Number: Copy {
    fn put(self, to: &mut Vec<u8>);
    fn get(bytes: &[u8]) -> Option<Self>;
}

macro_rules! numbers {
    ($($number:ty)*) => {$(
        impl Number for $number {
            fn put(self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_le_bytes());
            }
            fn get(bytes: &[u8]) -> Option<Self> {
                bytes.try_into().ok().map(Self::from_le_bytes)
            }
        }
    )*};
}
numbers!(u8 u16 u32 u64 f32);

impl Number for Id {
    fn put(self, to: &mut Vec<u8>) {
        to.extend_from_slice(self.as_bytes());
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Id::from_bytes)
    }
}

impl Number for UserId {
    fn put(self, to: &mut Vec<u8>) {
        self.0.put(to);
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        Id::get(bytes).map(UserId)
    }
}

impl<const N: usize> Number for [u64; N] {
    fn put(self, to: &mut Vec<u8>) {
        self.into_iter().for_each(|word| word.put(to));
    }
    fn get(bytes: &[u8]) -> Option<Self> {
        let mut words = [0; N];
        for (word, bytes) in words.iter_mut().zip(bytes.chunks_exact(size_of::<u64>())) {
            *word = u64::get(bytes)?;
        }
        Some(words)
    }
}

/// Appends a column: how many numbers, and the numbers.
fn put_all<T: Number>(to: &mut Vec<u8>, column: &[T]) {
    (column.len() as u64).put(to);
    to.reserve(size_of_val(column));
    column.iter().for_each(|number| number.put(to));
}

fn put_head(to: &mut Vec<u8>, rows: &Columns, words: &Dictionary) {
    let Columns { ids, owners, people, kinds, importance, lengths, sketches, shared, outside, with_vector } = rows;
    put_all(to, ids);
    put_all(to, owners);
    put_all(to, people);
    put_all(to, kinds);
    put_all(to, importance);
    put_all(to, lengths);
    put_all(to, sketches);
    [shared, outside, with_vector].into_iter().for_each(|bits| put_all(to, &bits.0));
    let Dictionary { terms, term_ends, counts, postings, posting_ends } = words;
    put_all(to, terms);
    put_all(to, term_ends);
    put_all(to, counts);
    put_all(to, postings);
    put_all(to, posting_ends);
}

/// The rest of a head.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    fn all<T: Number>(&mut self) -> Option<Vec<T>> {
        let count = usize::try_from(u64::get(self.take(size_of::<u64>())?)?).ok()?;
        let bytes = self.take(count.checked_mul(size_of::<T>())?)?;
        bytes.chunks_exact(size_of::<T>()).map(T::get).collect()
    }

    fn head(&mut self) -> Option<(Columns, Dictionary)> {
        let rows = Columns {
            ids: self.all()?,
            owners: self.all()?,
            people: self.all()?,
            kinds: self.all()?,
            importance: self.all()?,
            lengths: self.all()?,
            sketches: self.all()?,
            shared: Bits(self.all()?),
            outside: Bits(self.all()?),
            with_vector: Bits(self.all()?),
        };
        let words = Dictionary {
            terms: self.all()?,
            term_ends: self.all()?,
            counts: self.all()?,
            postings: self.all()?,
            posting_ends: self.all()?,
        };
        Some((rows, words))
    }
}
