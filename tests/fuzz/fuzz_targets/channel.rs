//! Any bytes as a channel file whose signature was checked.
#![no_main]

use libfuzzer_sys::fuzz_target;
use update::channel::Channel;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(channel) = Channel::parse(bytes, 1_800_000_000, 3) {
        assert!(channel.serial >= 3);
    }
});
