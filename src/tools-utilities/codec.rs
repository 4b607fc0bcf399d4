//! Encode and decode text: Base64, percent encoding, hex and HTML entities.

use crate::{
    bounds::{result_sentence, short},
    digest::hex,
    words::words,
};
use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig, general_purpose},
};
use text_kit::percent_encode;
use tool::prelude::*;

words! {
    /// Direction.
    Direction { Encode = "encode", Decode = "decode" }
}

words! {
    /// Encoding.
    Method {
        Base64 = "base64",
        Base64Url = "base64url",
        Url = "url" | "uri" | "percent",
        Hex = "hex",
        Html = "html",
    }
}

/// Encode text as Base64, URL (percent) encoding, hex or HTML entities, or decode it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EncodeDecode {
    /// Text to convert.
    text: String,
    /// Encode or decode.
    operation: Direction,
    /// Encoding (default: base64).
    method: Option<Method>,
}

pub(crate) async fn encode_decode(_: (), _: Cx, args: EncodeDecode) -> Result<Output> {
    short("text", &args.text)?;
    let (text, method) = (args.text, args.method.unwrap_or(Method::Base64));
    let result = match args.operation {
        Direction::Encode => encode(&text, method),
        Direction::Decode => decode(&text, method)?,
    };
    let sentence = match args.operation {
        Direction::Encode => format!("As {} it is {}", method.word(), result_sentence(&result)),
        Direction::Decode => format!("It says: {}", result_sentence(&result)),
    };
    let answer = json!({"result": result, "operation": args.operation.word(), "method": method.word()});
    Ok(Output::json(answer)?.say(sentence))
}

fn encode(text: &str, method: Method) -> String {
    match method {
        Method::Base64 => general_purpose::STANDARD.encode(text),
        Method::Base64Url => general_purpose::URL_SAFE_NO_PAD.encode(text),
        Method::Hex => hex(text.as_bytes()),
        Method::Url => percent_encode(text),
        Method::Html => {
            let mut out = String::with_capacity(text.len());
            for c in text.chars() {
                match ENTITIES[..5].iter().find(|(_, of)| *of == c) {
                    Some((name, _)) => out += &format!("&{name};"),
                    None => out.push(c),
                }
            }
            out
        }
    }
}

fn decode(text: &str, method: Method) -> Result<String> {
    let bytes = match method {
        Method::Base64 | Method::Base64Url => from_base64(text)?,
        Method::Hex => from_hex(text)?,
        Method::Url => from_percent(text)?,
        Method::Html => return Ok(from_html(text)),
    };
    String::from_utf8(bytes).map_err(|bad| {
        let bytes = bad.as_bytes();
        Error::bad_args(format!(
            "this decodes to {} bytes that are no text (they begin with {} in hex): only text can be decoded",
            bytes.len(),
            hex(&bytes[..bytes.len().min(8)])
        ))
    })
}

/// Decode either alphabet, with or without padding, ignoring white space.
fn from_base64(text: &str) -> Result<Vec<u8>> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    let plain: String = text
        .chars()
        .filter(|c| !c.is_whitespace())
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            other => other,
        })
        .collect();
    LENIENT.decode(plain).map_err(|why| Error::bad_args(format!("this is not Base64 ({why}): check that it is whole")))
}

fn from_hex(text: &str) -> Result<Vec<u8>> {
    let text = text.trim();
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let digits = text
        .chars()
        .filter(|c| !c.is_whitespace() && !matches!(c, ':' | '-'))
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()).ok_or(c))
        .collect::<Result<Vec<u8>, char>>()
        .map_err(|c| Error::bad_args(format!("`{c}` is not a hex digit: use digits 0 to 9 and a to f")))?;
    if digits.len() % 2 == 1 {
        return Err(Error::bad_args("hex has two digits per byte, and one is missing"));
    }
    Ok(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

fn from_percent(text: &str) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| char::from(b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
        match (digit(bytes.next()), digit(bytes.next())) {
            (Some(high), Some(low)) => out.push(high << 4 | low),
            _ => return Err(Error::bad_args("a % is not followed by two hex digits: a literal % is written %25")),
        }
    }
    Ok(out)
}

