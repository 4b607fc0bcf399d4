//! Finds tools by meaning where words find too few, with embedding vectors of the query and of each tool's text. They are
//! computed in the background when first needed, and stored across restarts.

use crate::{Registry, catalogue::is_of, search::Query};
use embed::{Embedder, Quantized};
use serde::{Deserialize, Serialize};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use store::{Collection, Level, Listing, Record, Stamp, Store};
use tokio_util::sync::{CancellationToken, DropGuard};
use tool::{
    Id, Scope, Tool,
    prelude::{JsonSchema, schemars},
};

/// Below this number of matches by words, tools are also found by meaning.
const FEW: usize = 3;
/// The least similarity of a match, from -1 to 1, and its largest distance from the best. Measured with 52 queries over 190
/// tools without tags: 33 of the 36 that had a right tool found it at 0.23 to 0.87; gibberish and small talk stayed at 0.23
/// and less. A query for a tool that does not exist (`reboot the device`) finds its neighbours.
const NEAR: f32 = 0.23;
const BEHIND: f32 = 0.2;
/// The most matches by meaning.
const MOST: usize = 6;
/// How long a search waits for vectors. The rest is still computed, for the next search.
const PATIENCE: Duration = Duration::from_secs(2);
/// How many new vectors share a commit.
const TOGETHER: usize = 64;
/// How many vectors of removed tools are retained, in case they return.
const SPARE: usize = 200;

/// How a tool was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MatchedBy {
    /// Every word of the query is in it.
    Words,
    /// Its meaning is similar.
    Meaning,
}

/// A tool that was found.
#[derive(Clone)]
pub struct Match {
    /// The tool.
    pub tool: Arc<Tool>,
    /// How it was found.
    pub by: MatchedBy,
}

type Digest = [u8; 32];

/// The vector of one tool's text. New fields go last.
#[derive(Clone, Serialize, Deserialize)]
struct ToolVector {
    digest: Digest,
    bytes: Vec<u8>,
}

impl Record for ToolVector {
    const NAME: &'static str = "tool-vectors";
    const WORD: &'static str = "tool vector";
    const LEVEL: Level = Level::Household;
    const STAYS: bool = true;
}

/// The vectors of tools and the model that makes them.
pub(crate) struct Meaning {
    shared: Arc<Shared>,
    /// Stops the background computation, which would otherwise keep the store open.
    _end: DropGuard,
}

struct Shared {
    embedder: Embedder,
    records: Collection<ToolVector>,
    /// By the digest of the text; `None` until the stored ones are read.
    vectors: Mutex<Option<HashMap<Digest, Arc<Quantized>>>>,
    /// Held during the computation.
    computing: tokio::sync::Mutex<()>,
    closing: CancellationToken,
}

impl Meaning {
    pub fn new(embedder: Embedder, store: &Store) -> Self {
        let closing = CancellationToken::new();
        let shared = Shared {
            embedder,
            records: store.collection(),
            vectors: Mutex::default(),
            computing: Default::default(),
            closing: closing.clone(),
        };
        Self { shared: Arc::new(shared), _end: closing.drop_guard() }
    }

    /// The tools most similar to a query, best first. Empty when the model is not available in time.
    async fn nearest(&self, query: &str, tools: Vec<Arc<Tool>>) -> Vec<(f32, Arc<Tool>)> {
        let until = tokio::time::Instant::now() + PATIENCE;
        let asked = tokio::time::timeout_at(until, self.shared.embedder.embed_query(query)).await;
        let vector = match asked.map(|v| v.and_then(|v| Quantized::quantize(&v))) {
            Ok(Ok(vector)) => vector,
            Ok(Err(embed::Error::Empty)) | Err(_) => return vec![],
            Ok(Err(error)) => {
                tracing::warn!(%error, "tools are found by words only");
                return vec![];
            }
        };
        let model = self.shared.embedder.model();
        let texts: Vec<(Digest, String)> =
            tools.iter().map(|tool| text(tool)).map(|t| (digest(model, &t), t)).collect();
        let digests: Vec<Digest> = texts.iter().map(|t| t.0).collect();
        if !self.shared.has_all(&digests) {
            let (shared, closing) = (self.shared.clone(), self.shared.closing.clone());
            let job = tokio::spawn(closing.run_until_cancelled_owned(async move { shared.compute(texts).await }));
            // The job continues after the timeout.
            let _ = tokio::time::timeout_at(until, job).await;
        }
        let vectors = self.shared.vectors();
        let Some(vectors) = vectors.as_ref() else { return vec![] };
        let mut near: Vec<(f32, Arc<Tool>)> = tools
            .into_iter()
            .zip(digests)
            .filter_map(|(tool, digest)| Some((vectors.get(&digest)?.dot(&vector), tool)))
            .filter(|(nearness, _)| *nearness >= NEAR)
            .collect();
        near.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        let best = near.first().map_or(0.0, |n| n.0);
        near.retain(|(nearness, _)| *nearness >= best - BEHIND);
        near.truncate(MOST);
        near
    }
}

