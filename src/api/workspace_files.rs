//! `/api/v1/workspace/file` and `/text`: contents of files, in ranges, as text, and written as a stream.

use crate::{
    AppState, Caller,
    describe::{Routes, get},
    document::FileResponse,
    envelope::{Answer, Failure, ok},
    files::shown_as,
    query::Query,
    restore::BodyStream,
};
use ::workspace::{Entry, Expect, Located, OpenFile, WriteOptions, Written, media_type_of, text};
use axum::{
    Extension,
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
};
use futures::{StreamExt, stream};
use identity::TokenScope;
use policy::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{ops::Range, sync::Arc, time::Duration};
use store::ChangeSource;
use text_kit::percent_encode;
use tool::{
    Channel, Cx, Error, Label,
    prelude::{JsonSchema, Value, schemars},
};

/// How much of a file is read at once.
const PIECE: usize = 256 * 1024;
/// How much of a file shows what it is.
const SAMPLE: usize = 64 * 1024 + 4;
/// The most bytes of a text that is shown.
const TEXT: usize = 2 << 20;
/// The timeout for the next chunk of a body.
const SILENCE: Duration = Duration::from_secs(30);

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        .route(
            "/file",
            get(load, "Download a file, or a range of it.")
                .put(
                    store_file,
                    "Write a file; the body is its content. `If-Match` names the version it takes the place of, \
                     `If-None-Match: *` makes a new one only.",
                )
                .streams_body(),
        )
        .route("/text", get(show_text, "Read a file as text."))
        .scope(TokenScope::Tools)
}

/// Whether policy lets this caller do what a tool does. A question that a tool would ask is answered by the person who acts on the
/// page; a program calls the tool, which asks.
pub(crate) fn require_allowed(house: &AppState, cx: &Cx, tool: &str, args: &Value) -> Result<(), Failure> {
    let Some(found) = house.registry.get(tool) else { return Ok(()) };
    let (decision, _) = house.registry.explain(cx, &found, args);
    match decision.verdict {
        Verdict::Deny => Err(Failure::new(403, "denied", decision.reason)),
        Verdict::Ask if cx.channel() != Channel::Page => {
            let text = format!("{} Call the tool `{tool}`, which asks a person.", decision.reason);
            Err(Failure::new(403, "denied", text.trim().to_owned()))
        }
        _ => Ok(()),
    }
}

/// Runs a change so that it can be undone, as that of a tool.
pub(crate) async fn as_change<T>(cx: &Cx, tool: &str, work: impl Future<Output = tool::Result<T>>) -> tool::Result<T> {
    let source = ChangeSource {
        id: cx.call_id(),
        user: cx.user(),
        tool: tool.into(),
        conversation: None,
        run: None,
        unattended: false,
        undoes: None,
    };
    store::with_change(Some(source), work).await
}

/// A file.
#[derive(Deserialize, JsonSchema)]
struct Which {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place.
    path: String,
    /// Whether the browser saves it, whatever it is.
    #[serde(default)]
    download: Flag,
}

/// `1` or `true`.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "bool")]
struct Flag(bool);

impl TryFrom<String> for Flag {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        match text.as_str() {
            "1" | "true" => Ok(Self(true)),
            "0" | "false" => Ok(Self(false)),
            _ => Err("write `true` or `false`"),
        }
    }
}

async fn open(house: &AppState, cx: &Cx, at: &Located) -> Result<(OpenFile, Vec<u8>), Failure> {
    let file = house.workspaces.open_file(cx, at).await?;
    let read = tokio::task::spawn_blocking(move || file.read_at(0, SAMPLE).map(|sample| (file, sample))).await;
    Ok(read.map_err(|_| Failure::new(422, "failed", "the file could not be read"))??)
}

fn etag(version: &str) -> String {
    format!("\"{version}\"")
}

