//! For tests: a small ONNX model that knows some words, and the files of a folder with it. Words of one topic have one vector,
//! others a short one by their first two letters.
//!
//! It has the parts of a real export that a runtime can fail at: a mask, token types, positions cut to the length of the input.

use serde_json::{Value, json};
use std::{fs, path::Path};

/// How many numbers a vector has.
pub const WIDTH: usize = 48;
/// The longest input.
const POSITIONS: usize = 64;

/// Numbers from -1 to 1 that look random and are always the same.
fn numbers(seed: &str) -> impl FnMut() -> f32 {
    let mut state =
        seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, b| (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3));
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
}

/// A vector of this length in a direction of the seed's.
fn direction(seed: &str, length: f32) -> Vec<f32> {
    let mut next = numbers(seed);
    let vector: Vec<f32> = (0..WIDTH).map(|_| next()).collect();
    let norm = vector.iter().map(|n| n * n).sum::<f32>().sqrt();
    vector.iter().map(|n| n / norm * length).collect()
}

/// Every token with its vector. `training` changes all vectors, as another training does.
pub fn vocabulary(topics: &[&[&str]], training: &str) -> Vec<(String, Vec<f32>)> {
    let zero = || vec![0.0; WIDTH];
    let mut all: Vec<(String, Vec<f32>)> =
        ["[PAD]", "[UNK]", "[CLS]", "[SEP]"].iter().map(|token| ((*token).to_owned(), zero())).collect();
    for topic in topics {
        all.extend(topic.iter().map(|word| ((*word).to_owned(), direction(&format!("{training}{}", topic[0]), 1.0))));
    }
    all.extend(".,?!:;'0123456789".chars().map(|c| (c.to_string(), zero())));
    for first in 'a'..='z' {
        all.push((first.to_string(), direction(&format!("{training}{first}"), 0.3)));
        all.push((format!("##{first}"), zero()));
        for second in 'a'..='z' {
            let pair = format!("{first}{second}");
            if all.iter().all(|(token, _)| *token != pair) {
                let vector = direction(&format!("{training}{pair}"), 0.3);
                all.push((pair, vector));
            }
        }
    }
    all.extend((0..=9).map(|digit| (format!("##{digit}"), zero())));
    all
}

/// `tokenizer.json` of a WordPiece tokenizer.
pub fn tokenizer(vocabulary: &[(String, Vec<f32>)]) -> Value {
    let ids: serde_json::Map<String, Value> =
        vocabulary.iter().enumerate().map(|(id, (token, _))| (token.clone(), json!(id))).collect();
    wordpiece(Value::Object(ids), 2, 3)
}

/// The same of given ids, with those of `[CLS]` and `[SEP]`.
pub fn wordpiece(ids: Value, start: u32, end: u32) -> Value {
    let special = |id: u32, token: &str| {
        json!({"id": id, "content": token, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false,
               "special": true})
    };
    json!({
        "version": "1.0", "truncation": null, "padding": null,
        "added_tokens": [special(start, "[CLS]"), special(end, "[SEP]")],
        "normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null,
                       "lowercase": true},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "[SEP]", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [start], "tokens": ["[CLS]"]},
                               "[SEP]": {"id": "[SEP]", "ids": [end], "tokens": ["[SEP]"]}},
        },
        "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
        "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
                  "max_input_chars_per_word": 100, "vocab": ids},
    })
}

/// The ONNX file: vectors of tokens, types and positions, added and masked. Types and positions add nothing.
pub fn onnx(vocabulary: &[(String, Vec<f32>)]) -> Vec<u8> {
    let table: Vec<f32> = vocabulary.iter().flat_map(|(_, vector)| vector.iter().copied()).collect();
    let width = WIDTH as i64;
    let constants = [
        floats("table", &[vocabulary.len() as i64, width], &table),
        floats("types", &[2, width], &[0.0; 2 * WIDTH]),
        floats("places", &[1, POSITIONS as i64, width], &[0.0; POSITIONS * WIDTH]),
        whole("one", &[], &[1]),
        whole("start", &[1], &[0]),
        whole("axis", &[1], &[1]),
        whole("last", &[1], &[2]),
    ];
    let nodes = [
        node("Gather", &["table", "input_ids"], "tokens", &[]),
        node("Gather", &["types", "token_type_ids"], "kinds", &[]),
        node("Shape", &["input_ids"], "shape", &[]),
        node("Gather", &["shape", "one"], "length", &[("axis", 0)]),
        node("Unsqueeze", &["length", "start"], "end", &[]),
        node("Slice", &["places", "start", "end", "axis"], "positions", &[]),
        node("Add", &["tokens", "kinds"], "typed", &[]),
        node("Add", &["typed", "positions"], "placed", &[]),
        node("Unsqueeze", &["attention_mask", "last"], "mask", &[]),
        node("Cast", &["mask"], "factor", &[("to", 1)]),
        node("Mul", &["placed", "factor"], "last_hidden_state", &[]),
    ];
    model(&nodes, &constants, &["input_ids", "attention_mask", "token_type_ids"], "last_hidden_state")
}

