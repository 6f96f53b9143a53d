//! HTML::Mason's ApacheHandler, unchanged from its package: components, arguments, the component
//! cache, errors.

use mehari_harness::{needs, Builder, Pair, Request, Server};

fn site() -> Builder {
    Server::builder().program_site("mason").folder("state")
}

#[test]
fn components_answer_the_same() {
    needs!("libhtml-mason-perl", "libcache-cache-perl");
    let mut user = Pair::start(site).mask(&[(r"\[\w+:[^\]]*\]", "(place)")]);
    let pages = [
        "index.html",
        "index.html?name=%3CWilma%3E&fruit=apple&fruit=p%C3%A4r",
        "plain.txt?name=x",
        "flushed.html",
        "deep/some/where.txt",
        "deep/declined",
        "gone.html",
        "none.html",
        "footer.mc",
        "autohandler",
        "error.html",
    ];
    for page in pages {
        user.get(&format!("/mason/{page}"));
    }
    user.send(&Request::new("HEAD", "/mason/index.html"));
    let page = user
        .form("/mason/index.html", "name=posted&fruit=1&fruit=2")
        .expect(200);
    assert!(
        page.contains("Hello, posted") && page.contains("<li>2</li>"),
        "{page}"
    );
    user.follow(&Request::get("/mason/redirect.html"))
        .expect(200);
}

#[test]
fn component_cache_lasts_from_one_request_to_the_next() {
    needs!("libhtml-mason-perl", "libcache-cache-perl");
    let mut user = Pair::start(site);
    assert!(user
        .get("/mason/cached.html")
        .expect(200)
        .contains("new: made of one"));
    for _ in 0..2 {
        let page = user.get("/mason/cached.html").expect(200);
        assert!(
            page.contains("kept: made of one") && page.contains("computed for one, time 1"),
            "{page}"
        );
    }
    assert!(user
        .get("/mason/cached.html?key=two")
        .expect(200)
        .contains("new: made of two"));
    assert!(user
        .get("/mason/cached.html?key=two&forget=1")
        .expect(200)
        .contains("new: made of two"));
}

#[test]
fn changed_component_is_compiled_again() {
    needs!("libhtml-mason-perl", "libcache-cache-perl");
    let mut user = Pair::start(site);
    user.get("/mason/plain.txt").expect(200);
    for server in user.servers() {
        server.site.replace(
            "comp/plain.txt",
            "<%flags>inherit => undef</%flags>changed\n",
        );
    }
    assert_eq!(user.get("/mason/plain.txt").expect(200), "changed\n");
}
