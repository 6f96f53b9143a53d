//! Replaces the escapes in the value of `--add-header`: `\n` becomes the line end of HTTP (CRLF).
//! `\r`, `\a`, `\\` and `\NNN` (octal) mean the same as in C.

pub fn unescaped(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            bytes.push(text[at]);
            at += 1;
            continue;
        }
        at += 1;
        let digits = text[at..]
            .iter()
            .take(3)
            .take_while(|byte| (b'0'..=b'7').contains(byte))
            .count();
        match text.get(at) {
            _ if digits > 0 => {
                let value = text[at..at + digits]
                    .iter()
                    .fold(0u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push((value & 0xff) as u8);
                at += digits;
                continue;
            }
            Some(b'n') => bytes.extend(b"\r\n"),
            Some(b'r') => bytes.push(b'\r'),
            Some(b'a') => bytes.push(7),
            Some(other) => bytes.push(*other),
            None => bytes.push(b'\\'),
        }
        at += 1;
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::unescaped;

    #[test]
    fn escapes_are_replaced_as_the_manual_says() {
        assert_eq!(unescaped(br"A: b\n"), b"A: b\r\n");
        assert_eq!(unescaped(br"\101\\x\r"), b"A\\x\r");
    }
}
