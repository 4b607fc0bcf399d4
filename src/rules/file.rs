//! `rules.toml` in the data folder, and `[[rules]]` of hob.toml: rules that tools show and do not change. They are stored like others, so that they have a
//! log and survive a restart; the file is compared with them at each start.

use crate::{
    definition::Mode,
    drafts::{Draft, Limits, unasked},
    engine::Rules,
    planning::{forget_schedules, plan_schedules},
    reading::Written,
    record::{BY_TRIGGER, COLLECTION, Trigger},
};
use serde_json::Map;
use std::{io::Read, path::Path, sync::PoisonError, time::Duration};
use store::{Audience, Stamp, Tx, Visit, Walk};
use tokio_util::sync::CancellationToken;
use tool::{AgentId, Channel, Label, Principal, Scope, UserId, Via, prelude::*};

/// The name of the file in the data folder.
const NAME: &str = "rules.toml";
/// The largest file, and how many rules it has at most.
const LARGEST: u64 = 1024 * 1024;
const MOST: usize = 400;
/// How often and how long rules are tried again whose things may not be connected yet.
const AGAIN: Duration = Duration::from_secs(15);
const TRIES: usize = 20;

/// The file with the other settings, which may have rules too.
const CONFIG: &str = "hob.toml";

/// A rule of a file, and the line of `rules.toml` it begins on.
struct FileRule {
    line: Option<usize>,
    fields: Map<String, Value>,
}

