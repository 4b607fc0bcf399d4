//! The 40-pin header: which pin is where, and what else it is for.

use crate::Pin;

/// A pin of the 40-pin header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderPin {
    /// Its number on the header, 1 to 40.
    pub physical: u8,
    /// Its GPIO, where it is one and not power or ground.
    pub gpio: Option<Pin>,
    /// `3.3 V`, `5 V`, `Ground`, or the other function of a GPIO; empty where it has none.
    pub function: &'static str,
}

/// Number and function of every GPIO, else its function, in the order of the header.
const HEADER: [(Option<u8>, &str); 40] = [
    (None, "3.3 V"),
    (None, "5 V"),
    (Some(2), "I2C1 SDA"),
    (None, "5 V"),
    (Some(3), "I2C1 SCL"),
    (None, "Ground"),
    (Some(4), "1-Wire"),
    (Some(14), "UART TX"),
    (None, "Ground"),
    (Some(15), "UART RX"),
    (Some(17), ""),
    (Some(18), "PWM"),
    (Some(27), ""),
    (None, "Ground"),
    (Some(22), ""),
    (Some(23), ""),
    (None, "3.3 V"),
    (Some(24), ""),
    (Some(10), "SPI0 MOSI"),
    (None, "Ground"),
    (Some(9), "SPI0 MISO"),
    (Some(25), ""),
    (Some(11), "SPI0 SCLK"),
    (Some(8), "SPI0 CE0"),
    (None, "Ground"),
    (Some(7), "SPI0 CE1"),
    (Some(0), "ID EEPROM SDA"),
    (Some(1), "ID EEPROM SCL"),
    (Some(5), ""),
    (None, "Ground"),
    (Some(6), ""),
    (Some(12), "PWM"),
    (Some(13), "PWM"),
    (None, "Ground"),
    (Some(19), "PWM, SPI1 MISO"),
    (Some(16), "SPI1 CE2"),
    (Some(26), ""),
    (Some(20), "SPI1 MOSI"),
    (None, "Ground"),
    (Some(21), "SPI1 SCLK"),
];

/// All pins of the header in order.
pub fn header() -> impl Iterator<Item = HeaderPin> {
    (1..).zip(HEADER).map(|(physical, (gpio, function))| HeaderPin {
        physical,
        gpio: gpio.and_then(|number| Pin::new(number.into())),
        function,
    })
}

/// Why a pin had better be left to its other function; `None` for plain pins.
pub fn reserved(pin: Pin) -> Option<&'static str> {
    Some(match pin.number() {
        0 | 1 => "it reads the identity of an add-on board at boot: leave it free",
        2 | 3 => "it is I2C1, with a fixed pull-up of 1.8 kΩ: I2C devices stop working when it is used as a plain pin",
        7..=11 => "it is SPI0: SPI devices stop working when it is used as a plain pin",
        14 | 15 => "it is the serial port, on which the boot console may write: what is connected would switch at boot",
        _ => return None,
    })
}

/// The pins of an I2C bus on the header.
pub(crate) fn i2c_pins(bus: u8) -> &'static [u8] {
    match bus {
        0 => &[0, 1],
        1 => &[2, 3],
        _ => &[],
    }
}

/// The pins of an SPI bus on the header.
pub(crate) fn spi_pins(bus: u8) -> &'static [u8] {
    if bus == 0 { &[9, 10, 11] } else { &[19, 20, 21] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_gpio_is_on_the_header_once() {
        let mut found: Vec<u8> = header().filter_map(|pin| pin.gpio).map(Pin::number).collect();
        found.sort();
        assert_eq!(found, (0..=Pin::MAX).collect::<Vec<_>>());
        let at = |number: u8| header().find(|pin| pin.gpio.map(Pin::number) == Some(number)).unwrap().physical;
        assert_eq!([2, 3, 14, 17, 18, 27, 25, 21].map(at), [3, 5, 8, 11, 12, 13, 22, 40]);
        assert_eq!(header().filter(|pin| pin.function == "Ground").count(), 8);
    }
}
