//! Mail: its services in the Config Center, its tools, and the watch for new mail.

use ::mail::MailWatch;
use config_center::{ConfigCenter, Required};
use records::Undo;
use store::Store;
use tool::{FamilyParts, Label, Ports, Result};
use tools_mail::MailTools;
use workspace::Workspaces;

/// Adds the tools, and returns the watch, which follows the accounts of the Config Center once it runs.
///
/// # Errors
/// `BadArgs` when there are too many services.
pub fn mail(
    store: &Store,
    services: &ConfigCenter,
    workspaces: &Workspaces,
    ports: &Ports,
    undo: &Undo,
    families: &mut Vec<FamilyParts>,
) -> Result<MailWatch> {
    services.register("mail", "list_emails", Label::Own, Required::parse_list(&::mail::services())?)?;
    let tools = MailTools::new(store, workspaces.clone());
    let (moved, back) = tools_mail::undoer(&tools);
    undo.register(moved, back);
    families.push(tools_mail::family(tools).into_parts());
    let watch = MailWatch::new(store, ports.clone());
    let follower = watch.clone();
    services.on_change(move || follower.reload());
    Ok(watch)
}
