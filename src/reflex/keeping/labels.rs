//! Labels: "todo: …", "shopping list: milk bread eggs", "note to self …", "word count: …".

use super::{Reader, entry, goods, listing, wording};
use crate::{
    classification::{Classification, Stage, unknown},
    sentence::Sentence,
    slots::{self, Kind},
};
use serde_json::{Map, Value};

const TASKS: &[&str] = &[
    "todo",
    "to do",
    "to-do",
    "todos",
    "task",
    "tasks",
    "new task",
    "new todo",
    "new to do",
    "new to-do",
    "job",
    "jobs",
    "job for me",
    "a job for me",
    "job for today",
    "chore",
    "chores",
    "add task",
    "add a task",
    "add todo",
    "add a todo",
    "add to do",
    "action",
    "todo list",
    "to do list",
    "to-do list",
    "jobs list",
    "task for me",
    "things to do",
    "thing to do",
];
const SHOPPING: &[&str] = &[
    "shopping",
    "shopping list",
    "groceries",
    "grocery list",
    "grocery",
    "to buy",
    "buy",
    "need to buy",
    "we need to buy",
    "add to shopping",
    "add to the shopping",
    "add to shopping list",
    "add to the shopping list",
    "on the shopping list",
    "for the shopping list",
    "from the shop",
    "from the shops",
    "at the shop",
    "shop",
    "the shopping list",
];
const NOTES: &[&str] = &[
    "note",
    "notes",
    "note to self",
    "note to myself",
    "memo",
    "take a note",
    "make a note",
    "take note",
    "new note",
    "quick note",
    "add a note",
    "add note",
    "take this down",
    "write this down",
    "jot this down",
    "get this down",
    "note this",
    "note this down",
    "note down",
    "jot down",
    "write down",
    "take down",
    "put this down",
    "take a note of this",
    "make a note of this",
    "i'd like you to take this down",
    "i want you to take this down",
    "write this down for me",
    "take this down for me",
    "now i'd like you to take this down",
    "now take this down",
];
const MEMORIES: &[&str] =
    &["rem", "remember", "remember this", "mem", "memory", "to remember", "remember for me", "fact"];
const BOOKMARKS: &[&str] =
    &["bookmark", "new bookmark", "add bookmark", "save bookmark", "save link", "link", "save the link"];

