//! The model itself: loads it from inside the binary and runs it on one text at a time.

use std::sync::Arc;
use std::time::Instant;

use tract_onnx::prelude::*;

use crate::wordpiece::WordPiece;
use crate::{DIM, Error, allocator};

const GRAPH: &[u8] = include_bytes!("../../models/all-MiniLM-L6-v2.int8.onnx");
const VOCABULARY: &str = include_str!("../../models/vocab.txt");

/// A loaded model: about 60 MB until it is dropped, beside the 24 MB of the file itself, which are
/// pages of the program that the system may drop and read again.
pub struct Model {
    words: WordPiece,
    plan: Arc<TypedRunnableModel>,
}

impl Model {
    pub fn load() -> Result<Self, Error> {
        allocator::keep_large_apart();
        let start = Instant::now();
        let mut graph = GRAPH;
        let plan = tract_onnx::onnx()
            .model_for_read(&mut graph)
            .and_then(|graph| graph.into_optimized())
            .and_then(|graph| graph.into_runnable())
            .map_err(|error| {
                Error::Unavailable(format!(
                    "the embedding model inside this program did not load ({error:#}): \
                     free some memory and try again; if that does not help, install the program again"
                ))
            })?;
        let words = WordPiece::new(VOCABULARY);
        // Loading needs about twice what is kept, and the rest goes back to the system.
        allocator::trim();
        tracing::debug!(ms = start.elapsed().as_millis() as u64, "embedding model loaded");
        Ok(Self { words, plan })
    }

    /// The unit vector of `text`, of which the first 256 tokens (some 190 English words) count.
    pub fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        let ids = self.words.encode(text);
        if ids.is_empty() {
            return Err(Error::Empty);
        }
        let vector = self.run(&ids).map_err(|error| {
            Error::Unavailable(format!("the embedding model failed ({error:#}): try again, or search by words"))
        })?;
        if vector.len() != DIM {
            return Err(Error::NotAVector(format!("{} numbers, not {DIM}", vector.len())));
        }
        Ok(vector)
    }

    fn run(&self, ids: &[i64]) -> TractResult<Vec<f32>> {
        let input = Tensor::from_shape(&[1, ids.len()], ids)?;
        let outputs = self.plan.run(tvec![input.into()])?;
        Ok(outputs[0].to_plain_array_view::<f32>()?.iter().copied().collect())
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

    /// One test, because loading is what takes the time.
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