impl Shared {
    fn vectors(&self) -> MutexGuard<'_, Option<HashMap<Digest, Arc<Quantized>>>> {
        self.vectors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_all(&self, digests: &[Digest]) -> bool {
        self.vectors().as_ref().is_some_and(|known| digests.iter().all(|d| known.contains_key(d)))
    }

    /// Computes and stores missing vectors. A failure is logged; the next search tries again.
    async fn compute(&self, texts: Vec<(Digest, String)>) {
        let _one_at_a_time = self.computing.lock().await;
        if let Err(error) = self.compute_missing(texts).await {
            tracing::warn!(%error, "the meanings of some tools are missing and will be computed again");
        }
    }

    async fn compute_missing(&self, texts: Vec<(Digest, String)>) -> tool::Result<()> {
        if self.vectors().is_none() {
            let wanted: HashSet<Digest> = texts.iter().map(|t| t.0).collect();
            let stored = self.read_stored(&wanted).await?;
            *self.vectors() = Some(stored);
        }
        let known = |digest: &Digest| self.vectors().as_ref().is_some_and(|known| known.contains_key(digest));
        let missing: Vec<_> = texts.into_iter().filter(|(digest, _)| !known(digest)).collect();
        for some in missing.chunks(TOGETHER) {
            let mut new = vec![];
            for (digest, text) in some {
                let vector = self.embedder.embed(text).await.and_then(|v| Quantized::quantize(&v));
                let vector = vector.map_err(|e| tool::Error::unavailable(e.to_string()))?;
                new.push(ToolVector { digest: *digest, bytes: vector.to_bytes() });
                self.vectors().get_or_insert_default().insert(*digest, Arc::new(vector));
            }
            self.keep(new).await?;
        }
        Ok(())
    }

    /// Reads vectors of earlier starts, made with the same model. Retains only some of those of removed tools.
    async fn read_stored(&self, wanted: &HashSet<Digest>) -> tool::Result<HashMap<Digest, Arc<Quantized>>> {
        let (mut vectors, mut gone) = (HashMap::new(), vec![]);
        for entry in self.records.list_in(Scope::Household, &Listing::default())? {
            match Quantized::from_bytes(&entry.value.bytes) {
                Ok(vector) if wanted.contains(&entry.value.digest) => {
                    vectors.insert(entry.value.digest, Arc::new(vector));
                }
                _ => gone.push((entry.updated_ms, entry.id)),
            }
        }
        gone.sort_unstable();
        gone.truncate(gone.len().saturating_sub(SPARE));
        if !gone.is_empty() {
            let records = self.records.clone();
            let remove = move |tx: &store::Tx| {
                gone.iter().try_for_each(|(_, id)| records.remove(tx, Scope::Household, *id).map(drop))
            };
            self.records.store().write(remove).await?;
        }
        Ok(vectors)
    }

    async fn keep(&self, new: Vec<ToolVector>) -> tool::Result<()> {
        let records = self.records.clone();
        let put = move |tx: &store::Tx| {
            new.iter()
                .try_for_each(|new| records.put(tx, id(&new.digest), &Stamp::household("registry"), new).map(drop))
        };
        Ok(self.records.store().write(put).await?)
    }
}

/// The id of a text's record, so that it is stored once.
fn id(digest: &Digest) -> Id {
    let (id, _) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
    Id::from_bytes(*id)
}

/// The text of a tool to embed.
fn text(tool: &Tool) -> String {
    let mut text = tool.name.replace('_', " ");
    text += ". ";
    text += tool.description();
    for tag in tool.tags.split_whitespace() {
        text.push(' ');
        text += tag;
    }
    text
}

