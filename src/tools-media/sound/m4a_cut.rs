//! M4A files cut at frames: the tables of samples are made anew for each part, with the description of the codec as it is.

use super::{
    Sound, be32,
    cut::{Body, Part},
};
use tool::prelude::*;

/// The most boxes that are looked at, how deep, and the largest description of a codec in bytes.
const BOXES: u32 = 2_000;
const DEPTH: u8 = 8;
const DESCRIPTION: u64 = 64 * 1024;
/// The most samples of a track, which are frames of 23 ms, and the most chunks in which they are stored.
const SAMPLES: u64 = 4_000_000;
const CHUNKS: u64 = 1_000_000;

/// Where the tables of a track are, each behind its head.
#[derive(Default)]
struct Track {
    is_sound: bool,
    scale: u64,
    description: Option<(u64, u64)>,
    times: Option<(u64, u64)>,
    sizes: Option<(u64, u64)>,
    chunks: Option<(u64, u64)>,
    offsets: Option<(u64, u64)>,
    has_long_offsets: bool,
}

/// The samples of a track: their lengths and sizes, and where they are.
struct Samples {
    scale: u64,
    description: Vec<u8>,
    /// So many samples have this length.
    times: Vec<(u32, u32)>,
    sizes: Sizes,
    /// From this chunk on, chunks have so many samples.
    chunks: Vec<(u32, u32)>,
    offsets: Vec<u64>,
}

enum Sizes {
    All(u32, u64),
    Each(Vec<u32>),
}

impl Sizes {
    fn count(&self) -> u64 {
        match self {
            Sizes::All(_, count) => *count,
            Sizes::Each(all) => all.len() as u64,
        }
    }

    fn of(&self, sample: u64) -> u32 {
        match self {
            Sizes::All(size, _) => *size,
            Sizes::Each(all) => all.get(sample as usize).copied().unwrap_or_default(),
        }
    }
}

/// The first sound track of a file.
fn track(sound: &Sound) -> Result<Option<Track>> {
    let (mut looked, mut found) = (0, None);
    walk(sound, (0, sound.size()), 0, &mut looked, &mut Track::default(), &mut found)?;
    Ok(found)
}

fn walk(
    sound: &Sound,
    (mut at, end): (u64, u64),
    depth: u8,
    looked: &mut u32,
    track: &mut Track,
    found: &mut Option<Track>,
) -> Result<()> {
    while depth <= DEPTH && at + 8 <= end && *looked < BOXES && found.is_none() {
        *looked += 1;
        let Some([a, b, c, d, kind @ ..]) = sound.exact::<8>(at)? else { return Ok(()) };
        let (mut size, mut head) = (be32([a, b, c, d]), 8);
        if size == 1 {
            let Some(long) = sound.exact::<8>(at + 8)? else { return Ok(()) };
            (size, head) = (u64::from_be_bytes(long), 16);
        } else if size == 0 {
            size = end - at;
        }
        if size < head || size > end - at {
            return Ok(());
        }
        let (body, next) = (at + head, at + size);
        let here = Some((body, next));
        match &kind {
            b"moov" | b"mdia" | b"minf" | b"stbl" => walk(sound, (body, next), depth + 1, looked, track, found)?,
            b"trak" => {
                let mut one = Track::default();
                walk(sound, (body, next), depth + 1, looked, &mut one, found)?;
                if one.is_sound && one.scale > 0 {
                    *found = Some(one);
                }
            }
            b"mdhd" => {
                let long = sound.exact::<1>(body)? == Some([1]);
                track.scale = sound.exact::<4>(body + if long { 20 } else { 12 })?.map_or(0, be32);
            }
            b"hdlr" => track.is_sound = sound.exact::<4>(body + 8)?.is_some_and(|kind| &kind == b"soun"),
            b"stsd" => track.description = here,
            b"stts" => track.times = here,
            b"stsz" => track.sizes = here,
            b"stsc" => track.chunks = here,
            b"stco" | b"co64" => (track.offsets, track.has_long_offsets) = (here, &kind == b"co64"),
            _ => {}
        }
        at = next;
    }
    Ok(())
}

fn damaged() -> Error {
    Error::bad_args("the M4A file has no samples that can be read: it may be damaged, or be made for streaming")
}

/// The entries of a table, each of so many numbers of 4 bytes.
fn entries(sound: &Sound, at: Option<(u64, u64)>, (skip, width, most): (u64, u64, u64)) -> Result<Vec<u8>> {
    let (body, end) = at.ok_or_else(damaged)?;
    let count = sound.exact::<4>(body + skip)?.map_or(0, be32);
    let length = count * width;
    if count > most || body + skip + 4 + length > end {
        return Err(damaged());
    }
    let bytes = sound.read(body + skip + 4, length as usize)?;
    if bytes.len() as u64 == length { Ok(bytes) } else { Err(damaged()) }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes))
}

