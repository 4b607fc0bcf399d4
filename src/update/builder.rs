//! Building bundles, and reading whole ones: for release machines and people's own builds, not for the device.

use crate::{
    bundle::{self, Head, Parts, assemble},
    chunks,
    delta::{self, Base},
    digest::Digest,
    disk::{Disk, DiskFile, Mode, RealDisk},
    error::{Error, Result},
    index::{BaseIndex, Chunk, ChunkSource, Index, MAX_BASES, Place, Stored},
    keys::{Keyring, SigningKey},
    manifest::{Image, IndexSeal, MAX_IMAGE, Manifest, Payload},
};
use semver::Version;
use std::{
    collections::{HashMap, HashSet},
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
};

/// The level of compression: bundles are built rarely.
pub const LEVEL: i32 = 19;

/// The content of a new bundle.
#[derive(Debug, Clone)]
pub struct Contents {
    /// See [`Manifest::version`].
    pub version: Version,
    /// See [`Manifest::serial`].
    pub serial: u64,
    /// See [`Manifest::payload`].
    pub payload: Payload,
    /// See [`Manifest::targets`].
    pub targets: Vec<String>,
    /// See [`Manifest::boards`].
    pub boards: Vec<String>,
    /// See [`Manifest::data_schema`].
    pub data_schema: u32,
    /// See [`Manifest::data_schema_min`].
    pub data_schema_min: u32,
    /// See [`Manifest::minimum_version`].
    pub minimum_version: Option<Version>,
    /// See [`Manifest::notes`].
    pub notes: String,
    /// See [`Manifest::next_key`].
    pub next_key: Option<String>,
    /// The files of the images, in the order of the payload.
    pub images: Vec<PathBuf>,
    /// Earlier releases to which deltas are made: image and file. An app binary, or an image taken from an earlier bundle.
    pub bases: Vec<(String, PathBuf)>,
    /// The zstd level, [`LEVEL`] by default.
    pub level: i32,
}

/// A bundle that was built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Built {
    /// Bytes of the bundle.
    pub length: u64,
    /// Bytes of its head.
    pub head: u64,
    /// Chunks, and how many of them differ from one another.
    pub chunks: usize,
    /// For each base: bytes that a device with it fetches, head included.
    pub from_bases: Vec<u64>,
}

fn io_error<'a>(what: &'a str, path: &'a Path) -> impl Fn(std::io::Error) -> Error + 'a {
    move |why| Error::disk(format!("{} cannot be {what}", path.display()), &why)
}

fn sha256(file: &dyn DiskFile, length: u64) -> std::io::Result<Digest> {
    use sha2::Digest as _;
    let (mut hasher, mut buffer, mut at) = (sha2::Sha256::new(), vec![0; 64 << 10], 0);
    while at < length {
        let piece = usize::try_from(length - at).unwrap_or(usize::MAX).min(buffer.len());
        file.read_exact_at(at, &mut buffer[..piece])?;
        hasher.update(&buffer[..piece]);
        at += piece as u64;
    }
    Ok(Digest(hasher.finalize().into()))
}

/// A base while a bundle is built.
struct Earlier {
    base: Base,
    hashes: HashSet<[u8; 32]>,
    index: BaseIndex,
    fetched: u64,
}

impl Earlier {
    fn open(image: u8, path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(io_error("read", path))?;
        let mut hashes = HashSet::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (chunk, later) = rest.split_at(chunks::first_chunk(rest));
            hashes.insert(blake3::hash(chunk).into());
            rest = later;
        }
        let sha256 = Digest::sha256(&bytes).0;
        let index = BaseIndex { image, length: bytes.len() as u64, sha256, deltas: vec![] };
        Ok(Self { base: Base::new(bytes), hashes, index, fetched: 0 })
    }

    /// A delta for a chunk where it pays; `stored` are the bytes of the chunk itself.
    fn delta(&mut self, chunk: &[u8], offset: u64, stored: usize, level: i32) -> Result<Option<Vec<u8>>> {
        let raw = self.base.encode(chunk, offset);
        if raw.len() > delta::limit(chunk.len()) {
            return Ok(None);
        }
        let packed = compress(&raw, level)?;
        Ok((packed.len() < stored).then_some(packed))
    }
}

fn compress(bytes: &[u8], level: i32) -> Result<Vec<u8>> {
    zstd::bulk::compress(bytes, level).map_err(|why| Error::disk("compression failed", &why))
}

