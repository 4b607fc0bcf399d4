//! Model names, compared without dates, `latest`, `preview` and tags.

/// Release suffixes.
const ISSUES: [&str; 6] = ["latest", "preview", "exp", "experimental", "beta", "stable"];

/// A name in lower case without its date or release suffix, dots as dashes: `claude-haiku-4.5-20251001` becomes
/// `claude-haiku-4-5`.
pub(super) fn base(name: &str) -> String {
    let lower = name.to_lowercase().replace(['.', '@', '_'], "-");
    let mut parts: Vec<&str> = lower.split('-').collect();
    loop {
        let digits = parts.iter().rev().take_while(|p| !p.is_empty() && p.bytes().all(|b| b.is_ascii_digit())).count();
        let lengths: Vec<usize> = parts[parts.len() - digits..].iter().map(|p| p.len()).collect();
        let dated = match lengths[..] {
            [.., 4, 2, 2] => 3,
            [.., 2, 2] | [.., 2, 4] | [.., 4, 2] => 2,
            [.., 3 | 4 | 6 | 8] => 1,
            _ => 0,
        };
        let issue = usize::from(digits == 0 && parts.last().is_some_and(|last| ISSUES.contains(last)));
        // A name consisting only of such parts stays as it is.
        if dated + issue == 0 || dated + issue >= parts.len() {
            return parts.join("-");
        }
        parts.truncate(parts.len() - dated - issue);
    }
}

/// Maps OpenRouter's vendor names to Hob's.
pub(super) fn vendor(name: &str) -> &str {
    match name {
        "x-ai" => "xai",
        "mistralai" => "mistral",
        "z-ai" => "zhipu",
        other => other,
    }
}

/// Maps a models.dev provider to Hob's; `None` if Hob has no preset for it.
pub(super) fn provider(name: &str) -> Option<&'static str> {
    let ours = match name {
        "zhipuai" | "zai" => "zhipu",
        "togetherai" => "together",
        "fireworks-ai" => "fireworks",
        "llama-cpp" => "llamacpp",
        // Its own name lists models of the retired chat completions API.
        "perplexity-agent" => "perplexity",
        "perplexity" => return None,
        // Hosted models, not local ones.
        "ollama-cloud" => return None,
        other => other,
    };
    crate::presets::preset(ours).map(|preset| preset.id)
}
