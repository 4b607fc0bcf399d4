//! Tools for long-term memory: facts, preferences, events and skills of a person.

mod answer;
mod everything;
mod sources;

use answer::answer_question;
use everything::search_everything;
use memory::{Change, Filter, Hit, Kind, Learned, Memories, New, Outcome, masked};
use records::{contains_all_words, quote, untainted};
use text_kit::{capitalized, counted_one, end_sentence, listing, truncate, which_one};
use tool::{Label, prelude::*};

/// The largest limit, and the default limits.
const MOST: u32 = 50;
const RECALLED: u32 = 10;
const LISTED: u32 = 20;
/// How many memories a question names.
const NAMED: usize = 3;
/// The most characters of a memory in a list.
const LINE: usize = 200;
/// The most words of a query that names whom or what it is about.
const SUBJECT: usize = 2;
/// How many memories one call may store.
const BATCH: usize = 50;

/// Long-term memory.
pub fn family(memories: Memories) -> Family<Memories> {
    Family::new("memory", "What Hob remembers across conversations.", memories)
        .with(&["memoryDocs"])
        .phrases(include_str!("memory.en"))
        .area(Area::Memory)
        .tool("remember", Risk::Write, remember)
        .everyday()
        .shows(&["type", "shared"])
        .additive()
        .alias("memory_store")
        .tags("save store memorize note record keep")
        .tool("batch_remember", Risk::Write, batch)
        .additive()
        .tags("save store memorize several")
        .tool("recall", Risk::Observe, recall)
        .everyday()
        .shows(&["query"])
        .page((RECALLED, MOST))
        .alias("memory_recall")
        .tags("search find memory know remember what when who where")
        .tool("answer_question", Risk::Observe, answer_question)
        .tags("question ask fact who when where what password")
        .tool("search_everything", Risk::Observe, search_everything)
        .page(everything::PAGE)
        .tags("find search all memories notes tasks calendar contacts bookmarks expenses tables")
        .tool("update_memory", Risk::Write, update)
        .tags("edit change correct rewrite memory")
        .persists_instructions()
        .tool("forget", Risk::Destroy, forget)
        .tags("delete remove erase memory")
        .tool("list_memories", Risk::Observe, list)
        .page((LISTED, MOST))
        .tags("show recent memories")
        .tool("boost_memory", Risk::Write, boost)
        .tags("important importance raise")
        .tool("memory_stats", Risk::Observe, stats)
        .tags("count statistics memories")
}

/// Store information in persistent memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Remember {
    /// The memory, concise but complete.
    content: String,
    /// The type of memory.
    #[serde(default, rename = "type")]
    kind: Kind,
    /// 0 to 1, higher = more important.
    #[serde(default = "half")]
    #[schemars(range(min = 0, max = 1))]
    importance: f32,
    /// Tags for categorization, such as ["work", "project-x"].
    #[serde(default)]
    tags: Vec<String>,
    /// Whether the household may recall it.
    #[serde(default)]
    shared: bool,
    /// Words of the one older memory that this one replaces, such as "bin day"; without such a memory it is added.
    replaces: Option<String>,
}

fn half() -> f32 {
    0.5
}

impl From<Remember> for New {
    fn from(r: Remember) -> New {
        New { content: r.content, kind: r.kind, importance: r.importance, tags: r.tags, shared: r.shared }
    }
}

async fn remember(memories: Memories, cx: Cx, args: Remember) -> Result<Output> {
    // A run that read from outside only adds (invariant 3).
    if let Some(words) = args.replaces.as_deref().filter(|_| cx.label() == Label::Own)
        && let Ok(id) = meant(&memories, &cx, words).await
    {
        let change = Change { content: Some(args.content.clone()), ..Change::default() };
        if let Some(memory) = memories.update(&cx, id, change).await? {
            let sentence = format!("I have changed what I remember: {}", end_sentence(&memory.content));
            return Ok(Output::json(memory)?.say(sentence));
        }
    }
    let learned = memories.learn(&cx, vec![args.into()]).await?.pop();
    let learned = learned.ok_or_else(|| Error::failed("nothing was remembered"))?;
    let sentence = learned_sentence(&learned);
    Ok(Output::json(learned)?.say(sentence))
}