/// A file that is removed unless it was renamed away.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Builds a bundle at `out`, signed with one to four keys. Blocks for long.
///
/// # Errors
/// `BadRequest` for contents that no device would take, `Disk`.
pub fn build(contents: &Contents, keys: &[SigningKey], out: &Path) -> Result<Built> {
    if keys.is_empty() || keys.len() > 4 {
        return Err(Error::BadRequest("a bundle is signed with one to four keys: name at least one".into()));
    }
    let names = contents.payload.images();
    if contents.images.len() != names.len() {
        return Err(Error::BadRequest(format!("this payload has the images {}", names.join(", "))));
    }
    if contents.bases.len() > MAX_BASES {
        return Err(Error::BadRequest(format!("a bundle has deltas to at most {MAX_BASES} earlier images")));
    }
    let mut earlier = vec![];
    for (image, path) in &contents.bases {
        let place = names.iter().position(|name| name == image);
        let place = place.ok_or_else(|| Error::BadRequest(format!("this payload has no image `{image}`")))?;
        earlier.push(Earlier::open(place as u8, path)?);
    }
    let (stored, deltas) = (Scratch(out.with_extension("chunks.part")), Scratch(out.with_extension("deltas.part")));
    let create = |path: &Path| fs::File::create(path).map(std::io::BufWriter::new).map_err(io_error("written", path));
    let mut stored_file = create(&stored.0)?;
    let mut delta_files = vec![];
    for at in 0..earlier.len() {
        let path = Scratch(deltas.0.with_extension(format!("{at}.part")));
        delta_files.push((create(&path.0)?, path));
    }
    let (mut images, mut index, mut known) = (vec![], Index::default(), HashMap::new());
    let mut stored_length = 0u64;
    for (place, (name, path)) in names.iter().zip(&contents.images).enumerate() {
        let file = RealDisk.open(path, Mode::Read).map_err(io_error("read", path))?;
        let length = file.length().map_err(io_error("read", path))?;
        if length == 0 || length > MAX_IMAGE {
            return Err(Error::BadRequest(format!("{} is empty or larger than 1 GB", path.display())));
        }
        let sha256 = sha256(&*file, length).map_err(io_error("read", path))?;
        images.push(Image { name: (*name).to_owned(), length, sha256 });
        chunks::for_each_chunk(&*file, length, |offset, chunk| {
            let hash: [u8; 32] = blake3::hash(chunk).into();
            let first = !known.contains_key(&hash);
            let packed = if first { compress(chunk, contents.level)? } else { vec![] };
            if first {
                stored_file.write_all(&packed).map_err(io_error("written", &stored.0))?;
                stored_length += packed.len() as u64;
            }
            known.entry(hash).or_insert(packed.len());
            let stored = first.then(|| Stored::of(&packed));
            index.chunks.push(Chunk { hash, length: chunk.len() as u32, stored });
            for (at, earlier) in earlier.iter_mut().enumerate().filter(|(_, e)| usize::from(e.index.image) == place) {
                let delta = match first && !earlier.hashes.contains(&hash) {
                    true => earlier.delta(chunk, offset, packed.len(), contents.level)?,
                    false => None,
                };
                if first && !earlier.hashes.contains(&hash) {
                    earlier.fetched += delta.as_ref().map_or(packed.len(), Vec::len) as u64;
                }
                if let (Some(delta), Some((file, path))) = (&delta, delta_files.get_mut(at)) {
                    file.write_all(delta).map_err(io_error("written", &path.0))?;
                    stored_length += delta.len() as u64;
                }
                earlier.index.deltas.push(delta.map(|delta| Stored::of(&delta)));
            }
            Ok::<_, Error>(())
        })?;
    }
    let from_bases: Vec<u64> = earlier.iter().map(|earlier| earlier.fetched).collect();
    index.bases = earlier.into_iter().map(|earlier| earlier.index).collect();
    let index_bytes = index.to_bytes()?;
    let mut manifest = Manifest {
        kind: Manifest::TYPE.into(),
        version: contents.version.clone(),
        serial: contents.serial,
        payload: contents.payload,
        targets: contents.targets.clone(),
        boards: contents.boards.clone(),
        data_schema: contents.data_schema,
        data_schema_min: contents.data_schema_min,
        minimum_version: contents.minimum_version.clone(),
        notes: contents.notes.clone(),
        next_key: contents.next_key.clone(),
        images,
        index: IndexSeal { length: index_bytes.len() as u64, sha256: Digest::sha256(&index_bytes) },
        bundle_length: 0,
    };
    let head = head(&mut manifest, &index_bytes, stored_length, keys)?;
    index.layout(&manifest, head.len() as u64)?;
    let part = Scratch(out.with_extension("part"));
    let mut whole = create(&part.0)?;
    whole.write_all(&head).map_err(io_error("written", &part.0))?;
    drop(stored_file);
    let mut copy = |path: &Path| -> Result<()> {
        let mut from = fs::File::open(path).map_err(io_error("read", path))?;
        std::io::copy(&mut from, &mut whole).map(drop).map_err(io_error("written", &part.0))
    };
    copy(&stored.0)?;
    for (mut file, path) in delta_files {
        file.flush().map_err(io_error("written", &path.0))?;
        copy(&path.0)?;
    }
    let file = whole.into_inner().map_err(|why| io_error("written", &part.0)(why.into_error()))?;
    file.sync_all().map_err(io_error("written", &part.0))?;
    fs::rename(&part.0, out).map_err(io_error("written", out))?;
    let head = head.len() as u64;
    let from_bases = from_bases.into_iter().map(|bytes| head + bytes).collect();
    Ok(Built { length: manifest.bundle_length, head, chunks: index.chunks.len(), from_bases })
}

