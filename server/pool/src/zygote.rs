//! Starts a zygote and sends it orders: the list of what to load, then commands to fork workers.

use crate::launcher::{orders, Launcher};
use crate::learned::LearnedModule;
use crate::perl_side::PerlSide;
use crate::plan::Machine;
use crate::program::{start_program, with_folders, ZygoteCommand};
use mehari_config::{PerlSettings, Preload, Preloaded, Rung, Site};
use mehari_wire::layout::control;
use mehari_wire::{parts, Bell, ControlSocket};
use rustix::fd::{BorrowedFd, OwnedFd};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Stdio;
use std::rc::Rc;
use tokio::io::unix::AsyncFd;
use tokio::io::Interest;
use tokio::process::{Child, Command};

pub struct Zygote {
    process: ZygoteProcess,
    pub control: AsyncFd<ControlSocket>,
}

/// Who has started a zygote.
enum ZygoteProcess {
    Front(Child),
    Launcher(Launched),
}

/// A zygote that a launcher has started.
struct Launched {
    pid: u32,
    launcher: Rc<Launcher>,
}

/// Kills a zygote that has not ended, as tokio does with the front's own.
impl Drop for Launched {
    fn drop(&mut self) {
        if self.launcher.has(self.pid) {
            let signal = libc::SIGKILL;
            self.launcher.signal(orders::ZYGOTE, self.pid, signal);
        }
    }
}

impl Zygote {
    /// Starts the zygote of the site's Perl with this number. Its standard error is a pipe.
    pub fn spawn(
        site: &Site,
        number: usize,
        perl: &PerlSide,
        bell: &Bell,
    ) -> io::Result<(Zygote, Option<OwnedFd>)> {
        let (ours, inherited) = descriptors(bell)?;
        let command = command(site, number);
        let mut process = start_program(&command, perl, &inherited, Stdio::piped(), |command| {
            Command::from(command).kill_on_drop(true).spawn()
        })?;
        let stderr = process.stderr.take();
        let stderr = stderr.map(|stderr| stderr.into_owned_fd()).transpose()?;
        let control = crate::readiness::register_both_ways(ours)?;
        let process = ZygoteProcess::Front(process);
        Ok((Zygote { process, control }, stderr))
    }

    /// Has a launcher start the zygote. Also returns the zygote's standard error.
    pub async fn launch(
        site: &Site,
        number: usize,
        bell: &Bell,
        launcher: Rc<Launcher>,
    ) -> io::Result<(Zygote, OwnedFd)> {
        use rustix::fd::AsFd;
        let (ours, [theirs, page, event]) = descriptors(bell)?;
        let (reading, writing) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let text = command(site, number).encode();
        let files = [theirs.as_fd(), page.as_fd(), event.as_fd(), writing.as_fd()];
        let pid = launcher.start(&text, files).await;
        let pid = pid.map_err(io::Error::other)?;
        let process = ZygoteProcess::Launcher(Launched { pid, launcher });
        let control = crate::readiness::register_both_ways(ours)?;
        Ok((Zygote { process, control }, reading))
    }

    pub fn pid(&self) -> Option<u32> {
        match &self.process {
            ZygoteProcess::Front(process) => process.id(),
            ZygoteProcess::Launcher(launched) => {
                let lives = launched.launcher.has(launched.pid);
                lives.then_some(launched.pid)
            }
        }
    }

    /// Returns the launcher that has started the zygote. `None`: the front has.
    pub fn launcher(&self) -> Option<&Rc<Launcher>> {
        match &self.process {
            ZygoteProcess::Front(_) => None,
            ZygoteProcess::Launcher(launched) => Some(&launched.launcher),
        }
    }

    /// Completes when the zygote has ended.
    pub async fn wait(&mut self) -> io::Result<()> {
        match &mut self.process {
            ZygoteProcess::Front(process) => process.wait().await.map(drop),
            ZygoteProcess::Launcher(launched) => {
                launched.launcher.wait_for(launched.pid).await;
                Ok(())
            }
        }
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

/// Makes the control socket of a zygote. Also returns what the zygote inherits: its end of the
/// socket, and the bell.
fn descriptors(bell: &Bell) -> io::Result<(ControlSocket, [OwnedFd; 3])> {
    let (ours, theirs) = ControlSocket::pair()?;
    let page = rustix::io::dup(bell.page_file())?;
    let event = rustix::io::dup(bell.event_file())?;
    Ok((ours, [theirs, page, event]))
}

/// Returns the path of the server's program, which is `$0` in Perl.
fn program_path() -> String {
    let path = std::env::current_exe().unwrap_or_else(|_| "mehari".into());
    let path = path.to_string_lossy();
    // The kernel adds this to the path of a program that a newer one has replaced.
    path.strip_suffix(" (deleted)").unwrap_or(&path).to_string()
}

/// Returns what the zygote of the site's Perl with this number is started with.
fn command(site: &Site, number: usize) -> ZygoteCommand {
    let settings = &site.perls[number];
    let mut arguments = server_arguments(&site.server_root, &site.definitions.names);
    let templates = crate::template_limit::of(site);
    arguments.extend(["templates".into(), templates.to_string().into()]);
    let mut say = |name: &str, value: &str| arguments.extend([name.into(), value.into()]);
    if !site.source.files.is_empty() {
        say("configured", "1");
    }
    if let Some(owner) = site.owner_of(number) {
        say("host", owner);
    }
    say("program", &program_path());
    say("fork_lint", settings.fork_lint.unwrap_or_default().word());
    if settings.merges_memory == Some(true) {
        say("merge", "1");
    }
    if settings.is_watched {
        say("development", "1");
    }
    let mut command = ZygoteCommand {
        interpreter: settings.interpreter.clone().into(),
        switches: settings.switches.iter().map(OsString::from).collect(),
        arguments,
        environment: environment(settings),
    };
    if let Some(folder) = &settings.exact_folder {
        load_profiler(&mut command, folder);
    }
    command
}

/// Has the zygote of an exact profile load the profiler first. The profiler rests until a request
/// begins.
fn load_profiler(command: &mut ZygoteCommand, folder: &Path) {
    command.switches.insert(0, OsString::from("-d:NYTProf"));
    command
        .environment
        .push(("NYTPROF".into(), "start=no".into()));
    command
        .arguments
        .extend(["exact".into(), OsString::from(folder)]);
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
    let switches: Vec<OsString> = settings.switches.iter().map(OsString::from).collect();
    with_folders(&switches, perl)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiler_comes_before_the_site_s_own_modules() {
        let mut command = ZygoteCommand {
            switches: vec!["-MOwn".into()],
            ..ZygoteCommand::default()
        };
        load_profiler(&mut command, Path::new("/tmp/x"));
        assert_eq!(command.switches, ["-d:NYTProf", "-MOwn"]);
        assert_eq!(command.arguments, ["exact", "/tmp/x"]);
    }
}
