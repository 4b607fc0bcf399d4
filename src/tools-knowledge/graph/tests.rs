//! Sentences of the tools; their behaviour is tested in `graph` and from outside.

use super::*;
use embed::Embedder;
use std::{sync::Arc, time::Duration};
use store::Store;
use tool::{Channel, Ports, Principal, SystemClock, Via};

fn cx() -> Cx {
    let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Api))
}

async fn said(graph: &Graph, name: &str, args: Value) -> String {
    let tool = family(graph).into_parts().tools.into_iter().find(|tool| &*tool.name == name).unwrap();
    match (tool.run)(cx(), args).await {
        Ok(output) => output.say.unwrap(),
        Err(error) => error.said().unwrap_or(error.message()).to_owned(),
    }
}

#[tokio::test]
async fn results_are_sentences() {
    let store = Store::in_memory().unwrap();
    let graph = Graph::new(&store, Embedder::new(Duration::from_secs(60)));
    for (tool, args, sentence) in [
        ("knowledge_graph_search", json!({"query": "Anna"}), "I know nothing about that."),
        (
            "add_knowledge_fact",
            json!({"subject": "Anna", "predicate": "sister of", "object": "me"}),
            "Noted: Anna is your sister.",
        ),
        (
            "add_knowledge_fact",
            json!({"subject": "Anna", "predicate": "works at", "object": "Siemens", "objectType": "organisation"}),
            "Noted: Anna works at Siemens.",
        ),
        (
            "knowledge_graph_search",
            json!({"query": "*", "entityType": "organisation"}),
            "I know: Anna works at Siemens.",
        ),
        (
            "knowledge_graph_search",
            json!({"query": "", "entityId": "me", "to": "Siemens"}),
            "They are connected:\n- Anna is your sister\n- Anna works at Siemens",
        ),
        ("update_knowledge_entity", json!({"entity": "anna", "type": "person"}), "I changed Anna."),
        ("knowledge_graph_search", json!({"query": "x", "entityId": "Bob"}), "I know nothing about “Bob”."),
        ("delete_knowledge", json!({"entity": "Anna"}), "I deleted Anna with 2 facts."),
        ("delete_knowledge", json!({}), "pass factId to delete a fact, or entity to delete an entity with its facts"),
    ] {
        assert_eq!(said(&graph, tool, args.clone()).await, sentence, "{tool} {args}");
    }
}
