//! Measures the ceiling, the generator's own limit on this machine: runs the plan's connections and
//! threads against a responder in this process that answers each request with constant bytes.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::driver::{run, Control, Epoll};
use crate::moment::{Clock, Moment};
use crate::plan::{Connection, Plan, Schedule, Stop};
use crate::plan_error::PlanError;
use crate::recorder::Recorder;
use crate::request::Request;

const TIME: Duration = Duration::from_millis(300);
const WARM_UP: Duration = Duration::from_millis(50);
const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
/// The most connections of this measurement, which lasts about a third of a second.
const MOST_CONNECTIONS: usize = 256;

/// Returns the feature of the plan that the responder lacks, so that the ceiling cannot be
/// measured.
pub fn beyond(plan: &Plan) -> Option<&'static str> {
    let tls = plan.requests.iter().any(|request| request.endpoint.tls);
    match (tls, plan.connection.http2_streams, plan.connection.throttle) {
        (true, _, _) => Some("TLS"),
        (_, Some(_), _) => Some("HTTP/2"),
        (_, _, Some(_)) => Some("slow clients"),
        _ => None,
    }
}

/// Measures the ceiling in requests per second; `None` if it cannot be measured.
pub fn measure(plan: &Plan) -> Result<Option<f64>, PlanError> {
    if beyond(plan).is_some() {
        return Ok(None);
    }
    let Ok(listener) = TcpListener::bind("127.0.0.1:0") else {
        return Ok(None);
    };
    let Ok(address) = listener.local_addr() else {
        return Ok(None);
    };
    let request = Request::get(&format!("http://{address}/"))?;
    let connections = plan.most_at_once().min(MOST_CONNECTIONS);
    let mut probe = Plan::new(
        vec![request],
        Schedule::Closed { connections },
        Stop::after_time(TIME),
    );
    probe.warm_up = WARM_UP;
    probe.threads = plan.threads;
    probe.connection = Connection {
        keep_alive: plan.connection.keep_alive,
        ..Connection::default()
    };
    let ended = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        let responder = scope.spawn(|| respond(&listener, &ended));
        let outcome = run(&probe, &Control::new(), |_| Recorder::new(Moment::NEVER));
        ended.store(true, Ordering::Relaxed);
        let _ = responder.join();
        outcome
    })?;
    let answered: u64 = outcome
        .threads
        .iter()
        .map(|thread| thread.observer.completed)
        .sum();
    Ok((answered > 0).then(|| answered as f64 / TIME.as_secs_f64()))
}

/// Answers every request until `ended`. Each read returns one whole request, because the generator
/// sends a request in one segment and waits for the answer.
fn respond(listener: &TcpListener, ended: &AtomicBool) {
    let Ok(mut epoll) = Epoll::new() else { return };
    let mut streams: HashMap<u64, TcpStream> = HashMap::new();
    let mut accepted = 0;
    const LISTENER: u64 = u64::MAX;
    if listener.set_nonblocking(true).is_err() || epoll.watch(listener.as_fd(), LISTENER).is_err() {
        return;
    }
    let clock = Clock::starting_in(Duration::ZERO);
    let mut buffer = [0; 4096];
    while !ended.load(Ordering::Relaxed) {
        let now = clock.now();
        for index in 0..epoll.wait(now, now.after(Duration::from_millis(20))) {
            match epoll.event(index).token() {
                LISTENER => accept(listener, &epoll, &mut streams, &mut accepted),
                token => {
                    let stream = streams.get_mut(&token);
                    if stream.is_some_and(|stream| answer(stream, &mut buffer).is_err()) {
                        streams.remove(&token);
                    }
                }
            }
        }
    }
}

fn accept(
    listener: &TcpListener,
    epoll: &Epoll,
    streams: &mut HashMap<u64, TcpStream>,
    accepted: &mut u64,
) {
    while let Ok((stream, _)) = listener.accept() {
        *accepted += 1;
        let ready = stream.set_nonblocking(true).is_ok() && stream.set_nodelay(true).is_ok();
        if ready && epoll.watch(stream.as_fd(), *accepted).is_ok() {
            streams.insert(*accepted, stream);
        }
    }
}

/// Answers the requests of one read. An error means that the connection is over.
fn answer(stream: &mut TcpStream, buffer: &mut [u8]) -> std::io::Result<()> {
    match stream.read(buffer) {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => stream.write_all(ANSWER),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Err(error) => Err(error),
    }
}
