//! Contacts, on the real store in memory; today is 20 November 2026.

use super::{
    record::{Birthday, birthday, email, phone},
    *,
};
use crate::testing::{Kind, Tools, batches, is_private};
use proptest::prelude::*;

fn tools() -> Tools<impl Fn() -> Family<RecordStore<Contact>>> {
    let store = Store::in_memory().unwrap();
    Tools(move || family(&store))
}

#[tokio::test]
async fn what_is_told_of_somebody_known_completes_them() {
    let t = tools();
    for (tool, args, wanted) in [
        ("add_contact", json!({"name": "Mum"}), "I added Mum to your contacts."),
        ("add_contact", json!({"name": "mum", "birthday": "--03-12"}), "I added that to Mum in your contacts."),
        ("add_contact", json!({"name": "Mum", "phone": "0664 1"}), "I added that to Mum in your contacts."),
        ("list_contacts", json!({"search": "mum"}), "Mum: phone 0664 1, birthday on 12 March."),
        // Another number is another person, until somebody says that it changed.
        ("add_contact", json!({"name": "Mum", "phone": "0664 2"}), "I added Mum to your contacts."),
        ("list_contacts", json!({}), "You have 2 contacts:\n- Mum\n- Mum"),
    ] {
        assert_eq!(t.say(tool, args).await, wanted, "{tool}");
    }
}

#[tokio::test]
async fn a_contact_lives_from_adding_to_deletion() {
    let t = tools();
    let ben =
        json!({"name": "Ben Huber", "phone": "0664 123-4567", "relationship": "friend", "birthday": "1990-05-14"});
    let table = [
        ("list_contacts", json!({}), "You have no contacts yet."),
        ("add_contact", ben, "I added Ben Huber to your contacts."),
        (
            "batch_add_contacts",
            json!({"contacts": [
                {"name": "ana Novak", "email": "ana@example.org", "birthday": "--11-20"},
                {"name": "Dr. Zahn", "relationship": "dentist", "company": "Zahn & Co", "address": "Main Street 1"},
            ]}),
            "I added ana Novak and Dr. Zahn to your contacts.",
        ),
        ("list_contacts", json!({}), "You have 3 contacts:\n- Ana Novak\n- Ben Huber\n- Dr. Zahn"),
        ("list_contacts", json!({"search": "ben"}), "Ben Huber (friend): phone 0664 123-4567, birthday on 14 May."),
        (
            "list_contacts",
            json!({"search": "+43 664 12345"}),
            "I found nobody called “+43 664 12345” in your contacts.",
        ),
        (
            "list_contacts",
            json!({"search": "06641234567"}),
            "Ben Huber (friend): phone 0664 123-4567, birthday on 14 May.",
        ),
        ("list_contacts", json!({"search": "example"}), "ana Novak: email ana@example.org, birthday today."),
        (
            "list_contacts",
            json!({"search": "dentist"}),
            "Dr. Zahn (dentist): works at Zahn & Co, address Main Street 1.",
        ),
        (
            "update_contact",
            json!({"contactId": "ana", "email": "", "birthday": ""}),
            "I changed the contact “ana Novak”.",
        ),
        ("list_contacts", json!({"search": "ana"}), "ana Novak is in your contacts, but you have not told me more."),
        (
            "delete_contact",
            json!({"contactId": "ben"}),
            "nothing was deleted; if you mean “Ben Huber”, give its whole name or its id",
        ),
        ("delete_contact", json!({"contactId": "ben huber"}), "I deleted the contact “Ben Huber”."),
        (
            "delete_contact",
            json!({"contactId": "ben"}),
            "there is no contact `ben`: `list_contacts` shows what there is, with ids",
        ),
    ];
    for (tool, args, said) in table {
        assert_eq!(t.say(tool, args.clone()).await, said, "{tool} {args}");
    }
}

#[tokio::test]
async fn a_contact_answers_what_is_known_of_it() {
    let t = tools();
    let all = json!({"name": "Ana", "email": "a@x.org", "phone": "112", "company": "X", "jobTitle": "cook", "relationship": "aunt",
        "birthday": "2000-02-29", "address": "here", "notes": "n", "isFavorite": true, "shared": true});
    let added = t.ask("add_contact", all.clone()).await;
    for (field, value) in all.as_object().unwrap() {
        assert_eq!(&added[field], value, "{field}");
    }
    assert_eq!((&added["nextBirthday"], added.as_object().unwrap().len()), (&json!("2027-02-28"), 15));
    let mut clear = json!({"contactId": "ana", "isFavorite": false, "shared": false});
    for field in ["email", "phone", "company", "jobTitle", "relationship", "birthday", "address", "notes"] {
        clear[field] = "".into();
    }
    let cleared = t.ask("update_contact", clear).await;
    let rest: Vec<&String> =
        cleared.as_object().unwrap().iter().filter(|(_, v)| !v.is_null()).map(|(k, _)| k).collect();
    assert_eq!(rest, ["createdAt", "id", "isFavorite", "name", "shared", "updatedAt"]);
}

