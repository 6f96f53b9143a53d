use super::*;
use crate::{
    AccessResult, ConnectionFacts, MappedPath, PerlSettings, RequestLine, ScriptEnvironment,
    TimeLimits,
};
use mehari_config::Rung;

fn call<'a>(fields: &'a [(&'a [u8], &'a [u8])], body: Body<'a>) -> Call<'a> {
    Call {
        task: Task::Script {
            rung: Rung::Cgi,
            file: b"/srv/www/a.cgi",
        },
        line: RequestLine {
            method: b"POST",
            target: b"/a.cgi/x%20y?q=1",
            query: b"q=1",
            protocol: b"HTTP/1.1",
        },
        path: MappedPath {
            script_name: b"/a.cgi",
            path_info: b"/x y",
            path_translated: b"/srv/www/x y",
            document_root: b"/srv/www/",
            media_type: b"",
            coding: b"",
            languages: b"",
            folder: b"",
            folder_file: b"",
            folder_settings: b"",
            file_mark: 0,
            has_includes: false,
        },
        connection: ConnectionFacts {
            scheme: b"https",
            server_name: b"example.test",
            server_port: 8443,
            server_addr: b"192.0.2.1",
            remote_addr: b"192.0.2.9",
            remote_port: 40_000,
            number: 1,
            kept: 0,
        },
        fields,
        environment: ScriptEnvironment {
            variables: &[(b"COLOUR", b"red")],
            set_env_count: 0,
            perl_set_env_count: 0,
            parse_headers: true,
            cgi_world: true,
        },
        settings: PerlSettings::default(),
        access: AccessResult {
            status: 0,
            known: 0,
            login: &crate::Login::Unasked,
            challenge: b"",
        },
        led: Default::default(),
        server: 0,
        team: Default::default(),
        timeout: TimeLimits::default(),
        log_level: None,
        request_id: 7,
        body,
        trace: None,
    }
}

fn listed(call: &Call<'_>, around: &Surroundings<'_>) -> String {
    let mut text = String::new();
    each(call, around, &mut |name, value| {
        let (name, value) = (
            String::from_utf8_lossy(name),
            String::from_utf8_lossy(value),
        );
        text.push_str(&format!("{name}={value}\n"));
    });
    text
}

#[test]
fn every_variable_is_given_in_order() {
    let fields: &[(&[u8], &[u8])] = &[
        (b"Host", b"example.test:8443"),
        (b"Content-Type", b"text/plain"),
        (b"Content-Length", b"99"),
        (b"Cookie", b"a=1"),
        (b"accept", b"text/html"),
        (b"Cookie", b"b=2"),
        (b"Accept", b"*/*"),
    ];
    let around = Surroundings {
        passed: &[(b"PATH", b"/usr/bin"), (b"TZ", b"UTC")],
        software: b"Mehari",
        admin: Some(b"root@example.test"),
        user: Some(b"frank"),
        auth_type: Some(b"Basic"),
        instance: b"i",
        authorization: false,
    };
    let expected = "\
PATH=/usr/bin
TZ=UTC
COLOUR=red
GATEWAY_INTERFACE=CGI/1.1
SERVER_SOFTWARE=Mehari
SERVER_NAME=example.test
SERVER_ADDR=192.0.2.1
SERVER_PORT=8443
SERVER_PROTOCOL=HTTP/1.1
DOCUMENT_ROOT=/srv/www/
SERVER_ADMIN=root@example.test
REQUEST_METHOD=POST
REQUEST_SCHEME=https
HTTPS=on
REQUEST_URI=/a.cgi/x%20y?q=1
QUERY_STRING=q=1
SCRIPT_NAME=/a.cgi
SCRIPT_FILENAME=/srv/www/a.cgi
PATH_INFO=/x y
PATH_TRANSLATED=/srv/www/x y
REMOTE_ADDR=192.0.2.9
REMOTE_PORT=40000
REMOTE_USER=frank
AUTH_TYPE=Basic
UNIQUE_ID=i-7
CONTENT_LENGTH=5
HTTP_HOST=example.test:8443
CONTENT_TYPE=text/plain
HTTP_COOKIE=a=1; b=2
HTTP_ACCEPT=text/html, */*
";
    assert_eq!(
        listed(&call(fields, Body::Memory(b"12345")), &around),
        expected
    );
}

#[test]
fn dangerous_fields_become_no_variable() {
    let fields: &[(&[u8], &[u8])] = &[
        (b"Proxy", b"http://evil.test/"),
        (b"pRoXy", b"http://evil.test/"),
        (b"X_Forwarded_For", b"forged"),
        (b"X.Y", b"forged"),
        (b"Authorization", b"Basic c2VjcmV0"),
        (b"Proxy-Authorization", b"Basic c2VjcmV0"),
    ];
    let call = call(fields, Body::Empty);
    let hidden = listed(&call, &Surroundings::default());
    assert!(!hidden.contains("HTTP_"), "{hidden}");
    assert!(!hidden.contains("CONTENT_LENGTH"), "{hidden}");
    let open = Surroundings {
        authorization: true,
        ..Surroundings::default()
    };
    let shown = listed(&call, &open);
    assert!(shown.contains("HTTP_AUTHORIZATION=Basic c2VjcmV0\n"));
    assert_eq!(shown.matches("HTTP_").count(), 1);
}

#[test]
fn an_empty_body_that_was_announced_has_length_0() {
    let fields: &[(&[u8], &[u8])] = &[(b"Content-Length", b"0")];
    let text = listed(&call(fields, Body::Empty), &Surroundings::default());
    assert!(text.contains("CONTENT_LENGTH=0\n"));
}
