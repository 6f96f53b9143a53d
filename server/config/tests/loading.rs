//! What files come to: conditions, variables, includes, sections, directives.

use std::fs::{create_dir_all, write};
use std::path::Path;
use std::time::Duration;

use mehari_config::{
    AccessFormat, AccessLogSettings, Handler, LogTarget, NoteKind, Preload, Problems, Rung,
    Settings, Site,
};

struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let file = folder.path().join(name);
            create_dir_all(file.parent().expect("a parent")).expect("made");
            write(file, text).expect("written");
        }
        Files(folder)
    }

    fn load(&self, defines: &[&str]) -> Result<Site, Problems> {
        let defines: Vec<String> = defines.iter().map(|name| name.to_string()).collect();
        Site::load(&self.0.path().join("httpd.conf"), &defines)
    }
}

fn problems(text: &str) -> Vec<String> {
    let found = Files::new(&[("httpd.conf", text)])
        .load(&[])
        .expect_err("problems");
    let tell = |p: &mehari_config::Problem| format!("{}:{}: {}", p.line, p.column, p.message);
    found.problems.iter().map(tell).collect()
}

fn site(text: &str) -> Site {
    match Files::new(&[("httpd.conf", text)]).load(&[]) {
        Ok(site) => site,
        Err(problems) => panic!("{problems}"),
    }
}

fn addresses(site: &Site) -> Vec<&str> {
    let listens = site.listen.iter();
    listens.map(|listen| listen.address.as_str()).collect()
}

fn at(site: &Site, url: &str) -> std::sync::Arc<Settings> {
    let mapped = site.main.map(url);
    site.main.settings(url, Some(&mapped.file))
}

#[test]
fn a_mod_perl_1_configuration_means_what_it_meant() {
    let site = site(
        "Port 8080\nMaxClients 20\nMaxRequestsPerChild 500\nStartServers 4\n\
         PerlRequire /srv/lib/startup.pl\nPerlModule Apache::DBI CGI\nPerlFreshRestart On\n\
         PerlTaintCheck On\nPerlWarn On\nAlias /perl/ /srv/perl/\n\
         <Location /perl>\nSetHandler perl-script\nPerlHandler Apache::Registry\n\
         PerlSendHeader On\nOptions ExecCGI\nallow from all\n</Location>\n",
    );
    assert_eq!(addresses(&site), ["0.0.0.0:8080"]);
    assert_eq!(
        (
            site.workers.max,
            site.workers.max_requests,
            site.workers.start
        ),
        (Some(20), Some(500), Some(4))
    );
    assert_eq!(site.perl.switches, ["-T", "-w"]);
    assert_eq!(
        preloads(&site),
        [
            Preload::Require("/srv/lib/startup.pl".into()),
            Preload::Module("Apache::DBI".into()),
            Preload::Module("CGI".into())
        ]
    );
    let settings = at(&site, "/perl/hello.pl");
    assert_eq!(settings.handler, Some(Handler::Script(Rung::Registry)));
    assert!(settings.exec_cgi && settings.parse_headers && !settings.denied);
    let outside = at(&site, "/other.html");
    assert!(outside.handler.is_none() && !outside.exec_cgi);
    assert_eq!(
        site.main.map("/perl/hello.pl").file,
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
        site.pid_file.as_deref(),
        Some(Path::new("/run/site/site.pid"))
    );
    let host = &site.hosts[0];
    assert_eq!(host.document_root, Path::new("/var/www/html"));
    assert_eq!(site.workers.max_spare, Some(10));
    assert_eq!(site.limits.write_timeout, Duration::from_secs(300));
    assert_eq!(site.files.len(), 5);
    assert!(
        matches!(&host.own_logs.access[..], [AccessLogSettings { target: LogTarget::File(file), .. }] if file.ends_with("logs/access.log"))
    );
    let denied = |file: &str| host.settings("/x", Some(Path::new(file))).denied;
    assert!(denied("/etc/passwd"));
    assert!(!denied("/var/www/html/index.html"));
    assert!(denied("/var/www/html/.htaccess"));
}

