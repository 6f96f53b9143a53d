//! Tests FastCGI: PHP, and programs that break the protocol.

use mehari_harness::{eventually, needs, Request, Server, PATIENCE};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

/// Starts a server that runs PHP for `*.php`.
fn php(more: &str) -> Server {
    Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\nLimitRequestFields 200\nLimitRequestFieldSize 16000\nDirectoryIndex index.php\n")
        .conf("FastCgiServer /usr/bin/php-cgi -processes 2 -initial-env GREETING=salut\n")
        .conf("<FilesMatch \"\\.php$\">\nSetHandler \"proxy:fcgi:///usr/bin/php-cgi\"\n</FilesMatch>\n")
        .conf(more)
        .file("htdocs/hello.php", "<?php echo \"123\" ?>")
        .file("htdocs/sub/index.php", "index of <?= $_SERVER['SCRIPT_NAME'] ?>")
        .file("htdocs/echo.php", "<?php echo md5(file_get_contents('php://input'));")
        .file("htdocs/pid.php", "<?php echo getmypid();")
        .file(
            "htdocs/env.php",
            "<?php foreach (explode(',', $_GET['of']) as $name) echo \"$name=\", $_SERVER[$name] ?? getenv($name), \"\\n\";",
        )
        .file("htdocs/big.php", "<?php echo strlen($_SERVER['HTTP_X_ONE']), ' ', count($_SERVER); echo strlen(implode('', $_SERVER)) > 200000 ? ' big' : '';")
        .file("htdocs/complain.php", "<?php error_log('it hurts'); http_response_code(418); header('X-Own: 1'); echo 'told';")
        .file("htdocs/moved.php", "<?php header('Location: /hello.php');")
        .file("htdocs/away.php", "<?php header('Location: http://elsewhere.example/', true, 303);")
        .start()
}

#[test]
fn php_knows_the_user_that_perl_has_found() {
    needs!("php-cgi");
    let mut server = php(
        "<Location /env.php>\nAuthType Ticket\nAuthName there\nRequire valid-user\n\
         PerlAuthenHandler \"sub { $_[0]->user('ann'); $_[0]->ap_auth_type('Ticket'); 0 }\"\n\
         PerlAuthzHandler \"sub { 0 }\"\n</Location>\n",
    );
    let said = server.get("/env.php?of=REMOTE_USER,AUTH_TYPE").expect(200);
    assert_eq!(said, "REMOTE_USER=ann\nAUTH_TYPE=Ticket\n");
    server.may_keep_what_it_has();
}

/// Apache 2.4 with mod_proxy_fcgi does the same.
#[test]
fn folder_under_a_handler_is_led_to_its_index() {
    needs!("php-cgi");
    let mut server =
        php("<Location />\nSetHandler \"proxy:fcgi:///usr/bin/php-cgi\"\n</Location>\n");
    let index = server.get("/sub/").expect(200);
    assert_eq!(index, "index of /sub/index.php");
    let without = server.get("/").expect(404);
    assert!(without.contains("No input file"), "PHP answers: {without}");
    server.may_keep_what_it_has();
}

