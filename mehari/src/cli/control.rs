//! Talks to a running server through its control socket, for `status`, `reload`, `stop` and other
//! commands.

use super::arguments;
use clap::Parser;
use mehari_front::{GroupStatus, Stats, WatchReport};
use mehari_pool::PoolStatus;
use serde_json::{json, Value};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// How long the answer to an inspection may take.
const INSPECTION_TIME: Duration = Duration::from_secs(45);

/// The server's answer: one JSON object.
pub struct Reply(Value);

impl Reply {
    pub fn done(message: String) -> Reply {
        Reply(json!({ "ok": true, "message": message }))
    }

    pub fn failed(reason: String) -> Reply {
        Reply(json!({ "ok": false, "message": reason }))
    }

    pub fn status(pool: PoolStatus, front: Stats, back_ends: Vec<GroupStatus>) -> Reply {
        Reply(json!({
            "ok": true,
            "pid": std::process::id(),
            "front": {
                "open_connections": front.open_connections,
                "active_requests": front.active_requests,
                "connections": front.connections,
                "refused_connections": front.refused_connections,
                "traffic_rules": {
                    "too_many_at_once": front.too_many_at_once,
                    "too_fast": front.too_fast,
                    "held_back": front.held_back,
                    "too_many_connections": front.too_many_connections,
                    "too_slow": front.too_slow,
                },
                "requests": front.requests,
                "bytes": front.bytes,
                "cache": {
                    "keys": front.cache.keys,
                    "bytes": front.cache.bytes,
                    "hits": front.cache.hits,
                    "misses": front.cache.misses,
                    "stale": front.cache.stale,
                    "revalidated": front.cache.revalidated,
                },
            },
            "pool": pool,
            "back_ends": back_ends,
        }))
    }

    /// Adds what the front has counted for those who watch it.
    pub fn with_watched(mut self, watched: WatchReport) -> Reply {
        self.0["watched"] = json!({
            "counted_ms": watched.counted_ms,
            "requests": watched.requests,
            "bytes": watched.bytes,
            "classes": watched.classes,
            "latency_us": watched.latency,
            "queue_wait_us": watched.queue_wait,
        });
        self
    }

    /// Adds a part to the answer.
    pub fn with(mut self, name: &str, part: &impl serde::Serialize) -> Reply {
        self.0[name] = json!(part);
        self
    }

    /// Gives a list under a name.
    pub fn list(name: &str, list: Vec<Value>) -> Reply {
        Reply(json!({ "ok": true, name: list }))
    }

    pub fn report(report: &impl serde::Serialize) -> Reply {
        let mut answer = json!(report);
        answer["ok"] = true.into();
        Reply(answer)
    }

    pub fn to_json(&self) -> String {
        format!("{}\n", self.0)
    }
}

/// Returns the folder of this user's control sockets: `$XDG_RUNTIME_DIR/mehari`, or a folder under
/// /run or /tmp. Only the user can enter the folder.
pub fn folder() -> io::Result<PathBuf> {
    let user = rustix::process::getuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR") {
        Some(runtime) => PathBuf::from(runtime).join("mehari"),
        None if user == 0 => PathBuf::from("/run/mehari"),
        None => PathBuf::from(format!("/tmp/mehari-{user}")),
    };
    match std::fs::DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let meta = std::fs::symlink_metadata(&path)?;
    if !meta.is_dir() || meta.uid() != user || meta.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "{} is not a private folder of this user",
            path.display()
        )));
    }
    Ok(path)
}

