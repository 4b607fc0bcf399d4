//! Goods of a household, as they stand on shopping lists: told from jobs ("add beer to the list"), and told apart where nobody
//! wrote a comma ("milk bread eggs").

use crate::sentence::Sentence;
use text_kit::truncate;

/// The longest item that is repeated, in characters.
const LONGEST_ITEM: usize = 120;

/// Goods of one word.
const GOODS: &str = "almonds apple apples apricots asparagus aubergine aubergines avocado avocados bacon bagels baguette \
    baguettes banana bananas basil batteries beans beef beer beers beetroot berries bicarb binbags biscuits bleach \
    blueberries bread breadcrumbs broccoli bulbs bun buns burgers butter cabbage cake cakes calpol candles carrot carrots \
    cashews cat-food cauliflower celery cereal champagne charcoal cheddar cheese cherries chicken chickpeas chillies chips \
    chives chocolate chocolates chorizo chutney cider cinnamon clingfilm cocoa coconut cod coffee coke condoms conditioner \
    cookies coriander cornflakes courgette courgettes couscous crackers cream creamer crisps croissants crumpets cucumber \
    cucumbers cumin custard dates deodorant detergent dill dishcloths dishwasher-tablets dog-food doughnuts eggs envelopes \
    feta fish flour flowers foil fruit garlic gherkins gin ginger granola grapefruit grapes gravy ham haddock herbs \
    hoisin honey houmous hummus hummous icing icecream jam jelly juice kale ketchup kiwis kitchen-roll lamb lasagne leeks \
    lemon lemonade lemons lentils lettuce lime limes linguine loo-roll lager mackerel mangetout mango mangoes margarine \
    marge marmalade marmite marshmallows mascarpone matches mayo mayonnaise meat melon milk mince mint mozzarella muesli \
    muffins mushrooms mussels mustard naan nappies noodles nutella nuts oatmeal oats oil olives onion onions orange oranges \
    oregano oven-chips pancakes paprika paracetamol parmesan parsley parsnips pasta pastries peaches peanuts pear pears \
    peas pepper peppers pesto petrol pickle pickles pineapple pitta pittas pizza pizzas plasters plums popcorn pork \
    porridge potato potatoes prawns prosecco prunes quinoa radishes raisins raspberries rice rocket rolls rosemary rum \
    sage salad salami salmon salt sardines satsumas sausage sausages sauce scones screenwash seeds shallots shampoo \
    sherry shortbread soap spaghetti spinach sponges spuds squash stamps steak steaks stock strawberries string sugar \
    sultanas swede sweetcorn sweets syrup tahini tampons tea teabags thyme tissues toast tofu toiletries tomato tomatoes \
    tonic toothpaste toothbrush toothbrushes treacle tuna turkey turmeric vanilla vaseline veg vegetables vinegar vodka \
    walnuts water weetabix whisky wine wipes wraps yeast yoghurt yoghurts yogurt yogurts";

