//! Sending mails and answers.

use crate::{shown::date, state::MailTools};
use mail::{
    Attached, EmailId, Headers, Imap, ImapAccount, MAX_ATTACHED, Outgoing, Parts, Person, Smtp, SmtpAccount,
    parse_people, parse_person, quoted_text,
};
use tool::{Consult, prelude::*};

/// How many files a mail may have.
const FILES: usize = 20;
/// How much of the mail that is answered is read, in bytes, and quoted, in characters.
const ORIGINAL: usize = 1 << 20;
const QUOTED: usize = 20_000;
/// Beginnings of subjects that say already that it is an answer.
const ANSWERS: &[&str] = &["re:", "aw:", "sv:", "antw:", "rép:", "r:"];

/// Send a mail from the household's mail account. It has 20 recipients at most.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SendEmail {
    /// Addresses, as `anna@example.org` or `Anna <anna@example.org>`.
    to: Vec<String>,
    /// Subject, on one line.
    subject: String,
    /// Plain text.
    body: String,
    /// Addresses that get a copy.
    #[serde(default)]
    cc: Vec<String>,
    /// Addresses that get a copy without the others seeing it.
    #[serde(default)]
    bcc: Vec<String>,
    /// Paths of files in the workspace to attach; 15 MB in all.
    #[serde(default)]
    attachments: Vec<String>,
    /// Label of the mail account (default: the first).
    account: Option<String>,
}

pub(crate) async fn send_email(tools: MailTools, cx: Cx, args: SendEmail) -> Result<Output> {
    let account = mail::smtp_account(&cx, args.account.as_deref())?;
    let mail = Outgoing {
        from: account.from.clone(),
        to: people(&args.to)?,
        cc: people(&args.cc)?,
        bcc: people(&args.bcc)?,
        subject: args.subject,
        text: args.body,
        references: vec![],
        attached: vec![],
        date: cx.ports().clock.now().as_second(),
    };
    if mail.to.is_empty() {
        return Err(Error::bad_args("the mail has no recipient: pass `to`"));
    }
    deliver(&tools, &cx, &account, mail, &args.attachments).await
}

/// Answer a mail: to its sender, with the subject, the thread and the text it answers.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReplyEmail {
    /// The emailId of the mail to answer.
    email_id: String,
    /// Plain text of the answer.
    body: String,
    /// Also to everybody else who got the mail.
    #[serde(default)]
    reply_all: bool,
    /// Whether the text of the mail is quoted below the answer (default: true).
    quote: Option<bool>,
    /// Paths of files in the workspace to attach; 15 MB in all.
    #[serde(default)]
    attachments: Vec<String>,
}

pub(crate) async fn reply_email(tools: MailTools, cx: Cx, args: ReplyEmail) -> Result<Output> {
    let id: EmailId = args.email_id.parse::<EmailId>()?;
    let account = mail::smtp_account(&cx, Some(&id.account)).or_else(|error| match error {
        Error::NotFound(_) => mail::smtp_account(&cx, None),
        other => Err(other),
    })?;
    let (original, own) = {
        let mut connected = tools.connect_to(&cx, &id, true).await?;
        let original = connected.imap.message(id.uid, ORIGINAL).await?;
        let own = connected.account.server.username.clone();
        connected.imap.logout().await;
        (original, own)
    };
    let (headers, text) = tool::blocking("the reading of the mail", move || {
        let bytes = original.bytes.into();
        let text = Parts::read(&bytes).text(QUOTED).text;
        Ok((Headers::read(&bytes), text))
    })
    .await?;
    let sender = headers.sender().cloned().unwrap_or_default();
    let to = answered(&headers)?;
    if !to.iter().all(|person| person.is_at(&sender.address)) {
        approve_other(&cx, &sender, &to).await?;
    }
    let mut cc = vec![];
    if args.reply_all {
        for person in headers.to.iter().chain(&headers.cc) {
            let is_known = [&to, &cc].into_iter().flatten().any(|known: &Person| known.is_at(&person.address));
            let is_own = account.from.is_at(&person.address) || person.is_at(&own);
            // An address that is none cannot be answered.
            if let (false, false, Ok(person)) = (is_known, is_own, parse_person(&person.shown())) {
                cc.push(person);
            }
        }
    }
    let is_answer = ANSWERS.iter().any(|start| headers.subject.to_lowercase().starts_with(start));
    let subject = if is_answer { headers.subject.clone() } else { format!("Re: {}", headers.subject) };
    let when = headers
        .date
        .and_then(|seconds| date(&cx, seconds))
        .map_or_else(|| "an earlier day".to_owned(), |when| when.get(..16).unwrap_or(&when).replace('T', " "));
    let text = match args.quote.unwrap_or(true) && !text.trim().is_empty() {
        true => quoted_text(&args.body, &sender.shown(), &when, &text),
        false => args.body,
    };
    let references = headers.references.iter().filter(|id| Some(*id) != headers.message_id.as_ref()).cloned();
    let mail = Outgoing {
        from: account.from.clone(),
        to,
        cc,
        bcc: vec![],
        subject,
        text,
        references: references.chain(headers.message_id.clone()).collect(),
        attached: vec![],
        date: cx.ports().clock.now().as_second(),
    };
    deliver(&tools, &cx, &account, mail, &args.attachments).await
}

