//! Enums of words: one table defines the variants, their schema and their synonyms.

/// Define an enum of words. The first word of each line is its canonical name; the others are synonyms. Case and word
/// separators are ignored (`Title Case`, `title_case`).
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($variant:ident = $first:literal $(| $more:literal)*),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($variant),+ }

        impl $name {
            const WORDS: &'static [(Self, &'static [&'static str])] = &[$((Self::$variant, &[$first $(, $more)*])),+];

            /// The canonical name.
            #[allow(dead_code)]
            pub(crate) fn word(self) -> &'static str {
                match self { $(Self::$variant => $first),+ }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                let said = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                crate::words::choose(Self::WORDS, &said).ok_or_else(|| {
                    serde::de::Error::custom(crate::words::unknown_word(&said, Self::WORDS.iter().map(|(_, words)| words[0])))
                })
            }
        }

        impl tool::prelude::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut tool::prelude::schemars::SchemaGenerator) -> tool::prelude::schemars::Schema {
                let words: Vec<&str> = Self::WORDS.iter().flat_map(|(_, words)| words.iter().copied()).collect();
                tool::prelude::schemars::json_schema!({"type": "string", "enum": words})
            }
        }
    };
}
pub(crate) use words;

/// The variant with this name or synonym.
pub(crate) fn choose<T: Copy>(table: &[(T, &[&str])], said: &str) -> Option<T> {
    let said = plain(said);
    table.iter().find(|(_, words)| words.iter().any(|word| plain(word) == said)).map(|(choice, _)| *choice)
}

/// The error for an unknown word.
pub(crate) fn unknown_word<'a>(said: &str, words: impl Iterator<Item = &'a str>) -> String {
    let said: String = said.chars().take(40).collect();
    format!("`{said}` is none of {}", words.collect::<Vec<_>>().join(", "))
}

fn plain(word: &str) -> String {
    word.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use tool::{prelude::*, schema_of};

    words!(Colour { Red = "red" | "rouge", DarkBlue = "dark_blue" });

    #[derive(Deserialize, JsonSchema)]
    struct Args {
        /// Which.
        colour: Option<Colour>,
    }

    #[test]
    fn words_are_read_as_people_write_them_and_told_in_the_schema() {
        for (said, wanted) in [("red", Colour::Red), ("ROUGE", Colour::Red), ("Dark Blue", Colour::DarkBlue)] {
            let args: Args = serde_json::from_value(json!({"colour": said})).unwrap();
            assert_eq!(args.colour, Some(wanted), "{said}");
        }
        let wrong = serde_json::from_value::<Colour>(json!("green")).unwrap_err().to_string();
        assert!(wrong.contains("`green` is none of red, dark_blue"), "{wrong}");
        let (_, schema) = schema_of::<Args>();
        let colour = json!({"type": "string", "enum": ["red", "rouge", "dark_blue"], "description": "Which."});
        assert_eq!(schema["properties"]["colour"], colour);
        assert_eq!(Colour::DarkBlue.word(), "dark_blue");
    }
}
