//! Models of a household: the built-in model by tract against its own path, a small model, and folders that cannot be used.

use super::{Settings, find, tiny};
use crate::{DIM, Embedder, Error, Quantized};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

const LONG: Duration = Duration::from_secs(600);
const TOPICS: [&[&str]; 3] =
    [&["boiler", "heating", "radiator"], &["bins", "rubbish", "garbage"], &["cat", "kitten", "vet"]];

/// A folder of its own that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hob-own-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn settings(&self) -> Result<Settings, String> {
        Settings::read(&self.0)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// A folder of models with a small one in it.
fn with_tiny(name: &str) -> Scratch {
    let models = Scratch::new(name);
    tiny::write_folder(&models.0.join("tiny"), &TOPICS, "a");
    models
}

/// The built-in model as a household would bring it.
fn built_in_as_own(models: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let folder = models.join("mini");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(source.join("all-MiniLM-L6-v2.int8.onnx"), folder.join("model.onnx")).unwrap();
    let words = fs::read_to_string(source.join("vocab.txt")).unwrap();
    let id = |token: &str| words.lines().position(|line| line == token).unwrap() as u32;
    let ids: serde_json::Map<String, Value> =
        words.lines().enumerate().map(|(id, token)| (token.to_owned(), json!(id))).collect();
    let tokenizer = tiny::wordpiece(Value::Object(ids), id("[CLS]"), id("[SEP]"));
    fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    fs::write(folder.join("hob.json"), json!({"pooling": "none", "dimensions": DIM, "maxTokens": 256}).to_string())
        .unwrap();
}

#[tokio::test]
async fn both_paths_agree_on_the_built_in_model() {
    let models = Scratch::new("parity");
    built_in_as_own(&models.0);
    let (own, built_in) = (Embedder::chosen(LONG, &models.0, ""), Embedder::new(LONG));
    assert!(own.model().starts_with("mini#") && !own.is_built_in());
    let long = "The boiler was serviced in October. ".repeat(60);
    let texts = [
        "ok",
        "Marta serviced the boiler on 3 October",
        "who looked after the heating?",
        "Ein Geschenk für meine Großmutter: Orchideen!",
        "¿Cuándo llevamos al gato al veterinario?",
        "今天的天气很好。",
        "the dishwasher shows code E24: the drain hose is blocked, and water stays in the machine",
        &long,
    ];
    for text in texts {
        let (ours, theirs) = (own.embed(text).await.unwrap(), built_in.embed(text).await.unwrap());
        assert_eq!(ours.len(), theirs.len());
        let cosine = dot(&ours, &theirs);
        assert!(cosine > 0.9995, "{text}: {cosine}");
        assert_eq!(own.embed_query(text).await.unwrap(), ours, "it has no prefixes");
    }
    assert_eq!(own.embed(" ").await, Err(Error::Empty));
}

