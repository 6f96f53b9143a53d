//! Tests output filters: files and programs' output are compressed for clients that accept this.

mod stand;

use mehari_config::{Coding, Site, TagRule};
use stand::client::Response;
use stand::Stand;
use std::io::Read;

fn compressing(site: &mut Site) {
    let all = Coding::ALL.to_vec();
    site.main.base.output.compression.by_type = vec![("text/*".into(), all)];
}

fn furnished(arrange: impl FnOnce(&mut Site)) -> Stand {
    let stand = Stand::new(|site| {
        compressing(site);
        arrange(site);
    });
    std::fs::write(stand.root.join("page.html"), page()).expect("written");
    std::fs::write(stand.root.join("large.txt"), large()).expect("written");
    std::fs::write(stand.root.join("picture.png"), page()).expect("written");
    stand
}

fn page() -> String {
    "<p>a page of words</p>\n".repeat(100)
}

/// Returns a text that is larger than one write, even when it is compressed.
fn large() -> Vec<u8> {
    let mut seed = 7_u32;
    let letters = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        b"abcdefghijklmnop"[(seed >> 28) as usize]
    });
    letters.take(1_000_000).collect()
}

fn ask(stand: &Stand, method: &str, path: &str, fields: &str) -> Response {
    let fields = fields.replace(" / ", "\r\n");
    stand.client().ask(&format!(
        "{method} {path} HTTP/1.1\r\nHost: localhost\r\n{fields}\r\n\r\n"
    ))
}

fn decoded(response: &Response) -> Vec<u8> {
    let mut plain = Vec::new();
    let body = response.body.as_slice();
    let read = match response.field("content-encoding") {
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut plain),
        Some("br") => brotli::Decompressor::new(body, 4096).read_to_end(&mut plain),
        Some("zstd") => zstd::stream::read::Decoder::new(body)
            .expect("a frame")
            .read_to_end(&mut plain),
        _ => return response.body.clone(),
    };
    read.expect("a whole body");
    plain
}

#[test]
fn a_file_is_compressed_as_its_client_likes_it() {
    let stand = furnished(|_| {});
    let rows = [
        ("gzip", Some("gzip")),
        ("gzip, br", Some("br")),
        ("gzip, zstd", Some("zstd")),
        ("br;q=0.5, gzip;q=0.8", Some("gzip")),
        ("gzip;q=0", None),
        ("deflate", None),
    ];
    for path in ["/page.html", "/large.txt"] {
        let plain = ask(&stand, "GET", path, "X: y");
        assert_eq!(plain.field("vary"), Some("Accept-Encoding"));
        for (accepted, coding) in rows {
            // The first request waits for the thread. The second request uses the result.
            for _ in 0..2 {
                let fields = format!("Accept-Encoding: {accepted}");
                let response = ask(&stand, "GET", path, &fields);
                assert_eq!(response.status, 200, "{path} {accepted}");
                assert_eq!(
                    response.field("content-encoding"),
                    coding,
                    "{path} {accepted}"
                );
                assert_eq!(response.field("vary"), Some("Accept-Encoding"));
                assert_eq!(decoded(&response), plain.body, "{path} {accepted}");
                let same = response.field("etag") == plain.field("etag");
                assert_eq!(same, coding.is_none());
            }
        }
    }
}

#[test]
fn what_need_not_or_cannot_be_compressed_is_not() {
    let stand = furnished(|_| {});
    let gzip = "Accept-Encoding: gzip";
    for path in ["/picture.png", "/index.html", "/empty.txt", "/large.bin"] {
        let response = ask(&stand, "GET", path, gzip);
        let told = (response.field("content-encoding"), response.field("vary"));
        assert_eq!((response.status, told), (200, (None, None)), "{path}");
    }
    let part = ask(
        &stand,
        "GET",
        "/page.html",
        &format!("{gzip} / Range: bytes=0-9"),
    );
    assert_eq!((part.status, part.text().as_str()), (206, "<p>a page "));
    assert_eq!(part.field("content-encoding"), None);
    assert_eq!(part.field("vary"), Some("Accept-Encoding"));
}

#[test]
fn conditions_are_about_the_compressed_file() {
    let stand = furnished(|_| {});
    let gzip = "Accept-Encoding: gzip";
    let tag = |response: &Response| response.field("etag").expect("a tag").to_string();
    let coded = tag(&ask(&stand, "GET", "/page.html", gzip));
    let plain = tag(&ask(&stand, "GET", "/page.html", "X: y"));
    assert!(coded.ends_with("-gzip\""), "{coded}");
    let rows = [
        (&coded, gzip, 304),
        (&plain, gzip, 200),
        (&plain, "X: y", 304),
        (&coded, "X: y", 200),
    ];
    for (tag, accepted, status) in rows {
        let fields = format!("{accepted} / If-None-Match: {tag}");
        let response = ask(&stand, "GET", "/page.html", &fields);
        assert_eq!(response.status, status, "{tag} {accepted}");
        assert_eq!(response.field("vary"), Some("Accept-Encoding"));
    }
    let head = ask(&stand, "HEAD", "/page.html", gzip);
    let get = ask(&stand, "GET", "/page.html", gzip);
    assert_eq!(head.field("content-length"), get.field("content-length"));
    assert_eq!(head.field("content-encoding"), Some("gzip"));
}

