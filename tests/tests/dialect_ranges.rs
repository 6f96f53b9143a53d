//! Tests which ranges of a file are sent: `MaxRanges`, `MaxRangeOverlaps`, `MaxRangeReversals`, and
//! the syntax of the field Range. Each response must equal Apache's.

use mehari_harness::{apache, needs, Answer, Builder, Request, Server};
use std::process::Command;

const FOLDERS: [&str; 9] = [
    "usual",
    "none",
    "few",
    "many",
    "back",
    "overlaps",
    "nooverlaps",
    "reversals",
    "noreversals",
];

fn site() -> Builder {
    let mut builder = Server::builder().conf(
        "<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
         <Directory @ROOT@/htdocs/none>\nMaxRanges none\n</Directory>\n\
         <Directory @ROOT@/htdocs/few>\nMaxRanges 3\n</Directory>\n\
         <Directory @ROOT@/htdocs/many>\nMaxRanges unlimited\nMaxRangeOverlaps UNLIMITED\n\
         MaxRangeReversals unlimited\n</Directory>\n\
         <Location />\nMaxRanges 2\n</Location>\n\
         <Location /usual>\nMaxRanges default\n</Location>\n\
         <Location /none>\nMaxRanges none\n</Location>\n\
         <Location /few>\nMaxRanges 3\n</Location>\n\
         <Location /many>\nMaxRanges unlimited\n</Location>\n\
         <Directory @ROOT@/htdocs/overlaps>\nMaxRangeOverlaps 1\n</Directory>\n\
         <Directory @ROOT@/htdocs/nooverlaps>\nMaxRangeOverlaps none\n</Directory>\n\
         <Directory @ROOT@/htdocs/reversals>\nMaxRangeReversals 1\n</Directory>\n\
         <Directory @ROOT@/htdocs/noreversals>\nMaxRangeReversals none\n</Directory>\n",
    );
    let text: String = ('0'..='~').chain('0'..='~').take(100).collect();
    for folder in FOLDERS {
        builder = builder.file(&format!("htdocs/{folder}/page.txt"), &text);
    }
    builder.file("htdocs/usual/empty.txt", "")
}

/// Returns what the client learns from the response. The parts of several ranges are shown without
/// their boundary and with the names of fields in lower case.
fn learned(answer: &Answer) -> String {
    let field = |name: &str| answer.field(name).unwrap_or_default();
    if answer.status == 416 {
        // Only Mehari says the length of the content, as RFC 9110 asks.
        return "416".to_owned();
    }
    let said = format!(
        "{} {} {}",
        answer.status,
        field("accept-ranges"),
        field("content-range")
    );
    let body = match (answer.status, field("content-type").split_once("boundary=")) {
        (206, Some((_, boundary))) => answer
            .text()
            .replace(boundary, "BOUNDARY")
            .replace("Content-type", "content-type")
            .replace("Content-Type", "content-type")
            .replace("Content-range", "content-range")
            .replace("Content-Range", "content-range")
            .trim_start()
            .to_owned(),
        _ => answer.text(),
    };
    format!("{said}\n{body}")
}

