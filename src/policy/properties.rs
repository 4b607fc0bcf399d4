//! Properties over all policies and calls: an extra deny or a missing allow never widens anything, explanations agree
//! with decisions, and decisions are deterministic.

use crate::{samples::*, *};
use proptest::{
    collection::{btree_map, vec},
    option,
    prelude::*,
    sample::{Index, select},
};
use serde_json::{Value, json};
use tool::{Area, Bounds, Channel, Label, Level, Owner, Principal, Role, Subagent, Via};

fn entry() -> impl Strategy<Value = String> {
    let groups = GROUPS.iter().map(|g| format!("group:{g}"));
    let all = names().into_iter().map(str::to_owned).chain(groups).chain(["*".into(), "unknown".into()]);
    select(all.collect::<Vec<_>>())
}

fn list() -> impl Strategy<Value = Vec<String>> {
    vec(entry(), 0..4)
}

/// An allow list that often contains much, so that later rules matter.
fn allow() -> impl Strategy<Value = Option<Vec<String>>> {
    prop_oneof![3 => Just(None), 1 => list().prop_map(Some), 2 => list().prop_map(|mut l| { l.push("*".into()); Some(l) })]
}

fn profile() -> impl Strategy<Value = Profile> {
    prop_oneof![3 => Just(Profile::Full), 1 => select(Profile::ALL)]
}

fn autonomy() -> impl Strategy<Value = Option<Autonomy>> {
    option::of(select(Autonomy::ALL))
}

fn allows() -> impl Strategy<Value = AllowPolicy> {
    allow().prop_map(|allow| AllowPolicy { allow })
}

fn agent() -> impl Strategy<Value = AgentPolicy> {
    (option::of(profile()), allow(), list(), list(), btree_map(Just("openai".to_owned()), allows(), 0..2), autonomy())
        .prop_map(|(profile, allow, deny, also_allow, by_provider, autonomy)| AgentPolicy {
            profile,
            allow,
            deny,
            also_allow,
            by_provider,
            autonomy,
        })
}

const PATHS: &[&str] = &[".", "notes", "/tmp", "/tmp/a"];
const HOSTS: &[&str] = &["*", "example.org", "*.example.org", "127.0.0.1"];

fn user() -> impl Strategy<Value = UserPolicy> {
    let some = |all: &'static [&str]| option::of(vec(select(all).prop_map(str::to_owned), 0..3));
    let level = select(vec![Level::None, Level::Read, Level::Write, Level::Execute, Level::Admin]);
    let reach = (option::of(level), option::of(vec(select(Area::ALL), 0..8)), some(PATHS), some(HOSTS));
    (option::of(select(Preset::ALL)), reach, list(), list(), list(), autonomy()).prop_map(
        |(preset, (level, areas, allowed_paths, allowed_hosts), allowed_tools, denied_tools, ask, autonomy)| {
            UserPolicy {
                preset,
                level,
                areas,
                allowed_tools,
                denied_tools,
                allowed_paths,
                allowed_hosts,
                ask,
                autonomy,
            }
        },
    )
}

fn policies() -> impl Strategy<Value = Policy> {
    let lists = (allow(), list(), list(), list(), list());
    let provider = (option::of(profile()), allow()).prop_map(|(profile, allow)| ProviderPolicy { profile, allow });
    let maps = (
        btree_map(Just("openai".to_owned()), provider, 0..2),
        btree_map(Just("general".to_owned()), agent(), 0..2),
        btree_map(Just("c".to_owned()), allows(), 0..2),
        btree_map(Just(ME), user(), 0..2),
    );
    (autonomy(), profile(), lists, maps).prop_map(
        |(autonomy, profile, (allow, deny, also_allow, ask, sub), (by_provider, agents, chats, users))| Policy {
            autonomy,
            profile,
            allow,
            deny,
            also_allow,
            ask,
            by_provider,
            agents,
            chats,
            subagents: SubagentPolicy { deny: sub },
            users,
        },
    )
}

