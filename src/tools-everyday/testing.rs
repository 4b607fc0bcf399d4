//! Test support: calls at a fixed time, calling a tool by name, and tests that hold for every family of records.

use jiff::Zoned;
use std::sync::Arc;
use tool::prelude::{Value, json};
use tool::{AgentId, Channel, Cx, Error, Family, FixedClock, Id, Output, Ports, Principal, Result, Role, UserId, Via};

/// A direct call by the owner, on Friday, 20 November 2026, 14:30 in Vienna.
pub(crate) fn cx() -> Cx {
    at("2026-11-20T14:30:00+01:00[Europe/Vienna]")
}

/// A direct call by the owner at another time.
pub(crate) fn at(now: &str) -> Cx {
    let now: Zoned = now.parse().unwrap();
    Cx::root(Ports::unconnected(Arc::new(FixedClock(now))), Principal::owner(), Via::direct(Channel::Api))
}

/// A direct call by somebody else of the household at that time.
pub(crate) fn somebody() -> Cx {
    let principal = Principal { user: UserId(Id::new()), role: Role::Member, agent: AgentId::GENERAL };
    Cx::root(cx().ports().clone(), principal, Via::direct(Channel::Api))
}

/// Calls a tool of a family by name.
pub(crate) async fn call<S: Clone + Send + Sync + 'static>(
    family: Family<S>,
    cx: &Cx,
    name: &str,
    args: Value,
) -> Result<Output> {
    let tools = family.into_parts().tools;
    let tool = tools.into_iter().find(|t| &*t.name == name || t.aliases.iter().any(|a| &*a.name == name)).unwrap();
    (tool.run)(cx.clone(), args).await
}

/// The tools of a family over one state, to be called by name.
pub(crate) struct Tools<F>(pub F);

impl<S: Clone + Send + Sync + 'static, F: Fn() -> Family<S>> Tools<F> {
    /// Calls one as somebody.
    pub async fn by(&self, cx: &Cx, name: &str, args: Value) -> Result<Output> {
        call((self.0)(), cx, name, args).await
    }
    /// Calls one as the owner; its result for the model.
    pub async fn ask(&self, name: &str, args: Value) -> Value {
        let output = self.by(&cx(), name, args.clone()).await;
        output.unwrap_or_else(|e| panic!("{name} {args}: {e}")).content
    }
    /// Calls one as the owner; its sentence, or its error.
    pub async fn say(&self, name: &str, args: Value) -> String {
        self.by(&cx(), name, args).await.map_or_else(|e| e.to_string(), |o| o.say.unwrap())
    }
    /// The values of one field of all records in a list, joined by spaces.
    pub async fn listed(&self, name: &str, args: Value, field: &str) -> String {
        texts(&self.ask(name, args).await, field)
    }
    /// Asserts that each call is refused as bad arguments with this text, and changes nothing that `list` shows.
    pub async fn refuses(&self, list: &str, rows: &[(&str, Value, &str)]) {
        let before = self.ask(list, json!({})).await;
        for (name, args, why) in rows {
            let shown: String = args.to_string().chars().take(200).collect();
            match self.by(&cx(), name, args.clone()).await {
                Err(Error::BadArgs(text)) => assert!(text.contains(why), "{name} {shown}: {text}"),
                other => panic!("{name} {shown}: {other:?}"),
            }
        }
        assert_eq!(self.ask(list, json!({})).await, before, "nothing was changed");
    }
}

/// The values of one field of the records in an answer, joined by spaces.
pub(crate) fn texts(answer: &Value, field: &str) -> String {
    let (_, records) = answer.as_object().unwrap().iter().find(|(_, v)| v.is_array()).unwrap();
    let texts = records.as_array().unwrap().iter().map(|record| match &record[field] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// A family of personal records under test.
pub(crate) struct Kind<'a> {
    /// Adds one record, whose name is "Zebra".
    pub add: (&'a str, Value),
    /// Lists them, without arguments.
    pub list: &'a str,
    /// The parameter that says which.
    pub which: &'a str,
    /// Tools that read one record, and those that change or delete one, with what else they take; the last deletes.
    pub reads: &'a [(&'a str, Value)],
    pub changes: &'a [(&'a str, Value)],
}