impl Samples {
    fn read(sound: &Sound, track: &Track) -> Result<Self> {
        let (from, to) = track.description.filter(|(from, to)| to - from <= DESCRIPTION).ok_or_else(damaged)?;
        let description = sound.read(from, (to - from) as usize)?;
        let pairs = |bytes: &[u8]| bytes.chunks_exact(8).map(|pair| (number(pair), number(&pair[4..]))).collect();
        let times: Vec<(u32, u32)> = pairs(&entries(sound, track.times, (4, 8, CHUNKS))?);
        let (body, _) = track.sizes.ok_or_else(damaged)?;
        let Some([_, _, _, _, a, b, c, d, e, f, g, h]) = sound.exact::<12>(body)? else { return Err(damaged()) };
        let sizes = match (u32::from_be_bytes([a, b, c, d]), be32([e, f, g, h])) {
            (0, _) => Sizes::Each(entries(sound, track.sizes, (8, 4, SAMPLES))?.chunks_exact(4).map(number).collect()),
            (size, count) if count <= SAMPLES => Sizes::All(size, count),
            _ => return Err(damaged()),
        };
        let chunks: Vec<(u32, u32)> = entries(sound, track.chunks, (4, 12, CHUNKS))?
            .chunks_exact(12)
            .map(|entry| (number(entry), number(&entry[4..])))
            .collect();
        let width = if track.has_long_offsets { 8 } else { 4 };
        let offsets = entries(sound, track.offsets, (4, width, CHUNKS))?;
        let offsets = offsets.chunks_exact(width as usize).map(|offset| match offset.first_chunk() {
            Some(long) => u64::from_be_bytes(*long),
            None => u64::from(number(offset)),
        });
        let samples = Self { scale: track.scale, description, times, sizes, chunks, offsets: offsets.collect() };
        let told: u64 = samples.times.iter().map(|(count, _)| u64::from(*count)).sum();
        let bytes: u64 = (0..samples.sizes.count()).map(|sample| u64::from(samples.sizes.of(sample))).sum();
        // Samples that lie upon each other would make parts larger than the file.
        let fits = told == samples.sizes.count() && told > 0 && bytes <= sound.size();
        if fits { Ok(samples) } else { Err(damaged()) }
    }

    /// Where the samples are: a stretch of the file for each, joined where one follows the other.
    fn stretches(&self, size: u64, mut each: impl FnMut(u64, (u64, u64))) -> Result<()> {
        let (mut sample, count) = (0, self.sizes.count());
        let mut runs = self.chunks.iter().peekable();
        let mut in_chunk = 0;
        for (chunk, offset) in (1u32..).zip(&self.offsets) {
            while let Some((_, samples)) = runs.next_if(|(first, _)| *first <= chunk) {
                in_chunk = *samples;
            }
            let mut at = *offset;
            for _ in 0..in_chunk {
                if sample == count {
                    return Ok(());
                }
                let end =
                    at.checked_add(u64::from(self.sizes.of(sample))).filter(|end| *end <= size).ok_or_else(damaged)?;
                each(sample, (at, end));
                (sample, at) = (sample + 1, end);
            }
        }
        if sample == count { Ok(()) } else { Err(damaged()) }
    }
}

/// A part while it is made.
#[derive(Default)]
struct Making {
    first: u64,
    count: u64,
    length: u64,
    bytes: u64,
    times: Vec<(u32, u32)>,
    stretches: Vec<(u64, u64)>,
}

impl Making {
    fn add(&mut self, (from, to): (u64, u64), time: u32) {
        self.count += 1;
        self.length += u64::from(time);
        self.bytes += to - from;
        match self.times.last_mut() {
            Some((count, last)) if *last == time => *count += 1,
            _ => self.times.push((1, time)),
        }
        match self.stretches.last_mut() {
            Some((_, end)) if *end == from => *end = to,
            _ => self.stretches.push((from, to)),
        }
    }

    fn part(mut self, samples: &Samples) -> Part {
        self.stretches.reverse();
        let seconds = self.length as f64 / samples.scale as f64;
        Part { head: head(&self, samples), body: Body::Copied(self.stretches), seconds }
    }
}

