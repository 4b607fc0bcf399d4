//! I2C, SPI, serial ports and 1-Wire of a Linux board.

use crate::{Error, Result, serial::SerialTransfer};
use rppal::{
    i2c::{Error as I2cError, I2c},
    spi::{Bus, Error as SpiError, Mode, SlaveSelect, Spi},
};
use serde::Serialize;
use std::{fs, io, path::Path};
use tool::prelude::{JsonSchema, schemars};

/// The most sensors that are read at once: each takes most of a second.
const MAX_SENSORS: usize = 16;
/// Families of 1-Wire thermometers.
const THERMOMETERS: [&str; 5] = ["10-", "22-", "28-", "3b-", "42-"];
/// Addresses of devices on I2C; the others are reserved.
pub const I2C_ADDRESSES: std::ops::RangeInclusive<u8> = 0x08..=0x77;

/// A 1-Wire thermometer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Thermometer {
    /// Its id: `28-000005e2fdc3`.
    pub id: String,
    /// In °C; null where it could not be read.
    pub temperature: Option<f64>,
}

/// A transfer on SPI.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiTransfer {
    /// 0 or 1.
    pub bus: u8,
    /// 0, 1 or 2.
    pub chip_select: u8,
    /// The clock in hertz.
    pub hertz: u32,
    /// 0 to 3.
    pub mode: u8,
    /// The bytes to send; as many come back.
    pub data: Vec<u8>,
}

/// The buses of a board. Calls block for as long as the devices take.
pub(crate) trait Buses: Send + Sync {
    /// The addresses that answer.
    fn i2c_scan(&self, bus: u8) -> Result<Vec<u8>>;
    /// Writes, then reads without a stop between them; either may be empty.
    fn i2c(&self, bus: u8, address: u8, write: &[u8], read: &mut [u8]) -> Result<()>;
    /// Sends bytes, and returns those that came back.
    fn spi(&self, transfer: &SpiTransfer) -> Result<Vec<u8>>;
    /// Sends bytes on a serial port, and returns those that came back.
    fn serial(&self, asked: &SerialTransfer) -> Result<Vec<u8>>;
    /// All 1-Wire thermometers.
    fn thermometers(&self) -> Result<Vec<Thermometer>>;
}

/// The devices in /dev and /sys.
pub(crate) struct LinuxBuses;

fn i2c_failed(bus: u8, address: Option<u8>, error: &I2cError) -> Error {
    let at = address.map(|address| format!(", address {address:#04x}")).unwrap_or_default();
    let I2cError::Io(why) = error else { return Error::Bus(format!("I2C bus {bus}{at}: {error}")) };
    match why.kind() {
        io::ErrorKind::NotFound => Error::Unsupported(format!(
            "there is no I2C bus {bus} here: on a Raspberry Pi, switch it on with `sudo raspi-config nonint do_i2c 0`"
        )),
        io::ErrorKind::PermissionDenied => Error::Unsupported(format!(
            "no permission for /dev/i2c-{bus}: add Hob's user to the group `i2c` (`sudo usermod -aG i2c USER`) and start it again"
        )),
        // ENXIO, and EREMOTEIO of the Raspberry Pi's controller: nobody acknowledged.
        _ if matches!(why.raw_os_error(), Some(6 | 121)) => {
            Error::Bus(format!("no device answers on I2C bus {bus}{at}: `i2c_scan` shows those that do"))
        }
        _ => Error::Bus(format!("I2C bus {bus}{at}: {why}")),
    }
}

fn spi_failed(transfer: &SpiTransfer, error: &SpiError) -> Error {
    let device = format!("/dev/spidev{}.{}", transfer.bus, transfer.chip_select);
    match error {
        SpiError::Io(why) if why.kind() == io::ErrorKind::NotFound => Error::Unsupported(format!(
            "there is no {device} here: on a Raspberry Pi, switch SPI on with `sudo raspi-config nonint do_spi 0`"
        )),
        SpiError::Io(why) if why.kind() == io::ErrorKind::PermissionDenied => Error::Unsupported(format!(
            "no permission for {device}: add Hob's user to the group `spi` (`sudo usermod -aG spi USER`) and start it again"
        )),
        other => Error::Bus(format!("{device}: {other}")),
    }
}

impl Buses for LinuxBuses {
    fn i2c_scan(&self, bus: u8) -> Result<Vec<u8>> {
        let mut i2c = I2c::with_bus(bus).map_err(|error| i2c_failed(bus, None, &error))?;
        let mut found = vec![];
        for address in I2C_ADDRESSES {
            match i2c.set_slave_address(address.into()) {
                Ok(()) => {}
                // A driver of the kernel uses it: there is a device.
                Err(I2cError::Io(why)) if why.raw_os_error() == Some(16) => {
                    found.push(address);
                    continue;
                }
                Err(_) => continue,
            }
            // As `i2cdetect` does: a write without data confuses EEPROMs, a read confuses other chips.
            let answers = match address {
                0x30..=0x37 | 0x50..=0x5f => i2c.smbus_receive_byte().is_ok(),
                _ => i2c.smbus_quick_command(false).is_ok(),
            };
            found.extend(answers.then_some(address));
        }
        Ok(found)
    }

