//! Undoing a switched pin: back to the level before, if it still has the one that the change set.

use board::{Board, Pin};
use futures::{FutureExt, future::BoxFuture};
use records::Undoer;
use std::sync::Arc;
use store::Part;
use tool::prelude::*;

/// The kind of these parts of changes.
const KIND: &str = "pins";

/// The part of a change that switched a pin, called `name`, from a level to the other.
pub(crate) fn part(pin: Pin, before: bool, name: &str) -> Part {
    Part {
        table: KIND.into(),
        key: pin.to_string().into_bytes(),
        before: Some(vec![u8::from(before)]),
        after: vec![u8::from(!before)],
        title: name.to_owned(),
        list: String::new(),
        shared: true,
    }
}

struct UndoesPins(Board);

/// The kind of parts, and what undoes them.
pub fn undoer(board: &Board) -> (&'static str, Arc<dyn Undoer>) {
    (KIND, Arc::new(UndoesPins(board.clone())))
}

/// The pin, and its levels before and after the change.
fn read(part: &Part) -> Option<(Value, bool, bool)> {
    let pin: u8 = std::str::from_utf8(&part.key).ok()?.parse().ok()?;
    Some((json!(pin), *part.before.as_ref()?.first()? > 0, *part.after.first()? > 0))
}

impl Undoer for UndoesPins {
    fn outside<'a>(&'a self, cx: &'a Cx, part: &'a Part) -> BoxFuture<'a, Result<bool>> {
        async move {
            let Some((pin, before, after)) = read(part) else { return Ok(false) };
            let now =
                self.0.read(serde_json::from_value(pin.clone()).map_err(|e| Error::failed(e.to_string()))?).await?;
            if now.high != after {
                return Ok(false);
            }
            // Like any call, so that everything that guards pins guards this too.
            cx.call("gpio_write", json!({"pin": pin, "high": before})).await?;
            Ok(true)
        }
        .boxed()
    }
    fn words(&self, part: &Part) -> Option<String> {
        let (_, before, _) = read(part)?;
        Some(format!("{} is {} again", part.title, if before { "on" } else { "off" }))
    }
}
