//! `SKILL.md`: front matter between two lines `---`, and the body. The front matter is the part of YAML that skills use: scalars, quoted
//! or in blocks, lists, and nested maps, which are skipped.

use std::collections::BTreeMap;

/// The maximum length of `SKILL.md`, in bytes.
pub const LONGEST: usize = 64 * 1024;
/// The maximum length of a name and a description, in characters.
const NAME: usize = 64;
const DESCRIPTION: usize = 1024;
/// The maximum number of tags and tools, and the length of each.
const ITEMS: usize = 50;
const ITEM: usize = 100;
/// The maximum length of a slug.
pub const SLUG: usize = 64;

/// A parsed `SKILL.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The name for people.
    pub name: String,
    /// Its purpose, and when to use it.
    pub description: String,
    /// The author's version; not the number of the installed version.
    pub version: String,
    /// The tools it uses. Naming one grants nothing.
    pub allowed_tools: Vec<String>,
    /// Search words.
    pub tags: Vec<String>,
    /// The instructions.
    pub body: String,
}

/// A value of the front matter.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Text(String),
    List(Vec<String>),
}

impl Manifest {
    /// Parses the text of a `SKILL.md`.
    ///
    /// # Errors
    /// A sentence that names the line and what to write there.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("SKILL.md has more than {} KB: move details into further files", LONGEST / 1024));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if let Some(c) = text.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
            return Err(format!("SKILL.md contains a control character ({:#x}): remove it", u32::from(c)));
        }
        let lines: Vec<&str> = text.lines().collect();
        if lines.first().map(|line| line.trim_end()) != Some("---") {
            return Err("SKILL.md does not begin with `---`: write front matter with `name:` and `description:`".into());
        }
        let end = lines.iter().skip(1).position(|line| line.trim_end() == "---");
        let end = end.ok_or("the front matter of SKILL.md has no end: write a line `---` after it")? + 1;
        let fields = fields(&lines[1..end])?;
        let text_of = |key: &str| match fields.get(key) {
            Some(Value::Text(text)) => Ok(text.trim().to_owned()),
            Some(Value::List(_)) => Err(format!("`{key}` of SKILL.md is a list: write a text")),
            None => Ok(String::new()),
        };
        let list_of = |key: &str| -> Result<Vec<String>, String> {
            let items: Vec<String> = match fields.get(key) {
                Some(Value::List(items)) => items.clone(),
                Some(Value::Text(text)) => split_items(text),
                None => vec![],
            };
            match items.len() > ITEMS || items.iter().any(|item| item.chars().count() > ITEM) {
                true => Err(format!(
                    "`{key}` of SKILL.md has more than {ITEMS} entries, or one of more than {ITEM} characters"
                )),
                false => Ok(items),
            }
        };
        let name = checked("name", text_of("name")?, NAME)?;
        let description = checked("description", text_of("description")?, DESCRIPTION)?;
        let version: String = text_of("version")?.chars().take(NAME).collect();
        let body = lines[end + 1..].join("\n").trim().to_owned();
        if body.is_empty() {
            return Err("SKILL.md has no instructions: write them below the front matter".into());
        }
        let (allowed_tools, tags) = (list_of("allowed-tools")?, list_of("tags")?);
        Ok(Self { name, description, version, allowed_tools, tags, body })
    }
}

/// A required text on one line.
fn checked(key: &str, text: String, longest: usize) -> Result<String, String> {
    let text = text_kit::one_line(&text);
    match text.chars().count() {
        0 => Err(format!("SKILL.md has no `{key}`: add `{key}: …` to its front matter")),
        n if n > longest => {
            Err(format!("`{key}` of SKILL.md has {n} characters, and the maximum is {longest}: shorten it"))
        }
        _ => Ok(text),
    }
}

/// `a, b` or `a b`; a comma inside parentheses separates nothing (`Bash(git add, git commit)`).
fn split_items(text: &str) -> Vec<String> {
    let (mut items, mut item, mut depth) = (vec![], String::new(), 0_usize);
    let comma = text.contains(',');
    for c in text.chars() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let separates = depth == 0 && (c == ',' || (!comma && c.is_whitespace()));
        if separates { items.push(std::mem::take(&mut item)) } else { item.push(c) }
    }
    items.push(item);
    items.into_iter().map(|item| unquote(item.trim()).to_owned()).filter(|item| !item.is_empty()).collect()
}

