//! MiniMax: pictures, speech, music, and video by jobs that are asked about until they are done.

use crate::{
    api::{Api, FILES, WORDS},
    failure::{Failure, short},
    job::{Answer, Compose, Draw, Film, MadeFile, Speak},
    openai::{nearest, no_picture, with_wishes},
    poll::{Progress, Waiting, poll},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

/// The shapes of pictures, as sizes of about one megapixel, with their names.
const SHAPES: &[((u32, u32), &str)] = &[
    ((1024, 1024), "1:1"),
    ((1280, 720), "16:9"),
    ((1152, 864), "4:3"),
    ((1248, 832), "3:2"),
    ((832, 1248), "2:3"),
    ((864, 1152), "3:4"),
    ((720, 1280), "9:16"),
    ((1344, 576), "21:9"),
];

/// The answer, unless its own status says that it failed: MiniMax answers 200 to everything.
fn checked(answer: Value) -> Result<Value, Failure> {
    let told = &answer["base_resp"];
    let message = short(told["status_msg"].as_str().unwrap_or_default());
    match told["status_code"].as_i64() {
        None | Some(0) => Ok(answer),
        Some(1004 | 2049) => Err(Failure::Key(message)),
        Some(1008 | 2056) => Err(Failure::Quota(message)),
        Some(1026 | 1027) => Err(Failure::Refused(message)),
        Some(1000 | 1001 | 1002 | 1024 | 1033 | 1039 | 1041) => Err(Failure::Busy(message)),
        Some(_) => Err(Failure::Rejected(message)),
    }
}

pub(crate) async fn draw(api: &Api<'_>, draw: &Draw) -> Result<Answer, Failure> {
    let mut body = json!({
        "model": api.link.model,
        "prompt": with_wishes(draw),
        "n": draw.count,
        "response_format": "base64",
    });
    if let Some(size) = draw.size {
        let sizes: Vec<(u32, u32)> = SHAPES.iter().map(|(size, _)| *size).collect();
        let found = nearest(size, &sizes);
        let shape = SHAPES.iter().find(|(size, _)| *size == found).map_or("1:1", |(_, name)| name);
        body["aspect_ratio"] = shape.into();
    }
    let answer = checked(api.json("/image_generation", &body, FILES).await?)?;
    let texts = answer["data"]["image_base64"].as_array().into_iter().flatten();
    let files = texts.filter_map(|text| STANDARD.decode(text.as_str()?).ok()).map(|b| MadeFile::Bytes(b.into()));
    let files: Vec<MadeFile> = files.take(draw.count as usize).collect();
    if files.is_empty() { Err(no_picture("")) } else { Ok(Answer::files(files)) }
}

pub(crate) async fn speak(api: &Api<'_>, speak: &Speak) -> Result<Answer, Failure> {
    let format = speak.format.as_deref().unwrap_or("mp3");
    let mut body = json!({
        "model": api.link.model,
        "text": speak.text,
        "stream": false,
        "voice_setting": {
            "voice_id": speak.voice.as_deref().unwrap_or("English_expressive_narrator"),
            "speed": speak.speed.unwrap_or(1.0).clamp(0.5, 2.0),
        },
        "audio_setting": {"sample_rate": 32_000, "bitrate": 128_000, "format": format, "channel": 1},
        "output_format": "hex",
    });
    if speak.language.is_none() {
        body["language_boost"] = "auto".into();
    }
    sound(checked(api.json("/t2a_v2", &body, FILES).await?)?)
}

pub(crate) async fn compose(api: &Api<'_>, job: &Compose) -> Result<Answer, Failure> {
    let mut body = json!({
        "model": api.link.model,
        "prompt": job.prompt,
        "audio_setting": {"sample_rate": 44_100, "bitrate": 256_000, "format": "mp3"},
        "output_format": "hex",
    });
    match (&job.lyrics, job.instrumental) {
        (Some(lyrics), _) => body["lyrics"] = lyrics.as_str().into(),
        (None, true) => body["is_instrumental"] = true.into(),
        (None, false) => body["lyrics_optimizer"] = true.into(),
    }
    sound(checked(api.json("/music_generation", &body, FILES).await?)?)
}

/// The sound of an answer, in hexadecimal digits.
fn sound(answer: Value) -> Result<Answer, Failure> {
    let text = answer["data"]["audio"].as_str().unwrap_or_default();
    match from_hex(text) {
        Some(bytes) if !bytes.is_empty() => Ok(Answer::bytes(bytes)),
        _ => Err(Failure::Odd("answered without sound".into())),
    }
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |b: u8| char::from(b).to_digit(16).map(|d| d as u8);
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| Some(digit(*pair.first()?)? << 4 | digit(*pair.get(1)?)?)).collect()
}

pub(crate) async fn film(api: &Api<'_>, film: &Film, progress: &dyn Progress) -> Result<Answer, Failure> {
    let id = match &film.begun {
        Some(id) => id.clone(),
        None => {
            let mut body = json!({
                "model": api.link.model,
                "prompt": film.prompt,
                "duration": film.seconds,
                "resolution": film.resolution,
            });
            if let Some(frame) = &film.first_frame {
                body["first_frame_image"] = frame.data_url().into();
            }
            let answer = checked(api.json("/video_generation", &body, WORDS).await?)?;
            let id = answer["task_id"].as_str().filter(|id| !id.is_empty());
            id.ok_or_else(|| Failure::Odd("answered without a `task_id`".into()))?.to_owned()
        }
    };
    let path = format!("/query/video_generation?task_id={}", text_kit::percent_encode(&id));
    let file = poll(api, &id, progress, || Box::pin(look_at(api, &path))).await?;
    let path = format!("/files/retrieve?file_id={}", text_kit::percent_encode(&file));
    let answer = checked(api.get(&path).await?)?;
    let url = answer["file"]["download_url"].as_str().filter(|url| url.starts_with("http"));
    let url = url.ok_or_else(|| Failure::Odd("answered without a `download_url`".into()))?;
    Ok(Answer::files(vec![MadeFile::Link(url.to_owned())]))
}

/// The id of the file, once a video is done.
async fn look_at(api: &Api<'_>, path: &str) -> Result<Waiting<String>, Failure> {
    let answer = checked(api.get(path).await?)?;
    match answer["status"].as_str().unwrap_or_default() {
        "Success" => match answer["file_id"].as_str() {
            Some(file) => Ok(Waiting::Done(file.to_owned())),
            None => Err(Failure::Odd("answered without a `file_id`".into())),
        },
        "Fail" => Err(Failure::Rejected("the video could not be made".into())),
        status => Ok(Waiting::Still(short(status))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_status_counts() {
        let answer = |code: i64| json!({"base_resp": {"status_code": code, "status_msg": "m"}, "data": {}});
        assert!(checked(answer(0)).is_ok() && checked(json!({})).is_ok());
        for (code, kind) in [
            (1004, Failure::Key as fn(String) -> Failure),
            (2049, Failure::Key),
            (1008, Failure::Quota),
            (1026, Failure::Refused),
            (1027, Failure::Refused),
            (1002, Failure::Busy),
            (2013, Failure::Rejected),
        ] {
            assert_eq!(checked(answer(code)).unwrap_err(), kind("m".into()), "{code}");
        }
    }

    #[test]
    fn hexadecimal_digits_are_read() {
        assert_eq!(from_hex("00fF10"), Some(vec![0, 255, 16]));
        assert_eq!((from_hex("0"), from_hex("zz"), from_hex("ü")), (None, None, None));
        assert_eq!(from_hex(""), Some(vec![]));
    }
}
