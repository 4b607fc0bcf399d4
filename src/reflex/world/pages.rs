//! Pages of the web, searches, and files of the workspace: "what does this page say: example.org", "open example.org in the
//! browser", "search the web for garden sheds", "read report.pdf", "split song.mp3 at 1:30".

use super::{Ask, behind, only};
use crate::{sentence::Sentence, slots::contact};
use serde_json::json;

/// Endings of files that `read_document` reads.
const DOCUMENTS: &[&str] =
    &["pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "html", "htm", "csv", "tsv", "txt", "md", "json"];
/// Endings of files that `split_audio` cuts.
const SOUNDS: &[&str] = &["mp3", "wav", "flac", "ogg", "opus", "m4a", "aac"];
/// Words around an address that ask to open it in the browser; one of the verbs begins.
const OPENS: &[&str] = &[
    "open", "load", "show", "visit", "browse", "navigate", "go", "me", "us", "to", "the", "a", "this", "page", "site",
    "website", "webpage", "address", "link", "up", "in", "with", "using", "your", "browser", "at",
];
const OPENING: &[&str] = &["open", "load", "show", "visit", "browse", "navigate", "go"];
/// Words around an address or a file that ask to read it.
const READS: &[&str] = &[
    "what", "does", "do", "is", "this", "that", "the", "page", "site", "website", "webpage", "link", "article",
    "address", "url", "say", "says", "read", "me", "us", "out", "aloud", "show", "tell", "on", "at", "in", "about",
    "of", "text", "content", "contents", "there", "it", "fetch", "load", "get", "and", "to", "from", "file",
    "document", "pdf", "here", "written", "web", "a", "look", "my", "our", "stand", "stands", "inside", "can", "you",
];
/// One of these must be among them.
const VERBS: &[&str] = &["say", "says", "read", "show", "fetch", "load", "what", "look", "tell"];
const SEARCHES: &[&str] = &[
    "search the web for",
    "search the internet for",
    "search the net for",
    "search online for",
    "search on the web for",
    "search on the internet for",
    "search in the internet for",
    "do a web search for",
    "do an internet search for",
    "web search for",
    "web search",
    "look on the internet for",
    "look on the web for",
    "look online for",
    "find on the web",
    "find online",
    "google for",
    "google",
    "duckduckgo",
    "search google for",
    "search duckduckgo for",
    "look up online",
    "look up on the web",
    "look up on the internet",
    "find out on the internet",
];
const ONLINE: &[&str] = &["online", "on the web", "on the internet", "on the net", "on google", "in the internet"];

pub(super) fn read(s: &Sentence) -> Option<Ask> {
    if let Some(query) = query(s) {
        return Some(Ask::call("search_web", json!({"query": query})));
    }
    if let Some((from, to, url)) = address(s) {
        let around = (0..from).chain(to..s.len());
        if OPENING.contains(&s.word(0)) && s.mentions(&["browser"]) && only(s, around, OPENS) {
            return Some(Ask::call("browser_navigate", json!({"url": url})));
        }
        return asks_to_read(s, from, to).then(|| Ask::call("fetch_web_page", json!({"url": url})));
    }
    if let Some(split) = split(s) {
        return Some(split);
    }
    let (from, to, path) = file(s)?;
    asks_to_read(s, from, to).then(|| Ask::call("read_document", json!({"path": path})))
}

fn asks_to_read(s: &Sentence, from: usize, to: usize) -> bool {
    let around = || (0..from).chain(to..s.len());
    only(s, around(), READS) && around().any(|at| VERBS.contains(&s.word(at)))
}

/// The one address in a sentence, and its tokens.
pub(super) fn address(s: &Sentence) -> Option<(usize, usize, String)> {
    let mut all = vec![];
    let mut at = 0;
    while at < s.len() {
        match contact::url(s, at) {
            Some((count, url)) => {
                all.push((at, at + count.max(1), url));
                at += count.max(1);
            }
            None => at += 1,
        }
    }
    if all.len() == 1 { all.pop() } else { None }
}

/// "split song.mp3 at 1:30 and 3:05".
fn split(s: &Sentence) -> Option<Ask> {
    const FILLERS: &[&str] = &["the", "my", "file", "recording", "song", "sound", "audio", "up"];
    let (from, to, path) = file_of(s, SOUNDS)?;
    let is_time = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        let digits = |part: &&str| (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        (2..=3).contains(&parts.len()) && parts.iter().all(digits)
    };
    let at = to + 1;
    let whole = ["split", "cut", "divide"].contains(&s.word(0)) && only(s, 1..from, FILLERS) && s.word(to) == "at";
    let rest = || (at..s.len()).map(|at| s.word(at));
    let times: Vec<&str> = rest().filter(|word| is_time(word)).collect();
    let fits = whole && !times.is_empty() && rest().all(|word| is_time(word) || ["and", "at"].contains(&word));
    fits.then(|| Ask::call("split_audio", json!({"path": path, "splitPoints": times})))
}

/// The one file in a sentence that is a document by its ending, and its tokens.
pub(super) fn file(s: &Sentence) -> Option<(usize, usize, String)> {
    file_of(s, DOCUMENTS)
}

/// The one file in a sentence with one of these endings, and its tokens.
fn file_of(s: &Sentence, endings: &[&str]) -> Option<(usize, usize, String)> {
    let mut all = vec![];
    let mut begin = 0;
    for run in s.text.split(char::is_whitespace) {
        let (start, end) = (begin, begin + run.len());
        begin = end + s.text[end..].chars().next().map_or(0, char::len_utf8);
        let path = run.trim_matches(|c: char| "\"“”„'’,;:!?()".contains(c)).trim_end_matches('.');
        let ending =
            path.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending.to_lowercase());
        if path.contains("://") || !ending.is_some_and(|ending| endings.contains(&ending.as_str())) {
            continue;
        }
        let within = |at: &usize| s.tokens[*at].start >= start && s.tokens[*at].end <= end;
        let tokens: Vec<usize> = (0..s.len()).filter(within).collect();
        if let (Some(first), Some(last)) = (tokens.first(), tokens.last()) {
            all.push((*first, last + 1, path.to_owned()));
        }
    }
    if all.len() == 1 { all.pop() } else { None }
}

/// What the web is searched for.
fn query(s: &Sentence) -> Option<&str> {
    if let Some(begin) = behind(s, 0, SEARCHES).filter(|begin| *begin < s.len()) {
        return Some(s.slice(begin, s.len()));
    }
    let begin = behind(s, 0, &["search", "search for", "look up", "look for", "find", "find me", "look"])?;
    let end = ONLINE.iter().find_map(|online| {
        let at = s.len().checked_sub(online.split(' ').count())?;
        behind(s, at, &[online]).is_some().then_some(at)
    })?;
    (end > begin).then(|| s.slice(begin, end))
}