#[test]
fn perl_handlers_stand_for_rungs_or_for_themselves() {
    for (name, rung) in [
        ("ModPerl::Registry", Rung::Registry),
        ("ModPerl::RegistryPrefork", Rung::Registry),
        ("ModPerl::RegistryBB", Rung::Registry),
        ("Apache::Registry", Rung::Registry),
        ("ModPerl::Registry::handler", Rung::Registry),
        ("ModPerl::PerlRun", Rung::PerlRun),
        ("ModPerl::PerlRunPrefork", Rung::PerlRun),
        ("Apache::PerlRun", Rung::PerlRun),
        ("Mehari::Fork", Rung::Fork),
        ("Mehari::Auto", Rung::Auto),
    ] {
        let site = site(&format!(
            "SetHandler perl-script\nPerlResponseHandler {name}\n"
        ));
        assert_eq!(
            at(&site, "/x").handler,
            Some(Handler::Script(rung)),
            "{name}"
        );
    }
    for (set, perl_script) in [("perl-script", true), ("modperl", false)] {
        let site = site(&format!("SetHandler {set}\nPerlHandler My::App->run\n"));
        let name = "My::App->run".to_string();
        assert_eq!(
            at(&site, "/x").handler,
            Some(Handler::Perl { name, perl_script })
        );
    }
    let site = site("SetHandler perl-script\n");
    assert_eq!(at(&site, "/x").handler, Some(Handler::Script(Rung::Auto)));
}

#[test]
fn a_response_handler_and_an_application_reach_the_sections_inside() {
    let site = site(
        "PerlResponseHandler My::App\nPSGIApp /srv/app.psgi\n\
         <Location /a>\nSetHandler modperl\n</Location>\n<Location /b>\nSetHandler psgi\n</Location>\n\
         <Location /b/own>\nPSGIApp /srv/own.psgi\n</Location>\n\
         <Location /b/files>\nSetHandler None\n</Location>\n\
         <Location /c>\nAddHandler perl-script .pl\nPerlResponseHandler ModPerl::PerlRun\n</Location>\n",
    );
    let handler = |url| at(&site, url).handler.clone();
    assert!(
        matches!(handler("/a"), Some(Handler::Perl { name, perl_script: false }) if name == "My::App")
    );
    assert_eq!(handler("/b"), Some(Handler::Psgi("/srv/app.psgi".into())));
    assert_eq!(
        handler("/b/own"),
        Some(Handler::Psgi("/srv/own.psgi".into()))
    );
    assert_eq!(handler("/b/files/x"), None);
    assert_eq!(
        at(&site, "/c").add_handler,
        [("pl".to_string(), Handler::Script(Rung::PerlRun))]
    );
    let apps = [
        Preload::Psgi("/srv/app.psgi".into()),
        Preload::Psgi("/srv/own.psgi".into()),
    ];
    assert_eq!(preloads(&site)[1..], apps);
}

