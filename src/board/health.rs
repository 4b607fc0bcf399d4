//! Troubles of the machine: throttling, worn storage, a weak Wi-Fi signal. Read from /sys and /proc, without `vcgencmd`.

use serde::Serialize;
use std::{fs, path::Path};

/// Whether the processor of a Raspberry Pi is slowed down, and why.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throttling {
    /// The supply gives too little voltage now.
    pub under_voltage: bool,
    /// The processor is slowed down now.
    pub throttled: bool,
    /// The supply gave too little voltage at some time since the start.
    pub under_voltage_since_boot: bool,
    /// The processor was slowed down at some time since the start.
    pub throttled_since_boot: bool,
}

/// How worn the storage is, where it says so (eMMC, some SD cards).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wear {
    /// The device: `mmcblk0`.
    pub device: String,
    /// The part of its life that is used, in percent, in steps of ten: 100 is past its time.
    pub used_percent: u8,
    /// Whether its spare blocks are running out.
    pub near_end: bool,
}

/// The Wi-Fi connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Wifi {
    /// The interface: `wlan0`.
    pub interface: String,
    /// The signal in dBm; -50 is good, below -75 is weak.
    pub signal_dbm: i32,
}

/// The firmware's word about the supply and the clock.
pub(crate) fn throttling(sys: &Path) -> Option<Throttling> {
    let file = "devices/platform/soc/soc:firmware/get_throttled";
    let other = "devices/platform/soc/soc:firmware/raspberrypi-firmware/get_throttled";
    let text = fs::read_to_string(sys.join(file)).or_else(|_| fs::read_to_string(sys.join(other))).ok()?;
    let bits = u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok()?;
    let has = |bit: u32| bits & (1 << bit) != 0;
    Some(Throttling {
        under_voltage: has(0),
        throttled: has(1) || has(2) || has(3),
        under_voltage_since_boot: has(16),
        throttled_since_boot: has(17) || has(18) || has(19),
    })
}

/// Whether the supply gives too little voltage now; `None` where nobody measures it.
pub(crate) fn under_voltage(sys: &Path) -> Option<bool> {
    let by_firmware = throttling(sys).map(|throttling| throttling.under_voltage);
    by_firmware.or_else(|| {
        let sensors = fs::read_dir(sys.join("class/hwmon")).ok()?.flatten();
        let is_supply = |path: &Path| fs::read_to_string(path.join("name")).is_ok_and(|name| name.trim() == "rpi_volt");
        let supply = sensors.map(|entry| entry.path()).find(|path| is_supply(path))?;
        Some(fs::read_to_string(supply.join("in0_lcrit_alarm")).ok()?.trim() == "1")
    })
}

/// The most worn storage device.
pub(crate) fn wear(sys: &Path) -> Option<Wear> {
    let devices = fs::read_dir(sys.join("block")).ok()?.flatten();
    let worn = devices.filter_map(|entry| {
        let folder = entry.path().join("device");
        let number = |text: &str| u8::from_str_radix(text.trim_start_matches("0x"), 16).ok();
        // Two numbers, for two kinds of cells; 1 is up to 10 %, 11 is past its time, 0 says nothing.
        let life = fs::read_to_string(folder.join("life_time")).ok()?;
        let steps = life.split_whitespace().filter_map(number).filter(|n| (1..=11).contains(n)).max()?;
        let near_end = fs::read_to_string(folder.join("pre_eol_info")).ok().and_then(|text| number(text.trim()));
        Some(Wear {
            device: entry.file_name().to_string_lossy().into_owned(),
            used_percent: (steps * 10).min(100),
            near_end: near_end.is_some_and(|state| state >= 2),
        })
    });
    worn.max_by_key(|wear| wear.used_percent)
}

/// The first Wi-Fi interface with a signal.
pub(crate) fn wifi(proc: &Path) -> Option<Wifi> {
    let text = fs::read_to_string(proc.join("net/wireless")).ok()?;
    text.lines().skip(2).find_map(|line| {
        let (interface, values) = line.split_once(':')?;
        let signal = values.split_whitespace().nth(2)?.trim_end_matches('.').parse::<i32>().ok()?;
        // Some drivers give an unsigned byte.
        let signal_dbm = if signal > 0 { signal - 256 } else { signal };
        (-120..0).contains(&signal_dbm).then(|| Wifi { interface: interface.trim().to_owned(), signal_dbm })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_the_kernel_are_read() {
        let root = std::env::temp_dir().join(format!("hob-health-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!((throttling(&root), wear(&root), wifi(&root)), (None, None, None));
        assert_eq!(under_voltage(&root), None);
        write("class/hwmon/hwmon0/name", "cpu_thermal\n");
        write("class/hwmon/hwmon1/name", "rpi_volt\n");
        for (alarm, low) in [("0\n", false), ("1\n", true)] {
            write("class/hwmon/hwmon1/in0_lcrit_alarm", alarm);
            assert_eq!(under_voltage(&root), Some(low));
        }
        write("devices/platform/soc/soc:firmware/get_throttled", "50000\n");
        assert_eq!(under_voltage(&root), Some(false), "the firmware knows best");
        write("devices/platform/soc/soc:firmware/get_throttled", "50005\n");
        write("block/mmcblk0/device/life_time", "0x02 0x03\n");
        write("block/mmcblk0/device/pre_eol_info", "0x01\n");
        write("block/mmcblk1/device/life_time", "0x00 0x00\n");
        write("block/sda/size", "1\n");
        let lines =
            "Inter-| sta-|   Quality        |\n face | tus | link level noise |\n wlan0: 0000   58.  -52.  -256  0 0\n";
        write("net/wireless", lines);
        let found = (throttling(&root), wear(&root), wifi(&root));
        write("block/mmcblk0/device/life_time", "0x0b 0x01\n");
        write("block/mmcblk0/device/pre_eol_info", "0x03\n");
        let worn = wear(&root).unwrap();
        fs::remove_dir_all(&root).unwrap();
        let throttled = Throttling {
            under_voltage: true,
            throttled: true,
            under_voltage_since_boot: true,
            throttled_since_boot: true,
        };
        assert_eq!(found.0, Some(throttled));
        assert_eq!(found.1, Some(Wear { device: "mmcblk0".into(), used_percent: 30, near_end: false }));
        assert_eq!(found.2, Some(Wifi { interface: "wlan0".into(), signal_dbm: -52 }));
        assert_eq!((worn.used_percent, worn.near_end), (100, true));
    }
}
