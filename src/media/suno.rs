//! Suno by sunoapi.org: music by jobs that are asked about until they are done.

use crate::{
    api::{Api, WORDS},
    failure::{Failure, short},
    job::{Answer, Compose, MadeFile},
    poll::{Progress, Waiting, poll},
};
use serde_json::{Value, json};

/// Where it would report to: it insists on an address, and Hob asks instead.
const NOBODY: &str = "https://example.invalid/";

/// The data of an answer, unless its own code says that it failed: it answers 200 to everything.
fn checked(mut answer: Value) -> Result<Value, Failure> {
    let message = short(answer["msg"].as_str().unwrap_or_default());
    match answer["code"].as_u64() {
        Some(200) => Ok(answer["data"].take()),
        Some(401 | 403) => Err(Failure::Key(message)),
        Some(402 | 429) => Err(Failure::Quota(message)),
        Some(405 | 430 | 455 | 500..) => Err(Failure::Busy(message)),
        Some(_) => Err(Failure::Rejected(message)),
        None => Err(Failure::Odd("answered without a `code`".into())),
    }
}

pub(crate) async fn compose(api: &Api<'_>, job: &Compose, progress: &dyn Progress) -> Result<Answer, Failure> {
    let id = match &job.begun {
        Some(id) => id.clone(),
        None => begin(api, job).await?,
    };
    let path = format!("/generate/record-info?taskId={}", text_kit::percent_encode(&id));
    let url = poll(api, &id, progress, || Box::pin(look_at(api, &path))).await?;
    Ok(Answer::files(vec![MadeFile::Link(url)]))
}

/// The address of the music, once it is done.
async fn look_at(api: &Api<'_>, path: &str) -> Result<Waiting<String>, Failure> {
    let data = checked(api.get(path).await?)?;
    match data["status"].as_str().unwrap_or_default() {
        "SUCCESS" => {
            let url = data.pointer("/response/sunoData/0/audioUrl").and_then(Value::as_str);
            match url.filter(|url| url.starts_with("http")) {
                Some(url) => Ok(Waiting::Done(url.to_owned())),
                None => Err(Failure::Odd("answered without an `audioUrl`".into())),
            }
        }
        "SENSITIVE_WORD_ERROR" => Err(Failure::Refused("a word in it".into())),
        status if status.ends_with("FAILED") || status.ends_with("EXCEPTION") => {
            Err(Failure::Rejected(short(data["errorMessage"].as_str().unwrap_or(status))))
        }
        status => Ok(Waiting::Still(short(&status.to_lowercase().replace('_', " ")))),
    }
}

/// Begins a job and returns its id.
async fn begin(api: &Api<'_>, job: &Compose) -> Result<String, Failure> {
    let mut body = json!({
        "model": api.link.model,
        "instrumental": job.instrumental && job.lyrics.is_none(),
        "customMode": job.lyrics.is_some(),
        "prompt": job.lyrics.as_ref().unwrap_or(&job.prompt),
        "callBackUrl": NOBODY,
    });
    if job.lyrics.is_some() {
        body["style"] = text_kit::truncate(&job.prompt, 900).into();
        body["title"] = text_kit::truncate(text_kit::first_sentence(&job.prompt), 70).into();
    }
    let data = checked(api.json("/generate", &body, WORDS).await?)?;
    let id = data["taskId"].as_str().filter(|id| !id.is_empty());
    Ok(id.ok_or_else(|| Failure::Odd("answered without a `taskId`".into()))?.to_owned())
}