/// Whom an answer goes to.
fn answered(headers: &Headers) -> Result<Vec<Person>> {
    let wanted = if headers.reply_to.is_empty() { &headers.from } else { &headers.reply_to };
    let mut people: Vec<Person> = vec![];
    for one in wanted.iter().take(5) {
        // One at a time: there may be a comma in a name.
        let name = one.name.as_deref().map(|name| text_kit::plain_name(name, 80));
        let person = parse_person(&Person { name, address: one.address.clone() }.shown())
            .map_err(|why| Error::bad_args(format!("the sender of the mail cannot be answered: {why}")))?;
        if !people.iter().any(|known| known.is_at(&person.address)) {
            people.push(person);
        }
    }
    if people.is_empty() {
        return Err(Error::bad_args("the mail has no sender who could be answered"));
    }
    Ok(people)
}

/// The mail itself wants its answer to go elsewhere: a person decides, who sees where.
async fn approve_other(cx: &Cx, sender: &Person, to: &[Person]) -> Result<()> {
    let addresses: Vec<&str> = to.iter().map(|person| &*person.address).collect();
    let there = addresses.join(", ");
    let consult = Consult {
        tool: "reply_email".into(),
        version: 0,
        action: "send",
        details: json!({"to": addresses}),
        risk: Risk::Send,
        ask: true,
        about: format!("Send the answer to {there}. The mail came from {}.", sender.address),
        reason: format!("the mail came from {}, and it wants its answer to go to {there} instead", sender.address),
    };
    cx.ports().ask.consult(cx.clone(), consult).await
}

fn people(texts: &[String]) -> Result<Vec<Person>> {
    parse_people(texts).map_err(Error::bad_args)
}

/// Attaches the files, sends the mail, and keeps a copy.
async fn deliver(
    tools: &MailTools,
    cx: &Cx,
    account: &SmtpAccount,
    mut mail: Outgoing,
    files: &[String],
) -> Result<Output> {
    let _turn = tools.turn().await?;
    let _large = if files.is_empty() { None } else { Some(tools.large().await?) };
    mail.attached = attached(tools, cx, files).await?;
    let shown: Vec<String> = mail.to.iter().chain(&mail.cc).chain(&mail.bcc).map(Person::shown).collect();
    let (subject, names) =
        (mail.subject.clone(), mail.attached.iter().map(|file| file.name.clone()).collect::<Vec<_>>());
    let recipients: Vec<String> = mail.recipients().into_iter().map(str::to_owned).collect();
    let (bytes, message_id) = tool::blocking("the writing of the mail", move || Ok(mail.written()?)).await?;
    let smtp = tokio::select! {
        () = cx.cancel().cancelled() => return Err(Error::unavailable("the call was cancelled: nothing was sent")),
        smtp = Smtp::connect(&account.server) => smtp?,
    };
    let addresses: Vec<&str> = recipients.iter().map(String::as_str).collect();
    smtp.send(&account.from.address, &addresses, &bytes).await?;
    let kept = keep_copy(cx, account, &bytes).await;
    let mut content = json!({
        "sent": true, "from": account.from.shown(), "to": shown, "subject": subject, "attachments": names,
        "messageId": message_id, "copyIn": kept,
    });
    if content["copyIn"].is_null()
        && let Some(fields) = content.as_object_mut()
    {
        fields.remove("copyIn");
    }
    let sentence = format!("I sent “{subject}” to {}.", text_kit::join_and(&shown));
    Ok(Output::json(content)?.say(sentence))
}

