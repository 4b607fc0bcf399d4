//! Arithmetic in words or signs, as an expression for `calculate`: "12 times 12" is `12 * 12`.

use super::number;
use crate::sentence::Sentence;

/// An expression at `at`: number of tokens and text. A number alone is none.
pub(crate) fn expression(s: &Sentence, at: usize) -> Option<(usize, String)> {
    let (end, term) = sum(s, at, 0)?;
    let closing = usize::from(["=", "equals"].contains(&s.word(end)));
    (term.worked && !term.percent).then(|| (end + closing - at, term.text))
}

/// A part of an expression.
struct Term {
    text: String,
    /// Precedence of its outermost operation: 1 sums, 2 products, 3 powers, 4 atoms.
    binds: u8,
    /// A percentage not yet applied to anything.
    percent: bool,
    /// Whether it contains an operation.
    worked: bool,
}

impl Term {
    fn single(text: String) -> Self {
        Self { text, binds: 4, percent: false, worked: false }
    }
    fn made(text: String, binds: u8) -> Self {
        Self { text, binds, percent: false, worked: true }
    }
    /// The text, in parentheses if its precedence is lower than needed.
    fn at_least(&self, binds: u8) -> String {
        if self.binds < binds { format!("({})", self.text) } else { self.text.clone() }
    }
    /// A percentage as a fraction.
    fn share(&self) -> String {
        format!("{} / 100", self.text)
    }
}

/// Maximum nesting depth.
const DEPTH: u8 = 20;

type Parsed = Option<(usize, Term)>;

/// Terms joined by plus and minus. "80 plus 15 percent" adds a share of the 80.
fn sum(s: &Sentence, at: usize, depth: u8) -> Parsed {
    let (mut end, mut left) = product(s, at, depth)?;
    while let Some((count, sign)) = operator(s, end, &SUMS) {
        let Some((next, right)) = product(s, end + count, depth) else { break };
        let text = if right.percent {
            format!("{} * (1 {sign} {})", left.at_least(2), right.share())
        } else {
            format!("{} {sign} {}", left.text, right.at_least(2))
        };
        left = Term::made(text, if right.percent { 2 } else { 1 });
        end = next;
    }
    Some((end, left))
}

/// Factors joined by times and divided by; "15 percent of 80", "20 percent off 50", "1/3 of 90".
fn product(s: &Sentence, at: usize, depth: u8) -> Parsed {
    let (mut end, mut left) = power(s, at, depth)?;
    loop {
        let (count, sign) = match operator(s, end, &PRODUCTS) {
            Some(found) => found,
            None if s.word(end) == "of" && (left.percent || left.text.contains('/')) => (1, "of"),
            None if s.word(end) == "off" && left.percent => (1, "off"),
            None => return Some((end, left)),
        };
        let the = usize::from(sign == "of" && s.word(end + count) == "the");
        let Some((next, right)) = power(s, end + count + the, depth) else { return Some((end, left)) };
        let text = match sign {
            "of" if left.percent => format!("{} * {}", left.share(), right.at_least(3)),
            "of" => format!("{} * {}", left.at_least(2), right.at_least(3)),
            "off" => format!("{} * (1 - {})", right.at_least(2), left.share()),
            _ => format!("{} {sign} {}", left.at_least(2), right.at_least(3)),
        };
        left = Term::made(text, 2);
        end = next;
    }
}

/// Powers, which are right-associative.
fn power(s: &Sentence, at: usize, depth: u8) -> Parsed {
    let (mut end, mut left) = single(s, at, depth)?;
    let ending = match (s.word(end), s.word(end + 1)) {
        ("squared", _) => Some((1, "2")),
        ("cubed", _) => Some((1, "3")),
        _ => None,
    };
    if let Some((count, exponent)) = ending {
        (end, left) = (end + count, Term::made(format!("{}^{exponent}", left.at_least(4)), 3));
    }
    let Some((count, _)) = operator(s, end, &POWERS) else { return Some((end, left)) };
    let the = usize::from(s.word(end + count) == "the");
    let Some((next, right)) = power(s, end + count + the, depth + 1).filter(|_| depth < DEPTH) else {
        return Some((end, left));
    };
    Some((next, Term::made(format!("{}^{}", left.at_least(4), right.at_least(3)), 3)))
}

