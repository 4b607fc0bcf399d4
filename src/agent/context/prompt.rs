//! The system prompt: reads documents, memories and goals that fit the message; `persona` composes them.

use super::{ContextRequest, topics::words};
use crate::agent::Agent;
use documents::{Hit, SearchQuery};
use llm::Provider;
use memory::Filter;
use persona::{
    Name,
    prompt::{ConversationState, Prompt, Sections, compose, time},
};
use scrub::How;
use std::{collections::BTreeMap, sync::Arc};
use text_kit::{prefix, truncate};
use tool::{Cx, Owner, Tool};
use tools_data::ActiveGoal;

/// Maximum number of memories, the same for small contexts, and their minimum similarity.
const MEMORIES: usize = 5;
const FEW_MEMORIES: usize = 2;
const MEMORY_SCORE: f32 = 0.26;
/// Maximum number of passages of documents, their length in characters, their minimum score, and the length of the query.
const PASSAGES: usize = 2;
const PASSAGE: usize = 400;
const PASSAGE_SCORE: f32 = 0.5;
const QUERY: usize = 1000;
/// Size of a small context, in tokens.
const SMALL_CONTEXT: u32 = 8192;
/// Number of active goals considered, and maximum number in the prompt.
const GOALS_CONSIDERED: usize = 50;
const GOALS: usize = 3;

impl ContextRequest<'_> {
    /// Composes the system prompt for each run again, so that changes apply from the next run on.
    pub(super) async fn prompt(&self, state: ConversationState) -> String {
        let mut sections = self.agent.sections(self.cx, self.provider, self.text, self.may_call).await;
        self.instructions.clone_into(&mut sections.instructions);
        if let Some(id) = self.conversation.filter(|_| self.provider.reads_context()) {
            sections.of_conversation = self.agent.conversations.system_prompt(self.cx, id);
        }
        sections.conversation = state;
        self.agent.composed(&sections, self.provider).text
    }
}

impl Agent {
    pub(crate) fn composed(&self, sections: &Sections, provider: &dyn Provider) -> Prompt {
        let mut prompt = compose(sections, &self.config.sections.within(provider.facts().context));
        // Documents may contain secrets, or texts that became known as secrets later.
        prompt.text = self.parts.registry.scrubber().text(&prompt.text, How::Digests).into_owned();
        prompt
    }

    /// All sections except the conversation's. They taint the run.
    pub(crate) async fn sections(&self, cx: &Cx, provider: &dyn Provider, text: &str, tools: bool) -> Sections {
        let mut sections = Sections {
            tools,
            autonomy: self.parts.registry.autonomy(cx),
            time: format!("{} {}", time(&*cx.ports().clock), self.parts.documents.home()).trim_end().to_owned(),
            system: self.config.prompt.clone(),
            ..Sections::default()
        };
        if !provider.reads_context() {
            return sections;
        }
        self.read_documents(cx, &mut sections);
        let registry = &self.parts.registry;
        let tools = registry.tools();
        sections.categories = self.tool_categories(cx, &tools);
        let context = provider.facts().context;
        let most = if context != 0 && context <= SMALL_CONTEXT { FEW_MEMORIES } else { MEMORIES };
        sections.memories = self.memories(cx, text, most).await;
        sections.memories.extend(self.passages(cx, text).await);
        sections.goals = self.goals(cx, text);
        for tool in tools.iter().filter(|tool| tool.plans_ahead || !tool.ability.is_empty()) {
            if !tool.enabled || !registry.may_ever(cx, tool) {
                continue;
            }
            if tool.plans_ahead {
                sections.automation.push(tool.name.to_string());
            }
            if !tool.ability.is_empty() && !sections.capabilities.contains(&tool.ability) {
                sections.capabilities.push(tool.ability);
            }
        }
        if tools.iter().any(|tool| &*tool.name == "use_skill" && tool.enabled && registry.may_ever(cx, tool)) {
            sections.skills = self.parts.skills.for_prompt(cx).await;
        }
        if tools.iter().any(|tool| &*tool.name == "read_file" && tool.enabled && registry.may_ever(cx, tool)) {
            sections.workspace = cx.workspace().map(|folder| folder.display().to_string()).unwrap_or_default();
            let others = self.parts.workspaces.folders(cx).into_iter().skip(1);
            sections.places = others.map(|folder| format!("{}:/", folder.id)).collect();
        }
        if tools.iter().any(|tool| &*tool.name == "credentialed_exec" && tool.enabled && registry.may_ever(cx, tool)) {
            sections.programs = (self.program_tips)(cx);
        }
        sections
    }

    /// The categories of the tools this caller may use, the largest first. Anybody may write the category of a custom tool, so it
    /// is not part of the instructions.
    fn tool_categories(&self, cx: &Cx, tools: &[Arc<Tool>]) -> Vec<String> {
        let registry = &self.parts.registry;
        let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in tools.iter().filter(|t| t.enabled && t.owner == Owner::Core) {
            if !registry.may_ever(cx, tool) {
                continue;
            }
            *sizes.entry(&tool.category).or_default() += 1;
        }
        let mut categories: Vec<(&str, usize)> = sizes.into_iter().collect();
        categories.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        categories.into_iter().map(|(category, _)| category.to_owned()).collect()
    }

