//! What Hob cannot do, by topic: calls, music, shops, news. It says so, and what it can do instead; nothing is done. Of what its
//! tools can do it says how to ask for it, or that they are off.

use super::pattern;
use crate::sentence::Sentence;

/// A topic: what is said about it, the sentences it has, and words with which they mean something else.
struct Topic {
    say: &'static str,
    patterns: &'static [&'static str],
    unless: &'static [&'static str],
    /// Second words with which it is something else: "text for the card".
    second: &'static [&'static str],
    /// A tool, and what is said where it is there.
    able: Option<(&'static str, &'static str)>,
}

/// Words of what Hob does keep: "remind me to text Tom" is a reminder, "what did I note about the weather" a note.
pub(crate) const OURS: &[&str] = &[
    "remind",
    "reminder",
    "reminders",
    "list",
    "lists",
    "note",
    "notes",
    "noted",
    "task",
    "tasks",
    "todo",
    "calendar",
    "diary",
    "timer",
    "timers",
    "alarm",
    "wake",
    "remember",
    "forget",
    "goal",
    "goals",
    "bookmark",
    "bookmarks",
    "contact",
    "contacts",
    "schedule",
    "scheduled",
    "expense",
    "expenses",
    "spent",
    "spend",
    "told",
    "table",
    "log",
    "undo",
    "trigger",
    "pin",
    "add",
    "delete",
    "said",
    "wrote",
    "memory",
    "whenever",
    "shopping",
    "saved",
    "search",
];

