//! Phrasings the trainer learns from: `learn/*.en` (form: `learn/README.md`), and the templates of the phrase files.

use crate::{
    Error,
    pattern::Node,
    phrases::{self, Intent},
    slots::Kind,
};
use serde_json::{Map, Value};
use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

/// A part of a phrasing.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    /// A slot, with the value its writer chose; parts if a capture spans them.
    Slot {
        name: Option<String>,
        kind: Option<Kind>,
        value: Option<String>,
    },
    Capture(String, Vec<Part>),
    Choice {
        any: Vec<Vec<Part>>,
        optional: bool,
    },
}

/// A sentence as a person may phrase it.
#[derive(Debug, Clone)]
pub(super) struct Phrasing {
    pub tool: String,
    pub fixed: Map<String, Value>,
    pub parts: Vec<Part>,
    /// `lists.en:12`.
    pub place: String,
    /// Whether it comes from a template, of which one line has many sentences.
    pub template: bool,
}

/// The phrasings of a folder's files, in the order of their names.
///
/// # Errors
/// Every invalid line.
pub(super) fn folder(at: &Path, tools: &Tools) -> Result<Vec<Phrasing>, Vec<Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "en"));
    files.sort();
    let (mut all, mut wrong) = (vec![], vec![]);
    for path in files {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match read(&fs::read_to_string(&path).unwrap(), &name, tools) {
            Ok(phrasings) => all.extend(phrasings),
            Err(errors) => wrong.extend(errors),
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

/// The arguments of each tool, from its golden file; tools without one take any.
pub(super) struct Tools(BTreeMap<String, (BTreeSet<String>, BTreeSet<String>)>);

impl Tools {
    pub fn golden(folder: &Path) -> Self {
        let mut tools = BTreeMap::new();
        for entry in fs::read_dir(folder).unwrap() {
            let tool: Value = serde_json::from_str(&fs::read_to_string(entry.unwrap().path()).unwrap()).unwrap();
            let names = tool["parameters"]["properties"].as_object().into_iter().flat_map(|all| all.keys().cloned());
            let required = tool["parameters"]["required"].as_array().into_iter().flatten();
            let required = required.filter_map(|name| name.as_str().map(str::to_owned)).collect();
            tools.insert(tool["name"].as_str().unwrap().to_owned(), (names.collect(), required));
        }
        Self(tools)
    }

    /// The arguments a call needs; of a tool that is not built yet, none are known.
    pub fn required(&self, tool: &str) -> BTreeSet<String> {
        self.0.get(tool).map(|(_, required)| required.clone()).unwrap_or_default()
    }

    fn check<'a>(&self, tool: &str, mut names: impl Iterator<Item = &'a str>) -> Result<(), String> {
        let Some((known, _)) = self.0.get(tool).filter(|(known, _)| !known.is_empty()) else { return Ok(()) };
        match names.find(|name| !known.contains(*name)) {
            Some(name) => Err(format!("`{tool}` has no argument `{name}`: it has {known:?}")),
            None => Ok(()),
        }
    }
}

/// Parses one file.
pub(super) fn read(text: &str, file: &str, tools: &Tools) -> Result<Vec<Phrasing>, Vec<Error>> {
    let (mut all, mut wrong, mut heading) = (vec![], vec![], None);
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut one = || -> Result<(), String> {
            if let Some(text) = line.strip_prefix('=') {
                heading = None;
                let (tool, fixed) = phrases::heading_of(text.trim())?;
                if tool.starts_with('/') && tool != super::NONE {
                    return Err("of the names with `/` only `/none` is trained".to_owned());
                }
                tools.check(&tool, fixed.keys().map(String::as_str))?;
                heading = Some((tool, fixed));
                return Ok(());
            }
            let (tool, fixed) = heading.clone().ok_or("a heading `= tool` must come first")?;
            let parts = parse(line)?;
            tools.check(&tool, names(&parts).iter().map(|(name, _)| name.as_str()))?;
            all.push(Phrasing { tool, fixed, parts, place: format!("{file}:{}", i + 1), template: false });
            Ok(())
        };
        if let Err(why) = one() {
            wrong.push(Error::Phrase { file: file.to_owned(), line: i + 1, text: line.to_owned(), why });
        }
    }
    if wrong.is_empty() { Ok(all) } else { Err(wrong) }
}

