//! Which documents there are, and what each is for.

use tool::{Error, Result};

/// A document that makes an agent what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Name {
    /// How the agent behaves.
    SystemPrompt,
    /// What it has learnt.
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
    /// All of them, in the order they are listed.
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

    /// The word it is known by: part of the stored form and of addresses.
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

    /// What people call it.
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

    /// What stands in it, in a sentence for people.
    pub fn about(self) -> &'static str {
        match self {
            Name::SystemPrompt => "How Hob behaves: who it is, and what it does when.",
            Name::LearnedNotes => "What Hob has learnt about the household; it writes this itself.",
            Name::Soul => "Its character and tone.",
            Name::Identity => "Its name and what it is.",
            Name::Agents => "Which other agents there are, and what each is for.",
            Name::Tools => "What it should know about using its tools here.",
            Name::User => "What Hob should know about you; each person has their own.",
            Name::Bootstrap => "What it does first, until that is done; empty it then.",
            Name::Memory => "What it should always have in mind; each person has their own.",
            Name::Team => "How a team works together; only told to an agent that leads one.",
        }
    }

    /// Whether each person has their own, in the place of what is there for everybody.
    pub fn is_personal(self) -> bool {
        matches!(self, Name::User | Name::Memory)
    }

    /// Whether only an admin may change it: everybody's runs obey it. What is learnt comes from everybody, and taints
    /// others instead.
    pub fn needs_admin(self) -> bool {
        !self.is_personal() && self != Name::LearnedNotes
    }

    /// The document of that word.
    ///
    /// # Errors
    /// `NotFound`, with the words there are.
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
        let why = Name::of("soul.md").unwrap_err().to_string();
        assert!(why.contains("no document `soul.md`") && why.contains("SOUL.md"), "{why}");
    }
}
