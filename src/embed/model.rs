//! The model itself: a small BERT (MiniLM), run on one text at a time straight from the file inside the program.
//!
//! Its int8 weights stay where they lie and become numbers sixty-four columns at a time, while they are used. So a
//! loaded model is a few hundred kB and loading it takes a millisecond; what it needs are pages of the program, which
//! the system may drop and read again.

use std::collections::HashMap;
use std::f32::consts::{FRAC_1_SQRT_2, LOG2_E};
use std::time::Instant;

use crate::matrix::{Arithmetic, COLUMNS, Fused, Left, Panel, Plain};
use crate::weights;
use crate::wordpiece::WordPiece;
use crate::{DIM, Error, allocator};

static GRAPH: &[u8] = include_bytes!("../../models/all-MiniLM-L6-v2.int8.onnx");
const VOCABULARY: &str = include_str!("../../models/vocab.txt");

const LAYERS: usize = 6;
const HEADS: usize = 12;
/// Numbers of one head.
const HEAD: usize = DIM / HEADS;
/// Numbers between the two halves of a feed-forward step.
const INNER: usize = 4 * DIM;
/// Consecutive outputs of one input that share a scale; see `models/build.py`.
const BLOCK: usize = 64;
/// Inputs that are worked through at once, so that their numbers stay in the cache.
const DEPTH: usize = DIM;
const EPSILON: f32 = 1e-12;

/// The longest text that is embedded as a whole, in tokens.
const MOST_TOKENS: usize = 8192;

/// A loaded model: its vocabulary, and where its weights are.
pub struct Model {
    words: WordPiece,
    rows: Rows,
    positions: Vec<f32>,
    first: Norm,
    layers: Vec<Layer>,
}

/// The vectors of the tokens.
struct Rows {
    values: &'static [[u8; DIM]],
    scales: &'static [[u8; 4]],
}

struct Layer {
    query: Linear,
    key: Linear,
    value: Linear,
    mix: Linear,
    after: Norm,
    up: Linear,
    down: Linear,
    last: Norm,
}

/// `input * weights + bias`. The weights of one input are `outputs` bytes in blocks with a scale each.
struct Linear {
    weights: &'static [[u8; BLOCK]],
    scales: &'static [[u8; 4]],
    bias: Vec<f32>,
    inputs: usize,
}

struct Norm {
    gain: Vec<f32>,
    bias: Vec<f32>,
}

/// The buffers of a pass.
struct Scratch {
    left: Left,
    panels: Vec<[[f32; COLUMNS]; DEPTH]>,
}

impl Model {
    pub fn load() -> Result<Self, Error> {
        let start = Instant::now();
        let model = Self::load_weights().ok_or_else(|| {
            Error::Unavailable(
                "the embedding model inside this program cannot be read: install the program again".into(),
            )
        })?;
        tracing::debug!(ms = start.elapsed().as_millis() as u64, "embedding model loaded");
        Ok(model)
    }

    /// Releases the weights until the next use.
    pub fn release_pages() {
        allocator::release_pages(GRAPH);
    }

    /// Every part in its place; `None` when one is missing or has another size.
    fn load_weights() -> Option<Self> {
        let file = File(weights::read(GRAPH)?);
        let rows = Rows { values: file.exact("emb.word")?, scales: file.exact("emb.word.scale")? };
        if rows.values.len() != rows.scales.len() {
            return None;
        }
        let layer = |place: usize| {
            let linear = |name: &str, inputs, outputs| file.linear(&format!("l{place}.{name}"), inputs, outputs);
            let norm = |name: &str| file.norm(&format!("encoder.layer.{place}.{name}"));
            Some(Layer {
                query: linear("q", DIM, DIM)?,
                key: linear("k", DIM, DIM)?,
                value: linear("v", DIM, DIM)?,
                mix: linear("o", DIM, DIM)?,
                after: norm("attention.output.LayerNorm")?,
                up: linear("up", DIM, INNER)?,
                down: linear("down", INNER, DIM)?,
                last: norm("output.LayerNorm")?,
            })
        };
        Some(Self {
            words: WordPiece::new(VOCABULARY),
            rows,
            positions: file.floats("emb.pos", crate::wordpiece::MAX_TOKENS * DIM)?,
            first: file.norm("embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(layer).collect::<Option<_>>()?,
        })
    }

    /// The unit vector of `text`, of which the first 256 tokens (some 190 English words) count.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        let ids = self.words.encode(text);
        if ids.is_empty() {
            return Err(Error::Empty);
        }
        Ok(self.run(&ids))
    }

