//! Decides now about a call that is made later, when no person is there to be asked.

use crate::{
    Registry,
    call::{Call, digest_of},
    dispatch::refusal,
    entry::Entry,
    limits,
    meta::CALLERS,
    validate,
};
use policy::Verdict;
use serde_json::{Value, json};
use std::sync::Arc;
use tool::{Channel, Consult, Cx, Error, Owner, Peer, PreauthorizedCall, Result, Tool, Via};

impl Registry {
    /// Decides about a call as this caller's and as that of the schedule or trigger that stores it, and asks a person where
    /// either decision says so. `about` says when it would be made: "every day at 07:00".
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when the arguments are invalid, the tool is not a single call, or it takes or returns a secret;
    /// `Denied` when a rule or the person refuses.
    pub async fn arm(&self, cx: &Cx, name: &str, args: Value, about: &str) -> Result<PreauthorizedCall> {
        let later = Cx::root(
            cx.ports().clone(),
            cx.principal().clone(),
            Via { channel: Channel::Machine, chat: None, peer: Peer::Machine, clear: false, token: None },
        );
        later.taint(cx.label());
        self.arm_as(cx, &[cx.clone(), later], name, args, about).await
    }

    /// Decides about a stored call as this caller's own, now: an approval for another time or reason does not count.
    ///
    /// # Errors
    /// As [`Registry::arm`].
    pub async fn judge(&self, cx: &Cx, armed: &PreauthorizedCall, about: &str) -> Result<()> {
        self.arm_as(cx, std::slice::from_ref(cx), &armed.tool, armed.args.clone(), about).await.map(drop)
    }

    /// Resolves aliases and `use_tool`: the tool itself, and the arguments in its own form, not yet checked.
    ///
    /// # Errors
    /// `NotFound`; `BadArgs` when they are no object.
    pub fn plainly(&self, cx: &Cx, name: &str, args: Value) -> Result<(Arc<Tool>, Value)> {
        let (entry, args) = self.plain_entry(cx, name, args)?;
        Ok((entry.tool.clone(), args))
    }

    fn plain_entry(&self, cx: &Cx, name: &str, args: Value) -> Result<(Arc<Entry>, Value)> {
        let (name, args) = unwrapped(name, args)?;
        let found = self.find(cx, &name)?;
        let args = found.adapted(validate::normalise(&name, args)?);
        Ok((found.entry, args))
    }

    async fn arm_as(&self, cx: &Cx, callers: &[Cx], name: &str, args: Value, about: &str) -> Result<PreauthorizedCall> {
        let (entry, mut args) = self.plain_entry(cx, name, args)?;
        let tool = entry.tool.clone();
        if tool.owner == Owner::Core && CALLERS.contains(&&*tool.name) {
            return Err(Error::bad_args(
                "only one call can be made later: name the tool itself, or give a prompt that says what to do",
            ));
        }
        if tool.returns_secret {
            return Err(Error::bad_args(format!(
                "`{}` returns a secret, and nobody is there to receive it later: call it now, and use the result",
                tool.name
            )));
        }
        limits::apply(tool.page, &mut args);
        validate::arguments(&entry, &mut args)?;
        let (shown, secret) = self.masked(&tool.name, &args);
        if secret {
            return Err(Error::bad_args(format!(
                "the arguments of `{}` contain a secret, which is not stored for later: set up the service instead, and let \
                 the tool look the secret up",
                tool.name
            )));
        }
        let mut reason = None;
        for caller in callers {
            let decision = self.decide(&Call::new(caller.clone(), entry.clone(), args.clone()), false);
            match decision.verdict {
                Verdict::Deny => return Err(refusal(decision)),
                Verdict::Ask => {
                    reason.get_or_insert(decision.reason);
                }
                Verdict::Allow => {}
            }
        }
        let (digest, version) = (digest_of(&tool.name, &args), tool.version);
        let consented = reason.is_some();
        if let Some(reason) = reason {
            let consult = Consult {
                tool: tool.name.to_string(),
                version,
                action: "later",
                details: json!({"when": about, "arguments": shown}),
                risk: tool.risk_of(cx, &args),
                ask: true,
                about: format!("Call `{}` without asking again, {about}", tool.name),
                reason,
            };
            cx.ports().ask.consult(cx.clone(), consult).await?;
        }
        Ok(PreauthorizedCall { tool: tool.name.to_string(), version, args, digest, consented })
    }
}

