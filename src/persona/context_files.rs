//! The context files of an agent by their paths, for [`documents::VirtualFiles`].

use crate::{Document, Documents, Name};
use ::documents::{AgentType, ContextFile, ContextFiles, ContextText, Edit};
use futures::{FutureExt, future::BoxFuture};
use tool::{Cx, Result};

impl ContextFiles for Documents {
    fn agent_type(&self, cx: &Cx) -> AgentType {
        self.type_of(cx.agent())
    }

    fn peek(&self, cx: &Cx, file: ContextFile) -> Result<ContextText> {
        Ok(text_of(Documents::peek(self, cx, Name::of_file(file))?))
    }

    fn edit<'a>(
        &'a self,
        cx: &'a Cx,
        file: ContextFile,
        edit: Edit,
        expected: Option<u32>,
    ) -> BoxFuture<'a, Result<ContextText>> {
        async move { Ok(text_of(self.edit_version(cx, Name::of_file(file), edit, expected).await?)) }.boxed()
    }
}

fn text_of(document: Document) -> ContextText {
    let Document { text, version, updated_ms, label, .. } = document;
    ContextText { text, version, updated_ms, label }
}