async fn load(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Query(which): Query<Which>,
) -> Result<FileResponse, Failure> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &which.place, &which.path)?;
    require_allowed(&house, &cx, "read_file", &json!({"path": at.display()}))?;
    let (file, sample) = open(&house, &cx, &at).await?;
    let (size, tag) = (file.entry.size, etag(&file.entry.version));
    let has = |name| headers.get(name).and_then(|value| value.to_str().ok());
    if has(header::IF_NONE_MATCH).is_some_and(|given| lists(given, &tag)) {
        return Ok(FileResponse((StatusCode::NOT_MODIFIED, [(header::ETAG, tag)]).into_response()));
    }
    let name = at.name().unwrap_or("file");
    let found = uploads::media_type(&sample, "", name);
    let (kind, how, policy) = shown_as(&found);
    let how = if which.download.0 { "attachment" } else { how };
    // A range of another version is of no use.
    let may_range = has(header::IF_RANGE).is_none_or(|given| given == tag);
    let range = match has(header::RANGE).filter(|_| may_range).map(|text| range_of(text, size)) {
        None | Some(Ok(None)) => None,
        Some(Ok(Some(range))) => Some(range),
        Some(Err(())) => {
            let headers = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            let failure = Failure::new(416, "bad_args", format!("the range is not in the file: it has {size} bytes"));
            return Ok(FileResponse((headers, failure).into_response()));
        }
    };
    let sent = range.clone().unwrap_or(0..size);
    let mut headers = vec![
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_DISPOSITION, format!("{how}; filename*=UTF-8''{}", percent_encode(name))),
        (header::CONTENT_LENGTH, (sent.end - sent.start).to_string()),
        (header::CONTENT_SECURITY_POLICY, policy.to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CACHE_CONTROL, "private, no-cache".to_owned()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        (header::ETAG, tag),
    ];
    if range.is_some() {
        headers.push((header::CONTENT_RANGE, format!("bytes {}-{}/{size}", sent.start, sent.end.saturating_sub(1))));
    }
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = (status, Body::from_stream(pieces(Arc::new(file), sent))).into_response();
    for (name, value) in headers {
        if let Ok(value) = value.parse() {
            response.headers_mut().insert(name, value);
        }
    }
    Ok(FileResponse(response))
}

/// A range of a file, piece by piece: one is in memory at a time.
fn pieces(file: Arc<OpenFile>, range: Range<u64>) -> impl futures::Stream<Item = Result<Bytes, std::io::Error>> + Send {
    stream::try_unfold(range.start, move |at| {
        let (file, end) = (file.clone(), range.end);
        async move {
            if at >= end {
                return Ok(None);
            }
            let most = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
            let read = tokio::task::spawn_blocking(move || file.read_at(at, most)).await;
            let bytes =
                read.map_err(std::io::Error::other)?.map_err(|e| std::io::Error::other(e.message().to_owned()))?;
            if bytes.is_empty() {
                return Err(std::io::Error::other("the file became shorter while it was read"));
            }
            let next = at + bytes.len() as u64;
            Ok(Some((Bytes::from(bytes), next)))
        }
    })
}

/// Whether a list of entity tags has one.
fn lists(given: &str, tag: &str) -> bool {
    given.split(',').map(str::trim).any(|one| one == "*" || one.trim_start_matches("W/") == tag)
}

/// The range that is asked for: none for several or another unit, an error for one beyond the end.
fn range_of(text: &str, size: u64) -> Result<Option<Range<u64>>, ()> {
    let Some((first, last)) = text.trim().strip_prefix("bytes=").and_then(|range| range.split_once('-')) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<u64>();
    match (first.trim(), last.trim()) {
        ("", last) => match number(last) {
            Ok(0) => Err(()),
            Ok(length) if size > 0 => Ok(Some(size.saturating_sub(length)..size)),
            Ok(_) => Err(()),
            Err(_) => Ok(None),
        },
        (first, last) => match (number(first), number(last)) {
            (Ok(first), _) if first >= size => Err(()),
            (Ok(first), Ok(last)) if last >= first => Ok(Some(first..last.saturating_add(1).min(size))),
            (Ok(first), Err(_)) if last.is_empty() => Ok(Some(first..size)),
            _ => Ok(None),
        },
    }
}

/// A file as text.
#[derive(Serialize, JsonSchema)]
struct TextFile {
    place: String,
    path: String,
    text: String,
    /// `utf-8`, `utf-8-bom`, `utf-16le`, `utf-16be` or `windows-1252`.
    encoding: String,
    /// By its name: the language of the text, such as `python`; `text` where it is not known.
    language: String,
    /// Whether the text is only the beginning of the file.
    truncated: bool,
    /// The bytes of the file.
    size: u64,
    version: String,
    /// Whether its content came from outside.
    outside: bool,
}

