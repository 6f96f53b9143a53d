//! Tests TLS and HTTP/2 against servers that use the crates `rustls` and `h2`.

mod known;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mehari_load::{
    run, Builder, Control, Failure, FailureKind, Moment, Observer, Plan, Recorder, Request,
    RunOutcome, Sample, Schedule, Stop, TlsPolicy, Url,
};

fn play(plan: &Plan) -> RunOutcome<Recorder> {
    run(plan, &Control::new(), |_| Recorder::new(Moment::NEVER)).expect("a good plan")
}

fn count(outcome: &RunOutcome<Recorder>, kind: FailureKind) -> u64 {
    outcome
        .threads
        .iter()
        .map(|thread| thread.observer.failures[kind as usize])
        .sum()
}

/// A TLS server with its own certificate for `localhost`. It answers any request with `hello`.
struct Secure {
    address: SocketAddr,
    certificate: PathBuf,
}

fn secure_server() -> Secure {
    let own = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let certificate =
        std::env::temp_dir().join(format!("mehari-load-{}-{:p}.pem", std::process::id(), &own));
    std::fs::write(&certificate, own.cert.pem()).expect("a temporary file");
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(own.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let configuration = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.into())
        .expect("a usable certificate");
    let configuration = Arc::new(configuration);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            let configuration = Arc::clone(&configuration);
            std::thread::spawn(move || {
                let mut connection =
                    rustls::ServerConnection::new(configuration).expect("a connection");
                let mut stream = rustls::Stream::new(&mut connection, &mut socket);
                let mut buffer = [0; 4096];
                while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
                    // The pause is longer than the client waits for further bytes.
                    std::thread::sleep(Duration::from_millis(1));
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
                    if stream.write_all(answer).is_err() {
                        break;
                    }
                }
            });
        }
    });
    Secure {
        address,
        certificate,
    }
}

fn secure_plan(server: &Secure, policy: TlsPolicy) -> Plan {
    let url = format!("https://localhost:{}/", server.address.port());
    let mut plan = Plan::new(
        vec![Request::get(&url).expect("a good URL")],
        Schedule::Closed { connections: 4 },
        Stop::after_requests(100),
    );
    plan.connection.tls = Arc::new(policy);
    plan.connection.timeout = Duration::from_secs(10);
    plan
}

#[test]
fn a_certificate_is_accepted_if_it_is_named_or_not_verified() {
    let server = secure_server();
    let named = TlsPolicy {
        authorities: vec![server.certificate.clone()],
        ..TlsPolicy::default()
    };
    let insecure = TlsPolicy {
        insecure: true,
        ..TlsPolicy::default()
    };
    for policy in [named, insecure] {
        let outcome = play(&secure_plan(&server, policy));
        assert_eq!(outcome.totals().completed, 100);
        assert_eq!(outcome.totals().connections, 4);
    }
}

#[test]
fn a_certificate_of_an_unknown_authority_is_refused_with_a_reason() {
    let (server, other) = (secure_server(), secure_server());
    let policy = TlsPolicy {
        authorities: vec![other.certificate.clone()],
        ..TlsPolicy::default()
    };
    let outcome = play(&secure_plan(&server, policy));
    assert_eq!(
        (
            count(&outcome, FailureKind::Tls),
            outcome.totals().completed
        ),
        (100, 0)
    );
    let why = &outcome.threads[0].observer.troubles[&FailureKind::Tls];
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn http2_over_tls_needs_a_server_that_offers_it() {
    let server = secure_server();
    let mut plan = secure_plan(
        &server,
        TlsPolicy {
            insecure: true,
            ..TlsPolicy::default()
        },
    );
    plan.connection.http2_streams = Some(1);
    let outcome = play(&plan);
    assert_eq!(count(&outcome, FailureKind::Tls), 100);
    assert_eq!(
        outcome.threads[0].observer.troubles[&FailureKind::Tls],
        "the server does not speak HTTP/2"
    );
}

/// Returns an HTTP/2 server on the `h2` crate. It answers with the request body and `x` headers.
/// `/reset` resets the stream.
fn http2_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    listener.set_nonblocking(true).expect("a flag");
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("tokio");
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(converse(socket));
            }
        });
    });
    address
}

async fn converse(socket: tokio::net::TcpStream) {
    let mut builder = h2::server::Builder::new();
    builder
        .max_concurrent_streams(3)
        .initial_window_size(20_000);
    let Ok(mut connection) = builder.handshake::<_, bytes::Bytes>(socket).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        tokio::spawn(async move {
            if request.uri().path() == "/reset" {
                return respond.send_reset(h2::Reason::INTERNAL_ERROR);
            }
            let mut body = request.into_body();
            let mut length = 0;
            while let Some(Ok(piece)) = body.data().await {
                length += piece.len();
                let _ = body.flow_control().release_capacity(piece.len());
            }
            let answer = http::Response::builder()
                .status(207)
                .header("server", "h2 crate")
                .body(());
            let Ok(mut stream) = respond.send_response(answer.expect("a response"), false) else {
                return;
            };
            let _ = stream.send_data(vec![b'y'; length + 1].into(), true);
        });
    }
}

