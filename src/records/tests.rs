//! Record stores, on the real store in memory.

use super::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use store::{Key, Level};
use tool::{AgentId, Channel, FixedClock, Label, Ports, Principal, Role, Via};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Cup {
    name: String,
    over: bool,
}

impl Record for Cup {
    const NAME: &'static str = "cups";
    const WORD: &'static str = "cup";
    const LEVEL: Level = Level::User;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(1, [order::text(&self.name), vec![self.over.into()]].concat()), Key::many(2, [])]
    }
}

impl NamedRecord for Cup {
    const LISTED_BY: &'static str = "list_cups";
    const BY_NAME: u8 = 1;
    fn name(&self) -> &str {
        &self.name
    }
    fn is_finished(&self) -> bool {
        self.over
    }
}

/// Another record, written beside the cups.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Saucer {
    of: String,
}

impl Record for Saucer {
    const NAME: &'static str = "saucers";
    const WORD: &'static str = "saucer";
    const LEVEL: Level = Level::User;
}

fn cx() -> Cx {
    let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    Cx::root(Ports::unconnected(clock), principal, Via::direct(Channel::Api))
}

fn cups() -> RecordStore<Cup> {
    RecordStore::new(&Store::in_memory().unwrap())
}

fn cup(name: &str) -> Cup {
    Cup { name: name.into(), over: name.ends_with('*') }
}

async fn fill(cups: &RecordStore<Cup>, cx: &Cx, names: &[&str], shared: bool) -> Vec<Id> {
    let values = names.iter().map(|name| {
        let over = name.ends_with('*');
        (Cup { name: name.trim_end_matches('*').into(), over }, shared)
    });
    cups.add_all(cx, "t", values.collect()).await.unwrap().into_iter().map(|entry| entry.id).collect()
}

#[tokio::test]
async fn a_record_is_found_by_id_by_name_and_by_words() {
    let (cups, me) = (cups(), cx());
    let names = ["Blue cup", "red cup", "Red cup with a lid", "green*", "green", "old*", "twin", "Twin", "ČAŠA 2"];
    let ids = fill(&cups, &me, &names, false).await;
    for (which, wanted) in [
        ("blue CUP", Some(0)),
        ("  red cup ", Some(1)),
        ("lid", Some(2)),
        ("cup lid", Some(2)),
        ("green", Some(4)),
        ("old", Some(5)),
        ("čaša 2", Some(8)),
        ("2", Some(8)),
        ("cu", None),
        ("cup tea", None),
        ("!?", None),
        ("\u{0}", None),
    ] {
        let found = cups.find(&me, which).map(|entry| entry.id);
        assert_eq!(found.clone().ok(), wanted.map(|n: usize| ids[n]), "{which}: {found:?}");
        let own = cups.find_own(&me, which).map(|entry| entry.id);
        assert_eq!(own, found, "{which}");
    }
    assert_eq!(cups.find(&me, &ids[3].to_string()).unwrap().value.name, "green");
    let plain = ids[3].to_string().replace('-', "").to_uppercase();
    assert_eq!(cups.find(&me, &plain).unwrap().id, ids[3]);

    let twice = cups.find(&me, "twin").unwrap_err();
    let told = format!("2 cups fit `twin`; name one by its id: `twin` ({}), `Twin` ({})", ids[6], ids[7]);
    assert_eq!((twice.code(), twice.message()), ("bad_args", &*told));
    assert!(matches!(cups.find(&me, "cup"), Err(Error::BadArgs(text)) if text.starts_with("3 cups fit `cup`")));
    let missing = cups.find(&me, &"x".repeat(100_000)).unwrap_err();
    assert!(matches!(&missing, Error::NotFound(text) if text.len() < 200 && text.contains("list_cups")), "{missing}");
    assert!(matches!(cups.find(&me, "  "), Err(Error::BadArgs(text)) if text.contains("say which cup")));
    assert!(matches!(cups.find(&me, &Id::new().to_string()), Err(Error::NotFound(_))));
}

