//! What is spoken: the voice by name or language, and the text in pieces that the service accepts, as SSML.

use crate::{failure::Failure, job::Speak};
use text_kit::truncate;
use tool::Error;

/// The voice of a text whose language is not clear; it speaks many.
const VOICE: &str = "en-US-EmmaMultilingualNeural";
/// The longest piece, in bytes as they are sent.
const PIECE: usize = 4_096;
/// The speeds it speaks with.
const SPEEDS: (f64, f64) = (0.5, 2.0);

/// The voices of languages, by their codes; the first of a language is its usual one, and the others are those of their regions.
const VOICES: &[(&str, &str)] = &[
    ("en", VOICE),
    ("en", "en-GB-SoniaNeural"),
    ("en", "en-AU-NatashaNeural"),
    ("en", "en-CA-ClaraNeural"),
    ("en", "en-IE-EmilyNeural"),
    ("en", "en-IN-NeerjaNeural"),
    ("de", "de-DE-SeraphinaMultilingualNeural"),
    ("de", "de-AT-IngridNeural"),
    ("de", "de-CH-LeniNeural"),
    ("fr", "fr-FR-VivienneMultilingualNeural"),
    ("fr", "fr-CA-SylvieNeural"),
    ("fr", "fr-CH-ArianeNeural"),
    ("fr", "fr-BE-CharlineNeural"),
    ("es", "es-ES-ElviraNeural"),
    ("es", "es-MX-DaliaNeural"),
    ("es", "es-AR-ElenaNeural"),
    ("it", "it-IT-ElsaNeural"),
    ("pt", "pt-BR-FranciscaNeural"),
    ("pt", "pt-PT-RaquelNeural"),
    ("nl", "nl-NL-ColetteNeural"),
    ("nl", "nl-BE-DenaNeural"),
    ("pl", "pl-PL-ZofiaNeural"),
    ("cs", "cs-CZ-VlastaNeural"),
    ("sk", "sk-SK-ViktoriaNeural"),
    ("sl", "sl-SI-PetraNeural"),
    ("hr", "hr-HR-GabrijelaNeural"),
    ("sr", "sr-RS-SophieNeural"),
    ("bs", "bs-BA-VesnaNeural"),
    ("mk", "mk-MK-MarijaNeural"),
    ("bg", "bg-BG-KalinaNeural"),
    ("ro", "ro-RO-AlinaNeural"),
    ("hu", "hu-HU-NoemiNeural"),
    ("el", "el-GR-AthinaNeural"),
    ("tr", "tr-TR-EmelNeural"),
    ("ru", "ru-RU-SvetlanaNeural"),
    ("uk", "uk-UA-PolinaNeural"),
    ("lt", "lt-LT-OnaNeural"),
    ("lv", "lv-LV-EveritaNeural"),
    ("et", "et-EE-AnuNeural"),
    ("fi", "fi-FI-NooraNeural"),
    ("sv", "sv-SE-SofieNeural"),
    ("da", "da-DK-ChristelNeural"),
    ("nb", "nb-NO-PernilleNeural"),
    ("is", "is-IS-GudrunNeural"),
    ("ga", "ga-IE-OrlaNeural"),
    ("cy", "cy-GB-NiaNeural"),
    ("ca", "ca-ES-JoanaNeural"),
    ("gl", "gl-ES-SabelaNeural"),
    ("sq", "sq-AL-AnilaNeural"),
    ("mt", "mt-MT-GraceNeural"),
    ("ka", "ka-GE-EkaNeural"),
    ("az", "az-AZ-BanuNeural"),
    ("uz", "uz-UZ-MadinaNeural"),
    ("kk", "kk-KZ-AigulNeural"),
    ("ar", "ar-SA-ZariyahNeural"),
    ("ar", "ar-EG-SalmaNeural"),
    ("he", "he-IL-HilaNeural"),
    ("fa", "fa-IR-DilaraNeural"),
    ("ur", "ur-PK-UzmaNeural"),
    ("hi", "hi-IN-SwaraNeural"),
    ("bn", "bn-BD-NabanitaNeural"),
    ("mr", "mr-IN-AarohiNeural"),
    ("gu", "gu-IN-DhwaniNeural"),
    ("ta", "ta-IN-PallaviNeural"),
    ("te", "te-IN-ShrutiNeural"),
    ("kn", "kn-IN-SapnaNeural"),
    ("ml", "ml-IN-SobhanaNeural"),
    ("si", "si-LK-ThiliniNeural"),
    ("ne", "ne-NP-HemkalaNeural"),
    ("my", "my-MM-NilarNeural"),
    ("km", "km-KH-SreymomNeural"),
    ("th", "th-TH-PremwadeeNeural"),
    ("vi", "vi-VN-HoaiMyNeural"),
    ("id", "id-ID-GadisNeural"),
    ("ms", "ms-MY-YasminNeural"),
    ("jv", "jv-ID-SitiNeural"),
    ("tl", "fil-PH-BlessicaNeural"),
    ("zh", "zh-CN-XiaoxiaoNeural"),
    ("zh", "zh-TW-HsiaoChenNeural"),
    ("zh", "zh-HK-HiuMaanNeural"),
    ("ja", "ja-JP-NanamiNeural"),
    ("ko", "ko-KR-SunHiNeural"),
    ("af", "af-ZA-AdriNeural"),
    ("sw", "sw-KE-ZuriNeural"),
    ("zu", "zu-ZA-ThandoNeural"),
    ("am", "am-ET-MekdesNeural"),
];

