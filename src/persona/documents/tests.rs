//! Documents: access, history and labels.

use super::*;
use std::sync::Arc;
use tool::{AgentId, Channel, Ports, Principal, Role, SystemClock, UserId, Via};

fn ports() -> Ports {
    Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()))
}

/// A person, directly.
fn anna() -> Cx {
    Cx::root(ports(), Principal::owner(), Via::direct(Channel::Api))
}

fn ben() -> Cx {
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    Cx::root(ports(), principal, Via::direct(Channel::Api))
}

/// A run of the same person's agent.
fn run_of(cx: &Cx) -> Cx {
    Cx::root(ports(), cx.principal().clone(), cx.via().clone()).in_run(Id::new(), None, Default::default())
}

fn documents() -> Documents {
    Documents::new(&Store::in_memory().unwrap())
}

async fn call(documents: &Documents, cx: &Cx, name: &str, args: Value) -> Result<Output> {
    let tools = crate::family(documents.clone()).into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == name).unwrap();
    (tool.run)(cx.clone(), args).await
}

#[tokio::test]
async fn the_tools_read_and_edit() {
    let (documents, cx) = (documents(), anna());
    let read = async |tool: &str| call(&documents, &cx, tool, json!({})).await.unwrap().content;
    assert_eq!(read("read_system_prompt").await, json!({"prompt": BASE, "version": 0}));
    assert_eq!(read("read_learned_notes").await, json!({"notes": "", "version": 0}));
    let edits = [
        (json!({"operation": "append", "content": "Sing."}), "Sing."),
        (json!({"operation": "prepend", "content": "Hum."}), "Hum.\nSing."),
        (json!({"operation": "find_replace", "find": "m.", "replace": "m softly."}), "Hum softly.\nSing."),
        (json!({"operation": "find_replace", "find": "S", "replace": "s", "replace_all": true}), "Hum softly.\nsing."),
        (json!({"operation": "delete", "content": "\nsing."}), "Hum softly."),
        (json!({"operation": "replace", "content": "Be a cat."}), "Be a cat."),
        (json!({"operation": "replace", "content": ""}), ""),
    ];
    for (version, (args, text)) in edits.into_iter().enumerate() {
        let edited = call(&documents, &cx, "edit_learned_notes", args).await.unwrap().content;
        assert_eq!(edited, json!({"version": version + 1}));
        assert_eq!(read("read_learned_notes").await, json!({"notes": text, "version": version + 1}));
    }
    // Adding to a document that was never written keeps its default text.
    let add = json!({"operation": "append", "content": "Speak German."});
    call(&documents, &cx, "edit_system_prompt", add).await.unwrap();
    assert_eq!(read("read_system_prompt").await["prompt"], format!("{BASE}\nSpeak German."));
    call(&documents, &cx, "edit_system_prompt", json!({"operation": "replace", "content": " "})).await.unwrap();
    assert_eq!(read("read_system_prompt").await, json!({"prompt": BASE, "version": 2}));
}

#[tokio::test]
async fn what_cannot_be_edited_is_refused_and_nothing_changes() {
    let (documents, cx) = (documents(), anna());
    documents.write(&cx, Name::LearnedNotes, "Nora rows.", None).await.unwrap();
    let rows = [
        (json!({}), "missing field `operation`"),
        (json!({"operation": "swap"}), "unknown variant"),
        (json!({"operation": "replace"}), "`replace` needs `content`"),
        (json!({"operation": "append"}), "`append` needs `content`"),
        (json!({"operation": "prepend", "content": ""}), "`prepend` needs `content`"),
        (json!({"operation": "delete"}), "`delete` needs `content`"),
        (json!({"operation": "find_replace", "replace": "x"}), "`find_replace` needs `find`"),
        (json!({"operation": "find_replace", "find": "", "replace": "x"}), "`find_replace` needs `find`"),
        (json!({"operation": "find_replace", "find": "x"}), "`find_replace` needs `replace`"),
        (json!({"operation": "find_replace", "find": "Nora swims", "replace": "x"}), "there: Nora rows."),
        (json!({"operation": "delete", "content": "swims"}), "nothing was changed"),
        (json!({"operation": "append", "content": "x".repeat(LONGEST)}), "the maximum is 64 KB"),
        (json!({"operation": "append", "content": "a\u{0}b"}), "control character"),
        (json!({"operation": "append", "content": "a", "more": 1}), "unknown field"),
    ];
    for (args, expected) in rows {
        let error = call(&documents, &cx, "edit_learned_notes", args.clone()).await.unwrap_err();
        assert!(matches!(&error, Error::BadArgs(why) if why.contains(expected)), "{args}: {error}");
    }
    let kept = documents.read(&cx, Name::LearnedNotes).unwrap();
    assert_eq!((kept.text.as_str(), kept.version), ("Nora rows.", 1));
    documents.write(&cx, Name::Soul, &"x".repeat(LONGEST), None).await.unwrap();
}

