//! The intents of a sentence: the upper layers of the model, trained anew to tell them (`make intents`), over its lower ones.
//!
//! The layer of scores reads the mean of the tokens and the opening token, and has one number for each name.

use crate::kernel::{Kernels, Scratch, Weights};
use crate::model::{File, Layer};
use crate::{DIM, allocator, weights};

static FILE: &[u8] = include_bytes!("../../models/reflex-intents.onnx");

pub struct Intents {
    /// The layers in place of the model's last ones.
    pub layers: Vec<Layer>,
    scores: Weights<'static>,
    /// Outputs of the layer of scores, of which the first are named.
    outputs: usize,
    names: usize,
}

/// The names of the intents, in the order of their probabilities.
pub fn intent_names() -> Vec<&'static str> {
    let names = weights::read(FILE).and_then(|mut file| file.remove("names"));
    names.and_then(|names| std::str::from_utf8(names).ok()).map(|names| names.lines().collect()).unwrap_or_default()
}

impl Intents {
    /// `None` when a part is missing or has another size.
    pub fn load() -> Option<Self> {
        let file = File(weights::read(FILE)?);
        let [first] = **file.0.get("first")? else { return None };
        let names = intent_names().len();
        let outputs = names.next_multiple_of(crate::kernel::BLOCK);
        let scores = file.linear("intents", 2 * DIM, outputs)?;
        let layers = (usize::from(first)..crate::model::LAYERS).map(|place| file.layer(place));
        Some(Self { layers: layers.collect::<Option<_>>()?, scores, outputs, names })
    }

    /// Releases the weights until the next use.
    pub fn release_pages() {
        allocator::release_pages(FILE);
    }

    /// The probability of each name, from the numbers of the tokens.
    pub fn shares(&self, kernels: &Kernels, states: &[f32]) -> Vec<f32> {
        let tokens = states.len() / DIM;
        let mut features = vec![0.0; DIM];
        for row in states.chunks_exact(DIM) {
            features.iter_mut().zip(row).for_each(|(to, from)| *to += from / tokens as f32);
        }
        features.extend(&states[..DIM]);
        let mut scores = vec![0.0; self.outputs];
        kernels.linear(&self.scores, &features, &mut scores, &mut Scratch::new());
        scores.truncate(self.names);
        let most = scores.iter().copied().fold(f32::MIN, f32::max);
        let shares: Vec<f32> = scores.iter().map(|score| (score - most).exp()).collect();
        let sum: f32 = shares.iter().sum();
        shares.iter().map(|share| share / sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Model;

    #[test]
    fn the_layers_tell_what_is_wanted() {
        let (model, names) = (Model::load().unwrap(), intent_names());
        for (sentence, tool) in [
            ("Set a timer for ten minutes", "set_timer"),
            ("put oat milk on the shopping list please", "add_task"),
            ("who won the world cup in 1998?", "/none"),
        ] {
            let shares = model.intents(sentence).unwrap();
            assert_eq!(shares.len(), names.len());
            assert!((shares.iter().sum::<f32>() - 1.0).abs() < 1e-3, "{sentence}");
            let of_tool = names.iter().zip(&shares).filter(|(name, _)| name.split(' ').next() == Some(tool));
            assert!(of_tool.map(|(_, share)| share).sum::<f32>() > 0.5, "{sentence}");
        }
        assert_eq!(model.intents(" "), Err(crate::Error::Empty));
    }
}
