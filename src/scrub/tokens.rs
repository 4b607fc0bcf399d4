//! Detect secrets by their format alone.

use crate::{Span, looks};
use Body::{Alnum, Dotted, Hex, Upper, Word};
use Form::{Bearer, Bot, Jwt, Pem, Prefix, Url, Webhook};

/// The characters of a token after its prefix.
#[derive(Clone, Copy)]
pub enum Body {
    Alnum,
    /// Capitals and digits.
    Upper,
    Hex,
    /// Letters, digits, `_` and `-`.
    Word,
    /// `Word` and dots.
    Dotted,
}

impl Body {
    fn has(self, b: u8) -> bool {
        match self {
            Alnum => b.is_ascii_alphanumeric(),
            Upper => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Hex => b.is_ascii_digit() || (b'a'..=b'f').contains(&b),
            Word => b.is_ascii_alphanumeric() || b == b'_' || b == b'-',
            Dotted => Word.has(b) || b == b'.',
        }
    }
}

/// A token format, by its beginning.
#[derive(Clone, Copy)]
pub enum Form {
    /// The prefix, then at least this many characters of the body.
    Prefix(&'static str, Body, usize),
    /// Three parts in base64, the first a JSON object.
    Jwt,
    /// A PEM block with PRIVATE KEY in its label.
    Pem,
    /// `scheme://user:password@host`.
    Url,
    /// `Bearer` or `Basic`, then a credential.
    Bearer,
    /// A Telegram bot token: digits, a colon, 34 characters.
    Bot,
    /// A URL whose path of at least this many characters is the secret.
    Webhook(usize),
}

/// Every format with its anchor text.
pub const FORMS: &[(&str, Form)] = &[
    ("eyJ", Jwt),
    ("-----BEGIN ", Pem),
    ("://", Url),
    ("bearer", Bearer),
    ("basic", Bearer),
    (":A", Bot),
    ("hooks.slack.com/services/", Webhook(20)),
    ("/api/webhooks/", Webhook(40)),
    ("/api/webhook/", Webhook(20)),
    // Models
    ("sk-", Prefix("sk-", Word, 20)),
    ("gsk_", Prefix("gsk_", Alnum, 40)),
    ("xai-", Prefix("xai-", Alnum, 40)),
    ("pplx-", Prefix("pplx-", Alnum, 40)),
    ("hf_", Prefix("hf_", Alnum, 30)),
    ("r8_", Prefix("r8_", Alnum, 36)),
    ("nvapi-", Prefix("nvapi-", Word, 40)),
    ("tvly-", Prefix("tvly-", Word, 24)),
    ("AIza", Prefix("AIza", Word, 35)),
    // Code
    ("ghp_", Prefix("ghp_", Alnum, 36)),
    ("gho_", Prefix("gho_", Alnum, 36)),
    ("ghu_", Prefix("ghu_", Alnum, 36)),
    ("ghs_", Prefix("ghs_", Alnum, 36)),
    ("ghr_", Prefix("ghr_", Alnum, 36)),
    ("github_pat_", Prefix("github_pat_", Word, 36)),
    ("glpat-", Prefix("glpat-", Dotted, 20)),
    ("glrt-", Prefix("glrt-", Dotted, 20)),
    ("gldt-", Prefix("gldt-", Dotted, 20)),
    ("glptt-", Prefix("glptt-", Word, 20)),
    ("npm_", Prefix("npm_", Alnum, 36)),
    ("pypi-AgE", Prefix("pypi-AgE", Word, 50)),
    ("dckr_pat_", Prefix("dckr_pat_", Word, 20)),
    ("sntrys_", Prefix("sntrys_", Word, 40)),
    ("lin_api_", Prefix("lin_api_", Alnum, 32)),
    ("figd_", Prefix("figd_", Word, 32)),
    ("ntn_", Prefix("ntn_", Alnum, 40)),
    ("PMAK-", Prefix("PMAK-", Word, 40)),
    ("ATATT3", Prefix("ATATT3", Word, 60)),
    // Clouds
    ("AKIA", Prefix("AKIA", Upper, 16)),
    ("ASIA", Prefix("ASIA", Upper, 16)),
    ("ya29.", Prefix("ya29.", Word, 20)),
    ("GOCSPX-", Prefix("GOCSPX-", Word, 20)),
    ("1//0", Prefix("1//0", Word, 30)),
    ("dop_v1_", Prefix("dop_v1_", Hex, 40)),
    ("hvs.", Prefix("hvs.", Word, 24)),
    ("tskey-", Prefix("tskey-", Word, 20)),
    ("dapi", Prefix("dapi", Hex, 32)),
    ("glsa_", Prefix("glsa_", Word, 32)),
    ("sbp_", Prefix("sbp_", Hex, 40)),
    ("sb_secret_", Prefix("sb_secret_", Word, 20)),
    ("AGE-SECRET-KEY-1", Prefix("AGE-SECRET-KEY-1", Upper, 50)),
    // Messages and mail
    ("xoxb-", Prefix("xoxb-", Word, 10)),
    ("xoxp-", Prefix("xoxp-", Word, 10)),
    ("xoxa-", Prefix("xoxa-", Word, 10)),
    ("xoxr-", Prefix("xoxr-", Word, 10)),
    ("xoxs-", Prefix("xoxs-", Word, 10)),
    ("xoxe-", Prefix("xoxe-", Word, 10)),
    ("xapp-", Prefix("xapp-", Word, 10)),
    ("SG.", Prefix("SG.", Dotted, 60)),
    ("key-", Prefix("key-", Hex, 32)),
    // Money and shops
    ("sk_", Prefix("sk_", Word, 20)),
    ("rk_live_", Prefix("rk_live_", Alnum, 16)),
    ("rk_test_", Prefix("rk_test_", Alnum, 16)),
    ("whsec_", Prefix("whsec_", Alnum, 24)),
    ("shpat_", Prefix("shpat_", Hex, 32)),
    ("shpss_", Prefix("shpss_", Hex, 32)),
    ("sq0csp-", Prefix("sq0csp-", Word, 40)),
];

/// Schemes of URLs that people write by hand, often with unencoded passwords.
const DATABASES: &[&[u8]] = &[
    b"postgres",
    b"postgresql",
    b"mysql",
    b"mariadb",
    b"mongodb",
    b"mongodb+srv",
    b"redis",
    b"rediss",
    b"amqp",
    b"mqtt",
];

/// The maximum length of a password in a URL.
const PASSWORD: usize = 256;
/// The maximum length of a private key.
const KEY: usize = 16 * 1024;
/// The maximum length of a token that is inspected.
const MOST: usize = 1024;

/// The secret that begins, or is announced, at `hit`.
pub fn at(bytes: &[u8], hit: Span, form: Form) -> Option<Span> {
    let mut span = judge(bytes, hit, form)?;
    while span.len() >= MOST {
        let end = run(bytes, span.end, |b| Dotted.has(b) || b"~+/=".contains(&b));
        if end == span.end {
            break;
        }
        span.end = end;
    }
    Some(span)
}

fn judge(bytes: &[u8], hit: Span, form: Form) -> Option<Span> {
    match form {
        Prefix(prefix, body, least) => token(bytes, hit, prefix, body, least),
        Jwt => jwt(bytes, hit),
        Pem => pem(bytes, hit),
        Url => url(bytes, hit),
        Bearer => bearer(bytes, hit),
        Bot => bot(bytes, hit),
        Webhook(least) => webhook(bytes, hit, least),
    }
}

/// Whether a word begins here. The `n` of an escaped line end and percent-encoded characters are not part of a word.
pub fn starts_word(bytes: &[u8], at: usize) -> bool {
    let before = |n: usize| at.checked_sub(n).and_then(|at| bytes.get(at)).copied().unwrap_or(b' ');
    let escaped = b"nrtbf".contains(&before(1)) && before(2) == b'\\';
    let encoded = before(3) == b'%' && before(2).is_ascii_hexdigit() && before(1).is_ascii_hexdigit();
    !(before(1).is_ascii_alphanumeric() || before(1) == b'_') || escaped || encoded
}

/// The end of the run of accepted characters, or of the inspected part.
fn run(bytes: &[u8], from: usize, has: impl Fn(u8) -> bool) -> usize {
    from + bytes.get(from..).unwrap_or_default().iter().take(MOST).take_while(|b| has(**b)).count()
}

fn text(bytes: &[u8], span: Span) -> &str {
    bytes.get(span).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default()
}

fn token(bytes: &[u8], hit: Span, prefix: &str, body: Body, least: usize) -> Option<Span> {
    // Part of a longer name, or of a token that was seen already.
    let before = hit.start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    let inner = before == Some(b'-') || before == Some(b'.') && matches!(body, Dotted);
    if bytes.get(hit.clone())? != prefix.as_bytes() || !starts_word(bytes, hit.start) || inner {
        return None;
    }
    let end = run(bytes, hit.end, |b| body.has(b));
    let alone = !bytes.get(end).is_some_and(u8::is_ascii_alphanumeric);
    let end = hit.end + text(bytes, hit.end..end).trim_end_matches('.').len();
    let body_text = text(bytes, hit.end..end);
    // Style-sheet classes and package names without a dash are never this long.
    let plain = body_text.len() >= least.min(20) && body_text.bytes().take(20).all(|b| b.is_ascii_alphanumeric());
    let sure = match (prefix, body) {
        ("sk-", _) => plain || body_text.starts_with("ant-") || looks::is_random(body_text),
        ("ASIA", _) => looks::is_random(body_text),
        (_, Word | Dotted) => plain || looks::is_random(body_text),
        _ => true,
    };
    (body_text.len() >= least && alone && sure).then_some(hit.start..end)
}

fn jwt(bytes: &[u8], hit: Span) -> Option<Span> {
    if bytes.get(hit.clone())? != b"eyJ" || !starts_word(bytes, hit.start) {
        return None;
    }
    // Some PEM headers contain whole certificates.
    let head = (0..16).fold(hit.start, |at, _| run(bytes, at, |b| Word.has(b)));
    if head - hit.start < 10 || bytes.get(head) != Some(&b'.') {
        return None;
    }
    let end = run(bytes, head + 1, |b| Dotted.has(b));
    let rest = text(bytes, head + 1..end).trim_end_matches('.');
    (rest.split('.').next()?.len() >= 10).then_some(hit.start..head + 1 + rest.len())
}

fn pem(bytes: &[u8], hit: Span) -> Option<Span> {
    let limit = bytes.len().min(hit.start + KEY);
    let block = text(bytes, hit.start..bytes.get(hit.start..limit)?.utf8_chunks().next()?.valid().len() + hit.start);
    let head = block.get(11..)?.find("-----").filter(|at| *at <= 40)? + 16;
    if !block.get(..head)?.contains("PRIVATE KEY") {
        return None;
    }
    let rest = block.get(head..)?;
    let end = rest.find("-----END ").and_then(|at| {
        let tail = rest.get(at + 9..)?.find("-----").filter(|tail| *tail <= 40)?;
        Some((at, head + at + 9 + tail + 5))
    });
    let base64 = |b: u8| b.is_ascii_alphanumeric() || b"+/=".contains(&b);
    let filled = |body: &str| body.as_bytes().split(|b| !base64(*b)).any(|line| line.len() >= 20);
    match end {
        Some((at, end)) => filled(rest.get(..at)?).then_some(hit.start..hit.start + end),
        // A truncated block: the rest are lines of base64.
        None => {
            let (mut at, mut end) = (0, 0);
            for line in rest.split_inclusive(['\n', '\\']) {
                let bare = line.trim_end_matches(['\n', '\r', '\\']).trim_start_matches('n');
                let last = at + line.len() == rest.len();
                if !bare.bytes().all(base64) || !bare.is_empty() && bare.len() < 16 && !last {
                    break;
                }
                at += line.len();
                end = if bare.is_empty() {
                    end
                } else {
                    at - (line.len() - line.trim_end_matches(['\n', '\r', '\\']).len())
                };
            }
            filled(rest.get(..end)?).then_some(hit.start..hit.start + head + end)
        }
    }
}

fn url(bytes: &[u8], hit: Span) -> Option<Span> {
    let before = bytes.get(..hit.start)?;
    let scheme_of = |b: &u8| b.is_ascii_alphanumeric() || b"+-.".contains(b);
    let scheme = before.len() - before.iter().rev().take(20).take_while(|b| scheme_of(b)).count();
    let scheme = before.get(scheme..).filter(|s| s.first().is_some_and(u8::is_ascii_alphabetic))?;
    let outside = |b: u8| b <= b' ' || b"\"'`<>\\".contains(&b);
    let authority = run(bytes, hit.end, |b| !outside(b) && !b"/?#".contains(&b));
    let name_end = run(bytes, hit.end, |b| !outside(b) && !b"/?#:@".contains(&b));
    let password = name_end + 1;
    let at = |until: usize| bytes.get(hit.end..until)?.iter().rposition(|b| *b == b'@').map(|at| hit.end + at);
    let end = match at(authority) {
        Some(end) => end,
        // An unencoded slash or hash; but a port is digits.
        None if DATABASES.contains(&scheme) && bytes.get(name_end) == Some(&b':') => {
            let port = run(bytes, password, |b| b.is_ascii_digit());
            let wide = run(bytes, hit.end, |b| !outside(b)).min(hit.end + PASSWORD);
            at(wide).filter(|_| !bytes.get(port).is_none_or(|b| b"/?#".contains(b)) || port == password)?
        }
        None => return None,
    };
    let secret = if bytes.get(name_end) == Some(&b':') { password..end } else { hit.end..end };
    let value = text(bytes, secret.clone());
    let alone = secret.start == hit.end;
    let sure = if alone { value.len() >= 20 && looks::is_random(value) } else { !value.is_empty() };
    let stands_for = value.starts_with(['$', '<', '{', '[']) || value == "%s" || value.contains("***");
    (sure && !stands_for && secret.end > secret.start).then_some(secret)
}

/// After `Bearer` any token that is not a word; after `Basic` base64 of `user:password`.
fn bearer(bytes: &[u8], hit: Span) -> Option<Span> {
    if !starts_word(bytes, hit.start) {
        return None;
    }
    let mut from = run(bytes, hit.end, |b| b == b' ' || b == b'+');
    if bytes.get(from..from + 3) == Some(b"%20") {
        from += 3;
    }
    if from == hit.end {
        return None;
    }
    let end = run(bytes, from, |b| Dotted.has(b) || b"~+/=".contains(&b));
    let end = from + text(bytes, from..end).trim_end_matches('.').len();
    let value = text(bytes, from..end);
    let basic = bytes.get(hit)?.eq_ignore_ascii_case(b"basic");
    let sure = if basic {
        is_basic(value)
    } else {
        value.len() >= 12 && looks::is_evident_secret(value) && !looks::is_location(value)
    };
    sure.then_some(from..end)
}

/// Whether this is base64 of a user name, a colon and a password.
pub fn is_basic(value: &str) -> bool {
    let (mut bits, mut held, mut plain) = (0u32, 0, vec![]);
    for b in value.trim_end_matches('=').bytes() {
        let six = match b {
            b'A'..=b'Z' => b - b'A',
            b'a'..=b'z' => b - b'a' + 26,
            b'0'..=b'9' => b - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return false,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    let readable = std::str::from_utf8(&plain).is_ok_and(|t| !t.contains(char::is_control));
    plain.len() >= 3 && readable && plain.contains(&b':')
}

fn bot(bytes: &[u8], hit: Span) -> Option<Span> {
    let digits = bytes.get(..hit.start)?.iter().rev().take(12).take_while(|b| b.is_ascii_digit()).count();
    let end = run(bytes, hit.start + 1, |b| Word.has(b));
    let body = text(bytes, hit.start + 1..end);
    let sure = (6..=11).contains(&digits) && (34..=36).contains(&body.len()) && looks::is_random(body);
    sure.then_some(hit.start - digits..end)
}

fn webhook(bytes: &[u8], hit: Span, least: usize) -> Option<Span> {
    let end = run(bytes, hit.end, |b| Word.has(b) || b == b'/');
    let path = text(bytes, hit.end..end);
    (path.len() >= least && looks::is_random(path)).then_some(hit.end..end)
}
