//! Runs the blocks of one page, as a reader would type them, in a folder that is the reader's home.

use super::block::{Block, BlockKind};
use super::expected::{is_shown, without_figures};
use super::transcript::{commands, differs, is_printed, lines, replace_numbers, INTERRUPT};
use mehari_harness::binary::{mehari, workspace};
use mehari_harness::{eventually, PATIENCE};
use rustix::process::{kill_process, Pid, Signal};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::os::unix::fs::{symlink, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

/// The ports that pages name. A session uses free ones in their place.
const PORTS: &[u16] = &[3031, 5000, 5001, 6379, 8080, 8081, 8082, 8443];

/// What a command of a page may take, in seconds.
const LIMIT: &str = "60";

/// Stands between a command's output, its status and its folder.
const MARK: char = '\u{1}';

pub struct Session {
    home: tempfile::TempDir,
    /// The folder in which the next command runs.
    here: PathBuf,
    /// What the next command finds in `$?`.
    status: i32,
    ports: BTreeMap<u16, u16>,
    servers: Vec<Child>,
}

impl Session {
    /// Runs a page. The problem says on which line, what was shown, and what came.
    pub fn run(blocks: &[Block]) -> Result<(), String> {
        let mut session = Session::new();
        for block in blocks {
            session
                .block(block)
                .map_err(|problem| format!("line {} on: {problem}", block.line))?;
        }
        session.end_servers()
    }

    fn new() -> Session {
        let home = tempfile::Builder::new()
            .prefix("mehari-page-")
            .tempdir()
            .expect("a temporary folder");
        let open = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(home.path(), open).expect("own folder");
        std::fs::create_dir(home.path().join(".bin")).expect("a new folder");
        symlink(mehari(), home.path().join(".bin/mehari")).expect("a new link");
        // A reader who copies an example stands in the folder of the source.
        symlink(workspace().join("examples"), home.path().join("examples")).expect("a new link");
        let listeners: Vec<TcpListener> = PORTS.iter().map(|_| free()).collect();
        let free = listeners
            .iter()
            .map(|listener| listener.local_addr().expect("it is bound").port());
        Session {
            here: home.path().to_owned(),
            home,
            status: 0,
            ports: PORTS.iter().copied().zip(free).collect(),
            servers: Vec::new(),
        }
    }

    fn block(&mut self, block: &Block) -> Result<(), String> {
        match &block.kind {
            BlockKind::Console { figures } => self.console(&block.text, *figures),
            BlockKind::Server { beside } => {
                if !beside {
                    self.end_servers()?;
                }
                self.serve(&block.text)
            }
            BlockKind::File(name) => self.write(name, &block.text),
            BlockKind::Perl => self.compile(&block.text),
            BlockKind::Configuration | BlockKind::Illustration => Ok(()),
        }
    }

    fn console(&mut self, text: &str, figures: bool) -> Result<(), String> {
        let mut last = String::new();
        for (command, shown) in commands(text)? {
            if command == INTERRUPT {
                self.interrupt()?;
                continue;
            }
            let before = self.status;
            let output = self.command(&command)?;
            let same = if figures {
                let (shown, output) = (without_figures(&shown), without_figures(&output));
                is_shown(&lines(&shown), &lines(&output))
            } else {
                is_shown(&lines(&shown), &lines(&output))
            };
            if !shown.is_empty() && !same {
                return Err(differs(&command, &shown, &output));
            }
            if before != 0 && command != "echo $?" {
                return Err(format!(
                    "the command before `{command}` ended with {before}; show it by `echo $?`"
                ));
            }
            last.clone_from(&output);
            if self.status != 0 && shown.is_empty() {
                return Err(format!("`{command}` ended with {}:\n{output}", self.status));
            }
        }
        match std::mem::take(&mut self.status) {
            0 => Ok(()),
            status => Err(format!("the last command ended with {status}:\n{last}")),
        }
    }

    /// Runs one command and returns what it printed.
    fn command(&mut self, command: &str) -> Result<String, String> {
        let script = format!(
            "exec 2>&1\ncd '{}'\n(exit {})\n{}\nprintf '{MARK}%s{MARK}%s' \"$?\" \"$PWD\"",
            self.here.display(),
            self.status,
            self.with_free_ports(command),
        );
        let output = self
            .at_home(Command::new("timeout").args([LIMIT, "bash", "-c", &script]))
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut parts = text.rsplitn(3, MARK);
        let (Some(folder), Some(status), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(format!("`{command}` ended with {}:\n{text}", output.status));
        };
        self.here = folder.into();
        self.status = status.parse().expect("a status");
        Ok(self.with_named_ports(text))
    }

    /// Starts a server and waits until it has printed what the page shows.
    fn serve(&mut self, text: &str) -> Result<(), String> {
        let found = commands(text)?;
        let [(command, shown)] = found.as_slice() else {
            return Err("a block of a server has one command".into());
        };
        let log = self
            .home
            .path()
            .join(format!(".server{}", self.servers.len()));
        let file = std::fs::File::create(&log).expect("a file of the session");
        let script = format!("exec 2>&1; exec {}", self.with_free_ports(command));
        let child = self
            .at_home(Command::new("bash").args(["-c", &script]))
            .current_dir(&self.here)
            .stdin(Stdio::null())
            .stdout(file)
            // Apache ends its whole process group.
            .process_group(0)
            .spawn()
            .expect("bash runs");
        self.servers.push(child);
        let mut output = String::new();
        let is_ready = eventually(PATIENCE, || {
            let printed = std::fs::read(&log).unwrap_or_default();
            output = self.with_named_ports(&String::from_utf8_lossy(&printed));
            is_printed(shown, &output)
        });
        if is_ready {
            Ok(())
        } else {
            Err(differs(command, shown, &output))
        }
    }

    /// Ends the server that was started last, as Ctrl-C in its terminal does.
    fn interrupt(&mut self) -> Result<(), String> {
        let child = self.servers.pop().ok_or("^C, but no server runs")?;
        end(child, Signal::Int)
    }

    fn end_servers(&mut self) -> Result<(), String> {
        let ends: Vec<_> = self
            .servers
            .drain(..)
            .map(|child| end(child, Signal::Term))
            .collect();
        ends.into_iter().collect()
    }

    fn write(&self, name: &str, text: &str) -> Result<(), String> {
        let path = self.here.join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder of the page");
        std::fs::write(&path, self.with_free_ports(text)).expect("a file of the page");
        // Apache's ETag of a file is weak within the second after the file was changed, so a page
        // is some seconds older, as for a reader.
        if name.ends_with(".html") {
            let page = std::fs::File::options().append(true).open(&path);
            let page = page.expect("a file of the page");
            let before = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
            page.set_modified(before).expect("own file");
        }
        if text.starts_with("#!") {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&path, mode).expect("own file");
        }
        let first = text.lines().next().unwrap_or_default();
        let is_perl = first.starts_with("#!") && first.contains("perl")
            || [".pl", ".pm", ".psgi"]
                .iter()
                .any(|end| name.ends_with(end));
        if is_perl {
            self.compile(text)
        } else {
            Ok(())
        }
    }

    fn compile(&self, text: &str) -> Result<(), String> {
        let path = self.home.path().join(".compiled");
        std::fs::write(&path, text).expect("a file of the session");
        let compat = workspace().join("perl/lib/Mehari/compat");
        let output = self
            .at_home(
                Command::new("perl")
                    .arg("-I")
                    .arg(compat)
                    .arg("-c")
                    .arg(path),
            )
            .current_dir(&self.here)
            .output()
            .expect("perl runs");
        let said = String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("it does not compile:\n{said}"))
        }
    }

    /// The environment of a reader who has installed Mehari.
    fn at_home<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        let home = self.home.path();
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env("HOME", home)
            .env("XDG_RUNTIME_DIR", home)
            .env("PERL5LIB", perl_side())
            .env(
                "PATH",
                format!("{}/.bin:{path}:/usr/sbin:/sbin", home.display()),
            )
            .env("LC_ALL", "C.UTF-8")
            .current_dir(home)
    }

    fn with_free_ports(&self, text: &str) -> String {
        let swaps = self.ports.iter().map(|(named, free)| (*named, *free));
        replace_numbers(text, swaps.collect())
    }

    fn with_named_ports(&self, text: &str) -> String {
        let swaps = self.ports.iter().map(|(named, free)| (*free, *named));
        replace_numbers(text, swaps.collect())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.end_servers();
    }
}

