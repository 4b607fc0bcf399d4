//! Names of items: their quantity, and whether what somebody says means an item.

/// Words before an item that are not part of its name: "buy some milk", "two pints of milk".
const LEADING: &[&str] = &["buy", "get", "fetch", "some", "more", "a", "an", "the", "our", "my", "any", "of"];
const NUMBERS: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "dozen", "half",
];
const MEASURES: &[&str] = &[
    "x", "kg", "g", "gram", "kilo", "l", "ml", "litre", "liter", "pint", "bottle", "pack", "packet", "bag", "box",
    "can", "tin", "jar", "carton", "loaf", "bunch", "piece", "slice", "tube", "roll", "pair", "couple", "lb", "pound",
    "oz", "ounce",
];
/// Words that join two things into one name.
const JOINING: &[&str] = &["and", "&", "+", "or", "with"];

/// How well a name fits the given words; the better first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fit {
    /// It is the name.
    Name,
    /// It is the same thing: another number or quantity, plural, or "buy" before it.
    Thing,
    /// It contains the given words, and nothing that makes it another thing.
    Part,
    /// It contains the given words, and may be another thing: "milk and eggs" for "milk".
    Near,
}

/// A name taken apart.
#[derive(Debug)]
pub(super) struct Item {
    /// The words of the quantity, as written: `2`, `2 pints of`.
    pub quantity: String,
    /// The words of the thing, without endings.
    thing: Vec<String>,
    /// Everything, in lower case.
    whole: String,
    joins: bool,
}

impl Item {
    pub(super) fn read(name: &str) -> Self {
        let whole = name.trim().to_lowercase();
        let words: Vec<&str> = name.split_whitespace().collect();
        let plain =
            |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '&' | '+')).to_lowercase();
        let (mut skipped, mut quantity) = (0, String::new());
        for word in &words {
            let (word, bare) = (plain(word), stem(&plain(word)));
            let counts = word.starts_with(|c: char| c.is_ascii_digit()) || NUMBERS.contains(&&*word);
            let before_of = words.get(skipped + 1).is_some_and(|next| plain(next) == "of");
            let measures = MEASURES.contains(&&*bare) && (before_of || !quantity.is_empty());
            // The last word is the thing, whatever it is.
            if skipped + 1 == words.len() || !(counts || measures || LEADING.contains(&&*word)) {
                break;
            }
            if counts || measures || (word == "of" && !quantity.is_empty()) {
                quantity = format!("{quantity} {}", words[skipped]).trim_start().to_owned();
            }
            skipped += 1;
        }
        let thing = words[skipped..].iter().map(|word| plain(word)).filter(|word| !word.is_empty()).collect::<Vec<_>>();
        let joins = name.contains(',') || thing.iter().any(|word| JOINING.contains(&&**word));
        Self { quantity, thing: thing.iter().map(|word| stem(word)).collect(), whole, joins }
    }

    /// Whether both are the same thing, in whatever quantity.
    pub(super) fn is_same_thing(&self, other: &Self) -> bool {
        !self.thing.is_empty() && self.thing == other.thing
    }

    /// The number in the quantity; 0 where there is none.
    pub(super) fn count(&self) -> f64 {
        let first = self.quantity.split_whitespace().next().unwrap_or_default().to_lowercase();
        let digits: String = first.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let named = NUMBERS.iter().take(12).position(|word| *word == first).map(|n| n as f64 + 1.0);
        digits.parse().ok().or(named).unwrap_or(0.0)
    }

    /// How well a name fits the given words. `on_list`: a name on a list is a thing, in which the last word counts ("banana
    /// yoghurt" is a yoghurt); other tasks are sentences.
    pub(super) fn fit(&self, said: &Self, on_list: bool) -> Option<Fit> {
        if self.whole == said.whole {
            return Some(Fit::Name);
        }
        if self.is_same_thing(said) {
            return Some(Fit::Thing);
        }
        let alike = |(own, word): (&String, &String)| is_alike(own, word);
        if !said.thing.is_empty()
            && self.thing.len() == said.thing.len()
            && self.thing.iter().zip(&said.thing).all(alike)
        {
            return Some(Fit::Part);
        }
        if said.thing.is_empty() || !said.thing.iter().all(|word| self.thing.iter().any(|own| is_alike(own, word))) {
            return None;
        }
        let is_whole = !self.joins || said.joins;
        let is_kind = !on_list || self.thing.ends_with(&said.thing) || said.thing.len() > 1;
        Some(if is_whole && is_kind { Fit::Part } else { Fit::Near })
    }
}