#[tokio::test]
async fn versions_are_kept_told_and_gone_back_to() {
    let (documents, cx) = (documents(), anna());
    documents.write(&cx, Name::Soul, "one", Some(0)).await.unwrap();
    documents.edit(&run_of(&cx), Name::Soul, Edit::Append("two".into())).await.unwrap();
    let stale = documents.write(&cx, Name::Soul, "mine", Some(1)).await.unwrap_err();
    assert!(matches!(&stale, Error::Unavailable(why) if why.contains("is version 2")), "{stale}");
    let same = documents.write(&cx, Name::Soul, "one\ntwo", Some(2)).await.unwrap();
    assert_eq!(same.version, 2, "the same text is no new version");
    let back = documents.rollback(&cx, Name::Soul, 1, Some(2)).await.unwrap();
    assert_eq!((back.text.as_str(), back.version), ("one", 3));
    let (count, heads) = documents.history(&cx, Name::Soul, 10, 0).unwrap();
    let told: Vec<_> = heads.iter().map(|h| (h.version, h.by, h.operation.as_str(), h.length)).collect();
    let expected =
        [(3, Author::Person, "rollback", 3), (2, Author::Agent, "append", 7), (1, Author::Person, "replace", 3)];
    assert_eq!((count, told), (3, expected.to_vec()));
    assert!(heads.iter().all(|h| h.at > 0));
    let (count, heads) = documents.history(&cx, Name::Soul, 1, 1).unwrap();
    assert_eq!((count, heads[0].version, heads.len()), (3, 2, 1));
    assert_eq!(documents.version(&cx, Name::Soul, 2).unwrap().text, "one\ntwo");
    assert!(matches!(documents.rollback(&cx, Name::Soul, 4, None).await, Err(Error::NotFound(_))));
    assert!(matches!(documents.rollback(&cx, Name::Soul, 1, Some(2)).await, Err(Error::Unavailable(_))));
    let before = documents.rollback(&cx, Name::Soul, 0, None).await.unwrap();
    assert_eq!((before.text.as_str(), before.version), ("", 4));
    assert_eq!(documents.history(&cx, Name::Team, 10, 0).unwrap().0, 0, "one document has nothing of another");
}

#[tokio::test]
async fn what_the_agent_changes_is_noticed_by_whom_it_concerns() {
    let (documents, anna, ben) = (documents(), anna(), ben());
    documents.write(&anna, Name::Soul, "by hand", None).await.unwrap();
    documents.write(&run_of(&anna), Name::Soul, "by hand", None).await.unwrap();
    documents.edit(&run_of(&anna), Name::Soul, Edit::Append("more".into())).await.unwrap();
    documents.edit(&run_of(&ben), Name::LearnedNotes, Edit::Append("Ben rows".into())).await.unwrap();
    documents.write(&run_of(&ben), Name::User, "rows", None).await.unwrap();
    let told = |cx: &Cx| {
        let all = documents.notices.list(cx, &store::Listing::default()).unwrap();
        let told = all.into_iter().map(|n| (n.value.document.clone(), n.value.document_change().unwrap().before));
        told.collect::<Vec<_>>()
    };
    assert_eq!(told(&anna), [("learned_notes".to_owned(), 0), ("SOUL.md".to_owned(), 1)]);
    assert_eq!(told(&ben), [("USER.md".to_owned(), 0), ("learned_notes".to_owned(), 0)]);
    assert_eq!(documents.history(&anna, Name::LearnedNotes, 1, 0).unwrap().1[0].user, ben.user());
}