/// The voice that speaks a text: the named one, that of the named language, or that of the language it is written in.
pub(super) fn voice(speak: &Speak) -> Result<String, Failure> {
    if let Some(name) = speak.voice.as_deref() {
        return match is_voice(name) {
            true => Ok(name.to_owned()),
            false => Err(Failure::Own(Error::bad_args(format!(
                "`{}` is no voice of Microsoft Edge: give a name such as {VOICE}, or a `language` instead",
                truncate(name, 60)
            )))),
        };
    }
    if let Some(language) = speak.language.as_deref() {
        let voice = of_language(language);
        let why = || Failure::Unable(format!("has no usual voice for `{}`: name a `voice`", truncate(language, 40)));
        return voice.map(str::to_owned).ok_or_else(why);
    }
    let found = language::detect(&speak.text).filter(|found| found.is_reliable);
    Ok(found.and_then(|found| of_language(found.language.code)).unwrap_or(VOICE).to_owned())
}

/// Whether a name has the form of one: language, region, sometimes a dialect, and the name itself.
fn is_voice(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let plain = |part: &&str| !part.is_empty() && part.len() <= 40 && part.chars().all(|c| c.is_ascii_alphanumeric());
    (3..=5).contains(&parts.len()) && parts.iter().all(plain) && name.ends_with("Neural")
}

/// The voice of a language, by a code with or without a region, or by a name.
fn of_language(text: &str) -> Option<&'static str> {
    let start = text.trim().replace('_', "-").to_lowercase() + "-";
    let by_start = VOICES.iter().find(|(_, voice)| voice.to_lowercase().starts_with(&start));
    let by_code = || language::find(text).and_then(|language| VOICES.iter().find(|(code, _)| *code == language.code));
    by_start.or_else(by_code).map(|(_, voice)| *voice)
}

/// A text without what XML or the service cannot take, escaped, in pieces that end between words or sentences where they can.
pub(super) fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![];
    let mut piece = String::new();
    // Where the piece may end.
    let mut end = 0;
    for c in text.chars() {
        let mut bytes = [0; 4];
        let escaped = match c {
            '&' => "&amp;",
            '<' => "&lt;",
            '>' => "&gt;",
            '"' => "&quot;",
            '\'' => "&apos;",
            '\u{fffe}' | '\u{ffff}' => " ",
            c if c.is_control() => " ",
            c => &*c.encode_utf8(&mut bytes),
        };
        let is_space = escaped == " " || c.is_whitespace();
        if is_space {
            end = piece.len();
        }
        if piece.len() + escaped.len() > PIECE {
            let rest = match end {
                0 => String::new(),
                end => piece.split_off(end).trim_start().to_owned(),
            };
            pieces.push(std::mem::replace(&mut piece, rest));
            end = 0;
        }
        if is_space && piece.is_empty() {
            continue;
        }
        piece += escaped;
        // Texts without spaces have these.
        if matches!(c, '。' | '！' | '？' | '；' | '，' | '、' | '।') {
            end = piece.len();
        }
    }
    pieces.push(piece);
    pieces.into_iter().map(|piece| piece.trim_end().to_owned()).filter(|piece| !piece.is_empty()).collect()
}