/// The named slots, with the kinds stated.
pub(super) fn names(parts: &[Part]) -> Vec<(String, Option<Kind>)> {
    parts.iter().fold(vec![], |mut all, part| {
        match part {
            Part::Text(_) | Part::Slot { name: None, .. } => {}
            Part::Slot { name: Some(name), kind, .. } => all.push((name.clone(), *kind)),
            Part::Capture(name, _) => all.push((name.clone(), Some(Kind::Text))),
            Part::Choice { any, .. } => any.iter().for_each(|branch| all.extend(names(branch))),
        }
        all
    })
}

/// Parses a line.
///
/// # Errors
/// What is wrong, in words.
pub(super) fn parse(line: &str) -> Result<Vec<Part>, String> {
    let chars: Vec<char> = line.chars().collect();
    let (parts, at) = sequence(&chars, 0, None)?;
    match chars.get(at) {
        None => Ok(parts),
        Some(c) => Err(format!("`{c}` has no beginning")),
    }
}

fn sequence(chars: &[char], mut at: usize, close: Option<char>) -> Result<(Vec<Part>, usize), String> {
    let mut parts: Vec<Part> = vec![];
    loop {
        match chars.get(at) {
            None => match close {
                Some(close) => return Err(format!("a `{close}` is missing")),
                None => return Ok((parts, at)),
            },
            Some(c @ ('(' | '[')) => {
                let close = if *c == '(' { ')' } else { ']' };
                let mut any = vec![];
                loop {
                    let (branch, end) = sequence(chars, at + 1, Some(close))?;
                    if branch.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty())) {
                        return Err("an alternative is empty: use `[…]` for what may be left out".to_owned());
                    }
                    any.push(branch);
                    at = end;
                    if chars.get(at) == Some(&close) {
                        break;
                    }
                }
                parts.push(Part::Choice { any, optional: *c == '[' });
                at += 1;
            }
            Some('|') if close.is_some() => return Ok((parts, at)),
            Some('|') => return Err("`|` stands outside of brackets".to_owned()),
            Some(c @ (')' | ']')) => {
                return if Some(*c) == close { Ok((parts, at)) } else { Err(format!("`{c}` has no beginning")) };
            }
            Some('}') => return Err("`}` has no beginning".to_owned()),
            Some('{') => {
                let end = (at..chars.len()).find(|i| chars[*i] == '}').ok_or("a `}` is missing")?;
                parts.push(slot(&chars[at + 1..end].iter().collect::<String>())?);
                at = end + 1;
            }
            Some(c) => {
                match parts.last_mut() {
                    Some(Part::Text(text)) => text.push(*c),
                    _ => parts.push(Part::Text(c.to_string())),
                }
                at += 1;
            }
        }
    }
}

fn slot(inner: &str) -> Result<Part, String> {
    let (name, value) = match inner.split_once('=') {
        Some((name, value)) => (name, Some(value.trim().to_owned())),
        None => (inner, None),
    };
    let (name, kind) = match name.split_once(':') {
        Some((name, kind)) => (name, Some(Kind::named(kind).ok_or_else(|| format!("`{kind}` is no kind of slot"))?)),
        None => (name, None),
    };
    if value.as_deref() == Some("") {
        return Err(format!("the value of `{name}` is empty"));
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name != "_" && (!name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fine)) {
        return Err(format!("`{name}` is no name for a slot"));
    }
    Ok(Part::Slot { name: (name != "_").then(|| name.to_owned()), kind, value })
}

/// The templates and examples of an intent as phrasings.
pub(super) fn of_intent(intent: &Intent) -> Vec<Phrasing> {
    let each = intent.templates.iter().map(|template| Phrasing {
        tool: intent.tool.clone(),
        fixed: intent.fixed.clone(),
        parts: of_nodes(&template.nodes),
        place: template.place.clone(),
        template: true,
    });
    each.collect()
}

fn of_nodes(nodes: &[Node]) -> Vec<Part> {
    let mut parts = vec![];
    for node in nodes {
        parts.push(match node {
            Node::Word(word) => Part::Text(word.clone()),
            Node::Slot { name, kind } => Part::Slot { name: name.clone(), kind: Some(*kind), value: None },
            Node::Capture { name, parts, .. } => Part::Capture(name.clone(), of_nodes(parts)),
            Node::Choice { any, optional } => {
                Part::Choice { any: any.iter().map(|branch| of_nodes(branch)).collect(), optional: *optional }
            }
        });
        parts.push(Part::Text(" ".to_owned()));
    }
    parts
}

