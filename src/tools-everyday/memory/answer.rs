//! `answer_question`: one fact that answers a question, or nothing.

use super::sources::{self, Asked, FoundRecord};
use memory::{Decision, Fact, Memories, Question};
use records::join_list;
use text_kit::{capitalized, end_sentence, truncate};
use tool::{Label, prelude::*};

/// The longest question, in characters.
const LONGEST: usize = 1000;
/// How many words are looked up in records, and how many of the facts found there are compared in meaning.
const SEARCHED: usize = 3;
const COMPARED: usize = 6;
/// The longest answer, in characters.
const TOLD: usize = 600;

/// Answer a question with the one stored fact that answers it, from memories, contacts, calendar, tasks, notes, expenses,
/// bookmarks and own tables; or nothing. Secrets are revealed only to a question that names them.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerQuestion {
    /// The whole question, in the person's words.
    question: String,
}

/// A fact and its record.
struct Origin {
    kind: String,
    id: String,
    title: Option<String>,
    date: Option<String>,
    label: Label,
}

pub(super) async fn answer_question(memories: Memories, cx: Cx, args: AnswerQuestion) -> Result<Output> {
    let asked = args.question.trim();
    if asked.is_empty() {
        return Err(Error::bad_args("the question is empty: pass it in the person's words"));
    }
    if asked.chars().count() > LONGEST {
        return Err(Error::bad_args(format!("a question has at most {LONGEST} characters: ask in one sentence")));
    }
    let question = Question::new(asked);
    let candidates = memories.candidates(&cx, asked, &question).await?;
    let (mut facts, mut origins) = (vec![], vec![]);
    for candidate in candidates.found {
        let it = candidate.memory;
        let date = i64::try_from(it.created_ms).unwrap_or(0);
        origins.push(Origin {
            kind: "memory".into(),
            id: it.id.to_string(),
            title: None,
            date: Some(records::iso(date, &cx.ports().clock.zone())),
            label: candidate.label,
        });
        facts.push(Fact { text: it.content, similarity: candidate.similarity });
    }
    let decision = question.decide(&facts, &candidates.commonness);
    if decision != Decision::Nothing {
        return tell(&cx, &question, decision, &origins);
    }
    let (facts, origins) = in_records(&memories, &cx, asked, &question).await;
    let decision = question.decide(&facts, &candidates.commonness);
    tell(&cx, &question, decision, &origins)
}

/// Facts in the records of other families. Their tools have tainted the run with what they read.
async fn in_records(memories: &Memories, cx: &Cx, asked: &str, question: &Question) -> (Vec<Fact>, Vec<Origin>) {
    let words = question.search_words(SEARCHED);
    let asked_for = Asked { words: &words, past: question.is_past(), kinds: &[], now: cx.ports().clock.local() };
    let found = if words.is_empty() { vec![] } else { sources::search(cx, &asked_for).await };
    let mut all: Vec<(f32, String, &FoundRecord)> = vec![];
    for record in &found {
        all.extend(record.facts.iter().map(|fact| (question.overlap(fact), fact.clone(), record)));
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    all.truncate(COMPARED);
    let texts: Vec<&str> = all.iter().map(|(_, text, _)| text.as_str()).collect();
    let similarities = memories.similarities(asked, &texts).await;
    let origin = |record: &FoundRecord| Origin {
        kind: record.kind.name().to_owned(),
        id: record.id.clone(),
        title: Some(record.title.clone()),
        date: record.date.clone(),
        label: Label::Own,
    };
    let origins = all.iter().map(|(.., record)| origin(record)).collect();
    let fact = |((_, text, _), similarity): ((f32, String, &FoundRecord), Option<f32>)| Fact { text, similarity };
    (all.into_iter().zip(similarities).map(fact).collect(), origins)
}

fn tell(cx: &Cx, question: &Question, decision: Decision, origins: &[Origin]) -> Result<Output> {
    match decision {
        Decision::Answer { at, text, score } => {
            let Some(origin) = origins.get(at) else { return Err(Error::failed("the answer has no record")) };
            cx.taint(origin.label);
            let text = truncate(&text, TOLD);
            let sentence = capitalized(&end_sentence(&text));
            let content = json!({
                "found": true,
                "answer": text,
                "kind": origin.kind,
                "id": origin.id,
                "title": origin.title,
                "date": origin.date,
                "score": (f64::from(score) * 100.0).round() / 100.0,
            });
            Ok(Output { content, ..Output::default() }.say(sentence))
        }
        Decision::Which(secrets) => {
            for (at, _) in &secrets {
                cx.taint(origins.get(*at).map_or(Label::Own, |origin| origin.label));
            }
            let mut names: Vec<String> = secrets.into_iter().map(|(_, name)| name).collect();
            names.dedup();
            let sentence = match names.as_slice() {
                [one] => format!("I keep {one}. Ask for it by that name and I will tell you."),
                all => format!("I keep {}. Which one do you mean?", join_list(all, false)),
            };
            let content = json!({"found": false, "reason": "which", "secrets": names});
            Ok(Output { content, ..Output::default() }.say(sentence))
        }
        Decision::Nothing => {
            let (reason, sentence) = match question.is_about_household() {
                true => ("not told", "You haven't told me that yet."),
                false => ("unknown", "I don't know that. I could with a model: add one on the Models page."),
            };
            Ok(Output { content: json!({"found": false, "reason": reason}), ..Output::default() }.say(sentence))
        }
    }
}
