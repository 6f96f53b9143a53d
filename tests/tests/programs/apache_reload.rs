//! Apache2::Reload: a changed module takes effect with the next request, without a restart.

use mehari_harness::{Builder, Pair, Server};

fn site() -> Builder {
    Server::builder().program_site("apache_reload")
}

const PAGE: &str = "lib/Site/Page.pm";

#[test]
fn changed_module_answers_from_the_next_request_on() {
    let mut user = Pair::start(site);
    assert_eq!(user.get("/page").expect(200), "first\n");
    for server in user.servers() {
        let text = server.site.read(PAGE).replace("first", "second");
        server.site.replace(PAGE, &text);
    }
    assert_eq!(user.get("/page").expect(200), "second\n");
    assert_eq!(user.get("/page").expect(200), "second\n");
}

#[test]
fn module_that_no_longer_compiles_is_an_error() {
    let mut user = Pair::start(site);
    user.get("/page").expect(200);
    let text = user.ours().site.read(PAGE);
    for server in user.servers() {
        server
            .site
            .replace(PAGE, &text.replace("sub handler", "sub {"));
    }
    assert_eq!(user.get("/page").status, 500);
    // As under mod_perl: perl does not compile a failed file again.
    assert_eq!(user.get("/page").status, 500);
}