    /// The unit vector of all of `text`, and how many tokens it has: a long text is the mean of its pieces by their length.
    pub fn embed_whole(&self, text: &str) -> Result<(Vec<f32>, usize), Error> {
        let pieces = self.words.encode_whole(text, MOST_TOKENS).ok_or(Error::TooLong(MOST_TOKENS))?;
        let tokens = pieces.iter().map(Vec::len).sum();
        if let [one] = &pieces[..] {
            return Ok((self.run(one), tokens));
        }
        let mut mean = vec![0.0; crate::DIM];
        for ids in &pieces {
            let weight = ids.len() as f32 / tokens as f32;
            self.run(ids).iter().zip(&mut mean).for_each(|(n, sum)| *sum += n * weight);
        }
        let length = mean.iter().map(|n| n * n).sum::<f32>().sqrt();
        if length == 0.0 {
            return Err(Error::Empty);
        }
        mean.iter_mut().for_each(|n| *n /= length);
        Ok((mean, tokens))
    }

    /// One pass, compiled for the processor it runs on.
    fn run(&self, ids: &[i64]) -> Vec<f32> {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma") {
            #[target_feature(enable = "avx2,fma")]
            fn wide(model: &Model, ids: &[i64]) -> Vec<f32> {
                model.pass::<Fused>(ids)
            }
            // SAFETY: the processor reports both features.
            #[allow(unsafe_code)]
            return unsafe { wide(self, ids) };
        }
        // Every 64-bit ARM multiplies and adds in one instruction.
        if cfg!(target_arch = "aarch64") { self.pass::<Fused>(ids) } else { self.pass::<Plain>(ids) }
    }

    #[inline(always)]
    fn pass<A: Arithmetic>(&self, ids: &[i64]) -> Vec<f32> {
        let length = ids.len();
        let mut desk = Scratch { left: Left::default(), panels: vec![[[0.0; COLUMNS]; DEPTH]; BLOCK / COLUMNS] };
        let mut x = self.look_up(ids);
        normalise(&mut x, &self.first);
        let [mut query, mut key, mut value] = [(); 3].map(|()| vec![0.0; length * DIM]);
        let mut inner = vec![0.0; length * INNER];
        for layer in &self.layers {
            desk.left.take(&x, length, DIM, DIM);
            layer.query.apply::<A>(&mut desk, &mut query);
            layer.key.apply::<A>(&mut desk, &mut key);
            layer.value.apply::<A>(&mut desk, &mut value);
            let mixed = attend::<A>(&mut desk, length, &query, &key, &value);
            desk.left.take(&mixed, length, DIM, DIM);
            layer.mix.apply::<A>(&mut desk, &mut query);
            add(&mut x, &query);
            normalise(&mut x, &layer.after);

            desk.left.take(&x, length, DIM, DIM);
            layer.up.apply::<A>(&mut desk, &mut inner);
            for y in &mut inner {
                *y *= 0.5 + 0.5 * erf::<A>(*y * FRAC_1_SQRT_2);
            }
            desk.left.take(&inner, length, INNER, INNER);
            layer.down.apply::<A>(&mut desk, &mut query);
            add(&mut x, &query);
            normalise(&mut x, &layer.last);
        }
        // The mean over the tokens; scaled to length 1, so their number cancels out.
        let mut total = vec![0.0; DIM];
        for row in x.chunks_exact(DIM) {
            add(&mut total, row);
        }
        let norm = total.iter().map(|t| t * t).sum::<f32>().sqrt();
        total.iter().map(|t| t / norm).collect()
    }

    /// Word plus position vectors. An id that the file does not know counts as nothing but its position.
    #[inline(always)]
    fn look_up(&self, ids: &[i64]) -> Vec<f32> {
        let mut x: Vec<f32> = self.positions.iter().copied().take(ids.len() * DIM).collect();
        for (row, id) in x.chunks_exact_mut(DIM).zip(ids) {
            let id = usize::try_from(*id).unwrap_or(usize::MAX);
            let (Some(values), Some(scale)) = (self.rows.values.get(id), self.rows.scales.get(id)) else { continue };
            let scale = f32::from_le_bytes(*scale);
            for (x, value) in row.iter_mut().zip(values) {
                *x += f32::from(value.cast_signed()) * scale;
            }
        }
        x
    }
}

