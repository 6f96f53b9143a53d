//! Tests rules about the host names of clients: `Require host`, `Require forward-dns`, `Allow from
//! NAME`, `HostnameLookups`. The test has a hosts file of its own. The responses are compared with
//! Apache's.

use mehari_harness::hosts::{self, Others};
use mehari_harness::{needs_machine, Builder, Pair, Request, Server};

const HOSTS: &str = "127.0.0.1 localhost\n\
    192.0.2.1 www.Example.org example.org\n\
    192.0.2.2 www.myexample.org\n\
    192.0.2.3 liar.example.org.test\n\
    192.0.2.5 liar.example.org\n\
    192.0.2.4 liar.example.org\n\
    2001:db8::1 six.example.org\n";

const WHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(REMOTE_ADDR REMOTE_HOST OF_HOST);\n";

const PLACES: &[(&str, &str)] = &[
    ("host", "Require host example.org"),
    ("hosts", "Require host nobody.test www.example.org"),
    ("below", "Require host .example.org"),
    ("forward", "Require forward-dns www.example.org six.example.org"),
    ("unknown", "Require forward-dns nowhere.test"),
    ("either", "Require ip 192.0.2.9\nRequire host example.org"),
    ("all", "<RequireAll>\nRequire ip 192.0.2.0/24\nRequire host example.org\n</RequireAll>"),
    ("not", "<RequireAll>\nRequire all granted\nRequire not host example.org\n</RequireAll>"),
    ("none", "<RequireAll>\nRequire all granted\n<RequireNone>\nRequire host example.org\n</RequireNone>\n</RequireAll>"),
    ("allow", "Order Deny,Allow\nDeny from all\nAllow from example.org 192.0.2.9"),
    ("deny", "Order Allow,Deny\nAllow from all\nDeny from .example.org"),
    ("any", "Order Deny,Allow\nDeny from all\nAllow from example.org\nSatisfy Any\nRequire ip 192.0.2.2"),
    ("on", "HostnameLookups On\nSetEnvIf Remote_Host org$ OF_HOST=yes"),
    ("double", "HostnameLookups Double"),
    ("expression", "HostnameLookups On\nRequire expr %{REMOTE_HOST} == 'www.example.org'"),
];

fn site(others: Others) -> Builder {
    let mut conf = String::from(
        "RemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\nLogFormat \"%h %a %U\" names\nCustomLog @ROOT@/names.log names\n\
         <Directory @ROOT@>\nRequire all granted\n</Directory>\n",
    );
    for (name, words) in PLACES {
        let script = format!(
            "ScriptAlias /{name} @ROOT@/cgi/who.pl\n<Location /{name}>\n{words}\n</Location>\n"
        );
        conf.push_str(&script);
    }
    let builder = Server::builder()
        .file("cgi/who.pl", WHO)
        .file("htdocs/index.html", "")
        .conf(&conf)
        .hosts(HOSTS, others);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let script = builder.folder_of("cgi").join("who.pl");
    std::fs::set_permissions(script, mode).expect("own file");
    builder
}

fn from(client: &str, place: &str) -> Request {
    Request::get(&format!("/{place}")).field("X-Client", client)
}

const NO_HOSTS: &str = "no mount namespaces for a hosts file of the test's own";

#[test]
fn rules_about_client_names_decide_as_in_apache() {
    needs_machine!(hosts::are_possible(), NO_HOSTS);
    let mut pair = Pair::start(|| site(Others::AreUnknown));
    let mut differences = Vec::new();
    let mut seen = [0, 0];
    for (place, _) in PLACES {
        for client in [
            "192.0.2.1",
            "192.0.2.2",
            "192.0.2.4",
            "192.0.2.5",
            "192.0.2.9",
            "2001:db8::1",
        ] {
            // The first request makes the server look the name up. The second one finds the name in
            // the cache.
            for _ in 0..2 {
                match pair.compare(&from(client, place)) {
                    Ok(answer) => seen[usize::from(answer.status == 200)] += 1,
                    Err(why) => differences.push(format!("{client} {why}")),
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(seen[0] > 40 && seen[1] > 40, "{seen:?}");
    for (place, client, line) in [
        ("on", "192.0.2.1", "www.example.org 192.0.2.1 /on"),
        ("on", "192.0.2.4", "liar.example.org 192.0.2.4 /on"),
        ("double", "192.0.2.4", "192.0.2.4 192.0.2.4 /double"),
        ("host", "192.0.2.1", "www.example.org 192.0.2.1 /host"),
    ] {
        pair.send(&from(client, place));
        for server in pair.servers() {
            let is_there = || {
                server
                    .site
                    .read("names.log")
                    .lines()
                    .any(|known| known == line)
            };
            let came = mehari_harness::eventually(mehari_harness::PATIENCE, is_there);
            assert!(came, "{line}: {}", server.site.read("names.log"));
        }
    }
}

/// If the resolver fails, the client's name is unknown. A client is refused if the rules would
/// admit it with one name and refuse it with another.
#[test]
fn client_without_a_known_name_is_refused_where_the_name_decides() {
    needs_machine!(hosts::are_possible(), NO_HOSTS);
    let server = site(Others::CannotBeAsked).start();
    for (place, known, unknown) in [
        ("host", 200, 403),
        ("either", 200, 200),
        ("not", 403, 403),
        ("none", 403, 403),
        ("allow", 200, 200),
        ("deny", 403, 403),
        ("on", 200, 200),
        ("unknown", 403, 403),
    ] {
        for (client, status) in [("192.0.2.1", known), ("192.0.2.9", unknown)] {
            let answer = server.send(&from(client, place));
            assert_eq!(answer.status, status, "{place} {client}: {}", answer.text());
        }
    }
    server
        .log
        .expect("no answer from the resolver about the name of 192.0.2.9");
}
