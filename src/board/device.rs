//! The state of the machine: model, load, memory, disk, temperature.

use crate::health::{self, Throttling, Wear, Wifi};
use serde::Serialize;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};
use sysinfo::{Components, MemoryRefreshKind, ProcessRefreshKind, ProcessesToUpdate, System};

/// How the machine is right now. Sizes are bytes, times seconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The board or computer: "Raspberry Pi 4 Model B Rev 1.4".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The system: "Debian GNU/Linux 12".
    pub os: String,
    /// The kernel's version.
    pub kernel: String,
    /// The processor: "aarch64".
    pub arch: String,
    /// The name on the network.
    pub hostname: String,
    /// How many processors Hob may use.
    pub cpus: usize,
    /// Load averages over 1, 5 and 15 minutes; 1.0 is one busy processor.
    pub load: [f64; 3],
    /// Memory of the machine.
    pub memory: Memory,
    /// Memory Hob itself holds.
    pub own_memory: u64,
    /// The disk of the data folder, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<Disk>,
    /// Of the processor in °C, where there is a sensor.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Whether the processor is slowed down, where the firmware says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttling: Option<Throttling>,
    /// How worn the storage is, where it says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<Wear>,
    /// The Wi-Fi connection, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wifi: Option<Wifi>,
    /// Since the machine started.
    pub uptime: u64,
    /// When the machine started, since 1970.
    pub boot_time: u64,
}

/// Memory of the machine in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// All of it.
    pub total: u64,
    /// Used by programs.
    pub used: u64,
    /// Available to programs.
    pub available: u64,
}

/// The disk of the data folder in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Disk {
    /// The data folder.
    pub path: PathBuf,
    /// All of it.
    pub total: u64,
    /// Available to Hob.
    pub free: u64,
}

/// A handle to the machine's state; cheap to clone.
#[derive(Clone)]
pub struct Device {
    data: PathBuf,
    /// Readers that are slow to set up are reused.
    gauges: Arc<Mutex<Option<Gauges>>>,
}

struct Gauges {
    system: System,
    sensors: Option<Components>,
}

impl Device {
    /// The machine whose data folder is `data`.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self { data: data.into(), gauges: Arc::default() }
    }

    /// The state now. It reads a few small files of /proc and /sys, about a millisecond.
    ///
    /// # Errors
    /// `Unavailable` when /proc cannot be read, `Failed` when the look itself broke.
    pub async fn state(&self) -> tool::Result<State> {
        let this = self.clone();
        tokio::task::spawn_blocking(move || this.look())
            .await
            .map_err(|why| tool::Error::failed(format!("the state of the machine could not be read: {why}")))?
    }

    fn look(&self) -> tool::Result<State> {
        let unreadable = |why: sysinfo::Error| {
            tool::Error::unavailable(format!("the state of the machine cannot be read ({why}): is /proc there?"))
        };
        let mut kept = self.gauges.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let gauges = match kept.as_mut() {
            Some(gauges) => gauges,
            None => kept.insert(Gauges {
                system: System::new().map_err(unreadable)?,
                sensors: Components::new_with_refreshed_list().ok(),
            }),
        };
        gauges.system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
        let load = System::load_average().map_err(unreadable)?;
        Ok(State {
            model: model(),
            os: System::long_os_version().unwrap_or_else(|_| "Linux".into()),
            kernel: System::kernel_version().unwrap_or_default(),
            arch: System::cpu_arch(),
            hostname: System::host_name().unwrap_or_default(),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            load: [load.one, load.five, load.fifteen],
            memory: Memory {
                total: gauges.system.total_memory(),
                used: gauges.system.used_memory(),
                available: gauges.system.available_memory(),
            },
            own_memory: own_memory(&mut gauges.system),
            disk: disk(&self.data),
            temperature: gauges.sensors.as_mut().and_then(temperature).map(tool::shortest),
            throttling: health::throttling(Path::new("/sys")),
            wear: health::wear(Path::new("/sys")),
            wifi: health::wifi(Path::new("/proc")),
            uptime: System::uptime().map_err(unreadable)?,
            boot_time: System::boot_time().map_err(unreadable)?,
        })
    }
}

