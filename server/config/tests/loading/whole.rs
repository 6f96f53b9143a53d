//! Tests lines of the whole server, and complete configurations as they are used in practice.

use super::*;

#[test]
fn a_mod_perl_1_configuration_keeps_its_meaning() {
    let site = site(
        "Port 8080\nMaxClients 20\nMaxRequestsPerChild 500\nStartServers 4\n\
         PerlRequire /srv/lib/startup.pl\nPerlModule Apache::DBI CGI\nPerlFreshRestart On\n\
         PerlTaintCheck On\nPerlWarn On\nAlias /perl/ /srv/perl/\n\
         <Location /perl>\nSetHandler perl-script\nPerlHandler Apache::Registry\n\
         PerlSendHeader On\nOptions ExecCGI\nallow from all\n</Location>\n",
    );
    assert_eq!(addresses(&site), ["*:8080"]);
    assert_eq!(
        (
            site.workers().max,
            site.workers().max_requests,
            site.workers().start
        ),
        (Some(20), Some(500), Some(4))
    );
    assert_eq!(site.perl().switches, ["-T", "-w"]);
    assert_eq!(
        preloads(&site),
        [
            Preload::Require("/srv/lib/startup.pl".into()),
            Preload::Module("Apache::DBI".into()),
            Preload::Module("CGI".into())
        ]
    );
    let settings = at(&site, "/perl/hello.pl");
    assert_eq!(settings.handlers.set, Some(Handler::Script(Rung::Registry)));
    assert!(settings.handlers.exec_cgi && settings.programs.parse_headers && !settings.denied);
    let outside = at(&site, "/other.html");
    assert!(outside.handlers.set.is_none() && !outside.handlers.exec_cgi);
    assert_eq!(
        site.main.mapping.map("/perl/hello.pl").file,
        Path::new("/srv/perl/hello.pl")
    );
}

#[test]
fn a_stock_debian_configuration_loads() {
    let files = Files::new(&[
        (
            "httpd.conf",
            "DefaultRuntimeDir ${RUN_DIR}\nPidFile ${RUN_DIR}/site.pid\nTimeout 300\nKeepAlive On\n\
             MaxKeepAliveRequests 100\nKeepAliveTimeout 5\nUser www-data\nGroup www-data\nHostnameLookups Off\n\
             ErrorLog logs/error.log\nLogLevel warn\nIncludeOptional mods/*.load\nIncludeOptional mods/*.conf\n\
             Include ports.conf\n<Directory />\n\tOptions FollowSymLinks\n\tAllowOverride None\n\
             \tRequire all denied\n</Directory>\n<Directory /var/www/>\n\tOptions Indexes FollowSymLinks\n\
             \tRequire all granted\n</Directory>\nAccessFileName .htaccess\n<FilesMatch \"^\\.ht\">\n\
             \tRequire all denied\n</FilesMatch>\n\
             LogFormat \"%h %l %u %t \\\"%r\\\" %>s %O\" combined\nIncludeOptional sites/*.conf\n",
        ),
        ("ports.conf", "Listen 8080\n<IfModule ssl_module>\n\tListen 443 https\n</IfModule>\n"),
        ("mods/perl.load", "LoadModule perl_module modules/mod_perl.so\n"),
        ("mods/prefork.conf", "StartServers 5\nMinSpareServers 5\nMaxSpareServers 10\nMaxRequestWorkers 150\n"),
        (
            "sites/000.conf",
            "<VirtualHost *:80>\nServerAdmin webmaster@localhost\nDocumentRoot /var/www/html\n\
             CustomLog logs/access.log combined\n</VirtualHost>\n",
        ),
    ]);
    let site = files.load(&["RUN_DIR=/run/site"]).expect("a site");
    assert_eq!(
        site.process.pid_file.as_deref(),
        Some(Path::new("/run/site/site.pid"))
    );
    let host = &site.hosts[0];
    assert_eq!(host.mapping.document_root, Path::new("/var/www/html"));
    assert_eq!(site.workers().max_spare, Some(10));
    assert_eq!(site.limits.write_timeout, Duration::from_secs(300));
    assert_eq!(site.source.files.len(), 5);
    assert!(
        matches!(&host.own_logs.access[..], [AccessLogSettings { target: LogTarget::File(file), .. }] if file.ends_with("logs/access.log"))
    );
    let denied = |file: &str| host.settings("/x", Some(Path::new(file))).denied;
    assert!(denied("/etc/passwd"));
    assert!(!denied("/var/www/html/index.html"));
    assert!(denied("/var/www/html/.htaccess"));
}

