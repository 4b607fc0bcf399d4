//! Decide which stored fact answers a question, if any.
//!
//! Each candidate gets [`Features`] (shared words weighted by rarity, similarity in meaning, the kind of answer) and
//! a score from a logistic regression over them (`weights.rs`, fitted to `development/*.txt`). Some disagreements rule
//! a candidate out whatever its score: another person, another number, a secret that the question does not name.

mod attributes;
mod expects;
mod features;
mod people;
mod secret;
mod text;
mod weights;

#[cfg(test)]
mod tests;

use expects::Expects;
use features::Features;
use secret::Naming;
use std::collections::{HashMap, HashSet};
use text::{Word, is_content, words};

/// The lowest score of an answer; on the part of the development data that was left out of the fit.
pub(crate) const THRESHOLD: f32 = weights::THRESHOLD;

/// A question, taken apart.
pub struct Question {
    words: Vec<Word>,
    /// The words of the question without stop words and phrases around them.
    content: Vec<Word>,
    stop: HashSet<&'static str>,
    english: bool,
    expects: Expects,
}

/// A text that may answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    /// The text.
    pub text: String,
    /// The cosine of its vector and the question's; `None` without the model.
    pub similarity: Option<f32>,
}

/// How common the words of a question are in a person's memories.
#[derive(Debug, Clone, Default)]
pub struct Commonness {
    /// How many memories have each stem.
    pub with: HashMap<String, usize>,
    /// How many memories there are.
    pub memories: usize,
}

/// The decision about a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The fact at this position answers, with these sentences of it.
    Answer {
        /// Its position.
        at: usize,
        /// The part of it to show.
        text: String,
        /// 0 to 1.
        score: f32,
    },
    /// Secrets that may be meant, by name and without their values, with the positions of their facts.
    Which(Vec<(usize, String)>),
    /// No fact answers.
    Nothing,
}

impl Question {
    /// Takes a question apart.
    pub fn new(text: &str) -> Self {
        let words = words(text);
        let language = text::language(&words);
        let stop = text::stop_words_of(language);
        let content = words.iter().filter(|w| is_content(w, &stop)).cloned().collect();
        Self { content, expects: expects::expects(&words), stop, english: language == "en", words }
    }

    /// Up to `most` words to search records for, the rarest first; after them other words for relations.
    pub fn search_words(&self, most: usize) -> Vec<String> {
        let ranks = embed::word_ranks(self.content.iter().map(|w| w.text.as_str()));
        let mut all: Vec<&Word> = self.content.iter().collect();
        all.sort_by_key(|w| std::cmp::Reverse(ranks.get(w.text.as_str()).copied().unwrap_or(usize::MAX)));
        // Searches also find within words, so the stem finds all forms.
        let stems = all.iter().map(|w| w.stem.clone()).filter(|s| s.chars().count() > 1).take(most);
        let related =
            all.iter().filter(|w| people::is_relation(w)).flat_map(|w| text::synonyms(w)).map(str::to_owned).take(most);
        let mut words: Vec<String> = vec![];
        for word in stems.chain(related) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        words
    }

    /// Whether it asks about the past.
    pub fn is_past(&self) -> bool {
        self.words
            .iter()
            .any(|w| ["was", "were", "did", "had", "last", "war", "wurde", "hatte"].contains(&w.text.as_str()))
    }

    /// The share of its words that a text has, 0 to 1.
    pub fn overlap(&self, text: &str) -> f32 {
        let all = words(text);
        let best = |word: &Word| all.iter().map(|w| text::likeness(word, w, !self.english)).fold(0.0, f32::max);
        self.content.iter().map(best).sum::<f32>() / self.content.len().max(1) as f32
    }

    /// The words of the question that a text has, also in another form.
    pub fn shared_words(&self, text: &str) -> Vec<&str> {
        let all = words(text);
        let is_there = |word: &&Word| all.iter().any(|w| text::likeness(word, w, !self.english) > 0.0);
        self.content.iter().filter(is_there).map(|word| word.text.as_str()).collect()
    }

