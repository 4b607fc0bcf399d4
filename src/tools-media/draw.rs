//! The tools for pictures: read, make, edit, vary.

use crate::{
    MediaTools, TIMEOUT, cost_words,
    look::analyze_image,
    one_of, prompt,
    save::Saved,
    source::{Kind, Named},
    with_maker,
};
use media::{Blob, Done, Draw, Job, Made, Options, Task};
use text_kit::{counted, truncate};
use tool::prelude::*;

/// How many pictures a call makes: by default and at most.
const COUNT: (u32, u32) = (1, 4);
/// The least and most pixels of a side that may be asked for.
const SIDE: std::ops::RangeInclusive<u32> = 64..=4_096;
/// The prompt of a variation.
const VARIATION: &str = "Make a variation of this picture: the same subject, style and mood, in another composition.";

/// Names of parameters in other APIs.
const READ: &[(&str, &str)] = &[
    ("path", "image"),
    ("url", "image"),
    ("image_url", "image"),
    ("imageUrl", "image"),
    ("image_path", "image"),
    ("imagePath", "image"),
    ("file", "image"),
    ("media_id", "image"),
    ("prompt", "question"),
    ("query", "question"),
];
const MAKE: &[(&str, &str)] = &[
    ("description", "prompt"),
    ("text", "prompt"),
    ("n", "count"),
    ("num_images", "count"),
    ("aspect_ratio", "size"),
    ("aspectRatio", "size"),
    ("filename", "path"),
    ("filename_hint", "path"),
    ("output_path", "path"),
];
const EDIT: &[(&str, &str)] = &[
    ("image_path", "image"),
    ("imagePath", "image"),
    ("file", "image"),
    ("instruction", "prompt"),
    ("instructions", "prompt"),
    ("n", "count"),
    ("output_path", "path"),
];

