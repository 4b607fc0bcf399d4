//! A loaded model: its tokenizer, and its graph in tract.

use super::{
    Centres, Purpose, Settings,
    pooling::{Pooling, normalise},
    unusable,
};
use crate::Error;
use std::{
    fs::File,
    io::Read,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, OnceLock},
    time::Instant,
};
use tokenizers::{Encoding, Tokenizer, TruncationDirection};
use tract_onnx::{
    pb::{ModelProto, tensor_proto::DataLocation},
    prelude::*,
    tract_hir::infer::Factoid,
};

/// The longest text that is embedded in pieces, in tokens.
const MOST_TOKENS: usize = 8192;
/// Characters of a text that are read for each token of the input: more cannot fit.
const CHARACTERS: usize = 32;
/// The names of the output with the vectors, the best first.
const OUTPUTS: [&str; 4] = ["sentence_embedding", "last_hidden_state", "token_embeddings", "text_embeds"];
/// How much of an error's text is shown.
const SHOWN: usize = 300;

/// An input of the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Ids,
    Mask,
    Types,
    Positions,
}

/// The inputs of the graph in their order, with the type of each.
type Inputs = Vec<(Input, DatumType)>;

/// A loaded model.
pub struct Session {
    settings: Settings,
    tokenizer: Tokenizer,
    plan: Arc<TypedRunnableModel>,
    inputs: Inputs,
    centres: Option<Centres>,
}

impl Session {
    /// Loads a model. `centres` are measured at the first load.
    ///
    /// # Errors
    /// `Unavailable` with the reason: a damaged file, an operator that tract does not have, too little memory.
    pub fn load(settings: &Settings, centres: &OnceLock<Option<Centres>>) -> Result<Self, Error> {
        let start = Instant::now();
        let loaded = catch_unwind(AssertUnwindSafe(|| Self::load_parts(settings)));
        let loaded =
            loaded.unwrap_or_else(|_| Err("loading it failed in an unexpected way: try another export".into()));
        let mut session = loaded.map_err(|why| unusable(&settings.name, why))?;
        if centres.get().is_none() {
            let same = settings.query_prefix == settings.passage_prefix;
            let measured = Centres::measure(|text, purpose| session.embed(text, purpose), same)?;
            let _ = centres.set(measured);
        }
        session.centres = centres.get().cloned().flatten();
        tracing::info!(
            model = &*settings.id,
            ms = start.elapsed().as_millis() as u64,
            centred = session.centres.is_some(),
            "embedding model loaded"
        );
        Ok(session)
    }

    fn load_parts(settings: &Settings) -> Result<Self, String> {
        let tokenizer = tokenizer(settings)?;
        let size = settings.onnx.metadata().map_err(|error| error.to_string())?.len();
        // The file, its tensors and the packed ones are in memory together while it is loaded.
        check_memory(size.saturating_mul(3))?;
        let file = File::open(&settings.onnx).map_err(|error| error.to_string())?;
        let proto = onnx().proto_model_for_read(&mut file.take(size));
        let proto = proto.map_err(|error| format!("{} is damaged: {}", settings.onnx.display(), short(&error)))?;
        check_proto(&proto)?;
        let (plan, inputs) = plan(&proto, settings)?;
        Ok(Self { settings: settings.clone(), tokenizer, plan, inputs, centres: None })
    }

    /// The unit vector of a text, the beginning of which counts.
    pub fn embed(&self, text: &str, purpose: Purpose) -> Result<Vec<f32>, Error> {
        let (pieces, _) = self.pieces(text, purpose, self.settings.max_tokens)?;
        let first = pieces.first().ok_or(Error::Empty)?;
        let vector = self.run(&self.encode(first, purpose)?)?;
        self.finish(vector, purpose)
    }

    /// The unit vector of all of a text, and how many tokens it has: a long text is the mean of its pieces by their length.
    pub fn embed_whole(&self, text: &str, purpose: Purpose) -> Result<(Vec<f32>, usize), Error> {
        let (pieces, tokens) = self.pieces(text, purpose, MOST_TOKENS + self.settings.max_tokens)?;
        if tokens > MOST_TOKENS {
            return Err(Error::TooLong(MOST_TOKENS));
        }
        let encodings = pieces.iter().map(|piece| self.encode(piece, purpose)).collect::<Result<Vec<_>, _>>()?;
        let tokens = encodings.iter().map(Encoding::len).sum();
        let mut mean = vec![0.0; self.settings.dimensions];
        for encoding in encodings {
            let weight = encoding.len() as f32 / tokens as f32;
            self.run(&encoding)?.iter().zip(&mut mean).for_each(|(n, sum)| *sum += n * weight);
        }
        Ok((self.finish(mean, purpose)?, tokens))
    }

