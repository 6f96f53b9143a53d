//! Tests which logs get the line of a request: `CustomLog` and `GlobalLog` of the main server and
//! of hosts, and logs with a condition. Each log must have the lines that it has in Apache.

use mehari_harness::{apache, eventually, Builder, Request, Server, PATIENCE};

fn site() -> Builder {
    Server::builder()
        .folder("logs")
        .file("htdocs/page.html", "a page")
        .conf(
            "ServerName main\nLogFormat \"%{Host}i %U\" short\n\
             SetEnvIf Request_URI quiet quiet\n\
             <VirtualHost *:*>\nServerName with\nCustomLog logs/own short\n</VirtualHost>\n\
             <VirtualHost *:*>\nServerName without\n</VirtualHost>\n\
             <VirtualHost *:*>\nServerName silent\nCustomLog /dev/null short\n</VirtualHost>\n\
             CustomLog logs/main short\nGlobalLog logs/all short\n\
             GlobalLog logs/loud short env=!quiet\n\
             <Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n",
        )
}

const LOGS: [(&str, usize); 4] = [("own", 2), ("main", 2), ("all", 6), ("loud", 3)];

#[test]
fn logs_of_all_hosts_have_the_lines_that_they_have_in_apache() {
    let mut found = Vec::new();
    for server in apache::beside(site) {
        for host in ["with", "without", "silent"] {
            for target in ["/page.html", "/quiet.html"] {
                let answer = server.send(&Request::get(target).host(host));
                assert!([200, 404].contains(&answer.status), "{target}");
            }
        }
        let lines = |name: &str| {
            let mut lines = server.site.lines(&format!("logs/{name}"));
            // Processes of Apache may write the lines of two requests in another order.
            lines.sort();
            lines
        };
        for (name, count) in LOGS {
            let has = eventually(PATIENCE, || lines(name).len() >= count);
            assert!(has, "{name}: {:?}", lines(name));
        }
        found.push(LOGS.map(|(name, _)| (name, lines(name))));
    }
    for (number, logs) in found.iter().enumerate() {
        assert_eq!(*logs, found[0], "server {number}");
    }
    for ((_, lines), (name, count)) in found[0].iter().zip(LOGS) {
        assert_eq!(lines.len(), count, "{name}: {lines:?}");
    }
}

#[test]
fn a_log_of_all_hosts_cannot_stand_in_a_host() {
    let conf = "<VirtualHost *:*>\nGlobalLog logs/all combined\n</VirtualHost>\n";
    let builder = || Server::builder().folder("logs").conf(conf);
    let log = builder().try_start().err().expect("a problem").text();
    assert!(
        log.contains("GlobalLog cannot stand in <VirtualHost>"),
        "{log}"
    );
    if mehari_harness::needs::packages(&apache::PACKAGES) {
        assert!(builder().on_apache().try_start().is_err());
    }
}

/// Conditions, each with a log of its own.
const CONDITIONS: [(&str, &str); 12] = [
    ("status", "%{REQUEST_STATUS} -ge 400"),
    ("uri", "%{REQUEST_URI} =~ m#^/page#"),
    ("response", "resp('X-Said') == 'yes'"),
    ("type", "%{CONTENT_TYPE} =~ m#^text/html#"),
    ("field", "req('X-Asked') == 'yes'"),
    ("query", "%{QUERY_STRING} == 'a=b'"),
    (
        "method",
        "%{REQUEST_METHOD} == 'POST' || %{THE_REQUEST} =~ /HEAD/",
    ),
    (
        "variable",
        "-n reqenv('quiet') && reqenv('place') == 'here'",
    ),
    ("file", "%{REQUEST_FILENAME} =~ m#htdocs/page.html$#"),
    (
        "host",
        "%{HTTP_HOST} == 'one.test' && %{SERVER_NAME} == 'one.test'",
    ),
    ("user", "%{REMOTE_USER} == 'ann'"),
    ("path_info", "%{PATH_INFO} == '/more'"),
];

