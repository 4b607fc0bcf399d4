//! The parts that care for the device.

use crate::config::{Config, support};
use board::Board;
use care::{Care, Copying, Parts, PowerConfig};
use futures::FutureExt;
use scrub::Scrubber;
use std::sync::Arc;
use store::Store;
use tool::Ports;
use uploads::Uploads;

/// What is configured of it.
pub struct CareConfig {
    power: PowerConfig,
    daily_write_mb: u64,
    shown: String,
}

impl CareConfig {
    pub fn of(config: &Config) -> Self {
        let (power, daily_write_mb) = (config.power.clone(), config.storage.daily_write_mb);
        Self { power, daily_write_mb, shown: support::shown(config) }
    }
}

pub fn care(
    config: CareConfig,
    store: &Store,
    uploads: &Uploads,
    board: &Board,
    ports: &Ports,
    scrubber: &Scrubber,
) -> Care {
    let uploads = uploads.clone();
    let copy: Copying = Arc::new(move |file, passphrase| {
        let uploads = uploads.clone();
        async move { uploads.backup(file, passphrase).await }.boxed()
    });
    Care::new(Parts {
        store: store.clone(),
        ports: ports.clone(),
        board: board.clone(),
        scrubber: scrubber.clone(),
        copy,
        power: config.power,
        daily_write_mb: config.daily_write_mb,
        config: config.shown,
    })
}