#[tokio::test]
async fn no_more_versions_are_kept_than_that() {
    let (documents, cx) = (documents(), anna());
    for n in 0..VERSIONS + 3 {
        documents.write(&cx, Name::Tools, &n.to_string(), None).await.unwrap();
    }
    let (count, heads) = documents.history(&cx, Name::Tools, 1, 199).unwrap();
    assert_eq!((count, heads[0].version), (200, 4));
    assert!(documents.version(&cx, Name::Tools, 3).is_err());
}

#[tokio::test]
async fn each_person_has_their_own_and_everybody_the_rest() {
    let (documents, anna, ben) = (documents(), anna(), ben());
    documents.write(&anna, Name::User, "rows", None).await.unwrap();
    documents.write(&anna, Name::Team, "the yard", None).await.unwrap();
    let text = |cx: &Cx, name| documents.text(cx, name).unwrap();
    assert_eq!((text(&anna, Name::User).as_str(), text(&ben, Name::User).as_str()), ("rows", ""));
    assert_eq!((text(&anna, Name::Team).as_str(), text(&ben, Name::Team).as_str()), ("the yard", "the yard"));
    assert_eq!(documents.history(&ben, Name::User, 9, 0).unwrap().0, 0);
    assert!(documents.version(&ben, Name::User, 1).is_err());
    // A personal document begins as a copy of the shared one.
    let common = Stamp {
        scope: Scope::Agent(AgentId::GENERAL),
        owner: UserId::OWNER,
        audience: Audience::Household,
        label: Label::Own,
        source: "test".into(),
    };
    let record = Current { name: "MEMORY.md".into(), text: "the house".into(), version: 7, by_admin: true };
    documents.current.insert_as(common, record).await.unwrap();
    assert_eq!((text(&anna, Name::Memory).as_str(), text(&ben, Name::Memory).as_str()), ("the house", "the house"));
    let own = documents.edit(&ben, Name::Memory, Edit::Append("mine".into())).await.unwrap();
    assert_eq!((own.text.as_str(), own.version), ("the house\nmine", 1));
    assert_eq!(text(&anna, Name::Memory), "the house");
    // One that is deleted no longer hides it, and its history counts on.
    let gone = documents.write(&ben, Name::Memory, "", Some(1)).await.unwrap();
    assert_eq!((gone.text.as_str(), gone.version), ("", 2));
    let now = documents.read(&ben, Name::Memory).unwrap();
    assert_eq!((now.text.as_str(), now.version), ("the house", 0));
    assert_eq!(documents.history(&ben, Name::Memory, 9, 0).unwrap().0, 2);
    for seen in [1, 3] {
        let stale = documents.write(&ben, Name::Memory, "x", Some(seen)).await;
        assert!(matches!(stale, Err(Error::Unavailable(_))), "{seen}");
    }
    let back = documents.rollback(&ben, Name::Memory, 1, Some(2)).await.unwrap();
    assert_eq!((back.text.as_str(), back.version), ("the house\nmine", 3));
    documents.write(&ben, Name::Memory, "", None).await.unwrap();
    assert_eq!(documents.write(&ben, Name::Memory, "new", Some(0)).await.unwrap().version, 5);
}

#[tokio::test]
async fn only_an_admin_changes_what_everybodys_runs_obey() {
    let (documents, anna, ben) = (documents(), anna(), ben());
    documents.write(&anna, Name::Soul, "dry", None).await.unwrap();
    for name in Name::ALL {
        let own = matches!(name, Name::User | Name::Memory | Name::LearnedNotes);
        for caller in [ben.clone(), run_of(&ben)] {
            let results = [
                documents.write(&caller, name, "Obey Ben.", None).await,
                documents.edit(&caller, name, Edit::Append("Always.".into())).await,
                documents.rollback(&caller, name, 0, None).await,
            ];
            for result in results {
                match (own, result) {
                    (true, result) => drop(result.unwrap()),
                    (false, result) => {
                        let error = result.unwrap_err();
                        assert!(matches!(&error, Error::Denied(why) if why.contains("only an admin")), "{error}");
                    }
                }
            }
        }
    }
    assert_eq!(documents.text(&anna, Name::Soul).unwrap(), "dry");
}

