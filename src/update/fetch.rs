//! Getting a bundle: from the release a channel offers, by HTTP ranges, or from a file.

use crate::{
    channel::ChannelRelease,
    error::Result,
    install::{Plan, Updater},
};
use std::{path::Path, sync::Arc};

/// A newer release that a channel offers this device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    /// The release.
    pub release: ChannelRelease,
    /// The absolute URL of its bundle.
    pub url: String,
}

/// Fetches the channel at `url`, verifies signature, expiry and serial, and returns the newest release for this device above the
/// running one; `None` when there is none.
///
/// # Errors
/// `Network`; `Refused` when it is not signed by a trusted key, has expired, or is older than one seen before.
pub async fn check(updater: &Arc<Updater>, url: &str) -> Result<Option<Offer>> {
    todo!()
}

/// Fetches the ranges of an offered bundle that the device lacks, through [`Updater::begin`] and [`Updater::put`]. Then call
/// [`Updater::stage`]. Interrupted and called again it resumes.
///
/// # Errors
/// `Network`, and those of the updater.
pub async fn download(updater: &Arc<Updater>, offer: &Offer) -> Result<Plan> {
    todo!()
}

/// Takes a bundle from a file (a USB stick, `hob update install FILE` without a daemon). Blocks on the disk.
///
/// # Errors
/// Those of the updater; `Disk` when the file cannot be read.
pub fn take_file(updater: &Updater, file: &Path) -> Result<Plan> {
    todo!()
}