/// Which file is shown.
#[derive(Deserialize, JsonSchema)]
struct Shown {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place.
    path: String,
}

async fn show_text(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    Query(which): Query<Shown>,
) -> Answer<TextFile> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &which.place, &which.path)?;
    require_allowed(&house, &cx, "read_file", &json!({"path": at.display()}))?;
    let file = house.workspaces.open_file(&cx, &at).await?;
    let read = tokio::task::spawn_blocking(move || file.read_at(0, TEXT).map(|bytes| (file, bytes))).await;
    let (file, bytes) = read.map_err(|_| Failure::new(422, "failed", "the file could not be read"))??;
    let name = at.name().unwrap_or_default();
    let Some((text, form)) = text::decode(&bytes, file.entry.size <= TEXT as u64) else {
        let kind = uploads::media_type(&bytes[..bytes.len().min(SAMPLE)], "", name);
        let text = format!("`{name}` is no text but {kind}, {} bytes: download it", file.entry.size);
        return Err(Failure::new(422, "not_text", text).details(json!({"mediaType": kind, "size": file.entry.size})));
    };
    Ok(ok(TextFile {
        place: at.place_id().to_owned(),
        path: at.path().text(),
        text,
        encoding: form.name().to_owned(),
        language: language_of(name),
        truncated: file.entry.size > TEXT as u64,
        size: file.entry.size,
        version: file.entry.version.clone(),
        outside: file.label == Label::Outside,
    }))
}

/// The language of a text by its name.
fn language_of(name: &str) -> String {
    let media_type = media_type_of(name);
    let language = match media_type {
        "text/x-shellscript" => "shell",
        "text/x-c++" => "cpp",
        "text/plain" | "application/octet-stream" => "text",
        other => other.rsplit('/').next().unwrap_or("text").trim_start_matches("x-"),
    };
    language.to_owned()
}

/// The target of a write.
#[derive(Deserialize, JsonSchema)]
struct Target {
    /// The id of the place; the caller's own files by default.
    #[serde(default)]
    place: String,
    /// The path in the place; folders that are missing are made.
    path: String,
    /// Whether a person wrote the text here: otherwise a new file counts as from outside. With `If-Match` the file keeps what it
    /// counts as.
    #[serde(default)]
    own: Flag,
}

async fn store_file(
    State(house): State<AppState>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Query(target): Query<Target>,
    BodyStream(body): BodyStream,
) -> Answer<Written> {
    let cx = house.cx(&caller);
    let at = house.workspaces.locate_in(&cx, &target.place, &target.path)?;
    require_allowed(&house, &cx, "write_file", &json!({"path": at.display(), "content": ""}))?;
    let expect = expected(&headers)?;
    check(&house, &cx, &at, &expect).await?;
    let changes = matches!(expect, Expect::Version(_) | Expect::Present);
    let label = if target.own.0 || changes { Label::Own } else { Label::Outside };
    let options = WriteOptions {
        expect: expect.clone(),
        parents: true,
        keeps_content: changes,
        label,
        ..WriteOptions::default()
    };
    refuse_other_place(&house, &cx, &target)?;
    let mut staged = house.workspaces.stage(&cx, &at).await?;
    // An announced size that cannot fit is refused before the content is sent.
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if let Some(bytes) = announced {
        let checked = tokio::task::spawn_blocking(move || staged.check_room(bytes).map(|()| staged)).await;
        staged = checked.map_err(|_| Failure::new(422, "failed", "the file could not be written"))??;
    }
    let mut body = body.into_data_stream();
    loop {
        let next = tokio::time::timeout(SILENCE, body.next()).await;
        let Ok(next) = next else {
            return Err(Failure::new(408, crate::envelope::TOO_SLOW, "the content did not come: send it again"));
        };
        match next {
            None => break,
            Some(Ok(bytes)) => staged = staged.receive(bytes).await?,
            Some(Err(_)) => return Err(Failure::new(400, "bad_args", "the content broke off: send it again")),
        }
    }
    match as_change(&cx, "write_file", house.workspaces.write_staged(&cx, &at, staged, options)).await {
        Ok(written) => Ok(ok(written)),
        Err(Error::BadArgs(why)) => {
            // Somebody else was faster.
            check(&house, &cx, &at, &expect).await?;
            Err(Error::BadArgs(why).into())
        }
        Err(why) => Err(why.into()),
    }
}