/// Whether two words are the same but for one slip in a long one: "mouldd" is "mould".
fn is_alike(one: &str, other: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if a == b {
        return true;
    }
    if a.len().min(b.len()) < 5 || a.len().abs_diff(b.len()) > 1 {
        return false;
    }
    let front = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let back = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let swapped = a.len() == b.len() && a.get(front) == b.get(front + 1) && a.get(front + 1) == b.get(front);
    front + back + 1 >= a.len().max(b.len()) || swapped && front + back + 2 >= a.len()
}

/// A word without the endings of plurals, of possessives and of "-ing".
fn stem(word: &str) -> String {
    let word = ["'s", "’s"].iter().find_map(|ending| word.strip_suffix(ending)).unwrap_or(word);
    let cut = |ending: &str| word.strip_suffix(ending).filter(|rest| rest.chars().count() >= 3);
    if let Some(rest) = cut("ies") {
        return format!("{rest}y");
    }
    if let Some(rest) = cut("ing").filter(|rest| rest.contains(['a', 'e', 'i', 'o', 'u', 'y'])) {
        // "shopping" is "shop", "cleaning" is "clean".
        let mut back = rest.chars().rev();
        let doubled = back.next().is_some_and(|last| back.next() == Some(last) && !"lsz".contains(last));
        return if doubled { rest[..rest.len() - 1].to_owned() } else { rest.trim_end_matches('e').to_owned() };
    }
    for ending in ["oes", "shes", "ches", "sses", "xes"] {
        if let Some(rest) = cut(ending) {
            return format!("{rest}{}", &ending[..ending.len() - 2]);
        }
    }
    match word.strip_suffix('s') {
        Some(rest) if rest.chars().count() >= 3 && !rest.ends_with('s') => rest.trim_end_matches('e').to_owned(),
        _ if word.chars().count() > 3 => word.trim_end_matches('e').to_owned(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(name: &str, said: &str) -> Option<Fit> {
        Item::read(name).fit(&Item::read(said), true)
    }

    #[test]
    fn what_is_said_means_the_thing_and_not_what_contains_its_word() {
        for (name, said, wanted) in [
            ("milk", "Milk", Some(Fit::Name)),
            ("buy milk", "milk", Some(Fit::Thing)),
            ("2 milk", "milk", Some(Fit::Thing)),
            ("two pints of milk", "the milk", Some(Fit::Thing)),
            ("tomatoes", "tomato", Some(Fit::Thing)),
            ("batteries", "battery", Some(Fit::Thing)),
            ("a loaf of bread", "bread", Some(Fit::Thing)),
            ("wash the car", "washing the car", Some(Fit::Thing)),
            ("oat milk", "milk", Some(Fit::Part)),
            ("take out the bins", "bins", Some(Fit::Part)),
            ("mould in the bathroom", "mouldd", Some(Fit::Near)),
            ("mould", "mouldd", Some(Fit::Part)),
            ("cut list for Mrs Ahmed's wardrobe", "mrs ahmeds cut list", Some(Fit::Part)),
            ("milk and eggs", "milk", Some(Fit::Near)),
            ("milk & eggs", "eggs", Some(Fit::Near)),
            ("milk, eggs", "eggs", Some(Fit::Near)),
            ("milk and eggs", "milk and eggs", Some(Fit::Name)),
            ("banana yoghurt", "bananas", Some(Fit::Near)),
            ("bananas", "banana", Some(Fit::Thing)),
            ("milk", "oat milk", None),
            ("eggs", "bread", None),
            ("milkshake", "milk", None),
            ("7 up", "up", Some(Fit::Thing)),
        ] {
            assert_eq!(fit(name, said), wanted, "{name} for {said}");
        }
        assert_eq!(Item::read("call dentist about crown").fit(&Item::read("dentist"), false), Some(Fit::Part));
    }

    #[test]
    fn quantities_are_read_from_the_front() {
        for (name, quantity, count) in [
            ("2 milk", "2", 2.0),
            ("six eggs", "six", 6.0),
            ("500g flour", "500g", 500.0),
            ("2 pints of milk", "2 pints of", 2.0),
            ("milk", "", 0.0),
            ("a pack of gum", "pack of", 0.0),
            ("7", "", 0.0),
        ] {
            let item = Item::read(name);
            assert_eq!((&*item.quantity, item.count()), (quantity, count), "{name}");
        }
        assert!(!Item::read("").is_same_thing(&Item::read(" ")));
    }
}
