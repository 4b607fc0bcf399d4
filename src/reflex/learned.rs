//! What a sentence that no template fits most likely means: the head's class with the tagger's arguments, and whether that
//! is done, asked about, or left.

use crate::{
    adjust::adjusted,
    builtin_replies,
    classification::{Classification, Stage, unknown},
    classify::{ANSWERS, CHANGES, Classifier, MEMORY},
    confirmation, empty_content,
    head::NONE,
    items,
    mask::{Masked, mask},
    phrases::Intent,
    sentence::Sentence,
    slots::{self, Kind},
    stance,
    tagger::{Tagged, Text},
};
use serde_json::{Map, Value};
use std::borrow::Cow;
use tool::Risk;

/// Least probability of a tool for a call that only looks, for a question "Shall I …?", and for asking for what is missing
/// (for a change: [`CHANGES`]). Calibrated on phrasings that the trainer held apart.
const LOOKS: f32 = 0.7;
/// Least probability of a look that is offered, and how much likelier it must be than no tool and memory together.
const OFFERS: f32 = 0.4;
const OFFERS_ON_QUESTION: f32 = 0.5;
const OFFERS_BEFORE: f32 = 1.2;
/// Least probability for a change where the embedding model cannot be had.
const CHANGES_BY_WORDS: f32 = 0.95;
const ASKS: f32 = 0.4;
const ASKS_MISSING: f32 = 0.6;
/// Least probability if a word is left over that no phrasing of the tool has.
const STRANGE: f32 = 0.85;
/// Longer sentences say more than one thing; nothing is guessed from them.
const MOST_WORDS: usize = 32;
/// Number of likely classes whose arguments are read.
const CANDIDATES: usize = 4;

/// What is likely meant.
pub(crate) struct Meant {
    pub tool: String,
    /// The arguments its class implies, and those found.
    pub arguments: Map<String, Value>,
    pub tagged: Tagged,
    /// Probability of the tool.
    pub share: f32,
    /// Probability that no tool is meant, or memory.
    pub other: f32,
    /// Whether the class is likely among those of its tool.
    pub settled: bool,
    /// Whether a word was left over that turns the meaning, a time or amount that no argument takes, or a word strange to the tool.
    pub turned: bool,
    pub leaves: bool,
    pub strange: bool,
    /// Whether words alone were read, without the embedding.
    by_words: bool,
}

