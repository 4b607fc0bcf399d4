//! What people say about things they keep, read by its form: a label and what belongs under it ("todo: …", "shopping list:
//! milk bread eggs", "note to self …"), items for a list, a name with a number, and "… is done".
//!
//! The form alone decides, so it must be plain: where a word is left that does not fit, the templates and the learned path read
//! the sentence.

mod contact_card;
mod entry;
mod labels;
mod listing;

use crate::{
    classification::{Classification, Stage, unknown},
    empty_content, goods, items,
    sentence::Sentence,
    slots::{self, Kind},
    stance, wording,
};
use jiff::Zoned;
use serde_json::{Map, Value};
use tool::Risk;

/// A sentence, and what there is to call.
pub(crate) struct Reader<'a> {
    pub s: &'a Sentence,
    pub now: &'a Zoned,
    pub risk: &'a (dyn Fn(&str) -> Option<Risk> + Send + Sync),
}

/// Verbs of what is done with an item that is on a list already.
const TAKES: &[&str] = &[
    "delete",
    "remove",
    "complete",
    "completed",
    "finish",
    "finished",
    "tick",
    "check",
    "cross",
    "mark",
    "take",
    "strike",
    "clear",
    "uncheck",
    "untick",
    "empty",
    "drop",
    "scratch",
    "move",
    "rename",
    "change",
];

