//! The constants of an ONNX file, where they lie in the program: as much of protobuf as finding them takes.

use std::collections::HashMap;

/// The field numbers of ONNX: `ModelProto.graph`, `GraphProto.initializer`, `TensorProto.name` and `.raw_data`.
const GRAPH: u64 = 7;
const CONSTANT: u64 = 5;
const NAME: u64 = 8;
const VALUES: u64 = 9;

/// The values of each constant by its name, little-endian; `None` when this is no such file.
pub fn read(mut file: &'static [u8]) -> Option<HashMap<&'static str, &'static [u8]>> {
    let mut found = HashMap::new();
    while let Some((number, mut graph)) = next(&mut file)? {
        if number != GRAPH {
            continue;
        }
        while let Some((number, mut constant)) = next(&mut graph)? {
            if number != CONSTANT {
                continue;
            }
            let (mut name, mut values) = ("", &[][..]);
            while let Some((number, content)) = next(&mut constant)? {
                match number {
                    NAME => name = std::str::from_utf8(content).ok()?,
                    VALUES => values = content,
                    _ => {}
                }
            }
            found.insert(name, values);
        }
    }
    Some(found)
}

/// The next field, its content empty where it is a number; `Some(None)` at the end, `None` when it is cut off.
#[allow(clippy::option_option)]
fn next(bytes: &mut &'static [u8]) -> Option<Option<(u64, &'static [u8])>> {
    if bytes.is_empty() {
        return Some(None);
    }
    let key = varint(bytes)?;
    let length = match key & 7 {
        0 => {
            varint(bytes)?;
            0
        }
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(Some((key >> 3, content)))
}

fn varint(bytes: &mut &'static [u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_found_by_name() {
        // A number and a graph, in it a node and two constants.
        let file = b"\x08\x08\x3a\x15\x0a\x01n\x2a\x07\x42\x01a\x4a\x02hi\x2a\x07\x10\x01\x42\x01b\x4a\x00";
        assert_eq!(read(file), Some(HashMap::from([("a", &b"hi"[..]), ("b", &b""[..])])));
        assert_eq!(read(b""), Some(HashMap::new()));
    }

    #[test]
    fn what_is_cut_off_is_no_file() {
        for broken in [&b"\x3a\x05\x2a"[..], b"\x3a", b"\x0b", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"\x08"]
        {
            assert_eq!(read(broken), None, "{broken:?}");
        }
    }
}
