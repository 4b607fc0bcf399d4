//! What people put into slots: values for training sentences, those of the phrasings' writers among them.

use super::{
    class_name,
    learn::{Part, Phrasing},
};
use crate::slots::Kind;
use std::collections::BTreeMap;

/// Random numbers that repeat, so that training does.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }
    pub fn one<'a>(&mut self, all: &'a str) -> &'a str {
        let some: Vec<&str> = all.split('|').map(str::trim).collect();
        some[self.below(some.len())]
    }
}

/// Values by what they are: those of the phrasings' writers, and the lists below.
pub(super) struct Values {
    /// Of an argument of a tool, with the kind its writer stated.
    of: BTreeMap<(String, String), Vec<(Option<Kind>, String)>>,
    /// Of all arguments that hold the same kind of text; of facts, those of one class, since a preference is no event.
    by_role: BTreeMap<String, Vec<String>>,
}

impl Values {
    pub fn new(phrasings: &[Phrasing]) -> Self {
        let mut values = Self { of: BTreeMap::new(), by_role: BTreeMap::new() };
        for phrasing in phrasings {
            values.collect(phrasing, &phrasing.parts);
        }
        values
    }

    fn collect(&mut self, of: &Phrasing, parts: &[Part]) {
        let tool = &of.tool;
        for part in parts {
            match part {
                Part::Slot { name: Some(name), kind, value: Some(value) } => {
                    if kind.is_none_or(Kind::is_open) {
                        self.by_role.entry(group(of, name)).or_default().push(value.clone());
                    }
                    self.of.entry((tool.to_owned(), name.clone())).or_default().push((*kind, value.clone()));
                }
                Part::Choice { any, .. } => any.iter().for_each(|branch| self.collect(of, branch)),
                Part::Capture(_, parts) => self.collect(of, parts),
                Part::Text(_) | Part::Slot { .. } => {}
            }
        }
    }

    /// A text for the slot `name` of a phrasing, of the kind its writer or the phrase files state.
    pub fn one(&self, of: &Phrasing, name: Option<&str>, kind: Kind, dice: &mut Dice) -> String {
        let tool = &of.tool;
        if kind.is_open() || kind == Kind::Quoted {
            let role = role(tool, name.unwrap_or("_"));
            let text = match self.by_role.get(&group(of, name.unwrap_or("_"))).filter(|_| dice.below(3) > 0) {
                Some(all) => all[dice.below(all.len())].clone(),
                None => text(role, dice),
            };
            return if kind == Kind::Quoted { format!("\"{}\"", text.trim_matches('"')) } else { text };
        }
        let own = name.and_then(|name| self.of.get(&(tool.to_owned(), name.to_owned())));
        let same: Vec<&str> =
            own.into_iter().flatten().filter(|(k, _)| *k == Some(kind)).map(|(_, v)| v.as_str()).collect();
        if !same.is_empty() && dice.below(2) == 0 {
            return same[dice.below(same.len())].to_owned();
        }
        typed(kind, dice)
    }
}

/// The texts an argument's text may be exchanged with.
fn group(of: &Phrasing, name: &str) -> String {
    match role(&of.tool, name) {
        "fact" => class_name(&of.tool, &of.fixed),
        role => role.to_owned(),
    }
}

/// What an argument's text is about: what is noted is no shopping, and what is looked for no goal.
pub(super) fn role(tool: &str, name: &str) -> &'static str {
    let of = |part: &str| tool.contains(part);
    match name {
        "location" | "address" | "company" => "place",
        "_" => "topic",
        _ if of("scheduled") || of("trigger") || of("notify") => "task",
        _ if of("task") || of("list") && name == "title" => "item",
        _ if of("timer") => "timer",
        _ if of("calendar") => "event",
        _ if of("goal") || of("step") || of("next_actions") => "goal",
        _ if of("expense") => "thing",
        _ if of("contact") => "person",
        _ if of("bookmark") => "site",
        _ if tool == "recall" && name == "query" || name == "question" => "question",
        "content" | "text" | "message" | "description" | "notes" => "fact",
        _ => "topic",
    }
}

fn text(role: &str, dice: &mut Dice) -> String {
    let of = match (role, dice.below(2)) {
        ("item", 0) => return format!("{}{}", dice.one(AMOUNTS), dice.one(ITEMS)).trim().to_owned(),
        ("item" | "task", _) => TASKS,
        ("place", _) => PLACES,
        ("timer", _) => TIMERS,
        ("event", _) => EVENTS,
        ("goal", _) => GOALS,
        ("thing", _) => THINGS,
        ("person", _) => PEOPLE,
        ("site", 0) => SITES,
        ("question", _) => return format!("{} {}", dice.one(ASKS), dice.one(TOPICS)),
        ("fact", 0) => FACTS,
        ("fact", _) => TASKS,
        _ => TOPICS,
    };
    dice.one(of).to_owned()
}

