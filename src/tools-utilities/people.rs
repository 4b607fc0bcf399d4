//! The people of the household.

use board::Device;
use text_kit::listing;
use tool::prelude::*;

/// List the people of the household by name.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct People {}

pub(crate) async fn list(_: Device, cx: Cx, People {}: People) -> Result<Output> {
    let mut names: Vec<String> = cx.ports().people.everybody()?.into_iter().map(|(_, name)| name).collect();
    names.sort_by_key(|name| name.to_lowercase());
    let sentence = match names.len() {
        0 => "I know nobody here by name yet. People are added on the page, under Device, People.".to_owned(),
        1 => format!("One person has an account here: {}.", names.join("")),
        n => listing(&format!("{n} people have accounts here"), &names, false),
    };
    Ok(Output::json(json!({"count": names.len(), "people": names}))?.say(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{call, cx};

    #[tokio::test]
    async fn a_household_without_people_says_how_to_add_them() {
        let answer = call(crate::utilities(Device::new("/")), &cx(), "list_people", json!({})).await.unwrap();
        assert_eq!(answer.content["count"], 0);
        assert!(answer.say.unwrap().contains("Device, People"));
    }
}