/// A number, a percentage, a parenthesized expression, or a function call.
fn single(s: &Sentence, at: usize, depth: u8) -> Parsed {
    if depth >= DEPTH {
        return None;
    }
    let the = usize::from(["the", "a"].contains(&s.word(at)) && number::number(s, at).is_none());
    if let Some(found) = function(s, at + the, depth).or_else(|| spoken(s, at + the, depth)) {
        return Some(found);
    }
    match s.word(at) {
        "(" => {
            let (end, inner) = sum(s, at + 1, depth + 1)?;
            let text = format!("({})", inner.text);
            return (s.word(end) == ")").then(|| (end + 1, Term { text, binds: 4, ..inner }));
        }
        "-" | "minus" | "negative" => {
            let (end, inner) = power(s, at + 1, depth + 1)?;
            return Some((end, Term { text: format!("-{}", inner.at_least(3)), binds: 2, ..inner }));
        }
        "pi" => return Some((at + 1, Term { worked: true, ..Term::single("pi".to_owned()) })),
        word if word.starts_with("0x") => return Some((at + 1, Term::single(word.to_owned()))),
        _ => {}
    }
    let (count, value) = number::number(s, at)?;
    let end = at + count;
    let per_cent = match (s.word(end), s.word(end + 1)) {
        ("percent", _) => 1,
        ("per", "cent") => 2,
        _ => 0,
    };
    let term = Term { percent: per_cent > 0, ..Term::single(value.to_string()) };
    if s.word(end) == "factorial" {
        return Some((end + 1, Term::made(format!("{}!", term.text), 4)));
    }
    Some((end + per_cent, term))
}

/// "square root of 144", "half of 90", "two thirds of 12", "double 4".
fn function(s: &Sentence, at: usize, depth: u8) -> Parsed {
    let (words, shape) =
        FUNCTIONS.iter().find(|(words, _)| words.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))?;
    let of = at + words.split(' ').count();
    let of = of + usize::from(s.word(of) == "of");
    let factor = shape.strip_suffix(" *");
    let (end, inner) = if factor.is_some() { power(s, of, depth + 1)? } else { single(s, of, depth + 1)? };
    let angle = ["sin", "cos", "tan"].contains(shape) && ["degrees", "degree"].contains(&s.word(end));
    let end = end + usize::from(angle);
    let term = match factor {
        None if angle => Term::made(format!("{shape}({} degrees)", unwrapped(&inner.text)), 4),
        Some(factor) => Term::made(format!("{factor} * {}", inner.at_least(3)), 2),
        None if *shape == "!" => Term::made(format!("{}!", inner.at_least(4)), 4),
        None => Term::made(format!("{shape}({})", unwrapped(&inner.text)), 4),
    };
    Some((end, term))
}

/// "(3 + 4)" without its parentheses, as a function's argument.
fn unwrapped(text: &str) -> &str {
    let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')'));
    inner.filter(|t| !t.contains(['(', ')'])).unwrap_or(text)
}

/// "the sum of 3 and 4", "divide 144 by 12", "subtract 3 from 10".
fn spoken(s: &Sentence, at: usize, depth: u8) -> Parsed {
    let (opening, joints, sign) =
        SPOKEN.iter().find(|(opening, ..)| opening.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))?;
    let begin = at + opening.split(' ').count();
    let (mut end, first) = power(s, begin, depth + 1)?;
    let mut terms = vec![first];
    loop {
        // "3, 4 and 5" are terms of a sum too.
        let comma = ["+", "*"].contains(sign) && s.tokens.get(end).is_some_and(|token| token.after_break);
        let joint = usize::from(joints.contains(&s.word(end)));
        if !comma && joint == 0 {
            break;
        }
        let Some((next, term)) = power(s, end + joint, depth + 1) else { break };
        terms.push(term);
        end = next;
    }
    if terms.len() < 2 || (*sign != "+" && *sign != "*" && terms.len() > 2) {
        return None;
    }
    // "subtract 3 from 10" names the operands in reverse order.
    if joints.contains(&"from") {
        terms.reverse();
    }
    let binds = if ["+", "-"].contains(sign) { 1 } else { 2 };
    let text: Vec<String> = terms.iter().map(|t| t.at_least(binds + 1)).collect();
    Some((end, Term::made(text.join(&format!(" {sign} ")), binds)))
}

fn operator<'a>(s: &Sentence, at: usize, table: &[(&str, &'a str)]) -> Option<(usize, &'a str)> {
    table
        .iter()
        .find(|(words, _)| words.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))
        .map(|(words, sign)| (words.split(' ').count(), *sign))
}

const SUMS: [(&str, &str); 7] =
    [("plus", "+"), ("+", "+"), ("added to", "+"), ("minus", "-"), ("-", "-"), ("take away", "-"), ("less", "-")];
