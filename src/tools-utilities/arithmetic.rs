//! Evaluate expressions within limits of time, stack, memory and length. Only this file uses fend.

use fend_core::{Context, Interrupt, evaluate_with_interrupt};
use regex::Regex;
use std::{
    sync::LazyLock,
    thread,
    time::{Duration, Instant},
};
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};
use tool::{Error, Result};

/// The maximum length of an expression, in characters. fend recurses, and a stack overflow ends the process: this
/// length and [`STACK`] belong together, as a test proves.
const LONGEST: usize = 500;
const STACK: usize = 64 << 20;
/// The maximum parsing cost of an expression, in tokens: fend parses the content of parentheses repeatedly.
const COST: u64 = 20_000;
/// The maximum number of digits of a number and of its exponent: fend ignores its deadline while it reduces fractions
/// of numbers with a million digits. (Fuzzing found these limits.)
const DIGITS: usize = 40;
const EXPONENT_DIGITS: usize = 3;
/// The time until fend is interrupted, and the grace period until it is abandoned.
const TIME: Duration = Duration::from_secs(1);
const GRACE: Duration = Duration::from_secs(2);
/// The maximum number of concurrent evaluations, which bounds the cost of abandoned ones.
const CONCURRENCY: usize = 2;
/// The maximum length of a result, in characters.
const LONGEST_RESULT: usize = 1000;

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    /// The value without its unit: `-0.3333333333`, `0x11`, `true`, `3 + 4i`.
    pub(crate) text: String,
    /// The unit, or empty.
    pub(crate) unit: String,
    /// Whether the value is rounded.
    pub(crate) approximate: bool,
}

impl Answer {
    /// The value as a float, if it is a plain decimal number in range.
    pub(crate) fn number(&self) -> Option<f64> {
        let plain = self.text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'-'));
        self.text.parse().ok().filter(|n: &f64| plain && n.is_finite())
    }
}

struct Deadline(Instant);
impl Interrupt for Deadline {
    fn should_interrupt(&self) -> bool {
        Instant::now() >= self.0
    }
}

/// Evaluate an expression on a thread of its own.
///
/// # Errors
/// `BadArgs` with the fault in the expression.
pub(crate) async fn evaluate(expression: String) -> Result<Answer> {
    static FREE: Semaphore = Semaphore::const_new(CONCURRENCY);
    check(&expression)?;
    let too_long = |_| explain("interrupted");
    let turn = timeout(TIME + GRACE, FREE.acquire()).await.map_err(too_long)?;
    let (done, answer) = oneshot::channel();
    let work = move || {
        // The receiver may be gone. The slot is released when the work ends, not when the wait does.
        let _ = (done.send(compute(&expression)), turn);
    };
    thread::Builder::new()
        .name("arithmetic".into())
        .stack_size(STACK)
        .spawn(work)
        .map_err(|why| Error::unavailable(format!("no thread could be started ({why}): try again")))?;
    let answer = timeout(TIME + GRACE, answer).await.map_err(too_long)?;
    answer.map_err(|_| Error::failed("this expression could not be evaluated: write it in another way"))?
}

fn compute(expression: &str) -> Result<Answer> {
    let answer = once(expression)?;
    let small = answer.approximate && answer.number().is_some_and(|n| n.abs() < 0.001);
    // Ten decimal places are too few for a very small number.
    Ok(if small { once(&format!("({expression}) to 10 sf")).unwrap_or(answer) } else { answer })
}

fn once(expression: &str) -> Result<Answer> {
    // Without a random source and exchange rates, evaluation is deterministic.
    let result = evaluate_with_interrupt(expression, &mut Context::new(), &Deadline(Instant::now() + TIME));
    let result = result.map_err(|why| explain(&why))?;
    let text = result.get_main_result().trim();
    if text.is_empty() {
        return Err(Error::bad_args("this expression has no value: write something like 2 * (3 + 4)"));
    }
    if text.len() > LONGEST_RESULT {
        return Err(Error::bad_args(format!("the result has more than {LONGEST_RESULT} digits: ask for less")));
    }
    let (approximate, text) = text.strip_prefix("approx. ").map_or((false, text), |rest| (true, rest));
    let number = text.trim_start_matches('-').find(|c: char| !c.is_ascii_digit() && c != '.');
    let end = number.map_or(text.len(), |at| at + text.len() - text.trim_start_matches('-').len());
    let (value, unit) = text.split_at(end);
    // Only text after a plain number is a unit; `0x11`, `1/3` and `3 + 4i` are values as a whole.
    let has_unit =
        !value.is_empty() && unit.trim_start().starts_with(|c: char| c.is_alphabetic() || "°%'\"".contains(c));
    let is_number = |unit: &str| unit.starts_with(['x', 'b', 'o']) && value == "0" || unit == "i";
    let (value, unit) = if has_unit && !is_number(unit) { (value, unit.trim()) } else { (text, "") };
    Ok(Answer { text: value.to_owned(), unit: unit.replace(" / ", "/"), approximate })
}

