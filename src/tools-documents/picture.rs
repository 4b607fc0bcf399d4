//! The tool `resize_image`.

use crate::source::{DocumentTools, unexpected};
use decoders::{Answer, Fit, PictureFormat, ResizeTask, Task};
use tool::prelude::*;
use workspace::{Expect, Located, WriteOptions};

/// The quality of JPEG where none is named.
const QUALITY: u8 = 85;

/// What is told of a picture whose colour profile is not read.
const LOST_COLORS: &str = "The colour profile of the picture is of a kind that is not read, and was left out: its colours may look \
                           different. Convert it to sRGB first where that matters.";

/// Resize a picture (PNG, JPEG, WebP, GIF, BMP) and save it as a new file. Turns photos upright and removes their metadata, such as the
/// place where they were taken. Of a moving picture, the first frame.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ResizeImage {
    /// Path in the workspace, such as photos/cat.jpg, or the id of a file that was sent.
    image: String,
    /// Pixels, 8000 at most.
    #[schemars(range(min = 1, max = 8000))]
    width: u32,
    /// Pixels, 8000 at most.
    #[schemars(range(min = 1, max = 8000))]
    height: u32,
    /// How it fills width and height: inside (as large as fits, the default), contain (with margins), cover (cut off), fill
    /// (distorted), outside (as small as covers).
    #[serde(default)]
    fit: FitArg,
    /// Format of the new file (default: by outputPath, else that of the picture).
    format: Option<FormatArg>,
    /// Quality of JPEG, from 1 to 100 (default: 85).
    #[schemars(range(min = 1, max = 100))]
    quality: Option<u8>,
    /// Path of the new file (default: beside the picture, with its size in the name).
    output_path: Option<String>,
    /// Replace a file that is there.
    #[serde(default)]
    overwrite: bool,
}

#[derive(Deserialize, JsonSchema, Default, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FitArg {
    #[default]
    Inside,
    Contain,
    Cover,
    Fill,
    Outside,
}

#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FormatArg {
    Png,
    Jpeg,
    Webp,
    Gif,
    Bmp,
}

/// Whether a call only adds a new file.
pub(crate) fn only_adds(tools: &DocumentTools, cx: &Cx, args: &Value) -> bool {
    match args["outputPath"].as_str() {
        Some(path) => tools.workspaces.locate(cx, path.trim()).is_ok_and(|located| tools.workspaces.is_free(&located)),
        // A name of its own never takes the place of another file.
        None => args["overwrite"] != true,
    }
}

pub(crate) async fn resize_image(tools: DocumentTools, cx: Cx, args: ResizeImage) -> Result<Output> {
    let source = tools.open(&cx, &args.image).await?;
    let wanted = args.output_path.as_deref().map(str::trim).filter(|path| !path.is_empty());
    let by_name =
        wanted.and_then(|path| path.rsplit_once('.')).and_then(|(_, ending)| PictureFormat::of_ending(ending));
    let format = args.format.map(|format| match format {
        FormatArg::Png => PictureFormat::Png,
        FormatArg::Jpeg => PictureFormat::Jpeg,
        FormatArg::Webp => PictureFormat::Webp,
        FormatArg::Gif => PictureFormat::Gif,
        FormatArg::Bmp => PictureFormat::Bmp,
    });
    let task = Task::Resize(ResizeTask {
        width: args.width,
        height: args.height,
        fit: match args.fit {
            FitArg::Inside => Fit::Inside,
            FitArg::Contain => Fit::Contain,
            FitArg::Cover => Fit::Cover,
            FitArg::Fill => Fit::Fill,
            FitArg::Outside => Fit::Outside,
        },
        format: format.or(by_name),
        quality: args.quality.unwrap_or(QUALITY),
    });
    // Looked at first, so that nothing is decoded for nothing.
    let chosen = wanted.map(|path| tools.workspaces.locate(&cx, path)).transpose()?;
    if let Some(located) = &chosen {
        tools.check_free(&cx, located, args.overwrite).await?;
    }
    let Answer::Picture(picture) = tools.decode(&cx, &source.shown, &task, source.input).await? else {
        return Err(unexpected());
    };
    let (ending, media_type) = picture.format.names();
    let located = match chosen {
        Some(located) => located,
        None => {
            let stem = match source.shown.rsplit_once('.') {
                Some((stem, ending)) if !ending.contains('/') => stem,
                _ => source.shown.as_str(),
            };
            let name = format!("{stem}-{}x{}.{ending}", picture.width, picture.height);
            let located = tools.workspaces.locate(&cx, &name)?;
            if args.overwrite { located } else { tools.workspaces.free_name(&located).await? }
        }
    };
    let (size, has_lost_colors) = (picture.bytes.len(), picture.has_lost_colors);
    let expect = if args.overwrite { Expect::Any } else { Expect::Absent };
    let options = WriteOptions { expect, parents: true, label: source.label, ..WriteOptions::default() };
    let written = tools.workspaces.write(&cx, &located, picture.bytes, options).await?;
    let path = located.display();
    let mut content = json!({
        "path": path,
        "width": picture.width,
        "height": picture.height,
        "originalWidth": picture.was.0,
        "originalHeight": picture.was.1,
        "mediaType": media_type,
        "size": size,
        "created": written.created,
        "version": written.entry.version,
    });
    if has_lost_colors {
        content["note"] = LOST_COLORS.into();
    }
    let sentence = format!("I saved it as {path}, with {} × {} pixels.", picture.width, picture.height);
    let mut output = Output::json(content)?.say(sentence);
    output.label = source.label;
    Ok(output)
}

impl DocumentTools {
    /// Refuses to write over a file.
    pub(crate) async fn check_free(&self, cx: &Cx, located: &Located, overwrite: bool) -> Result<()> {
        if !overwrite && self.workspaces.exists(cx, located).await? {
            let path = located.display();
            return Err(Error::bad_args(format!(
                "`{path}` exists already: pass `overwrite`: true, or choose another name"
            )));
        }
        Ok(())
    }
}