fn site_of_conditions() -> Builder {
    let logs: String = CONDITIONS
        .iter()
        .map(|(name, condition)| format!("CustomLog logs/{name} short \"expr={condition}\"\n"))
        .collect();
    Server::builder()
        .folder("logs")
        .file("htdocs/page.html", "a page")
        .file("htdocs/said.txt", "said")
        .file("htdocs/sorry.html", "sorry")
        .file("htdocs/closed/page.html", "closed")
        .file("users", "ann:{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=\n")
        .conf(&format!(
            "LogFormat \"%{{X-Row}}i %>s %{{X-Asked}}i\" short\nSetEnvIf Request_URI quiet quiet\n\
             ErrorDocument 404 /sorry.html\nCustomLog logs/all short\n{logs}\
             <Directory @ROOT@/htdocs>\nRequire all granted\nSetEnv place here\n</Directory>\n\
             <Files said.txt>\nHeader set X-Said yes\n</Files>\n\
             <Location /closed>\nAuthType Basic\nAuthName closed\nAuthUserFile @ROOT@/users\n\
             Require valid-user\n</Location>\n\
             RewriteEngine On\nRewriteRule ^/led$ /page.html [PT]\n"
        ))
}

/// Requests, each with its number as a field.
fn rows() -> Vec<Request> {
    let requests = vec![
        Request::get("/page.html").host("one.test"),
        Request::get("/page.html?a=b").field("X-Asked", "yes"),
        Request::get("/page.html?a=b")
            .field("X-Asked", "yes")
            .field("X-Asked", "no"),
        Request::get("/said.txt"),
        Request::get("/none?a=b"),
        Request::get("/quiet.html"),
        Request::new("HEAD", "/said.txt"),
        Request::post("/page.html", "body"),
        Request::get("/closed/page.html"),
        Request::get("/closed/page.html").field("Authorization", "Basic YW5uOnRlc3Q="),
        Request::get("/led"),
        Request::get("/page.html/more"),
    ];
    let number = |(number, request): (usize, Request)| request.field("X-Row", &number.to_string());
    requests.into_iter().enumerate().map(number).collect()
}

#[test]
fn logs_with_an_expression_have_the_lines_that_they_have_in_apache() {
    let mut found = Vec::new();
    for server in apache::beside(site_of_conditions) {
        for request in rows() {
            server.send(&request);
        }
        let lines = |name: &str| server.site.read(&format!("logs/{name}"));
        let has = eventually(PATIENCE, || lines("all").lines().count() == rows().len());
        assert!(has, "{}", lines("all"));
        // One more request brings the lines of the requests before it into all logs.
        server.send(&Request::get("/page.html").field("X-Row", "last"));
        let last = ["uri", "type"];
        for name in last {
            assert!(
                eventually(PATIENCE, || lines(name).contains("last")),
                "{name}"
            );
        }
        // Apache's processes write in any order.
        let sorted = |name: &str| {
            let text = lines(name);
            let mut rows: Vec<String> = text.lines().map(str::to_owned).collect();
            rows.sort();
            rows
        };
        found.push(CONDITIONS.map(|(name, _)| (name, sorted(name))));
    }
    for logs in &found {
        assert_eq!(*logs, found[0]);
    }
    for (name, lines) in &found[0] {
        let count = lines.len();
        assert!((1..rows().len() + 1).contains(&count), "{name}: {lines:?}");
    }
}

#[test]
fn a_broken_expression_of_a_log_is_a_problem_of_its_line() {
    let conf = "CustomLog logs/x combined \"expr=%{REQUEST_STATUS} -gt\"\n";
    let log = Server::builder().folder("logs").conf(conf).try_start();
    let log = log.err().expect("a problem").text();
    assert!(log.contains("httpd.conf:3"), "{log}");
}

/// A program that logs its name at each of two levels.
const LOGGING: &str = "use Apache2::RequestRec ();\nuse Apache2::Log ();\n\
    my $r = shift;\n$r->content_type('text/plain');\n\
    my ($name) = $0 =~ m{([^/]+)$};\n\
    $r->log->debug(\"debug of $name;\");\n$r->log->error(\"error of $name;\");\nprint 'done';\n";
const COMPLAINING: &str = "#!/bin/sh\necho \"complaint of ${0##*/};\" >&2\n\
    printf 'Content-Type: text/plain\\n\\ndone'\n";

