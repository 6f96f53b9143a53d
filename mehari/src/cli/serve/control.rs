//! Answers the control socket: `status`, `reload`, `upgrade`, `stop` and other commands, for the
//! server's owner only.
//!
//! The socket lies in a folder that only the owner can enter. The server also asks the kernel for
//! the peer's user. A request is one line, and the answer is one JSON object.

use super::keeper::Keeper;
use super::remains::identity_of_file;
use super::upgrade::Upgrader;
use super::{exact, tracing, watching};
use crate::cli::control::{folder, Reply};
use mehari_front::Stop;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// The longest time between the creation of a control socket and the first `listen` on it.
const NEW: Duration = Duration::from_secs(10);

pub struct Control {
    listener: UnixListener,
    file: SocketFile,
    /// The name under which commands find the socket.
    path: PathBuf,
}

/// The file of the socket. The file is removed when the server ends, unless the process that has
/// replaced this one has put its own socket there.
struct SocketFile {
    path: PathBuf,
    /// The device and the number of the file.
    identity: (u64, u64),
}

impl SocketFile {
    fn of(path: PathBuf) -> io::Result<SocketFile> {
        let identity = identity_of_file(&path)?;
        Ok(SocketFile { path, identity })
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity_of_file(&self.path).is_ok_and(|now| now == self.identity) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Whether a control socket takes its name at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    AtOnce,
    /// The name belongs to the server that this process replaces: [`Control::take_name`] follows.
    Later,
}

impl Control {
    pub fn open(
        named: Option<&Path>,
        port: Option<u16>,
        naming: Naming,
    ) -> Result<Control, String> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => {
                let folder =
                    folder().map_err(|error| format!("the control socket's folder: {error}"))?;
                remove_left_sockets(&folder);
                folder.join(match port {
                    Some(port) => format!("{port}.sock"),
                    None => format!("pid-{}.sock", std::process::id()),
                })
            }
        };
        let failed = |error: io::Error| format!("the control socket {}: {error}", path.display());
        let bound_to = match naming {
            Naming::AtOnce => path.clone(),
            Naming::Later => with_end(&path, ".new"),
        };
        make_room(&bound_to)?;
        let listener = UnixListener::bind(&bound_to).map_err(failed)?;
        rustix::fs::chmod(&bound_to, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .map_err(|error| failed(error.into()))?;
        Ok(Control {
            listener,
            file: SocketFile::of(bound_to).map_err(failed)?,
            path,
        })
    }

    /// Takes the name of the socket from the server that this process replaces. The keeper may
    /// write in folders in which the server may not.
    pub async fn take_name(&mut self, keeper: Option<&Keeper>) -> Result<(), String> {
        match keeper {
            Some(keeper) => keeper.name_control().await?,
            None => std::fs::rename(&self.file.path, &self.path)
                .map_err(|error| format!("the control socket {}: {error}", self.path.display()))?,
        }
        self.file.path.clone_from(&self.path);
        Ok(())
    }

    /// Returns the name under which the socket is bound.
    pub fn bound(&self) -> &Path {
        &self.file.path
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub async fn listen(self, upgrader: Rc<Upgrader>) {
        let _file = &self.file;
        loop {
            if let Ok((stream, _)) = self.listener.accept().await {
                let answer = answer(stream, upgrader.clone());
                tokio::task::spawn_local(async move {
                    let _ = tokio::time::timeout(Duration::from_secs(300), answer).await;
                });
            }
        }
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    PathBuf::from(name)
}

/// Removes the socket of a server that was killed. A socket in use and any other file are refused.
fn make_room(path: &Path) -> Result<(), String> {
    let Ok(meta) = std::fs::symlink_metadata(path) else {
        return Ok(());
    };
    if !meta.file_type().is_socket() {
        return Err(format!(
            "the control socket {}: expected a new name, because a file that is no socket has it",
            path.display()
        ));
    }
    if std::os::unix::net::UnixStream::connect(path).is_ok() {
        return Err(format!(
            "the control socket {} belongs to a running server",
            path.display()
        ));
    }
    // A failure shows when the new socket is bound.
    let _ = std::fs::remove_file(path);
    Ok(())
}

/// Removes the sockets of killed servers from the folder of control sockets. A socket that is
/// younger than [`NEW`] may belong to a server that does not listen yet.
fn remove_left_sockets(folder: &Path) {
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for file in files {
        let age = file.metadata().and_then(|meta| meta.modified());
        let is_old = age.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > NEW));
        let path = file.path();
        if is_old && path.extension().is_some_and(|end| end == "sock") {
            // A file that is no socket, and a socket in use, stays. This is no error, because the
            // user has not named the file.
            let _ = make_room(&path);
        }
    }
}

