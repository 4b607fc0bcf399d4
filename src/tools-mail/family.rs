//! The family of mail tools and what the policy knows of each.

use crate::{
    delete::delete_email,
    read::{list_emails, read_email, search_emails},
    save::save_email_attachments,
    send::{reply_email, send_email},
    state::MailTools,
};
use std::time::Duration;
use tool::prelude::*;

/// How long calls may take that move a whole message; all others have a minute.
const LONG: Duration = Duration::from_secs(300);

/// Names of the id in other APIs.
const ID: &[(&str, &str)] = &[("id", "emailId"), ("message_id", "emailId"), ("mail_id", "emailId"), ("uid", "emailId")];
const LIST: &[(&str, &str)] = &[
    ("mailbox", "folder"),
    ("label", "folder"),
    ("unread", "unreadOnly"),
    ("max_results", "limit"),
    ("count", "limit"),
];
const SEARCH: &[(&str, &str)] = &[
    ("q", "query"),
    ("text", "query"),
    ("mailbox", "folder"),
    ("after", "since"),
    ("sender", "from"),
    ("recipient", "to"),
    ("unread", "unreadOnly"),
    ("max_results", "limit"),
    ("count", "limit"),
];
const SEND: &[(&str, &str)] = &[
    ("recipients", "to"),
    ("recipient", "to"),
    ("text", "body"),
    ("content", "body"),
    ("message", "body"),
    ("title", "subject"),
    ("files", "attachments"),
];
const REPLY: &[(&str, &str)] = &[
    ("id", "emailId"),
    ("message_id", "emailId"),
    ("text", "body"),
    ("content", "body"),
    ("message", "body"),
    ("files", "attachments"),
];
const SAVE: &[(&str, &str)] = &[
    ("id", "emailId"),
    ("message_id", "emailId"),
    ("folder", "path"),
    ("destination", "path"),
    ("directory", "path"),
    ("attachments", "numbers"),
];

/// Tools for mail.
pub fn family(tools: MailTools) -> Family<MailTools> {
    Family::new("email", "Send and read mail.", tools)
        .services(&["imap", "smtp"])
        .tool("list_emails", Risk::Observe, list_emails)
        .own_area(Area::NetworkRead)
        .page((20, 50))
        .synonyms(LIST)
        .ability("read and send mail")
        .shows(&["limit", "folder", "unreadOnly"])
        .tags("mail inbox mailbox messages new unread imap post letters")
        .example(json!({"unreadOnly": true}))
        .tool("read_email", Risk::Observe, read_email)
        .own_area(Area::NetworkRead)
        .synonyms(ID)
        .shows(&["thread"])
        .tags("mail message open show text thread conversation attachments imap")
        .example(json!({"emailId": "default/INBOX:1700000000:42"}))
        .tool("search_emails", Risk::Observe, search_emails)
        .own_area(Area::NetworkRead)
        .page((50, 100))
        .synonyms(SEARCH)
        .shows(&["from", "subject", "since", "folder"])
        .tags("mail find look for messages from sender subject imap query")
        .example(json!({"query": "invoice", "from": "plumber"}))
        .tool("save_email_attachments", Risk::Write, save_email_attachments)
        .own_area(Area::FileWrite)
        .additive()
        .synonyms(SAVE)
        .timeout(LONG)
        .tags("mail attachment download file save workspace pdf picture")
        .example(json!({"emailId": "default/INBOX:1700000000:42", "path": "bills"}))
        .tool("send_email", Risk::Send, send_email)
        .synonyms(SEND)
        .timeout(LONG)
        .ability("read and send mail")
        .shows(&["cc", "attachments"])
        .tags("mail message write notify tell compose smtp post letter attach")
        .example(json!({"to": ["nora@example.org"], "subject": "Ferry", "body": "It leaves at noon."}))
        .tool("reply_email", Risk::Send, reply_email)
        .synonyms(REPLY)
        .timeout(LONG)
        .shows(&["replyAll"])
        .tags("mail answer respond message smtp thread")
        .example(json!({"emailId": "default/INBOX:1700000000:42", "body": "Thank you, Friday suits us."}))
        .tool("delete_email", Risk::Destroy, delete_email)
        .own_area(Area::NetworkWrite)
        .synonyms(ID)
        .tags("mail remove trash message imap clean")
        .example(json!({"emailId": "default/INBOX:1700000000:42"}))
}
