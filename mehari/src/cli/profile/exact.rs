//! `mehari profile --exact`: has the running server profile chosen requests with Devel::NYTProf in
//! a process of their own, and makes the reports.

use super::file::{ProfileFile, ProfileFormat};
use super::ProfileOptions;
use crate::cli::{control, interrupt};
use mehari_front::EXACT_FIELD;
use mehari_profile::{ExactProfile, RequestFilter};
use mehari_trace::TracedRequest;
use serde_json::{json, Value};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long the server may load the application again, and take to end.
const PATIENCE: Duration = Duration::from_secs(280);
/// The longest profile of a location. The server ends an exact profile after five minutes.
const LONGEST: Duration = Duration::from_secs(240);
/// The interval at which Ctrl-C is noticed.
const GLANCE: Duration = Duration::from_millis(100);
/// The folder of the reports, as nytprofhtml names it.
const FOLDER: &str = "nytprof";
const PACKAGE: &str = "install the package libdevel-nytprof-perl (Debian), or Devel::NYTProf";

/// Profiles one URL, or requests of other clients for a location.
pub fn profile(options: &ProfileOptions) -> Result<(), String> {
    let folder = folder(options.output.as_ref())?;
    let done = reported(options, &folder);
    if done.is_err() {
        // Only an empty folder is removed.
        let _ = std::fs::remove_dir(&folder);
    }
    done
}

fn reported(options: &ProfileOptions, folder: &Path) -> Result<(), String> {
    let (mut run, about) = match (&options.address, &options.location) {
        (Some(url), _) => (of_url(options, url, folder)?, url),
        (None, Some(RequestFilter::Location(path))) => (of_location(options, path, folder)?, path),
        _ => return Err("--exact: expected a URL, or --location PATH".to_owned()),
    };
    run.report(options.rows, folder)?;
    if let Err(reason) = tell_console(options.control.as_deref(), folder, about, run.files.len()) {
        eprintln!("mehari profile: the console does not list the report: {reason}");
    }
    run.whole()
}

/// Tells the server where the report is, so that the console lists it.
fn tell_console(
    control: Option<&Path>,
    folder: &Path,
    about: &str,
    profiles: usize,
) -> Result<(), String> {
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let folder = folder.to_str().ok_or("its path is not UTF-8")?;
    let report = json!({ "folder": folder, "about": about, "profiles": profiles });
    let answer = control::ask(control, &format!("exact-report {report}"))?;
    if answer["ok"] == true {
        Ok(())
    } else {
        Err(answer["message"].as_str().unwrap_or_default().to_owned())
    }
}

/// Makes the folder of the reports, which only its owner can enter.
fn folder(output: Option<&ProfileFile>) -> Result<PathBuf, String> {
    let path = match output {
        None => PathBuf::from(FOLDER),
        Some(ProfileFile {
            path,
            format: ProfileFormat::Folder,
        }) => path.clone(),
        Some(file) => {
            return Err(format!(
                "--exact writes several files: expected a folder, not {}",
                file.path.display()
            ))
        }
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(match error.kind() {
            io::ErrorKind::AlreadyExists => format!(
                "{} exists: expected a new folder, which `-o FOLDER` names",
                path.display()
            ),
            _ => format!("{}: {error}", path.display()),
        }),
    }
}

/// Sends requests with the secret, one after the other.
fn of_url(options: &ProfileOptions, url: &str, folder: &Path) -> Result<ExactRun, String> {
    let failed = |error: io::Error| format!("{url}: {error}");
    TracedRequest::prepare(url)?;
    let order = Order::begin(options.control.as_deref(), "secret", folder)?;
    let mut status = String::new();
    for _ in 0..options.warm + options.count {
        let request = TracedRequest::prepare(url)?.with_field(EXACT_FIELD, &order.secret);
        let page = request.send().map_err(failed)?;
        if page.bytes == 0 {
            return Err(format!("{url}: the server closed the connection"));
        }
        status = page.status;
    }
    let mut run = order.end()?;
    run.status = Some(status);
    run.leave_out(options.warm);
    Ok(run)
}

