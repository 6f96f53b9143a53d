//! Tests the parsing of texts in each dialect, and escapes.

use super::*;

struct Names;

impl VariableSource for Names {
    fn put(&self, piece: &Piece, into: &mut Vec<u8>) {
        let text = match piece {
            Piece::Variable(name) => format!("<{name}>"),
            Piece::Map { name, key, .. } => {
                format!("<{name} {}>", String::from_utf8_lossy(&key.of(self)))
            }
            other => format!("<{other:?}>"),
        };
        into.extend_from_slice(text.as_bytes());
    }
}

#[test]
fn each_dialect_parses_its_own_texts() {
    let of = |text: Result<Text, String>| {
        String::from_utf8(text.expect("right").of(&Names)).expect("text")
    };
    assert_eq!(of(Text::rewriting("a%{HTTP_HOST}b")), "a<HTTP_HOST>b");
    assert_eq!(
        of(Text::rewriting("/$1?%2\\$3")),
        "/<Group(1)>?<Condition(2)>$3"
    );
    assert_eq!(
        of(Text::rewriting("${m:%{HTTP_HOST}|x}")),
        "<m <HTTP_HOST>>"
    );
    assert_eq!(
        of(Text::header("%% %t %{X}e")),
        "% <Time> <OrNull(Environment(\"X\"))>"
    );
    assert_eq!(of(Text::expression("100%")), "100%");
    assert!(Text::rewriting("%{HTTP_HOST").is_err());
    assert!(Text::rewriting("%{REQUST_URI}")
        .expect_err("unknown")
        .contains("REQUEST_URI"));
    assert!(Text::header("%{X}q").is_err());
}

#[test]
fn parser_undoes_escapes() {
    assert_eq!(mehari_text::percent::encode_path(b"/a b%"), b"/a%20b%25");
    assert_eq!(mehari_text::percent::decode_lenient(b"/a%20b%2"), b"/a b%2");
}
