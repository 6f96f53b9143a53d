//! Decides where a request's body ends and whether its connection continues (RFC 9112 sections 6
//! and 9).
//!
//! Refuses everything that two programs could read differently. The other program may be the proxy
//! in front of this server or the back end behind it (request smuggling).

use super::head::{Framing, Version};
use crate::problem::{bad, Problem};

/// The framing fields of one head.
#[derive(Debug, Default)]
pub struct Notes {
    length: Option<u64>,
    chunked: bool,
    close: bool,
    keep_alive: bool,
    pub expects_continue: bool,
    has_type: bool,
    has_credentials: bool,
}

impl Notes {
    /// Accepts one decimal number without sign, list, blanks or repetition.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for any other value.
    pub fn content_length(&mut self, value: &[u8]) -> Result<(), Problem> {
        if self.length.is_some() {
            return Err(bad("more than one Content-Length"));
        }
        if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
            return Err(bad("Content-Length is not a number"));
        }
        let mut length: u64 = 0;
        for &digit in value {
            length = length
                .checked_mul(10)
                .and_then(|length| length.checked_add(u64::from(digit - b'0')))
                .ok_or(Problem::malformed(
                    413,
                    "Content-Length is beyond any limit",
                ))?;
        }
        self.length = Some(length);
        Ok(())
    }

    /// Accepts only `chunked`, once.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for any other value.
    pub fn transfer_encoding(&mut self, value: &[u8]) -> Result<(), Problem> {
        if self.chunked {
            return Err(bad("more than one Transfer-Encoding"));
        }
        if value.is_empty() {
            return Err(bad("an empty Transfer-Encoding"));
        }
        if !value.eq_ignore_ascii_case(b"chunked") {
            return Err(Problem::malformed(
                501,
                "a Transfer-Encoding other than chunked",
            ));
        }
        self.chunked = true;
        Ok(())
    }

    /// Refuses a second Content-Type, because some readers take the first and some take the last.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for the second field.
    pub fn content_type(&mut self) -> Result<(), Problem> {
        if std::mem::replace(&mut self.has_type, true) {
            Err(bad("more than one Content-Type"))
        } else {
            Ok(())
        }
    }

    /// Refuses a second Authorization, because some readers take the first and some take the last.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for the second field.
    pub fn authorization(&mut self) -> Result<(), Problem> {
        if std::mem::replace(&mut self.has_credentials, true) {
            Err(bad("more than one Authorization"))
        } else {
            Ok(())
        }
    }

    pub fn connection(&mut self, value: &[u8]) {
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
            return; // the usual value
        }
        for option in value.split(|&byte| byte == b',') {
            let option = option.trim_ascii();
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    /// Accepts only `100-continue`.
    ///
    /// # Errors
    ///
    /// A [`Problem`] with the status 417 for any other value.
    pub fn expect(&mut self, value: &[u8]) -> Result<(), Problem> {
        if self.expects_continue || !value.eq_ignore_ascii_case(b"100-continue") {
            return Err(Problem::malformed(417, "an Expect other than 100-continue"));
        }
        self.expects_continue = true;
        Ok(())
    }

    /// Decides how the body of a request is framed.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for two framings, or for one that the version does not allow.
    pub fn framing(&self, version: Version) -> Result<Framing, Problem> {
        match (self.chunked, self.length) {
            (true, Some(_)) => Err(bad("both Transfer-Encoding and Content-Length")),
            (true, None) if version == Version::Http10 => Err(bad("Transfer-Encoding in HTTP/1.0")),
            (true, None) => Ok(Framing::Chunked),
            (false, Some(0)) | (false, None) => Ok(Framing::None),
            (false, Some(length)) => Ok(Framing::Length(length)),
        }
    }

    pub fn keep_alive(&self, version: Version) -> bool {
        !self.close && (version == Version::Http11 || self.keep_alive)
    }
}
