//! Tokenizes a sentence: lower case, contractions expanded, courtesies removed.

mod courtesy;

use courtesy::{drop_back, drop_front};

/// A word, number or arithmetic sign.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Token {
    /// In lower case, with plain apostrophes: `what`, `17`, `3.5`, `17:30`, `*`.
    pub word: String,
    /// Byte offset of its start.
    pub start: usize,
    /// Byte offset of its end.
    pub end: usize,
    /// Whether punctuation precedes it.
    pub after_break: bool,
    /// Whether a quotation starts with it.
    pub opens: bool,
    /// Whether a quotation ends with it.
    pub closes: bool,
}

/// A text, and its tokens without courtesies.
#[derive(Debug, Clone)]
pub(crate) struct Sentence {
    pub text: String,
    pub tokens: Vec<Token>,
    /// It ends with a question mark or starts with "do you know" and the like.
    pub asks: bool,
    /// It starts as a request ("could you …"), so its question mark is only courtesy.
    pub requests: bool,
    /// It started with "do you know", "tell me" and the like before a question word.
    pub only_asks: bool,
}

/// Longer texts are no commands; matching them would only cost time.
pub(crate) const MOST_TOKENS: usize = 400;

impl Sentence {
    /// Tokenizes a text; removes leading courtesies, and trailing ones if they cannot be content.
    pub fn read(text: &str) -> Self {
        let mut tokens = tokens(text);
        let ends = text.trim_end().trim_end_matches(['"', '”', ')', '!', ' ']).ends_with('?');
        let (requests, only_asks) = drop_front(&mut tokens);
        let requests = drop_back(&mut tokens, false) || requests;
        Self { text: text.to_owned(), tokens, asks: ends || only_asks, requests, only_asks }
    }

    /// Tokenizes content: nothing is removed.
    pub fn whole(text: &str) -> Self {
        Self { text: text.to_owned(), tokens: tokens(text), asks: false, requests: false, only_asks: false }
    }

    /// The sentence without any trailing courtesy; `None` if unchanged.
    pub fn without_courtesy(&self) -> Option<Self> {
        let mut without_courtesy = self.clone();
        drop_back(&mut without_courtesy.tokens, true);
        (without_courtesy.tokens.len() < self.tokens.len()).then_some(without_courtesy)
    }

    /// The word at `at`; empty beyond the end.
    pub fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |t| t.word.as_str())
    }

    /// Whether these words are at `at`.
    pub fn has(&self, at: usize, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(i, w)| self.word(at + i) == *w)
    }

    /// Whether any token is one of `words`.
    pub fn mentions(&self, words: &[&str]) -> bool {
        self.tokens.iter().any(|t| words.contains(&t.word.as_str()))
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The original text of tokens `from..to`: with attached signs, without enclosing quotation marks and final
    /// punctuation.
    pub fn slice(&self, from: usize, to: usize) -> &str {
        if from >= to {
            return "";
        }
        let (Some(first), Some(last)) = (self.tokens.get(from), self.tokens.get(to.saturating_sub(1))) else {
            return "";
        };
        let floor = from.checked_sub(1).and_then(|i| self.tokens.get(i)).map_or(0, |t| t.end);
        let ceiling = self.tokens.get(to).map_or(self.text.len(), |t| t.start);
        let (floor, ceiling) = (floor.min(first.start), ceiling.max(last.end));
        let before = &self.text[floor..first.start];
        let attached = before.rfind(|c: char| c.is_whitespace() || ",:;.!?".contains(c));
        let start = floor + attached.map_or(0, |i| i + before[i..].chars().next().map_or(1, char::len_utf8));
        let after = &self.text[last.end..ceiling];
        let end = last.end + after.find(char::is_whitespace).unwrap_or(after.len());
        strip_quotes(self.text[start..end].trim().trim_end_matches(['.', ',', ';', '?', ' ']))
    }

    /// The original text of all tokens.
    pub fn rest(&self) -> &str {
        self.slice(0, self.len())
    }
}

