//! Deleting mails: they go to the trash of their account, and undo brings them back.

use crate::state::MailTools;
use futures::{FutureExt, future::BoxFuture};
use mail::{EmailId, Headers, Search};
use records::Undoer;
use std::sync::Arc;
use store::Part;
use tool::prelude::*;

/// The kind of these parts of changes.
const KIND: &str = "mails";

/// Move a mail to the trash of its account.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeleteEmail {
    /// The emailId of the mail.
    email_id: String,
    /// Delete it for good, also out of the trash. This cannot be undone.
    #[serde(default)]
    permanent: bool,
}

/// A mail that was moved to the trash. Its shape never changes: it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Moved {
    account: String,
    folder: String,
    trash: String,
    /// Its number and the numbering there, where the server said it.
    uid: Option<u32>,
    validity: u32,
    /// The id in its headers; empty where it has none.
    message_id: String,
}

pub(crate) async fn delete_email(tools: MailTools, cx: Cx, args: DeleteEmail) -> Result<Output> {
    let id: EmailId = args.email_id.parse::<EmailId>()?;
    let mut connected = tools.connect_to(&cx, &id, false).await?;
    let found = connected.imap.headers_of(&[id.uid]).await?;
    let mail = found
        .into_iter()
        .find(|mail| mail.uid == id.uid)
        .ok_or_else(|| Error::not_found("this mail is not there any more: it was deleted or moved"))?;
    let headers = Headers::read(&mail.bytes);
    let subject = text_kit::truncate(&headers.subject, 80);
    if args.permanent {
        connected.imap.delete(id.uid).await?;
        connected.imap.logout().await;
        let content = json!({"deleted": true, "permanent": true, "subject": subject});
        return Ok(Output::json(content)?.say(format!("I deleted the mail “{subject}” for good.")).from_outside());
    }
    let folders = connected.imap.folders().await?;
    let trash = connected.account.trash.clone().or_else(|| folders.trash().map(str::to_owned)).ok_or_else(|| {
        Error::bad_args(
            "this account has no folder for deleted mail: an admin can name one in the Config Center (`trash`), or pass \
             `permanent`: true to delete the mail for good",
        )
    })?;
    if trash == id.folder {
        return Err(Error::bad_args("the mail is in the trash already: pass `permanent`: true to delete it for good"));
    }
    let uid = connected.imap.move_to(id.uid, &trash).await?;
    let validity = connected.imap.open(&trash, true).await.map_or(0, |opened| opened.validity);
    connected.imap.logout().await;
    let moved = Moved {
        account: id.account.clone(),
        folder: id.folder.clone(),
        trash: trash.clone(),
        uid,
        validity,
        message_id: headers.message_id.unwrap_or_default(),
    };
    // The mail is in the trash, whether or not that can be undone.
    if let Ok(before) = postcard::to_stdvec(&moved) {
        let part = Part {
            table: KIND.into(),
            key: id.to_string().into_bytes(),
            before: Some(before),
            after: vec![],
            title: format!("mail “{subject}”"),
            list: String::new(),
            shared: false,
        };
        if let Err(error) = tools.store.note_outside(part).await {
            tracing::warn!(%error, "a deleted mail could not be noted for undoing");
        }
    }
    let there = uid.map(|uid| EmailId { account: id.account, folder: trash.clone(), validity, uid }.to_string());
    let content = json!({"deleted": true, "movedTo": trash, "emailId": there, "subject": subject});
    Ok(Output::json(content)?.say(format!("I moved the mail “{subject}” to {trash}.")).from_outside())
}

struct UndoesMails(MailTools);

/// The kind of parts, and what undoes them.
pub fn undoer(tools: &MailTools) -> (&'static str, Arc<dyn Undoer>) {
    (KIND, Arc::new(UndoesMails(tools.clone())))
}

impl UndoesMails {
    async fn put_back(&self, cx: &Cx, part: &Part) -> Result<bool> {
        let moved = part.before.as_deref().and_then(|before| postcard::from_bytes::<Moved>(before).ok());
        let Some(moved) = moved else { return Ok(false) };
        let mut connected = self.0.connect(cx, Some(&moved.account)).await?;
        let opened = connected.imap.open(&moved.trash, false).await?;
        let known = moved.uid.filter(|_| opened.validity == moved.validity);
        let uid = match known {
            Some(uid) => Some(uid),
            None if moved.message_id.is_empty() => None,
            None => {
                let terms = vec![("HEADER MESSAGE-ID", moved.message_id.clone())];
                connected.imap.search(&Search { terms, ..Search::default() }, 1).await?.0.first().copied()
            }
        };
        let Some(uid) = uid else { return Ok(false) };
        if connected.imap.headers_of(&[uid]).await?.is_empty() {
            return Ok(false);
        }
        connected.imap.move_to(uid, &moved.folder).await?;
        connected.imap.logout().await;
        Ok(true)
    }
}

impl Undoer for UndoesMails {
    fn outside<'a>(&'a self, cx: &'a Cx, part: &'a Part) -> BoxFuture<'a, Result<bool>> {
        self.put_back(cx, part).boxed()
    }
    fn words(&self, part: &Part) -> Option<String> {
        Some(format!("the {} is back in its folder", part.title))
    }
}