    fn read_documents(&self, cx: &Cx, sections: &mut Sections) {
        let documents = &self.parts.documents;
        let text = |name: Name| {
            documents.read(cx, name).map(|document| document.text).unwrap_or_else(|error| {
                tracing::warn!(%error, document = name.word(), "a document could not be read for the prompt");
                String::new()
            })
        };
        let written = text(Name::SystemPrompt);
        if !written.is_empty() {
            sections.system = written;
        }
        sections.identity = text(Name::Identity);
        sections.soul = text(Name::Soul);
        sections.bootstrap = text(Name::Bootstrap);
        sections.notes = text(Name::LearnedNotes);
        sections.user = text(Name::User);
        (sections.profile, sections.standing) = documents.profile_text(cx);
        sections.memory = text(Name::Memory);
        sections.agents = text(Name::Agents);
        sections.tool_notes = text(Name::Tools);
        // TEAM.md is for the leader of a team, and there is only the general agent so far.
    }

    /// Memories related to this message.
    async fn memories(&self, cx: &Cx, text: &str, most: usize) -> Vec<String> {
        if text.trim().is_empty() {
            return vec![];
        }
        // Memories from outside are left out: they would taint every run they resemble.
        let filter = Filter { limit: most, least: MEMORY_SCORE, own: true, ..Filter::default() };
        match self.parts.memories.recall(cx, text, filter).await {
            Ok(found) => found.hits.into_iter().map(|h| h.memory.content).collect(),
            Err(error) => {
                tracing::warn!(%error, "memory could not be searched for the prompt");
                vec![]
            }
        }
    }

    /// Passages of memory documents related to this message. MEMORY.md is in the prompt as a whole.
    async fn passages(&self, cx: &Cx, text: &str) -> Vec<String> {
        let text = prefix(text.trim(), QUERY);
        if text.is_empty() {
            return vec![];
        }
        // As with memories, those from outside are left out.
        let query =
            SearchQuery { text: text.to_owned(), limit: PASSAGES, least: PASSAGE_SCORE, own: true, memory_file: false };
        match self.parts.files.search(cx, query).await {
            Ok(found) => {
                let line =
                    |hit: Hit| format!("{} (from {}, line {})", truncate(&hit.snippet, PASSAGE), hit.path, hit.lines.0);
                found.hits.into_iter().map(line).collect()
            }
            Err(error) => {
                tracing::warn!(%error, "memory documents could not be searched for the prompt");
                vec![]
            }
        }
    }

    /// Active goals related to this message.
    fn goals(&self, cx: &Cx, text: &str) -> Vec<String> {
        match tools_data::active_goals(self.conversations.lines.store(), cx, GOALS_CONSIDERED) {
            Ok(all) => relevant(&all, text),
            Err(error) => {
                tracing::warn!(%error, "goals could not be read for the prompt");
                vec![]
            }
        }
    }
}

/// Goals that share the most words with a message, the most important first among equals.
fn relevant(goals: &[ActiveGoal], text: &str) -> Vec<String> {
    let said = words(text);
    let shared = |goal: &ActiveGoal| {
        let own = words(&format!("{} {}", goal.title, goal.about));
        said.iter().filter(|word| own.iter().any(|other| alike(word, other))).count()
    };
    let mut fits: Vec<(usize, &ActiveGoal)> = goals.iter().map(|goal| (shared(goal), goal)).collect();
    fits.retain(|(count, _)| *count > 0);
    fits.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let told = |(_, goal): &(usize, &ActiveGoal)| match &goal.due {
        Some(due) => format!("{} (due {due})", goal.title),
        None => goal.title.clone(),
    };
    fits.iter().take(GOALS).map(told).collect()
}

/// Whether words are equal up to an ending: `boat`, `boats`.
fn alike(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|ending| ending.chars().count() <= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_are_told_where_they_have_to_do_with_the_message() {
        let goal = |title: &str, about: &str, due: Option<&str>| ActiveGoal {
            title: title.into(),
            about: about.into(),
            due: due.map(str::to_owned),
        };
        let goals = [
            goal("Row across the lake", "in one day", Some("2027-06-01")),
            goal("Learn Danish", "", None),
            goal("Sell the boat", "the old rowing boat", None),
            goal("Run a marathon", "", None),
            goal("Paint boats", "for the regatta", None),
        ];
        let rows: [(&str, &[&str]); 6] = [
            ("how far is it across that lake?", &["Row across the lake (due 2027-06-01)"]),
            ("is the boat sold?", &["Sell the boat", "Paint boats"]),
            ("boats for the regatta", &["Paint boats", "Sell the boat"]),
            ("what is the time?", &[]),
            ("ping", &[]),
            ("", &[]),
        ];
        for (text, told) in rows {
            assert_eq!(relevant(&goals, text), told, "{text}");
        }
        let many: Vec<ActiveGoal> = (0..9).map(|n| goal(&format!("boat {n}"), "", None)).collect();
        assert_eq!(relevant(&many, "boats").len(), GOALS);
    }
}