/// The fields at the top level. Line numbers in errors count the first `---`.
fn fields(lines: &[&str]) -> Result<BTreeMap<String, Value>, String> {
    let mut found = BTreeMap::new();
    let mut at = 0;
    while at < lines.len() {
        let (line, number) = (lines[at], at + 2);
        at += 1;
        if line.trim().is_empty() || line.trim_start().starts_with('#') {
            continue;
        }
        if line.starts_with([' ', '\t']) {
            return Err(format!("line {number} of SKILL.md is indented, and belongs to nothing: write `name: value`"));
        }
        let (key, rest) = line.split_once(':').ok_or_else(|| {
            format!("line {number} of SKILL.md is no field: write `name: value`, and `---` after the last")
        })?;
        let (key, rest) = (unquote(key.trim()).to_lowercase().replace('_', "-"), rest.trim());
        // The rest of the field: indented lines, and list items.
        let more = lines[at..].iter().take_while(|line| {
            line.trim().is_empty() || line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim() == "-"
        });
        let more: Vec<&str> = more.copied().collect();
        at += more.len();
        let value = value_of(rest, &more, number)?;
        if found.insert(key.clone(), value).is_some() {
            return Err(format!("line {number} of SKILL.md repeats `{key}`: keep one"));
        }
    }
    Ok(found)
}

fn value_of(rest: &str, more: &[&str], number: usize) -> Result<Value, String> {
    let lines = || more.iter().map(|line| line.trim());
    let text = without_comment(rest);
    if let Some(style) = text.strip_prefix(['|', '>']) {
        if !style.chars().all(|c| matches!(c, '+' | '-' | '0'..='9')) {
            return Err(format!("line {number} of SKILL.md begins with `{text}`: put the text in quotes"));
        }
        let joint = if text.starts_with('|') { "\n" } else { " " };
        return Ok(Value::Text(lines().collect::<Vec<_>>().join(joint).trim().to_owned()));
    }
    if let Some(inner) = text.strip_prefix('[') {
        let whole = [inner, &lines().collect::<Vec<_>>().join(" ")].join(" ");
        let inner = whole.trim().strip_suffix(']');
        let inner = inner.ok_or_else(|| format!("the list on line {number} of SKILL.md has no end: write `]`"))?;
        let items = inner.split(',').map(|item| unquote(item.trim()).to_owned());
        return Ok(Value::List(items.filter(|item| !item.is_empty()).collect()));
    }
    if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        let whole = std::iter::once(rest).chain(lines()).collect::<Vec<_>>().join(" ");
        let text = quoted(whole.trim(), quote);
        return text.map(Value::Text).ok_or_else(|| format!("the quote on line {number} of SKILL.md is not closed"));
    }
    let content: Vec<&str> = lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    if text.is_empty() && !content.is_empty() && content.iter().all(|line| line.starts_with('-')) {
        let items = content.iter().map(|line| unquote(without_comment(line[1..].trim())).to_owned());
        return Ok(Value::List(items.filter(|item| !item.is_empty()).collect()));
    }
    if text.is_empty() {
        // A nested map, which skills use for data of other programs.
        return Ok(Value::Text(String::new()));
    }
    let all = std::iter::once(text).chain(content).collect::<Vec<_>>();
    Ok(Value::Text(all.join(" ")))
}

fn without_comment(text: &str) -> &str {
    match text.strip_prefix('#') {
        Some(_) => "",
        None => text.find(" #").map_or(text, |at| &text[..at]).trim(),
    }
}

/// The text in quotes, with its escapes read; `None` when they are not closed.
fn quoted(text: &str, quote: char) -> Option<String> {
    let (mut out, mut chars) = (String::new(), text.chars().skip(1).peekable());
    while let Some(c) = chars.next() {
        match c {
            '\\' if quote == '"' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                other => out.push(other),
            },
            c if c == quote && quote == '\'' && chars.peek() == Some(&'\'') => {
                out.push('\'');
                chars.next();
            }
            c if c == quote => return Some(out),
            c => out.push(c),
        }
    }
    None
}

fn unquote(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote).and_then(|text: &str| text.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(text)
}

/// The folder name of a skill: lower-case letters, digits and single hyphens.
pub fn is_slug(text: &str) -> bool {
    let fits = text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    !text.is_empty()
        && text.len() <= SLUG
        && fits
        && !text.starts_with('-')
        && !text.ends_with('-')
        && !text.contains("--")
}

