//! Rate limits: calls a minute for each person, for each person and tool, and for each session. Sliding windows of 60 s.
//!
//! Only calls that are made count: this step runs after the decision. A call that a person has just approved counts too, but
//! is never refused, because their answer would be lost.

use crate::call::{Call, Middleware};
use futures::future::{BoxFuture, ready};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};
use tool::{Channel, Error, Id, Result, Risk, UserId};

const WINDOW: Duration = Duration::from_secs(60);
/// The calls a minute of schedules and rules, which have their own budget.
const MACHINE: u32 = 600;
/// How many windows are stored before expired ones are removed.
const KEPT: usize = 512;

/// The calls allowed in a minute; 0 is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PerMinute {
    /// Calls of one person, and of models for them.
    pub calls: u32,
    /// Calls of one session: a conversation, or a channel where there is none.
    pub session_calls: u32,
}

impl Default for PerMinute {
    fn default() -> Self {
        Self { calls: 60, session_calls: 0 }
    }
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    User(UserId),
    Machine(UserId),
    Tool(UserId, std::sync::Arc<str>),
    Session(UserId, Option<Id>, Channel),
}

/// The windows of all callers.
pub(crate) struct Rates {
    most: PerMinute,
    windows: Mutex<HashMap<Key, VecDeque<Instant>>>,
}

impl Rates {
    pub fn new(most: PerMinute) -> Self {
        Self { most, windows: Mutex::default() }
    }

    /// Counts a call, or returns the exceeded limit and the seconds to wait. An `approved` call always passes.
    fn take(&self, keys: &[(Key, u32)], approved: bool, now: Instant) -> Result<(), (usize, u64)> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        if windows.len() > KEPT {
            windows.retain(|_, calls| calls.back().is_some_and(|last| now.duration_since(*last) < WINDOW));
        }
        for (at, (key, most)) in keys.iter().enumerate() {
            let Some(calls) = windows.get_mut(key) else { continue };
            while calls.front().is_some_and(|first| now.duration_since(*first) >= WINDOW) {
                calls.pop_front();
            }
            // A refused call does not count, so that a caller who waits passes.
            if calls.len() >= *most as usize && !approved {
                let first = calls.front().map_or(Duration::ZERO, |first| now.duration_since(*first));
                return Err((at, WINDOW.saturating_sub(first).as_secs() + 1));
            }
        }
        for (key, _) in keys {
            windows.entry(key.clone()).or_default().push_back(now);
        }
        Ok(())
    }
}

impl Middleware for Rates {
    fn name(&self) -> &'static str {
        "rates"
    }
    fn before<'a>(&'a self, call: &'a mut Call) -> BoxFuture<'a, Result<()>> {
        let (cx, name) = (&call.caller, &call.tool().name);
        let (user, channel) = (cx.user(), cx.channel());
        let mut keys: [Option<(Key, u32)>; 3] = [None, None, None];
        if let Some(most) = call.tool().per_minute {
            keys[0] = Some((Key::Tool(user, name.clone()), most));
        }
        // A facade is no call of its own, and the calls of a tool or a batch have their own budget.
        if cx.is_plain() && **name != *"use_tool" {
            keys[1] = match channel {
                // The page reads without being asked: a search while typing makes many calls.
                Channel::Page if cx.run().is_none() && call.tool().risk == Risk::Observe => None,
                Channel::Machine => Some((Key::Machine(user), MACHINE)),
                _ if self.most.calls > 0 => Some((Key::User(user), self.most.calls)),
                _ => None,
            };
            if self.most.session_calls > 0 {
                keys[2] = Some((Key::Session(user, cx.conversation(), channel), self.most.session_calls));
            }
        }
        let keys: Vec<(Key, u32)> = keys.into_iter().flatten().collect();
        let approved = call.decision.as_ref().is_some_and(|decision| decision.rule == "approved");
        let taken = self.take(&keys, approved, Instant::now()).map_err(|(at, seconds)| {
            let of = match &keys[at] {
                (Key::Tool(..), most) => format!("`{name}` may be called {most} times a minute"),
                (Key::Session(..), most) => format!("{most} calls a minute are let through in one session"),
                (_, most) => format!("{most} calls a minute are let through"),
            };
            Error::RateLimited(format!("{of}: try again in {seconds} s").into())
        });
        Box::pin(ready(taken))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_slides() {
        let rates = Rates::new(PerMinute::default());
        let (user, tool) = (Key::User(UserId::OWNER), Key::Tool(UserId::OWNER, "t".into()));
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let keys = [(tool, 2), (user.clone(), 3)];
        assert_eq!(rates.take(&keys, false, at(0)), Ok(()));
        assert_eq!(rates.take(&keys, false, at(20)), Ok(()));
        assert_eq!(rates.take(&keys, false, at(30)), Err((0, 31)), "the tool's own limit");
        let other = [(user.clone(), 3)];
        assert_eq!(rates.take(&other, false, at(30)), Ok(()), "what was refused did not count");
        assert_eq!(rates.take(&other, false, at(59)), Err((0, 2)));
        assert_eq!(rates.take(&keys, false, at(60)), Ok(()), "the first is over");
        assert_eq!(rates.take(&other, false, at(61)), Err((0, 20)));
        assert_eq!(Error::RateLimited("too many: try again in 20 s".into()).retry_after(), Some(20));
        assert_eq!(rates.take(&[(Key::User(UserId(Id::new())), 3)], false, at(61)), Ok(()), "others are not touched");
    }

    #[test]
    fn an_approved_call_counts_and_is_let_through() {
        let rates = Rates::new(PerMinute::default());
        let (keys, began) = ([(Key::User(UserId::OWNER), 2)], Instant::now());
        for approved in [false, true, true] {
            assert_eq!(rates.take(&keys, approved, began), Ok(()));
        }
        assert_eq!(rates.take(&keys, false, began), Err((0, 61)));
    }
}
