//! What SQL may not do here, with the reason in plain words. SQLite asks while it compiles a statement.

use crate::intent::Intent;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization, TransactionOperation};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Pragmas that only tell something, or change nothing that lasts.
const PRAGMAS: &[&str] = &[
    "application_id",
    "case_sensitive_like",
    "collation_list",
    "compile_options",
    "data_version",
    "database_list",
    "defer_foreign_keys",
    "encoding",
    "foreign_key_check",
    "foreign_key_list",
    "foreign_keys",
    "freelist_count",
    "function_list",
    "index_info",
    "index_list",
    "index_xinfo",
    "integrity_check",
    "module_list",
    "optimize",
    "page_count",
    "page_size",
    "pragma_list",
    "quick_check",
    "recursive_triggers",
    "schema_version",
    "table_info",
    "table_list",
    "table_xinfo",
    "user_version",
];
/// Those of them that may not be set.
const READ_ONLY: &[&str] = &["encoding", "page_size", "schema_version", "case_sensitive_like"];
/// Modules of virtual tables.
pub(crate) const MODULES: &[&str] = &["fts5", "fts5vocab"];

/// What the guard of one connection knows and has seen.
#[derive(Default)]
struct State {
    intent: Intent,
    /// Custom tables of the household, in lower case.
    foreign: BTreeSet<String>,
    /// Those that a statement reads.
    read: BTreeSet<String>,
    /// Whether a transaction is open that the caller did not begin.
    in_ours: bool,
    /// Whether a statement begins a transaction.
    begins: bool,
    /// Whether a statement of the caller is compiled.
    compiling: bool,
    /// Whether statements of Hob itself are compiled.
    trusted: bool,
    refused: Option<String>,
}

/// The guard of one connection; clones share it.
#[derive(Clone, Default)]
pub(crate) struct Guard(Arc<Mutex<State>>);

