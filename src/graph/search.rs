//! Searches: entities by name, words and meaning, with what is around them.

use crate::{
    EntityView, FactView, Graph, WORK,
    extract::{SELF, is_self},
    records::{ALL, BY_NAME, EntityRecord},
    scope,
    views::entity_view,
};
use std::collections::HashMap;
use store::{Entry, Listing, Visit, Walk, Words, order};
use tool::{Cx, Error, Id, Result, blocking};

/// The most facts of a result.
const FACTS: usize = 200;
/// The most words of a name within a question.
const NAME_WORDS: usize = 5;
/// How many results words and meaning add.
const FOUND: usize = 10;

/// A search.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// A question, names or words; `*` for all.
    pub query: String,
    /// Only entities of this kind; what is around them is of any kind.
    pub kind: Option<String>,
    /// Begin at this entity: an id or a name.
    pub entity: Option<String>,
    /// Find the way to this entity: an id or a name.
    pub to: Option<String>,
    /// How many steps around the entities that are found.
    pub depth: u32,
    /// The day for which facts are current: `2026-01-31`.
    pub at: String,
    /// The most entities.
    pub most: usize,
}

/// The result of a search.
#[derive(Debug, Clone, Default)]
pub struct SearchResults {
    /// The entities that were searched for, then what is around them.
    pub entities: Vec<EntityView>,
    pub facts: Vec<FactView>,
    /// Whether there are more facts than these.
    pub truncated: bool,
    /// The facts from one entity to the other, in order; `None` where no way was asked for or found.
    pub path: Option<Vec<FactView>>,
}