#[test]
fn php_is_started_watched_and_answers() {
    needs!("php-cgi");
    let mut server = php("");
    assert_eq!(server.get("/hello.php").expect(200), "123");
    assert_eq!(server.get("/sub/").expect(200), "index of /sub/index.php");
    let root = server.site.path("htdocs").to_string_lossy().into_owned();
    let said = server
        .get("/env.php/more/of%20it?of=SCRIPT_NAME,SCRIPT_FILENAME,PATH_INFO,REQUEST_URI,DOCUMENT_ROOT,PHP_SELF,GREETING")
        .expect(200);
    let expected = format!(
        "SCRIPT_NAME=/env.php\nSCRIPT_FILENAME={root}/env.php\nPATH_INFO=/more/of it\n\
         REQUEST_URI=/env.php/more/of%20it?of=SCRIPT_NAME,SCRIPT_FILENAME,PATH_INFO,REQUEST_URI,DOCUMENT_ROOT,PHP_SELF,GREETING\n\
         DOCUMENT_ROOT={root}\nPHP_SELF=/env.php/more/of it\nGREETING=salut\n"
    );
    assert_eq!(said, expected);
    assert_eq!(server.get("/missing.php").status, 404);
    assert_eq!(server.get("/missing.php/x").status, 404);
    let answer = server.get("/complain.php");
    assert_eq!(
        (
            answer.expect(418).as_str(),
            answer.field("x-own").as_deref()
        ),
        ("told", Some("1"))
    );
    let line = server.log.expect("it hurts");
    assert!(
        line.contains("[req ") && line.contains("/complain.php"),
        "{line}"
    );
    assert_eq!(server.get("/moved.php").status, 302);
    assert_eq!(server.get("/away.php").status, 303);
    assert_eq!(server.send(&Request::new("HEAD", "/hello.php")).status, 200);
    // The programs and their kept connections stay.
    server.rebase();
}

#[test]
fn bodies_of_any_size_arrive_whole() {
    needs!("php-cgi");
    let mut server = php("LimitRequestBody 0\n");
    for size in [0, 1, 65_527, 65_528, 65_529, 200_000, 5_000_000] {
        let body: Vec<u8> = (0..size).map(|at| (at % 251) as u8).collect();
        let plain = server
            .send(&Request::post("/echo.php", body.clone()))
            .expect(200);
        let chunked = server
            .send(&Request::post("/echo.php", body).chunked())
            .expect(200);
        assert_eq!(plain, chunked, "{size}");
        if size == 0 {
            assert_eq!(plain, "d41d8cd98f00b204e9800998ecf8427e");
        }
    }
    // The programs and their kept connections stay.
    server.rebase();
}

#[test]
fn parameters_beyond_one_record_arrive_whole() {
    needs!("php-cgi");
    let mut server = php("LimitRequestHeader 400000\n");
    let mut request = Request::get("/big.php");
    let value = "v".repeat(15_000);
    request = request.field("X-One", &value);
    for number in 0..15 {
        request = request.field(&format!("X-More-{number}"), &value);
    }
    let said = server.send(&request).expect(200);
    assert!(
        said.starts_with("15000 ") && said.ends_with(" big"),
        "{said}"
    );
    // The programs and their kept connections stay.
    server.rebase();
}

#[test]
fn a_process_serves_many_requests_on_one_connection_and_is_replaced_when_it_dies() {
    needs!("php-cgi");
    let mut server = php("");
    let first = server.get("/pid.php").expect(200);
    for _ in 0..50 {
        assert_eq!(server.get("/pid.php").expect(200), first);
    }
    let status = server.status();
    let member = &status["back_ends"][0]["members"][0];
    assert_eq!(member["connections"], 1, "{member}");
    let pid: i32 = first.parse().expect("a pid");
    mehari_harness::processes::signal(pid, rustix::process::Signal::Kill);
    for _ in 0..20 {
        assert_ne!(server.get("/pid.php").expect(200), first);
    }
    server.log.expect("ended (signal: 9 (SIGKILL)");
    // The programs and their kept connections stay.
    server.rebase();
}

#[test]
fn reload_keeps_programs_whose_configuration_did_not_change() {
    needs!("php-cgi");
    let mut server = php("");
    let before = server.get("/pid.php").expect(200);
    assert!(server.control(&["reload"]).status.success());
    assert_eq!(server.get("/pid.php").expect(200), before);
    // The programs and their kept connections stay.
    server.rebase();
}