pub(crate) fn cut(sound: &Sound, points: &[f64]) -> Result<Vec<Part>> {
    let samples = Samples::read(sound, &track(sound)?.ok_or_else(damaged)?)?;
    let mut times = samples.times.iter().flat_map(|(count, time)| std::iter::repeat_n(*time, *count as usize));
    let mut points = points.iter().peekable();
    let (mut parts, mut making, mut time) = (vec![], Making::default(), 0u64);
    samples.stretches(sound.size(), |sample, stretch| {
        let seconds = time as f64 / samples.scale as f64;
        if points.next_if(|point| seconds >= **point).is_some() && making.count > 0 {
            parts.push(std::mem::take(&mut making));
            making.first = sample;
        }
        while points.next_if(|point| seconds >= **point).is_some() {}
        let length = times.next().unwrap_or_default();
        making.add(stretch, length);
        time += u64::from(length);
    })?;
    parts.push(making);
    Ok(parts.into_iter().map(|making| making.part(&samples)).collect())
}

fn boxed(kind: &[u8; 4], body: &[&[u8]]) -> Vec<u8> {
    let size = 8 + body.iter().map(|part| part.len()).sum::<usize>();
    let mut new = [&u32::try_from(size).unwrap_or(0).to_be_bytes()[..], kind].concat();
    body.iter().for_each(|part| new.extend_from_slice(part));
    new
}