impl FileRule {
    /// "rules.toml, line 7", "hob.toml".
    fn place(&self) -> String {
        self.line.map_or_else(|| CONFIG.to_owned(), |line| format!("{NAME}, line {line}"))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Fields {
    name: String,
    description: Option<String>,
    #[serde(alias = "trigger")]
    triggers: Value,
    #[serde(alias = "condition")]
    conditions: Option<Value>,
    #[serde(alias = "action")]
    actions: Value,
    mode: Option<Mode>,
    max: Option<u32>,
    enabled: Option<bool>,
    #[serde(alias = "cooldown", alias = "cooldown_seconds")]
    cooldown_seconds: Option<u32>,
    #[serde(alias = "max_per_hour")]
    max_per_hour: Option<u32>,
}

impl Rules {
    /// Loads `rules.toml` of the data folder, and the rules of hob.toml, in the background. Errors name the rule and its line, are in the log and in the
    /// list of rules, and stop nothing.
    pub fn follow_files(&self, data: &Path, of_config: Vec<Map<String, Value>>, closing: &CancellationToken) {
        let (this, path) = (self.clone(), data.join(NAME));
        tokio::spawn(closing.clone().run_until_cancelled_owned(async move {
            for _ in 0..TRIES {
                let errors = this.load_files(&path, &of_config).await;
                let before = {
                    let mut known = this.parts().file_errors.lock().unwrap_or_else(PoisonError::into_inner);
                    std::mem::replace(&mut *known, errors.clone())
                };
                errors.iter().filter(|error| !before.contains(error)).for_each(|error| tracing::warn!("{error}"));
                if errors.is_empty() {
                    return;
                }
                tokio::time::sleep(AGAIN).await;
            }
        }));
    }

    /// Makes the stored rules of the files what the files say; returns what is wrong with them.
    pub(crate) async fn load_files(&self, path: &Path, of_config: &[Map<String, Value>]) -> Vec<String> {
        let text = match read(path) {
            Ok(text) => text,
            Err(why) => return vec![format!("{NAME} could not be read: {why}")],
        };
        let mut all = match parse(&text) {
            Ok(all) => all,
            Err(why) => return vec![format!("{NAME}: {why}")],
        };
        if all.len() + of_config.len() > MOST {
            return vec![format!("{NAME} and {CONFIG} have more than {MOST} rules together")];
        }
        all.extend(of_config.iter().map(|fields| FileRule { line: None, fields: fields.clone() }));
        let (mut errors, mut ids) = (vec![], vec![]);
        for one in &all {
            let name = one.fields.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
            let id = store::effect_key(Id::NIL, &format!("{NAME} {}", name.to_lowercase()));
            let result = match ids.contains(&id) {
                true => Err(Error::bad_args("there is another rule of this name: choose one of its own")),
                false => self.take_in(id, one).await,
            };
            ids.push(id);
            if let Err(error) = result {
                let shown = if name.is_empty() { "a rule without a name" } else { &name };
                errors.push(format!("{}: “{shown}”: {}", one.place(), error.message()));
            }
        }
        if let Err(error) = self.remove_others(&ids).await {
            errors.push(format!("rules that left their file could not be removed: {error}"));
        }
        errors
    }

    /// Stores a rule of the file, if it is new or has changed.
    async fn take_in(&self, id: Id, one: &FileRule) -> Result<()> {
        let parts = self.parts();
        let scope = Scope::User(UserId::OWNER);
        let source = json!({"file": Value::Object(one.fields.clone()).to_string()}).to_string();
        let before = parts.shelf.records().get_in(scope, id)?;
        if before.as_ref().is_some_and(|entry| entry.value.config == source) {
            return Ok(());
        }
        let fields: Fields = serde_json::from_value(Value::Object(one.fields.clone()))
            .map_err(|error| Error::bad_args(format!("it does not fit: {error}")))?;
        let owner = Cx::root(parts.ports.clone(), Principal::owner(), Via::direct(Channel::Machine));
        // Nobody is there to be asked: what needs an approval is made by a tool.
        let cx = unasked(&owner);
        let Fields { name, triggers, conditions, actions, mode, max, .. } = fields;
        let written = Written { triggers: Some(triggers), conditions, actions: Some(actions), mode, max };
        let old = (&crate::definition::Definition::default(), Some(id));
        let draft = Draft::read(self, &cx, Some(&name), written, old)?.checked()?;
        let armed = draft.arm(self, &cx).await?;
        draft.review.warnings.iter().for_each(|warning| tracing::warn!(rule = %name, "{}: {warning}", one.place()));
        let none = Limits::default();
        let limits = Limits {
            description: fields.description.unwrap_or_default(),
            enabled: fields.enabled.unwrap_or(true),
            cooldown: fields.cooldown_seconds.unwrap_or(none.cooldown),
            per_hour: fields.max_per_hour.unwrap_or(none.per_hour),
        };
        let times = draft.times.clone();
        let mut rule = Trigger { in_file: true, config: source, ..draft.record(armed, limits)? };
        if let Some(before) = before {
            (rule.count, rule.failures, rule.last_ms) =
                (before.value.count, before.value.failures, before.value.last_ms);
        }
        let mut planned = plan_schedules(parts.scheduler.clone(), AgentId::GENERAL, times);
        let records = parts.shelf.records().clone();
        let stamp =
            Stamp { scope, owner: UserId::OWNER, audience: Audience::Private, label: Label::Own, source: NAME.into() };
        let stored = parts.shelf.records().store().write(move |tx: &Tx| {
            if records.read(tx, scope, id)?.is_some() {
                records.change(tx, scope, Label::Own, id, &mut |stored: &mut Trigger| {
                    stored.clone_from(&rule);
                    Ok(())
                })?;
            } else {
                records.put(tx, id, &stamp, &rule)?;
            }
            match records.read(tx, scope, id)? {
                Some(entry) => planned(tx, &entry).map(|()| Some(entry)),
                None => Ok(None),
            }
        });
        if let Some(entry) = stored.await? {
            self.put(&entry);
            self.publish_change(id, "changed");
        }
        Ok(())
    }

    /// Removes the stored rules that are no longer in a file.
    async fn remove_others(&self, ids: &[Id]) -> Result<()> {
        let parts = self.parts();
        let mut gone = vec![];
        parts.shelf.records().scan(|entry| {
            if entry.value.in_file && !ids.contains(&entry.id) {
                gone.push(entry);
            }
        })?;
        for entry in gone {
            let (records, firings, scheduler) =
                (parts.shelf.records().clone(), parts.firings.clone(), parts.scheduler.clone());
            let (scope, id) = (Scope::User(entry.owner), entry.id);
            let kept = parts.firings.walk_in(scope, &Walk::prefix(BY_TRIGGER, id.as_bytes()), |_| Visit::Yes)?;
            let removed = parts.shelf.records().store().write(move |tx: &Tx| {
                kept.iter().try_for_each(|firing| firings.remove(tx, scope, firing.id).map(drop))?;
                forget_schedules(&scheduler, tx, &entry)?;
                records.remove(tx, scope, id).map(drop)
            });
            removed.await?;
            self.drop_live(id);
            self.publish_change(id, "deleted");
        }
        Ok(())
    }

    /// Lets the page and other programs know.
    fn publish_change(&self, id: Id, change: &str) {
        let data = json!({"id": id, "change": change});
        self.parts().ports.bus.publish(format!("{COLLECTION}:changed"), Some(UserId::OWNER), data);
    }
}

/// The text of the file; empty where there is none.
fn read(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    match store::open_plain(path) {
        Ok(file) => {
            file.take(LARGEST + 1).read_to_string(&mut text)?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if text.len() as u64 > LARGEST {
        return Err(std::io::Error::other("it is larger than 1 MB"));
    }
    Ok(text)
}

fn parse(text: &str) -> Result<Vec<FileRule>, String> {
    let whole: Value = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text.get(..span.start).unwrap_or(text).lines().count().max(1));
        let at = line.map(|line| format!("line {line}: ")).unwrap_or_default();
        format!("{at}{}", error.message())
    })?;
    let fields = whole.as_object().cloned().unwrap_or_default();
    if let Some(other) = fields.keys().find(|key| *key != "rules") {
        return Err(format!("`{other}` is not known: the file has `[[rules]]` only"));
    }
    let lines: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim().trim_matches(['[', ']', ' ']) == "rules" && line.trim().starts_with("[["))
        .map(|(at, _)| at + 1)
        .collect();
    let Some(all) = fields.get("rules") else { return Ok(vec![]) };
    let Some(all) = all.as_array() else {
        return Err("`rules` is no list: begin each rule with `[[rules]]`".to_owned());
    };
    if all.len() > MOST {
        return Err(format!("it has more than {MOST} rules"));
    }
    all.iter()
        .enumerate()
        .map(|(at, one)| match one {
            Value::Object(fields) => {
                Ok(FileRule { line: Some(lines.get(at).copied().unwrap_or(1)), fields: fields.clone() })
            }
            _ => Err(format!("rule {} is no table: begin it with `[[rules]]`", at + 1)),
        })
        .collect()
}
