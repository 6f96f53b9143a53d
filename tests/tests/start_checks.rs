//! Tests that an unusable configuration stops the start. All errors are reported together, each
//! with its line.

use mehari_harness::site::Site;
use mehari_harness::{binary, Server};
use std::net::TcpListener;
use std::process::Command;

/// Returns a module with this body, and the 1 at the end that perl requires.
fn module(name: &str, body: &str) -> String {
    format!("package {name};\nuse strict;\n{body}\n1;\n")
}

#[test]
fn all_modules_that_do_not_load_are_reported_together() {
    let broken = module("Site::Broken", "sub handler { my $r = ; }");
    let refused = Server::builder()
        .file("lib/Site/Broken.pm", &broken)
        .file("lib/Site/Sound.pm", &module("Site::Sound", "sub handler { 0 }"))
        .file("startup.pl", "die 'no camels today';\n")
        .conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Site::Missing\nPerlRequire @ROOT@/startup.pl\n\
             PerlTransHandler Site::Broken Site::Sound Site::Sound::absent\n\
             <Location /a>\nSetHandler modperl\nPerlResponseHandler Site::Broken\n</Location>\n\
             <Location /b>\nSetHandler modperl\nPerlResponseHandler -Site::Late\nPerlFixupHandler $Site::object->ask\n\
             PerlLogHandler 'sub { nonsense( }'\n</Location>\n",
        )
        .try_start();
    let log = refused.err().expect("the start is refused");
    log.expect("5 of the preloads failed");
    let module =
        log.expect("module Site::Missing cannot be loaded: Can't locate Site/Missing.pm in @INC");
    assert!(
        module.contains("httpd.conf:") && !module.contains("Zygote.pm"),
        "{module}"
    );
    log.expect("startup.pl cannot be loaded: no camels today at ");
    let handler = log.expect("handler module Site::Broken cannot be loaded: syntax error at ");
    assert!(handler.contains("lib/Site/Broken.pm line 3"), "{handler}");
    assert_eq!(log.count("handler module Site::Broken cannot be loaded"), 1);
    log.expect(
        "handler `Site::Sound::absent`: the module Site::Sound loads but defines no sub `absent`",
    );
    log.expect("handler `sub { nonsense( }` does not compile");
    assert_eq!(log.count("Site::Late"), 0);
}

/// The message of every error in the configuration below.
const WRONG: [&str; 6] = [
    "httpd.conf:5:1: the log /proc/self/no-log cannot be written",
    "httpd.conf:10:1: the log @ROOT@/gone/access.log of shop.example cannot be written: No such file or directory",
    "httpd.conf:4:1: PidFile @ROOT@/gone/pid: No such file or directory",
    "httpd.conf:6:1: SSLCertificateFile @ROOT@/missing.crt: No such file",
    "module Site::Missing cannot be loaded: Can't locate Site/Missing.pm",
    "application @ROOT@/missing.psgi cannot be loaded: ",
];

/// Makes a site with all these errors, on ports that are in use.
fn wrong_site([secure, plain]: [u16; 2]) -> Site {
    let site = Site::new();
    let root = site.root().display();
    let text = format!(
        "ServerRoot {root}\nListen 127.0.0.1:{secure} https\nListen 127.0.0.1:{plain}\nPidFile gone/pid\nErrorLog /proc/self/no-log\n\
         SSLCertificateFile missing.crt\nPerlModule Site::Missing\n\
         <VirtualHost *>\nServerName shop.example\nCustomLog gone/access.log combined\n</VirtualHost>\n\
         <Location /app>\nSetHandler psgi\nPSGIApp missing.psgi\n</Location>\n"
    );
    site.write("httpd.conf", &text);
    site
}

