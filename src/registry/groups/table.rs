//! The groups that are known beforehand, and the other names tools are listed under: data, and nothing else.

/// Whether a group is on as long as nobody switches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Start {
    /// On, and it cannot be turned off.
    Always,
    On,
    Off,
    /// On when one of these services is set up.
    With(&'static [&'static str]),
    /// It only gathers tools of other groups under a name for lists; those groups switch them.
    Gathers,
}

/// A group.
#[derive(Debug)]
pub(super) struct Row {
    pub id: &'static str,
    pub name: &'static str,
    pub about: &'static str,
    pub start: Start,
    /// Groups that have to be on too.
    pub needs: &'static [&'static str],
    /// Its tools, by any of their names; they need not exist.
    pub tools: &'static [&'static str],
    /// Groups whose tools it means too where it stands in a list.
    pub with: &'static [&'static str],
}

const fn group(id: &'static str, name: &'static str, about: &'static str, tools: &'static [&'static str]) -> Row {
    Row { id, name, about, start: Start::On, needs: &[], tools, with: &[] }
}

impl Row {
    const fn start(self, start: Start) -> Self {
        Self { start, ..self }
    }
    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }
    const fn with(self, with: &'static [&'static str]) -> Self {
        Self { with, ..self }
    }
}

/// In the order they are shown. A tool is switched by every group here that lists it and is no `Gathers`; see
/// [`super::state_of`]. The first of them is the group it is listed with.
pub(super) const GROUPS: &[Row] = &[
    group(
        "system",
        "System",
        "Find, understand and call any tool.",
        &["search_tools", "get_tool_help", "use_tool", "batch_use_tool"],
    )
    .start(Start::Always),
    group(
        "core",
        "Essentials",
        "What time it is, arithmetic, ids.",
        &["get_current_time", "calculate", "generate_uuid"],
    ),
    group(
        "filesystem",
        "Files",
        "Files and folders of the workspace.",
        &[
            "create_folder",
            "write_file",
            "read_file",
            "list_files",
            "delete_file",
            "move_file",
            "copy_file",
            "edit_file",
            "file_info",
            "search_files",
            "glob",
            "download_file",
        ],
    ),
    group(
        "tasks",
        "Tasks",
        "What is to be done.",
        &["add_task", "batch_add_tasks", "list_tasks", "complete_task", "update_task", "delete_task"],
    ),
    group(
        "bookmarks",
        "Bookmarks",
        "Addresses worth keeping.",
        &["add_bookmark", "batch_add_bookmarks", "list_bookmarks", "update_bookmark", "delete_bookmark"],
    ),
    group(
        "notes",
        "Notes",
        "Texts worth keeping.",
        &["add_note", "batch_add_notes", "list_notes", "get_note", "update_note", "delete_note"],
    ),
    group(
        "calendar",
        "Calendar",
        "Appointments and events.",
        &[
            "add_calendar_event",
            "batch_add_calendar_events",
            "list_calendar_events",
            "update_calendar_event",
            "delete_calendar_event",
        ],
    ),
    group(
        "contacts",
        "Contacts",
        "People and how to reach them.",
        &["add_contact", "batch_add_contacts", "list_contacts", "update_contact", "delete_contact"],
    ),
    group(
        "customData",
        "Tables",
        "Tables of your own making.",
        &[
            "list_custom_tables",
            "describe_custom_table",
            "create_custom_table",
            "update_custom_table",
            "delete_custom_table",
            "add_custom_record",
            "batch_add_custom_records",
            "list_custom_records",
            "search_custom_records",
            "get_custom_record",
            "update_custom_record",
            "delete_custom_record",
        ],
    ),
    group(
        "memory",
        "Memory",
        "What Hob remembers across conversations.",
        &["remember", "batch_remember", "recall", "forget", "list_memories", "boost_memory", "memory_stats"],
    )
    .with(&["memoryDocs"]),
    group(
        "goals",
        "Goals",
        "What you work toward, step by step.",
        &[
            "create_goal",
            "list_goals",
            "update_goal",
            "decompose_goal",
            "get_next_actions",
            "complete_step",
            "get_goal_details",
            "goal_stats",
            "update_step",
            "delete_step",
            "delete_goal",
        ],
    ),
    group(
        "finance",
        "Money",
        "What was spent, on what and when.",
        &[
            "add_expense",
            "batch_add_expenses",
            "query_expenses",
            "expense_summary",
            "export_expenses",
            "update_expense",
            "delete_expense",
            "parse_receipt",
        ],
    ),
    group(
        "scheduler",
        "Schedules",
        "Run something at a time, once or repeatedly.",
        &[
            "create_scheduled_task",
            "list_scheduled_tasks",
            "update_scheduled_task",
            "delete_scheduled_task",
            "get_task_history",
            "trigger_task",
            "cron",
        ],
    ),
    group(
        "triggers",
        "Triggers",
        "Run something when something else happens.",
        &[
            "create_trigger",
            "list_triggers",
            "get_trigger",
            "update_trigger",
            "pause_trigger",
            "delete_trigger",
            "fire_trigger",
            "get_trigger_history",
        ],
    ),
    group(
        "notices",
        "Notices",
        "What Hob tells a person of its own accord: reminders, timers.",
        &["notify", "list_notices", "dismiss_notice"],
    ),
    group("prompts", "Prompts", "Have the agent do something without anybody there.", &["run_prompt"]),
    group(
        "state",
        "State",
        "What an agent keeps for itself, by key.",
        &["get_state", "set_state", "delete_state", "list_state_keys"],
    ),
    group(
        "customTools",
        "Tool making",
        "Write tools in JavaScript and manage them.",
        &["create_tool", "list_custom_tools", "delete_custom_tool", "toggle_custom_tool"],
    ),
    group(
        "textUtils",
        "Text",
        "Change, count, compare and search text.",
        &[
            "transform_text",
            "count_text",
            "compare_text",
            "regex",
            "extract_from_text",
            "format_json",
            "encode_decode",
            "hash_text",
            "validate",
        ],
    ),
    group("dateTime", "Dates", "Reckon with dates.", &["format_date", "date_diff", "add_to_date"]),
    group(
        "conversion",
        "Conversion",
        "Units and formats.",
        &["convert_units", "encode_decode", "format_json", "parse_csv", "generate_csv"],
    ),
    group(
        "generation",
        "Random things",
        "Random numbers, passwords and ids.",
        &["random_number", "generate_password", "generate_uuid"],
    ),
    group(
        "extraction",
        "Extraction",
        "Addresses and numbers out of text.",
        &["extract_urls", "extract_emails", "extract_numbers"],
    ),
    group(
        "validation",
        "Validation",
        "Whether a value is well-formed.",
        &["validate_email", "validate_url", "test_regex"],
    ),
    group("listOps", "Lists", "Sort lists, and lay them out.", &["sort_list", "deduplicate", "create_table"]),
    group(
        "mathStats",
        "Statistics",
        "Percentages, statistics and counts.",
        &["calculate_percentage", "calculate_statistics", "count_words"],
    ),
    group("utilities", "Utilities", "How the device is.", &["system_info"]),
    group("gpio", "Pins", "Look at and drive the header pins.", &["gpio_list", "gpio_read", "gpio_write"]),
    group("config", "Services", "The services people set up, and their keys.", &[]),
    group(
        "codeExecution",
        "Code",
        "Run programs in the sandbox.",
        &["execute_javascript", "execute_python", "execute_shell", "compile_code", "package_manager"],
    )
    .start(Start::Off),
    group(
        "webFetch",
        "Web",
        "Search the web and fetch from it.",
        &["http_request", "fetch_web_page", "search_web", "json_api"],
    ),
    group(
        "email",
        "Email",
        "Send and read mail.",
        &["send_email", "list_emails", "read_email", "delete_email", "search_emails", "reply_email"],
    )
    .start(Start::With(&["email", "smtp", "imap"])),
    group("weather", "Weather", "The weather now and to come.", &["get_weather", "get_weather_forecast"]),
    group(
        "git",
        "Git",
        "Versions of files.",
        &["git_status", "git_diff", "git_log", "git_commit", "git_add", "git_branch", "git_checkout"],
    )
    .needs(&["filesystem"]),
    group(
        "image",
        "Images",
        "Look at images and make them.",
        &["analyze_image", "generate_image", "edit_image", "image_variation", "resize_image"],
    )
    .start(Start::With(&["openai", "gemini", "openrouter", "dashscope", "minimax"]))
    .needs(&["filesystem"]),
    group(
        "audio",
        "Audio",
        "Speech to text, text to speech, sounds.",
        &["text_to_speech", "speech_to_text", "translate_audio", "audio_info", "split_audio", "create_audio"],
    )
    .start(Start::With(&["openai", "elevenlabs", "minimax"]))
    .needs(&["filesystem"]),
    group("pdf", "PDF", "Read and make PDF files.", &["read_pdf", "create_pdf", "pdf_info"])
        .start(Start::Off)
        .needs(&["filesystem"]),
    group(
        "translation",
        "Translation",
        "From one language to another.",
        &["translate_text", "detect_language", "list_languages", "batch_translate"],
    )
    .start(Start::With(&["translation", "deepl", "libretranslate"])),
    group(
        "vectorSearch",
        "Meaning",
        "Texts compared and found by what they mean.",
        &[
            "create_embedding",
            "semantic_search",
            "upsert_vectors",
            "delete_vectors",
            "list_vector_collections",
            "create_vector_collection",
            "similarity_score",
        ],
    ),
    group(
        "dataExtraction",
        "Data extraction",
        "Tables, names and summaries out of text.",
        &["extract_structured_data", "extract_entities", "extract_table_data", "summarize_text"],
    )
    .start(Start::With(&["openai", "anthropic", "gemini", "openrouter"])),
    group(
        "memoryDocs",
        "Memory documents",
        "Documents Hob keeps to look things up in.",
        &["memory_search", "memory_get"],
    ),
    group(
        "sessions",
        "Sessions",
        "Other conversations, and runs beside this one.",
        &["sessions_list", "sessions_history", "sessions_send", "spawn", "session_status"],
    ),
    group(
        "knowledge",
        "Knowledge",
        "What is known about whom, and which skills there are.",
        &["knowledge_graph_search", "skill_search"],
    ),
    group("messaging", "Messages", "Messages to channels.", &["message", "create_forum_topic"]),
    group("teams", "Teams", "Agents that work together.", &["team_tasks", "team_message"]),
    group("skills", "Skills", "Use skills, and publish them.", &["use_skill", "publish_skill"]),
    group(
        "fs",
        "Files by the names of GoClaw",
        "Read, write, list, edit and search files.",
        &["read_file", "write_file", "list_files", "edit", "search", "glob"],
    )
    .start(Start::Gathers),
    group("runtime", "Commands", "Run commands.", &["exec", "credentialed_exec"]).start(Start::Gathers),
    group("web", "Web search and pages", "Search the web and fetch pages.", &["web_search", "web_fetch"])
        .start(Start::Gathers),
    group("automation", "Automation", "Schedules and the time.", &["cron", "datetime"]).start(Start::Gathers),
    group("delegation", "Delegation", "Nothing: teams took its place.", &[]).start(Start::Gathers),
    group(
        "media_gen",
        "Making media",
        "Make images, sounds and films.",
        &["create_image", "create_audio", "create_video", "tts"],
    )
    .start(Start::Gathers),
    group(
        "media_read",
        "Reading media",
        "Look at images, films and documents, and listen.",
        &["read_image", "read_audio", "read_document", "read_video"],
    )
    .start(Start::Gathers),
    group("goclaw", "All of GoClaw", "Every tool by the names of GoClaw.", &["openai_compat_call", "workspace_dir"])
        .start(Start::Gathers)
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
];

