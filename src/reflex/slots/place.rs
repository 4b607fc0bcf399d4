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
    ("Europe/Berlin", "berlin|germany|dusseldorf|leipzig|dresden|hanover|munich|hamburg|frankfurt|cologne|stuttgart"),
    ("Europe/Zurich", "zurich|switzerland|geneva|basel|bern"),
    (
        "Europe/London",
        "london|england|britain|leeds|birmingham|liverpool|glasgow|cardiff|belfast|bristol|the uk|uk|scotland|edinburgh|manchester|wales",
    ),
    ("Europe/Dublin", "dublin|ireland"),
    ("Europe/Paris", "paris|france|lyon|marseille|nice|bordeaux|toulouse"),
    ("Europe/Madrid", "madrid|spain|barcelona|valencia|seville|malaga|majorca|mallorca|ibiza"),
    ("Atlantic/Canary", "the canary islands|tenerife"),
    ("Europe/Lisbon", "lisbon|portugal|porto|faro|algarve"),
    ("Europe/Rome", "rome|italy|milan|turin|sicily|naples|venice|florence"),
    ("Europe/Amsterdam", "amsterdam|the netherlands|holland|rotterdam"),
    ("Europe/Brussels", "brussels|belgium"),
    ("Europe/Luxembourg", "luxembourg"),
    ("Europe/Copenhagen", "copenhagen|denmark"),
    ("Europe/Stockholm", "stockholm|sweden"),
    ("Europe/Oslo", "oslo|norway"),
    ("Europe/Helsinki", "helsinki|finland"),
    ("Atlantic/Reykjavik", "reykjavik|iceland"),
    ("Europe/Warsaw", "warsaw|poland|krakow|gdansk|wroclaw|lodz"),
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
    ("Africa/Lagos", "lagos|nigeria|abuja"),
    ("Africa/Accra", "accra|ghana"),
    ("Africa/Addis_Ababa", "addis ababa|ethiopia"),
    ("Africa/Tunis", "tunis|tunisia"),
    ("Africa/Algiers", "algiers|algeria"),
    ("Africa/Kampala", "kampala|uganda"),
    ("Africa/Harare", "harare|zimbabwe"),
    ("Africa/Dar_es_Salaam", "dar es salaam|tanzania"),
    ("Africa/Nairobi", "nairobi|kenya"),
    ("Africa/Johannesburg", "johannesburg|south africa|cape town|durban|pretoria"),
    ("Africa/Casablanca", "casablanca|morocco"),
    ("Asia/Jerusalem", "jerusalem|israel|tel aviv"),
    ("Asia/Kathmandu", "kathmandu|nepal"),
    ("Asia/Colombo", "colombo|sri lanka"),
    ("Asia/Baghdad", "baghdad|iraq"),
    ("Asia/Qatar", "qatar|doha"),
    ("Asia/Beirut", "beirut|lebanon"),
    ("Asia/Kabul", "kabul|afghanistan"),
    ("Asia/Tashkent", "tashkent|uzbekistan"),
    ("Asia/Almaty", "almaty|kazakhstan"),
    ("Europe/Nicosia", "cyprus|nicosia|paphos"),
    ("Europe/Malta", "malta|valletta"),
    ("Asia/Dubai", "dubai|abu dhabi|the emirates"),
    ("Asia/Riyadh", "riyadh|saudi arabia"),
    ("Asia/Tehran", "tehran|iran"),
    ("Asia/Karachi", "karachi|pakistan|lahore"),
    ("Asia/Kolkata", "india|bombay|hyderabad|goa|pune|mumbai|delhi|new delhi|bangalore|kolkata|calcutta|chennai"),
    ("Asia/Dhaka", "dhaka|bangladesh"),
    ("Asia/Bangkok", "bangkok|thailand"),
    ("Asia/Ho_Chi_Minh", "vietnam|hanoi|saigon|ho chi minh city"),
    ("Asia/Jakarta", "jakarta|indonesia"),
    ("Asia/Singapore", "singapore"),
    ("Asia/Kuala_Lumpur", "kuala lumpur|malaysia"),
    ("Asia/Manila", "manila|the philippines"),
    ("Asia/Shanghai", "china|beijing|shanghai|shenzhen|guangzhou|chengdu|wuhan"),
    ("Asia/Hong_Kong", "hong kong"),
    ("Asia/Taipei", "taipei|taiwan"),
    ("Asia/Seoul", "seoul|korea|south korea"),
    ("Asia/Tokyo", "tokyo|japan|osaka|kyoto"),
    ("Australia/Sydney", "sydney|australia|canberra"),
    ("Australia/Melbourne", "melbourne"),
    ("Australia/Brisbane", "brisbane"),
    ("Australia/Perth", "perth"),
    ("Australia/Adelaide", "adelaide"),
    ("Australia/Darwin", "darwin"),
    ("Australia/Hobart", "hobart|tasmania"),
    ("Pacific/Auckland", "auckland|new zealand|wellington|christchurch"),
    ("Pacific/Honolulu", "honolulu|hawaii"),
    ("America/Anchorage", "anchorage|alaska"),
    (
        "America/Los_Angeles",
        "los angeles|la|san francisco|california|seattle|san diego|hollywood|sacramento|oregon|nevada|las vegas|portland",
    ),
    ("America/Denver", "denver|colorado|utah"),
    ("America/Phoenix", "phoenix|arizona"),
    ("America/Chicago", "chicago|texas|houston|new orleans|minneapolis|st louis|nashville|dallas|austin"),
    (
        "America/New_York",
        "new york|nyc|ny|boston|washington|miami|orlando|cleveland|new jersey|philadelphia|atlanta|detroit|florida|the us|the usa",
    ),
    ("America/Toronto", "toronto|canada|montreal|ottawa"),
    ("America/Vancouver", "vancouver"),
    ("America/Edmonton", "calgary|edmonton|alberta"),
    ("America/Halifax", "halifax|nova scotia"),
    ("America/Winnipeg", "winnipeg"),
    ("America/Jamaica", "jamaica|kingston"),
    ("America/Havana", "cuba|havana"),
    ("America/Barbados", "barbados"),
    ("America/Port_of_Spain", "trinidad"),
    ("America/Caracas", "venezuela|caracas"),
    ("America/Guayaquil", "ecuador|quito"),
    ("America/Panama", "panama"),
    ("America/Costa_Rica", "costa rica"),
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
