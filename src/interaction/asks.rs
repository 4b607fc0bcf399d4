//! The port through which tools ask in the middle of their work.

use crate::{Interactions, Request};
use futures::{FutureExt, future::BoxFuture};
use tool::{Answer, Ask, Consult, Cx, Error, Question, Result};

/// Asks people: for approval at `C`, everything else as an interaction.
pub struct Asks<C> {
    consulted: C,
    interactions: Interactions,
}

impl<C: Ask> Asks<C> {
    /// Questions of tools go to `interactions`, approvals to `consulted`.
    pub fn new(consulted: C, interactions: Interactions) -> Self {
        Self { consulted, interactions }
    }
}

impl<C: Ask> Ask for Asks<C> {
    fn consult(&self, cx: Cx, consult: Consult) -> BoxFuture<'static, Result<()>> {
        self.consulted.consult(cx, consult)
    }

    fn ask(&self, cx: Cx, question: Question) -> BoxFuture<'static, Result<Answer>> {
        let interactions = self.interactions.clone();
        async move {
            let request = Request::Ask { question: question.text, options: question.choices };
            let answer = interactions.ask_now(&cx, request).await?;
            let text = answer["answer"].as_str().ok_or_else(|| Error::failed("the answer has no text: ask again"))?;
            Ok(Answer(text.to_owned()))
        }
        .boxed()
    }
}