const TOPICS: &[Topic] = &[
    Topic {
        say: "I cannot make phone calls. I can look up a number (“what's Ben's number?”) or remind you to ring: “remind me \
              at 5 to call Ben”.",
        patterns: &[
            "ring|phone|dial|facetime|skype|buzz _ _",
            "call mum|mom|dad|grandma|granny|nan|grandad|him|her|them|my|the|our|a|an|999|911|112|dr|doctor|somebody|someone _",
            "get _ on the blower|phone|line|dog _",
            "get _ on the blower|phone|line",
            "give _ a ring|call|bell|tinkle|buzz|shout _",
            "put me through to _",
            "connect me to|with _",
            "make a|the phone? call _",
            "video call _",
        ],
        unless: &["number", "number's", "numbers"],
        second: &[
            "it", "off", "this", "is", "are", "was", "were", "size", "sizes", "binder", "road", "for", "of", "about",
        ],
        able: None,
    },
    Topic {
        say: "I cannot send messages. Mail I can send once an admin has added an account under Services, “Mail: sending”. \
              I can remind \
              you to do it: “remind me at 5 to text Tom”.",
        patterns: &[
            "text|txt|whatsapp|sms _ _",
            "message|msg|dm mum|mom|dad|him|her|them|my|the|our _",
            "email|mail|e-mail|fax _ _",
            "send _ text|texts|email|emails|mail|whatsapp|sms|message|card|fax|letter|parcel|flowers|money|photo|photos|pic|pics _",
            "drop _ a line|text|message|email _",
            "reply to _ email|text|message|mail _",
            "forward _ to _",
            "read _ my? emails|email|mail|inbox|texts _",
            "check _ emails|email|inbox|mail|texts|whatsapp|voicemail _",
            "any new|unread? emails|mail|texts|messages|voicemails _",
            "post _ on|to facebook|instagram|twitter|x|whatsapp|tiktok _",
            "tweet _",
        ],
        unless: &["uppercase", "capitals", "backwards", "notice", "notices"],
        second: &["is", "are", "was", "for", "of", "from", "in", "into", "address", "about", "to", "on"],
        able: Some((
            "send_email",
            "I can mail somebody in the contacts a list or a sentence: “mail Anna the shopping list”, “email Tom that I \
             am late”. Other messages I cannot send.",
        )),
    },
    Topic {
        say: "I cannot play music, radio or television: there is nothing here that plays. I can set timers, keep lists and \
              remind you.",
        patterns: &[
            "_ shuffle _ playlist|songs|music _",
            "_ put|stick|pop|whack|turn|switch|bung|have|get|stream _ radio|music|tunes|song|songs|album|playlist|podcast|telly|tv|television|netflix|spotify|iplayer|youtube|movie|film|audiobook _",
            "put|stick|pop|turn|switch _ rugby|football|match|cricket|news|snooker|archers|grand|cartoons|bbc|cbeebies on|over _",
            "put|stick on _ music|jazz|tunes|record|song|album|radio|film|movie _",
            "put|stick on|some _ for her|him|us|me|them",
            "put|stick on some _",
            "stream|shuffle _ _",
            "skip this|the|to? song|track|next _",
            "turn|switch the|that? volume|sound|music|telly|tv|radio _",
            "volume up|down _",
            "sing _",
        ],
        unless: &["at"],
        second: &[],
        able: None,
    },
    Topic {
        say: "I cannot play anything: there is no music, radio or television here. I can set timers, keep lists and \
              remind you.",
        patterns: &["play _ _"],
        unless: &["date", "dates", "with", "tomorrow", "at", "tennis", "cards", "saturday", "sunday"],
        second: &[],
        able: None,
    },
    Topic {
        say: "I cannot buy or book anything. I can put it on a list: “add milk to the shopping list”.",
        patterns: &[
            "order|reorder|preorder _ _",
            "buy _ online|amazon|ebay|tickets|shares|bitcoin _",
            "get|buy|grab _ off|from amazon|ebay|ocado|deliveroo|uber|tesco.com _",
            "book|get|call|order|hail me|us? a|an|the? uber|taxi|cab|minicab|flight|flights|hotel|airbnb _",
            "book me|us? a|the? table|train|seat|room|ticket|tickets _",
            "_ deliveroo|doordash|ubereats _",
            "pay _ bill for me|us",
            "pay my|the|our _",
            "transfer _ to _ account _",
            "track|trace my|our|the|that|a _ parcel|package|delivery|order _",
            "where is my|our|the parcel|package|delivery|amazon _",
            "_ my|our parcel|package arrive|arriving|coming|out _",
        ],
        unless: &["by", "number", "numbers", "was", "came", "service"],
        second: &[],
        able: Some((
            "search_web",
            "I cannot buy or book anything. I can put it on a list, “add milk to the shopping list”, or look on the web: \
             “search the web for flights to Rome”.",
        )),
    },
    Topic {
        say: "I cannot search the web: its tools are off. An admin can switch them on under Tools.",
        patterns: &[
            "google _ _",
            "bing|duckduckgo|wikipedia _ _",
            "search the web|internet|net|online _",
            "search|look _ on|online|internet the? web|net|internet|online|google|wikipedia|youtube|site _",
            "look _ up _ online|web|internet|site|website|wikipedia|google _",
            "look _ up _ online|web|internet|site|website|wikipedia|google",
            "look up _ site|website|online|web|internet|wikipedia _",
            "check the|on? website|web|internet|online|news|wikipedia _",
            "ask the|some|your? other computers|internet|web|google|alexa|siri|chatgpt _",
            "can not you ask|google|look|check|go _",
            "ask another|other|the computers|computer|ai _",
            "go online _",
            "open _ website|youtube|netflix|facebook|google|browser _",
            "download _ _",
        ],
        unless: &["password", "login", "account"],
        second: &[],
        able: Some((
            "search_web",
            "Say it like “search the web for garden sheds”, or “what does this page say: example.org”.",
        )),
    },
    Topic {
        say: "I cannot tell the weather: its tools are off. An admin can switch them on under Tools.",
        patterns: &[
            "_ weather|forecast _",
            "is|will|would|does|do|what|how|think|should|any|when|are|has|did _ rain|raining|rains|snow|snowing|sunny|frost|frosty|icy|windy|hail|thunder|storm|storms|stormy|drizzle|foggy|humid|sleet|downpour|pour _",
            "do|should|will|is _ umbrella|brolly|wellies|raincoat|sunscreen|suncream _",
            "_ stay|stays|staying|be dry|fine|sunny|wet|nice|cloudy|clear|mild|warm outside|out|long|today|tomorrow|tonight|saturday|sunday|enough|this|for? _",
            "_ gonna|going|be|stay to? stay|be? dry _",
            "how hot|cold|warm|wet|windy is|will it|outside be? outside|today|tomorrow|out|tonight|there _",
            "is it hot|cold|warm|wet|dry|nice|bright|grey|freezing outside|out|today|there _",
            "what _ temperature outside|out|tomorrow|today|tonight _",
            "rain|snow today|tomorrow|tonight|later|this|at|on|sat|sun|saturday|sunday|monday _",
        ],
        unless: &["greenhouse", "rainfall", "gauge", "remembered"],
        second: &[],
        able: Some((WEATHER, "")),
    },
    Topic {
        say: "I know nothing of traffic, trains, buses or flights. I can remind you when to leave.",
        patterns: &[
            "_ traffic _",
            "_ train|bus|tram|ferry|flight|tube times|timetable|timetables _",
            "_ next|last|best|first|earliest|cheapest train|bus|tram|flight|flights|ferry|tube|trains to|from|home|into|in _",
            "when|what|which|is|are|how|does _ train|trains|bus|buses|flight|flights|tube|tram|ferry running|late|delayed|on|cancelled|land|lands _",
            "is|are|how|hows _ northern|central|victoria|district|jubilee|circle|metropolitan|elizabeth line _",
            "is|how|any|are _ m1|m2|m3|m4|m5|m6|m11|m25|m40|m60|m62|a1|a2|a3|a12|a14|a19|a40|a64|a66|motorway|bypass|ring looking|blocked|closed|open|clear|busy|moving|jammed|like|road|queues|doing|today|this|now|jam? _",
            "how is|are|bad|long the? m1|m2|m3|m4|m5|m6|m25|a1|a12|a14|a64 _",
            "cheapest|cheap flights|flight|trains _",
            "how do i get|drive|walk to _",
            "directions|navigate to _",
            "how far|long is|does it? take? _ to drive|walk|get _",
        ],
        unless: &["my", "goal"],
        second: &[],
        able: Some((
            "search_web",
            "I know nothing of traffic, trains, buses or flights. I can look on the web: “search the web for trains to Leeds”.",
        )),
    },
    Topic {
        say: "I have no news, no sports results and no prices of shares.",
        patterns: &[
            "_ headlines|headline _",
            "what|any|tell|read|give|is|did _ in|the|any|on news _",
            "news",
            "who won|scored|lost|wins|is _ match|game|cup|league|final|election|race|prix|derby|challenge|title|winning|bake|open|ashes|football|rugby|cricket _",
            "who won|scored the? _",
            "what|was|is _ the|final score|scores _",
            "did|have|has _ win|won|lose|lost|draw|beat last|the|today|yesterday|on|at|against|again|their _",
            "did|have|has _ win|won|lose|lost|draw",
            "how did _ get|do on|in|against _ last|yesterday|today|at|match _",
            "_ ftse|nasdaq|dow|bitcoin|nikkei|crypto _",
            "_ share|stock price|prices|market|markets _",
            "did anything _ happen _",
            "what is happening|going in|on the|in? world _",
            "what is|was on the? _ telly|tv|television|bbc|itv|netflix|iplayer _",
            "what time|channel is _ on telly|tv|television|bbc|itv _",
        ],
        unless: &["goal", "we", "beer", "beers"],
        second: &[],
        able: Some((
            "search_web",
            "I have no news of my own, and no results or prices. I can look on the web: “search the web for the news from \
             Graz”.",
        )),
    },
    Topic {
        say: "I cannot translate yet: an admin can enter a key of DeepL or a LibreTranslate server under Services, or \
              choose a model.",
        patterns: &[
            "translate|translation _",
            "how do|would|does|can you|i|we|one say|write|pronounce|spell _ in french|german|spanish|italian|polish|portuguese|portugese|welsh|dutch|greek|latin|russian|urdu|hindi|punjabi|arabic|chinese|mandarin|japanese|turkish|romanian|irish|gaelic|swedish|ukrainian|tagalog|bengali|yoruba|swahili|hebrew|korean|czech|hungarian _",
            "how do|would|does|can you|i|we|one say|write|pronounce|spell _ in french|german|spanish|italian|polish|portuguese|portugese|welsh|dutch|greek|latin|russian|urdu|hindi|punjabi|arabic|chinese|mandarin|japanese|turkish|romanian|irish|gaelic|swedish|ukrainian|tagalog|bengali|yoruba|swahili|hebrew|korean|czech|hungarian",
            "_ what is|was the? french|german|spanish|italian|polish|portuguese|portugese|welsh|dutch|greek|latin|russian|urdu|hindi|punjabi|arabic|chinese|mandarin|japanese|turkish|romanian|irish|gaelic|swedish|ukrainian for|word _",
            "say|what is _ in french|german|spanish|italian|polish|portuguese|portugese|welsh|dutch|greek|latin|russian|urdu|hindi|arabic|chinese|japanese|turkish",
            "do you speak _",
        ],
        unless: &[],
        second: &[],
        able: Some(("translate_text", "Say it like “translate good morning into German”.")),
    },
    Topic {
        say: "I am no good at jokes or stories, I am sorry. I can flip a coin, roll dice, or keep your lists for you.",
        patterns: &[
            "_ joke|jokes|riddle|riddles|limerick|knock|banter _",
            "_ tell|say me|us something|summat funny|interesting|nice|cheerful|silly _",
            "_ something funny _",
            "make me|us|her|him laugh|smile _",
            "tell me|us a|another|the? bedtime|short|scary? story|stories|fact|tale _",
            "cheer me|us|her|him up _",
            "entertain me|us _",
            "lets? let? us? play a? game|quiz|trivia|chess|hangman _",
            "ask me a? _ quiz|trivia|question|questions|riddle",
        ],
        unless: &[],
        second: &[],
        able: None,
    },
    Topic {
        say: "I cannot write texts of my own. Dictate it, and I keep it as a note: “note: the paint in the hall is RAL 9010”.",
        patterns: &[
            "write|draft|compose|knock|do|make|invent me|us|up? a|an|some|the|my|our|another|nice|little|short|us _ poem|verse|essay|blurb|speech|letter|story|song|rhyme|lyrics|caption|advert|ad|article|newsletter|report|review|email|toast|cv|post|paragraph|ode|eulogy|card _",
            "write|draft|compose _ poem|verse|essay|blurb|speech|letter|story|song|rhyme|lyrics|newsletter|email|toast|cv|eulogy|words|lines|sonnet|limerick|haiku _",
            "help me|us write _",
            "summarise|summarize|proofread|rewrite|rephrase|paraphrase _",
            "tldr _",
            "check my grammar|spelling _",
        ],
        unless: &["down"],
        second: &[],
        able: Some((
            "summarize_text",
            "I cannot write texts of my own. I can pick the main sentences of a page or a document: “summarize \
             example.org”, “summarize report.pdf”.",
        )),
    },
    Topic {
        say: "I cannot see pictures or paper. Tell me in words what it says, and I can keep it as a note.",
        patterns: &[
            "look at this|that|my|the photo|picture|pic|image|letter|rash|screenshot|form _",
            "what|who|where is in|on|this|that in? this|that|the photo|picture|pic|image|screenshot _",
            "read|scan|identify this|that|the|my letter|label|barcode|photo|picture|document|pdf|receipt|plant|bill _",
            "take a photo|picture|selfie _",
            "draw|paint|sketch me|us? a|an|the? _ picture|cat|dog|diagram|map|logo|dinosaur|unicorn|house|card|plan _",
            "draw me|us _",
            "show me|us a|the|some picture|pictures|photo|photos|video|map|camera of? _",
            "who is at the|my door",
        ],
        unless: &["reading", "readings", "meter"],
        second: &[],
        able: Some((
            "read_document",
            "I cannot see pictures or paper. A document in the files I can read: “read report.pdf”.",
        )),
    },
    Topic {
        say: "I have no exchange rates, so I cannot change one currency into another.",
        patterns: &[
            "_ pounds|quid|dollars|euros|euro|yen|bucks|zloty|francs|sterling|gbp|usd|eur|rupees|kronor in|to|into|is|as|worth how? many? in? pounds|quid|dollars|euros|euro|yen|bucks|zloty|francs|sterling|gbp|usd|eur|rupees|kronor|lira _",
            "how many|much pounds|quid|dollars|euros|yen|zloty|francs|sterling|gbp|usd|eur|rupees|lira? is|are|in|for|to|do _ pounds|quid|dollars|euros|euro|yen|bucks|zloty|francs|sterling|gbp|usd|eur|rupees",
            "what|how _ exchange rate _",
            "exchange rate _",
        ],
        unless: &[],
        second: &[],
        able: None,
    },
    Topic {
        say: "I do not know prices or what things sell for. I know only what you have noted yourself.",
        patterns: &[
            "_ how|what much|is|are|do _ going for _",
            "how much are|do they|people asking|charge|want|charging for _",
            "how much is|are|does|do a|an|the? _ cost|costs|these|nowadays days? _ now|these|nowadays|today days?",
            "how much is|are a|an|the? _ at|in the shops|supermarket|tesco|asda|aldi|lidl|sainsburys|moment|minute _",
            "how much is|are a|an|the? _ these|nowadays|atm|currently days? _",
            "what is|are the price|prices of _",
            "_ cheapest|best deal|deals|price on|for _",
        ],
        unless: &["did", "we", "i", "paid"],
        second: &[],
        able: Some((
            "search_web",
            "I do not know prices or what things sell for. I can look on the web: “search the web for the price of gold”.",
        )),
    },
    Topic {
        say: "I know no recipes. Tell me one, and I keep it as a note; what you need goes on the shopping list.",
        patterns: &[
            "what can|could|shall|should|to i|we? make|cook|bake with|for|from|out|tonight _",
            "what can|could|shall|should|to i|we? make|cook|bake _ with _",
            "recipe|recipes for _",
            "a|any recipe|recipes for|with _",
            "how do|long i|you|do cook|bake|roast|boil|fry|poach|grill i|you|a|an|the? _",
            "what is for tea|dinner|supper|lunch",
        ],
        unless: &["planned"],
        second: &[],
        able: None,
    },
    Topic {
        say: "I cannot give medical advice. Ask a doctor, a pharmacist or a health line; in an emergency ring the emergency \
              number.",
        patterns: &[
            "should|shall|can|could|is|may|would|does|do|how|what|will _ ibuprofen|paracetamol|calpol|aspirin|warfarin|antibiotics|nurofen|painkillers|dose|dosage|statins|codeine|antihistamine _ ",
            "should|shall|can|could|is|may|how|what|does|will _ ibuprofen|paracetamol|calpol|aspirin|warfarin|antibiotics|nurofen|painkillers|dose|dosage|statins|codeine|symptoms|symptom|rash|fever|contagious|infected|splints|sprained|concussion|pregnant _",
            "_ should i|we take|go|ring|see|bring|get him|her|them|to|a|in in|to|the|a|doctor|gp? doctor|hospital|a&e|in|gp|minor|er",
            "_ temp|temperature|fever|rash|swollen|poorly|vomiting|lump|pain|dizzy|sick _ should i|we|she|he _",
            "_ has|have|got a? temp|temperature|fever|rash of _ should|is|what _",
        ],
        unless: &[],
        second: &[],
        able: None,
    },
    Topic {
        say: "I am not connected to that, so I cannot switch, dim, heat or lock it. I can switch what is wired to the pins of \
              this box: “turn on pin 17”.",
        patterns: &[
            "dim|brighten _ _",
            "lock|unlock the|my|our|up? front|back|side|garage|car|patio|shed|house|main? door|doors|gate|car|house|windows|shed|up _",
            "is|are|did the|my|our|i front|back|side|garage|lock? door|doors|gate|car|windows locked|open|closed|shut|the? _",
            "_ hue|nest|hive|alexa|roomba|sonos|chromecast|philips _",
            "set|turn|put|switch _ heating|thermostat|aircon|radiators|oven to|up|down|on|off _",
            "turn|put|set|switch up|down the? heating|thermostat|aircon _",
            "set|turn|make|change _ light|lights|lamp|lamps|bulb|bulbs|lounge|room blue|red|green|purple|pink|warm|white|orange|yellow|dimmer|brighter _",
            "set|turn|make|change _ light|lights|lamp|lamps|bulb|bulbs|lounge|room blue|red|green|purple|pink|warm|white|orange|yellow|dimmer|brighter",
            "open|close|shut|draw the|my|our _ curtains|blinds|garage|gate|windows|window|shutters _",
            "hoover|vacuum|mop the|my|our? _",
            "connect|pair|sync to|with|my|the|up _ garmin|strava|fitbit|watch|phone|bluetooth|spotify|headphones|speaker|tv|printer|calendar _",
            "print _ _",
            "charge my|the _",
            "find my|the|her|his phone|keys|ipad|remote|glasses",
        ],
        unless: &["pin", "gpio", "code", "remembered"],
        second: &[],
        able: None,
    },
];

