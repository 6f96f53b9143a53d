//! Applications of Dancer2, Catalyst and Mojolicious under psgi, and Mojolicious as a CGI script:
//! one user's session in each.

use mehari_harness::cookies::Cookies;
use mehari_harness::{needs, Answer, Request, Server};

fn site() -> Server {
    Server::builder().program_site("psgi_apps").start()
}

/// A browser before one server.
struct Browser<'s> {
    server: &'s Server,
    cookies: Cookies,
}

impl Browser<'_> {
    fn before(server: &Server) -> Browser<'_> {
        let cookies = Cookies::default();
        Browser { server, cookies }
    }

    #[track_caller]
    fn send(&mut self, request: Request) -> Answer {
        let answer = self.server.send(&self.cookies.add_to(request));
        self.cookies.keep(&answer);
        answer
    }

    #[track_caller]
    fn get(&mut self, target: &str) -> Answer {
        self.send(Request::get(target))
    }
}

fn upload(target: &str) -> Request {
    let body = "--XX\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\nContent-Type: text/x-own\r\n\r\n\
                12345\r\n--XX--\r\n";
    Request::post(target, body).field("Content-Type", "multipart/form-data; boundary=XX")
}

#[test]
#[ignore = "loads three frameworks: make programs"]
fn dancer_application_works() {
    needs!("libdancer2-perl", "libcatalyst-perl", "libmojolicious-perl");
    let server = site();
    let mut user = Browser::before(&server);
    let page = user.get("/dancer/?name=Wilma").expect(200);
    assert_eq!(page, "<h1>Hello, Wilma</h1><p>WILMA</p>\n");
    assert_eq!(user.get("/dancer/item/7").expect(200), "[\"7\"]");
    for name in ["Adam", "Eva"] {
        let answer = user.send(Request::form("/dancer/sign", &format!("name={name}")));
        assert_eq!(answer.status, 302);
    }
    assert_eq!(user.get("/dancer/names").expect(200), "Adam, Eva");
    assert_eq!(
        user.send(upload("/dancer/upload")).expect(200),
        "a.txt 5 text/x-own"
    );
    assert_eq!(user.get("/dancer/teapot").expect(418), "short and stout");
    assert_eq!(
        user.get("/dancer/stream").expect(200),
        "piece 1\npiece 2\npiece 3\n"
    );
    user.get("/dancer/wrong").expect(500);
    user.get("/dancer/none").expect(404);
}

#[test]
#[ignore = "loads three frameworks: make programs"]
fn catalyst_application_works() {
    needs!("libdancer2-perl", "libcatalyst-perl", "libmojolicious-perl");
    let server = site();
    let mut user = Browser::before(&server);
    assert_eq!(user.get("/catalyst/").expect(200), "the shop at /catalyst/");
    assert_eq!(
        user.get("/catalyst/item/7").expect(200),
        "<p>item 7 of /catalyst/item/7</p>"
    );
    assert_eq!(user.get("/catalyst/order/12").expect(200), "order 12");
    let answer = user.send(Request::form("/catalyst/add", "what=a+hat"));
    assert_eq!(answer.status, 303);
    assert!(answer
        .field("location")
        .is_some_and(|place| place.ends_with("/catalyst/basket")));
    assert_eq!(user.get("/catalyst/basket").expect(200), "a hat");
    assert_eq!(
        user.send(upload("/catalyst/upload")).expect(200),
        "a.txt 5 text/x-own"
    );
    user.get("/catalyst/wrong").expect(500);
    assert_eq!(
        user.get("/catalyst/none").expect(404),
        "no such page in the shop"
    );
}

#[test]
#[ignore = "loads three frameworks: make programs"]
fn mojolicious_application_works_as_psgi_and_as_cgi() {
    needs!("libdancer2-perl", "libcatalyst-perl", "libmojolicious-perl");
    let server = site();
    for place in ["/mojo", "/cgi/mojo.pl"] {
        let mut user = Browser::before(&server);
        let page = user.get(&format!("{place}/?name=W%3Cilma")).expect(200);
        assert_eq!(
            page,
            format!("<h1>Hello, W&lt;ilma</h1><a href=\"{place}/who\">who</a>\n")
        );
        assert_eq!(
            user.get(&format!("{place}/item/7")).expect(200),
            "{\"id\":\"7\"}"
        );
        let answer = user.send(Request::form(&format!("{place}/sign"), "name=Eva"));
        assert_eq!(answer.status, 302);
        assert_eq!(user.get(&format!("{place}/who")).expect(200), "you are Eva");
        assert_eq!(
            user.send(upload(&format!("{place}/upload"))).expect(200),
            "a.txt 5 text/x-own"
        );
        assert_eq!(
            user.get(&format!("{place}/pieces")).expect(200),
            "one\ntwo\n"
        );
        user.get(&format!("{place}/wrong")).expect(500);
        user.get(&format!("{place}/none")).expect(404);
    }
}
