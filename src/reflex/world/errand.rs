//! Errands: sentences that take a call after others. "Mail Anna the list" looks up her address and what is on the list, and then
//! sends; "summarize example.org" and "take a screenshot of example.org" open the page first. What follows is worked out from the sentence and the results alone.

use super::{Ask, Call, Next, behind, only, pages};
use crate::{
    reply,
    sentence::Sentence,
    slots::{contact, names},
};
use llm::ToolResult;
use serde_json::{Value, json};
use text_kit::{capitalized, end_sentence, truncate, which_one};

/// How many items of a list are sent, and contacts looked at.
const ITEMS: usize = 30;
const CONTACTS: usize = 10;
/// The longest subject made of a message, in characters.
const SUBJECT: usize = 60;
/// How many characters of a page are read for its summary.
const READ: usize = 5000;

const SEND: &str = "send_email";
const SUMMARIZE: &str = "summarize_text";
const OPEN: &str = "browser_navigate";
const PICTURE: &str = "browser_screenshot";

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Errand {
    Mail {
        to: Recipient,
        what: What,
    },
    Summary {
        of: Source,
    },
    /// A picture of a page.
    Picture {
        url: String,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Recipient {
    Named(String),
    Address(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum What {
    /// The only list, or the shopping list.
    TheList,
    List(String),
    Todo,
    Words(String),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Source {
    Page(String),
    File(String),
}

pub(super) fn read(s: &Sentence) -> Option<Errand> {
    mail(s).or_else(|| summary(s)).or_else(|| picture(s))
}

fn picture(s: &Sentence) -> Option<Errand> {
    const FILLERS: &[&str] = &[
        "this", "the", "a", "page", "site", "website", "webpage", "link", "address", "at", "of", "from", "in",
        "browser",
    ];
    let begin = behind(
        s,
        0,
        &[
            "screenshot",
            "screenshot of",
            "a screenshot of",
            "take a screenshot of",
            "take a screenshot",
            "take screenshot of",
            "make a screenshot of",
            "get a screenshot of",
            "show a screenshot of",
            "show me a screenshot of",
            "give me a screenshot of",
            "take a picture of the page",
            "take a picture of the website",
        ],
    )?;
    let (from, to, url) = pages::address(s)?;
    let mut rest = (begin..from).chain(to..s.len());
    (from >= begin && rest.all(|at| FILLERS.contains(&s.word(at)))).then_some(Errand::Picture { url })
}

fn summary(s: &Sentence) -> Option<Errand> {
    const FILLERS: &[&str] = &[
        "this", "the", "that", "page", "site", "website", "article", "link", "at", "on", "of", "for", "me", "us",
        "from", "file", "document", "pdf", "url", "text", "up", "what", "is", "please", "in", "short", "briefly",
        "report",
    ];
    let begin = behind(
        s,
        0,
        &[
            "summarize",
            "summarise",
            "sum up",
            "tldr",
            "give me a summary of",
            "give me the gist of",
            "what is the gist of",
            "a summary of",
            "summary of",
            "make a summary of",
            "write a summary of",
        ],
    )?;
    let page = pages::address(s).map(|(from, to, url)| (from, to, Source::Page(url)));
    let (from, to, of) = page.or_else(|| pages::file(s).map(|(from, to, path)| (from, to, Source::File(path))))?;
    let rest = (begin..from).chain(to..s.len());
    (from >= begin && only(s, rest, FILLERS)).then_some(Errand::Summary { of })
}

const MAIL: &[&str] = &["mail", "email", "e-mail"];

/// Tokens `from..to` of a sentence, without the words "by mail" in it.
struct Words<'s> {
    s: &'s Sentence,
    at: Vec<usize>,
}

impl Words<'_> {
    /// The token behind a recipient at `i`, and the recipient.
    fn recipients(&self, i: usize) -> Vec<(usize, Recipient)> {
        let Some(at) = self.at.get(i).copied() else { return vec![] };
        if let Some((count, address)) = contact::email(self.s, at) {
            return vec![(i + count, Recipient::Address(address))];
        }
        names::person(self.s, at).into_iter().map(|(count, _, name)| (i + count, Recipient::Named(name))).collect()
    }

    /// The token behind a list at `i`, and the list.
    fn list(&self, i: usize) -> Option<(usize, What)> {
        let at = *self.at.get(i)?;
        let (count, name) = names::list(self.s, at).into_iter().max_by_key(|(count, _)| *count)?;
        let ends = ["list", "list's"].contains(&self.s.word(at + count - 1));
        let what = match name {
            Value::String(name) => What::List(name),
            _ if count <= 2 => What::TheList,
            _ => What::Todo,
        };
        ends.then_some((i + count, what))
    }

    fn word(&self, i: usize) -> &str {
        self.at.get(i).map_or("", |at| self.s.word(*at))
    }

    /// What is to be written, from `i` to the end.
    fn message(&self, i: usize) -> Option<What> {
        let said = ["that", "saying"].contains(&self.word(i)).then_some(i + 1);
        let broken = self.at.get(i).is_some_and(|at| self.s.tokens[*at].after_break).then_some(i);
        let begin = self.at.get(said.or(broken)?)?;
        let text = self.s.slice(*begin, self.s.len());
        (!text.is_empty()).then(|| What::Words(text.to_owned()))
    }

    fn ends(&self, i: usize) -> bool {
        i == self.at.len()
    }
}

fn mail(s: &Sentence) -> Option<Errand> {
    let verb = s.word(0);
    if !(MAIL.contains(&verb) || verb == "send") || s.len() > 60 {
        return None;
    }
    // "send Anna the list by mail", "send the list by mail to Anna".
    let by = (1..s.len()).find(|at| ["by", "via", "per"].contains(&s.word(*at)) && MAIL.contains(&s.word(at + 1)));
    let at: Vec<usize> = (0..s.len()).filter(|at| by.is_none_or(|by| *at != by && *at != by + 1)).collect();
    let words = Words { s, at };
    if verb == "send" && by.is_none() {
        return a_mail(&words);
    }
    // "mail Anna the list", "mail Anna that I am late".
    for (i, to) in words.recipients(1) {
        if let Some((_, what)) = words.list(i).filter(|(end, _)| words.ends(*end)) {
            return Some(Errand::Mail { to, what });
        }
        if let Some(what) = words.message(i) {
            return Some(Errand::Mail { to, what });
        }
    }
    // "mail the list to Anna".
    let (i, what) = words.list(1).filter(|(i, _)| words.word(*i) == "to")?;
    let (_, to) = words.recipients(i + 1).into_iter().find(|(end, _)| words.ends(*end))?;
    Some(Errand::Mail { to, what })
}

/// "send a mail to Anna saying I am late", "send Anna a mail with the list".
fn a_mail(words: &Words) -> Option<Errand> {
    let article = |i: usize| i + usize::from(["a", "an", "the"].contains(&words.word(i)));
    let with = |i: usize| words.list(i + 1).filter(|(end, _)| words.word(i) == "with" && words.ends(*end));
    let what = |i: usize| with(i).map(|(_, what)| what).or_else(|| words.message(i));
    if MAIL.contains(&words.word(article(1))) {
        let i = article(1) + 1;
        if words.word(i) == "to" {
            return words
                .recipients(i + 1)
                .into_iter()
                .find_map(|(end, to)| Some(Errand::Mail { to, what: what(end)? }));
        }
        let (i, list) = words.list(i + 1).filter(|(end, _)| words.word(i) == "with" && words.word(*end) == "to")?;
        let (_, to) = words.recipients(i + 1).into_iter().find(|(end, _)| words.ends(*end))?;
        return Some(Errand::Mail { to, what: list });
    }
    words.recipients(1).into_iter().find_map(|(i, to)| {
        let end = article(i) + 1;
        let what = MAIL.contains(&words.word(article(i))).then(|| what(end))??;
        Some(Errand::Mail { to, what })
    })
}

/// The items of a list.
fn items(list: Option<&str>) -> Call {
    let mut arguments = json!({"status": "pending", "limit": ITEMS});
    if let Some(list) = list {
        arguments["category"] = list.into();
    }
    ("list_tasks", arguments)
}

/// The first result of a tool.
fn of<'r>(results: &[&'r ToolResult], tool: &str) -> Option<(&'r ToolResult, Value)> {
    let result = results.iter().find(|result| result.name == tool)?;
    Some((result, serde_json::from_str(&result.content).unwrap_or_default()))
}

fn told(result: &ToolResult) -> Next {
    Next::Say(reply::sentence(&[result]))
}

impl Errand {
    pub fn begins(&self) -> Ask {
        let (first, then) = match self {
            Self::Mail { to: Recipient::Named(name) | Recipient::Address(name), what } => {
                let mut first = vec![("list_contacts", json!({"search": name, "limit": CONTACTS}))];
                match what {
                    What::TheList => first.push(("list_lists", json!({}))),
                    What::List(list) => first.push(items(Some(list))),
                    What::Todo => first.push(items(None)),
                    What::Words(_) => {}
                }
                (first, SEND)
            }
            Self::Summary { of: Source::Page(url) } => {
                (vec![("fetch_web_page", json!({"url": url, "maxChars": READ}))], SUMMARIZE)
            }
            Self::Picture { url } => (vec![(OPEN, json!({"url": url}))], PICTURE),
            Self::Summary { of: Source::File(path) } => (vec![("read_document", json!({"path": path}))], SUMMARIZE),
        };
        Ask::Calls { first, then: Some(then) }
    }

    pub fn next(&self, results: &[&ToolResult], has: &dyn Fn(&str) -> bool) -> Option<Next> {
        if let Some(last) =
            results.iter().find(|result| [SEND, SUMMARIZE, PICTURE].contains(&result.name.as_str()) || result.is_error)
        {
            return Some(told(last));
        }
        match self {
            Self::Summary { of: Source::Page(_) } => summarized(results, "fetch_web_page", has),
            Self::Picture { .. } => has(PICTURE).then(|| Next::Call((PICTURE, json!({})))),
            Self::Summary { of: Source::File(_) } => summarized(results, "read_document", has),
            Self::Mail { to, what } => {
                let address = match to {
                    Recipient::Address(address) => address.clone(),
                    Recipient::Named(name) => match address_of(name, results)? {
                        Ok(address) => address,
                        Err(why) => return Some(why),
                    },
                };
                let (subject, body) = match content(what, results)? {
                    Ok(content) => content,
                    Err(next) => return Some(next),
                };
                Some(Next::Call((SEND, json!({"to": [address], "subject": subject, "body": body}))))
            }
        }
    }
}

fn summarized(results: &[&ToolResult], tool: &str, has: &dyn Fn(&str) -> bool) -> Option<Next> {
    let (result, _) = of(results, tool)?;
    let text = text_in(&result.content).filter(|text| has(SUMMARIZE) && !text.trim().is_empty())?;
    Some(Next::Call((SUMMARIZE, json!({"text": text}))))
}

/// The text in a result, which may have been cut.
fn text_in(content: &str) -> Option<String> {
    if let Ok(whole) = serde_json::from_str::<Value>(content) {
        return whole["content"].as_str().map(str::to_owned);
    }
    const FIELD: &str = "\"content\":\"";
    let rest = content.get(content.find(FIELD)? + FIELD.len()..)?;
    let rest = rest.rsplit_once("\n[cut:").map_or(rest, |(rest, _)| rest);
    // The end may be within an escape.
    (0..12).find_map(|less| {
        let part = rest.get(..rest.len().checked_sub(less)?)?;
        serde_json::from_str(&format!("\"{part}\"")).ok()
    })
}

/// The address of a person among the contacts that were found, or what is said instead.
fn address_of(name: &str, results: &[&ToolResult]) -> Option<Result<String, Next>> {
    let (result, found) = of(results, "list_contacts")?;
    let all = found["contacts"].as_array()?;
    let called = |contact: &Value| contact["name"].as_str().unwrap_or_default().to_lowercase();
    let (name_low, shown) = (name.to_lowercase(), truncate(name, 60));
    let whole: Vec<&Value> = all.iter().filter(|contact| called(contact) == name_low).collect();
    let words = |contact: &&Value| {
        let called = called(contact);
        name_low.split_whitespace().all(|word| called.split_whitespace().any(|part| part == word))
    };
    let named: Vec<&Value> = if whole.is_empty() { all.iter().filter(words).collect() } else { whole };
    let meant = if named.is_empty() { all.iter().collect() } else { named };
    if meant.is_empty() {
        return Some(Err(told(result)));
    }
    let with: Vec<(&str, &str)> =
        meant.iter().filter_map(|contact| Some((contact["name"].as_str()?, contact["email"].as_str()?))).collect();
    Some(match with[..] {
        [(_, address)] => Ok(address.to_owned()),
        [] => Err(Next::Say(format!(
            "I know no mail address of {shown}. Say “{shown}'s email is …”, and then this once more."
        ))),
        _ => {
            let names: Vec<String> = with.iter().map(|(name, address)| format!("{name} ({address})")).collect();
            Err(Next::Say(format!("{} Say it once more with the whole name.", which_one(&shown, &names))))
        }
    })
}

/// Subject and text, or what comes first.
fn content(what: &What, results: &[&ToolResult]) -> Option<Result<(String, String), Next>> {
    let chosen;
    let list = match what {
        What::Words(text) => {
            let text = capitalized(&end_sentence(text));
            return Some(Ok((truncate(text.trim_end_matches('.'), SUBJECT), text)));
        }
        What::List(list) => Some(list.as_str()),
        What::Todo => None,
        What::TheList => match the_list(results)? {
            Ok(list) => {
                chosen = list;
                Some(chosen.as_str())
            }
            Err(why) => return Some(Err(why)),
        },
    };
    let Some((result, found)) = of(results, "list_tasks") else { return Some(Err(Next::Call(items(list)))) };
    let tasks = found["tasks"].as_array()?;
    let mut lines: Vec<String> =
        tasks.iter().filter_map(|task| Some(format!("- {}", text_kit::one_line(task["title"].as_str()?)))).collect();
    if lines.is_empty() {
        return Some(Err(told(result)));
    }
    if found["hasMore"] == true {
        lines.push("- … and more".to_owned());
    }
    let subject =
        list.map_or_else(|| "To-do list".to_owned(), |list| format!("{} list", capitalized(&truncate(list, SUBJECT))));
    Some(Ok((subject, lines.join("\n"))))
}

/// The only list with something on it, else the shopping list.
fn the_list(results: &[&ToolResult]) -> Option<Result<String, Next>> {
    let (_, found) = of(results, "list_lists")?;
    let open = |list: &&Value| list["open"].as_u64().is_some_and(|open| open > 0);
    let lists: Vec<&str> =
        found["lists"].as_array()?.iter().filter(open).filter_map(|list| list["list"].as_str()).collect();
    Some(match lists[..] {
        [] => Err(Next::Say("There is nothing on any list.".to_owned())),
        [list] => Ok(list.to_owned()),
        _ if lists.contains(&"shopping") => Ok("shopping".to_owned()),
        _ => {
            let names: Vec<String> = lists.iter().take(6).map(|list| truncate(list, 40)).collect();
            Err(Next::Say(format!("{} Say it once more with its name.", which_one("list", &names))))
        }
    })
}