fn typed(kind: Kind, dice: &mut Dice) -> String {
    let all = match kind {
        Kind::Text | Kind::Dated | Kind::Quoted => TOPICS,
        Kind::Word => WORDS,
        Kind::Number => "5|20|100|3.5|a|two|seventeen|90|12|a hundred|1.5|250",
        Kind::Int => "3|5|12|two|six|100|20|1|ten",
        Kind::Money => MONEY,
        Kind::Pin => "pin 17|pin 4|gpio 22|pin 5|gpio27|pin seventeen|pin 12",
        Kind::When | Kind::Future => MOMENTS,
        Kind::Wake => WAKE,
        Kind::Date => DAYS,
        Kind::Past => {
            "yesterday|today|on monday|last friday|on the 4th|two days ago|last saturday|the day before yesterday"
        }
        Kind::Time => "at 7|7 pm|noon|half past six|19:30|8 am|at 17:00|quarter to nine|at 6:45",
        Kind::Every => EVERY,
        Kind::Duration | Kind::Minutes => DURATIONS,
        Kind::Period => {
            "this month|this week|today|last month|this year|so far this month|in total|last week|yesterday"
        }
        Kind::Month => "october|in october|last month|this month|in may|september|in june 2026",
        Kind::Person => PEOPLE,
        Kind::Phone => "0664 1234567|+43 660 7654321|01 234 56 78|555 0199|0176 12345678",
        Kind::Email => "ana@example.com|ben.huber@mail.example.org|info@example.net",
        Kind::Url => "https://example.com/soup|https://hob.example.org|www.example.net/a|example.com",
        Kind::List => LISTS,
        Kind::Category => {
            "food|groceries|lunch|transport|taxi|rent|electricity|clothes|books|the dentist|netflix|entertainment|travel"
        }
        Kind::Priority => "urgent|high priority|high|low|low priority|important|normal",
        Kind::Expr => {
            "12 times 12|15 percent of 80|7 + 8|100 minus 37|144 divided by 12|2 to the power of 10|the square root of 81|\
             3 * 17|45 plus 19|half of 250"
        }
        Kind::Unit => "km|miles|kilograms|pounds|litres|cups|celsius|fahrenheit|inches|cm|grams|ounces|feet|metres",
        Kind::Zone => "tokyo|new york|london|paris|sydney|japan|vienna|los angeles|berlin|india",
        Kind::OnOff => "on|off|high|low",
    };
    dice.one(all).to_owned()
}

const WORDS: &str = "soup|garden|boiler|blue|kitchen|pasta|work|anna|lamp|travel|pump|book|car|egg|laundry|music";
const MONEY: &str = "12.50 euros|20 euros|€8.40|5 dollars|thirty euros|3|99|12 euros 50|$45|7.20|120|4.90 euros|15 pounds|\
    £6|fifty bucks|1200 euros|2 euros|80 cents|6.35|250 dollars|twenty";
const WAKE: &str = "7|at 7|6:30|at half past six|tomorrow at 7|at 6 am|at quarter to seven|7:15|at 5 tomorrow|in an hour|\
    7am|at six thirty|5:45 tomorrow morning|at 8 on saturday|quarter past six";
const DURATIONS: &str = "10 minutes|an hour|half an hour|20 minutes|2 hours|90 seconds|15 minutes|5 minutes|three minutes|\
    an hour and a half|45 min|30 seconds|twelve minutes|1 hour 20 minutes|25 mins|a quarter of an hour|8 minutes|two and a half hours|1 minute";
const EVERY: &str = "every day|every day at 7|every monday at 8|every weekday at 6:30|every morning|every 2 hours|\
    every evening at 9|every sunday|daily|every tuesday and thursday at 5 pm|every month on the 1st|on weekdays at 8|hourly|\
    every 15 minutes|every night at 10|every friday afternoon|weekly|every other day|every wednesday|every saturday at noon|\
    on the first of every month|every hour";
