//! Reads from the kernel what a process does now: it runs, or it waits for something.
//!
//! `/proc/PID/syscall` gives the system call and its arguments. Its descriptors lead to
//! files and peers.

use crate::memory::ProcessMemory;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Activity {
    /// On a core, or waiting for one.
    Running,
    /// The process waits. The text says for what: `read from 127.0.0.1:5432 (PostgreSQL)`.
    Waiting(String),
}

/// The open file `/proc/PID/syscall` of a process.
pub struct ActivityWatch {
    pid: u32,
    file: File,
    /// The names of sockets by the link of their descriptor, `socket:[123]`.
    peers: HashMap<String, String>,
}

impl ActivityWatch {
    pub fn of(pid: u32) -> io::Result<ActivityWatch> {
        Ok(ActivityWatch {
            pid,
            file: File::open(format!("/proc/{pid}/syscall"))?,
            peers: HashMap::new(),
        })
    }

    pub fn now(&mut self) -> io::Result<Activity> {
        let mut line = [0; 256];
        let length = self.file.read_at(&mut line, 0)?;
        let line = String::from_utf8_lossy(&line[..length]);
        let mut words = line.split_ascii_whitespace();
        let Some(number) = words.next().and_then(|word| word.parse::<i64>().ok()) else {
            return Ok(Activity::Running); // `running`
        };
        let arguments = words.map(|word| parse_hexadecimal(word).unwrap_or(0));
        let arguments: Vec<u64> = arguments.collect();
        Ok(Activity::Waiting(self.wait(number, &arguments)))
    }

    fn wait(&mut self, number: i64, arguments: &[u64]) -> String {
        if number < 0 {
            return "memory (page fault)".to_owned();
        }
        let argument = |index: usize| arguments.get(index).copied().unwrap_or(0);
        let Some((_, verb, subject)) = WAITS.iter().find(|wait| wait.0 == number) else {
            return format!("system call {number}");
        };
        match subject {
            Subject::Nothing => (*verb).to_owned(),
            Subject::Descriptor => format!("{verb} {}", self.descriptor(argument(0))),
            Subject::Polled => self.polled(verb, argument(0), argument(1)),
            Subject::Selected if argument(0) == 0 => "sleep".to_owned(),
            Subject::Selected => (*verb).to_owned(),
        }
    }

    /// Describes a wait for a list of descriptors by the first one. An empty list means a sleep.
    fn polled(&mut self, verb: &str, list: u64, count: u64) -> String {
        let mut first = [0; 4];
        if count == 0 {
            return "sleep".to_owned();
        }
        match ProcessMemory::of(self.pid).read_parts(&[(list, 4)], &mut first) {
            Ok(()) => format!(
                "{verb} {}",
                self.descriptor(u32::from_ne_bytes(first).into())
            ),
            Err(_) => verb.to_owned(),
        }
    }

    fn descriptor(&mut self, number: u64) -> String {
        let link = fs::read_link(format!("/proc/{}/fd/{number}", self.pid));
        let Ok(link) = link.map(|link| link.to_string_lossy().into_owned()) else {
            return format!("descriptor {number}");
        };
        if let Some(peer) = self.peers.get(&link) {
            return peer.clone();
        }
        let Some(inode) = link
            .strip_prefix("socket:[")
            .and_then(|rest| rest.strip_suffix(']'))
        else {
            return match link.split_once(":[") {
                Some((kind, _)) => format!("a {kind}"), // `a pipe`
                None => link,
            };
        };
        let peer = peer_of(self.pid, inode);
        self.peers.insert(link, peer.clone());
        peer
    }
}

enum Subject {
    Nothing,
    Descriptor,
    Polled,
    Selected,
}