/// Goods of several words; those whose first word is a good by itself keep "milk chocolate" in one piece.
const LONGER: &[&str] = &[
    "loo roll",
    "loo rolls",
    "toilet roll",
    "toilet rolls",
    "toilet paper",
    "kitchen roll",
    "kitchen rolls",
    "kitchen towel",
    "kitchen towels",
    "kitchen paper",
    "paper towels",
    "bin bags",
    "bin liners",
    "freezer bags",
    "tea bags",
    "tea towels",
    "washing up liquid",
    "washing powder",
    "washing tablets",
    "washing liquid",
    "dish soap",
    "dishwasher tablets",
    "dishwasher salt",
    "fabric softener",
    "baking powder",
    "baking paper",
    "baking soda",
    "cling film",
    "tin foil",
    "light bulbs",
    "cat food",
    "cat litter",
    "dog food",
    "dog biscuits",
    "bird food",
    "bird seed",
    "peanut butter",
    "butter beans",
    "milk chocolate",
    "milk powder",
    "rice milk",
    "rice pudding",
    "rice cakes",
    "rice crackers",
    "rice noodles",
    "egg noodles",
    "coconut milk",
    "coconut oil",
    "coconut cream",
    "chocolate chips",
    "chocolate milk",
    "chocolate biscuits",
    "chocolate buttons",
    "chocolate cake",
    "chocolate spread",
    "cream cheese",
    "cream crackers",
    "cheese crackers",
    "cheese slices",
    "cheese strings",
    "ice cream",
    "ice cubes",
    "ice lollies",
    "apple juice",
    "apple sauce",
    "orange juice",
    "lemon juice",
    "lime juice",
    "tomato soup",
    "tomato puree",
    "tomato sauce",
    "tomato ketchup",
    "soy sauce",
    "fish fingers",
    "fish sauce",
    "fish cakes",
    "fish food",
    "chicken breasts",
    "chicken breast",
    "chicken thighs",
    "chicken legs",
    "chicken nuggets",
    "chicken stock",
    "chicken soup",
    "beef mince",
    "beef stock",
    "beef burgers",
    "turkey mince",
    "lamb chops",
    "lamb mince",
    "pork chops",
    "pork pie",
    "pork pies",
    "stock cubes",
    "gravy granules",
    "coffee beans",
    "coffee filters",
    "coffee pods",
    "pasta sauce",
    "pizza bases",
    "pizza dough",
    "bread flour",
    "bread rolls",
    "bread sauce",
    "burger buns",
    "salad cream",
    "salad dressing",
    "salad leaves",
    "salad bag",
    "potato salad",
    "garlic bread",
    "garlic granules",
    "ginger beer",
    "ginger ale",
    "ginger biscuits",
    "tonic water",
    "sparkling water",
    "maple syrup",
    "golden syrup",
    "icing sugar",
    "olive oil",
    "sunflower oil",
    "vegetable oil",
    "spring onions",
    "sweet potatoes",
    "hot dogs",
    "mince pies",
    "mint sauce",
    "fruit juice",
    "fruit salad",
    "vanilla essence",
    "vanilla extract",
    "lemon curd",
    "jam jars",
    "soap powder",
    "shower gel",
    "hand soap",
    "hand wash",
    "cotton wool",
    "cotton buds",
    "wet wipes",
    "baby wipes",
    "baby food",
    "baby milk",
    "oat milk",
    "soya milk",
    "almond milk",
    "wrapping paper",
    "sticky tape",
    "blue roll",
    "aa batteries",
    "aaa batteries",
];

/// Words of amounts and packings, before a good.
const AMOUNTS: &str = "a an the some any more another of few couple dozen half pint pints litre litres liter liters kilo \
    kilos kg g gram grams ml bag bags box boxes tin tins can cans bottle bottles jar jars pack packs packet packets bunch \
    loaf loaves tub tubs tube tubes bar bars carton cartons roll rolls slice slices pair pairs pound pounds lb lbs block \
    x big small large little cheap nice good fresh frozen brown white red green semi skimmed whole plain dark light low fat \
    free range organic decent sliced tinned chopped ripe new that those this these two three four five six seven eight nine \
    ten twelve lots";

fn contains(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|known| known == word)
}

/// The length of the good at `at`, in words.
fn good(s: &Sentence, at: usize) -> Option<usize> {
    let longer = LONGER
        .iter()
        .map(|phrase| phrase.split(' '))
        .filter(|words| words.clone().enumerate().all(|(n, word)| s.word(at + n) == word));
    let longest = longer.map(Iterator::count).max();
    longest.or_else(|| contains(GOODS, s.word(at)).then_some(1))
}

/// Whether a text is a good with its amount and at most two words about it: "two pints of milk", "the posh crisps".
pub(crate) fn is_goods(text: &str) -> bool {
    let s = Sentence::whole(text);
    item(&s, 0).is_some_and(|end| end == s.len())
}

