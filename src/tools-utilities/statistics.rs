//! Statistics of numbers, and percentages.

use crate::{
    bounds::few,
    maths::{grouped, spoken},
    words::words,
};
use std::collections::HashMap;
use text_kit::counted;
use tool::prelude::*;

/// The returned percentiles.
const PERCENTILES: [u8; 7] = [5, 10, 25, 50, 75, 90, 95];
/// The maximum number of returned modes: distinct numbers are all modes.
const MODES: usize = 20;

/// Compute statistics of a list of numbers: count, sum, mean, median, mode, minimum and maximum, range, variance,
/// standard deviation and percentiles.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Statistics {
    /// Numbers, 1 to 100,000 of them.
    #[schemars(length(min = 1, max = 100_000))]
    numbers: Vec<f64>,
}

/// The answer. Values undefined for a single number are null.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary {
    count: usize,
    sum: Value,
    mean: Value,
    median: Value,
    /// The most frequent numbers, if any occurs twice.
    mode: Vec<Value>,
    min: Value,
    max: Value,
    range: Value,
    /// Of a sample, divided by n - 1.
    variance: Option<Value>,
    std_dev: Option<Value>,
    population_variance: Value,
    population_std_dev: Value,
    /// By linear interpolation: `p50` is the median.
    percentiles: Value,
}

pub(crate) async fn statistics(_: (), _: Cx, Statistics { numbers }: Statistics) -> Result<Output> {
    few("numbers", numbers.len())?;
    let mut sorted = numbers;
    sorted.sort_by(f64::total_cmp);
    let [min, .., max] = sorted.as_slice() else {
        let [only] = sorted.as_slice() else { return Err(Error::bad_args("give at least one number")) };
        return tell(&sorted, (*only, *only));
    };
    tell(&sorted, (*min, *max))
}

fn tell(sorted: &[f64], (min, max): (f64, f64)) -> Result<Output> {
    let count = sorted.len();
    let sum = sum(sorted);
    let mean = sum / count as f64;
    let squares = self::sum(&sorted.iter().map(|n| (n - mean) * (n - mean)).collect::<Vec<_>>());
    let (population, sample) = (squares / count as f64, (count > 1).then(|| squares / (count - 1) as f64));
    let median = percentile(sorted, 50);
    if ![sum, squares, max - min].iter().all(|n| n.is_finite()) {
        return Err(Error::bad_args("the sum of these numbers is too large: divide them first"));
    }
    let percentiles = PERCENTILES.iter().map(|p| (format!("p{p}"), number(percentile(sorted, *p))));
    let summary = Summary {
        count,
        sum: number(sum),
        mean: number(mean),
        median: number(median),
        mode: mode(sorted),
        min: number(min),
        max: number(max),
        range: number(max - min),
        variance: sample.map(number),
        std_dev: sample.map(|s| number(s.sqrt())),
        population_variance: number(population),
        population_std_dev: number(population.sqrt()),
        percentiles: Value::Object(percentiles.collect()),
    };
    let shown = |n: f64| grouped(&spoken(n));
    let sentence = format!(
        "The mean of {} is {}, the median {}, and they add up to {}.",
        counted(count, "number"),
        shown(mean),
        shown(median),
        shown(sum)
    );
    Ok(Output::json(summary)?.say(sentence))
}

/// Compensated summation (Neumaier), so that the order hardly matters.
pub(crate) fn sum(numbers: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
    for n in numbers {
        let next = sum + n;
        lost += if sum.abs() >= n.abs() { (sum - next) + n } else { (n - next) + sum };
        sum = next;
    }
    if sum.is_finite() { sum + lost } else { sum }
}

/// A percentile of sorted numbers by linear interpolation.
fn percentile(sorted: &[f64], percent: u8) -> f64 {
    let place = (sorted.len().saturating_sub(1) * usize::from(percent)) as f64 / 100.0;
    let at = |index: usize| sorted.get(index).or(sorted.last()).copied().unwrap_or_default();
    let (low, high) = (at(place.floor() as usize), at(place.ceil() as usize));
    // A weighted sum, because the difference of very large numbers overflows.
    low * (1.0 - place.fract()) + high * place.fract()
}

/// The most frequent of sorted numbers; empty if none occurs twice.
fn mode(sorted: &[f64]) -> Vec<Value> {
    let runs = || sorted.chunk_by(|a, b| a == b);
    let most = runs().map(<[f64]>::len).max().unwrap_or_default();
    if most < 2 {
        return vec![];
    }
    runs().filter(|run| run.len() == most).take(MODES).map(|run| number(run[0])).collect()
}

