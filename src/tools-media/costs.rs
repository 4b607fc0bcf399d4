//! What media costs, in the ledger of models.

use futures::future::BoxFuture;
use llm::{Ledger, Usage};
use media::Costs;
use std::sync::Arc;

/// The output tokens that a request counts as of which neither price nor tokens are known: about five cents.
const UNKNOWN: u64 = 10_000;

/// The ledger of models as the purse of media.
pub struct LedgerCosts(pub Arc<Ledger>);

impl Costs for LedgerCosts {
    fn reserve(&self, dollars: f64) -> BoxFuture<'static, Result<Box<dyn Send>, String>> {
        let ledger = self.0.clone();
        Box::pin(async move { ledger.reserve(dollars).await.map(|hold| Box::new(hold) as Box<dyn Send>) })
    }

    fn book(&self, model: &str, (input, output): (u64, u64), cost: Option<f64>) {
        let output = if cost.is_none() && input + output == 0 { UNKNOWN } else { output };
        let usage = Usage {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input.saturating_add(output),
            ..Usage::default()
        };
        self.0.record_media(model, &usage, cost);
    }
}