/// Tools for pictures.
pub fn family(tools: MediaTools) -> Family<MediaTools> {
    Family::new("image", "Analyze, create and edit images.", tools)
        .title("Images")
        .services(&["openai", "gemini", "anthropic", "openrouter", "dashscope", "minimax"])
        .needs(&["filesystem"])
        .tool("analyze_image", Risk::Observe, analyze_image)
        .own_area(Area::FileRead)
        .alias_with("read_image", by_path)
        .also_in(&["media_read"])
        .synonyms(READ)
        .shows(&["question"])
        .not_idempotent()
        .tags("look see describe photo picture image vision ocr read text screenshot")
        .example(json!({"image": "photos/meter.jpg", "question": "What does the meter show?"}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("generate_image", Risk::Write, generate_image)
        .own_area(Area::FileWrite)
        .alias("create_image")
        .also_in(&["media_gen"])
        .synonyms(MAKE)
        .page_by("count", COUNT)
        .shows(&["size"])
        .tags("draw paint make create picture image photo art illustration logo dall-e")
        .example(json!({"prompt": "A lighthouse in a storm, oil on canvas", "size": "landscape"}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("edit_image", Risk::Write, edit_image)
        .own_area(Area::FileWrite)
        .synonyms(EDIT)
        .page_by("count", COUNT)
        .tags("change modify retouch inpaint picture image photo")
        .example(json!({"image": "photos/garden.jpg", "prompt": "Make it winter, with snow."}))
        .timeout(TIMEOUT)
        .per_minute(20)
        .tool("image_variation", Risk::Write, image_variation)
        .own_area(Area::FileWrite)
        .synonyms(EDIT)
        .page_by("count", COUNT)
        .tags("vary variant similar picture image photo")
        .example(json!({"image": "pictures/logo.png", "count": 2}))
        .timeout(TIMEOUT)
        .per_minute(20)
}

/// `read_image` names the picture `path`.
fn by_path(mut args: Value) -> Value {
    if let Some(path) = args.as_object_mut().and_then(|args| args.remove("path")) {
        args["image"] = path;
    }
    args
}

/// Generate images from a text prompt. Each becomes a file in the workspace. Costs money: the answer says how much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Generate {
    /// What the image shows, 4,000 characters at most.
    prompt: String,
    /// `square`, `landscape`, `portrait`, a ratio such as 16:9, or pixels such as 1536x1024; the nearest that the provider makes.
    size: Option<String>,
    /// `low`, `medium`, `high` or `auto`.
    quality: Option<String>,
    /// `vivid`, `natural`, or a style in words.
    style: Option<String>,
    /// `transparent` or `opaque`.
    background: Option<String>,
    count: Option<u32>,
    /// Path of the file, or of a folder with / at its end (default: in pictures/).
    path: Option<String>,
    /// Only this provider: openai, gemini, minimax, dashscope or openrouter; with a model as gemini/MODEL.
    provider: Option<String>,
}

pub(crate) async fn generate_image(tools: MediaTools, cx: Cx, args: Generate) -> Result<Output> {
    let draw = Draw {
        prompt: prompt("prompt", &args.prompt)?,
        size: args.size.as_deref().map(size).transpose()?.flatten(),
        quality: quality(args.quality.as_deref())?,
        style: style(args.style.as_deref())?,
        background: one_of("background", args.background.as_deref(), &["transparent", "opaque", "auto"])?,
        count: args.count.unwrap_or(COUNT.0),
        ..Draw::default()
    };
    let said = draw.prompt.clone();
    let how = Options { tool: "generate_image", only: args.provider, asks: false };
    tools.make(&cx, Task::Image, draw, how, (args.path.as_deref(), &said)).await
}

/// Edit an image by a text prompt; the original stays, and the result is a new file in the workspace. Costs money: the answer says how
/// much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Edit {
    /// The image: its path in the workspace, the id of a file that was sent, or a URL. PNG, JPEG, WebP or GIF of at most 10 MB.
    image: String,
    /// The change, 4,000 characters at most.
    prompt: String,
    /// A PNG of the same size: only where it is transparent the image may change. OpenAI alone takes it.
    mask: Option<String>,
    /// As of generate_image.
    size: Option<String>,
    /// `low`, `medium`, `high` or `auto`.
    quality: Option<String>,
    count: Option<u32>,
    /// Path of the new file, or of a folder with / at its end (default: in pictures/).
    path: Option<String>,
    /// Only this provider: openai, gemini, dashscope or openrouter; with a model as gemini/MODEL.
    provider: Option<String>,
}

pub(crate) async fn edit_image(tools: MediaTools, cx: Cx, args: Edit) -> Result<Output> {
    let said = prompt("prompt", &args.prompt)?;
    let mut only = args.provider;
    let image = tools.picture(&cx, "edit_image", ("image", &args.image)).await?;
    let mask = match &args.mask {
        Some(mask) => {
            only = only.or(Some("openai".to_owned()));
            Some(tools.picture(&cx, "edit_image", ("mask", mask)).await?)
        }
        None => None,
    };
    let draw = Draw {
        prompt: said.clone(),
        images: vec![image],
        mask,
        size: args.size.as_deref().map(size).transpose()?.flatten(),
        quality: quality(args.quality.as_deref())?,
        count: args.count.unwrap_or(COUNT.0),
        ..Draw::default()
    };
    let how = Options { tool: "edit_image", only, asks: false };
    tools.make(&cx, Task::Edit, draw, how, (args.path.as_deref(), &said)).await
}

/// Make variations of an image: new files in the workspace. Costs money: the answer says how much.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vary {
    /// The image: its path in the workspace, the id of a file that was sent, or a URL. PNG, JPEG, WebP or GIF of at most 10 MB.
    image: String,
    /// What should differ, in words.
    prompt: Option<String>,
    /// As of generate_image.
    size: Option<String>,
    count: Option<u32>,
    /// Path of the new file, or of a folder with / at its end (default: in pictures/).
    path: Option<String>,
    /// Only this provider: openai, gemini, dashscope or openrouter; with a model as gemini/MODEL.
    provider: Option<String>,
}

pub(crate) async fn image_variation(tools: MediaTools, cx: Cx, args: Vary) -> Result<Output> {
    let wish = args.prompt.as_deref().map(|wish| prompt("prompt", wish)).transpose()?;
    let image = tools.picture(&cx, "image_variation", ("image", &args.image)).await?;
    let name = image.name.rsplit_once('.').map_or(image.name.as_str(), |(stem, _)| stem).to_owned();
    let draw = Draw {
        prompt: wish.map_or_else(|| VARIATION.to_owned(), |wish| format!("{VARIATION} {wish}")),
        images: vec![image],
        size: args.size.as_deref().map(size).transpose()?.flatten(),
        count: args.count.unwrap_or(COUNT.0),
        ..Draw::default()
    };
    let how = Options { tool: "image_variation", only: args.provider, asks: false };
    tools.make(&cx, Task::Edit, draw, how, (args.path.as_deref(), &format!("{name} variation"))).await
}

impl MediaTools {
    pub(crate) async fn picture(&self, cx: &Cx, tool: &'static str, named: (&'static str, &str)) -> Result<Blob> {
        self.open(cx, &Named { tool, parameter: named.0, text: named.1, kind: Kind::Image }).await
    }

    /// Makes pictures and saves them.
    async fn make(
        &self,
        cx: &Cx,
        task: Task,
        draw: Draw,
        options: Options,
        (path, name): (Option<&str>, &str),
    ) -> Result<Output> {
        let (tool, wanted) = (options.tool, draw.count);
        let target = self.target(cx, tool, (path, name), Kind::Image).await?;
        let mut done = self.media.run(cx, task, Job::Draw(draw), options).await?;
        let files = match std::mem::replace(&mut done.made, Made::Files(vec![])) {
            Made::Files(files) => files,
            Made::Text(_) => vec![],
        };
        let mut all: Vec<Saved> = vec![];
        for file in files {
            match self.save(cx, &target, file).await {
                Ok(saved) => all.push(saved),
                // What was paid for and is there is not lost because of another.
                Err(error) if !all.is_empty() => done.short = Some(error.message().to_owned()),
                Err(error) => return Err(paid(error, &done)),
            }
        }
        let paths: Vec<&str> = all.iter().map(|saved| saved.path.as_str()).collect();
        let mut sentence = match paths[..] {
            [path] => format!("I made a picture: {path}."),
            _ => format!("I made {}: {}.", counted(paths.len() as u64, "picture"), text_kit::join_and(&paths)),
        };
        sentence += &cost_words(&done);
        let mut content = with_maker(json!({"path": paths.first(), "files": all}), &done);
        if let Some(why) = &done.short {
            content["note"] = format!("{} of {wanted} were made: {why}", all.len()).into();
        }
        Ok(Output::json(content)?.say(sentence))
    }
}