#[derive(Default)]
struct Observations {
    samples: Vec<Sample>,
    failures: Vec<Failure>,
    heads: Vec<String>,
}

impl Observer for Observations {
    fn head(&mut self, _exchange: &mehari_load::ObservedExchange, head: &[u8]) {
        self.heads.push(String::from_utf8_lossy(head).into_owned());
    }
    fn completed(&mut self, sample: &Sample) {
        self.samples.push(*sample);
    }
    fn failed(&mut self, failure: &Failure) {
        self.failures.push(*failure);
    }
}

fn http2_plan(requests: Vec<Request>, streams: usize) -> Plan {
    let mut plan = Plan::new(
        requests,
        Schedule::Closed { connections: 2 },
        Stop::after_requests(60),
    );
    plan.connection.http2_streams = Some(streams);
    plan.connection.timeout = Duration::from_secs(10);
    plan
}

#[test]
fn http2_sends_bodies_larger_than_the_window_and_respects_the_servers_stream_limit() {
    let address = http2_server();
    let url = Url::parse(&format!("http://{address}/")).expect("a good URL");
    let builder = Builder {
        method: "POST".into(),
        body: vec![b'x'; 100_000],
        ..Builder::default()
    };
    // The plan wants eight streams, and the server permits three.
    let plan = http2_plan(vec![builder.build(&url).expect("a request")], 8);
    let outcome = run(&plan, &Control::new(), |_| Observations::default()).expect("a good plan");
    let seen = &outcome.threads[0].observer;
    assert_eq!((seen.samples.len(), seen.failures.len()), (60, 0));
    assert!(seen
        .samples
        .iter()
        .all(|sample| sample.status == 207 && sample.body_bytes == 100_001));
    assert!(seen
        .heads
        .iter()
        .all(|head| head.starts_with("HTTP/2 207\r\n") && head.contains("server: h2 crate\r\n")));
}

#[test]
fn a_reset_stream_fails_alone() {
    let address = http2_server();
    let get = |path: &str| Request::get(&format!("http://{address}{path}")).expect("a good URL");
    let mut plan = http2_plan(vec![get("/"), get("/reset")], 2);
    plan.pick = mehari_load::Pick::InOrder;
    let outcome = run(&plan, &Control::new(), |_| Observations::default()).expect("a good plan");
    let seen = &outcome.threads[0].observer;
    assert_eq!((seen.samples.len(), seen.failures.len()), (30, 30));
    assert!(seen
        .failures
        .iter()
        .all(|failure| failure.kind == FailureKind::Reset));
    assert!(outcome.totals().connections <= 2);
}

/// An observer that delays the reading of answers: it sleeps in each turn of the event loop.
struct Dozing(Recorder);

impl Observer for Dozing {
    fn tick(&mut self, _now: Moment) {
        std::thread::sleep(Duration::from_millis(10));
    }
    fn completed(&mut self, sample: &Sample) {
        self.0.completed(sample);
    }
    fn failed(&mut self, failure: &Failure) {
        self.0.failed(failure);
    }
}

#[test]
fn answers_read_late_are_timed_by_their_arrival() {
    let plain = known::Server::start();
    let secure = secure_server();
    let insecure = TlsPolicy {
        insecure: true,
        ..TlsPolicy::default()
    };
    let http2 = Request::get(&format!("http://{}/", http2_server())).expect("a good URL");
    let mut plans = [
        http2_plan(vec![Request::get(&plain.url("/")).expect("a URL")], 1),
        secure_plan(&secure, insecure),
        http2_plan(vec![http2], 1),
    ];
    plans[0].connection.http2_streams = None;
    for plan in &mut plans {
        plan.schedule = Schedule::Closed { connections: 4 };
        plan.stop = Stop::after_requests(24);
        plan.threads = Some(1);
        plan.tick = Duration::from_nanos(1);
        let outcome = run(plan, &Control::new(), |_| {
            Dozing(Recorder::new(Moment::NEVER))
        });
        let outcome = outcome.expect("a good plan");
        let recorder = &outcome.threads[0].observer.0;
        assert_eq!(recorder.completed, 24);
        let median = |latency: &mehari_record::Latency| latency.value_at_quantile(0.5);
        let service = median(&recorder.service);
        let lain = median(&recorder.read_late.latency());
        assert!(lain > 5_000_000, "{lain} ns");
        assert!(service < lain / 2, "{service} of {lain} ns");
    }
}
