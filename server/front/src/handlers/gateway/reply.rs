//! Reads the response: a head as a CGI program writes it, with or without a status line, and a
//! body. The body ends after its Content-Length, or when the connection ends.

use crate::handlers::proxy::{RequestSummary, Step};
use crate::handlers::BackendHead;
use mehari_config::LogLevel;
use mehari_http::status::has_no_body;
use mehari_pool::script_head::{self, Form};
use mehari_upstream::{Fault, Input};

#[derive(Default)]
pub struct Reply {
    touched: bool,
    /// How many bytes of an incomplete head were searched for its end.
    searched: usize,
    /// The bytes of the body that have not arrived, if the head has a Content-Length.
    left: Option<u64>,
    /// Whether the response has no body even if the head announces one: HEAD, 204, 304.
    bodiless: bool,
}

impl Reply {
    pub fn is_untouched(&self) -> bool {
        !self.touched
    }

    pub fn head(
        &mut self,
        input: &mut Input,
        asked: &RequestSummary,
    ) -> Result<Option<BackendHead>, Fault> {
        let bytes = input.bytes();
        self.touched |= !bytes.is_empty();
        let Some(end) = script_head::end(bytes, self.searched) else {
            self.searched = bytes.len();
            return if bytes.len() > script_head::LONGEST {
                Err(Fault::Malformed("its head is too long"))
            } else {
                Ok(None)
            };
        };
        let parsed = script_head::parse(&bytes[..end], Form::Parsed).map_err(|why| {
            asked.log(LogLevel::Error, &format!("the program's head: {why}"));
            Fault::Malformed("its head is no CGI header")
        })?;
        input.consume(end);
        let said = BackendHead::from(parsed);
        if let BackendHead::Response(head) = &said {
            self.left = head.content_length;
            self.bodiless = asked.is_head || has_no_body(head.status);
        }
        Ok(Some(said))
    }

    /// Moves the arrived part of the body to `into`. Data after the announced length are ignored,
    /// because the connection is never used again.
    pub fn body(
        &mut self,
        input: &mut Input,
        into: &mut Vec<u8>,
        room: usize,
    ) -> Result<Step, Fault> {
        if self.bodiless || self.left == Some(0) {
            return Ok(Step::Done(false));
        }
        let bytes = input.bytes();
        let left = self.left.unwrap_or(u64::MAX);
        let count = left.min(bytes.len().min(room) as u64) as usize;
        into.extend_from_slice(&bytes[..count]);
        input.consume(count);
        if let Some(left) = &mut self.left {
            *left -= count as u64;
        }
        Ok(match self.left {
            Some(0) => Step::Done(false),
            _ if count == room => Step::Full,
            _ => Step::More,
        })
    }

    /// Returns an error if the response is incomplete although the program has closed the
    /// connection.
    pub fn ended(&self) -> Result<(), Fault> {
        match self.left {
            Some(left) if left > 0 && !self.bodiless => Err(Fault::CutOff),
            _ => Ok(()),
        }
    }
}