#[test]
fn conditions_decide_what_is_read_and_what_is_skipped_may_be_anything() {
    let text = "<IfModule mod_perl.c>\nSetEnv A 1\n</IfModule>\n<IfModule !perl_module>\nNonsense\n</IfModule>\n\
        <IfModule mod_dav.c>\nRewriteEngine On\n<Limit GET>\n\"open\n</Limit>\n</IfModule>\n\
        <IfDefine LIVE>\nSetEnv B 1\n</IfDefine>\n<IfDefine !LIVE>\nSetEnv C 1\n</IfDefine>\n\
        <IfVersion >= 2.4>\nSetEnv D 1\n</IfVersion>\n<IfVersion < 2.4>\nNonsense ${UNDEFINED_HERE}\n</IfVersion>\n\
        <IfModule mod_dav.c>\n<Perl>\nprint <STDIN>; <IfModule x>\n</Perl>\n</IfModule>\n";
    let files = Files::new(&[("httpd.conf", text)]);
    let names = |defines: &[&str]| -> Vec<String> {
        let site = files.load(defines).expect("a site");
        site.main
            .base
            .set_env
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(names(&["LIVE"]), ["A", "B", "D"]);
    assert_eq!(names(&[]), ["A", "C", "D"]);
}

#[test]
fn a_loaded_module_is_found_unless_a_site_can_do_without_it() {
    let found = problems("LoadModule dav_module x.so\n<IfModule mod_dav.c>\nDav On\n</IfModule>\n");
    assert!(
        found[0].starts_with("3:1: there is no directive `Dav`"),
        "{found:?}"
    );
    site("LoadModule autoindex_module x.so\n<IfModule mod_autoindex.c>\nIndexOptions FancyIndexing\n</IfModule>\n");
}

fn preloads(site: &mehari_config::Site) -> Vec<Preload> {
    let all = site.perl.preloads.iter();
    all.map(|preload| preload.what.clone()).collect()
}

#[test]
fn handlers_are_loaded_first_but_for_rungs_objects_and_those_that_wait() {
    let site = site(
        "PerlTransHandler My::Trans +My::Other::look\n<Location /a>\nSetHandler modperl\n\
         PerlResponseHandler My::App->answer ModPerl::Registry $My::object->answer -My::Late\n\
         PerlLogHandler My::Trans 'sub { 0 }'\n</Location>\nPerlModule First\n",
    );
    let handler = |name: &str| Preload::Handler(name.to_string());
    assert_eq!(
        preloads(&site),
        [
            Preload::Module("First".into()),
            handler("My::Trans"),
            handler("+My::Other::look"),
            handler("My::App->answer"),
            handler("sub { 0 }"),
        ]
    );
    let place = &site.perl.preloads[3].place;
    assert_eq!((place.line, place.column), (4, 1));
}

#[test]
fn preloads_come_in_mod_perls_order_and_once() {
    let site = site(
        "PSGIApp /srv/a.psgi\nPerlPostConfigRequire /srv/last.pl\nPerlModule A B\nPerlRequire /srv/start.pl\n\
         PerlPreloadScript registry /srv/x.pl\nPerlConfigRequire /srv/first.pl\nPerlModule B\n",
    );
    assert_eq!(
        preloads(&site),
        [
            Preload::Require("/srv/first.pl".into()),
            Preload::Require("/srv/start.pl".into()),
            Preload::Module("A".into()),
            Preload::Module("B".into()),
            Preload::Require("/srv/last.pl".into()),
            Preload::Psgi("/srv/a.psgi".into()),
            Preload::Script(Rung::Registry, "/srv/x.pl".into()),
        ]
    );
}

#[test]
fn a_tilde_makes_a_regular_expression() {
    let site = site("<Files ~ \"\\.(pl|cgi)$\">\nSetHandler cgi-script\n</Files>\n<Location ~ ^/x\\d+$>\nRequire all denied\n</Location>\n");
    assert_eq!(
        at(&site, "/a.cgi").handler,
        Some(Handler::Script(Rung::Cgi))
    );
    assert!(at(&site, "/a.txt").handler.is_none());
    assert!(at(&site, "/x12").denied && !at(&site, "/x12a").denied);
}

#[test]
fn variables_are_put_in_and_an_unknown_one_is_told() {
    let site = site("Define ROOT /srv\nDefine SITE ${ROOT}/www\nDocumentRoot \"${SITE}/htdocs\"\n");
    assert_eq!(site.main.document_root, Path::new("/srv/www/htdocs"));
    assert_eq!(
        problems("Define ROOT /srv\nDocumentRoot  ${ROT}/x\n"),
        ["2:15: `${ROT}` is not defined; expected `Define ROT VALUE` before it; did you mean `ROOT`?"]
    );
}

#[test]
fn includes_are_read_in_order_and_a_loop_ends_in_a_problem() {
    let files = Files::new(&[
        (
            "httpd.conf",
            "Include conf.d\nIncludeOptional none/*.conf\nSetEnv LAST 1\n",
        ),
        ("conf.d/b.conf", "SetEnv B 1\n"),
        ("conf.d/a.conf", "SetEnv A 1\n"),
    ]);
    let site = files.load(&[]).expect("a site");
    let names: Vec<&str> = site
        .main
        .base
        .set_env
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["A", "B", "LAST"]);
    let looped = Files::new(&[("httpd.conf", "Include httpd.conf\n")]).load(&[]);
    let looped = looped.expect_err("a loop");
    assert_eq!(looped.problems.len(), 1);
    assert!(looped.problems[0].message.contains("includes itself here"));
}

#[test]
fn a_problem_in_an_included_file_names_that_file() {
    let files = Files::new(&[
        ("httpd.conf", "\nInclude more.conf\nNonsense\n"),
        ("more.conf", "# x\n Lisetn 80\n"),
    ]);
    let found = files.load(&[]).expect_err("problems");
    let shown: Vec<_> = found
        .problems
        .iter()
        .map(|p| (p.file.file_name(), p.line, p.column))
        .collect();
    assert_eq!(
        shown,
        [
            (Some("httpd.conf".as_ref()), 3, 1),
            (Some("more.conf".as_ref()), 2, 2)
        ]
    );
}

