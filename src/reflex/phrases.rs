//! Phrase files: parses headings, templates and examples into intents.

use crate::{
    Error,
    pattern::{self, Node},
    slots::Kind,
};
use serde_json::{Map, Value};

/// An intent: a tool with fixed arguments, and the sentences for it.
#[derive(Debug, Clone)]
pub(crate) struct Intent {
    /// The tool; a name that starts with `/` is a built-in reply.
    pub tool: String,
    /// Fixed arguments of every sentence.
    pub fixed: Map<String, Value>,
    pub templates: Vec<Template>,
    /// Sentences shown in help.
    pub shown: Vec<String>,
    /// The wording after "Shall I".
    pub asked: Option<String>,
    /// Arguments every template provides, with their kinds.
    pub needed: Vec<(String, Kind)>,
}

/// A line below a heading.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    /// The line as written.
    pub text: String,
    pub nodes: Vec<Node>,
    /// Whether it is an example for words and meaning only.
    pub example_only: bool,
    /// Its location: `memory.en:12`.
    pub place: String,
}

impl Intent {
    /// Whether it is a built-in reply.
    pub fn is_own(&self) -> bool {
        self.tool.starts_with('/')
    }
}

/// Parses one file; `number` identifies it if its first comment does not.
///
/// # Errors
/// The first invalid line.
pub(crate) fn read(text: &str, number: usize) -> Result<Vec<Intent>, Error> {
    // Files may be concatenated: each starts with a comment that names it, from which its lines are counted.
    let (mut file, mut before) = (format!("phrase file {number}"), 0);
    let mut intents: Vec<Intent> = vec![];
    for (i, line) in text.lines().enumerate() {
        if let Some(name) = file_named(line) {
            (file, before) = (name.to_owned(), i);
        }
        let i = i - before;
        let line = line.trim();
        let wrong = |why: String| Error::Phrase { file: file.clone(), line: i + 1, text: line.to_owned(), why };
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(heading) = line.strip_prefix('=') {
            let (tool, fixed) = heading_of(heading.trim()).map_err(wrong)?;
            intents.push(Intent { tool, fixed, templates: vec![], shown: vec![], asked: None, needed: vec![] });
            continue;
        }
        let Some(intent) = intents.last_mut() else { return Err(wrong("a heading `= tool` must come first".into())) };
        if let Some(sentence) = line.strip_prefix('>') {
            intent.shown.push(sentence.trim().to_owned());
            continue;
        }
        if let Some(question) = line.strip_prefix('?') {
            let question = question.trim();
            check_wording(question).map_err(wrong)?;
            intent.asked = Some(question.to_owned());
            continue;
        }
        let example = line.strip_prefix('~');
        let nodes = pattern::parse(example.unwrap_or(line)).map_err(wrong)?;
        if example.is_some() {
            // An example may lead to a call, so it must provide what every template of the tool provides.
            let mine = named(&nodes);
            let lacks = |(name, _): &&(String, Kind)| mine.iter().all(|(named, _)| named != name);
            if let Some((name, _)) = needed(intent, false).iter().find(lacks) {
                return Err(wrong(format!("the example lacks the argument `{name}`")));
            }
        }
        let place = format!("{file}:{}", i + 1);
        intent.templates.push(Template { text: line.to_owned(), nodes, example_only: example.is_some(), place });
    }
    for intent in &mut intents {
        intent.needed = needed(intent, true);
    }
    Ok(intents)
}

/// The arguments a template always provides.
fn named(nodes: &[Node]) -> Vec<(String, Kind)> {
    pattern::slots_of(nodes).into_iter().filter_map(|(name, kind)| Some((name?, kind))).collect()
}

/// The arguments every template provides; with `examples`, those of the examples if there is no template.
fn needed(intent: &Intent, examples: bool) -> Vec<(String, Kind)> {
    let examples = examples && intent.templates.iter().all(|t| t.example_only);
    let all = intent.templates.iter().filter(|t| t.example_only == examples).map(|t| named(&t.nodes));
    let both = |all: Vec<(String, Kind)>, these: Vec<(String, Kind)>| {
        all.into_iter().filter(|(name, _)| these.iter().any(|(other, _)| other == name)).collect()
    };
    all.reduce(both).unwrap_or_default()
}

