//! The hash of features: the same on every machine and in every version.

/// FNV-1a over separated texts: the same on every machine and in every version.
pub(crate) fn fingerprint<'a>(texts: impl IntoIterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for byte in text.as_ref().bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    // The low bits alone are not mixed well enough for bucket numbers.
    hash ^ (hash >> 29)
}
