//! `/api/v1/check`: checks all stored records for damage.

use crate::{
    AppState,
    describe::{Routes, post},
    envelope::{Answer, ok},
};
use axum::extract::State;
use identity::TokenScope;
use serde::Serialize;
use store::Damage;
use tool::{
    Id, UserId,
    prelude::{JsonSchema, schemars},
};

pub(crate) fn routes() -> Routes<AppState> {
    Routes::new()
        // A damaged record is named by its key, which can contain the values the record is looked up by.
        .route("/check", post(check, "Check all stored records for damage.").admin().secret())
        .scope(TokenScope::Admin)
}

/// The result of a check of all stored records.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Checked {
    /// How many tables were read.
    tables: usize,
    /// How many records were read.
    records: u64,
    /// Records from before there were checksums; each gets one when it is changed.
    without_checksum: u64,
    /// Index entries that were wrong and have been rebuilt.
    rebuilt: u64,
    /// How many records are damaged.
    damages: u64,
    /// The damaged records, 1000 at most.
    damaged: Vec<DamagedRecord>,
}

/// A damaged record.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DamagedRecord {
    /// The table it is in.
    table: String,
    /// Its id, unless a whole table is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Id>,
    /// Its owner, where that can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<UserId>,
    /// Its key in hexadecimal, to find it in a backup.
    key: String,
    /// The fault.
    problem: String,
}

impl From<Damage> for DamagedRecord {
    fn from(damage: Damage) -> Self {
        let key = damage.key.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { id: damage.id(), table: damage.table, owner: damage.owner, key, problem: damage.problem }
    }
}

/// Reads all stored records and rebuilds wrong index entries.
pub(crate) async fn check(State(house): State<AppState>) -> Answer<Checked> {
    let check = house.store.check().await?;
    if check.damages > 0 {
        house.ports.bus.publish("data:damaged", None, serde_json::json!({"records": check.damages}));
    }
    Ok(ok(Checked {
        tables: check.tables,
        records: check.records,
        without_checksum: check.without_checksum,
        rebuilt: check.repaired,
        damages: check.damages,
        damaged: check.damaged.into_iter().map(DamagedRecord::from).collect(),
    }))
}
