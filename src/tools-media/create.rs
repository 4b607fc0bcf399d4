//! Music, sound effects and video: made from words, also by jobs that take minutes.

use crate::{JOB_TIMEOUT, MediaTools, TIMEOUT, cost_words, look::read_video, one_of, prompt, source::Kind, with_maker};
use media::{Compose, Film, Job, Made, Options, Task};
use tool::prelude::*;

/// The longest lyrics, in characters.
const LYRICS: usize = 3_000;

const WATCH: &[(&str, &str)] = &[("video", "path"), ("file", "path"), ("media_id", "path"), ("prompt", "question")];
const FILM: &[(&str, &str)] = &[
    ("description", "prompt"),
    ("duration", "seconds"),
    ("image_url", "image"),
    ("first_frame", "image"),
    ("firstFrame", "image"),
    ("output_path", "path"),
];

/// Tools for video.
pub fn family(tools: MediaTools) -> Family<MediaTools> {
    Family::new("video", "Analyze and create videos.", tools)
        .title("Video")
        .services(&["gemini", "openrouter", "minimax"])
        .needs(&["filesystem"])
        .tool("read_video", Risk::Observe, read_video)
        .own_area(Area::FileRead)
        .also_in(&["media_read"])
        .synonyms(WATCH)
        .shows(&["question"])
        .not_idempotent()
        .tags("watch analyze describe transcribe film clip recording camera")
        .example(json!({"path": "camera/door.mp4", "question": "Who came to the door?"}))
        .timeout(TIMEOUT)
        .per_minute(10)
        .tool("create_video", Risk::Write, create_video)
        .own_area(Area::FileWrite)
        .also_in(&["media_gen"])
        .synonyms(FILM)
        .shows(&["image"])
        .tags("make generate film clip animation movie")
        .example(json!({"prompt": "A paper boat drifts down a stream", "seconds": 6}))
        .timeout(JOB_TIMEOUT)
        .per_minute(10)
}

/// Generate music, a song or a sound effect from a description; it becomes a file in the workspace. Costs money: the answer says how
/// much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateAudio {
    /// What is to be heard: style, mood, instruments, or the sound. 2,000 characters at most.
    #[serde(default)]
    prompt: String,
    /// `music` (default) or `effect`.
    kind: Option<String>,
    /// The words that are sung, 3,000 characters at most.
    lyrics: Option<String>,
    /// Music without singing.
    #[serde(default)]
    instrumental: bool,
    /// How long it is: 0.5 to 30 for an effect, 3 to 600 for music. Some providers choose themselves.
    seconds: Option<f64>,
    /// Path of the file, or of a folder with / at its end (default: in sounds/).
    path: Option<String>,
    /// Only this provider: minimax, elevenlabs or suno for music, elevenlabs for effects; with a model as suno/MODEL.
    provider: Option<String>,
    /// Fetch what an earlier call began, by the `task` that it returned.
    task: Option<String>,
}

pub(crate) async fn create_audio(tools: MediaTools, cx: Cx, args: CreateAudio) -> Result<Output> {
    let (only, begun) = begun(args.task.as_deref(), args.provider)?;
    let effect = one_of("kind", args.kind.as_deref(), &["music", "effect"])?.is_some_and(|kind| kind == "effect");
    let words = match begun.is_some() && args.prompt.trim().is_empty() {
        true => "music".to_owned(),
        false => prompt("prompt", &args.prompt)?,
    };
    if words.chars().count() > 2_000 {
        return Err(Error::bad_args("`prompt` is longer than 2000 characters: say it in fewer words"));
    }
    let lyrics = args.lyrics.map(|lyrics| lyrics.trim().to_owned()).filter(|lyrics| !lyrics.is_empty());
    if lyrics.as_ref().is_some_and(|lyrics| lyrics.chars().count() > LYRICS) {
        return Err(Error::bad_args(format!("`lyrics` are longer than {LYRICS} characters: shorten them")));
    }
    let bounds = if effect { 0.5..=30.0 } else { 3.0..=600.0 };
    if args.seconds.is_some_and(|seconds| !bounds.contains(&seconds)) {
        let (least, most) = (bounds.start(), bounds.end());
        return Err(Error::bad_args(format!("`seconds` is out of bounds: give {least} to {most}")));
    }
    let compose =
        Compose { prompt: words.clone(), lyrics, instrumental: args.instrumental, seconds: args.seconds, begun };
    let task = if effect { Task::Effect } else { Task::Music };
    let how = Options { tool: "create_audio", only, asks: false };
    tools.produce(&cx, task, Job::Compose(compose), how, (args.path.as_deref(), &words, Kind::Audio)).await
}

