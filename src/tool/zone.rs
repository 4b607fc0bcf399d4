//! Finds a time zone by name without reading all others: the first `TimeZone::get` lists the system's whole zone folder.

use jiff::tz::TimeZone;
use std::{fs::File, io::Read, path::Path};

/// The folders in which systems keep their zones. `TZDIR` names another one.
const FOLDERS: [&str; 2] = ["/usr/share/zoneinfo", "/usr/share/lib/zoneinfo"];
/// The link to the system's own zone.
const LOCAL: &str = "/etc/localtime";
/// The part of that link's target before the name.
const BEFORE_NAME: &str = "zoneinfo/";
/// Zones whose old name browsers still report and systems have dropped, with the name they have now.
const RENAMED: [(&str, &str); 14] = [
    ("America/Buenos_Aires", "America/Argentina/Buenos_Aires"),
    ("America/Catamarca", "America/Argentina/Catamarca"),
    ("America/Cordoba", "America/Argentina/Cordoba"),
    ("America/Godthab", "America/Nuuk"),
    ("America/Indianapolis", "America/Indiana/Indianapolis"),
    ("America/Louisville", "America/Kentucky/Louisville"),
    ("America/Mendoza", "America/Argentina/Mendoza"),
    ("Asia/Calcutta", "Asia/Kolkata"),
    ("Asia/Katmandu", "Asia/Kathmandu"),
    ("Asia/Rangoon", "Asia/Yangon"),
    ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
    ("Atlantic/Faeroe", "Atlantic/Faroe"),
    ("Europe/Kiev", "Europe/Kyiv"),
    ("Pacific/Truk", "Pacific/Chuuk"),
];
/// The largest file of a zone; the real ones have some thousand bytes.
const MAX_FILE: u64 = 64 << 10;

/// The zone of this IANA name, such as `Europe/Vienna`; `None` when it is unknown. The name may be in any case.
pub fn zone(name: &str) -> Option<TimeZone> {
    let known = |name: &str| in_folders(name).or_else(|| TimeZone::get(name).ok());
    let renamed = || RENAMED.iter().find(|(old, _)| old.eq_ignore_ascii_case(name)).map(|(_, now)| *now);
    known(name).or_else(|| known(renamed()?))
}

/// The system's own zone.
pub(crate) fn system() -> TimeZone {
    let name = match std::env::var("TZ") {
        Ok(name) => Some(name.strip_prefix(':').unwrap_or(&name).to_owned()),
        Err(_) => std::fs::read_link(LOCAL).ok().and_then(|target| name_of(&target)),
    };
    name.and_then(|name| in_folders(&name)).unwrap_or_else(TimeZone::system)
}

fn name_of(link: &Path) -> Option<String> {
    Some(link.to_str()?.rsplit_once(BEFORE_NAME)?.1.to_owned())
}

fn in_folders(name: &str) -> Option<TimeZone> {
    let chosen = std::env::var("TZDIR").ok();
    match &chosen {
        Some(folder) => in_folder(Path::new(folder), name),
        None => FOLDERS.iter().find_map(|folder| in_folder(Path::new(folder), name)),
    }
}

/// The zone in the file of exactly this name.
fn in_folder(folder: &Path, name: &str) -> Option<TimeZone> {
    // The names of zones begin with a capital letter, which their folders `posix` and `right` and their other files do not.
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "/_-+".contains(c));
    let file = is_name.then(|| File::open(folder.join(name)).ok()).flatten()?;
    file.metadata().ok().filter(|about| about.is_file() && about.len() <= MAX_FILE)?;
    let mut bytes = vec![];
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    TimeZone::tzif(name, &bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::Timestamp;

    #[test]
    fn a_zone_of_a_file_is_that_of_the_whole_database() {
        // 2026-01-30 and 2026-07-30, at noon.
        let days = [1_769_774_400, 1_785_412_800].map(|s| Timestamp::from_second(s).unwrap());
        for name in
            ["Europe/Vienna", "America/Argentina/Buenos_Aires", "Asia/Kolkata", "Etc/GMT+5", "UTC", "europe/vienna"]
        {
            let (ours, theirs) = (zone(name).unwrap(), TimeZone::get(name).unwrap());
            assert_eq!(ours.iana_name(), theirs.iana_name());
            for day in days {
                assert_eq!(ours.to_offset(day), theirs.to_offset(day), "{name}");
            }
        }
        for name in ["", "Mars/Olympus", "../etc/passwd", "Europe", "Europe/../UTC", "/etc/localtime", "posixrules "] {
            assert!(zone(name).is_none(), "{name}");
        }
    }

    #[test]
    fn a_renamed_zone_is_found_by_both_names() {
        for (old, now) in RENAMED {
            assert!(zone(old).is_some() && zone(now).is_some(), "{old} {now}");
        }
    }

    #[test]
    fn only_a_whole_file_of_a_zone_is_read() {
        let folder = std::env::temp_dir().join(format!("hob-zones-{}", crate::Id::new()));
        std::fs::create_dir_all(folder.join("Here")).unwrap();
        std::fs::write(folder.join("Text"), "no zone").unwrap();
        std::fs::write(folder.join("Long"), vec![0; 100_000]).unwrap();
        for name in ["Text", "Long", "Here", "Missing"] {
            assert!(in_folder(&folder, name).is_none(), "{name}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_link_of_the_system_names_its_zone() {
        for (link, name) in [
            ("/usr/share/zoneinfo/Europe/Vienna", Some("Europe/Vienna")),
            ("../usr/share/zoneinfo/UTC", Some("UTC")),
            ("/etc/my-zone", None),
        ] {
            assert_eq!(name_of(Path::new(link)).as_deref(), name, "{link}");
        }
    }
}
