//! Pages to Markdown: the text of each, and the CPU time of one.

use crate::{Result, Watch};
use html_text::{Options, markdown};
use serde_json::{Value, json};
use std::{hint::black_box, path::Path};

/// Converts the pages of a JSON list `rounds` times.
///
/// # Errors
/// When the file is no such list.
pub fn measure(rounds: usize, file: &Path) -> Result<Value> {
    let pages: Vec<String> = serde_json::from_str(&std::fs::read_to_string(file)?)?;
    let convert = |page: &String| markdown(page, None, Options { main_only: true, max_chars: usize::MAX }).markdown;
    let texts: Vec<String> = pages.iter().map(convert).collect();
    let watch = Watch::start();
    for _ in 0..rounds {
        for page in &pages {
            black_box(convert(black_box(page)));
        }
    }
    let each = watch.cpu_ms() / (rounds * pages.len()) as f64;
    Ok(json!({"hob": {"texts": texts, "cpuMs": each}}))
}
