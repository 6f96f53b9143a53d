//! Tests what becomes of the fields and the type that handlers set before the response, if the
//! server or a program responds. Each response must equal Apache's.

use super::*;
use mehari_harness::Pair;
use std::os::unix::fs::PermissionsExt;

const MODULE: &str = r#"
sub fixup {
    my $r = shift;
    $r->headers_out->set('X-Out' => 'out');
    $r->headers_out->set('Cache-Control' => 'max-age=60');
    $r->err_headers_out->set('X-Err' => 'err');
    return -1;
}
sub type {
    my $r = shift;
    return -1 if ($r->args // '') !~ /typed/;
    $r->content_type('text/x-typed');
    return 0;
}
sub trans {
    my $r = shift;
    $r->uri($1) if $r->uri =~ m{^/led(/.*)};
    return -1;
}
"#;

const CONF: &str = r#"
PerlModule Fields
PerlTransHandler Fields::trans
ScriptAlias /cgi/ @ROOT@/cgi/
Alias /perl/ @ROOT@/perl/
Alias /patterns/ @ROOT@/patterns/
<Directory @ROOT@>
Require all granted
</Directory>
<Location />
PerlTypeHandler Fields::type
PerlFixupHandler Fields::fixup
</Location>
<Location /perl>
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
Options +ExecCGI
</Location>
<Location /refused>
Require all denied
</Location>
<Location /unlisted>
SetHandler default-handler
</Location>
<Location /edited.html>
SetOutputFilter SUBSTITUTE
Substitute s/page/leaf/
</Location>
<Files status.pl>
Header unset X-Out
Header always unset X-Err
</Files>
<Directory @ROOT@/htdocs/listed>
Options +Indexes
</Directory>
"#;

/// The programs, each with what it prints.
const PROGRAMS: [(&str, &str); 6] = [
    ("page", "Content-Type: text/plain\nX-Own: own\n\npage"),
    (
        "status",
        "Status: 404 Absent\nContent-Type: text/plain\n\nabsent",
    ),
    ("away", "Location: http://example.org/\nX-Own: own\n\n"),
    (
        "moved",
        "Status: 301 Moved\nLocation: http://example.org/\n\n",
    ),
    ("same", "Content-Type: text/plain\nX-Out: own\n\nsame"),
    (
        "cookie",
        "Content-Type: text/plain\nSet-Cookie: a=b\nSet-Cookie: c=d\n\ncookies",
    ),
];

fn site() -> Builder {
    let mut builder = one_worker(&[("Fields", MODULE)], CONF)
        .file("htdocs/page.html", "<p>page</p>\n")
        .file("htdocs/edited.html", "<p>page</p>\n")
        .file("htdocs/with/index.html", "<p>index</p>\n")
        .file("htdocs/without/page.html", "page\n")
        .file("htdocs/unlisted/page.html", "page\n")
        .file("htdocs/listed/page.html", "page\n");
    for (name, printed) in PROGRAMS {
        let text = format!("#!/usr/bin/perl\nprint substr(<<'END', 0, -1);\n{printed}\nEND\n");
        for place in ["cgi", "perl"] {
            let file = format!("{place}/{name}.pl");
            builder = builder.file(&file, &text);
            let program = builder.folder_of(place).join(format!("{name}.pl"));
            std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("own file");
        }
    }
    builder
}

/// Known difference from Apache: a POST that a PerlTransHandler has led elsewhere loses the fields
/// of handlers if the page of an error answers, or a program that sends fields of the same names.
/// The redirect of a CGI program keeps them.
///
/// The folder `/with/` is not asked for, because Apache sends the fields of its index twice.
fn is_known(request: &Request) -> bool {
    let target = request.target.as_str();
    let is_led_post = target.starts_with("/led") && request.method == "POST";
    let is_program = target.contains("/cgi/") || target.contains("/perl/");
    let differs = ["/cgi/same", "/cgi/away"];
    is_led_post && (!is_program || differs.iter().any(|known| target.contains(known)))
}

#[test]
fn fields_that_handlers_set_reach_the_responses_that_they_reach_in_apache() {
    let mut pair = Pair::start(site);
    let mut targets: Vec<String> = [
        "/page.html",
        "/edited.html",
        "/none.html",
        "/with",
        "/without",
        "/without/",
        "/unlisted/",
        "/listed",
        "/refused",
        "/page.html/info",
    ]
    .map(str::to_owned)
    .into();
    for (name, _) in PROGRAMS {
        targets.extend(["cgi", "perl"].map(|place| format!("/{place}/{name}.pl")));
    }
    let mut differences = Vec::new();
    for target in &targets {
        for target in [
            target.clone(),
            format!("{target}?typed"),
            format!("/led{target}"),
        ] {
            for method in ["GET", "HEAD", "POST"] {
                let request = match method {
                    "POST" => Request::form(&target, "a=1"),
                    _ => Request::new(method, &target),
                };
                if is_known(&request) {
                    continue;
                }
                if let Err(why) = pair.compare(&request) {
                    differences.push(why);
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// Names of handlers that a fixup handler sets.
const NAMED: &str = r#"
sub name {
    my $r = shift;
    my ($name, $file) = split /,/, $r->args // '';
    $r->handler($name) if $name;
    $r->filename(($r->document_root =~ s{[^/]+$}{}r) . $file) if $file;
    return -1;
}
"#;

const NAMED_CONF: &str = r#"
PerlModule Named
Alias /perl/ @ROOT@/perl/
<Directory @ROOT@>
Require all granted
Options +ExecCGI
</Directory>
<Directory @ROOT@/htdocs/off>
Options -ExecCGI
</Directory>
<Location />
PerlFixupHandler Named::name
</Location>
<Location /perl>
SetHandler perl-script
PerlResponseHandler ModPerl::Registry
PerlOptions +ParseHeaders
</Location>
<Location /handler>
SetHandler modperl
PerlResponseHandler 'sub { $_[0]->print("from Perl"); 0 }'
</Location>
"#;

const ECHO: &str = "#!/usr/bin/perl\nread STDIN, my $body, $ENV{CONTENT_LENGTH} || 0;\n\
    print \"Content-Type: text/plain\\n\\n$ENV{REQUEST_METHOD} $ENV{GATEWAY_INTERFACE} $body\";\n";

#[test]
fn handler_that_a_fixup_handler_names_responds_as_in_apache() {
    let build = || {
        let builder = one_worker(&[("Named", NAMED)], NAMED_CONF)
            .file("htdocs/text.txt", "a text")
            .file("htdocs/run.txt", ECHO)
            .file("htdocs/off/run.txt", ECHO)
            .file("perl/run.pl", ECHO);
        for name in ["htdocs/run.txt", "htdocs/off/run.txt", "perl/run.pl"] {
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(builder.folder_of(name), mode).expect("ours");
        }
        builder
    };
    let mut pair = Pair::start(build);
    for (target, status) in [
        ("/text.txt?default-handler", 200),
        ("/text.txt?unknown-handler", 200),
        ("/text.txt?modperl", 200),
        ("/run.txt?cgi-script", 200),
        ("/off/run.txt?cgi-script", 403),
        ("/missing?cgi-script", 404),
        ("/perl/run.pl", 200),
        ("/perl/run.pl?cgi-script", 200),
        ("/perl/missing.pl?cgi-script", 404),
        ("/handler", 200),
        ("/handler?default-handler", 404),
        ("/handler?perl-script", 200),
        ("/text.txt?cgi-script,htdocs/run.txt", 200),
    ] {
        let answer = pair.get(target);
        assert_eq!(answer.status, status, "{target}");
    }
    for target in ["/run.txt?cgi-script", "/perl/run.pl?cgi-script"] {
        let answer = pair.form(target, "a=1");
        assert!(
            answer.text().ends_with("a=1"),
            "{target}: {}",
            answer.text()
        );
    }
    // Mehari never sends the source of an executable script.
    let source = pair.ours().get("/perl/run.pl?default-handler");
    assert_eq!(source.status, 403);
}

const NAMING: &str = r#"
sub names {
    my ($phase, $r) = @_;
    return -1 unless ($r->args // '') =~ /^in=$phase&file=([\w.\/]+)(?:&handler=([\w-]+))?$/;
    $r->filename($r->document_root . "/$1");
    $r->handler($2) if $2;
    return 0;
}
sub early { names(early => @_) }
sub access { names(access => @_) }
sub late { names(late => @_) }
"#;

/// A file that a handler names is served as Apache serves it: a program runs, and its source is
/// never sent.
#[test]
fn file_that_a_handler_names_is_served_as_in_apache() {
    let script = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\nran }, $ENV{SCRIPT_FILENAME} =~ m{([^/]+)$}, qq{ $ENV{SCRIPT_NAME}\\n};\n";
    let places = ["set", "added", "plain", "closed"];
    let site = || {
        let mut builder = Server::builder()
            .file("lib/Names.pm", &format!("package Names;\nuse Apache2::RequestRec ();\nuse Apache2::RequestUtil ();\nuse Apache2::Access ();{NAMING}1;\n"));
        for place in places {
            for name in ["a.pl", "b.pl"] {
                let file = format!("htdocs/{place}/{name}");
                builder = builder.file(&file, script);
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(builder.folder_of(&file), mode).expect("own file");
            }
            builder = builder
                .file(&format!("htdocs/{place}/page.html"), "page")
                .file(
                    &format!("htdocs/{place}/parsed.shtml"),
                    "<!--#echo var=\"DOCUMENT_NAME\" -->",
                );
        }
        builder.conf(
            "PerlSwitches -I@ROOT@/lib\nPerlModule Names\n\
             <Location />\nPerlHeaderParserHandler Names::early\nPerlAccessHandler Names::access\n\
             PerlFixupHandler Names::late\n</Location>\n\
             AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n\
             <Directory @ROOT@/htdocs>\nOptions +ExecCGI +Includes\nRequire all granted\n</Directory>\n\
             <Location /set>\nSetHandler cgi-script\n</Location>\n\
             <Directory @ROOT@/htdocs/added>\nAddHandler cgi-script .pl\n</Directory>\n\
             <Directory @ROOT@/htdocs/closed>\nRequire all denied\nAddHandler cgi-script .pl\n</Directory>\n",
        )
    };
    let servers = mehari_harness::apache::beside(site);
    let [ours, theirs] = &servers[..] else {
        return;
    };
    let mut differences = Vec::new();
    let named = [
        "set/b.pl",
        "added/b.pl",
        "plain/b.pl",
        "closed/b.pl",
        "plain/page.html",
        "plain/parsed.shtml",
        "none",
    ];
    for place in ["set", "added", "plain"] {
        for asked in ["a.pl", "page.html", "none.html"] {
            for phase in ["early", "access", "late"] {
                for named in named {
                    for handler in ["", "&handler=cgi-script"] {
                        let target = format!("/{place}/{asked}?in={phase}&file={named}{handler}");
                        let [ours, theirs] = [ours, theirs].map(|server| {
                            let answer = server.get(&target);
                            let page = Some(answer.text()).filter(|_| answer.status == 200);
                            (answer.status.min(400), page)
                        });
                        let is_source =
                            |page: &Option<String>| page.iter().any(|it| it.starts_with("#!"));
                        assert!(!is_source(&ours.1), "{target}");
                        // Otherwise Apache mixes the named file with the size and the mode of the
                        // requested one.
                        let is_program = named.ends_with("b.pl") && asked == "a.pl";
                        if is_program && !is_source(&theirs.1) && ours != theirs {
                            differences.push(format!("{target}: {theirs:?}, here {ours:?}"));
                        }
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
