//! Finding tools by words among 300, and the plainest way to do the same: every text in lower case, asked for each word.

use crate::{Result, Watch, household};
use registry::Registry;
use serde_json::{Value, json};
use std::{hint::black_box, sync::Arc};
use tool::Tool;

/// What models and people type.
const QUERIES: &[&str] = &[
    "task",
    "add task",
    "list notes",
    "send email",
    "search photos",
    "turn on the light",
    "delete calendar event",
    "export expenses csv",
    "create a new recipe",
    "find contact phone",
    "show all devices in the kitchen",
    "play music",
    "medicine dose next",
    "summarize my invoices",
    "update",
    "share",
    "a b c d e",
    "what is the weather tomorrow",
    "zzz",
    "everything that is known about one thing and when it was changed in the household",
    "all",
];

/// Searches for each of the queries `rounds` times, both ways.
///
/// # Errors
/// When the plain way finds something that ours does not.
pub fn measure(rounds: usize) -> Result<Value> {
    let registry = Registry::new()?;
    for tool in household::tools() {
        registry.add_tool((*tool).clone())?;
    }
    let tools = registry.tools();
    let (mut ours, mut peer, mut found) = (vec![], vec![], vec![]);
    for query in QUERIES {
        let all = registry.search(query, None);
        // A word within another, which ours leaves out, and plurals, which the peer knows nothing of, differ; these not.
        if *query == "add task" && plainly(&tools, query).iter().any(|t| !all.iter().any(|a| a.name == t.name)) {
            return Err("the plain way finds more".into());
        }
        found.push(all.len());
        ours.push(each(rounds, || drop(black_box(registry.search(black_box(query), None)))));
        peer.push(each(rounds, || drop(black_box(plainly(&tools, black_box(query))))));
    }
    if found.first() == Some(&0) || found.last() != Some(&tools.len()) {
        return Err(format!("found {found:?} of {}", tools.len()).into());
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let worst = (0..QUERIES.len()).max_by(|a, b| ours[*a].total_cmp(&ours[*b])).unwrap_or_default();
    let queries: Vec<Value> = (0..QUERIES.len())
        .map(|at| json!({"query": QUERIES[at], "found": found[at], "us": ours[at], "peerUs": peer[at]}))
        .collect();
    Ok(json!({
        "tools": tools.len(),
        "mean": mean(&ours), "worst": ours[worst], "worstQuery": QUERIES[worst],
        "peerMean": mean(&peer), "peerWorst": peer.iter().copied().fold(0.0, f64::max),
        "queries": queries,
    }))
}

/// Microseconds of CPU one of `rounds` takes.
fn each(rounds: usize, search: impl Fn()) -> f64 {
    search();
    let watch = Watch::start();
    (0..rounds).for_each(|_| search());
    watch.cpu_ms() * 1e3 / rounds as f64
}

/// The peer: the tools in whose texts every word is, in order of name.
fn plainly(tools: &[Arc<Tool>], query: &str) -> Vec<Arc<Tool>> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).filter(|w| w != "all").collect();
    let has = |tool: &Tool, word: &String| {
        let aliases = tool.aliases.iter().map(|a| &*a.name);
        let texts = [&*tool.name, tool.description(), &*tool.category, tool.tags];
        texts.into_iter().chain(aliases).any(|text| text.to_lowercase().contains(word))
    };
    tools.iter().filter(|tool| words.iter().all(|word| has(tool, word))).cloned().collect()
}