/// A JSON number: integers without a point, others without binary noise.
pub(crate) fn number(n: f64) -> Value {
    // Above this, a float cannot represent every whole number.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if n.fract() == 0.0 && n.abs() <= EXACT {
        return Value::from(n as i64);
    }
    let tidy: f64 = format!("{n:.14e}").parse().unwrap_or(n);
    // Rounding the largest float may overflow.
    Value::from(if tidy.is_finite() { tidy } else { n })
}

/// The frequency of each item, most frequent first, then in order of appearance.
pub(crate) fn tally<T: std::hash::Hash + Eq>(items: impl Iterator<Item = T>) -> Vec<(T, usize)> {
    let mut counts: HashMap<T, (usize, usize)> = HashMap::new();
    for (at, item) in items.enumerate() {
        counts.entry(item).or_insert((at, 0)).1 += 1;
    }
    let mut all: Vec<(T, (usize, usize))> = counts.into_iter().collect();
    all.sort_by_key(|(_, (at, count))| (std::cmp::Reverse(*count), *at));
    all.into_iter().map(|(item, (_, count))| (item, count)).collect()
}

words! {
    /// A percentage operation.
    Percentage {
        Of = "of",
        Increase = "increase" | "add",
        Decrease = "decrease" | "subtract",
        WhatPercent = "what_percent",
        Change = "change",
    }
}

/// Calculate percentages: a percentage of a value, a value increased or decreased by a percentage, the percentage of
/// one value in another, or the percentage change between values.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Percent {
    /// Base value.
    value: f64,
    /// Percentage: for of, increase and decrease.
    percent: Option<f64>,
    /// For what_percent: the total that `value` is a part of.
    total: Option<f64>,
    /// For change: the new value.
    new_value: Option<f64>,
    /// Operation (default: derived from the arguments; with `percent`: of).
    operation: Option<Percentage>,
}

pub(crate) async fn percentage(_: (), _: Cx, args: Percent) -> Result<Output> {
    let operation = args.operation.unwrap_or(match (args.percent, args.total, args.new_value) {
        (None, Some(_), _) => Percentage::WhatPercent,
        (None, None, Some(_)) => Percentage::Change,
        _ => Percentage::Of,
    });
    let missing = |field: &str| Error::bad_args(format!("`{field}` is missing: {} needs it", operation.word()));
    let percent = || args.percent.ok_or_else(|| missing("percent"));
    let value = args.value;
    let shown = |n: f64| grouped(&spoken(n));
    let (result, sentence) = match operation {
        Percentage::Of => {
            let percent = percent()?;
            let result = value * percent / 100.0;
            (result, format!("{}% of {} is {}.", shown(percent), shown(value), shown(result)))
        }
        Percentage::Increase | Percentage::Decrease => {
            let percent = percent()?;
            let (sign, by) = if operation == Percentage::Increase { (1.0, "more") } else { (-1.0, "less") };
            let result = value + sign * value * percent / 100.0;
            (result, format!("{} and {}% {by} is {}.", shown(value), shown(percent), shown(result)))
        }
        Percentage::WhatPercent => {
            let total = args.total.ok_or_else(|| missing("total"))?;
            let result = ratio(value, total)?;
            (result, format!("{} is {}% of {}.", shown(value), shown(result), shown(total)))
        }
        Percentage::Change => {
            let new = args.new_value.ok_or_else(|| missing("newValue"))?;
            let result = ratio(new - value, value.abs())?;
            let way = if result < 0.0 { "a decrease" } else { "an increase" };
            (result, format!("From {} to {} is {way} of {}%.", shown(value), shown(new), shown(result.abs())))
        }
    };
    if !result.is_finite() {
        return Err(Error::bad_args("the result is too large: use smaller numbers"));
    }
    let answer = json!({"operation": operation.word(), "value": number(value), "result": number(result)});
    Ok(Output::json(answer)?.say(sentence))
}

