//! Groups whose families are not built yet, and names under which lists gather tools of other groups. A family that defines
//! one of these ids takes its place: delete its row here then.

use tool::{Start, ToolGroup};

pub(super) fn groups() -> Vec<ToolGroup> {
    let group = |id, name, about| ToolGroup::new(id, about).name(name);
    let gathers = |id, name, about| group(id, name, about).start(Start::Gathers);
    vec![
        group("filesystem", "Files", "Files and folders of the workspace."),
        group("codeExecution", "Code", "Run programs in the sandbox.").start(Start::Off),
        group("webFetch", "Web", "Search the web and fetch from it."),
        group("email", "Email", "Send and read mail.").start(Start::With(&["email", "smtp", "imap"])),
        group("weather", "Weather", "The weather now and to come."),
        group("git", "Git", "Versions of files.").needs(&["filesystem"]),
        group("image", "Images", "Look at images and make them.")
            .start(Start::With(&["openai", "gemini", "openrouter", "dashscope", "minimax"]))
            .needs(&["filesystem"]),
        group("audio", "Audio", "Speech to text, text to speech, sounds.")
            .start(Start::With(&["openai", "elevenlabs", "minimax"]))
            .needs(&["filesystem"]),
        group("pdf", "PDF", "Read and make PDF files.").start(Start::Off).needs(&["filesystem"]),
        group("translation", "Translation", "From one language to another.").start(Start::With(&[
            "translation",
            "deepl",
            "libretranslate",
        ])),
        group("vectorSearch", "Meaning", "Texts compared and found by what they mean."),
        group("dataExtraction", "Data extraction", "Tables, names and summaries out of text.").start(Start::With(&[
            "openai",
            "anthropic",
            "gemini",
            "openrouter",
        ])),
        group("memoryDocs", "Memory documents", "Documents Hob keeps to look things up in."),
        group("sessions", "Sessions", "Other conversations, and runs beside this one."),
        group("knowledge", "Knowledge", "What is known about whom, and which skills there are."),
        group("messaging", "Messages", "Messages to channels."),
        group("teams", "Teams", "Agents that work together."),
        group("skills", "Skills", "Use skills, and publish them."),
        gathers("fs", "Files by the names of GoClaw", "Read, write, list, edit and search files."),
        gathers("runtime", "Commands", "Run commands."),
        gathers("web", "Web search and pages", "Search the web and fetch pages."),
        gathers("automation", "Automation", "Schedules and the time."),
        gathers("delegation", "Delegation", "Nothing: teams took its place."),
        gathers("media_gen", "Making media", "Make images, sounds and films."),
        gathers("media_read", "Reading media", "Look at images, films and documents, and listen."),
        gathers("goclaw", "All of GoClaw", "Every tool by the names of GoClaw.").with(&[
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