/// HTML entities; the first five must be encoded.
const ENTITIES: &[(&str, char)] = &[
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("#39", '\''),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
    ("copy", '©'),
    ("reg", '®'),
    ("deg", '°'),
    ("euro", '€'),
    ("pound", '£'),
    ("laquo", '«'),
    ("raquo", '»'),
    ("ndash", '–'),
    ("mdash", '—'),
    ("lsquo", '‘'),
    ("rsquo", '’'),
    ("ldquo", '“'),
    ("rdquo", '”'),
    ("bdquo", '„'),
    ("hellip", '…'),
    ("middot", '·'),
    ("times", '×'),
    ("szlig", 'ß'),
    ("auml", 'ä'),
    ("ouml", 'ö'),
    ("uuml", 'ü'),
    ("Auml", 'Ä'),
    ("Ouml", 'Ö'),
    ("Uuml", 'Ü'),
    ("eacute", 'é'),
    ("egrave", 'è'),
    ("agrave", 'à'),
    ("ccedil", 'ç'),
    ("ntilde", 'ñ'),
];

/// Replace named and numeric entities; unknown ones stay.
fn from_html(text: &str) -> String {
    /// The length of the longest name, and of a number with all its digits.
    const LONGEST: usize = 10;
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out += &rest[..at];
        rest = &rest[at..];
        let end = rest.bytes().take(LONGEST + 2).position(|b| b == b';');
        let named = end.and_then(|end| Some((entity(&rest[1..end])?, end + 1)));
        let (c, length) = named.unwrap_or(('&', 1));
        out.push(c);
        rest = &rest[length..];
    }
    out + rest
}

fn entity(name: &str) -> Option<char> {
    if let Some(number) = name.strip_prefix('#') {
        let code = match number.strip_prefix(['x', 'X']) {
            Some(digits) => u32::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).filter(|c| *c != '\0');
    }
    ENTITIES.iter().find(|(n, _)| *n == name).map(|(_, c)| *c)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx};
    use proptest::prelude::*;

    async fn ask(text: &str, operation: &str, method: &str) -> Result<String> {
        let args = json!({"text": text, "operation": operation, "method": method});
        let answer = call(crate::text(), &cx(), "encode_decode", args).await?;
        Ok(answer.content["result"].as_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn every_alphabet_goes_both_ways() {
        let rows = [
            ("Grüß Gott!", "base64", "R3LDvMOfIEdvdHQh"),
            ("??>~", "base64url", "Pz8-fg"),
            ("a b&c=ü/+", "url", "a%20b%26c%3D%C3%BC%2F%2B"),
            ("Hob", "hex", "486f62"),
            (
                "<a href=\"x\">Tom & 'Jerry'</a>",
                "html",
                "&lt;a href=&quot;x&quot;&gt;Tom &amp; &#39;Jerry&#39;&lt;/a&gt;",
            ),
        ];
        for (text, method, encoded) in rows {
            assert_eq!(ask(text, "encode", method).await.unwrap(), encoded, "{method}");
            assert_eq!(ask(encoded, "decode", method).await.unwrap(), text, "{method}");
        }
    }

    #[tokio::test]
    async fn what_others_wrote_is_decoded_too() {
        let rows = [
            ("SG9i\n", "base64", "Hob"),
            ("SG9iYg", "base64", "Hobb"),
            ("SG9iYg==", "base64url", "Hobb"),
            ("Pz8-fg==", "base64", "??>~"),
            ("0x48 6F:62", "hex", "Hob"),
            ("a+b%20c", "url", "a+b c"),
            ("100% &amp &unknown; &euro;&#8364;&#x20AC; &#xD800; &", "html", "100% &amp &unknown; €€€ &#xD800; &"),
            ("&ä;&é", "html", "&ä;&é"),
            ("", "base64", ""),
        ];
        for (text, method, wanted) in rows {
            assert_eq!(ask(text, "decode", method).await.unwrap(), wanted, "{text}");
        }
        for (text, method, wanted) in [
            ("a", "base64", "not Base64"),
            ("ä===", "base64", "not Base64"),
            ("/w==", "base64", "begin with ff in hex"),
            ("4", "hex", "one is missing"),
            ("4g", "hex", "`g` is not a hex digit"),
            ("%4", "url", "%25"),
            ("%zz", "url", "%25"),
            ("%ff", "url", "no text"),
        ] {
            let error = ask(text, "decode", method).await.unwrap_err();
            assert!(matches!(&error, Error::BadArgs(why) if why.contains(wanted)), "{text}: {error}");
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn what_is_encoded_is_decoded(text in any::<String>()) {
            for (method, _) in Method::WORDS {
                prop_assert_eq!(decode(&encode(&text, *method), *method).unwrap(), text.clone(), "{}", method.word());
            }
        }

        #[test]
        fn whatever_is_decoded_does_no_harm(text in "[&%#x;0-9a-fA-F=é_-]{0,40}") {
            for (method, _) in Method::WORDS {
                let _ = decode(&text, *method);
            }
        }
    }
}