/// Waits for requests of other clients.
fn of_location(options: &ProfileOptions, path: &str, folder: &Path) -> Result<ExactRun, String> {
    if options.duration > LONGEST {
        return Err(format!(
            "-d: expected at most {} s with --exact",
            LONGEST.as_secs()
        ));
    }
    let is_over = interrupt::flag()?;
    let words = format!("one-in {} {path}", options.one_in);
    let mut order = Order::begin(options.control.as_deref(), &words, folder)?;
    eprintln!(
        "mehari profile: waiting for requests for {path} for {:?}; Ctrl-C ends it early",
        options.duration
    );
    order.wait(Instant::now() + options.duration, &is_over)?;
    let mut run = order.end()?;
    run.leave_out(options.warm);
    Ok(run)
}

/// An order to the server, which sends the finished profiles.
struct Order {
    stream: BufReader<UnixStream>,
    secret: String,
    line: Vec<u8>,
    run: ExactRun,
    folder: PathBuf,
}

/// The profiles that have come.
struct ExactRun {
    perl: PathBuf,
    /// Each with the number of its request.
    files: Vec<(u64, PathBuf)>,
    /// The server's last line.
    end: Value,
    /// The status line of the last response. `None`: others have sent the requests.
    status: Option<String>,
}

impl Order {
    fn begin(control: Option<&Path>, words: &str, folder: &Path) -> Result<Order, String> {
        let mut stream = control::connect(control)?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| stream.write_all(format!("exact {words}\n").as_bytes()))
            .map_err(closed)?;
        let mut order = Order {
            stream: BufReader::new(stream),
            secret: String::new(),
            line: Vec::new(),
            run: ExactRun {
                perl: PathBuf::new(),
                files: Vec::new(),
                end: Value::Null,
                status: None,
            },
            folder: folder.to_owned(),
        };
        let reply = order.next()?.ok_or("the server did not answer")?;
        if reply["ok"] != true {
            return Err(reply["message"].as_str().unwrap_or_default().to_owned());
        }
        let text = |name: &str| reply[name].as_str().unwrap_or_default().to_owned();
        (order.secret, order.run.perl) = (text("secret"), text("perl").into());
        Ok(order)
    }

    /// Takes profiles until the time is over.
    fn wait(&mut self, until: Instant, is_over: &AtomicBool) -> Result<(), String> {
        self.limit(GLANCE)?;
        while Instant::now() < until && !is_over.load(Ordering::Relaxed) {
            if let Some(line) = self.next()? {
                self.take(&line)?;
            }
        }
        Ok(())
    }

    /// Ends the order, and takes the rest of the profiles.
    fn end(mut self) -> Result<ExactRun, String> {
        self.limit(PATIENCE)?;
        self.stream.get_ref().write_all(b"end\n").map_err(closed)?;
        loop {
            let line = self.next()?.ok_or("the server did not end the profile")?;
            if line["end"] == true {
                self.run.end = line;
                return Ok(self.run);
            }
            self.take(&line)?;
        }
    }

    fn limit(&self, time: Duration) -> Result<(), String> {
        let set = self.stream.get_ref().set_read_timeout(Some(time));
        set.map_err(|error| error.to_string())
    }

    /// Reads the next line. `None`: none came in the time. A part of a line is kept.
    fn next(&mut self) -> Result<Option<Value>, String> {
        match self.stream.read_until(b'\n', &mut self.line) {
            Ok(_) if self.line.ends_with(b"\n") => {}
            Ok(_) => return Err("the server ended the profile".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(closed(error)),
        }
        let line = std::mem::take(&mut self.line);
        let value = serde_json::from_slice(&line);
        value
            .map(Some)
            .map_err(|_| "the server gave no answer; is it another user's?".to_owned())
    }

    /// Writes the profile that follows this line.
    fn take(&mut self, line: &Value) -> Result<(), String> {
        let number = |name: &str| line[name].as_u64();
        let (request, bytes) = number("request")
            .zip(number("bytes"))
            .ok_or("the server's answer is not understood")?;
        let name = format!("request-{}.out", self.run.files.len() + 1);
        let path = self.folder.join(name);
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        self.limit(PATIENCE)?;
        let mut file = private_file(&path).map_err(failed)?;
        let taken = io::copy(&mut (&mut self.stream).take(bytes), &mut file).map_err(failed)?;
        if taken != bytes {
            return Err("the server ended the profile".to_owned());
        }
        self.run.files.push((request, path));
        self.limit(GLANCE)
    }
}