#[test]
fn every_problem_is_told_at_once() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let found = Site::load(&Path::new(golden).join("problems.conf"), &[]).expect_err("problems");
    let told = found.to_string().replace(&format!("{golden}/"), "");
    let expected = std::fs::read_to_string(Path::new(golden).join("problems.txt")).expect("golden");
    assert_eq!(told.trim(), expected.trim(), "\n{told}\n");
}

#[test]
fn access_words_of_both_ages_decide_and_the_inner_section_wins() {
    for (words, denied) in [
        ("Require all granted", false),
        ("Require all denied", true),
        ("Require all denied\nRequire all granted", false),
        ("Order deny,allow\nDeny from all", true),
        ("Order deny,allow\nDeny from all\nAllow from all", false),
        ("Order allow,deny\nAllow from all", false),
        ("Order allow,deny\nAllow from all\nDeny from all", true),
        ("Order allow,deny", true),
        ("Order Deny, Allow", false),
    ] {
        let site = site(&format!("<Location /x>\n{words}\n</Location>\n"));
        assert_eq!(at(&site, "/x").denied, denied, "{words}");
    }
    let site = site("Require all denied\n<Location /open>\nRequire all granted\n</Location>\n");
    assert!(at(&site, "/x").denied && !at(&site, "/open/x").denied);
}

#[test]
fn access_that_cannot_be_checked_is_refused_and_never_ignored() {
    for words in [
        "Require host example.com",
        "Require ldap-user ann",
        "Require ip example.com",
        "Deny from example.com",
        "AuthBasicProvider ldap",
        "Require expr %{HTTP_HOST}",
        "<Limit>\nRequire all denied\n</Limit>",
    ] {
        let found = problems(words);
        assert_eq!(found.len(), 1, "{words}: {found:?}");
    }
}

#[test]
fn what_is_always_denied_is_known_at_once_and_the_rest_is_asked() {
    let site = site(
        "<Location /a>\nRequire all denied\n</Location>\n\
         <Location /b>\nRequire valid-user\n</Location>\n\
         <Location /c>\nOrder Deny,Allow\nDeny from all\nAllow from 10.0.0.0/8\n</Location>\n\
         <Location /d>\n<RequireAll>\nRequire all granted\nRequire not ip 10.0.0.1\n</RequireAll>\n</Location>\n\
         <Location /e>\n<Limit POST>\nRequire all denied\n</Limit>\n</Location>\n\
         <Location /a/again>\nRequire all granted\n</Location>\n",
    );
    for (url, denied, asked) in [
        ("/", false, false),
        ("/a", true, false),
        ("/a/again", false, false),
        ("/b", false, true),
        ("/c", false, true),
        ("/d", false, true),
        ("/e", false, true),
    ] {
        let settings = at(&site, url);
        assert_eq!(settings.denied, denied, "{url}");
        assert_eq!(settings.rules.look_first(), asked, "{url}");
    }
}

