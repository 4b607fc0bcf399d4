//! The headers of a message or part, with bounds on what is parsed of them: a parser may need much longer for a field than it is long.

/// How much of the headers is parsed, and of one field, in bytes.
const HEAD: usize = 256 * 1024;
const FIELD: usize = 16 * 1024;
/// How many parameters of a field are parsed.
const PARAMETERS: usize = 100;

/// What is parsed of the headers, and what follows the empty line after them. The end of a long field is left out; where the headers are
/// longer than the bound, their rest counts as content.
pub(crate) fn split(raw: &[u8]) -> (Vec<u8>, &[u8]) {
    let (mut head, mut at) = (vec![], 0);
    let (mut length, mut parameters) = (0, 0);
    while at < raw.len() && head.len() < HEAD {
        let end = memchr::memchr(b'\n', &raw[at..]).map_or(raw.len(), |found| at + found + 1);
        let line = &raw[at..end];
        at = end;
        if matches!(line, b"\n" | b"\r\n") {
            head.extend_from_slice(line);
            break;
        }
        if !line.starts_with(b" ") && !line.starts_with(b"\t") {
            (length, parameters) = (0, 0);
        }
        let fits = &line[..line.len().min(FIELD - length)];
        let mut ends = memchr::memchr_iter(b';', fits);
        let kept = ends.by_ref().nth(PARAMETERS - parameters).map_or(fits, |end| &fits[..end]);
        if kept.len() == line.len() {
            length += kept.len();
            parameters += memchr::memchr_iter(b';', kept).count();
        } else {
            // Nothing more of this field.
            length = FIELD;
        }
        head.extend_from_slice(kept);
        if kept.len() < line.len() && !kept.is_empty() {
            head.extend_from_slice(b"\r\n");
        }
    }
    (head, &raw[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_headers_stay_as_they_are() {
        for (raw, body) in [
            ("A: b\r\nC: d;\r\n e=f; g\r\n\r\nbody", "body"),
            ("A: b\n\nbody\n", "body\n"),
            ("\r\nbody", "body"),
            ("A: b", ""),
            ("", ""),
        ] {
            let (head, rest) = split(raw.as_bytes());
            assert_eq!(rest, body.as_bytes(), "{raw}");
            assert_eq!([&head, rest].concat(), raw.as_bytes());
        }
    }

    #[test]
    fn long_fields_are_cut_and_the_others_stay() {
        let rest = "\r\nSubject: s\r\n\r\nbody";
        for long in [
            format!("X: {}", "y".repeat(2_000_000)),
            format!("X: a{}", "; p7*7=x".repeat(50_000)),
            format!("X: a{}", ";\r\n p7*7=x".repeat(50_000)),
            format!("X: a{}", "\r\n yyyy".repeat(50_000)),
            format!("X{}", ";".repeat(1000)),
        ] {
            let raw = format!("{long}{rest}");
            let (head, body) = split(raw.as_bytes());
            assert!(head.len() <= FIELD + 100 && body == b"body", "{}", head.len());
            assert!(memchr::memchr_iter(b';', &head).count() <= PARAMETERS);
            assert!(head.starts_with(&long.as_bytes()[..100]) && head.ends_with(b"\r\nSubject: s\r\n\r\n"));
        }
        let raw = "A: b\r\n".repeat(1_000_000);
        let (head, body) = split(raw.as_bytes());
        assert!(head.len() < HEAD + FIELD && !body.is_empty());
    }
}
