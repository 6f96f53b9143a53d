use super::Decoder;

/// Decodes in pieces of `step` bytes. Returns the data and the rest of the input.
fn decode(input: &[u8], step: usize) -> Result<(Vec<u8>, usize, bool), u16> {
    let mut decoder = Decoder::new(64, 2);
    let mut data = Vec::new();
    let mut at = 0;
    while at < input.len() && !decoder.is_done() {
        let end = (at + step).min(input.len());
        at += decoder
            .decode(&input[at..end], &mut data)
            .map_err(|problem| problem.status)?;
    }
    Ok((data, input.len() - at, decoder.is_done()))
}

#[test]
fn a_body_decodes_equally_in_pieces_of_any_size() {
    let cases: [(&[u8], &[u8], usize); 5] = [
        (b"0\r\n\r\n", b"", 0),
        (b"5\r\nhello\r\n0\r\n\r\n", b"hello", 0),
        (b"00003;x=\"y\"\r\nabc\r\n0\r\nA: b\r\n\r\nGET", b"abc", 3),
        (b"a\r\n0123456789\r\n1\r\nx\r\n0\r\n\r\n", b"0123456789x", 0),
        (
            b"A\r\n\r\n\r\n\r\n\r\n\r\n\r\n0\r\nT:\r\n\r\n",
            b"\r\n\r\n\r\n\r\n\r\n",
            0,
        ),
    ];
    for (input, data, rest) in cases {
        for step in 1..=input.len() {
            let expected = Ok((data.to_vec(), rest, true));
            assert_eq!(
                decode(input, step),
                expected,
                "{:?} by {step}",
                input.escape_ascii()
            );
        }
    }
}

#[test]
fn malformed_bodies_are_refused() {
    let cases: [(&[u8], u16); 20] = [
        (b"\r\n", 400),
        (b"+5\r\nhello\r\n", 400),
        (b"-5\r\n", 400),
        (b"0x5\r\nhello\r\n", 400),
        (b"5 \r\nhello\r\n", 400),
        (b" 5\r\nhello\r\n", 400),
        (b"5_0\r\n", 400),
        (b"g\r\n", 400),
        (b"5\nhello\r\n", 400),
        (b"5\r\rhello", 400),
        (b"5\r\nhello0\r\n", 400),
        (b"5\r\nhello\n0\r\n", 400),
        (b"1234567890abcdef\r\n", 400),
        (b"5;a\nb\r\nhello", 400),
        (b"5;a\rb\r\nhello", 400),
        (b"5;a\0\r\nhello", 400),
        (b"0\r\nno colon\r\n\r\n", 400),
        (b"0\r\n folded\r\n\r\n", 400),
        (b"0\r\nA: 1\r\nB: 2\r\nC: 3\r\n\r\n", 431),
        (b"0\r\nA: 01234567890123456789012345678901234567890123456789012345678901234567890\r\n\r\n", 431),
    ];
    for (input, status) in cases {
        assert_eq!(decode(input, 3), Err(status), "{:?}", input.escape_ascii());
    }
    let mut flood = b"5;".to_vec();
    flood.resize(2000, b'x');
    assert_eq!(decode(&flood, 7), Err(400));
}
