//! The change an undo means, who may undo it, and the sentences.

use super::*;
use serde::{Deserialize, Serialize};
use store::{ChangeSource, Collection, Level, Record};
use tool::{Bounds, Channel, Ports, Principal, SystemClock, Via};

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Item {
    title: String,
    list: String,
}

impl Record for Item {
    const NAME: &'static str = "items";
    const WORD: &'static str = "item";
    const LEVEL: Level = Level::User;
    const UNDO: bool = true;
    fn title(&self) -> String {
        self.title.clone()
    }
    fn on_list(&self) -> String {
        self.list.clone()
    }
}

struct World {
    undo: Undo,
    items: Collection<Item>,
    cx: Cx,
}

impl World {
    fn new() -> Self {
        let ports = Ports::unconnected(Arc::new(SystemClock::new(Some("UTC")).unwrap()));
        let store = Store::in_memory().unwrap();
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        Self { undo: Undo::new(&store), items: store.collection(), cx }
    }

    /// Adds items as one change made in a conversation, or by a schedule.
    async fn add(&self, titles: &[&str], list: &str, conversation: Option<Id>, unattended: bool) -> Vec<Id> {
        let source = ChangeSource {
            id: Id::new(),
            user: self.cx.user(),
            tool: "add".into(),
            conversation,
            run: None,
            unattended,
            undoes: None,
        };
        let add = async {
            let mut ids = vec![];
            for title in titles {
                let item = Item { title: (*title).into(), list: list.into() };
                ids.push(self.items.insert(&self.cx, "add", item).await.unwrap().id);
            }
            ids
        };
        store::with_change(Some(source), add).await
    }

    async fn said(&self, cx: &Cx, id: Option<Id>) -> String {
        self.undo.undo(cx, id).await.map_or_else(|e| e.message().to_owned(), |undone| undone.sentence)
    }
}

#[tokio::test]
async fn the_last_change_of_this_conversation_is_meant_before_any_other() {
    let w = World::new();
    let here = Id::new();
    let within = w.cx.in_run(Id::new(), here, Default::default());
    w.add(&["milk"], "the shopping list", Some(here), false).await;
    w.add(&["nails", "glue"], "", None, false).await;
    w.add(&["from a schedule"], "", None, true).await;
    assert_eq!(w.said(&within, None).await, "Undone: milk is off the shopping list.");
    assert_eq!(w.said(&within, None).await, "Undone: the items nails and glue are gone again.");
    assert!(w.said(&within, None).await.contains("nothing to undo"), "what a schedule did is undone by its id alone");
    let all = w.undo.changes(&w.cx, 10).unwrap();
    let by_schedule = all.iter().find(|change| change.unattended).unwrap();
    assert_eq!(w.said(&w.cx, Some(by_schedule.id)).await, "Undone: the item “from a schedule” is gone again.");
    assert_eq!(w.said(&w.cx, Some(by_schedule.id)).await, "that was undone already");
}

#[tokio::test]
async fn a_model_undoes_only_in_its_own_conversation() {
    let w = World::new();
    let (here, elsewhere) = (Id::new(), Id::new());
    w.add(&["milk"], "", Some(elsewhere), false).await;
    let bounds = Bounds { model_call: Some("1".into()), ..Bounds::default() };
    let model = w.cx.in_run(Id::new(), here, Default::default()).bounded(bounds.clone());
    let id = w.undo.changes(&w.cx, 1).unwrap()[0].id;
    assert!(matches!(w.undo.undo(&model, Some(id)).await, Err(Error::Denied(_))));
    assert!(matches!(w.undo.undo(&model, None).await, Err(Error::NotFound(_))));
    let word = w.cx.in_run(Id::new(), here, Default::default()).bounded(Bounds { by_word: true, ..bounds.clone() });
    assert!(w.said(&word, None).await.starts_with("Undone"), "the person's word");
    w.add(&["milk"], "", Some(here), false).await;
    assert!(w.said(&model, None).await.starts_with("Undone"));
}

#[tokio::test]
async fn what_was_changed_since_is_left_alone_and_named() {
    let w = World::new();
    let ids = w.add(&["milk", "eggs"], "the list", None, false).await;
    let rename = |item: &mut Item| {
        item.title = "oat milk".into();
        Ok(())
    };
    w.items.update(&w.cx, ids[0], rename).await.unwrap();
    let said = w.said(&w.cx, None).await;
    assert_eq!(said, "Undone: eggs is off the list. “milk” was changed since, so that was left alone.");
    w.add(&["tea"], "", None, false).await;
    let tea = w.undo.changes(&w.cx, 1).unwrap().remove(0);
    w.items.update(&w.cx, tea.parts[0].id().unwrap(), rename).await.unwrap();
    assert_eq!(w.said(&w.cx, None).await, "nothing was undone: “tea” was changed since");
}

#[tokio::test]
async fn a_deleted_record_comes_back_once() {
    let w = World::new();
    let ids = w.add(&["Paint", "Glue"], "", None, false).await;
    for id in &ids {
        let (items, cx) = (w.items.clone(), w.cx.clone());
        let source = ChangeSource {
            id: Id::new(),
            user: cx.user(),
            tool: "delete".into(),
            conversation: None,
            run: None,
            unattended: false,
            undoes: None,
        };
        assert!(store::with_change(Some(source), items.delete(&cx, *id)).await.unwrap());
    }
    let titles = |kind, query| {
        let found = w.undo.deleted(&w.cx, kind, query).unwrap();
        found.into_iter().map(|one| one.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(Some("items"), None), ["Glue", "Paint"]);
    assert_eq!((titles(None, Some("pai")), titles(Some("note"), None)), (vec!["Paint".to_owned()], vec![]));
    assert_eq!(w.undo.restore(&w.cx, "paint").await.unwrap().id, ids[0]);
    assert!(w.items.get(&w.cx, ids[0]).unwrap().is_some());
    assert!(matches!(w.undo.restore(&w.cx, "paint").await, Err(Error::NotFound(_))));
    assert_eq!((w.undo.empty_bin(&w.cx).await.unwrap(), titles(None, None)), (1, vec![]));
}