fn learned_sentence(learned: &Learned) -> String {
    let content = end_sentence(&learned.memory.content);
    match (learned.outcome, &learned.before) {
        (Outcome::Added, _) => format!("I will remember: {content}"),
        (Outcome::Known, _) => format!("I know that already: {content}"),
        (Outcome::Replaced, None) => format!("I have changed what I remember: {content}"),
        (Outcome::Replaced, Some(before)) => {
            let before = end_sentence(&truncate(&masked(before, ""), LINE));
            format!("I have changed what I remember: {content} Before, it was: {before}")
        }
    }
}

/// Store multiple memories at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Batch {
    /// The memories, 50 at most.
    #[schemars(length(min = 1, max = 50))]
    memories: Vec<Remember>,
}

async fn batch(memories: Memories, cx: Cx, args: Batch) -> Result<Output> {
    if args.memories.is_empty() || args.memories.len() > BATCH {
        return Err(Error::bad_args(format!("give 1 to {BATCH} memories at a time")));
    }
    if args.memories.iter().any(|m| m.replaces.is_some()) {
        return Err(Error::bad_args("replaces is for `remember`, one memory at a time: nothing was stored"));
    }
    // Checked before the first is stored, so that a mistake stores none.
    if let Some(at) = args.memories.iter().position(|m| m.content.trim().is_empty()) {
        return Err(Error::bad_args(format!("memory {} of the batch is empty: nothing was stored", at + 1)));
    }
    let stored = memories.learn(&cx, args.memories.into_iter().map(Into::into).collect()).await?;
    let known = stored.iter().filter(|learned| learned.outcome == Outcome::Known).count();
    let new = counted_one(stored.len() - known, "thing");
    let sentence = match known {
        0 => format!("I will remember {new}."),
        all if all == stored.len() => "I know all of that already.".to_owned(),
        some => format!("I will remember {new}. I knew {some} already."),
    };
    Ok(Output::json(json!({"count": stored.len(), "memories": stored}))?.say(sentence))
}

/// Search memory by words and by meaning.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Recall {
    /// Natural language search query.
    query: String,
    /// Filter by memory type.
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// Filter by tags: only memories that have all of them.
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<u32>,
}

async fn recall(memories: Memories, cx: Cx, args: Recall) -> Result<Output> {
    let limit = limited(args.limit, RECALLED);
    let filter = Filter { kind: args.kind, tags: args.tags, limit, ..Filter::default() };
    let found = memories.recall(&cx, &args.query, filter).await?;
    let sentence = best_answer(&found.hits, &args.query);
    let content = json!({"count": found.hits.len(), "memories": found.hits, "byMeaning": found.by_meaning});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

/// Change a specific memory in place; what is not given stays as it is.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Update {
    /// The id of the memory, as `recall` and `list_memories` show it.
    memory_id: String,
    /// The new text, in place of the old one.
    content: Option<String>,
    /// The type of memory.
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// 0 to 1, higher = more important.
    #[schemars(range(min = 0, max = 1))]
    importance: Option<f32>,
    /// All of its tags from now on.
    tags: Option<Vec<String>>,
    /// Whether everybody in the household may recall it.
    shared: Option<bool>,
    /// True when a person vouches for content from outside; a model cannot.
    #[serde(default)]
    vouched: bool,
    /// True to drop the texts that it had before.
    #[serde(default)]
    forget_earlier: bool,
}

async fn update(memories: Memories, cx: Cx, args: Update) -> Result<Output> {
    let id: Id = args.memory_id.trim().parse()?;
    if args.vouched && !cx.is_in_person() {
        return Err(Error::denied(
            "only a person can vouch for what came from outside: they do it at the page, under Memory",
        ));
    }
    let change = Change {
        content: args.content,
        kind: args.kind,
        importance: args.importance,
        tags: args.tags,
        shared: args.shared,
        vouched: args.vouched,
        drop_earlier: args.forget_earlier,
    };
    let memory = memories.update(&cx, id, change).await?.ok_or_else(|| unknown(id))?;
    let sentence = format!("I have changed it: {}", end_sentence(&memory.content));
    Ok(Output::json(memory)?.say(sentence))
}

/// Forget one memory: erase what was remembered. It can be brought back for 30 days, unless it is forgotten permanently.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Forget {
    /// The id of the memory, as `recall` and `list_memories` show it.
    memory_id: String,
    /// Whether to leave no copy to bring back: only where the person asks for that.
    #[serde(default)]
    permanently: bool,
}

