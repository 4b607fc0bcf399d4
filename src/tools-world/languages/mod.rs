//! Languages: which one a text is in, and translations.

mod pieces;
mod translators;

use crate::services::{DEEPL, LIBRE_TRANSLATE};
use http_client::Guarded;
use language::{LANGUAGES, Language};
use pieces::{Piece, pieces};
use std::time::Duration;
use text_kit::{counted, join_and, truncate};
use tool::prelude::*;
use translators::{Formality, Format, Ready, Task, Translator};

/// The longest text, in characters, and the most texts of a batch.
const LONGEST: usize = 30_000;
const TEXTS: usize = 50;
/// The fewest letters by which a language is told.
const LETTERS: usize = 12;
/// How long a translation is said.
const SAID: usize = 600;
const TIMEOUT: Duration = Duration::from_secs(300);

const SYNONYMS: &[(&str, &str)] = &[
    ("target", "targetLanguage"),
    ("to", "targetLanguage"),
    ("target_lang", "targetLanguage"),
    ("language", "targetLanguage"),
    ("source", "sourceLanguage"),
    ("from", "sourceLanguage"),
    ("source_lang", "sourceLanguage"),
    ("content", "text"),
];

/// Tools for languages.
pub fn family(web: Guarded) -> Family<impl Clone + Send + Sync + 'static> {
    Family::new("translation", "Translate between languages, and tell which one a text is in.", web)
        .services(&["translation", DEEPL, LIBRE_TRANSLATE])
        .tool("translate_text", Risk::Observe, translate_text)
        .own_area(Area::NetworkRead)
        .synonyms(SYNONYMS)
        .shows(&["sourceLanguage", "formality"])
        .tags("language into german french spanish english say in")
        .example(json!({"text": "Where is the station?", "targetLanguage": "French"}))
        .timeout(TIMEOUT)
        .tool("detect_language", Risk::Observe, detect_language)
        .also_in(&["textUtils"])
        .synonyms(&[("content", "text")])
        .tags("which language is this written in")
        .example(json!({"text": "Wo ist der Bahnhof?"}))
        .tool("list_languages", Risk::Observe, list_languages)
        .also_in(&["textUtils"])
        .tags("supported codes translate")
        .tool("batch_translate", Risk::Observe, batch_translate)
        .own_area(Area::NetworkRead)
        .synonyms(SYNONYMS)
        .tags("language several texts list")
        .example(json!({"texts": ["Yes", "No"], "targetLanguage": "de"}))
        .timeout(TIMEOUT)
}

/// Translate a text. Placeholders, code, addresses and the layout of Markdown stay as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct TranslateText {
    /// The text, 30,000 characters at most.
    text: String,
    /// Language to translate into, as a code or name: "de", "pt-BR", "French".
    target_language: String,
    /// Language of the text (default: detected).
    source_language: Option<String>,
    /// How the reader is addressed, where the language has such forms.
    #[serde(default)]
    formality: Formality,
    /// What the text is (default: text, also Markdown).
    #[serde(default)]
    format: Format,
    /// Translator to use (default: the first of these that is set up).
    provider: Option<Translator>,
}

/// Translate several texts at once.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct BatchTranslate {
    /// The texts, 50 at most, of together 30,000 characters.
    texts: Vec<String>,
    /// Language to translate into, as a code or name: "de", "pt-BR", "French".
    target_language: String,
    /// Language of the texts (default: detected for each).
    source_language: Option<String>,
    /// How the reader is addressed, where the language has such forms.
    #[serde(default)]
    formality: Formality,
    /// What the texts are (default: text, also Markdown).
    #[serde(default)]
    format: Format,
    /// Translator to use (default: the first of these that is set up).
    provider: Option<Translator>,
}

/// Detect the language of a text.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DetectLanguage {
    /// The text. A sentence is enough; single words are guesses.
    text: String,
}

/// List the languages that can be detected or translated, with their codes, and the translators that are set up.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListLanguages {}

async fn detect_language(_: Guarded, _: Cx, DetectLanguage { text }: DetectLanguage) -> Result<Output> {
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(LETTERS).count();
    let Some(found) = language::detect(&text) else {
        return Ok(Output::json(json!({"language": null, "reliable": false}))?.say("I see no words in it."));
    };
    let name = found.language.name;
    let is_reliable = found.is_reliable && (letters >= LETTERS || !text.is_ascii());
    let sentence = if is_reliable { format!("It is {name}.") } else { format!("It may be {name}, but I am not sure.") };
    let confidence = (found.confidence * 100.0).round() / 100.0;
    let content = json!({"language": found.language.code, "name": name, "nativeName": found.language.native,
                         "confidence": confidence, "reliable": is_reliable});
    Ok(Output::json(content)?.say(sentence))
}