    /// A text in pieces that fit the input, and how many tokens these have. Only so much of the text is read as may have `most`
    /// tokens.
    fn pieces<'a>(&self, text: &'a str, purpose: Purpose, most: usize) -> Result<(Vec<&'a str>, usize), Error> {
        let text = text.trim();
        let end = text.char_indices().nth(most * CHARACTERS).map_or(text.len(), |(at, _)| at);
        let text = text.get(..end).unwrap_or_default();
        if text.is_empty() {
            return Err(Error::Empty);
        }
        let tokens = self.tokens(text.to_owned(), false)?;
        if tokens.is_empty() {
            return Err(Error::Empty);
        }
        let room = self.settings.max_tokens.saturating_sub(self.tokens(self.prefix(purpose).to_owned(), true)?.len());
        if room == 0 {
            return Err(self.failed("its prefix fills its input: write a shorter one into hob.json"));
        }
        let mut pieces = vec![];
        for part in tokens.get_offsets().chunks(room) {
            let (start, end) = (part.first().map_or(0, |token| token.0), part.last().map_or(0, |token| token.1));
            pieces.extend(text.get(start..end).filter(|piece| !piece.is_empty()));
        }
        Ok((pieces, tokens.len()))
    }

    fn prefix(&self, purpose: Purpose) -> &str {
        match purpose {
            Purpose::Query => &self.settings.query_prefix,
            Purpose::Passage => &self.settings.passage_prefix,
        }
    }

    /// The tokens of a piece of text, as the model reads them: with its prefix and special tokens.
    fn encode(&self, piece: &str, purpose: Purpose) -> Result<Encoding, Error> {
        self.tokens(format!("{}{piece}", self.prefix(purpose)), true)
    }

    fn tokens(&self, text: String, special: bool) -> Result<Encoding, Error> {
        let encoded = catch_unwind(AssertUnwindSafe(|| self.tokenizer.encode(text, special)));
        let encoded = encoded.map_err(|_| self.failed("its tokenizer failed in an unexpected way"))?;
        let mut encoding = encoded.map_err(|error| self.failed(format!("its tokenizer failed: {error}")))?;
        // A piece may have other tokens at its cut than the text had there.
        encoding.truncate(if special { self.settings.max_tokens } else { usize::MAX }, 0, TruncationDirection::Right);
        Ok(encoding)
    }

    /// One pass: the vector of a piece of text, of length 1, or of zeros.
    fn run(&self, encoding: &Encoding) -> Result<Vec<f32>, Error> {
        let ran = catch_unwind(AssertUnwindSafe(|| self.pass(encoding)));
        let ran = ran.unwrap_or_else(|_| Err("running it failed in an unexpected way: try another export".into()));
        ran.map_err(|why| self.failed(why))
    }

    fn pass(&self, encoding: &Encoding) -> Result<Vec<f32>, String> {
        let length = encoding.len();
        let mut inputs = tvec![];
        for (input, kind) in &self.inputs {
            let values: Vec<i64> = match input {
                Input::Ids => encoding.get_ids().iter().map(|id| i64::from(*id)).collect(),
                Input::Types => encoding.get_type_ids().iter().map(|id| i64::from(*id)).collect(),
                Input::Mask => vec![1; length],
                Input::Positions => (0..length as i64).collect(),
            };
            let tensor = Tensor::from_shape(&[1, length], &values).and_then(|t| Ok(t.cast_to_dt(*kind)?.into_owned()));
            inputs.push(tensor.map_err(|error| short(&error))?.into_tvalue());
        }
        let outputs = self.plan.run(inputs).map_err(|error| format!("it failed while it ran: {}", short(&error)))?;
        let output = outputs.first().ok_or("it has no output")?;
        let output = output.cast_to::<f32>().map_err(|error| short(&error))?;
        let view = output.try_as_plain_ram().map_err(|error| short(&error))?;
        let numbers = view.as_slice::<f32>().map_err(|error| short(&error))?;
        let (pooling, width) = match *output.shape() {
            [1, tokens, width] if tokens == length => (self.settings.pooling, width),
            [1, width] | [width] => (Pooling::None, width),
            ref shape => {
                return Err(format!("its output has the shape {shape:?}, not one vector of each token or text"));
            }
        };
        let declared = self.settings.dimensions;
        if width != declared {
            return Err(format!(
                "its vectors have {width} numbers, but its files declare {declared}: correct config.json, or \"dimensions\" in hob.json"
            ));
        }
        if pooling == Pooling::None && numbers.len() != width {
            return Err(
                "its output has a vector of each token: write the pooling (\"mean\" or \"cls\") into hob.json".into()
            );
        }
        let mut vector = pooling.pool(numbers, width).ok_or("its output is empty")?;
        if !vector.iter().all(|n| n.is_finite()) {
            return Err("its output has numbers that are not finite: use another export".into());
        }
        normalise(&mut vector);
        Ok(vector)
    }

    fn finish(&self, mut vector: Vec<f32>, purpose: Purpose) -> Result<Vec<f32>, Error> {
        let usable = match &self.centres {
            Some(centres) => centres.apply(&mut vector, purpose),
            None => normalise(&mut vector),
        };
        // Without a direction the text has no meaning for this model.
        if usable { Ok(vector) } else { Err(Error::Empty) }
    }

    fn failed(&self, why: impl std::fmt::Display) -> Error {
        unusable(&self.settings.name, why)
    }
}