fn closed(error: io::Error) -> String {
    format!("the server closed the connection: {error}")
}

fn private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
}

impl ExactRun {
    /// Leaves out the profiles of the first requests, which load and compile.
    fn leave_out(&mut self, requests: u32) {
        let mut numbers: Vec<u64> = self.files.iter().map(|(request, _)| *request).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers.truncate(requests as usize);
        self.files.retain(|(request, file)| {
            let stays = !numbers.contains(request);
            if !stays {
                let _ = std::fs::remove_file(file);
            }
            stays
        });
    }

    /// Makes the reports, and prints where they are and the tables.
    fn report(&mut self, rows: usize, folder: &Path) -> Result<(), String> {
        if self.files.is_empty() {
            return Err(self.nothing());
        }
        let profile = self.merged(folder)?;
        self.run_tool(
            "nytprofhtml",
            &["--file".as_ref(), &profile, "--out".as_ref(), folder],
        )?;
        let csv = folder.join("csv");
        self.run_tool(
            "nytprofcsv",
            &["--file".as_ref(), &profile, "--out".as_ref(), &csv],
        )?;
        let read = ExactProfile::read(&self.perl, &profile);
        let figures = read.map_err(|error| error.to_string())?;
        say!("{}", figures.text(rows));
        sayln!(
            "\nmehari profile: {} in {}; the report is {}",
            match self.files.len() {
                1 => "one profile".to_owned(),
                count => format!("{count} profiles"),
            },
            folder.display(),
            folder.join("index.html").display()
        );
        Ok(())
    }

    /// Says whether profiles are missing.
    fn whole(&self) -> Result<(), String> {
        match self.end["deaths"].as_u64() {
            Some(deaths) if deaths > 0 => Err(format!(
                "{deaths} of the profiled processes ended before their profiles were complete; \
                 the server's log says why"
            )),
            _ => Ok(()),
        }
    }

    /// Says why there is no profile.
    fn nothing(&self) -> String {
        if let Some(pool) = self.end["foreign"].as_str() {
            return format!(
                "the request is for <PerlPool {pool}>, whose processes come from another user's \
                 launcher; they cannot be profiled exactly"
            );
        }
        if self.end["taken"].as_u64() == Some(0) {
            return match &self.status {
                Some(status) => format!(
                    "no worker served the request ({status}): a file, a back end, the cache or a \
                     program of the rung `cgi` has no exact profile"
                ),
                None => "no request for the location has reached a worker".to_owned(),
            };
        }
        "the profiled process ended before its profile was complete; the server's log says why"
            .to_owned()
    }

    /// Returns the file of all profiles together.
    fn merged(&self, folder: &Path) -> Result<PathBuf, String> {
        let all = folder.join("nytprof.out");
        if let [(_, only)] = self.files.as_slice() {
            let renamed = std::fs::rename(only, &all);
            renamed.map_err(|error| format!("{}: {error}", all.display()))?;
            return Ok(all);
        }
        let mut words: Vec<&Path> = vec!["--out".as_ref(), &all];
        words.extend(self.files.iter().map(|(_, file)| file.as_path()));
        self.run_tool("nytprofmerge", &words)?;
        Ok(all)
    }

    /// Runs a program of Devel::NYTProf with the server's perl.
    fn run_tool(&self, name: &str, words: &[&Path]) -> Result<(), String> {
        let missing = || format!("{name} is not installed: {PACKAGE}");
        let tool = find_tool(name, &self.perl).ok_or_else(missing)?;
        let output = Command::new(&self.perl)
            .arg(tool)
            .args(words)
            .env_remove("NYTPROF")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("{}: {error}", self.perl.display()))?;
        if output.status.success() {
            return Ok(());
        }
        let told = String::from_utf8_lossy(&output.stderr);
        let first = told.lines().next().unwrap_or_default();
        Err(format!("{name} fails: {first}"))
    }
}

/// Returns the program beside this perl, or the one on PATH.
fn find_tool(name: &str, perl: &Path) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let beside = perl.parent().filter(|folder| folder.is_absolute());
    let folders = beside.map(Path::to_owned).into_iter();
    let mut folders = folders.chain(std::env::split_paths(&path));
    folders.find_map(|folder| Some(folder.join(name)).filter(|file| file.is_file()))
}