fn arguments() -> impl Strategy<Value = Value> {
    select(vec![
        json!({}),
        json!({"text": "hi"}),
        json!({"path": "notes/a"}),
        json!({"path": "/tmp/b"}),
        json!({"path": "../a"}),
        json!({"url": "https://example.org"}),
        json!({"url": "https://a.example.org/x"}),
        json!({"url": "http://[bad"}),
    ])
}

fn calls() -> impl Strategy<Value = Call> {
    let owner = || prop_oneof![4 => Just(Owner::Core), 1 => Just(Owner::Model(ME)), 1 => Just(Owner::Person(OTHER))];
    let role = prop_oneof![1 => Just(Role::Viewer), 1 => Just(Role::Member), 3 => Just(Role::Admin)];
    let subagent = prop_oneof![4 => Just(None), 1 => Just(Some(Subagent::Branch)), 1 => Just(Some(Subagent::Leaf))];
    let pattern = select(vec![json!("*"), json!({"text": "*"}), json!({}), json!({"url": "https://example.org"})]);
    let place = (select(names()), arguments(), role, owner(), any::<bool>());
    let bounds = (select(vec![Channel::Page, Channel::Machine]), any::<bool>(), any::<bool>(), subagent, allow());
    let rest = (0..3u8, prop::bool::weighted(0.2), option::of(pattern));
    (place, bounds, rest).prop_map(|((name, args, role, maker, in_run), (channel, chat, by_word, sub, only), rest)| {
        let (read, consented, pattern) = rest;
        let only = only.map(|l| l.iter().map(|e| e.as_str().into()).collect());
        let mut call = call(name).args(args).maker(maker);
        call.principal = Principal { role, ..call.principal };
        call.in_run = in_run;
        call.via = Via { chat: chat.then(|| "c".into()), ..Via::direct(channel) };
        call.bounds = Bounds { by_word, subagent: sub, only, ..call.bounds };
        call = match read {
            1 => call.tainted(),
            2 => call.after_words_of(MIA, Role::Member),
            _ => call,
        };
        call.consented = consented;
        if let Some(pattern) = pattern { call.granted(3, pattern) } else { call }
    })
}

/// The generated calls reach every verdict and every rule; otherwise the properties would prove little.
#[test]
fn the_calls_reach_every_rule() {
    use proptest::{strategy::ValueTree, test_runner::TestRunner};
    let mut runner = TestRunner::deterministic();
    let mut rules = std::collections::BTreeMap::<&str, u32>::new();
    for _ in 0..6000 {
        let (policy, call) = (policies(), calls()).new_tree(&mut runner).unwrap().current();
        *rules.entry(call.under(&policy).0.rule).or_default() += 1;
    }
    println!("{rules:?}");
    let count = |rule| rules.get(rule).copied().unwrap_or(0);
    assert!(rules.len() == 36, "{rules:?}");
    assert!(count("default") > 100 && count("autonomy") > 50 && count("approved") > 20, "{rules:?}");
}

/// How permissive a verdict is.
fn width(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Deny => 0,
        Verdict::Ask => 1,
        Verdict::Allow => 2,
    }
}

/// Every deny and ask list; absent ones are created empty.
fn denies(policy: &mut Policy) -> [&mut Vec<String>; 6] {
    let agent = policy.agents.entry("general".into()).or_default();
    let user = policy.users.entry(ME).or_default();
    [
        &mut policy.deny,
        &mut policy.ask,
        &mut policy.subagents.deny,
        &mut agent.deny,
        &mut user.denied_tools,
        &mut user.ask,
    ]
}

/// The number of allow lists.
const LISTS: usize = 13;

