//! Finds the things, areas and kinds that a sentence names.

use super::{
    Home,
    index::{key, stem},
    vocabulary::{self, KindWord, kind_word},
};

/// What some words name.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// Things of this name; `whole` where the words are a whole name or alias, else they are some words of one.
    Names {
        /// Their numbers.
        things: Vec<usize>,
        /// Whether it is a whole name.
        whole: bool,
    },
    /// An area.
    Area(usize),
    /// A kind.
    Kind(KindWord),
    /// The whole home: "everywhere", "in the house".
    Everywhere,
    /// All there is: "everything".
    Everything,
}

/// Words that name something.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The first word.
    pub at: usize,
    /// After the last.
    pub end: usize,
    /// What they name.
    pub what: What,
}

/// Which words are no part of a name by themselves: "turn", "the".
pub type Skip<'a> = &'a dyn Fn(&str) -> bool;

const EVERYWHERE: &[&[&str]] = &[&["everywhere"], &["house"], &["home"], &["apartment"], &["flat"], &["all", "over"]];
/// Words before "house" that belong to it.
const WHOLE: &[&str] = &["whole", "entire"];

/// How many words from the first say "in all rooms": "every room", "each and every room", "all of the floors".
fn all_rooms(words: &[&str]) -> Option<usize> {
    const QUANTIFIERS: &[&str] = &["all", "every", "each"];
    const BETWEEN: &[&str] = &["of", "the", "my", "our", "and", "single", "every"];
    const ROOMS: &[&str] = &["room", "rooms", "area", "areas", "floor", "floors"];
    if !QUANTIFIERS.contains(words.first()?) {
        return None;
    }
    let at = 1 + words[1..].iter().take_while(|word| BETWEEN.contains(word)).count();
    // "All floor lamps" are lamps.
    let is_part = words.get(at + 1).is_some_and(|next| kind_word(&[next]).is_some());
    (ROOMS.contains(words.get(at)?) && !is_part).then_some(at + 1)
}

impl Home {
    /// What the words of a sentence name, the longest names first at each place. `fits` says which things count. Slips of
    /// spelling in words that would otherwise mean nothing are corrected where at most `slips` are.
    pub fn scan(&self, words: &[&str], skip: Skip, fits: &dyn Fn(usize) -> bool, slips: usize) -> Vec<Span> {
        let spans = self.scan_exactly(words, skip, fits);
        let open: Vec<usize> = (0..words.len())
            .filter(|at| !skip(words[*at]) && !spans.iter().any(|span| (span.at..span.end).contains(at)))
            .collect();
        if open.is_empty() || open.len() > slips {
            return spans;
        }
        let mut corrected: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        for at in &open {
            if words[*at].chars().all(char::is_alphabetic)
                && !self.index().knows(words[*at])
                && let Some(word) = self.index().nearest(words[*at])
            {
                corrected[*at] = word;
            }
        }
        let again: Vec<&str> = corrected.iter().map(String::as_str).collect();
        if again == words { spans } else { self.scan_exactly(&again, skip, fits) }
    }

    fn scan_exactly(&self, words: &[&str], skip: Skip, fits: &dyn Fn(usize) -> bool) -> Vec<Span> {
        let mut spans: Vec<Span> = vec![];
        let mut at = 0;
        while at < words.len() {
            if let Some((count, what)) = self.longest_at(&words[at..], fits) {
                spans.push(Span { at, end: at + count, what });
                at += count;
                continue;
            }
            if let Some(things) = self.with_word(words[at], skip, fits) {
                match spans.last_mut() {
                    // "hall ceiling": words of one name.
                    Some(Span { end, what: What::Names { things: before, whole: false }, .. }) if *end == at => {
                        let both: Vec<usize> = before.iter().filter(|one| things.contains(one)).copied().collect();
                        if both.is_empty() {
                            spans.push(Span { at, end: at + 1, what: What::Names { things, whole: false } });
                        } else {
                            (*end, *before) = (at + 1, both);
                        }
                    }
                    _ => spans.push(Span { at, end: at + 1, what: What::Names { things, whole: false } }),
                }
            }
            at += 1;
        }
        spans
    }

    fn longest_at(&self, words: &[&str], fits: &dyn Fn(usize) -> bool) -> Option<(usize, What)> {
        let index = self.index();
        if let Some(count) = all_rooms(words) {
            return Some((count, What::Everywhere));
        }
        let most = words.len().min(index.longest.max(vocabulary::LONGEST) + 1);
        for count in (1..=most).rev() {
            let said = &words[..count];
            let joined = key(&said.concat());
            let kind = (count <= vocabulary::LONGEST).then(|| kind_word(said)).flatten();
            // "light" is a kind, also where something is called so.
            if let Some(kind) = kind.filter(|_| count == 1) {
                return Some((1, What::Kind(kind)));
            }
            let area = index.area_names.get(&joined).copied();
            let named = || index.names.get(&joined);
            let things: Vec<usize> = named().into_iter().flatten().copied().filter(|at| fits(*at)).collect();
            // A single word that is a room is the room.
            if let Some(area) = area.filter(|_| count == 1 || things.is_empty()) {
                return Some((count, What::Area(area)));
            }
            if !things.is_empty() && !joined.is_empty() {
                return Some((count, What::Names { things, whole: true }));
            }
            if let Some(kind) = kind {
                return Some((count, What::Kind(kind)));
            }
            if said.len() == 1 && said[0] == "everything" {
                return Some((1, What::Everything));
            }
            let whole = usize::from(WHOLE.contains(&said[0]));
            if EVERYWHERE.contains(&&said[whole..]) {
                return Some((count, What::Everywhere));
            }
        }
        None
    }

    fn with_word(&self, word: &str, skip: Skip, fits: &dyn Fn(usize) -> bool) -> Option<Vec<usize>> {
        if word.len() < 2 || skip(word) {
            return None;
        }
        let all = self.index().words.get(&stem(word))?;
        let things: Vec<usize> = all.iter().copied().filter(|at| fits(*at)).collect();
        (!things.is_empty()).then_some(things)
    }
}
