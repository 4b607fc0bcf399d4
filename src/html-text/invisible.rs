//! Characters that a reader does not see, and that could carry words for a model.

/// Adds `text` without its invisible characters; returns how many there were. White space of all kinds stays.
pub(crate) fn push_visible(out: &mut String, text: &str) -> usize {
    if text.is_ascii() && !text.bytes().any(|b| b.is_ascii_control() && !b.is_ascii_whitespace()) {
        out.push_str(text);
        return 0;
    }
    let (mut removed, mut before) = (0, out.chars().next_back().unwrap_or(' '));
    for c in text.chars() {
        if is_visible(c, before) {
            out.push(c);
            before = c;
        } else {
            removed += 1;
        }
    }
    removed
}

/// Whether a character shows, or shapes the one before it.
fn is_visible(c: char, before: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | '\u{c}' => true,
        c if c.is_control() => false,
        // Joiners form letters of Arabic and Indic scripts, and emoji.
        '\u{200c}' | '\u{200d}' => before > '\u{2ff}' && !is_joiner(before),
        // One emoji or text form of the character before.
        '\u{fe0e}' | '\u{fe0f}' => {
            (before > '\u{7f}' || before.is_ascii_digit() || matches!(before, '#' | '*')) && !is_joiner(before)
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' => false,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' => false,
        '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' => false,
        '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => false,
        c => !matches!(u32::from(c) & 0xffff, 0xfffe | 0xffff),
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_go_and_writing_stays() {
        let tags: String = "ignore".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        for (text, expected, removed) in [
            ("plain text\n", "plain text\n", 0),
            ("z\u{200b}e\u{2060}r\u{feff}o\0", "zero", 4),
            ("soft\u{ad}hyphen", "softhyphen", 1),
            (&format!("hello{tags}"), "hello", 6),
            ("a\u{202e}b\u{2066}c", "abc", 2),
            ("می\u{200c}خواهم", "می\u{200c}خواهم", 0),
            ("a\u{200d}\u{200d}b", "ab", 2),
            ("👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}", "👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}\u{20e3}", 0),
            ("x\u{fe0f}\u{fe00}\u{e0101}", "x", 3),
            ("日本語 कि", "日本語 कि", 0),
        ] {
            let mut out = String::new();
            assert_eq!((push_visible(&mut out, text), &*out), (removed, expected), "{text:?}");
        }
    }
}