/// A folder with the model, as people download one.
pub fn write_folder(folder: &Path, topics: &[&[&str]], training: &str) {
    let vocabulary = vocabulary(topics, training);
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    fs::write(folder.join("model.onnx"), onnx(&vocabulary)).unwrap();
    let write = |name: &str, value: Value| fs::write(folder.join(name), value.to_string()).unwrap();
    write("tokenizer.json", tokenizer(&vocabulary));
    write("config.json", json!({"model_type": "bert", "hidden_size": WIDTH, "max_position_embeddings": POSITIONS}));
    write("1_Pooling/config.json", json!({"word_embedding_dimension": WIDTH, "pooling_mode_mean_tokens": true}));
}

/// A model with inputs of whole numbers, one for each token, and one output of floats.
pub fn model(nodes: &[Vec<u8>], constants: &[Vec<u8>], inputs: &[&str], output: &str) -> Vec<u8> {
    let mut graph = vec![];
    nodes.iter().for_each(|node| bytes(&mut graph, 1, node));
    bytes(&mut graph, 2, b"tiny");
    constants.iter().for_each(|constant| bytes(&mut graph, 5, constant));
    inputs.iter().for_each(|name| bytes(&mut graph, 11, &value(name, 7, &["batch", "sequence"])));
    bytes(&mut graph, 12, &value(output, 1, &["batch", "sequence", "width"]));
    let mut opset = vec![];
    bytes(&mut opset, 1, b"");
    number(&mut opset, 2, 14);
    let mut model = vec![];
    number(&mut model, 1, 8);
    bytes(&mut model, 7, &graph);
    bytes(&mut model, 8, &opset);
    model
}

/// A node with attributes that are whole numbers.
pub fn node(operator: &str, inputs: &[&str], output: &str, attributes: &[(&str, u64)]) -> Vec<u8> {
    let mut node = vec![];
    inputs.iter().for_each(|input| bytes(&mut node, 1, input.as_bytes()));
    bytes(&mut node, 2, output.as_bytes());
    bytes(&mut node, 3, format!("make {output}").as_bytes());
    bytes(&mut node, 4, operator.as_bytes());
    for (name, value) in attributes {
        let mut attribute = vec![];
        bytes(&mut attribute, 1, name.as_bytes());
        number(&mut attribute, 3, *value);
        number(&mut attribute, 20, 2);
        bytes(&mut node, 5, &attribute);
    }
    node
}

/// A constant of floats.
pub fn floats(name: &str, dimensions: &[i64], values: &[f32]) -> Vec<u8> {
    tensor(name, dimensions, 1, &values.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
}

/// A constant of whole numbers.
pub fn whole(name: &str, dimensions: &[i64], values: &[i64]) -> Vec<u8> {
    tensor(name, dimensions, 7, &values.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>())
}

fn tensor(name: &str, dimensions: &[i64], kind: u64, raw: &[u8]) -> Vec<u8> {
    let mut tensor = vec![];
    dimensions.iter().for_each(|n| number(&mut tensor, 1, *n as u64));
    number(&mut tensor, 2, kind);
    bytes(&mut tensor, 8, name.as_bytes());
    bytes(&mut tensor, 9, raw);
    tensor
}

fn value(name: &str, kind: u64, dimensions: &[&str]) -> Vec<u8> {
    let mut shape = vec![];
    for dimension in dimensions {
        let mut named = vec![];
        bytes(&mut named, 2, dimension.as_bytes());
        bytes(&mut shape, 1, &named);
    }
    let (mut tensor, mut holder, mut value) = (vec![], vec![], vec![]);
    number(&mut tensor, 1, kind);
    bytes(&mut tensor, 2, &shape);
    bytes(&mut holder, 1, &tensor);
    bytes(&mut value, 1, name.as_bytes());
    bytes(&mut value, 2, &holder);
    value
}

/// A field of protobuf with bytes.
fn bytes(to: &mut Vec<u8>, field: u64, content: &[u8]) {
    varint(to, field << 3 | 2);
    varint(to, content.len() as u64);
    to.extend_from_slice(content);
}

/// A field of protobuf with a whole number.
fn number(to: &mut Vec<u8>, field: u64, value: u64) {
    varint(to, field << 3);
    varint(to, value);
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 128 {
        to.push((value & 127) as u8 | 128);
        value >>= 7;
    }
    to.push(value as u8);
}