/// Removes a pair of enclosing quotation marks, or a single one.
fn strip_quotes(text: &str) -> &str {
    const OPEN: [char; 4] = ['"', '“', '„', '«'];
    const CLOSE: [char; 4] = ['"', '”', '“', '»'];
    let marks = text.chars().filter(|c| OPEN.contains(c) || CLOSE.contains(c)).count();
    match (text.strip_prefix(OPEN), text.strip_suffix(CLOSE)) {
        (Some(inner), Some(_)) if marks == 2 => inner.strip_suffix(CLOSE).unwrap_or(inner),
        (Some(inner), None) if marks == 1 => inner,
        (None, Some(inner)) if marks == 1 => inner,
        _ => text,
    }
}

/// Whether a character belongs to arithmetic, so that an adjacent sign does too.
fn mathy(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit() || "()+*/^×÷√%".contains(c))
}

/// Splits a text into tokens.
fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<(usize, char)> = text.char_indices().collect();
    let mut all: Vec<Token> = vec![];
    let (mut i, mut broke, mut opens, mut in_quote) = (0, false, false, false);
    while let Some(&(start, c)) = chars.get(i) {
        let length = token_length(&chars, i);
        if length > 0 {
            let end = chars.get(i + length).map_or(text.len(), |c| c.0);
            for word in words_of(&text[start..end]) {
                all.push(Token { word, start, end, after_break: broke, opens, closes: false });
                (broke, opens) = (false, false);
            }
            i += length;
            continue;
        }
        match c {
            '"' | '“' | '”' | '„' | '«' | '»' => {
                if in_quote {
                    all.last_mut().into_iter().for_each(|t| t.closes = true);
                }
                in_quote = !in_quote;
                opens = in_quote;
            }
            ',' | '.' | ';' | ':' | '!' | '?' | '…' | '—' | '–' | '\n' => broke = true,
            _ => {}
        }
        i += 1;
    }
    all
}

/// Length of the token at `i` in characters; zero if none starts there.
fn token_length(chars: &[(usize, char)], i: usize) -> usize {
    let at = |k: usize| chars.get(k).map(|c| c.1);
    let Some(c) = at(i) else { return 0 };
    let point = c == '.' && !i.checked_sub(1).and_then(at).is_some_and(char::is_alphanumeric);
    if c.is_ascii_digit() || (point && at(i + 1).is_some_and(|d| d.is_ascii_digit())) {
        return number_length(chars, i);
    }
    if c.is_alphanumeric() {
        // "12x12" multiplies; elsewhere letters and the digits after them are one word.
        let times = c == 'x' && mathy(i.checked_sub(1).and_then(at)) && mathy(at(i + 1));
        return if times { 1 } else { word_length(chars, i) };
    }
    let beside = |step: isize| {
        let mut k = i.checked_add_signed(step)?;
        while at(k)?.is_whitespace() {
            k = k.checked_add_signed(step)?;
        }
        at(k)
    };
    let (left, right) = (beside(-1), beside(1));
    let sign = match c {
        '%' | '°' | '√' | '×' | '÷' | '&' => true,
        '+' | '*' | '^' | '=' | '(' | ')' => mathy(left) || mathy(right),
        '/' => mathy(left) && mathy(right),
        '-' | '−' => mathy(right) && left.is_none_or(|_| mathy(left) || at(i + 1) == right),
        '#' => right.is_some_and(|r| r.is_ascii_digit()),
        _ => false,
    };
    // "pin-17" and "20-minute" are hyphenated words, not a subtraction.
    let tied = c == '-' && i.checked_sub(1).and_then(at).is_some_and(char::is_alphabetic);
    usize::from(sign && !tied)
}

