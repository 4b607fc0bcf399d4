//! I2C, SPI and 1-Wire.

use crate::pins::Pins;
use board::{I2C_ADDRESSES, MAX_TRANSFER, SpiTransfer};
use text_kit::{counted, join_and};
use tool::prelude::*;

/// The bus at pins 2 and 3.
const I2C_BUS: u8 = 1;
/// The clock of SPI by default, and the limits, in hertz.
const SPI_HERTZ: u32 = 500_000;
const SPI_RANGE: (u32, u32) = (4_000, 50_000_000);

/// Find the devices on an I2C bus: returns their addresses.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct I2cScan {
    /// Bus (default: 1, at pins 2 and 3).
    bus: Option<u8>,
}

pub(crate) async fn scan(pins: Pins, _: Cx, I2cScan { bus }: I2cScan) -> Result<Output> {
    let bus = bus.unwrap_or(I2C_BUS);
    let found = pins.board.i2c_scan(bus).await?;
    let names: Vec<String> = found.iter().map(|address| format!("{address:#04x}")).collect();
    let sentence = match names.as_slice() {
        [] => format!("No device answers on I2C bus {bus}."),
        some => format!("{} on I2C bus {bus}: {}.", counted(some.len(), "device"), join_and(some)),
    };
    let devices: Vec<Value> =
        found.iter().zip(&names).map(|(address, hex)| json!({"address": address, "hex": hex})).collect();
    Ok(Output::json(json!({"bus": bus, "devices": devices}))?.say(sentence))
}

/// Read bytes from a device on an I2C bus, from a register or as they come.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct I2cRead {
    /// Address of the device, 8 to 119 (0x08 to 0x77).
    #[schemars(range(min = 8, max = 119))]
    address: u8,
    /// The register to read from.
    register: Option<u8>,
    /// How many bytes (default: 1).
    #[schemars(range(min = 1, max = 256))]
    length: Option<u16>,
    /// Bus (default: 1, at pins 2 and 3).
    bus: Option<u8>,
}

fn check_address(address: u8) -> Result<()> {
    let wrong = || Error::bad_args(format!("`address` is {address}: devices have 8 to 119; `i2c_scan` finds them"));
    I2C_ADDRESSES.contains(&address).then_some(()).ok_or_else(wrong)
}

fn bytes(found: &[u8]) -> Value {
    let hex: Vec<String> = found.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({"bytes": found, "hex": hex.join(" ")})
}

pub(crate) async fn read(pins: Pins, _: Cx, args: I2cRead) -> Result<Output> {
    check_address(args.address)?;
    let length = usize::from(args.length.unwrap_or(1));
    if !(1..=MAX_TRANSFER).contains(&length) {
        return Err(Error::bad_args(format!("`length` is {length}: give 1 to {MAX_TRANSFER} bytes")));
    }
    let register = args.register.into_iter().collect();
    let found = pins.board.i2c(args.bus.unwrap_or(I2C_BUS), args.address, register, length).await?;
    Output::json(bytes(&found))
}

/// Write bytes to a device on an I2C bus, to a register or as they are.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct I2cWrite {
    /// Address of the device, 8 to 119 (0x08 to 0x77).
    #[schemars(range(min = 8, max = 119))]
    address: u8,
    /// The register to write to.
    register: Option<u8>,
    /// The bytes.
    #[schemars(length(min = 1, max = 255))]
    data: Vec<u8>,
    /// Bus (default: 1, at pins 2 and 3).
    bus: Option<u8>,
}

pub(crate) async fn write(pins: Pins, _: Cx, args: I2cWrite) -> Result<Output> {
    check_address(args.address)?;
    check_data(&args.data, MAX_TRANSFER - 1)?;
    let length = args.data.len();
    let sent = args.register.into_iter().chain(args.data).collect();
    pins.board.i2c(args.bus.unwrap_or(I2C_BUS), args.address, sent, 0).await?;
    pins.used.note();
    let sentence = format!("{} written to {:#04x}.", counted(length, "byte"), args.address);
    Ok(Output::json(json!({"written": length}))?.say(sentence))
}

fn check_data(data: &[u8], most: usize) -> Result<()> {
    let wrong = || Error::bad_args(format!("`data` has {} bytes: give 1 to {most}", data.len()));
    (1..=most).contains(&data.len()).then_some(()).ok_or_else(wrong)
}

/// Send bytes to a device on SPI, and return as many that come back.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpiArgs {
    /// The bytes to send.
    #[schemars(length(min = 1, max = 256))]
    data: Vec<u8>,
    /// Bus (default: 0).
    #[schemars(range(max = 1))]
    bus: Option<u8>,
    /// Chip select (default: 0).
    #[schemars(range(max = 2))]
    chip_select: Option<u8>,
    /// Clock (default: 500000).
    #[schemars(range(min = 4_000, max = 50_000_000))]
    hertz: Option<u32>,
    /// Mode, by clock polarity and phase (default: 0).
    #[schemars(range(max = 3))]
    mode: Option<u8>,
}

pub(crate) async fn transfer(pins: Pins, _: Cx, args: SpiArgs) -> Result<Output> {
    check_data(&args.data, MAX_TRANSFER)?;
    let within = |name: &str, value: Option<u8>, most: u8| match value.unwrap_or_default() {
        value if value <= most => Ok(value),
        value => Err(Error::bad_args(format!("`{name}` is {value}: give 0 to {most}"))),
    };
    let hertz = args.hertz.unwrap_or(SPI_HERTZ);
    if !(SPI_RANGE.0..=SPI_RANGE.1).contains(&hertz) {
        return Err(Error::bad_args(format!("`hertz` is {hertz}: give {} to {}", SPI_RANGE.0, SPI_RANGE.1)));
    }
    let transfer = SpiTransfer {
        bus: within("bus", args.bus, 1)?,
        chip_select: within("chip_select", args.chip_select, 2)?,
        hertz,
        mode: within("mode", args.mode, 3)?,
        data: args.data,
    };
    let back = pins.board.spi(transfer).await?;
    pins.used.note();
    Output::json(bytes(&back))
}

/// Read all 1-Wire temperature sensors (DS18B20 and the like), in °C.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Temperatures {}

pub(crate) async fn temperatures(pins: Pins, _: Cx, Temperatures {}: Temperatures) -> Result<Output> {
    let sensors = pins.board.thermometers().await?;
    let word = |sensor: &board::Thermometer| match sensor.temperature {
        Some(temperature) => format!("{} reads {temperature} °C", sensor.id),
        None => format!("{} cannot be read", sensor.id),
    };
    let words: Vec<String> = sensors.iter().map(word).collect();
    let sentence = match words.as_slice() {
        [] => "No 1-Wire temperature sensor is connected.".to_owned(),
        some => format!("{}.", join_and(some)),
    };
    Ok(Output::json(json!({"sensors": sensors}))?.say(sentence))
}
