//! Tests the check of a Host that a connection repeats.

use super::{Extent, Head};

fn parse(head: &mut Head, host: &str) -> bool {
    let text = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
    let extent = Extent {
        lead: 0,
        end: text.len(),
        fields: 1,
    };
    head.parse(text.as_bytes(), extent).is_ok()
}

#[test]
fn a_refused_host_is_checked_again_each_time() {
    let mut head = Head::default();
    assert!(!parse(&mut head, ""));
    for _ in 0..2 {
        assert!(parse(&mut head, "www.example.org:8080"));
        assert!(parse(&mut head, "www.example.org:8080"));
        assert!(!parse(&mut head, "-a"));
        assert!(!parse(&mut head, "-a"));
        assert!(!parse(&mut head, "www.example.org:80800"));
        assert!(!parse(&mut head, ""));
    }
}