#[tokio::test]
async fn many_of_one_name_are_not_all_named() {
    let (cups, me) = (cups(), cx());
    fill(&cups, &me, &["tea"; 30], false).await;
    let milk = fill(&cups, &me, &["milk*"; 30], false).await;
    let text = cups.find(&me, "tea").unwrap_err().message().to_owned();
    assert!(text.starts_with("more than 5 cups fit `tea`") && text.ends_with(", …"), "{text}");
    assert_eq!(text.matches("`tea` (").count(), 5);
    // `last_finished` finds nothing while an open record has the name; among finished ones it returns the one changed
    // last.
    assert_eq!(cups.last_finished(&me, "tea").unwrap(), None);
    let last = cups.last_finished(&me, "milk").unwrap().unwrap();
    assert_eq!(last.id, milk[29]);
    for changed in [milk[20], milk[3], milk[29]] {
        // Times are stored in milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
        cups.change(&me, &changed.to_string(), None, |_| Ok(())).await.unwrap();
        assert_eq!(cups.last_finished(&me, " MILK").unwrap().unwrap().id, changed);
    }
    // Others' are not theirs, and words of the name do where nothing has it whole.
    let (ben, some) = (cx(), fill(&cups, &me, &["oat drink*", "oat cake*", "oat drink*", "rice drink"], false).await);
    assert_eq!(cups.last_finished(&ben, "milk").unwrap(), None);
    assert_eq!(cups.last_finished(&me, "oat").unwrap().unwrap().id, some[2]);
    assert_eq!(cups.last_finished(&me, "drink").unwrap(), None, "one is open");
    assert_eq!(cups.last_finished(&me, "!").unwrap(), None);
    let open = fill(&cups, &me, &["milk"], false).await;
    assert_eq!(cups.find(&me, "MILK").unwrap().id, open[0]);
    assert_eq!(cups.last_finished(&me, "milk").unwrap(), None);
}

#[tokio::test]
async fn what_others_keep_does_not_exist_and_what_they_share_is_read_only() {
    let (cups, anna, ben) = (cups(), cx(), cx());
    let hidden = fill(&cups, &ben, &["hidden"], false).await[0];
    let shown = fill(&cups, &ben, &["shown"], true).await[0];
    for which in ["hidden", &hidden.to_string()] {
        let absent = |error: Error| error.message().replace(which, "?");
        let never = cups.find(&anna, "never").unwrap_err().message().replace("never", "?");
        assert_eq!(absent(cups.find(&anna, which).unwrap_err()), never);
        assert_eq!(absent(cups.change(&anna, which, None, |_| Ok(())).await.unwrap_err()), never);
        assert_eq!(absent(cups.remove(&anna, which).await.unwrap_err()), never);
    }
    for which in ["shown", &shown.to_string()] {
        assert_eq!(cups.find(&anna, which).unwrap().id, shown);
        for refused in [cups.change(&anna, which, None, |_| Ok(())).await, cups.remove(&anna, which).await] {
            assert!(matches!(&refused, Err(Error::Denied(text)) if text.contains("somebody else's")), "{refused:?}");
        }
    }
    // Of two of one name, one's own is the one to change.
    let mine = fill(&cups, &anna, &["shown*"], false).await[0];
    assert_eq!(cups.find_own(&anna, "shown").unwrap().id, mine);
    let all = |cx: &Cx| cups.page(cx, &Walk::prefix(2, []), (0, 10), |_| true).unwrap().entries.len();
    assert_eq!((all(&anna), all(&ben)), (2, 2));
    cups.change(&ben, "shown", Some(false), |_| Ok(())).await.unwrap();
    assert_eq!((all(&anna), all(&ben)), (1, 2));
}

