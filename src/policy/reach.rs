//! The paths and hosts in the arguments of a call, and the patterns that confine them.
//!
//! Paths are compared by components, as text; symbolic links are left to the file tools. A relative path is inside
//! the workspace, an absolute one is not, wherever the workspace is. URLs are parsed by the parser of the network
//! tools, so both see the same host.

use serde_json::Value;
use std::net::Ipv6Addr;
use url::Url;

/// A path in the file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PathPattern {
    absolute: bool,
    parts: Vec<String>,
}

impl PathPattern {
    /// Parse a path; `None` when it leaves the workspace, begins with `~`, or is malformed.
    pub fn of(path: &str) -> Option<Self> {
        let path = match path.get(..5) {
            // A `file:` URL of this device has an absolute path. `file://host/…` is remote.
            Some(scheme) if scheme.eq_ignore_ascii_case("file:") => {
                let rest = &path[5..];
                Some(rest.strip_prefix("//").unwrap_or(rest)).filter(|rest| rest.starts_with('/'))?
            }
            _ => path,
        };
        if path.is_empty() || path.starts_with('~') || path.trim() != path || path.contains(char::is_control) {
            return None;
        }
        let absolute = path.starts_with('/');
        let mut parts: Vec<String> = vec![];
        for part in path.split('/') {
            match part {
                "" | "." => {}
                // The root is its own parent.
                ".." if parts.pop().is_none() && !absolute => return None,
                ".." => {}
                part => parts.push(part.to_owned()),
            }
        }
        Some(Self { absolute, parts })
    }

    /// Whether the other path is this one or inside it.
    pub fn covers(&self, other: &PathPattern) -> bool {
        self.absolute == other.absolute && other.parts.starts_with(&self.parts)
    }
}

/// Whether a relative path leaves its folder.
fn leaves_workspace(path: &str) -> bool {
    let mut depth = 0i32;
    !path.starts_with('/')
        && path.split('/').any(|part| {
            depth += match part {
                "" | "." => 0,
                ".." => -1,
                _ => 1,
            };
            depth < 0
        })
}

/// A pattern of reachable hosts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host {
    All,
    Only(String),
    /// All subdomains of this name.
    Below(String),
}

impl Host {
    /// Parse `example.org`, `*.example.org`, `*` or an IP address. Ports and URL parts are ignored.
    pub fn of(text: &str) -> Option<Self> {
        match text.strip_prefix("*.") {
            _ if text == "*" => Some(Self::All),
            Some(below) => host(below).filter(|h| !h.contains(['*', '%'])).map(Self::Below),
            None => host(text).filter(|h| !h.contains(['*', '%'])).map(Self::Only),
        }
    }

    /// Whether the pattern matches a host parsed by [`host`].
    fn covers(&self, host: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(name) => name == host,
            Self::Below(name) => host.strip_suffix(name.as_str()).is_some_and(|rest| rest.ends_with('.')),
        }
    }
}

/// The host of a URL, of `name`, `name:port` or a bare IPv6 address: lower case, without brackets, port and final
/// dot.
fn host(text: &str) -> Option<String> {
    let v6 = |text: &str| text.trim_matches(['[', ']']).parse::<Ipv6Addr>().ok().map(|ip| ip.to_string());
    if let Some(ip) = v6(text) {
        return Some(ip);
    }
    let read = |text: &str| {
        let url = Url::parse(text).ok()?;
        let host = url.host_str()?.trim_end_matches('.').to_ascii_lowercase();
        v6(&host).or((!host.is_empty()).then_some(host))
    };
    // `localhost:80` parses as a URL of the scheme `localhost`, which has no host.
    read(text).or_else(|| read(&format!("http://{text}")))
}

/// Whether a text is a URL path relative to a base that is checked elsewhere.
fn is_relative(text: &str) -> bool {
    let mut rest = text.chars().filter(|c| !c.is_control());
    rest.next() == Some('/') && !matches!(rest.next(), Some('/' | '\\'))
}

/// Whether a text begins with a network scheme.
fn has_scheme(text: &str) -> bool {
    let is = |s: &str| text.get(..s.len()).is_some_and(|start| start.eq_ignore_ascii_case(s));
    ["http:", "https:", "ws:", "wss:", "ftp:"].iter().any(|s| is(s))
}

/// Whether a key ends in one of `endings` or equals one of `whole`; `outputPath`, `output_path` and `OUTPUT-PATH` are
/// the same key.
fn is_key(key: &str, endings: &[&str], whole: &[&str]) -> bool {
    let letters = || key.bytes().rev().filter(|b| !matches!(b, b'_' | b'-')).map(|b| b.to_ascii_lowercase());
    endings.iter().any(|word| {
        let mut letters = letters();
        word.bytes().rev().all(|b| letters.next() == Some(b))
    }) || whole.iter().any(|word| letters().eq(word.bytes().rev()))
}