#[tokio::test]
async fn what_a_member_wrote_last_taints_the_runs_of_others() {
    let (documents, anna, ben) = (documents(), anna(), ben());
    let told = |cx: &Cx| {
        let reader = run_of(cx);
        documents.text(&reader, Name::LearnedNotes).unwrap();
        reader.label()
    };
    let labels = || (told(&anna), told(&ben), told(&self::ben()));
    let (own, bens) = (Label::Own, Label::Member(ben.user()));
    let somebodys = Label::Member(UserId::SOMEBODY);
    documents.write(&anna, Name::LearnedNotes, "- Tea at four.", None).await.unwrap();
    assert_eq!(labels(), (own, own, own));
    // Directly, and in a run.
    for writer in [ben.clone(), run_of(&ben)] {
        documents.edit(&writer, Name::LearnedNotes, Edit::Append("- Ben rows.".into())).await.unwrap();
        assert_eq!(labels(), (bens, own, bens));
        let version = documents.peek(&anna, Name::LearnedNotes).unwrap().version;
        let reader = run_of(&anna);
        documents.version(&reader, Name::LearnedNotes, version).unwrap();
        assert_eq!(reader.label(), bens);
    }
    // An admin's run that adds to it has read it, and a rollback is not a review; saving the text is.
    let members = documents.peek(&anna, Name::LearnedNotes).unwrap();
    documents.edit(&run_of(&anna), Name::LearnedNotes, Edit::Append("- Nora sails.".into())).await.unwrap();
    assert_eq!(labels(), (somebodys, somebodys, somebodys));
    documents.write(&anna, Name::LearnedNotes, "clean", None).await.unwrap();
    documents.rollback(&anna, Name::LearnedNotes, members.version, None).await.unwrap();
    assert_eq!(labels(), (somebodys, somebodys, somebodys));
    documents.write(&anna, Name::LearnedNotes, &members.text, None).await.unwrap();
    assert_eq!(labels(), (own, own, own));
    // Another admin can save it too, even with the same text.
    let admin = Principal { user: UserId(Id::new()), role: Role::Admin, agent: AgentId::GENERAL };
    let admin = Cx::root(ports(), admin, Via::direct(Channel::Api));
    documents.write(&ben, Name::LearnedNotes, "- Ben rows.", None).await.unwrap();
    assert_eq!(labels(), (bens, own, bens));
    documents.write(&admin, Name::LearnedNotes, "- Ben rows.", None).await.unwrap();
    assert_eq!(labels(), (own, own, own));
    // An empty text has no author.
    documents.write(&ben, Name::LearnedNotes, "", None).await.unwrap();
    assert_eq!(labels(), (own, own, own));
}

#[tokio::test]
async fn what_came_from_outside_taints_until_a_person_writes() {
    let (documents, person) = (documents(), anna());
    let write = async |run: &Cx, operation: Edit| documents.edit(run, Name::LearnedNotes, operation).await.unwrap();
    let told = || {
        let reader = run_of(&person);
        documents.text(&reader, Name::LearnedNotes).unwrap();
        reader.label()
    };
    let tainted = run_of(&person);
    tainted.taint(Label::Outside);
    write(&tainted, Edit::Replace("from a page".into())).await;
    assert_eq!(told(), Label::Outside);
    // A clean run or a person that only adds to it does not remove the label.
    let clean = run_of(&person);
    write(&clean, Edit::Append("more".into())).await;
    assert_eq!((clean.label(), told()), (Label::Outside, Label::Outside));
    documents.edit(&anna(), Name::LearnedNotes, Edit::Append("still".into())).await.unwrap();
    assert_eq!(told(), Label::Outside);
    // Writing the same text does; a rollback to the old one does not.
    let text = documents.peek(&anna(), Name::LearnedNotes).unwrap().text;
    documents.write(&anna(), Name::LearnedNotes, &text, None).await.unwrap();
    assert_eq!(told(), Label::Own);
    documents.rollback(&anna(), Name::LearnedNotes, 1, None).await.unwrap();
    assert_eq!(told(), Label::Outside);
    // Reading the length does not taint.
    let reader = run_of(&person);
    documents.peek(&reader, Name::LearnedNotes).unwrap();
    assert_eq!(reader.label(), Label::Own);
}

