//! What needs no provider: who is asked, waiting for jobs, and what is said where nothing is set up.

use super::{
    catalogue::{link, provider},
    *,
};
use crate::{
    api::Api,
    failure::Failure,
    poll::{Progress, Waiting, poll},
};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::sync::Mutex;
use tool::{Channel, Error, Ports, Principal, SystemClock, Via};

struct Services(Value);

impl Settings for Services {
    fn entries(&self, service: &str) -> Vec<(String, Map<String, Value>)> {
        let entry = self.0[service].as_object().cloned();
        entry.map(|entry| ("default".to_owned(), entry)).into_iter().collect()
    }
}

struct ModelKeys;

impl Keys for ModelKeys {
    fn key(&self, provider: &str) -> Option<(String, String)> {
        (provider == "google").then(|| ("http://127.0.0.1:1/v1beta".to_owned(), "AIza-model".to_owned()))
    }
}

#[derive(Default)]
struct NoCosts;

impl Costs for NoCosts {
    fn reserve(&self, _: f64) -> BoxFuture<'static, Result<Box<dyn Send>, String>> {
        Box::pin(async { Err("today's budget is spent".to_owned()) })
    }
    fn book(&self, model: &str, _: (u64, u64), _: Option<f64>) {
        panic!("nothing was asked of {model}");
    }
}

fn media() -> Media {
    let find: Finder = Arc::new(|| Box::pin(async { vec![] }));
    Media::new(Deps { keys: Arc::new(ModelKeys), costs: Arc::new(NoCosts), voices: VoiceServers::new(find) })
}

fn cx(services: Value) -> Cx {
    let mut ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
    ports.settings = Arc::new(Services(services));
    Cx::root(ports, Principal::owner(), Via::direct(Channel::Page))
}

fn draw() -> Job {
    Job::Draw(Draw { prompt: "a boat".into(), count: 1, ..Draw::default() })
}

#[test]
fn a_service_goes_before_the_key_of_models() {
    let at = |services: Value, id: &str| media().endpoint(&Services(services), id).map(|e| (e.url, e.key));
    let key = |text: &str| Some(text.to_owned());
    assert_eq!(at(json!({}), "openai"), None);
    let usual = "https://api.openai.com/v1".to_owned();
    assert_eq!(at(json!({"openai": {"api_key": "k"}}), "openai"), Some((usual, key("k"))));
    let own = json!({"openai": {"base_url": "http://nas:9000/v1"}});
    assert_eq!(at(own, "openai"), Some(("http://nas:9000/v1".into(), None)));
    // A key goes to the address that it was entered for.
    assert_eq!(at(json!({}), "gemini"), Some(("http://127.0.0.1:1/v1beta".into(), key("AIza-model"))));
    let other = json!({"gemini": {"base_url": "http://elsewhere/"}});
    assert_eq!(at(other, "gemini"), Some(("http://elsewhere/".into(), None)));
    assert_eq!(at(json!({"resolve": {"api_key": "k"}}), "resolve"), None, "nobody knows where it is");
    assert_eq!((at(json!({}), "minimax"), at(json!({}), "model"), at(json!({}), "x")), (None, None, None));
    // One without a key is off until it is switched on, whatever else is entered.
    for off in
        [json!({}), json!({"edge": {"base_url": "http://nas/"}}), json!({"edge": {"enabled": false, "api_key": "k"}})]
    {
        assert_eq!(at(off, "edge"), None);
    }
    let (url, key) = at(json!({"edge": {"enabled": true}}), "edge").unwrap();
    assert!(url.starts_with("https://speech.platform.bing.com/") && key.is_none());
}