async fn answer(mut stream: UnixStream, upgrader: Rc<Upgrader>) -> io::Result<()> {
    let reloader = &upgrader.reloader;
    let user = stream.peer_cred()?.uid();
    if user != 0 && user != rustix::process::getuid().as_raw() {
        return Ok(());
    }
    let mut line = String::new();
    BufReader::new((&mut stream).take(16 * 1024))
        .read_line(&mut line)
        .await?;
    if let Some(order) = line.trim_end().strip_prefix("trace ") {
        return tracing::answer(stream, order, reloader).await;
    }
    if let Some(order) = line.trim_end().strip_prefix("exact ") {
        return exact::answer(stream, order, reloader).await;
    }
    if let Some(seen) = watching::look(line.trim_end(), reloader).await {
        return seen.write_to(stream).await;
    }
    let reply = match line.trim_end() {
        "status" => {
            let (pool, front, back_ends) = reloader.status().await;
            let left = reloader.predecessor().get();
            Reply::status(pool, front, back_ends)
                .with("predecessor", &left)
                .with("managed", &reloader.managed())
                .with("profile_folder", &reloader.profile_folder())
                .with("started", &reloader.started_with())
        }
        "reload" => match reloader.reload("reload").await {
            Ok(number) => Reply::done(format!("generation {number} serves")),
            Err(reason) => Reply::failed(reason),
        },
        other if other.starts_with("reload ") => {
            match reloader.reload_pool(&other["reload ".len()..]).await {
                Ok(number) => Reply::done(format!("generation {number} of the pool serves")),
                Err(reason) => Reply::failed(reason),
            }
        }
        "upgrade" => match upgrader.upgrade("upgrade").await {
            Ok(text) => Reply::done(text),
            Err(reason) => Reply::failed(reason),
        },
        "stop" => {
            let _ = upgrader.stop.send(Stop::Gracefully);
            Reply::done("finishing the requests under way".to_owned())
        }
        other if other.starts_with("explain ") => {
            match reloader
                .explain(Path::new(&other["explain ".len()..]))
                .await
            {
                Ok(report) => Reply::report(&report),
                Err(reason) => Reply::failed(reason),
            }
        }
        other if other.starts_with("purge ") => match reloader.purge(&other["purge ".len()..]) {
            Ok(text) => Reply::done(text),
            Err(reason) => Reply::failed(reason),
        },
        other if other.starts_with("revoke ") => {
            match serde_json::from_str(&other["revoke ".len()..]) {
                Ok(wish) => match reloader.revoke(wish).await {
                    Ok(text) => Reply::done(text),
                    Err(reason) => Reply::failed(reason),
                },
                Err(error) => Reply::failed(format!("the order to revoke: {error}")),
            }
        }
        other if other.starts_with("exact-report ") => {
            match reloader.exact_reports.note(&other["exact-report ".len()..]) {
                Ok(()) => Reply::done("the console lists the report".to_owned()),
                Err(reason) => Reply::failed(reason),
            }
        }
        other => match parse_drain(other) {
            Some((name, drained)) => match reloader.drain(name, drained) {
                Ok(text) => Reply::done(text),
                Err(reason) => Reply::failed(reason),
            },
            None => Reply::failed(format!(
                "`{other}` is not a command; expected status, watch, places, errors, history, reports, reload, upgrade, stop, \
                 drain, resume, explain, inspect, purge, revoke, trace, exact or exact-report"
            )),
        },
    };
    stream.write_all(reply.to_json().as_bytes()).await
}

/// Parses `drain NAME` and `resume NAME`. Returns the name, and true for `drain`.
fn parse_drain(line: &str) -> Option<(&str, bool)> {
    match line.split_once(' ')? {
        ("drain", name) => Some((name, true)),
        ("resume", name) => Some((name, false)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::net::UnixListener;
    use std::time::SystemTime;

    fn make_old(path: &Path) {
        let past = SystemTime::now() - NEW * 2;
        let seconds = past
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("now")
            .as_secs();
        let time = rustix::fs::Timespec {
            tv_sec: i64::try_from(seconds).expect("this century"),
            tv_nsec: 0,
        };
        let times = rustix::fs::Timestamps {
            last_access: time,
            last_modification: time,
        };
        let flags = rustix::fs::AtFlags::empty();
        rustix::fs::utimensat(rustix::fs::CWD, path, &times, flags).expect("our own file");
    }

    #[test]
    fn only_old_sockets_of_killed_servers_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let bind = |name: &str| UnixListener::bind(path(name)).expect("a socket");
        drop((bind("killed.sock"), bind("starting.sock"), bind("other")));
        let _serving = bind("serving.sock");
        File::create(path("file.sock")).expect("a file");
        for old in ["killed.sock", "other", "serving.sock", "file.sock"] {
            make_old(&path(old));
        }
        remove_left_sockets(folder.path());
        let left = fs::read_dir(folder.path()).expect("the folder").flatten();
        let mut left: Vec<_> = left.map(|file| file.file_name()).collect();
        left.sort();
        assert_eq!(
            left,
            ["file.sock", "other", "serving.sock", "starting.sock"]
        );
    }

    #[test]
    fn file_that_is_no_socket_is_kept_and_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("notes");
        fs::write(&path, "kept").expect("a file");
        let refusal = make_room(&path).expect_err("a file is there");
        assert!(refusal.contains("expected a new name"), "{refusal}");
        assert_eq!(fs::read(&path).expect("it stays"), b"kept");
    }
}
