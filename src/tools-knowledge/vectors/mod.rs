//! Vector collections as tools: create, fill, search and delete them; embed and compare texts.

#[cfg(test)]
mod tests;

use records::{Undoer, truncate};
use std::sync::Arc;
use store::{Part, Tx};
use text_kit::{counted, listing};
use tool::prelude::*;
use vectors::{BATCH, CollectionInfo, Item, Metric, NewCollection, Search, Vectors};

/// The default and the largest number of hits.
const TOP: (u32, u32) = (10, 50);
// The schemas say so.
const _: () = assert!(BATCH == 100);

/// Vector collections.
pub fn family(vectors: &Vectors) -> Family<Vectors> {
    Family::new("vectorSearch", "Compare and find texts by meaning.", vectors.clone())
        .title("Meaning")
        .category("Vector Search")
        .area(Area::Memory)
        .phrases(include_str!("../vectors.en"))
        .tool("create_embedding", Risk::Observe, embed)
        .tags("vector embed text numbers")
        .tool("semantic_search", Risk::Observe, search)
        .page_by("topK", TOP)
        .tags("vector similar nearest find meaning rag collection")
        .example(json!({"query": "heating repairs", "collection": "manuals", "filter": {"year": {"gte": 2024}}}))
        .tool("upsert_vectors", Risk::Write, upsert)
        .tags("vector insert update add embed texts collection index")
        .persists_instructions()
        .example(json!({"collection": "manuals", "vectors": [
            {"id": "boiler-1", "text": "Press the reset button for five seconds.", "metadata": {"device": "boiler", "year": 2024}}]}))
        .tool("delete_vectors", Risk::Destroy, delete)
        .tags("vector remove erase collection")
        .tool("list_vector_collections", Risk::Observe, list)
        .tags("vector collections indexes show")
        .tool("create_vector_collection", Risk::Write, create)
        .additive()
        .tags("vector collection index new")
        .example(json!({"name": "manuals", "description": "Parts of the manuals of our devices"}))
        .tool("delete_vector_collection", Risk::Destroy, delete_collection)
        .tags("vector collection index remove drop")
        .confirm()
        .tool("similarity_score", Risk::Observe, similarity)
        .tags("compare texts meaning alike cosine")
}

/// The collection of records, and what undoes the deletion of vectors.
pub fn undoer(vectors: &Vectors) -> (&'static str, Arc<dyn Undoer>) {
    (vectors::TABLE, Arc::new(UndoesVectors(vectors.clone())))
}

struct UndoesVectors(Vectors);

impl Undoer for UndoesVectors {
    fn belongs_to(&self, tx: &Tx, part: &Part) -> store::Result<Option<Id>> {
        self.0.collection_of(tx, part)
    }
    fn within(&self, tx: &Tx, part: &Part, of: Option<Id>) -> store::Result<()> {
        let of = self.0.collection_of(tx, part)?.or(of);
        self.0.put_back_in(tx, part, of)
    }
    fn after<'a>(&'a self, _: &'a Cx, part: &'a Part) -> futures::future::BoxFuture<'a, ()> {
        Box::pin(self.0.was_put_back(part))
    }
}

/// Create a vector embedding from text with Hob's local model. Vectors of this model can be searched for, and compared by
/// their dot product.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Embed {
    /// The text to embed.
    text: String,
}

async fn embed(vectors: Vectors, _: Cx, args: Embed) -> Result<Output> {
    let (vector, tokens) = vectors.embed(&args.text).await?;
    let (model, dimensions) = vectors.model();
    // Six digits are more than the model's own accuracy.
    let embedding: Vec<f64> = vector.iter().map(|x| (f64::from(*x) * 1e6).round() / 1e6).collect();
    let sentence = format!("I turned the text into {dimensions} numbers.");
    let content = json!({"embedding": embedding, "dimensions": dimensions, "model": model, "tokens": tokens});
    Ok(Output::json(content)?.say(sentence))
}