#[tokio::test]
async fn what_is_written_beside_a_record_is_kept_with_it_or_not_at_all() {
    let store = Store::in_memory().unwrap();
    let (cups, me) = (RecordStore::<Cup>::new(&store), cx());
    let saucers = store.collection::<Saucer>();
    let (own, stamp) = (saucers.clone(), saucers.stamp(&me, "t"));
    let beside = move |tx: &Tx, entry: &Entry<Cup>| {
        if entry.value.name == "broken" {
            return Err(rejected("it is broken"));
        }
        own.put(tx, entry.id, &stamp, &Saucer { of: entry.value.name.clone() }).map(drop)
    };
    let there = || saucers.list(&me, &Default::default()).unwrap().into_iter().map(|e| e.value.of).collect::<Vec<_>>();
    let bad = vec![(cup("a"), false), (cup("broken"), false)];
    let refused = cups.add_all_with(&me, "t", bad, beside.clone()).await.unwrap_err();
    assert_eq!(refused, Error::BadArgs("it is broken".into()));
    assert!(there().is_empty() && cups.find(&me, "a").is_err());
    cups.add_all_with(&me, "t", vec![(cup("a"), false)], beside.clone()).await.unwrap();
    let rename = |to: &'static str| {
        move |cup: &mut Cup| {
            cup.name = to.into();
            Ok(())
        }
    };
    assert!(cups.change_with(&me, "a", None, rename("broken"), beside.clone()).await.is_err());
    assert_eq!((there(), cups.find(&me, "a").unwrap().value.name), (vec!["a".to_owned()], "a".into()));
    cups.change_with(&me, "a", None, rename("b"), beside).await.unwrap();
    assert_eq!(there(), ["b"]);
    let (own, scope) = (saucers.clone(), Scope::User(me.user()));
    cups.remove_with(&me, "b", move |tx, entry| own.remove(tx, scope, entry.id).map(drop)).await.unwrap();
    assert!(there().is_empty());
}

#[tokio::test]
async fn two_who_delete_one_record_do_it_once() {
    let (cups, me) = (cups(), cx());
    let id = fill(&cups, &me, &["one"], false).await[0].to_string();
    let (a, b) = tokio::join!(cups.remove(&me, &id), cups.remove(&me, &id));
    let gone = |r: &Result<Entry<Cup>>| matches!(r, Err(Error::NotFound(_)));
    assert!(a.is_ok() && gone(&b) || b.is_ok() && gone(&a), "{a:?} {b:?}");
}

#[tokio::test]
async fn a_page_is_cut_from_what_is_wanted() {
    let (cups, me) = (cups(), cx());
    fill(&cups, &me, &["a", "b*", "c", "d*", "e", "f"], false).await;
    let page = |offset, limit| {
        let page = cups.page(&me, &Walk::prefix(2, []), (offset, limit), |entry| !entry.value.over).unwrap();
        (page.entries.iter().map(|entry| &*entry.value.name).collect::<String>(), page.more)
    };
    for (offset, limit, names, more) in [
        (0, 2, "ac", true),
        (2, 2, "ef", false),
        (0, 4, "acef", false),
        (0, 50, "acef", false),
        (3, 1, "f", false),
        (4, 1, "", false),
        (usize::MAX, 50, "", false),
    ] {
        assert_eq!(page(offset, limit), (names.to_owned(), more), "{offset} {limit}");
    }
}

#[tokio::test]
async fn only_what_is_answered_taints() {
    let (cups, me) = (cups(), cx());
    let outside = me.in_run(Id::new(), None, Default::default());
    let stranger = Cx::root(me.ports().clone(), me.principal().clone(), me.via().clone());
    stranger.taint(Label::Outside);
    fill(&cups, &stranger, &["news*", "letter"], false).await;
    fill(&cups, &me, &["news"], false).await;
    cups.find(&outside, "news").unwrap();
    assert_eq!(outside.label(), Label::Own, "the other of the name was not answered");
    cups.find(&outside, "letter").unwrap();
    assert_eq!(outside.label(), Label::Outside);
}
