//! The conventions of well-known families of models, for folders whose files do not describe them.

use super::pooling::Pooling;

/// The conventions of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Family {
    pub pooling: Pooling,
    pub query: &'static str,
    pub passage: &'static str,
}

const PLAIN: Family = Family { pooling: Pooling::Mean, query: "", passage: "" };
const E5: Family = Family { query: "query: ", passage: "passage: ", ..PLAIN };
const BGE: Family = Family { pooling: Pooling::Cls, ..PLAIN };
const BGE_EN: Family = Family { query: "Represent this sentence for searching relevant passages: ", ..BGE };
const BGE_ZH: Family = Family { query: "为这个句子生成表示以用于检索相关文章：", ..BGE };

/// The family that a name such as `intfloat/multilingual-e5-small` belongs to.
pub fn of(name: &str) -> Option<Family> {
    let name = name.to_lowercase();
    let words: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &str| words.contains(&word);
    if has("e5") && !has("instruct") {
        Some(E5)
    } else if has("bge") && has("m3") {
        Some(BGE)
    } else if has("bge") {
        Some(if has("zh") { BGE_ZH } else { BGE_EN })
    } else if words.iter().any(|word| ["minilm", "mpnet"].contains(word)) {
        Some(PLAIN)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_family() {
        let cases = [
            ("intfloat/multilingual-e5-small", Some(E5)),
            ("e5-base-v2", Some(E5)),
            ("multilingual-e5-large-instruct", None),
            ("BAAI/bge-small-en-v1.5", Some(BGE_EN)),
            ("bge_small_zh", Some(BGE_ZH)),
            ("bge-m3", Some(BGE)),
            ("sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2", Some(PLAIN)),
            ("se5am", None),
            ("", None),
        ];
        for (name, family) in cases {
            assert_eq!(of(name), family, "{name}");
        }
    }
}
