//! Checks the health of members: by a connection, or by a request whose response must have a status
//! below 400 or meet an expression (`hcexpr=`).
//!
//! Each member has one task. The tasks end when their [`Checks`] are dropped.

use crate::group::Group;
use crate::member::Member;
use crate::Socket;
use mehari_config::{CheckMethod, HealthCheck, LogLevel, Piece, Speech, VariableSource};
use mehari_http::http1::chunked::Decoder;
use std::rc::{Rc, Weak};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::{spawn_local, JoinHandle};

/// The number of bytes of a response that are read at most.
const READ: usize = 65_536;
/// The length of a status line up to the status and the byte behind it.
const STATUS_LINE: usize = 13;
/// The time limit of a check.
const PATIENCE: Duration = Duration::from_secs(10);

/// The running checks of one group.
pub struct Checks(Vec<JoinHandle<()>>);

impl Checks {
    /// Starts the checks. Returns `None` if the group has no checks.
    pub fn begin(group: &Rc<Group>) -> Option<Checks> {
        let common = group.settings().health.clone();
        let members = group.members.borrow();
        let tasks: Vec<_> = members
            .iter()
            .filter_map(|member| {
                let health = member.settings().health.clone().or(&common);
                let (group, member) = (Rc::downgrade(group), member.clone());
                health
                    .is_wanted()
                    .then(|| spawn_local(watch(group, member, health)))
            })
            .collect();
        (!tasks.is_empty()).then_some(Checks(tasks))
    }
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.0.iter().for_each(|task| task.abort());
    }
}

async fn watch(group: Weak<Group>, member: Rc<Member>, health: HealthCheck) {
    let every = health.every();
    loop {
        let asked = tokio::time::timeout(PATIENCE.min(every), probe(&member, &health)).await;
        let verdict = asked.unwrap_or_else(|_| Err("no answer in time".into()));
        let Some(group) = group.upgrade() else { return };
        judge(&group, &member, &health, verdict);
        drop(group);
        tokio::time::sleep(every).await;
    }
}

fn judge(group: &Rc<Group>, member: &Member, health: &HealthCheck, verdict: Result<(), String>) {
    let contradicts = member.unwell.get() == verdict.is_ok();
    if !contradicts {
        return member.row.set(0);
    }
    member.row.set(member.row.get() + 1);
    let enough = match verdict {
        Ok(()) => health.passes.unwrap_or(1),
        Err(_) => health.fails.unwrap_or(1),
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
    if health.method() == CheckMethod::Tcp || settings.speech != Speech::Http {
        return Ok(());
    }
    let path = [&settings.path, health.uri.as_deref().unwrap_or("")].concat();
    let question = question(health.method(), &path, &settings.host);
    let broke = |error: std::io::Error| error.to_string();
    socket.write_all(question.as_bytes()).await.map_err(broke)?;
    socket.flush().await.map_err(broke)?;
    let needs = match health.condition {
        Some(_) => READ,
        None => STATUS_LINE,
    };
    let mut answer = Vec::with_capacity(512);
    let mut limited = socket.take(READ as u64);
    let has_body = !matches!(health.method(), CheckMethod::Head | CheckMethod::Head11);
    while answer.len() < needs && !is_whole(&answer, has_body) {
        if limited.read_buf(&mut answer).await.map_err(broke)? == 0 {
            break;
        }
    }
    if answer.is_empty() {
        return Err("closed without an answer".into());
    }
    judge_answer(&answer, health)
}

/// Returns the request of a check. The member closes the connection after its response.
fn question(method: CheckMethod, path: &str, host: &str) -> String {
    let path = if path.is_empty() { "/" } else { path };
    let (method, path, version) = match method {
        CheckMethod::Options => ("OPTIONS", "*", "1.0"),
        CheckMethod::Options11 => ("OPTIONS", "*", "1.1"),
        CheckMethod::Head => ("HEAD", path, "1.0"),
        CheckMethod::Head11 => ("HEAD", path, "1.1"),
        CheckMethod::Get => ("GET", path, "1.0"),
        CheckMethod::Get11 | CheckMethod::None | CheckMethod::Tcp => ("GET", path, "1.1"),
    };
    format!(
        "{method} {path} HTTP/{version}\r\nHost: {host}\r\nUser-Agent: Mehari (health \
         check)\r\nConnection: close\r\n\r\n"
    )
}

/// Decides whether the response is that of a healthy member.
fn judge_answer(answer: &[u8], health: &HealthCheck) -> Result<(), String> {
    let status = status(answer).ok_or("answered with something other than HTTP")?;
    match &health.condition {
        None if (200..400).contains(&status) => Ok(()),
        None => Err(format!("answered {status}")),
        Some(condition) if condition.holds(&CheckedResponse::new(status, answer)) => Ok(()),
        Some(condition) => Err(format!(
            "answered {status}, and `{condition}` does not hold"
        )),
    }
}

/// The response to a check, for an expression.
struct CheckedResponse<'a> {
    status: u16,
    head: &'a [u8],
    body: Vec<u8>,
    /// Whether the whole body is there, as far as its length is known.
    is_whole: bool,
}