#[tokio::test]
async fn what_is_not_set_up_says_what_to_enter() {
    let media = media();
    for (only, part) in [(None, "for one of `minimax`"), (Some("suno"), "key under Services, for one of `suno`")] {
        let options = Options { tool: "create_audio", only: only.map(str::to_owned), asks: false };
        let error =
            media.run(&cx(json!({})), Task::Music, Job::Compose(Compose::default()), options).await.unwrap_err();
        assert!(matches!(&error, Error::Unavailable(why) if why.contains(part)), "{error}");
        assert!(error.said().is_some());
    }
    let options = Options { tool: "x", only: Some("suno".into()), asks: false };
    let error = media.run(&cx(json!({})), Task::Image, draw(), options).await.unwrap_err();
    assert!(matches!(&error, Error::BadArgs(why) if why.contains("does not make pictures")), "{error}");
    let odd = cx(json!({"media": {"image": "paint"}}));
    let error = media.run(&odd, Task::Image, draw(), Options::default()).await.unwrap_err();
    assert!(error.message().contains("`paint`"), "{error}");
    let spoken = Job::Speak(Speak { text: "x".into(), ..Speak::default() });
    let wyoming = Options { tool: "x", only: Some("wyoming".into()), asks: false };
    let error = media.run(&cx(json!({})), Task::Speech, spoken, wyoming).await.unwrap_err();
    assert!(error.message().contains("Piper"), "{error}");
    let spoken = Job::Speak(Speak { text: "x".into(), ..Speak::default() });
    let edge = Options { tool: "x", only: Some("edge".into()), asks: false };
    let error = media.run(&cx(json!({})), Task::Speech, spoken, edge).await.unwrap_err();
    assert!(error.message().ends_with("an admin can switch on `edge` under Services"), "{error}");
}

#[tokio::test]
async fn a_spent_budget_asks_nobody() {
    let error = media().run(&cx(json!({})), Task::Image, draw(), Options::default()).await.unwrap_err();
    assert!(matches!(&error, Error::Unavailable(why) if why.contains("budget")), "{error}");
    // Neither does a file that is too large for everybody.
    let bytes = Bytes::from(vec![0; 11 << 20]);
    let file = Blob { name: "x.png".into(), media_type: "image/png".into(), bytes };
    let look = Job::Look(Look { question: "?".into(), files: vec![file], detail: None });
    let error = media().run(&cx(json!({})), Task::Vision, look, Options::default()).await.unwrap_err();
    assert!(error.message().contains("up to 10 MB"), "{error}");
}

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Progress for Notes {
    fn note(&self, note: &str) {
        self.0.lock().unwrap().push(note.to_owned());
    }
}

/// Waits for a job whose answers come from `ask`, and counts how often it was asked.
async fn waited(
    ask: impl Fn(u32) -> Result<Waiting<u32>, Failure> + Send + Sync,
) -> (Result<u32, Failure>, u32, Vec<String>) {
    let link = link(Task::Video, "minimax").unwrap();
    let provider = provider("minimax").unwrap();
    let endpoint = Endpoint { provider, url: "http://127.0.0.1:1".into(), key: None };
    let api = Api::new(&ModelHttp::default(), &link, &endpoint);
    let (asked, notes) = (Mutex::new(0), Notes::default());
    let result = poll(&api, "77", &notes, || {
        let mut asked = asked.lock().unwrap();
        *asked += 1;
        let answer = ask(*asked);
        Box::pin(async move { answer })
    });
    let result = result.await;
    (result, asked.into_inner().unwrap(), notes.0.into_inner().unwrap())
}

#[tokio::test(start_paused = true)]
async fn jobs_are_waited_for_through_failures_that_pass() {
    let unfinished = Err(Failure::Unfinished("minimax/77".into()));
    let (result, asked, notes) = waited(|n| match n {
        1 | 3 => Ok(Waiting::Still("Processing".into())),
        2 => Err(Failure::Busy(String::new())),
        _ => Ok(Waiting::Done(n)),
    })
    .await;
    assert_eq!((result, asked, notes.len()), (Ok(4), 4, 2));
    assert!(notes[0].contains("MiniMax: Processing (task minimax/77)"), "{notes:?}");
    let (result, asked, _) = waited(|_| Err(Failure::Silent("x".into()))).await;
    assert_eq!((result, asked), (unfinished.clone(), 5));
    let (result, asked, _) = waited(|_| Err(Failure::Refused("x".into()))).await;
    assert_eq!((result, asked), (Err(Failure::Refused("x".into())), 1));
    // One that never ends is given up within its time.
    let (result, asked, _) = waited(|_| Ok(Waiting::Still("Queueing".into()))).await;
    assert!(result == unfinished && (50..80).contains(&asked), "{asked}");
}
