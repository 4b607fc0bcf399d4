//! Finds entities by words: names, aliases, rooms, floors, and what people call their kinds.

use super::Ha;
use home_assistant::{Details, Entity, domain_of};
use std::{collections::HashMap, sync::Arc};
use tool::prelude::*;

/// Words that say nothing about an entity.
const FILLERS: &[&str] = &[
    "the", "a", "an", "in", "of", "on", "at", "my", "our", "all", "is", "are", "what", "which", "entity", "entities",
    "show", "find", "for", "any", "every", "and", "or", "to", "state",
];

/// Everyday words for kinds: the word, and the domains and classes it means.
const KINDS: &[(&str, &str)] = &[
    ("light", "light"),
    ("lamp", "light"),
    ("bulb", "light"),
    ("lighting", "light"),
    ("socket", "switch outlet"),
    ("plug", "switch outlet"),
    ("outlet", "switch outlet"),
    ("relay", "switch"),
    ("blind", "cover"),
    ("shutter", "cover"),
    ("curtain", "cover"),
    ("shade", "cover"),
    ("awning", "cover"),
    ("gate", "cover gate"),
    ("door", "cover door garage lock opening"),
    ("window", "cover window opening"),
    ("heating", "climate"),
    ("heater", "climate water_heater"),
    ("thermostat", "climate"),
    ("radiator", "climate"),
    ("aircon", "climate"),
    ("ac", "climate"),
    ("tv", "media_player tv"),
    ("television", "media_player tv"),
    ("speaker", "media_player speaker"),
    ("music", "media_player"),
    ("radio", "media_player"),
    ("player", "media_player"),
    ("hoover", "vacuum"),
    ("robot", "vacuum lawn_mower"),
    ("cleaner", "vacuum"),
    ("mower", "lawn_mower"),
    ("alarm", "alarm_control_panel siren"),
    ("motion", "motion occupancy presence"),
    ("movement", "motion occupancy"),
    ("presence", "occupancy presence person"),
    ("leak", "moisture"),
    ("smoke", "smoke"),
    ("fire", "smoke"),
    ("weather", "weather"),
    ("rain", "precipitation precipitation_intensity"),
    ("temperature", "temperature climate"),
    ("warm", "temperature climate"),
    ("cold", "temperature climate"),
    ("humidity", "humidity humidifier"),
    ("power", "power"),
    ("energy", "energy"),
    ("electricity", "power energy"),
    ("consumption", "power energy"),
    ("battery", "battery"),
    ("brightness", "illuminance"),
    ("people", "person device_tracker"),
    ("phone", "device_tracker"),
    ("scene", "scene"),
    ("script", "script"),
    ("automation", "automation"),
    ("button", "button input_button"),
    ("camera", "camera"),
    ("update", "update"),
];

/// How well a word may match without being equal.
const SIMILAR: f64 = 0.9;

/// An entity that fits, and how well.
pub(super) struct Match {
    pub entity: Arc<Entity>,
    pub details: Details,
    score: f32,
}

/// The words of a text: lower case, without plurals.
fn words(text: &str) -> impl Iterator<Item = String> {
    let lower = text.to_lowercase();
    let parts: Vec<String> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).map(singular).collect();
    parts.into_iter()
}

fn singular(word: &str) -> String {
    match word.strip_suffix('s') {
        Some(stem) if word.len() > 3 && !stem.ends_with(['s', 'u', 'i']) => stem.to_owned(),
        _ => word.to_owned(),
    }
}

/// The limits of a search besides words.
#[derive(Default)]
pub(super) struct Filter<'a> {
    pub area: Option<&'a str>,
    pub domain: Option<&'a str>,
    pub state: Option<&'a str>,
}