#[tokio::test]
async fn names_are_found_as_they_are_typed_and_namesakes_told_apart() {
    let t = tools();
    for (name, phone) in [("Sam Wright", "07700 900301"), ("Sam Bell", "07700 900302"), ("Dr Patel", "020 7946 0321")] {
        t.ask("add_contact", json!({"name": name, "phone": phone})).await;
    }
    for (search, said) in [
        ("sams", "2 contacts:\n- Sam Bell: phone 07700 900302.\n- Sam Wright: phone 07700 900301."),
        ("doctor patel", "Dr Patel: phone 020 7946 0321."),
        ("bells", "Sam Bell: phone 07700 900302."),
        ("tams", "I found nobody called “tams” in your contacts."),
    ] {
        assert_eq!(t.say("list_contacts", json!({"search": search})).await, said, "{search}");
    }
}

#[tokio::test]
async fn a_list_is_narrowed() {
    let t = tools();
    for (name, company, relationship, favorite) in [
        ("d", "X", "friend", true),
        ("B", "y", "friend", false),
        ("a", "x", "aunt", true),
        ("C", "xx", "Friend", false),
    ] {
        let args = json!({"name": name, "company": company, "relationship": relationship, "isFavorite": favorite, "jobTitle": format!("cook {name}")});
        t.ask("add_contact", args).await;
    }
    for (args, names) in [
        (json!({}), "a B C d"),
        (json!({"company": "x"}), "a d"),
        (json!({"relationship": "FRIEND"}), "B C d"),
        (json!({"relationship": "friend", "company": "X"}), "d"),
        (json!({"isFavorite": true}), "a d"),
        (json!({"isFavorite": false, "relationship": "friend"}), "B C"),
        (json!({"search": "cook xx"}), "C"),
        (json!({"search": "aunt"}), "a"),
        (json!({"search": "0"}), ""),
        (json!({"search": "00"}), ""),
        (json!({"company": " ", "search": ""}), "a B C d"),
        (json!({"limit": 2, "offset": 1}), "B C"),
        (json!({"company": "z"}), ""),
    ] {
        assert_eq!(t.listed("list_contacts", args.clone(), "name").await, names, "{args}");
    }
}

#[tokio::test]
async fn nonsense_is_refused_and_changes_nothing() {
    let t = tools();
    t.ask("add_contact", json!({"name": "one"})).await;
    t.refuses(
        "list_contacts",
        &[
            ("add_contact", json!({"name": " "}), "the name is empty"),
            ("add_contact", json!({"name": "x".repeat(201)}), "the name is longer"),
            ("add_contact", json!({"name": "x", "email": "x"}), "is no email address"),
            ("add_contact", json!({"name": "x", "phone": "x"}), "is no phone number"),
            ("add_contact", json!({"name": "x", "birthday": "9999-01-01"}), "nobody was born"),
            ("add_contact", json!({"name": "x", "birthday": "ä".repeat(10_000)}), "is no birthday"),
            ("add_contact", json!({"name": "x", "notes": "x".repeat(10_001)}), "the text in notes is longer"),
            ("update_contact", json!({"contactId": "one"}), "say what to change"),
            ("update_contact", json!({"contactId": "one", "name": ""}), "the name is empty"),
            ("update_contact", json!({"contactId": "one", "name": "two", "email": "@"}), "is no email address"),
            ("delete_contact", json!({"contactId": "\t"}), "say which contact"),
        ],
    )
    .await;
}

#[tokio::test]
async fn contacts_are_private_and_batches_whole() {
    let kind = Kind {
        add: ("add_contact", json!({"name": "Zebra", "company": "zoo", "relationship": "pet", "isFavorite": true})),
        list: "list_contacts",
        which: "contactId",
        reads: &[],
        changes: &[("update_contact", json!({"phone": "112"})), ("delete_contact", json!({}))],
    };
    is_private(&tools(), kind).await;
    let names = ("batch_add_contacts", "contacts", "contact");
    let bad = json!({"name": "x", "email": "x"});
    batches(&tools(), names, "list_contacts", |name| json!({"name": name}), bad).await;
}

proptest! {
    #[test]
    fn no_text_breaks_a_check(text in "\\PC{0,40}", day in "[-0-9]{0,12}") {
        let cx = crate::testing::cx();
        for text in [&text, &day] {
            let kept = [email(text), phone(text), birthday(&cx, text)];
            for kept in kept.into_iter().flatten().flatten() {
                prop_assert_eq!(kept.as_str(), text.trim());
            }
        }
        if let Some(next) = Birthday::read(&day).and_then(|birthday| birthday.next("2026-11-20".parse().unwrap())) {
            prop_assert!(next.to_string().as_str() >= "2026-11-20");
        }
    }
}
