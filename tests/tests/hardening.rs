//! Tests inputs that once harmed other requests, or made the server report something wrong.

use mehari_harness::processes;
use mehari_harness::scripts::plain;
use mehari_harness::{eventually, Request, Rung, Server, PATIENCE};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn header_block_larger_than_a_record_answers_500_and_the_front_lives() {
    let server = Server::builder()
        .file("scripts/big.pl", "#!/usr/bin/perl\nprint 'X-Big: ', 'x' x 70000, \"\\nContent-Type: text/plain\\n\\nbody\";\n")
        .file("scripts/many.pl", "#!/usr/bin/perl\nprint map({ \"X-$_: \" . 'x' x 1000 . \"\\n\" } 1 .. 70), \"\\nbody\";\n")
        .file("scripts/hello.pl", &plain("print 'Hello';"))
        .file("app.psgi", "sub { [200, ['X-Big', 'x' x 70000], ['body']] };\n")
        .ladder()
        .conf("<Location /psgi>\n    SetHandler psgi\n    PSGIApp @ROOT@/app.psgi\n</Location>\n")
        .start();
    for rung in Rung::ALL {
        for script in ["big.pl", "many.pl"] {
            assert_eq!(
                server.get(&rung.url(script)).status,
                500,
                "{script} on {}",
                rung.name()
            );
        }
        assert_eq!(server.get(&rung.url("hello.pl")).expect(200), "Hello");
    }
    assert_eq!(server.get("/psgi").status, 500);
    assert_eq!(
        server.get(&Rung::Registry.url("hello.pl")).expect(200),
        "Hello"
    );
}

#[test]
fn carp_shows_its_page_in_the_browser_on_every_rung() {
    let server = Server::builder()
        .file(
            "scripts/carp.pl",
            "#!/usr/bin/perl\nuse CGI::Carp qw(fatalsToBrowser);\ndie 'broken on purpose';\n",
        )
        .ladder()
        .start();
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("carp.pl"));
        assert!(
            answer.text().contains("broken on purpose"),
            "{}: {}",
            rung.name(),
            answer.text()
        );
    }
}

#[test]
fn switches_of_the_first_line_are_followed_in_a_process() {
    let server = Server::builder()
        .file(
            "scripts/taint.pl",
            "#!/usr/bin/perl -wT\nprint \"Content-Type: text/plain\\n\\n${^TAINT}$^W\";\n",
        )
        .ladder()
        .start();
    for rung in Rung::ISOLATED {
        assert_eq!(
            server.get(&rung.url("taint.pl")).expect(200),
            "11",
            "{}",
            rung.name()
        );
    }
}

/// As under mod_perl: the scripts share a perl, which is tainted as a whole or not at all.
#[test]
fn taint_switch_of_a_script_in_a_shared_perl_is_ignored_with_a_warning() {
    const WARNING: &str = ".pl: -T switch is ignored, enable with 'PerlSwitches -T' in httpd.conf";
    let text = "#!/usr/bin/perl -T\nprint \"Content-Type: text/plain\\n\\n${^TAINT}\";\n";
    for (switches, taint) in [("", "0"), ("PerlSwitches -T\n", "1")] {
        let server = Server::builder()
            .file("scripts/perlrun.pl", text)
            .file("scripts/registry.pl", text)
            .ladder()
            .conf(switches)
            .start();
        for rung in Rung::SHARED {
            let script = format!("{}.pl", rung.name());
            assert_eq!(server.get(&rung.url(&script)).expect(200), taint);
            if taint == "0" {
                server
                    .log
                    .expect(&format!("/scripts/{}{WARNING}", rung.name()));
            }
        }
        assert_eq!(server.log.text().contains(WARNING), taint == "0");
    }
}

#[test]
fn late_output_of_children_belongs_to_the_response() {
    let server = Server::builder()
        .file("scripts/pipe.pl", &plain("$| = 1; open(P, '|cat'); print P \"piped\";"))
        .file("scripts/late.pl", &plain("$| = 1; print 'early '; if (!fork) { select undef, undef, undef, 0.3; print 'late'; exit }"))
        .ladder()
        .start();
    for rung in Rung::ISOLATED {
        assert_eq!(
            server.get(&rung.url("pipe.pl")).expect(200),
            "piped",
            "{}",
            rung.name()
        );
        assert_eq!(
            server.get(&rung.url("late.pl")).expect(200),
            "early late",
            "{}",
            rung.name()
        );
    }
}

#[test]
fn program_name_is_the_script_while_it_is_compiled() {
    let server = Server::builder()
        .file("scripts/first.pl", &plain("print 'first';"))
        .file(
            "scripts/name.pl",
            &plain("our $seen; BEGIN { $seen = $0 } print $seen =~ m{([^/]+)\\z};"),
        )
        .ladder()
        .start();
    for rung in Rung::ALL {
        server.get(&rung.url("first.pl")).expect(200);
        assert_eq!(
            server.get(&rung.url("name.pl")).expect(200),
            "name.pl",
            "{}",
            rung.name()
        );
    }
}

#[test]
fn source_beside_a_script_is_not_sent() {
    let server = Server::builder()
        .file("www/form.pl", &plain("print 'Hello';"))
        .file("www/form.pl.old", "secret")
        .file("www/form.pl.txt", "secret")
        .file("www/Site.pm", "secret")
        .file("www/plain", "#!/usr/bin/perl\nsecret\n")
        .dir("www")
        .start();
    let not_executable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(server.site.path("www/plain"), not_executable).expect("ours");
    for name in ["form.pl.old", "form.pl.txt", "Site.pm", "plain"] {
        let answer = server.send(&Request::get(&format!("/{name}")));
        assert!(
            [403, 404].contains(&answer.status),
            "{name}: {}",
            answer.status
        );
        assert!(!answer.text().contains("secret"), "{name}");
    }
}

/// This test does not use `Server`, because `Server` expects that the front ends in the ordinary
/// way.
#[test]
fn busy_workers_end_when_the_front_is_killed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("spin.pl"), plain("1 while 1;"))
        .expect("the script is written");
    let mut front = Command::new(mehari_harness::binary::mehari())
        .args([
            "serve",
            "--rung",
            "registry",
            "--workers",
            "1",
            "--listen",
            "127.0.0.1:0",
        ])
        .arg(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the server starts");
    let mut ready = String::new();
    BufReader::new(front.stdout.take().expect("piped"))
        .read_line(&mut ready)
        .expect("the readiness line");
    let address = ready
        .trim()
        .trim_start_matches("mehari: serving http://")
        .trim_end_matches('/');
    let mut client = TcpStream::connect(address).expect("it listens");
    client
        .write_all(b"GET /spin.pl HTTP/1.1\r\nHost: x\r\n\r\n")
        .expect("it reads");
    let family = || processes::descendants(front.id() as i32);
    let busy = eventually(PATIENCE, || {
        family()
            .iter()
            .any(|process| process.command == "mehari-worker" && process.state == 'R')
    });
    assert!(busy, "the script runs");
    let pids: Vec<i32> = family().iter().map(|process| process.pid).collect();
    front.kill().expect("the front is there");
    front.wait().expect("it was ours");
    let gone = eventually(PATIENCE, || {
        pids.iter().all(|pid| !processes::is_alive(*pid))
    });
    assert!(gone, "some of {pids:?} live on");
}