const PRODUCTS: [(&str, &str); 13] = [
    ("lots of", "*"),
    ("times", "*"),
    ("x", "*"),
    ("*", "*"),
    ("×", "*"),
    ("multiplied by", "*"),
    ("multiplied with", "*"),
    ("divided by", "/"),
    ("over", "/"),
    ("/", "/"),
    ("÷", "/"),
    ("modulo", "mod"),
    ("mod", "mod"),
];
const POWERS: [(&str, &str); 6] = [
    ("^", "^"),
    ("* *", "^"),
    ("to the power of", "^"),
    ("raised to the power of", "^"),
    ("raised to", "^"),
    ("to the power", "^"),
];
/// Prefix functions; a pattern ending in `*` multiplies, others are function names.
const FUNCTIONS: &[(&str, &str)] = &[
    ("square root", "sqrt"),
    ("squareroot", "sqrt"),
    ("sqrt", "sqrt"),
    ("√", "sqrt"),
    ("cube root", "cbrt"),
    ("root", "sqrt"),
    ("factorial", "!"),
    ("half", "1 / 2 *"),
    ("one half", "1 / 2 *"),
    ("one third", "1 / 3 *"),
    ("third", "1 / 3 *"),
    ("two thirds", "2 / 3 *"),
    ("one quarter", "1 / 4 *"),
    ("quarter", "1 / 4 *"),
    ("three quarters", "3 / 4 *"),
    ("one fifth", "1 / 5 *"),
    ("one tenth", "1 / 10 *"),
    ("double", "2 *"),
    ("twice", "2 *"),
    ("triple", "3 *"),
    ("sine", "sin"),
    ("sin", "sin"),
    ("cosine", "cos"),
    ("cos", "cos"),
    ("tangent", "tan"),
    ("tan", "tan"),
    ("natural log", "ln"),
    ("ln", "ln"),
    ("log", "log"),
    ("logarithm", "log"),
    ("absolute value", "abs"),
];
const SPOKEN: &[(&str, &[&str], &str)] = &[
    ("add up", &["and", "plus"], "+"),
    ("split", &["between", "by", "among"], "/"),
    ("share", &["between", "among"], "/"),
    ("take", &["from"], "-"),
    ("sum of", &["and"], "+"),
    ("add", &["and", "to", "plus"], "+"),
    ("product of", &["and"], "*"),
    ("multiply", &["by", "and", "with", "times"], "*"),
    ("divide", &["by"], "/"),
    ("quotient of", &["and"], "/"),
    ("subtract", &["from"], "-"),
    ("difference between", &["and"], "-"),
    ("difference of", &["and"], "-"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_read() {
        for (text, wanted) in [
            ("12 times 12", "12 * 12"),
            ("12 * 12", "12 * 12"),
            ("12x12", "12 * 12"),
            ("twelve times twelve", "12 * 12"),
            ("15 percent of 80", "15 / 100 * 80"),
            ("15% of 80", "15 / 100 * 80"),
            ("80 plus 15 percent", "80 * (1 + 15 / 100)"),
            ("20 percent off 50", "50 * (1 - 20 / 100)"),
            ("the square root of 144", "sqrt(144)"),
            ("square root of (3 + 4)", "sqrt(3 + 4)"),
            ("2 to the power of 10", "2^10"),
            ("2^10", "2^10"),
            ("half of 90", "1 / 2 * 90"),
            ("two thirds of 12", "2 / 3 * 12"),
            ("1/3 of 90", "1 / 3 * 90"),
            ("3 + 4 * 5", "3 + 4 * 5"),
            ("(3+4)*5", "(3 + 4) * 5"),
            ("10 - 3 - 2", "10 - 3 - 2"),
            ("100 divided by 8 plus 2", "100 / 8 + 2"),
            ("the sum of 3, 4 and 5", "3 + 4 + 5"),
            ("add up 12, 19, and 44", "12 + 19 + 44"),
            ("split 96 between 4", "96 / 4"),
            ("take 18 from 250", "250 - 18"),
            ("12 lots of 35", "12 * 35"),
            ("the sum of 3 and 4 and 5", "3 + 4 + 5"),
            ("subtract 3 from 10", "10 - 3"),
            ("divide one hundred and forty four by twelve", "144 / 12"),
            ("3 squared plus 4 squared", "3^2 + 4^2"),
            ("5 factorial", "5!"),
            ("2 times pi", "2 * pi"),
            ("minus 5 plus 3", "-5 + 3"),
            ("5 * -3", "5 * (-3)"),
            ("minus 5 squared", "-5^2"),
            ("sine of 30 degrees", "sin(30 degrees)"),
            ("1,234 + 1", "1234 + 1"),
            ("3.5 * 2 =", "3.5 * 2"),
            ("0x1f + 1", "0x1f + 1"),
            ("12", ""),
            ("15 percent", ""),
            ("five apples", ""),
            ("times 3", ""),
            ("", ""),
        ] {
            let got = expression(&Sentence::read(text), 0);
            assert_eq!(got.map_or(String::new(), |e| e.1), wanted, "{text}");
        }
    }

    #[test]
    fn what_follows_is_left() {
        assert_eq!(expression(&Sentence::read("3 plus 4 apples"), 0).map(|e| e.0), Some(3));
        assert_eq!(expression(&Sentence::read("3 plus pears"), 0), None);
        assert_eq!(expression(&Sentence::read(&"( ".repeat(500)), 0), None);
        assert_eq!(expression(&Sentence::read(&"2 ^ ".repeat(500)), 0).map(|e| e.0 > 3), Some(true));
    }
}
