//! Checks the health of members by a connection, or by a GET with a status below 400.
//!
//! Each member has one task. The tasks end when their [`Checks`] are dropped.

use crate::group::Group;
use crate::member::Member;
use crate::Socket;
use mehari_config::{HealthCheck, LogLevel, Speech};
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{spawn_local, JoinHandle};

/// The number of bytes of a response that are read. They contain the status line.
const READ: usize = 512;
/// The time limit of a check.
const PATIENCE: Duration = Duration::from_secs(10);

/// The running checks of one group.
pub struct Checks(Vec<JoinHandle<()>>);

impl Checks {
    /// Starts the checks. Returns `None` if the group has no checks.
    pub fn begin(group: &Rc<Group>) -> Option<Checks> {
        let health = group.settings().health.clone()?;
        let members = group.members.borrow();
        let tasks = members.iter().map(|member| {
            let (group, member) = (Rc::downgrade(group), member.clone());
            spawn_local(watch(group, member, health.clone()))
        });
        Some(Checks(tasks.collect()))
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.0.iter().for_each(|task| task.abort());
    }
}

async fn watch(group: Weak<Group>, member: Rc<Member>, health: HealthCheck) {
    loop {
        let asked = tokio::time::timeout(PATIENCE.min(health.every), probe(&member, &health)).await;
        let verdict = asked.unwrap_or_else(|_| Err("no answer in time".into()));
        let Some(group) = group.upgrade() else { return };
        judge(&group, &member, &health, verdict);
        drop(group);
        tokio::time::sleep(health.every).await;
    }
}

fn judge(group: &Rc<Group>, member: &Member, health: &HealthCheck, verdict: Result<(), String>) {
    let contradicts = member.unwell.get() == verdict.is_ok();
    if !contradicts {
        return member.row.set(0);
    }
    member.row.set(member.row.get() + 1);
    let enough = match verdict {
        Ok(()) => health.passes,
        Err(_) => health.fails,
    };
    if member.row.get() < enough {
        return;
    }
    member.row.set(0);
    let name = format!("{}: {}", group.name, member.name);
    match verdict {
        Ok(()) => {
            member.note_health();
            (group.report)(
                LogLevel::Notice,
                &format!("{name}: passes its health check again"),
            );
            group.serve_next();
        }
        Err(why) => {
            member.unwell.set(true);
            member.close_idle();
            (group.report)(
                LogLevel::Error,
                &format!("{name}: fails its health check: {why}"),
            );
        }
    }
}

async fn probe(member: &Member, health: &HealthCheck) -> Result<(), String> {
    let settings = member.settings();
    let address = member.address.borrow().clone();
    let tls = member.tls().map_err(|fault| fault.to_string())?;
    let mut socket = Socket::connect(&address, tls.as_ref())
        .await
        .map_err(|error| error.to_string())?;
    if health.uri.is_empty() || settings.speech != Speech::Http {
        return Ok(());
    }
    let question = format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: Mehari (health check)\r\nConnection: \
         close\r\n\r\n",
        health.uri, settings.host
    );
    let broke = |error: std::io::Error| error.to_string();
    socket.write_all(question.as_bytes()).await.map_err(broke)?;
    socket.flush().await.map_err(broke)?;
    let mut line = Vec::with_capacity(READ);
    while line.len() < 13 {
        if socket.read_buf(&mut line).await.map_err(broke)? == 0 {
            return Err("closed without an answer".into());
        }
    }
    match status(&line) {
        Some(status) if (200..400).contains(&status) => Ok(()),
        Some(status) => Err(format!("answered {status}")),
        None => Err("answered with something other than HTTP".into()),
    }
}

/// Returns the status in a line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    let ends = matches!(rest.get(5), Some(b' ' | b'\r'));
    let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (rest[1] == b' ' && ends).then_some(status)
}
