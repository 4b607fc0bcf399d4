//! Real mail servers for tests, on the loopback: dovecot for IMAP, aiosmtpd for SMTP, both with a certificate of their own.

use crate::harness::{Folder, until};
use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use std::{
    fs,
    io::{BufRead, BufReader},
    net::{TcpListener, TcpStream},
    os::unix::fs::chown,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
};

pub const USER: &str = "nora";
pub const PASSWORD: &str = "sesame-4711";
pub const ADDRESS: &str = "nora@example.org";

/// The servers, with one mailbox.
pub struct MailServers {
    pub folder: Folder,
    /// Ports: IMAP with STARTTLS, IMAP with TLS, SMTP with STARTTLS, SMTP with TLS.
    pub imap: u16,
    pub imaps: u16,
    pub smtp: u16,
    pub smtps: u16,
    pub certificate: String,
    dovecot: Option<Child>,
    aiosmtpd: Child,
}

impl MailServers {
    pub fn start() -> Self {
        Self::with("")
    }

    /// Servers of which none tells of new mail by itself.
    pub fn without_idle() -> Self {
        Self::with("imap_capability = IMAP4rev1 LITERAL+ UIDPLUS MOVE SPECIAL-USE NAMESPACE\n")
    }

    /// With more lines for dovecot.
    fn with(more: &str) -> Self {
        let folder = Folder::new();
        let signed = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let certificate = pem("CERTIFICATE", signed.cert.der());
        fs::write(folder.path("cert.pem"), &certificate).unwrap();
        fs::write(folder.path("key.pem"), pem("PRIVATE KEY", &signed.signing_key.serialize_der())).unwrap();
        fs::write(folder.path("users"), format!("{USER}:{{PLAIN}}{PASSWORD}\n")).unwrap();
        fs::write(folder.path("smtp.py"), include_str!("smtp_server.py")).unwrap();
        let [imap, imaps] = [free_port(), free_port()];
        fs::create_dir_all(folder.path("sent")).unwrap();
        // No service signs anybody in as root.
        let (uid, gid) = match rustix::process::geteuid().as_raw() {
            0 => (65534, 65534),
            own => (own, rustix::process::getegid().as_raw()),
        };
        let (user, group) = (named("-un", uid), named("-gn", uid));
        for name in ["mail", "home"] {
            fs::create_dir_all(folder.path(name)).unwrap();
            chown(folder.path(name), Some(uid), Some(gid)).unwrap();
        }
        let at = folder.0.display();
        let config = format!(
            "protocols = imap\nlisten = 127.0.0.1\nbase_dir = {at}/run\nstate_dir = {at}/run\nlog_path = {at}/log\nssl = yes\n\
             ssl_cert = <{at}/cert.pem\nssl_key = <{at}/key.pem\ndisable_plaintext_auth = yes\nauth_failure_delay = 0\n\
             default_internal_user = {user}\ndefault_internal_group = {group}\ndefault_login_user = {user}\nfirst_valid_uid = 1\n\
             mail_location = maildir:{at}/mail/%u\npassdb {{\n driver = passwd-file\n args = {at}/users\n}}\n\
             userdb {{\n driver = static\n args = uid={uid} gid={gid} home={at}/home\n}}\n\
             service imap-login {{\n chroot =\n inet_listener imap {{\n  port = {imap}\n }}\n inet_listener imaps {{\n  port = {imaps}\n  \
             ssl = yes\n }}\n}}\nservice anvil {{\n chroot =\n}}\nnamespace inbox {{\n inbox = yes\n separator = /\n mailbox Trash {{\n  \
             auto = create\n  special_use = \\Trash\n }}\n mailbox Sent {{\n  auto = create\n  special_use = \\Sent\n }}\n}}\n{more}"
        );
        fs::write(folder.path("dovecot.conf"), config).unwrap();
        let mut aiosmtpd = Command::new("/usr/bin/python3")
            .args(["smtp.py", "sent", "cert.pem", "key.pem"])
            .current_dir(&folder.0)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3, which .ci/setup test installs");
        let mut line = String::new();
        BufReader::new(aiosmtpd.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let ports: Vec<u16> = line.split_whitespace().map(|port| port.parse().unwrap()).collect();
        let [smtp, smtps] = ports[..] else { panic!("aiosmtpd, which .ci/setup test installs: {line}") };
        let mut servers = Self { folder, imap, imaps, smtp, smtps, certificate, dovecot: None, aiosmtpd };
        servers.start_imap();
        servers
    }

    pub fn start_imap(&mut self) {
        let dovecot = Command::new("/usr/sbin/dovecot")
            .args(["-F", "-c"])
            .arg(self.folder.path("dovecot.conf"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("dovecot, which .ci/setup test installs");
        self.dovecot = Some(dovecot);
        until("dovecot", || TcpStream::connect(("127.0.0.1", self.imap)).is_ok());
    }

    pub fn stop_imap(&mut self) {
        if let Some(mut dovecot) = self.dovecot.take() {
            let _ = rustix::process::kill_process(
                rustix::process::Pid::from_child(&dovecot),
                rustix::process::Signal::TERM,
            );
            let _ = dovecot.wait();
        }
    }

    /// Lines of hob.toml: an account that reads with TLS and sends with STARTTLS.
    pub fn config(&self) -> String {
        let server = |port: u16, security: &str| {
            format!(
                "host = \"localhost\"\nport = {port}\nsecurity = \"{security}\"\nusername = \"{USER}\"\npassword = \"{PASSWORD}\"\n\
                 ca = '''\n{}'''\n",
                self.certificate
            )
        };
        format!(
            "[services.imap]\n{}[services.smtp]\nfrom = \"Nora Quist <{ADDRESS}>\"\n{}",
            server(self.imaps, "tls"),
            server(self.smtp, "starttls")
        )
    }

    /// Puts a mail into the inbox, as a delivery does.
    pub fn deliver(&self, mail: impl AsRef<[u8]>) {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let inbox = self.folder.path("mail").join(USER);
        for part in ["cur", "new", "tmp"] {
            let folder = inbox.join(part);
            if !folder.exists() {
                fs::create_dir_all(&folder).unwrap();
                self.give(&inbox);
                self.give(&folder);
            }
        }
        let name =
            format!("{:010}.M{}P{}.test", 1_800_000_000 + COUNT.fetch_add(1, Ordering::Relaxed), 0, std::process::id());
        let before = inbox.join("tmp").join(&name);
        fs::write(&before, mail).unwrap();
        self.give(&before);
        fs::rename(before, inbox.join("new").join(name)).unwrap();
    }

    /// Makes a file that of the user whom dovecot reads as.
    fn give(&self, path: &Path) {
        use std::os::unix::fs::MetadataExt;
        let of = fs::metadata(self.folder.path("home")).unwrap();
        chown(path, Some(of.uid()), Some(of.gid())).unwrap();
    }

    /// How many mails were sent.
    pub fn count(&self) -> usize {
        let all = fs::read_dir(self.folder.path("sent")).unwrap();
        all.filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|end| end == "eml")).count()
    }

    /// The mail that was sent as the nth, 1 being the first: its envelope and text.
    pub fn sent(&self, number: usize) -> (Value, String) {
        let file = |end: &str| self.folder.path("sent").join(format!("{number}.{end}"));
        let text = String::from_utf8(fs::read(file("eml")).unwrap()).unwrap();
        (serde_json::from_slice(&fs::read(file("json")).unwrap()).unwrap(), text)
    }
}

impl Drop for MailServers {
    fn drop(&mut self) {
        self.stop_imap();
        let _ = self.aiosmtpd.kill();
        let _ = self.aiosmtpd.wait();
    }
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The name of a user, or of their group.
fn named(what: &str, uid: u32) -> String {
    let told = Command::new("id").arg(what).arg(uid.to_string()).output().unwrap();
    String::from_utf8(told.stdout).unwrap().trim().to_owned()
}