/// The entities that fit, best first; all in the order of their names where there is no query.
pub(super) fn find(all: Vec<(Arc<Entity>, Details)>, query: &str, filter: &Filter<'_>) -> Vec<Match> {
    let query: Vec<String> = {
        let all: Vec<String> = words(query).collect();
        let telling: Vec<String> = all.iter().filter(|w| !FILLERS.contains(&w.as_str())).cloned().collect();
        if telling.is_empty() { all } else { telling }
    };
    let domain = filter.domain.map(|domain| domain.trim().to_lowercase());
    // Similarity of a query's word with a word of the home, once for each.
    let mut similar: HashMap<(usize, String), f32> = HashMap::new();
    let mut found: Vec<Match> = vec![];
    for (entity, details) in all {
        let fits = domain.as_deref().is_none_or(|domain| entity.domain() == domain)
            && filter.state.is_none_or(|state| entity.state.eq_ignore_ascii_case(state.trim()))
            && filter.area.is_none_or(|area| is_in(&details, area));
        if !fits {
            continue;
        }
        let score = score(&query, &entity, &details, &mut similar);
        if query.is_empty() || score > 0.0 {
            found.push(Match { entity, details, score });
        }
    }
    // If some entities match all words, drop those that match only some of them.
    let best = found.iter().map(|m| m.score.floor()).fold(0.0, f32::max);
    found.retain(|m| m.score.floor() >= best);
    let key = |m: &Match| (m.details.secondary, m.entity.name());
    found.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| key(a).cmp(&key(b))));
    found
}

/// The number of words that match, and below one how well they do.
fn score(query: &[String], entity: &Entity, details: &Details, similar: &mut HashMap<(usize, String), f32>) -> f32 {
    if query.is_empty() {
        return 0.0;
    }
    let mut own: Vec<(String, f32)> = vec![];
    own.extend(words(&entity.name()).map(|w| (w, 1.0)));
    own.extend(details.aliases.iter().flat_map(|alias| words(alias)).map(|w| (w, 1.0)));
    own.extend(words(entity.id.split_once('.').map_or("", |(_, object)| object)).map(|w| (w, 0.8)));
    if let Some(area) = &details.area {
        let names = [&area.name].into_iter().chain(&area.aliases).chain(&area.floor).chain(&area.floor_aliases);
        own.extend(names.flat_map(|name| words(name)).map(|w| (w, 0.9)));
    }
    own.extend(details.device.iter().flat_map(|device| words(device)).map(|w| (w, 0.5)));
    let (domain, class) = (entity.domain(), entity.class().unwrap_or_default());
    let (mut matched, mut quality) = (0.0, 0.0);
    for (at, word) in query.iter().enumerate() {
        let means = |meaning: &str| meaning.split(' ').any(|m| m == domain || (m == class && !class.is_empty()));
        let kind =
            KINDS.iter().any(|(name, meaning)| name == word && means(meaning)) || word == domain || word == class;
        let mut best: f32 = if kind { 0.85 } else { 0.0 };
        for (text, weight) in &own {
            if best >= *weight {
                continue;
            }
            let alike = if text == word {
                1.0
            } else if word.len() >= 3 && text.starts_with(word.as_str()) {
                0.8
            } else {
                *similar.entry((at, text.clone())).or_insert_with(|| alike(word, text))
            };
            best = best.max(alike * weight);
        }
        if best > 0.0 {
            matched += 1.0;
            quality += best;
        }
    }
    if matched == 0.0 { 0.0 } else { matched + quality / (query.len() as f32 + 1.0) - own.len() as f32 * 1e-4 }
}

fn alike(word: &str, text: &str) -> f32 {
    if word.len() < 4 || text.len() < 4 {
        return 0.0;
    }
    let alike = strsim::jaro_winkler(word, text);
    if alike >= SIMILAR { (alike * 0.7) as f32 } else { 0.0 }
}

fn is_in(details: &Details, place: &str) -> bool {
    let place = place.trim().to_lowercase();
    details.area.as_ref().is_some_and(|area| {
        let mut names = [&area.name].into_iter().chain(&area.aliases).chain(&area.floor).chain(&area.floor_aliases);
        names.any(|name| name.to_lowercase() == place)
    })
}

