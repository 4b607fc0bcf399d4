//! Finds skills by words and by meaning, and lists them for a prompt.

use crate::{Manifest, Skill, Skills, off_thread};
use embed::Quantized;
use std::sync::PoisonError;
use text_kit::{fused, relevance, terms, truncate};
use tool::{Cx, Error, Label, Result};

/// The lowest score of a match.
const LEAST: f32 = 0.2;
/// The maximum length of a query, in characters.
const QUERY: usize = 2000;
/// With at most so many skills of together so many characters, a prompt lists them all.
const LISTED: usize = 15;
const LIST: usize = 3000;
/// The maximum length of a description in a prompt, in characters.
const LINE: usize = 250;
/// How many vectors are in memory.
const VECTORS: usize = 1000;

/// A skill that fits a query.
#[derive(Debug, Clone, PartialEq)]
pub struct Match {
    /// The skill.
    pub skill: Skill,
    /// 0 to 1.
    pub score: f32,
}

impl Skills {
    /// The usable skills that fit a query, best first. Those from outside taint the run.
    ///
    /// # Errors
    /// `BadArgs` when the query is empty; `Failed` when the data cannot be read.
    pub async fn search(&self, cx: &Cx, query: &str, limit: usize) -> Result<Vec<Match>> {
        let query = query.trim();
        if query.is_empty() || query.chars().count() > QUERY {
            return Err(Error::bad_args(format!("pass words to search for as `query`, {QUERY} characters at most")));
        }
        let usable: Vec<Skill> = self.list(cx).await?.into_iter().filter(|skill| skill.usable().is_some()).collect();
        let query_words = terms(query);
        let (usable, words) = off_thread(move || {
            let of = |skill: &Skill| skill.usable().map(|manifest| words_of(manifest, &skill.slug)).unwrap_or_default();
            let texts: Vec<Vec<String>> = usable.iter().map(of).collect();
            let texts: Vec<&[String]> = texts.iter().map(Vec::as_slice).collect();
            let words = relevance(&query_words, &texts);
            Ok((usable, words))
        })
        .await?;
        let meaning = if usable.is_empty() { None } else { self.vector(query, false).await };
        let mut found = vec![];
        for (skill, words) in usable.iter().zip(words) {
            let about = skill.usable().map(|manifest| about(manifest)).unwrap_or_default();
            let similarity = match &meaning {
                Some(query) => Some(self.vector(&about, true).await.map_or(0.0, |own| own.dot(query))),
                None => None,
            };
            let score = fused(words, similarity);
            if score >= LEAST {
                found.push(Match { skill: skill.clone(), score });
            }
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        found.truncate(limit.max(1));
        found.iter().for_each(|found| cx.taint(found.skill.label()));
        Ok(found)
    }

    /// The vector of a text; `None` without the model. Those of skills stay in memory.
    async fn vector(&self, text: &str, keep: bool) -> Option<Quantized> {
        let key = *blake3::hash(text.as_bytes()).as_bytes();
        let known = self.vectors.lock().unwrap_or_else(PoisonError::into_inner).get(&key).cloned();
        if known.is_some() {
            return known;
        }
        let embedded = match keep {
            true => self.embedder.embed_quantized(text).await,
            false => self.embedder.embed_query_quantized(text).await,
        };
        match embedded {
            Ok(vector) => {
                let mut vectors = self.vectors.lock().unwrap_or_else(PoisonError::into_inner);
                if vectors.len() >= VECTORS {
                    vectors.clear();
                }
                if keep {
                    vectors.insert(key, vector.clone());
                }
                Some(vector)
            }
            Err(error) => {
                tracing::warn!(%error, "skills are searched by words alone");
                None
            }
        }
    }

    /// The skills for a prompt: few are listed, many are searched. Those from outside are left out, because they would taint every
    /// run. Empty without skills.
    pub async fn for_prompt(&self, cx: &Cx) -> String {
        let all = self.list(cx).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "skills could not be read for the prompt");
            vec![]
        });
        let own = all.iter().filter(|skill| skill.label() == Label::Own);
        let lines: Vec<String> = own
            .filter_map(|skill| {
                let manifest = skill.usable()?;
                Some(format!("- {}: {}", skill.slug, truncate(&manifest.description, LINE)))
            })
            .collect();
        let text = lines.join("\n");
        match lines.len() {
            0 => String::new(),
            n if n > LISTED || text.chars().count() > LIST => format!(
                "There are {n} skills, instructions for particular tasks. Before such a task, find one with skill_search and read it with \
                 use_skill."
            ),
            _ => format!(
                "Skills are instructions for particular tasks. Before such a task, read the one that fits with use_skill:\n{text}"
            ),
        }
    }
}

/// Words a skill is found by; those of its name and tags count double.
fn words_of(manifest: &Manifest, slug: &str) -> Vec<String> {
    let tags = manifest.tags.join(" ");
    let head = format!("{} {} {tags}", manifest.name, slug.replace('-', " "));
    terms(&format!("{head} {head} {}", manifest.description))
}

fn about(manifest: &Manifest) -> String {
    format!("{}: {}", manifest.name, truncate(&manifest.description, 600))
}
