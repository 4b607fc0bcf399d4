//! The services and events that Hob never uses in Home Assistant, whatever the settings allow.

/// Domains and services, and why.
const NEVER: &[(&str, &str)] = &[
    ("shell_command", "it runs commands on the machine of Home Assistant"),
    ("command_line", "it runs commands on the machine of Home Assistant"),
    ("python_script", "it runs code on the machine of Home Assistant"),
    ("pyscript", "it runs code on the machine of Home Assistant"),
    ("rest_command", "it sends data to any address"),
    ("downloader", "it fetches files from any address"),
    ("ffmpeg", "it controls processes of Home Assistant"),
    ("hassio", "it controls the machine of Home Assistant and its add-ons"),
    ("backup", "backups are made in Home Assistant itself"),
    ("recorder", "it deletes the history"),
    ("system_log", "it changes the log of Home Assistant"),
    ("logger", "it changes the log of Home Assistant"),
    ("profiler", "it inspects the memory of Home Assistant"),
    ("frontend", "it changes the page of Home Assistant"),
    ("auth", "it changes who may sign in"),
    ("person", "it changes who lives here"),
    ("cloud", "it changes how Home Assistant is reached from outside"),
    (
        "homeassistant",
        "it acts on everything at once, or stops Home Assistant: call the service of the entity's own domain",
    ),
];

/// Why a service is never called; `None` where it may be.
pub(super) fn why_never(domain: &str, service: &str) -> Option<&'static str> {
    match NEVER.iter().find(|(name, _)| *name == domain) {
        Some((_, why)) => Some(why),
        None if service == "reload" => Some("it loads configuration anew, which is done in Home Assistant itself"),
        None => None,
    }
}

/// Whether Home Assistant itself fires events of this type, so that firing one would deceive it.
pub(super) fn is_internal(event_type: &str) -> bool {
    const OWN: &[&str] = &[
        "state_changed",
        "state_reported",
        "call_service",
        "component_loaded",
        "core_config_updated",
        "automation_triggered",
        "automation_reloaded",
        "script_started",
        "logbook_entry",
        "panels_updated",
        "themes_updated",
        "time_changed",
        "lovelace_updated",
        "device_registry_updated",
    ];
    OWN.contains(&event_type)
        || ["homeassistant_", "service_", "user_"].iter().any(|start| event_type.starts_with(start))
        || event_type.ends_with("_registry_updated")
}
