//! Tests the reading of files: conditions, variables, includes, and problems.

use super::*;

#[test]
fn a_false_condition_skips_lines_with_any_content() {
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
            .programs
            .set_env
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    };
    assert_eq!(names(&["LIVE"]), ["A", "B", "D"]);
    assert_eq!(names(&[]), ["A", "C", "D"]);
}

#[test]
fn if_module_finds_a_loaded_module_unless_a_site_can_do_without_it() {
    let found = problems("LoadModule dav_module x.so\n<IfModule mod_dav.c>\nDav On\n</IfModule>\n");
    assert_eq!(
        found,
        ["3:5: expected `DAV Off`, not `On`: WebDAV is not served"]
    );
    site("LoadModule autoindex_module x.so\n<IfModule mod_autoindex.c>\nIndexOptions FancyIndexing\n</IfModule>\n");
}

#[test]
fn a_tilde_makes_a_regular_expression() {
    let site = site("<Files ~ \"\\.(pl|cgi)$\">\nSetHandler cgi-script\n</Files>\n<Location ~ ^/x\\d+$>\nRequire all denied\n</Location>\n");
    assert_eq!(
        at(&site, "/a.cgi").handlers.set,
        Some(Handler::Script(Rung::Cgi))
    );
    assert!(at(&site, "/a.txt").handlers.set.is_none());
    assert!(at(&site, "/x12").denied && !at(&site, "/x12a").denied);
}

#[test]
fn variables_are_replaced_and_an_unknown_variable_is_a_problem() {
    let site = site("Define ROOT /srv\nDefine SITE ${ROOT}/www\nDocumentRoot \"${SITE}/htdocs\"\n");
    assert_eq!(
        site.main.mapping.document_root,
        Path::new("/srv/www/htdocs")
    );
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
        .programs
        .set_env
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["A", "B", "LAST"]);
    let folders = [("httpd.conf", "Include none\nInclude n*\nInclude none/\n")];
    let files = Files::new(&folders);
    std::fs::create_dir(files.0.path().join("none")).expect("a folder");
    assert!(files.load(&[]).is_ok(), "an empty folder, as in Apache");
    for missing in ["Include missing", "Include missing/", "Include *x/*.conf"] {
        let files = Files::new(&[("httpd.conf", missing)]);
        assert!(files.load(&[]).is_err(), "{missing}");
    }
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
fn all_problems_are_reported_at_once() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden");
    let found = Site::load(&Path::new(golden).join("problems.conf"), &[]).expect_err("problems");
    let told = found.to_string().replace(&format!("{golden}/"), "");
    let expected = std::fs::read_to_string(Path::new(golden).join("problems.txt")).expect("golden");
    assert_eq!(told.trim(), expected.trim(), "\n{told}\n");
}