    fn i2c(&self, bus: u8, address: u8, write: &[u8], read: &mut [u8]) -> Result<()> {
        let failed = |error: I2cError| i2c_failed(bus, Some(address), &error);
        let mut i2c = I2c::with_bus(bus).map_err(failed)?;
        i2c.set_slave_address(address.into()).map_err(failed)?;
        match (write, read) {
            ([], read) => i2c.read(read).map(drop),
            (write, []) => i2c.write(write).map(drop),
            (write, read) => i2c.write_read(write, read),
        }
        .map_err(failed)
    }

    fn spi(&self, transfer: &SpiTransfer) -> Result<Vec<u8>> {
        let failed = |error: SpiError| spi_failed(transfer, &error);
        let bus = if transfer.bus == 0 { Bus::Spi0 } else { Bus::Spi1 };
        let select = [SlaveSelect::Ss0, SlaveSelect::Ss1, SlaveSelect::Ss2][usize::from(transfer.chip_select.min(2))];
        let mode = [Mode::Mode0, Mode::Mode1, Mode::Mode2, Mode::Mode3][usize::from(transfer.mode.min(3))];
        let spi = Spi::new(bus, select, transfer.hertz, mode).map_err(failed)?;
        let mut back = vec![0; transfer.data.len()];
        let length = spi.transfer(&mut back, &transfer.data).map_err(failed)?;
        back.truncate(length);
        Ok(back)
    }

    fn serial(&self, asked: &SerialTransfer) -> Result<Vec<u8>> {
        crate::serial::transfer(asked)
    }

    fn thermometers(&self) -> Result<Vec<Thermometer>> {
        thermometers(Path::new("/sys/bus/w1/devices"))
    }
}

fn thermometers(folder: &Path) -> Result<Vec<Thermometer>> {
    let entries = fs::read_dir(folder).map_err(|_| {
        Error::Unsupported(
            "1-Wire is off here: on a Raspberry Pi, switch it on with `sudo raspi-config nonint do_onewire 0` and restart; \
             its thermometers are at pin 4"
                .into(),
        )
    })?;
    let mut ids: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    ids.retain(|id| THERMOMETERS.iter().any(|family| id.starts_with(family)));
    ids.sort();
    ids.truncate(MAX_SENSORS);
    Ok(ids.into_iter().map(|id| Thermometer { temperature: temperature(&folder.join(&id)), id }).collect())
}

/// Newer kernels have a file with thousandths of a degree; older ones only that with the check of the transfer.
fn temperature(sensor: &Path) -> Option<f64> {
    let number = match fs::read_to_string(sensor.join("temperature")) {
        Ok(text) => text.trim().parse::<i32>().ok()?,
        Err(_) => {
            let text = fs::read_to_string(sensor.join("w1_slave")).ok()?;
            let (check, value) = text.split_once('\n')?;
            check.trim_end().ends_with("YES").then_some(())?;
            value.rsplit_once("t=")?.1.trim().parse().ok()?
        }
    };
    // 85 °C is what a sensor says that has just been switched on and has measured nothing.
    (number != 85_000).then_some(f64::from(number) / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thermometers_are_read_from_files() {
        let folder = std::env::temp_dir().join(format!("hob-w1-{}", std::process::id()));
        for (name, file, text) in [
            ("28-0000000000aa", "temperature", "21437\n"),
            ("28-0000000000bb", "w1_slave", "6e 01 : crc=1b YES\n6e 01 4b t=-1250\n"),
            ("28-0000000000cc", "w1_slave", "6e 01 : crc=1b NO\n6e 01 4b t=22875\n"),
            ("28-0000000000dd", "temperature", "85000\n"),
            ("w1_bus_master1", "temperature", "1\n"),
        ] {
            fs::create_dir_all(folder.join(name)).unwrap();
            fs::write(folder.join(name).join(file), text).unwrap();
        }
        let read = thermometers(&folder).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let read: Vec<_> = read.iter().map(|sensor| (&sensor.id[13..], sensor.temperature)).collect();
        assert_eq!(read, [("aa", Some(21.437)), ("bb", Some(-1.25)), ("cc", None), ("dd", None)]);
        let why = thermometers(&folder).unwrap_err().to_string();
        assert!(why.contains("do_onewire"), "{why}");
    }

    #[test]
    fn a_bus_that_is_not_there_says_how_to_switch_it_on() {
        let why = LinuxBuses.i2c_scan(250).unwrap_err();
        assert!(matches!(&why, Error::Unsupported(text) if text.contains("raspi-config")), "{why}");
        let transfer = SpiTransfer { bus: 1, chip_select: 2, hertz: 1000, mode: 0, data: vec![1] };
        assert!(matches!(LinuxBuses.spi(&transfer), Err(Error::Unsupported(text)) if text.contains("do_spi")));
    }
}