/// Digits with their points, thousands commas, clock colons and date dashes, and an ordinal's letters.
fn number_length(chars: &[(usize, char)], i: usize) -> usize {
    let at = |k: usize| chars.get(k).map(|c| c.1);
    let digit = |k: usize| at(k).is_some_and(|c| c.is_ascii_digit());
    let digits = |k: usize| (k..).take_while(|k| digit(*k)).count();
    if at(i) == Some('0') && at(i + 1) == Some('x') && at(i + 2).is_some_and(|c| c.is_ascii_hexdigit()) {
        return 2 + (i + 2..).take_while(|k| at(*k).is_some_and(|c| c.is_ascii_hexdigit())).count();
    }
    let mut k = i + digits(i);
    if k - i == 4 && at(k) == Some('-') && digits(k + 1) == 2 && at(k + 3) == Some('-') && digits(k + 4) == 2 {
        let time = at(k + 6) == Some('T') && digits(k + 7) == 2 && at(k + 9) == Some(':') && digits(k + 10) == 2;
        return k + 6 + if time { 6 } else { 0 } - i;
    }
    loop {
        match at(k) {
            Some(',') if digits(k + 1) == 3 => k += 4,
            // "64,20" as half of the world writes it.
            Some(',') if digits(k + 1) == 2 && !chars[i..k].iter().any(|c| [',', '.', ':'].contains(&c.1)) => k += 3,
            Some('.' | ':') if digit(k + 1) => k += 1 + digits(k + 1),
            _ => break,
        }
    }
    let letters: String = (k..).map_while(at).take_while(|c| c.is_alphabetic()).take(3).collect();
    if ["st", "nd", "rd", "th"].contains(&letters.to_lowercase().as_str()) {
        k += 2;
    }
    k - i
}

/// Letters and digits, with apostrophes inside.
fn word_length(chars: &[(usize, char)], i: usize) -> usize {
    let at = |k: usize| chars.get(k).map(|c| c.1);
    let mut k = i;
    while let Some(c) = at(k) {
        let inside = matches!(c, '\'' | '’' | '_') && at(k + 1).is_some_and(char::is_alphanumeric);
        let so_far =
            |word: &str| k - i == word.len() && chars[i..k].iter().map(|c| c.1.to_ascii_lowercase()).eq(word.chars());
        let tied = c == '-' && (so_far("wi") && at(k + 1) == Some('f') || so_far("e") && at(k + 1) == Some('m'));
        if !c.is_alphanumeric() && !inside && !tied {
            break;
        }
        k += 1;
    }
    k - i
}

/// The words of a run of characters: contractions expanded, shorthand spelled out.
pub(crate) fn words_of(run: &str) -> Vec<String> {
    let run = run.to_lowercase().replace('’', "'");
    if let Some((_, long)) = SHORT.iter().find(|(short, _)| *short == run) {
        return long.split(' ').map(str::to_owned).collect();
    }
    for (ending, word) in [("n't", "not"), ("'ll", "will"), ("'ve", "have"), ("'re", "are"), ("'d", "would")] {
        if let Some(stem) = run.strip_suffix(ending).filter(|s| !s.is_empty()) {
            return vec![stem.to_owned(), word.to_owned()];
        }
    }
    // "8ish", "noonish" and "sevenish" are times.
    let hour =
        run.strip_suffix("ish").filter(|stem| stem.parse::<u8>().is_ok_and(|hour| hour < 25) || HOURS.contains(stem));
    if let Some(hour) = hour {
        return vec!["at".to_owned(), hour.to_owned()];
    }
    for prefix in ["gpio", "pin", "bcm"] {
        if let Some(digits) = run.strip_prefix(prefix).filter(|d| d.parse::<u32>().is_ok()) {
            return vec![prefix.to_owned(), digits.to_owned()];
        }
    }
    if run.len() > 2
        && run.starts_with('n')
        && run.trim_start_matches('n').bytes().all(|b| b == b'o')
        && run.contains("oo")
    {
        return vec!["no".to_owned()];
    }
    let digits = run.starts_with(|c: char| c.is_ascii_digit());
    let decimals = run.split_once(',').is_some_and(|(_, cents)| cents.len() == 2);
    vec![if digits { run.replace(',', if decimals { "." } else { "" }) } else { run }]
}

/// Hours that take "-ish".
const HOURS: &[&str] = &[
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "noon",
    "midday",
    "lunchtime",
    "teatime",
    "midnight",
];

