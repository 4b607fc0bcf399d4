//! Words an error for people: errors are written for the model or program that made the call, and may name tools, parameters
//! and ids. A tool that knows better gives a sentence of its own (`tool::Error::say`).

use text_kit::{capitalized, end_sentence};

/// Where nothing is left that a person can use.
pub(crate) const NO_REASON: &str = "That did not work. Say it in other words, or say “help”.";

/// The clauses of an error that a person can use, as sentences.
pub(crate) fn for_people(error: &str) -> String {
    // What `use_tool` adds for models.
    let plain = without_causes(&quoted(error.split("\nParameters of ").next().unwrap_or_default()));
    let mut out = String::new();
    for (clause, end) in clauses(&plain) {
        if is_technical(clause) {
            // What follows says more about it.
            if end == ":" || end == ";" || end == "," {
                continue;
            }
            break;
        }
        out.push_str(clause);
        out.push_str(end);
        if !end.is_empty() {
            out.push(' ');
        }
    }
    let out = out.trim_end().trim_end_matches([':', ';', ',']).trim();
    if out.is_empty() { NO_REASON.to_owned() } else { capitalized(&end_sentence(out)) }
}

/// Values in backticks are quoted as people do; names of tools and parameters keep their backticks.
fn quoted(text: &str) -> String {
    let mut out = String::new();
    for (i, part) in text.split('`').enumerate() {
        match i % 2 {
            0 => out.push_str(part),
            _ if part.contains(' ') && !part.contains('_') || is_address_or_file(part) || is_value(&out) => {
                out.push_str(&format!("“{part}”"))
            }
            _ => out.push_str(&format!("`{part}`")),
        }
    }
    out
}

/// Whether a value follows, and no name of a tool or parameter: "there is no table …", "there is no …".
fn is_value(before: &str) -> bool {
    let words: Vec<&str> = before.split_whitespace().rev().take(3).collect();
    matches!(words[..], [_, "no", "is"] | ["no", "is", "there"])
}

/// `example.org`, `report.pdf`, `letters/May 3.md`: no name of a tool or parameter has such a mark within it.
fn is_address_or_file(part: &str) -> bool {
    let inside = part.get(1..part.len().saturating_sub(1)).unwrap_or_default();
    let is_path = inside.contains(['.', '/']) && !part.starts_with("/api/");
    is_path && (part.starts_with("http") || !part.contains(['[', '{', '(', '=', '<']))
}

/// A text without what the system says in parentheses: "(failed to lookup address information: Name or service not known)".
fn without_causes(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, inside)) = rest.split_once(" (") {
        out.push_str(before);
        match inside.split_once(')') {
            Some((cause, after)) if cause.contains(": ") || cause.contains("os error") => {
                rest = after.trim_start_matches(')');
            }
            _ => {
                out.push_str(" (");
                rest = inside;
            }
        }
    }
    out + rest
}

/// The clauses of a text, each with the mark that ends it; marks within quotes and parentheses end none.
fn clauses(text: &str) -> Vec<(&str, &str)> {
    let (mut all, mut begin, mut depth) = (vec![], 0, 0_i32);
    for (at, c) in text.char_indices() {
        match c {
            '“' | '(' => depth += 1,
            '”' | ')' => depth = (depth - 1).max(0),
            ':' | ';' | '.' | '?' | '!' if depth == 0 => {
                let rest = &text[at + 1..];
                if rest.starts_with(' ') || rest.is_empty() {
                    all.push((text[begin..at].trim(), &text[at..=at]));
                    begin = at + 1;
                }
            }
            _ => {}
        }
    }
    if !text[begin..].trim().is_empty() {
        all.push((text[begin..].trim(), ""));
    }
    all
}

/// Whether a clause names a tool, a parameter or an id, or is JSON.
fn is_technical(clause: &str) -> bool {
    let outside: String = clause.split('“').map(|part| part.rsplit('”').next().unwrap_or_default()).collect();
    let words = outside.split(|c: char| c.is_whitespace() || ",()".contains(c));
    let for_models = ["do not try again", "go on without it"].iter().any(|told| clause.contains(told));
    for_models || clause.contains('`') || clause.contains(['{', '}']) || words.into_iter().any(is_code)
}

/// `task_id`, `taskId`, `PT10M`, `01a20738-f801-7003-9e7e-c43fda7f3e9a`.
fn is_code(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric());
    let camel =
        word.chars().zip(word.chars().skip(1)).filter(|(a, b)| a.is_lowercase() && b.is_uppercase()).count() > 0;
    let duration = word.strip_prefix("PT").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let id = word.len() == 36 && word.matches('-').count() == 4;
    word.contains('_') || camel && !word.starts_with(char::is_uppercase) || duration || id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_lose_what_only_a_program_can_use() {
        for (error, said) in [
            (
                "there is no task `fly to the moon`: `list_tasks` shows what there is, with ids",
                "There is no task “fly to the moon”.",
            ),
            ("there is no table `films`: `list_custom_tables` shows tables", "There is no table “films”."),
            ("pizza timer is ringing: stop it, or snooze it", "Pizza timer is ringing: stop it, or snooze it."),
            (
                "the disk is full: free some space. Hob goes on by itself",
                "The disk is full: free some space. Hob goes on by itself.",
            ),
            (
                "the title is longer than 300 characters: shorten it",
                "The title is longer than 300 characters: shorten it.",
            ),
            ("`taskId` is missing: give an id or a name", "Give an id or a name."),
            ("taskId is missing", NO_REASON),
            ("call list_tasks with limit", NO_REASON),
            ("2 fit: a (01a20738-f801-7003-9e7e-c43fda7f3e9a)", "2 fit."),
            ("`soon` is no duration: write it as PT10M", NO_REASON),
            ("no such thing\nParameters of x: {\"a\": 1}", "No such thing."),
            ("https://a.org/x?y=1 cannot be reached: try later", "https://a.org/x?y=1 cannot be reached: try later."),
            (
                "`example.org` cannot be reached (failed to lookup address information: Name or service not known): check \
                 the address and the network",
                "“example.org” cannot be reached: check the address and the network.",
            ),
            (
                "`10.0.0.7` cannot be reached (Connection refused (os error 111)): check the address and the network",
                "“10.0.0.7” cannot be reached: check the address and the network.",
            ),
            (
                "there is no `report.pdf`: list the folder to see its names",
                "There is no “report.pdf”: list the folder to see its names.",
            ),
            ("there is no `my_report.pdf`: say another", "There is no “my_report.pdf”: say another."),
            ("there is no `letters`: list the folder", "There is no “letters”: list the folder."),
            ("it starts at noon (see: the calendar of 3 May", "It starts at noon (see: the calendar of 3 May."),
            ("`tasks[0].title` is missing: give one", "Give one."),
            ("`/api/v1/tools` is for programs: look on the page", "Look on the page."),
            ("", NO_REASON),
        ] {
            assert_eq!(for_people(error), said, "{error}");
        }
    }
}
