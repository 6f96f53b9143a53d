//! Decodes Huffman strings (RFC 7541 appendix B). The code is canonical: codes of equal length
//! follow the order of their symbols. A table of the symbols by length is therefore enough.

/// The symbols for each code length in bits, in the order of their codes.
const BY_LENGTH: [(u32, &[u8]); 21] = [
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
    (19, b"\\\xc3\xd0"),
    (20, b"\x80\x82\x83\xa2\xb8\xc2\xe0\xe2"),
    (21, b"\x99\xa1\xa7\xac\xb0\xb1\xb3\xd1\xd8\xd9\xe3\xe5\xe6"),
    (
        22,
        b"\x81\x84\x85\x86\x88\x92\x9a\x9c\xa0\xa3\xa4\xa9\xaa\xad\xb2\xb5\xb9\xba\xbb\xbd\
           \xbe\xc4\xc6\xe4\xe8\xe9",
    ),
    (
        23,
        b"\x01\x87\x89\x8a\x8b\x8c\x8d\x8f\x93\x95\x96\x97\x98\x9b\x9d\x9e\xa5\xa6\xa8\xae\
           \xaf\xb4\xb6\xb7\xbc\xbf\xc5\xe7\xef",
    ),
    (24, b"\t\x8e\x90\x91\x94\x9f\xab\xce\xd7\xe1\xec\xed"),
    (25, b"\xc7\xcf\xea\xeb"),
    (
        26,
        b"\xc0\xc1\xc8\xc9\xca\xcd\xd2\xd5\xda\xdb\xee\xf0\xf2\xf3\xff",
    ),
    (
        27,
        b"\xcb\xcc\xd3\xd4\xd6\xdd\xde\xdf\xf1\xf4\xf5\xf6\xf7\xf8\xfa\xfb\xfc\xfd\xfe",
    ),
    (
        28,
        b"\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x17\x18\x19\
           \x1a\x1b\x1c\x1d\x1e\x1f\x7f\xdc\xf9",
    ),
    (30, b"\n\r\x16"),
];

/// Decodes a string. The text ends at the first code that belongs to no symbol.
pub fn decode(bytes: &[u8]) -> String {
    let mut text = Vec::new();
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
            break;
        };
        if length < *of_row {
            continue;
        }
        match symbols.get(code.wrapping_sub(first) as usize) {
            Some(symbol) => {
                text.push(*symbol);
                (code, length, first, row) = (0, 0, 0, 0);
            }
            None => {
                first += symbols.len() as u32;
                row += 1;
            }
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn strings_of_the_rfc_and_symbols_with_long_codes_are_decoded() {
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
            ("34907f23fffe11ff3f6a6b1a67818f", "id=\"a\\b\"; Path=/"),
            ("20e5fffe3fffeeffffd3fffd5fffefff", "caf\u{e9}\u{4e2d}"),
            ("ffffeafffffff3ffffffe5ff", "\t\n\u{16}."),
        ] {
            let bytes: Vec<u8> = (0..coded.len() / 2)
                .map(|place| u8::from_str_radix(&coded[2 * place..2 * place + 2], 16).expect("hex"))
                .collect();
            assert_eq!(decode(&bytes), text);
        }
    }
}
