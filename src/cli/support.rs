//! `hob support`: a text about the device for those who help.

use super::{client::Client, terminal::put};
use anyhow::{Context, Result, bail};
use std::{
    io::{ErrorKind, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

/// The largest text, in bytes.
const MAX_SIZE: usize = 8 << 20;

/// Writes the support bundle to `file`.
pub async fn support(client: &Client, file: &Path) -> Result<()> {
    let shown = file.display();
    let mut out = match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists already: choose another name"),
        opened => {
            opened.with_context(|| format!("could not create {shown}: choose a folder that exists and is writable"))?
        }
    };
    let write = async {
        let text = client.stream("POST", "/api/v1/support", None).await?.bytes(MAX_SIZE).await?;
        out.write_all(&text)?;
        out.sync_all()?;
        anyhow::Ok(text.len())
    };
    match write.await {
        Ok(size) => put(format_args!("wrote {shown} ({size} bytes): read it before you send it\n")).map_err(Into::into),
        Err(error) => {
            let _ = std::fs::remove_file(file);
            Err(error.context(format!("{shown} was not written")))
        }
    }
}
