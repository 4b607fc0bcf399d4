//! The devices on the simulated buses: a thermometer and an EEPROM on I2C, two thermometers on 1-Wire.

use crate::buses::Thermometer;

/// An LM75: registers 0 (temperature), 1 (configuration), 2 and 3 (limits), the first byte of a write is the register.
struct Lm75 {
    register: u8,
    temperature: [u8; 2],
    config: u8,
    limits: [[u8; 2]; 2],
}

/// A 24C02: 256 bytes, the first byte of a write is the address.
struct Eeprom {
    at: u8,
    bytes: [u8; 256],
}

pub(super) struct Devices {
    lm75: Lm75,
    eeprom: Eeprom,
    one_wire: [(&'static str, f64); 2],
}

impl Default for Devices {
    fn default() -> Self {
        let lm75 = Lm75 { register: 0, temperature: halves(21.5), config: 0, limits: [halves(75.0), halves(80.0)] };
        let eeprom = Eeprom { at: 0, bytes: [0xff; 256] };
        Self { lm75, eeprom, one_wire: [("28-0000000000a1", 19.25), ("28-0000000000b2", 54.0)] }
    }
}

/// Half degrees in the upper nine bits.
fn halves(celsius: f64) -> [u8; 2] {
    (((celsius * 2.0).round().clamp(-110.0, 250.0) as i16) << 7).to_be_bytes()
}

impl Devices {
    pub const ADDRESSES: [u8; 2] = [0x48, 0x50];

    /// A write and a read; `None` where nobody answers.
    pub fn i2c(&mut self, address: u8, write: &[u8], read: &mut [u8]) -> Option<()> {
        match address {
            0x48 => self.lm75.transfer(write, read),
            0x50 => self.eeprom.transfer(write, read),
            _ => return None,
        }
        Some(())
    }

    /// The temperature of the thermometer on I2C.
    pub fn celsius(&self) -> f64 {
        f64::from(i16::from_be_bytes(self.lm75.temperature) >> 7) / 2.0
    }

    pub fn thermometers(&self) -> Vec<Thermometer> {
        let sensor =
            |(id, temperature): &(&str, f64)| Thermometer { id: (*id).into(), temperature: Some(*temperature) };
        self.one_wire.iter().map(sensor).collect()
    }

    pub fn set_temperature(&mut self, id: &str, celsius: f64) -> bool {
        if id == "i2c" {
            self.lm75.temperature = halves(celsius);
            return true;
        }
        let found = self.one_wire.iter_mut().find(|(own, _)| *own == id);
        found.map(|sensor| sensor.1 = celsius).is_some()
    }
}

impl Lm75 {
    fn transfer(&mut self, write: &[u8], read: &mut [u8]) {
        if let Some((register, data)) = write.split_first() {
            self.register = register & 3;
            match (self.register, data) {
                (1, [config, ..]) => self.config = *config,
                (2, [high, low, ..]) => self.limits[0] = [*high, *low],
                (3, [high, low, ..]) => self.limits[1] = [*high, *low],
                // The temperature is only read.
                _ => {}
            }
        }
        let value: &[u8] = match self.register {
            0 => &self.temperature,
            1 => std::slice::from_ref(&self.config),
            2 => &self.limits[0],
            _ => &self.limits[1],
        };
        read.iter_mut().zip(value.iter().cycle()).for_each(|(to, from)| *to = *from);
    }
}

impl Eeprom {
    fn transfer(&mut self, write: &[u8], read: &mut [u8]) {
        if let Some((at, data)) = write.split_first() {
            self.at = *at;
            for byte in data {
                self.bytes[usize::from(self.at)] = *byte;
                self.at = self.at.wrapping_add(1);
            }
        }
        for to in read {
            *to = self.bytes[usize::from(self.at)];
            self.at = self.at.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_are_read_and_written() {
        let mut devices = Devices::default();
        let mut two = [0; 2];
        devices.i2c(0x48, &[0], &mut two).unwrap();
        assert_eq!(i16::from_be_bytes(two) >> 7, 43, "21.5 °C in half degrees");
        assert!(devices.set_temperature("i2c", -3.0));
        devices.i2c(0x48, &[0], &mut two).unwrap();
        assert_eq!(i16::from_be_bytes(two) >> 7, -6);
        devices.i2c(0x48, &[2, 0x4b, 0x80], &mut []).unwrap();
        devices.i2c(0x48, &[], &mut two).unwrap();
        assert_eq!(two, [0x4b, 0x80], "the register stays chosen");
        devices.i2c(0x50, &[254, 1, 2, 3], &mut []).unwrap();
        let mut three = [0; 3];
        devices.i2c(0x50, &[254], &mut three).unwrap();
        assert_eq!(three, [1, 2, 3], "over the end");
        assert_eq!(devices.i2c(0x49, &[0], &mut two), None);
        assert!(!devices.set_temperature("28-none", 1.0) && devices.set_temperature("28-0000000000b2", 1.0));
        assert_eq!(devices.thermometers()[1].temperature, Some(1.0));
    }
}
