//! Token scopes: the part of the API a token may use, never more than its role allows.

use crate::{Error, Result};

/// The token scope that a request needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenScope {
    /// None: every token is allowed.
    Any,
    /// Chat, runs, conversations, files, and the APIs of OpenAI and Ollama.
    Chat,
    /// Every tool, and custom tools. The scope `tool:NAME` allows running that one tool.
    Tools,
    /// The stream of events.
    Events,
    /// Answering approvals and questions.
    Approvals,
    /// The state of the device, its metrics and network.
    Device,
    /// People, tokens, sessions, settings and backups, and everything else.
    Admin,
}

impl TokenScope {
    const NAMED: [Self; 6] = [Self::Chat, Self::Tools, Self::Events, Self::Approvals, Self::Device, Self::Admin];

    /// The word in a token's scope.
    pub fn word(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Chat => "chat",
            Self::Tools => "tools",
            Self::Events => "events",
            Self::Approvals => "approvals",
            Self::Device => "device",
            Self::Admin => "admin",
        }
    }
}

/// The scopes of a token; empty allows everything its role does.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenScopes(Vec<String>);

impl TokenScopes {
    pub(crate) fn stored(words: Vec<String>) -> Self {
        Self(words)
    }

    /// Parses the words of a request: trimmed, in order, without repetition.
    ///
    /// # Errors
    /// `BadArgs` for an unknown word.
    pub fn parse(scope: &[String]) -> Result<Self> {
        let mut words: Vec<String> = vec![];
        for word in scope.iter().map(|w| w.trim()) {
            let one_tool = word.strip_prefix("tool:").is_some_and(|name| {
                !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            if !one_tool && !TokenScope::NAMED.iter().any(|known| known.word() == word) {
                let mut known: Vec<&str> = TokenScope::NAMED.iter().map(|scope| scope.word()).collect();
                known.push("tool:NAME");
                let word: String = word.chars().take(40).collect();
                return Err(Error::bad_args(format!("`{word}` is no scope: use `{}`", known.join("`, `"))));
            }
            if !words.iter().any(|w| w == word) {
                words.push(word.to_owned());
            }
        }
        Ok(Self(words))
    }

    pub fn words(&self) -> &[String] {
        &self.0
    }

    pub fn into_words(self) -> Vec<String> {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a request that needs `scope` is allowed.
    pub fn allows(&self, scope: TokenScope) -> bool {
        let has = |scope: TokenScope| self.0.iter().any(|word| word == scope.word());
        self.0.is_empty() || scope == TokenScope::Any || has(scope) || has(TokenScope::Admin)
    }

    /// Whether a `tool:NAME` scope names this tool. `canonical` resolves aliases.
    pub fn allows_tool(&self, tool: &str, canonical: impl Fn(&str) -> Option<String>) -> bool {
        let resolve = |name: &str| canonical(name).unwrap_or_else(|| name.to_owned());
        let tool = resolve(tool);
        self.0.iter().filter_map(|word| word.strip_prefix("tool:")).any(|named| resolve(named) == tool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(words: &[&str]) -> Result<TokenScopes> {
        TokenScopes::parse(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>())
    }

    #[test]
    fn scopes_are_parsed() {
        assert_eq!(scopes(&["chat", " chat", "tool:x_1"]).unwrap().words(), ["chat", "tool:x_1"]);
        for wrong in ["", "everything", "tool:", "tool:a b", "tool:NA-ME", "Chat"] {
            assert!(scopes(&[wrong]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_scope_allows_its_part_and_admin_everything() {
        for (words, needed, allowed) in [
            (&[][..], TokenScope::Admin, true),
            (&["chat"], TokenScope::Chat, true),
            (&["chat"], TokenScope::Any, true),
            (&["chat", "tools"], TokenScope::Approvals, false),
            (&["tool:gpio_write"], TokenScope::Tools, false),
            (&["admin"], TokenScope::Admin, true),
            (&["admin"], TokenScope::Chat, true),
            (&["admin"], TokenScope::Device, true),
        ] {
            assert_eq!(scopes(words).unwrap().allows(needed), allowed, "{words:?} {needed:?}");
        }
    }

    #[test]
    fn a_tool_scope_allows_one_tool_under_each_of_its_names() {
        let canonical = |name: &str| (name == "memory_store").then(|| "remember".to_owned());
        for (words, tool, allowed) in [
            (&["tool:gpio_write"][..], "gpio_write", true),
            (&["tool:gpio_write"], "use_tool", false),
            (&["tool:remember"], "memory_store", true),
            (&["tool:memory_store"], "remember", true),
            (&["chat"], "gpio_write", false),
        ] {
            assert_eq!(scopes(words).unwrap().allows_tool(tool, canonical), allowed, "{words:?} {tool}");
        }
    }
}