#[tokio::test]
async fn a_small_model_finds_by_meaning_and_leaves_when_idle() {
    let models = with_tiny("small");
    let embedder = Embedder::chosen(Duration::from_millis(50), &models.0, "tiny");
    assert_eq!(embedder.dimensions(), tiny::WIDTH);
    let boiler = embedder.embed("the boiler was serviced").await.unwrap();
    assert_eq!(boiler.len(), tiny::WIDTH);
    let bins = embedder.embed("the bins go out on monday").await.unwrap();
    let question = embedder.embed_query("who looked after the radiator").await.unwrap();
    assert!(
        dot(&question, &boiler) > 0.5 && dot(&question, &bins) < 0.3,
        "{} {}",
        dot(&question, &boiler),
        dot(&question, &bins)
    );
    let start = std::time::Instant::now();
    while embedder.loaded() {
        assert!(start.elapsed() < Duration::from_secs(20), "the model is still loaded");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(embedder.embed("the boiler was serviced").await.unwrap(), boiler, "it comes back");
    assert_eq!(embedder.problem(), None);
}

#[tokio::test]
async fn a_long_text_counts_to_its_end() {
    let models = with_tiny("long");
    let embedder = Embedder::chosen(LONG, &models.0, "");
    let text = format!("{} cat", "rain ".repeat(200));
    let (whole, tokens) = embedder.embed_whole(&text).await.unwrap();
    assert!(tokens > 200, "{tokens}");
    let beginning = embedder.embed(&text).await.unwrap();
    let cat = embedder.embed("kitten").await.unwrap();
    assert!(dot(&whole, &cat) > dot(&beginning, &cat), "the end counts");
    assert_eq!(embedder.embed_whole(&"rain ".repeat(9000)).await, Err(Error::TooLong(8192)));
}

#[tokio::test]
async fn every_failure_has_its_reason() {
    let table = [0.0_f32; 2 * tiny::WIDTH];
    let gather = |input: &str| tiny::node("Gather", &["table", input], "last_hidden_state", &[]);
    let constant = [tiny::floats("table", &[2, tiny::WIDTH as i64], &table)];
    let odd_operator = tiny::model(&[tiny::node("FusedAttention", &["input_ids"], "o", &[])], &[], &["input_ids"], "o");
    let odd_input = tiny::model(&[gather("pixels")], &constant, &["pixels"], "last_hidden_state");
    let cases: [(&str, Option<Vec<u8>>, &str); 4] = [
        ("damaged", Some(b"this is no ONNX file, but a text".to_vec()), "cannot be used"),
        ("operator", Some(odd_operator), "operators that Hob does not run: FusedAttention"),
        ("input", Some(odd_input), "an input \"pixels\""),
        ("width", None, "vectors have 48 numbers, but its files declare 32"),
    ];
    for (name, model, why) in cases {
        let models = with_tiny(name);
        match model {
            Some(model) => models.write("tiny/model.onnx", model),
            None => models.write("tiny/hob.json", json!({"dimensions": 32}).to_string()),
        }
        let embedder = Embedder::chosen(LONG, &models.0, "");
        let Err(Error::Unavailable(text)) = embedder.embed("the cat").await else { panic!("{name} was embedded") };
        assert!(text.contains(why) && text.contains("\"tiny\""), "{name}: {text}");
        assert_eq!(embedder.problem(), Some(text), "{name}");
        assert!(!embedder.loaded());
    }
}

#[test]
fn a_folder_describes_its_model() {
    let scratch = Scratch::new("files");
    let read = || scratch.settings().unwrap_err();
    assert!(read().contains("how vectors of tokens"), "its name is not known: {}", read());
    scratch.write(
        "config.json",
        r#"{"model_type": "xlm-roberta", "_name_or_path": "intfloat/multilingual-e5-small",
        "hidden_size": 384, "max_position_embeddings": 514}"#,
    );
    assert!(read().contains("no ONNX file"), "{}", read());
    scratch.write("onnx/model.onnx", "x");
    scratch.write("onnx/model_quantized.onnx", "y");
    assert!(read().contains("no tokenizer.json"), "{}", read());
    scratch.write("tokenizer.json", "{}");
    let found = scratch.settings().unwrap();
    assert!(found.onnx.ends_with("onnx/model.onnx"));
    let text = |settings: &Settings| (settings.query_prefix.clone(), settings.passage_prefix.clone());
    assert_eq!(text(&found), ("query: ".into(), "passage: ".into()));
    assert_eq!((format!("{:?}", found.pooling), found.max_tokens, found.dimensions), ("Mean".into(), 512, 384));
    assert_eq!(scratch.settings().unwrap().id, found.id);

    // The files of sentence-transformers say more than a name, and hob.json overrides all.
    scratch.write("sentence_bert_config.json", r#"{"max_seq_length": 128, "do_lower_case": false}"#);
    scratch.write(
        "modules.json",
        r#"[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]"#,
    );
    scratch.write(
        "1_Pooling/config.json",
        r#"{"word_embedding_dimension": 384, "pooling_mode_cls_token": true,
        "pooling_mode_mean_tokens": false, "pooling_mode_max_tokens": false}"#,
    );
    scratch.write("config_sentence_transformers.json", r#"{"prompts": {"query": "ask: ", "document": "doc: "}}"#);
    let declared = scratch.settings().unwrap();
    assert_eq!((format!("{:?}", declared.pooling), declared.max_tokens), ("Cls".into(), 128));
    assert_eq!(text(&declared), ("ask: ".into(), "doc: ".into()));
    assert_ne!(declared.id, found.id, "settings change vectors");
    scratch.write(
        "hob.json",
        r#"{"file": "onnx/model_quantized.onnx", "pooling": "max", "queryPrefix": "", "maxTokens": 9000}"#,
    );
    let given = scratch.settings().unwrap();
    assert!(given.onnx.ends_with("model_quantized.onnx"));
    assert_eq!(
        (format!("{:?}", given.pooling), given.max_tokens, given.query_prefix.as_str()),
        ("Max".into(), 512, "")
    );

    for (file, contents, why) in [
        ("hob.json", r#"{"pool": "mean"}"#, "unknown field"),
        ("hob.json", r#"{"file": "../model.onnx"}"#, "which is not in"),
        ("hob.json", r#"{"dimensions": 9999}"#, "vectors of 9999 numbers"),
        ("1_Pooling/config.json", r#"{"pooling_mode_weightedmean_tokens": true}"#, "a pooling that Hob does not have"),
        ("modules.json", r#"[{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]"#, "a layer \"Dense\""),
        ("config.json", "not JSON", "is not usable"),
    ] {
        scratch.write("hob.json", "{}");
        scratch.write(file, contents);
        let why_not = scratch.settings().unwrap_err();
        assert!(why_not.contains(why), "{file} {contents}: {why_not}");
    }
}

#[test]
fn a_household_chooses_by_a_folder_or_by_name() {
    let models = Scratch::new("choice");
    let id = |name: &str| find(&models.0, name).map(|found| found.map(|settings| settings.name));
    assert_eq!(find(&models.0.join("nothing"), "").map(|found| found.is_none()), Ok(true));
    assert_eq!(id(""), Ok(None), "an empty folder");
    tiny::write_folder(&models.0.join("one"), &TOPICS, "a");
    assert_eq!(id(""), Ok(Some("one".into())));
    tiny::write_folder(&models.0.join("two"), &TOPICS, "b");
    assert!(id("").unwrap_err().contains("one, two"), "{:?}", id(""));
    assert_eq!(id("two"), Ok(Some("two".into())));
    assert_eq!(id(models.0.join("one").to_str().unwrap()), Ok(Some("one".into())));
    assert_eq!(id(crate::BUILT_IN), Ok(None));
    assert!(id("three").unwrap_err().contains("there is no folder"));
    assert!(id("../one").unwrap_err().contains("no name of a folder"));
    let of = |name: &str| find(&models.0, name).unwrap().unwrap().id;
    assert_ne!(of("one").split_once('#').unwrap().1, of("two").split_once('#').unwrap().1, "another training");
}

#[tokio::test]
async fn an_unusable_choice_is_a_problem_and_no_built_in_model() {
    let models = Scratch::new("unusable");
    let embedder = Embedder::chosen(LONG, &models.0, "missing");
    assert_eq!(embedder.model(), "");
    assert!(embedder.problem().unwrap().contains("there is no folder"));
    assert!(matches!(embedder.embed("the cat").await, Err(Error::Unavailable(_))));
    assert!(Embedder::chosen(LONG, &models.0, "").is_built_in());
}

#[tokio::test]
async fn a_unigram_tokenizer_is_read() {
    // As XLM-R has it: pieces with scores, spaces as a sign of their own, no tokens of words.
    let models = with_tiny("unigram");
    let pieces: Vec<Value> = [
        ("<s>", 0.0),
        ("<pad>", 0.0),
        ("</s>", 0.0),
        ("<unk>", 0.0),
        ("\u{2581}the", -2.0),
        ("\u{2581}cat", -3.0),
        ("\u{2581}", -4.0),
        ("s", -4.0),
    ]
    .iter()
    .map(|(piece, score)| json!([piece, score]))
    .collect();
    let special = |id: u32, token: &str| {
        json!({"id": id, "content": token, "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true})
    };
    let tokenizer = json!({
        "version": "1.0", "truncation": {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 32}, "direction": "Right", "pad_to_multiple_of": null, "pad_id": 1, "pad_type_id": 0,
                    "pad_token": "<pad>"},
        "added_tokens": [special(0, "<s>"), special(1, "<pad>"), special(2, "</s>"), special(3, "<unk>")],
        "normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"},
            {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]},
        "pre_tokenizer": {"type": "Metaspace", "replacement": "\u{2581}", "prepend_scheme": "always", "split": true},
        "post_processor": {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
                       {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [0], "tokens": ["<s>"]},
                               "</s>": {"id": "</s>", "ids": [2], "tokens": ["</s>"]}}},
        "decoder": null,
        "model": {"type": "Unigram", "unk_id": 3, "byte_fallback": false, "vocab": pieces},
    });
    models.write("tiny/tokenizer.json", tokenizer.to_string());
    // The numbers of a token's vector are its id, so that a mean shows which tokens were read; one is the same for all.
    let rows: Vec<(String, Vec<f32>)> = (0..8)
        .map(|id| (String::new(), (0..tiny::WIDTH).map(|place| if place == id { 1.0 } else { 0.0 }).collect()))
        .collect();
    models.write("tiny/model.onnx", tiny::onnx(&rows));
    models.write("tiny/hob.json", json!({"pooling": "max"}).to_string());
    let embedder = Embedder::chosen(LONG, &models.0, "");
    let (_, tokens) = embedder.embed_whole("the  cats").await.unwrap();
    assert_eq!(tokens, 5, "<s> ▁the ▁cat s </s>: neither padded nor cut by the settings in the file");
}

#[tokio::test]
async fn vectors_of_two_models_are_not_compared() {
    let models = with_tiny("two");
    let (tiny, built_in) = (Embedder::chosen(LONG, &models.0, ""), Embedder::new(LONG));
    let row = |vector: Vec<f32>| Quantized::quantize(&vector).unwrap();
    let (a, b) = (row(tiny.embed("the cat").await.unwrap()), row(built_in.embed("the cat").await.unwrap()));
    assert_eq!(a.dot(&b), 0.0);
    assert!(a.dot(&a) > 0.98 && a.to_bytes().len() == Quantized::bytes(tiny::WIDTH));
}
