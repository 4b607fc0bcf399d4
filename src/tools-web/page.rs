//! The tool `fetch_web_page`: a page as Markdown, from the web or from what was read lately.

use crate::{
    content::Content,
    read_page::ReadPage,
    request::{CHARS, MOST_CHARS, binary},
    web::{WebTools, body, may_reach, slice, with_scheme},
};
use html_text::Options;
use http_client::{Fetch, TIMEOUT};
use std::sync::Arc;
use text_kit::truncate;
use tool::{Label, prelude::*};
use url::Url;

/// The most characters of a page that are read.
const LONGEST: usize = 400_000;
/// The most links and rows of tables in a result.
const LINKS: usize = 100;
const ROWS: usize = 200;

/// Read a web page: its main text as Markdown, without menus and advertising. Pages of 5 MB at most, within 30 s. For long pages
/// read on with `offset`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct FetchWebPage {
    /// http or https URL.
    url: String,
    /// `markdown` (default), or `text` without marks and addresses of links.
    #[serde(default)]
    extract_mode: Mode,
    /// Characters to return (default 20000, at most 100000).
    #[serde(default)]
    max_chars: Option<usize>,
    /// Characters to skip, to read on.
    #[serde(default)]
    offset: usize,
    /// Return all text, with menus and what else is beside the main text.
    #[serde(default)]
    full_page: bool,
    /// Return a list of the links too.
    #[serde(default)]
    include_links: bool,
    /// Return the tables as rows of cells too.
    #[serde(default)]
    include_tables: bool,
    /// Use what was read in the last 15 minutes (default true).
    #[serde(default = "yes")]
    use_cache: bool,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Markdown,
    Text,
}

pub(crate) async fn fetch_web_page(tools: WebTools, cx: Cx, args: FetchWebPage) -> Result<Output> {
    let url = with_scheme(&args.url);
    let key = format!("{} {:?} {} {url}", cx.user(), args.extract_mode, args.full_page);
    let cached = if args.use_cache { tools.pages().get(&key) } else { None };
    let is_cached = cached.is_some();
    let page = match cached {
        Some(page) => {
            // The rules may have changed since.
            for host in &page.hosts {
                may_reach(&cx, "fetch_web_page", host).await?;
            }
            cx.taint(Label::Outside);
            page
        }
        None => {
            let page = Arc::new(read(&tools, &cx, &url, &args).await?);
            tools.pages().put(key, page.size(), page.clone());
            page
        }
    };
    Ok(output(&page, &args, is_cached)?.from_outside())
}

async fn read(tools: &WebTools, cx: &Cx, url: &str, args: &FetchWebPage) -> Result<ReadPage> {
    let accept = "text/html,application/xhtml+xml,text/markdown;q=0.9,text/*;q=0.8,*/*;q=0.5";
    let fetch = Fetch { headers: vec![("accept".into(), accept.into())], ..Fetch::get(url) };
    let reached = tools.reach(cx, "fetch_web_page", fetch, TIMEOUT).await?;
    let answer = reached.answer;
    if !answer.is_success() {
        return Err(refusal(answer.status, answer.status_text()));
    }
    let content_type = answer.header("content-type").map(str::to_owned);
    let length = answer.header("content-length").and_then(|length| length.parse().ok());
    let (url, hosts) = (reached.url, reached.hosts);
    let kind = Content::of(content_type.as_deref());
    if let Content::Other(what) = &kind {
        return Ok(ReadPage { note: Some(binary(what, length)), url, hosts, ..ReadPage::default() });
    }
    let bytes = body(cx, answer).await?;
    let (mode, options) = (args.extract_mode, Options { main_only: !args.full_page, max_chars: LONGEST });
    let work = move || {
        let page = match kind.or_by(&bytes) {
            Content::Other(what) => {
                ReadPage { note: Some(binary(&what, Some(bytes.len() as u64))), ..ReadPage::default() }
            }
            kind => {
                let text = html_text::decode(&bytes, content_type.as_deref()).text;
                match kind {
                    Content::Html => of_html(&text, &url, mode, options),
                    _ => of_text(&text),
                }
            }
        };
        Ok(ReadPage { url, hosts, ..page })
    };
    tool::blocking("reading the page", work).await
}

fn of_html(text: &str, url: &str, mode: Mode, options: Options) -> ReadPage {
    let base = Url::parse(url).ok();
    let page = match mode {
        Mode::Markdown => html_text::markdown(text, base.as_ref(), options),
        Mode::Text => html_text::plain(text, base.as_ref(), options),
    };
    let is_empty = page.markdown.trim().is_empty();
    let note = "The page has no text that could be read: it may be made by JavaScript; browser_navigate runs that.";
    ReadPage {
        title: page.title,
        description: page.description,
        language: page.language,
        text: page.markdown,
        links: page.links,
        tables: page.tables,
        hidden: page.hidden_removed,
        is_cut: page.truncated,
        note: is_empty.then(|| note.to_owned()),
        ..ReadPage::default()
    }
}

fn of_text(text: &str) -> ReadPage {
    let (text, hidden) = html_text::without_invisible(text);
    let (part, is_cut) = slice(&text, 0, LONGEST);
    ReadPage { text: part.to_owned(), hidden, is_cut, ..ReadPage::default() }
}

/// The error for a page that the server does not give.
fn refusal(status: u16, words: &str) -> Error {
    let what = match status {
        401 | 402 | 403 | 407 => "it may need a sign-in, or refuse programs; try another page",
        404 | 410 => "the page is not there; check the address, or search for it",
        429 | 503 => "it has too much to do; try again later",
        500.. => "the server failed; try again later",
        _ => "try another page",
    };
    Error::failed(format!("the server answered {status} {}: {what}", truncate(words, 60)))
}

fn output(page: &ReadPage, args: &FetchWebPage, is_cached: bool) -> Result<Output> {
    let most = args.max_chars.unwrap_or(CHARS).clamp(1, MOST_CHARS);
    let (part, more) = slice(&page.text, args.offset, most);
    let mut content = json!({"url": page.url, "title": page.title, "content": part});
    let mut put = |name: &str, value: Value| content[name] = value;
    for (name, text) in [("description", &page.description), ("language", &page.language)] {
        // What a page says of itself is at its beginning.
        if !text.is_empty() && args.offset == 0 {
            put(name, text.as_str().into());
        }
    }
    if more {
        put("nextOffset", (args.offset + most).into());
    } else if page.is_cut {
        put("note", "The page is longer than what can be read of it.".into());
    }
    if let Some(note) = &page.note {
        put("note", note.as_str().into());
    }
    if args.include_links {
        let links = page.links.iter().take(LINKS).map(|link| json!({"text": link.text, "url": link.url}));
        put("links", links.collect());
    }
    if args.include_tables {
        let rows = |table: &Vec<Vec<String>>| table.iter().take(ROWS).cloned().collect::<Vec<_>>();
        put("tables", page.tables.iter().map(|table| json!(rows(table))).collect());
    }
    if page.hidden > 0 {
        put("hiddenRemoved", page.hidden.into());
    }
    put("cached", is_cached.into());
    Ok(Output::json(content)?.say(page.sentence(part)))
}
