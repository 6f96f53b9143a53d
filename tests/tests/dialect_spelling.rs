//! Tests the correction of misspelt paths (CheckSpelling). Each response is compared with Apache's.

use mehari_harness::{Pair, Request, Server};

const MASK: &[(&str, &str)] = &[(":[0-9]+/", ":PORT/")];

fn pair(rules: &str) -> Pair {
    let conf = format!(
        "<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
         DirectoryIndex disabled\n<Location />\n{rules}\n</Location>\n\
         <Location /off>\nCheckSpelling Off\n</Location>\n"
    );
    let files = [
        "Alpha.html",
        "index.db",
        "swap.html",
        "manyx.html",
        "many.one",
        "one/near.txt",
        "off/near.txt",
    ];
    Pair::start(|| {
        let build = Server::builder().conf(&conf);
        files.iter().fold(build, |build, name| {
            build.file(&format!("htdocs/{name}"), "x")
        })
    })
    .mask(MASK)
}

#[test]
fn the_most_similar_name_is_the_target_of_a_redirect() {
    let mut pair = pair("CheckSpelling On");
    for (target, location) in [
        ("/alpha.html", "/Alpha.html"),
        ("/alpha.html/info?q=1&x=%20", "/Alpha.html/info?q=1&x=%20"),
        ("/alpha.html?", "/Alpha.html?"),
        ("/sawp.html", "/swap.html"),
        ("/swp.html", "/swap.html"),
        ("/swwap.html", "/swap.html"),
        ("/swxp.html", "/swap.html"),
        // A name with another suffix is less similar.
        ("/many.html/in%3Cfo", "/manyx.html/in%3cfo"),
        ("/on/near.txt", "/one/near.txt"),
        ("/one/nearr.txt", "/one/near.txt"),
    ] {
        let answer = pair.get(target);
        assert_eq!(answer.status, 301, "{target}");
        let sent = answer.field("location").unwrap_or_default().to_owned();
        assert!(sent.ends_with(location), "{target}: {sent}");
    }
    for target in ["/nothing.like", "/off/nearr.txt", "/"] {
        let status = pair.get(target).status;
        assert!(status >= 400, "{target}: {status}");
    }
    let post = Request::form("/alpha.html", "a=1");
    assert_eq!(pair.send(&post).status, 404);
}

#[test]
fn a_list_is_sent_if_no_name_fits_best() {
    let mut pair = pair("CheckSpelling On");
    let page = pair.send(&Request::get("/index.html?a=<b>").field("Referer", "http://r/<x>&'"));
    assert_eq!(page.status, 300);
    let text = page.text();
    assert!(text.contains("/index.db%3fa=%3cb%3e\""), "{text}");
    assert!(text.contains("<tt>http://r/&lt;x&gt;&amp;'</tt>"), "{text}");
}

#[test]
fn case_only_and_basenames_choose_what_is_similar() {
    let mut case = pair("CheckSpelling On\nCheckCaseOnly On");
    assert_eq!(case.get("/ALPHA.html").status, 301);
    assert_eq!(case.get("/swp.html").status, 404);
    assert_eq!(case.get("/index.html").status, 300);
    let mut strict = pair("CheckSpelling On\nCheckBasenameMatch Off");
    assert_eq!(strict.get("/index.html").status, 404);
    assert_eq!(strict.get("/swp.html").status, 301);
}

#[test]
fn hidden_names_and_places_behind_perl_are_not_shown() {
    let server = Server::builder()
        .conf("PerlSwitches -I@ROOT@/lib\nCheckSpelling On\n<Location /guarded>\nPerlAccessHandler My::Gate\n</Location>\n")
        .file(
            "lib/My/Gate.pm",
            "package My::Gate;\nsub handler { 403 }\n1;\n",
        )
        .file("htdocs/.secret", "x")
        .file("htdocs/.git/config", "x")
        .file("htdocs/page.bak", "x")
        .file("htdocs/guarded/name.txt", "x")
        .start();
    for (target, expected) in [
        ("/secret", 404),
        ("/.git/confg", 404),
        ("/page.bk", 404),
        ("/guarded/nam.txt", 403),
    ] {
        let answer = server.get(target);
        assert_eq!(answer.status, expected, "{target}");
        assert!(answer.field("location").is_none(), "{target}");
    }
}
