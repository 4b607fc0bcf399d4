//! Fixed vocabularies: expense categories, priorities, reporting periods.

use crate::sentence::Sentence;

/// The longest table entry at `at`, and its meaning.
fn longest(table: &[(&'static str, &str)], s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    table
        .iter()
        .flat_map(|(meaning, names)| names.split('|').map(move |name| (name, *meaning)))
        .filter(|(name, _)| name.split(' ').enumerate().all(|(i, word)| s.word(at + i) == word))
        .map(|(name, meaning)| (name.split(' ').count(), meaning))
        .max_by_key(|(count, _)| *count)
}

/// A reporting period: "this month", "so far this year", "in total".
pub(crate) fn period(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    let lead = ["so far", "in", "over", "during", "within", "for"];
    let lead = lead.iter().map(|l| l.split(' ').collect::<Vec<_>>()).find(|l| s.has(at, l)).map_or(0, |l| l.len());
    let at_lead = |lead: usize| longest(PERIODS, s, at + lead).map(|(count, period)| (lead + count, period));
    let (count, period) = at_lead(lead).or_else(|| at_lead(0))?;
    Some((count + if s.has(at + count, &["so", "far"]) { 2 } else { 0 }, period))
}

const PERIODS: &[(&str, &str)] = &[
    ("today", "today"),
    ("this_week", "this week|the week|the current week"),
    ("this_month", "this month|the month|the current month"),
    ("last_month", "last month|the last month|the past month|previous month|the previous month"),
    ("this_year", "this year|the year|the current year"),
    ("all", "in total|total|altogether|all in all|all together|all time|ever|overall|of all time|in all"),
];

/// A priority.
pub(crate) fn priority(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    longest(PRIORITIES, s, at)
}

const PRIORITIES: &[(&str, &str)] = &[
    (
        "urgent",
        "urgent|urgently|very urgent|very urgently|asap|as soon as possible|critical|top priority|highest priority|\
         urgent priority|maximum priority|very important|most important|immediately|priority urgent",
    ),
    ("high", "high|important|high priority|priority high|with high priority|higher priority|more important"),
    ("normal", "normal|medium|normal priority|medium priority|regular priority|default priority"),
    (
        "low",
        "low|low priority|lowest priority|lower priority|not urgent|not important|unimportant|less important|minor|\
         whenever|no rush|no hurry|not so important|not that important|not so urgent|not that urgent",
    ),
];

/// An expense category, by name or by purchase.
pub(crate) fn category(s: &Sentence, at: usize) -> Option<(usize, &'static str)> {
    longest(CATEGORIES, s, at)
}

const CATEGORIES: &[(&str, &str)] = &[
    (
        "food",
        "food|groceries|grocery|grocery shopping|supermarket|the supermarket|lunch|dinner|breakfast|brunch|supper|snack|\
         snacks|coffee|coffees|tea|drink|drinks|beer|beers|wine|pizza|pizzas|burger|burgers|kebab|sushi|sandwich|\
         sandwiches|takeaway|take away|takeout|take out|restaurant|restaurants|eating out|cafe|bar|pub|bakery|bread|\
         milk|meat|fruit|vegetables|vegetable|veg|veggies|cheese|eggs|ice cream|sweets|chocolate|cake|meal|meals|\
         butcher|farmers market|market|noodles|pasta|fish|canteen|lebensmittel|food shopping|chips|cappuccino|latte",
    ),
    (
        "transport",
        "transport|transportation|taxi|taxis|cab|uber|lyft|bus|bus ticket|train|train ticket|train tickets|tram|metro|\
         subway|underground|tube|fuel|gas|petrol|diesel|parking|parking ticket|toll|tolls|ferry|car|the car|car repair|\
         car wash|tyres|tires|bike repair|scooter|public transport|travel card|fare|fares|charging the car|garage|\
         oil change|car service|commuting|bus fare|train fare|ticket for the bus",
    ),
    (
        "utilities",
        "utilities|utility|electricity|power|power bill|electric bill|electricity bill|water|water bill|gas bill|heating|\
         heating oil|internet|internet bill|broadband|wifi|phone bill|mobile bill|phone contract|electric|sewage|\
         rubbish|trash|garbage|firewood|pellets|energy|bills",
    ),
    (
        "entertainment",
        "entertainment|cinema|movie|movies|film|films|concert|concerts|theatre|theater|museum|game|games|video game|\
         video games|party|zoo|bowling|festival|show|opera|fun|leisure|nightclub|club|toys|toy|hobby|hobbies|\
         cinema tickets|movie tickets|concert tickets|tickets|football match",
    ),
    (
        "shopping",
        "shopping|clothes|clothing|shoes|shirt|shirts|jacket|coat|dress|jeans|trousers|pants|socks|gift|gifts|present|\
         presents|furniture|electronics|laptop|phone|tools|hardware|hardware store|ikea|amazon|stationery|cosmetics|\
         makeup|jewellery|jewelry|flowers|plants|decoration|kitchenware|pan|lamp|chair|table|headphones|gadget|gadgets|\
         birthday present|birthday gift|household goods|cleaning supplies|paint|screws|diy|garden|gardening",
    ),
    (
        "health",
        "health|doctor|the doctor|dentist|the dentist|pharmacy|medicine|medicines|medication|pills|hospital|glasses|\
         contact lenses|therapy|physio|physiotherapy|gym|fitness|vitamins|vet|the vet|optician|massage|prescription|\
         drugstore|haircut|hairdresser|barber|toothpaste|insurance|health insurance|yoga|medical",
    ),
    (
        "education",
        "education|book|books|textbook|textbooks|course|courses|class|classes|school|school trip|tuition|university|\
         lesson|lessons|music lessons|piano lessons|workshop|seminar|kindergarten|school supplies|training|exam fee",
    ),
    (
        "travel",
        "travel|trip|holiday|holidays|vacation|flight|flights|plane ticket|plane tickets|hotel|hotels|hostel|airbnb|\
         luggage|rental car|car rental|airline|camping|cruise|travelling|traveling|visa|passport",
    ),
    (
        "subscription",
        "subscription|subscriptions|netflix|spotify|disney plus|hbo|youtube premium|apple music|magazine|newspaper|\
         membership|streaming|prime|amazon prime|icloud|audible|cloud storage",
    ),
    (
        "housing",
        "housing|rent|the rent|mortgage|the mortgage|house|repairs|home|plumber|electrician|renovation|flat|apartment",
    ),
    ("other", "other|others|miscellaneous|misc|donation|donations|charity|fine|bank fees|fees|fee|tax|taxes"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_meaning() {
        let s = Sentence::whole;
        for (text, wanted) in [
            ("this month", Some((2, "this_month"))),
            ("so far this year", Some((4, "this_year"))),
            ("this week so far", Some((4, "this_week"))),
            ("in total", Some((2, "all"))),
            ("in the last month", Some((4, "last_month"))),
            ("tomorrow", None),
            ("", None),
        ] {
            assert_eq!(period(&s(text), 0), wanted, "{text}");
        }
        for (text, wanted) in [
            ("urgent", Some((1, "urgent"))),
            ("high priority", Some((2, "high"))),
            ("as soon as possible", Some((4, "urgent"))),
            ("not that important", Some((3, "low"))),
            ("blue", None),
        ] {
            assert_eq!(priority(&s(text), 0), wanted, "{text}");
        }
        for (text, wanted) in [
            ("groceries", Some((1, "food"))),
            ("a taxi", None),
            ("taxi home", Some((1, "transport"))),
            ("gas bill", Some((2, "utilities"))),
            ("gas", Some((1, "transport"))),
            ("rent", Some((1, "housing"))),
            ("netflix", Some((1, "subscription"))),
            ("gizmos", None),
        ] {
            assert_eq!(category(&s(text), 0), wanted, "{text}");
        }
    }

    #[test]
    fn a_word_has_one_meaning() {
        for table in [CATEGORIES, PRIORITIES, PERIODS] {
            let mut names: Vec<&str> = table.iter().flat_map(|(_, names)| names.split('|')).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "a name is there twice");
            assert!(names.iter().all(|n| n.split(' ').all(|w| !w.is_empty())), "{names:?}");
        }
    }
}