#[test]
fn program_that_cannot_be_started_is_logged_and_does_not_disturb_others() {
    let server = Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\nFastCgiServer @ROOT@/broken -processes 1\nProxyPass /broken fcgi://@ROOT@/broken\n")
        .file("broken", "not a program")
        .file("htdocs/well", "well")
        .start();
    server.log.expect("broken: cannot be started");
    assert_eq!(server.get("/well").expect(200), "well");
}

#[test]
fn program_that_dies_at_every_start_is_answered_for_until_it_is_mended() {
    let builder = Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\nFastCgiServer @ROOT@/php -processes 2\n")
        .conf("<FilesMatch \"\\.php$\">\nSetHandler \"proxy:fcgi://@ROOT@/php\"\n</FilesMatch>\n")
        .file(
            "php",
            "#!/bin/sh\necho no database >&2\n[ -e \"$0.mended\" ] || exit 3\nexec php-cgi\n",
        )
        .file("htdocs/hello.php", "<?php echo \"123\" ?>");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(builder.folder_of("php"), mode).expect("own file");
    let mut server = builder.start();
    for _ in 0..3 {
        let status = server.get("/hello.php").status;
        assert!([500, 503].contains(&status), "{status}");
    }
    server.log.expect("no database");
    server
        .log
        .expect("ended (exit status: 3); started again in");
    server.site.write("php.mended", "");
    let is_mended = || server.get("/hello.php").status == 200;
    assert!(
        eventually(PATIENCE, is_mended),
        "the program has been mended"
    );
    server.may_keep_what_it_has();
}

/// Starts a program that answers each request with these records and then closes the connection.
fn saying(records: Vec<u8>) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let same = listener.try_clone().expect("a descriptor");
    std::thread::spawn(move || {
        for mut stream in same.incoming().flatten() {
            read_request(&mut stream);
            // The records are sent in small pieces, some of which end within a record header.
            let _ = stream.set_nodelay(true);
            for piece in records.chunks(5) {
                let _ = stream.write_all(piece);
            }
        }
    });
    listener
}

/// Reads until the empty STDIN record.
fn read_request(stream: &mut TcpStream) {
    let mut header = [0; 8];
    while stream.read_exact(&mut header).is_ok() {
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; length + usize::from(header[6])];
        if stream.read_exact(&mut content).is_err() || (header[1] == 5 && length == 0) {
            return;
        }
    }
}

fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let padding = [0; 3];
    let mut bytes = vec![1, kind, 0, 1, high, low, padding.len() as u8, 0];
    bytes.extend_from_slice(content);
    bytes.extend_from_slice(&padding);
    bytes
}

fn end(status: u8, protocol: u8) -> Vec<u8> {
    record(3, &[0, 0, 0, status, protocol, 0, 0, 0])
}

const HEAD: &[u8] = b"Content-Type: text/plain\r\n\r\n";