/// Search a vector collection by semantic similarity, best first. A cosine or dot product is higher for nearer vectors, an
/// l2 distance lower.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SearchArgs {
    /// What to search for; embedded by Hob.
    query: String,
    /// The name of the collection.
    collection: String,
    /// How many of the best, 50 at most.
    #[serde(default = "top")]
    top_k: u32,
    /// Condition on the metadata: {"room": "hall", "year": {"gte": 2020, "lt": 2025}, "tag": {"in": ["a", "b"]}}; also ne, nin,
    /// gt, lte, exists, and combined by {"or": [...]}, {"and": [...]}, {"not": {...}}.
    filter: Option<serde_json::Map<String, Value>>,
    /// Only hits with at least this score; for an l2 collection at most this distance.
    #[serde(alias = "minScore", alias = "minSimilarity")]
    threshold: Option<f32>,
    /// Search by this vector instead of the query's text.
    vector: Option<Vec<f32>>,
    /// Whether to return the vectors too.
    #[serde(default)]
    include_vectors: bool,
    /// Compare every vector, for large collections where no hit may be missed.
    #[serde(default)]
    exact: bool,
}

fn top() -> u32 {
    TOP.0
}

async fn search(vectors: Vectors, cx: Cx, args: SearchArgs) -> Result<Output> {
    if args.vector.is_none() && args.query.trim().is_empty() {
        return Err(Error::bad_args("the query is empty: pass words to search for, or `vector`"));
    }
    let search = Search {
        text: args.query,
        vector: args.vector,
        most: args.top_k.clamp(1, TOP.1) as usize,
        filter: args.filter,
        threshold: args.threshold,
        exact: args.exact,
    };
    let found = vectors.search(&cx, &args.collection, search).await?;
    let results: Vec<Value> = found
        .hits
        .iter()
        .map(|hit| {
            let mut result = json!({"id": hit.id, "score": tool::shortest(hit.score), "metadata": hit.metadata});
            if !hit.text.is_empty() {
                result["text"] = hit.text.clone().into();
            }
            if args.include_vectors {
                result["vector"] = hit.vector.iter().map(|x| tool::shortest(*x)).collect();
            }
            result
        })
        .collect();
    let names: Vec<String> = found.hits.iter().map(|hit| named(&hit.id, &hit.text)).collect();
    let sentence = match names.as_slice() {
        [] => format!("Nothing in {} fits.", found.collection),
        names => listing(&format!("In {} I found", found.collection), names, false),
    };
    let content = json!({
        "collection": found.collection, "metric": found.metric, "searched": found.searched, "count": results.len(),
        "results": results,
    });
    Ok(Output::json(content)?.say(sentence))
}

/// A vector in a sentence.
fn named(id: &str, text: &str) -> String {
    if text.is_empty() { id.to_owned() } else { format!("“{}”", truncate(text, 80)) }
}

/// Insert or update vectors of a collection, 100 at most. Hob embeds `text`; pass `vector` where another model makes the
/// vectors. A vector with an id that exists replaces that one as a whole.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Upsert {
    /// The name of the collection.
    collection: String,
    /// The vectors: all of them are stored, or none when one is wrong.
    #[schemars(length(min = 1, max = 100))]
    vectors: Vec<ItemArgs>,
}

/// A vector to store.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ItemArgs {
    /// Its id, to replace or delete it later; a new one by default.
    id: Option<String>,
    /// The text to embed and to return with hits.
    #[serde(default, alias = "content")]
    text: String,
    /// Its numbers, as many as the collection has dimensions.
    #[serde(alias = "values", alias = "embedding")]
    vector: Option<Vec<f32>>,
    /// Fields to filter by: texts, numbers, true, false, null, or lists of them.
    #[serde(default)]
    metadata: serde_json::Map<String, Value>,
}

async fn upsert(vectors: Vectors, cx: Cx, args: Upsert) -> Result<Output> {
    let item = |it: ItemArgs| Item { id: it.id, text: it.text, vector: it.vector, metadata: it.metadata };
    let done = vectors.upsert(&cx, &args.collection, args.vectors.into_iter().map(item).collect()).await?;
    let name = &done.collection.name;
    let (all, count) = (counted(done.ids.len(), "vector"), done.collection.count);
    let sentence = format!("I stored {all} in {name}, which has {count} now.");
    let content = json!({
        "collection": name, "upserted": done.ids.len(), "added": done.added, "replaced": done.replaced, "ids": done.ids,
        "total": count,
    });
    Ok(Output::json(content)?.say(sentence))
}

/// Delete vectors from a collection by their ids, 100 at most. This can be undone.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// The name of the collection.
    collection: String,
    /// The ids of the vectors.
    #[schemars(length(min = 1, max = 100))]
    ids: Vec<String>,
}