fn ratio(part: f64, whole: f64) -> Result<f64> {
    if whole == 0.0 {
        return Err(Error::bad_args("nothing is a percentage of 0: give another number"));
    }
    Ok(part / whole * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cases, cx, wait};
    use proptest::prelude::*;

    async fn ask(tool: &str, args: Value) -> Result<Output> {
        call(crate::mathematics(), &cx(), tool, args).await
    }

    #[tokio::test]
    async fn the_answer_has_every_measure() {
        let answer = ask("calculate_statistics", json!({"numbers": [4, 8, 15, 16, 23, 42, 8, 0.5]})).await.unwrap();
        assert_eq!(
            answer.content,
            json!({
                "count": 8, "sum": 116.5, "mean": 14.5625, "median": 11.5, "mode": [8], "min": 0.5, "max": 42,
                "range": 41.5, "variance": 174.53125, "stdDev": 13.211_027_590_615_4,
                "populationVariance": 152.714_843_75, "populationStdDev": 12.357_784_742_825_1,
                "percentiles": {
                    "p5": 1.725, "p10": 2.95, "p25": 7, "p50": 11.5, "p75": 17.75, "p90": 28.7, "p95": 35.35
                }
            })
        );
        assert_eq!(answer.say.unwrap(), "The mean of 8 numbers is 14.562, the median 11.5, and they add up to 116.5.");
        let one = ask("statistics", json!({"numbers": [7]})).await.unwrap().content;
        assert_eq!(
            (&one["variance"], &one["stdDev"], &one["populationVariance"]),
            (&Value::Null, &Value::Null, &json!(0))
        );
        assert_eq!((&one["mode"], &one["median"], &one["percentiles"]["p95"]), (&json!([]), &json!(7), &json!(7)));
    }

    #[tokio::test]
    async fn numbers_that_cannot_be_added_are_refused() {
        for numbers in [json!([]), json!([1e308, 1e308]), json!([-1e308, 1e308]), json!(vec![1; 100_001])] {
            let answer = ask("statistics", json!({"numbers": numbers})).await;
            assert!(matches!(answer, Err(Error::BadArgs(_))));
        }
        let tenths = ask("statistics", json!({"numbers": [0.1, 0.2, 0.3]})).await.unwrap().content;
        assert_eq!((&tenths["sum"], &tenths["mean"]), (&json!(0.6), &json!(0.2)));
    }

    #[tokio::test]
    async fn percentages_are_worked_out_and_said() {
        let rows = [
            (json!({"value": 200, "percent": 15}), json!(30), "15% of 200 is 30."),
            (
                json!({"value": 49.9, "percent": 20, "operation": "decrease"}),
                json!(39.92),
                "49.9 and 20% less is 39.92.",
            ),
            (
                json!({"value": 100, "percent": 8.1, "operation": "increase"}),
                json!(108.1),
                "100 and 8.1% more is 108.1.",
            ),
            (json!({"value": 30, "total": 120}), json!(25), "30 is 25% of 120."),
            (json!({"value": 80, "newValue": 60}), json!(-25), "From 80 to 60 is a decrease of 25%."),
            (
                json!({"value": -50, "newValue": 0, "operation": "change"}),
                json!(100),
                "From -50 to 0 is an increase of 100%.",
            ),
        ];
        for (args, result, sentence) in rows {
            let answer = ask("calculate_percentage", args.clone()).await.unwrap();
            assert_eq!((&answer.content["result"], answer.say.as_deref()), (&result, Some(sentence)), "{args}");
        }
        for bad in [
            json!({"value": 1}),
            json!({"value": 1, "total": 0}),
            json!({"value": 0, "newValue": 5}),
            json!({"value": 1e308, "percent": 1e9}),
            json!({"value": 1, "percent": 1, "operation": "change"}),
        ] {
            assert!(matches!(ask("calculate_percentage", bad.clone()).await, Err(Error::BadArgs(_))), "{bad}");
        }
    }

    proptest! {
        #![proptest_config(cases(256))]

        #[test]
        fn statistics_agree_with_the_plain_way(numbers in prop::collection::vec(-1000_i32..1000, 1..60)) {
            let floats: Vec<f64> = numbers.iter().map(|n| f64::from(*n)).collect();
            let summary = wait(ask("statistics", json!({"numbers": floats}))).unwrap().content;
            let n = numbers.len() as f64;
            let mut sorted = numbers.clone();
            sorted.sort_unstable();
            let mean = f64::from(numbers.iter().sum::<i32>()) / n;
            let variance = floats.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let median = f64::from(sorted[(numbers.len() - 1) / 2] + sorted[numbers.len() / 2]) / 2.0;
            let near = |field: &str, wanted: f64| {
                let got = summary[field].as_f64().unwrap();
                assert!((got - wanted).abs() <= 1e-9 * wanted.abs().max(1.0), "{field}: {got} {wanted}");
            };
            near("sum", f64::from(numbers.iter().sum::<i32>()));
            near("mean", mean);
            near("median", median);
            near("populationVariance", variance);
            near("populationStdDev", variance.sqrt());
            near("min", f64::from(sorted[0]));
            near("range", f64::from(sorted[sorted.len() - 1] - sorted[0]));
            let count = |n: &i32| numbers.iter().filter(|m| *m == n).count();
            let most = numbers.iter().map(count).max().unwrap();
            let mut modes: Vec<i32> = sorted.iter().copied().filter(|n| most > 1 && count(n) == most).collect();
            modes.dedup();
            modes.truncate(MODES);
            assert_eq!(summary["mode"], json!(modes));
        }
    }
}
