//! Tests the two tables of `Header`: rules with `always` change the fields that survive an error,
//! and the others change those of the response. The responses are compared with Apache's.

use mehari_harness::{Builder, Pair, Request, Server};

const SCRIPT: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\nX-Own: out\\nSet-Cookie: a=1\\nSet-Cookie: b=2\\n\\nbody};\n";

const RULES: [(&str, &str); 9] = [
    (
        "both",
        "Header set X-Own plain\nHeader always set X-Own always",
    ),
    (
        "order",
        "Header always set X-Own always\nHeader set X-Own plain",
    ),
    ("unset", "Header unset Set-Cookie\nHeader unset X-Own"),
    (
        "always-unset",
        "Header always unset Set-Cookie\nHeader always unset X-Own",
    ),
    (
        "edit",
        "Header edit Set-Cookie $ ;Secure\nHeader edit X-Own ^ edited-",
    ),
    (
        "always-edit",
        "Header always edit Set-Cookie $ ;Secure\nHeader always edit X-Own ^ edited-",
    ),
    (
        "append",
        "Header append X-Own more\nHeader always append X-Own always",
    ),
    (
        "merge",
        "Header merge X-Own out\nHeader always merge X-Own out",
    ),
    (
        "empty",
        "Header setifempty X-Own plain\nHeader always setifempty X-Own always",
    ),
];

fn site() -> Builder {
    let mut conf = String::new();
    let builder = Server::builder()
        .file("htdocs/page.txt", "page\n")
        .file("scripts/own.pl", SCRIPT)
        .ladder();
    for (name, rules) in RULES {
        conf.push_str(&format!(
            "<If \"%{{req_novary:X-Rules}} == '{name}'\">\n{rules}\n</If>\n"
        ));
    }
    builder.conf(&conf)
}

#[test]
fn each_rule_changes_the_fields_of_its_table() {
    let mut pair = Pair::start(site);
    let mut differences = Vec::new();
    for (name, _) in RULES {
        for path in ["/page.txt", "/missing", "/cgi/own.pl", "/registry/own.pl"] {
            let request = Request::get(path).field("X-Rules", name);
            if let Err(why) = pair.compare(&request) {
                differences.push(format!("{name} {why}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