impl Reader<'_> {
    /// What stands under a label; goes first, since anything may stand there.
    pub fn labelled(&self) -> Option<Classification> {
        if self.only_asks() { None } else { self.under_a_label() }
    }

    /// Items for a list, and how to reach somebody; goes before the templates of single commands.
    pub fn listed(&self) -> Option<Classification> {
        if let Some(found) = self.left_on_a_list().or_else(|| self.backwards()) {
            return Some(found);
        }
        let takes = TAKES.contains(&self.s.word(0));
        if self.only_asks() || takes { None } else { self.onto_a_list().or_else(|| self.card()) }
    }

    fn only_asks(&self) -> bool {
        !self.s.requests && (self.s.asks || stance::opens_question(self.s))
    }

    /// What is told as done or to be known; goes after the templates.
    pub fn told(&self) -> Option<Classification> {
        if self.s.asks || stance::opens_question(self.s) || self.s.word(0) == "forget" {
            return None;
        }
        let found = self
            .goods_alone()
            .or_else(|| self.done())
            .or_else(|| self.to_be_known())
            .or_else(|| self.changed_fact())?;
        Some(Classification { sure: false, ..found })
    }

    /// The text from the first word that is no courtesy.
    fn text(&self) -> &str {
        let Some(first) = self.s.tokens.first() else { return "" };
        self.s.text.get(first.start..).unwrap_or_default().trim()
    }

    /// A call, or the calls of its items; `None` if there is no such tool.
    fn call(&self, tool: &str, arguments: Map<String, Value>, why: &str) -> Option<Classification> {
        (self.risk)(tool)?;
        if empty_content::empty_argument(&arguments).is_some() {
            return None;
        }
        let mut calls = items::calls(tool, &arguments, &[], self.risk).into_iter();
        let (tool, arguments) = calls.next()?;
        let found = Classification {
            tool: Some(tool),
            arguments,
            more: calls.collect(),
            stage: Stage::Template,
            confidence: 1.0,
            sure: true,
            ..unknown(String::new(), &format!("by its form: {why}"))
        };
        Some(found.speechless())
    }

    /// A name with a number or an address, and nothing else.
    fn card(&self) -> Option<Classification> {
        const ADDS: &[&str] = &[
            "new contact",
            "contact",
            "contacts",
            "add contact",
            "add a contact",
            "add to contacts",
            "save contact",
            "save a contact",
            "create contact",
            "create a contact",
            "add a new contact",
            "create a new contact",
            "new person",
            "save",
            "store",
            "keep",
        ];
        const NO_NAMES: &[&str] = &[
            "call",
            "ring",
            "phone",
            "text",
            "dial",
            "email",
            "mail",
            "write",
            "send",
            "remind",
            "tell",
            "change",
            "update",
            "correct",
            "set",
            "delete",
            "remove",
            "forget",
            "remember",
            "note",
            "i",
            "it",
            "my",
            "the",
            "what",
            "whose",
            "who",
            "is",
            "add",
            "put",
            "log",
            "spent",
            "book",
            "when",
            "order",
            "pay",
            "bookmark",
            "extract",
            "find",
            "get",
            "check",
            "count",
            "search",
            "read",
            "show",
            "ref",
            "new",
            "this",
            "that",
            "convert",
            "calculate",
            "if",
            "use",
            "task",
            "todo",
            "table",
            "record",
        ];
        let labelled = wording::after_label(self.text(), ADDS).map(|(rest, _)| rest);
        let text = wording::without_request(labelled.unwrap_or(self.text()));
        let found = contact_card::card(text, self.now)?;
        let first = self.s.word(0);
        let quotes = self.s.tokens.iter().any(|token| token.opens);
        let possessive = first.ends_with("'s") || self.s.mentions(&["changed", "has", "new", "now"]);
        let keeps = self.s.mentions(&["save", "keep", "store", "number", "numbers", "mobile", "contact", "contacts"]);
        let plain =
            found.length <= 5 && !quotes && (labelled.is_some() || !NO_NAMES.contains(&first) && !possessive && keeps);
        plain.then(|| self.call("add_contact", found.arguments, "a name and how to reach it"))?
    }

    /// "sweetcorn", "add sweetcorn and some beer": goods alone go on the shopping list.
    fn goods_alone(&self) -> Option<Classification> {
        const ADD: &[&str] =
            &["please add", "pls add", "plz add", "add please", "add pls", "to buy", "put down please"];
        let text = self.text();
        let ends = wording::trimmed(text, ADD);
        if ends.len() < wording::trimmed(text, &[]).len() {
            let wanted = listing::items(wording::without_reason(ends));
            let some = wanted.iter().any(|item| goods::is_goods(item));
            return some.then(|| self.wanted(&wanted, Some("shopping")))?;
        }
        const WANTS: &[&str] = &[
            "add",
            "also add",
            "and add",
            "put down",
            "put",
            "stick down",
            "jot down",
            "pop down",
            "chuck in",
            "throw in",
        ];
        let (rest, _) = wording::after_label(self.text(), WANTS)?;
        let wanted = listing::items(wording::without_reason(wording::without_request(rest)));
        wanted.iter().all(|item| goods::is_goods(item)).then(|| self.wanted(&wanted, Some("shopping")))?
    }

    /// "radiators are done", "got the milk and eggs".
    fn done(&self) -> Option<Classification> {
        const GOT: &[&str] = &[
            "got",
            "bought",
            "picked up",
            "have got",
            "i have got",
            "we have got",
            "i got",
            "we got",
            "i've got",
            "we've got",
            "ive got",
            "weve got",
            "i bought",
            "we bought",
            "just got",
            "just bought",
            "i've bought",
            "ive bought",
            "we've bought",
            "i picked up",
            "already got",
            "i already got",
            "we already got",
        ];
        if let Some((rest, _)) = wording::after_label(self.text(), GOT) {
            let got = listing::items(wording::without_reason(wording::without_request(rest)));
            let bare = |item: &String| {
                let articles = ["the ", "our ", "my ", "some ", "enough ", "those "];
                articles.iter().find_map(|article| item.strip_prefix(article)).unwrap_or(item).to_owned()
            };
            let goods = got.iter().all(|item| goods::is_goods(item));
            return if goods { self.each("complete_task", "taskId", got.iter().map(bare)) } else { None };
        }
        const ENDS: &[&str] = &["finally", "now", "already", "at last", "too", "as well", "today", "yesterday", "then"];
        const NOT: &[&str] = &[
            "it",
            "that",
            "this",
            "i",
            "we",
            "you",
            "he",
            "she",
            "they",
            "there",
            "timer",
            "alarm",
            "pin",
            "reminder",
            "not",
            "never",
            "should",
            "when",
            "if",
            "until",
            "once",
            "almost",
            "nearly",
            "half",
            "second",
            "first",
            "third",
            "last",
            "one",
            "everything",
            "all",
            "the",
            "is",
            "tell",
            "what",
            "be",
            "have",
            "must",
            "needs",
            "will",
        ];
        let text = wording::trimmed(wording::without_request(wording::without_reason(self.text())), ENDS);
        let s = Sentence::whole(text);
        let done =
            ["done", "finished", "sorted", "completed", "complete", "dealt"].contains(&s.word(s.len().max(1) - 1));
        let mut end = s.len().checked_sub(1).filter(|_| done)?;
        while end > 1 && ["is", "are", "has", "been", "all", "both", "s", "have"].contains(&s.word(end - 1)) {
            end -= 1;
        }
        // "the paint is done" is asked about: it may be no task.
        let begin = usize::from(["my", "our"].contains(&s.word(0)));
        let plain = (begin..end).all(|at| !NOT.contains(&s.word(at))) && (1..=6).contains(&(end.saturating_sub(begin)));
        let well = ["well", "how", "get", "getting", "nicely", "job", "all"].contains(&s.word(begin));
        let job = goods::JOBS.contains(&s.word(begin)) || s.len() - end > 1 || end - begin <= 4 && !well;
        if !plain || !job {
            return None;
        }
        let what = s.slice(begin, end);
        let what = ["'s", "’s"].iter().find_map(|ending| what.strip_suffix(ending)).unwrap_or(what);
        self.each("complete_task", "taskId", std::iter::once(what.to_owned()))
    }

    /// "what's left on the greenhouse", "what's still to do for probate": the open items of a list.
    pub fn left_on_a_list(&self) -> Option<Classification> {
        if self.s.len() == 1 && self.s.word(0) == "overdue" {
            let arguments = Map::from_iter([("overdue".to_owned(), true.into())]);
            return self.call("list_tasks", arguments, "what is overdue");
        }
        if ["notes list", "my notes list", "list of notes", "list of my notes"]
            .contains(&self.s.rest().to_lowercase().as_str())
        {
            return self.call("list_notes", Map::new(), "the notes");
        }
        const LEFT: &[&[&str]] = &[
            &["left"],
            &["left", "to", "do"],
            &["still", "to", "do"],
            &["outstanding"],
            &["still", "left"],
            &["to", "do"],
            &["still", "on"],
            &["left", "over"],
            &["not", "done"],
            &["still", "open"],
        ];
        let s = self.s;
        let begin =
            if s.has(0, &["what", "is"]) { 2 } else { usize::from(["what's", "anything"].contains(&s.word(0))) };
        let left =
            LEFT.iter().filter(|words| s.has(begin, words)).map(|words| words.len()).max().filter(|_| begin > 0)?;
        let mut at = begin + left;
        at += usize::from(["on", "for", "in", "with", "of"].contains(&s.word(at)));
        if at == begin + left && !s.has(begin, &["still", "on"]) {
            return None;
        }
        at += usize::from(["the", "my", "our"].contains(&s.word(at)));
        let end = s.len() - usize::from(["list", "project", "lists"].contains(&s.word(s.len() - 1)));
        const NO_LISTS: &[&str] = &[
            "timer",
            "timers",
            "budget",
            "calendar",
            "today",
            "tomorrow",
            "week",
            "clock",
            "month",
            "it",
            "them",
            "that",
            "me",
            "bank",
            "account",
            "goal",
            "day",
            "there",
            "here",
            "plate",
            "agenda",
            "tv",
            "telly",
            "todo",
            "do",
            "monday",
            "tuesday",
            "wednesday",
            "thursday",
            "friday",
            "saturday",
            "sunday",
            "alarm",
            "money",
            "food",
        ];
        let plain = (at..end).all(|at| !NO_LISTS.contains(&s.word(at)) && s.word(at).chars().all(char::is_alphabetic));
        if !(1..=3).contains(&end.saturating_sub(at)) || !plain {
            return None;
        }
        let name = s.slice(at, end).to_lowercase();
        let name = if ["groceries", "shop", "shops"].contains(&name.as_str()) { "shopping".to_owned() } else { name };
        let arguments = [("category".to_owned(), name.into()), ("status".to_owned(), "pending".into())];
        self.call("list_tasks", Map::from_iter(arguments), "what is left on a list")
    }

    /// "whats hannah backwards (for the quiz)", "spell chair backwards".
    pub fn backwards(&self) -> Option<Classification> {
        let s = self.s;
        let at = (1..s.len()).find(|at| s.word(*at) == "backwards")?;
        let rest_is_aside =
            at + 1 == s.len() || s.text.get(s.tokens[at].end..)?.trim_start().starts_with(['(', ',', '?', '.']);
        let lead = ["what is", "spell", "say", "write", "how do you spell", "how do you write", "how is"];
        let lead = lead
            .iter()
            .filter(|lead| s.has(0, &lead.split(' ').collect::<Vec<_>>()))
            .map(|l| l.split(' ').count())
            .max()?;
        let skip = usize::from(["the", "word"].contains(&s.word(lead))) + usize::from(s.has(lead, &["the", "word"]));
        let text = s.slice(lead + skip, at).trim_matches(['"', '“', '”', ' ']);
        let plain = rest_is_aside && !text.is_empty() && !["it", "that", "this"].contains(&text);
        let arguments = [("operation".to_owned(), "reverse".into()), ("text".to_owned(), text.into())];
        plain.then(|| self.call("transform_text", Map::from_iter(arguments), "a word backwards"))?
    }

    /// A call for each value.
    fn each(&self, tool: &str, name: &str, values: impl Iterator<Item = String>) -> Option<Classification> {
        let arguments = |value: String| Map::from_iter([(name.to_owned(), Value::from(value))]);
        let mut values = values.filter(|value| !value.is_empty());
        let first = self.call(tool, arguments(values.next()?), "what is done")?;
        let more = values.map(|value| (tool.to_owned(), Value::Object(arguments(value)))).collect();
        Some(Classification { more, ..first })
    }

    /// "the key is behind the box, remember that", "just so you have it, …".
    fn to_be_known(&self) -> Option<Classification> {
        const FRONT: &[&str] = &[
            "fyi",
            "for your information",
            "just so you know",
            "just so you have it",
            "so you know",
            "you ought to know",
            "you ought to know that",
            "you should know",
            "you should know that",
            "you might want to know",
            "for the record",
            "bear in mind",
            "bear in mind that",
            "keep in mind",
            "keep in mind that",
            "remember",
            "remember that",
            "please remember",
            "take note",
            "just to let you know",
            "for future reference",
            "worth knowing",
            "good to know",
            "you need to know",
            "you need to know that",
            "useful to know",
            "i want you to know",
            "i want you to know that",
            "i'd like you to know",
            "let it be known that",
        ];
        const BACK: &[&str] = &[
            "remember that",
            "please remember that",
            "can you remember that",
            "could you remember that",
            "remember it",
            "remember this",
            "hang on to that",
            "hang onto that",
            "hold on to that",
            "hold onto that",
            "keep that in mind",
            "keep it in mind",
            "keep that in your head",
            "keep that in your memory",
            "bear that in mind",
            "don't forget that",
            "dont forget that",
            "don't forget it",
            "dont forget it",
            "make a note of that",
            "so you know",
            "just so you know",
            "for future reference",
            "fyi",
            "remember",
            "for the record",
            "can you keep that",
            "store that",
            "memorise that",
            "memorize that",
            "got that",
            "so you'll want to know that",
            "commit that to memory",
            "file that away",
            "remember that for me",
            "remember that please",
            "will you remember that",
            "would you remember that",
            "do remember that",
        ];
        const FILLERS: &[&str] = &["and", "so", "please", "can you", "could you"];
        let text = self.text();
        let after = wording::after_label(text, FRONT).map(|(rest, _)| rest);
        let body = wording::trimmed(after.unwrap_or(text), BACK);
        let tail = body.len() < wording::trimmed(after.unwrap_or(text), &[]).len();
        let body = if tail { wording::trimmed(body, FILLERS) } else { body };
        let s = Sentence::whole(body);
        let commands = goods::JOBS.contains(&s.word(0)) || ["to", "when", "if", "every"].contains(&s.word(0));
        // Somebody's address belongs to the contacts.
        let reaches =
            |at: usize| [Kind::Phone, Kind::Email].iter().any(|kind| !slots::read(*kind, &s, at, self.now).is_empty());
        let commands = commands || (0..s.len()).any(reaches);
        if after.is_none() && !tail || s.len() < 3 || commands || stance::opens_question(&s) {
            return None;
        }
        let content = slots::dated::dated(body, self.now);
        let mut arguments =
            Map::from_iter([("content".to_owned(), content.into()), ("type".to_owned(), "fact".into())]);
        // "the size is 43 now" takes the place of what it was.
        let is = (1..s.len()).find(|at| ["is", "are"].contains(&s.word(*at)));
        if let Some(is) = is.filter(|is| s.word(s.len() - 1) == "now" && (2..=5).contains(is)) {
            arguments.insert("replaces".to_owned(), s.slice(0, is).into());
        }
        self.call("remember", arguments, "to be remembered")
    }

    /// "bin day changed to tuesday", "the wifi password has changed to plum".
    fn changed_fact(&self) -> Option<Classification> {
        const NO_FACTS: &[&str] = &[
            "appointment",
            "meeting",
            "lesson",
            "class",
            "party",
            "timer",
            "alarm",
            "reminder",
            "event",
            "call",
            "interview",
            "train",
            "flight",
            "task",
            "list",
            "note",
            "i",
            "we",
            "it",
            "that",
            "he",
            "she",
            "they",
            "booking",
            "number",
            "email",
            "mobile",
            "phone",
            "address",
            "dentist",
            "doctor",
            "pin",
            "goal",
            "budget",
            "nothing",
        ];
        let s = self.s;
        let at = (1..s.len()).find(|at| s.word(*at) == "changed" && ["to", "from"].contains(&s.word(at + 1)))?;
        let to = (at + 1..s.len()).find(|at| s.word(*at) == "to")?;
        let end = if ["has", "have", "is", "got", "was"].contains(&s.word(at - 1)) { at - 1 } else { at };
        let begin = usize::from(["the", "our", "my"].contains(&s.word(0)) && end > 1);
        let plain = (begin..end).all(|at| !NO_FACTS.contains(&s.word(at)));
        if !plain || !(1..=5).contains(&end.saturating_sub(begin)) || to + 1 >= s.len() {
            return None;
        }
        let subject = s.slice(0, end);
        let subject = ["'s", "’s"].iter().find_map(|ending| subject.strip_suffix(ending)).unwrap_or(subject);
        let value = wording::trimmed(wording::without_reason(s.slice(to + 1, s.len())), &["now", "instead"]);
        let content = format!("{subject} is {value}");
        let arguments = [("content", content.as_str()), ("type", "fact"), ("replaces", subject)];
        let arguments = arguments.into_iter().map(|(name, text)| (name.to_owned(), text.into()));
        self.call("remember", arguments.collect(), "a fact that changed")
    }
}
