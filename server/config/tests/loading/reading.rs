//! How files are read: conditions, variables, includes, and problems.

use super::*;

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
