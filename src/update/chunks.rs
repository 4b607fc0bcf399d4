//! Content-defined chunks: boundaries follow the content, so that inserted bytes change only the chunks they are in.

use crate::disk::DiskFile;
use std::io;

/// The shortest chunk, but for the last of an image.
pub const MIN_CHUNK: usize = 8 << 10;
/// The length aimed at.
const AVERAGE_CHUNK: usize = 32 << 10;
/// The longest chunk. It bounds the memory of everything that handles one.
pub const MAX_CHUNK: usize = 128 << 10;

/// Before the average length a boundary needs two more bits of the hash than after it: lengths vary less.
const MASK_BEFORE: u64 = !0 << (64 - 17);
const MASK_AFTER: u64 = !0 << (64 - 13);

/// One random number for each byte value. Part of the format: other numbers would give other chunks.
const GEAR: [u64; 256] = gear();

const fn gear() -> [u64; 256] {
    let mut table = [0; 256];
    let (mut at, mut state) = (0, 0x486f_6220_7570_6474_u64);
    while at < table.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        table[at] = mixed ^ (mixed >> 31);
        at += 1;
    }
    table
}

/// The length of the first chunk of `bytes`, which are [`MAX_CHUNK`] long or all that is left.
pub fn first_chunk(bytes: &[u8]) -> usize {
    let end = bytes.len().min(MAX_CHUNK);
    let mut hash = 0u64;
    for (at, byte) in bytes.iter().enumerate().take(end).skip(MIN_CHUNK) {
        hash = (hash << 1).wrapping_add(GEAR[usize::from(*byte)]);
        let mask = if at < AVERAGE_CHUNK { MASK_BEFORE } else { MASK_AFTER };
        if hash & mask == 0 {
            return at + 1;
        }
    }
    end
}

/// Cuts a file of `length` bytes into chunks and calls `each` with the offset and the bytes of every one.
///
/// # Errors
/// Those of reading, and of `each`.
pub fn for_each_chunk<E: From<io::Error>>(
    file: &dyn DiskFile,
    length: u64,
    mut each: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = vec![0; 4 * MAX_CHUNK];
    // `buffer[begin..end]` are the bytes from `offset` on.
    let (mut begin, mut end, mut offset) = (0, 0, 0u64);
    while offset < length {
        if end - begin < MAX_CHUNK && offset + ((end - begin) as u64) < length {
            buffer.copy_within(begin..end, 0);
            (begin, end) = (0, end - begin);
            let left = usize::try_from(length - offset).unwrap_or(usize::MAX);
            let until = left.min(buffer.len());
            file.read_exact_at(offset + end as u64, &mut buffer[end..until])?;
            end = until;
        }
        let chunk = first_chunk(&buffer[begin..end]);
        each(offset, &buffer[begin..begin + chunk])?;
        begin += chunk;
        offset += chunk as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Memory, noise};

    fn lengths(bytes: &[u8]) -> Vec<usize> {
        let mut all = vec![];
        for_each_chunk(&Memory::of(bytes), bytes.len() as u64, |offset, chunk| {
            assert_eq!(&bytes[offset as usize..][..chunk.len()], chunk);
            all.push(chunk.len());
            io::Result::Ok(())
        })
        .unwrap();
        all
    }

    #[test]
    fn chunks_cover_the_file_and_follow_the_content() {
        let bytes = noise(1, 3 << 20);
        let all = lengths(&bytes);
        assert_eq!(all.iter().sum::<usize>(), bytes.len());
        assert!(all.iter().all(|length| *length <= MAX_CHUNK));
        assert!(all[..all.len() - 1].iter().all(|length| *length > MIN_CHUNK), "{all:?}");
        let average = bytes.len() / all.len();
        assert!((24 << 10..56 << 10).contains(&average), "{average}");
        // Inserted bytes change the chunk they are in; the others are found again.
        let changed = [&bytes[..100_000], b"inserted", &bytes[100_000..]].concat();
        let other = lengths(&changed);
        let (mut same, mut from_end) = (0, other.iter().rev().zip(all.iter().rev()));
        while from_end.next().is_some_and(|(a, b)| a == b) {
            same += 1;
        }
        assert!(same + 6 >= all.len(), "{same} of {}", all.len());
        // The boundaries are part of the format.
        assert_eq!(all[..4], lengths(&noise(1, 3 << 20))[..4]);
    }

    #[test]
    fn short_and_empty_files_are_one_chunk_or_none() {
        assert_eq!(lengths(&[]), Vec::<usize>::new());
        assert_eq!(lengths(b"x"), [1]);
        assert_eq!(lengths(&vec![0; MAX_CHUNK + 1]), [MAX_CHUNK, 1]);
    }
}