impl Reader<'_> {
    pub(super) fn under_a_label(&self) -> Option<Classification> {
        self.task()
            .or_else(|| self.new_list())
            .or_else(|| self.shopping())
            .or_else(|| self.other_list())
            .or_else(|| self.appended())
            .or_else(|| self.note())
            .or_else(|| self.memory())
            .or_else(|| self.bookmark())
            .or_else(|| self.text_tool())
    }

    fn task(&self) -> Option<Classification> {
        let (rest, separated) = wording::after_label(self.text(), TASKS)?;
        // "task pay rent is done" says something about a task that is there.
        let s = Sentence::whole(rest);
        let about = ["list", "lists", "for", "called", "named", "is", "are", "number", "to", "s"].contains(&s.word(0))
            || ["done", "finished", "completed", "cancelled", "started", "overdue", "list"]
                .contains(&s.word(s.len() - 1));
        let label = self.s.word(0);
        if !separated && (about || !["todo", "job", "task", "new"].contains(&label) || s.len() < 2) {
            return None;
        }
        let arguments = entry::arguments(rest, self.now);
        let title = arguments.get("title")?.as_str()?;
        // "todo: milk, eggs" may be several tasks; one with a date is one.
        let several = arguments.len() == 1 && separated;
        let all: Vec<String> =
            title.split([',', ';', '\n']).map(|t| t.trim().to_owned()).filter(|t| !t.is_empty()).collect();
        let jobs = all.len() > 1 && all.iter().all(|job| (1..=5).contains(&job.split(' ').count()));
        if several && jobs {
            return self.wanted(&all, None);
        }
        self.single(arguments, "a task under its label")
    }

    /// One task, however many commas are in it.
    fn single(&self, arguments: Map<String, Value>, why: &str) -> Option<Classification> {
        let found = self.call("add_task", Map::new(), why)?;
        Some(Classification { arguments: Value::Object(arguments), more: vec![], ..found })
    }

    fn shopping(&self) -> Option<Classification> {
        let (rest, separated) = wording::after_label(self.text(), SHOPPING)?;
        let wanted = listing::items(wording::without_reason(wording::without_request(rest)));
        let goods = wanted.iter().all(|item| goods::is_goods(item));
        let label = ["shopping", "groceries", "grocery"].contains(&self.s.word(0));
        let is_list = Sentence::whole(rest).word(0) == "list";
        // "buy milk" tells Hob to buy, which it cannot.
        (separated || goods && label).then_some(()).filter(|()| !is_list)?;
        self.wanted(&wanted, Some("shopping"))
    }

    /// "camping list: tent, stove", "add to the camping list: tent".
    fn other_list(&self) -> Option<Classification> {
        let (label, rest) = self.text().split_once([':', '\n']).or_else(|| self.text().split_once(" - "))?;
        let s = Sentence::whole(label);
        let lead = ["add to", "put on", "on", "for", "onto", "add on", "stick on"];
        let lead = lead.iter().find(|lead| s.has(0, &lead.split(' ').collect::<Vec<_>>()));
        let at = lead.map_or(0, |lead| lead.split(' ').count());
        let list = listing::named(&s, at).filter(|list| at + list.count == s.len())?;
        let wanted = listing::items(wording::without_request(rest));
        (!wanted.iter().any(String::is_empty)).then(|| self.wanted(&wanted, list.name.as_deref()))?
    }

    /// "start a list called party bags: bubbles, stickers"; without items it asks for them.
    fn new_list(&self) -> Option<Classification> {
        const BEGINS: &[&str] =
            &["start", "make", "create", "begin", "open", "new", "set", "do", "write", "another", "a"];
        let s = self.s;
        if !BEGINS.contains(&s.word(0)) || s.mentions(&["note", "table"]) {
            return None;
        }
        let list = (1..7.min(s.len())).find(|at| s.word(*at) == "list")?;
        let small = ["me", "us", "a", "an", "another", "new", "up", "the", "my", "our"];
        let first = (1..list).find(|at| !small.contains(&s.word(*at))).unwrap_or(list);
        let kind = s.slice(first, list).to_lowercase();
        let mut at = list + 1;
        let broken = |at: usize| s.tokens.get(at).is_some_and(|token| token.after_break);
        let named = ["called", "named", "for", "titled", "about", "of"].contains(&s.word(at)) && !broken(at);
        if named && s.word(at) == "for" && s.word(at + 1) == "me" {
            return None;
        }
        at += usize::from(named);
        let with = ["with", "containing"];
        let end = (at..s.len()).find(|here| *here > at && broken(*here) || with.contains(&s.word(*here)));
        let end = if named { end.unwrap_or(s.len()) } else { at };
        let name =
            if named { s.slice(at, end).trim_end_matches([':', '-', ' ']).to_lowercase() } else { String::new() };
        let name = if name.is_empty() { kind } else { name };
        let name = name.strip_prefix("the ").map(str::to_owned).unwrap_or(name);
        let begins = !["set", "open", "do"].contains(&s.word(0))
            && (1..list).all(|at| s.word(at) != "the" && s.word(at) != "my");
        if name.is_empty() && begins && list + 1 == s.len() {
            let say = "What is the new list called? Say it like “start a list called camping”.";
            let found = unknown(say.to_owned(), "a new list has no name yet");
            return Some(Classification { stage: Stage::Missing, confidence: 1.0, ..found });
        }
        if name.is_empty() || name.split(' ').count() > 5 {
            return None;
        }
        let items_from = end + usize::from(with.contains(&s.word(end)));
        if items_from >= s.len() {
            let say = format!("What goes on the {name} list?");
            let found = unknown(say, "a new list has no items yet");
            return Some(Classification { stage: Stage::Missing, confidence: 1.0, ..found });
        }
        if !named && !broken(items_from) && items_from == end {
            return None;
        }
        let wanted = listing::items(wording::without_request(s.slice(items_from, s.len())));
        self.wanted(&wanted, Some(&name))
    }

    fn note(&self) -> Option<Classification> {
        const FRONT: &[&str] = &[
            "for me",
            "please",
            "would you",
            "could you",
            "will you",
            "dear",
            "love",
            "for us",
            "can you",
            "mate",
            "hob",
            "that",
            "saying",
            "of this",
            "quickly",
            "to self",
            "it's",
            "now",
        ];
        let (mut rest, mut separated) = wording::after_label(self.text(), NOTES)?;
        let (label, whole) = (self.text().len() - rest.len(), rest);
        // "for me would you dear: …" still belongs to the label.
        while let Some((more, _)) = wording::after_label(rest, FRONT).filter(|_| !separated) {
            let between = rest.len() - more.len();
            separated = rest.get(..between).is_some_and(|text| text.contains([':', '-', ',']));
            rest = more;
        }
        let label = self.text().get(..label)?.trim_end_matches([' ', ':', '-', ',', '.']).to_lowercase();
        let noun = ["note", "notes", "memo", "take note"].contains(&label.as_str());
        let about = ["list", "about", "on", "called", "titled", "named", "with", "for", "of", "the"];
        let first = Sentence::whole(whole);
        if noun && !separated || !separated && about.contains(&first.word(0)) && first.word(1) != "me" {
            return None;
        }
        let content = slots::dated::dated(rest, self.now);
        let arguments = [("title".to_owned(), rest.into()), ("content".to_owned(), content.into())];
        self.call("add_note", Map::from_iter(arguments), "a note under its label")
    }

    /// "append to the boiler note: …", "add to my sourdough note that …", "append 10k 50:32 to splits".
    fn appended(&self) -> Option<Classification> {
        let s = self.s;
        if !["append", "add", "put", "write", "stick", "tack"].contains(&s.word(0)) {
            return None;
        }
        let call = |note: &str, text: &str| {
            let text = text.trim();
            let plain = !note.is_empty() && !text.is_empty();
            let arguments = [("noteId".to_owned(), note.into()), ("append".to_owned(), text.into())];
            plain.then(|| self.call("update_note", Map::from_iter(arguments), "more for a note"))?
        };
        let at = 1 + usize::from(["on", "this"].contains(&s.word(1)) && s.word(2) == "to");
        if ["to", "onto", "in", "into", "on"].contains(&s.word(at)) {
            let begin = at + 1 + usize::from(["the", "my", "our"].contains(&s.word(at + 1)));
            let noun = (begin + 1..s.len()).find(|at| ["note", "notes"].contains(&s.word(*at)))?;
            let after = noun + 1 + usize::from(["that", "saying"].contains(&s.word(noun + 1)));
            return call(s.slice(begin, noun), s.slice(after, s.len()));
        }
        if s.word(0) != "append" {
            return None;
        }
        let to = (2..s.len()).rev().find(|at| ["to", "onto"].contains(&s.word(*at)))?;
        let begin = to + 1 + usize::from(["the", "my", "our"].contains(&s.word(to + 1)));
        let end = s.len() - usize::from(["note", "notes"].contains(&s.word(s.len() - 1)) && s.len() > begin + 1);
        call(s.slice(begin, end), s.slice(1, to))
    }

    fn memory(&self) -> Option<Classification> {
        let (rest, separated) = wording::after_label(self.text(), MEMORIES)?;
        let rem = self.s.word(0) == "rem";
        let content = slots::dated::dated(rest, self.now);
        let arguments = [("content".to_owned(), content.into()), ("type".to_owned(), "fact".into())];
        let told = separated && Sentence::whole(rest).len() >= 2 || rem && Sentence::whole(rest).len() >= 3;
        told.then(|| self.call("remember", Map::from_iter(arguments), "a fact under its label"))?
    }

    /// "bookmark kicad tips kicad.example/tips", "link: https://… as marathon plan".
    fn bookmark(&self) -> Option<Classification> {
        let (rest, _) = wording::after_label(self.text(), BOOKMARKS)?;
        let s = Sentence::whole(wording::without_request(rest));
        let (at, url) =
            (0..s.len()).find_map(|at| Some((at, slots::read(Kind::Url, &s, at, self.now).into_iter().next()?)))?;
        let end = at + url.count;
        let small = ["as", "called", "named", "for", "under", "with", "the", "title", "at", "is", "to"];
        let from = (end..s.len()).find(|at| !small.contains(&s.word(*at))).unwrap_or(s.len());
        let to = (0..at).rev().find(|at| !["at", "is", "as"].contains(&s.word(*at))).map_or(0, |at| at + 1);
        let title = match (s.slice(0, to), s.slice(from, s.len())) {
            ("", "") => None,
            ("" | "this" | "this page" | "this link" | "the page" | "this site", title) => Some(title),
            (title, "") => Some(title),
            _ => return None,
        };
        let mut arguments = Map::from_iter([("url".to_owned(), url.value)]);
        if let Some(title) = title.filter(|title| !title.is_empty()) {
            arguments.insert("title".to_owned(), title.into());
        }
        self.call("add_bookmark", arguments, "a bookmark")
    }

    /// "uppercase: …", "word count: …", "sort a-z: …", "put these in alphabetical order: …".
    fn text_tool(&self) -> Option<Classification> {
        const CASES: &[(&[&str], &str)] = &[
            (
                &[
                    "caps",
                    "all caps",
                    "uppercase",
                    "upper case",
                    "in caps",
                    "in capitals",
                    "capitals",
                    "block capitals",
                ],
                "uppercase",
            ),
            (&["lowercase", "lower case"], "lowercase"),
            (&["title case", "titlecase"], "titlecase"),
            (&["reverse", "backwards", "spell backwards"], "reverse"),
        ];
        const COUNTS: &[&str] = &[
            "word count",
            "wordcount",
            "count the words",
            "count words",
            "how many words",
            "letter count",
            "count this",
        ];
        const SORTS: &[&str] = &[
            "sort",
            "sort a-z",
            "sort a to z",
            "sort these",
            "sort these a-z",
            "sort these a to z",
            "alphabetical order",
            "alphabetical",
            "alphabetise",
            "alphabetize",
            "in alphabetical order",
            "put these in alphabetical order",
            "put in alphabetical order",
            "sort alphabetically",
            "sort these alphabetically",
            "a-z",
            "a to z",
        ];
        let text = self.text();
        let (label, rest) = text.split_once(':').or_else(|| text.split_once(" - "))?;
        let (label, rest) = (label.trim().to_lowercase(), rest.trim().trim_matches(['"', '“', '”']));
        let fillers = [
            "this", "for", "the", "please", "pls", "so", "she", "he", "i", "me", "sign", "can", "read", "it", "in",
            "put", "of", "these", "labels",
        ];
        let bare: Vec<&str> = label.split_whitespace().filter(|word| !fillers.contains(word)).collect();
        let bare = bare.join(" ");
        let is = |labels: &[&str]| labels.contains(&label.as_str()) || labels.contains(&bare.as_str());
        let transform = |operation: &str, text: &str| {
            let arguments = [("operation".to_owned(), operation.into()), ("text".to_owned(), text.into())];
            self.call("transform_text", Map::from_iter(arguments), "a text under its label")
        };
        if rest.is_empty() {
            return None;
        }
        if let Some((_, operation)) = CASES.iter().find(|(labels, _)| is(labels)) {
            return transform(operation, rest);
        }
        if is(COUNTS) {
            let arguments = Map::from_iter([("text".to_owned(), rest.into())]);
            return self.call("count_text", arguments, "a text under its label");
        }
        if is(SORTS) && rest.contains(',') {
            let lines: Vec<&str> = rest.trim_end_matches('.').split(',').map(str::trim).collect();
            return transform("sort_lines", &lines.join("\n"));
        }
        None
    }
}