/// How much memory Hob may use in all, in bytes: that of the machine, or of its control group where that has less. `None`
/// where it cannot be read.
pub fn total_memory() -> Option<u64> {
    let mut system = System::new().ok()?;
    system.refresh_memory_specifics(MemoryRefreshKind::nothing().with_ram());
    let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    Some(system.total_memory().min(group)).filter(|total| *total > 0)
}

fn own_memory(system: &mut System) -> u64 {
    let Ok(own) = sysinfo::get_current_pid() else { return 0 };
    let only_memory = ProcessRefreshKind::nothing().with_memory().without_tasks();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[own]), true, only_memory);
    system.process(own).map_or(0, |process| process.memory())
}

/// The processor's sensor if its name is known, else the warmest sensor.
fn temperature(sensors: &mut Components) -> Option<f32> {
    sensors.refresh(false);
    let readings: Vec<(String, f32)> =
        sensors.iter().filter_map(|s| Some((s.label().to_lowercase(), s.temperature()?))).collect();
    hottest(&readings)
}

fn hottest(readings: &[(String, f32)]) -> Option<f32> {
    let of_cpu = |label: &str| ["cpu", "soc", "core", "package", "tctl"].iter().any(|word| label.contains(word));
    // Broken sensors report absolute zero or far beyond what silicon survives.
    let sane = |t: &f32| (-40.0..150.0).contains(t);
    let warmest = |wanted: &dyn Fn(&str) -> bool| {
        readings.iter().filter(|(label, _)| wanted(label)).map(|(_, t)| *t).filter(sane).max_by(f32::total_cmp)
    };
    warmest(&of_cpu).or_else(|| warmest(&|_| true))
}

fn disk(folder: &Path) -> Option<Disk> {
    let stat = rustix::fs::statvfs(folder).ok()?;
    let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
    Some(Disk { path: folder.to_owned(), total: bytes(stat.f_blocks), free: bytes(stat.f_bavail) })
}

/// The board model in the device tree; `None` on a PC.
pub(crate) fn board_model() -> Option<String> {
    let text = fs::read_to_string("/proc/device-tree/model").ok()?;
    Some(text.trim_matches(['\0', '\n', ' ']).to_owned()).filter(|text| !text.is_empty())
}

fn model() -> Option<String> {
    let of_pc = || fs::read_to_string("/sys/class/dmi/id/product_name").ok().map(|text| text.trim().to_owned());
    board_model().or_else(of_pc).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn this_machine_has_a_state() {
        let device = Device::new(std::env::temp_dir());
        let first = device.state().await.unwrap();
        let state = device.state().await.unwrap();
        assert!(state.memory.total > state.memory.available && state.memory.available > 0, "{state:?}");
        assert!(state.own_memory > 100_000 && state.own_memory < state.memory.total, "{state:?}");
        assert!(state.cpus > 0 && !state.arch.is_empty() && !state.kernel.is_empty(), "{state:?}");
        let disk = state.disk.unwrap();
        assert!(disk.total > disk.free, "{disk:?}");
        assert!(state.uptime >= first.uptime && state.boot_time.abs_diff(first.boot_time) <= 1);
    }

    #[tokio::test]
    async fn a_folder_that_is_gone_has_no_disk() {
        assert_eq!(Device::new("/nonexistent/folder").state().await.unwrap().disk, None);
    }

    #[test]
    fn the_processor_counts_before_the_warmest() {
        type Reading = (&'static str, f32);
        let table: [(&[Reading], Option<f32>); 5] = [
            (&[("cpu_thermal temp1", 51.5)], Some(51.5)),
            (&[("nvme composite", 70.0), ("coretemp package id 0", 48.0), ("coretemp core 1", 49.0)], Some(49.0)),
            (&[("acpitz temp1", 27.8), ("nvme composite", 40.0)], Some(40.0)),
            (&[("cpu", -273.0), ("cpu", f32::NAN), ("other", 255.0)], None),
            (&[], None),
        ];
        for (readings, expected) in table {
            let readings: Vec<_> = readings.iter().map(|(label, t)| ((*label).to_owned(), *t)).collect();
            assert_eq!(hottest(&readings), expected, "{readings:?}");
        }
    }
}