/// Remove one entry from one allow list; false when that list has none.
fn narrow(policy: &mut Policy, call: &mut Call, which: usize, at: Index) -> bool {
    fn take<T>(list: Option<&mut Vec<T>>, at: Index) -> bool {
        let Some(list) = list.filter(|l| !l.is_empty()) else { return false };
        list.remove(at.index(list.len()));
        true
    }
    let provider = policy.by_provider.get_mut("openai");
    let mut agent = policy.agents.get_mut("general");
    let user = policy.users.get_mut(&ME);
    match which {
        0 => take(policy.allow.as_mut(), at),
        1 => take(Some(&mut policy.also_allow), at),
        2 => take(provider.and_then(|p| p.allow.as_mut()), at),
        3 => take(agent.as_mut().and_then(|a| a.allow.as_mut()), at),
        4 => take(agent.as_mut().map(|a| &mut a.also_allow), at),
        5 => take(agent.and_then(|a| a.by_provider.get_mut("openai")).and_then(|p| p.allow.as_mut()), at),
        6 => take(policy.chats.get_mut("c").and_then(|c| c.allow.as_mut()), at),
        7 => take(user.map(|u| &mut u.allowed_tools), at),
        8 => take(user.and_then(|u| u.areas.as_mut()), at),
        9 => take(user.and_then(|u| u.allowed_paths.as_mut()), at),
        10 => take(user.and_then(|u| u.allowed_hosts.as_mut()), at),
        11 => take(Some(&mut call.grants), at),
        _ => {
            let mut only = call.bounds.only.as_ref().map(|o| o.to_vec());
            let taken = take(only.as_mut(), at);
            call.bounds.only = only.map(Into::into);
            taken
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_deny_more_never_widens(policy in policies(), call in calls(), place in 0..6usize, entry in entry()) {
        let before = call.under(&policy).0;
        let mut more = policy.clone();
        denies(&mut more)[place].push(entry);
        let after = call.under(&more).0;
        prop_assert!(width(after.verdict) <= width(before.verdict), "{before:?} became {after:?}");
    }

    #[test]
    fn an_allow_less_never_widens(policy in policies(), call in calls(), at in any::<Index>()) {
        let before = call.under(&policy).0;
        for which in 0..LISTS {
            let (mut less, mut narrowed) = (policy.clone(), call.clone());
            if narrow(&mut less, &mut narrowed, which, at) {
                let after = narrowed.under(&less).0;
                prop_assert!(width(after.verdict) <= width(before.verdict), "{which}: {before:?} became {after:?}");
            }
        }
    }

    #[test]
    fn less_autonomy_never_widens(policy in policies(), call in calls(), of_agent in any::<bool>()) {
        let before = call.under(&policy).0;
        let mut less = policy.clone();
        if of_agent {
            less.agents.entry("general".into()).or_default().autonomy = Some(Autonomy::None);
        } else {
            less.users.entry(ME).or_default().autonomy = Some(Autonomy::None);
        }
        prop_assert!(width(call.under(&less).0.verdict) <= width(before.verdict));
    }

    #[test]
    fn taint_never_widens(policy in policies(), call in calls()) {
        let own = Call { label: Label::Own, authors: vec![], ..call.clone() }.under(&policy).0;
        prop_assert!(width(call.tainted().under(&policy).0.verdict) <= width(own.verdict));
    }

    #[test]
    fn what_is_told_is_what_is_decided(policy in policies(), call in calls()) {
        let (decision, told) = call.under(&policy);
        agree(&decision, &told);
        // A serialized and parsed policy decides the same.
        let again: Policy = serde_json::from_value(serde_json::to_value(&policy).unwrap()).unwrap();
        prop_assert_eq!(call.under(&again).0, decision);
    }

    #[test]
    fn reading_never_panics(text in "\\PC{0,40}", key in "[a-z]{0,6}(path|url|host)?") {
        let policy = Policy { users: [(ME, UserPolicy {
            allowed_paths: Some(vec![text.clone()]), allowed_hosts: Some(vec![text.clone()]), ..UserPolicy::default()
        })].into(), ..Policy::default() };
        let _ = policy.check();
        for name in ["read_file", "fetch_web_page"] {
            let _ = call(name).tainted().args(json!({key.clone(): text.clone()})).under(&policy);
        }
        let args = json!({"a": text});
        let pattern = Pattern::parse(&Pattern::exactly(&args).to_json()).unwrap();
        prop_assert!(pattern.covers(&args) && pattern.is_exact());
    }
}
