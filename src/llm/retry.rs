//! Retries requests that failed before the first delta.

use crate::{Delta, Error, Provider, Request};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::{sync::Arc, time::Duration};

/// Maximum backoff. A server's Retry-After is honoured as long as the total stays below the sum of our own delays: a
/// person is waiting.
const LONGEST: Duration = Duration::from_secs(10);

/// A provider that retries transient failures up to `times` times, with exponential backoff starting at `first`.
pub(crate) struct Retrying<P> {
    inner: Arc<P>,
    times: u32,
    first: Duration,
}

impl<P: Provider> Retrying<P> {
    /// Wraps `inner`.
    pub fn new(inner: P, times: u32, first: Duration) -> Self {
        Self { inner: Arc::new(inner), times, first }
    }
}

enum State {
    Ask { tried: u32 },
    Wait { pause: Duration, tried: u32 },
    Relay(BoxStream<'static, Result<Delta, Error>>),
}

impl<P: Provider> Provider for Retrying<P> {
    about!(self => self.inner);

    fn stream(&self, request: Request) -> BoxStream<'static, Result<Delta, Error>> {
        let (inner, times, first, request) = (self.inner.clone(), self.times, self.first, Arc::new(request));
        stream::unfold(State::Ask { tried: 0 }, move |mut state| {
            let (inner, request) = (inner.clone(), request.clone());
            async move {
                loop {
                    state = match state {
                        State::Relay(mut rest) => return rest.next().await.map(|delta| (delta, State::Relay(rest))),
                        State::Wait { pause, tried } => {
                            tokio::time::sleep(pause).await;
                            State::Ask { tried }
                        }
                        State::Ask { tried } => {
                            let mut answer = inner.stream(Request::clone(&request));
                            match answer.next().await {
                                Some(Err(error)) if can_recover(&error, times.saturating_sub(tried)) => {
                                    let pause = pause(&error, first, tried);
                                    tracing::warn!(%error, tried, ?pause, "the model is asked again");
                                    State::Wait { pause, tried: tried + 1 }
                                }
                                Some(delta) => return Some((delta, State::Relay(answer))),
                                None => return None,
                            }
                        }
                    }
                }
            }
        })
        .boxed()
    }
}

/// Whether `left` retries can help: a server that asks for an hour of silence will not recover in time, and a
/// fallback may answer at once.
fn can_recover(error: &Error, left: u32) -> bool {
    match error {
        Error::Busy { after: Some(after), .. } | Error::Server { after: Some(after), .. } => {
            left > 0 && *after <= LONGEST.saturating_mul(left)
        }
        error => left > 0 && error.worth_retrying(),
    }
}

/// The server's Retry-After, else exponential backoff with jitter, so that many Hobs do not return at once.
fn pause(error: &Error, first: Duration, tried: u32) -> Duration {
    let grown = first.saturating_mul(1 << tried.min(10));
    match error {
        Error::Busy { after: Some(after), .. } | Error::Server { after: Some(after), .. } => *after,
        _ => grown.mul_f64(0.75 + 0.5 * f64::from(tool::Id::new().as_bytes()[15]) / 255.0).min(LONGEST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Facts;
    use futures::TryStreamExt;
    use std::sync::Mutex;

    /// Scripted answers, one entry per request.
    struct Script(Mutex<Vec<Vec<Result<Delta, Error>>>>);

    impl Provider for Script {
        fn model(&self) -> String {
            "script".into()
        }
        fn facts(&self) -> Facts {
            Facts { context: 77, ..Facts::default() }
        }
        fn stream(&self, _: Request) -> BoxStream<'static, Result<Delta, Error>> {
            stream::iter(self.0.lock().unwrap().remove(0)).boxed()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_asked_again_and_what_is_not() {
        let text = |t: &str| Ok(Delta::Text(t.into()));
        let down = || Err(Error::Network("down".into()));
        let refused = || Err(Error::Refused("no".into()));
        let cut = || Err(Error::Broken("cut".into()));
        let busy = |s| Error::Busy { text: "busy".into(), after: Some(Duration::from_secs(s)) };
        let rows: Vec<(Vec<Vec<_>>, Result<usize, Error>, usize)> = vec![
            (vec![vec![down()], vec![down()], vec![text("hi")]], Ok(1), 0),
            (
                vec![vec![down()], vec![down()], vec![down()], vec![down()], vec![text("x")]],
                Err(Error::Network("down".into())),
                1,
            ),
            (vec![vec![refused()], vec![text("x")]], Err(Error::Refused("no".into())), 1),
            (vec![vec![Err(busy(25))], vec![Err(busy(15))], vec![text("hi")]], Ok(1), 0),
            (vec![vec![Err(busy(3600))], vec![text("x")]], Err(busy(3600)), 1),
            (vec![vec![text("a"), cut()], vec![text("x")]], Err(Error::Broken("cut".into())), 1),
        ];
        for (i, (script, expected, left)) in rows.into_iter().enumerate() {
            let provider = Retrying::new(Script(Mutex::new(script)), 3, Duration::from_secs(1));
            assert_eq!(provider.facts().context, 77, "what is known of the model shows through");
            let got: Result<Vec<Delta>, Error> = provider.stream(Request::default()).try_collect().await;
            assert_eq!(got.map(|d| d.len()), expected, "row {i}");
            assert_eq!(provider.inner.0.lock().unwrap().len(), left, "row {i}");
        }
    }

    #[test]
    fn a_server_that_says_when_is_heard_within_reason() {
        let busy = |s| Error::Busy { text: "".into(), after: Some(Duration::from_secs(s)) };
        assert_eq!(pause(&busy(2), Duration::from_secs(1), 0), Duration::from_secs(2));
        assert_eq!(pause(&busy(15), Duration::from_secs(1), 0), Duration::from_secs(15));
        let down = Error::Server { text: "".into(), after: Some(Duration::from_secs(7)) };
        assert_eq!(pause(&down, Duration::from_secs(1), 0), Duration::from_secs(7));
        let third = pause(&Error::Server { text: "".into(), after: None }, Duration::from_secs(1), 2);
        assert!((3.0..=5.0).contains(&third.as_secs_f64()), "{third:?}");
    }
}
