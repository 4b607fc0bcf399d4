//! The parts that care for the device.

use super::{
    factory_reset,
    restart::{FailedRestore, tell_failed},
};
use crate::config::{Config, support};
use board::Board;
use care::{Care, Copying, Parts, PowerConfig, Telling};
use futures::FutureExt;
use records::{Addressee, Notice, tell_notice};
use scrub::Scrubber;
use std::{path::Path, sync::Arc};
use store::{Collection, Store};
use tool::{Channel, Cx, Ports, Principal, Result, Via};
use uploads::Uploads;

/// Its settings.
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
    (config, restore, data): (CareConfig, Option<FailedRestore>, &Path),
    store: &Store,
    uploads: &Uploads,
    board: &Board,
    ports: &Ports,
    scrubber: &Scrubber,
) -> Care {
    let uploads = uploads.clone();
    let copy: Copying = Arc::new(move |file, options| {
        let uploads = uploads.clone();
        async move { uploads.backup(file, options).await }.boxed()
    });
    let power = config.power.clone();
    let may = rustix::process::getuid().is_root() || store.folder().is_some_and(factory_reset::is_image);
    let care = Care::new(Parts {
        store: store.clone(),
        ports: ports.clone(),
        board: board.clone(),
        scrubber: scrubber.clone(),
        copy,
        tell: telling(store, ports),
        power: config.power,
        daily_write_mb: config.daily_write_mb,
        config: config.shown,
    });
    care.checks.add(move || power.stays_on(may));
    tell_failed(restore, data, &care.checks, telling(store, ports));
    care
}

/// Notices of Hob's own for everybody.
fn telling(store: &Store, ports: &Ports) -> Telling {
    let (records, ports) = (store.collection(), ports.clone());
    Arc::new(move |title, text| {
        let notice = Notice { title: Some(title), text, ..Notice::default() };
        tell_everybody(records.clone(), ports.clone(), notice).boxed()
    })
}

async fn tell_everybody(records: Collection<Notice>, ports: Ports, notice: Notice) -> Result<()> {
    let cx = Cx::root(ports, Principal::owner(), Via::direct(Channel::Machine));
    let (people, to) = (Addressee::Everyone.people(&cx)?, records.clone());
    let write = move |tx: &store::Tx| {
        people.iter().map(|user| notice.clone().put(tx, &to, *user, "care")).collect::<store::Result<Vec<_>>>()
    };
    let added = records.store().write(write).await?;
    added.iter().for_each(|entry| tell_notice(&cx, entry));
    Ok(())
}