async fn list_languages(web: Guarded, cx: Cx, _: ListLanguages) -> Result<Output> {
    let languages: Vec<Value> = LANGUAGES
        .iter()
        .map(|language| json!({"code": language.code, "name": language.name, "nativeName": language.native}))
        .collect();
    let mut ready: Vec<Translator> =
        Translator::ALL.into_iter().filter(|which| Ready::new(&cx, &web, *which).is_ok()).collect();
    // Whether a model answers shows when it is asked.
    ready.retain(|which| *which != Translator::Model);
    let names: Vec<&str> = ready.iter().map(|which| which.name()).collect();
    let by = if names.is_empty() { "the model, where one is set up".to_owned() } else { join_and(&names) };
    let sentence = format!("I know {}. Translations come from {by}.", counted(languages.len() as u64, "language"));
    Ok(Output::json(json!({"languages": languages, "count": languages.len(), "translators": ready}))?.say(sentence))
}

/// A language, and the region after it.
fn wanted(parameter: &str, text: &str) -> Result<(&'static Language, Option<&'static str>)> {
    /// The regions that translators tell apart.
    const REGIONS: &[&str] = &["en-US", "en-GB", "pt-BR", "pt-PT", "zh-Hans", "zh-Hant", "es-419"];
    let language = language::find(text).ok_or_else(|| {
        let text = truncate(text, 40);
        Error::bad_args(format!(
            "`{parameter}` “{text}” is no language that is known: pass a code or name of list_languages"
        ))
    })?;
    let region = match text.trim().to_lowercase().as_str() {
        "brazilian portuguese" => Some("pt-BR"),
        "traditional chinese" => Some("zh-Hant"),
        "simplified chinese" => Some("zh-Hans"),
        text => REGIONS.iter().copied().find(|region| region.to_lowercase() == text.replace('_', "-")),
    };
    Ok((language, region))
}

struct Request {
    task: Task,
    provider: Option<Translator>,
}

async fn translate_text(web: Guarded, cx: Cx, args: TranslateText) -> Result<Output> {
    let (target, region) = wanted("targetLanguage", &args.target_language)?;
    let source = args.source_language.as_deref().map(|text| wanted("sourceLanguage", text)).transpose()?;
    let task = Task { target, region, source: source.map(|s| s.0), formality: args.formality, format: args.format };
    let request = Request { task, provider: args.provider };
    let mut done = translate(&web, &cx, &[args.text], request).await?;
    let text = done.texts.pop().unwrap_or_default();
    let mut content = json!({"text": text.text, "targetLanguage": region.unwrap_or(target.code)});
    if let Some(source) = text.source {
        content["sourceLanguage"] = source.code.into();
    }
    let same = text.same;
    let said = match same {
        true => format!("It is in {} already.", target.name),
        false => truncate(&text.text, SAID),
    };
    if same {
        content["unchanged"] = format!("the text is in {} already", target.name).into();
    }
    Ok(done.finish(content).say(said))
}

async fn batch_translate(web: Guarded, cx: Cx, args: BatchTranslate) -> Result<Output> {
    let (target, region) = wanted("targetLanguage", &args.target_language)?;
    let source = args.source_language.as_deref().map(|text| wanted("sourceLanguage", text)).transpose()?;
    if args.texts.is_empty() || args.texts.len() > TEXTS {
        return Err(Error::bad_args(format!("`texts` has {} texts: pass 1 to {TEXTS}", args.texts.len())));
    }
    let task = Task { target, region, source: source.map(|s| s.0), formality: args.formality, format: args.format };
    let done = translate(&web, &cx, &args.texts, Request { task, provider: args.provider }).await?;
    let translations: Vec<Value> = done
        .texts
        .iter()
        .map(|text| {
            let mut one = json!({"text": text.text});
            if let Some(source) = text.source {
                one["sourceLanguage"] = source.code.into();
            }
            if text.same {
                one["unchanged"] = true.into();
            }
            one
        })
        .collect();
    let said = format!("I translated {} into {}.", counted(translations.len() as u64, "text"), target.name);
    let content = json!({"translations": translations, "count": translations.len(),
                         "targetLanguage": region.unwrap_or(target.code)});
    Ok(done.finish(content).say(said))
}

/// A text after its translation.
#[derive(Default)]
struct Text {
    text: String,
    source: Option<&'static Language>,
    /// Whether it was in the target language already.
    same: bool,
}

struct Done {
    texts: Vec<Text>,
    by: Option<Translator>,
    notes: Vec<String>,
}

impl Done {
    fn finish(&self, mut content: Value) -> Output {
        if let Some(by) = self.by {
            content["provider"] = json!(by);
        }
        if !self.notes.is_empty() {
            content["notes"] = json!(self.notes);
        }
        let output = Output { content, ..Output::default() };
        // The model's answer has the label of what it read, which is in this run already.
        if matches!(self.by, Some(Translator::Deepl | Translator::Libretranslate)) {
            output.from_outside()
        } else {
            output
        }
    }
}

