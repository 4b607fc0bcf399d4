//! Questions about the box itself: how warm it is, its disk, memory, running time, version and address.

use super::{Reading, pattern};
use crate::sentence::Sentence;
use serde_json::json;

pub(super) fn read(s: &Sentence) -> Option<Reading> {
    const OTHERS: &[&str] = &[
        "remind",
        "list",
        "add",
        "note",
        "timer",
        "oven",
        "outside",
        "weather",
        "greenhouse",
        "table",
        "remember",
        "bible",
        "log",
    ];
    if let Some(reading) = household(s) {
        return Some(reading);
    }
    if s.mentions(OTHERS) || s.len() > 24 {
        return None;
    }
    let abouts: Vec<&str> =
        ABOUTS.iter().filter(|(_, patterns)| pattern::any(s, patterns)).map(|(about, _)| *about).collect();
    (!abouts.is_empty()).then(|| Reading::Call("system_info", json!({"about": abouts})))
}

/// "who lives here", "who've you got down as living in this house", "add Kieran to who's here".
fn household(s: &Sentence) -> Option<Reading> {
    let who = pattern::any(
        s,
        &[
            "_ who lives|live here _",
            "_ who lives|live|is in|at this|the|our house|household|flat|home|family _",
            "who do|have you know|got|have down? as? living? in|at|here this|the|our? house|household|flat|home|family? _",
            "who do|have you know|got|have _ living _",
            "who all? lives|live here|in this|our|the? house|flat|home? _",
            "who do you know here|in _",
            "list|show|name the|all? people|members|residents in|of|here _",
            "how many people live|are here|in this|our|the? house|here|flat|home|household? now?",
        ],
    );
    if who && !s.mentions(&["next", "door", "number", "paris", "london", "birthday", "contact", "contacts"]) {
        return Some(Reading::Call("list_people", json!({})));
    }
    let adds = pattern::any(
        s,
        &[
            "_ add _ to the|our|this|who house|household|home|family|flat|is _",
            "_ lives here too|now|as _",
            "_ lives here too|now",
            "_ moved in add _",
            "i am _ i will be using|use this|you|hob _",
            "_ new person|member|user _",
        ],
    );
    adds.then(|| {
        Reading::Say(
            "Everybody in the household has an account here, and I cannot make one from what is said: the owner adds people \
             on the page, under Device, People."
                .to_owned(),
        )
    })
}

const ABOUTS: &[(&str, &[&str])] = &[
    (
        "temperature",
        &[
            "_ you|your|ur overheating|overheated|boiling|roasting _",
            "_ are|r you|u _ warm|hot|cool|cold|overheating _",
            "_ are|r you|u _ warm|hot|overheating",
            "_ you feel|feeling|running|are|look ever? so? too|a|bit|very? warm|hot|toasty _",
            "_ you|your|ur running|feeling|getting so|too|very? hot|warm _",
            "_ your cpu|processor|chip|core|box|board _ at|temperature|temp|hot|warm _",
            "what|how|is _ the cpu|processor|chip|core|box|pi _ temperature|temp|hot|warm _",
            "cpu|core|chip|processor temp|temperature _",
            "your|ur temperature|temp _",
            "what temperature|temp are you|u _",
        ],
    ),
    (
        "disk",
        &[
            "_ free|much|enough|any disk|storage _",
            "_ disk|storage space|left|free|full|usage|used _",
            "_ how full is|are your|the|you|ur disk|card|storage|drive _",
            "_ how full is|are you|your",
            "_ space|room left|free|remaining in|on|there|do|have|you|and? _",
            "_ space|room do you have left? _",
            "_ have|got you|any|enough|much room|space _",
            "df _",
            "_ sd? card full|left|space _",
            "_ free disk",
        ],
    ),
    ("memory", &["_ free memory|ram _", "_ memory|ram usage|free|left|used|use _", "_ memory|ram do|are|have you _"]),
    (
        "uptime",
        &[
            "_ uptime _",
            "_ long have|has you|u|it|hob _ up|on|running|awake|going _",
            "_ long have|has you|u|it|hob been up|on|running|awake|going",
            "_ long you|u been _",
            "when were|was|did you|u|hob last? _ switched|turned|restart|reboot|restarted|rebooted|off|on|start|started|boot _",
            "when were|was|did you|u|hob last switched|turned|restart|reboot|restarted|rebooted|start|started|boot _",
            "did you|u restart|reboot|go|crash|lose _",
        ],
    ),
    (
        "version",
        &[
            "version",
            "_ what|which software? version|build|release|firmware are|is|do|of? you|this|hob|it|that|u _",
            "_ your|ur|hob|hob's version _",
            "are you up to date _",
            "version number _",
        ],
    ),
    (
        "address",
        &[
            "ip",
            "ip address|addr _",
            "_ your|ur|hob|hob's|the|this|box|local|box's ip|hostname _",
            "_ your network|web|local|lan? address _",
            "_ what|which address do|does|should|can|is i|we|to type|use|put|enter|go|open|reach _",
            "_ what|which address do|should|can i|we type|use|put|enter|go|open|reach _ you|your|hob|box _",
            "_ what|which ip _",
            "how do i|we reach|open|find you|hob|your page on|from|in _",
            "what is my|our|the|hobs? ip address? _",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_box_is_asked_about() {
        let mut wrong = vec![];
        for (text, wanted) in [
            ("r u overheating? ur warm", json!(["temperature"])),
            ("Have you got room left in there", json!(["disk"])),
            ("when were you last switched off the lights flickered in the night", json!(["uptime"])),
            ("whats ur ip need it for the other phone", json!(["address"])),
            ("version?", json!(["version"])),
            ("you feeling warm in that cupboard whats your cpu at", json!(["temperature"])),
            ("df -h equivalent? how full is your card", json!(["disk"])),
            ("how long have you been up since the power cut", json!(["uptime"])),
            ("which build are you on", json!(["version"])),
            ("ip?", json!(["address"])),
            ("you feel ever so warm on top there, are you quite well", json!(["temperature"])),
            ("uptime + free disk", json!(["disk", "uptime"])),
            ("Which version is this thing running? the nephew wants me to read it out", json!(["version"])),
            ("how long u been on for", json!(["uptime"])),
            ("cool n how much space left", json!(["disk"])),
            ("what address do I type on my laptop to get to you", json!(["address"])),
            ("u ok hun? ur running hot", json!(["temperature"])),
        ] {
            let Some(Reading::Call(_, arguments)) = read(&Sentence::read(text)) else {
                wrong.push(text.to_owned());
                continue;
            };
            if arguments["about"] != wanted {
                wrong.push(format!("{text}: {:?}", arguments["about"]));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
        let people = Some(Reading::Call("list_people", json!({})));
        for text in [
            "who've you got down as living in this house",
            "who lives here",
            "who do you know in this house",
            "who lives in this flat according to u",
        ] {
            assert_eq!(read(&Sentence::read(text)), people, "{text}");
        }
        for text in [
            "zosias moved in add her to the house",
            "ezra lives here too he's 9",
            "I'm Graham, the nephew, I'll be using this too",
        ] {
            assert!(matches!(read(&Sentence::read(text)), Some(Reading::Say(_))), "{text}");
        }
        for text in [
            "what is Anna's address",
            "is the oven warm",
            "is there room on friday",
            "are you free on friday",
            "how long have you been married",
            "the board is hot",
            "how full is the water tank",
            "which version of windows do we have",
            "how much memory does my new phone have",
        ] {
            assert_eq!(read(&Sentence::read(text)), None, "{text}");
        }
    }
}