    /// How relevant a fact is to a search, 0 to 1.
    pub fn relevance(&self, fact: &Fact) -> f32 {
        let similarity = fact.similarity.unwrap_or_default().max(0.0);
        (self.overlap(&fact.text) * 0.9 + similarity * 0.1).max(similarity)
    }

    /// The question with synonyms, for a search by words.
    pub fn widened(&self) -> String {
        let synonyms: Vec<&str> = self.content.iter().flat_map(text::synonyms).collect();
        let own: Vec<&str> = self.content.iter().map(|w| w.text.as_str()).collect();
        [own, synonyms].concat().join(" ")
    }

    /// The stems of what is asked.
    pub fn stems(&self) -> Vec<String> {
        self.content.iter().map(|w| w.stem.clone()).collect()
    }

    /// Whether it is about the household rather than the world: it says "my" or "our", or names a relation.
    pub fn is_about_household(&self) -> bool {
        let ours = people::says_me(&self.words) || people::says_us(&self.words);
        ours && !attributes::asks_in_general(&self.words)
            || self.words.iter().any(|w| people::is_relation(w) || w.owns)
            || secret::asks_for_secret(&self.words)
    }

    /// Whether it asks about Hob itself.
    fn is_about_hob(&self) -> bool {
        let has = |all: &[&str]| self.words.iter().any(|w| all.contains(&w.text.as_str()));
        has(&["you", "your", "yourself", "yours", "u"])
            && !has(&["tell", "told", "know", "remember", "recall", "remind", "say", "find", "give"])
    }

    /// Decides which fact answers.
    pub fn decide(&self, facts: &[Fact], commonness: &Commonness) -> Decision {
        self.decide_with(facts, commonness, THRESHOLD)
    }

    fn decide_with(&self, facts: &[Fact], commonness: &Commonness, threshold: f32) -> Decision {
        if self.content.is_empty() || self.is_about_hob() {
            return Decision::Nothing;
        }
        if secret::asks_for_secret(&self.words) {
            let decision = self.decide_secret(facts);
            if decision != Decision::Nothing {
                return decision;
            }
        }
        let scored = self.score_all(facts, commonness);
        let best = scored.into_iter().max_by(|a, b| a.2.total_cmp(&b.2).then(b.0.cmp(&a.0)));
        match best {
            Some((at, text, score)) if score >= threshold => Decision::Answer { at, text, score },
            _ => Decision::Nothing,
        }
    }

    /// The candidates that nothing rules out: position, its text without secrets, score.
    fn score_all(&self, facts: &[Fact], commonness: &Commonness) -> Vec<(usize, String, f32)> {
        let featured = self.features(facts, commonness);
        let score = |(at, text, features): (usize, String, Features)| (at, text, weights::score(&features));
        featured.into_iter().map(score).collect()
    }

    /// The features of the candidates that nothing rules out.
    fn features(&self, facts: &[Fact], commonness: &Commonness) -> Vec<(usize, String, Features)> {
        // A secret never appears beside another answer.
        let open = |text: &str| {
            let all = secret::sentences(text);
            if !all.iter().any(|s| secret::is_secret(s)) {
                return text.to_owned();
            }
            all.into_iter().filter(|s| !secret::is_secret(s)).collect::<Vec<_>>().join(" ")
        };
        let told: Vec<String> = facts.iter().map(|fact| open(&fact.text)).collect();
        let parts: Vec<Vec<Word>> = told.iter().map(|text| words(text)).collect();
        let mentioned = self.content.iter().chain(parts.iter().flatten());
        let ranks = embed::word_ranks(mentioned.flat_map(|w| [w.text.as_str(), w.stem.as_str()]));
        let similarities: Vec<f32> = facts.iter().map(|f| f.similarity.unwrap_or_default()).collect();
        let (for_secret, mut all) = (secret::asks_for_secret(&self.words), vec![]);
        for (at, (text, fact)) in told.into_iter().zip(&parts).enumerate() {
            if fact.is_empty() || self.rules_out(fact) || for_secret && !secret::shares_head(&self.words, fact) {
                continue;
            }
            let similarity = similarities.get(at).copied().unwrap_or_default();
            let others = similarities.iter().enumerate().filter(|(n, _)| *n != at).map(|(_, s)| *s);
            let lead = similarity - others.fold(0.0, f32::max);
            all.push((at, text, features::of(self, fact, (similarity, lead), &ranks, commonness)));
        }
        all
    }

