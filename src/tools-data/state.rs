//! State: values by key that an agent stores for a person across conversations.

use crate::json_text::{bounded_json, run_blocking};
use records::{quote, truncate};
use store::{Collection, Key, Level, Record, Store, Visit, Walk};
use text_kit::listing;
use tool::{Label, Scope, prelude::*};

/// The most characters of a key.
const KEY: usize = 256;
/// The most bytes of a value, as JSON.
const VALUE: usize = 64 * 1024;
/// The most keys of an agent for one person.
const KEYS: usize = 10_000;
/// How many characters of a value a sentence has.
const SPOKEN: usize = 80;

/// By key, in order.
const BY_KEY: u8 = 1;

/// A value under a key, for one person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Own {
    key: String,
    /// As JSON text.
    value: String,
}

/// The same for everybody who talks to the agent: read when a person has no value of their own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Common {
    key: String,
    value: String,
}

impl Record for Own {
    const NAME: &'static str = "state";
    const WORD: &'static str = "state";
    const LEVEL: Level = Level::AgentUser;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_KEY, ended(&self.key))]
    }
}

impl Record for Common {
    const NAME: &'static str = "agent-state";
    const WORD: &'static str = "state";
    const LEVEL: Level = Level::Agent;
    fn keys(&self) -> Vec<Key> {
        vec![Key::many(BY_KEY, ended(&self.key))]
    }
}

/// A key in the index, with a terminator so that no key is the prefix of another. Keys contain no NUL.
fn ended(key: &str) -> Vec<u8> {
    [key.as_bytes(), &[0]].concat()
}

/// The values of all agents.
#[derive(Clone)]
pub struct States {
    own: Collection<Own>,
    common: Collection<Common>,
}

/// Values by key.
pub fn family(store: &Store) -> Family<States> {
    let states = States { own: store.collection(), common: store.collection() };
    Family::new("state", "Values that an agent stores by key.", states)
        .title("Stored values")
        .area(Area::Memory)
        .phrases(include_str!("state.en"))
        .tool("get_state", Risk::Observe, get)
        .tags("read key value store variable setting remember")
        .tool("set_state", Risk::Write, set)
        .additive_where(keeps_what_is_there)
        .idempotent()
        .tags("write put key value store variable save")
        .tool("delete_state", Risk::Destroy, delete)
        .tags("remove clear forget key value")
        .tool("list_state_keys", Risk::Observe, list)
        .tags("show keys values names")
}

/// Checks a key.
fn key(key: &str) -> Result<&str> {
    let long = key.chars().count();
    if key.is_empty() || long > KEY || key.chars().any(char::is_control) {
        let text = format!("a key has 1 to {KEY} characters, none of them a control character; this one has {long}");
        return Err(Error::bad_args(text));
    }
    Ok(key)
}

/// Read the value that this agent stored for this person under a key; null when there is none.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Get {
    /// The key.
    key: String,
}

async fn get(states: States, cx: Cx, args: Get) -> Result<Output> {
    let walk = Walk::prefix(BY_KEY, ended(key(&args.key)?));
    let own = states.own.walk(&cx, &walk, |_| Visit::Yes)?.pop().map(|entry| entry.value.value);
    let found = match own {
        Some(value) => Some(value),
        None => states.common.walk(&cx, &walk, |_| Visit::Yes)?.pop().map(|entry| entry.value.value),
    };
    let name = quote(&args.key);
    // Records that are damaged are left out of a walk.
    if found.is_none() && states.own.count(&cx, &walk)? + states.common.count(&cx, &walk)? > 0 {
        return Err(Error::failed(format!("the value under {name} is damaged and cannot be read: set it again")));
    }
    let Some(text) = found else {
        return Ok(Output::json(json!({"value": null}))?.say(format!("No value is stored for {name}.")));
    };
    let value: Value = serde_json::from_str(&text)
        .map_err(|_| Error::failed(format!("the value under {name} cannot be read: set it again")))?;
    let spoken = truncate(value.as_str().unwrap_or(&text), SPOKEN);
    Ok(Output::json(json!({"value": value}))?.say(format!("{name} is {spoken}.")))
}

/// Store a value under a key for this person, replacing the old one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Set {
    /// The key, 256 characters at most.
    key: String,
    /// Any JSON value, 64 KB at most.
    value: Value,
}

/// Whether setting this key loses nothing of the person's: it is new, or its value came from outside too.
fn keeps_what_is_there(states: &States, cx: &Cx, args: &Value) -> bool {
    let Some(name) = args["key"].as_str() else { return false };
    let scope = Scope::AgentUser(cx.agent(), cx.user());
    let own = states.own.walk_in(scope, &Walk::prefix(BY_KEY, ended(name)), |_| Visit::Yes);
    own.is_ok_and(|all| all.iter().all(|entry| entry.label == Label::Outside))
}

