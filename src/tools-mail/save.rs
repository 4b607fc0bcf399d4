//! Saving attachments into the workspace.

use crate::state::MailTools;
use mail::{EmailId, MAX_MESSAGE, Parts, safe_name};
use std::collections::BTreeSet;
use tool::{Label, prelude::*};
use workspace::{Expect, WriteOptions};

/// How many files one call saves.
const FILES: usize = 50;

/// Save the attachments of a mail into a folder of the workspace. No file that is there is replaced. What is in them comes from a
/// stranger.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SaveEmailAttachments {
    /// The emailId of the mail.
    email_id: String,
    /// Folder of the workspace to save into (default: mail).
    #[serde(default = "default_folder")]
    path: String,
    /// The numbers of the attachments, as read_email lists them (default: all).
    #[serde(default)]
    numbers: Vec<usize>,
}

fn default_folder() -> String {
    "mail".to_owned()
}

pub(crate) async fn save_email_attachments(tools: MailTools, cx: Cx, args: SaveEmailAttachments) -> Result<Output> {
    let id: EmailId = args.email_id.parse::<EmailId>()?;
    let folder = tools.workspaces.locate(&cx, &args.path)?;
    let _large = tools.large().await?;
    let mail = {
        let mut connected = tools.connect_to(&cx, &id, true).await?;
        let mail = connected.imap.message(id.uid, MAX_MESSAGE).await?;
        connected.imap.logout().await;
        mail
    };
    if mail.size > mail.bytes.len() as u64 {
        return Err(Error::failed(format!(
            "the mail has {} bytes, and attachments are saved from mails of at most {} MB: save them with a mail program",
            mail.size,
            MAX_MESSAGE >> 20
        )));
    }
    let parts = tool::blocking("the reading of the mail", move || Ok(Parts::read(&mail.bytes.into()))).await?;
    let wanted: BTreeSet<usize> = args.numbers.iter().copied().collect();
    let chosen: Vec<_> =
        parts.attachments().filter(|(number, _)| wanted.is_empty() || wanted.contains(number)).collect();
    if chosen.is_empty() {
        return Err(Error::not_found(match parts.attachments().count() {
            0 => "the mail has no attachments".to_owned(),
            count => format!("the mail has attachments 1 to {count}: choose among these"),
        }));
    }
    if chosen.len() > FILES {
        return Err(Error::bad_args(format!("a call saves {FILES} attachments at most: choose some by `numbers`")));
    }
    let mut saved = vec![];
    for (number, part) in chosen {
        let located = tools.workspaces.free_name(&folder.join(&safe_name(part.name.as_deref(), number))).await?;
        let (mut staged, content) = (tools.workspaces.stage(&cx, &located).await?, part.clone());
        let receive = move || {
            content.blocks().try_for_each(|block| staged.write(&block))?;
            Ok(staged)
        };
        let staged = tool::blocking("the saving of the attachment", receive).await?;
        let options =
            WriteOptions { expect: Expect::Absent, parents: true, label: Label::Outside, ..WriteOptions::default() };
        let written = tools.workspaces.write_staged(&cx, &located, staged, options).await?;
        saved.push(json!({
            "number": number, "path": located.display(), "size": written.entry.size, "type": part.media_type,
        }));
    }
    let sentence = format!("I saved {} in {}.", text_kit::counted(saved.len(), "attachment"), folder.display());
    Ok(Output::json(json!({"saved": saved}))?.say(sentence).from_outside())
}
