//! The order in which models are tried.

use super::*;
use crate::Strategy;
use crate::{Content, Media, Part, Source, ToolDefinition, Tools, scripted::Script};
use proptest::prelude::{any, prop, prop_assert, prop_assert_eq, proptest};

fn link(name: &'static str, facts: Facts, price: Price, quality: Option<u8>, speed: Option<u8>) -> Link {
    Link { provider: Script { name, facts, ..Script::default() }.shared(), price, quality, speed }
}

fn priced(input: f64, output: f64) -> Price {
    Price::Known { input, cached: input, cache_write: input, output }
}

fn models() -> Vec<Link> {
    let all = Facts::default();
    let blind = Facts { images: false, ..all };
    vec![
        link("dear", all, priced(5.0, 25.0), Some(95), Some(40)),
        link("unknown", all, Price::Unknown, None, None),
        link("cheap", blind, priced(0.1, 0.4), Some(70), Some(90)),
        link("home", Facts { tools: false, context: 4096, ..blind }, Price::Free, Some(30), Some(20)),
    ]
}

fn names(strategy: Strategy, needs: Needs, health: &Health) -> Vec<String> {
    let links = models();
    order(strategy, &needs, &links, health).into_iter().map(|at| links[at].provider.model()).collect()
}

#[test]
fn each_strategy_has_its_order() {
    let none = Needs::default();
    let tools = Needs { tools: true, ..none };
    let pictures = Needs { images: true, tools: true, ..none };
    let long = Needs { tokens: 20_000, ..none };
    for (strategy, needs, expected) in [
        (Strategy::Fallback, none, ["dear", "unknown", "cheap", "home"]),
        (Strategy::Cheapest, none, ["home", "cheap", "dear", "unknown"]),
        (Strategy::Smartest, none, ["dear", "cheap", "home", "unknown"]),
        (Strategy::Fastest, none, ["cheap", "dear", "home", "unknown"]),
        (Strategy::Balanced, none, ["cheap", "dear", "home", "unknown"]),
        (Strategy::Cheapest, tools, ["cheap", "dear", "unknown", "home"]),
        (Strategy::Fallback, pictures, ["dear", "unknown", "cheap", "home"]),
        (Strategy::Cheapest, pictures, ["dear", "unknown", "cheap", "home"]),
        (Strategy::Cheapest, long, ["cheap", "dear", "unknown", "home"]),
    ] {
        assert_eq!(names(strategy, needs, &Health::default()), expected, "{strategy:?} {needs:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_measured_three_times_beats_the_catalogue() {
    let health = Health::default();
    let seconds = Duration::from_secs;
    for times in 1..=3 {
        health.answered("cheap", seconds(20));
        health.answered("home", Duration::from_millis(100));
        assert_eq!(health.first_delta("cheap").is_some(), times == 3);
    }
    assert_eq!(names(Strategy::Fastest, Needs::default(), &health), ["home", "dear", "cheap", "unknown"]);
    // The latest measurement has the most weight, but is not alone.
    health.answered("home", seconds(10));
    let now = health.first_delta("home").unwrap();
    assert!(now > seconds(1) && now < seconds(9), "{now:?}");

    health.failed("dear");
    assert!(health.is_cooling_down("dear"));
    tokio::time::advance(seconds(31)).await;
    assert!(!health.is_cooling_down("dear"));
}

#[test]
fn needs_are_read_off_the_request() {
    let media = |kind, media_type: &str| {
        let source = Source::Bytes([].into());
        Part::Media(Media { kind, media_type: media_type.into(), name: "".into(), source })
    };
    let tool = ToolDefinition { name: "t".into(), description: "d".into(), parameters: serde_json::json!({}) };
    let rows: Vec<(Vec<Part>, bool, [bool; 4])> = vec![
        (vec![Part::Text("hi".into())], false, [false; 4]),
        (vec![media(Kind::Image, "image/png")], true, [true, true, false, false]),
        (vec![media(Kind::Audio, "audio/wav")], false, [false, false, true, false]),
        (vec![media(Kind::File, "application/pdf")], false, [false, false, false, true]),
        (vec![media(Kind::File, "text/csv")], false, [false; 4]),
    ];
    for (parts, tools, expected) in rows {
        let request = Request {
            messages: vec![Message::System("x".repeat(4000)), Message::User(Content(parts)), Message::text_only("ok")]
                .into(),
            tools: if tools { vec![tool.clone()].into() } else { Tools::default() },
            ..Request::default()
        };
        let needs = Needs::of(&request);
        assert_eq!([needs.tools, needs.images, needs.audio, needs.files], expected);
        assert!((1000..2200).contains(&needs.tokens), "{}", needs.tokens);
    }
}

fn strategies() -> impl proptest::strategy::Strategy<Value = Strategy> {
    let all = [Strategy::Cheapest, Strategy::Fastest, Strategy::Smartest, Strategy::Balanced, Strategy::Fallback];
    prop::sample::select(all.to_vec())
}

fn flags() -> impl proptest::strategy::Strategy<Value = (bool, bool, bool, bool)> {
    any::<(bool, bool, bool, bool)>()
}

proptest! {
    /// Every model occurs once, and none that lacks something precedes one that lacks nothing.
    #[test]
    fn the_order_is_whole_and_what_fits_comes_first(
        strategy in strategies(),
        needs in (flags(), 0u64..100_000),
        known in prop::collection::vec(
            (flags(), 0u32..100_000, prop::option::of(0u8..=100), prop::option::of(0u8..=100), prop::option::of(0.0..50.0f64)),
            0..8,
        ),
        measured in prop::collection::vec(0u64..20_000, 0..8),
    ) {
        let ((tools, images, audio, files), tokens) = needs;
        let needs = Needs { tools, images, audio, files, tokens };
        let health = Health::default();
        measured.iter().for_each(|ms| health.answered("m", Duration::from_millis(*ms)));
        let links: Vec<Link> = known
            .into_iter()
            .map(|((tools, images, audio, files), context, quality, speed, price)| {
                let facts = Facts { context, output: 0, tools, images, audio, files };
                link("m", facts, price.map_or(Price::Unknown, |p| priced(p, p * 4.0)), quality, speed)
            })
            .collect();
        let order = order(strategy, &needs, &links, &health);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        prop_assert_eq!(sorted, (0..links.len()).collect::<Vec<_>>());
        let fits: Vec<bool> = order.iter().map(|at| needs.unmet(links[*at].provider.facts()) == 0).collect();
        prop_assert!(fits.is_sorted_by(|a, b| a >= b), "{:?}", fits);
    }
}
