//! Patterns of words for whole sentences: `_` is any run of words, `a|b` one of these, `a?` may be left out.

use crate::sentence::Sentence;

/// Whether one of the patterns fits the whole sentence.
pub(super) fn any(s: &Sentence, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| fits(s, 0, &pattern.split(' ').collect::<Vec<_>>()))
}

fn fits(s: &Sentence, at: usize, pattern: &[&str]) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return at >= s.len() };
    if *first == "_" {
        return (at..=s.len()).any(|next| fits(s, next, rest));
    }
    let (words, optional) = first.strip_suffix('?').map_or((*first, false), |words| (words, true));
    let here = at < s.len() && words.split('|').any(|word| word == s.word(at));
    here && fits(s, at + 1, rest) || optional && fits(s, at, rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_fit_whole_sentences() {
        for (text, pattern, wanted) in [
            ("play some jazz", "play _", true),
            ("play", "play _", true),
            ("I play chess", "play _", false),
            ("is it going to rain tomorrow", "_ rain|snow _", true),
            ("stick the radio on", "put|stick the? radio on", true),
            ("stick radio on", "put|stick the? radio on", true),
            ("stick the radio on loud", "put|stick the? radio on", false),
        ] {
            assert_eq!(any(&Sentence::whole(text), &[pattern]), wanted, "{text} / {pattern}");
        }
    }
}
