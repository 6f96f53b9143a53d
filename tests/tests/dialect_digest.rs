//! Tests `AuthType Digest` with curl as the client and with digests that the test computes. The
//! responses are compared with Apache's.

use mehari_harness::{needs, Answer, Builder, Pair, Request, Server};
use std::io::Write;
use std::process::{Command, Stdio};

const WHO: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } qw(REMOTE_USER AUTH_TYPE REQUEST_METHOD);\n";

/// Returns the hash of a text, computed by a program of the system.
fn hashed(program: &str, text: &str) -> String {
    let mut child = Command::new(program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils are there");
    let stdin = child.stdin.take();
    stdin
        .expect("it was piped")
        .write_all(text.as_bytes())
        .expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("ASCII");
    text.split(' ').next().expect("never empty").to_owned()
}

fn users() -> String {
    let line = |program, user, password| {
        let hash = hashed(program, &format!("{user}:Members:{password}"));
        format!("{user}:Members:{hash}\n")
    };
    [
        line("md5sum", "ann", "secret"),
        line("sha256sum", "ann", "secret"),
        line("md5sum", "bob", "other"),
        format!("eve:Guests:{}\n", hashed("md5sum", "eve:Guests:secret")),
    ]
    .concat()
}

fn site(more: &str) -> Builder {
    let builder = Server::builder()
        .file("users", &users())
        .file("htdocs/members/page.html", "for members")
        .file("htdocs/also/page.html", "for members too")
        .file("cgi/who.pl", WHO)
        .conf(
            "ScriptAlias /cgi/ @ROOT@/cgi/\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             <LocationMatch ^/(members|also|cgi)/>\n\
             AuthType Digest\nAuthName Members\nAuthDigestProvider file\nAuthUserFile @ROOT@/users\n\
             Require valid-user\n</LocationMatch>\n\
             <Location /members/ann>\nRequire user ann\n</Location>\n\
             RedirectMatch ^/members/away http://example.org/\n\
             <Location /broken>\nAuthType Digest\nAuthName Members\nAuthUserFile @ROOT@/none\nRequire valid-user\n</Location>\n",
        )
        .conf(more);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    let script = builder.folder_of("cgi").join("who.pl");
    std::fs::set_permissions(script, mode).expect("own file");
    builder
}

/// The inputs of a digest response. A test falsifies one input at a time.
#[derive(Clone)]
struct Proof {
    program: &'static str,
    algorithm: &'static str,
    method: &'static str,
    uri: String,
    user: &'static str,
    password: &'static str,
    realm: &'static str,
    nonce: String,
    count: &'static str,
    quality: &'static str,
    /// If set, the value of `uri` in the field.
    shown_uri: Option<String>,
    /// If set, the URI that the response proves.
    hashed_uri: Option<String>,
    opaque: Option<&'static str>,
}

impl Proof {
    fn of(challenge: &Answer, uri: &str) -> Proof {
        let challenge = challenge.field("www-authenticate").expect("a challenge");
        let behind = challenge.split("nonce=\"").nth(1).expect("a nonce");
        Proof {
            program: "md5sum",
            algorithm: "MD5",
            method: "GET",
            uri: uri.into(),
            user: "ann",
            password: "secret",
            realm: "Members",
            nonce: behind.split('"').next().expect("its end").into(),
            count: "00000001",
            quality: "auth",
            shown_uri: None,
            hashed_uri: None,
            opaque: None,
        }
    }

    fn field(&self) -> String {
        let hash = |text: String| hashed(self.program, &text);
        let secret = hash(format!("{}:{}:{}", self.user, self.realm, self.password));
        let uri = self.hashed_uri.as_ref().unwrap_or(&self.uri);
        let asked = hash(format!("{}:{uri}", self.method));
        let (nonce, count, quality) = (&self.nonce, self.count, self.quality);
        let (response, rest) = match quality {
            "" => (hash(format!("{secret}:{nonce}:{asked}")), String::new()),
            _ => (
                hash(format!("{secret}:{nonce}:{count}:abc:{quality}:{asked}")),
                format!(", qop={quality}, nc={count}, cnonce=\"abc\""),
            ),
        };
        let opaque = self.opaque.map(|opaque| format!(", opaque=\"{opaque}\""));
        let rest = rest + &opaque.unwrap_or_default();
        let uri = self.shown_uri.as_ref().unwrap_or(&self.uri);
        format!(
            "Digest username=\"{}\", realm=\"{}\", nonce=\"{nonce}\", uri=\"{uri}\", response=\"{response}\", algorithm={}{rest}",
            self.user, self.realm, self.algorithm
        )
    }

    /// Names another URI than the request's target, and proves that URI.
    fn hashed_and_shown(&mut self, uri: &str) {
        (self.hashed_uri, self.shown_uri) = (Some(uri.into()), Some(uri.into()));
    }

    fn request(&self) -> Request {
        let mut request = Request::get(&self.uri).field("Authorization", &self.field());
        request.method = self.method.into();
        request
    }
}

type Spoil = fn(&mut Proof);

#[test]
fn digest_responses_are_checked_against_the_file_as_in_apache() {
    let mut pair = Pair::start(|| site("")).mask(&[
        ("nonce=\"[^\"]*\"", "NONCE"),
        ("http://127.0.0.1:[0-9]+", "HERE"),
    ]);
    let page = "/members/page.html";
    let spoil = |change: Spoil| change;
    let cases: &[(&str, Spoil, u16)] = &[
        ("right", spoil(|_| ()), 200),
        (
            "another user",
            spoil(|proof| (proof.user, proof.password) = ("bob", "other")),
            200,
        ),
        (
            "a wrong password",
            spoil(|proof| proof.password = "guess"),
            401,
        ),
        ("nobody", spoil(|proof| proof.user = "zoe"), 401),
        ("another realm", spoil(|proof| proof.realm = "Guests"), 401),
        (
            "a user of another realm",
            spoil(|proof| (proof.user, proof.realm) = ("eve", "Guests")),
            401,
        ),
        (
            "a script",
            spoil(|proof| proof.uri = "/cgi/who.pl".into()),
            200,
        ),
        (
            "another method",
            spoil(|proof| (proof.uri, proof.method) = ("/cgi/who.pl".into(), "POST")),
            200,
        ),
        (
            "another place of that realm",
            spoil(|proof| proof.uri = "/also/page.html?a=b".into()),
            200,
        ),
        (
            "a query",
            spoil(|proof| proof.shown_uri = Some("/members/page.html?a".into())),
            400,
        ),
        (
            "another path",
            spoil(|proof| proof.shown_uri = Some("/also/page.html".into())),
            400,
        ),
        (
            "another host",
            spoil(|proof| proof.hashed_and_shown("http://other.test/members/page.html")),
            400,
        ),
        (
            "this host",
            spoil(|proof| proof.hashed_and_shown("http://127.0.0.1:PORT/members/page.html")),
            200,
        ),
        (
            "this host without its port",
            spoil(|proof| proof.hashed_and_shown("http://127.0.0.1/members/page.html")),
            400,
        ),
        (
            "the port of the scheme",
            spoil(|proof| proof.hashed_and_shown("http://127.0.0.1:80/members/page.html")),
            400,
        ),
        (
            "another port",
            spoil(|proof| proof.hashed_and_shown("http://127.0.0.1:1/members/page.html")),
            400,
        ),
        (
            "no path",
            spoil(|proof| proof.hashed_and_shown("http://127.0.0.1")),
            400,
        ),
        (
            "a host without a scheme",
            spoil(|proof| proof.hashed_and_shown("//other.test/members/page.html")),
            400,
        ),
        (
            "an opaque value",
            spoil(|proof| proof.opaque = Some("abc")),
            401,
        ),
        (
            "an opaque value that is no number",
            spoil(|proof| proof.opaque = Some("xyz")),
            401,
        ),
        (
            "an opaque zero",
            spoil(|proof| proof.opaque = Some("0")),
            401,
        ),
        (
            "a made up nonce",
            spoil(|proof| proof.nonce = "0".repeat(56)),
            401,
        ),
        (
            "a short nonce",
            spoil(|proof| proof.nonce = "abc".into()),
            401,
        ),
        (
            "another quality",
            spoil(|proof| proof.quality = "auth-int"),
            401,
        ),
        (
            "not allowed",
            spoil(|proof| {
                (proof.user, proof.password, proof.uri) = ("bob", "other", "/members/ann".into());
            }),
            401,
        ),
        (
            "missing",
            spoil(|proof| proof.uri = "/members/none".into()),
            404,
        ),
    ];
    let mut differences = Vec::new();
    for (what, change, status) in cases {
        // Each server accepts only its own nonces.
        let mut answers = Vec::new();
        for server in pair.servers() {
            let mut proof = Proof::of(&server.get(page), page);
            change(&mut proof);
            let port = server.address.port().to_string();
            for uri in [&mut proof.hashed_uri, &mut proof.shown_uri] {
                *uri = uri.take().map(|uri| uri.replace("PORT", &port));
            }
            let answer = server.send(&proof.request());
            // Mehari calls an unknown nonce stale, so browsers do not ask for the password again
            // after a restart. With Apache they ask again.
            let stale = answer
                .field("www-authenticate")
                .filter(|_| !what.contains("nonce"))
                .map(|field| field.contains("stale=true"));
            let info = answer
                .field("authentication-info")
                .filter(|_| answer.status == 200)
                .map(|field| field.replace(&proof.nonce, "N"));
            let info = info.map(|field| field.split(' ').skip(1).collect::<String>());
            let text = match answer.status {
                200 => answer.text(),
                _ => String::new(),
            };
            answers.push((answer.status, stale, info, text));
        }
        if answers[0].0 != *status || answers.iter().any(|answer| *answer != answers[0]) {
            differences.push(format!("{what}: {answers:?}, expected {status}"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    for field in [
        "Basic YW5uOnNlY3JldA==",
        "Digest",
        "Digest x",
        "Digest username=\"ann\"",
    ] {
        let request = Request::get(page).field("Authorization", field);
        assert_eq!(pair.send(&request).status, 401, "{field}");
    }
    pair.ours()
        .log
        .expect("user zoe: not in AuthUserFile, or another password");
}

/// Runs curl. Returns the status and the body, and the challenge if there was one.
fn curl(server: &Server, who: &str, target: &str, more: &[&str]) -> (String, String) {
    let output = Command::new("curl")
        .args([
            "-s",
            "--digest",
            "-u",
            who,
            "-D",
            "/dev/stderr",
            "--max-time",
            "60",
        ])
        .args(more)
        .arg(format!("http://{}{target}", server.address))
        .output()
        .expect("curl can be run");
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn curl_is_admitted_with_either_algorithm_and_after_a_reload() {
    needs!("curl");
    for (words, algorithm) in [
        ("", "MD5"),
        ("<Location />\nAuthDigestAlgorithm SHA-256\n</Location>\n", "SHA-256"),
        ("<Location />\nAuthDigestAlgorithm SHA-256 MD5\nAuthDigestDomain /members/ /also/\n</Location>\n", "SHA-256"),
        ("<Location />\nAuthDigestNonceLifetime 0\n</Location>\n", "MD5"),
    ] {
        let server = site(words).start();
        let (page, heads) = curl(&server, "ann:secret", "/cgi/who.pl", &[]);
        assert!(heads.contains(&format!("algorithm={algorithm}")), "{words}: {heads}");
        assert_eq!(page, "REMOTE_USER=ann AUTH_TYPE=Digest REQUEST_METHOD=GET", "{words}: {heads}");
        assert_eq!(heads.contains("domain=\"/members/ /also/\""), words.contains("Domain"), "{heads}");
        let (_, heads) = curl(&server, "ann:wrong", "/members/page.html", &["-d", "x=1"]);
        assert!(heads.matches("401").count() >= 2 && !heads.contains("200 OK"), "{heads}");
        if words.is_empty() {
            let proof = Proof::of(&server.get("/members/page.html"), "/members/page.html");
            assert!(server.control(&["reload"]).status.success());
            assert_eq!(server.send(&proof.request()).status, 200);
        }
    }
}

#[test]
fn replayed_or_old_nonce_is_stale() {
    let server = site(
        "<Location /also>\nAuthDigestNcCheck Off\n</Location>\n\
         <Location /members/old>\nAuthDigestQop none\n</Location>\n",
    )
    .start();
    let page = "/members/page.html";
    let challenge = server.get(page);
    let proof = Proof::of(&challenge, page);
    assert_eq!(server.send(&proof.request()).status, 200);
    let again = server.send(&proof.request());
    assert_eq!(again.status, 401);
    let field = again.field("www-authenticate").expect("a challenge");
    assert!(field.contains("stale=true"), "{field}");
    let next = Proof {
        count: "00000002",
        ..proof.clone()
    };
    assert_eq!(server.send(&next.request()).status, 200);

    let uncounted = Proof::of(&challenge, "/also/page.html");
    for _ in 0..2 {
        assert_eq!(server.send(&uncounted.request()).status, 200);
    }
    let without = Proof {
        quality: "",
        ..Proof::of(&challenge, page)
    };
    assert_eq!(server.send(&without.request()).status, 401);
    let asked_without = Proof {
        uri: "/members/old".into(),
        ..without
    };
    assert_eq!(server.send(&asked_without.request()).status, 404);

    // A user who is removed from the file is refused within a second or two.
    server.site.replace("users", "nobody:Members:x\n");
    let is_out = || {
        let proof = Proof::of(&server.get(page), page);
        server.send(&proof.request()).status == 401
    };
    assert!(mehari_harness::eventually(mehari_harness::PATIENCE, is_out));
    assert_eq!(server.get("/broken").status, 401);
    let proof = Proof::of(&server.get("/broken"), "/broken");
    assert_eq!(server.send(&proof.request()).status, 500);
    server.log.expect("cannot be read");
}
