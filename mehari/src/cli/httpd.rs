//! Reads httpd's command line, such as `mehari -d ROOT -f conf -D NAME -k start`, `-v` or `-t`.
//! Init scripts and test tools use it to run Mehari in place of httpd.
//!
//! The options become a small configuration file that includes the site's own configuration.
//! `serve` reads the small file at the start and at each reload. Without `-k` the server stays in
//! the foreground.

use mehari_config::{Site, HTTPD_MODULE_MAGIC_NUMBER, HTTPD_VERSION};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const ROOT: &str = "/etc/apache2";
const CONF: &str = "conf/httpd.conf";
pub const USAGE: &str = "Usage: mehari [-D NAME[=VALUE]]... [-d ROOT] [-f FILE] [-C DIRECTIVE]... [-c DIRECTIVE]...\n\
    \x20             [-k start|restart|graceful|graceful-stop|stop] [-e LEVEL] [-E FILE] [-X] [-v] [-V] [-l] [-L] [-t] [-S]\n";

#[derive(Default)]
struct Face {
    root: Option<PathBuf>,
    conf: Option<PathBuf>,
    defines: Vec<String>,
    before: Vec<String>,
    after: Vec<String>,
    signal: Option<String>,
    detached: bool,
    say: Option<char>,
}

/// Returns whether the first word is an option of httpd and not a command.
pub fn is_option(word: &str) -> bool {
    let mut letters = word.chars();
    letters.next() == Some('-')
        && letters
            .next()
            .is_some_and(|letter| "DdfCckeEXvVlLtS".contains(letter))
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let face = match read(&arguments) {
        Ok(face) => face,
        Err(what) => {
            eprint!("mehari: {what}\n{USAGE}");
            return ExitCode::from(1);
        }
    };
    match face.say {
        Some('v') => say(version()),
        Some('V') => say(version() + &settings(&face)),
        Some('l') => say(modules()),
        Some('L') => say(directives()),
        Some(letter) => check(&face, letter),
        None => run_option(&face, arguments),
    }
}

fn read(arguments: &[OsString]) -> Result<Face, String> {
    let mut face = Face::default();
    let mut words = arguments
        .iter()
        .map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--detached" {
            face.detached = true;
            continue;
        }
        let mut letters = word.chars();
        let (Some('-'), Some(letter)) = (letters.next(), letters.next()) else {
            return Err(format!("expected an option, not `{word}`"));
        };
        let rest: String = letters.collect();
        if "vVlLtSX".contains(letter) && rest.is_empty() {
            if letter != 'X' {
                face.say = Some(letter);
            }
            continue;
        }
        let mut value = || {
            if rest.is_empty() {
                words
                    .next()
                    .ok_or_else(|| format!("expected a value after -{letter}"))
            } else {
                Ok(rest.clone())
            }
        };
        match letter {
            'd' => face.root = Some(value()?.into()),
            'f' => face.conf = Some(value()?.into()),
            'D' => face.defines.push(value()?),
            'C' => face.before.push(value()?),
            'c' => face.after.push(value()?),
            'e' => face.after.push(format!("LogLevel {}", value()?)),
            'E' => face.after.push(format!("ErrorLog \"{}\"", value()?)),
            'k' => face.signal = Some(value()?),
            't' | 'S' | 'v' | 'V' | 'l' | 'L' | 'X' => {
                return Err(format!("there is no option `{word}`"))
            }
            _ => return Err(format!("there is no option `-{letter}`")),
        }
    }
    Ok(face)
}

impl Face {
    fn root(&self) -> PathBuf {
        let root = self.root.clone().unwrap_or_else(|| ROOT.into());
        std::path::absolute(&root).unwrap_or(root)
    }

    fn conf(&self) -> PathBuf {
        self.root()
            .join(self.conf.as_deref().unwrap_or(Path::new(CONF)))
    }

    /// Writes the small configuration file: the directives of `-C`, an `Include` of the site's own
    /// configuration, and the directives of `-c`, `-e` and `-E`.
    fn written(&self) -> Result<tempfile::NamedTempFile, String> {
        let conf = self.conf();
        if !conf.is_file() {
            return Err(format!(
                "could not open the configuration {}",
                conf.display()
            ));
        }
        let failed = |error: std::io::Error| format!("a temporary file: {error}");
        let mut file = tempfile::Builder::new()
            .prefix("mehari-httpd-")
            .suffix(".conf")
            // A reload reads the file again, perhaps as `User`. The contents need not be secret:
            // they stand in the command line.
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile()
            .map_err(failed)?;
        let mut text = format!(
            "ServerRoot \"{}\"\nPidFile logs/httpd.pid\n",
            self.root().display()
        );
        for line in &self.before {
            text.push_str(&format!("{line}\n"));
        }
        text.push_str(&format!("Include \"{}\"\n", conf.display()));
        for line in &self.after {
            text.push_str(&format!("{line}\n"));
        }
        file.write_all(text.as_bytes()).map_err(failed)?;
        Ok(file)
    }

    fn site(&self) -> Result<Site, String> {
        let file = self.written()?;
        let mut perl = mehari_pool::Configurator::default();
        Site::load_with(file.path(), &self.defines, &mut perl)
            .map_err(|problems| problems.to_string())
    }
}

fn say(text: String) -> ExitCode {
    say!("{text}");
    ExitCode::SUCCESS
}