const MOMENTS: &str = "tomorrow|on friday|at 7|tomorrow at 9|at 7 pm|next tuesday at 3|tonight|on 3 october|in 20 minutes|\
    in an hour|on monday morning|this evening|at noon|on saturday at half past ten|next week|on the 4th|in 3 days|at 17:30|\
    friday at 6 pm|tomorrow morning|on sunday at noon|in half an hour|on december 24th at 6 pm|in 10 minutes|at 5|by friday|\
    thursday|at quarter past four|the day after tomorrow|on the 12th at 9 am|in two hours|at 8 tonight|next month|monday at 10";
const DAYS: &str = "today|tomorrow|on friday|next week|this week|this weekend|on monday|next tuesday|on 3 october|this month|\
    on the 12th|the day after tomorrow|next month|on sunday|thursday|wednesday|on the 24th of december|tonight";
const PEOPLE: &str = "anna|Ben|tom|Anna Berger|my mum|lena|Mr Huber|dad|maria|peter|Dr Wolf|julia|my sister|Tom Brandt|\
    the neighbour|grandma|lukas|Sarah|karin|Priya|uncle Joe|the plumber|Mrs Novak|Ahmed|my brother|Chloe|the vet|grandpa|Yuki|\
    James Carter|my wife|Oliver|Fatima|aunt Rose|the landlord|Nina|Marco|my boss|Emily Stone|Jakob";
const LISTS: &str = "my shopping list|the shopping list|the packing list|our christmas list|the hardware list|my gift list|\
    the party list|the grocery list|my reading list|the camping list|my to do list|the weekend list|the garden list|\
    my work list|the wish list|the household list|the school list|the chores list";
const TIMERS: &str = "pasta|pizza|eggs|tea|laundry|oven|bread|workout|rice|dishwasher|cake|nap|potatoes|chicken|cookies|sauna|\
    homework|soup|parking|break|roast|coffee|dough|washing|meditation|bath|steak|dinner|lasagne|plank";
const AMOUNTS: &str =
    "|||||||two |three |a |some |a pack of |a dozen |500 g of |a bottle of |a bag of |six |2 |a litre of |more ";
const ITEMS: &str = "milk|eggs|toilet paper|wine|apples|washing powder|coffee|butter|cheese|light bulbs|dog food|toothpaste|\
    birthday cards|olive oil|bananas|batteries|flour|sugar|shampoo|potatoes|orange juice|nappies|cat litter|tomatoes|yoghurt|\
    onions|brown bread|oat milk|rice|pasta|chicken breasts|mince|garlic|carrots|lemons|bin bags|kitchen roll|dish soap|salt|\
    peanut butter|jam|honey|cereal|porridge oats|frozen peas|ice cream|crisps|chocolate|biscuits|tea bags|beer|sparkling water|\
    salmon|ham|sausages|tofu|spinach|lettuce|cucumber|peppers|mushrooms|avocados|grapes|strawberries|blueberries|cream|\
    cream cheese|mozzarella|parmesan|tinned tomatoes|chickpeas|lentils|soy sauce|ketchup|mustard|mayonnaise|vinegar|pepper|\
    cinnamon|baking powder|yeast|foil|cling film|sponges|bleach|hand soap|deodorant|razors|plasters|paracetamol|vitamin c|\
    tissues|cotton buds|sunscreen|stamps|envelopes|printer ink|wrapping paper|candles|matches|screws|sandpaper|paint|a hammer|\
    duct tape|potting soil|tulip bulbs|bird seed|flea drops|baby wipes|formula|rolls|croissants|pizza dough|ginger|coriander";
const TASKS: &str = "call the bank|water the plants|pay the rent|book a flight|clean the oven|take out the bins|call mum|\
    buy stamps|write the report|fix the tap|send the invoice|feed the cat|check the oven|renew the passport|\
    pick up the kids|do the laundry|answer the letter from school|mow the lawn|walk the dog|call the plumber|\
    return the library books|iron the shirts|take my pills|turn off the stove|order firewood|paint the fence|\
    backup|file the taxes|defrost the chicken|the laundry|the pasta|email tom about the trip|hoover the stairs|\
    change the bed sheets|put the bins out|move the car|charge the bike|ring the dentist|take the bread out|\
    switch off the sprinkler|practise the piano|sign the school form|cancel the gym membership|get petrol|wash the car|\
    clean out the fridge|descale the kettle|check the tyre pressure|prune the roses|bleed the radiators|take my medicine|\
    stretch|drink water|leave for the airport|pick up the parcel|vote|update the budget|order new glasses|\
    look at the meter|empty the dishwasher|bring the costume|post the letter|pay the electricity bill|clean the gutters|\
    book the vet|call grandma back|give the dog her tablet|close the windows|feed the sourdough|reply to the landlord";
