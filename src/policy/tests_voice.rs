//! Decisions about calls by voice.

use crate::{
    Policy, Verdict,
    samples::{call, policy},
};
use serde_json::json;
use tool::{Owner, Peer, Role};

#[test]
fn only_listed_tools_are_called_by_voice() {
    for (name, rule) in [
        ("control_thing", "default"),
        ("list_notes", "default"),
        ("search_tools", "meta"),
        ("gpio_write", "voice"),
        ("send_mail", "voice"),
        ("add_note", "voice"),
        ("cron", "voice"),
    ] {
        let said = call(name).voice();
        assert_eq!(said.under(&Policy::default()).0.rule, rule, "{name}");
        // A sentence that reflex repeats word by word is no more than one that a model understood.
        assert_eq!(said.by_word().under(&Policy::default()).0.rule, rule, "{name}");
    }
}

#[test]
fn no_document_and_no_approval_widens_voice() {
    let wide = policy(json!({"alsoAllow": ["*"], "autonomy": "full", "users":
        {(tool::UserId::VOICE.to_string()): {"preset": "permissive", "allowedTools": ["*"]}}}));
    for name in ["gpio_write", "send_mail", "add_note"] {
        for said in [call(name).voice(), call(name).voice().consented(), call(name).voice().role(Role::Admin)] {
            assert_eq!(said.under(&wide).0.rule, "voice", "{name}");
        }
    }
    // Neither does another principal on the same door, nor the principal on another door.
    let mut said = call("gpio_write");
    said.via.peer = Peer::Voice;
    assert_eq!(said.under(&wide).0.rule, "voice");
    let mut said = call("gpio_write").voice();
    said.via.peer = Peer::Direct;
    assert_eq!(said.under(&wide).0.rule, "voice");
}

#[test]
fn nothing_is_opened_by_voice() {
    let mut said = call("control_thing").voice();
    assert_eq!(said.under(&Policy::default()).0.verdict, Verdict::Allow);
    said.opens = true;
    let (decision, _) = said.under(&Policy::default());
    assert_eq!((decision.verdict, decision.rule), (Verdict::Deny, "voice"));
    assert!(decision.reason.contains("open, unlock or disarm"), "{}", decision.reason);
    assert_eq!(said.inside().consented().under(&Policy::default()).0.rule, "voice");
}

#[test]
fn what_a_listed_tool_calls_is_its_own() {
    assert_eq!(call("gpio_write").voice().inside().under(&Policy::default()).0.rule, "default");
    for name in ["delete_file", "execute_shell"] {
        assert_eq!(call(name).voice().inside().under(&Policy::default()).0.rule, "voice", "{name}");
    }
    let custom = call("control_thing").voice().inside().maker(Owner::Person(tool::UserId::OWNER));
    assert_eq!(custom.under(&Policy::default()).0.rule, "voice");
}

#[test]
fn an_approval_cannot_be_given_by_voice() {
    let asks = policy(json!({"ask": ["control_thing"]}));
    assert_eq!(call("control_thing").under(&asks).0.verdict, Verdict::Ask);
    let (decision, explained) = call("control_thing").voice().under(&asks);
    assert_eq!((decision.verdict, decision.rule), (Verdict::Deny, "voice-approval"));
    assert!(decision.reason.contains("nobody can approve by voice"), "{}", decision.reason);
    assert!(explained.last().unwrap().says.starts_with("denied"));
    // A run that has read from outside: what it would ask about is refused.
    assert_eq!(call("control_thing").voice().tainted().under(&Policy::default()).0.rule, "voice-approval");
    assert_eq!(call("list_notes").voice().tainted().under(&Policy::default()).0.rule, "default");
}