/// Tools read the version of httpd from this text.
fn version() -> String {
    let own = env!("CARGO_PKG_VERSION");
    format!("Server version: Apache/{HTTPD_VERSION} (Mehari/{own})\nServer built:   {own}\n")
}

fn settings(face: &Face) -> String {
    format!(
        "Server's Module Magic Number: {HTTPD_MODULE_MAGIC_NUMBER}\nArchitecture:   {}-bit\nServer MPM:     prefork\n  threaded:     no\n    forked:     yes (variable process count)\n\
         Server compiled with....\n -D HTTPD_ROOT=\"{}\"\n -D DEFAULT_PIDLOG=\"logs/httpd.pid\"\n -D DEFAULT_ERRORLOG=\"stderr\"\n -D SERVER_CONFIG_FILE=\"{CONF}\"\n",
        usize::BITS,
        face.root().display()
    )
}

fn modules() -> String {
    let mut text = String::from("Compiled in modules:\n");
    for name in mehari_config::replaced_modules() {
        text.push_str(&format!("  {name}\n"));
    }
    text
}

fn directives() -> String {
    let mut text = String::new();
    for row in mehari_config::Directive::all() {
        text.push_str(&format!("{} (mehari)\n\t{}\n", row.name, row.about));
    }
    text
}

/// Runs `-t` and `-S`. As in httpd, problems and `Syntax OK` go to stderr.
fn check(face: &Face, letter: char) -> ExitCode {
    match face.site() {
        Err(problems) => {
            eprintln!("{problems}");
            ExitCode::from(1)
        }
        Ok(site) => {
            if letter == 'S' {
                sayln!("VirtualHost configuration:");
                for host in &site.hosts {
                    let addresses: Vec<String> =
                        host.addresses.iter().map(|at| at.to_string()).collect();
                    let name = host.names.server_name.as_deref().unwrap_or("(any name)");
                    sayln!("{:<22} {name}", addresses.join(" "));
                    for alias in &host.names.aliases {
                        sayln!("{:<22}     alias {alias}", "");
                    }
                }
                sayln!("ServerRoot: \"{}\"", site.server_root.display());
                sayln!(
                    "Main DocumentRoot: \"{}\"",
                    site.main.mapping.document_root.display()
                );
            } else {
                eprintln!("Syntax OK");
            }
            ExitCode::SUCCESS
        }
    }
}

fn run_option(face: &Face, arguments: Vec<OsString>) -> ExitCode {
    let done = match face.signal.as_deref() {
        Some("start") if !face.detached => detach(arguments),
        None | Some("start") => return serve(face),
        // As in httpd, a restart also opens the logs again.
        Some("restart" | "graceful") => signal_server(face, &["-USR1", "-HUP"]),
        Some("stop" | "graceful-stop") => signal_server(face, &["-TERM"]),
        Some(other) => Err(format!(
            "expected -k start, restart, graceful, graceful-stop or stop, not `{other}`"
        )),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(what) => {
            eprintln!("mehari: {what}");
            ExitCode::from(1)
        }
    }
}

fn serve(face: &Face) -> ExitCode {
    if face.detached {
        // Leaves the terminal's session. The call fails only if the process already leads a
        // session.
        let _ = rustix::process::setsid();
    }
    let file = match face.written() {
        Ok(file) => file,
        Err(what) => {
            eprintln!("mehari: {what}");
            return ExitCode::from(1);
        }
    };
    // The server removes the file at its end, unless another process replaces the server.
    let path = match file.into_temp_path().keep() {
        Ok(path) => path,
        Err(error) => {
            eprintln!("mehari: a temporary file: {error}");
            return ExitCode::from(1);
        }
    };
    let path = || OsString::from(&path);
    let mut words: Vec<OsString> = vec!["-f".into(), path(), "--temporary".into(), path()];
    for define in &face.defines {
        words.push("-D".into());
        words.push(define.into());
    }
    super::serve::run(words)
}

/// Starts the same command in the background. Returns when the started server serves or has failed.
fn detach(arguments: Vec<OsString>) -> Result<(), String> {
    let mut child = Command::new(super::serve::program_path())
        .args(arguments)
        .arg("--detached")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| error.to_string())?;
    let mut line = String::new();
    if let Some(out) = child.stdout.take() {
        let _ = BufReader::new(out).read_line(&mut line);
    }
    if line.is_empty() {
        let _ = child.wait();
        Err("the server did not start: see above, or the error log".to_string())
    } else {
        Ok(())
    }
}

/// Sends signals to the process that the PidFile names.
fn signal_server(face: &Face, signals: &[&str]) -> Result<(), String> {
    let site = face.site()?;
    let file = site
        .process
        .pid_file
        .ok_or("the configuration has no PidFile")?;
    let text = std::fs::read_to_string(&file).map_err(|error| {
        format!(
            "{}: {error}; expected the file of a running server",
            file.display()
        )
    })?;
    let number: i32 = text
        .trim()
        .parse()
        .ok()
        .filter(|number| *number > 1)
        .ok_or_else(|| {
            format!(
                "{}: expected a process number, not `{}`",
                file.display(),
                text.trim()
            )
        })?;
    let pid = rustix::process::Pid::from_raw(number).ok_or("no process number")?;
    for name in signals {
        let signal = match *name {
            "-USR1" => rustix::process::Signal::Usr1,
            "-HUP" => rustix::process::Signal::Hup,
            _ => rustix::process::Signal::Term,
        };
        rustix::process::kill_process(pid, signal)
            .map_err(|error| format!("process {number}: {error}"))?;
    }
    Ok(())
}
