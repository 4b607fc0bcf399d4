//! Any bytes as the head of a bundle: signed by nobody, and with the signature left out of account.
#![no_main]

use libfuzzer_sys::fuzz_target;
use update::{bundle::Head, keys::Keyring};

fuzz_target!(|bytes: &[u8]| {
    assert!(Head::read(bytes, &Keyring::built_in()).is_err());
    if let Ok(head) = Head::read_unsigned(bytes) {
        let chunks: u64 = head.layout.chunks.iter().map(|chunk| chunk.length as u64).sum();
        let images: u64 = head.manifest.images.iter().map(|image| image.length).sum();
        assert_eq!(chunks, images);
    }
});
