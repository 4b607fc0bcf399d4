//! Serial ports.

use crate::pins::Pins;
use board::{BAUD_RATES, MAX_SERIAL, MAX_SERIAL_WAIT, SerialTransfer};
use std::time::Duration;
use text_kit::{counted, one_line, truncate};
use tool::{Label, prelude::*};

/// The speed, the wait and the most bytes by default.
const BAUD: u32 = 115_200;
const WAIT_MS: u32 = 1000;
const READ: u16 = 256;

/// Send text or bytes to a device on a serial port (UART), and return what it answers. Only ports that hob.toml lists in
/// `serial.allow`. 8 data bits, no parity, 1 stop bit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SerialArgs {
    /// The port, such as `/dev/ttyUSB0`.
    #[schemars(length(min = 1, max = 100))]
    port: String,
    /// Text to send, with its line end: `TEMP?\n`.
    #[schemars(length(max = 1024))]
    text: Option<String>,
    /// Bytes to send, instead of text.
    #[schemars(length(max = 1024))]
    data: Option<Vec<u8>>,
    /// Speed: 300 to 1000000 (default: 115200).
    #[schemars(range(min = 300, max = 1_000_000))]
    baud: Option<u32>,
    /// The most bytes to read (default: 256). 0: none.
    #[schemars(range(max = 1024))]
    read: Option<u16>,
    /// How long to wait for them (default: 1000).
    #[schemars(range(min = 1, max = 10_000))]
    timeout_ms: Option<u32>,
    /// Whether reading ends with a line (default: false).
    line: Option<bool>,
}

pub(crate) async fn transfer(pins: Pins, cx: Cx, args: SerialArgs) -> Result<Output> {
    let data = match (args.text, args.data) {
        (Some(_), Some(_)) => return Err(Error::bad_args("give `text` or `data`, not both")),
        (text, data) => text.map(String::into_bytes).or(data).unwrap_or_default(),
    };
    let read = usize::from(args.read.unwrap_or(READ));
    if data.len() > MAX_SERIAL || read > MAX_SERIAL {
        let most = data.len().max(read);
        return Err(Error::bad_args(format!("{most} bytes are too many for one transfer: {MAX_SERIAL} at most")));
    }
    if data.is_empty() && read == 0 {
        return Err(Error::bad_args("there is nothing to send and nothing to read: give `text`, `data` or `read`"));
    }
    let baud = args.baud.unwrap_or(BAUD);
    if !BAUD_RATES.contains(&baud) {
        let all: Vec<String> = BAUD_RATES.iter().map(u32::to_string).collect();
        return Err(Error::bad_args(format!("`baud` is {baud}: use one of {}", all.join(", "))));
    }
    let wait = Duration::from_millis(args.timeout_ms.unwrap_or(WAIT_MS).into());
    if wait.is_zero() || wait > MAX_SERIAL_WAIT {
        return Err(Error::bad_args(format!("`timeout_ms` is {}: give 1 to 10000", wait.as_millis())));
    }
    let (sent, line) = (data.len(), args.line.unwrap_or_default());
    let asked = SerialTransfer { port: args.port, baud, data, read, wait, line };
    let back = pins.board.serial(asked).await?;
    pins.used.note();
    let hex: Vec<String> = back.iter().map(|byte| format!("{byte:02x}")).collect();
    let text =
        std::str::from_utf8(&back).ok().filter(|text| !text.contains(|c: char| c.is_control() && !c.is_whitespace()));
    let sentence = match (back.len(), text) {
        (0, _) if read == 0 => format!("{} sent.", counted(sent, "byte")),
        (0, _) => "Nothing came back.".to_owned(),
        (_, Some(text)) => format!("It answers “{}”.", truncate(&one_line(text.trim()), 200)),
        (length, None) => format!("{} came back.", counted(length, "byte")),
    };
    // What a device says, such as a modem, may be written by a stranger.
    if !back.is_empty() {
        cx.taint(Label::Outside);
    }
    Ok(Output::json(json!({"sent": sent, "bytes": back, "hex": hex.join(" "), "text": text}))?.say(sentence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use board::{Board, BoardKind, SerialConfig};
    use std::sync::Arc;
    use store::Store;
    use tool::{Channel, Ports, Principal, SystemClock, Via};

    #[tokio::test]
    async fn a_device_at_a_serial_port_answers() {
        let board = Board::open(BoardKind::Sim);
        let tools = crate::gpio(Pins::open(board.clone(), &Store::in_memory().unwrap()).unwrap()).into_parts().tools;
        let ports = Ports::unconnected(Arc::new(SystemClock::new(None).unwrap()));
        let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Api));
        let ask = async |args: Value| {
            let tool = tools.iter().find(|tool| &*tool.name == "serial_transfer").unwrap();
            (tool.run)(cx.clone(), args).await
        };
        let port = "/dev/ttySIM0";
        let identify = json!({"port": port, "text": "*IDN?\n"});
        let why = ask(identify.clone()).await.unwrap_err();
        assert!(matches!(&why, Error::Denied(text) if text.contains("[serial]")), "{why}");
        board.allow_serial(SerialConfig { allow: vec![port.into(), "/dev/ttyUSB7".into()] });
        assert_eq!(cx.label(), Label::Own);
        let told = ask(identify).await.unwrap();
        assert_eq!(told.content["text"], "Hob,simulated thermometer,1\n");
        assert_eq!(cx.label(), Label::Outside);
        let args = json!({"port": port, "data": b"TEMP?\nTEMP?\n", "line": true, "baud": 9600});
        assert_eq!(ask(args).await.unwrap().content["text"], "21.50\n");
        assert!(board.simulator().unwrap().temperature("i2c", -4.0));
        assert_eq!(ask(json!({"port": port, "text": "TEMP?\n"})).await.unwrap().content["hex"], "2d 34 2e 30 30 0a");
        for (args, part) in [
            (json!({"port": port}), ""),
            (json!({"port": port, "read": 0}), "nothing to send"),
            (json!({"port": port, "text": "a", "data": [1]}), "not both"),
            (json!({"port": port, "text": "a", "baud": 12345}), "9600"),
            (json!({"port": port, "text": "x".repeat(1025)}), "1024 at most"),
            (json!({"port": port, "read": 2000}), "1024 at most"),
            (json!({"port": port, "text": "a", "timeout_ms": 0}), "1 to 10000"),
            (json!({"port": "/dev/ttyUSB7", "text": "a"}), "/dev/ttySIM0"),
            (json!({"port": "/etc/passwd", "text": "a"}), "may not be used"),
        ] {
            match ask(args.clone()).await {
                Ok(told) => assert_eq!((part, told.say.as_deref()), ("", Some("Nothing came back.")), "{args}"),
                Err(why) => assert!(!part.is_empty() && why.message().contains(part), "{args}: {why}"),
            }
        }
    }
}
