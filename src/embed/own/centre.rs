//! Centres the vectors of models whose texts all point the same way.
//!
//! Unrelated texts have a cosine of .75 in multilingual E5 and of .05 in MiniLM. With the mean vector of unrelated sentences
//! subtracted, E5's unrelated texts are at .02 to .06 and its related ones at .25 to .40, so that one minimum serves all models,
//! and the signs of the numbers distinguish texts.

use super::{Purpose, pooling::normalise};
use crate::Error;

/// From this mean cosine of unrelated sentences on, vectors are centred.
const ONE_SIDED: f32 = 0.2;

/// Unrelated sentences in four languages. A change of them changes every vector: it is part of a model's fingerprint.
pub const SENTENCES: [&str; 24] = [
    "The train to the coast leaves at seven in the morning.",
    "She bought three apples and a loaf of bread.",
    "The committee will vote on the new budget next week.",
    "Water boils at one hundred degrees at sea level.",
    "His grandfather worked in a coal mine.",
    "The password of the old computer is written on a card.",
    "Please send the invoice before Friday.",
    "A red bicycle stands in front of the library.",
    "Die Heizung im Keller wurde im Oktober gewartet.",
    "Morgen früh treffen wir uns am Bahnhof.",
    "Der Hund schläft am liebsten auf dem Sofa.",
    "Wie viel kostet eine Fahrkarte nach Wien?",
    "El vecino toca la guitarra todas las noches.",
    "Necesitamos comprar pintura blanca para la cocina.",
    "La reunión empieza a las nueve y media.",
    "Mi hermana estudia medicina en Sevilla.",
    "Le chat noir dort sur le toit du garage.",
    "Il faut arroser les tomates deux fois par jour.",
    "Nous avons perdu la clé de la cave.",
    "Le médecin recommande de marcher chaque matin.",
    "Solar panels convert light into electricity.",
    "My favourite film was made in 1962.",
    "The bridge was closed because of strong wind.",
    "Can you explain how a compiler works?",
];

/// The mean vectors of queries and of passages.
#[derive(Debug, Clone, PartialEq)]
pub struct Centres {
    query: Vec<f32>,
    passage: Vec<f32>,
}

impl Centres {
    /// Measures a model by the unit vectors that it gives; `None` where its vectors point in all directions.
    ///
    /// # Errors
    /// Those of the model.
    pub fn measure(
        mut embed: impl FnMut(&str, Purpose) -> Result<Vec<f32>, Error>,
        same: bool,
    ) -> Result<Option<Self>, Error> {
        let mut mean = |purpose| {
            let mut sum: Vec<f32> = vec![];
            for sentence in SENTENCES {
                let vector = match embed(sentence, purpose) {
                    // A model may not know one of the languages.
                    Err(Error::Empty) => continue,
                    embedded => embedded?,
                };
                sum.resize(vector.len(), 0.0);
                sum.iter_mut().zip(&vector).for_each(|(sum, n)| *sum += n / SENTENCES.len() as f32);
            }
            Ok(sum)
        };
        let passage = mean(Purpose::Passage)?;
        // The square of the mean's length is the mean of all cosines, also of each sentence with itself.
        let own = 1.0 / SENTENCES.len() as f32;
        let cosine = (passage.iter().map(|n| n * n).sum::<f32>() - own) / (1.0 - own);
        if cosine < ONE_SIDED {
            return Ok(None);
        }
        let query = if same { passage.clone() } else { mean(Purpose::Query)? };
        Ok(Some(Self { query, passage }))
    }

    /// Subtracts the mean; `false` where nothing is left.
    pub fn apply(&self, vector: &mut [f32], purpose: Purpose) -> bool {
        let centre = match purpose {
            Purpose::Query => &self.query,
            Purpose::Passage => &self.passage,
        };
        vector.iter_mut().zip(centre).for_each(|(n, mean)| *n -= mean);
        normalise(vector)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors that look random, with so much of one direction in common.
    fn model(common: f32) -> impl FnMut(&str, Purpose) -> Result<Vec<f32>, Error> {
        move |text, _| {
            let mut state = u64::from_le_bytes(*blake3::hash(text.as_bytes()).as_bytes().first_chunk().unwrap());
            let mut vector: Vec<f32> = (0..64)
                .map(|_| {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    (state >> 40) as f32 / (1 << 24) as f32 - 0.5 + common
                })
                .collect();
            normalise(&mut vector);
            Ok(vector)
        }
    }

    #[test]
    fn only_one_sided_vectors_are_centred() {
        assert_eq!(Centres::measure(model(0.0), true).unwrap(), None);
        let mut embed = model(0.6);
        let centres = Centres::measure(&mut embed, true).unwrap().unwrap();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        let mut vectors: Vec<Vec<f32>> =
            ["rain", "a lamp", "the cat"].iter().map(|text| embed(text, Purpose::Passage).unwrap()).collect();
        assert!(dot(&vectors[0], &vectors[1]) > 0.7 && dot(&vectors[0], &vectors[2]) > 0.7);
        vectors.iter_mut().for_each(|vector| assert!(centres.apply(vector, Purpose::Passage)));
        assert!(dot(&vectors[0], &vectors[1]).abs() < 0.3 && dot(&vectors[0], &vectors[2]).abs() < 0.3);
        assert!((dot(&vectors[0], &vectors[0]) - 1.0).abs() < 1e-5);
    }
}