async fn set(states: States, cx: Cx, args: Set) -> Result<Output> {
    let (name, value) = (key(&args.key)?.to_owned(), bounded_json("value", &args.value, VALUE)?);
    let walk = Walk::prefix(BY_KEY, ended(&name));
    if states.own.count(&cx, &walk)? == 0 && states.own.count(&cx, &Walk::prefix(BY_KEY, []))? >= KEYS {
        return Err(Error::bad_args(format!("there are {KEYS} keys already: delete some with `delete_state`")));
    }
    // The value is new as a whole, so its label is the run's.
    let (own, stamp, new) = (states.own.clone(), states.own.stamp(&cx, "set_state"), Own { key: name, value });
    let scope = Scope::AgentUser(cx.agent(), cx.user());
    let write = states.own.store().write(move |tx| {
        let found = own.find(tx, scope, BY_KEY, &ended(&new.key))?;
        let id = found.first().map_or_else(Id::new, |entry| entry.id);
        own.put(tx, id, &stamp, &new).map(drop)
    });
    write.await?;
    Ok(Output::json(json!({"ok": true}))?.say(format!("I stored that as {}.", quote(&args.key))))
}

/// Delete the value that this agent stored for this person under a key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Delete {
    /// The key.
    key: String,
}

async fn delete(states: States, cx: Cx, args: Delete) -> Result<Output> {
    let (own, name) = (states.own.clone(), ended(key(&args.key)?));
    let scope = Scope::AgentUser(cx.agent(), cx.user());
    let write = states.own.store().write(move |tx| {
        let found = own.find(tx, scope, BY_KEY, &name)?;
        found.iter().try_for_each(|entry| own.remove(tx, scope, entry.id).map(drop))?;
        Ok(!found.is_empty())
    });
    let deleted = write.await?;
    let name = quote(&args.key);
    let sentence = if deleted { format!("I deleted {name}.") } else { format!("No value was stored for {name}.") };
    Ok(Output::json(json!({"deleted": deleted}))?.say(sentence))
}

/// List the keys under which this agent stored values for this person, sorted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct List {
    /// Only keys with this prefix.
    #[serde(default)]
    prefix: String,
}

