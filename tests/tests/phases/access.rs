//! Tests access control by Perl and the front together.

use super::*;

#[test]
fn perl_and_the_front_decide_together_which_clients_are_admitted() {
    let module = r#"
use MIME::Base64 ();
use Apache2::Access ();
sub authen {
    my $r = shift;
    my ($given) = ($r->headers_in->get('Authorization') // '') =~ /^Basic (.*)/ or return -1;
    my ($user, $password) = split /:/, MIME::Base64::decode_base64($given);
    return 401 unless $password eq 'secret';
    $r->user($user);
    return 0;
}
sub authz { my $r = shift; $r->user eq 'ann' ? 0 : -1 }
sub group { my $r = shift; (grep { $_->{requirement} eq 'group staff' } @{ $r->requires }) && $r->user eq 'ann' ? 0 : 403 }
sub say   { my $r = shift; $r->content_type('text/plain'); $r->print('hello ', $r->user // 'nobody'); 0 }
"#;
    let conf = "PerlModule Auth\n\
        <Location />\nSetHandler modperl\nPerlHandler Auth::say\nAuthType Basic\nAuthName x\n</Location>\n\
        <Location /perl>\nPerlAuthenHandler Auth::authen\nRequire valid-user\n</Location>\n\
        <Location /bob>\nPerlAuthenHandler Auth::authen\nRequire user bob\n</Location>\n\
        <Location /both>\nPerlAuthenHandler Auth::authen\nPerlAuthzHandler Auth::authz\nRequire user bob\n</Location>\n\
        <Location /group>\nPerlAuthenHandler Auth::authen\nPerlAuthzHandler Auth::group\nRequire group staff\n</Location>\n\
        <Location /open>\nPerlAuthenHandler Auth::authen\n</Location>\n\
        <Location /file>\nAuthUserFile @ROOT@/users\nPerlAuthzHandler Auth::authz\nRequire user bob\n</Location>\n";
    // The hash of `secret`, made by openssl passwd -apr1, for three users.
    let hash = "$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/";
    let users = format!("ann:{hash}\nbob:{hash}\neve:{hash}\n");
    let server = one_worker(&[("Auth", module)], conf)
        .file("users", &users)
        .start();
    let ask = |target: &str, credentials: &str| {
        let mut request = Request::get(target);
        if !credentials.is_empty() {
            request = request.field("Authorization", &format!("Basic {credentials}"));
        }
        server.send(&request).status
    };
    let (ann, bob, eve) = ("YW5uOnNlY3JldA==", "Ym9iOnNlY3JldA==", "ZXZlOnNlY3JldA==");
    let wrong = "YW5uOndyb25n";
    for (target, credentials, status) in [
        ("/perl", ann, 200),
        ("/perl", "", 401),
        ("/perl", wrong, 401),
        ("/bob", bob, 200),
        ("/bob", ann, 401),
        ("/both", ann, 200),
        ("/both", bob, 200),
        ("/both", eve, 401),
        ("/group", ann, 200),
        ("/group", bob, 403),
        // An AuthType without Require has the same effect as in Apache.
        ("/open", "", 500),
        ("/file", "", 401),
        ("/file", wrong, 401),
        ("/file", ann, 200),
        ("/file", bob, 200),
        ("/file", eve, 401),
    ] {
        assert_eq!(ask(target, credentials), status, "{target} {credentials}");
    }
}

#[test]
fn redirect_of_perl_does_not_admit_a_client_to_a_denied_path() {
    let module = r#"
use Apache2::SubRequest ();
use Apache2::Response ();
sub redirect { my $r = shift; $r->internal_redirect('/' . $r->args); 0 }
sub sub_request {
    my $r = shift;
    my $subr = $r->lookup_uri('/' . $r->args);
    my $status = $subr->run;
    $r->content_type('text/plain');
    $r->print(" $status");
    0;
}
sub say { my $r = shift; $r->content_type('text/plain'); $r->print('secret'); 0 }
"#;
    // The hash of `secret`, made by openssl passwd -apr1.
    let users = "ann:$apr1$abcdefgh$h9FWgUz3n9YxylKLlR5SQ/\n";
    let conf = "PerlModule Lead\n\
        <LocationMatch ^/(own|far|posts|user|denied)>\nSetHandler modperl\nPerlHandler Lead::say\n</LocationMatch>\n\
        <Location /redirect>\nSetHandler modperl\nPerlHandler Lead::redirect\n</Location>\n\
        <Location /sub>\nSetHandler modperl\nPerlHandler Lead::sub_request\n</Location>\n\
        <Location /own>\nRequire ip 127.0.0.1\n</Location>\n\
        <Location /far>\nRequire ip 192.0.2.1\n</Location>\n\
        <Location /file.txt>\nRequire ip 192.0.2.1\n</Location>\n\
        <Location /denied>\nRequire all denied\n</Location>\n\
        <Location /posts>\n<Limit POST>\nRequire ip 192.0.2.1\n</Limit>\n</Location>\n\
        <Location /user>\nAuthType Basic\nAuthName x\nAuthUserFile @ROOT@/users\nRequire valid-user\n</Location>\n";
    let server = one_worker(&[("Lead", module)], conf)
        .file("users", users)
        .file("htdocs/file.txt", "secret")
        .start();
    for (place, status) in [
        ("own", 200),
        ("far", 403),
        ("file.txt", 403),
        ("denied", 403),
        ("posts", 200),
        ("user", 401),
    ] {
        assert_eq!(
            server.get(&format!("/redirect?{place}")).status,
            status,
            "redirect to {place}"
        );
        let told = server.get(&format!("/sub?{place}"));
        let expected = match status {
            200 => "secret 0".to_string(),
            refused => format!(" {refused}"),
        };
        assert_eq!(told.expect(200), expected, "sub-request of {place}");
    }
    let posted = server.send(&Request::post("/redirect?posts", "a body"));
    assert_eq!(posted.status, 403);
    // A password that was verified for this client shortly before is cached.
    let with_password =
        |target: &str| Request::get(target).field("Authorization", "Basic YW5uOnNlY3JldA==");
    assert_eq!(server.send(&with_password("/user")).status, 200);
    for target in ["/redirect?user", "/sub?user"] {
        assert_eq!(server.send(&with_password(target)).status, 200, "{target}");
    }
}

/// A PerlPreConnectionHandler runs once for a connection. A client that it refuses stays refused.
#[test]
fn every_request_of_a_refused_connection_is_refused() {
    let module = r#"
use Apache2::Connection ();
our $asked = 0;
sub knock { my $c = shift; $asked++; return -e '@ROOT@/closed' ? 403 : 0 }
sub say   { my $r = shift; $r->print("asked $asked"); 0 }
"#;
    let builder = one_worker(
        &[],
        "PerlModule Door\nPerlPreConnectionHandler Door::knock\n\
         <Location /say>\nSetHandler modperl\nPerlResponseHandler Door::say\n</Location>\n",
    );
    let root = builder.folder_of("");
    let module = module.replace("@ROOT@", &root.to_string_lossy());
    let server = builder
        .file(
            "lib/Door.pm",
            &format!("package Door;\n{USES}{module}\n1;\n"),
        )
        .file("htdocs/page.txt", "a page")
        .start();
    let say = Request::get("/say");
    let (mut one, mut other) = (server.connect(), server.connect());
    for (connection, words) in [(&mut one, "asked 1"), (&mut other, "asked 2")] {
        assert_eq!(connection.send(&say).expect("an answer").expect(200), words);
    }
    for _ in 0..2 {
        for connection in [&mut one, &mut other] {
            let answer = connection.send(&say).expect("an answer");
            assert_eq!(answer.expect(200), "asked 2");
        }
    }
    server.site.write("closed", "");
    let mut refused = server.connect();
    for target in ["/say", "/say", "/page.txt"] {
        let answer = refused.send(&Request::get(target)).expect("an answer");
        answer.expect(403);
    }
    one.send(&say).expect("an answer").expect(200);
}
