//! Tests the effects of a file's name under Debian's configuration: `TypesConfig`, the names of
//! `Action`, and scripts without a handler. Each response must equal Apache's.

use mehari_harness::{Builder, Pair, Server};

const TYPES: &str = "# media types\ntext/html\t\thtml htm\napplication/x-chess-pgn pgn PGN2\n\
    text/x-perl pl pm\ntext/plain txt\n";
const SHOW: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } \
    qw(PATH_INFO REDIRECT_STATUS REDIRECT_HANDLER REDIRECT_URL REDIRECT_QUERY_STRING);\n";

fn site() -> Builder {
    let builder = Server::builder()
        .file("mime.types", TYPES)
        .file("htdocs/game.pgn", "1. e4")
        .file("htdocs/game.pgn2", "1. e4")
        .file("htdocs/page.html", "page")
        .file("htdocs/movie.mp4", "no movie")
        .file("htdocs/plain.pl", "print 1;\n")
        .file("htdocs/late.pgn", "2. e5")
        .file("htdocs/one.show", "one")
        .file("htdocs/set/two.txt", "two")
        .file("cgi/show.pl", SHOW)
        .conf(
            "TypesConfig @ROOT@/mime.types\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             ScriptAlias /cgi/ @ROOT@/cgi/\nAddHandler show-it .show\nAction show-it /cgi/show.pl\n\
             <Location /set>\nSetHandler show-it\n</Location>\n\
             <Files late.pgn>\nAddType text/late .pgn\n</Files>\n",
        );
    // Mehari never sends the source of an executable script, so `plain.pl` must not be executable.
    for (folder, name, mode) in [("cgi", "show.pl", 0o755), ("htdocs", "plain.pl", 0o644)] {
        let file = builder.folder_of(folder).join(name);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(file, mode).expect("own file");
    }
    builder
}

#[test]
fn names_of_files_have_the_same_effects_as_in_apache() {
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    for (path, status, media_type) in [
        ("/game.pgn", 200, Some("application/x-chess-pgn")),
        ("/game.pgn2", 200, Some("application/x-chess-pgn")),
        ("/page.html", 200, Some("text/html")),
        ("/movie.mp4", 200, None),
        ("/plain.pl", 200, Some("text/x-perl")),
        ("/late.pgn", 200, Some("text/late")),
        ("/one.show", 200, Some("text/plain")),
        ("/one.show?q=1", 200, Some("text/plain")),
        ("/set/two.txt", 200, Some("text/plain")),
    ] {
        let answer = pair.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(
            answer.field("content-type").as_deref(),
            media_type,
            "{path}"
        );
    }
}

/// Each folder has its own FileETag. The entity tags equal Apache's.
#[test]
fn entity_tags_have_the_parts_that_file_etag_names() {
    const LINES: [(&str, &str, usize); 9] = [
        ("plain", "", 2),
        ("all", "FileETag All", 3),
        ("inode", "FileETag INode", 1),
        ("more", "FileETag +INode", 1),
        ("less", "FileETag -MTime", 2),
        ("none", "FileETag None", 0),
        ("size", "FileETag Size", 1),
        ("none/again", "FileETag +Size", 1),
        ("all/less", "FileETag -INode", 2),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), open).expect("own folder");
    let mut conf = String::new();
    for (name, line, _) in LINES {
        let file = folder.path().join(name).join("page.txt");
        std::fs::create_dir(folder.path().join(name)).expect("a folder");
        std::fs::write(&file, "words\n").expect("written");
        // Apache's tags of files that are younger than a second are weak.
        let old = std::time::SystemTime::now() - std::time::Duration::from_millis(86_400_123);
        let file = std::fs::File::options()
            .append(true)
            .open(file)
            .expect("own file");
        file.set_modified(old).expect("own file");
        conf += &format!(
            "<Directory {}/{name}>\n{line}\n</Directory>\n",
            folder.path().display()
        );
    }
    let root = folder.path().display();
    let conf = format!(
        "Alias /tags {root}\n<Directory {root}>\nRequire all granted\n</Directory>\n{conf}"
    );
    let pair = Pair::start(|| Server::builder().conf(&conf));
    for (name, line, parts) in LINES {
        let request = mehari_harness::Request::get(&format!("/tags/{name}/page.txt"));
        let tags: Vec<Option<String>> = pair
            .servers()
            .map(|server| server.send(&request).field("etag"))
            .collect();
        assert!(tags.iter().all(|tag| *tag == tags[0]), "{line}: {tags:?}");
        let found = tags[0].as_ref().map_or(0, |tag| tag.split('-').count());
        assert_eq!(found, parts, "{line}: {tags:?}");
    }
}

/// `RLimitCPU` and its relatives limit CGI programs and what these start, as in Apache.
#[test]
fn cgi_programs_have_the_limits_of_rlimit() {
    const LIMITS: &str = "#!/bin/bash\nprintf 'Content-Type: text/plain\\n\\n'\n\
        for kind in -S -H; do bash -c \"ulimit $kind -t; ulimit $kind -v; ulimit $kind -u\"; done\n";
    let site = || {
        let builder = Server::builder()
            .file("cgi/limits.sh", LIMITS)
            .file("cgi/soft.sh", LIMITS)
            .file("cgi/max.sh", LIMITS)
            .conf(
                "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
                 <Files limits.sh>\nRLimitCPU 20 40\nRLimitMEM 1073741824 2147483648\nRLimitNPROC 5000 6000\n</Files>\n\
                 <Files soft.sh>\nRLimitCPU 30\nRLimitMEM 1073741824\n</Files>\n\
                 <Files max.sh>\nRLimitCPU max 50\n</Files>\n",
            );
        for name in ["limits.sh", "soft.sh", "max.sh"] {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(builder.folder_of("cgi").join(name), mode).expect("own file");
        }
        builder
    };
    let mut pair = Pair::start(site);
    let limits = pair.get("/cgi/limits.sh").expect(200);
    assert_eq!(limits, "20\n1048576\n5000\n40\n2097152\n6000\n");
    assert!(pair
        .get("/cgi/soft.sh")
        .expect(200)
        .starts_with("30\n1048576\n"));
    // Apache asks for a soft limit above the hard one here, and answers 500.
    let most = pair.ours().get("/cgi/max.sh").expect(200);
    assert!(most.starts_with("50\n"), "{most}");
}

