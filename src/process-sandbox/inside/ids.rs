//! Which user the program is, inside and outside.

use std::fs;

/// The program's user and group inside.
pub const USER: u32 = 1000;
/// The user and group outside where Hob is root: below 65536, so that it exists in containers, and in no range that systemd uses.
const OUTSIDE: u32 = 61_000;

/// How users are mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ids {
    /// The program is Hob's own user.
    Same { uid: u32, gid: u32 },
    /// Hob is root, and the program a user of its own. The first `count` ids exist.
    Own { count: u32 },
}

impl Ids {
    pub fn choose() -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        let count = |map: &str| contiguous(&fs::read_to_string(map).unwrap_or_default());
        let count = count("/proc/self/uid_map").min(count("/proc/self/gid_map"));
        match uid == 0 && count > OUTSIDE + 1 {
            true => Self::Own { count },
            false => Self::Same { uid, gid },
        }
    }

    /// The contents of `uid_map` and `gid_map`. All ids exist inside where Hob is root, because its rights count only for files of
    /// users that are mapped.
    pub fn maps(self) -> [String; 2] {
        match self {
            Self::Same { uid, gid } => [format!("{USER} {uid} 1\n"), format!("{USER} {gid} 1\n")],
            Self::Own { count } => {
                let (after_user, after) = (USER + 1, OUTSIDE + 1);
                let map = format!(
                    "0 0 {USER}\n{USER} {OUTSIDE} 1\n{after_user} {after_user} {}\n{OUTSIDE} {USER} 1\n{after} {after} {}\n",
                    OUTSIDE - after_user,
                    count - after,
                );
                [map.clone(), map]
            }
        }
    }

    /// The map of a mount whose files are root's on the disk and the program's inside.
    pub fn files_map() -> String {
        format!("0 {OUTSIDE} 1\n")
    }

    /// Whether the program is another user than Hob.
    pub fn is_own(self) -> bool {
        matches!(self, Self::Own { .. })
    }
}

/// How many ids from 0 on a map has without a gap.
fn contiguous(map: &str) -> u32 {
    map.lines().fold(0, |count, line| {
        let mut numbers = line.split_whitespace().map(|number| number.parse::<u32>().unwrap_or(0));
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(first), Some(_), Some(length)) if first == count => count.saturating_add(length),
            _ => count,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_without_a_gap() {
        for (map, count) in [
            ("", 0),
            ("         0          0 4294967295\n", u32::MAX),
            ("0 100000 65536\n", 65_536),
            ("1000 1000 1\n", 0),
            ("0 1000 1\n1 100000 65536\n", 65_537),
        ] {
            assert_eq!(contiguous(map), count, "{map:?}");
        }
    }

    #[test]
    fn own_ids_are_a_permutation() {
        let [map, _] = Ids::Own { count: 65_536 }.maps();
        let (mut inside, mut outside) = (vec![0_u8; 65_536], vec![0_u8; 65_536]);
        for line in map.lines() {
            let numbers: Vec<usize> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            for index in 0..numbers[2] {
                inside[numbers[0] + index] += 1;
                outside[numbers[1] + index] += 1;
            }
        }
        assert!(inside.iter().chain(&outside).all(|count| *count == 1));
    }
}
