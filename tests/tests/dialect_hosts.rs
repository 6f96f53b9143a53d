//! Tests virtual hosts: how the host is chosen, its own settings, and its inherited settings.

use mehari_harness::{Request, Server};

fn asking(host: &str, path: &str) -> Request {
    let mut request = Request::get(path);
    for (name, value) in &mut request.fields {
        if name == "Host" {
            *value = host.to_owned();
        }
    }
    request
}

const THREE_HOSTS: &str = "\
    Alias /shared @ROOT@/shared\n\
    PerlSetEnv WHO main\n\
    <VirtualHost *:80>\n\
        ServerName one.example\n\
        ServerAlias *.one.example\n\
        DocumentRoot @ROOT@/one\n\
        CustomLog @ROOT@/logs/one_access combined\n\
        ErrorLog @ROOT@/logs/one_error\n\
    </VirtualHost>\n\
    <VirtualHost *:80>\n\
        ServerName two.example:80\n\
        DocumentRoot @ROOT@/two\n\
        Alias /shared @ROOT@/two\n\
        PerlSetEnv WHO two\n\
        ErrorDocument 404 \"nothing at two\"\n\
    </VirtualHost>\n\
    <Directory @ROOT@/scripts>\n\
        SetHandler perl-script\n\
        PerlResponseHandler ModPerl::Registry\n\
        PerlOptions +ParseHeaders\n\
        Options +ExecCGI\n\
    </Directory>\n\
    Alias /scripts @ROOT@/scripts\n";

#[test]
fn name_chooses_the_host_and_the_host_inherits_the_main_servers_settings() {
    let server = Server::builder()
        .file("one/index.html", "one")
        .file("two/index.html", "two")
        .file("shared/index.html", "shared")
        .file(
            "scripts/who.pl",
            "print qq{Content-Type: text/plain\n\n$ENV{WHO} $ENV{SERVER_NAME} $ENV{DOCUMENT_ROOT}};",
        )
        .conf(THREE_HOSTS)
        .start();
    let get = |host: &str, path: &str| server.send(&asking(host, path));
    for (host, body) in [
        ("one.example", "one"),
        ("ONE.example:8080", "one"),
        ("www.one.example", "one"),
        ("two.example", "two"),
        ("unknown.example", "one"),
    ] {
        assert_eq!(get(host, "/").expect(200), body, "{host}");
        // The second response uses the cache of routes.
        assert_eq!(get(host, "/").expect(200), body, "{host}");
    }
    assert_eq!(get("one.example", "/shared/").expect(200), "shared");
    assert_eq!(get("two.example", "/shared/").expect(200), "two");
    let root = server.site.root().display().to_string();
    assert_eq!(
        get("two.example", "/scripts/who.pl").expect(200),
        format!("two two.example {root}/two")
    );
    assert_eq!(
        get("x.one.example", "/scripts/who.pl").expect(200),
        format!("main x.one.example {root}/one")
    );
    assert_eq!(get("two.example", "/nowhere").expect(404), "nothing at two");
    assert_ne!(get("one.example", "/nowhere").expect(404), "nothing at two");
}

#[test]
fn logs_of_a_host_contain_only_its_requests() {
    let server = Server::builder()
        .file("one/index.html", "one")
        .file("two/index.html", "two")
        .conf("CustomLog @ROOT@/logs/main_access combined\n")
        .conf(THREE_HOSTS)
        .start();
    server.send(&asking("one.example", "/?for-one"));
    server.send(&asking("two.example", "/?for-two"));
    let has = |file: &str, text: &str| server.site.read(file).contains(text);
    let came = mehari_harness::eventually(mehari_harness::PATIENCE, || {
        has("logs/one_access", "for-one") && has("logs/main_access", "for-two")
    });
    assert!(came, "the lines did not come");
    assert!(!has("logs/one_access", "for-two") && !has("logs/main_access", "for-one"));
}

#[test]
fn address_chooses_the_host_before_the_name() {
    let server = Server::builder()
        .file("one/index.html", "one")
        .file("two/index.html", "two")
        .conf(
            "<VirtualHost 127.0.0.9>\nDocumentRoot @ROOT@/two\nServerName a.example\n</VirtualHost>\n\
             <VirtualHost 127.0.0.1:8080>\nDocumentRoot @ROOT@/one\nServerName b.example\n</VirtualHost>\n\
             <VirtualHost _default_>\nDocumentRoot @ROOT@/two\nServerName c.example\n</VirtualHost>\n",
        )
        .start();
    for host in ["a.example", "b.example", "c.example"] {
        assert_eq!(server.send(&asking(host, "/")).expect(200), "one", "{host}");
    }
}

/// A script that says where it runs, in each way that reaches the error log.
const SAYS: &str = "#!/usr/bin/perl\nprint \"Content-Type: text/plain\\n\\n\";\n\
                    warn \"warned $ENV{SERVER_NAME}\\n\";\n\
                    print STDERR \"printed $ENV{SERVER_NAME}\\n\";\nprint 'said';\n";

const HOSTS_WITH_LOGS: &str = "\
    ServerName main.example\n\
    <Directory @ROOT@/scripts>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
    PerlOptions +ParseHeaders\nOptions +ExecCGI\n</Directory>\n\
    Alias /scripts @ROOT@/scripts\n\
    <Directory @ROOT@/cgi>\nSetHandler cgi-script\nOptions +ExecCGI\n</Directory>\n\
    Alias /cgi @ROOT@/cgi\n\
    <VirtualHost *:80>\nServerName main.example\n</VirtualHost>\n\
    <VirtualHost *:80>\nServerName shared.example\nErrorLog logs/shared\n</VirtualHost>\n\
    <VirtualHost *:80>\nServerName own.example\nErrorLog logs/own\nPerlOptions +Parent\n\
    PerlPostConfigRequire @ROOT@/own.pl\n</VirtualHost>\n\
    <VirtualHost *:80>\nServerName quiet.example\nErrorLog logs/quiet\nLogLevel crit\n\
    </VirtualHost>\n";

#[test]
fn lines_of_perl_and_of_programs_go_to_the_error_log_of_their_host() {
    let mut server = Server::builder()
        .file("scripts/says.pl", SAYS)
        .file("cgi/says.pl", SAYS)
        .file("own.pl", "print STDERR qq{own starts\\n};\n1;\n")
        .folder("logs")
        .conf(HOSTS_WITH_LOGS)
        .start();
    for host in ["main", "shared", "own", "quiet"] {
        for path in ["/scripts/says.pl?a=1", "/cgi/says.pl"] {
            let answer = server.send(&asking(&format!("{host}.example"), path));
            assert_eq!(answer.expect(200), "said", "{host} {path}");
        }
    }
    server.signal(rustix::process::Signal::Term);
    assert!(server.wait().is_some());
    let main = server.log.text();
    for host in ["shared", "own"] {
        let log = server.site.read(&format!("logs/{host}"));
        for word in ["warned", "printed"] {
            let line = format!("{word} {host}.example");
            assert_eq!(log.matches(&line).count(), 2, "{line}:\n{log}");
            assert!(!main.contains(&line), "{line}:\n{main}");
        }
        let asked = format!("[client 127.0.0.1] [GET /scripts/says.pl?a=1] warned {host}");
        assert!(log.contains(&asked), "{log}");
    }
    assert_eq!(main.matches("warned main.example").count(), 2, "{main}");
    assert!(server.site.read("logs/own").contains("own starts"));
    assert_eq!(server.site.read("logs/quiet"), "");
}