/// What comes before the sound: the boxes with the tables of these samples.
fn head(part: &Making, samples: &Samples) -> Vec<u8> {
    let scale = u32::try_from(samples.scale).unwrap_or(u32::MAX).to_be_bytes();
    // Longer than 32 bits can tell is told as unknown.
    let length = u32::try_from(part.length).unwrap_or(u32::MAX).to_be_bytes();
    const MATRIX: [u8; 36] = {
        let mut matrix = [0; 36];
        (matrix[1], matrix[17], matrix[32]) = (1, 1, 0x40);
        matrix
    };
    let version = [0u8; 4];
    let count = u32::try_from(part.count).unwrap_or(u32::MAX).to_be_bytes();
    let times: Vec<u8> =
        part.times.iter().flat_map(|(count, time)| [count.to_be_bytes(), time.to_be_bytes()].concat()).collect();
    let runs = (part.times.len() as u32).to_be_bytes();
    let sizes: Vec<u8> =
        (part.first..part.first + part.count).flat_map(|sample| samples.sizes.of(sample).to_be_bytes()).collect();
    let file = boxed(b"ftyp", &[b"M4A \0\0\0\0M4A mp42isom"]);
    let movie = |offset: u32| {
        let table = boxed(
            b"stbl",
            &[
                &boxed(b"stsd", &[&samples.description]),
                &boxed(b"stts", &[&version, &runs, &times]),
                &boxed(b"stsc", &[&version, &[0, 0, 0, 1, 0, 0, 0, 1], &count, &[0, 0, 0, 1]]),
                &boxed(b"stsz", &[&version, &[0; 4], &count, &sizes]),
                &boxed(b"stco", &[&version, &[0, 0, 0, 1], &offset.to_be_bytes()]),
            ],
        );
        let here = boxed(b"dinf", &[&boxed(b"dref", &[&version, &[0, 0, 0, 1], &boxed(b"url ", &[&[0, 0, 0, 1]])])]);
        let media = boxed(
            b"mdia",
            &[
                &boxed(b"mdhd", &[&version, &[0; 8], &scale, &length, &[0x55, 0xc4, 0, 0]]),
                &boxed(b"hdlr", &[&version, &[0; 4], b"soun", &[0; 13]]),
                &boxed(b"minf", &[&boxed(b"smhd", &[&[0; 8]]), &here, &table]),
            ],
        );
        let shown = boxed(
            b"tkhd",
            &[&[0, 0, 0, 7], &[0; 8], &[0, 0, 0, 1], &[0; 4], &length, &[0; 12], &[1, 0, 0, 0], &MATRIX, &[0; 8]],
        );
        let whole = boxed(
            b"mvhd",
            &[&version, &[0; 8], &scale, &length, &[0, 1, 0, 0, 1, 0], &[0; 10], &MATRIX, &[0; 24], &[0, 0, 0, 2]],
        );
        boxed(b"moov", &[&whole, &boxed(b"trak", &[&shown, &media])])
    };
    let offset = u32::try_from(file.len() + movie(0).len() + 8).unwrap_or(0);
    let sound = u32::try_from(part.bytes + 8).unwrap_or(0).to_be_bytes();
    [&file, &movie(offset), &sound[..], b"mdat"].concat()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::sound::cut::tests::whole;

    const RATE: u16 = 8_000;

    fn description() -> Vec<u8> {
        let mut entry = vec![0; 36];
        entry[3] = 36;
        entry[4..8].copy_from_slice(b"mp4a");
        entry[24..26].copy_from_slice(&1u16.to_be_bytes());
        entry[32..34].copy_from_slice(&RATE.to_be_bytes());
        [&[0, 0, 0, 0, 0, 0, 0, 1][..], &entry].concat()
    }

    /// A file of samples with these lengths, so many in each chunk. Between the chunks is something else.
    pub fn m4a(times: &[u32], in_chunk: u32) -> Vec<u8> {
        let size = |n: usize| 20 + (n as u32 * 7) % 90;
        let file = boxed(b"ftyp", &[b"M4A \0\0\0\0"]);
        let (mut data, mut offsets) = (vec![], vec![]);
        for (n, _) in times.iter().enumerate() {
            if (n as u32).is_multiple_of(in_chunk) {
                data.extend(b"between");
                offsets.push(file.len() + 8 + data.len());
            }
            data.extend(vec![n as u8; size(n) as usize]);
        }
        let count = |n: usize| (n as u32).to_be_bytes();
        let table = |kind: &[u8; 4], all: Vec<u8>, entries: usize| boxed(kind, &[&[0; 4], &count(entries), &all]);
        let runs = times.iter().flat_map(|time| [1u32.to_be_bytes(), time.to_be_bytes()].concat()).collect();
        let sizes: Vec<u8> = (0..times.len()).flat_map(|n| size(n).to_be_bytes()).collect();
        let total: u32 = times.iter().sum();
        let stbl = boxed(
            b"stbl",
            &[
                &boxed(b"stsd", &[&description()]),
                &table(b"stts", runs, times.len()),
                &table(b"stsc", [1u32, in_chunk, 1].iter().flat_map(|n| n.to_be_bytes()).collect(), 1),
                &boxed(b"stsz", &[&[0; 8], &count(times.len()), &sizes]),
                &table(b"stco", offsets.iter().flat_map(|at| count(*at)).collect(), offsets.len()),
            ],
        );
        let media = boxed(
            b"mdia",
            &[
                &boxed(b"mdhd", &[&[0; 12], &u32::from(RATE).to_be_bytes(), &total.to_be_bytes(), &[0; 4]]),
                &boxed(b"hdlr", &[&[0; 8], b"soun", &[0; 13]]),
                &boxed(b"minf", &[&stbl]),
            ],
        );
        [file, boxed(b"mdat", &[&data]), boxed(b"moov", &[&boxed(b"trak", &[&media])])].concat()
    }

    #[test]
    fn samples_of_a_part_are_those_of_the_whole() {
        let times: Vec<u32> = (0..100).map(|n| if n == 99 { 500 } else { 1_024 }).collect();
        let sound = Sound::Bytes(m4a(&times, 4).into());
        let mut bodies = vec![];
        for part in cut(&sound, &[3.0, 3.01, 9.9]).unwrap() {
            let file = whole(part, &sound);
            let at = file.windows(4).position(|kind| kind == b"mdat").unwrap() + 4;
            assert_eq!(u32::from_be_bytes(file[at - 8..at - 4].try_into().unwrap()) as usize, file.len() - at + 8);
            // Its tables lead to the same bytes.
            let made = Sound::Bytes(file.clone().into());
            let samples = Samples::read(&made, &track(&made).unwrap().unwrap()).unwrap();
            let mut all: Vec<u8> = vec![];
            samples.stretches(made.size(), |_, (from, to)| all.extend(&file[from as usize..to as usize])).unwrap();
            assert!(all == file[at..], "the tables lead elsewhere");
            assert_eq!(samples.description, description());
            bodies.push(all);
        }
        assert_eq!(bodies.len(), 3);
        let expected: Vec<u8> = (0..100usize).flat_map(|n| vec![n as u8; 20 + (n * 7) % 90]).collect();
        assert!(bodies.concat() == expected);
    }

    #[test]
    fn tables_that_lie_are_refused() {
        let bytes = m4a(&[1_024; 40], 4);
        let at = |kind: &[u8; 4]| bytes.windows(4).position(|part| part == kind).unwrap() + 4;
        for (kind, offset, value) in [
            // More entries than the box has; samples that are larger than the file; chunks beyond its end; none at all.
            (b"stsz", 8, u32::MAX),
            (b"stsz", 12, 0x7fff_ffff),
            (b"stco", 8, u32::MAX - 7),
            (b"stts", 4, 0),
            (b"stts", 8, u32::MAX),
            (b"stsc", 4, 0),
        ] {
            let mut other = bytes.clone();
            other[at(kind) + offset..at(kind) + offset + 4].copy_from_slice(&value.to_be_bytes());
            assert!(cut(&Sound::Bytes(other.into()), &[1.0]).is_err(), "{kind:?} {offset}");
        }
        // One size for 4 million samples, which all lie upon each other.
        let mut other = bytes.clone();
        other[at(b"stsz") + 4..at(b"stsz") + 12].copy_from_slice(&[0, 0, 1, 0, 0, 0x3d, 9, 0]);
        assert!(cut(&Sound::Bytes(other.into()), &[1.0]).is_err());
    }
}
