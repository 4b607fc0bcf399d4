//! Ranges of pages as people write them: `1-3, 7, 10-`.

use serde::{Deserialize, Serialize};

/// Ranges of numbers from 1 on, both ends included.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pages(Vec<(u32, u32)>);

/// How many ranges one text may have.
const RANGES: usize = 100;

/// Reads ranges.
///
/// # Errors
/// A sentence with what is wrong.
pub fn pages(text: &str) -> Result<Pages, String> {
    let bad = |part: &str| {
        let part = text_kit::truncate(part, 40);
        format!("`{part}` is no page or range of pages: write `pages` as 3, as 2-5, or as 1-3,7,10-")
    };
    let mut all = vec![];
    for part in text.split([',', ';']).map(str::trim).filter(|part| !part.is_empty()) {
        let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(|| bad(part));
        let (first, last) = match part.split_once(['-', '–']) {
            Some((first, last)) => (
                if first.trim().is_empty() { 1 } else { number(first)? },
                if last.trim().is_empty() { u32::MAX } else { number(last)? },
            ),
            None => (number(part)?, number(part)?),
        };
        if last < first {
            return Err(format!("the range `{}` ends before it begins: swap its ends", text_kit::truncate(part, 40)));
        }
        all.push((first, last));
        if all.len() > RANGES {
            return Err(format!("more than {RANGES} ranges of pages: name fewer"));
        }
    }
    if all.is_empty() { Err(bad(text)) } else { Ok(Pages(all)) }
}

impl Pages {
    /// The numbers up to `count`, in order, each once.
    pub(crate) fn numbers(pages: Option<&Self>, count: u32) -> Vec<u32> {
        let Some(Self(ranges)) = pages else { return (1..=count).collect() };
        let mut all: Vec<u32> = ranges.iter().flat_map(|(first, last)| *first..=(*last).min(count)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_and_bounded() {
        for (text, count, expected) in [
            ("3", 9, vec![3]),
            ("2-4", 9, vec![2, 3, 4]),
            ("7, 1-2,2", 9, vec![1, 2, 7]),
            ("8-", 9, vec![8, 9]),
            ("-2", 9, vec![1, 2]),
            ("4294967295", 9, vec![]),
        ] {
            assert_eq!(Pages::numbers(Some(&pages(text).unwrap()), count), expected, "{text}");
        }
        assert_eq!(Pages::numbers(None, 2), [1, 2]);
        for text in ["", "0", "x", "3-1", "1-2-3", "99999999999", &"1,".repeat(200)] {
            assert!(pages(text).is_err(), "{text}");
        }
    }
}
