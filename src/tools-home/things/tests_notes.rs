//! What the household calls things and areas, and how things are listed.

use super::tests::Home;
use tool::prelude::*;

#[tokio::test]
async fn states_are_listed_and_said() {
    let home = Home::new();
    for (tool, args, said) in [
        ("get_thing", json!({"thing": "hall lamp"}), "Hall lamp is off."),
        ("get_thing", json!({"thing": "the garage door"}), "Garage door is closed."),
        ("get_thing", json!({"thing": "bedroom temperature"}), "Bedroom temperature is 18.5 °C."),
        ("get_thing", json!({"thing": "thermostat"}), "Thermostat is set to 20 °C (heat), and it is 19.5 °C now."),
        ("get_thing", json!({"thing": "kitchen lights"}), "Kitchen ceiling is off. Worktop light is off."),
        ("list_things", json!({"kind": "light", "active": true}), "2 of 8 lights are on: Sofa lamp and Bedroom lamp."),
        ("list_things", json!({"kind": "light", "area": "kitchen", "active": true}), "None of the 2 lights is on."),
        ("list_things", json!({"kind": "lock", "active": false}), "Front door is locked."),
        ("list_things", json!({"query": "curtains", "active": true}), "Curtain left is open; the others are not."),
        ("list_things", json!({"query": "curtains", "area": "bedroom"}), "There are no things here that I know of."),
        ("list_areas", json!({}), "Downstairs: Kitchen, Living room, Hall and Garage. Upstairs: Bedroom and Office."),
    ] {
        assert_eq!(home.said(tool, args.clone()).await, said, "{tool} {args}");
    }
    let listed = home.call("list_things", json!({"area": "downstairs", "limit": 3})).await.unwrap().content;
    assert_eq!((listed["things"].as_array().unwrap().len(), &listed["total"]), (3, &json!(18)));
    let one = home.call("get_thing", json!({"thing": "tv"})).await.unwrap().content;
    assert_eq!((&one["thing"], &one["area"], &one["level"]), (&json!("demo:tv"), &json!("Living room"), &json!(20)));
}

#[tokio::test]
async fn the_household_names_things() {
    let home = Home::new();
    for (args, said) in [
        (json!({"thing": "bench light", "name": "Forge", "area": "workshop"}), "That is now called Forge in workshop."),
        (json!({"thing": "forge", "aliases": ["anvil light"]}), "Forge is changed."),
        (json!({"thing": "anvil light", "area": "GARAGE"}), "Forge is changed in Garage."),
        (
            json!({"thing": "forge", "name": "hall LAMP"}),
            "! `hall LAMP` is the name of demo:hall_lamp already: choose another",
        ),
        (json!({"thing": "forge", "aliases": ["TV"]}), "! `TV` is the name of demo:tv already: choose another"),
        (json!({"thing": "kitchen lights", "name": "x"}), "! `kitchen lights` is several things: name one"),
        (json!({"thing": "forge", "hidden": true}), "Forge is hidden now."),
        (json!({"thing": "demo:bench", "hidden": false, "name": ""}), "That is now called Bench light."),
    ] {
        assert_eq!(home.said("update_thing", args.clone()).await, said, "{args}");
    }
    let long = home.call("update_thing", json!({"thing": "tv", "name": "x".repeat(61)})).await;
    assert!(matches!(long, Err(Error::BadArgs(_))));
    let listed = home.call("list_things", json!({"area": "garage", "kind": "light"})).await.unwrap().content;
    assert_eq!(
        (&listed["things"][0]["name"], &listed["things"][0]["aliases"]),
        (&json!("Bench light"), &json!(["anvil light"]))
    );
}

#[tokio::test]
async fn areas_are_made_renamed_and_deleted() {
    let home = Home::new();
    for (tool, args, said) in [
        ("update_area", json!({"area": "Shed", "parent": "Garden"}), "Shed is a new area, in Garden."),
        ("update_thing", json!({"thing": "bench light", "area": "shed"}), "Bench light is changed in Shed."),
        (
            "update_area",
            json!({"area": "kitchen", "name": "Galley", "aliases": ["cookhouse"]}),
            "Kitchen is now called Galley, in Downstairs.",
        ),
        (
            "control_thing",
            json!({"area": "cookhouse", "kind": "light", "action": "turn_on"}),
            "Kitchen ceiling and Worktop light are on.",
        ),
        (
            "control_thing",
            json!({"area": "kitchen", "kind": "light", "action": "turn_off"}),
            "Kitchen ceiling and Worktop light are off.",
        ),
        ("control_thing", json!({"area": "garden", "action": "turn_on"}), "Bench light is on."),
        (
            "update_area",
            json!({"area": "Garden", "parent": "Shed"}),
            "! Garden cannot be inside of Shed, which is inside of it",
        ),
        (
            "update_area",
            json!({"area": "Shed", "name": "hall"}),
            "! `hall` is the area Hall already: choose another name",
        ),
        ("delete_area", json!({"area": "Shed"}), "Shed is no longer an area."),
        ("delete_area", json!({"area": "Shed"}), "! I know no room or floor called “Shed”."),
        ("control_thing", json!({"area": "garage", "action": "turn_off", "kind": "light"}), "Bench light is off."),
    ] {
        assert_eq!(home.said(tool, args.clone()).await, said, "{tool} {args}");
    }
    let error = home.call("delete_area", json!({"area": "hall"})).await;
    assert!(
        matches!(&error, Err(Error::BadArgs(why)) if why.contains("comes from where its things live")),
        "{error:?}"
    );
}
