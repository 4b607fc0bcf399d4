
use crate::{classification::Classification, classify::Classifier, mask::mask, sentence::Sentence};

impl Classifier<'_> {
    pub async fn head_says(&self, s: &Sentence) -> Vec<(&'static str, f32)> {
        let masked = mask(s, self.now);
        let meaning = self.meaning.of(&masked.text()).await;
        self.head.classify(&masked.words, meaning.as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[tokio::test]
    #[ignore]
    async fn probe() {
        let reflex = crate::tests::reflex();
        let now: jiff::Zoned = "2026-11-23T08:00[Europe/Vienna]".parse().unwrap();
        let mut out = String::new();
        for text in std::fs::read_to_string("/tmp/probe.txt").unwrap().lines() {
            let placed: Classification = reflex.place_at(text, &now).await;
            let places = reflex.places(&now);
            let shares = places.head_says(&Sentence::read(text)).await;
            out += &serde_json::json!({"text": text, "tool": placed.tool, "proposes": placed.proposes.map(|(t,_)| t), "stage": format!("{:?}", placed.stage), "why": placed.why, "say": placed.say,
              "shares": shares.iter().take(60).map(|(c,s)| serde_json::json!([c, s])).collect::<Vec<_>>()}).to_string();
            out.push('\n');
        }
        std::fs::write("/tmp/probe.out", out).unwrap();
    }
}