/// Asserts that private records do not exist for others, who can read shared ones and not change them.
pub(crate) async fn is_private<S, F>(tools: &Tools<F>, kind: Kind<'_>)
where
    S: Clone + Send + Sync + 'static,
    F: Fn() -> Family<S>,
{
    let (anna, ben) = (somebody(), somebody());
    let added = tools.by(&ben, kind.add.0, kind.add.1.clone()).await.unwrap().content;
    assert_eq!(added["shared"], false);
    for field in ["createdAt", "updatedAt"] {
        assert!(added[field].as_str().is_some_and(|at| at.len() == 25), "{field}: {added}");
    }
    let id = added["id"].as_str().unwrap().to_owned();
    let with = |which: &str, more: &Value| {
        let mut args = more.clone();
        args[kind.which] = which.into();
        args
    };
    let hidden = tools.by(&anna, kind.list, json!({})).await.unwrap().content;
    assert_eq!((&hidden["count"], &hidden["hasMore"]), (&json!(0), &json!(false)), "{hidden}");
    for (tool, more) in kind.reads.iter().chain(kind.changes) {
        for (there, absent) in [(&*id, &*Id::new().to_string()), ("Zebra", "Yak00")] {
            let told = |which: &str, r: Result<Output>| match r {
                Err(Error::NotFound(text)) => text.to_string().replace(which, "?"),
                other => panic!("{tool} {which}: {other:?}"),
            };
            let one = told(there, tools.by(&anna, tool, with(there, more)).await);
            assert_eq!(one, told(absent, tools.by(&anna, tool, with(absent, more)).await), "{tool}");
        }
    }
    // Shared: others read it, and cannot change it.
    let (update, _) = kind.changes[0];
    tools.by(&ben, update, json!({kind.which: id, "shared": true})).await.unwrap();
    let mut shown = tools.by(&anna, kind.list, json!({})).await.unwrap().content;
    assert_eq!(shown["count"], 1, "{shown}");
    for which in [&*id, "zebra"] {
        for (tool, more) in kind.reads {
            assert!(tools.by(&anna, tool, with(which, more)).await.is_ok(), "{tool} {which}");
        }
        for (tool, more) in kind.changes {
            let refused = tools.by(&anna, tool, with(which, more)).await;
            assert!(matches!(&refused, Err(Error::Denied(text)) if text.contains("somebody else's")), "{refused:?}");
        }
    }
    let after = tools.by(&ben, kind.list, json!({})).await.unwrap().content;
    // The person who shared it is named to others only.
    let fields = shown.as_object_mut().unwrap().values_mut().find_map(Value::as_array_mut).unwrap()[0].as_object_mut();
    assert_eq!(fields.unwrap().remove("sharedBy"), Some(json!("somebody else")));
    assert_eq!(shown, after, "nothing was changed");
    // Shared no longer, it is gone again; and of two who delete it one does.
    tools.by(&ben, update, json!({kind.which: id, "shared": false})).await.unwrap();
    assert_eq!(tools.by(&anna, kind.list, json!({})).await.unwrap().content["count"], 0);
    let delete = |_: ()| tools.by(&ben, kind.changes[kind.changes.len() - 1].0, with(&id, &json!({})));
    let (one, other) = tokio::join!(delete(()), delete(()));
    let gone = |r: &Result<Output>| matches!(r, Err(Error::NotFound(_)));
    assert!(one.is_ok() && gone(&other) || other.is_ok() && gone(&one), "{one:?} {other:?}");
    assert_eq!(tools.by(&ben, kind.list, json!({})).await.unwrap().content["count"], 0);
}

/// Asserts that concurrent batches are all added, and a batch with a mistake not at all. `item` makes an item from a name.
pub(crate) async fn batches<S, F>(
    tools: &Tools<F>,
    (batch, plural, word): (&str, &str, &str),
    list: &str,
    item: impl Fn(String) -> Value,
    bad: Value,
) where
    S: Clone + Send + Sync + 'static,
    F: Fn() -> Family<S>,
{
    let of = |n: usize| (0..n).map(|n| item(format!("item {n}"))).collect::<Vec<Value>>();
    let mut wrong = of(3);
    wrong[1] = bad;
    tools
        .refuses(
            list,
            &[
                (batch, json!({plural: wrong}), &format!("{word} 2 of the batch: ")),
                (batch, json!({plural: []}), "1 to 100"),
                (batch, json!({plural: of(101)}), "1 to 100"),
            ],
        )
        .await;
    assert_eq!(tools.ask(list, json!({})).await["count"], 0, "nothing was added");
    let many: Vec<Value> = (0..8)
        .map(|b| json!({plural: (0..5).map(|n| item(format!("batch {b} item {n}"))).collect::<Vec<_>>()}))
        .collect();
    let owner = cx();
    let added = futures::future::join_all(many.into_iter().map(|args| tools.by(&owner, batch, args))).await;
    assert!(added.iter().all(|r| r.as_ref().is_ok_and(|o| o.content["added"] == 5)), "{added:?}");
    let all = tools.ask(list, json!({"limit": 50})).await;
    assert_eq!((&all["count"], &all["hasMore"]), (&json!(40), &json!(false)));
}