fn is_path_key(key: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "path",
        "paths",
        "file",
        "files",
        "filename",
        "filenames",
        "dir",
        "dirs",
        "folder",
        "folders",
        "directory",
        "directories",
    ];
    const WHOLE: &[&str] =
        &["source", "sources", "src", "destination", "dest", "dst", "target", "from", "to", "cwd", "root", "output"];
    is_key(key, ENDINGS, WHOLE) && !is_key(key, &["profile"], &[])
}

/// Whether a key names a picture, sound or video: a path, the id of a file that was sent, or an address.
fn is_media_key(key: &str) -> bool {
    is_key(key, &[], &["image", "audio", "video", "picture", "mask", "firstframe"])
}

/// Whether a text names a file that the person sent, and no path.
fn is_sent_file(text: &str) -> bool {
    let id = text.strip_prefix("/api/v1/files/").unwrap_or(text);
    id.parse::<tool::Id>().is_ok() || text.starts_with("data:")
}

fn is_host_key(key: &str) -> bool {
    const ENDINGS: &[&str] =
        &["url", "urls", "uri", "uris", "host", "hosts", "hostname", "endpoint", "endpoints", "server"];
    const WHOLE: &[&str] = &["domain", "link", "links", "href", "webhook", "origin", "proxy"];
    is_key(key, ENDINGS, WHOLE)
}

/// Whether a key names URL query parameters.
fn is_query_key(key: &str) -> bool {
    is_key(key, &["params"], &["query"])
}

/// Pass every string in the arguments to `see` until it returns true; the flag reports whether the string is under a
/// key that `is` accepts.
fn any_string<'a>(
    args: &'a Value,
    marked: bool,
    is: fn(&str) -> bool,
    see: &mut dyn FnMut(bool, &'a str) -> bool,
) -> bool {
    match args {
        Value::String(text) => see(marked, text),
        Value::Array(all) => all.iter().any(|v| any_string(v, marked, is, see)),
        Value::Object(all) => all.iter().any(|(k, v)| any_string(v, is(k), is, see)),
        _ => false,
    }
}

/// The first path outside the allowed ones. Without a list, only paths that leave the workspace are outside. With a
/// list, a call without a path means the workspace itself if `defaults` is set. Arguments in `not_paths` are none.
pub(crate) fn disallowed_path<'a>(
    args: &'a Value,
    not_paths: &[&str],
    allowed: Option<&[PathPattern]>,
    defaults: bool,
) -> Option<&'a str> {
    let (mut stray, mut seen) = (None, false);
    let mut look = |text: &'a str| {
        seen = true;
        let strays = match allowed {
            _ if leaves_workspace(text) => true,
            // URLs are checked as hosts.
            Some(_) if has_scheme(text) && text.contains("://") && !text.split('/').any(|p| p == "..") => false,
            Some(allowed) => PathPattern::of(text).is_none_or(|place| !allowed.iter().any(|a| a.covers(&place))),
            None => false,
        };
        if strays {
            stray = Some(text);
        }
        strays
    };
    let any = |is: fn(&str) -> bool, look: &mut dyn FnMut(&'a str) -> bool| {
        let mut look_at = |marked, text| marked && look(text);
        match args {
            Value::Object(all) => all
                .iter()
                .filter(|(key, _)| !not_paths.contains(&key.as_str()))
                .any(|(key, value)| any_string(value, is(key), is, &mut look_at)),
            args => any_string(args, false, is, &mut look_at),
        }
    };
    let strays = any(is_path_key, &mut look);
    // Only tools for media take the id of a file under these keys, and none takes it for a path.
    let mut sent = false;
    let mut look_at_media = |text: &'a str| {
        sent |= is_sent_file(text);
        !is_sent_file(text) && look(text)
    };
    let _ = strays || any(is_media_key, &mut look_at_media);
    let workspace = PathPattern { absolute: false, parts: vec![] };
    match allowed {
        Some(allowed) if defaults && !seen && !sent && !allowed.iter().any(|a| a.covers(&workspace)) => Some("."),
        _ => stray,
    }
}

/// Whether a URL or host matches no pattern or cannot be parsed.
pub(crate) fn is_disallowed(address: &str, allowed: &[Host]) -> bool {
    host(address.trim()).is_none_or(|h| !allowed.iter().any(|a| a.covers(&h)))
}

