//! Languages by code and name, and which of them a text is in: by its letters and their sequences, without a model.

/// How much of a text is looked at, in characters.
const SAMPLE: usize = 4000;

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Its code of two letters (ISO 639-1).
    pub code: &'static str,
    /// Its code of three letters (ISO 639-3).
    pub code3: &'static str,
    /// Its English name.
    pub name: &'static str,
    /// Its name in itself.
    pub native: &'static str,
}

const fn language(code: &'static str, code3: &'static str, name: &'static str, native: &'static str) -> Language {
    Language { code, code3, name, native }
}

/// The languages.
pub const LANGUAGES: &[Language] = &[
    language("en", "eng", "English", "English"),
    language("de", "deu", "German", "Deutsch"),
    language("fr", "fra", "French", "français"),
    language("es", "spa", "Spanish", "español"),
    language("it", "ita", "Italian", "italiano"),
    language("pt", "por", "Portuguese", "português"),
    language("nl", "nld", "Dutch", "Nederlands"),
    language("pl", "pol", "Polish", "polski"),
    language("cs", "ces", "Czech", "čeština"),
    language("sk", "slk", "Slovak", "slovenčina"),
    language("sl", "slv", "Slovene", "slovenščina"),
    language("hr", "hrv", "Croatian", "hrvatski"),
    language("sr", "srp", "Serbian", "српски"),
    language("bs", "bos", "Bosnian", "bosanski"),
    language("mk", "mkd", "Macedonian", "македонски"),
    language("bg", "bul", "Bulgarian", "български"),
    language("ro", "ron", "Romanian", "română"),
    language("hu", "hun", "Hungarian", "magyar"),
    language("el", "ell", "Greek", "ελληνικά"),
    language("tr", "tur", "Turkish", "Türkçe"),
    language("ru", "rus", "Russian", "русский"),
    language("uk", "ukr", "Ukrainian", "українська"),
    language("be", "bel", "Belarusian", "беларуская"),
    language("lt", "lit", "Lithuanian", "lietuvių"),
    language("lv", "lav", "Latvian", "latviešu"),
    language("et", "est", "Estonian", "eesti"),
    language("fi", "fin", "Finnish", "suomi"),
    language("sv", "swe", "Swedish", "svenska"),
    language("da", "dan", "Danish", "dansk"),
    language("nb", "nob", "Bokmal", "bokmål"),
    language("is", "isl", "Icelandic", "íslenska"),
    language("ga", "gle", "Irish", "Gaeilge"),
    language("cy", "cym", "Welsh", "Cymraeg"),
    language("eu", "eus", "Basque", "euskara"),
    language("ca", "cat", "Catalan", "català"),
    language("gl", "glg", "Galician", "galego"),
    language("sq", "sqi", "Albanian", "shqip"),
    language("mt", "mlt", "Maltese", "Malti"),
    language("la", "lat", "Latin", "latina"),
    language("eo", "epo", "Esperanto", "Esperanto"),
    language("ka", "kat", "Georgian", "ქართული"),
    language("hy", "hye", "Armenian", "հայերեն"),
    language("az", "aze", "Azerbaijani", "azərbaycanca"),
    language("tk", "tuk", "Turkmen", "türkmençe"),
    language("uz", "uzb", "Uzbek", "oʻzbekcha"),
    language("kk", "kaz", "Kazakh", "қазақ"),
    language("ar", "ara", "Arabic", "العربية"),
    language("he", "heb", "Hebrew", "עברית"),
    language("yi", "yid", "Yiddish", "ייִדיש"),
    language("fa", "pes", "Persian", "فارسی"),
    language("ur", "urd", "Urdu", "اردو"),
    language("hi", "hin", "Hindi", "हिन्दी"),
    language("bn", "ben", "Bengali", "বাংলা"),
    language("mr", "mar", "Marathi", "मराठी"),
    language("gu", "guj", "Gujarati", "ગુજરાતી"),
    language("pa", "pan", "Punjabi", "ਪੰਜਾਬੀ"),
    language("or", "ori", "Oriya", "ଓଡ଼ିଆ"),
    language("ta", "tam", "Tamil", "தமிழ்"),
    language("te", "tel", "Telugu", "తెలుగు"),
    language("kn", "kan", "Kannada", "ಕನ್ನಡ"),
    language("ml", "mal", "Malayalam", "മലയാളം"),
    language("si", "sin", "Sinhalese", "සිංහල"),
    language("ne", "nep", "Nepali", "नेपाली"),
    language("my", "mya", "Burmese", "မြန်မာ"),
    language("km", "khm", "Khmer", "ខ្មែរ"),
    language("th", "tha", "Thai", "ไทย"),
    language("vi", "vie", "Vietnamese", "Tiếng Việt"),
    language("id", "ind", "Indonesian", "Bahasa Indonesia"),
    language("ms", "msa", "Malay", "Bahasa Melayu"),
    language("jv", "jav", "Javanese", "basa Jawa"),
    language("tl", "tgl", "Tagalog", "Tagalog"),
    language("zh", "cmn", "Mandarin", "中文"),
    language("ja", "jpn", "Japanese", "日本語"),
    language("ko", "kor", "Korean", "한국어"),
    language("af", "afr", "Afrikaans", "Afrikaans"),
    language("sw", "swa", "Swahili", "Kiswahili"),
    language("zu", "zul", "Zulu", "isiZulu"),
    language("sn", "sna", "Shona", "chiShona"),
    language("ak", "aka", "Akan", "Akan"),
    language("am", "amh", "Amharic", "አማርኛ"),
];

