//! A replacement for the workers: answers by script name and records the requests.

use mehari_front::{PerlPool, StandInExchange};
use mehari_pool::script_head::ScriptHead;
use mehari_pool::{Body, Call, Fault, Head, Task};
use std::collections::VecDeque;
use std::io::Read;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

#[derive(Clone, Default)]
pub struct StandIn {
    pub heard: Arc<Mutex<Vec<String>>>,
    /// How often a worker became free after `page.pl` or `flood.pl`.
    pub freed: Arc<AtomicUsize>,
}

/// The output of a replaced worker, piece by piece.
pub struct ScriptedOutput {
    freed: Option<Arc<AtomicUsize>>,
    interim: VecDeque<Head>,
    head: Option<Result<Head, Fault>>,
    body: VecDeque<Result<Vec<u8>, Fault>>,
    /// The numbers of the further pieces of a long body. A piece is made when it is read.
    flood: std::ops::Range<u64>,
    complete: bool,
    silent: bool,
    worker: Option<u32>,
}

impl From<StandIn> for PerlPool {
    fn from(pool: StandIn) -> PerlPool {
        PerlPool::StandIn(Rc::new(pool))
    }
}

impl mehari_front::StandIn for StandIn {
    fn submit(&self, call: Call<'_>) -> Box<dyn StandInExchange> {
        let text = describe(&call);
        self.heard.lock().expect("one user").push(text.clone());
        let name = match call.task {
            Task::Script { file, .. } => file.rsplit(|&byte| byte == b'/').next().unwrap_or(b""),
            Task::Handler { name, .. } => name,
            Task::Psgi { file, .. } => file,
            Task::Front { .. } => b"front",
            Task::Connection => b"connection",
            Task::Deferred { .. } => b"deferred",
        };
        let name = std::str::from_utf8(name).unwrap_or("");
        Box::new(answer(name, text, call, &self.freed))
    }
}

fn describe(call: &Call<'_>) -> String {
    let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
    let mut lines = vec![
        format!("method {}", text(call.line.method)),
        format!("target {}", text(call.line.target)),
        format!("script {}", text(call.path.script_name)),
        format!("info {}", text(call.path.path_info)),
        format!("query {}", text(call.line.query)),
        format!("server {}", text(call.connection.server_name)),
    ];
    for (name, value) in call.environment.variables {
        lines.push(format!("{}={}", text(name), text(value)));
    }
    for (name, value) in call.fields {
        lines.push(format!("{}: {}", text(name), text(value)));
    }
    match &call.body {
        Body::Empty => lines.push("no body".into()),
        Body::Memory(bytes) => lines.push(format!("memory {} {:x}", bytes.len(), sum(bytes))),
        Body::File(file, length) => {
            let mut bytes = Vec::new();
            let mut file = std::fs::File::from(file.try_clone().expect("a descriptor"));
            file.read_to_end(&mut bytes).expect("a readable file");
            assert_eq!(bytes.len() as u64, *length);
            lines.push(format!("file {length} {:x}", sum(&bytes)));
        }
    }
    lines.join("\n") + "\n"
}

/// Returns piece `number` of a long body: 64 KiB that begin with the number and continue with a
/// pattern.
pub fn flood(number: u64) -> Vec<u8> {
    static PATTERN: OnceLock<Vec<u8>> = OnceLock::new();
    let pattern = PATTERN.get_or_init(|| {
        let words = (0..8192_u64).map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        words.flat_map(u64::to_be_bytes).collect()
    });
    let mut piece = pattern.clone();
    piece[..8].copy_from_slice(&number.to_be_bytes());
    piece
}

fn text_after(text: &[u8], mark: &str) -> u64 {
    let text = std::str::from_utf8(text).expect("a query in ASCII");
    let digits = text.strip_prefix(mark).expect("a number of pieces");
    digits.parse().expect("a number")
}

pub fn sum(bytes: &[u8]) -> u32 {
    bytes.iter().fold(7, |sum: u32, &byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    })
}

fn head(status: u16, lines: &str, content_length: Option<u64>) -> Option<Result<Head, Fault>> {
    Some(Ok(Head {
        status,
        lines: lines.as_bytes().to_vec(),
        content_length,
        ..Head::default()
    }))
}