impl Ha {
    /// The entity with an id or name. Of several that fit, none: the error lists them.
    pub(super) fn resolve(&self, text: &str, domain: Option<&str>) -> Result<(Arc<Entity>, Details)> {
        let text = text.trim();
        let id = text.strip_prefix("ha:").unwrap_or(text).to_lowercase();
        if let Some(found) = self.client.entity(&id) {
            return Ok(found);
        }
        let shown = text_kit::truncate(text, 80);
        let filter = Filter { domain, ..Filter::default() };
        let all = self.client.entities();
        let lower = text.to_lowercase();
        let is_name = |(entity, details): &&(Arc<Entity>, Details)| {
            domain.is_none_or(|domain| entity.domain() == domain)
                && (entity.name().to_lowercase() == lower || details.aliases.iter().any(|a| a.to_lowercase() == lower))
        };
        let named: Vec<_> = all.iter().filter(is_name).cloned().collect();
        if let [only] = &named[..] {
            return Ok(only.clone());
        }
        let several = named.len() > 1;
        // A guess among ids would act on something else than was meant.
        let found = match (several, is_id(&id)) {
            (true, _) => find(named, text, &filter),
            (false, true) => find(all, &id.replace(['.', '_'], " "), &Filter::default()),
            (false, false) => find(all, text, &filter),
        };
        match &found[..] {
            [] => Err(Error::not_found(format!("Home Assistant has no entity `{shown}`: look with ha_find_entities"))),
            [only] if !is_id(&id) => Ok((only.entity.clone(), only.details.clone())),
            some => {
                let ids: Vec<&str> = some.iter().take(8).map(|m| &*m.entity.id).collect();
                let names: Vec<String> = some.iter().take(4).map(|m| m.entity.name()).collect();
                let error = Error::not_found(format!("`{shown}` is no single entity; there are {}", ids.join(", ")));
                Err(error.say(text_kit::which_one("entity", &names)))
            }
        }
    }
}

fn is_id(text: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let (domain, object) = (domain_of(text), text.split_once('.').map(|(_, object)| object));
    object.is_some_and(plain) && plain(domain)
}

/// Find entities of Home Assistant by words: names, rooms, kinds. Returns ids, names, areas and states, best first.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct FindEntities {
    /// Words, such as `hall lamp`, `temperature upstairs`.
    #[schemars(length(max = 200))]
    query: Option<String>,
    /// A room or floor.
    #[schemars(length(max = 100))]
    area: Option<String>,
    /// A domain: `light`, `sensor`.
    #[schemars(length(max = 60))]
    domain: Option<String>,
    /// Only those in this state: `on`, `unavailable`.
    #[schemars(length(max = 100))]
    state: Option<String>,
    #[schemars(range(min = 1))]
    limit: Option<u32>,
}