const EVENTS: &str = "dentist|lunch with anna|team meeting|yoga|parents evening|the concert|dinner with tom|haircut|\
    football practice|doctor's appointment|birthday party|piano lesson|job interview|the plumber|choir|the vet|\
    coffee with lena|school play|a meeting with the bank|wedding|trip to graz|car inspection|swimming lesson|book club|\
    mum's birthday|standup|call with the accountant|drinks with the neighbours|flight to rome|physio|eye test|boiler service|\
    date night|driving lesson|board games at ben's|the barbecue|sports day|bin collection|ballet|project review|blood test|\
    house viewing|window cleaner|chess club|a run with sam|anniversary dinner|the theatre|kids' party|tax appointment";
const FACTS: &str = "the paint is ral 9010|the spare key is at anna's|we park on level 3|the router is behind the tv|\
    the filter is 20 by 30|the guest wifi is called sparrow|lena likes tulips|the meter reads 4711|the boiler needs 1.5 bar|\
    the door code changed|ideas for the garden|the recipe needs more salt|anna is allergic to nuts|tom lent us a drill|\
    the car takes 5w30|measurements of the kitchen|the wine from sunday was good|the plumber is called maier|\
    the school is closed on monday|size 43|the stopcock is under the sink|grandma takes her tea without sugar|\
    the bins go out on thursday night|the alarm code is on the blue card|the cat is afraid of the hoover|\
    my blood type is 0 negative|the fence needs two coats|the wifi drops in the attic|mum's birthday is 12 march|\
    we lent the ladder to peter|the kids' shoe sizes are 31 and 34|the landlord's name is mr weber|\
    the curtains are 2.40 long|the dishwasher tabs are in the cellar|max started walking today|the oven runs hot";
const TOPICS: &str = "the boiler|anna|the car insurance|the garden|soup|the holiday|wifi|the paint in the hall|tyres|\
    the plumber|the party|the kitchen|travel|recipes|the contract|birthday presents|the router|the school|bread|the roof|\
    the spare key|the fence|grandma|christmas|the bike|the meeting|the bathroom|taxes|the dog|plants|the attic|gifts|\
    the printer|medicine|the trip to italy|the lease|shoes|the washing machine|the warranty|books";
const SITES: &str = "the soup recipe|the news site|cat videos|rust documentation|the bus timetable|the weather page|recipes|\
    that article|the shop|the school website|bike repair|the camping site|my bank|the crossword|holiday flats|the manual";
const THINGS: &str = "lunch|a train ticket|new shoes|groceries|petrol|the electricity bill|coffee|a birthday present|\
    the cinema|a taxi|a haircut|books|parking|pizza|the vet|a plant|wine|the gym|bread|a phone case|school lunches|a jacket|\
    the plumber|flowers|a concert ticket|dinner|the bus|cat food|a drill|toys|medicine|the window cleaner|a lamp";
const GOALS: &str = "learn spanish|run a marathon|save for a house|read 20 books|lose 5 kilos|learn the piano|\
    renovate the kitchen|write a book|stop smoking|get fit|plan the wedding|build a shed|buy running shoes|clear the cellar|\
    cook at home more|walk 10000 steps a day|pay off the loan|grow my own vegetables|sleep earlier|finish the quilt";
const PLACES: &str = "graz|the office|12 main street|vienna|the town hall|acme|room 4|anna's place|siemens|the old mill|\
    the school|luigi's|the park|the community centre|5 station road|the clinic";
const ASKS: &str = "what do you know about|what did i say about|where is|what was that about|when did we buy|who fixed|\
    what is the number of|how much was";

/// What people begin with before they come to what they want; any intent may follow.
pub(super) const FILLERS: &str = "could we|can we|i want to|i would like to|i need to|let us|can i|would you mind|i think i|\
    maybe|how about|please do|we should|go and|now|next|also|and|hey listen|i was going to ask you to|would you be able to|\
    any chance you could|do me a favour and|you can|i'd love you to|be a dear and|when you have a moment|oh and|um|\
    right so|quick one|before i forget|okay so";

/// What turns a command into none: before it, and behind it.
pub(super) const UNDONE: &str = "do not|don't|please don't|never|you should not|tom said to|she told me to|he asked whether to|\
    what if i|what happens if i|should i|why would anyone|i wonder if i should|i was about to|did you already|i did not mean to|\
    imagine i could|is it a good idea to|people often|nobody wants to|my sister likes to|i hate to|yesterday i tried to|\
    there is no need to|you must not|what would happen if you|how come you|i dreamt that i had to|the book says to|who told you to";
