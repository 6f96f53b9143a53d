//! Apache2_4::AuthCookie with the unchanged pages of its examples: denied, wrong password, logged
//! in, logged out.

use mehari_harness::{needs, Builder, Pair, Request, Server};

const PAGES: &str = "/usr/share/doc/libapache2-authcookie-perl/examples/docs";

fn site() -> Builder {
    Server::builder()
        .package(PAGES, "htdocs/docs")
        .program_site("authcookie")
}

#[test]
fn protected_page_is_shown_to_whoever_has_logged_in() {
    needs!("libapache2-authcookie-perl");
    let mut user = Pair::start(site);
    user.get("/docs/index.html").expect(200);
    let page = user.get("/docs/protected/get_me.html?x=1").expect(403);
    assert!(
        page.contains("Failure reason: 'no_cookie'")
            && page.contains("/docs/protected/get_me.html?x=1"),
        "{page}"
    );
    let form = "destination=/docs/protected/get_me.html&credential_0=programmer&credential_1=";
    let page = user.form("/LOGIN", &format!("{form}wrong")).expect(403);
    assert!(page.contains("Failure reason: 'bad_credentials'"), "{page}");
    let page = user
        .follow(&Request::form("/LOGIN", &format!("{form}Hero")))
        .expect(200);
    assert!(page.contains("you got past AuthCookie"), "{page}");
    user.get("/docs/protected/get_me.html").expect(200);
    user.get("/docs/protected/index.html").expect(200);
    user.get("/docs/echo_cookie.pl").expect(200);
    user.send(
        &Request::get("/docs/protected/get_me.html")
            .field("Cookie", "Site::AuthCookie_WhatEver=forged:proof"),
    );
    user.get("/docs/logout.pl").expect(200);
    user.get("/docs/protected/get_me.html").expect(403);
}

#[test]
fn user_of_another_name_is_refused() {
    needs!("libapache2-authcookie-perl");
    let mut user = Pair::start(site);
    let form = "destination=/docs/myuser/get_me.html&credential_0=some-user&credential_1=some%20pass%20%26%20more";
    user.follow(&Request::form("/LOGIN", form)).expect(200);
    user.get("/docs/protected/get_me.html").expect(200);
}

/// A logged-in user has no further rights; a cookie from before the logout, or another user's name,
/// does not help either.
#[test]
fn page_of_one_user_is_shut_to_another() {
    needs!("libapache2-authcookie-perl");
    let mut user = Pair::start(site);
    user.get("/docs/myuser/get_me.html").expect(403);
    let unknown = "destination=/docs/myuser/get_me.html&credential_0=nobody&credential_1=Hero";
    user.form("/LOGIN", unknown).expect(403);
    let empty = "destination=/docs/myuser/get_me.html&credential_0=&credential_1=";
    user.form("/LOGIN", empty).expect(403);
    let form = "destination=/docs/protected/get_me.html&credential_0=programmer&credential_1=Hero";
    user.follow(&Request::form("/LOGIN", form)).expect(200);
    let refused = user.get("/docs/myuser/get_me.html");
    assert!(matches!(refused.status, 401 | 403), "{}", refused.text());
    user.get("/docs/logout.pl").expect(200);
    user.get("/docs/protected/get_me.html").expect(403);
    let right = "destination=/docs/myuser/get_me.html&credential_0=some-user&credential_1=some%20pass%20%26%20more";
    let page = user.follow(&Request::form("/LOGIN", right));
    page.expect(200);
}
