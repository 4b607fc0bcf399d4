//! `hob db`: the SQL database of the owner's agent as a file.

use super::{client::Client, terminal::put};
use anyhow::{Context, Result, bail};
use futures::StreamExt;
use std::{
    io::{ErrorKind, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

/// The largest file that the daemon takes, in bytes.
const MOST: u64 = 100 << 20;

/// Commands of the database.
#[derive(clap::Subcommand)]
pub enum DatabaseCommand {
    /// Write the database into FILE, which any program with SQLite opens.
    Export {
        /// A file that does not exist yet.
        file: PathBuf,
    },
    /// Replace the database with the SQLite file FILE, after a check.
    Import {
        /// A database of 100 MB at most.
        file: PathBuf,
        /// You vouch for what is in the file. Otherwise it counts as content from outside, and the agent asks before it acts
        /// after reading it.
        #[arg(long)]
        vouch: bool,
    },
}

pub async fn database(client: &Client, command: DatabaseCommand) -> Result<()> {
    match command {
        DatabaseCommand::Export { file } => export(client, &file).await,
        DatabaseCommand::Import { file, vouch } => import(client, &file, vouch).await,
    }
}

async fn export(client: &Client, file: &Path) -> Result<()> {
    let shown = file.display();
    let mut out = match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!("{shown} exists already: choose another name"),
        opened => {
            opened.with_context(|| format!("could not create {shown}: choose a folder that exists and is writable"))?
        }
    };
    let write = async {
        let mut chunks = client.stream("GET", "/api/v1/database/export", None).await?.into_stream().boxed();
        let mut size = 0;
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk?;
            size += chunk.len();
            out.write_all(&chunk)?;
        }
        out.sync_all()?;
        anyhow::Ok(size)
    };
    match write.await {
        Ok(size) => {
            put(format_args!("wrote {shown} ({size} bytes)\n"))?;
            Ok(())
        }
        Err(error) => {
            // Half a database is worse than none.
            let _ = std::fs::remove_file(file);
            Err(error.context(format!("{shown} was not written")))
        }
    }
}

async fn import(client: &Client, file: &Path, vouch: bool) -> Result<()> {
    let shown = file.display();
    let opened = store::open_plain(file).with_context(|| format!("could not read {shown}"))?;
    let mut bytes = vec![];
    opened.take(MOST + 1).read_to_end(&mut bytes).with_context(|| format!("could not read {shown}"))?;
    if bytes.len() as u64 > MOST {
        bail!("{shown} has more than 100 MB, and a database takes no more: remove something first");
    }
    let imported = client.send("POST", &format!("/api/v1/database/import?vouch={vouch}"), bytes).await?;
    let tables = imported["tables"].as_array().map_or(0, Vec::len);
    let tables = text_kit::counted(tables, "table");
    put(format_args!("imported {shown}: {tables}, {} bytes\n", imported["bytes"]))?;
    Ok(())
}
