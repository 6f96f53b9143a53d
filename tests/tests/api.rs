//! Tests the mod_perl 2 API: the handlers of `fixtures/api` print the results of methods, and the
//! results of Mehari are compared with those of Apache with mod_perl.

use mehari_harness::{eventually, needs, Answer, Builder, Request, Server, PATIENCE};

/// The class of each handler, and the other directives of its location.
const HANDLERS: &[(&str, &str)] = &[
    ("Fields", ""),
    (
        "Tables",
        "PerlSetVar One 1\nPerlAddVar Many a\nPerlAddVar Many b\nPerlSetEnv API_SET set\n",
    ),
    ("Output", ""),
    ("Input", ""),
    ("Addresses", ""),
    ("Options", "PerlOptions +GlobalRequest +MergeHandlers\n"),
    ("Head", ""),
    ("Form", ""),
    (
        "Filter",
        "PerlInputFilterHandler Api::Filter::digits\nPerlOutputFilterHandler Api::Filter::upper\n",
    ),
];

const ONE_WORKER: &str =
    "StartServers 1\nMinSpareServers 1\nMaxSpareServers 1\nMaxRequestWorkers 1\n";

fn builder() -> Builder {
    let mut conf =
        format!("{ONE_WORKER}PerlSwitches -I@ROOT@/scripts/lib\nPerlModule Api::Filter\n");
    for (class, more) in HANDLERS {
        conf.push_str(&format!(
            "<Location /{}>\nSetHandler modperl\nPerlResponseHandler Api::{class}\nRequire all granted\n{more}</Location>\n",
            class.to_lowercase()
        ));
    }
    Server::builder().fixtures("api").conf(&conf)
}

fn requests() -> Vec<Request> {
    let get = Request::get;
    let mut requests = vec![
        get("/fields/extra/path?a=1&b=2"),
        get("/tables?q=1")
            .field("X-One", "1")
            .field("X-Two", "a")
            .field("X-Two", "b"),
        get("/output"),
        Request::post("/input", "0123456789abcdef").field("Content-Type", "text/plain"),
        get("/addresses/more?x=y"),
        get("/options"),
        get("/head?modified").field("If-None-Match", "\"abc\""),
        get("/head?modified").field("If-Modified-Since", "Sun, 06 Nov 1994 08:49:37 GMT"),
    ];
    requests.extend([
        get("/filter"),
        Request::post("/filter", "text 123").field("Content-Type", "text/plain"),
        get("/filter?own"),
        get("/filter?long"),
    ]);
    for case in HEADS {
        requests.push(get(&format!("/head?{case}")));
    }
    requests
}

const HEADS: &[&str] = &[
    "cgi",
    "length",
    "two_types",
    "modified",
    "forbidden",
    "redirect",
    "status_redirect",
    "nothing",
    "custom",
    "no_cache",
    "status_line",
    "dies",
    "string",
    "undef",
    "type_in_table",
    "encoding",
    "none",
];

/// Returns the part of a response that a handler decides: without the server's own lines and pages,
/// and without the server's port.
fn essence(server: &Server, answer: &Answer) -> String {
    let body = answer.text().replace(&server.port().to_string(), "PORT");
    let is_page = body.starts_with("<!DOCTYPE") || body.starts_with(&answer.status.to_string());
    let mut lines: Vec<String> = answer
        .fields
        .iter()
        .map(|(name, value)| (name.to_lowercase(), String::from_utf8_lossy(value)))
        .filter(|(name, _)| !OF_THE_SERVER.contains(&name.as_str()))
        .filter(|(name, _)| !(is_page && OF_A_PAGE.contains(&name.as_str())))
        .map(|(name, value)| match name.as_str() {
            "expires" => format!("{name}: (a date)"),
            _ => format!("{name}: {value}"),
        })
        .collect();
    lines.sort();
    let body = if is_page { "(a page)" } else { &body };
    format!("{}\n{}\n\n{body}", answer.status, lines.join("\n"))
}

const OF_THE_SERVER: &[&str] = &[
    "date",
    "server",
    "connection",
    "content-length",
    "transfer-encoding",
    "accept-ranges",
    "x-content-type-options",
];
const OF_A_PAGE: &[&str] = &["content-type"];