async fn forget(memories: Memories, cx: Cx, args: Forget) -> Result<Output> {
    let id = meant(&memories, &cx, &args.memory_id).await?;
    if !memories.forget(&cx, id, args.permanently).await? {
        return Err(unknown(id));
    }
    let content = json!({"memoryId": id, "forgotten": true, "permanently": args.permanently});
    let sentence = match args.permanently {
        true => "I have forgotten it for good.",
        false => "I have forgotten it. You can bring it back for 30 days.",
    };
    Ok(Output::json(content)?.say(sentence))
}

/// List recent memories, newest first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Filter by memory type.
    #[serde(rename = "type")]
    kind: Option<Kind>,
    /// Filter by tags: only memories that have all of them.
    #[serde(default)]
    tags: Vec<String>,
    limit: Option<u32>,
}

async fn list(memories: Memories, cx: Cx, args: List) -> Result<Output> {
    let limit = limited(args.limit, LISTED);
    let filter = Filter { kind: args.kind, tags: args.tags, limit, ..Filter::default() };
    let all = memories.list(&cx, &filter)?;
    // A memory that is not shown taints nobody.
    let one_more = Filter { limit: limit + 1, ..filter };
    let more = all.len() == limit && memories.list(&untainted(&cx), &one_more)?.len() > limit;
    let sentence = match all.as_slice() {
        [] => "I remember nothing yet.".to_owned(),
        [one] => format!("I remember one thing: {}", end_sentence(&one.content)),
        several => {
            let contents: Vec<String> = several.iter().map(|memory| truncate(&memory.content, LINE)).collect();
            let over = if more { "more than " } else { "" };
            listing(&format!("I remember {over}{} things. The latest first", several.len()), &contents, more)
        }
    };
    let content = json!({"count": all.len(), "hasMore": more, "memories": all});
    Ok(Output { content, ..Output::default() }.say(sentence))
}

/// Increase a memory's importance.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Boost {
    /// The id of the memory, as `recall` and `list_memories` show it.
    memory_id: String,
    /// By how much, 0 to 1.
    #[serde(default = "tenth")]
    #[schemars(range(min = 0, max = 1))]
    amount: f64,
}

fn tenth() -> f64 {
    0.1
}

async fn boost(memories: Memories, cx: Cx, args: Boost) -> Result<Output> {
    let memory = memories.boost(&cx, args.memory_id.trim().parse()?, args.amount.clamp(0.0, 1.0) as f32).await?;
    let sentence = format!("That matters more now: {}", end_sentence(&memory.content));
    Ok(Output::json(memory)?.say(sentence))
}

/// Get memory system statistics.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Stats {}

async fn stats(memories: Memories, cx: Cx, Stats {}: Stats) -> Result<Output> {
    let stats = memories.stats(&cx).await?;
    let sentence = match stats.total {
        0 => "I remember nothing yet.".to_owned(),
        n => format!("I remember {}.", counted_one(n, "thing")),
    };
    Ok(Output::json(stats)?.say(sentence))
}

/// The limit; dispatch has already cut a larger one and reported it.
fn limited(asked: Option<u32>, default: u32) -> usize {
    asked.unwrap_or(default).clamp(1, MOST) as usize
}

/// The best memory in its own words, without secrets that the query does not name.
fn best_answer(hits: &[Hit], query: &str) -> String {
    let Some(best) = hits.first() else { return "I remember nothing about that.".into() };
    // "what do you know about Edie" asks for everything with her name in it.
    let about = query.split_whitespace().count() <= SUBJECT;
    let all: Vec<String> = hits
        .iter()
        .filter(|hit| about && contains_all_words(query, &[&hit.memory.content]))
        .map(|hit| truncate(&masked(&hit.memory.content, query), LINE))
        .collect();
    if all.len() > 1 {
        return listing(&format!("I remember {} things about that", all.len()), &all, false);
    }
    sentence_of(&masked(&best.memory.content, query))
}

/// A memory as a sentence.
fn sentence_of(content: &str) -> String {
    capitalized(&end_sentence(content))
}

