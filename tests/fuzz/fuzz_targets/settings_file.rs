//! Any bytes as the settings file of the card.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[allow(dead_code)]
#[path = "../../../src/cli/first_boot/settings_file.rs"]
mod settings_file;

fuzz_target!(|bytes: &[u8]| {
    let settings = settings_file::Settings::parse(bytes);
    for (key, value) in &settings.values {
        // What is accepted is written to small files, one line each.
        assert!(!value.contains(['\n', '\r', '\0']), "{}", key.name());
    }
    // No value is in a sentence about a problem: it may be a password on a wrong line.
    assert!(settings.problems.len() <= 40);
});
