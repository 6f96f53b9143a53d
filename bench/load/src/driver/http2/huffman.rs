//! Decodes Huffman strings (RFC 7541 appendix B). The code is canonical: within a length, codes
//! follow the order of the symbols, so that a table of symbols by length is enough.
//!
//! The table ends at 15 bits. A symbol with a longer code (a backslash, a control character, a byte
//! above 127) becomes `?`, and the rest of the string is lost.

/// Symbols by the length of their code, in the order of their codes.
const BY_LENGTH: [(u32, &[u8]); 10] = [
    (5, b"012aceiost"),
    (6, b" %-./3456789=A_bdfghlmnpru"),
    (7, b":BCDEFGHIJKLMNOPQRSTUVWYjkqvwxyz"),
    (8, b"&*,;XZ"),
    (10, b"!\"()?"),
    (11, b"'+|"),
    (12, b"#>"),
    (13, b"\0$@[]~"),
    (14, b"^}"),
    (15, b"<`{"),
];

pub fn decode(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut code, mut length, mut first) = (0u32, 0u32, 0u32);
    let mut row = 0;
    for bit in bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |place| byte >> place & 1))
    {
        code = code << 1 | u32::from(bit);
        length += 1;
        first <<= 1;
        let Some((of_row, symbols)) = BY_LENGTH.get(row) else {
            text.push('?');
            return text;
        };
        if length < *of_row {
            continue;
        }
        match symbols.get(code.wrapping_sub(first) as usize) {
            Some(symbol) => {
                text.push(char::from(*symbol));
                (code, length, first, row) = (0, 0, 0, 0);
            }
            None => {
                first += symbols.len() as u32;
                row += 1;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        for (coded, text) in [
            ("f1e3c2e5f23a6ba0ab90f4ff", "www.example.com"),
            ("a8eb10649cbf", "no-cache"),
            ("6402", "302"),
            ("aec3771a4b", "private"),
            (
                "d07abe941054d444a8200595040b8166e082a62d1bff",
                "Mon, 21 Oct 2013 20:13:21 GMT",
            ),
            (
                "9d29ad171863c78f0b97c8e9ae82ae43d3",
                "https://www.example.com",
            ),
        ] {
            let bytes: Vec<u8> = (0..coded.len() / 2)
                .map(|place| u8::from_str_radix(&coded[2 * place..2 * place + 2], 16).expect("hex"))
                .collect();
            assert_eq!(decode(&bytes), text);
        }
    }
}
