//! The format of the service: its address with a signature of the time, headers of the browser, and messages with headers of their
//! own. As others know it, too: github.com/rany2/edge-tts.

use crate::failure::Failure;
use jiff::{Timestamp, fmt::rfc2822};
use serde_json::json;
use sha2::{Digest, Sha256};
use tool::Id;

/// The token of the feature, which is the same in every browser.
const TOKEN: &str = "6A5AA1D4EAFF4E9FB37E23D68491D6F4";
/// The version of the browser: the service refuses old ones.
const VERSION: &str = "143.0.3650.75";
/// Seconds from 1601, where Windows begins to count, to 1970.
const FROM_1601: i64 = 11_644_473_600;
/// How long a signature holds, in seconds, and how many ticks a second has.
const HOLDS: i64 = 300;
const TICKS: i128 = 10_000_000;

/// The address of a connection at this Unix time.
pub(super) fn address(base: &str, now: i64) -> String {
    let (base, id, signature) = (base.trim_end_matches('/'), id(), signature(now));
    format!(
        "{base}/edge/v1?TrustedClientToken={TOKEN}&ConnectionId={id}&Sec-MS-GEC={signature}&Sec-MS-GEC-Version=1-{VERSION}"
    )
}

/// The SHA-256 of the time and the token, in capital hexadecimal digits. The time is that of Windows files, of the last full five
/// minutes.
fn signature(now: i64) -> String {
    let seconds = now.saturating_add(FROM_1601);
    let ticks = i128::from(seconds.saturating_sub(seconds.rem_euclid(HOLDS))) * TICKS;
    let hash = Sha256::digest(format!("{ticks}{TOKEN}"));
    hash.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// A number of 32 digits; each is used once, so none of them tells who asks.
fn id() -> String {
    Id::new().to_string().replace('-', "")
}

/// The headers of the browser.
pub(super) fn headers() -> Vec<(String, String)> {
    let major = VERSION.split('.').next().unwrap_or_default();
    let agent = format!(
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0 Safari/537.36 \
         Edg/{major}.0.0.0"
    );
    let cookie = format!("muid={};", id().to_ascii_uppercase());
    [
        ("user-agent", agent.as_str()),
        ("origin", "chrome-extension://jdiccldimpdaibmpdkjnbmckianbfold"),
        ("accept-language", "en-US,en;q=0.9"),
        ("pragma", "no-cache"),
        ("cache-control", "no-cache"),
        ("cookie", cookie.as_str()),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .to_vec()
}

/// The first message: the format of the sound.
pub(super) fn config(now: Timestamp) -> String {
    let body = json!({"context": {"synthesis": {"audio": {
        "metadataoptions": {"sentenceBoundaryEnabled": "false", "wordBoundaryEnabled": "false"},
        "outputFormat": "audio-24khz-48kbitrate-mono-mp3",
    }}}});
    let time = time(now);
    format!(
        "X-Timestamp:{time}\r\nContent-Type:application/json; charset=utf-8\r\nPath:speech.config\r\n\r\n{body}\r\n"
    )
}

/// The second message: what is spoken, as SSML. The `Z` after the time is the browser's.
pub(super) fn speech(now: Timestamp, ssml: &str) -> String {
    let (id, time) = (id(), time(now));
    format!("X-RequestId:{id}\r\nContent-Type:application/ssml+xml\r\nX-Timestamp:{time}Z\r\nPath:ssml\r\n\r\n{ssml}")
}

/// A time as JavaScript writes it.
fn time(now: Timestamp) -> String {
    now.strftime("%a %b %d %Y %H:%M:%S GMT+0000 (Coordinated Universal Time)").to_string()
}

/// The Unix time of a `Date` header.
pub(super) fn seconds(date: &str) -> Option<i64> {
    rfc2822::parse(date.trim()).ok().map(|time| time.timestamp().as_second())
}

/// Whether a text says that all was spoken. Others are about the progress.
pub(super) fn is_end(text: &str) -> Result<bool, Failure> {
    let head = text.split("\r\n\r\n").next().unwrap_or_default();
    header(head, "path").map(|path| path == "turn.end").ok_or_else(changed)
}

/// The sound in a binary message: two bytes with the length of its headers come before these.
pub(super) fn sound(message: &[u8]) -> Result<&[u8], Failure> {
    let (length, rest) = message.split_first_chunk::<2>().ok_or_else(changed)?;
    let (head, sound) = rest.split_at_checked(u16::from_be_bytes(*length).into()).ok_or_else(changed)?;
    let head = std::str::from_utf8(head).map_err(|_| changed())?;
    match (header(head, "path"), header(head, "content-type")) {
        (Some("audio"), Some("audio/mpeg")) => Ok(sound),
        // The last one has none.
        (Some("audio"), None) if sound.is_empty() => Ok(sound),
        _ => Err(changed()),
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.split("\r\n").filter_map(|line| line.split_once(':'));
    let mut values = fields.filter(|(field, _)| field.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim());
    values.next()
}

/// An answer in a format that is not known here.
pub(super) fn changed() -> Failure {
    Failure::Odd(
        "answers in a format that Hob does not know: the service has changed, and another `provider` can speak until Hob \
         is updated"
            .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_are_those_that_browsers_sent() {
        // From requests that others published: edge-tts #290 of November 2024, hass-edge-tts #74 of January 2026.
        for (from, expected) in [
            (1_731_289_200, "951A6D4FD7C99AF5EC48E4FB4E35AFF9925812CEA2729B447D9A772AF4CEBC51"),
            (1_769_293_200, "8F606269041E6CED76F135825D4EA6C9B1E6C118FC6EECE9DEF3743B0EB47DFB"),
        ] {
            for now in [from, from + 1, from + 299] {
                assert_eq!(signature(now), expected, "{now}");
            }
            assert!(signature(from - 1) != expected && signature(from + 300) != expected);
        }
        for odd in [i64::MIN, -FROM_1601 - 1, 0, i64::MAX] {
            assert_eq!(signature(odd).len(), 64, "{odd}");
        }
    }

    #[test]
    fn addresses_have_all_parts_and_another_id_each() {
        let all = [address("https://h/x/", 0), address("https://h/x", 0)];
        let urls = all.each_ref().map(|text| url::Url::parse(text).unwrap());
        let names: Vec<String> = urls[0].query_pairs().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(names, ["TrustedClientToken", "ConnectionId", "Sec-MS-GEC", "Sec-MS-GEC-Version"]);
        assert_eq!((urls[0].path(), urls[0].query_pairs().nth(1).unwrap().1.len()), ("/x/edge/v1", 32));
        assert!(urls[0].path() == urls[1].path() && all[0] != all[1]);
        assert!(headers().iter().any(|(name, value)| name == "user-agent" && value.ends_with("Edg/143.0.0.0")));
    }

    #[test]
    fn messages_have_the_times_of_a_browser() {
        let now = Timestamp::from_second(1_731_289_200).unwrap();
        let time = "X-Timestamp:Mon Nov 11 2024 01:40:00 GMT+0000 (Coordinated Universal Time)";
        assert!(config(now).starts_with(&format!("{time}\r\n")) && config(now).ends_with("}}}}\r\n"));
        let text = speech(now, "<speak/>");
        assert!(
            text.contains(&format!("\r\n{time}Z\r\n")) && text.ends_with("\r\nPath:ssml\r\n\r\n<speak/>"),
            "{text}"
        );
        for (date, expected) in [
            ("Mon, 11 Nov 2024 01:40:00 GMT", Some(1_731_289_200)),
            ("Mon, 11 Nov 2024 01:40:00 +0000", Some(1_731_289_200)),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(seconds(date), expected, "{date}");
        }
    }

    #[test]
    fn texts_and_sounds_are_told_apart_from_garbage() {
        assert_eq!(is_end("X-RequestId:1\r\nPath:turn.end\r\n\r\n{}"), Ok(true));
        for other in ["Path:turn.start\r\n\r\n{}", "path: response \r\n\r\nPath:turn.end", "Path:new.things\r\n\r\n"] {
            assert_eq!(is_end(other), Ok(false), "{other}");
        }
        for odd in ["", "{}", "Path", "\r\n\r\nPath:turn.end"] {
            assert_eq!(is_end(odd), Err(changed()), "{odd}");
        }
        let framed =
            |head: &str, sound: &[u8]| [&(head.len() as u16).to_be_bytes()[..], head.as_bytes(), sound].concat();
        let audio = "X-RequestId:1\r\nContent-Type:audio/mpeg\r\nPath:audio\r\n";
        assert_eq!(sound(&framed(audio, b"abc")), Ok(&b"abc"[..]));
        assert_eq!(sound(&framed("Path:audio\r\n", b"")), Ok(&b""[..]));
        for odd in [
            vec![],
            vec![0],
            vec![0, 9, b'P'],
            vec![0xff; 9],
            framed("Path:audio\r\n", b"abc"),
            framed("Content-Type:audio/mpeg\r\n", b"abc"),
            framed("Content-Type:text/html\r\nPath:audio\r\n", b"abc"),
            framed("Content-Type:audio/mpeg\r\nPath:video\r\n", b"abc"),
            [&[0, 2, 0xff, 0xfe][..], b"abc"].concat(),
        ] {
            assert_eq!(sound(&odd), Err(changed()), "{odd:?}");
        }
    }
}
