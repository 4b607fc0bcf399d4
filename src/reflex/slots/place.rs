//! Places as time zones: "Tokyo" is `Asia/Tokyo`. A fixed list, since a small image may have no zone files to search.

use crate::sentence::Sentence;

/// The zone at `at`: number of tokens and IANA name.
pub(crate) fn zone(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    ZONES
        .iter()
        .flat_map(|(zone, names)| names.split('|').map(move |name| (name, *zone)))
        .filter(|(name, _)| name.split(' ').enumerate().all(|(i, w)| s.word(at + i) == w))
        .map(|(name, zone)| (name.split(' ').count(), zone))
        .max_by_key(|(count, _)| *count)
}

/// Zones and their places; a country with several zones maps to its most populous one.
const ZONES: &[(&str, &str)] = &[
    ("UTC", "utc|gmt|zulu|universal time"),
    ("Europe/Vienna", "vienna|austria|graz|linz|salzburg|innsbruck"),
    ("Europe/Berlin", "berlin|germany|munich|hamburg|frankfurt|cologne|stuttgart"),
    ("Europe/Zurich", "zurich|switzerland|geneva|basel|bern"),
    ("Europe/London", "london|england|britain|the uk|uk|scotland|edinburgh|manchester|wales"),
    ("Europe/Dublin", "dublin|ireland"),
    ("Europe/Paris", "paris|france|lyon|marseille"),
    ("Europe/Madrid", "madrid|spain|barcelona|valencia"),
    ("Atlantic/Canary", "the canary islands|tenerife"),
    ("Europe/Lisbon", "lisbon|portugal|porto"),
    ("Europe/Rome", "rome|italy|milan|naples|venice|florence"),
    ("Europe/Amsterdam", "amsterdam|the netherlands|holland|rotterdam"),
    ("Europe/Brussels", "brussels|belgium"),
    ("Europe/Luxembourg", "luxembourg"),
    ("Europe/Copenhagen", "copenhagen|denmark"),
    ("Europe/Stockholm", "stockholm|sweden"),
    ("Europe/Oslo", "oslo|norway"),
    ("Europe/Helsinki", "helsinki|finland"),
    ("Atlantic/Reykjavik", "reykjavik|iceland"),
    ("Europe/Warsaw", "warsaw|poland|krakow"),
    ("Europe/Prague", "prague|czechia|the czech republic"),
    ("Europe/Budapest", "budapest|hungary"),
    ("Europe/Bratislava", "bratislava|slovakia"),
    ("Europe/Ljubljana", "ljubljana|slovenia"),
    ("Europe/Zagreb", "zagreb|croatia"),
    ("Europe/Belgrade", "belgrade|serbia"),
    ("Europe/Bucharest", "bucharest|romania"),
    ("Europe/Sofia", "sofia|bulgaria"),
    ("Europe/Athens", "athens|greece"),
    ("Europe/Istanbul", "istanbul|turkey|ankara"),
    ("Europe/Kyiv", "kyiv|kiev|ukraine"),
    ("Europe/Vilnius", "vilnius|lithuania"),
    ("Europe/Riga", "riga|latvia"),
    ("Europe/Tallinn", "tallinn|estonia"),
    ("Europe/Moscow", "moscow|russia|saint petersburg"),
    ("Africa/Cairo", "cairo|egypt"),
    ("Africa/Lagos", "lagos|nigeria"),
    ("Africa/Nairobi", "nairobi|kenya"),
    ("Africa/Johannesburg", "johannesburg|south africa|cape town"),
    ("Africa/Casablanca", "casablanca|morocco"),
    ("Asia/Jerusalem", "jerusalem|israel|tel aviv"),
    ("Asia/Dubai", "dubai|abu dhabi|the emirates"),
    ("Asia/Riyadh", "riyadh|saudi arabia"),
    ("Asia/Tehran", "tehran|iran"),
    ("Asia/Karachi", "karachi|pakistan|lahore"),
    ("Asia/Kolkata", "india|mumbai|delhi|new delhi|bangalore|kolkata|calcutta|chennai"),
    ("Asia/Dhaka", "dhaka|bangladesh"),
    ("Asia/Bangkok", "bangkok|thailand"),
    ("Asia/Ho_Chi_Minh", "vietnam|hanoi|saigon|ho chi minh city"),
    ("Asia/Jakarta", "jakarta|indonesia"),
    ("Asia/Singapore", "singapore"),
    ("Asia/Kuala_Lumpur", "kuala lumpur|malaysia"),
    ("Asia/Manila", "manila|the philippines"),
    ("Asia/Shanghai", "china|beijing|shanghai|shenzhen"),
    ("Asia/Hong_Kong", "hong kong"),
    ("Asia/Taipei", "taipei|taiwan"),
    ("Asia/Seoul", "seoul|korea|south korea"),
    ("Asia/Tokyo", "tokyo|japan|osaka|kyoto"),
    ("Australia/Sydney", "sydney|australia|canberra"),
    ("Australia/Melbourne", "melbourne"),
    ("Australia/Brisbane", "brisbane"),
    ("Australia/Perth", "perth"),
    ("Pacific/Auckland", "auckland|new zealand|wellington"),
    ("Pacific/Honolulu", "honolulu|hawaii"),
    ("America/Anchorage", "anchorage|alaska"),
    ("America/Los_Angeles", "los angeles|la|san francisco|california|seattle|san diego|las vegas|portland"),
    ("America/Denver", "denver|colorado|utah"),
    ("America/Phoenix", "phoenix|arizona"),
    ("America/Chicago", "chicago|texas|houston|dallas|austin"),
    ("America/New_York", "new york|nyc|boston|washington|miami|philadelphia|atlanta|detroit|florida|the us|the usa"),
    ("America/Toronto", "toronto|canada|montreal|ottawa"),
    ("America/Vancouver", "vancouver"),
    ("America/Mexico_City", "mexico|mexico city"),
    ("America/Sao_Paulo", "brazil|sao paulo|rio|rio de janeiro"),
    ("America/Argentina/Buenos_Aires", "argentina|buenos aires"),
    ("America/Santiago", "chile|santiago"),
    ("America/Bogota", "colombia|bogota"),
    ("America/Lima", "peru|lima"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_exists() {
        for (zone, _) in ZONES {
            assert!(jiff::tz::TimeZone::get(zone).is_ok(), "{zone}");
        }
        assert_eq!(zone(&Sentence::read("new york city"), 0), Some((2, "America/New_York")));
    }
}