/// The head of a bundle. The manifest states the length of the whole, which depends on its own: it is found by repetition, and
/// the signatures have the same length each time.
pub(crate) fn head(manifest: &mut Manifest, index: &[u8], stored: u64, keys: &[SigningKey]) -> Result<Vec<u8>> {
    let comment = format!("hob {} serial {}", manifest.version, manifest.serial);
    for _ in 0..8 {
        manifest.check().map_err(|why| Error::BadRequest(why.to_string()))?;
        let text = serde_json::to_vec_pretty(manifest).map_err(|why| Error::BadRequest(why.to_string()))?;
        let signatures: Result<String> = keys.iter().map(|key| key.sign(&text, &comment)).collect();
        let signatures = signatures?;
        let head = assemble(&Parts { manifest: &text, signatures: signatures.as_bytes(), index });
        let total = head.len() as u64 + stored;
        if manifest.bundle_length == total {
            bundle::head_length(&head).map_err(|why| Error::BadRequest(why.to_string()))?;
            return Ok(head);
        }
        manifest.bundle_length = total;
    }
    Err(Error::BadRequest("the length of the bundle does not settle".into()))
}

/// Reads the head of a bundle file.
///
/// # Errors
/// `Disk` when the file cannot be read, `Refused` when it is no bundle.
pub fn read_head(path: &Path) -> Result<Vec<u8>> {
    let failed = io_error("read", path);
    let mut file = fs::File::open(path).map_err(&failed)?;
    let mut head = vec![];
    (&mut file).take(bundle::PREFIX as u64).read_to_end(&mut head).map_err(&failed)?;
    let length = bundle::head_length(&head)?;
    file.take((length - bundle::PREFIX) as u64).read_to_end(&mut head).map_err(&failed)?;
    Ok(head)
}

/// Checks a whole bundle file: signature, index, every chunk and delta-free image. Returns its head.
///
/// # Errors
/// `Refused` with the first fault; `Disk`.
pub fn verify_file(path: &Path, keys: &Keyring) -> Result<Head> {
    let head = Head::read(&read_head(path)?, keys)?;
    for image in 0..head.manifest.images.len() {
        extract(path, &head, image, &mut std::io::sink())?;
    }
    let file = RealDisk.open(path, Mode::Read).map_err(io_error("read", path))?;
    let places = head.layout.bases.iter().flat_map(|base| base.deltas.iter().flatten());
    for place in places {
        read_place(&*file, path, place)?;
    }
    if file.length().map_err(io_error("read", path))? != head.manifest.bundle_length {
        return Err(Error::refused("the bundle is longer or shorter than it declares: get it again"));
    }
    Ok(head)
}

fn read_place(file: &dyn DiskFile, path: &Path, place: &Place) -> Result<Vec<u8>> {
    let mut bytes = vec![0; place.stored.length as usize];
    file.read_exact_at(place.offset, &mut bytes).map_err(|why| match why.kind() {
        std::io::ErrorKind::UnexpectedEof => Error::refused("the bundle is cut off: get it again"),
        _ => io_error("read", path)(why),
    })?;
    match place.stored.matches(&bytes) {
        true => Ok(bytes),
        false => Err(Error::refused("a chunk of the bundle is damaged or was exchanged: get the bundle again")),
    }
}

/// Writes an image of a verified bundle to `out`, checking each chunk and the whole.
///
/// # Errors
/// `Refused` with the first fault; `Disk`.
pub fn extract(path: &Path, head: &Head, image: usize, out: &mut dyn Write) -> Result<()> {
    use sha2::Digest as _;
    let file = RealDisk.open(path, Mode::Read).map_err(io_error("read", path))?;
    let mut hasher = sha2::Sha256::new();
    for chunk in head.layout.chunks.iter().filter(|chunk| chunk.image == image) {
        let place = match chunk.source {
            ChunkSource::Stored(place) => Some(place),
            ChunkSource::SameAs(first) => match head.layout.chunks.get(first).map(|first| first.source) {
                Some(ChunkSource::Stored(place)) => Some(place),
                _ => None,
            },
        };
        let place = place.ok_or_else(|| Error::refused("a chunk refers to one that is not there"))?;
        let content = bundle::decompress(&read_place(&*file, path, &place)?, chunk.length)?;
        if content.len() != chunk.length || blake3::hash(&content) != chunk.hash {
            return Err(Error::refused("a chunk of the bundle is not what the index declares: do not use this bundle"));
        }
        hasher.update(&content);
        out.write_all(&content).map_err(|why| Error::disk("the image cannot be written", &why))?;
    }
    let declared = head.manifest.images.get(image).map(|image| image.sha256);
    match declared == Some(Digest(hasher.finalize().into())) {
        true => Ok(()),
        false => {
            Err(Error::refused("an image of the bundle is not what the manifest declares: do not use this bundle"))
        }
    }
}