/// Returns the request line and the fields, as the name of a request in a failure report.
fn name(request: &Request) -> String {
    format!(
        "{} {} {:?}",
        request.method,
        request.target,
        &request.fields[1..]
    )
}

#[test]
fn methods_answer_as_under_mod_perl() {
    needs!("apache2-bin", "libapache2-mod-perl2");
    let (ours, theirs) = (builder().start(), builder().on_apache().start());
    let differing: Vec<String> = requests()
        .iter()
        .filter_map(|request| {
            let ours = essence(&ours, &ours.send(request));
            let theirs = essence(&theirs, &theirs.send(request));
            (ours != theirs).then(|| {
                format!(
                    "{}\n--- mod_perl\n{theirs}\n--- Mehari\n{ours}",
                    name(request)
                )
            })
        })
        .collect();
    assert!(differing.is_empty(), "{}", differing.join("\n\n"));
}

#[test]
fn pool_of_an_earlier_request_cannot_be_used() {
    let server = builder().start();
    let said = || server.get("/options?again").expect(200);
    assert!(said().ends_with("pool none\n"));
    assert!(said().ends_with("pool over\n"));
}

fn form(query: &str) -> Request {
    Request::get(&format!("/form?{query}"))
}

fn multipart(body: &str) -> Request {
    Request::post("/form", body.replace('\n', "\r\n"))
        .field("Content-Type", "multipart/form-data; boundary=XX")
}

const UPLOAD: &str = "--XX\nContent-Disposition: form-data; name=\"a\"\n\none\n--XX\nContent-Disposition: form-data; \
                      name=\"f\"; filename=\"x y.txt\"\nContent-Type: text/x-own\n\nline 1\nline 2\n\n--XX--\n";

#[test]
fn forms_are_read_as_libapreq_reads_them() {
    let server = builder().start();
    for (request, expected) in [
        (
            form("a=1&b=two+words;a=%41&c"),
            "a=1\na=A\nb=two words\nc=\nfirst: 1\n",
        ),
        (form("%61=%u20ac"), "a=\u{20ac}\nfirst: \u{20ac}\n"),
        (form("A=1&a=2"), "A=1\nA=2\nfirst: 1\n"),
        (form(""), "first: undef\n"),
        (Request::form("/form?a=q", "a=b"), "a=q\na=b\nfirst: q\n"),
        (
            multipart(UPLOAD),
            "a=one\nf=x y.txt\nfirst: one\nupload f x y.txt text/x-own 16 line 1|line 2|\n",
        ),
    ] {
        let answer = server.send(&request);
        assert_eq!(answer.expect(200), expected, "{}", name(&request));
    }
}

#[test]
fn invalid_forms_are_answered_4xx_and_leave_no_file() {
    let server = builder().start();
    let cut = &UPLOAD[..UPLOAD.len() - 8];
    let long = format!("a={}", "x".repeat(100_000));
    for (request, status) in [
        (form("a=%zz"), 400),
        (form("a=%4"), 400),
        (multipart(cut), 400),
        (multipart("--XX\nno header\n\nx\n--XX--\n"), 400),
        (multipart("no delimiter at all"), 400),
        (
            Request::post("/form", "--XX--").field("Content-Type", "multipart/form-data"),
            400,
        ),
        (Request::form("/form", &long), 413),
        (
            Request::post("/form?no_uploads", UPLOAD.replace('\n', "\r\n"))
                .field("Content-Type", "multipart/form-data; boundary=XX"),
            403,
        ),
    ] {
        server.send(&request).expect(status);
    }
    let answer = server.send(&multipart(UPLOAD));
    assert!(answer.expect(200).contains("upload f"));
    // The files of uploads are deleted after the response.
    let folder = server.site.path("uploads");
    let is_empty = || {
        std::fs::read_dir(&folder)
            .expect("the handler made it")
            .count()
            == 0
    };
    assert!(
        eventually(PATIENCE, is_empty),
        "a file of an upload is left"
    );
}