/// Whether a text is in this language already, as far as that can be told without a doubt.
fn is_in(text: &str, task: &Task) -> bool {
    task.region.is_none() && task.source.or_else(|| reliable(text)) == Some(task.target)
}

/// The language of a text that is long enough to be sure.
fn reliable(text: &str) -> Option<&'static Language> {
    let letters = text.chars().filter(|c| c.is_alphabetic()).take(LETTERS).count();
    language::detect(text).filter(|found| found.is_reliable && letters == LETTERS).map(|found| found.language)
}

/// Translates texts by the first translator that does.
async fn translate(web: &Guarded, cx: &Cx, texts: &[String], Request { task, provider }: Request) -> Result<Done> {
    let characters: usize = texts.iter().map(|text| text.chars().count()).sum();
    if characters > LONGEST {
        return Err(Error::bad_args(format!(
            "this is {characters} characters, and {LONGEST} are the most: translate it in parts"
        )));
    }
    if !texts.iter().any(|text| text.chars().any(char::is_alphabetic)) {
        return Err(Error::bad_args("there are no words to translate: pass a text"));
    }
    let same: Vec<bool> = texts.iter().map(|text| is_in(text, &task)).collect();
    let cut: Vec<Vec<Piece>> = texts
        .iter()
        .map(|text| match task.format {
            Format::Text => pieces(text),
            Format::Html => vec![Piece::Translate(text.clone())],
        })
        .collect();
    let to_do: Vec<&str> = cut
        .iter()
        .zip(&same)
        .filter(|(_, same)| !**same)
        .flat_map(|(pieces, _)| pieces)
        .filter_map(|piece| match piece {
            Piece::Translate(text) => Some(text.as_str()),
            Piece::Keep(_) => None,
        })
        .collect();
    let unchanged = |text: &String, same: bool| Text {
        text: text.clone(),
        source: if same { Some(task.target) } else { None },
        same,
    };
    if to_do.is_empty() {
        let texts = texts.iter().zip(&same).map(|(text, same)| unchanged(text, *same)).collect();
        return Ok(Done { texts, by: None, notes: vec![] });
    }
    let (translated, by, mut notes) = by_first(web, cx, &task, provider, &to_do).await?;
    if translated.split > 0 {
        notes.push(format!(
            "{} lost placeholders in {}, so what is around them was translated by itself",
            by.name(),
            counted(translated.split as u64, "sentence")
        ));
    }
    if by == Translator::Libretranslate && task.formality != Formality::Default {
        notes.push("LibreTranslate knows no forms of address".to_owned());
    }
    let (mut answers, only) = (translated.texts.into_iter(), texts.len() == 1);
    let texts = cut.into_iter().zip(texts).zip(same).map(|((pieces, original), same)| {
        if same {
            return unchanged(original, true);
        }
        let text = pieces
            .into_iter()
            .map(|piece| match piece {
                Piece::Keep(text) => text,
                Piece::Translate(_) => answers.next().unwrap_or_default(),
            })
            .collect();
        // A translator names the language of the first text only.
        let detected = if only { translated.source } else { reliable(original) };
        Text { text, source: task.source.or(detected), same: false }
    });
    Ok(Done { texts: texts.collect(), by: Some(by), notes })
}

/// The pieces by the first translator that answers, with the reasons of those before it.
async fn by_first(
    web: &Guarded,
    cx: &Cx,
    task: &Task,
    provider: Option<Translator>,
    all: &[&str],
) -> Result<(translators::Translated, Translator, Vec<String>)> {
    let (mut reasons, mut failures) = (vec![], vec![]);
    for which in Translator::ALL.into_iter().filter(|which| provider.is_none_or(|only| only == *which)) {
        let ready = match Ready::new(cx, web, which) {
            Ok(ready) => ready,
            Err(error) => {
                reasons.push(error.message().to_owned());
                continue;
            }
        };
        match ready.translate(cx, task, all).await {
            Ok(translated) => return Ok((translated, which, failures)),
            Err(error) if cx.cancel().is_cancelled() => return Err(error),
            Err(error) => {
                failures.push(error.message().to_owned());
                reasons.push(error.message().to_owned());
            }
        }
    }
    let tried = reasons.join("; ");
    Err(Error::unavailable(format!(
        "nothing can translate this now ({tried}): an admin can enter a key of DeepL (service `{DEEPL}`) or a LibreTranslate server \
         (`{LIBRE_TRANSLATE}`) in the Config Center, or choose a model"
    ))
    .say("I cannot translate yet: an admin can enter a key of DeepL or a LibreTranslate server under Services, or choose a model."))
}