impl<'a> CheckedResponse<'a> {
    fn new(status: u16, answer: &'a [u8]) -> CheckedResponse<'a> {
        let (head, rest) = split(answer).unwrap_or((answer, b""));
        let mut response = CheckedResponse {
            status,
            head,
            body: Vec::new(),
            is_whole: false,
        };
        let coding = response.fields("Transfer-Encoding").next();
        if coding.is_some_and(|coding| coding.eq_ignore_ascii_case(b"chunked")) {
            let mut decoder = Decoder::new(READ, READ);
            // The data before a malformed chunk count.
            let decoded = decoder.decode(rest, &mut response.body);
            response.is_whole = decoded.is_err() || decoder.is_done();
        } else {
            let length = response.fields("Content-Length").next();
            let length = length.and_then(|text| std::str::from_utf8(text).ok());
            let length = length.and_then(|text| text.parse::<usize>().ok());
            response.is_whole = length.is_some_and(|length| rest.len() >= length);
            response.body = rest.to_vec();
        }
        response
    }

    /// Returns the values of the fields with this name.
    fn fields<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'a [u8]> + 's {
        let lines = self.head.split(|byte| *byte == b'\n').skip(1);
        lines.filter_map(move |line| {
            let colon = line.iter().position(|byte| *byte == b':')?;
            let is_named = line[..colon].eq_ignore_ascii_case(name.as_bytes());
            is_named.then(|| line[colon + 1..].trim_ascii())
        })
    }
}

impl VariableSource for CheckedResponse<'_> {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        match piece {
            Piece::Literal(bytes) => into.extend_from_slice(bytes),
            Piece::Call(function, text) => into.extend(function.apply(&text.of(self))),
            Piece::Variable(name) if name == "REQUEST_STATUS" => {
                into.extend_from_slice(self.status.to_string().as_bytes());
            }
            Piece::Response(name) => {
                let values: Vec<_> = self.fields(name).collect();
                into.extend_from_slice(&values.join(&b", "[..]));
            }
            Piece::CheckedBody => into.extend_from_slice(&self.body),
            _ => {}
        }
    }
}

/// Splits a response into its head and its body. `None`: the head is not whole.
fn split(answer: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    Some((&answer[..end], &answer[end + 4..]))
}

/// Whether all that the member will send is there, as far as the head tells.
fn is_whole(answer: &[u8], has_body: bool) -> bool {
    let has_head = split(answer).is_some();
    has_head && (!has_body || CheckedResponse::new(0, answer).is_whole)
}

/// Returns the status in a line such as `HTTP/1.1 200 OK`.
fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.")?;
    let digits = rest.get(2..5)?;
    let ends = matches!(rest.get(5), Some(b' ' | b'\r'));
    let status = std::str::from_utf8(digits).ok()?.parse().ok()?;
    (rest[1] == b' ' && ends).then_some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_whole_as_far_as_its_head_tells() {
        let rows: [(&[u8], bool, bool); 8] = [
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n", true, false),
            (
                b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\na",
                true,
                false,
            ),
            (
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab",
                true,
                true,
            ),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", false, true),
            (b"HTTP/1.1 200 OK\r\n\r\nabc", true, false),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
                true,
                false,
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
                true,
                true,
            ),
            (
                b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                true,
                true,
            ),
        ];
        for (answer, has_body, expected) in rows {
            let text = String::from_utf8_lossy(answer);
            assert_eq!(is_whole(answer, has_body), expected, "{text}");
        }
    }

    #[test]
    fn only_a_response_of_http_has_a_status() {
        assert_eq!(status(b"HTTP/1.1 204 \r\n"), Some(204));
        assert_eq!(status(b"HTTP/1.0 500\r\n"), Some(500));
        for line in [
            &b"HTTP/1.1 20"[..],
            b"HTTP/2 200 OK",
            b"SSH-2.0-OpenSSH",
            b"HTTP/1.1 2x0 OK",
        ] {
            assert_eq!(status(line), None);
        }
    }
}
