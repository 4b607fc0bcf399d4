//! Groups whose families are not built yet, and names under which lists gather tools of other groups. A family that defines
//! one of these ids takes its place: delete its row here then.

use tool::{Start, ToolGroup};

pub(super) fn groups() -> Vec<ToolGroup> {
    let group = |id, name, about| ToolGroup::new(id, about).name(name);
    let gathers = |id, name, about| group(id, name, about).start(Start::Gathers);
    vec![
        group("sessions", "Sessions", "Other conversations and runs."),
        group("messaging", "Messages", "Messages to channels."),
        group("teams", "Teams", "Agents that work together."),
        gathers("fs", "Working with files", "Read, write, list, edit and search files."),
        gathers("web", "Web search and pages", "Search the web and fetch pages."),
        gathers("automation", "Automation", "Schedules and the time."),
        gathers("delegation", "Delegation", "Work handed to other agents: see teams."),
        gathers("media_gen", "Making media", "Create images, sounds and videos."),
        gathers("media_read", "Reading media", "Read images, videos, audio and documents."),
        gathers(
            "goclaw",
            "Agent tools",
            "The tools of an agent that works by itself: files, commands, the web, messages.",
        )
        .with(&[
            "fs",
            "runtime",
            "web",
            "memoryDocs",
            "sessions",
            "knowledge",
            "automation",
            "messaging",
            "delegation",
            "teams",
            "media_gen",
            "media_read",
            "skills",
        ]),
    ]
}