/// The call inside `use_tool`, so that the inner call is judged and stored.
fn unwrapped(name: &str, args: Value) -> Result<(String, Value)> {
    let (mut name, mut args) = (name.trim().to_owned(), args);
    for _ in 0..4 {
        if name != "use_tool" {
            return Ok((name, args));
        }
        let mut fields = match validate::normalise(&name, args)? {
            Value::Object(fields) => fields,
            _ => Default::default(),
        };
        let inner = fields.remove("tool_name").or_else(|| fields.remove("toolName"));
        name = inner
            .and_then(|n| n.as_str().map(str::to_owned))
            .ok_or_else(|| Error::bad_args("`use_tool` needs `tool_name`: name the tool itself"))?;
        args = fields.remove("arguments").unwrap_or(Value::Null);
    }
    Err(Error::bad_args("`use_tool` cannot call itself: name the tool you want"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use policy::Policy;
    use store::Store;
    use tool::{Family, FixedClock, Id, Label, Ports, Principal, Risk, prelude::*};

    /// Move something.
    #[derive(Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Move {
        /// Which.
        pin: u8,
        #[serde(default)]
        high: bool,
    }

    fn family() -> Family<()> {
        Family::new("t", "t", ())
            .tool("move_it", Risk::Actuate, async |(), _, m: Move| Ok(json!([m.pin, m.high])))
            .alias("shift_it")
            .tool("admin_it", Risk::Admin, async |(), _, m: Move| Ok(m.pin))
            .tool("make_secret", Risk::Observe, async |(), _, m: Move| Ok(m.pin))
            .returns_secret()
    }

    fn cx() -> Cx {
        let clock = Arc::new(FixedClock("2026-11-20T14:30[Europe/Vienna]".parse().unwrap()));
        Cx::root(Ports::unconnected(clock), Principal::owner(), Via::direct(Channel::Api))
    }

    #[tokio::test]
    async fn a_call_is_judged_when_it_is_written_down() {
        let registry = Registry::open(&Store::in_memory().unwrap(), Default::default(), Default::default()).unwrap();
        registry.add(family()).unwrap();
        let armed = registry.arm(&cx(), "shift_it", json!({"pin": "4"}), "daily").await.unwrap();
        assert_eq!((&*armed.tool, armed.consented, &armed.args["pin"]), ("move_it", false, &json!(4)));
        let wrapped = json!({"tool_name": "move_it", "arguments": {"pin": 4}});
        assert_eq!(registry.arm(&cx(), "use_tool", wrapped, "daily").await.unwrap(), armed);
        for (name, args, word) in [
            ("no_such", json!({}), "no tool"),
            ("admin_it", json!({"pin": "x"}), "do not fit"),
            ("batch_use_tool", json!({"operations": []}), "one call"),
            ("use_tool", json!({}), "tool_name"),
            ("make_secret", json!({"pin": 1}), "returns a secret"),
            ("use_tool", json!({"tool_name": "make_secret", "arguments": {"pin": 1}}), "returns a secret"),
        ] {
            let error = registry.arm(&cx(), name, args, "daily").await.unwrap_err();
            assert!(error.message().contains(word), "{name}: {error}");
        }
        registry.change_policy(&cx(), |p: &mut Policy| p.deny = vec!["admin_it".into()]).await.unwrap();
        assert!(matches!(registry.arm(&cx(), "admin_it", json!({"pin": 1}), "daily").await, Err(Error::Denied(_))));
    }

    #[tokio::test]
    async fn what_would_be_asked_about_is_asked_about_now() {
        let registry = Registry::open(&Store::in_memory().unwrap(), Default::default(), Default::default()).unwrap();
        registry.add(family()).unwrap();
        // Nobody can be asked through these ports.
        let tainted = cx().in_run(Id::new(), None, Default::default());
        tainted.taint(Label::Outside);
        let refused = registry.arm(&tainted, "move_it", json!({"pin": 4}), "daily").await;
        assert!(matches!(refused, Err(Error::Denied(_))), "{refused:?}");
    }
}