impl Linear {
    #[inline(always)]
    fn apply<A: Arithmetic>(&self, desk: &mut Scratch, out: &mut [f32]) {
        let (outputs, blocks) = (self.bias.len(), self.bias.len() / BLOCK);
        for row in out.chunks_exact_mut(outputs) {
            row.copy_from_slice(&self.bias);
        }
        for first in (0..self.inputs).step_by(DEPTH) {
            for block in 0..blocks {
                for depth in 0..DEPTH {
                    let place = (first + depth) * blocks + block;
                    let scale = f32::from_le_bytes(self.scales[place]);
                    let (parts, _) = self.weights[place].as_chunks::<COLUMNS>();
                    for (panel, part) in desk.panels.iter_mut().zip(parts) {
                        // As a whole row: written one by one, they are not computed side by side.
                        panel[depth] = scaled(part, scale);
                    }
                }
                for (place, panel) in desk.panels.iter().enumerate() {
                    let out = &mut out[block * BLOCK + place * COLUMNS..];
                    desk.left.times::<A>(first, panel, out, outputs, COLUMNS);
                }
            }
        }
    }
}

#[inline(always)]
fn scaled(weights: &[u8; COLUMNS], scale: f32) -> [f32; COLUMNS] {
    let mut row = [0.0; COLUMNS];
    for (number, weight) in row.iter_mut().zip(weights) {
        *number = f32::from(weight.cast_signed()) * scale;
    }
    row
}

/// Attention, head by head. The scores' scale is folded into the query's weights.
#[inline(always)]
fn attend<A: Arithmetic>(desk: &mut Scratch, length: usize, query: &[f32], key: &[f32], value: &[f32]) -> Vec<f32> {
    let Scratch { left, panels } = desk;
    let panel: &mut Panel = panels.as_flattened_mut();
    let mut mixed = vec![0.0; length * DIM];
    let mut scores = vec![0.0; length * length];
    for at in (0..DIM).step_by(HEAD) {
        scores.fill(0.0);
        left.take(&query[at..], length, HEAD, DIM);
        for first in (0..length).step_by(COLUMNS) {
            let columns = COLUMNS.min(length - first);
            for (column, row) in key[first * DIM + at..].chunks(DIM).take(columns).enumerate() {
                for (to, number) in panel.iter_mut().zip(&row[..HEAD]) {
                    to[column] = *number;
                }
            }
            left.times::<A>(0, &panel[..HEAD], &mut scores[first..], length, columns);
        }
        for row in scores.chunks_exact_mut(length) {
            softmax::<A>(row);
        }
        left.take(&scores, length, length, length);
        for first in (at..at + HEAD).step_by(COLUMNS) {
            for (to, row) in panel.iter_mut().zip(value[first..].chunks(DIM)) {
                to.copy_from_slice(&row[..COLUMNS]);
            }
            left.times::<A>(0, &panel[..length], &mut mixed[first..], DIM, COLUMNS);
        }
    }
    mixed
}

#[inline(always)]
fn add(to: &mut [f32], from: &[f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to += from;
    }
}

/// In sixteen sums side by side, as a processor adds.
#[inline(always)]
fn sum(row: &[f32]) -> f32 {
    let (chunks, rest) = row.as_chunks::<COLUMNS>();
    let mut sums = [0.0; COLUMNS];
    for chunk in chunks {
        add(&mut sums, chunk);
    }
    sums.iter().sum::<f32>() + rest.iter().sum::<f32>()
}

