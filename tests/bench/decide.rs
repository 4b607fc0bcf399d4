//! The decision over a policy of 300 entries: what is allowed, refused and asked about, each at its own cost.

use crate::{Result, Watch, household};
use policy::{DecisionRequest, Rules, Verdict};
use serde_json::{Value, json};
use std::hint::black_box;
use tool::{Bounds, Channel, Label, Owner, Principal, Role, Via};

/// Decides each kind of call `rounds` times.
///
/// # Errors
/// When a decision is another than it should be: what is measured would be something else.
pub fn measure(rounds: usize) -> Result<Value> {
    let tools = household::tools();
    let (document, entries) = household::policy(&tools)?;
    let grants = household::grants(&tools, "share_note")?;
    let catalogue = household::Catalogue::of(&tools);
    let (rules, warnings) = Rules::compile(&document, &grants, &catalogue);
    if !warnings.is_empty() {
        return Err(format!("the policy names what is not there: {warnings:?}").into());
    }

    let principal = Principal { user: household::MARTA, role: Role::Member, ..Principal::owner() };
    let in_chat = Via { chat: Some("kitchen".into()), ..Via::direct(Channel::Page) };
    let plain = Via::direct(Channel::Page);
    let bounds = Bounds { provider: "openai".into(), ..Bounds::default() };
    let asked = |via, label| DecisionRequest {
        principal: &principal,
        via,
        maker: &Owner::Core,
        in_run: true,
        bounds: &bounds,
        label,
        authors: &[],
        inside: false,
        opens: false,
        destroys: false,
        additive: false,
        knows: &|url| url == "https://example.org/box",
        consented: false,
    };
    let post =
        json!({"id": "7-a-b", "url": "https://mail.example.org/in?x=1", "message": "Here it is.", "to": ["ida"]});
    let granted = json!({"id": "19-a-b", "url": "https://mail.example.org/in?x=1"});
    // The kind of call, the tool, its arguments, whether in the kitchen's chat and after reading from outside, and what is
    // decided by which rule.
    use {
        Label::{Outside, Own},
        Verdict::{Allow, Ask, Deny},
    };
    let calls = [
        ("allow", "list_tasks", json!({"status": "open", "limit": 20}), &plain, Own, Allow, "default"),
        ("allow, a path looked at", "export_notes", json!({"path": "exports/a/b.csv"}), &plain, Own, Allow, "default"),
        ("allow by one of 21 grants", "share_note", granted, &plain, Own, Allow, "grant"),
        ("deny, the first list", "batch_add_tasks", json!({"items": []}), &plain, Own, Deny, "denied"),
        ("deny, a path", "export_notes", json!({"path": "a/../../b"}), &plain, Own, Deny, "path"),
        ("deny, a host", "share_note", json!({"id": "1", "url": "https://example.com/"}), &plain, Own, Deny, "host"),
        ("deny, the last list", "list_tasks", json!({"limit": 20}), &in_chat, Own, Deny, "chat-allow"),
        ("ask, after reading from outside", "share_note", post.clone(), &plain, Outside, Ask, "tainted"),
        ("ask, by autonomy", "delete_task", json!({"id": "1"}), &plain, Own, Ask, "autonomy"),
    ];
    let mut found = serde_json::Map::new();
    for (kind, name, args, via, label, verdict, rule) in &calls {
        let tool = tools.iter().find(|t| *t.name == **name).ok_or_else(|| format!("there is no {name}"))?;
        let asked = asked(via, *label);
        let decided = policy::decide(&rules, &asked, tool, args);
        if (decided.verdict, decided.rule) != (*verdict, *rule) {
            return Err(format!("{kind}: {decided:?} instead of {verdict:?} by {rule}").into());
        }
        let watch = Watch::start();
        for _ in 0..rounds {
            black_box(policy::decide(black_box(&rules), black_box(&asked), black_box(tool), black_box(args)));
        }
        found.insert((*kind).to_owned(), (watch.cpu_ms() * 1e3 / rounds as f64).into());
    }
    let rules = entries + grants.len();
    Ok(json!({"microseconds": found, "policyEntries": entries, "grants": grants.len(), "rules": rules}))
}
