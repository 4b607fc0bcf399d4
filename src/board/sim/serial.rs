//! The device at the simulated serial port: a thermometer that is asked by lines.

use super::{SIM_PORT, Simulator};
use crate::{Error, Result, serial::SerialTransfer};

impl Simulator {
    pub(super) fn on_serial(&self, asked: &SerialTransfer) -> Result<Vec<u8>> {
        if asked.port != SIM_PORT {
            let none = format!("there is no {} here: the simulated board has {SIM_PORT}", asked.port);
            return Err(Error::Unsupported(none));
        }
        let said = String::from_utf8_lossy(&asked.data);
        let mut back = String::new();
        for line in said.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            back.push_str(&match line.trim() {
                "*IDN?" => "Hob,simulated thermometer,1\n".to_owned(),
                "TEMP?" => format!("{:.2}\n", self.devices().celsius()),
                "" => String::new(),
                _ => "ERROR unknown command\n".to_owned(),
            });
        }
        let end = back.find('\n').filter(|_| asked.line).map_or(back.len(), |at| at + 1);
        back.truncate(end.min(asked.read));
        Ok(back.into_bytes())
    }
}