/// The entities that a search begins at, and how each was found.
#[derive(Default)]
struct Starts(Vec<(Id, &'static str)>);

impl Starts {
    fn add(&mut self, search: &Search, entry: &Entry<EntityRecord>, why: &'static str) {
        let fits = search.kind.as_deref().is_none_or(|kind| entry.value.kind == kind);
        if fits && self.0.len() < search.most && !self.0.iter().any(|(id, _)| *id == entry.id) {
            self.0.push((entry.id, why));
        }
    }
}

impl Graph {
    /// Searches the caller's graph.
    ///
    /// # Errors
    /// `BadArgs` for an empty query or a day that is none, `NotFound` for an entity that is not there.
    pub async fn search(&self, cx: &Cx, search: &Search) -> Result<SearchResults> {
        if search.at.parse::<jiff::civil::Date>().is_err() || search.at.len() != "2026-01-31".len() {
            return Err(Error::bad_args("`at` must be a day, such as 2026-01-31"));
        }
        let (this, cx, search) = (self.clone(), cx.clone(), search.clone());
        let (here, asking, wanted) = (this.clone(), cx.clone(), search.clone());
        let (mut found, exact) = blocking(WORK, move || here.begin(&asking, &wanted)).await?;
        // Where a question names somebody, things of similar meaning are noise.
        let asked = if exact { None } else { this.asked(search.query.trim()).await };
        blocking(WORK, move || {
            if let Some(asked) = asked {
                let near = this.near(scope(&cx), &asked, FOUND);
                for entry in this.entities.get_all_in(scope(&cx), &near)? {
                    found.add(&search, &entry, "meaning");
                }
            }
            this.finish(&cx, &search, &found)
        })
        .await
    }

    /// The entities that a search names or has the words of, and whether these are all it asks for.
    fn begin(&self, cx: &Cx, search: &Search) -> Result<(Starts, bool)> {
        let (query, mut found) = (search.query.trim(), Starts::default());
        if let Some(which) = search.entity.as_deref().map(str::trim).filter(|which| !which.is_empty()) {
            found.0.push((self.entity(cx, which)?.id, "name"));
            return Ok((found, true));
        }
        if query == "*" {
            let listing = Listing { by: Some((ALL, vec![])), ..Listing::default() };
            let all = self.entities.list_in(scope(cx), &listing)?;
            all.iter().for_each(|entry| found.add(search, entry, "all"));
            return Ok((found, true));
        }
        if query.is_empty() {
            return Err(Error::bad_args("the query is empty: pass a question, a name, or * for everything"));
        }
        self.named(cx, query)?.iter().for_each(|entry| found.add(search, entry, "name"));
        let exact = !found.0.is_empty();
        self.by_words(cx, query)?.iter().for_each(|entry| found.add(search, entry, "words"));
        Ok((found, exact))
    }

    /// What is around the entities that were found, and the way from the first of them.
    fn finish(&self, cx: &Cx, search: &Search, found: &Starts) -> Result<SearchResults> {
        let from: Vec<Id> = found.0.iter().map(|(id, _)| *id).collect();
        let around = self.around(scope(cx), &from, search.depth, (search.most, FACTS))?;
        let path = match search.to.as_deref().map(str::trim).filter(|to| !to.is_empty()) {
            Some(to) => {
                let to = self.entity(cx, to)?.id;
                let Some(first) = from.first() else {
                    return Err(Error::not_found("nothing was found to begin the way at"));
                };
                self.path(scope(cx), *first, to)?
            }
            None => None,
        };
        let ids: Vec<Id> = around.entities.iter().map(|(id, _)| *id).collect();
        let distances: HashMap<Id, u32> = around.entities.into_iter().collect();
        let mut entities = vec![];
        for entry in self.entities.get_all_in(scope(cx), &ids)? {
            cx.taint(entry.label);
            let why = found.0.iter().find(|(id, _)| *id == entry.id).map_or("neighbour", |(_, why)| why);
            entities.push(entity_view(&entry, why, distances.get(&entry.id).copied().unwrap_or_default()));
        }
        let mut facts = self.views_for(cx, &around.facts, &search.at)?;
        facts.sort_by_key(|fact| !fact.current);
        let path = path.map(|path| self.views_for(cx, &path, &search.at)).transpose()?;
        Ok(SearchResults { entities, facts, truncated: around.truncated, path })
    }

    /// The entity with an id, a name or an alias.
    ///
    /// # Errors
    /// `NotFound`.
    pub(crate) fn entity(&self, cx: &Cx, which: &str) -> Result<Entry<EntityRecord>> {
        let found = match which.parse::<Id>() {
            Ok(id) => self.entities.get_in(scope(cx), id)?,
            Err(_) => self.exactly(cx, which)?.into_iter().next(),
        };
        found.ok_or_else(|| {
            let which: String = which.chars().take(80).collect();
            Error::not_found(format!(
                "there is no entity `{which}` in the graph: search for it, or add a fact about it"
            ))
            .say(format!("I know nothing about “{which}”."))
        })
    }

    /// The entities with exactly this name or alias.
    fn exactly(&self, cx: &Cx, name: &str) -> Result<Vec<Entry<EntityRecord>>> {
        let name = if is_self(name) { SELF } else { name };
        let by = Some((BY_NAME, order::text(name)));
        let mut found = self.entities.list_in(scope(cx), &Listing { by, ..Listing::default() })?;
        found.sort_by_key(|entry| (entry.value.name.to_lowercase() != name.to_lowercase(), entry.id));
        Ok(found)
    }

    /// The entities whose names are in a question, the longest name first.
    fn named(&self, cx: &Cx, question: &str) -> Result<Vec<Entry<EntityRecord>>> {
        let clean = |word: &str| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric()).replace('’', "'");
            word.strip_suffix("'s").map_or(word.clone(), str::to_owned)
        };
        let words: Vec<String> =
            question.split_whitespace().map(clean).filter(|word| !word.is_empty()).take(60).collect();
        let (mut found, mut used): (Vec<Entry<EntityRecord>>, Vec<bool>) = (vec![], vec![false; words.len()]);
        for length in (1..=NAME_WORDS.min(words.len())).rev() {
            for start in 0..=words.len() - length {
                if used[start..start + length].iter().any(|used| *used) {
                    continue;
                }
                let name = words[start..start + length].join(" ");
                // "me" is said of much that is not about the person.
                let entries = if is_self(&name) && words.len() > 1 { vec![] } else { self.exactly(cx, &name)? };
                if !entries.is_empty() {
                    used[start..start + length].fill(true);
                    found.extend(entries);
                }
            }
        }
        Ok(found)
    }

    /// The entities that a question's words are in, or whose facts they are in.
    fn by_words(&self, cx: &Cx, question: &str) -> Result<Vec<Entry<EntityRecord>>> {
        let meant = |word: &&str| word.chars().count() > 2 && !COMMON.contains(&word.to_lowercase().as_str());
        let words: Vec<&str> = question.split(|c: char| !c.is_alphanumeric()).filter(meant).take(8).collect();
        let mut hits: HashMap<Id, usize> = HashMap::new();
        for word in &words {
            let (wanted, lower) = (Words::all(word), word.to_lowercase());
            let is_in =
                |text: String| text.to_lowercase().split(|c: char| !c.is_alphanumeric()).any(|other| other == lower);
            let mut each = vec![];
            let keep = |entry: &Entry<EntityRecord>| match is_in(store::Record::words(&entry.value)) {
                true => Visit::Yes,
                false => Visit::No,
            };
            each.extend(
                self.entities
                    .search(cx, &Walk::prefix(ALL, []), Some(&wanted), keep)?
                    .into_iter()
                    .map(|entry| entry.id),
            );
            let keep = |fact: &Entry<crate::records::FactRecord>| match is_in(store::Record::words(&fact.value)) {
                true => Visit::Yes,
                false => Visit::No,
            };
            let facts = self.facts.search(cx, &Walk::prefix(crate::records::ALL_FACTS, []), Some(&wanted), keep)?;
            each.extend(facts.iter().map(|fact| fact.value.subject));
            each.sort_unstable();
            each.dedup();
            each.into_iter().for_each(|id| *hits.entry(id).or_default() += 1);
        }
        let mut best: Vec<(usize, Id)> = hits.into_iter().map(|(id, count)| (count, id)).collect();
        best.sort_by(|a, b| b.cmp(a));
        // Those that have most of the words.
        let most = best.first().map_or(0, |(count, _)| *count);
        let ids: Vec<Id> = best.into_iter().filter(|(count, _)| *count == most).map(|(_, id)| id).take(FOUND).collect();
        Ok(self.entities.get_all_in(scope(cx), &ids)?)
    }
}

/// Words of questions that say nothing about what is asked for.
const COMMON: &[&str] = &[
    "who", "what", "where", "when", "how", "which", "does", "the", "and", "are", "was", "for", "with", "about", "know",
    "tell", "his", "her", "our", "your", "their", "that", "this", "has", "have", "from", "you", "all", "can", "did",
    "name", "wer", "was", "der", "die", "das", "ist", "und", "que", "quien", "qui", "est", "les", "los", "las",
];