#[derive(Parser)]
pub struct Options {
    /// The server's control socket; needed only when several servers run.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Print the server's answer as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Parser)]
pub struct NamedOptions {
    /// The back end, as `mehari status` names it.
    name: String,
    #[command(flatten)]
    options: Options,
}

/// Runs a command that names a back end, such as `drain NAME`.
pub fn named_command(word: &'static str, arguments: Vec<OsString>) -> ExitCode {
    match arguments::parse::<NamedOptions>(&format!("mehari {word}"), arguments) {
        Ok(named) => run(&format!("{word} {}", named.name), &named.options, message),
        Err(status) => status,
    }
}

/// Sends one command to the running server and prints the answer.
pub fn command(
    word: &'static str,
    arguments: Vec<OsString>,
    show: fn(&Value) -> String,
) -> ExitCode {
    match arguments::parse(&format!("mehari {word}"), arguments) {
        Ok(options) => run(word, &options, show),
        Err(status) => status,
    }
}

/// Sends one line to the running server and prints the answer.
pub fn run(line: &str, options: &Options, show: fn(&Value) -> String) -> ExitCode {
    run_as(
        line.split(' ').next().unwrap_or_default(),
        line,
        options,
        show,
    )
}

/// Does the same for a command whose name is not the first word of the line.
pub fn run_as(word: &str, line: &str, options: &Options, show: fn(&Value) -> String) -> ExitCode {
    match ask(options.control.as_deref(), line) {
        Ok(answer) => print(word, &answer, options, show),
        Err(reason) => {
            eprintln!("mehari {word}: {reason}");
            ExitCode::from(1)
        }
    }
}

/// Prints an answer as text or JSON.
pub fn print(
    word: &str,
    answer: &Value,
    options: &Options,
    show: fn(&Value) -> String,
) -> ExitCode {
    let ok = answer["ok"] == true;
    let text = if options.json {
        format!("{answer:#}\n")
    } else {
        show(answer)
    };
    if ok || options.json {
        say!("{text}");
    } else {
        eprint!("mehari {word}: {text}");
    }
    ExitCode::from(if ok { 0 } else { 1 })
}

/// Returns whether there is a server to ask: `--control` names a server, or a server of this user
/// runs.
pub fn has_server(options: &Options) -> bool {
    options.control.is_some() || !find_servers().unwrap_or_default().is_empty()
}

/// Returns the message of an answer, with a line end.
pub fn message(answer: &Value) -> String {
    format!(
        "{}\n",
        answer["message"].as_str().unwrap_or_default().trim_end()
    )
}

/// Sends one line to the server at `named`, or to the only one that runs.
pub fn ask(named: Option<&Path>, word: &str) -> Result<Value, String> {
    ask_on(connect(named)?, word)
}

/// Sends one line on a stream that the server answers.
pub fn ask_on(mut stream: UnixStream, word: &str) -> Result<Value, String> {
    // A process that is inspected answers within less time, or the server says that it does not.
    let limit = word.starts_with("inspect ").then_some(INSPECTION_TIME);
    let mut answer = String::new();
    stream
        .set_read_timeout(limit)
        .and_then(|()| stream.write_all(format!("{word}\n").as_bytes()))
        .and_then(|()| stream.read_to_string(&mut answer))
        .map_err(|error| format!("the server closed the connection: {error}"))?;
    serde_json::from_str(&answer)
        .map_err(|_| "the server gave no answer; is it another user's?".to_owned())
}

/// Connects with the server at `named`, or with the only one that runs.
pub fn connect(named: Option<&Path>) -> Result<UnixStream, String> {
    match named {
        Some(path) => UnixStream::connect(path)
            .map_err(|error| format!("no server answers at {}: {error}", path.display())),
        None => find_only_server(),
    }
}

fn find_servers() -> Result<Vec<(PathBuf, UnixStream)>, String> {
    let folder = folder().map_err(|error| error.to_string())?;
    let entries =
        std::fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "sock")
        })
        .filter_map(|path| UnixStream::connect(&path).ok().map(|stream| (path, stream)))
        .collect())
}

fn find_only_server() -> Result<UnixStream, String> {
    let mut running = find_servers()?;
    match running.len() {
        0 => Err("no server of this user is running".to_owned()),
        1 => Ok(running.remove(0).1),
        _ => {
            let paths: Vec<String> = running
                .iter()
                .map(|(path, _)| format!("  --control {}", path.display()))
                .collect();
            Err(format!(
                "several servers run; name one by --control:\n{}",
                paths.join("\n")
            ))
        }
    }
}