#[test]
fn bytes_that_are_not_fastcgi_are_answered_502_or_leave_an_incomplete_response() {
    let whole = [
        record(6, HEAD),
        record(7, b"one\ntwo"),
        record(6, b"body"),
        end(3, 0),
    ]
    .concat();
    let cases: Vec<(&str, Vec<u8>, u16, bool)> = vec![
        ("a whole answer in pieces", whole, 200, true),
        (
            "a head in pieces",
            [record(6, &HEAD[..9]), record(6, &HEAD[9..]), end(0, 0)].concat(),
            200,
            true,
        ),
        ("nothing", Vec::new(), 502, true),
        (
            "another protocol",
            b"HTTP/1.1 200 OK\r\n\r\n".to_vec(),
            502,
            true,
        ),
        ("an end and no head", end(0, 0), 502, true),
        (
            "a head that is none",
            [record(6, b"hello\r\n\r\n"), end(0, 0)].concat(),
            502,
            true,
        ),
        (
            "a response split",
            [record(6, b"A: b\rX: y\r\n\r\n"), end(0, 0)].concat(),
            502,
            true,
        ),
        (
            "no end",
            [record(6, HEAD), record(6, b"half")].concat(),
            200,
            false,
        ),
        (
            "an end of no length",
            [record(6, HEAD), record(6, b"half"), record(3, b"")].concat(),
            0,
            true,
        ),
        ("an unknown role", end(0, 3), 502, true),
    ];
    let programs: Vec<TcpListener> = cases.iter().map(|case| saying(case.1.clone())).collect();
    let mut conf = String::from("StartServers 1\nMaxRequestWorkers 1\n");
    for (index, program) in programs.iter().enumerate() {
        let address = program.local_addr().expect("bound");
        conf.push_str(&format!(
            "ProxyPass /case/{index} fcgi://{address} retry=0\n"
        ));
    }
    let server = Server::builder().conf(&conf).start();
    for (index, (name, _, status, complete)) in cases.iter().enumerate() {
        let answer = server.get(&format!("/case/{index}"));
        if *status == 0 {
            // How the bytes arrive decides whether the front has sent the head already.
            assert!(answer.status == 502 || !answer.complete, "{name}");
            continue;
        }
        assert_eq!(
            (answer.status, answer.complete),
            (*status, *complete),
            "{name}"
        );
    }
    for words in ["one", "two", "ended with status 3", "Responder"] {
        server.log.expect(words);
    }
}

#[test]
fn a_program_that_is_overloaded_sends_the_request_to_the_next() {
    // Both programs close the connection after their records. The front cannot know this before,
    // and does not send a POST twice.
    let busy = saying(end(0, 2));
    let free = saying([record(6, HEAD), record(6, b"free"), end(0, 0)].concat());
    let [busy, free] = [busy, free].map(|program| program.local_addr().expect("bound"));
    let server = Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\n")
        .conf(&format!(
            "<Proxy balancer://pool>\nBalancerMember fcgi://{busy} enablereuse=off\nBalancerMember fcgi://{free} enablereuse=off\nProxySet lbmethod=byrequests\n</Proxy>\nProxyPass / balancer://pool/\n"
        ))
        .start();
    for _ in 0..10 {
        assert_eq!(server.send(&Request::post("/", "x")).expect(200), "free");
    }
}

#[test]
fn request_of_a_client_that_has_left_is_abandoned() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let server = Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\n")
        .conf(&format!("ProxyPass / fcgi://{address}\n"))
        .start();
    let mut client = server.connect();
    client.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    let (mut program, _) = listener.accept().expect("the server connects");
    read_request(&mut program);
    let says = [record(6, HEAD), record(6, b"first")].concat();
    program.write_all(&says).expect("the server reads");
    assert!(client.fill().expect("readable") > 0);
    drop(client);
    program
        .set_read_timeout(Some(std::time::Duration::from_millis(50)))
        .expect("a limit");
    assert!(eventually(PATIENCE, || {
        let _ = program.write_all(&record(6, &[b'x'; 60_000]));
        matches!(program.read(&mut [0]), Ok(0)) || program.write_all(b"x").is_err()
    }));
}

/// A body without a reader is never written, so no write shows that the client has left.
#[test]
fn endless_body_of_a_head_request_ends_when_its_client_leaves() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let server = Server::builder()
        .conf("StartServers 1\nMaxRequestWorkers 1\n")
        .conf(&format!("ProxyPass / fcgi://{address}\n"))
        .start();
    let mut client = server.connect();
    client.write(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n");
    let (mut program, _) = listener.accept().expect("the server connects");
    read_request(&mut program);
    program.write_all(&record(6, HEAD)).expect("it reads");
    assert_eq!(client.read_answer("HEAD").expect("a head").status, 200);
    drop(client);
    program
        .set_read_timeout(Some(std::time::Duration::from_millis(50)))
        .expect("a limit");
    assert!(eventually(PATIENCE, || {
        program.write_all(&record(6, b"x")).is_err() || matches!(program.read(&mut [0]), Ok(0))
    }));
}