/// A piece as it is spoken.
pub(super) fn ssml(voice: &str, speed: Option<f64>, piece: &str) -> String {
    let (locale, name) = voice.rsplit_once('-').unwrap_or(("en-US", voice));
    let speed = speed.unwrap_or(1.0).clamp(SPEEDS.0, SPEEDS.1);
    let rate = ((speed - 1.0) * 100.0).round() as i64;
    format!(
        "<speak version='1.0' xmlns='http://www.w3.org/2001/10/synthesis' xml:lang='{locale}'><voice name='Microsoft Server Speech \
         Text to Speech Voice ({locale}, {name})'><prosody pitch='+0Hz' rate='{rate:+}%' volume='+0%'>{piece}</prosody></voice>\
         </speak>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn speaking(text: &str, voice: Option<&str>, language: Option<&str>) -> Result<String, Failure> {
        let own = |text: Option<&str>| text.map(str::to_owned);
        super::voice(&Speak { text: text.into(), voice: own(voice), language: own(language), ..Speak::default() })
    }

    #[test]
    fn a_voice_is_named_or_follows_from_the_language() {
        let german = "Die Heizung im Keller brummt und muss vor dem Winter gewartet werden.";
        for (text, voice, language, expected) in [
            ("x", Some("zh-CN-liaoning-XiaobeiNeural"), None, "zh-CN-liaoning-XiaobeiNeural"),
            ("x", Some("en-US-GuyNeural"), Some("de"), "en-US-GuyNeural"),
            (german, None, Some("French"), "fr-FR-VivienneMultilingualNeural"),
            (german, None, Some("de_AT"), "de-AT-IngridNeural"),
            (german, None, Some("DE-de"), "de-DE-SeraphinaMultilingualNeural"),
            (german, None, Some("de-LU"), "de-DE-SeraphinaMultilingualNeural"),
            (german, None, Some("no"), "nb-NO-PernilleNeural"),
            (german, None, Some("fil"), "fil-PH-BlessicaNeural"),
            (german, None, None, "de-DE-SeraphinaMultilingualNeural"),
            ("地下室のボイラーがうるさい。", None, None, "ja-JP-NanamiNeural"),
            ("12 + 30 = 42", None, None, VOICE),
        ] {
            assert_eq!(speaking(text, voice, language).unwrap(), expected, "{voice:?} {language:?}");
        }
        for odd in ["alloy", "en-US-Emma", "en-US-'/><x>Neural", "-Neural", "en--EmmaNeural", &"a-b-".repeat(9)] {
            let failure = speaking("x", Some(odd), None).unwrap_err();
            assert!(matches!(&failure, Failure::Own(_)) && failure.words().contains(VOICE), "{odd}");
        }
        let failure = speaking("x", None, Some("Klingon")).unwrap_err();
        assert!(failure.words().contains("`Klingon`"), "{failure:?}");
        assert!(speaking("x", None, Some("")).is_err());
    }

    #[test]
    fn the_voices_agree_with_the_languages() {
        for (code, voice) in VOICES {
            assert_eq!(language::find(code).unwrap().code, *code);
            assert!(
                is_voice(voice) && (voice.starts_with(&format!("{code}-")) || voice.starts_with("fil-")),
                "{voice}"
            );
        }
    }

    #[test]
    fn long_texts_end_between_words() {
        let words = (0..2_000).map(|n| format!("word{n}")).collect::<Vec<_>>().join(" ");
        let all = pieces(&words);
        let full = |piece: &String| (PIECE - 10..=PIECE).contains(&piece.len());
        assert!(all.len() == 5 && all[..4].iter().all(full), "{}", all.len());
        assert_eq!(all.join(" "), words);
        // A sentence ends where there are no spaces, and one without an end is cut between characters.
        let sentences = pieces(&"地下室の锅炉嗡嗡作响。".repeat(300));
        assert!(sentences.iter().all(|piece| piece.len() <= PIECE && piece.ends_with('。')));
        let endless = pieces(&"é".repeat(5_000));
        assert_eq!((endless.len(), endless.concat().len()), (3, 10_000));
        // No escape is cut in two.
        let escaped = pieces(&"&".repeat(4_000));
        assert!(escaped.iter().all(|piece| piece.len() <= PIECE && piece.replace("&amp;", "").is_empty()));
        assert_eq!(escaped.concat().len(), 20_000);
        let spaced = pieces(&format!(" {} {}", "x".repeat(PIECE), "y".repeat(PIECE)));
        assert_eq!(spaced, ["x".repeat(PIECE), "y".repeat(PIECE)]);
    }

    #[test]
    fn what_xml_cannot_take_is_left_out() {
        assert_eq!(pieces("a\u{0}\u{b}\u{1b}[0m\u{ffff}b"), ["a   [0m b"]);
        assert_eq!(pieces("<break time='9s'/> & \"so\""), ["&lt;break time=&apos;9s&apos;/&gt; &amp; &quot;so&quot;"]);
        assert_eq!(pieces(" \u{0} \n\t "), Vec::<String>::new());
    }

    #[test]
    fn the_speed_is_a_rate_within_bounds() {
        for (speed, rate) in [(None, "+0%"), (Some(1.25), "+25%"), (Some(0.25), "-50%"), (Some(4.0), "+100%")] {
            assert!(ssml(VOICE, speed, "x").contains(&format!("rate='{rate}'")), "{speed:?}");
        }
        let text = ssml("zh-CN-liaoning-XiaobeiNeural", None, "x");
        assert!(text.contains("Voice (zh-CN-liaoning, XiaobeiNeural)'") && text.contains(">x</prosody>"), "{text}");
    }
}
