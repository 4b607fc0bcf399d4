//! What people put into the slots of templates: samples from which training sentences are made.

use crate::slots::Kind;

/// Random numbers that repeat, so that training does.
pub(super) struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count.max(1)
    }
    pub fn one<'a>(&mut self, of: &str, all: &'a str) -> &'a str {
        let some: Vec<&str> = all.split('|').map(str::trim).collect();
        assert!(!some.is_empty(), "{of}");
        some[self.below(some.len())]
    }
}

/// A text that may stand in the slot `name` of a template for `tool`.
pub(super) fn sample(tool: &str, name: Option<&str>, kind: Kind, dice: &mut Dice) -> String {
    let of = match kind {
        Kind::Text | Kind::Dated => return text(tool, name.unwrap_or("_"), dice),
        Kind::Quoted => return format!("\"{}\"", text(tool, name.unwrap_or("_"), dice)),
        Kind::Word => WORDS,
        Kind::Number => "5|20|100|3.5|a|two|seventeen|90|12|a hundred|1.5|250",
        Kind::Int => "3|5|12|two|six|100|20|1|ten",
        Kind::Money => "12.50|20 euros|€8.40|5 dollars|thirty euros|3|99|12 euros 50|$45|7.20|120|4.90 euros|15 pounds",
        Kind::Pin => "pin 17|pin 4|gpio 22|pin 5|gpio27|pin seventeen|pin 12",
        Kind::When | Kind::Future => MOMENTS,
        Kind::Wake => {
            "7|at 7|6:30|at half past six|tomorrow at 7|at 6 am|at quarter to seven|7:15|at 5 tomorrow|in an hour"
        }
        Kind::Date => DAYS,
        Kind::Past => "yesterday|today|on monday|last friday|on the 4th|two days ago",
        Kind::Time => "at 7|7 pm|noon|half past six|19:30|8 am|at 17:00",
        Kind::Every => {
            "every day|every day at 7|every monday at 8|every weekday at 6:30|every morning|every 2 hours|every evening at 9|\
             every sunday|daily|every tuesday and thursday at 5 pm|every month on the 1st|on weekdays at 8|hourly|\
             every 15 minutes|every night at 10|every friday afternoon|weekly|every other day"
        }
        Kind::Duration | Kind::Minutes => {
            "10 minutes|an hour|half an hour|20 minutes|2 hours|90 seconds|15 minutes|5 minutes"
        }
        Kind::Period => "this month|this week|today|last month|this year|so far this month|in total",
        Kind::Month => "october|in october|last month|this month|in may|september|in june 2026",
        Kind::Person => PEOPLE,
        Kind::Phone => "0664 1234567|+43 660 7654321|01 234 56 78|555 0199|0176 12345678",
        Kind::Email => "ana@example.com|ben.huber@mail.example.org|info@example.net",
        Kind::Url => "https://example.com/soup|https://hob.example.org|www.example.net/a|example.com",
        Kind::List => {
            "my shopping list|the shopping list|the packing list|our christmas list|the hardware list|my gift list|the party list"
        }
        Kind::Category => {
            "food|groceries|lunch|transport|taxi|rent|electricity|clothes|books|the dentist|netflix|entertainment|travel"
        }
        Kind::Priority => "urgent|high priority|high|low|low priority|important|normal",
        Kind::Expr => {
            "12 times 12|15 percent of 80|7 + 8|100 minus 37|144 divided by 12|2 to the power of 10|the square root of 81"
        }
        Kind::Unit => "km|miles|kilograms|pounds|litres|cups|celsius|fahrenheit|inches|cm|grams|ounces|feet|metres",
        Kind::Zone => "tokyo|new york|london|paris|sydney|japan|vienna",
        Kind::OnOff => "on|off|high|low",
    };
    dice.one("kind", of).to_owned()
}

/// Words of the family's own kind: what is noted is no shopping, and what is looked for no goal.
fn text(tool: &str, name: &str, dice: &mut Dice) -> String {
    let all = match (tool, name) {
        ("add_task" | "batch_add_tasks", "title") | (_, "tasks") => [ITEMS, TASKS],
        ("complete_task" | "delete_task" | "update_task", _) => [ITEMS, TASKS],
        ("add_calendar_event" | "batch_add_calendar_events", "title") | (_, "eventId") => [EVENTS, EVENTS],
        ("list_calendar_events", _) => [EVENTS, PEOPLE],
        (
            "create_goal" | "update_goal" | "decompose_goal" | "delete_goal" | "get_goal_details" | "get_next_actions",
            _,
        )
        | (_, "goalId" | "stepId") => [GOALS, GOALS],
        ("create_scheduled_task" | "create_trigger" | "update_scheduled_task", _) => [TASKS, EVENTS],
        (_, "taskId" | "triggerId") => [TASKS, EVENTS],
        ("add_expense" | "query_expenses" | "update_expense" | "delete_expense" | "expense_summary", _) => {
            [THINGS, THINGS]
        }
        ("add_note" | "update_note" | "batch_add_notes" | "remember", _) => [FACTS, TASKS],
        ("add_bookmark" | "update_bookmark" | "delete_bookmark" | "list_bookmarks", _) => [TOPICS, SITES],
        (_, "location" | "address" | "company") => [PLACES, PLACES],
        (_, "content" | "text" | "message" | "description" | "notes") => [FACTS, TASKS],
        _ => [TOPICS, TOPICS],
    };
    let all = all[dice.below(2)];
    dice.one(name, all).to_owned()
}

