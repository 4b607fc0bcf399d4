//! Digital lines of any Linux board through the GPIO character device.

use crate::{
    Error, Pin, Result,
    buses::{Buses, LinuxBuses},
    driver::{Driver, Sink},
    edge_thread::EdgeThread,
    settings::{Direction, Pull},
};
use gpiocdev::{
    Request,
    chip::Chip,
    line::{Bias, Direction as LineDirection, EdgeDetection, Value},
};
use std::{collections::BTreeMap, fs::File, io, path::PathBuf, sync::Arc};

/// The advice for device files without permission.
pub(crate) const JOIN_GROUP: &str =
    "add Hob's user to the group `gpio` (`sudo usermod -aG gpio USER`) and start it again";

/// Labels of the chips behind a Raspberry Pi header. Their numbers changed between models and kernels.
const HEADERS: [&str; 4] = ["pinctrl-rp1", "pinctrl-bcm2711", "pinctrl-bcm2835", "raspberrypi,gpio"];

/// The lines of one GPIO chip: line n is pin n.
pub(crate) struct Cdev {
    path: PathBuf,
    lines: u32,
    /// Closing a request releases its line, so requests live as long as the board.
    outputs: BTreeMap<Pin, Request>,
    inputs: BTreeMap<Pin, Arc<Request>>,
    /// Waits for edges, once a line is watched.
    edges: Option<EdgeThread>,
    /// The lines that ended threads had lost, until they are asked for.
    lost: Vec<Pin>,
    sink: Sink,
}

struct ChipLine {
    path: PathBuf,
    label: String,
    lines: u32,
}

impl Cdev {
    /// Opens the chip of the header, else the first that is meant for wiring; says which, or in words why none.
    pub(crate) fn open(sink: Sink) -> Result<(Self, String), String> {
        let mut found = Vec::new();
        let mut closed = None;
        for path in gpiocdev::chip::chips().unwrap_or_default() {
            match File::open(&path) {
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => closed = Some(path),
                Err(_) => {}
                Ok(_) => found.extend(Chip::from_path(&path).and_then(|chip| chip.info()).ok().map(|info| ChipLine {
                    path,
                    label: info.label,
                    lines: info.num_lines,
                })),
            }
        }
        match (choose(found), closed) {
            (Some(chip), _) => {
                let named = format!("`{}` at {}", chip.label, chip.path.display());
                let (outputs, inputs) = (BTreeMap::new(), BTreeMap::new());
                Ok((
                    Self { path: chip.path, lines: chip.lines, outputs, inputs, edges: None, lost: vec![], sink },
                    named,
                ))
            }
            (None, Some(path)) => Err(format!("no permission for {}: {JOIN_GROUP}", path.display())),
            (None, None) => {
                Err("this machine has no GPIO header; start Hob with `--board sim` to try it without".into())
            }
        }
    }

    fn request(&self, pin: Pin, output: Option<Value>) -> Result<Request> {
        let mut builder = Request::builder();
        builder.on_chip(&self.path).with_consumer("hob").with_line(pin.number().into());
        match output {
            Some(value) => builder.as_output(value),
            None => builder.as_is(),
        };
        builder.request().map_err(failed(pin))
    }

    fn request_input(&self, pin: Pin, pull: Option<Pull>, edges: bool) -> gpiocdev::Result<Request> {
        let mut builder = Request::builder();
        builder.on_chip(&self.path).with_consumer("hob").with_line(pin.number().into()).as_input();
        builder.with_bias(pull.map(|pull| match pull {
            Pull::Off => Bias::Disabled,
            Pull::Up => Bias::PullUp,
            Pull::Down => Bias::PullDown,
        }));
        if edges {
            builder.with_edge_detection(EdgeDetection::BothEdges);
        }
        builder.request()
    }

    /// Releases an input, so that another driver of this process may use the line.
    pub(crate) fn release_input(&mut self, pin: Pin) {
        self.inputs.remove(&pin);
        // The line is free when the thread has let go of it, too.
        if let Some(edges) = &self.edges {
            edges.remove(pin);
        }
    }
}

fn choose(mut found: Vec<ChipLine>) -> Option<ChipLine> {
    let header = HEADERS.iter().find_map(|label| found.iter().position(|chip| chip.label == *label));
    let any = || found.iter().position(|chip| !is_internal(&chip.label));
    let index = header.or_else(any)?;
    Some(found.swap_remove(index))
}

