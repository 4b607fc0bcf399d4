//! Test helpers: files in memory and repeatable noise.

use crate::disk::DiskFile;
use std::{io, sync::Mutex};

/// A file in memory.
pub struct Memory(Mutex<Vec<u8>>);

impl Memory {
    /// A file with this content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Mutex::new(bytes.to_vec()))
    }
}

impl DiskFile for Memory {
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.0.lock().unwrap();
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }

    fn write_at(&self, offset: u64, new: &[u8]) -> io::Result<()> {
        let mut bytes = self.0.lock().unwrap();
        let end = offset as usize + new.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(new);
        Ok(())
    }

    fn set_length(&self, length: u64) -> io::Result<()> {
        self.0.lock().unwrap().resize(length as usize, 0);
        Ok(())
    }

    fn length(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    fn sync(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that do not compress, the same for the same seed.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 24) as u8
    };
    (0..length).map(|_| next()).collect()
}
