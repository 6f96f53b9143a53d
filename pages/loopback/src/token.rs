//! A secret that only whoever has started something knows: the token in the console's address, and
//! the secret of an exact profile.

use subtle::ConstantTimeEq;

/// A random text of 128 bits in hexadecimal digits.
pub struct Token(String);

impl Token {
    /// Makes a token.
    ///
    /// # Errors
    /// The kernel gives no random bytes.
    pub fn random() -> Result<Token, String> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| format!("the kernel gives no random bytes: {error}"))?;
        Ok(Token(
            bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        ))
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    /// Compares in a time that does not depend on the place of the first wrong character.
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
mod tests {
    use super::Token;

    #[test]
    fn tokens_differ_and_only_the_whole_token_is_right() {
        let (one, other) = (Token::random().expect("one"), Token::random().expect("one"));
        assert_eq!(one.text().len(), 32);
        assert!(one.is(one.text()));
        for wrong in [
            other.text(),
            "",
            &one.text()[..31],
            &format!("{}0", one.text()),
        ] {
            assert!(!one.is(wrong), "{wrong}");
        }
    }
}