/// Things that pins switch: what is put on may be one of them.
const SWITCHED: &[&str] = &[
    "light",
    "lights",
    "lamp",
    "lamps",
    "heater",
    "heating",
    "fan",
    "pump",
    "plug",
    "kettle",
    "boiler",
    "oven",
    "relay",
    "immersion",
    "fire",
    "socket",
    "charger",
    "dehumidifier",
    "blanket",
    "water",
    "it",
    "them",
    "that",
    "this",
    "coat",
    "shoes",
    "weight",
];

/// The tool that answers what the topic of the weather asks, as far as it is understood.
const WEATHER: &str = "get_weather";

/// The reply to a sentence about something that Hob cannot do. `has` tells whether a tool is there.
pub(super) fn refusal(s: &Sentence, has: &dyn Fn(&str) -> bool) -> Option<&'static str> {
    let topic = topic(s)?;
    match topic.able.filter(|(tool, _)| has(tool)) {
        Some((_, say)) => (!say.is_empty()).then_some(say),
        None => Some(topic.say),
    }
}

/// Whether the weather is asked about.
pub(super) fn is_weather(s: &Sentence) -> bool {
    topic(s).is_some_and(|topic| topic.able.is_some_and(|(tool, _)| tool == WEATHER))
}

fn topic(s: &Sentence) -> Option<&'static Topic> {
    if s.mentions(OURS) || s.len() < 2 && s.word(0) != "news" {
        return None;
    }
    let tells = |topic: &&Topic| !s.mentions(topic.unless) && !topic.second.contains(&s.word(1));
    // "put bake off on".
    let puts =
        ["put", "stick", "whack", "pop", "bung"].contains(&s.word(0)) && s.word(s.len() - 1) == "on" && s.len() > 2;
    if puts && !s.mentions(SWITCHED) {
        return TOPICS.iter().find(|topic| topic.patterns.contains(&"play _ _"));
    }
    TOPICS.iter().find(|topic| pattern::any(s, topic.patterns) && tells(topic))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hob_cannot_do_is_refused_by_topic() {
        let mut wrong = vec![];
        for (text, begins) in [
            ("do i need to put the kids in wellies today", "I cannot tell the weather"),
            ("will it rain sat", "I cannot tell the weather"),
            ("is it going to stay dry long enough for me to peg two sheets out", "I cannot tell the weather"),
            ("play some cbeebies in the kitchen", "I cannot play"),
            ("stick radio two on", "I cannot play"),
            ("put the rugby on the telly in the mess room", "I cannot play"),
            ("Put on some Perry Como for her would you, she's agitated", "I cannot play"),
            ("ring Jean for me would you", "I cannot make phone calls"),
            ("get dave on the blower for me", "I cannot make phone calls"),
            ("text tom im running 10 late", "I cannot send"),
            ("send a text to ellie she's late again", "I cannot send"),
            ("email the landlord the mould pics by 5", "I cannot send"),
            ("order 2 more packs of the tena pads from amazon", "I cannot buy"),
            ("track my jlcpcb parcel", "I cannot buy"),
            ("is the northern line screwed again", "I know nothing of traffic"),
            ("hows traffic on the A12 rn", "I know nothing of traffic"),
            ("hows the m5 looking", "I know nothing of traffic"),
            ("whats the best train to leeds sat morning", "I know nothing of traffic"),
            ("tell us a joke isla's crying", "I am no good at jokes"),
            ("how do I say happy birthday in portugese", "I cannot translate"),
            ("our polish lad what's polish for mind your fingers", "I cannot translate"),
            ("who won the arsenal game", "I have no news"),
            ("did City win last night", "I have no news"),
            ("Would you read me the headlines while I have my tea", "I have no news"),
            ("dim the living room lights to 30%", "I am not connected"),
            ("Set the nest to 20", "I am not connected"),
            ("lock the front door for me, I'm all the way up in bed", "I am not connected"),
            ("Turn the Hue lamp in the kitchen blue", "I am not connected"),
            ("google why my stm32 wont enumerate on usb", "I cannot search the web"),
            ("write me a nice little blurb about this sideboard", "I cannot write"),
            ("write my foucault essay, 2500 words", "I cannot write"),
            ("look at this photo and tell me if it's a cold joint", "I cannot see"),
            ("hundred quid in euros roughly for the hinge invoice", "I have no exchange rates"),
            ("how much are carbon plate shoes going for atm", "I do not know prices"),
            ("email the school isla's poorly and won't be in", "I cannot send"),
            ("ring the surgery for me love, me hands are muddy", "I cannot make phone calls"),
            ("put bake off on", "I cannot play"),
            ("can't you ask the other computers", "I cannot search the web"),
            ("what can i make with half a cauliflower and some feta", "I know no recipes"),
            ("ezra's got a temp of 38.9 should i take him in", "I cannot give medical advice"),
            ("should Edie be taking ibuprofen with her warfarin?", "I cannot give medical advice"),
        ] {
            let said = refusal(&Sentence::read(text), &|_| false);
            if !said.is_some_and(|said| said.starts_with(begins)) {
                wrong.push(format!("{text}: {said:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn where_a_tool_is_there_it_is_said_how_to_ask() {
        let all = |_: &str| true;
        for (text, says) in [
            ("email the landlord the mould pics by 5", "mail Anna the shopping list"),
            ("look up reg of care agency on cqc site", "search the web for"),
            ("translate it for the nurse", "translate good morning"),
            ("hows traffic on the A12 rn", "search the web for trains"),
            ("read the headlines", "search the web for the news"),
        ] {
            let s = Sentence::read(text);
            let (with, without) = (refusal(&s, &all).unwrap(), refusal(&s, &|_| false).unwrap());
            assert!(with.contains(says) && with != without, "{text}: {with}");
        }
        assert!(is_weather(&Sentence::read("will it stay dry for the fete on saturday")));
        assert!(!is_weather(&Sentence::read("play some jazz")));
    }

    #[test]
    fn what_hob_keeps_is_not_refused() {
        let mut wrong = vec![];
        for text in [
            "remind me to text Tom at 5",
            "add play dough to the shopping list",
            "call it pasta",
            "call off the dentist",
            "play date with Leo on friday at 3",
            "what did I note about the weather",
            "buy milk",
            "what is the order number",
            "turn on the kitchen light",
            "who is on washing up",
            "how much did we spend on the train",
            "where is the spare key",
            "order of service: hymn, reading, hymn",
            "email for Ben is ben@example.com",
            "5 pounds in kilos",
            "is the meeting on friday",
            "what time is the train to leeds in my calendar",
            "lock code is 4711",
            "put the hall light on",
            "text for the card: happy birthday",
        ] {
            if let Some(said) = refusal(&Sentence::read(text), &|_| true) {
                wrong.push(format!("{text}: {said:?}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}