/// The slug of a name; empty when no letter of it can be in one.
pub fn slug_of(name: &str) -> String {
    let mut slug = String::new();
    for c in name.to_lowercase().chars() {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            'ä' => slug.push_str("ae"),
            'ö' => slug.push_str("oe"),
            'ü' => slug.push_str("ue"),
            'ß' => slug.push_str("ss"),
            'á' | 'à' | 'â' | 'ã' | 'å' => slug.push('a'),
            'é' | 'è' | 'ê' | 'ë' => slug.push('e'),
            'í' | 'ì' | 'î' | 'ï' => slug.push('i'),
            'ó' | 'ò' | 'ô' | 'õ' => slug.push('o'),
            'ú' | 'ù' | 'û' => slug.push('u'),
            'ñ' => slug.push('n'),
            'ç' => slug.push('c'),
            _ if !slug.is_empty() && !slug.ends_with('-') => slug.push('-'),
            _ => {}
        }
    }
    slug.truncate(SLUG);
    slug.trim_end_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(front: &str) -> Result<Manifest, String> {
        Manifest::parse(&format!("---\n{front}\n---\nDo it."))
    }

    #[test]
    fn front_matter_is_read() {
        let whole = "---\nname: bread\ndescription: >\n  Bake bread\n  at home.\nversion: \"1.2\"\nallowed-tools: add_task, Bash(git add, git push)\n\
                     tags:\n  - baking # comment\n  - 'sour dough'\nmetadata:\n  author: nobody\n---\n\n# Steps\n\n1. Mix.\n";
        let expected = Manifest {
            name: "bread".into(),
            description: "Bake bread at home.".into(),
            version: "1.2".into(),
            allowed_tools: vec!["add_task".into(), "Bash(git add, git push)".into()],
            tags: vec!["baking".into(), "sour dough".into()],
            body: "# Steps\n\n1. Mix.".into(),
        };
        assert_eq!(Manifest::parse(whole), Ok(expected.clone()));
        assert_eq!(Manifest::parse(&format!("\u{feff}{}", whole.replace('\n', "\r\n"))), Ok(expected));
        let rows = [
            ("name: a\ndescription: \"b: c\"", "b: c"),
            ("name: a\ndescription: 'it''s'", "it's"),
            ("name: a\ndescription: b\n  and c", "b and c"),
            ("name: a\ndescription: b # not this", "b"),
            ("name: a\ndescription: |\n  b\n  c", "b c"),
            ("# first\nname: a\n\ndescription: uses a URL: http://x", "uses a URL: http://x"),
        ];
        for (front, description) in rows {
            assert_eq!(parsed(front).map(|m| m.description), Ok(description.to_owned()), "{front}");
        }
        assert_eq!(parsed("name: a\ndescription: b\ntags: [x, \"y z\"]").unwrap().tags, ["x", "y z"]);
        assert_eq!(parsed("name: a\ndescription: b\nallowed_tools: x y").unwrap().allowed_tools, ["x", "y"]);
    }

    #[test]
    fn errors_name_the_line_and_the_way_out() {
        let long = format!("name: a\ndescription: {}", "x".repeat(1025));
        let rows = [
            ("description: b", "no `name`"),
            ("name: a", "no `description`"),
            ("name: a\nname: b\ndescription: c", "line 3 of SKILL.md repeats `name`"),
            ("name: a\ndescription", "line 3 of SKILL.md is no field"),
            ("  name: a", "line 2 of SKILL.md is indented"),
            ("name: a\ndescription: \"b", "line 3 of SKILL.md is not closed"),
            ("name: a\ndescription: b\ntags: [x", "line 4 of SKILL.md has no end"),
            ("name: [a]\ndescription: b", "`name` of SKILL.md is a list"),
            (&long, "1025 characters"),
        ];
        for (front, expected) in rows {
            let why = parsed(front).unwrap_err();
            assert!(why.contains(expected), "{front}: {why}");
        }
        for (text, expected) in [
            ("# Bread", "does not begin with `---`"),
            ("", "does not begin"),
            ("---\nname: a\n", "has no end"),
            ("---\nname: a\ndescription: b\n---\n  \n", "no instructions"),
            ("---\nname: a\0\n---\nx", "control character"),
        ] {
            assert!(Manifest::parse(text).unwrap_err().contains(expected), "{text}");
        }
        assert!(Manifest::parse(&"x".repeat(LONGEST + 1)).unwrap_err().contains("KB"));
    }

    #[test]
    fn slugs_are_plain() {
        for (name, slug) in [("Bake Bread!", "bake-bread"), ("Brötchen", "broetchen"), ("  a  b ", "a-b"), ("日本", "")]
        {
            assert_eq!(slug_of(name), slug);
        }
        for bad in ["", "A", "a b", "-a", "a-", "a--b", "../a", "a/b", ".a", &"a".repeat(65)] {
            assert!(!is_slug(bad), "{bad}");
        }
        assert!(is_slug("a") && is_slug("bake-bread-2") && is_slug(&slug_of(&"ab ".repeat(60))));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(---\n)?(name|tags|[a-z:\\-#>|\\[\\]\"' \n]{0,20}){0,6}(\n---\n)?.{0,20}") {
            let _ = Manifest::parse(&text);
            let slug = slug_of(&text);
            prop_assert!(slug.is_empty() || is_slug(&slug));
        }
    }
}