async fn delete(vectors: Vectors, cx: Cx, args: Delete) -> Result<Output> {
    let (deleted, info) = vectors.delete(&cx, &args.collection, args.ids.clone()).await?;
    let missing: Vec<&str> =
        args.ids.iter().map(|id| id.trim()).filter(|id| !deleted.iter().any(|d| d == id)).collect();
    let sentence = match deleted.len() {
        0 => format!("None of these is in {}.", info.name),
        n => format!("I deleted {} from {}.", counted(n, "vector"), info.name),
    };
    let content = json!({"collection": info.name, "deleted": deleted.len(), "notFound": missing, "total": info.count});
    Ok(Output::json(content)?.say(sentence))
}

/// List the vector collections, with their dimensions, metric, model and number of vectors.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {}

async fn list(vectors: Vectors, cx: Cx, List {}: List) -> Result<Output> {
    let all = vectors.list(&cx)?;
    let of = |info: &CollectionInfo| format!("{} ({})", info.name, counted(info.count as usize, "vector"));
    let names: Vec<String> = all.iter().map(of).collect();
    let sentence = match names.len() {
        0 => "There are no vector collections yet.".to_owned(),
        1 => listing("There is one vector collection", &names, false),
        n => listing(&format!("There are {}", counted(n, "vector collection")), &names, false),
    };
    Ok(Output::json(json!({"count": all.len(), "collections": all}))?.say(sentence))
}

/// Create a vector collection. By default Hob's local model embeds the texts put into it.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Create {
    /// Its name.
    name: String,
    /// Purpose of the collection.
    #[serde(default)]
    description: String,
    /// How many numbers a vector has, 4096 at most; those of Hob's model by default.
    #[serde(alias = "dimension")]
    dimensions: Option<u32>,
    /// How vectors are compared.
    #[serde(default)]
    metric: Metric,
    /// The name of another model that makes the vectors, which are then supplied with each call.
    model: Option<String>,
    /// Whether everybody in the household may search it.
    #[serde(default)]
    shared: bool,
}

async fn create(vectors: Vectors, cx: Cx, args: Create) -> Result<Output> {
    let Create { name, description, dimensions, metric, model, shared } = args;
    let dimensions = dimensions.map(|n| n as usize);
    let info = vectors.create(&cx, NewCollection { name, description, dimensions, metric, model, shared }).await?;
    let sentence = format!("I created the vector collection {}.", info.name);
    Ok(Output::json(info)?.say(sentence))
}

/// Delete a vector collection with all of its vectors, for good; needs confirm: true.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DeleteCollection {
    /// The name of the collection.
    collection: String,
    /// Must be true.
    #[serde(default)]
    confirm: bool,
}

async fn delete_collection(vectors: Vectors, cx: Cx, args: DeleteCollection) -> Result<Output> {
    let info = vectors.info(&cx, &args.collection)?;
    let (name, all) = (truncate(&info.name, 80), counted(info.count as usize, "vector"));
    if !args.confirm {
        let note = format!("Deleting `{name}` with {all} cannot be undone: call again with confirm: true.");
        let content = json!({"deleted": false, "requiresConfirmation": true, "note": note});
        return Ok(
            Output::json(content)?.say(format!("Shall I really delete the vector collection {name} with {all}?"))
        );
    }
    let gone = vectors.delete_collection(&cx, &args.collection).await?;
    let content = json!({"deleted": true, "collection": gone.name, "vectors": gone.count});
    Ok(Output::json(content)?.say(format!("I deleted the vector collection {name} with {all}.")))
}

/// Calculate the similarity in meaning of two texts: about 0 for unrelated ones, 1 for the same.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Similarity {
    /// The first text.
    text1: String,
    /// The second text.
    text2: String,
}

async fn similarity(vectors: Vectors, _: Cx, args: Similarity) -> Result<Output> {
    let score = vectors.similarity(&args.text1, &args.text2).await?;
    let words = match score {
        score if score >= 0.8 => "say nearly the same",
        score if score >= 0.5 => "are about the same thing",
        score if score >= 0.3 => "have something in common",
        _ => "have little in common",
    };
    let percent = (f64::from(score.max(0.0)) * 100.0).round();
    let content = json!({"score": tool::shortest(score), "model": vectors.model().0});
    Ok(Output::json(content)?.say(format!("The two texts {words}: {percent} of 100.")))
}
