//! Answers the questions of the console's process (`SetHandler mehari-console`).
//!
//! The process inherits a channel, so no other process can ask. For each question it sends one end
//! of a new pair of sockets over the channel. The question is one line, as on the control socket,
//! but only the orders of watchers are obeyed.

use super::reload::Reloader;
use super::watching;
use crate::cli::control::Reply;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader, Interest};
use tokio::net::UnixStream;
use tokio::task::spawn_local;

/// The number of each datagram on the channel.
pub const QUESTION: u64 = 1;

/// The longest time of a question and its answer.
const TIME: Duration = Duration::from_secs(60);
const LONGEST_LINE: u64 = 16 * 1024;

/// Answers a process until it ends.
pub fn answer(channel: OwnedFd, reloader: Weak<Reloader>) {
    spawn_local(async move {
        // An error means that there is no event loop, and then there is no server.
        if let Ok(channel) = UnixStream::from_std(channel.into()) {
            answer_all(channel, reloader).await;
        }
    });
}

async fn answer_all(channel: UnixStream, reloader: Weak<Reloader>) {
    let receive = || mehari_wire::receive_file(&channel, QUESTION);
    while channel.readable().await.is_ok() {
        match channel.try_io(Interest::READABLE, receive) {
            Ok(question) => {
                let Some(reloader) = reloader.upgrade() else {
                    return;
                };
                spawn_local(async move {
                    let _ = tokio::time::timeout(TIME, answer_one(question, reloader)).await;
                });
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The process has ended.
            Err(_) => return,
        }
    }
}

async fn answer_one(question: OwnedFd, reloader: Rc<Reloader>) -> io::Result<()> {
    let stream = std::os::unix::net::UnixStream::from(question);
    stream.set_nonblocking(true)?;
    let mut stream = UnixStream::from_std(stream)?;
    let mut line = String::new();
    let limited = (&mut stream).take(LONGEST_LINE);
    BufReader::new(limited).read_line(&mut line).await?;
    let order = line.trim_end();
    let seen = match watching::look(order, &reloader).await {
        Some(seen) => seen,
        None => {
            let reason = "expected watch, places, errors, history, reports or inspect".to_owned();
            watching::LookAnswer::Text(Reply::failed(reason).to_json())
        }
    };
    seen.write_to(stream).await
}