pub(super) async fn find_entities(ha: Ha, _: Cx, args: FindEntities) -> Result<Output> {
    ha.client.ready()?;
    let query = args.query.unwrap_or_default();
    let filter = Filter { area: args.area.as_deref(), domain: args.domain.as_deref(), state: args.state.as_deref() };
    let is_everything =
        query.trim().is_empty() && filter.area.is_none() && filter.domain.is_none() && filter.state.is_none();
    let all = ha.client.entities();
    if is_everything {
        let mut domains: std::collections::BTreeMap<&str, usize> = Default::default();
        all.iter().for_each(|(entity, _)| *domains.entry(entity.domain()).or_default() += 1);
        let areas: Vec<String> = ha.client.areas().iter().map(|area| area.name.clone()).collect();
        let content = json!({"entities": all.len(), "domains": domains, "areas": areas, "hint": "pass query, area, domain or state"});
        return Ok(Output::json(content)?
            .say(format!("Home Assistant has {}.", text_kit::counted(all.len() as u64, "entity"))));
    }
    if let Some(area) = filter.area
        && !ha
            .client
            .areas()
            .iter()
            .any(|known| is_in(&Details { area: Some(known.clone()), ..Details::default() }, area))
    {
        let known: Vec<String> = ha.client.areas().iter().map(|area| area.name.clone()).take(40).collect();
        let area = text_kit::truncate(area, 60);
        return Err(Error::not_found(format!("Home Assistant has no area `{area}`; it has {}", known.join(", "))));
    }
    let found = find(all, &query, &filter);
    let limit = args.limit.unwrap_or(super::PAGE.0).min(super::PAGE.1) as usize;
    let rows: Vec<Value> = found.iter().take(limit).map(|m| super::state::row(&m.entity, &m.details)).collect();
    let names: Vec<String> = found.iter().take(5).map(|m| super::state::phrase(&m.entity)).collect();
    let more = found.len().saturating_sub(limit);
    let sentence = match found.len() {
        0 => "Nothing in Home Assistant fits that.".to_owned(),
        n if n > 5 => format!("{n} fit, first {}.", text_kit::join_and(&names)),
        _ => format!("{}.", text_kit::capitalized(&names.join("; "))),
    };
    let strange = found.iter().take(limit).any(|m| super::state::is_strange(&m.entity, &m.details));
    let output = Output::json(json!({"entities": rows, "more": more}))?.say(sentence);
    Ok(if strange { output.from_outside() } else { output })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home_assistant::tests::entity;

    fn home() -> Vec<(Arc<Entity>, Details)> {
        let area = |name: &str, floor: &str| {
            let area = home_assistant::Area { name: name.into(), floor: Some(floor.into()), ..Default::default() };
            Some(Arc::new(area))
        };
        let rows = [
            ("light.hue_1", "Ceiling", "Kitchen", "Downstairs", "light", ""),
            ("light.hall", "Hall lamp", "Hall", "Downstairs", "", "big lamp"),
            ("light.bed", "Night light", "Bedroom", "Upstairs", "", ""),
            ("sensor.k_t", "Weather station", "Kitchen", "Downstairs", "temperature", ""),
            ("sensor.b_t", "Bedroom temperature", "Bedroom", "Upstairs", "temperature", ""),
            ("cover.k", "Kitchen window", "Kitchen", "Downstairs", "shutter", ""),
            ("media_player.tv", "Samsung", "Living room", "Downstairs", "tv", ""),
        ];
        rows.map(|(id, name, room, floor, class, alias)| {
            let entity = entity(id, "off", json!({"friendly_name": name, "device_class": class}));
            let aliases = Some(alias.to_owned()).filter(|a| !a.is_empty()).into_iter().collect();
            (Arc::new(entity), Details { area: area(room, floor), aliases, ..Details::default() })
        })
        .to_vec()
    }

    #[test]
    fn words_find_entities() {
        for (query, expected) in [
            ("kitchen lights", vec!["light.hue_1"]),
            ("the lamp in the hall", vec!["light.hall"]),
            ("big lamp", vec!["light.hall"]),
            ("temperature upstairs", vec!["sensor.b_t"]),
            ("temprature upstairs", vec!["sensor.b_t"]),
            ("blinds in the kitchen", vec!["cover.k"]),
            ("television", vec!["media_player.tv"]),
            ("light.hall", vec!["light.hall"]),
            ("lights", vec!["light.bed", "light.hall", "light.hue_1"]),
            ("submarine", vec![]),
        ] {
            let mut found: Vec<String> =
                find(home(), query, &Filter::default()).iter().map(|m| m.entity.id.to_string()).collect();
            found.sort();
            assert_eq!(found, expected, "{query}");
        }
        let filter = Filter { area: Some("downstairs"), domain: Some("light"), state: Some("OFF") };
        assert_eq!(find(home(), "", &filter).len(), 2);
    }
}
