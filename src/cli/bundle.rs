//! `hob bundle`: keys, and making and checking update bundles. Needs neither data nor a running Hob.

use super::terminal::{plain, put};
use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use std::{
    fs,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};
use update::{
    builder::{self, Contents},
    bundle::{Head, head_id, parts},
    channel::{Channel, ChannelRelease},
    keys::{Keyring, Origin, Protection, SigningKey, generate},
    manifest::{Manifest, Payload, target},
};

/// The password of secret keys, for builds without a terminal.
const PASSWORD: &str = "HOB_BUNDLE_PASSWORD";

#[derive(Subcommand)]
pub enum BundleCommand {
    /// Make a pair of keys: NAME.key signs bundles, NAME.pub goes into `update.keys` of the devices.
    Keygen {
        /// Path of the two files, without their endings.
        name: PathBuf,
        /// Do not protect the secret key with a password; else it is asked for, or taken from HOB_BUNDLE_PASSWORD.
        #[arg(long)]
        no_password: bool,
    },
    /// Make a bundle: of the program with --app, or of a whole system with --boot and --root.
    Build(Box<BuildArgs>),
    /// Print what a bundle says about itself, without checking it.
    Inspect {
        /// The bundle, or its head.
        file: PathBuf,
        /// Write the signed manifest to FILE and its signature to FILE.minisig, for `minisign -V`.
        #[arg(long, value_name = "FILE")]
        manifest: Option<PathBuf>,
        /// Print the manifest as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make the signed file of an update channel, which offers bundles: FILE and FILE.minisig.
    Channel(ChannelArgs),
    /// Check the signature and every byte of a bundle.
    Verify {
        /// The bundle.
        file: PathBuf,
        /// A public key to trust, as a file or its text; the built-in keys if left out. Repeatable.
        #[arg(long, value_name = "KEY")]
        key: Vec<String>,
    },
}

#[derive(Args)]
pub struct BuildArgs {
    /// The bundle to write.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// A secret key file; repeatable, to sign with the next key as well.
    #[arg(long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,
    /// The version, such as 1.2.3.
    #[arg(long)]
    version: semver::Version,
    /// A number that rises with each release; devices never go back below one they confirmed.
    #[arg(long)]
    serial: u64,
    /// The program, for devices that run `hob supervise`.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["boot", "root"], required_unless_present = "root")]
    app: Option<PathBuf>,
    /// The boot image of a whole system.
    #[arg(long, value_name = "FILE", requires = "root")]
    boot: Option<PathBuf>,
    /// The root image of a whole system.
    #[arg(long, value_name = "FILE", requires = "boot")]
    root: Option<PathBuf>,
    /// Machines it is for, such as aarch64-linux; this one if left out. Repeatable.
    #[arg(long, value_name = "ARCH-OS")]
    target: Vec<String>,
    /// Boards it is for, such as rpi; all if left out. Repeatable.
    #[arg(long)]
    board: Vec<String>,
    /// The oldest version that may install it.
    #[arg(long, value_name = "VERSION")]
    minimum_version: Option<semver::Version>,
    /// A text file with release notes.
    #[arg(long, value_name = "FILE")]
    notes: Option<PathBuf>,
    /// An earlier bundle: devices that have its version then fetch only the differences. Repeatable.
    #[arg(long, value_name = "FILE")]
    from: Vec<PathBuf>,
    /// An earlier program, as --from.
    #[arg(long, value_name = "FILE", requires = "app")]
    from_app: Vec<PathBuf>,
    /// The public key that signs after the present one, as a file or its text; devices trust it once they confirmed this version.
    #[arg(long, value_name = "KEY")]
    next_key: Option<String>,
    /// How hard to compress.
    #[arg(long, value_enum, default_value = "best")]
    compression: Compression,
}

#[derive(Args)]
pub struct ChannelArgs {
    /// The file to write, such as stable.json; an earlier one is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// A secret key file.
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// A number that rises each time; devices take no lower one than they have seen.
    #[arg(long)]
    serial: u64,
    /// The name of the channel.
    #[arg(long, default_value = "stable")]
    name: String,
    /// Days until it expires: sign it again before.
    #[arg(long, default_value_t = 60)]
    days: u32,
    /// The address of the folder with the bundles, if it is not that of the channel's file.
    #[arg(long, value_name = "URL")]
    base: Option<String>,
    /// The bundles it offers.
    #[arg(required = true)]
    bundle: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Compression {
    Fast,
    Best,
}

/// Runs a command about bundles.
pub fn bundle(command: BundleCommand) -> Result<()> {
    match command {
        BundleCommand::Keygen { name, no_password } => keygen(&name, no_password),
        BundleCommand::Build(args) => build(*args),
        BundleCommand::Inspect { file, manifest, json } => inspect(&file, manifest.as_deref(), json),
        BundleCommand::Channel(args) => channel(args),
        BundleCommand::Verify { file, key } => verify(&file, &key),
    }
}

fn write_new(path: &Path, text: &str, mode: u32) -> Result<()> {
    let opened = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path);
    let mut file = opened.with_context(|| format!("{} cannot be created: choose another name", path.display()))?;
    file.write_all(text.as_bytes())?;
    Ok(file.sync_all()?)
}

/// A path with an ending added, whatever dots it has.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

fn password() -> Option<String> {
    std::env::var(PASSWORD).ok().filter(|password| !password.is_empty())
}

fn keygen(name: &Path, no_password: bool) -> Result<()> {
    let (public, secret) = (with_ending(name, ".pub"), with_ending(name, ".key"));
    if let Some(there) = [&public, &secret].into_iter().find(|path| path.exists()) {
        bail!("{} exists already: choose another name", there.display());
    }
    let password = password();
    let keys = generate(match (&password, no_password) {
        (_, true) => Protection::None,
        (Some(password), false) => Protection::Password(password),
        (None, false) => Protection::Ask,
    })?;
    write_new(&secret, &keys.secret, 0o600)?;
    write_new(&public, &keys.public, 0o644)?;
    put(format_args!(
        "wrote {} (keep it secret, and a copy in a safe place) and {}\nkey {}; devices trust it with this in hob.toml:\n\n[update]\nkeys = [\"{}\"]\n",
        secret.display(),
        public.display(),
        keys.key_id,
        keys.public.lines().last().unwrap_or_default()
    ))?;
    Ok(())
}

/// A public key from a file or as text.
fn key_text(given: &str) -> Result<String> {
    match Path::new(given).exists() {
        true => fs::read_to_string(given).with_context(|| format!("{given} cannot be read")),
        false => Ok(given.to_owned()),
    }
}

fn build(args: BuildArgs) -> Result<()> {
    let mut keys = vec![];
    for path in &args.key {
        let text = fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
        keys.push(SigningKey::read(&text, password().as_deref())?);
    }
    let next_key = args.next_key.as_deref().map(key_text).transpose()?;
    let next_key = next_key.map(|text| text.lines().last().unwrap_or_default().trim().to_owned());
    if let Some(key) = &next_key {
        Keyring::default().add(key, Origin::Announced)?;
    }
    let notes = args.notes.as_deref().map(fs::read_to_string).transpose().context("the notes cannot be read")?;
    let (payload, images) = match (args.app, args.boot, args.root) {
        (Some(app), _, _) => (Payload::App, vec![app]),
        (None, Some(boot), Some(root)) => (Payload::System, vec![boot, root]),
        _ => bail!("give --app, or --boot and --root"),
    };
    let mut bases: Vec<_> = args.from_app.into_iter().map(|path| ("hob".to_owned(), path)).collect();
    let scratch = Scratch(with_ending(&args.out, ".bases"));
    for (at, path) in args.from.iter().enumerate() {
        bases.extend(extract(path, payload, &scratch.0.join(at.to_string()))?);
    }
    let contents = Contents {
        version: args.version,
        serial: args.serial,
        payload,
        targets: if args.target.is_empty() { vec![target()] } else { args.target },
        boards: args.board,
        data_schema: update::DATA_SCHEMA,
        data_schema_min: 0,
        minimum_version: args.minimum_version,
        notes: notes.unwrap_or_default(),
        next_key,
        images,
        bases,
        level: match args.compression {
            Compression::Fast => 3,
            Compression::Best => builder::LEVEL,
        },
    };
    let built = builder::build(&contents, &keys, &args.out)?;
    let shown = args.out.display();
    put(format_args!("wrote {shown}: {} bytes in {} chunks, head {} bytes\n", built.length, built.chunks, built.head))?;
    for ((image, path), bytes) in contents.bases.iter().zip(&built.from_bases) {
        let share = *bytes as f64 * 100.0 / built.length as f64;
        let path = path.strip_prefix(&scratch.0).unwrap_or(path).display();
        put(format_args!("a device with the earlier image {image} ({path}) fetches {bytes} bytes, {share:.1} %\n"))?;
    }
    Ok(())
}

/// A folder that is removed in the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Takes the images out of an earlier bundle. It is a base for differences only, so its signature does not matter; its hashes do.
fn extract(path: &Path, payload: Payload, folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let head = Head::read_unsigned(&builder::read_head(path)?)?;
    if head.manifest.payload != payload {
        bail!("{} has {}: give an earlier bundle of the same kind", path.display(), head.manifest.payload.words());
    }
    fs::create_dir_all(folder)?;
    let mut images = vec![];
    for (at, image) in head.manifest.images.iter().enumerate() {
        let to = folder.join(&image.name);
        builder::extract(path, &head, at, &mut fs::File::create(&to)?)?;
        images.push((image.name.clone(), to));
    }
    Ok(images)
}

fn describe(manifest: &Manifest) -> String {
    let list = |words: &[String]| if words.is_empty() { "all".to_owned() } else { words.join(", ") };
    let mut text = format!(
        "version  {} (serial {})\npayload  {}\nmachines {}\nboards   {}\ndata     schema {}, reads from {}\n",
        manifest.version,
        manifest.serial,
        manifest.payload.words(),
        list(&manifest.targets),
        list(&manifest.boards),
        manifest.data_schema,
        manifest.data_schema_min
    );
    for image in &manifest.images {
        text += &format!("image    {}: {} bytes, SHA-256 {}\n", image.name, image.length, image.sha256);
    }
    if let Some(minimum) = &manifest.minimum_version {
        text += &format!("from     version {minimum} on\n");
    }
    if let Some(key) = &manifest.next_key {
        text += &format!("next key {key}\n");
    }
    if !manifest.notes.is_empty() {
        text += &format!("\n{}\n", manifest.notes.trim_end());
    }
    plain(&text)
}

fn inspect(file: &Path, manifest: Option<&Path>, json: bool) -> Result<()> {
    let head = builder::read_head(file)?;
    let parts = parts(&head)?;
    if let Some(path) = manifest {
        let signature = with_ending(path, ".minisig");
        fs::write(path, parts.manifest).with_context(|| format!("{} cannot be written", path.display()))?;
        fs::write(&signature, parts.signatures)
            .with_context(|| format!("{} cannot be written", signature.display()))?;
        put(format_args!("wrote {} and {}: minisign -V -p KEY.pub -m {0}\n", path.display(), signature.display()))?;
        return Ok(());
    }
    let read = Head::read_unsigned(&head)?;
    if json {
        return Ok(put(format_args!("{}\n", String::from_utf8_lossy(parts.manifest)))?);
    }
    let bundle = read.manifest.bundle_length;
    put(format_args!(
        "{}\nbundle   {bundle} bytes, head {} bytes, {} chunks, deltas to {} earlier images, id {}\n\n{}(not verified: use `hob bundle verify`)\n",
        describe(&read.manifest),
        read.length,
        read.layout.chunks.len(),
        read.layout.bases.len(),
        head_id(&head),
        plain(&String::from_utf8_lossy(parts.signatures))
    ))?;
    Ok(())
}

fn channel(args: ChannelArgs) -> Result<()> {
    let text = fs::read_to_string(&args.key).with_context(|| format!("{} cannot be read", args.key.display()))?;
    let key = SigningKey::read(&text, password().as_deref())?;
    let mut releases = vec![];
    for path in &args.bundle {
        let head = builder::read_head(path)?;
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.with_context(|| format!("{} is not a name for a URL", path.display()))?;
        let url = match &args.base {
            Some(base) => format!("{}/{name}", base.trim_end_matches('/')),
            None => name.to_owned(),
        };
        releases.push(ChannelRelease::of(&Head::read_unsigned(&head)?, &head, url));
    }
    let channel = Channel::new(args.name, args.serial, args.days, releases);
    let (text, signature) = channel.sign(&key)?;
    let signature_file = with_ending(&args.out, ".minisig");
    fs::write(&signature_file, signature).with_context(|| format!("{} cannot be written", signature_file.display()))?;
    fs::write(&args.out, text).with_context(|| format!("{} cannot be written", args.out.display()))?;
    put(format_args!(
        "wrote {} and {}: {} releases, serial {}, expires {}\n",
        args.out.display(),
        signature_file.display(),
        channel.releases.len(),
        channel.serial,
        channel.expires
    ))?;
    Ok(())
}

fn verify(file: &Path, keys: &[String]) -> Result<()> {
    let mut ring = if keys.is_empty() { Keyring::built_in() } else { Keyring::default() };
    for key in keys {
        ring.add(&key_text(key)?, Origin::Configured)?;
    }
    let head = builder::verify_file(file, &ring)?;
    put(format_args!(
        "{}\nsigned by {} ({}); every byte is covered\n",
        describe(&head.manifest),
        head.signer.key_id,
        plain(&head.signer.comment)
    ))?;
    Ok(())
}