#[test]
fn else_applies_only_if_no_condition_before_it_was_true() {
    let site = site(
        "<If \"%{HTTP_HOST} == 'a'\">\nSetEnv WHICH a\n</If>\n\
         <ElseIf \"%{HTTP_HOST} == 'b'\">\nSetEnv WHICH b\n</ElseIf>\n\
         <Else>\nSetEnv WHICH other\n</Else>\n",
    );
    struct Host(&'static str);
    impl mehari_config::VariableSource for Host {
        fn put(&self, _: &mehari_config::Piece, into: &mut Vec<u8>) {
            into.extend_from_slice(self.0.as_bytes());
        }
    }
    for name in ["a", "b", "other"] {
        let settings = site.main.settings_if(&at(&site, "/x"), &Host(name));
        let set = ("WHICH".to_string(), name.to_string());
        assert_eq!(settings.programs.set_env, [set], "{name}");
    }
    assert_eq!(
        problems("<Else>\n</Else>\n"),
        ["1:2: <Else> has no <If> before it; expected one"]
    );
}

#[test]
fn perl_documentation_is_skipped_except_its_apache_blocks() {
    let text = "SetEnv A 1\n=pod\nAny text <here\n=over apache\nSetEnv B 1\n=back\nmore text\n=cut\nSetEnv C 1\n__END__\nNonsense\n";
    let names: Vec<String> = site(text)
        .main
        .base
        .programs
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
fn load_module_lines_decide_which_modules_are_present() {
    let ports = "Listen 8080\n<IfModule ssl_module>\nListen 443 https\n</IfModule>\n\
         <IfModule mod_ssl.c>\nListen 444 https\n</IfModule>\n";
    let addresses = |text: &str| -> Vec<String> {
        let listens = site(text).listen.into_iter();
        listens.map(|listen| listen.address).collect()
    };
    assert_eq!(addresses(ports), ["*:8080"], "TLS is nobody's default");
    let with = |module: &str| format!("LoadModule {module}_module x.so\n{ports}");
    assert_eq!(addresses(&with("alias")), ["*:8080"]);
    assert_eq!(addresses(&with("ssl")), ["*:8080", "*:443", "*:444"]);

    let names = |text: &str| -> Vec<String> {
        let variables = site(text).main.base.programs.set_env.into_iter();
        variables.map(|(name, _)| name).collect()
    };
    let asked = "<IfModule mod_rewrite.c>\nSetEnv REWRITE 1\n</IfModule>\n\
         <IfModule !rewrite_module>\nSetEnv NONE 1\n</IfModule>\n\
         <IfModule perl_module>\nSetEnv PERL 1\n</IfModule>\n\
         <IfModule mod_version.c>\nSetEnv BUILT_IN 1\n</IfModule>\n";
    assert_eq!(names(asked), ["REWRITE", "PERL", "BUILT_IN"]);
    let other = format!("LoadModule env_module x.so\n{asked}");
    assert_eq!(names(&other), ["NONE", "PERL", "BUILT_IN"]);
    let loaded = format!("LoadModule rewrite_module x.so\n{asked}");
    assert_eq!(names(&loaded), ["REWRITE", "PERL", "BUILT_IN"]);
}

#[test]
fn a_handler_name_must_be_built_in_or_have_an_action() {
    let named = |name: &str| Some(Handler::Named(name.to_string()));
    let before = site("SetHandler my-words\nAction My-Words /cgi-bin/words.cgi\n");
    assert_eq!(before.main.base.handlers.set, named("my-words"));
    let after = site("Action my-words /w.cgi\nAddHandler my-words .words\n");
    assert_eq!(
        after.main.base.handlers.by_suffix[0].1,
        named("my-words").expect("one")
    );
    assert_eq!(
        site("SetHandler application/x-httpd-php\n")
            .main
            .base
            .handlers
            .set,
        named("application/x-httpd-php")
    );
    let found =
        problems("Action my-words /w.cgi\n<Location /x>\nSetHandler my-word\n</Location>\n");
    assert!(
        found[0].starts_with("3:12: expected cgi-script"),
        "{found:?}"
    );
    assert_eq!(found.len(), 1);
}

#[test]
fn a_types_file_replaces_the_built_in_table() {
    let files = Files::new(&[
        ("httpd.conf", "TypesConfig mime.types\n"),
        ("mime.types", "# types\ntext/x-ours ours OUR2\n"),
    ]);
    let site = files.load(&[]).expect("a site");
    let types = site.main.base.media.types.expect("a table");
    assert_eq!(types.of("our2"), Some("text/x-ours"));
    assert_eq!(types.of("html"), None);
    let found = problems("TypesConfig no/such/file\n");
    assert!(found[0].contains("cannot be read"), "{found:?}");
}

#[test]
fn include_accepts_a_pattern_for_folders() {
    let site = site(
        "<DirectoryMatch ^/srv/[ab]/>\n<Files secret>\nRequire all denied\n</Files>\n</DirectoryMatch>\n\
         <Files secret>\nRequire all granted\n</Files>\n",
    );
    let denied = |file: &str| site.main.settings("/", Some(Path::new(file))).denied;
    assert!(denied("/srv/a/secret"), "the folder's line comes later");
    assert!(!denied("/srv/c/secret"));
    assert!(!denied("/srv/a/open"));
}

#[test]
fn a_proxy_match_is_compared_with_back_end_urls() {
    let text = "ProxyPass /a http://127.0.0.1:81/inside/\nProxyPass /b http://127.0.0.1:82/\n\
         <ProxyMatch \"^http://[^/]*:81/inside\">\nRequire all denied\n</ProxyMatch>\n";
    let site = site(text);
    assert!(at(&site, "/a/x").denied);
    assert!(!at(&site, "/b/x").denied);
    assert_eq!(problems("<ProxyMatch \"(\">\n</ProxyMatch>\n").len(), 1);
}

#[test]
fn error_directive_is_a_problem_with_its_own_text() {
    let found = problems("<IfModule !dav_module>\n  Error \"load mod_dav first\"\n</IfModule>\n");
    assert_eq!(
        found,
        ["2:3: the configuration stops here: load mod_dav first"]
    );
}

#[test]
fn different_spellings_of_a_folder_mean_the_same_folder() {
    for (root, closed) in [
        (".", "lib"),
        ("./", "./lib/"),
        ("htdocs/..", "htdocs/../lib"),
        ("htdocs/./../.", "lib/x/.."),
    ] {
        let text = format!(
            "ServerRoot /srv/site\nDocumentRoot {root}\nAlias /code/ ./lib/\n\
             <Directory {closed}>\nRequire all denied\n</Directory>\n"
        );
        let site = site(&text);
        assert!(at(&site, "/lib/startup.pl").denied, "{root} {closed}");
        assert!(at(&site, "/code/startup.pl").denied, "{root} {closed}");
        assert!(!at(&site, "/open").denied, "{root} {closed}");
    }
}