fn tokenizer(settings: &Settings) -> Result<Tokenizer, String> {
    let broken = |error: &dyn std::fmt::Display| format!("{} cannot be read: {error}", settings.tokenizer.display());
    let mut tokenizer = Tokenizer::from_file(&settings.tokenizer).map_err(|error| broken(&error))?;
    // Long texts are cut here, in all models in the same way.
    tokenizer.with_truncation(None).map_err(|error| broken(&error))?;
    tokenizer.with_padding(None);
    Ok(tokenizer)
}

/// The graph, ready to run, with the inputs in their order.
fn plan(proto: &ModelProto, settings: &Settings) -> Result<(Arc<TypedRunnableModel>, Inputs), String> {
    let failed = |error: &TractError| format!("tract cannot run it: {}", short(error));
    let parsed = onnx().with_ignore_output_shapes(true).with_ignore_value_info(true).parse(proto, None);
    let mut model = parsed.map_err(|error| failed(&error))?.model;
    let length = model.sym("S");
    let mut inputs = vec![];
    let outlets = model.input_outlets().map_err(|error| failed(&error))?.to_vec();
    for (at, outlet) in outlets.into_iter().enumerate() {
        let name = model.node(outlet.node).name.clone();
        let input = match &*name {
            "input_ids" => Input::Ids,
            "attention_mask" => Input::Mask,
            "token_type_ids" => Input::Types,
            "position_ids" => Input::Positions,
            _ => {
                return Err(format!(
                    "it has an input \"{name}\", which Hob does not know: input_ids, attention_mask, token_type_ids and \
                     position_ids are supported"
                ));
            }
        };
        let declared = model.input_fact(at).ok().and_then(|fact| fact.datum_type.concretize());
        let kind = declared.unwrap_or_else(i64::datum_type);
        let shape = tvec![1.to_dim(), length.clone().into()];
        model.set_input_fact(at, InferenceFact::dt_shape(kind, shape)).map_err(|error| failed(&error))?;
        inputs.push((input, kind));
    }
    if !inputs.iter().any(|(input, _)| *input == Input::Ids) {
        return Err("it has no input \"input_ids\", so it does not read tokens: use a text embedding model".into());
    }
    let output = output(&model, settings)?;
    model.select_output_outlets(&[output]).map_err(|error| failed(&error))?;
    let plan = model.into_optimized().and_then(|model| model.into_runnable()).map_err(|error| failed(&error))?;
    Ok((plan, inputs))
}

/// The output with the vectors.
fn output(model: &InferenceModel, settings: &Settings) -> Result<OutletId, String> {
    let outlets = model.output_outlets().map_err(|error| short(&error))?;
    let named = |name: &str| outlets.iter().find(|outlet| model.outlet_label(**outlet) == Some(name)).copied();
    if let Some(name) = &settings.output {
        let all: Vec<&str> = outlets.iter().filter_map(|outlet| model.outlet_label(*outlet)).collect();
        return named(name)
            .ok_or_else(|| format!("it has no output \"{name}\", which hob.json names: it has {}", all.join(", ")));
    }
    let usual = OUTPUTS.into_iter().find_map(named);
    usual.or_else(|| outlets.first().copied()).ok_or_else(|| "it has no output".to_owned())
}

/// That all weights are in the file, that tract has all its operators, and that there is memory for its weights as floats.
fn check_proto(proto: &ModelProto) -> Result<(), String> {
    let graph = proto.graph.as_ref().ok_or("it has no graph: it is not an ONNX model")?;
    if graph.initializer.iter().any(|tensor| tensor.data_location == Some(DataLocation::External as i32)) {
        return Err("its weights are in a second file: export it as one file (below 2 GB)".into());
    }
    let known = &onnx().op_register.0;
    let mut missing: Vec<&str> =
        graph.node.iter().map(|node| &*node.op_type).filter(|op| !known.contains_key(*op)).collect();
    missing.sort_unstable();
    missing.dedup();
    if !missing.is_empty() {
        return Err(format!(
            "it uses operators that Hob does not run: {}. Export it without fused operators, as `optimum-cli export onnx` does",
            missing.join(", ")
        ));
    }
    let count = |dims: &[i64]| dims.iter().try_fold(1_u64, |all, n| all.checked_mul(u64::try_from(*n).ok()?));
    let floats = graph.initializer.iter().map(|tensor| count(&tensor.dims).unwrap_or(u64::MAX / 64));
    let floats = floats.fold(0, u64::saturating_add).saturating_mul(4);
    // Once as they are, and once packed for multiplication.
    check_memory(floats.saturating_mul(2))
}

/// That so many bytes of memory are free, where the system reports it.
fn check_memory(bytes: u64) -> Result<(), String> {
    let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().trim_end_matches(" kB").parse::<u64>().ok()
    });
    match available.map(|kb| kb.saturating_mul(1024)) {
        Some(free) if free < bytes => Err(format!(
            "loading it takes about {} MB of memory, and {} MB are free: use a smaller model",
            bytes >> 20,
            free >> 20
        )),
        _ => Ok(()),
    }
}

/// The beginning of an error's text: those of tract may contain whole tensors.
fn short(error: &TractError) -> String {
    let text = format!("{error:#}");
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text,
    }
}
