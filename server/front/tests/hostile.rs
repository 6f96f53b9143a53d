//! Sends random bytes to a front. The front must neither panic nor hang.

mod stand;

use proptest::prelude::*;
use stand::client::Client;
use stand::Stand;
use std::time::Duration;

/// Pieces of real attacks, mixed with random bytes.
fn piece() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..20),
        proptest::sample::select(vec![
            "GET / HTTP/1.1\r\nHost: a\r\n",
            "POST /echo.pl HTTP/1.1\r\nHost: a\r\n",
            "Content-Length: 5\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Expect: 100-continue\r\n",
            "Range: bytes=0-1,3-\r\n",
            "Connection: close\r\n",
            "\r\n",
            "\n",
            "\r",
            "5\r\nhello\r\n",
            "0\r\n\r\n",
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "\0\0\0\x04\0\0\0\0\0",
            "/../%2e%2e/%00",
            "OPTIONS * HTTP/1.0\r\n\r\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ]
}

#[test]
fn whatever_arrives_is_answered_or_closed() {
    let stand = Stand::new(|site| {
        site.limits.header_timeout = Duration::from_millis(100);
        site.limits.body_timeout = Duration::from_millis(100);
        site.limits.keep_alive = Some(Duration::from_millis(100));
    });
    let pieces = proptest::collection::vec(piece(), 0..12);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let result = runner.run(&pieces, |pieces| {
        let mut client = Client::connect(stand.address);
        client.send(pieces.concat());
        client.half_close_quietly();
        // `rest` panics if the front sends nothing for ten seconds.
        client.rest();
        prop_assert_eq!(
            Client::connect(stand.address).get("/file.txt").text(),
            "0123456789"
        );
        Ok(())
    });
    assert!(result.is_ok(), "{result:?}");
}
