//! Sentences of the tools; their behaviour is tested in `vectors` and from outside.

use super::*;
use embed::Embedder;
use std::time::Duration;
use store::Store;
use tool::{Channel, Ports, Principal, SystemClock, Via};

fn cx() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
}

async fn said(vectors: &Vectors, name: &str, args: Value) -> String {
    let tool = family(vectors).into_parts().tools.into_iter().find(|tool| &*tool.name == name).unwrap();
    match (tool.run)(cx(), args).await {
        Ok(output) => output.say.unwrap(),
        Err(error) => error.said().unwrap_or(error.message()).to_owned(),
    }
}

#[tokio::test]
async fn results_are_sentences() {
    let store = Store::in_memory().unwrap();
    let vectors = Vectors::new(&store, Embedder::new(Duration::from_secs(60)));
    for (tool, args, sentence) in [
        ("list_vector_collections", json!({}), "There are no vector collections yet."),
        (
            "create_vector_collection",
            json!({"name": "points", "dimensions": 2}),
            "I created the vector collection points.",
        ),
        (
            "upsert_vectors",
            json!({"collection": "points", "vectors": [{"id": "a", "vector": [1, 0]}, {"id": "b", "vector": [0, 1]}]}),
            "I stored 2 vectors in points, which has 2 now.",
        ),
        (
            "semantic_search",
            json!({"collection": "points", "query": "", "vector": [1, 0], "topK": 1}),
            "In points I found: a.",
        ),
        (
            "semantic_search",
            json!({"collection": "points", "query": "", "vector": [1, 0], "threshold": 1.5}),
            "Nothing in points fits.",
        ),
        ("list_vector_collections", json!({}), "There is one vector collection: points (2 vectors)."),
        ("delete_vectors", json!({"collection": "points", "ids": ["a"]}), "I deleted 1 vector from points."),
        ("delete_vectors", json!({"collection": "points", "ids": ["a"]}), "None of these is in points."),
        (
            "semantic_search",
            json!({"collection": "lines", "query": "x"}),
            "There is no vector collection called “lines”.",
        ),
        (
            "delete_vector_collection",
            json!({"collection": "points"}),
            "Shall I really delete the vector collection points with 1 vector?",
        ),
        (
            "delete_vector_collection",
            json!({"collection": "points", "confirm": true}),
            "I deleted the vector collection points with 1 vector.",
        ),
        ("create_embedding", json!({"text": "hello"}), "I turned the text into 384 numbers."),
        (
            "similarity_score",
            json!({"text1": "a cat", "text2": "a cat"}),
            "The two texts say nearly the same: 100 of 100.",
        ),
    ] {
        assert_eq!(said(&vectors, tool, args.clone()).await, sentence, "{tool} {args}");
    }
}
