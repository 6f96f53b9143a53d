//! Tests which paths are decoded, refused and hidden.

use super::*;

#[test]
fn paths_decode_once() {
    let cases = [
        ("/", "/"),
        ("/a/b.html", "/a/b.html"),
        ("/a%20b%2Ec", "/a b.c"),
        ("/%252e%252e/", "/%2e%2e/"),
        ("/./a/./b/.", "/a/b/"),
        ("/.", "/"),
        ("/a//b", "/a//b"),
        ("/...", "/..."),
        ("/a..b/..c", "/a..b/..c"),
        ("/a/../b", "/b"),
        ("/a/b/..", "/a/"),
        ("/a/%2e%2E/b/.%2e/%2e/c", "/c"),
        ("/a//../b", "/b"),
        ("/a/..//b", "//b"),
        ("/a/b;x/../c", "/a/c"),
        ("/a/b%2fc/../d", "/a/d"),
        ("/%E3%81%82", "/\u{3042}"),
    ];
    for (raw, decoded) in cases {
        let path = Path::decode(raw.as_bytes()).expect(raw);
        assert_eq!(
            path.bytes.escape_ascii().to_string(),
            decoded.as_bytes().escape_ascii().to_string(),
            "{raw}"
        );
    }
    let path = Path::decode(b"//a%2fb///c").expect("decodes");
    assert_eq!(path.merged, b"/a/b/c");
    assert!(path.encoded_slash);
}

#[test]
fn paths_above_the_root_and_paths_with_ambiguous_bytes_are_refused() {
    let cases = [
        "",
        "a",
        "*",
        "/..",
        "/../",
        "//..",
        "/a/../..",
        "/a/./../../b",
        "/..;/x",
        "/a/..;x=y",
        "/a%2f../b",
        "/a%2f..%2fb",
        "/%2e%2e/",
        "/%2e%2e%2f",
        "/.%2e/x",
        "/..%2fx",
        "/..%5cx",
        "/%5c..%5cx",
        "/..\\x",
        "/%00",
        "/a%00.pl",
        "/%0d%0a",
        "/%7f",
        "/%",
        "/%2",
        "/%zz",
        "/%+2",
        "/%c0%af",
        "/%c0%ae%c0%ae/",
        "/%e0%80%af",
        "/%f0%80%80%af",
        "/\x01",
    ];
    for raw in cases {
        assert_eq!(
            Path::decode(raw.as_bytes()).map_err(|p| p.status),
            Err(400),
            "{raw}"
        );
    }
}

#[test]
fn slashes_that_stay_encoded_conceal_no_dot_segment() {
    use EncodedSlashes::Kept;
    let kept = Path::decode_as(b"/x/../a%2fb/c", Kept).expect("decodes");
    assert_eq!(kept.merged, b"/a%2fb/c");
    assert!(Path::decode_as(b"/a%2f..%2fb", Kept).is_err());
    assert!(Path::decode_as(b"/a/..%2f/b", Kept).is_err());
}

#[test]
fn resolved_removes_dot_segments_and_refuses_paths_above_the_root() {
    for (path, expected) in [
        ("/a/./b", Some("/a/b")),
        ("/a/../b", Some("/b")),
        ("/a/b/..", Some("/a/")),
        ("/a/.", Some("/a/")),
        ("/a//b", Some("/a//b")),
        ("/a//../b", Some("/b")),
        ("/a/%2e%2e/b", Some("/a/%2e%2e/b")),
        ("/..", None),
        ("/a/../../b", None),
        ("/", Some("/")),
        ("/a/", Some("/a/")),
        ("a/b", None),
    ] {
        let found = resolved(path.as_bytes()).map(|path| String::from_utf8(path).expect("ASCII"));
        assert_eq!(found.as_deref(), expected, "{path}");
    }
}

#[test]
fn backups_and_dot_files_are_hidden() {
    for raw in [
        "/.git/config",
        "/a/.htaccess",
        "/x~",
        "/x.bak",
        "/x.pl.BAK",
        "/#x#",
        "/.x.swp",
        "/x.orig",
        "/x.rej",
        "/x,v",
        "/a/.well-known/x",
    ] {
        assert!(
            Path::decode(raw.replace('#', "%23").as_bytes())
                .expect(raw)
                .is_hidden(),
            "{raw}"
        );
    }
    for raw in ["/", "/.well-known/acme", "/x.html", "/bak", "/a.b/c"] {
        assert!(
            !Path::decode(raw.as_bytes()).expect(raw).is_hidden(),
            "{raw}"
        );
    }
}