/// Other names and codes that people and services write.
const OTHER: &[(&str, &str)] = &[
    ("chinese", "zh"),
    ("simplified chinese", "zh"),
    ("traditional chinese", "zh"),
    ("zho", "zh"),
    ("norwegian", "nb"),
    ("no", "nb"),
    ("nor", "nb"),
    ("norsk", "nb"),
    ("slovenian", "sl"),
    ("farsi", "fa"),
    ("fas", "fa"),
    ("iw", "he"),
    ("filipino", "tl"),
    ("sinhala", "si"),
    ("odia", "or"),
    ("brazilian portuguese", "pt"),
    ("castilian", "es"),
    ("flemish", "nl"),
];

/// The language of a code (`de`, `deu`, `de-AT`, `pt_BR`) or a name (`German`, `Deutsch`).
pub fn find(text: &str) -> Option<&'static Language> {
    let text = text.trim().to_lowercase();
    let by = |text: &str| {
        let other = OTHER.iter().find(|(name, _)| *name == text).map_or(text, |(_, code)| code);
        LANGUAGES.iter().find(|language| {
            [language.code, language.code3].contains(&other)
                || language.name.to_lowercase() == other
                || language.native.to_lowercase() == other
        })
    };
    let base = text.split(['-', '_']).next().filter(|base| (2..=3).contains(&base.len()));
    by(&text).or_else(|| by(base?))
}

/// What a text seems to be in.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Detected {
    /// The likeliest language.
    pub language: &'static Language,
    /// How likely, from 0 to 1.
    pub confidence: f64,
    /// Whether one may rely on it: texts of a few words are guesses.
    pub is_reliable: bool,
}

/// The likeliest language of a text; `None` where it has no letters.
pub fn detect(text: &str) -> Option<Detected> {
    let end = text.char_indices().nth(SAMPLE).map_or(text.len(), |(at, _)| at);
    let found = whatlang::detect(&text[..end])?;
    let language = LANGUAGES.iter().find(|language| language.code3 == found.lang().code())?;
    Some(Detected { language, confidence: found.confidence(), is_reliable: found.is_reliable() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_that_is_detected_has_a_row() {
        for lang in whatlang::Lang::all() {
            let language = find(lang.code()).unwrap_or_else(|| panic!("{}", lang.code()));
            assert_eq!((language.code3, language.name), (lang.code(), lang.eng_name()));
        }
        let mut codes: Vec<_> = LANGUAGES.iter().map(|language| language.code).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), LANGUAGES.len());
        assert!(OTHER.iter().all(|(_, code)| codes.contains(code)));
    }

    #[test]
    fn names_and_codes_are_read() {
        for (text, code) in [
            ("de", "de"),
            (" DE ", "de"),
            ("deu", "de"),
            ("German", "de"),
            ("deutsch", "de"),
            ("de-AT", "de"),
            ("pt_BR", "pt"),
            ("zh-Hans", "zh"),
            ("Chinese", "zh"),
            ("日本語", "ja"),
            ("Norwegian", "nb"),
        ] {
            assert_eq!(find(text).unwrap().code, code, "{text}");
        }
        for odd in ["", "-", "xx", "Klingon", "german-ish", "d"] {
            assert_eq!(find(odd), None, "{odd}");
        }
    }

    #[test]
    fn texts_are_recognised() {
        for (text, code) in [
            ("The boiler in the cellar hums and has to be serviced before the winter begins.", "en"),
            ("Die Heizung im Keller brummt und muss vor dem Winter gewartet werden.", "de"),
            ("Ο λέβητας στο υπόγειο κάνει θόρυβο.", "el"),
            ("地下室のボイラーがうるさい。", "ja"),
            ("地下室的锅炉嗡嗡作响。", "zh"),
        ] {
            let found = detect(text).unwrap();
            assert_eq!((found.language.code, found.is_reliable), (code, true), "{text}");
        }
        assert_eq!(detect("12 + 30 = 42"), None);
        assert!(detect(&"日".repeat(100_000)).is_some());
    }
}
