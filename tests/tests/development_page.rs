//! Tests the development error page: what it shows, that everything on it is escaped, and that no
//! other client and no other server shows it.

use mehari_harness::{Answer, Request, Rung, Server};

/// Dies two subs deep. The error, the session and a field of the request hold markup.
const APP: &str = r#"my $inner = sub { die "<b>no camels</b> in $_[0]{PATH_INFO}\n" };
my $outer = sub { $inner->(@_); 1 };
sub {
    my $env = shift;
    $env->{'psgix.session'} = { visits => '<i>seven</i>' };
    $env->{CART_PASSWORD} = join ' ', 'open', 'sesame';
    return $outer->($env) unless $env->{PATH_INFO} =~ m{late|begun};
    return sub {
        my $writer = $env->{PATH_INFO} =~ /begun/ && $_[0]->([200, ['Content-Type' => 'text/plain']]);
        die "<b>too late</b>\n";
    };
}
"#;

fn server(words: &[&str]) -> Server {
    let builder = Server::builder().file("app.psgi", APP).dir("app.psgi");
    builder.args(words).start()
}

fn asked(server: &Server, path: &str, fields: &[(&str, &str)]) -> Answer {
    let mut request = Request::get(path);
    if !fields.iter().any(|(name, _)| *name == "Accept") {
        request = request.field("Accept", "text/html");
    }
    for (name, value) in fields {
        request = match *name {
            "Host" => request.host(value),
            _ => request.field(name, value),
        };
    }
    server.send(&request)
}

#[test]
fn page_shows_stack_request_session_and_environment_and_escapes_all_of_it() {
    let server = server(&["--watch"]);
    let field = [("X-Colour", "<script>alert(1)</script>")];
    let answer = asked(&server, "/shop?<q>", &field);
    let page = answer.expect(500);
    for shown in [
        "&lt;b&gt;no camels&lt;/b&gt; in /shop",
        "app.psgi line 1",
        "app.psgi line 2",
        "<span class=\"here\">    2  my $outer",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "&lt;i&gt;seven&lt;/i&gt;",
        "PLACK_ENV",
        "(hidden)",
    ] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
    for hidden in ["<script", "<b>", "<i>", "<q>", "open sesame"] {
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
    let policy = answer.field("content-security-policy").expect("a policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"));
    assert_eq!(answer.field("cache-control").as_deref(), Some("no-store"));
    server.log.expect("<b>no camels</b> in /shop");
    assert_eq!(server.log.count("no camels"), 1);
}

#[test]
fn script_and_handler_that_die_answer_with_what_the_error_log_says() {
    let die = "#!/usr/bin/perl\nuse strict;\nsub inner { die '<b>no camels</b>' }\ninner();\n";
    let handler = "package My; sub handler { die \"<i>no tents</i>\\n\" } $INC{'My.pm'} = 1;";
    let conf = format!(
        "<Perl>\n{handler}\n</Perl>\n<Location /own>\nSetHandler perl-script\n\
         PerlResponseHandler My\n</Location>\n"
    );
    for words in [&["--watch"][..], &[]] {
        let builder = Server::builder().file("scripts/die.pl", die).ladder();
        let server = builder.conf(&conf).args(words).start();
        let is_watched = !words.is_empty();
        for rung in Rung::ALL {
            let url = rung.url("die.pl");
            let page = asked(&server, &url, &[]).expect(500);
            let said = page.contains("&lt;b&gt;no camels&lt;/b&gt; at ");
            // The lines of a CGI program come through a pipe, perhaps after its end.
            assert!(said == is_watched || rung == Rung::Cgi, "{url}: {page}");
            assert!(
                said || page.contains("<h1>Internal Server Error</h1>"),
                "{page}"
            );
            assert!(!page.contains("<b>"), "{url}: {page}");
            let from = [("X-Forwarded-For", "127.0.0.1")];
            let other = asked(&server, &url, &from).expect(500);
            assert!(!other.contains("camels"), "{url}: {other}");
        }
        let text = asked(&server, "/own", &[("Accept", "*/*")]);
        let has_text = text.expect(500).contains("<i>no tents</i>\n");
        assert_eq!(has_text, is_watched, "{}", text.text());
    }
}

#[test]
fn page_is_text_for_a_client_that_does_not_ask_for_html() {
    let server = server(&["--watch"]);
    let answer = asked(&server, "/shop", &[("Accept", "*/*")]);
    let text = answer.expect(500);
    assert!(text.starts_with("<b>no camels</b> in /shop\n"), "{text}");
    assert!(text.contains("app.psgi line 2"), "{text}");
    let kind = answer.field("content-type").unwrap_or_default();
    assert!(kind.starts_with("text/plain"), "{kind}");
}

#[test]
fn delayed_response_has_the_page_until_its_head_is_sent() {
    let server = server(&["--watch"]);
    let page = asked(&server, "/late", &[]).expect(500);
    assert!(page.contains("&lt;b&gt;too late&lt;/b&gt;"), "{page}");
    let mut connection = server.connect();
    let request = Request::get("/begun")
        .field("Accept", "text/html")
        .closing();
    let begun = connection.send(&request).map(|answer| answer.text());
    assert!(!begun.unwrap_or_default().contains("<h2>Stack</h2>"));
    server.log.expect("too late");
}

#[test]
fn forwarded_requests_and_foreign_names_get_no_page() {
    let server = server(&["--watch"]);
    for (name, value) in [
        ("X-Forwarded-For", "127.0.0.1"),
        ("X-Forwarded-Host", "localhost"),
        ("X-Forwarded-Proto", "https"),
        ("X-Real-IP", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("Via", "1.1 front"),
        ("Host", "shop.example"),
        ("Host", "localhost.shop.example"),
        ("Host", "127.0.0.1.shop.example"),
    ] {
        let page = asked(&server, "/shop", &[(name, value)]).expect(500);
        assert!(!page.contains("camels"), "{name}: {value}: {page}");
        assert!(page.contains("<h1>Internal Server Error</h1>"), "{page}");
    }
    for host in [
        "localhost",
        "shop.localhost:5000",
        "127.0.0.1:80",
        "[::1]:5000",
    ] {
        let page = asked(&server, "/shop", &[("Host", host)]).expect(500);
        assert!(page.contains("no camels"), "{host}: {page}");
    }
}

#[test]
fn server_that_does_not_watch_has_no_page_in_any_environment() {
    for words in [&[][..], &["-E", "development"]] {
        let server = server(words);
        let page = asked(&server, "/shop", &[]).expect(500);
        assert!(!page.contains("camels"), "{words:?}: {page}");
        assert!(page.contains("<h1>Internal Server Error</h1>"), "{page}");
    }
}