/// An error after something was paid for.
fn paid(error: Error, done: &Done) -> Error {
    let text = format!("{}.{}", error.message().trim_end_matches('.'), cost_words(done));
    error.with_message(text)
}

/// The seeds' `standard` and `hd` are those of an older model.
fn quality(text: Option<&str>) -> Result<Option<String>> {
    let known = ["low", "medium", "high", "auto", "standard", "hd"];
    let quality = one_of("quality", text, &known)?;
    Ok(quality.map(|quality| match quality.as_str() {
        "standard" => "medium".to_owned(),
        "hd" => "high".to_owned(),
        _ => quality,
    }))
}

fn style(text: Option<&str>) -> Result<Option<String>> {
    let Some(style) = text.map(str::trim).filter(|style| !style.is_empty()) else { return Ok(None) };
    if style.chars().count() > 200 {
        return Err(Error::bad_args("`style` is longer than 200 characters: put it into `prompt`"));
    }
    Ok(Some(style.to_owned()))
}

/// Reads a size; `None` for `auto`.
fn size(text: &str) -> Result<Option<(u32, u32)>> {
    let text = text.trim().to_lowercase();
    let bad = || {
        Error::bad_args(format!(
            "`size` is `{}`: give square, landscape, portrait, a ratio such as 16:9, or pixels such as 1536x1024",
            truncate(&text, 40)
        ))
    };
    match text.as_str() {
        "" | "auto" => return Ok(None),
        "square" => return Ok(Some((1024, 1024))),
        "landscape" | "wide" => return Ok(Some((1536, 1024))),
        "portrait" | "tall" => return Ok(Some((1024, 1536))),
        _ => {}
    }
    let two = |separators: &[char]| {
        let (a, b) = text.split_once(separators)?;
        Some((a.trim().parse::<u32>().ok()?, b.trim().parse::<u32>().ok()?))
    };
    if let Some((width, height)) = two(&[':', '/']) {
        let fits =
            (1..=100).contains(&width) && (1..=100).contains(&height) && width.max(height) <= 4 * width.min(height);
        if !fits {
            return Err(bad());
        }
        let scale = (1024.0 * 1024.0 / f64::from(width * height)).sqrt();
        return Ok(Some(((f64::from(width) * scale) as u32, (f64::from(height) * scale) as u32)));
    }
    match two(&['x', '×', '*']) {
        Some((width, height)) if SIDE.contains(&width) && SIDE.contains(&height) => Ok(Some((width, height))),
        Some(_) => Err(Error::bad_args(format!(
            "`size` is out of bounds: a side has {} to {} pixels",
            SIDE.start(),
            SIDE.end()
        ))),
        None => Err(bad()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("1024x1024", Some((1024, 1024))),
            ("1792 x 1024", Some((1792, 1024))),
            ("auto", None),
            ("landscape", Some((1536, 1024))),
            ("1:1", Some((1024, 1024))),
            ("16:9", Some((1365, 768))),
        ] {
            assert_eq!(size(text).unwrap(), expected, "{text}");
        }
        for text in ["big", "10x10", "99999x1024", "0:1", "100:1", "1024", "x", "-1x5", "4294967296x1"] {
            assert!(matches!(size(text), Err(Error::BadArgs(_))), "{text}");
        }
    }

    #[test]
    fn qualities_of_older_models_are_known() {
        assert_eq!(quality(Some("HD")).unwrap().as_deref(), Some("high"));
        assert_eq!(quality(Some("standard")).unwrap().as_deref(), Some("medium"));
        assert_eq!(quality(None).unwrap(), None);
        assert!(quality(Some("ultra")).is_err() && style(Some(&"x".repeat(201))).is_err());
    }
}