fn told(site: &Site, words: &[&str]) -> String {
    let mut command = Command::new(binary::mehari());
    command.args(words).arg("-f").arg(site.path("httpd.conf"));
    let output = command.output().expect("the program runs");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn all_problems_of_a_configuration_are_reported_together() {
    let taken = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").expect("a port"));
    let ports = taken
        .each_ref()
        .map(|port| port.local_addr().expect("an address").port());
    let site = wrong_site(ports);
    let root = site.root().display().to_string();
    let said = told(&site, &["serve"]);
    for port in ports {
        let line =
            format!("cannot listen on 127.0.0.1:{port}: another program already listens there");
        assert!(said.contains(&line), "{line}: {said}");
    }
    for line in WRONG {
        let line = line.replace("@ROOT@", &root);
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert_eq!(said.matches("mehari serve: ").count(), 8, "{said}");
    // `check` does not test addresses: the running server holds them.
    let said = told(&site, &["check"]);
    for line in WRONG {
        let line = line.replace("@ROOT@", &root);
        assert!(said.contains(&line), "{line}: {said}");
    }
    assert!(said.contains("mehari check: 6 problems; "), "{said}");
}

#[test]
fn problems_of_the_configuration_and_of_its_htaccess_files_are_reported_together() {
    let site = Site::new();
    let root = site.root().display().to_string();
    let text = "DocumentRoot htdocs\nListne 127.0.0.1:0\n\
                <Directory @ROOT@/htdocs>\nAllowOverride All\nRequire al granted\n</Directory>\n\
                <Directory @ROOT@/htdocs/closed>\nAllowOverride None\n</Directory>\n";
    site.write("httpd.conf", &text.replace("@ROOT@", &root));
    for folder in ["shop", "closed"] {
        site.write(&format!("htdocs/{folder}/.htaccess"), "RewriteEngin On\n");
    }
    let said = told(&site, &["check"]);
    for line in [
        "httpd.conf:2:1: ",
        "httpd.conf:5:",
        "htdocs/shop/.htaccess:1:1: ",
        "mehari check: 3 problems; ",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let said = told(&site, &["check", "--text-only"]);
    assert!(said.contains("mehari check: 2 problems; "), "{said}");
    site.write("htdocs/shop/.htaccess", "RewriteEngine On\n");
    let said = told(&site, &["check"]);
    assert!(said.contains("mehari check: 2 problems; "), "{said}");
    std::fs::remove_file(site.path("httpd.conf")).expect("it exists");
    let said = told(&site, &["check"]);
    assert!(said.contains("mehari check: 1 problem; "), "{said}");
}

#[test]
fn a_check_leaves_nothing_behind_and_runs_no_server_handlers() {
    let site = Site::new();
    let root = site.root().display();
    let text = format!(
        "ServerRoot {root}\nErrorLog error.log\nPidFile pid\n\
         PerlPostConfigHandler 'sub {{ open my $made, q{{>}}, q{{{root}/made}}; 0 }}'\n"
    );
    site.write("httpd.conf", &text);
    let mut command = Command::new(binary::mehari());
    command.args(["check", "-f"]).arg(site.path("httpd.conf"));
    let output = command.output().expect("the program runs");
    assert!(output.status.success(), "{output:?}");
    for name in ["error.log", "pid", "made"] {
        assert!(!site.path(name).exists(), "{name}");
    }
}

#[test]
fn interpreter_of_the_site_is_used_and_a_wrong_one_is_reported() {
    let script = "#!/usr/bin/perl\nprint \"Content-type: text/plain\\n\\n\", scalar grep { m{/marked\\z} } @INC;\n";
    let conf = "PerlInterpreter @ROOT@/own-perl\n<Location />\nSetHandler perl-script\nOptions +ExecCGI\n</Location>\n";
    let builder = Server::builder()
        .file("own-perl", "#!/bin/sh\nexec perl -I/marked \"$@\"\n")
        .file("htdocs/marked.pl", script)
        .conf(conf);
    let server = builder.start();
    assert_eq!(server.get("/marked.pl").expect(200), "1");
    let refused = Server::builder().conf(conf).try_start();
    let log = refused.err().expect("there is no such perl");
    assert!(log.text().contains("/own-perl"), "{}", log.text());
}
