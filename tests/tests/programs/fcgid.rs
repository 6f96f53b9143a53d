//! FastCGI scripts under `SetHandler fcgid-script`, beside Apache's mod_fcgid.

use mehari_harness::{eventually, needs, processes, Builder, Pair, Request, Server, PATIENCE};

fn site() -> Builder {
    Server::builder().program_site("fcgid").folder("run")
}

#[test]
fn scripts_are_programs_that_stay_and_see_what_they_see_under_mod_fcgid() {
    needs!("libapache2-mod-fcgid", "libcgi-fast-perl");
    let mut user = Pair::start(site).mask(&[("(?:first|again)", "(call)")]);
    user.get("/f/echo.fcgi").expect(200);
    // The program and its socket stay.
    user.may_keep_what_it_has();
    user.get("/f/echo.fcgi/a/b?name=x").expect(200);
    user.form("/f/echo.fcgi", "name=posted").expect(200);
    user.get("/app/deep/er?name=y").expect(200);
    user.get("/app").expect(200);
    let signed = |path: &str| Request::get(path).field("Authorization", "Basic YTpi");
    user.send(&signed("/f/echo.fcgi")).expect(200);
    let page = user.send(&signed("/f/knows.fcgi")).expect(200);
    assert!(page.contains("HTTP_AUTHORIZATION=Basic YTpi"), "{page}");
    for (path, status) in [("/f/none.fcgi", 404), ("/forbidden/echo.fcgi", 403)] {
        user.get(path).expect(status);
    }
    user.may_keep_what_it_has();
}

#[test]
fn script_that_fails_is_answered_for_and_started_anew_when_it_was_mended() {
    needs!("libapache2-mod-fcgid", "libcgi-fast-perl");
    let mut server = site().start();
    let status = server.get("/f/fails.fcgi").status;
    assert!([500, 503].contains(&status), "{status}");
    server.log.expect("nothing to serve");
    server.log.expect("before it answered a request");
    assert_eq!(server.get("/f/plain.fcgi").status, 403);
    let working = server.site.read("cgi/echo.fcgi");
    server.site.write("cgi/fails.fcgi", &working);
    let answer = server.get("/f/fails.fcgi?name=z&warn=1");
    assert!(answer.expect(200).contains("name=z"));
    server.log.expect("asked to warn");
    let running = || {
        let all = processes::descendants(server.pid());
        all.iter()
            .filter(|process| process.command == "fails.fcgi")
            .count()
    };
    let wanted = running();
    // A program that exits after a request is started again, and no request fails.
    for _ in 0..12 {
        server.get("/f/fails.fcgi?leave=1").expect(200);
    }
    assert!(eventually(PATIENCE, || running() == wanted));
    server.may_keep_what_it_has();
}

#[test]
fn script_that_ends_late_without_an_answer_is_answered_for_at_once() {
    needs!("libapache2-mod-fcgid", "libcgi-fast-perl");
    let late = "#!/usr/bin/perl\nsleep 2;\ndie qq{no database\\n};\n";
    let builder = site().file("cgi/late.fcgi", late);
    let script = builder.folder_of("cgi").join("late.fcgi");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(script, mode).expect("own file");
    let mut server = builder.start();
    let status = server.get("/f/late.fcgi").status;
    assert!([500, 503].contains(&status), "{status}");
    server.log.expect("no database");
    server.log.expect("before it answered a request");
    let working = server.site.read("cgi/echo.fcgi");
    server.site.write("cgi/late.fcgi", &working);
    server.get("/f/late.fcgi?name=z").expect(200);
    server.may_keep_what_it_has();
}

#[test]
fn script_that_fails_is_an_error_of_the_server_as_under_mod_fcgid() {
    needs!("libapache2-mod-fcgid", "libcgi-fast-perl");
    let scripts = [
        ("early", "die qq{early\\n};"),
        (
            "late",
            "use CGI::Fast;\nwhile (my $q = CGI::Fast->new) { die qq{late\\n} }",
        ),
        (
            "killed",
            "use CGI::Fast;\nwhile (my $q = CGI::Fast->new) { kill 9, $$ }",
        ),
        (
            "silent",
            "use CGI::Fast;\nwhile (my $q = CGI::Fast->new) { }",
        ),
        (
            "headless",
            "use CGI::Fast;\nwhile (my $q = CGI::Fast->new) { print qq{text\\n} }",
        ),
    ];
    let build = || {
        let mut builder = site();
        for (name, code) in scripts {
            let file = format!("{name}.fcgi");
            builder = builder.file(
                &format!("cgi/{file}"),
                &format!("#!/usr/bin/perl\n{code}\n"),
            );
            let script = builder.folder_of("cgi").join(file);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(script, mode).expect("own file");
        }
        builder
    };
    let mut user = Pair::start(build);
    for (name, _) in scripts {
        let answer = user.compare(&Request::get(&format!("/f/{name}.fcgi")));
        assert_eq!(answer.map(|answer| answer.status), Ok(500), "{name}");
    }
    user.may_keep_what_it_has();
}