/// The calls that may wait, with the words for it.
const WAITS: &[(i64, &str, Subject)] = &[
    (libc::SYS_read, "read from", Subject::Descriptor),
    (libc::SYS_readv, "read from", Subject::Descriptor),
    (libc::SYS_pread64, "read from", Subject::Descriptor),
    (libc::SYS_recvfrom, "read from", Subject::Descriptor),
    (libc::SYS_recvmsg, "read from", Subject::Descriptor),
    (libc::SYS_write, "write to", Subject::Descriptor),
    (libc::SYS_writev, "write to", Subject::Descriptor),
    (libc::SYS_pwrite64, "write to", Subject::Descriptor),
    (libc::SYS_sendto, "write to", Subject::Descriptor),
    (libc::SYS_sendmsg, "write to", Subject::Descriptor),
    (libc::SYS_connect, "connect to", Subject::Descriptor),
    (libc::SYS_accept, "a client at", Subject::Descriptor),
    (libc::SYS_accept4, "a client at", Subject::Descriptor),
    (libc::SYS_flock, "lock of", Subject::Descriptor),
    (libc::SYS_fcntl, "lock of", Subject::Descriptor),
    (libc::SYS_fsync, "write to disk of", Subject::Descriptor),
    (libc::SYS_fdatasync, "write to disk of", Subject::Descriptor),
    (libc::SYS_getdents64, "folder", Subject::Descriptor),
    (libc::SYS_ppoll, "read from", Subject::Polled),
    (libc::SYS_pselect6, "select", Subject::Selected),
    (libc::SYS_epoll_pwait, "events (epoll)", Subject::Nothing),
    (libc::SYS_nanosleep, "sleep", Subject::Nothing),
    (libc::SYS_clock_nanosleep, "sleep", Subject::Nothing),
    (libc::SYS_wait4, "a child process", Subject::Nothing),
    (libc::SYS_waitid, "a child process", Subject::Nothing),
    (
        libc::SYS_futex,
        "a lock of memory (futex)",
        Subject::Nothing,
    ),
    (libc::SYS_rt_sigsuspend, "a signal", Subject::Nothing),
    (libc::SYS_rt_sigtimedwait, "a signal", Subject::Nothing),
    (libc::SYS_openat, "open of a file", Subject::Nothing),
    (libc::SYS_execve, "start of a program", Subject::Nothing),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_poll, "read from", Subject::Polled),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_select, "select", Subject::Selected),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_epoll_wait, "events (epoll)", Subject::Nothing),
    #[cfg(target_arch = "x86_64")]
    (libc::SYS_pause, "a signal", Subject::Nothing),
];

/// The ports of services that applications wait for.
const SERVICES: &[(u16, &str)] = &[
    (25, "mail"),
    (53, "DNS"),
    (80, "HTTP"),
    (389, "LDAP"),
    (443, "HTTPS"),
    (636, "LDAPS"),
    (1433, "SQL Server"),
    (1521, "Oracle"),
    (3306, "MySQL"),
    (5432, "PostgreSQL"),
    (6379, "Redis"),
    (9200, "Elasticsearch"),
    (11211, "memcached"),
    (27017, "MongoDB"),
];

/// Returns the other side of a socket.
fn peer_of(pid: u32, inode: &str) -> String {
    for table in ["tcp", "tcp6", "udp", "udp6"] {
        let text = fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        let line = text
            .lines()
            .find(|line| line.split_ascii_whitespace().nth(9) == Some(inode));
        if let Some(line) = line {
            return line
                .split_ascii_whitespace()
                .nth(2)
                .and_then(address)
                .unwrap_or_else(|| "a socket".to_owned());
        }
    }
    "a local socket".to_owned()
}

/// Reads an address of /proc/PID/net: `0100007F:1538` is 127.0.0.1:5432. Adds the port's service.
/// Each group of eight digits is in the machine's byte order.
fn address(text: &str) -> Option<String> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..host.len()).step_by(8) {
        bytes.extend(
            u32::from_str_radix(host.get(at..at + 8)?, 16)
                .ok()?
                .to_ne_bytes(),
        );
    }
    let host = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => std::net::IpAddr::from(four),
        Err(_) => std::net::IpAddr::from(<[u8; 16]>::try_from(&bytes[..]).ok()?).to_canonical(),
    };
    let peer = std::net::SocketAddr::new(host, port);
    let service = SERVICES.iter().find(|service| service.0 == port);
    Some(match service {
        Some((_, name)) => format!("{peer} ({name})"),
        None => peer.to_string(),
    })
}

fn parse_hexadecimal(word: &str) -> Option<u64> {
    u64::from_str_radix(word.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn peer_has_its_service() {
        assert_eq!(
            address("0100007F:1538").as_deref(),
            Some("127.0.0.1:5432 (PostgreSQL)")
        );
        assert_eq!(
            address("0000000000000000FFFF00000100007F:1F90").as_deref(),
            Some("127.0.0.1:8080")
        );
        assert_eq!(address("xyz"), None);
    }
}