/// The one memory with this id, or with all of these words.
async fn meant(memories: &Memories, cx: &Cx, which: &str) -> Result<Id> {
    const SMALL: [&str; 9] = ["the", "a", "an", "my", "our", "that", "this", "about", "is"];
    let which = which.trim();
    if let Ok(id) = which.parse() {
        return Ok(id);
    }
    let words: Vec<&str> = which.split_whitespace().filter(|word| !SMALL.contains(&&*word.to_lowercase())).collect();
    if words.is_empty() {
        return Err(Error::bad_args("pass the id of the memory").say("What shall I forget?"));
    }
    let found = memories.recall(cx, which, Filter { limit: MOST as usize, ..Filter::default() }).await?;
    let fits: Vec<_> =
        found.hits.iter().filter(|hit| contains_all_words(&words.join(" "), &[&hit.memory.content])).collect();
    match fits.as_slice() {
        [one] => Ok(one.memory.id),
        [] => Err(Error::not_found(format!(
            "no memory contains `{}`: `recall` shows memories with their ids",
            truncate(which, 80)
        ))
        .say(format!("I remember nothing about {}.", quote(which)))),
        several => {
            let some: Vec<String> = several.iter().take(NAMED).map(|hit| quote(&hit.memory.content)).collect();
            let text = format!("{} memories fit: name one by its id, which `recall` shows", several.len());
            Err(Error::bad_args(text).say(which_one("one", &some)))
        }
    }
}

