//! Programs of the sandbox, from outside: the local socket does not take them for the user Hob runs as.

use crate::harness::Hob;
use std::process::Command;

/// Asks over the local socket, by a process behind this wrapper; the status of the answer.
fn status(hob: &Hob, wrapper: &[&str]) -> String {
    let code = "import socket, sys\n\
                s = socket.socket(socket.AF_UNIX)\n\
                s.connect(sys.argv[1])\n\
                s.sendall(b'GET /api/v1/doctor HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n')\n\
                print(s.makefile('rb').read().decode().split()[1])";
    let line = [wrapper, &["/usr/bin/python3", "-c", code]].concat();
    let done = Command::new(line[0]).args(&line[1..]).arg(hob.data().join("hob.sock")).output().unwrap();
    let shown = String::from_utf8_lossy(&done.stdout).trim().to_owned();
    assert!(done.status.success(), "{shown}{}", String::from_utf8_lossy(&done.stderr));
    shown
}

#[test]
fn a_process_in_namespaces_below_is_a_stranger_at_the_local_socket() {
    let hob = Hob::start();
    assert_eq!(status(&hob, &[]), "200");
    // The same user, and another one by its own account.
    assert_eq!(status(&hob, &["unshare", "--user", "--map-root-user", "--pid", "--fork"]), "403");
    assert_eq!(status(&hob, &["unshare", "--user", "--map-root-user"]), "200");
}