/// The files in the workspace at these paths. Each is looked at by `file_info` first, so that what this person may read is decided
/// where it always is.
async fn attached(tools: &MailTools, cx: &Cx, paths: &[String]) -> Result<Vec<Attached>> {
    if paths.len() > FILES {
        return Err(Error::bad_args(format!("a mail may have {FILES} files: attach fewer")));
    }
    let (mut all, mut left) = (vec![], MAX_ATTACHED);
    for path in paths {
        cx.call("file_info", json!({"path": path})).await?;
        let located = tools.workspaces.locate(cx, path)?;
        let (entry, bytes) = tools.workspaces.read(cx, &located, left as u64).await.map_err(|error| match error {
            Error::BadArgs(_) => Error::bad_args(format!(
                "`{}` cannot be attached: it is no file, or with it the files have more than {} MB",
                located.display(),
                MAX_ATTACHED >> 20
            )),
            other => other,
        })?;
        left = left.saturating_sub(bytes.len());
        let media_type = entry.media_type.unwrap_or_else(|| "application/octet-stream".to_owned());
        all.push(Attached { name: entry.name, media_type, bytes });
    }
    Ok(all)
}

/// Puts a copy into the folder for sent mail of the same account. The mail is sent, whether or not that works.
async fn keep_copy(cx: &Cx, account: &SmtpAccount, message: &[u8]) -> Option<String> {
    let reading = mail::imap_account(cx, Some(&account.label)).ok().filter(|_| account.copy)?;
    let keep = async {
        let mut imap = Imap::connect(&reading.server).await?;
        let folder = sent_folder(&reading, &mut imap).await?;
        if let Some(folder) = &folder {
            imap.append(folder, message).await?;
        }
        imap.logout().await;
        Ok::<_, mail::Error>(folder)
    };
    keep.await
        .inspect_err(|error| {
            tracing::warn!(account = account.label, "a sent mail could not be kept in its folder: {error}")
        })
        .ok()?
}

async fn sent_folder(account: &ImapAccount, imap: &mut Imap) -> mail::Result<Option<String>> {
    match &account.sent {
        Some(name) => Ok(Some(name.clone())),
        None => Ok(imap.folders().await?.sent().map(str::to_owned)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_go_where_they_can() {
        let person = |address: &str| Person { name: None, address: address.to_owned() };
        let headers = |from: &[&str], reply_to: &[&str]| Headers {
            from: from.iter().map(|a| person(a)).collect(),
            reply_to: reply_to.iter().map(|a| person(a)).collect(),
            ..Headers::default()
        };
        assert_eq!(answered(&headers(&["a@b.example"], &[])).unwrap()[0].address, "a@b.example");
        assert_eq!(answered(&headers(&["a@b.example"], &["r@c.example"])).unwrap()[0].address, "r@c.example");
        let doe = Person { name: Some("Doe, John\n".into()), address: "j@d.example".into() };
        let found = answered(&Headers { from: vec![doe.clone(), doe], ..Headers::default() }).unwrap();
        assert_eq!(found.iter().map(Person::shown).collect::<Vec<_>>(), ["Doe, John <j@d.example>"]);
        for nobody in [headers(&[], &[]), headers(&["MAILER-DAEMON"], &[]), headers(&["a@b.example> <x"], &[])] {
            assert!(answered(&nobody).is_err(), "{nobody:?}");
        }
    }
}
