//! Checks passwords in the formats of user files. This module implements apr1 and {SHA}, because
//! crypt(3) lacks these formats.

use super::crypt;
use base64::Engine;
use md5::{Digest, Md5};
use sha1::Sha1;
use subtle::ConstantTimeEq;

/// The password that is checked for unknown users. No text matches it.
pub const NOBODY: &str = "$apr1$nobody..$.....................";

/// Returns whether the password matches the hash `known`. The check is as slow as the format
/// demands.
pub fn matches(known: &str, password: &[u8]) -> bool {
    if let Some(encoded) = known.strip_prefix("{SHA}") {
        let digest = Sha1::digest(password);
        let own = base64::engine::general_purpose::STANDARD.encode(digest);
        return is_same(own.as_bytes(), encoded.as_bytes());
    }
    if let Some(rest) = known.strip_prefix("$apr1$") {
        let salt = rest.split('$').next().unwrap_or_default();
        let salt = &salt.as_bytes()[..salt.len().min(8)];
        return is_same(apr1(password, salt).as_bytes(), known.as_bytes());
    }
    // A setting of crypt(3) has a salt of at least two characters. Anything else is a clear-text
    // password, which is refused.
    if known.len() < 13 {
        return false;
    }
    crypt::crypt(password, known).is_some_and(|own| is_same(own.as_bytes(), known.as_bytes()))
}

/// Compares two byte strings in a time that does not depend on their contents.
pub fn is_same(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

/// Computes Apache's variant of the MD5 crypt, with 1000 rounds.
fn apr1(password: &[u8], salt: &[u8]) -> String {
    let mut inner = Md5::new();
    for part in [password, salt, password] {
        inner.update(part);
    }
    let inner = inner.finalize();
    let mut outer = Md5::new();
    for part in [password, b"$apr1$", salt] {
        outer.update(part);
    }
    let mut left = password.len();
    while left > 0 {
        outer.update(&inner[..left.min(16)]);
        left = left.saturating_sub(16);
    }
    let mut bits = password.len();
    while bits > 0 {
        match bits & 1 {
            1 => outer.update([0]),
            _ => outer.update(&password[..1]),
        }
        bits >>= 1;
    }
    let mut digest = outer.finalize();
    for round in 0..1000 {
        let mut next = Md5::new();
        match round & 1 {
            1 => next.update(password),
            _ => next.update(digest),
        }
        if round % 3 != 0 {
            next.update(salt);
        }
        if round % 7 != 0 {
            next.update(password);
        }
        match round & 1 {
            1 => next.update(digest),
            _ => next.update(password),
        }
        digest = next.finalize();
    }
    format!(
        "$apr1${}${}",
        String::from_utf8_lossy(salt),
        encode(&digest)
    )
}

fn encode(digest: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut text = String::with_capacity(22);
    let mut put = |mut bits: u32, letters: usize| {
        for _ in 0..letters {
            text.push(LETTERS[(bits & 63) as usize] as char);
            bits >>= 6;
        }
    };
    let at = |index: usize| u32::from(digest[index]);
    for (a, b, c) in [(0, 6, 12), (1, 7, 13), (2, 8, 14), (3, 9, 15), (4, 10, 5)] {
        put(at(a) << 16 | at(b) << 8 | at(c), 4);
    }
    put(at(11), 2);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_matches_in_every_format_of_htpasswd() {
        // Made by `htpasswd -nb` with -m, -B, -s, -d, -2 and -5 for the same password.
        for known in [
            "$apr1$NqkTvRE0$/STroNqJjSB1yzS6wWw.B.",
            "$2y$05$QAv293Q4htw6AgO25dVYO.9cxAH1Xl41dzDdB3DOhhL22/fv80x6K",
            "{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=",
            "DKU4DXGBOYLoY",
            "$5$HXMSjL98Rs.qhp7Q$c3bcrSC6rO0g5HCd7MrQxkPj9hJ2zpIMpAH.eAXArjC",
            "$6$Lv1ac0F86CJTTt7t$7tE30EsXM/pr/IKVMRIdWPgpcfmSY5dDGfIgvdcU3762uCUaQMuDU8HI/23UAr.CFf5oOzUmN5JhplDdS8TCK/",
        ] {
            assert!(matches(known, b"secret"), "{known}");
            assert!(!matches(known, b"secreT"), "{known}");
        }
        assert!(!matches("secret", b"secret") && !matches("", b"") && !matches(NOBODY, b""));
    }
}