/// The types that a program and a handler give, by the query.
const TYPED: &str = "my @types = ('text/html', 'text/plain; Charset=latin1', 'text/plain', \
    'application/json', 'text/xml', 'text/plain;format=flowed');\n";

fn typed_site() -> Builder {
    let script = format!(
        "#!/usr/bin/perl\n{TYPED}print \"Content-Type: $types[$ENV{{QUERY_STRING}}]\\n\\nbody\\n\";\n"
    );
    let module = format!(
        "package Typed;\nuse Apache2::RequestRec ();\nuse Apache2::RequestIO ();\n{TYPED}\
         sub handler {{ my $r = shift; $r->content_type($types[$r->args]) if length $r->args; \
         $r->print($r->content_type // 'none'); 0 }}\n\
         sub declines {{ $_[0]->content_type('text/html'); -1 }}\n1;\n"
    );
    let builder = Server::builder()
        .file("cgi/typed.pl", &script)
        .file("lib/Typed.pm", &module)
        .file("htdocs/named/page.html", "page")
        .file("htdocs/named/data.json", "{}")
        .file("htdocs/declined/data.json", "{}")
        .conf(
            "AddDefaultCharset utf-8\nPerlSwitches -I@ROOT@/lib\n\
             <Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             ScriptAlias /cgi/ @ROOT@/cgi/\nAlias /registry/ @ROOT@/cgi/\n\
             <Location /registry>\nSetHandler perl-script\nPerlResponseHandler ModPerl::Registry\n\
             PerlOptions +ParseHeaders\nOptions +ExecCGI\n</Location>\n\
             <Location /handler>\nSetHandler modperl\nPerlResponseHandler Typed\n</Location>\n\
             <Location /named>\nSetHandler modperl\nPerlResponseHandler Typed\n</Location>\n\
             <Location /declined>\nPerlFixupHandler Typed::declines\n</Location>\n\
             <Location /off>\nAddDefaultCharset Off\nSetHandler modperl\nPerlResponseHandler Typed\n\
             </Location>\n",
        );
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(builder.folder_of("cgi").join("typed.pl"), mode).expect("own file");
    builder
}

#[test]
fn default_character_set_is_that_of_all_responses_without_one() {
    let mut pair = Pair::start(typed_site);
    for place in ["/cgi/typed.pl", "/registry/typed.pl", "/handler", "/off"] {
        for query in 0..6 {
            pair.get(&format!("{place}?{query}")).expect(200);
        }
    }
    for path in ["/handler", "/named/page.html", "/named/data.json"] {
        pair.get(path).expect(200);
    }
    let declined = pair.get("/declined/data.json");
    assert_eq!(
        declined.field("content-type").as_deref(),
        Some("text/html; charset=utf-8")
    );
}

/// What the name of a program's file says goes with its response, and not with its redirects.
#[test]
fn names_of_programs_say_their_language_coding_and_type() {
    const ENDS: [&str; 4] = ["pl", "de.pl", "odd.pl", "html.pl"];
    const PRINTED: [(&str, &str); 6] = [
        ("page", "Content-Type: text/plain\\n"),
        (
            "own",
            "Content-Type: text/plain\\nContent-Language: it\\nContent-Encoding: x-own\\n",
        ),
        (
            "same",
            "Content-Type: text/plain\\nContent-Language: FR, it\\n",
        ),
        ("untyped", "X-Own: own\\n"),
        ("away", "Location: http://example.org/\\n"),
        ("inside", "Location: /page.html\\nX-Own: own\\n"),
    ];
    let site = || {
        let mut builder = Server::builder()
            .file("mime.types", TYPES)
            .file("htdocs/page.html", "page")
            .conf(
                "TypesConfig @ROOT@/mime.types\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
                 DefaultLanguage fr\nAddLanguage de .de\nAddEncoding x-odd .odd\n\
                 ScriptAlias /cgi/ @ROOT@/cgi/\nAlias /perl/ @ROOT@/perl/\n\
                 <Location /perl>\nSetHandler perl-script\n\
                 PerlResponseHandler ModPerl::Registry\nPerlOptions +ParseHeaders\n\
                 Options +ExecCGI\n</Location>\n",
            );
        for (name, head) in PRINTED {
            let body = if head.contains("Location") { "" } else { name };
            let text = format!("#!/usr/bin/perl\nprint qq{{{head}\\n{body}}};\n");
            for place in ["cgi", "perl"] {
                for end in ENDS {
                    builder = builder.file(&format!("{place}/{name}.{end}"), &text);
                    let file = builder.folder_of(place).join(format!("{name}.{end}"));
                    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
                    std::fs::set_permissions(file, mode).expect("own file");
                }
            }
        }
        builder
    };
    let mut pair = Pair::start(site);
    for (name, _) in PRINTED {
        for place in ["cgi", "perl"] {
            for end in ENDS {
                pair.get(&format!("/{place}/{name}.{end}"));
            }
        }
    }
    let languages = |server: &Server, target: &str| server.get(target).field("content-language");
    assert_eq!(
        languages(pair.ours(), "/cgi/page.de.pl").as_deref(),
        Some("de")
    );
}
