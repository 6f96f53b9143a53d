//! What a filter does with one body: compress it, or change its text.

use super::{Editor, Encoder};
use std::io;

pub enum Transform {
    Encode(Encoder),
    Edit(Editor),
}

impl Transform {
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Transform::Encode(encoder) => encoder.write(bytes),
            Transform::Edit(editor) => editor.write(bytes),
        }
    }

    /// Makes what was written available to the client, as far as that is possible.
    pub fn flush(&mut self) -> io::Result<()> {
        match self {
            Transform::Encode(encoder) => encoder.flush(),
            // The rest of a line must be known before its beginning can be sent.
            Transform::Edit(_) => Ok(()),
        }
    }

    /// Takes the output that is ready.
    pub fn take(&mut self) -> Vec<u8> {
        match self {
            Transform::Encode(encoder) => encoder.take(),
            Transform::Edit(editor) => editor.take(),
        }
    }

    /// Ends the body and returns the rest of the output.
    pub fn finish(self) -> io::Result<Vec<u8>> {
        match self {
            Transform::Encode(encoder) => encoder.finish(),
            Transform::Edit(editor) => editor.finish(),
        }
    }
}