    /// Whether a fact is about somebody or something else that has a name.
    fn rules_out(&self, fact: &[Word]) -> bool {
        let named = people::named(&self.words, &self.stop, self.english);
        if named.iter().any(|w| !people::has(fact, w)) {
            return true;
        }
        if people::bare_subject(&self.words, &self.stop)
            .is_some_and(|subject| !people::has(fact, subject) && !self.is_like_any(fact, subject))
        {
            return true;
        }
        if self.content.iter().any(|w| w.number && !people::has(fact, w)) {
            return true;
        }
        // Tom's size is not Anna's, and not mine.
        let asked = |owner: &Word| people::has(&self.words, owner);
        let related = |w: &Word| people::is_relation(w) && asked(w);
        let owners = people::owners(fact, &self.stop);
        let anothers = !owners.is_empty() && !owners.iter().any(|w| asked(w)) && !fact.iter().any(related);
        if self.expects != Expects::Person && anothers {
            return true;
        }
        let lacks = !expects::provides(self.expects, fact, &self.words, &self.stop);
        lacks && self.expects != Expects::Person || attributes::lacks(&self.words, fact)
    }

    fn is_like_any(&self, fact: &[Word], word: &Word) -> bool {
        fact.iter().any(|w| text::likeness(w, word, !self.english) > 0.0)
    }

    /// Decides about a question for a secret: only its own name reveals it.
    fn decide_secret(&self, facts: &[Fact]) -> Decision {
        let mut found: Vec<(Naming, usize, String)> = vec![];
        for (at, fact) in facts.iter().enumerate() {
            for sentence in secret::sentences(&fact.text) {
                let all = words(sentence);
                let naming = secret::naming(&self.words, sentence, &self.stop, !self.english);
                if naming != Naming::Other && !self.rules_out(&all) {
                    found.push((naming, at, sentence.to_owned()));
                }
            }
        }
        let Some(best) = found.iter().map(|f| f.0).max() else { return Decision::Nothing };
        found.retain(|f| f.0 == best);
        // The same thing remembered twice is one answer: the first candidate is the better one.
        found.dedup_by(|b, a| a.2 == b.2);
        match (best, found.as_slice()) {
            (Naming::Named(_), [(_, at, text)]) => Decision::Answer { at: *at, text: text.clone(), score: 1.0 },
            _ => Decision::Which(found.into_iter().map(|(_, at, text)| (at, secret::name_of(&text))).collect()),
        }
    }
}

/// A text as a list may show it to somebody who asked with `query`: secrets that the query does not name are masked.
pub fn masked(text: &str, query: &str) -> String {
    let question = Question::new(query);
    let named =
        |s: &str| matches!(secret::naming(&question.words, s, &question.stop, !question.english), Naming::Named(_));
    let show = |s: &str| match secret::is_secret(s) && !named(s) {
        true => format!("{}: ••••", secret::name_of(s)),
        false => s.to_owned(),
    };
    let all = secret::sentences(text);
    if all.iter().all(|s| !secret::is_secret(s)) {
        return text.to_owned();
    }
    all.into_iter().map(show).collect::<Vec<_>>().join(" ")
}