/// The kinds of each tool's arguments: as the phrase files use them and the phrasings state them, most used first; else as other
/// tools use an argument of the name.
pub(super) fn kinds(phrasings: &[Phrasing]) -> HashMap<(String, String), Vec<Kind>> {
    let mut counts: BTreeMap<(String, String), BTreeMap<Kind, usize>> = BTreeMap::new();
    for phrasing in phrasings {
        for (name, kind) in names(&phrasing.parts) {
            let of = counts.entry((phrasing.tool.clone(), name)).or_default();
            if let Some(kind) = kind {
                *of.entry(kind).or_default() += 1;
            }
        }
    }
    let mut by_name: BTreeMap<String, BTreeMap<Kind, usize>> = BTreeMap::new();
    for ((_, name), of) in &counts {
        let all = by_name.entry(name.clone()).or_default();
        of.iter().for_each(|(kind, count)| *all.entry(*kind).or_default() += count);
    }
    let sorted = |of: &BTreeMap<Kind, usize>| {
        let mut all: Vec<(Kind, usize)> = of.iter().map(|(kind, count)| (*kind, *count)).collect();
        all.sort_by_key(|(_, count)| usize::MAX - count);
        all.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    // A list may be named without the word.
    let or_text = |mut all: Vec<Kind>| {
        if all.contains(&Kind::List) && !all.iter().any(|kind| kind.is_open() || *kind == Kind::Word) {
            all.push(Kind::Text);
        }
        all
    };
    let of = |name: &str, of: &BTreeMap<Kind, usize>| match (name, of.is_empty()) {
        (_, false) => or_text(sorted(of)),
        ("duration", true) => vec![Kind::Duration],
        ("list", true) => vec![Kind::List, Kind::Text],
        (name, true) => by_name.get(name).map(sorted).filter(|all| !all.is_empty()).unwrap_or(vec![Kind::Text]),
    };
    counts.iter().map(|((tool, name), kinds)| ((tool.clone(), name.clone()), of(name, kinds))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR"))
    }

    fn golden() -> Tools {
        Tools::golden(&here().join("../../tests/golden/tools"))
    }

    #[test]
    fn the_phrasings_can_be_read() {
        let all = folder(&here().join("learn"), &golden());
        if let Err(wrong) = all {
            panic!("{}", wrong.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"));
        }
    }

    #[test]
    fn a_line_becomes_parts() {
        let slot = |name: &str, kind, value: Option<&str>| Part::Slot {
            name: Some(name.to_owned()),
            kind,
            value: value.map(str::to_owned),
        };
        let text = |text: &str| Part::Text(text.to_owned());
        assert_eq!(
            parse("Put {title=oat milk}, {due:when} (on|in [my]) it?").unwrap(),
            [
                text("Put "),
                slot("title", None, Some("oat milk")),
                text(", "),
                slot("due", Some(Kind::When), None),
                text(" "),
                Part::Choice {
                    any: vec![
                        vec![text("on")],
                        vec![text("in "), Part::Choice { any: vec![vec![text("my")]], optional: true }]
                    ],
                    optional: false
                },
                text(" it?"),
            ]
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, wanted) in [
            ("hello", "x.en, line 1: a heading `= tool` must come first: `hello`"),
            ("= add_task\n(a|b", "x.en, line 2: a `)` is missing: `(a|b`"),
            ("= add_task\na)", "x.en, line 2: `)` has no beginning: `a)`"),
            ("= add_task\n(a|)", "x.en, line 2: an alternative is empty"),
            ("= add_task\n{title=}", "x.en, line 2: the value of `title` is empty"),
            ("= add_task\n{title:txt}", "x.en, line 2: `txt` is no kind of slot"),
            ("= add_task\n{titel}", "x.en, line 2: `add_task` has no argument `titel`"),
            ("= add_task colour=1\na", "x.en, line 1: `add_task` has no argument `colour`"),
            ("= /help\na", "x.en, line 1: of the names with `/` only `/none` is trained"),
            ("= add_task\na|b", "x.en, line 2: `|` stands outside of brackets"),
        ] {
            let error = read(text, "x.en", &golden()).unwrap_err()[0].to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
        assert!(read("= a_tool_to_come\nwith {anything=at all}", "x.en", &golden()).is_ok());
    }
}
