//! What a token may be used for: the part of the house its scope names, never more than its role.

use crate::envelope::Failure;
use axum::http::Method;

/// The words of a scope, and what stands behind each.
pub(crate) const WORDS: &[(&str, &str)] = &[
    (
        "chat",
        "talking: chat, runs, conversations, files, and the doors for programs that speak OpenAI's or Ollama's API",
    ),
    ("tools", "every tool, and custom tools"),
    ("tool:NAME", "running this one tool"),
    ("events", "the stream of events"),
    ("approvals", "answering what Hob asks"),
    ("device", "how the device is, its metrics, and what is on the network"),
    ("admin", "people, tokens, sessions, settings and backups: with an admin's role that is everything"),
];

/// What a key may be used for; everything when no scope was given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Reach(Vec<String>);

impl Reach {
    pub fn of(scope: &[String]) -> Self {
        Self(scope.to_vec())
    }

    pub fn into_words(self) -> Vec<String> {
        self.0
    }

    /// A scope as somebody wrote it, in order and once each.
    ///
    /// # Errors
    /// 400 when a word is not known, with those that are.
    pub fn parse(scope: &[String]) -> Result<Vec<String>, Failure> {
        let mut words: Vec<String> = vec![];
        for word in scope.iter().map(|w| w.trim()) {
            let tool = word.strip_prefix("tool:").is_some_and(|name| {
                !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            });
            if !tool && !WORDS.iter().any(|(known, _)| *known == word && *known != "tool:NAME") {
                let known: Vec<String> = WORDS.iter().map(|(word, _)| format!("`{word}`")).collect();
                let word: String = word.chars().take(40).collect();
                let text = format!("`{word}` is no scope: use {}", known.join(", "));
                return Err(Failure::new(400, "bad_args", text));
            }
            if !words.iter().any(|w| w == word) {
                words.push(word.to_owned());
            }
        }
        Ok(words)
    }

    /// Whether a request may come in with this key. `canonical` gives a tool's own name for an alias.
    ///
    /// # Errors
    /// 403, with the scope that would be needed.
    pub fn check(
        &self,
        method: &Method,
        path: &str,
        canonical: impl Fn(&str) -> Option<String>,
    ) -> Result<(), Failure> {
        if self.0.is_empty() {
            return Ok(());
        }
        let needed = needed(method, path);
        let has = |word: &str| self.0.iter().any(|w| w == word);
        let one_tool = path.strip_prefix("/api/v1/tools/").and_then(|rest| {
            let name = rest.strip_suffix("/execute").unwrap_or(rest);
            let name = canonical(name).unwrap_or_else(|| name.to_owned());
            self.0.iter().find(|w| {
                w.strip_prefix("tool:")
                    .is_some_and(|allowed| allowed == name || canonical(allowed).is_some_and(|allowed| allowed == name))
            })
        });
        if needed.is_empty() || has(needed) || one_tool.is_some() {
            return Ok(());
        }
        let text = format!("this token was made for {}: make one with the scope `{needed}`", self.0.join(", "));
        Err(Failure::new(403, "out_of_scope", text))
    }
}

