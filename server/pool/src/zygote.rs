//! Starts a zygote and sends it orders: the list of what to load, then commands to fork workers.
#![allow(unsafe_code)] // descriptors handed to a child; signals to a process group

use crate::learned::LearnedModule;
use crate::perl_side::PerlSide;
use crate::plan::Machine;
use mehari_config::{PerlSettings, Preload, Preloaded, Rung, Site};
use mehari_wire::layout::control;
use mehari_wire::{parts, Bell, ControlSocket, Message};
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::{fcntl_setfd, FdFlags};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::process::{Child, ChildStderr, Command};

pub struct Zygote {
    pub process: Child,
    pub control: AsyncFd<ControlSocket>,
}

impl Zygote {
    /// Starts the zygote of the site's Perl with this number. Its standard error is a pipe.
    pub fn spawn(
        site: &Site,
        number: usize,
        perl: &PerlSide,
        bell: &Bell,
    ) -> io::Result<(Zygote, Option<ChildStderr>)> {
        let (ours, theirs) = ControlSocket::pair()?;
        let page = rustix::io::dup(bell.page_file())?;
        let event = rustix::io::dup(bell.event_file())?;
        let inherited = [theirs, page, event];
        let settings = &site.perls[number];
        let mut command = Command::new(&settings.interpreter);
        command
            .args(switches(settings, perl))
            .args(["-MMehari::Zygote", "-e", "Mehari::Zygote::run(@ARGV)"])
            .args(inherited.iter().map(|file| file.as_raw_fd().to_string()))
            .args(server_arguments(&site.server_root, &site.definitions.names))
            .args(
                (!site.source.files.is_empty())
                    .then_some(["configured", "1"])
                    .into_iter()
                    .flatten(),
            )
            .args(
                site.owner_of(number)
                    .into_iter()
                    .flat_map(|host| ["host", host]),
            )
            .args(["fork_lint", settings.fork_lint.unwrap_or_default().word()])
            .args(if settings.merges_memory == Some(true) {
                &["merge", "1"][..]
            } else {
                &[]
            })
            .args(if settings.is_watched {
                &["development", "1"][..]
            } else {
                &[]
            })
            .env_clear()
            .envs(environment(settings))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        keep_descriptors_from_programs();
        // Without close-on-exec the three descriptors survive the exec. The zygote sets
        // close-on-exec again at once. Only one thread of the front starts processes, so no other
        // child inherits them.
        for file in &inherited {
            fcntl_setfd(file, FdFlags::empty())?;
        }
        let spawned = command.spawn();
        drop(inherited);
        let mut process = spawned?;
        let stderr = process.stderr.take();
        let control = crate::readiness::register_both_ways(ours)?;
        Ok((Zygote { process, control }, stderr))
    }

    pub fn pid(&self) -> Option<u32> {
        self.process.id()
    }

    pub async fn send_preload(&self, preload: &Preload) -> io::Result<()> {
        let section;
        let (kind, text): (u32, &[u8]) = match preload {
            Preload::Section { name, code } => {
                section = format!("{name}\0{code}");
                (control::SECTION, section.as_bytes())
            }
            Preload::Directive(used) => {
                section = used.text();
                (control::DIRECTIVE, section.as_bytes())
            }
            Preload::Handler(name) => (control::HANDLER, name.as_bytes()),
            Preload::Module(name) => (control::MODULE, name.as_bytes()),
            Preload::Require(file) => (control::REQUIRE, file.as_os_str().as_bytes()),
            Preload::Psgi(file) => (control::PSGI, file.as_os_str().as_bytes()),
            Preload::Script(rung, file) => {
                let kind = match rung {
                    Rung::Registry => control::REGISTRY,
                    Rung::PerlRun => control::PERLRUN,
                    Rung::Fork | Rung::Rewind | Rung::Auto | Rung::Cgi => control::FORK_SCRIPT,
                };
                (kind, file.as_os_str().as_bytes())
            }
        };
        self.send_long(control::PRELOAD, kind, text).await
    }

    pub async fn send_learned(&self, module: &LearnedModule) -> io::Result<()> {
        let text = module.text();
        self.send_long(control::PRELOAD, control::LEARNED, text.as_bytes())
            .await
    }

    /// Sends the settings of the servers of this Perl, before anything loads.
    pub async fn send_servers(&self, site: &Site, perl: usize) -> io::Result<()> {
        let tree = site.source.tree.as_bytes();
        self.send_long(control::TREE, 0, tree).await?;
        for host in site.all_hosts() {
            let records = site.encode_host_for_zygote(host, perl);
            self.send_long(control::SERVER, host.number, &records)
                .await?;
        }
        Ok(())
    }

    /// Sends a text in parts. Waits while the socket is full, because the zygote reads one message
    /// after the other.
    async fn send_long(&self, kind: u32, slot: u32, text: &[u8]) -> io::Result<()> {
        for (status, part) in parts(text) {
            let send = |socket: &ControlSocket| socket.send_part(kind, slot, status, part, &[]);
            self.control.async_io(Interest::WRITABLE, send).await?;
        }
        Ok(())
    }

    /// Asks the zygote to report when it is ready. `bits`: `control::READY_*`.
    pub async fn ask_ready(&self, bits: u32) -> io::Result<()> {
        self.send_long(control::READY, bits, b"").await
    }

