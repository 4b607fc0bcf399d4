//! The profile as text for a model, within bounds.

use super::entry::{ProfileSection, Stored};
use text_kit::one_line;

/// The most characters of the profile, and of the instructions, in a prompt.
const PROFILE: usize = 1_500;
const INSTRUCTIONS: usize = 2_000;

/// The parts of a profile in a prompt; empty without one.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ProfileText {
    /// Lines about the person.
    pub about: String,
    /// Their standing instructions, one a line.
    pub instructions: String,
}

pub(crate) fn prompt_text<'a>(all: impl Iterator<Item = &'a Stored>) -> ProfileText {
    let all: Vec<&Stored> = all.collect();
    let of = |section: ProfileSection| all.iter().filter(move |entry| entry.section == section);
    let mut lines = vec![];
    for section in [ProfileSection::Identity, ProfileSection::Style] {
        for (key, label) in section.keys() {
            let found = of(section).find(|entry| entry.key == *key);
            lines.extend(found.map(|entry| format!("- {label}: {}", one_line(&entry.value))));
        }
    }
    let lists = [
        ("prefers", ProfileSection::Preferences),
        ("facts", ProfileSection::Facts),
        ("interests", ProfileSection::Interests),
        ("goals", ProfileSection::Goals),
    ];
    for (label, section) in lists {
        // The newest first: where there is no room for all, these are left.
        lines.extend(of(section).rev().map(|entry| format!("- {label}: {}", one_line(&entry.value))));
    }
    let instructions = of(ProfileSection::Instructions).map(|entry| format!("- {}", one_line(&entry.value)));
    ProfileText { about: within(lines, PROFILE), instructions: within(instructions.collect(), INSTRUCTIONS) }
}

/// As many whole lines as fit.
fn within(lines: Vec<String>, most: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    for line in lines {
        length += line.chars().count() + 1;
        if length > most {
            break;
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&line);
    }
    text
}