#[test]
fn else_holds_where_no_if_before_it_did() {
    let site = site(
        "<If \"%{HTTP_HOST} == 'a'\">\nSetEnv WHICH a\n</If>\n\
         <ElseIf \"%{HTTP_HOST} == 'b'\">\nSetEnv WHICH b\n</ElseIf>\n\
         <Else>\nSetEnv WHICH other\n</Else>\n",
    );
    struct Host(&'static str);
    impl mehari_config::Facts for Host {
        fn put(&self, _: &mehari_config::Piece, into: &mut Vec<u8>) {
            into.extend_from_slice(self.0.as_bytes());
        }
    }
    for name in ["a", "b", "other"] {
        let settings = site.main.settings_if(&at(&site, "/x"), &Host(name));
        let set = ("WHICH".to_string(), name.to_string());
        assert_eq!(settings.set_env, [set], "{name}");
    }
    assert_eq!(
        problems("<Else>\n</Else>\n"),
        ["1:2: <Else> has no <If> before it; expected one"]
    );
}

#[test]
fn variables_of_the_request_are_set_added_and_wiped_as_in_mod_perl() {
    let site = site(
        "PerlSetVar Colour red\nPerlAddVar Colour green blue\nSetEnv A outer\nSetEnv B outer\n\
         <Location /in>\nPerlAddVar Colour white\nSetEnv A inner\nUnsetEnv B\n</Location>\n\
         <Location /own>\nPerlSetVar Colour black\n</Location>\n",
    );
    let colours = |url| at(&site, url).set_var[0].1.join(" ");
    assert_eq!(colours("/"), "red green blue");
    assert_eq!(colours("/in"), "red green blue white");
    assert_eq!(colours("/own"), "black");
    assert_eq!(
        at(&site, "/in").set_env,
        [("A".to_string(), "inner".to_string())]
    );
}

#[test]
fn options_with_signs_change_and_without_signs_replace() {
    let site = site(
        "Options ExecCGI\n<Location /plus>\nOptions +Indexes\n</Location>\n<Location /minus>\nOptions -ExecCGI\n</Location>\n\
         <Location /list>\nOptions Indexes\n</Location>\n<Location /all>\nOptions All\n</Location>\n",
    );
    let allowed = |url| at(&site, url).exec_cgi;
    assert_eq!(
        [
            allowed("/plus"),
            allowed("/minus"),
            allowed("/list"),
            allowed("/all")
        ],
        [true, false, false, true]
    );
}

#[test]
fn perl_options_turn_header_parsing_on_and_off_and_cgi_rungs_always_parse() {
    let site = site("PerlOptions +ParseHeaders +GlobalRequest\n<Location /x>\nPerlOptions SetupEnv\n</Location>\n");
    assert!(at(&site, "/").parse_headers);
    let replaced = at(&site, "/x");
    assert!(!replaced.parse_headers && !replaced.parses_headers(Rung::Registry));
    assert!(replaced.parses_headers(Rung::Auto) && replaced.parses_headers(Rung::Cgi));
}

#[test]
fn keep_alive_off_stays_off_whatever_stands_behind_it() {
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
fn times_have_units() {
    let site = site(
        "Timeout 2min\nKeepAliveTimeout 1500ms\nWorkerQueueTimeout 3s\nRequestReadTimeout body=7\n",
    );
    assert_eq!(site.main.base.request_timeout, Duration::from_secs(120));
    assert_eq!(site.limits.keep_alive, Some(Duration::from_millis(1500)));
    assert_eq!(site.workers.queue_timeout, Duration::from_secs(3));
    assert_eq!(site.limits.body_timeout, Duration::from_secs(7));
    assert_eq!(site.limits.header_timeout, Duration::from_secs(20));
}

#[test]
fn listen_takes_ports_addresses_and_brackets() {
    let site =
        site("Listen 80\nListen *:81\nListen 127.0.0.1:82\nListen [::1]:83\nListen localhost:0\n");
    assert_eq!(
        addresses(&site),
        [
            "0.0.0.0:80",
            "0.0.0.0:81",
            "127.0.0.1:82",
            "[::1]:83",
            "localhost:0"
        ]
    );
    for wrong in ["::1:80", "80x", "+80", "70000", "host:", ":80", "443 spdy"] {
        assert_eq!(problems(&format!("Listen {wrong}")).len(), 1, "{wrong}");
    }
}

#[test]
fn logs_go_to_files_or_to_stderr_in_known_formats() {
    let site = site(
        "ErrorLog /dev/stderr\nCustomLog /var/log/access.json json\nLogLevel info perl:debug\n",
    );
    assert_eq!(site.logs.error, LogTarget::Stderr);
    assert_eq!(
        site.logs.access[0].target,
        LogTarget::File("/var/log/access.json".into())
    );
    assert_eq!(site.logs.access[0].format, AccessFormat::Json);
    let remarks = site
        .notes
        .iter()
        .filter(|note| note.kind == NoteKind::Remark);
    assert_eq!(remarks.count(), 1);
}

#[test]
fn documentation_inside_is_passed_over_but_not_its_apache_parts() {
    let text = "SetEnv A 1\n=pod\nAny text <here\n=over apache\nSetEnv B 1\n=back\nmore text\n=cut\nSetEnv C 1\n__END__\nNonsense\n";
    let names: Vec<String> = site(text)
        .main
        .base
        .set_env
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["A", "B", "C"]);
}

#[test]
fn a_file_that_cannot_be_read_is_one_problem() {
    let missing = Site::load(Path::new("/does/not/exist.conf"), &[]).expect_err("missing");
    assert_eq!(missing.problems.len(), 1);
    assert!(missing
        .to_string()
        .starts_with("/does/not/exist.conf: cannot be read: "));
    assert!(Site::load(Path::new("/"), &[]).is_err());
}

#[test]
fn rates_of_slow_clients_are_apaches() {
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