#[test]
fn keep_alive_off_outweighs_a_later_keep_alive_timeout() {
    assert_eq!(
        site("KeepAlive Off\nKeepAliveTimeout 15\n")
            .limits
            .keep_alive,
        None
    );
    assert_eq!(
        site("KeepAliveTimeout 15\n").limits.keep_alive,
        Some(Duration::from_secs(15))
    );
}

#[test]
fn times_are_read_with_their_units() {
    let site = site(
        "Timeout 2min\nKeepAliveTimeout 1500ms\nWorkerQueueTimeout 3s\nRequestReadTimeout body=7\n",
    );
    assert_eq!(site.main.base.limits.timeout, Duration::from_secs(120));
    assert_eq!(site.limits.keep_alive, Some(Duration::from_millis(1500)));
    assert_eq!(site.workers().longest_wait(), Duration::from_secs(3));
    assert_eq!(site.limits.body_timeout, Duration::from_secs(7));
    assert_eq!(site.limits.header_timeout, Duration::from_secs(20));
}

#[test]
fn listen_takes_ports_addresses_and_brackets() {
    let site =
        site("Listen 80\nListen *:81\nListen 127.0.0.1:82\nListen [::1]:83\nListen localhost:0\n");
    assert_eq!(
        addresses(&site),
        ["*:80", "*:81", "127.0.0.1:82", "[::1]:83", "localhost:0"]
    );
    for wrong in ["::1:80", "80x", "+80", "70000", "host:", ":80", "443 spdy"] {
        assert_eq!(problems(&format!("Listen {wrong}")).len(), 1, "{wrong}");
    }
}

#[test]
fn logs_go_to_files_or_to_stderr_in_known_formats() {
    let site = site(
        "ErrorLog /dev/stderr\nCustomLog /var/log/access.json json\nLogLevel info ssl:debug\n",
    );
    assert_eq!(site.logs.error, LogTarget::Stderr);
    assert_eq!(
        site.logs.access[0].target,
        LogTarget::File("/var/log/access.json".into())
    );
    assert_eq!(site.logs.access[0].format, AccessFormat::Json);
    let remarks = site
        .source
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::Remark);
    assert_eq!(remarks.count(), 1);
}

#[test]
fn request_read_timeout_has_apaches_rates() {
    use mehari_config::MinimumRate;
    let seconds = Duration::from_secs;
    let rate = |bytes, longest: Option<u64>| MinimumRate {
        bytes,
        longest: longest.map(seconds),
    };
    let cases = [
        (
            "header=20-40,MinRate=500",
            20,
            rate(500, Some(40)),
            20,
            rate(500, None),
        ),
        ("header=20-40", 40, rate(0, None), 20, rate(500, None)),
        (
            "body=10,MinRate=1000",
            20,
            rate(0, None),
            10,
            rate(1000, None),
        ),
        (
            "header=5 body=7-60,minrate=9",
            5,
            rate(0, None),
            7,
            rate(9, Some(60)),
        ),
    ];
    for (words, header, header_rate, body, body_rate) in cases {
        let limits = site(&format!("RequestReadTimeout {words}\n")).limits;
        assert_eq!(
            (limits.header_timeout, limits.header_rate),
            (seconds(header), header_rate),
            "{words}"
        );
        assert_eq!(
            (limits.body_timeout, limits.body_rate),
            (seconds(body), body_rate),
            "{words}"
        );
    }
    let rate = rate(500, Some(40));
    for (come, allowed) in [(0, 20), (499, 20), (5_000, 30), (1_000_000, 40)] {
        assert_eq!(
            rate.allowance(seconds(20), come).as_secs(),
            allowed,
            "{come}"
        );
    }
}

#[test]
fn misplaced_alias_or_redirect_is_a_problem() {
    for (lines, message) in [
        ("Alias /tmp", "expected a URL path and a path"),
        (
            "<Location /x>\nAlias /x /tmp\n</Location>",
            "expected only a path",
        ),
        (
            "<Directory /tmp>\nAlias /tmp\n</Directory>",
            "expected Alias in <Location>, not in <Directory /tmp>",
        ),
        (
            "<Location /x>\n<If true>\nScriptAlias /tmp\n</If>\n</Location>",
            "ScriptAlias cannot stand in <If>",
        ),
        ("<Location /x>\nAlias %{HTTP:x\n</Location>", "expected `}`"),
        (
            "<Location /x>\nRedirect x\n</Location>",
            "expected a URL or a path that begins with `/`, not `x`",
        ),
        (
            "<Location /x>\nRedirect 301\n</Location>",
            "expected a path, and where it leads",
        ),
        ("Redirect http://x.test/", "expected a path"),
        ("RedirectPermanent /x", "argument"),
    ] {
        let found = problems(lines);
        assert!(
            found.iter().any(|problem| problem.contains(message)),
            "{lines}\n{found:?}"
        );
    }
}
