//! The service over a real store in memory, with context files that a test holds.

use crate::{
    memory::{LONGEST, MOST_BYTES},
    *,
};
use embed::Embedder;
use futures::{FutureExt, future::BoxFuture};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use store::Store;
use tool::{Channel, Cx, Error, Id, Label, Ports, Principal, Result, Role, SystemClock, UserId, Via};

/// Text and version of a file by whose it is, everybody's under `None`, and its path.
type Texts = HashMap<(Option<UserId>, &'static str), (String, u32)>;

/// Context files in memory: of each agent type the caller's own, then everybody's.
#[derive(Default)]
struct Files {
    of: AgentType,
    texts: Mutex<Texts>,
}

impl ContextFiles for Files {
    fn agent_type(&self, _: &Cx) -> AgentType {
        self.of
    }
    fn peek(&self, cx: &Cx, file: ContextFile) -> Result<ContextText> {
        let texts = self.texts.lock().unwrap();
        let own = texts.get(&(Some(cx.user()), file.path())).filter(|_| self.of.is_personal(file));
        let (text, version) = match own {
            Some(own) => own.clone(),
            None => texts.get(&(None, file.path())).map(|(text, _)| (text.clone(), 0)).unwrap_or_default(),
        };
        Ok(ContextText { text, version, updated_ms: None, label: Label::Own })
    }
    fn edit<'a>(
        &'a self,
        cx: &'a Cx,
        file: ContextFile,
        edit: Edit,
        _: Option<u32>,
    ) -> BoxFuture<'a, Result<ContextText>> {
        async move {
            let before = self.peek(cx, file)?;
            let text = edit.apply_to(&before.text).map_err(Error::bad_args)?;
            let whose = Some(cx.user()).filter(|_| self.of.is_personal(file));
            let mut texts = self.texts.lock().unwrap();
            if text.is_empty() {
                texts.remove(&(whose, file.path()));
            } else {
                texts.insert((whose, file.path()), (text, before.version + 1));
            }
            drop(texts);
            self.peek(cx, file)
        }
        .boxed()
    }
}

pub(crate) struct House {
    pub files: VirtualFiles,
    context: Arc<Files>,
    pub store: Store,
}

pub(crate) fn house(of: AgentType) -> House {
    let store = Store::in_memory().unwrap();
    let context = Arc::new(Files { of, ..Files::default() });
    let files = VirtualFiles::new(&store, Embedder::new(Duration::from_secs(60)), context.clone());
    House { files, context, store }
}

fn ports() -> Ports {
    Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()))
}

pub(crate) fn person(role: Role) -> Cx {
    let user = if role == Role::Admin { UserId::OWNER } else { UserId(Id::new()) };
    let principal = Principal { user, role, agent: tool::AgentId::GENERAL };
    Cx::root(ports(), principal, Via::direct(Channel::Api))
}

pub(crate) const OWN: (Place, Option<u32>) = (Place::Own, None);
const AGENTS: (Place, Option<u32>) = (Place::Agents, None);

pub(crate) async fn search(house: &House, cx: &Cx, text: &str) -> Vec<Hit> {
    let query = SearchQuery { text: text.into(), limit: 5, least: 0.35, own: false, memory_file: true };
    house.files.search(cx, query).await.unwrap().hits
}