fn answer(name: &str, text: String, call: Call<'_>, freed: &Arc<AtomicUsize>) -> ScriptedOutput {
    let said = |head, pieces: &[&str], complete| ScriptedOutput {
        freed: None,
        interim: VecDeque::new(),
        head,
        body: pieces
            .iter()
            .map(|piece| Ok(piece.as_bytes().to_vec()))
            .collect(),
        complete,
        flood: 0..0,
        silent: false,
        worker: Some(4711),
    };
    let plain = "Content-Type: text/plain\r\n";
    match name {
        "hello.pl" => said(head(200, plain, Some(6)), &["hello\n"], true),
        "unsized.pl" => said(head(200, plain, None), &["hello", "\n"], true),
        "stream.pl" => said(head(200, plain, None), &["one ", "two ", "three\n"], false),
        "long.pl" => said(head(200, plain, Some(3)), &["hello", "\n"], false),
        "short.pl" => said(head(200, plain, Some(30)), &["hello\n"], false),
        "split.pl" => said(
            head(200, "X: a\r\nSet-Cookie: b\nEvil: c\r\n", None),
            &["x"],
            true,
        ),
        "nobody.pl" => said(
            head(204, "Content-Length: 5\r\n", Some(5)),
            &["hello"],
            true,
        ),
        "big.pl" => {
            let piece = "0123456789abcdef".repeat(4096);
            let pieces: Vec<&str> = (0..64).map(|_| piece.as_str()).collect();
            said(head(200, plain, None), &pieces, false)
        }
        "page.pl" => {
            let piece = "0123456789abcdef".repeat(4096);
            let pieces: Vec<&str> = (0..16).map(|_| piece.as_str()).collect();
            ScriptedOutput {
                freed: Some(freed.clone()),
                ..said(head(200, plain, None), &pieces, false)
            }
        }
        "flood.pl" => ScriptedOutput {
            freed: Some(freed.clone()),
            flood: 0..text_after(call.line.query, "pieces="),
            ..said(head(200, plain, None), &[], false)
        },
        "away.pl" => said(
            head(200, "Location: /echo.pl/info?from=away\r\n", None),
            &[],
            true,
        ),
        "circle.pl" => said(head(200, "Location: /circle.pl\r\n", None), &[], true),
        "hints.pl" => {
            let mut said = said(head(200, plain, Some(6)), &["hello\n"], true);
            let hint = head(103, "Link: </style.css>; rel=preload\r\n", None);
            said.interim
                .push_back(hint.expect("a head").expect("no fault"));
            said
        }
        "died.pl" => said(Some(Err(Fault::WorkerDied)), &[], true),
        "busy.pl" => said(Some(Err(Fault::QueueFull)), &[], true),
        "half.pl" => {
            let mut said = said(head(200, plain, None), &["half"], false);
            said.body.push_back(Err(Fault::WorkerDied));
            said
        }
        "silent.pl" => ScriptedOutput {
            silent: true,
            ..said(None, &[], false)
        },
        "queued.pl" => ScriptedOutput {
            silent: true,
            worker: None,
            ..said(None, &[], false)
        },
        _ => {
            drop(call);
            said(head(200, plain, None), &[&text], true)
        }
    }
}

impl StandInExchange for ScriptedOutput {
    fn poll_head(&mut self, _: &mut Context<'_>) -> Poll<Result<ScriptHead, Fault>> {
        if self.silent {
            Poll::Pending
        } else {
            Poll::Ready(
                self.head
                    .take()
                    .expect("asked for the head once")
                    .map(|head| match head.lines.strip_prefix(b"Location: /") {
                        Some(rest) if head.status == 200 => {
                            let target = rest.strip_suffix(b"\r\n").expect("one line");
                            ScriptHead::internal_redirect([b"/", target].concat(), b"")
                        }
                        _ => ScriptHead::Response(head),
                    }),
            )
        }
    }

    fn take_interim(&mut self) -> Option<Head> {
        self.interim.pop_front()
    }

    fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
        into: &mut Vec<u8>,
        _: usize,
    ) -> Poll<Result<bool, Fault>> {
        match self.body.pop_front() {
            Some(Ok(piece)) => into.extend_from_slice(&piece),
            Some(Err(fault)) => return Poll::Ready(Err(fault)),
            None if !self.flood.is_empty() => {
                into.extend_from_slice(&flood(self.flood.start));
                self.flood.start += 1;
            }
            None => {
                if let Some(freed) = self.freed.take() {
                    freed.fetch_add(1, Ordering::SeqCst);
                }
                return Poll::Ready(Ok(false));
            }
        }
        cx.waker().wake_by_ref();
        Poll::Ready(Ok(true))
    }

    fn is_complete(&self) -> bool {
        self.complete
    }

    fn worker(&self) -> Option<u32> {
        self.worker
    }

    fn queued(&self) -> Duration {
        Duration::ZERO
    }
}
