//! A test's own resolver: a hosts file that only the server under test sees, in a mount namespace.
//! Other names are unknown, or belong to a name server that does not respond.

use crate::site::Site;
use std::process::{Command, Stdio};

/// The system's resolver files, and the test's replacements.
const PLACES: [(&str, &str); 4] = [
    ("names/hosts", "/etc/hosts"),
    ("names/nsswitch.conf", "/etc/nsswitch.conf"),
    ("names/resolv.conf", "/etc/resolv.conf"),
    ("names/host.conf", "/etc/host.conf"),
];

/// The answer for names that are not in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    AreUnknown,
    CannotBeAsked,
}

/// Whether this machine allows mount namespaces.
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
    // The first line of a name counts, so an address may have a name that resolves to another
    // address.
    site.write("names/host.conf", "multi off\n");
}

/// The command, with these files in place of the system's.
pub(crate) fn around(command: Command, site: &Site) -> Command {
    let mut script = String::new();
    for (file, place) in PLACES {
        let file = site.path(file);
        script.push_str(&format!("mount --bind {} {place} && ", file.display()));
    }
    script.push_str("exec \"$@\"");
    let mut wrapped = Command::new("unshare");
    wrapped.args(["--mount", "sh", "-c", &script, "sh"]);
    wrapped.arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        wrapped.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => wrapped.env(name, value),
            None => wrapped.env_remove(name),
        };
    }
    wrapped
}
