//! The catalogue: tools by name and alias, found by words.

use serde::Serialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use tool::{
    Error, Result, Risk, Tool,
    prelude::{JsonSchema, schemars},
};

/// How near a name must be to be suggested (Jaro–Winkler, 0 to 1).
const NEAR: f64 = 0.75;

/// A tool as it is listed to people and programs.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    /// The canonical name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The parameters, as JSON Schema.
    pub parameters: Value,
    /// The heading it stands under.
    pub category: String,
    /// The family it belongs to.
    pub group: String,
    /// The worst it can do.
    pub risk: Risk,
    /// Whether a person should be asked first.
    pub requires_confirmation: bool,
    /// Other names it answers to.
    pub aliases: Vec<String>,
    /// Whether it can be called.
    pub enabled: bool,
}

impl From<&Tool> for Listed {
    fn from(tool: &Tool) -> Self {
        Self {
            name: tool.name.to_string(),
            description: tool.description.to_string(),
            parameters: tool.parameters.clone(),
            category: tool.category.to_string(),
            group: tool.group.to_string(),
            risk: tool.risk,
            requires_confirmation: tool.requires_confirmation,
            aliases: tool.aliases.iter().map(|a| a.name.to_string()).collect(),
            enabled: tool.enabled,
        }
    }
}

#[derive(Default)]
pub(crate) struct Catalogue {
    tools: BTreeMap<Arc<str>, Arc<Tool>>,
    aliases: HashMap<Arc<str>, Arc<str>>,
    pub phrases: Vec<&'static str>,
}

impl Catalogue {
    pub fn add_all(&mut self, tools: Vec<Tool>, phrases: &'static str) -> Result<()> {
        let mut names = std::collections::HashSet::new();
        for name in tools.iter().flat_map(|t| std::iter::once(&t.name).chain(t.aliases.iter().map(|a| &a.name))) {
            check_name(name)?;
            if self.get(name).is_some() || !names.insert(name.clone()) {
                return Err(Error::bad_args(format!("there is already a tool called `{name}`: choose another name")));
            }
        }
        for tool in tools {
            for alias in &tool.aliases {
                self.aliases.insert(alias.name.clone(), tool.name.clone());
            }
            self.tools.insert(tool.name.clone(), Arc::new(tool));
        }
        if !phrases.is_empty() {
            self.phrases.push(phrases);
        }
        Ok(())
    }

    pub fn remove(&mut self, group: &str, name: &str) -> bool {
        if self.tools.get(name).is_none_or(|t| *t.group != *group) {
            return false;
        }
        self.aliases.retain(|_, canonical| **canonical != *name);
        self.tools.remove(name).is_some()
    }

    pub fn get(&self, name: &str) -> Option<Arc<Tool>> {
        let canonical = self.aliases.get(name).map_or(name, |c| c);
        self.tools.get(canonical).cloned()
    }

    pub fn all(&self) -> Vec<Arc<Tool>> {
        self.tools.values().cloned().collect()
    }

    pub fn search(&self, query: &str, category: Option<&str>) -> Vec<Arc<Tool>> {
        let query = query.trim().to_lowercase();
        let words: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
        let everything = words.is_empty() || words == ["all"];
        let mut found: Vec<(u32, Arc<Tool>)> = self
            .tools
            .values()
            .filter(|t| category.is_none_or(|c| t.category.eq_ignore_ascii_case(c) || t.group.eq_ignore_ascii_case(c)))
            .filter_map(|t| if everything { Some((0, t.clone())) } else { score(t, &words).map(|s| (s, t.clone())) })
            .collect();
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        found.into_iter().map(|(_, t)| t).collect()
    }

    /// The three names nearest to one that does not exist.
    pub fn nearest(&self, name: &str, visible: impl Fn(&Tool) -> bool) -> Vec<String> {
        let mut near: Vec<(f64, &Arc<str>)> = self
            .tools
            .keys()
            .chain(self.aliases.keys())
            .filter(|known| self.get(known).is_some_and(|t| visible(&t)))
            .map(|known| (strsim::jaro_winkler(name, known), known))
            .filter(|(nearness, _)| *nearness >= NEAR)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0));
        near.into_iter().take(3).map(|(_, name)| format!("`{name}`")).collect()
    }
}

/// How well a tool fits all the words: a word in the name counts most; `None` when one is nowhere.
fn score(tool: &Tool, words: &[&str]) -> Option<u32> {
    let (name, about) = (tool.name.to_lowercase(), tool.description.to_lowercase());
    let category = tool.category.to_lowercase();
    words.iter().try_fold(0, |sum, word| {
        let stem = word.strip_suffix('s').filter(|s| s.len() > 2).unwrap_or(word);
        let hit = if name.split('_').any(|part| part == *word || part == stem) {
            8
        } else if name.contains(stem) || tool.aliases.iter().any(|a| a.name.contains(stem)) {
            5
        } else if tool.tags.iter().any(|t| t.starts_with(stem)) {
            4
        } else if about.contains(stem) {
            2
        } else if category.contains(stem) {
            1
        } else {
            return None;
        };
        Some(sum + hit)
    })
}

/// A letter, then letters, digits and underscores; 64 characters at most.
fn check_name(name: &str) -> Result<()> {
    let good = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if good {
        return Ok(());
    }
    let shown: String = name.chars().take(80).collect();
    Err(Error::bad_args(format!(
        "`{shown}` cannot be a tool's name: begin with a letter, then letters, digits and underscores, 64 at most"
    )))
}