fn compare(cases: &[(String, String)]) -> Vec<Vec<String>> {
    let servers = apache::beside(site);
    let learned_of = |server: &Server| {
        let send = |(target, range): &(String, String)| {
            learned(&server.send(&Request::get(target).field("Range", range)))
        };
        cases.iter().map(send).collect::<Vec<_>>()
    };
    let all: Vec<Vec<String>> = servers.iter().map(learned_of).collect();
    let mut differences = Vec::new();
    for other in &all[1..] {
        for ((case, ours), theirs) in cases.iter().zip(&all[0]).zip(other) {
            if ours != theirs {
                differences.push(format!("{case:?}\nours {ours}\ntheirs {theirs}"));
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    all
}

fn many(count: usize) -> String {
    let each: Vec<String> = (0..count)
        .map(|at| format!("{0}-{0}", (at * 2) % 99))
        .collect();
    format!("bytes={}", each.join(","))
}

#[test]
fn ranges_within_the_limits_are_sent_as_in_apache() {
    let mut fields: Vec<String> = [
        "bytes=0-0",
        "bytes=0-",
        "bytes=5-",
        "bytes=-5",
        "bytes=-",
        "bytes=-1000",
        "bytes=99-",
        "bytes=100-",
        "bytes=0-1000",
        "bytes=5-1",
        "bytes=0-1,4-5",
        "bytes=4-5,0-1",
        "bytes=0-1,,4-5",
        "bytes=0-1,",
        "bytes=0-10,5-20",
        "bytes=5-20,0-10",
        "bytes=0-10,11-20",
        "bytes=11-20,0-10",
        "bytes=0-1,4-5,8-9",
        "bytes=0-1,4-5,8-9,20-21",
        "bytes=0-1,200-300",
        "bytes=0-60,70-99,0-60",
        "bytes=0-1,4-5,1-2",
        "bytes=50-60,40-55,30-45,20-35",
        "bytes=5-6,0-,9-9",
        "bytes=0-1,0-",
        "bytes=a-b",
        "bytes=+1-2",
        "bytes=1 -2",
        "bytes=--5",
        "bytes=0--5",
        "bytes=",
        "bytes",
        "BYTES=0-1",
        "lines=0-1",
        "bytes=1",
        "bytes=0x1-2",
        "bytes=-+5",
        "bytes=10-20,15-30,5-12",
        "bytes=-1,-1,-1",
    ]
    .map(str::to_owned)
    .to_vec();
    fields.extend([many(2), many(3), many(4), many(50), many(60)]);
    let cases: Vec<(String, String)> = FOLDERS
        .iter()
        .flat_map(|folder| {
            let target = format!("/{folder}/page.txt");
            fields
                .iter()
                .map(move |field| (target.clone(), field.clone()))
        })
        .chain([("/usual/empty.txt".to_owned(), "bytes=0-0".to_owned())])
        .collect();
    let all = compare(&cases);
    let of = |folder: &str, field: &str| {
        let is =
            |case: &&(String, String)| case.0 == format!("/{folder}/page.txt") && case.1 == field;
        let at = cases.iter().position(|case| is(&case)).expect("a case");
        all[0][at].clone()
    };
    assert!(of("usual", "bytes=0-0").starts_with("206 bytes bytes 0-0/100\n0"));
    assert!(of("none", "bytes=0-0").starts_with("200 none \n"));
    assert!(of("few", "bytes=0-1,4-5,8-9").starts_with("206 "));
    assert!(of("few", "bytes=0-1,4-5,8-9,20-21").starts_with("200 "));
    assert!(of("many", &many(50)).starts_with("206 "));
    assert!(of("nooverlaps", "bytes=0-10,5-20").starts_with("200 "));
    assert!(of("noreversals", "bytes=5-20,0-10").starts_with("200 "));
    assert!(of("noreversals", "bytes=0-10,5-20").starts_with("206 "));
}

/// Ranges that a simple generator of numbers makes.
#[test]
fn made_up_ranges_are_sent_as_in_apache() {
    let mut state: u32 = 7;
    let mut next = |most: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % most
    };
    let mut cases = Vec::new();
    for number in 0..300 {
        let ranges: Vec<String> = (0..1 + next(6))
            .map(|_| match next(10) {
                0 => format!("{}-", next(110)),
                1 => format!("-{}", 1 + next(30)),
                _ => {
                    let start = next(100);
                    format!("{start}-{}", start + next(15))
                }
            })
            .collect();
        let folder = FOLDERS[number % FOLDERS.len()];
        let range = format!("bytes={}", ranges.join(","));
        cases.push((format!("/{folder}/page.txt"), range));
    }
    let all = compare(&cases);
    let parts = all[0].iter().filter(|one| one.starts_with("206"));
    assert!(parts.count() > 100, "most cases ask for ranges");
}

#[test]
fn range_of_head_and_post_is_answered_as_in_apache() {
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    for method in ["GET", "HEAD", "POST", "OPTIONS", "DELETE"] {
        for range in ["bytes=0-1", "bytes=0-1,4-5", "bytes=5-", "bytes=200-"] {
            for target in ["/usual/page.txt", "/none/page.txt", "/usual/missing"] {
                let request = Request::new(method, target).field("Range", range);
                let said = |server: &Server| {
                    let answer = server.send(&request);
                    let fields = ["content-range", "accept-ranges", "content-length"];
                    let fields = fields.map(|name| answer.field(name).unwrap_or_default());
                    let is_error = answer.status >= 400;
                    // Error pages differ, and only Mehari says the length of the content.
                    let mut fields = if is_error { Default::default() } else { fields };
                    let is_parts = fields[0].is_empty() && answer.status == 206;
                    if is_parts {
                        // The boundaries differ in length.
                        fields[2].clear();
                    }
                    let text = if is_error || is_parts {
                        String::new()
                    } else {
                        answer.text()
                    };
                    (answer.status, fields, text)
                };
                let all: Vec<_> = servers.iter().map(said).collect();
                for other in &all[1..] {
                    if all[0] != *other {
                        differences.push(format!("{method} {target} {range}: {all:?}"));
                    }
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn limits_of_ranges_hold_over_http2() {
    needs!("curl");
    let server = site().start();
    for (target, range, status) in [
        ("/usual/page.txt", "0-1,4-5", "206"),
        ("/none/page.txt", "0-1", "200"),
        ("/few/page.txt", "0-0,2-2,4-4,6-6", "200"),
        ("/noreversals/page.txt", "5-20,0-10", "200"),
        ("/usual/page.txt", "100-", "416"),
    ] {
        let said = Command::new("curl")
            .args([
                "-s",
                "-o",
                "/dev/null",
                "-w",
                "%{http_version} %{http_code}",
            ])
            .args(["--http2-prior-knowledge", "-r", range])
            .arg(format!("http://{}{target}", server.address))
            .output()
            .expect("curl runs");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        assert_eq!(said, format!("2 {status}"), "{target} {range}");
    }
}

/// Several ranges have their own media type, but the rules apply to the type of the file.
#[test]
fn header_rules_apply_to_ranges_as_in_apache() {
    let site = || {
        site()
            .file("htdocs/usual/page.html", &"word ".repeat(20))
            .file("htdocs/usual/page.de.txt.gz", &"word ".repeat(20))
            .file("htdocs/usual/page.unknown", &"word ".repeat(20))
            .conf(
                "<IfModule !mod_expires.c>\n\
                 LoadModule expires_module /usr/lib/apache2/modules/mod_expires.so\n</IfModule>\n\
                 <Location /usual>\nExpiresActive On\nAddLanguage de .de\nAddEncoding x-gzip .gz\nExpiresByType text/html \"access plus 1 day\"\n\
                 ExpiresByType text/plain \"access plus 1 year\"\n\
                 Header set X-Set one\nHeader always set X-Always one\n\
                 Header set X-Plain plain \"expr=%{CONTENT_TYPE} == 'text/plain'\"\n\
                 Header unset Last-Modified\n</Location>\n\
                 <Location /few>\nExpiresActive On\nExpiresDefault \"access plus 1 hour\"\n\
                 Header set Cache-Control no-store\nHeader set Content-Language de\n</Location>\n",
            )
    };
    let servers = apache::beside(site);
    let mut differences = Vec::new();
    for target in [
        "/usual/page.txt",
        "/usual/page.html",
        "/usual/page.de.txt.gz",
        "/usual/page.unknown",
        "/few/page.txt",
        "/many/page.txt",
    ] {
        for range in [
            "",
            "bytes=0-1",
            "bytes=0-1,4-5",
            "bytes=0-1,4-5,90-",
            "bytes=500-",
        ] {
            let request = Request::get(target).field("Range", range);
            let names = [
                "cache-control",
                "x-set",
                "x-always",
                "x-plain",
                "content-language",
                "content-encoding",
                "accept-ranges",
            ];
            let learned = |server: &Server| {
                let answer = server.send(&request);
                let fields = names.map(|name| answer.field(name).unwrap_or_default());
                let is_there = |name: &str| answer.field(name).is_some();
                (
                    answer.status,
                    fields,
                    is_there("expires"),
                    is_there("last-modified"),
                    is_there("etag"),
                )
            };
            let all: Vec<_> = servers.iter().map(learned).collect();
            for other in &all[1..] {
                if all[0] != *other {
                    differences.push(format!("{target} {range}: {all:?}"));
                }
            }
        }
    }
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}