const WORDS: &str = "soup|garden|boiler|blue|kitchen|pasta|work|anna|lamp|travel|pump|book|car|egg|laundry|music";
const MOMENTS: &str = "tomorrow|on friday|at 7|tomorrow at 9|at 7 pm|next tuesday at 3|tonight|on 3 october|in 20 minutes|\
    in an hour|on monday morning|this evening|at noon|on saturday at half past ten|next week|on the 4th|in 3 days|at 17:30|\
    friday at 6 pm|tomorrow morning|on sunday at noon|in half an hour|on december 24th at 6 pm";
const DAYS: &str = "today|tomorrow|on friday|next week|this week|this weekend|on monday|next tuesday|on 3 october|this month|\
    on the 12th|the day after tomorrow|next month|on sunday";
const PEOPLE: &str = "anna|Ben|tom|Anna Berger|my mum|lena|Mr Huber|dad|maria|peter|Dr Wolf|julia|my sister|Tom Brandt|\
    the neighbour|grandma|lukas|Sarah|karin";
const ITEMS: &str = "milk|eggs and bread|toilet paper|two bottles of wine|apples|washing powder|coffee|butter|cheese and ham|\
    light bulbs|dog food|toothpaste|a birthday card|olive oil|six eggs|some bananas|batteries|flour and sugar|shampoo|\
    potatoes|orange juice|nappies|cat litter|tomatoes|yoghurt|onions";
const TASKS: &str = "call the bank|water the plants|pay the rent|book a flight|clean the oven|take out the bins|call mum|\
    buy stamps|write the report|fix the tap|send the invoice|feed the cat|check the oven|renew the passport|\
    pick up the kids|do the laundry|answer the letter from school|mow the lawn|walk the dog|call the plumber|\
    return the library books|iron the shirts|take my pills|turn off the stove|order firewood|paint the fence|\
    backup|file the taxes|defrost the chicken|the laundry|the pasta|email tom about the trip";
const EVENTS: &str = "dentist|lunch with anna|team meeting|yoga|parents evening|the concert|dinner with tom|haircut|\
    football practice|doctor's appointment|birthday party|piano lesson|job interview|the plumber|choir|the vet|\
    coffee with lena|school play|a meeting with the bank|wedding|trip to graz|car inspection";
const FACTS: &str = "the paint is ral 9010|the spare key is at anna's|we park on level 3|the router is behind the tv|\
    the filter is 20 by 30|the guest wifi is called sparrow|lena likes tulips|the meter reads 4711|the boiler needs 1.5 bar|\
    the door code changed|ideas for the garden|the recipe needs more salt|anna is allergic to nuts|tom lent us a drill|\
    the car takes 5w30|measurements of the kitchen|the wine from sunday was good|the plumber is called maier|\
    the school is closed on monday|size 43";
const TOPICS: &str = "the boiler|anna|the car insurance|the garden|soup|the holiday|wifi|the paint in the hall|tyres|\
    the plumber|the party|the kitchen|travel|recipes|the contract|birthday presents|the router|the school|bread|the roof";
const SITES: &str = "the soup recipe|the news site|cat videos|rust documentation|the bus timetable|the weather page|recipes|\
    that article|the shop";
const THINGS: &str = "lunch|a train ticket|new shoes|groceries|petrol|the electricity bill|coffee|a birthday present|\
    the cinema|a taxi|a haircut|books|parking|pizza|the vet|a plant|wine|the gym|bread|a phone case";
const GOALS: &str = "learn spanish|run a marathon|save for a house|read 20 books|lose 5 kilos|learn the piano|\
    renovate the kitchen|write a book|stop smoking|get fit|plan the wedding|build a shed|buy running shoes|clear the cellar";
const PLACES: &str =
    "graz|the office|12 main street|vienna|the town hall|acme|room 4|anna's place|siemens|the old mill";

/// What people begin with before they come to what they want; any intent may follow.
pub(super) const FILLERS: &str = "could we|can we|i want to|i would like to|i need to|let us|can i|would you mind|i think i|\
    maybe|how about|please do|we should|go and|now|next|also|and|hey listen|i was going to ask you to|would you be able to|\
    any chance you could|do me a favour and|you can|i'd love you to|be a dear and|when you have a moment";