/// Generate a short video from a description, or from a picture and a description; it becomes a file in the workspace. Takes minutes,
/// and costs money: the answer says how much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateVideo {
    /// What happens, 2,000 characters at most.
    #[serde(default)]
    prompt: String,
    /// The picture that it begins with: its path in the workspace, the id of a file that was sent, or a URL.
    image: Option<String>,
    /// 6 (default) or 10.
    seconds: Option<u32>,
    /// `768P` (default) or `1080P`, which is 6 seconds long at most.
    resolution: Option<String>,
    /// Path of the file, or of a folder with / at its end (default: in videos/).
    path: Option<String>,
    /// Only this provider: minimax; with a model as minimax/MODEL.
    provider: Option<String>,
    /// Fetch what an earlier call began, by the `task` that it returned.
    task: Option<String>,
}

pub(crate) async fn create_video(tools: MediaTools, cx: Cx, args: CreateVideo) -> Result<Output> {
    let (only, begun) = begun(args.task.as_deref(), args.provider)?;
    let words = match begun.is_some() && args.prompt.trim().is_empty() {
        true => "video".to_owned(),
        false => prompt("prompt", &args.prompt)?,
    };
    if words.chars().count() > 2_000 {
        return Err(Error::bad_args("`prompt` is longer than 2000 characters: say it in fewer words"));
    }
    let resolution = one_of("resolution", args.resolution.as_deref(), &["768p", "1080p"])?;
    let resolution = resolution.map_or_else(|| "768P".to_owned(), |resolution| resolution.to_uppercase());
    let seconds = args.seconds.unwrap_or(6);
    match (seconds, resolution.as_str()) {
        (6, _) | (10, "768P") => {}
        (10, _) => return Err(Error::bad_args("`seconds` is 10, and a video in 1080P has 6: choose one of them")),
        _ => return Err(Error::bad_args(format!("`seconds` is {seconds}: give 6 or 10"))),
    }
    let first_frame = match args.image.as_deref() {
        Some(image) => Some(tools.picture(&cx, "create_video", ("image", image)).await?),
        None => None,
    };
    let film = Film { prompt: words.clone(), first_frame, seconds, resolution, begun };
    let how = Options { tool: "create_video", only, asks: false };
    tools.produce(&cx, Task::Video, Job::Film(film), how, (args.path.as_deref(), &words, Kind::Video)).await
}

/// The provider and id of a job that was begun before: `minimax/123`.
fn begun(task: Option<&str>, provider: Option<String>) -> Result<(Option<String>, Option<String>)> {
    let Some(task) = task.map(str::trim).filter(|task| !task.is_empty()) else { return Ok((provider, None)) };
    let plain = |id: &str| !id.is_empty() && id.len() <= 200 && id.chars().all(|c| c.is_ascii_graphic());
    match task.split_once('/') {
        Some((provider, id)) if plain(id) => Ok((Some(provider.to_owned()), Some(id.to_owned()))),
        _ => Err(Error::bad_args("`task` is none that an earlier call returned: it looks like minimax/123456")),
    }
}

impl MediaTools {
    /// Does a job that brings one file, and saves it.
    async fn produce(
        &self,
        cx: &Cx,
        task: Task,
        job: Job,
        options: Options,
        (path, name, kind): (Option<&str>, &str, Kind),
    ) -> Result<Output> {
        let target = self.target(cx, options.tool, (path, name), kind).await?;
        let mut done = self.media.run(cx, task, job, options).await?;
        let files = match std::mem::replace(&mut done.made, Made::Files(vec![])) {
            Made::Files(files) => files,
            Made::Text(_) => vec![],
        };
        let file = files.into_iter().next().ok_or_else(|| Error::failed("nothing was made: try again"))?;
        let saved = self.save(cx, &target, file).await?;
        let what = if kind == Kind::Video { "video" } else { "sound file" };
        let sentence = format!("I made a {what}: {}.{}", saved.path, cost_words(&done));
        let content = json!({"path": saved.path, "files": [saved]});
        Ok(Output::json(with_maker(content, &done))?.say(sentence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_name_their_provider() {
        let both = |a: &str, b: &str| (Some(a.to_owned()), Some(b.to_owned()));
        assert_eq!(begun(Some("minimax/12-3"), None).unwrap(), both("minimax", "12-3"));
        assert_eq!(begun(None, Some("suno".into())).unwrap(), (Some("suno".into()), None));
        for odd in ["123", "minimax/", "minimax/a b", &format!("minimax/{}", "x".repeat(300))] {
            assert!(begun(Some(odd), None).is_err(), "{odd}");
        }
    }
}
