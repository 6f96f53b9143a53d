//! The control socket: `status`, `reload`, `stop` and others, for its owner only.
//!
//! The socket lies in a folder that only the owner can enter, and the server also asks for the
//! peer's user. One line in, one JSON object out.

use super::reload::Reloader;
use crate::cli::control::{folder, Reply};
use mehari_front::Stop;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::watch::Sender;

pub struct Control {
    listener: UnixListener,
    file: SocketFile,
}

/// Removed when the server ends.
struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Control {
    pub fn open(named: Option<&Path>, port: Option<u16>) -> Result<Control, String> {
        let path = match named {
            Some(path) => path.to_owned(),
            None => folder()
                .map_err(|error| format!("the control socket's folder: {error}"))?
                .join(match port {
                    Some(port) => format!("{port}.sock"),
                    None => format!("pid-{}.sock", std::process::id()),
                }),
        };
        let failed = |error: io::Error| format!("the control socket {}: {error}", path.display());
        if std::os::unix::net::UnixStream::connect(&path).is_ok() {
            return Err(format!(
                "the control socket {} belongs to a running server",
                path.display()
            ));
        }
        let _ = std::fs::remove_file(&path);
        let listener = UnixListener::bind(&path).map_err(failed)?;
        rustix::fs::chmod(&path, rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR)
            .map_err(|error| failed(error.into()))?;
        Ok(Control {
            listener,
            file: SocketFile(path),
        })
    }

    pub fn path(&self) -> &Path {
        &self.file.0
    }

    pub async fn listen(self, reloader: Rc<Reloader>, stop: Sender<Stop>) {
        let _file = &self.file;
        loop {
            if let Ok((stream, _)) = self.listener.accept().await {
                let (reloader, stop) = (reloader.clone(), stop.clone());
                tokio::task::spawn_local(async move {
                    let _ = tokio::time::timeout(
                        Duration::from_secs(300),
                        answer(stream, reloader, stop),
                    )
                    .await;
                });
            }
        }
    }
}

async fn answer(
    mut stream: UnixStream,
    reloader: Rc<Reloader>,
    stop: Sender<Stop>,
) -> io::Result<()> {
    let user = stream.peer_cred()?.uid();
    if user != 0 && user != rustix::process::getuid().as_raw() {
        return Ok(());
    }
    let mut line = String::new();
    BufReader::new((&mut stream).take(16 * 1024))
        .read_line(&mut line)
        .await?;
    let reply = match line.trim_end() {
        "status" => {
            let (pool, front, back_ends) = reloader.status();
            Reply::status(pool, front, back_ends)
        }
        "reload" => match reloader.reload("reload").await {
            Ok(number) => Reply::done(format!("generation {number} serves")),
            Err(reason) => Reply::failed(reason),
        },
        "stop" => {
            let _ = stop.send(Stop::Gracefully);
            Reply::done("finishing the requests under way".to_owned())
        }
        other if other.starts_with("explain ") => {
            match reloader.explain(Path::new(&other["explain ".len()..])).await {
                Ok(report) => Reply::report(&report),
                Err(reason) => Reply::failed(reason),
            }
        }
        other if other.starts_with("purge ") => match reloader.purge(&other["purge ".len()..]) {
            Ok(text) => Reply::done(text),
            Err(reason) => Reply::failed(reason),
        },
        other => match parse_drain(other) {
            Some((name, drained)) => match reloader.drain(name, drained) {
                Ok(text) => Reply::done(text),
                Err(reason) => Reply::failed(reason),
            },
            None => Reply::failed(format!(
                "`{other}` is not a command; expected status, reload, stop, drain, resume, explain or purge"
            )),
        },
    };
    stream.write_all(reply.to_json().as_bytes()).await
}

/// `drain NAME` and `resume NAME`.
fn parse_drain(line: &str) -> Option<(&str, bool)> {
    match line.split_once(' ')? {
        ("drain", name) => Some((name, true)),
        ("resume", name) => Some((name, false)),
        _ => None,
    }
}
