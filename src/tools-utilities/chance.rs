//! Generate random ids, passwords and numbers from the system's secure source.

use crate::{bounds::within, maths::grouped, statistics::number};
use text_kit::{counted, join_and};
use tool::prelude::*;
use uuid::{Builder, Uuid};

/// The maximum number of results per call.
const UUIDS: u32 = 100;
const PASSWORDS: u32 = 20;
const NUMBERS: u32 = 1000;
/// The default length of a password.
const LENGTH: u32 = 20;

const UPPERCASE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWERCASE: &str = "abcdefghijklmnopqrstuvwxyz";
const DIGITS: &str = "0123456789";
/// Without quotes, backslash and space, which forms and shells mishandle.
const SYMBOLS: &str = "!#$%&()*+,-./:;<=>?@[]^_{|}~";
/// Characters that look alike on paper.
const AMBIGUOUS: &str = "O0oIl1|S5B8Z2";

/// Generate one or more random UUIDs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MakeUuid {
    /// UUID version: 4 (default) is random; 7 begins with the time, so that ids sort by age.
    #[schemars(extend("enum" = [4, 7]))]
    version: Option<u8>,
    /// Number of UUIDs, 1 (default) to 100.
    #[schemars(range(min = 1, max = 100))]
    count: Option<u32>,
}

pub(crate) async fn uuid(_: (), cx: Cx, MakeUuid { version, count }: MakeUuid) -> Result<Output> {
    let (version, count) = (version.unwrap_or(4), many("count", count, 1, UUIDS)?);
    let now = u64::try_from(cx.ports().clock.now().as_millisecond()).unwrap_or_default();
    let mut chance = SecureRng::default();
    let mut make = || match version {
        4 => Ok(Builder::from_random_bytes(chance.bytes()?).into_uuid()),
        7 => Ok(Builder::from_unix_timestamp_millis(now, &chance.bytes()?).into_uuid()),
        _ => Err(Error::bad_args("`version` is 4 or 7")),
    };
    let mut all = (0..count).map(|_| make()).collect::<Result<Vec<Uuid>>>()?;
    if version == 7 {
        // Created at the same millisecond; sorted ids stay in order.
        all.sort_unstable();
    }
    let all: Vec<String> = all.iter().map(Uuid::to_string).collect();
    let sentence = match all.as_slice() {
        [one] => format!("Here is one: {one}."),
        several => format!("Here are {} ids; the first is {}.", several.len(), several[0]),
    };
    Ok(Output::json(json!({"uuid": all[0], "uuids": all, "version": version, "count": count}))?.say(sentence))
}

/// Generate one or more secure random passwords that contain every requested kind of character.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct MakePassword {
    /// Length in characters, 8 to 128 (default: 20).
    #[schemars(range(min = 8, max = 128))]
    length: Option<u32>,
    /// Include uppercase letters (default: true).
    uppercase: Option<bool>,
    /// Include lowercase letters (default: true).
    lowercase: Option<bool>,
    /// Include digits (default: true).
    numbers: Option<bool>,
    /// Include symbols such as ! and # (default: true).
    symbols: Option<bool>,
    /// Exclude characters that look alike, such as O and 0 (default: false).
    #[serde(default)]
    exclude_ambiguous: bool,
    /// Number of passwords, 1 (default) to 20.
    #[schemars(range(min = 1, max = 20))]
    count: Option<u32>,
}