/// Chips that drive parts of the machine itself: the ACPI chips of PCs (`INT34C5:00`, `AMDI0030:00`) and the
/// firmware's expanders of a Raspberry Pi (power of the SD card, the camera, the radio).
fn is_internal(label: &str) -> bool {
    let acpi = label.split_once(':').is_some_and(|(id, number)| {
        id.len() >= 7 && id.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit()) && number.len() == 2
    });
    acpi || label.contains("exp-gpio") || label.contains("brcm")
}

fn failed(pin: Pin) -> impl Fn(gpiocdev::Error) -> Error {
    move |why| {
        let what = why.to_string();
        let busy = what.contains("EBUSY") || what.to_lowercase().contains("busy");
        let what = if busy { "another program or driver holds it".to_owned() } else { what };
        Error::Failed { pin, what }
    }
}

impl Driver for Cdev {
    fn name(&self) -> &'static str {
        "cdev"
    }
    fn has(&self, pin: Pin) -> bool {
        u32::from(pin.number()) < self.lines
    }
    fn read(&mut self, pin: Pin) -> Result<bool> {
        let line = pin.number().into();
        let value = match (self.outputs.get(&pin), self.inputs.get(&pin)) {
            (Some(output), _) => output.value(line),
            (None, Some(input)) => input.value(line),
            (None, None) => self.request(pin, None)?.value(line),
        };
        Ok(value.map_err(failed(pin))? == Value::Active)
    }
    fn write(&mut self, pin: Pin, high: bool) -> Result<()> {
        let value = if high { Value::Active } else { Value::Inactive };
        match self.outputs.get(&pin) {
            Some(output) => output.set_value(pin.number().into(), value).map_err(failed(pin)),
            None => {
                self.release_input(pin);
                let output = self.request(pin, Some(value))?;
                self.outputs.insert(pin, output);
                Ok(())
            }
        }
    }
    fn input(&mut self, pin: Pin, pull: Option<Pull>) -> Result<bool> {
        self.outputs.remove(&pin);
        self.release_input(pin);
        // Lines without an interrupt can only be read.
        let (request, watched) = match self.request_input(pin, pull, true) {
            Ok(request) => (request, true),
            Err(_) => (self.request_input(pin, pull, false).map_err(failed(pin))?, false),
        };
        let request = Arc::new(request);
        self.inputs.insert(pin, request.clone());
        if watched {
            let edges = match self.edges.take() {
                Some(edges) if edges.is_running() => edges,
                ended => {
                    self.lost.extend(ended.iter().flat_map(EdgeThread::lost).filter(|lost| *lost != pin));
                    EdgeThread::start(self.sink.clone())?
                }
            };
            self.edges.insert(edges).add(pin, request);
        }
        Ok(watched)
    }
    fn direction(&mut self, pin: Pin) -> Option<Direction> {
        let info = Chip::from_path(&self.path).and_then(|chip| chip.line_info(pin.number().into())).ok()?;
        let own = self.outputs.contains_key(&pin) || self.inputs.contains_key(&pin);
        (own || !info.used).then_some(match info.direction {
            LineDirection::Input => Direction::Input,
            LineDirection::Output => Direction::Output,
        })
    }
    fn lost(&mut self) -> Vec<Pin> {
        let of_thread = self.edges.as_ref().map(EdgeThread::lost).unwrap_or_default();
        self.lost.drain(..).chain(of_thread).collect()
    }
    fn buses(&self) -> Arc<dyn Buses> {
        Arc::new(LinuxBuses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_found_by_its_label() {
        let table: [(&[&str], Option<&str>); 8] = [
            (&["gpio-brcmstb@107d508500", "pinctrl-rp1", "raspberrypi-exp-gpio"], Some("pinctrl-rp1")),
            (&["pinctrl-bcm2711", "raspberrypi-exp-gpio"], Some("pinctrl-bcm2711")),
            (&["raspberrypi-exp-gpio", "brcmvirt-gpio", "pinctrl-bcm2835"], Some("pinctrl-bcm2835")),
            (&["raspberrypi-exp-gpio", "brcmvirt-gpio", "gpio-brcmstb@7d517c00"], None),
            (&["INT34C5:00"], None),
            (&["AMDI0030:00", "ftdi-cbus"], Some("ftdi-cbus")),
            (&["1c20800.pinctrl", "1f02c00.pinctrl"], Some("1c20800.pinctrl")),
            (&[], None),
        ];
        for (labels, expected) in table {
            let found = |label: &&str| ChipLine { path: PathBuf::new(), label: (*label).to_owned(), lines: 28 };
            let chosen = choose(labels.iter().map(found).collect());
            assert_eq!(chosen.map(|chip| chip.label).as_deref(), expected, "{labels:?}");
        }
    }
}
