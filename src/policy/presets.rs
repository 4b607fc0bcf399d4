//! What policies are made of ready-made: presets for users, profiles for agents, what subagents never get.

use serde::{Deserialize, Serialize};
use tool::{Area, Level, prelude::schemars, prelude::schemars::JsonSchema};

/// The tools through which a model reaches all others. Lists and levels let them pass, because what they reach is
/// judged call by call; only a role and a deny stop them.
pub const META_TOOLS: &[&str] = &["search_tools", "get_tool_help", "use_tool", "batch_use_tool"];

/// What no run gets that another began.
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

/// What such a run does not get either when it stands at the greatest depth.
pub const SUBAGENT_LEAF_DENIES: &[&str] = &["sessions_list", "sessions_history", "sessions_spawn", "spawn", "subagent"];

/// A user's level and areas, ready-made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Preset {
    /// May look everywhere: what viewers get who have no policy of their own.
    Readonly,
    /// May look into files and at what the household keeps.
    Restrictive,
    /// Everything.
    Permissive,
}

impl Preset {
    /// Every preset.
    pub const ALL: &'static [Preset] = &[Preset::Readonly, Preset::Restrictive, Preset::Permissive];

    /// The word it is written with.
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

/// The tools an agent works with, ready-made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// All tools.
    #[default]
    Full,
    /// Files, code, the web and what is known.
    Coding,
    /// Messages, the web and media.
    Messaging,
    /// Next to nothing.
    Minimal,
}

impl Profile {
    /// Every profile.
    pub const ALL: &'static [Profile] = &[Profile::Full, Profile::Coding, Profile::Messaging, Profile::Minimal];

    /// The word it is written with.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Full => "full",
            Profile::Coding => "coding",
            Profile::Messaging => "messaging",
            Profile::Minimal => "minimal",
        }
    }

    /// Its tools and groups. The meta-tools are in all of them.
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