/// The word an address needs; none for what every key may ask.
fn needed(method: &Method, path: &str) -> &'static str {
    // Looking at the head of an answer is looking.
    let method = if *method == Method::HEAD { &Method::GET } else { method };
    let ours = path.strip_prefix("/api/v1");
    // What is not ours there is Ollama's.
    if ours.is_none() && path.starts_with("/api/") {
        return "chat";
    }
    let path = ours.unwrap_or(path);
    let first = path.trim_start_matches('/').split('/').next().unwrap_or_default();
    match first {
        "providers" if path == "/providers/estimate" => "chat",
        "session" | "openapi.json" => "",
        "chat" | "runs" | "conversations" | "files" | "v1" => "chat",
        "documents" | "prompt" if *method == Method::GET => "chat",
        "tools" | "custom-tools" | "tool-stats" => "tools",
        "tool-groups" | "autonomy" if *method == Method::GET => "tools",
        "approvals" | "grants" | "interactions" => "approvals",
        "config-services" if *method == Method::GET => "tools",
        "events" => "events",
        "metrics" => "device",
        "device" | "discover" | "model" | "models" | "usage" if *method == Method::GET => "device",
        _ => "admin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table() {
        let canonical = |name: &str| (name == "memory_store").then(|| "remember".to_owned());
        let rows = [
            ("", "POST", "/api/v1/backup", true),
            ("chat", "POST", "/api/v1/chat", true),
            ("chat", "GET", "/v1/models", true),
            ("chat", "POST", "/api/chat", true),
            ("chat", "GET", "/api/tags", true),
            ("tools", "POST", "/api/generate", false),
            ("admin", "POST", "/api/chat", false),
            ("chat", "GET", "/api/v1/conversations/x", true),
            ("chat", "GET", "/api/v1/session", true),
            ("chat", "POST", "/api/v1/providers/estimate", true),
            ("chat", "PUT", "/api/v1/providers/openai", false),
            ("chat", "POST", "/api/v1/tools/gpio_write/execute", false),
            ("chat", "GET", "/api/v1/device", false),
            ("tools", "POST", "/api/v1/tools/gpio_write/execute", true),
            ("tools", "PATCH", "/api/v1/custom-tools/x", true),
            ("tools", "GET", "/api/v1/config-services/x", true),
            ("tools", "PUT", "/api/v1/config-services/x", false),
            ("tools", "GET", "/api/v1/events", false),
            ("tool:gpio_write", "POST", "/api/v1/tools/gpio_write/execute", true),
            ("tool:gpio_write", "GET", "/api/v1/tools/gpio_write", true),
            ("tool:gpio_write", "POST", "/api/v1/tools/use_tool/execute", false),
            ("tool:gpio_write", "GET", "/api/v1/tools", false),
            ("tool:remember", "POST", "/api/v1/tools/memory_store/execute", true),
            ("tool:memory_store", "POST", "/api/v1/tools/remember/execute", true),
            ("chat tools", "POST", "/api/v1/approvals/x/decide", false),
            ("approvals", "POST", "/api/v1/approvals/x/decide", true),
            ("tools", "PUT", "/api/v1/tool-groups/git", false),
            ("tools", "GET", "/api/v1/tools/gpio_write/explain", true),
            ("device events", "GET", "/api/v1/device", true),
            ("device", "HEAD", "/api/v1/device", true),
            ("device", "GET", "/metrics", true),
            ("device", "HEAD", "/metrics", true),
            ("chat", "GET", "/metrics", false),
            ("device events", "PATCH", "/api/v1/device", false),
            ("device events", "GET", "/api/v1/events", true),
            ("device events", "GET", "/api/v1/tokens", false),
            ("admin", "GET", "/api/v1/tokens", true),
            ("admin", "PUT", "/api/v1/model", true),
            ("admin", "GET", "/api/v1/whatever", true),
        ];
        for (scope, method, path, allowed) in rows {
            let reach = Reach(scope.split_whitespace().map(str::to_owned).collect());
            let method = method.parse().unwrap();
            assert_eq!(reach.check(&method, path, canonical).is_ok(), allowed, "{scope} {method} {path}");
        }
    }

    #[test]
    fn scopes_are_checked_when_they_are_given() {
        let parse = |words: &[&str]| Reach::parse(&words.iter().map(|w| w.to_string()).collect::<Vec<_>>());
        assert_eq!(parse(&["chat", " chat", "tool:x_1"]).unwrap(), ["chat", "tool:x_1"]);
        for wrong in ["", "everything", "tool:", "tool:a b", "tool:NA-ME", "Chat"] {
            assert!(parse(&[wrong]).is_err(), "{wrong}");
        }
    }
}
