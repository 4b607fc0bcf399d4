//! An answer as it is spoken: without the marks of Markdown.

/// The longest spoken answer, in characters.
const MOST: usize = 1_500;

/// The text as a voice reads it.
pub(crate) fn spoken(text: &str) -> String {
    let mut lines: Vec<String> = vec![];
    let mut in_code = false;
    for line in text.lines() {
        let line = line.trim();
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        // Code is not read aloud, nor is the rule between the head and the body of a table.
        if in_code || (line.starts_with('|') && line.chars().all(|c| "|-: ".contains(c))) {
            continue;
        }
        let line = line.trim_start_matches('#').trim_start_matches('>').trim();
        let line = ["- ", "* ", "+ "].iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line);
        let line = without_marks(&without_links(line));
        if !line.is_empty() {
            lines.push(line);
        }
    }
    let joined = lines.iter().fold(String::new(), |mut text, line| {
        if !text.is_empty() {
            text.push_str(if text.ends_with(['.', '!', '?', ':', ',', ';']) { " " } else { ". " });
        }
        text + line
    });
    joined.chars().take(MOST).collect()
}

/// `[name](address)` is its name.
fn without_links(line: &str) -> String {
    let (mut text, mut rest) = (String::new(), line);
    while let Some(begin) = rest.find('[') {
        let after = &rest[begin + 1..];
        let link = after.find("](").and_then(|name| Some((name, name + 2 + after[name + 2..].find(')')?)));
        let Some((name, end)) = link else { break };
        text.push_str(&rest[..begin]);
        text.push_str(&after[..name]);
        rest = &after[end + 1..];
    }
    text + rest
}

fn without_marks(line: &str) -> String {
    let line = line.replace("**", "").replace("__", "").replace(['`', '*'], "");
    let cells = line.trim().trim_matches('|').split('|').map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_is_not_read_aloud() {
        for (text, expected) in [
            ("Hall lamp is on.", "Hall lamp is on."),
            ("**Hall lamp** is `on`.", "Hall lamp is on."),
            ("# Today\n\n- Milk\n- Bread\n", "Today. Milk. Bread"),
            ("See [the page](http://x/y_z) now", "See the page now"),
            ("a [b] (c) [d](e", "a [b] (c) [d](e"),
            ("You have:\n* one\n* two", "You have: one. two"),
            ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b. 1, 2"),
            ("Do this:\n```sh\nrm -rf /\n```\nThen rest.", "Do this: Then rest."),
            ("", ""),
        ] {
            assert_eq!(spoken(text), expected, "{text:?}");
        }
        assert_eq!(spoken(&"ä".repeat(5_000)).chars().count(), MOST);
    }
}