/// Names under which tools are known elsewhere, and the name they have here: one function is one tool. The tools need not
/// exist yet; once they do, their own aliases come first.
pub(super) const SYNONYMS: &[(&str, &str)] = &[
    ("add_to_date", "date_add"),
    ("calculate_statistics", "statistics"),
    ("count_words", "count_text"),
    ("create_image", "generate_image"),
    ("datetime", "get_current_datetime"),
    ("deduplicate", "array_operations"),
    ("delete_tool", "delete_custom_tool"),
    ("disable_tool", "toggle_custom_tool"),
    ("edit", "edit_file"),
    ("enable_tool", "toggle_custom_tool"),
    ("exec", "execute_shell"),
    ("extract_emails", "extract_from_text"),
    ("extract_numbers", "extract_from_text"),
    ("extract_urls", "extract_from_text"),
    ("fetch_url", "http_request"),
    ("get_current_time", "get_current_datetime"),
    ("list_files", "list_directory"),
    ("list_tools", "list_custom_tools"),
    ("memory_recall", "recall"),
    ("memory_store", "remember"),
    ("read_audio", "speech_to_text"),
    ("read_image", "analyze_image"),
    ("run_sandbox_code", "execute_javascript"),
    ("search", "search_files"),
    ("sort_list", "array_operations"),
    ("test_regex", "regex"),
    ("tts", "text_to_speech"),
    ("validate_email", "validate"),
    ("validate_url", "validate"),
    ("web_fetch", "fetch_web_page"),
    ("web_search", "search_web"),
];

/// Tools that stand before others, which they call: one right, under either name.
pub(super) const FACADES: &[(&str, &[&str])] = &[(
    "cron",
    &[
        "create_scheduled_task",
        "list_scheduled_tasks",
        "update_scheduled_task",
        "delete_scheduled_task",
        "get_task_history",
        "trigger_task",
    ],
)];