/// Refuses a path that begins with another place's id, which would be a folder of that name here.
fn refuse_other_place(house: &AppState, cx: &Cx, target: &Target) -> Result<(), Failure> {
    let Some((first, rest)) = target.path.trim_start_matches('/').split_once(':') else { return Ok(()) };
    if house.workspaces.folders(cx).iter().any(|folder| folder.id == first) {
        let text = format!(
            "`{first}:` is a place and no folder: write `place={first}` and `path={}`",
            rest.trim_start_matches('/')
        );
        return Err(Failure::new(400, "bad_args", text));
    }
    Ok(())
}

/// The expectation of the headers about the file.
fn expected(headers: &HeaderMap) -> Result<Expect, Failure> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or_default().trim());
    match (text(header::IF_MATCH), text(header::IF_NONE_MATCH)) {
        (None, None) => Ok(Expect::Any),
        (None, Some("*")) => Ok(Expect::Absent),
        (Some("*"), None) => Ok(Expect::Present),
        (Some(tag), None) if tag.len() > 2 && tag.starts_with('"') && tag.ends_with('"') && !tag.contains(',') => {
            Ok(Expect::Version(tag.trim_matches('"').to_owned()))
        }
        _ => {
            let text = "write If-Match with one version in quotes or as `*`, or `If-None-Match: *`";
            Err(Failure::new(400, "bad_args", text))
        }
    }
}

/// Refuses a write of a file that is not as the caller saw it.
async fn check(house: &AppState, cx: &Cx, at: &Located, expect: &Expect) -> Result<(), Failure> {
    let now: Option<Entry> = match house.workspaces.stat(cx, at).await {
        Ok(entry) => Some(entry),
        Err(Error::NotFound(_)) => None,
        Err(why) => return Err(why.into()),
    };
    let why = match (expect, &now) {
        (Expect::Absent, Some(_)) => "there is a file of this name already: choose another name, or read it first",
        (Expect::Version(_) | Expect::Present, None) => {
            "the file was deleted or moved meanwhile: save it under a name of its own"
        }
        (Expect::Version(version), Some(now)) if *version != now.version => {
            "the file was changed meanwhile: read it again, and save what you want to keep"
        }
        _ => return Ok(()),
    };
    let version = now.map(|now| now.version);
    Err(Failure::new(412, "changed", why).details(json!({"version": version})))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        for (text, size, expected) in [
            ("bytes=0-9", 100, Ok(Some(0..10))),
            ("bytes=90-", 100, Ok(Some(90..100))),
            ("bytes=-10", 100, Ok(Some(90..100))),
            ("bytes=-1000", 100, Ok(Some(0..100))),
            ("bytes=0-1000", 100, Ok(Some(0..100))),
            ("bytes=100-", 100, Err(())),
            ("bytes=-0", 100, Err(())),
            ("bytes=0-", 0, Err(())),
            ("bytes=5-2", 100, Ok(None)),
            ("bytes=0-1,3-4", 100, Ok(None)),
            ("lines=0-1", 100, Ok(None)),
            ("bytes=18446744073709551615-", 100, Err(())),
            ("bytes=99999999999999999999-", 100, Ok(None)),
        ] {
            assert_eq!(range_of(text, size), expected, "{text}");
        }
    }

    #[test]
    fn expectations_are_read() {
        let with = |name, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            expected(&headers).ok()
        };
        assert_eq!(expected(&HeaderMap::new()).ok(), Some(Expect::Any));
        assert_eq!(with(header::IF_MATCH, "\"abc\""), Some(Expect::Version("abc".into())));
        assert_eq!(with(header::IF_NONE_MATCH, "*"), Some(Expect::Absent));
        assert_eq!(with(header::IF_MATCH, "*"), Some(Expect::Present));
        for odd in ["abc", "\"a\", \"b\"", "\"\"", "W/\"a\""] {
            assert_eq!(with(header::IF_MATCH, odd), None, "{odd}");
        }
    }
}