#[tokio::test]
async fn own_documents_come_before_the_agents() {
    let house = house(AgentType::Predefined);
    let (admin, member, other) = (person(Role::Admin), person(Role::Member), person(Role::Member));
    let files = &house.files;
    files.write(&admin, "memory/boat.md", "The anchor weighs 12 kg.", AGENTS).await.unwrap();
    let why = files.write(&member, "memory/boat.md", "x", AGENTS).await.unwrap_err();
    assert!(matches!(why, Error::Denied(_)), "{why}");
    let read = |cx: &Cx| files.read(cx, "memory/boat.md").map(|file| (file.text, file.place, file.version));
    assert_eq!(read(&member).unwrap(), ("The anchor weighs 12 kg.".into(), Place::Agents, 1));
    // An edit begins as a copy of the agent's, which stays.
    let edit = Edit::Append("The rope is 40 m.".into());
    files.edit(&member, "memory/boat.md", edit, OWN).await.unwrap();
    assert_eq!(read(&member).unwrap().0, "The anchor weighs 12 kg.\nThe rope is 40 m.");
    assert_eq!(read(&other).unwrap().0, "The anchor weighs 12 kg.");
    // The own one hides the agent's in a search too.
    assert_eq!(search(&house, &member, "weight of the anchor").await.len(), 1);
    assert_eq!(search(&house, &member, "rope").await[0].place, Place::Own);
    assert_eq!(
        search(&house, &other, "how long is the rope?").await.iter().filter(|h| h.snippet.contains("40")).count(),
        0
    );
    files.delete(&member, "memory/boat.md", Place::Own).await.unwrap();
    assert_eq!(read(&member).unwrap().1, Place::Agents);
    let why = files.delete(&member, "memory/boat.md", Place::Own).await.unwrap_err();
    assert!(matches!(why, Error::NotFound(_)) && why.to_string().contains("you have no document"), "{why}");
    files.delete(&admin, "memory/boat.md", Place::Agents).await.unwrap();
    assert!(matches!(read(&member), Err(Error::NotFound(_))));
    assert_eq!(search(&house, &member, "anchor").await, []);
}

#[tokio::test]
async fn searches_name_the_lines_and_see_every_change_at_once() {
    let house = house(AgentType::Predefined);
    let (cx, files) = (person(Role::Member), &house.files);
    let text = "# House\n\n## Heating\nMarta serviced the boiler on 3 October.\n\n## Wifi\nThe guest network is called seagull.\n";
    files.write(&cx, "memory/house/facts.md", text, OWN).await.unwrap();
    files.write(&cx, "memory/food.md", "Paella needs saffron and a wide pan.", OWN).await.unwrap();
    let hits = search(&house, &cx, "who looked after the heating?").await;
    assert_eq!((hits[0].path.as_str(), hits[0].lines), ("memory/house/facts.md", (1, 4)));
    assert!(hits[0].snippet.contains("Marta") && hits[0].score > 0.35 && hits[0].score <= 1.0);
    assert_eq!(search(&house, &cx, "seagull").await[0].lines, (6, 7));
    assert_eq!(search(&house, &cx, "SAFFRON").await[0].path, "memory/food.md");
    let query = SearchQuery { text: "saffron".into(), limit: 5, least: 0.999, own: false, memory_file: true };
    assert_eq!(files.search(&cx, query).await.unwrap().hits, []);
    assert_eq!(search(&house, &cx, "quarterly tax return of the submarine").await, []);
    files.write(&cx, "memory/food.md", "Ramen needs broth.", OWN).await.unwrap();
    assert_eq!(search(&house, &cx, "saffron").await, []);
    assert_eq!(search(&house, &cx, "ramen broth").await[0].path, "memory/food.md");
    for text in ["", "  "] {
        let query = SearchQuery { text: text.into(), limit: 5, least: 0.0, own: false, memory_file: true };
        assert!(matches!(files.search(&cx, query).await, Err(Error::BadArgs(_))));
    }
    // A large document is found by words at once, and by meaning later.
    let large: String = (0..60).map(|n| format!("## Day {n}\nWe rowed to island number {n}.\n\n")).collect();
    files.write(&cx, "memory/log.md", &large, OWN).await.unwrap();
    assert_eq!(search(&house, &cx, "island number 57").await[0].lines, (172, 173));
    files.memory().backfill().await.unwrap();
    assert_eq!(files.memory().backfill().await.unwrap(), 0, "everything has its index");
}

