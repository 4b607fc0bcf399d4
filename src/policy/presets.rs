//! Built-in lists: presets for users, profiles for agents, the tools denied to subagents, and those available by voice.

use serde::{Deserialize, Serialize};
use tool::{Area, Level, prelude::schemars, prelude::schemars::JsonSchema};

/// Tools that no subagent gets.
pub const SUBAGENT_DENIES: &[&str] = &[
    "gateway",
    "agents_list",
    "whatsapp_login",
    "session_status",
    "cron",
    "memory_search",
    "memory_get",
    "sessions_send",
];

/// Tools also denied to subagents at the maximum depth.
pub const SUBAGENT_LEAF_DENIES: &[&str] = &["sessions_list", "sessions_history", "sessions_spawn", "spawn", "subagent"];

/// The tools that can be called by voice. They read what the household shares, control things, set timers and fill lists.
pub const VOICE_TOOLS: &[&str] = &[
    // Things: only those whose flag `voice` is set, which the tools check.
    "list_things",
    "get_thing",
    "control_thing",
    "list_areas",
    // Timers and lists, which are the household's.
    "set_timer",
    "list_timers",
    "adjust_timer",
    "pause_timer",
    "resume_timer",
    "snooze_timer",
    "stop_timer",
    "cancel_timer",
    "add_task",
    "batch_add_tasks",
    "complete_task",
    "list_tasks",
    "list_lists",
    // Records that members share with the household; nobody speaks as one of them.
    "list_calendar_events",
    "list_notes",
    "get_note",
    "recall",
    // Common knowledge.
    "get_current_datetime",
    "date_add",
    "date_diff",
    "format_date",
    "calculate",
    "calculate_percentage",
    "convert_units",
    "random_number",
    "get_weather",
    "get_weather_forecast",
    "undo",
];

/// A preset of level and areas for a user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// Observe everywhere: the default of viewers.
    Readonly,
    /// Observe files and household records.
    Restrictive,
    /// Everything.
    Permissive,
}

impl Preset {
    /// Every preset.
    pub const ALL: &'static [Preset] = &[Preset::Readonly, Preset::Restrictive, Preset::Permissive];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Preset::Readonly => "readonly",
            Preset::Restrictive => "restrictive",
            Preset::Permissive => "permissive",
        }
    }

    /// Its level and areas.
    pub fn grants(self) -> (Level, &'static [Area]) {
        match self {
            Preset::Readonly => (Level::Read, Area::ALL),
            Preset::Restrictive => (Level::Read, &[Area::FileRead, Area::Memory]),
            Preset::Permissive => (Level::Admin, Area::ALL),
        }
    }
}

/// A profile: a set of tools for an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// All tools.
    #[default]
    Full,
    /// Files, code, the web and memory.
    Coding,
    /// Messages, the web and media.
    Messaging,
    /// A minimal set.
    Minimal,
}

impl Profile {
    /// Every profile.
    pub const ALL: &'static [Profile] = &[Profile::Full, Profile::Coding, Profile::Messaging, Profile::Minimal];

    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Coding => "coding",
            Profile::Messaging => "messaging",
            Profile::Minimal => "minimal",
        }
    }

    /// Its tools and groups. Meta-tools are in all profiles.
    pub fn members(self) -> &'static [&'static str] {
        match self {
            Profile::Full => &["group:all"],
            Profile::Coding => &[
                "group:fs",
                "group:runtime",
                "group:sessions",
                "group:memory",
                "group:web",
                "group:knowledge",
                "group:media_gen",
                "group:media_read",
                "group:skills",
            ],
            Profile::Messaging => {
                &["group:messaging", "group:web", "group:sessions", "group:media_read", "skill_search"]
            }
            Profile::Minimal => &["session_status"],
        }
    }
}
