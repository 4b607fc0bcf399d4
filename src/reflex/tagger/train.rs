//! Trains the tagger: an averaged perceptron over the same sentences as the head.

use super::{Chain, Segment, Text, Tool, WEIGHTS, Weights};
use std::collections::BTreeMap;

/// A sentence with the values of its arguments.
pub(crate) struct Sample<'a> {
    pub tool: &'a str,
    pub text: Text<'a>,
    pub gold: Vec<Segment>,
    pub apart: bool,
}

/// The weights while they are trained, and the sum over time of which the mean is taken.
struct Perceptron {
    now: Vec<f32>,
    sum: Vec<f32>,
    step: f32,
}

impl Weights for Perceptron {
    fn at(&self, slot: usize) -> f32 {
        self.now[slot]
    }
}

impl Weights for Vec<f32> {
    fn at(&self, slot: usize) -> f32 {
        self[slot]
    }
}

impl Perceptron {
    fn add(&mut self, slot: usize, by: f32) {
        self.now[slot] += by;
        self.sum[slot] += by * self.step;
    }

    fn learn(&mut self, chain: &Chain, sample: &mut Sample) {
        self.step += 1.0;
        let found = chain.decode(&mut sample.text, self);
        if found == sample.gold {
            return;
        }
        let length = sample.text.s.len();
        for (segments, by) in [(&sample.gold, 1.0), (&found, -1.0)] {
            let labels = chain.labels_of(segments, length);
            for (at, l) in labels.iter().enumerate() {
                let before = at.checked_sub(1).map_or(usize::MAX, |at| labels[at]);
                let slots: Vec<usize> =
                    chain.emission(&sample.text.features[at], *l).chain(chain.transition(before, *l)).collect();
                slots.into_iter().for_each(|slot| self.add(slot, by));
            }
        }
    }
}

const ROUNDS: usize = 6;

/// The mean weights; trained on all samples or on those that are not held apart.
pub(crate) fn train(tools: &BTreeMap<String, Tool>, samples: &mut [Sample], all: bool) -> Vec<f32> {
    let mut p = Perceptron { now: vec![0.0; WEIGHTS], sum: vec![0.0; WEIGHTS], step: 1.0 };
    let mut order: Vec<usize> = (0..samples.len()).filter(|i| all || !samples[*i].apart).collect();
    let mut state = 5_u64;
    for _ in 0..ROUNDS {
        for i in (1..order.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            order.swap(i, (state >> 33) as usize % (i + 1));
        }
        for i in &order {
            let sample = &mut samples[*i];
            p.learn(&Chain::new(sample.tool, &tools[sample.tool]), sample);
        }
    }
    p.now.iter().zip(&p.sum).map(|(now, sum)| now - sum / p.step).collect()
}

/// Of the sentences held apart, how many have all values right, by tool: right and all.
pub(crate) fn judged(
    tools: &BTreeMap<String, Tool>,
    samples: &mut [Sample],
    weights: &[f32],
) -> BTreeMap<String, (usize, usize)> {
    let weights = weights.to_vec();
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for sample in samples.iter_mut().filter(|s| s.apart) {
        let found = Chain::new(sample.tool, &tools[sample.tool]).decode(&mut sample.text, &weights);
        let count = counts.entry(sample.tool.to_owned()).or_default();
        if std::env::var_os("MISSES").is_some() && found != sample.gold {
            let told = |segments: &[Segment]| {
                let s = sample.text.s;
                let name = |g: &Segment| tools[sample.tool].arguments[g.argument].name;
                segments
                    .iter()
                    .map(|g| format!("{}=“{}”", name(g), s.slice(g.from, g.to)))
                    .collect::<Vec<_>>()
                    .join(" ")
            };
            eprintln!(
                "{}: {}\n    wanted {}\n    found  {}",
                sample.tool,
                sample.text.s.text,
                told(&sample.gold),
                told(&found)
            );
        }
        count.0 += usize::from(found == sample.gold);
        count.1 += 1;
    }
    counts
}

/// The section of the file.
pub(crate) fn written(tools: &BTreeMap<String, Tool>, weights: &[f32]) -> Vec<u8> {
    let mut file = vec![];
    let number = |file: &mut Vec<u8>, n: usize| file.extend((n as u16).to_le_bytes());
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
    };
    number(&mut file, tools.len());
    for (name, tool) in tools {
        text(&mut file, name);
        number(&mut file, tool.arguments.len());
        for argument in &tool.arguments {
            text(&mut file, argument.name);
            number(&mut file, argument.needed.into());
            text(&mut file, &argument.kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" "));
        }
        number(&mut file, tool.words.len());
        tool.words.iter().for_each(|hash| file.extend(hash.to_le_bytes()));
    }
    let mut sizes: Vec<f32> = weights.iter().map(|w| w.abs()).filter(|w| *w > 0.0).collect();
    sizes.sort_by(f32::total_cmp);
    let largest = sizes.get(sizes.len().saturating_sub(1 + sizes.len() / 2000)).copied().unwrap_or(1.0);
    file.extend(weights.iter().map(|w| (w / largest * 127.0).round().clamp(-127.0, 127.0) as i8 as u8));
    file
}
