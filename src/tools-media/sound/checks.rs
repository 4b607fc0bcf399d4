//! The checksums of FLAC frames and OGG pages: all with the highest bit first, and beginning with 0.

const fn table(polynomial: u32, bits: u32) -> [u32; 256] {
    let top = 1u32 << (bits - 1);
    let mask = u32::MAX >> (32 - bits);
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = (byte as u32) << (bits - 8);
        let mut bit = 0;
        while bit < 8 {
            value = if value & top != 0 { value << 1 ^ polynomial } else { value << 1 };
            bit += 1;
        }
        table[byte] = value & mask;
        byte += 1;
    }
    table
}

static CRC8: [u32; 256] = table(0x07, 8);
static CRC16: [u32; 256] = table(0x8005, 16);
static CRC32: [u32; 256] = table(0x04c1_1db7, 32);

/// The checksum of a FLAC frame's header.
pub(crate) fn crc8(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |crc, byte| CRC8[usize::from(crc ^ byte)] as u8)
}

/// The checksum of a FLAC frame, gone on with: it is 0 behind a whole frame.
pub(crate) fn crc16(crc: u16, byte: u8) -> u16 {
    crc << 8 ^ CRC16[usize::from((crc >> 8) as u8 ^ byte)] as u16
}

/// The checksum of an OGG page, gone on with.
pub(crate) fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(crc, |crc, byte| crc << 8 ^ CRC32[usize::from((crc >> 24) as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_of_a_text_are_those_of_the_standards() {
        const TEXT: &[u8] = b"123456789";
        // The check values of CRC-8, CRC-16/UMTS and CRC-32/MPEG-2 without its beginning.
        assert_eq!(crc8(TEXT), 0xf4);
        assert_eq!(TEXT.iter().fold(0, |crc, byte| crc16(crc, *byte)), 0xfee8);
        assert_eq!(crc32(u32::MAX, TEXT), 0x0376_e6e7);
    }
}
