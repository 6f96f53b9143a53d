//! Tests flushes, the output of other programs, redirects and uploads.

use crate::guide;
use mehari_harness::{against_apache, Request, Rung};

#[test]
fn first_half_of_a_page_arrives_before_the_lengthy_operation() {
    let server = guide();
    for rung in Rung::ALL {
        let mut connection = server.connect();
        connection.write(&Request::get(&rung.url("rflush.pl")).bytes());
        let mut text = String::new();
        while !text.contains("Please wait") {
            assert_ne!(connection.fill().expect("a response"), 0, "{}", rung.name());
            text = String::from_utf8_lossy(connection.unread()).into_owned();
            assert!(!text.contains("Done!"), "{}: all came at once", rung.name());
        }
        let answer = connection.read_answer("GET").expect("the rest of it");
        assert!(answer.text().ends_with("<p>Done!</p>"), "{}", answer.text());
    }
}

#[test]
fn output_of_a_program_comes_in_its_place() {
    let server = guide();
    for rung in Rung::ALL {
        // Under mod_perl the child's output goes to the terminal of the server.
        if against_apache() && Rung::SHARED.contains(&rung) {
            continue;
        }
        assert_eq!(
            server.get(&rung.url("system.pl")).expect(200),
            "before\nfrom the child\nbetween\nbackticks: captured\nafter\n",
            "{}",
            rung.name()
        );
    }
}

#[test]
fn redirect_of_cgi_pm_keeps_its_cookie() {
    let server = guide();
    for rung in Rung::ALL {
        let answer = server.get(&rung.url("redirect.pl"));
        answer.expect(302);
        let location = answer.field("location");
        assert_eq!(
            location.as_deref(),
            Some("http://www.example.com/elsewhere")
        );
        let cookie = answer.field("set-cookie");
        assert_eq!(
            cookie.as_deref(),
            Some("seen=yes; path=/"),
            "{}",
            rung.name()
        );
    }
}

const UPLOAD: &str = "--edge\r\n\
    Content-Disposition: form-data; name=\"comment\"\r\n\r\nwith a word\r\n\
    --edge\r\n\
    Content-Disposition: form-data; name=\"file\"; filename=\"notes.txt\"\r\n\
    Content-Type: text/plain\r\n\r\n";

#[test]
fn uploaded_file_arrives_whole() {
    let server = guide();
    // The first file fits a mailbox. The second does not. The third is larger than the front's
    // limit for bodies in memory.
    for (size, digest) in [
        (5, "594f803b380a41396ed63dca39503542"),
        (50_000, "dfe4d5abf952e250a36e86fa8acb888d"),
        (3_000_000, "99ddc9a3a46ea62c95652bdf937a1fb8"),
    ] {
        for rung in Rung::ALL {
            let mut body = UPLOAD.as_bytes().to_vec();
            body.extend(std::iter::repeat_n(b'a', size));
            body.extend_from_slice(b"\r\n--edge--\r\n");
            let request = Request::post(&rung.url("upload.pl"), body)
                .field("Content-Type", "multipart/form-data; boundary=edge");
            let expected = format!("notes.txt text/plain {size} {digest}\ncomment with a word\n");
            assert_eq!(
                server.send(&request).expect(200),
                expected,
                "{}",
                rung.name()
            );
        }
    }
}
