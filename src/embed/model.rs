//! The model itself: a small BERT (MiniLM), run on one text at a time straight from the file inside the program.
//!
//! Its int8 weights stay where they lie and are unpacked sixty-four columns at a time, while they are used. So a
//! loaded model is a few hundred kB and loading it takes a millisecond; what it needs are pages of the program, which
//! the system may drop and read again.

use std::collections::HashMap;
use std::time::Instant;

use crate::kernel::{self, Heads, Kernels, Norm, Scratch, Weights};
use crate::weights;
use crate::wordpiece::WordPiece;
use crate::{DIM, Error, allocator};

static GRAPH: &[u8] = include_bytes!("../../models/all-MiniLM-L6-v2.int8.onnx");
const VOCABULARY: &str = include_str!("../../models/vocab.txt");

const LAYERS: usize = 6;
const HEADS: usize = 12;
/// Numbers between the two halves of a feed-forward step.
const INNER: usize = 4 * DIM;
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
    query: Weights<'static>,
    key: Weights<'static>,
    value: Weights<'static>,
    mix: Weights<'static>,
    after: Norm,
    up: Weights<'static>,
    down: Weights<'static>,
    last: Norm,
}

impl Model {
    pub fn load() -> Result<Self, Error> {
        let start = Instant::now();
        let model = Self::load_weights().ok_or_else(|| {
            Error::Unavailable(
                "the embedding model inside this program cannot be read: install the program again".into(),
            )
        })?;
        tracing::debug!(
            ms = start.elapsed().as_millis() as u64,
            kernels = kernel::best().name,
            "embedding model loaded"
        );
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

    /// One pass, with the kernels for this processor.
    fn run(&self, ids: &[i64]) -> Vec<f32> {
        self.pass(kernel::best(), ids)
    }

    fn pass(&self, kernels: &Kernels, ids: &[i64]) -> Vec<f32> {
        let length = ids.len();
        let mut scratch = Scratch::new();
        let mut x = self.look_up(ids);
        kernels.normalise(&mut x, None, &self.first);
        let [mut query, mut key, mut value, mut mixed] = [(); 4].map(|()| vec![0.0; length * DIM]);
        let mut inner = vec![0.0; length * INNER];
        for layer in &self.layers {
            kernels.linear(&layer.query, &x, &mut query, &mut scratch);
            kernels.linear(&layer.key, &x, &mut key, &mut scratch);
            kernels.linear(&layer.value, &x, &mut value, &mut scratch);
            let heads = Heads { query: &query, key: &key, value: &value, width: DIM, head: DIM / HEADS };
            kernels.attend(&heads, &mut mixed, &mut scratch);
            kernels.linear(&layer.mix, &mixed, &mut query, &mut scratch);
            kernels.normalise(&mut x, Some(&query), &layer.after);

            kernels.linear(&layer.up, &x, &mut inner, &mut scratch);
            kernels.gelu(&mut inner);
            kernels.linear(&layer.down, &inner, &mut query, &mut scratch);
            kernels.normalise(&mut x, Some(&query), &layer.last);
        }
        // The mean over the tokens; scaled to length 1, so their number cancels out.
        let mut total = vec![0.0; DIM];
        for row in x.chunks_exact(DIM) {
            total.iter_mut().zip(row).for_each(|(to, from)| *to += from);
        }
        let norm = total.iter().map(|t| t * t).sum::<f32>().sqrt();
        total.iter().map(|t| t / norm).collect()
    }

    /// Word plus position vectors. An id that the file does not know counts as nothing but its position.
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

    fn linear(&self, name: &str, inputs: usize, outputs: usize) -> Option<Weights<'static>> {
        let (bytes, scales) = (self.exact(&format!("{name}.w"))?, self.exact(&format!("{name}.ws"))?);
        Weights::new(bytes, scales, self.floats(&format!("{name}.b"), outputs)?, inputs)
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
    use crate::kernel::{SCALAR, SCALAR_INT8};

    fn dot(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| a * b).sum()
    }

    #[test]
    fn every_processor_gives_the_same_vector() {
        let model = Model::load().unwrap();
        for text in ["ok", "Marta serviced the boiler on 3 October", &"The boiler was serviced. ".repeat(60)] {
            let ids = model.words.encode(text);
            let plain = model.pass(&SCALAR, &ids);
            for kernels in kernel::available() {
                let most = if kernels.quantizes_inputs() { 5e-4 } else { 1e-5 };
                let apart = furthest(&model.pass(kernels, &ids), &plain);
                assert!(apart < most, "{}, {apart} apart: {text}", kernels.name);
            }
        }
    }

    /// The int8 kernels quantize the inputs of the linear layers, and all of them alike.
    #[test]
    fn rounding_changes_a_vector_by_less_than_storing_it() {
        let model = Model::load().unwrap();
        for text in ["ok", "Marta serviced the boiler on 3 October", "Wie wird das Wetter morgen in Köln? 🙂"] {
            let ids = model.words.encode(text);
            let (plain, whole) = (model.pass(&SCALAR, &ids), model.pass(&SCALAR_INT8, &ids));
            let apart = furthest(&whole, &plain);
            assert!(apart < 5e-4 && dot(&whole, &plain) > 0.99999, "{apart} apart: {text}");
            for kernels in kernel::available().filter(|kernels| kernels.quantizes_inputs()) {
                // Attention and GELU are still in floats, which may round a number of 16 bits otherwise.
                let apart = furthest(&model.pass(kernels, &ids), &whole);
                assert!(apart < 1e-4, "{}, {apart} apart: {text}", kernels.name);
            }
        }
    }

    fn furthest(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
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
