//! The names of the documents and the purpose of each.

use documents::{AgentType, ContextFile};
use tool::{Error, Result};

/// A document of the agent's persona.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    /// How the agent behaves.
    SystemPrompt,
    /// Facts that the agent learned.
    LearnedNotes,
    /// `SOUL.md`
    Soul,
    /// `IDENTITY.md`
    Identity,
    /// `AGENTS.md`
    Agents,
    /// `TOOLS.md`
    Tools,
    /// `USER.md`
    User,
    /// `BOOTSTRAP.md`
    Bootstrap,
    /// `MEMORY.md`
    Memory,
    /// `TEAM.md`
    Team,
}

impl Name {
    /// All documents in display order.
    pub const ALL: [Name; 10] = [
        Name::SystemPrompt,
        Name::LearnedNotes,
        Name::Soul,
        Name::Identity,
        Name::Agents,
        Name::Tools,
        Name::User,
        Name::Bootstrap,
        Name::Memory,
        Name::Team,
    ];

    /// The name in storage and URLs.
    pub fn word(self) -> &'static str {
        match self {
            Name::SystemPrompt => "system_prompt",
            Name::LearnedNotes => "learned_notes",
            Name::Soul => "SOUL.md",
            Name::Identity => "IDENTITY.md",
            Name::Agents => "AGENTS.md",
            Name::Tools => "TOOLS.md",
            Name::User => "USER.md",
            Name::Bootstrap => "BOOTSTRAP.md",
            Name::Memory => "MEMORY.md",
            Name::Team => "TEAM.md",
        }
    }

    /// The name for people.
    pub fn title(self) -> &'static str {
        match self {
            Name::SystemPrompt => "System prompt",
            Name::LearnedNotes => "Learned notes",
            Name::Soul => "Soul",
            Name::Identity => "Identity",
            Name::Agents => "Other agents",
            Name::Tools => "Use of tools",
            Name::User => "About you",
            Name::Bootstrap => "First steps",
            Name::Memory => "Long memory",
            Name::Team => "Team",
        }
    }

    /// Its purpose, in a sentence for people.
    pub fn about(self) -> &'static str {
        match self {
            Name::SystemPrompt => "How Hob behaves: its role and its rules.",
            Name::LearnedNotes => "What Hob has learned about the household; Hob writes this itself.",
            Name::Soul => "Its character and tone.",
            Name::Identity => "Its name and what it is.",
            Name::Agents => "The other agents and their tasks.",
            Name::Tools => "Notes about using tools here.",
            Name::User => "About you; each person has their own.",
            Name::Bootstrap => "First steps; empty it when they are done.",
            Name::Memory => "Always on Hob's mind; each person has their own.",
            Name::Team => "How a team works together; only for an agent that leads one.",
        }
    }

    /// The document of a context file.
    pub fn of_file(file: ContextFile) -> Self {
        match file {
            ContextFile::Soul => Name::Soul,
            ContextFile::Identity => Name::Identity,
            ContextFile::Agents => Name::Agents,
            ContextFile::Tools => Name::Tools,
            ContextFile::User => Name::User,
            ContextFile::Bootstrap => Name::Bootstrap,
            ContextFile::Memory => Name::Memory,
        }
    }

    /// Whether each person has their own version, which overrides the shared one.
    pub fn is_personal(self, of: AgentType) -> bool {
        ContextFile::ALL.into_iter().any(|file| Name::of_file(file) == self && of.is_personal(file))
    }

    /// Whether only an admin may change it, because all runs obey it. Anybody's runs write learned notes, which taint
    /// other readers instead.
    pub fn needs_admin(self, of: AgentType) -> bool {
        !self.is_personal(of) && self != Name::LearnedNotes
    }

    /// Parse a name.
    ///
    /// # Errors
    /// `NotFound` with the valid names.
    pub fn of(word: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|name| name.word() == word).ok_or_else(|| {
            let words: Vec<&str> = Self::ALL.iter().map(|name| name.word()).collect();
            let word: String = word.chars().take(40).collect();
            Error::not_found(format!("there is no document `{word}`: there are {}", words.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_document_is_found_by_its_word() {
        for name in Name::ALL {
            assert_eq!(Name::of(name.word()), Ok(name));
            assert!(!name.title().is_empty() && name.about().ends_with('.'));
        }
        for file in ContextFile::ALL {
            assert_eq!(Name::of_file(file).word(), file.path());
        }
        let personal = |of| Name::ALL.into_iter().filter(|name| name.is_personal(of)).count();
        assert_eq!((personal(AgentType::Predefined), personal(AgentType::Open)), (2, 7));
        let why = Name::of("soul.md").unwrap_err().to_string();
        assert!(why.contains("no document `soul.md`") && why.contains("SOUL.md"), "{why}");
    }
}
