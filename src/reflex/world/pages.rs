//! Pages of the web, searches, and documents of the workspace: "what does this page say: example.org", "search the web for
//! garden sheds", "read report.pdf".

use super::{Ask, behind, only};
use crate::{sentence::Sentence, slots::contact};
use serde_json::json;

/// Endings of files that `read_document` reads.
const DOCUMENTS: &[&str] =
    &["pdf", "docx", "xlsx", "pptx", "odt", "ods", "odp", "epub", "html", "htm", "csv", "tsv", "txt", "md", "json"];
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
        return asks_to_read(s, from, to).then(|| Ask::call("fetch_web_page", json!({"url": url})));
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

/// The one file in a sentence that is a document by its ending, and its tokens.
pub(super) fn file(s: &Sentence) -> Option<(usize, usize, String)> {
    let mut all = vec![];
    let mut begin = 0;
    for run in s.text.split(char::is_whitespace) {
        let (start, end) = (begin, begin + run.len());
        begin = end + s.text[end..].chars().next().map_or(0, char::len_utf8);
        let path = run.trim_matches(|c: char| "\"“”„'’,;:!?()".contains(c)).trim_end_matches('.');
        let ending =
            path.rsplit_once('.').filter(|(name, _)| !name.is_empty()).map(|(_, ending)| ending.to_lowercase());
        if path.contains("://") || !ending.is_some_and(|ending| DOCUMENTS.contains(&ending.as_str())) {
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