    /// Asks the zygote to serve the requests of a mailbox itself.
    pub fn ask_warmup(&self, mailbox: BorrowedFd<'_>, socket: &OwnedFd) -> io::Result<()> {
        use rustix::fd::AsFd;
        self.control
            .get_ref()
            .send(control::WARM, 0, b"", &[mailbox, socket.as_fd()])
    }

    /// Asks the zygote to explain a script's file. `number`: the number of the question.
    pub async fn ask_explanation(&self, number: u32, file: &[u8]) -> io::Result<()> {
        self.send_long(control::EXPLAIN, number, file).await
    }

    /// Orders the zygote to fork a twin that answers. `order`: as in a worker's mailbox.
    pub async fn ask_inspection(&self, order: &[u8]) -> io::Result<()> {
        let send = |socket: &ControlSocket| socket.send(control::INSPECT, 0, order, &[]);
        self.control.async_io(Interest::WRITABLE, send).await
    }

    pub fn ask_worker(
        &self,
        slot: u32,
        mailbox: BorrowedFd<'_>,
        socket: &OwnedFd,
    ) -> io::Result<()> {
        use rustix::fd::AsFd;
        self.control
            .get_ref()
            .send(control::FORK, slot, b"", &[mailbox, socket.as_fd()])
    }
}

/// Sets close-on-exec on the descriptors that the process that started the server left open. A
/// script must not get these descriptors, and no process with a foreign pipe or socket can be
/// rewound. A kernel before 5.11 refuses the call. In this case the descriptors are passed on.
fn keep_descriptors_from_programs() {
    let (first, last) = (3, libc::c_uint::MAX);
    // SAFETY: the call touches no memory. It only sets close-on-exec.
    unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            last,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
}

/// Returns the next message. `None`: the zygote has ended.
pub async fn next_message(control: &AsyncFd<ControlSocket>) -> io::Result<Option<Message>> {
    loop {
        let mut ready = control.readable().await?;
        match ready.try_io(|socket| socket.get_ref().receive()) {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Ok(message) => return message,
            Err(_would_block) => continue,
        }
    }
}

/// Returns the arguments about the whole server, as names and values, for Mehari::Server.
pub fn server_arguments(server_root: &Path, defines: &BTreeMap<String, String>) -> Vec<OsString> {
    let defines: Vec<&str> = defines.keys().map(String::as_str).collect();
    let mut arguments: Vec<OsString> = vec![
        "server_root".into(),
        server_root.into(),
        "defines".into(),
        defines.join("\n").into(),
    ];
    // For tests: the rung `rewind` then compares all memory after each request.
    let compares = match std::env::var_os("MEHARI_REWIND_COMPARE") {
        Some(word) => word == "1",
        None => cfg!(debug_assertions),
    };
    if compares {
        arguments.extend(["compare".into(), "1".into()]);
    }
    // The memory for pictures of scripts on the rung `auto` is an eighth of the free memory. The
    // variable is for tests.
    let room = std::env::var_os("MEHARI_PICTURE_BYTES")
        .unwrap_or_else(|| (Machine::detect().memory / 8).to_string().into());
    arguments.extend(["picture_bytes".into(), room]);
    arguments
}

/// Returns the switches of a Perl of the site, with the folders of Mehari's Perl side. PERL5LIB
/// becomes -I, so that scripts do not see the variable.
pub fn switches(settings: &PerlSettings, perl: &PerlSide) -> Vec<OsString> {
    let own = std::env::var_os("PERL5LIB").unwrap_or_default();
    let of_the_server = std::env::split_paths(&own).filter(|folder| !folder.as_os_str().is_empty());
    let folders = perl.folders.iter().cloned().chain(of_the_server);
    let included = folders.map(|folder| {
        let mut switch = OsString::from("-I");
        switch.push(folder);
        switch
    });
    settings
        .switches
        .iter()
        .map(OsString::from)
        .chain(included)
        .collect()
}

/// Returns the environment of the site's Perl processes: PATH and TZ, then the variables of
/// PerlPassEnv and PerlSetEnv.
pub fn environment(settings: &PerlSettings) -> Vec<(OsString, OsString)> {
    let set = settings.set_env.iter();
    let is_psgi = |preload: &Preloaded| matches!(preload.what, Preload::Psgi(_));
    let hosts_psgi = settings.preloads.iter().any(is_psgi);
    ["PATH", "TZ"]
        .into_iter()
        .chain(hosts_psgi.then_some("PLACK_ENV"))
        .chain(settings.pass_env.iter().map(String::as_str))
        .filter_map(|name| std::env::var_os(name).map(|value| (name.into(), value)))
        .chain(set.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

/// Sends a signal to one process. Signal 0 only tests whether the process exists. Returns false if
/// the process does not exist.
pub fn kill_one(pid: u32, signal: i32) -> bool {
    match i32::try_from(pid) {
        // SAFETY: kill touches no memory of ours.
        Ok(pid) if pid > 1 => unsafe { libc::kill(pid, signal) == 0 },
        _ => false,
    }
}

/// Sends a signal to a worker and to the processes it started that stayed in its group.
pub fn kill_group(pid: u32, signal: i32) {
    let Ok(pid) = i32::try_from(pid) else { return };
    if pid > 1 {
        // SAFETY: kill touches no memory of ours.
        unsafe { libc::kill(-pid, signal) };
    }
}