#[inline(always)]
fn normalise(x: &mut [f32], norm: &Norm) {
    for row in x.chunks_exact_mut(DIM) {
        let mean = sum(row) / DIM as f32;
        let mut squares = [0.0; DIM];
        for (square, x) in squares.iter_mut().zip(row.iter_mut()) {
            *x -= mean;
            *square = *x * *x;
        }
        let scale = 1.0 / (sum(&squares) / DIM as f32 + EPSILON).sqrt();
        for (x, (gain, bias)) in row.iter_mut().zip(norm.gain.iter().zip(&norm.bias)) {
            *x = *x * scale * gain + bias;
        }
    }
}

#[inline(always)]
fn softmax<A: Arithmetic>(row: &mut [f32]) {
    let most = row.iter().copied().fold(f32::MIN, f32::max);
    for x in &mut *row {
        *x = exp::<A>(*x - most);
    }
    let scale = 1.0 / sum(row);
    for x in row {
        *x *= scale;
    }
}

/// e to the `x`, for `x` up to 0, to 1e-7; unlike the system's it can be computed for many numbers at once.
#[inline(always)]
fn exp<A: Arithmetic>(x: f32) -> f32 {
    // Added and taken away again it rounds to a whole number.
    const ROUND: f32 = 12_582_912.0;
    // ln 2 in two parts, so that a multiple of it can be taken away exactly.
    const LN_2: [f32; 2] = [0.693_359_4, -2.121_944_4e-4];
    const SERIES: [f32; 6] = [1.987_569_1e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_6e-1, 0.5];
    let x = x.max(-87.0);
    let twos = A::add(x, LOG2_E, ROUND) - ROUND;
    let rest = A::add(twos, -LN_2[1], A::add(twos, -LN_2[0], x));
    let series = polynomial::<A>(&SERIES, rest);
    let power = A::add(series * rest, rest, rest) + 1.0;
    f32::from_bits(((twos as i32 + 127) << 23).cast_unsigned()) * power
}

/// The error function to 1e-6, as a quotient of two polynomials in the square of `x`.
#[inline(always)]
fn erf<A: Arithmetic>(x: f32) -> f32 {
    const NUMERATOR: [f32; 7] =
        [-2.726_142_3e-10, 2.770_681_6e-8, -2.101_024e-6, -5.692_507e-5, -7.349_906e-4, -2.954_6e-3, -1.609_603_3e-2];
    const DENOMINATOR: [f32; 5] = [-1.456_607_2e-5, -2.133_741e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2];
    let x = x.clamp(-4.0, 4.0);
    x * polynomial::<A>(&NUMERATOR, x * x) / polynomial::<A>(&DENOMINATOR, x * x)
}

/// From the factor of the highest power down.
#[inline(always)]
fn polynomial<A: Arithmetic>(factors: &[f32], x: f32) -> f32 {
    let mut sum = 0.0;
    for factor in factors {
        sum = A::add(sum, x, *factor);
    }
    sum
}

/// The constants of the file.
struct File(HashMap<&'static str, &'static [u8]>);

