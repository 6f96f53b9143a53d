//! Finds and runs the compared programs: Debian's original, and the mehari binary under the
//! original's name.

use mehari_harness::needs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// The longest time that a run may take.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Ran {
    pub status: Option<i32>,
    /// Whether the program crashed (SIGSEGV), as ab 2.4.66 does with `-c 0`.
    pub crashed: bool,
    pub out: Vec<u8>,
    pub err: Vec<u8>,
}

impl Ran {
    pub fn out_text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    pub fn err_text(&self) -> String {
        String::from_utf8_lossy(&self.err).into_owned()
    }
}

/// Returns the path of the original. Returns `None` if the original is not installed; the test then
/// counts as skipped.
pub fn original(name: &str) -> Option<PathBuf> {
    let package = match name {
        "ab" => "apache2-utils",
        name => name,
    };
    if !needs::packages(&[package]) {
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|file| file.is_file());
    assert!(
        found.is_some(),
        "{package} is installed, and no {name} found"
    );
    found
}

/// Returns the mehari binary of this build. Builds the binary if necessary.
pub fn mehari() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        if let Some(binary) = std::env::var_os("MEHARI_BIN") {
            return binary.into();
        }
        let test = std::env::current_exe().unwrap();
        let folder = test.parent().and_then(Path::parent).unwrap();
        let mut build = Command::new(env!("CARGO"));
        build.args(["build", "--quiet", "--package", "mehari"]);
        if folder.ends_with("release") {
            build.arg("--release");
        }
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(status.unwrap().success(), "mehari does not build");
        folder.join("mehari")
    })
}

/// Makes a link to the mehari binary with the original's name. Returns the link.
pub fn link(folder: &Path, name: &str) -> PathBuf {
    let link = folder.join(name);
    if !link.exists() {
        std::os::unix::fs::symlink(mehari(), &link).unwrap();
    }
    link
}

/// Runs a program by its bare name, because usage texts print the name. The program may open 1024
/// descriptors, as on most systems.
pub fn run(program: &Path, words: &[String], folder: &Path) -> Ran {
    wait(start(program, words, folder), || false)
}

fn start(program: &Path, words: &[String], folder: &Path) -> Child {
    let script = r#"ulimit -n 1024; exec "$@""#;
    Command::new("/bin/sh")
        .args(["-c", script, "sh"])
        .arg(program.file_name().unwrap())
        .args(words)
        .env(
            "PATH",
            format!("{}:/usr/bin:/bin", program.parent().unwrap().display()),
        )
        .current_dir(folder)
        .env("TZ", "UTC")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs a program and sends SIGINT, as Ctrl-C does, when `is_time` returns true.
pub fn run_until(
    program: &Path,
    words: &[String],
    folder: &Path,
    is_time: impl Fn() -> bool,
) -> Ran {
    wait(start(program, words, folder), is_time)
}

fn wait(mut child: Child, is_time: impl Fn() -> bool) -> Ran {
    let out = drain(child.stdout.take().unwrap());
    let err = drain(child.stderr.take().unwrap());
    let begun = Instant::now();
    let (mut interrupted, mut crashed) = (false, false);
    let status = loop {
        if !interrupted && is_time() {
            interrupted = true;
            let pid = rustix::process::Pid::from_child(&child);
            rustix::process::kill_process(pid, rustix::process::Signal::Int).unwrap();
        }
        match child.try_wait().unwrap() {
            Some(status) => {
                crashed = status.signal() == Some(libc::SIGSEGV);
                break status.code();
            }
            None if begun.elapsed() > PATIENCE => {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(2)),
        }
    };
    Ran {
        status,
        crashed,
        out: out.join().unwrap(),
        err: err.join().unwrap(),
    }
}

fn drain(mut pipe: impl std::io::Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}