#[test]
fn a_file_that_changes_is_compressed_again() {
    let stand = furnished(|_| {});
    let gzip = "Accept-Encoding: gzip";
    let before = ask(&stand, "GET", "/page.html", gzip);
    assert_eq!(decoded(&before), page().into_bytes());
    let other = page().replace("words", "other words");
    std::fs::write(stand.root.join("page.html"), &other).expect("written");
    let after = ask(&stand, "GET", "/page.html", gzip);
    assert_eq!(decoded(&after), other.into_bytes());
    assert_ne!(before.field("etag"), after.field("etag"));
}

#[test]
fn compressed_files_outlive_the_server_in_their_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().to_path_buf();
    let arrange = |site: &mut Site| {
        site.stores.variants.folder = Some(path.clone());
        site.stores.variants.memory = 0;
    };
    let stand = furnished(arrange);
    let response = ask(&stand, "GET", "/large.txt", "Accept-Encoding: gzip");
    assert_eq!(decoded(&response), large());
    let files: Vec<_> = std::fs::read_dir(folder.path())
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    // The front sends the content of the folder's file, even after the file has changed.
    std::fs::write(&files[0], &response.body[..1000]).expect("written");
    let again = ask(&stand, "GET", "/large.txt", "Accept-Encoding: gzip");
    assert_eq!(again.body, response.body[..1000]);
}

#[test]
fn what_a_program_says_is_compressed() {
    let stand = furnished(|_| {});
    for (path, size) in [("/echo.pl/a?b", 0), ("/big.pl", 4_194_304)] {
        let fields = |accepted: &str| {
            format!(
                "X-Padding: {} / Accept-Encoding: {accepted}",
                "x".repeat(400)
            )
        };
        let plain = ask(&stand, "GET", path, &fields("none"));
        assert_eq!(plain.field("vary"), Some("Accept-Encoding"), "{path}");
        for (accepted, coding) in [("gzip", "gzip"), ("br", "br"), ("zstd", "zstd")] {
            let response = ask(&stand, "GET", path, &fields(accepted));
            assert_eq!(response.field("content-encoding"), Some(coding), "{path}");
            let body = decoded(&response);
            match size {
                0 => assert!(body.starts_with(b"method GET"), "{path}"),
                size => assert_eq!(body.len(), size, "{path}"),
            }
            assert!(response.body.len() < body.len() * 2 / 3);
            let sized = response.field("content-length").is_some();
            assert_eq!(sized, size == 0, "what is there whole has a length");
        }
    }
    let short = ask(&stand, "GET", "/hello.pl", "Accept-Encoding: gzip");
    assert_eq!(
        (short.text().as_str(), short.field("content-encoding")),
        ("hello\n", None)
    );
    let none = ask(&stand, "GET", "/nobody.pl", "Accept-Encoding: gzip");
    assert_eq!((none.status, none.field("content-encoding")), (204, None));
    let short = ask(&stand, "GET", "/unsized.pl", "Accept-Encoding: gzip");
    assert_eq!(
        (short.text().as_str(), short.field("content-length")),
        ("hello\n", Some("6"))
    );
    let head = ask(&stand, "HEAD", "/big.pl", "Accept-Encoding: gzip");
    assert_eq!(
        (head.status, head.field("content-encoding")),
        (200, Some("gzip"))
    );
}

#[test]
fn a_response_that_breaks_off_does_not_look_whole() {
    let stand = furnished(|_| {});
    let mut client = stand.client();
    client.send("GET /half.pl HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n");
    let (status, head) = client.head();
    assert_eq!(status, 200);
    assert!(head.contains("Content-Encoding: gzip"), "{head}");
    let rest = client.rest();
    assert!(!rest.ends_with(b"0\r\n\r\n"), "{}", rest.escape_ascii());
    assert!(stand.errors().contains("cut off"), "{}", stand.errors());
}

#[test]
fn variables_and_rules_decide_too() {
    let stand = furnished(|site| {
        let base = &mut site.main.base;
        base.programs.set_env.push(("no-gzip".into(), "1".into()));
        base.output.compression.brotli_tag = TagRule::AddSuffix;
    });
    for path in ["/page.html", "/big.pl"] {
        let gzip = ask(&stand, "GET", path, "Accept-Encoding: gzip");
        assert_eq!(gzip.field("content-encoding"), None, "{path}");
        let brotli = ask(&stand, "GET", path, "Accept-Encoding: br");
        assert_eq!(brotli.field("content-encoding"), Some("br"), "{path}");
    }
}

#[test]
fn a_place_without_filters_says_nothing_of_them() {
    let stand = Stand::plain();
    std::fs::write(stand.root.join("page.html"), page()).expect("written");
    for path in ["/page.html", "/big.pl"] {
        let response = ask(&stand, "GET", path, "Accept-Encoding: gzip");
        let told = (response.field("content-encoding"), response.field("vary"));
        assert_eq!((response.status, told), (200, (None, None)), "{path}");
    }
}