/// The first URL or host that matches no pattern or cannot be parsed. Outside URL keys, and everywhere with
/// `schemes_only`, only texts that begin with a scheme count.
pub(crate) fn disallowed_host<'a>(args: &'a Value, allowed: &[Host], schemes_only: bool) -> Option<&'a str> {
    let mut stray = None;
    any_string(args, false, is_host_key, &mut |marked, text| {
        let is_address = has_scheme(text.trim()) || marked && !schemes_only && !is_relative(text);
        if is_address && is_disallowed(text, allowed) {
            stray = Some(text);
        }
        stray.is_some()
    });
    stray
}

/// The first URL that `knows` rejects: any text under a URL key, and URLs inside other texts. URLs extended by
/// `params` or `query` count as composed.
pub(crate) fn composed_address<'a>(args: &'a Value, knows: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let (mut found, mut addresses) = (None, false);
    any_string(args, false, is_host_key, &mut |marked, text| {
        if marked {
            addresses = true;
            let known = knows(text)
                || !text.contains("://") && ["https://", "http://"].iter().any(|s| knows(&format!("{s}{text}")));
            found = (!known).then_some(text);
        } else {
            found = addresses_in(text).find(|url| !knows(url));
        }
        found.is_some()
    });
    let added = || {
        let fields = args.as_object()?;
        let (key, _) = fields.iter().find(|(k, v)| is_query_key(k) && is_non_empty(v))?;
        Some(key.as_str())
    };
    found.or_else(|| if addresses { added() } else { None })
}

/// Whether a structured value is non-empty. A plain text under `query` is a search and not part of a URL.
fn is_non_empty(value: &Value) -> bool {
    value.as_object().is_some_and(|o| !o.is_empty()) || value.as_array().is_some_and(|a| !a.is_empty())
}

/// The URLs within a text.
fn addresses_in(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "<>\"'`()[]{}|\\^".contains(c)).filter_map(|word| {
        let scheme = &word[..word.find("://")?];
        let begins =
            |s: &&str| scheme.get(scheme.len().checked_sub(s.len())?..).filter(|end| end.eq_ignore_ascii_case(s));
        let length = ["https", "http", "wss", "ws", "ftp"].iter().find_map(begins)?.len();
        Some(word[scheme.len() - length..].trim_end_matches(['.', ',', ';', ':', '!', '?']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn media_are_paths_or_files_that_were_sent() {
        let allowed = [PathPattern::of("photos").unwrap()];
        let id = "0198c5f1-7c1e-7d3a-9b60-2f4c8f0f1a2b";
        for (args, expected) in [
            (json!({"image": "photos/a.png"}), None),
            (json!({"image": "letters/a.png"}), Some("letters/a.png")),
            (json!({"image": "../a.png"}), Some("../a.png")),
            (json!({"image": id}), None),
            (json!({"audio": format!("/api/v1/files/{id}")}), None),
            (json!({"image": "data:image/png;base64,aGk="}), None),
            (json!({"image": "https://example.org/a.png"}), None),
            (json!({"image": id, "path": "letters/b"}), Some("letters/b")),
            (json!({"image": "photos/a.png", "mask": "letters/m.png"}), Some("letters/m.png")),
            // Elsewhere an id is a name like any other.
            (json!({"path": id}), Some(id)),
            (json!({"prompt": "a boat"}), Some(".")),
        ] {
            assert_eq!(disallowed_path(&args, &[], Some(&allowed), true), expected, "{args}");
        }
        assert_eq!(disallowed_path(&json!({"image": "../a.png"}), &[], None, true), Some("../a.png"));
        assert_eq!(disallowed_path(&json!({"image": "letters/a.png"}), &[], None, true), None);
    }

    #[test]
    fn what_is_no_path_is_not_judged_as_one() {
        let allowed = [PathPattern::of("site").unwrap()];
        for (args, expected) in [
            (json!({"path": "site", "from": "HEAD~0", "to": "../x"}), None),
            (json!({"path": "site", "from": ["HEAD^", {"path": "other"}]}), None),
            (json!({"path": "other", "from": "HEAD"}), Some("other")),
            (json!({"path": "site", "files": ["HEAD~0"]}), Some("HEAD~0")),
            (json!({"path": "site", "more": {"from": "HEAD~0"}}), Some("HEAD~0")),
            // A name of a commit is no path that stands for the workspace.
            (json!({"from": "site"}), Some(".")),
        ] {
            assert_eq!(disallowed_path(&args, &["from", "to"], Some(&allowed), true), expected, "{args}");
        }
        assert_eq!(disallowed_path(&json!({"from": "../x"}), &["from"], None, true), None);
    }
}