fn end(mut child: Child, signal: Signal) -> Result<(), String> {
    let _ = kill_process(Pid::from_child(&child), signal);
    if eventually(PATIENCE, || matches!(child.try_wait(), Ok(Some(_)))) {
        return Ok(());
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("a server of the page did not stop by {signal:?}"))
}

/// Binds a free port below those that the kernel gives to clients, because a client of another page
/// could get the port before this page's server listens.
fn free() -> TcpListener {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = (std::process::id() % 100) as u16 * 100;
    let ports = (0..10_000).map(|_| {
        let step = NEXT.fetch_add(1, Ordering::Relaxed);
        20_000 + start.wrapping_add(step) % 10_000
    });
    let mut bound = ports.filter_map(|port| TcpListener::bind(("127.0.0.1", port)).ok());
    bound.next().expect("loopback has a free port")
}

/// The folders that an installation puts on perl's path.
fn perl_side() -> String {
    let output = Command::new("perl")
        .arg(workspace().join("perl/build.pl"))
        .output()
        .expect("perl runs");
    let printed = String::from_utf8_lossy(&output.stdout);
    // mod_perl's modules lie where only the server looks.
    let folders: Vec<&str> = printed
        .lines()
        .filter(|folder| !folder.ends_with("/compat"))
        .collect();
    assert!(
        folders.iter().all(|folder| Path::new(folder).is_dir()),
        "{printed}"
    );
    folders.join(":")
}
