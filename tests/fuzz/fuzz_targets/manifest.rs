//! Any bytes as a manifest.
#![no_main]

use libfuzzer_sys::fuzz_target;
use update::manifest::Manifest;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(manifest) = Manifest::read(bytes) {
        assert!(manifest.check().is_ok());
    }
});
