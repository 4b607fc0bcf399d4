//! Tests of tables with fields of a newer Hob, as after a rollback.

use crate::{
    tables::record::Tables,
    testing::{cx, ok},
};
use store::Store;
use tool::{Label, Scope, prelude::*};

#[tokio::test]
async fn what_only_a_newer_hob_knows_of_columns_stays() {
    let store = Store::in_memory().unwrap();
    ok(&store, "create_custom_table", json!({"table": "art", "columns": [{"name": "title", "type": "text"}]})).await;
    let tables = Tables::new(&store);
    let newer = json!([
        {"name": "title", "type": "text", "required": false, "default": null, "description": null, "options": [],
         "unique": false, "spoken": {"as": "name"}},
        {"name": "look", "type": "picture", "frame": "gold"},
    ]);
    let (here, columns, id) = (tables.clone(), newer.to_string(), tables.find(&cx(), "art").unwrap().entry.id);
    let write = store.write(move |tx| {
        let set = &mut |table: &mut crate::tables::record::Table| {
            table.columns.clone_from(&columns);
            Ok(())
        };
        here.tables.change(tx, Scope::Household, Label::Own, id, set).map(drop)
    });
    write.await.unwrap();

    let added = ok(&store, "add_custom_record", json!({"table": "art", "data": {"look": {"file": "a.png"}}})).await;
    let change = json!({"table": "art", "addColumns": [{"name": "year", "type": "number"}]});
    ok(&store, "update_custom_table", change).await;
    let kept: Value = serde_json::from_str(&tables.find(&cx(), "art").unwrap().entry.value.columns).unwrap();
    assert_eq!((&kept[0]["spoken"], &kept[0]["type"]), (&json!({"as": "name"}), &json!("text")));
    assert_eq!((&kept[1]["type"], &kept[1]["frame"]), (&json!("picture"), &json!("gold")));
    assert_eq!(kept[2]["type"], "number");
    let told = ok(&store, "describe_custom_table", json!({"table": "art"})).await.content;
    assert_eq!(told["columns"], kept);
    let shown = json!({"table": "art", "recordId": added.content["id"]});
    assert_eq!(ok(&store, "get_custom_record", shown).await.content["data"]["look"], json!({"file": "a.png"}));
}