impl Classifier<'_> {
    /// The likeliest intent, if likely enough, and its name.
    pub async fn by_meaning(&self, s: &Sentence) -> (Option<Classification>, String) {
        if s.len() > MOST_WORDS {
            return (None, "nothing is guessed from that many words".to_owned());
        }
        if confirmation::answer(&s.text).is_some() {
            return (None, "an answer without a question".to_owned());
        }
        let unconditional = stance::without_afterthought(s);
        let s = unconditional.as_ref().unwrap_or(s);
        if let Some(more) = self.more_time(s) {
            return (Some(more), "more time".to_owned());
        }
        let masked = mask(s, self.now);
        let meaning = self.meaning.of(&masked.text()).await;
        let shares = self.head.classify(&masked.words, meaning.as_deref());
        let Some(meant) = self.meant(s, &masked, &shares, meaning.is_none()) else {
            let (class, share) = shares.first().copied().unwrap_or((NONE, 0.0));
            let why = format!("the likeliest is {class} ({share:.2})");
            return (self.explain_command(s, &shares, &why), why);
        };
        let mut why = format!("near {} ({:.2})", meant.tool, meant.share);
        for (is, what) in [
            (meant.turned, ", turned"),
            (meant.leaves, ", leaves"),
            (meant.strange, ", strange"),
            (!meant.settled, ", unsettled"),
        ] {
            why.push_str(if is { what } else { "" });
        }
        (self.decided(&meant, s, &why).or_else(|| self.explain_command(s, &shares, &why)), why)
    }

    /// "five more minutes", "another ten": nothing but a length that something is to be longer by.
    fn more_time(&self, s: &Sentence) -> Option<Classification> {
        const MORE: &[&str] = &["more", "another", "extra"];
        let is_all = |kind: Kind| slots::read(kind, s, 0, self.now).into_iter().find(|read| read.count == s.len());
        let read = is_all(Kind::Duration).filter(|_| s.mentions(MORE) && (self.risk)("adjust_timer").is_some())?;
        let arguments = Map::from_iter([("duration".to_owned(), read.value)]);
        Some(call("adjust_timer", &arguments, 1.0, "more time"))
    }

    /// The likely class whose arguments are found best.
    fn meant(&self, s: &Sentence, masked: &Masked, shares: &[(&'static str, f32)], by_words: bool) -> Option<Meant> {
        let tool_of = |class: &str| class.split(' ').next().unwrap_or_default().to_owned();
        let share_of =
            |tool: &str| shares.iter().filter(|(class, _)| tool_of(class) == tool).map(|(_, s)| s).sum::<f32>();
        let none = share_of(NONE);
        let other = none + share_of(MEMORY) + share_of(ANSWERS);
        let mut text = Text::new(s, masked, self.now);
        let mut best: Option<(f32, Meant)> = None;
        for (class, share) in shares.iter().take(CANDIDATES) {
            let (tool, fixed) = class.split_once(' ').unwrap_or((class, "{}"));
            let tool_share = share_of(tool);
            let unlikely = shares.first().is_some_and(|(_, first)| *share < 0.25 * first);
            if *class == NONE || (self.risk)(tool).is_none() || tool_share < none || unlikely {
                continue;
            }
            let fixed: Map<String, Value> = serde_json::from_str(fixed).unwrap_or_default();
            let Some(tagged) = self.head.tagger.tag(tool, &fixed, &mut text) else { continue };
            let strange = tagged.strange.iter().any(|at| !SMALL.contains(&s.word(*at)));
            let takes_back =
                ["delete_", "undo", "cancel_", "restore_", "forget"].iter().any(|begin| tool.starts_with(begin));
            let does = match (self.risk)(tool) {
                Some(Risk::Observe) => stance::Does::Looks,
                _ if takes_back => stance::Does::TakesBack,
                _ => stance::Does::Changes,
            };
            let turned = stance::turned(s, &tagged.covered, &tagged.strange, does);
            // All timers are told of, however one is named.
            let leaves = tool != "list_timers" && stance::leaves(masked, &tagged.covered, &tagged.strange);
            let mut arguments = fixed;
            arguments.extend(tagged.arguments.clone());
            let mut tagged = tagged;
            adjusted(tool, &mut arguments, s, &tagged.covered, self.now);
            tagged.lacks = tagged.lacks.filter(|(name, _)| !arguments.contains_key(*name));
            let worth = 0.5 * (tool_share.max(1e-6).ln() + share.max(1e-6).ln())
                - f32::from(tagged.lacks.is_some())
                - 0.5 * f32::from(turned || leaves)
                - 0.2 * tagged.strange.len().min(3) as f32;
            if best.as_ref().is_none_or(|(b, _)| worth > *b) {
                // Classes that differ only in what was said are the same.
                let said = |class: &str| {
                    let fixed = class.split_once(' ').map_or("{}", |(_, fixed)| fixed);
                    let fixed: Map<String, Value> = serde_json::from_str(fixed).unwrap_or_default();
                    fixed.keys().all(|key| tagged.arguments.contains_key(key))
                };
                let alike =
                    shares.iter().filter(|(of, _)| tool_of(of) == tool && said(of)).map(|(_, s)| s).sum::<f32>();
                let settled = share.max(alike) >= 0.6 * tool_share;
                let tool = tool.to_owned();
                let meant = Meant {
                    tool,
                    arguments,
                    tagged,
                    share: tool_share,
                    other,
                    settled,
                    turned,
                    leaves,
                    strange,
                    by_words,
                };
                best = Some((worth, meant));
            }
        }
        best.map(|(_, meant)| meant)
    }

    /// The consequence: a call, a question, or an explanation; `None` if it is not likely enough.
    fn decided(&self, meant: &Meant, s: &Sentence, why: &str) -> Option<Classification> {
        let Meant { tool, arguments, tagged, share, .. } = meant;
        let risk = (self.risk)(tool)?;
        let lacks = tagged.lacks.or_else(|| self.lacks(tool, arguments));
        if risk == Risk::Observe {
            // "why do we have so many tables?" asks for a reason, and no list.
            if s.word(0) == "why" {
                return self.question(s);
            }
            // Memory is asked the whole question; anything but a question is rarely meant for it.
            if [MEMORY, ANSWERS].contains(&tool.as_str()) {
                let told = *share >= LOOKS && lacks.is_none() && !meant.turned;
                return self.question(s).or_else(|| told.then(|| call(tool, arguments, *share, why)));
            }
            // Two words say little.
            let short = s.len() <= 2 && !tagged.arguments.is_empty();
            let least = if meant.strange || short { STRANGE } else { LOOKS };
            let fits = lacks.is_none() && !meant.turned && names_its_subject(tool, arguments, s);
            if fits && *share >= least && !meant.leaves {
                return Some(call(tool, arguments, *share, why));
            }
            let worded = self.intents.iter().any(|intent| intent.tool == *tool && intent.asked.is_some());
            let offers = if stance::opens_question(s) { OFFERS_ON_QUESTION } else { OFFERS };
            let offered = fits && worded && *share >= offers && *share >= OFFERS_BEFORE * meant.other;
            let offered = offered && !(tool == "list_timers" && meant.strange);
            return offered.then(|| self.asked(tool, arguments.clone(), s, *share, &format!("like {tool}, but {why}")));
        }
        let moves = !matches!(risk, Risk::Write | Risk::Destroy);
        // A single word is no command about that word.
        if s.len() == 1 && !tagged.arguments.is_empty() {
            return None;
        }
        // What moves later is asked for in plain words like what moves now.
        let names_pin = (0..s.len()).any(|at| slots::pin(s, at).is_some());
        if tool == "create_scheduled_task" && arguments.contains_key("prompt") && names_pin {
            return None;
        }
        // "delete all memories" is about no timer.
        const TIMERS: &[&str] = &["timer", "timers", "alarm", "alarms", "countdown", "countdowns", "clock", "clocks"];
        if tool == "cancel_timer" && meant.strange && !s.mentions(TIMERS) {
            return None;
        }
        // A question is nothing to remember.
        if tool == "remember" && s.asks && !s.requests {
            return None;
        }
        if *share < ASKS || stance::only_asks(s) || moves && stance::opens_question(s) {
            return None;
        }
        let takes_back = ["forget", "undo", "restore_deleted"].contains(&tool.as_str());
        let told = !takes_back && stance::reports(s, &tagged.covered);
        if !moves && (told || meant.turned) {
            return None;
        }
        if moves {
            return Some(self.say_plainly(tool, arguments, s, why));
        }
        // What is destroyed is not guessed at, and "complete X on my list" is never a deletion.
        const DONE: &[&str] =
            &["complete", "completed", "finish", "finished", "tick", "check", "mark", "done", "bought"];
        let destroys = risk == Risk::Destroy || tool.starts_with("clear_") || tool.starts_with("delete_");
        let completes = s.mentions(DONE) && arguments.get("done").is_none();
        if destroys && (*share < ASKS_MISSING && meant.strange || completes) {
            return None;
        }
        let nothing = tagged.arguments.is_empty()
            && lacks.is_none()
            && ["create_", "add_"].iter().any(|begin| tool.starts_with(begin));
        if nothing || lacks.is_some() && *share < ASKS_MISSING {
            return None;
        }
        let calls = items::calls(tool, arguments, &tagged.items, self.risk);
        let plain = !meant.strange
            && !meant.leaves
            && meant.settled
            && (!s.asks || s.requests)
            && !doubtful(tool, tagged, s, *share);
        let whole = lacks.is_none() && empty_content::empty_argument(arguments).is_none();
        let least = if meant.by_words { CHANGES_BY_WORDS } else { CHANGES };
        if risk == Risk::Write && is_undone(tool) && *share >= least && plain && whole {
            let mut calls = calls.into_iter();
            let (tool, arguments) = calls.next()?;
            let Value::Object(arguments) = arguments else { return None };
            return Some(Classification { more: calls.collect(), ..call(&tool, &arguments, *share, why) });
        }
        match &calls[..] {
            // A question covers exactly one call.
            [(tool, Value::Object(arguments))] => Some(self.changing(tool, arguments.clone(), lacks, s, *share, why)),
            _ => None,
        }
    }

    /// An argument that every template of the tool provides, and these lack.
    fn lacks(&self, tool: &str, arguments: &Map<String, Value>) -> Option<(&str, Kind)> {
        let same = |intent: &&Intent| {
            intent.tool == tool && intent.fixed.iter().all(|(key, value)| arguments.get(key) == Some(value))
        };
        let mut intents = self.intents.iter().filter(same).peekable();
        intents.peek()?;
        let lacking: Vec<_> = intents.map(|intent| confirmation::lacks(intent, arguments)).collect();
        if lacking.iter().all(Option::is_some) { lacking.into_iter().flatten().next() } else { None }
    }

    /// A statement that names a pin is a command: explain how to phrase it.
    fn explain_command(&self, s: &Sentence, shares: &[(&str, f32)], why: &str) -> Option<Classification> {
        let quotes = s.tokens.iter().any(|token| token.opens);
        if quotes || stance::opens_question(s) || !(0..s.len()).any(|at| slots::pin(s, at).is_some()) {
            return None;
        }
        let tools = shares.iter().filter_map(|(class, _)| class.split(' ').next());
        let mut moves = tools.filter(|tool| (self.risk)(tool) == Some(Risk::Actuate));
        moves.next().map(|tool| self.say_plainly(tool, &Map::new(), s, why))
    }

    /// A change that no template matches: confirm it, or explain how to phrase it.
    pub fn changing(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        lacks: Option<(&str, Kind)>,
        s: &Sentence,
        share: f32,
        why: &str,
    ) -> Classification {
        let why = format!("like {tool}, but {why}");
        // Anything that moves, runs or leaves the house is never done on a "yes", which may answer something else.
        if !matches!((self.risk)(tool), Some(Risk::Write | Risk::Destroy)) {
            return self.say_plainly(tool, &arguments, s, &why);
        }
        let missing = lacks.map(|(name, kind)| confirmation::missing(name, kind, self.example(tool)));
        if let Some(say) =
            missing.or_else(|| empty_content::empty_argument(&arguments).map(|name| self.what(tool, name)))
        {
            return Classification { stage: Stage::Missing, confidence: share, ..unknown(say, &why) };
        }
        self.asked(tool, arguments, s, share, &why)
    }

    /// The question whether a call is meant.
    pub fn asked(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        _s: &Sentence,
        share: f32,
        why: &str,
    ) -> Classification {
        // Several items are asked about as one.
        let (one, shown) = match items::as_one(tool, &arguments) {
            Some((one, shown)) => (one, Cow::Owned(shown)),
            None => (tool, Cow::Borrowed(&arguments)),
        };
        let agrees =
            |intent: &Intent| intent.fixed.iter().filter(|(key, value)| shown.get(*key) == Some(value)).count();
        let mut of_tool: Vec<&Intent> = self.intents.iter().filter(|i| i.tool == one && i.asked.is_some()).collect();
        of_tool.sort_by_key(|intent| (intent.fixed.len() - agrees(intent), usize::MAX - agrees(intent)));
        let wordings = of_tool.into_iter().filter_map(|intent| intent.asked.as_deref());
        let say = confirmation::question(one, wordings, &shown, self.now);
        let proposes = Some((tool.to_owned(), Value::Object(arguments)));
        Classification { proposes, stage: Stage::Asked, confidence: share, ..unknown(say, why) }
    }

    /// An example sentence of a tool.
    fn example(&self, tool: &str) -> Option<&str> {
        self.intents.iter().filter(|i| i.tool == tool).find_map(|i| i.shown.first()).map(String::as_str)
    }

    /// The question for an argument without content.
    pub fn what(&self, tool: &str, name: &str) -> String {
        if tool == "remember" {
            return builtin_replies::answer("/remember", &Map::new(), &[]);
        }
        confirmation::missing(name, Kind::Text, self.example(tool))
    }

    fn say_plainly(&self, tool: &str, arguments: &Map<String, Value>, s: &Sentence, why: &str) -> Classification {
        let pin = (0..s.len()).find_map(|at| slots::pin(s, at)).map(|(_, pin)| pin);
        let suits =
            |i: &&Intent| i.fixed.iter().all(|(key, value)| arguments.get(key).is_none_or(|given| given == value));
        let intent = self.intents.iter().filter(|i| i.tool == tool).find(suits);
        let say = builtin_replies::plain_wording_reply(intent, pin, s.mentions(&["not", "never"]));
        Classification { stage: Stage::Plainly, ..unknown(say, why) }
    }
}

/// Whether a guess to look something up has a word of what it is about: money, a job. "did the plumber come" has none.
fn names_its_subject(tool: &str, arguments: &Map<String, Value>, s: &Sentence) -> bool {
    const MONEY: &[&str] = &[
        "spent",
        "spend",
        "spending",
        "spends",
        "paid",
        "pay",
        "payed",
        "payments",
        "payment",
        "cost",
        "costs",
        "expense",
        "expenses",
        "bought",
        "buy",
        "buying",
        "purchase",
        "purchases",
        "money",
        "bill",
        "bills",
        "outgoings",
        "much",
        "budget",
        "shelled",
        "finances",
        "financially",
        "month",
        "months",
        "dear",
        "dearest",
        "expensive",
        "log",
        "logged",
        "blown",
        "cash",
        "total",
        "euros",
        "over",
        "under",
        "above",
        "below",
    ];
    const JOBS: &[&str] = &[
        "job",
        "jobs",
        "task",
        "schedule",
        "scheduled",
        "run",
        "ran",
        "runs",
        "reminder",
        "backup",
        "history",
        "alarm",
        "report",
    ];
    if arguments.get("search").and_then(Value::as_str).is_some_and(|text| text.chars().count() < 2) {
        return false;
    }
    match tool {
        "query_expenses" | "expense_summary" => s.mentions(MONEY) && s.word(0) != "who",
        "get_task_history" => s.mentions(JOBS),
        "search_tools" => s.mentions(&["you", "your", "hob", "tool", "tools", "there", "have"]),
        _ => true,
    }
}

/// Whether `undo` takes back what a tool changes, or one word does, as with timers. Any other change is asked about.
pub(crate) fn is_undone(tool: &str) -> bool {
    const UNDONE: &[&str] = &[
        "task",
        "note",
        "calendar_event",
        "contact",
        "expense",
        "bookmark",
        "goal",
        "step",
        "scheduled_task",
        "trigger",
        "remember",
        "timer",
        "custom_record",
    ];
    const WHOLE: &[&str] = &["undo", "restore_deleted", "share_list", "rename_list", "tidy_list"];
    UNDONE.iter().any(|part| tool.contains(part)) && tool != "notify" || WHOLE.contains(&tool)
}

/// Whether a change is asked about although it is likely: it empties a list, it changes a record without saying of what kind
/// ("the paint is done"), or it says when somebody does something and not that they want to be told.
fn doubtful(tool: &str, tagged: &Tagged, s: &Sentence, share: f32) -> bool {
    const NOUNS: &[(&str, &[&str])] = &[
        ("scheduled", &["reminder", "reminders", "alarm", "timer", "schedule", "remind", "wake"]),
        ("timer", &["timer", "timers", "countdown", "clock"]),
        ("task", &["task", "tasks", "list", "todo", "chore", "chores", "off", "bought", "picked", "due"]),
        ("list", &["list", "lists"]),
        ("note", &["note", "notes", "memo"]),
        ("calendar", &["event", "appointment", "meeting", "calendar", "diary", "lesson", "party", "reschedule"]),
        ("expense", &["expense", "expenses", "spent", "spending", "paid"]),
        ("contact", &["contact", "contacts", "number", "address", "phone", "email", "birthday"]),
        ("bookmark", &["bookmark", "bookmarks", "link"]),
        ("goal", &["goal", "goals"]),
        ("notice", &["notice", "notices", "notification", "notifications", "alert", "alerts", "message", "messages"]),
    ];
    if ["clear_", "delete_", "forget", "trigger_", "fire_", "run_"].iter().any(|begin| tool.starts_with(begin)) {
        return true;
    }
    let refers = |name: &String| name.ends_with("Id") || ["timer", "list"].contains(&name.as_str());
    let nouns = NOUNS.iter().find(|(part, _)| tool.contains(part)).map_or(&[][..], |(_, nouns)| nouns);
    // Nothing is made out of nothing.
    let empty = ["create_", "add_", "set_", "update_"].iter().any(|begin| tool.starts_with(begin))
        && tagged.arguments.is_empty();
    // "got the apples" ticks them off, if it is that likely.
    let ticked =
        tool == "complete_task" && share >= 0.9 && s.mentions(&["got", "did", "rang", "paid", "posted", "already"]);
    let unnamed = !ticked && (tool == "dismiss_notice" || tagged.arguments.keys().any(refers)) && !s.mentions(nouns);
    // "bus 42" is no sum of money, and "a car under 5000" none that was spent.
    const SPENDING: &[&str] = &[
        "spent", "spend", "paid", "pay", "payed", "cost", "costs", "bought", "for", "log", "expense", "book", "bill",
        "euros", "on", "was", "came", "note", "record",
    ];
    const WANTED: &[&str] = &["want", "wants", "find", "looking", "under", "below", "should"];
    let unspent = !tagged.arguments.contains_key("currency") && !s.mentions(SPENDING) || s.mentions(WANTED);
    let bare = tool == "add_expense" && unspent;
    const WISHES: &[&str] = &[
        "want", "need", "would", "have", "must", "should", "will", "am", "had", "could", "can", "better", "do", "got",
        "gotta", "might", "wish",
    ];
    let tells = tool == "create_scheduled_task" && ["i", "we"].contains(&s.word(0)) && !WISHES.contains(&s.word(1));
    // "buy some milk" tells Hob to buy, which it cannot.
    let buys = tool.ends_with("add_task") && ["buy", "get"].contains(&s.word(0)) && !s.mentions(nouns);
    empty || unnamed || tells || bare || buys
}

/// Words with little meaning of their own.
const SMALL: &[&str] = &[
    "a",
    "an",
    "the",
    "some",
    "any",
    "my",
    "our",
    "your",
    "me",
    "us",
    "i",
    "we",
    "you",
    "it",
    "to",
    "of",
    "for",
    "on",
    "in",
    "at",
    "by",
    "with",
    "and",
    "that",
    "this",
    "is",
    "are",
    "am",
    "be",
    "was",
    "do",
    "does",
    "did",
    "have",
    "has",
    "had",
    "can",
    "could",
    "would",
    "will",
    "shall",
    "please",
    "just",
    "also",
    "there",
    "so",
    "up",
    "down",
    "out",
    "from",
    "into",
    "onto",
    "as",
    "about",
    "again",
    "now",
    "then",
    "too",
    "hey",
    "like",
    "want",
    "need",
    "let",
    "got",
    "get",
    "go",
    "more",
    "still",
    "one",
    "thing",
    "things",
    "right",
    "okay",
    "think",
    "guess",
    "hope",
    "actually",
    "really",
    "what",
    "which",
    "who",
    "oh",
    "um",
    "uh",
    "gosh",
    "basically",
    "kindly",
    "quickly",
    "quick",
    "sorry",
];

fn call(tool: &str, arguments: &Map<String, Value>, confidence: f32, why: &str) -> Classification {
    Classification {
        tool: Some(tool.to_owned()),
        arguments: Value::Object(arguments.clone()),
        stage: Stage::Meaning,
        confidence,
        ..unknown(String::new(), why)
    }
    .speechless()
}