impl File {
    /// A constant as pieces of `N` bytes.
    fn exact<const N: usize>(&self, name: &str) -> Option<&'static [[u8; N]]> {
        let (pieces, rest) = self.0.get(name)?.as_chunks();
        rest.is_empty().then_some(pieces)
    }

    fn floats(&self, name: &str, length: usize) -> Option<Vec<f32>> {
        let pieces = self.exact::<4>(name)?;
        (pieces.len() == length).then(|| pieces.iter().map(|piece| f32::from_le_bytes(*piece)).collect())
    }

    fn norm(&self, name: &str) -> Option<Norm> {
        Some(Norm { gain: self.floats(&format!("{name}.g"), DIM)?, bias: self.floats(&format!("{name}.b"), DIM)? })
    }

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Option<Linear> {
        let (weights, scales) = (self.exact(&format!("{name}.w"))?, self.exact(&format!("{name}.ws"))?);
        let fits = weights.len() == inputs * outputs / BLOCK && scales.len() == weights.len();
        let bias = self.floats(&format!("{name}.b"), outputs)?;
        fits.then_some(Linear { weights, scales, bias, inputs })
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        tracing::debug!("embedding model dropped");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn approximations_are_near() {
        for step in 0..=20_000 {
            let x = step as f32 / -230.0;
            let (found, expected) = (exp::<Fused>(x), f64::from(x).exp());
            assert!((f64::from(found) - expected).abs() <= 2e-7 * expected, "exp({x}) = {found}");
            assert!((exp::<Plain>(x) - found).abs() <= 1e-6 * found, "exp({x})");
        }
        assert!(exp::<Fused>(-1e6) < 1e-37);
        // To seven digits, from tables.
        for (x, expected) in
            [(0.0, 0.0), (0.1, 0.112_462_9), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3)]
        {
            assert!(
                (erf::<Fused>(x) - expected).abs() < 1e-6 && (erf::<Plain>(-x) + expected).abs() < 1e-6,
                "erf({x})"
            );
        }
        assert!((erf::<Fused>(9.0) - 1.0).abs() < 1e-6);
    }

    /// A processor without the wider instructions finds the same.
    #[test]
    fn every_processor_gives_the_same_vector() {
        let model = Model::load().unwrap();
        for text in ["ok", "Marta serviced the boiler on 3 October", &"The boiler was serviced. ".repeat(60)] {
            let ids = model.words.encode(text);
            let (fast, plain) = (model.run(&ids), model.pass::<Plain>(&ids));
            assert!(fast.iter().zip(&plain).all(|(a, b)| (a - b).abs() < 1e-5), "{text}");
        }
    }

    #[test]
    fn vectors_say_what_texts_mean() {
        let model = Model::load().unwrap();
        gives_the_numbers_of_the_reference(&model);
        has_unit_length(&model);
        finds_the_right_note(&model);
        refuses_what_has_no_token(&model);
    }

    fn gives_the_numbers_of_the_reference(model: &Model) {
        // The first four numbers, from the reference evaluator of Python's `onnx` on the same file.
        let cases = [
            ("Marta serviced the boiler on 3 October", [0.02555, -0.06560, 0.04306, 0.06797]),
            ("who looked after the heating?", [0.00681, 0.08403, 0.02640, 0.12675]),
            ("ok", [-0.04917, -0.06194, -0.02045, 0.01674]),
        ];
        for (text, expected) in cases {
            let vector = model.embed(text).unwrap();
            for (found, expected) in vector.iter().zip(expected) {
                assert!((found - expected).abs() < 1e-3, "{text}: {found} and {expected}");
            }
        }
    }

    fn has_unit_length(model: &Model) {
        let long = "The boiler was serviced. ".repeat(500);
        for text in ["ok", "?", "今天的天气很好。", "🙂", "a sentence of some length, with 3 numbers: 1 2 3", &long]
        {
            let vector = model.embed(text).unwrap();
            assert_eq!(vector.len(), DIM);
            assert!((dot(&vector, &vector) - 1.0).abs() < 1e-4, "{text}");
        }
    }

    fn finds_the_right_note(model: &Model) {
        let notes = [
            "Marta serviced the boiler on 3 October",
            "Grandma was born on the 4th of July and loves orchids",
            "The guest Wi-Fi password is taped under the router",
            "Solar panels produced 12.4 kWh today",
            "The dishwasher shows code E24: the drain hose is blocked",
            "I am allergic to peanuts and penicillin",
            "The vet appointment of the cat moved to Friday",
            "The greenhouse must never be colder than 8 degrees",
        ];
        let rows: Vec<Vec<f32>> = notes.iter().map(|note| model.embed(note).unwrap()).collect();
        for (question, right) in [
            ("who looked after the heating?", 0),
            ("a present for my grandmother", 1),
            ("how do visitors get on the wireless network?", 2),
            ("how much electricity came from the roof?", 3),
            ("water stays in the machine that washes plates", 4),
            ("which medicine must not be given to me?", 5),
            ("when do we take the pet to the doctor?", 6),
            ("lowest temperature for the plants", 7),
        ] {
            let question_row = model.embed(question).unwrap();
            let best =
                (0..notes.len()).max_by(|&a, &b| dot(&rows[a], &question_row).total_cmp(&dot(&rows[b], &question_row)));
            assert_eq!(best, Some(right), "{question}");
        }
    }

    fn refuses_what_has_no_token(model: &Model) {
        for text in ["", "   ", "\n\t", "\u{200b}\u{0}"] {
            assert_eq!(model.embed(text), Err(Error::Empty), "{text:?}");
        }
    }
}