async fn list(states: States, cx: Cx, args: List) -> Result<Output> {
    let keys = run_blocking(move || {
        let walk = Walk::prefix(BY_KEY, args.prefix.as_bytes());
        let mut keys = std::collections::BTreeSet::new();
        let mut label = tool::Label::Own;
        states.own.walk(&cx, &walk, |entry| {
            label = label.max(entry.label);
            keys.insert(entry.value.key.clone());
            Visit::No
        })?;
        states.common.walk(&cx, &walk, |entry| {
            label = label.max(entry.label);
            keys.insert(entry.value.key.clone());
            Visit::No
        })?;
        cx.taint(label);
        Ok(keys.into_iter().collect::<Vec<String>>())
    })
    .await?;
    let names: Vec<String> = keys.iter().map(|key| quote(key)).collect();
    let sentence = match keys.len() {
        0 => "No values are stored.".to_owned(),
        1 => format!("One value is stored: {}.", names.concat()),
        n => listing(&format!("{n} values are stored"), &names, false),
    };
    Ok(Output::json(json!({"keys": keys}))?.say(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ask, cases, cx, fault, other};
    use proptest::prelude::*;
    use std::collections::BTreeMap;
    use store::{Audience, Stamp};
    use tool::{Label, UserId};

    async fn value(store: &Store, cx: &Cx, key: &str) -> Value {
        ask(store, cx, "get_state", json!({"key": key})).await.unwrap().content["value"].clone()
    }

    #[tokio::test]
    async fn values_are_kept_read_replaced_and_deleted() {
        let store = Store::in_memory().unwrap();
        let cx = cx();
        for kept in [json!("x"), json!(null), json!({"a": [1, 2.5, "ü", null]}), json!(7), json!(false)] {
            let set = ask(&store, &cx, "set_state", json!({"key": "k", "value": kept})).await.unwrap();
            assert_eq!((set.content, set.say.unwrap().as_str()), (json!({"ok": true}), "I stored that as “k”."));
            assert_eq!(value(&store, &cx, "k").await, kept);
        }
        assert_eq!(store.collection::<Own>().count(&cx, &Walk::prefix(BY_KEY, [])).unwrap(), 1, "replaced, not added");
        for deleted in [true, false] {
            let answer = ask(&store, &cx, "delete_state", json!({"key": "k"})).await.unwrap();
            assert_eq!(answer.content, json!({"deleted": deleted}));
        }
        assert_eq!(value(&store, &cx, "k").await, Value::Null);
    }

    #[tokio::test]
    async fn a_person_and_an_agent_see_their_own_and_what_the_agent_keeps_for_all() {
        let store = Store::in_memory().unwrap();
        let (anna, ben) = (cx(), other());
        let common = store.collection::<Common>();
        let stamp = Stamp {
            scope: Scope::Agent(anna.agent()),
            owner: UserId::OWNER,
            audience: Audience::Household,
            label: Label::Outside,
            source: "test".into(),
        };
        common.insert_as(stamp, Common { key: "tone".into(), value: "\"short\"".into() }).await.unwrap();
        ask(&store, &anna, "set_state", json!({"key": "tone", "value": "long"})).await.unwrap();
        ask(&store, &anna, "set_state", json!({"key": "mine", "value": 1})).await.unwrap();
        assert_eq!((value(&store, &anna, "tone").await, anna.label()), (json!("long"), Label::Own));
        assert_eq!((value(&store, &ben, "tone").await, ben.label()), (json!("short"), Label::Outside));
        assert_eq!(value(&store, &ben, "mine").await, Value::Null);
        let keys = async |cx: &Cx, prefix: &str| {
            ask(&store, cx, "list_state_keys", json!({"prefix": prefix})).await.unwrap().content["keys"].clone()
        };
        assert_eq!(keys(&anna, "").await, json!(["mine", "tone"]));
        assert_eq!((keys(&ben, "").await, keys(&ben, "x").await), (json!(["tone"]), json!([])));
        // One person cannot delete the value for everybody.
        assert_eq!(ask(&store, &ben, "delete_state", json!({"key": "tone"})).await.unwrap().content["deleted"], false);
        ask(&store, &anna, "delete_state", json!({"key": "tone"})).await.unwrap();
        assert_eq!(value(&store, &anna, "tone").await, "short");
    }

    #[tokio::test]
    async fn what_cannot_be_kept_is_refused() {
        let store = Store::in_memory().unwrap();
        let rows = [
            (json!({"key": "", "value": 1}), "bad_args: a key has 1 to 256 characters"),
            (json!({"key": "ä".repeat(257), "value": 1}), "this one has 257"),
            (json!({"key": "a\u{0}b", "value": 1}), "control character"),
            (json!({"key": "a\nb", "value": 1}), "control character"),
            (json!({"key": "k"}), "missing field `value`"),
            (json!({"key": "k", "value": "x".repeat(VALUE)}), "64 KB is the most"),
            (json!({"key": "k", "value": (0..200).fold(json!(1), |inner, _| json!([inner]))}), "nested too deep"),
            (json!({"key": "k", "value": 1, "other": 1}), "unknown field"),
        ];
        for (args, expected) in rows {
            let text = fault(ask(&store, &cx(), "set_state", args).await);
            assert!(text.contains(expected), "{text}");
        }
        ask(&store, &cx(), "set_state", json!({"key": "ä".repeat(256), "value": "x".repeat(VALUE - 2)})).await.unwrap();
        assert_eq!(store.collection::<Own>().count(&cx(), &Walk::prefix(BY_KEY, [])).unwrap(), 1);
    }

    #[tokio::test]
    async fn there_is_a_most_of_keys() {
        let store = Store::in_memory().unwrap();
        let (own, cx) = (store.collection::<Own>(), cx());
        let stamp = own.stamp(&cx, "test");
        let fill = store.write(move |tx| {
            (0..KEYS).try_for_each(|n| {
                own.put(tx, Id::new(), &stamp, &Own { key: format!("k{n:05}"), value: "1".into() }).map(drop)
            })
        });
        fill.await.unwrap();
        let text = fault(ask(&store, &cx, "set_state", json!({"key": "new", "value": 1})).await);
        assert!(text.contains("10000 keys already"), "{text}");
        ask(&store, &cx, "set_state", json!({"key": "k00007", "value": 2})).await.unwrap();
        ask(&store, &cx, "delete_state", json!({"key": "k00001"})).await.unwrap();
        ask(&store, &cx, "set_state", json!({"key": "new", "value": 1})).await.unwrap();
        let listed = ask(&store, &cx, "list_state_keys", json!({"prefix": "k0000"})).await.unwrap();
        assert_eq!(listed.content["keys"].as_array().unwrap().len(), 9);
        assert_eq!(
            listed.say.unwrap(),
            "9 values are stored:\n- “k00000”\n- “k00002”\n- “k00003”\n- “k00004”\n- “k00005”\n- “k00006”\n- “k00007”\n- “k00008”\n- “k00009”"
        );
    }

    proptest! {
        #![proptest_config(cases(24))]
        #[test]
        fn it_is_a_map(steps in prop::collection::vec(("[ab]{1,3}", prop::option::of(0_u8..9)), 1..30), prefix in "[ab]{0,2}") {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async {
                let (store, cx) = (Store::in_memory().unwrap(), cx());
                let mut model = BTreeMap::new();
                for (key, value) in steps {
                    match value {
                        Some(value) => {
                            ask(&store, &cx, "set_state", json!({"key": key, "value": value})).await.unwrap();
                            model.insert(key, value);
                        }
                        None => {
                            let gone = ask(&store, &cx, "delete_state", json!({"key": key})).await.unwrap();
                            assert_eq!(gone.content["deleted"], model.remove(&key).is_some());
                        }
                    }
                }
                for (key, value) in &model {
                    assert_eq!(super::tests::value(&store, &cx, key).await, *value);
                }
                let expected: Vec<&String> = model.keys().filter(|key| key.starts_with(&prefix)).collect();
                let listed = ask(&store, &cx, "list_state_keys", json!({"prefix": prefix})).await.unwrap();
                assert_eq!(listed.content["keys"], json!(expected));
            });
        }
    }
}