/// Contractions and shorthand not covered by a rule.
const SHORT: &[(&str, &str)] = &[
    ("what's", "what is"),
    ("whats", "what is"),
    ("who's", "who is"),
    ("whos", "who is"),
    ("where's", "where is"),
    ("wheres", "where is"),
    ("when's", "when is"),
    ("whens", "when is"),
    ("how's", "how is"),
    ("hows", "how is"),
    ("that's", "that is"),
    ("thats", "that is"),
    ("there's", "there is"),
    ("theres", "there is"),
    ("it's", "it is"),
    ("here's", "here is"),
    ("i'm", "i am"),
    ("im", "i am"),
    ("let's", "let us"),
    ("can't", "can not"),
    ("cant", "can not"),
    ("cannot", "can not"),
    ("won't", "will not"),
    ("wont", "will not"),
    ("dont", "do not"),
    ("doesnt", "does not"),
    ("didnt", "did not"),
    ("isnt", "is not"),
    ("shouldnt", "should not"),
    ("ive", "i have"),
    ("youre", "you are"),
    ("pls", "please"),
    ("plz", "please"),
    ("pleas", "please"),
    ("thx", "thanks"),
    ("ty", "thanks"),
    ("u", "you"),
    ("ur", "your"),
    ("wi-fi", "wifi"),
    ("e-mail", "email"),
    ("%", "percent"),
    ("°", "degrees"),
    ("&", "and"),
    ("#", "number"),
    ("−", "-"),
    ("colour", "color"),
    ("gonna", "going to"),
    ("wanna", "want to"),
    ("gotta", "have to"),
    ("lemme", "let me"),
    ("dunno", "do not know"),
    ("wat", "what"),
    ("wht", "what"),
    ("teh", "the"),
    ("adn", "and"),
    ("tmrw", "tomorrow"),
    ("tomoz", "tomorrow"),
    ("tomoro", "tomorrow"),
    ("tomorro", "tomorrow"),
    ("2day", "today"),
    ("til", "until"),
    ("thru", "until"),
    ("weds", "wednesday"),
    ("rmnd", "remind"),
    ("remnd", "remind"),
    ("remid", "remind"),
    ("reminde", "remind"),
    ("appt", "appointment"),
    ("mtg", "meeting"),
    ("mins'", "mins"),
    ("tmr", "tomorrow"),
    ("tmw", "tomorrow"),
    ("2moro", "tomorrow"),
    ("tonite", "tonight"),
    ("2nite", "tonight"),
];

/// Question words.
pub(crate) const QUESTION_WORDS: &[&str] =
    &["who", "whose", "whom", "what", "when", "where", "which", "how", "why", "whether", "if"];

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        Sentence::read(text).tokens.iter().map(|t| t.word.clone()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_become_words() {
        for (text, wanted) in [
            ("Hey Hob, what's the time please?", "what is the time"),
            ("Could you please turn on pin 17, thanks!", "turn on pin 17"),
            ("Don’t turn on GPIO17", "do not turn on gpio 17"),
            ("12*12", "12 * 12"),
            ("what is 12x12?", "what is 12 x 12"),
            ("1,234.5 + 2", "1234.5 + 2"),
            ("€ 64,20 for lunch", "64.20 for lunch"),
            ("twenty-five per-cent", "twenty five per cent"),
            ("at 17:30 on 2026-11-21", "at 17:30 on 2026-11-21"),
            ("the 4th of July", "the 4th of july"),
            ("20°C in °F", "20 degrees c in degrees f"),
            ("5km and 7pm", "5 km and 7 pm"),
            ("tell me what time it is", "what time it is"),
            ("15% of 80", "15 percent of 80"),
            ("pin-17 high / low", "pin 17 high low"),
            ("-5 + (3 - 2)", "- 5 + ( 3 - 2 )"),
            ("I don't know - 5 people came", "i do not know 5 people came"),
            ("hello hob", "hob"),
            ("", ""),
            ("?!", ""),
        ] {
            assert_eq!(words(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_slice_is_what_was_written() {
        let s = Sentence::read("Remember “the code (cellar) is 47-11”.");
        assert_eq!(s.slice(1, s.len()), "the code (cellar) is 47-11");
        let s = Sentence::read("remember it cost $20, in Graz!");
        assert_eq!(s.slice(1, s.len()), "it cost $20, in Graz!");
        assert_eq!(s.slice(3, 4), "$20");
        let s = Sentence::read("remember the film \"Heat\"");
        assert_eq!(s.slice(1, s.len()), "the film \"Heat\"");
    }

    #[test]
    fn a_request_is_told_from_a_question() {
        assert!(Sentence::read("can you turn on pin 4?").requests);
        assert!(Sentence::read("turn on pin 4, could you?").requests);
        assert!(!Sentence::read("should I turn on pin 4?").requests);
        assert!(Sentence::read("should I turn on pin 4? ").asks);
    }
}