pub(crate) async fn password(_: (), _: Cx, args: MakePassword) -> Result<Output> {
    let length = args.length.unwrap_or(LENGTH);
    if !(8..=128).contains(&length) {
        return Err(Error::bad_args("a password has 8 to 128 characters: choose a `length` between them"));
    }
    let count = many("count", args.count, 1, PASSWORDS)?;
    let kinds =
        [(args.uppercase, UPPERCASE), (args.lowercase, LOWERCASE), (args.numbers, DIGITS), (args.symbols, SYMBOLS)];
    let kept = |c: &u8| !args.exclude_ambiguous || !AMBIGUOUS.as_bytes().contains(c);
    let kinds: Vec<Vec<u8>> = kinds
        .iter()
        .filter(|(wanted, _)| wanted.unwrap_or(true))
        .map(|(_, kind)| kind.bytes().filter(kept).collect())
        .collect();
    if kinds.is_empty() {
        return Err(Error::bad_args("a password needs some kind of character: leave letters, numbers or symbols on"));
    }
    let mut chance = SecureRng::default();
    let all = (0..count).map(|_| one_password(&kinds, length, &mut chance)).collect::<Result<Vec<String>>>()?;
    let alphabet: usize = kinds.iter().map(Vec::len).sum();
    let bits = (f64::from(length) * (alphabet as f64).log2()).floor();
    let sentence = match all.as_slice() {
        [one] => format!("Here is a password of {length} characters: {one}"),
        several => format!("Here are {} passwords of {length} characters; the first: {}", several.len(), several[0]),
    };
    let answer =
        json!({"password": all[0], "passwords": all, "length": length, "count": count, "entropyBits": number(bits)});
    Ok(Output::json(answer)?.say(sentence))
}

/// All passwords with every kind are equally likely: a candidate that lacks a kind is rejected as a whole.
fn one_password(kinds: &[Vec<u8>], length: u32, chance: &mut SecureRng) -> Result<String> {
    // About every second of the shortest candidates lacks a kind; this many rejections never happen.
    const TRIES: u32 = 10_000;
    let alphabet: Vec<u8> = kinds.concat();
    for _ in 0..TRIES {
        let mut password = String::with_capacity(length as usize);
        for _ in 0..length {
            password.push(char::from(alphabet[chance.below(alphabet.len() as u64)? as usize]));
        }
        if kinds.iter().all(|kind| password.bytes().any(|b| kind.contains(&b))) {
            return Ok(password);
        }
    }
    Err(Error::failed("no password could be made: try again"))
}

/// Generate one or more random numbers between two limits, inclusive: for dice, draws and samples.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Pick {
    /// Minimum.
    min: f64,
    /// Maximum.
    max: f64,
    /// Whole numbers only (default: true).
    integer: Option<bool>,
    /// Number of results, 1 (default) to 1000.
    #[schemars(range(min = 1, max = 1000))]
    count: Option<u32>,
}

pub(crate) async fn pick(_: (), _: Cx, args: Pick) -> Result<Output> {
    let (integer, count) = (args.integer.unwrap_or(true), many("count", args.count, 1, NUMBERS)?);
    let (min, max) = (args.min, args.max);
    if min > max {
        return Err(Error::bad_args("`min` is larger than `max`: give the smaller one first"));
    }
    let mut chance = SecureRng::default();
    let all =
        (0..count)
            .map(|_| {
                if integer {
                    chance.whole(min, max).map(Value::from)
                } else {
                    chance.between(min, max).map(Value::from)
                }
            })
            .collect::<Result<Vec<Value>>>()?;
    let shown: Vec<String> = all.iter().take(10).map(|n| grouped(&n.to_string())).collect();
    // Zero or one is a coin flip.
    let coin = (integer && (min, max) == (0.0, 1.0)).then(|| if all[0] == 1 { "heads" } else { "tails" });
    let sentence = match all.len() {
        1 => match coin {
            Some(side) => format!("It is {side}."),
            None => format!("It is {}.", shown[0]),
        },
        // Dice.
        2..=10 if integer && min == 1.0 && [4.0, 6.0, 8.0, 10.0, 12.0, 20.0].contains(&max) => {
            let sum: i64 = all.iter().filter_map(Value::as_i64).sum();
            format!("You rolled {}: {sum} in all.", join_and(&shown))
        }
        n @ 2..=10 => format!("The {} are {}.", counted(n, "number"), shown.join(", ")),
        n => format!("Here are {}; the first are {}.", counted(n, "number"), shown.join(", ")),
    };
    let answer = json!({
        "number": all[0], "numbers": all, "min": number(min), "max": number(max), "integer": integer, "count": count
    });
    Ok(Output::json(answer)?.say(sentence))
}

