//! Who may change files, and how a change is carried through.

use crate::{Located, Workspaces};
use serde_json::json;
use store::inherit_effect;
use tool::{Consult, Cx, Error, Result, Risk, Role};

/// Whether this caller may change what is in a place.
pub(crate) fn require_writable(cx: &Cx, located: &Located) -> Result<()> {
    if cx.principal().role == Role::Viewer {
        return Err(Error::denied("you may look at files and not change them: ask an admin for the role of a member"));
    }
    if located.place.read_only {
        let id = &located.place.id;
        return Err(Error::denied(format!(
            "the folder `{id}` is read-only: copy the file to your own folder, and change it there"
        )));
    }
    Ok(())
}

impl Workspaces {
    /// Lets the rules decide whether a tool may look here, where its arguments do not show it.
    ///
    /// # Errors
    /// `Denied` by a rule.
    pub async fn permit(&self, cx: &Cx, tool: &str, located: &Located) -> Result<()> {
        let path = located.display();
        let consult = Consult {
            tool: tool.to_owned(),
            version: 0,
            action: "look",
            about: format!("Look into {path}."),
            details: json!({ "path": path }),
            risk: Risk::Observe,
            ask: false,
            reason: String::new(),
        };
        cx.ports().ask.consult(cx.clone(), consult).await
    }
}

/// Finishes work even where the caller goes away: a change is whole or not begun.
pub(crate) async fn finish<T: Send + 'static>(work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
    tokio::spawn(inherit_effect(work))
        .await
        .unwrap_or_else(|e| Err(Error::failed(format!("the change was interrupted: {e}"))))
}