/// Returns the lines that two scripts and two CGI programs leave in the error log.
fn levels_of_places(level: &str) -> Vec<Vec<&'static str>> {
    const LINES: [&str; 6] = [
        "debug of plain.pl;",
        "debug of more.pl;",
        "error of plain.pl;",
        "error of more.pl;",
        "complaint of plain.cgi;",
        "complaint of less.cgi;",
    ];
    let site = || {
        let mut builder = Server::builder().conf(&format!(
            "LogLevel {level}\n<Directory @ROOT@>\nRequire all granted\nOptions ExecCGI\n</Directory>\n\
             AddHandler cgi-script .cgi\nAlias /perl/ @ROOT@/perl/\n\
             <Location /perl/>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
             </Location>\n<Location /perl/more.pl>\nLogLevel debug\n</Location>\n\
             <Files less.cgi>\nLogLevel crit\n</Files>\n"
        ));
        for name in ["plain.pl", "more.pl"] {
            builder = builder.file(&format!("perl/{name}"), LOGGING);
        }
        for name in ["plain.cgi", "less.cgi"] {
            builder = builder.file(&format!("htdocs/{name}"), COMPLAINING);
            let file = builder.folder_of("htdocs").join(name);
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(file, mode).expect("own file");
        }
        builder
    };
    let servers = apache::beside(site);
    let found = servers.iter().map(|server| {
        for path in ["/less.cgi", "/perl/more.pl", "/perl/plain.pl", "/plain.cgi"] {
            assert_eq!(server.get(path).text(), "done");
        }
        server.log.expect("error of plain.pl;");
        server.log.expect("complaint of plain.cgi;");
        let log = server.log.text();
        LINES
            .into_iter()
            .filter(|line| log.contains(line))
            .collect()
    });
    found.collect()
}

#[test]
fn places_and_perl_have_levels_of_their_own_as_in_apache() {
    for (level, debug) in [
        ("warn", &["debug of more.pl;"][..]),
        ("warn perl:debug", &[]),
    ] {
        let found = levels_of_places(level);
        assert!(found.iter().all(|lines| *lines == found[0]), "{found:?}");
        assert!(debug.iter().all(|line| found[0].contains(line)));
        assert!(!found[0].contains(&"complaint of less.cgi;"));
        assert_eq!(found[0].contains(&"debug of plain.pl;"), debug.is_empty());
    }
}

/// A request that is refused for its fields has its request line in the log, as in Apache.
#[test]
fn request_line_of_a_refused_head_is_logged_as_in_apache() {
    let site = || {
        Server::builder()
            .folder("logs")
            .file("htdocs/page.html", "a page")
            .conf("LogFormat \"%m %U %q %H %>s\" line\nCustomLog logs/lines line\n")
    };
    let heads = [
        "GET /one?a=b HTTP/1.1\r\nHost: user@name\r\n\r\n",
        "GET /two HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "POST /three HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        "GET /page.html HTTP/1.1\r\nHost: a\r\n\r\nGET /four HTTP/1.1\r\nHost: b@c\r\n\r\n",
    ];
    let mut found = Vec::new();
    for server in apache::beside(site) {
        for head in heads {
            let mut connection = server.connect();
            connection.write(head.as_bytes());
            while connection.fill().is_ok_and(|count| count > 0) {}
        }
        // What follows a served request is not a request at all.
        let mut connection = server.connect();
        connection.write(b"GET /page.html HTTP/1.1\r\nHost: a\r\n\r\nnonsense\r\n\r\n");
        while connection.fill().is_ok_and(|count| count > 0) {}
        let lines = || server.site.lines("logs/lines");
        assert!(eventually(PATIENCE, || lines().len() >= 7), "{:?}", lines());
        let is_request = |line: &String| line.contains('/') && !line.contains("nonsense");
        let of_requests = lines().into_iter().filter(is_request);
        let mut of_requests: Vec<_> = of_requests.collect();
        of_requests.sort();
        found.push(of_requests);
    }
    for lines in &found {
        assert_eq!(*lines, found[0]);
    }
}
