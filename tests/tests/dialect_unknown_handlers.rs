//! Tests handlers that no module provides. As in Apache, the file is sent, unless the handler's
//! name is one of programs, whose source must not be sent.

use mehari_harness::{Pair, Request, Server};

const NAMES: [&str; 5] = [
    "text/plain",
    "application/json",
    "application/javascript",
    "whatever",
    "video-player",
];

#[test]
fn files_of_an_unknown_handler_are_sent_as_in_apache() {
    let site = || {
        let mut builder = Server::builder()
            .file("htdocs/page.html", "page")
            .file("htdocs/program/page.html", "source")
            .conf(
                "RewriteEngine On\n\
                 <Location /program>\nSetHandler application/x-httpd-php\n</Location>\n",
            );
        for (at, name) in NAMES.iter().enumerate() {
            builder = builder
                .file(&format!("htdocs/set{at}/page.html"), "set")
                .file(&format!("htdocs/added{at}/page.html"), "added")
                .file(&format!("htdocs/forced{at}/page.html"), "forced")
                .conf(&format!(
                    "<Directory @ROOT@/htdocs/set{at}>\nSetHandler {name}\n</Directory>\n\
                     <Directory @ROOT@/htdocs/added{at}>\nAddHandler {name} .html\n</Directory>\n\
                     <Directory @ROOT@/htdocs/forced{at}>\nRewriteEngine On\n\
                     RewriteRule ^page - [H={name}]\n</Directory>\n\
                     RewriteRule ^/ruled{at}$ /page.html [H={name}]\n"
                ));
        }
        builder
    };
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for at in 0..NAMES.len() {
        for target in [
            format!("/set{at}/page.html"),
            format!("/set{at}/missing.html"),
            format!("/set{at}/page.html/more"),
            format!("/set{at}/"),
            format!("/added{at}/page.html"),
            format!("/forced{at}/page.html"),
            format!("/ruled{at}"),
        ] {
            for method in ["GET", "POST"] {
                if let Err(why) = pair.compare(&Request::new(method, &target)) {
                    differences.push(why);
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert_eq!(pair.ours().get("/program/page.html").status, 500);
}
