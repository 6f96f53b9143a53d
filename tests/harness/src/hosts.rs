//! Gives the server under test a hosts file of its own, in a mount namespace. Names that are not in
//! this file are unknown, or are asked from a name server that does not respond.

use crate::site::Site;
use std::process::{Command, Stdio};

/// The system's files for name lookups, and the test's files that replace them.
const PLACES: [(&str, &str); 4] = [
    ("names/hosts", "/etc/hosts"),
    ("names/nsswitch.conf", "/etc/nsswitch.conf"),
    ("names/resolv.conf", "/etc/resolv.conf"),
    ("names/host.conf", "/etc/host.conf"),
];

/// What happens to names that are not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    AreUnknown,
    CannotBeAsked,
}

/// Returns whether this machine allows mount namespaces.
pub fn are_possible() -> bool {
    let unshare = Command::new("unshare")
        .args(["--mount", "true"])
        .stderr(Stdio::null())
        .status();
    let exist = PLACES
        .iter()
        .all(|(_, place)| std::path::Path::new(place).exists());
    exist && unshare.is_ok_and(|status| status.success())
}

pub(crate) fn write(site: &Site, hosts: &str, others: Others) {
    let sources = match others {
        Others::AreUnknown => "hosts: files\n",
        Others::CannotBeAsked => "hosts: files dns\n",
    };
    site.write("names/hosts", hosts);
    site.write("names/nsswitch.conf", sources);
    site.write(
        "names/resolv.conf",
        "nameserver 127.0.0.254\noptions timeout:1 attempts:1\n",
    );
    // With `multi off`, only the first line with a name counts. An address may therefore have a
    // name that resolves to another address.
    site.write("names/host.conf", "multi off\n");
}

/// Returns a command that runs `command` with the test's files in place of the system's.
pub(crate) fn around(command: &Command, site: &Site) -> Command {
    let mut script = String::new();
    for (file, place) in PLACES {
        let file = site.path(file);
        script.push_str(&format!("mount --bind {} {place} && ", file.display()));
    }
    script.push_str("exec \"$@\"");
    let words = ["unshare", "--mount", "sh", "-c", &script, "sh"];
    crate::prefix::before(command, &words)
}