/// The file name in a comment such as `# memory.en: remembering`.
fn file_named(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("# ")?.split_once(':')?;
    (name.contains('.') && !name.contains(' ')).then_some(name)
}

/// Parses `gpio_write high=true` into the tool and its fixed arguments.
pub(crate) fn heading_of(text: &str) -> Result<(String, Map<String, Value>), String> {
    let (tool, mut rest) = text.split_once(' ').unwrap_or((text, ""));
    let plain = tool.strip_prefix('/').unwrap_or(tool);
    if plain.is_empty() || !plain.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Err(format!("`{tool}` is no tool name"));
    }
    let mut fixed = Map::new();
    loop {
        rest = rest.trim_start();
        if rest.is_empty() {
            return Ok((tool.to_owned(), fixed));
        }
        let (key, value) = rest.split_once('=').ok_or("a fixed argument is `key=JSON`")?;
        let mut values = serde_json::Deserializer::from_str(value).into_iter::<Value>();
        let parsed = values.next().and_then(Result::ok).ok_or_else(|| format!("the value of `{key}` is no JSON"))?;
        fixed.insert(key.to_owned(), parsed);
        rest = value.get(values.byte_offset()..).unwrap_or("");
    }
}

/// Checks that a wording can be read, and which arguments it mentions.
///
/// # Errors
/// The fault, in words.
fn check_wording(wording: &str) -> Result<(), String> {
    let mut open = None;
    for c in wording.chars() {
        match (open, c) {
            (Some('{'), '[' | ']' | '{') | (Some('['), '[') | (None, ']' | '}') => {
                return Err(format!("`{c}` is out of place"));
            }
            (Some('['), '{') => open = Some('b'),
            (Some('b'), '}') => open = Some('['),
            (None, '[' | '{') => open = Some(c),
            (Some('['), ']') | (Some('{'), '}') => open = None,
            _ => {}
        }
    }
    match open {
        Some(_) => Err("a bracket is not closed".to_owned()),
        None if wording.is_empty() => Err("the question is empty".to_owned()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_file_becomes_intents() {
        let text = "# test.en: a file\n= gpio_write high=true note=\"a b\"\n> turn on pin 4\n? turn it on\n(turn|switch) on {pin:pin}\n~ light {pin:pin}\n\n= /help\nhelp";
        let intents = read(text, 1).unwrap();
        assert_eq!(intents.len(), 2);
        assert_eq!(Value::Object(intents[0].fixed.clone()), json!({"high": true, "note": "a b"}));
        assert_eq!(intents[0].shown, ["turn on pin 4"]);
        assert_eq!(intents[0].asked.as_deref(), Some("turn it on"));
        assert_eq!(intents[0].needed, [("pin".to_owned(), Kind::Pin)]);
        assert_eq!(intents[0].templates[0].place, "test.en:5");
        assert!(intents[0].templates[1].example_only);
        assert!(intents[1].is_own());
    }

    #[test]
    fn a_broken_line_is_named() {
        for (text, wanted) in [
            ("hello", "phrase file 3, line 1: a heading `= tool` must come first: `hello`"),
            ("# x.en:\n= a b", "x.en, line 2: a fixed argument is `key=JSON`: `= a b`"),
            ("# x.en:\n= a b=c", "x.en, line 2: the value of `b` is no JSON: `= a b=c`"),
            ("# x.en:\n= a\n\n(b", "x.en, line 4: a `)` is missing: `(b`"),
            ("# x.en:\n= a\nsay {t}\n~ talk", "x.en, line 4: the example lacks the argument `t`: `~ talk`"),
            ("# x.en: x\n= a\nb\n# y.en: y\n(", "y.en, line 2: a `)` is missing: `(`"),
            ("# x.en:\n= a\n? do {it", "x.en, line 3: a bracket is not closed: `? do {it`"),
            ("= a-b", "phrase file 3, line 1: `a-b` is no tool name: `= a-b`"),
        ] {
            assert_eq!(read(text, 3).map(|_| ()).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn brackets_of_a_wording_are_closed() {
        for (wording, fine) in
            [("a {b}", true), ("a {b", false), ("a ]", false), ("[a {b}] {c}", true), ("[a [b]]", false), ("", false)]
        {
            assert_eq!(check_wording(wording).is_ok(), fine, "{wording}");
        }
    }
}