impl Guard {
    pub fn new(intent: Intent, foreign: BTreeSet<String>) -> Self {
        Self(Arc::new(Mutex::new(State { intent, foreign, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The reason of the last refusal.
    pub fn refused(&self) -> Option<String> {
        self.state().refused.take()
    }

    /// The custom tables that were read since the last question.
    pub fn take_read(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.state().read)
    }

    /// Whether a statement was a BEGIN since the last question.
    pub fn take_begins(&self) -> bool {
        std::mem::take(&mut self.state().begins)
    }

    pub fn set_in_ours(&self, in_ours: bool) {
        self.state().in_ours = in_ours;
    }

    /// Compiles a statement of the caller.
    pub fn compiling<T>(&self, compile: impl FnOnce() -> T) -> T {
        self.state().compiling = true;
        let done = compile();
        self.state().compiling = false;
        done
    }

    /// Runs statements of Hob itself.
    pub fn trusting<T>(&self, run: impl FnOnce() -> T) -> T {
        self.state().trusted = true;
        let done = run();
        self.state().trusted = false;
        done
    }

    /// Answers SQLite.
    pub fn decide(&self, context: &AuthContext) -> Authorization {
        let mut state = self.state();
        if state.trusted {
            return Authorization::Allow;
        }
        match state.judge(context) {
            None => Authorization::Allow,
            Some(reason) => {
                state.refused.get_or_insert(reason);
                Authorization::Deny
            }
        }
    }
}

impl State {
    /// The reason to refuse, where there is one.
    fn judge(&mut self, context: &AuthContext) -> Option<String> {
        let temporary = match context.action {
            AuthAction::AlterTable { database_name, .. } => database_name == "temp",
            _ => context.database_name == Some("temp"),
        };
        match context.action {
            AuthAction::Attach { .. } => Some(
                "ATTACH is not possible: this database stands alone, and no other file may be opened or written. Import a \
                 file instead, or use the custom tables by their names"
                    .into(),
            ),
            AuthAction::Detach { .. } => {
                Some("DETACH is not possible: this database stands alone, and nothing is attached to it".into())
            }
            AuthAction::Pragma { pragma_name, pragma_value } => pragma(pragma_name, pragma_value),
            AuthAction::Function { function_name } => function(function_name),
            AuthAction::CreateVtable { module_name, .. } => module(module_name),
            AuthAction::Transaction { operation } if self.in_ours && operation != TransactionOperation::Begin => Some(
                "COMMIT and ROLLBACK need a BEGIN of your own as the first statement: without it, all statements of a call are \
                 one transaction already"
                    .into(),
            ),
            AuthAction::Transaction { operation } => {
                self.begins |= operation == TransactionOperation::Begin;
                None
            }
            AuthAction::Read { table_name, .. } => {
                let name = table_name.to_lowercase();
                if temporary && self.foreign.contains(&name) {
                    self.read.insert(name);
                }
                None
            }
            action => self.judge_write(action, temporary, context.accessor.is_some()),
        }
    }

    fn judge_write(&self, action: AuthAction, temporary: bool, within: bool) -> Option<String> {
        let (table, new) = written(action)?;
        let name = table.to_lowercase();
        if self.foreign.contains(&name) && (temporary || new) {
            return Some(match new {
                true => format!("there is a custom table `{table}` already, which SQL can read: choose another name"),
                false => format!(
                    "`{table}` is a custom table, which SQL can only read: use `add_custom_record`, `update_custom_record` or \
                     `delete_custom_record` to change it"
                ),
            });
        }
        let unannounced = match action {
            AuthAction::Delete { .. }
            | AuthAction::DropTable { .. }
            | AuthAction::DropVtable { .. }
            | AuthAction::DropView { .. }
            | AuthAction::DropTrigger { .. }
            | AuthAction::DropIndex { .. } => !self.intent.destroys,
            AuthAction::Update { .. } | AuthAction::AlterTable { .. } | AuthAction::CreateTrigger { .. } => {
                !self.intent.changes
            }
            _ => false,
        };
        // What a trigger does was approved with the trigger. SQLite's own tables change with every definition, and full-text
        // search compiles statements for its tables while it runs.
        (unannounced && self.compiling && !within && !temporary && !name.starts_with("sqlite_")).then(|| {
            format!("this would change or delete `{table}` in a roundabout way: write it plainly, as DELETE FROM, UPDATE or DROP")
        })
    }
}

/// The table that an action changes, and whether it makes it.
fn written(action: AuthAction<'_>) -> Option<(&str, bool)> {
    Some(match action {
        AuthAction::Insert { table_name }
        | AuthAction::Delete { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::DropTable { table_name }
        | AuthAction::DropTempTable { table_name }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::CreateTempIndex { table_name, .. }
        | AuthAction::CreateTempTrigger { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::DropView { view_name: table_name }
        | AuthAction::DropVtable { table_name, .. } => (table_name, false),
        AuthAction::CreateTable { table_name } | AuthAction::CreateTempTable { table_name } => (table_name, true),
        AuthAction::CreateView { view_name } | AuthAction::CreateTempView { view_name } => (view_name, true),
        _ => return None,
    })
}

fn pragma(name: &str, value: Option<&str>) -> Option<String> {
    let name = name.to_ascii_lowercase();
    if name == "writable_schema" {
        return Some(
            "PRAGMA writable_schema is not possible: writing to the schema by hand can destroy the database. Use CREATE, ALTER \
             and DROP"
                .into(),
        );
    }
    if !PRAGMAS.contains(&name.as_str()) {
        return Some(format!(
            "PRAGMA {name} is not possible: Hob sets how the database is stored and what it may use. Allowed are those that \
             tell something, such as table_info, table_list, index_list, foreign_key_list and integrity_check"
        ));
    }
    (value.is_some() && READ_ONLY.contains(&name.as_str()))
        .then(|| format!("PRAGMA {name} can be read, and not set: Hob sets how the database is stored"))
}

fn function(name: &str) -> Option<String> {
    match name.to_ascii_lowercase().as_str() {
        "load_extension" => Some(
            "load_extension is not possible: it would run foreign code inside Hob. JSON functions and full-text search (fts5) \
             are built in"
                .into(),
        ),
        "json_patch" | "jsonb_patch" => {
            Some("json_patch is not possible: it takes minutes on large documents. Use json_set and json_remove".into())
        }
        "fts3_tokenizer" => Some("fts3_tokenizer is not possible: use fts5 with one of its tokenizers".into()),
        _ => None,
    }
}

/// The reason to refuse a virtual table of a module.
pub(crate) fn module(name: &str) -> Option<String> {
    let allowed = MODULES.contains(&name.to_ascii_lowercase().as_str());
    (!allowed).then(|| format!("virtual tables of the module {name} are not possible: full-text search is fts5"))
}
