//! Names of models, compared past what changes: dates, `latest`, `preview`, tags.

/// Words at the end of a name that say which issue of a model is meant.
const ISSUES: [&str; 6] = ["latest", "preview", "exp", "experimental", "beta", "stable"];

/// A name without the date or the word for an issue at its end, in lower case, dots as dashes: `claude-haiku-4.5-20251001` is
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
        // A name that is nothing else is that name.
        if dated + issue == 0 || dated + issue >= parts.len() {
            return parts.join("-");
        }
        parts.truncate(parts.len() - dated - issue);
    }
}

/// Who makes a model, as OpenRouter calls them and as Hob does.
pub(super) fn vendor(name: &str) -> &str {
    match name {
        "x-ai" => "xai",
        "mistralai" => "mistral",
        "z-ai" => "zhipu",
        other => other,
    }
}

/// The provider of models.dev, as Hob calls it; `None` for those Hob has no preset for.
pub(super) fn provider(name: &str) -> Option<&'static str> {
    let ours = match name {
        "zhipuai" | "zai" => "zhipu",
        "togetherai" => "together",
        "fireworks-ai" => "fireworks",
        "llama-cpp" => "llamacpp",
        // Under its own name are the models of its chat completions, which ended.
        "perplexity-agent" => "perplexity",
        "perplexity" => return None,
        // Its models are rented.
        "ollama-cloud" => return None,
        other => other,
    };
    crate::presets::preset(ours).map(|preset| preset.id)
}