/// The end of the item that begins at `at`.
fn item(s: &Sentence, at: usize) -> Option<usize> {
    let (mut here, mut unknown) = (at, 0);
    while here < s.len() {
        if let Some(count) = good(s, here) {
            return Some(here + count);
        }
        let word = s.word(here);
        let number = word.starts_with(|c: char| c.is_ascii_digit());
        if !number && !contains(AMOUNTS, word) {
            unknown += 1;
        }
        // A verb begins a job: "book the cake".
        if unknown > 2 || here == at && JOBS.contains(&word) {
            return None;
        }
        here += 1;
    }
    None
}

/// Verbs that begin a job.
pub(crate) const JOBS: &[&str] = &[
    "book", "call", "ring", "phone", "email", "mail", "text", "pay", "fix", "clean", "wash", "mow", "paint", "renew",
    "cancel", "make", "bake", "cook", "write", "send", "post", "return", "collect", "fetch", "take", "bring", "check",
    "order", "organise", "organize", "sort", "tidy", "put", "find", "ask", "tell", "see", "visit", "finish", "do",
    "plan", "read", "learn", "water", "feed", "walk", "hoover", "iron", "empty", "change", "replace", "repair", "mend",
    "prepare", "eat", "freeze", "defrost", "use", "print", "sign", "submit", "invoice", "chase", "remind", "meet",
    "cut", "move", "hang", "buy", "get", "pick", "drop", "try", "look", "go", "sell", "give", "build", "measure",
    "sand",
];

/// The items of a text without commas, if every one of them is known: "milk bread 2 tins of tuna".
pub(crate) fn apart(text: &str) -> Option<Vec<String>> {
    let s = Sentence::whole(text);
    let (mut at, mut items) = (0, vec![]);
    while at < s.len() {
        let end = item(&s, at)?;
        // "bread for the ducks", "milk or cream": one wish with words about it.
        if ["for", "with", "in", "or", "from", "to", "on"].contains(&s.word(end)) {
            return None;
        }
        items.push(s.slice(at, end).to_owned());
        at = end;
    }
    (items.len() > 1).then_some(items)
}

/// The item in "add oat milk to the shopping list".
pub(crate) fn named_item(text: &str) -> String {
    const VERBS: &[&str] =
        &["add", "put", "get", "buy", "stick", "pop", "can", "you", "please", "could", "we", "i", "want", "need"];
    let s = Sentence::whole(text);
    let begin = (0..s.len()).take_while(|at| VERBS.contains(&s.word(*at))).count();
    let lists = |at: &usize| {
        ["on", "onto", "to", "in"].contains(&s.word(*at)) && (*at..s.len().min(at + 5)).any(|at| s.word(at) == "list")
    };
    let end = (begin..s.len()).find(lists).unwrap_or(s.len());
    truncate(s.slice(begin, end).trim_matches([',', ' ', '.', '!']), LONGEST_ITEM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goods_are_told_from_jobs_and_from_each_other() {
        for text in ["beer", "two pints of milk", "the posh crisps", "loo roll", "500g mince", "a bag of frozen peas"] {
            assert!(is_goods(text), "{text}");
        }
        for text in ["call Ana", "book the cake", "passport photos", "milk round money", "wash the salad bowl", ""] {
            assert!(!is_goods(text), "{text}");
        }
        for (text, wanted) in [
            ("milk bread eggs", Some(vec!["milk", "bread", "eggs"])),
            ("milk bread binbags", Some(vec!["milk", "bread", "binbags"])),
            ("2 pints of milk cheap hummus", Some(vec!["2 pints of milk", "cheap hummus"])),
            ("milk chocolate", None),
            ("loo roll bread flour tea bags", Some(vec!["loo roll", "bread flour", "tea bags"])),
            ("bread for the ducks", None),
            ("nuts bolts", None),
        ] {
            let wanted = wanted.map(|all| all.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(apart(text), wanted, "{text}");
        }
    }
}