/// The digest of the text and the model: vectors of another model differ.
fn digest(model: &str, text: &str) -> Digest {
    let mut hasher = blake3::Hasher::new();
    hasher.update(model.as_bytes());
    hasher.update(&[0]);
    hasher.update(text.as_bytes());
    *hasher.finalize().as_bytes()
}

impl Registry {
    /// The `visible` tools that match, best first: by words, as [`Registry::search`], and by meaning where these find fewer
    /// than three. Waits two seconds at most.
    pub async fn search_by_meaning(
        &self,
        query: &str,
        category: Option<&str>,
        visible: impl Fn(&Tool) -> bool,
    ) -> Vec<Match> {
        let by_words = self.search(query, category).into_iter().filter(|t| visible(t));
        let mut found: Vec<Match> = by_words.map(|tool| Match { tool, by: MatchedBy::Words }).collect();
        let Some(meaning) = self.0.meaning.get() else { return found };
        let is_name =
            found.first().is_some_and(|m| self.get(query.trim()).is_some_and(|tool| tool.name == m.tool.name));
        if is_name || found.len() >= FEW || Query::new(query).is_everything() {
            return found;
        }
        // The first search computes the vectors of all tools.
        let near = meaning.nearest(query, self.tools()).await;
        let more = near.into_iter().map(|(_, tool)| tool).filter(|tool| {
            visible(tool) && category.is_none_or(|c| is_of(tool, c)) && !found.iter().any(|m| m.tool.name == tool.name)
        });
        let more: Vec<Match> = more.map(|tool| Match { tool, by: MatchedBy::Meaning }).collect();
        found.extend(more);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tool::{Family, Risk};

    #[derive(serde::Deserialize, JsonSchema)]
    struct Nothing {}

    async fn nothing(_: (), _: tool::Cx, _: Nothing) -> tool::Result<String> {
        Ok(String::new())
    }

    const TOOLS: &[(&str, &str, &str)] = &[
        ("add_task", "Add something that is to be done.", "todo to-do checklist"),
        ("add_calendar_event", "Put an event into the calendar.", "appointment meeting date"),
        ("get_weather_forecast", "What the weather will be in the next days.", "rain sun temperature"),
        ("send_email", "Send a message by mail.", "smtp letter notify"),
        ("text_to_speech", "Make audio of text that is read out.", "speak voice say"),
        ("translate_text", "Translate text into another language.", "french german"),
        ("convert_units", "Convert between units of measurement.", "metres miles celsius fahrenheit"),
        ("generate_password", "Make a random password that is hard to guess.", "secret secure"),
        ("expense_summary", "How much money was spent, by category.", "budget costs finance"),
        ("git_commit", "Commit changed files to the repository.", "version control"),
        ("gpio_write", "Drive one output pin; it stays driven until changed.", "turn switch on off lamp relay"),
        ("analyze_image", "Say what can be seen in an image.", "photo picture vision"),
    ];

    fn registry(store: &Store) -> Registry {
        let registry = Registry::new().unwrap();
        let mut family = Family::new("test", "", ());
        for (name, _, tags) in TOOLS {
            family = family.tool(name, Risk::Observe, nothing).tags(tags);
        }
        let tools = family.into_parts().tools;
        for (mut tool, (_, description, _)) in tools.into_iter().zip(TOOLS) {
            tool.signature = tool::Signature::given(description, serde_json::Value::Null);
            registry.add_tool(tool).unwrap();
        }
        registry.with_meaning(Embedder::new(Duration::from_secs(60)), store)
    }

    async fn names(registry: &Registry, query: &str, category: Option<&str>) -> Vec<(String, MatchedBy)> {
        let found = registry.search_by_meaning(query, category, |tool| &*tool.name != "git_commit").await;
        found.into_iter().map(|m| (m.tool.name.to_string(), m.by)).collect()
    }

    /// Waits for the vectors of all tools, however slow this machine is.
    async fn all_there(registry: &Registry) {
        let meaning = registry.0.meaning.get().unwrap();
        for _ in 0..300 {
            meaning.nearest("warm up", registry.tools()).await;
            let digests: Vec<Digest> = registry.tools().iter().map(|t| digest(embed::MODEL, &text(t))).collect();
            if meaning.shared.has_all(&digests) {
                return;
            }
        }
        panic!("the vectors did not come");
    }

    #[tokio::test]
    async fn what_words_miss_is_found_by_meaning() {
        let store = Store::in_memory().unwrap();
        let registry = registry(&store);
        all_there(&registry).await;
        let queries = [
            ("what did I pay for groceries this month", "expense_summary"),
            ("do I need an umbrella tomorrow", "get_weather_forecast"),
            ("how warm is it going to be", "get_weather_forecast"),
            ("invite Ben on friday at four", "add_calendar_event"),
            ("read this aloud", "text_to_speech"),
            ("write to my landlord", "send_email"),
            ("how do they call that in Spain", "translate_text"),
            ("describe the snapshot", "analyze_image"),
            ("how many feet is that", "convert_units"),
            ("make the bulb glow", "gpio_write"),
            ("a new login for the bank", "generate_password"),
            ("what must not be forgotten this week", "add_task"),
        ];
        let mut missed = vec![];
        for (query, expected) in queries {
            let found = names(&registry, query, None).await;
            assert!(found.len() <= MOST && found.iter().all(|f| f.1 == MatchedBy::Meaning), "{query}: {found:?}");
            if found.first().is_none_or(|f| f.0 != expected) {
                missed.push((query, found));
            }
        }
        assert!(missed.len() <= queries.len() / 3, "{missed:#?}");
        for nonsense in ["quantum chromodynamics lecture", "pneumonoultra xkcd", "?!", ""] {
            let found = names(&registry, nonsense, None).await;
            assert!(found.iter().all(|f| f.1 == MatchedBy::Words), "{nonsense}: {found:?}");
        }
        let words = names(&registry, "photo", None).await;
        assert_eq!(words[0], ("analyze_image".to_owned(), MatchedBy::Words), "what words find comes first: {words:?}");
        assert_eq!(words.iter().filter(|w| w.0 == "analyze_image").count(), 1, "and once");
        assert_eq!(
            names(&registry, "save my changes in version control", None).await.iter().find(|f| f.0 == "git_commit"),
            None
        );
        assert_eq!(names(&registry, "read this aloud", Some("System")).await, []);
        assert_eq!(names(&registry, "all", None).await.len(), TOOLS.len() - 1 + 4);
    }

    #[tokio::test]
    async fn vectors_are_kept_and_computed_once() {
        let store = Store::in_memory().unwrap();
        let records: Collection<ToolVector> = store.collection();
        let rows = || {
            let all = records.list_in(Scope::Household, &Listing::default()).unwrap();
            all.into_iter().map(|e| (e.id, e.updated_ms)).collect::<std::collections::BTreeMap<_, _>>()
        };
        // Vectors of tools removed long ago are evicted.
        let ghosts: Vec<ToolVector> = (0..SPARE + 20)
            .map(|n| ToolVector {
                digest: digest(embed::MODEL, &format!("ghost {n}")),
                bytes: vec![0; Quantized::BYTES],
            })
            .collect();
        let put = records.clone();
        let write = move |tx: &store::Tx| {
            ghosts.iter().try_for_each(|g| put.put(tx, id(&g.digest), &Stamp::household("registry"), g).map(drop))
        };
        store.write(write).await.unwrap();

        let first = registry(&store);
        all_there(&first).await;
        let before = rows();
        assert_eq!(before.len(), SPARE + TOOLS.len() + 4);
        tokio::time::sleep(Duration::from_millis(20)).await;
        let second = registry(&store);
        all_there(&second).await;
        assert_eq!(rows(), before, "a restart computes nothing again");

        let mut tool = (*second.get("send_email").unwrap()).clone();
        second.remove("test", "send_email");
        tool.signature = tool::Signature::given("Send a telegram.", serde_json::Value::Null);
        second.add_tool(tool).unwrap();
        all_there(&second).await;
        assert_eq!(rows().len(), before.len() + 1, "another text is another vector");
    }

    #[tokio::test]
    async fn closing_ends_what_is_computed() {
        let store = Store::in_memory().unwrap();
        let registry = registry(&store);
        let shared = Arc::downgrade(&registry.0.meaning.get().unwrap().shared);
        let search = registry.search_by_meaning("anything at all", None, |_| true);
        let _ = tokio::time::timeout(Duration::from_millis(30), search).await;
        registry.close();
        drop(registry);
        for _ in 0..100 {
            if shared.upgrade().is_none() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        panic!("something still holds the store");
    }
}