#[tokio::test]
async fn a_change_is_told_to_whom_it_concerns() {
    let (documents, cx) = (documents(), anna());
    let mut heard = cx.ports().bus.listen(None);
    documents.write(&cx, Name::Soul, "one", None).await.unwrap();
    documents.write(&cx, Name::Soul, "one", None).await.unwrap();
    documents.write(&cx, Name::User, "two", None).await.unwrap();
    let mut all = vec![];
    for _ in 0..2 {
        let tool::BusEvent::Event(event) = heard.next().await.unwrap() else { panic!() };
        all.push((event.data.clone(), event.to));
    }
    let expected =
        [(json!({"name": "SOUL.md", "version": 1}), None), (json!({"name": "USER.md", "version": 1}), Some(cx.user()))];
    assert_eq!(all, expected);
}

#[tokio::test]
async fn the_last_text_of_a_person_outlives_every_change_of_the_agent() {
    let (documents, anna) = (documents(), anna());
    documents.write(&anna, Name::Soul, "by hand", None).await.unwrap();
    let edit = async |n: u32| documents.write(&run_of(&anna), Name::Soul, &format!("text {n}"), None).await.unwrap();
    for n in 0..VERSIONS + 20 {
        edit(n).await;
    }
    let change = || {
        let all = documents.notices.list(&anna, &store::Listing::default()).unwrap();
        assert_eq!(all.len(), 1, "changes in a row share one notice");
        all[0].value.clone()
    };
    let last = change();
    assert_eq!((last.version, last.document_change().unwrap().before), (VERSIONS + 21, 1));
    assert!(last.text.starts_with("It changed this document 220 times"), "{}", last.text);
    assert_eq!(documents.version(&anna, Name::Soul, 1).unwrap().text, "by hand");
    assert_eq!(documents.history(&anna, Name::Soul, 1, 0).unwrap().0, VERSIONS as usize);
    // A newer text by a person releases the old one once no notice refers to it.
    documents.write(&anna, Name::Soul, "by hand again", None).await.unwrap();
    assert!(documents.version(&anna, Name::Soul, 1).is_ok(), "the notice leads there");
    let all = documents.notices.list(&anna, &store::Listing::default()).unwrap();
    documents.notices.delete(&anna, all[0].id).await.unwrap();
    edit(1000).await;
    assert!(documents.version(&anna, Name::Soul, 1).is_err());
    assert_eq!(documents.history(&anna, Name::Soul, 1, 0).unwrap().0, VERSIONS as usize);
    let last = change();
    assert_eq!(last.document_change().unwrap().before, VERSIONS + 22);
}

#[tokio::test]
async fn one_run_changes_documents_only_a_few_times() {
    let (documents, anna) = (documents(), anna());
    let run = run_of(&anna);
    let append = |n: u32| Edit::Append(format!("line {n}"));
    for n in 0..PER_RUN {
        let name = if n % 2 == 0 { Name::Soul } else { Name::LearnedNotes };
        documents.edit(&run, name, append(n)).await.unwrap();
        // Failed edits do not count.
        documents.edit(&run, name, Edit::Delete("nothing like it".into())).await.unwrap_err();
    }
    // Nested runs share the count.
    for cx in [&run, &run.in_run(Id::new(), None, Default::default())] {
        let refused = documents.edit(cx, Name::Soul, append(9)).await.unwrap_err();
        assert!(matches!(&refused, Error::Denied(why) if why.contains("at most 5 times")), "{refused}");
    }
    documents.edit(&run_of(&anna), Name::Soul, append(10)).await.unwrap();
    for n in 11..20 {
        documents.edit(&anna, Name::Soul, append(n)).await.unwrap();
    }
}