fn explain(why: &str) -> Error {
    let said = match why {
        "division by zero" => "Nothing can be divided by zero.",
        "interrupted" => "The numbers are too large for me.",
        "exchange rates are not available" => "I have no exchange rates.",
        _ => "I cannot work that out. Say it like “what is 12 * 12?” or “5 miles in km”.",
    };
    Error::bad_args(match why {
        "interrupted" => "this takes too long to compute: the numbers are too large".to_owned(),
        "exchange rates are not available" => "currencies cannot be converted: there are no exchange rates here".into(),
        _ => {
            format!("this cannot be evaluated: {why}; write it like 2 * (3 + 4), sqrt(2), 15% of 200 or 5 km to miles")
        }
    })
    .say(said)
}

/// Reject harmful input (recursive functions, dice with huge distributions, numbers and nesting beyond the limits)
/// and input that fend would silently misread.
fn check(expression: &str) -> Result<()> {
    static DICE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)(^|[^\w.])\d*d\d").ok());
    if expression.trim().is_empty() {
        return Err(Error::bad_args("the expression is empty: pass one such as 2 * (3 + 4)"));
    }
    if expression.chars().count() > LONGEST || cost(expression) > COST {
        return Err(Error::bad_args(format!(
            "the expression is too long or nested too deeply (at most {LONGEST} characters): work it out in parts"
        )));
    }
    let known = |c: char| c.is_alphanumeric() || c.is_whitespace() || "+-*/^!%().,°×÷−$€£".contains(c);
    if let Some(strange) = expression.chars().find(|c| !known(*c)) {
        return Err(Error::bad_args(format!(
            "`{strange}` cannot be part of an expression: use numbers, units, + - * / ^ ! % and functions such as sqrt"
        )));
    }
    if has_large_number(expression.as_bytes()) {
        return Err(Error::bad_args(format!(
            "numbers may have {DIGITS} digits and exponents {EXPONENT_DIGITS}: write large ones as powers"
        )));
    }
    if DICE.as_ref().is_none_or(|dice| dice.is_match(expression)) {
        return Err(Error::bad_args("dice are not supported"));
    }
    check_commas(expression)
}

fn has_large_number(text: &[u8]) -> bool {
    let digits = |from: usize| text.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    (0..text.len()).any(|at| {
        let exponent = match text[at] {
            b'e' | b'E' => digits(at + 1 + usize::from(matches!(text.get(at + 1), Some(b'+' | b'-')))),
            _ => 0,
        };
        exponent > EXPONENT_DIGITS || digits(at) > DIGITS
    })
}

/// An upper bound of the tokens that fend parses: it parses parentheses up to twice for each preceding token on the
/// same level, and again for each enclosing level.
fn cost(expression: &str) -> u64 {
    let mut levels: Vec<(u64, u64)> = vec![];
    let (mut times, mut tokens, mut total, mut last) = (1u64, 0u64, 0u64, ' ');
    let class = |c: char| match c {
        c if c.is_whitespace() => ' ',
        '0'..='9' | '.' | ',' => '0',
        c if c.is_alphabetic() => 'a',
        _ => '+',
    };
    for c in expression.chars() {
        let now = class(c);
        if now == '+' || (now != ' ' && now != last) {
            tokens += 1;
            total = total.saturating_add(times);
        }
        last = now;
        if c == '(' {
            levels.push((times, tokens));
            (times, tokens) = (times.saturating_mul(2 * tokens), 0);
        } else if c == ')'
            && let Some(outer) = levels.pop()
        {
            (times, tokens) = outer;
        }
    }
    total
}