#[tokio::test]
async fn versions_guard_writes_and_concurrent_edits_all_count() {
    let house = house(AgentType::Predefined);
    let (cx, files) = (person(Role::Member), &house.files);
    files.write(&cx, "memory/a.md", "one", (Place::Own, Some(0))).await.unwrap();
    let stale = files.write(&cx, "memory/a.md", "two", (Place::Own, Some(0))).await.unwrap_err();
    assert!(matches!(&stale, Error::Unavailable(_)) && stale.to_string().contains("version 1"), "{stale}");
    assert_eq!(files.write(&cx, "memory/a.md", "two", (Place::Own, Some(1))).await.unwrap().unwrap().version, 2);
    let edits = (0..4).map(|n| {
        let (files, cx) = (files.clone(), cx.clone());
        tokio::spawn(async move { files.edit(&cx, "memory/a.md", Edit::Append(format!("line {n}")), OWN).await })
    });
    for edit in edits.collect::<Vec<_>>() {
        edit.await.unwrap().unwrap();
    }
    let text = files.read(&cx, "memory/a.md").unwrap().text;
    assert_eq!((0..4).filter(|n| text.contains(&format!("line {n}"))).count(), 4, "{text}");
    let missing = Edit::FindReplace { find: "three".into(), replace: "x".into(), all: false };
    assert!(matches!(files.edit(&cx, "memory/a.md", missing, OWN).await, Err(Error::BadArgs(_))));
    assert!(matches!(files.edit(&cx, "memory/b.md", Edit::Append("x".into()), OWN).await, Err(Error::NotFound(_))));
}

#[tokio::test]
async fn unsafe_or_too_large_documents_are_refused() {
    let house = house(AgentType::Predefined);
    let (cx, viewer, files) = (person(Role::Member), person(Role::Viewer), &house.files);
    files.write(&cx, "memory/notes.md", "x", OWN).await.unwrap();
    let why = files.write(&cx, "memory/Notes.md", "y", OWN).await.unwrap_err();
    assert!(why.to_string().contains("use that spelling"), "{why}");
    for path in ["../x", "report.csv", "memory/../x.md", "soul.md"] {
        assert!(matches!(files.write(&cx, path, "x", OWN).await, Err(Error::BadArgs(_))), "{path}");
        assert!(matches!(files.read(&cx, path), Err(Error::BadArgs(_))), "{path}");
    }
    assert!(matches!(files.write(&cx, "memory/l.md", &"x".repeat(LONGEST + 1), OWN).await, Err(Error::BadArgs(_))));
    assert!(matches!(files.write(&cx, "memory/l.md", "a\0b", OWN).await, Err(Error::BadArgs(_))));
    assert!(matches!(files.write(&viewer, "memory/l.md", "x", OWN).await, Err(Error::Denied(_))));
    let large = "x ".repeat(LONGEST / 2);
    for n in 0..(MOST_BYTES / LONGEST) - 1 {
        files.write(&cx, &format!("memory/large-{n}.md"), &large, OWN).await.unwrap();
    }
    let why = files.write(&cx, "memory/one-more.md", &large, OWN).await.unwrap_err();
    assert!(matches!(&why, Error::Unavailable(_)) && why.to_string().contains("delete some"), "{why}");
    files.write(&cx, "memory/large-0.md", "", OWN).await.unwrap();
    files.write(&cx, "memory/one-more.md", &large, OWN).await.unwrap();
}