fn unknown(id: Id) -> Error {
    Error::not_found(format!("there is no memory with the id {id}: `list_memories` and `recall` show ids"))
        .say("I do not remember that any more.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};
    use embed::Embedder;
    use std::time::Duration;
    use store::Store;

    fn memories() -> Memories {
        Memories::new(&Store::in_memory().unwrap(), Embedder::new(Duration::from_secs(600)))
    }

    async fn ask(memories: &Memories, tool: &str, args: Value) -> Result<Output> {
        call(family(memories.clone()), &cx(), tool, args).await
    }

    async fn said(memories: &Memories, tool: &str, args: Value) -> String {
        ask(memories, tool, args).await.map_or_else(|e| e.to_string(), |o| o.say.unwrap())
    }

    #[tokio::test]
    async fn a_memory_is_told_in_its_own_words() {
        let m = memories();
        let boiler = "Marta serviced the boiler on 3 October";
        let nothing = "I remember nothing about that.";
        assert_eq!(said(&m, "recall", json!({"query": "boiler"})).await, nothing);
        assert_eq!(said(&m, "list_memories", json!({})).await, "I remember nothing yet.");
        let stored = ask(&m, "memory_store", json!({"content": boiler})).await.unwrap();
        assert_eq!(stored.say.unwrap(), "I will remember: Marta serviced the boiler on 3 October.");
        assert_eq!((&stored.content["type"], &stored.content["importance"]), (&json!("fact"), &json!(0.5)));
        assert_eq!(said(&m, "memory_recall", json!({"query": "who serviced the boiler?"})).await, format!("{boiler}."));
        assert_eq!(said(&m, "memory_stats", json!({})).await, "I remember one thing.");
        let listed = said(&m, "list_memories", json!({"type": "fact"})).await;
        assert_eq!(listed, format!("I remember one thing: {boiler}."));

        let id = stored.content["id"].clone();
        let boosted = ask(&m, "boost_memory", json!({"memoryId": id, "amount": 0.25})).await.unwrap();
        assert_eq!(boosted.content["importance"], 0.75);
        assert_eq!(
            said(&m, "forget", json!({"memoryId": id})).await,
            "I have forgotten it. You can bring it back for 30 days."
        );
        assert_eq!(said(&m, "recall", json!({"query": "boiler"})).await, nothing);
        for tool in ["forget", "boost_memory"] {
            assert!(matches!(ask(&m, tool, json!({"memoryId": id})).await, Err(Error::NotFound(_))), "{tool}");
        }
        assert!(matches!(ask(&m, "boost_memory", json!({"memoryId": "7"})).await, Err(Error::BadArgs(_))));
    }

    #[tokio::test]
    async fn a_memory_is_forgotten_by_words_that_only_it_contains() {
        let m = memories();
        for content in ["the spare key is at Ana's", "the shed key is in the drawer"] {
            ask(&m, "remember", json!({"content": content})).await.unwrap();
        }
        for (which, code, said) in [
            ("the boiler", "not_found", "I remember nothing about “the boiler”."),
            ("the", "bad_args", "What shall I forget?"),
        ] {
            let error = ask(&m, "forget", json!({"memoryId": which})).await.unwrap_err();
            assert_eq!((error.code(), error.said()), (code, Some(said)), "{which}");
        }
        let which = ask(&m, "forget", json!({"memoryId": "the key"})).await.unwrap_err();
        let question = which.said().unwrap_or_default();
        assert!(question.starts_with("Which one: “") && question.contains(" or “"), "{question}");
        assert_eq!(
            said(&m, "forget", json!({"memoryId": "my spare key"})).await,
            "I have forgotten it. You can bring it back for 30 days."
        );
        let left = said(&m, "list_memories", json!({})).await;
        assert_eq!(left, "I remember one thing: the shed key is in the drawer.");
    }

    #[tokio::test]
    async fn a_batch_with_an_empty_item_is_refused_before_anything_is_stored() {
        let m = memories();
        let bad = json!({"memories": [{"content": "a"}, {"content": " "}]});
        assert!(said(&m, "batch_remember", bad).await.contains("memory 2 of the batch is empty"));
        let many: Vec<Value> = (0..51).map(|n| json!({"content": format!("n {n}")})).collect();
        assert!(said(&m, "batch_remember", json!({"memories": many})).await.contains("1 to 50"));
        assert_eq!(said(&m, "memory_stats", json!({})).await, "I remember nothing yet.");
        let good = json!({"memories": [
            {"content": "Anna likes tea", "type": "preference", "tags": ["drinks"]},
            {"content": "Ben likes coffee", "type": "preference", "importance": 1, "shared": true},
        ]});
        assert_eq!(said(&m, "batch_remember", good).await, "I will remember 2 things.");
        let all = ask(&m, "list_memories", json!({})).await.unwrap().content;
        let count = all["count"].as_u64().unwrap();
        for (limit, more) in [(count, false), (count - 1, true)] {
            let page = ask(&m, "list_memories", json!({"limit": limit})).await.unwrap().content;
            assert_eq!((&page["count"], &page["hasMore"]), (&json!(limit), &json!(more)));
        }
        let tagged = ask(&m, "list_memories", json!({"tags": ["drinks"]})).await.unwrap();
        assert_eq!(tagged.content["memories"][0]["content"], "Anna likes tea");
    }

    #[tokio::test]
    async fn a_memory_is_changed_in_place() {
        let m = memories();
        let stored =
            ask(&m, "remember", json!({"content": "The bins go out on Monday", "tags": ["bins"]})).await.unwrap();
        let id = stored.content["id"].clone();
        let tuesday = json!({"memoryId": id, "content": "The bins go out on Tuesday", "type": "event"});
        assert_eq!(said(&m, "update_memory", tuesday).await, "I have changed it: The bins go out on Tuesday.");
        let found = ask(&m, "recall", json!({"query": "tuesday"})).await.unwrap().content["memories"][0].clone();
        assert_eq!((&found["id"], &found["type"], &found["tags"]), (&id, &json!("event"), &json!(["bins"])));
        assert!(said(&m, "update_memory", json!({"memoryId": id})).await.contains("nothing to change"));
        let elsewhere = ask(&m, "update_memory", json!({"memoryId": Id::new(), "shared": true})).await;
        assert!(matches!(&elsewhere, Err(Error::NotFound(text)) if text.contains("`recall`")), "{elsewhere:?}");
        // A changed fact replaces the one memory about it, or is added.
        let friday = json!({"content": "the bins go out on Friday", "replaces": "the bins"});
        assert_eq!(said(&m, "remember", friday).await, "I have changed what I remember: the bins go out on Friday.");
        let door = json!({"content": "the door code is 4471", "replaces": "door code"});
        assert_eq!(said(&m, "remember", door).await, "I will remember: the door code is 4471.");
        assert_eq!(said(&m, "memory_stats", json!({})).await, "I remember 2 things.");
        // A person vouches for content from outside; a model cannot.
        let vouched = || json!({"memoryId": id, "vouched": true});
        let model = cx().in_run(Id::new(), None, Default::default());
        let refused = call(family(m.clone()), &model, "update_memory", vouched()).await;
        assert!(matches!(refused, Err(Error::Denied(_))), "{refused:?}");
        assert!(ask(&m, "update_memory", vouched()).await.is_ok());
    }
}