/// fend skips commas: `mean(1,2)` would be 12. Only thousands separators are allowed.
fn check_commas(expression: &str) -> Result<()> {
    let bytes = expression.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|b| b.is_ascii_digit()).count();
    let mut calls = Vec::new();
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            b'(' => calls.push(at > 0 && bytes[at - 1].is_ascii_alphabetic()),
            b')' => drop(calls.pop()),
            b',' if calls.last() == Some(&true) => {
                return Err(Error::bad_args("functions here take one number: write sums and products out"));
            }
            b',' if at == 0 || !bytes[at - 1].is_ascii_digit() || digits(at + 1) != 3 => {
                return Err(Error::bad_args("a comma may only separate thousands (1,000): write decimals with a dot"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cases, wait};
    use proptest::prelude::*;

    async fn shown(expression: &str) -> String {
        match evaluate(expression.to_owned()).await {
            Ok(a) => format!("{}{}|{}", if a.approximate { "~" } else { "" }, a.text, a.unit),
            Err(e) => e.to_string(),
        }
    }

    #[tokio::test]
    async fn values_and_units_come_apart() {
        let table = [
            ("12*12", "144|"),
            ("-1/3", "~-0.3333333333|"),
            ("1/3 * 1e-12", "~0.0000000000003333333333|"),
            ("1e-30", "0.000000000000000000000000000001|"),
            ("0x10 + 1", "0x11|"),
            ("0b10 + 1", "0b11|"),
            ("3 + 4i", "3 + 4i|"),
            ("i", "i|"),
            ("1/3 to fraction", "1/3|"),
            ("5 km/h to m/s", "~1.3888888889|m/s"),
            ("20 °C to °F", "68|°F"),
            ("5 inches to cm", "12.7|cm"),
            ("50%", "50|%"),
            ("1,000,000 + (2,000)", "1002000|"),
            ("1 nm to mile", "~0.0000000000006213711922|miles"),
        ];
        for (expression, expected) in table {
            assert_eq!(shown(expression).await, expected, "{expression}");
        }
    }

    #[tokio::test]
    async fn what_would_hurt_or_mislead_is_refused() {
        let table = [
            ("", "the expression is empty"),
            ("  ", "the expression is empty"),
            ("9^9^9", "too long to compute"),
            ("100000!", "too long to compute"),
            ("9999999!", "too long to compute"),
            ("1e999999999", "exponents 3"),
            ("1e-9999", "exponents 3"),
            ("1_0", "cannot be part"),
            ("{1}", "cannot be part"),
            ("1/7 to 5000 dp", "more than 1000 digits"),
            ("2(2(2(2(2(2(2(2(2(2(2(2(2(2(1))))))))))))))", "nested too deeply"),
            ("1/0", "division by zero"),
            ("abc + 1", "unknown identifier 'abc'"),
            ("5 km to kg", "cannot convert"),
            ("1 USD to EUR", "no exchange rates"),
            ("roll d6", "dice"),
            ("1d100000", "dice"),
            ("3 (d20)", "dice"),
            ("f = x: f x; f 1", "cannot be part"),
            ("(x => x x) (x => x x)", "cannot be part"),
            (r"\x. x", "cannot be part"),
            ("mean(1,2)", "take one number"),
            ("max(1,200)", "take one number"),
            ("3,5 + 1", "separate thousands"),
            ("1,0000", "separate thousands"),
            ("(1), 2", "separate thousands"),
        ];
        for (expression, expected) in table {
            let answer = shown(expression).await;
            assert!(answer.contains(expected), "{expression}: {answer}");
        }
    }

    /// Each of these nests as deep as the length allows; a stack overflow would end the test run.
    #[tokio::test]
    async fn no_expression_overflows_the_stack() {
        let shapes = [
            "(|)", "-|", "+|", "sqrt |", "sqrt(|)", "2^|", "1+|", "2*|", "1/|", "|!", "|%", "1 to |", "2 mod |",
            "not |", "1 m |", "2per |", "1 of |", "|^-1", "2(|)", "1+1+(|)",
        ];
        let mut passed = 0;
        for shape in shapes {
            let (before, after) = shape.split_once('|').unwrap();
            for n in [4, 8, 16, 64, LONGEST - 1] {
                let n = n.min((LONGEST - 1) / (before.chars().count() + after.chars().count()));
                let expression = format!("{}1{}", before.repeat(n), after.repeat(n));
                passed += usize::from(check(&expression).is_ok());
                // Any result counts if it comes in time and the process survives.
                let start = Instant::now();
                let _ = evaluate(expression).await;
                assert!(start.elapsed() < TIME + GRACE, "{shape} {n}");
            }
        }
        assert!(passed > shapes.len() * 3, "{passed}");
        assert!(shown(&"1+".repeat(LONGEST)).await.contains("at most 500 characters"));
    }

    #[test]
    fn what_people_write_is_not_too_deep() {
        for expression in [
            "(-5 + sqrt(5^2 - 4*2*(-3))) / (2*2)",
            "1000*(1 + 0.05/12)^(12*10)",
            "((1+2)*(3+4)+(5+6))/((7+8)*(9-(2+1)))",
            "sin(cos(tan(1)))",
            "(1*2)+(3*4)+(5*6)+(7*8)+(9*10)+(11*12)+(13*14)+(15*16)+(17*18)+(19*20)+(21*22)+(23*24)",
        ] {
            assert!(cost(expression) < COST / 2, "{expression}: {}", cost(expression));
        }
    }

    proptest! {
        #![proptest_config(cases(400))]

        /// Every input returns a result or an error: the evaluation thread never ends without an answer.
        #[test]
        fn no_expression_panics(
            text in "\\PC{0,30}",
            sum in "[0-9.,+*/^()%! a-z-]{0,40}",
            words in prop::collection::vec(prop::sample::select(vec![
                "1", "2.5", "1e9", "0x1F", "(", ")", "+", "-", "*", "/", "^", "!", "%", "mod", "to", "of", "per", "sqrt", "sin",
                "ln", "pi", "i", "km", "m", "kg", "°C", "°F", "hours", "percent", "dp", "sf", "hex", "fraction", "not", "and",
            ]), 0..9),
        ) {
            for expression in [text, sum, words.join(" ")] {
                let answer = wait(evaluate(expression.clone()));
                prop_assert!(matches!(answer, Ok(_) | Err(Error::BadArgs(_))), "{:?}: {:?}", expression, answer);
            }
        }
    }
}
