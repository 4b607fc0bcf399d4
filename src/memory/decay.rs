//! How present a memory is: it fades with age and lack of use, the less the more important it is.
//!
//! Nothing is forgotten because it fades. Of two memories that fit a question almost equally well the more present one comes
//! first, and where a person has more memories than there is room for, the least valuable ones go.

use crate::records::Stored;

const DAY_MS: f64 = 86_400_000.0;
/// After so many days without use an unimportant memory is half as present; the most important one after [`SPAN`] times as many.
const HALF_LIFE: f64 = 30.0;
const SPAN: f64 = 12.0;
/// Scores that differ by less than this fit almost equally well.
const NEAR: f32 = 0.03;
/// How much more present a memory has to be to come before one that fits a little better.
const AHEAD: f32 = 0.15;
/// How many places a memory moves up at most.
const PLACES: usize = 2;
/// How many hits beyond those asked for are considered.
pub(crate) const CONSIDERED: usize = PLACES;

/// How present a memory is, 0 to 1. `last_ms` is when it was last used, or else written.
pub(crate) fn presence(importance: f32, uses: u32, last_ms: u64, now_ms: u64) -> f32 {
    let days = now_ms.saturating_sub(last_ms) as f64 / DAY_MS;
    let used = 1.0 + f64::from(uses).ln_1p();
    let half_life = HALF_LIFE * SPAN.powf(f64::from(importance.clamp(0.0, 1.0))) * used;
    (-days / half_life).exp2() as f32
}

/// The presence of a stored memory that was written at `written_ms`.
pub(crate) fn presence_of(stored: &Stored, written_ms: u64, now_ms: u64) -> f32 {
    presence(stored.importance, stored.uses, stored.used_ms.max(written_ms), now_ms)
}

/// The worth of keeping a memory, for the bound of a person.
pub(crate) fn value_of(stored: &Stored, written_ms: u64, now_ms: u64) -> f32 {
    presence_of(stored, written_ms, now_ms) * (0.25 + stored.importance)
}

/// Moves a more present memory before one that fits almost equally well; `of` is the relevance and the presence of a hit.
/// Relevance is never outweighed: a hit moves up two places at most, and never past one that fits better by more than [`NEAR`].
pub(crate) fn prefer_present<T>(hits: &mut [T], of: impl Fn(&T) -> (f32, f32)) {
    let passes = |two: &[T]| {
        let [first, second] = two else { return false };
        let ((fits, present), (second_fits, second_present)) = (of(first), of(second));
        second_fits + NEAR > fits && second_present > present + AHEAD
    };
    for at in 1..hits.len() {
        let mut place = at;
        while place > 0 && at - place < PLACES && hits.get(place - 1..=place).is_some_and(&passes) {
            hits.swap(place - 1, place);
            place -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn days_ago(days: u64) -> u64 {
        NOW - days * 86_400_000
    }

    #[test]
    fn importance_and_use_resist_decay() {
        let at = |importance, uses, days| presence(importance, uses, days_ago(days), NOW);
        assert_eq!(at(0.0, 0, 0), 1.0);
        assert!((at(0.0, 0, 30) - 0.5).abs() < 1e-6);
        assert!(at(0.0, 0, 360) < 0.001 && (at(1.0, 0, 360) - 0.5).abs() < 1e-6);
        for days in [1, 30, 365, 3650] {
            let rising: Vec<f32> = [0.0, 0.25, 0.5, 0.75, 1.0].map(|importance| at(importance, 0, days)).to_vec();
            assert!(rising.is_sorted(), "{rising:?}");
            assert!(at(0.5, 10, days) > at(0.5, 0, days) && at(0.5, 0, days) > at(0.5, 0, days + 1));
        }
        // A clock that went back, and absurd numbers.
        assert_eq!(presence(0.5, 0, NOW + 5000, NOW), 1.0);
        for (importance, uses, last) in [(f32::INFINITY, u32::MAX, 0), (-4.0, 0, 0), (0.5, 3, u64::MAX)] {
            assert!((0.0..=1.0).contains(&presence(importance, uses, last, NOW)));
        }
    }

    fn order(mut hits: Vec<(char, f32, f32)>) -> String {
        prefer_present(&mut hits, |(_, relevance, presence)| (*relevance, *presence));
        hits.into_iter().map(|(name, ..)| name).collect()
    }

    #[test]
    fn presence_decides_between_near_ties_and_nothing_else() {
        assert_eq!(order(vec![('a', 0.60, 0.1), ('b', 0.59, 0.9)]), "ba");
        assert_eq!(order(vec![('a', 0.60, 0.0), ('b', 0.50, 1.0)]), "ab");
        assert_eq!(order(vec![('a', 0.60, 0.8), ('b', 0.60, 0.9)]), "ab");
        // Two places at most, however many are near.
        let many = "abcdef".chars().map(|c| (c, 0.5, if c == 'f' { 1.0 } else { 0.0 }));
        assert_eq!(order(many.collect()), "abcfde");
        assert_eq!(order(vec![]), "");
    }
}