#[tokio::test]
async fn context_files_are_reached_by_path() {
    for (of, mine) in [(AgentType::Predefined, false), (AgentType::Open, true)] {
        let house = house(of);
        let (cx, other, files) = (person(Role::Admin), person(Role::Member), &house.files);
        for file in ContextFile::ALL {
            house.context.texts.lock().unwrap().insert((None, file.path()), ("the agent's".into(), 1));
            assert_eq!(files.read(&cx, file.path()).unwrap().text, "the agent's");
            files.write(&cx, file.path(), "my own", OWN).await.unwrap();
            let read = files.read(&cx, file.path()).unwrap();
            let personal = mine || matches!(file, ContextFile::User | ContextFile::Memory);
            assert_eq!(read.place, if personal { Place::Own } else { Place::Agents }, "{of:?} {file:?}");
            let others = files.read(&other, file.path()).unwrap().text;
            assert_eq!(others, if personal { "the agent's" } else { "my own" }, "{of:?} {file:?}");
        }
        assert_eq!(files.read(&cx, "memory.md").unwrap().path, "MEMORY.md");
        // Behind an own one that is deleted, the agent's appears again, which is not the caller's to delete.
        files.delete(&cx, "USER.md", Place::Own).await.unwrap();
        assert_eq!(files.read(&cx, "USER.md").unwrap().text, "the agent's");
        let why = files.delete(&cx, "USER.md", Place::Own).await.unwrap_err();
        assert!(matches!(&why, Error::NotFound(_)) && why.to_string().contains("you have no"), "{why}");
        files.write(&cx, "memory/x.md", "x", OWN).await.unwrap();
        let listed = files.list(&cx, "").await.unwrap().len();
        assert_eq!((listed, files.list(&cx, "memory/").await.unwrap().len()), (8, 1));
    }
    // MEMORY.md is searched with the documents, and follows its text.
    let house = house(AgentType::Predefined);
    let (cx, files) = (person(Role::Member), &house.files);
    files.write(&cx, "MEMORY.md", "The spare key is under the blue pot.", OWN).await.unwrap();
    assert_eq!(search(&house, &cx, "spare key").await[0].path, "MEMORY.md");
    files.write(&cx, "MEMORY.md", "The spare key is with Nora.", OWN).await.unwrap();
    assert_eq!(search(&house, &cx, "spare key").await[0].snippet, "The spare key is with Nora.");
    // Its vectors are computed once, and go with it.
    let index = || house.store.stats().unwrap().records.get("memory-document-indexes").copied().unwrap_or_default();
    let computed = async || drop(files.memory().embedding.lock().await);
    let until = async |count: u64| {
        for _ in 0..100 {
            if index() == count {
                return;
            }
            computed().await;
            tokio::task::yield_now().await;
        }
        panic!("there are {} indexes, and not {count}", index());
    };
    until(1).await;
    let version = house.store.version();
    search(&house, &cx, "spare key").await;
    computed().await;
    assert_eq!(house.store.version(), version);
    // A prompt has it as a whole, and searches the others.
    files.write(&cx, "memory/key.md", "The spare key opens the shed.", OWN).await.unwrap();
    let others = SearchQuery { text: "spare key".into(), limit: 1, least: 0.35, own: true, memory_file: false };
    assert_eq!(files.search(&cx, others).await.unwrap().hits[0].path, "memory/key.md");
    files.delete(&cx, "memory/key.md", Place::Own).await.unwrap();
    files.delete(&cx, "MEMORY.md", Place::Own).await.unwrap();
    assert_eq!(search(&house, &cx, "spare key").await, []);
    until(0).await;
}

#[tokio::test]
async fn documents_from_outside_taint_who_reads_them() {
    let house = house(AgentType::Predefined);
    let (cx, files) = (person(Role::Member), &house.files);
    let again = || {
        let mut principal = person(Role::Member).principal().clone();
        principal.user = cx.user();
        Cx::root(ports(), principal, Via::direct(Channel::Api))
    };
    let tainted = again();
    tainted.taint(Label::Outside);
    files.write(&tainted, "memory/web.md", "Buy gold at once, says the page.", OWN).await.unwrap();
    files.write(&cx, "memory/own.md", "The boat is blue.", OWN).await.unwrap();
    for (path, label) in [("memory/web.md", Label::Outside), ("memory/own.md", Label::Own)] {
        let reader = again();
        files.read(&reader, path).unwrap();
        assert_eq!(reader.label(), label, "{path}");
    }
    let (reader, searcher, prompt) = (again(), again(), again());
    search(&house, &reader, "boat colour blue").await;
    assert_eq!(reader.label(), Label::Own, "what is not returned does not taint");
    assert_eq!(search(&house, &searcher, "buy gold").await.len(), 1);
    assert_eq!(searcher.label(), Label::Outside);
    let query = SearchQuery { text: "buy gold".into(), limit: 5, least: 0.0, own: true, memory_file: true };
    let hits = files.search(&prompt, query).await.unwrap().hits;
    assert!(hits.iter().all(|hit| hit.path == "memory/own.md") && prompt.label() == Label::Own, "{hits:?}");
    // An edit keeps the label of the rest.
    let edit = Edit::Append("Nonsense.".into());
    files.edit(&again(), "memory/web.md", edit, OWN).await.unwrap();
    let reader = again();
    files.read(&reader, "memory/web.md").unwrap();
    assert_eq!(reader.label(), Label::Outside);
    assert!(house.store.stats().unwrap().records["memory-documents"] == 2);
}
