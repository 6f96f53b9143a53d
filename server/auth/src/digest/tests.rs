//! Tests the examples of RFC 7616 section 3.9.1, and malformed fields.

use super::*;

/// A user file with the user `Mufasa` and the password `Circle of Life`.
const EXAMPLE: &str =
    "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", uri=\"/dir/index.html\", \
    algorithm=%, nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", nc=00000001, \
    cnonce=\"f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ\", qop=auth, response=\"%\", \
    opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";

fn listed(folder: &std::path::Path) -> std::rc::Rc<UserList> {
    let md5 = hashed(
        DigestAlgorithm::Md5,
        &[b"Mufasa", b"http-auth@example.org", b"Circle of Life"],
    );
    let sha = hashed(
        DigestAlgorithm::Sha256,
        &[b"Mufasa", b"http-auth@example.org", b"Circle of Life"],
    );
    let file = folder.join("users");
    let text = format!("# people\nMufasa:http-auth@example.org:{md5}\nMufasa:http-auth@example.org:{sha}\nScar:x\n");
    std::fs::write(&file, text).expect("written");
    let users = Users::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .expect("a runtime");
    runtime.block_on(users.read(&file));
    users.known(&file).expect("just read")
}

#[test]
fn the_standards_proofs_are_accepted_and_changed_proofs_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let listed = listed(folder.path());
    let all = [DigestAlgorithm::Sha256, DigestAlgorithm::Md5];
    for (name, response, algorithms, method, expected) in [
        (
            "MD5",
            "8ca523f5e9506fed4657c9700eebdbec",
            &all[..],
            "GET",
            true,
        ),
        (
            "SHA-256",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            &all,
            "GET",
            true,
        ),
        (
            "SHA-256",
            "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1",
            &all[1..],
            "GET",
            false,
        ),
        (
            "MD5",
            "8ca523f5e9506fed4657c9700eebdbec",
            &all,
            "POST",
            false,
        ),
        (
            "MD5",
            "8ca523f5e9506fed4657c9700eebdbed",
            &all,
            "GET",
            false,
        ),
        ("MD5", "", &all, "GET", false),
    ] {
        let text = EXAMPLE.replacen('%', name, 1).replacen('%', response, 1);
        let given = DigestCredentials::read(text.as_bytes()).expect("it can be read");
        let place = ProofContext {
            realm: "http-auth@example.org",
            algorithms,
            may_lack_qop: false,
            method: method.as_bytes(),
        };
        assert_eq!(
            place.check(&given, &listed).is_some(),
            expected,
            "{name} {response} {method}"
        );
    }
}

#[test]
fn malformed_fields_are_refused() {
    let good = "username=\"a\\\"b\", realm=\"r\", nonce=\"n\", uri=\"/\", response=\"x\", qop=auth, nc=0000000a, cnonce=\"c\"";
    let read = |text: &str| DigestCredentials::read(format!("Digest {text}").as_bytes());
    let given = read(good).expect("right");
    assert_eq!(
        (given.user.as_slice(), given.quality.expect("given").count),
        (&b"a\"b"[..], 10)
    );
    for (what, with) in [
        (", cnonce=\"c\"", ""),
        ("nc=0000000a", "nc=a"),
        ("nc=0000000a", "nc=+000000a"),
        ("qop=auth", "qop=auth-int"),
        ("realm=\"r\"", "realm=\"r\", realm=\"s\""),
        ("realm=\"r\"", "Realm=\"r\", realm=\"s\""),
        ("\"n\",", "\"n\" x,"),
        ("cnonce=\"c\"", "cnonce=\"c"),
        ("uri=\"/\", ", ""),
        ("username=\"a\\\"b\"", "username=\"\""),
        ("username=\"a\\\"b\"", "username=\"a\nb\""),
        ("qop=auth", "qop=auth, algorithm=MD5-sess"),
    ] {
        let wrong = good.replace(what, with);
        assert!(wrong != good && read(&wrong).is_none(), "{wrong}");
    }
    for wrong in [
        "",
        "Digest",
        "Basic YW5uOg==",
        "Digest =",
        "Digest username",
    ] {
        assert!(
            DigestCredentials::read(wrong.as_bytes()).is_none(),
            "{wrong}"
        );
    }
}