/// Check a requested count.
fn many(what: &str, asked: Option<u32>, default: u32, most: u32) -> Result<u32> {
    let count = asked.unwrap_or(default);
    within(what, count as usize, most as usize, "wanted").map_err(|_| {
        Error::bad_args(format!("`{what}` is {count}, and {most} is the maximum per call: call several times"))
    })?;
    if count == 0 { Err(Error::bad_args(format!("`{what}` is 0: ask for at least one"))) } else { Ok(count) }
}

/// A buffered reader of the system's random source; each refill is a system call.
pub(crate) struct SecureRng {
    block: [u8; 256],
    used: usize,
}

impl Default for SecureRng {
    fn default() -> Self {
        Self { block: [0; 256], used: 256 }
    }
}

impl SecureRng {
    fn bytes<const N: usize>(&mut self) -> Result<[u8; N]> {
        if self.used + N > self.block.len() {
            getrandom::fill(&mut self.block)
                .map_err(|why| Error::unavailable(format!("the system's random source failed ({why}): try again")))?;
            self.used = 0;
        }
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.block[self.used..self.used + N]);
        self.used += N;
        Ok(bytes)
    }

    fn next(&mut self) -> Result<u64> {
        self.bytes().map(u64::from_le_bytes)
    }

    /// A uniform number below `bound`, which is above 0. Biased values are rejected.
    pub(crate) fn below(&mut self, bound: u64) -> Result<u64> {
        let bound = bound.max(1);
        let fair = u64::MAX - u64::MAX % bound;
        loop {
            let n = self.next()?;
            if n < fair {
                return Ok(n % bound);
            }
        }
    }

    fn whole(&mut self, min: f64, max: f64) -> Result<i64> {
        // Above this, a float cannot represent every whole number.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let (low, high) = (min.ceil(), max.floor());
        if low < -EXACT || high > EXACT {
            return Err(Error::bad_args(
                "whole numbers here have at most 15 digits: give `integer: false` for larger ones",
            ));
        }
        if low > high {
            return Err(Error::bad_args(
                "there is no whole number between them: give `integer: false`, or other limits",
            ));
        }
        let (low, high) = (low as i64, high as i64);
        let n = self.below(low.abs_diff(high) + 1)?;
        Ok(low.saturating_add_unsigned(n))
    }

    fn between(&mut self, min: f64, max: f64) -> Result<f64> {
        if !(max - min).is_finite() {
            return Err(Error::bad_args("the limits are too far apart: narrow them"));
        }
        // A float has this many steps from 0 to 1.
        let part = (self.next()? >> 11) as f64 / ((1_u64 << 53) - 1) as f64;
        Ok((min + (max - min) * part).clamp(min, max))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};
    use std::collections::HashSet;

    async fn ask(tool: &str, args: Value) -> Result<Output> {
        call(crate::chance(), &cx(), tool, args).await
    }

    #[tokio::test]
    async fn ids_are_of_the_version_asked_for_and_differ() {
        let four = ask("generate_uuid", json!({})).await.unwrap();
        let id: Uuid = four.content["uuid"].as_str().unwrap().parse().unwrap();
        assert_eq!((id.get_version_num(), &four.content["count"]), (4, &json!(1)));
        assert_eq!(four.say.unwrap(), format!("Here is one: {id}."));
        let many = ask("generate_uuid", json!({"version": 7, "count": 100})).await.unwrap().content;
        let ids: Vec<&str> = many["uuids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 100);
        assert!(ids.is_sorted());
        // 2026-11-20T13:30:00Z in milliseconds.
        assert!(ids.iter().all(|id| id.starts_with(&format!("{:08x}", 1_795_181_400_000_u64 >> 16))), "{}", ids[0]);
        for bad in [json!({"version": 1}), json!({"count": 0}), json!({"count": 101})] {
            assert!(matches!(ask("generate_uuid", bad).await, Err(Error::BadArgs(_))));
        }
    }

    #[tokio::test]
    async fn passwords_have_what_was_asked_for_and_nothing_else() {
        let has = |text: &str, kind: &str| text.chars().any(|c| kind.contains(c));
        let answer = ask("generate_password", json!({"length": 8, "count": 20})).await.unwrap().content;
        let all = answer["passwords"].as_array().unwrap();
        for one in all.iter().map(|p| p.as_str().unwrap()) {
            assert_eq!(one.len(), 8);
            assert!([UPPERCASE, LOWERCASE, DIGITS, SYMBOLS].iter().all(|kind| has(one, kind)), "{one}");
        }
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 20);
        let plain = json!({"symbols": false, "uppercase": false, "excludeAmbiguous": true, "length": 128});
        let plain = ask("generate_password", plain).await.unwrap();
        let one = plain.content["password"].as_str().unwrap();
        assert_eq!((one.len(), &plain.content["entropyBits"]), (128, &json!(621)));
        assert!(one.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()) && !has(one, AMBIGUOUS), "{one}");
        assert_eq!(plain.say.unwrap(), format!("Here is a password of 128 characters: {one}"));
        let none = json!({"symbols": false, "uppercase": false, "lowercase": false, "numbers": false});
        for bad in [none, json!({"length": 7}), json!({"length": 129}), json!({"count": 21})] {
            assert!(matches!(ask("generate_password", bad).await, Err(Error::BadArgs(_))));
        }
    }

    #[tokio::test]
    async fn numbers_are_within_their_limits() {
        let dice = ask("random_number", json!({"min": 1, "max": 6, "count": 1000})).await.unwrap().content;
        let seen: HashSet<i64> = dice["numbers"].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect();
        assert_eq!(seen, (1..=6).collect());
        let one = ask("random_number", json!({"min": 1234, "max": 1234})).await.unwrap();
        assert_eq!((one.say.as_deref(), &one.content["number"]), (Some("It is 1,234."), &json!(1234)));
        let coin = ask("random_number", json!({"min": 0, "max": 1})).await.unwrap();
        let sides = [(0, "It is tails."), (1, "It is heads.")];
        assert!(
            sides.iter().any(|(n, sentence)| coin.content["number"] == *n && coin.say.as_deref() == Some(sentence))
        );
        let floats = json!({"min": -0.5, "max": 0.5, "integer": false, "count": 1000});
        let floats = ask("random_number", floats).await.unwrap().content;
        assert!(floats["numbers"].as_array().unwrap().iter().all(|n| (-0.5..=0.5).contains(&n.as_f64().unwrap())));
        let far = json!({"min": -9_007_199_254_740_992_i64, "max": 9_007_199_254_740_992_i64, "count": 3});
        assert!(ask("random_number", far).await.is_ok());
        for bad in [
            json!({"min": 2, "max": 1}),
            json!({"min": 0.2, "max": 0.8}),
            json!({"min": 0, "max": 1e300}),
            json!({"min": -1e308, "max": 1e308, "integer": false}),
        ] {
            assert!(matches!(ask("random_number", bad.clone()).await, Err(Error::BadArgs(_))), "{bad}");
        }
    }

    #[test]
    fn no_number_is_favoured() {
        let mut chance = SecureRng::default();
        // Three does not divide a power of two: the plain remainder of a byte would favour 0.
        let mut counts = [0_i64; 3];
        for _ in 0..30_000 {
            counts[chance.below(3).unwrap() as usize] += 1;
        }
        // Six standard deviations.
        assert!(counts.iter().all(|n| (n - 10_000).abs() < 500), "{counts:?}");
        assert_eq!(chance.below(0).unwrap(), 0);
    }
}
