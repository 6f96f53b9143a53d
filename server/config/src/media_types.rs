//! Reads the file of `TypesConfig`: media types by suffix, in the format of /etc/mime.types.
//!
//! The directive calls [`MediaTypes::read`]. The front calls [`MediaTypes::of`] for a file's
//! suffix.

use std::collections::HashMap;
use std::io;
use std::path::Path;

/// Media types by suffix without the dot, in lower case.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MediaTypes(HashMap<String, String>);

impl MediaTypes {
    /// Reads a file of lines `MEDIA/TYPE SUFFIX...`. A line that begins with `#` is a comment.
    ///
    /// # Errors
    /// The file cannot be read. A line without a type or without a suffix is no error: it
    /// is skipped.
    pub fn read(file: &Path) -> io::Result<MediaTypes> {
        Ok(MediaTypes::parse(&String::from_utf8_lossy(&std::fs::read(
            file,
        )?)))
    }

    fn parse(text: &str) -> MediaTypes {
        let mut types = HashMap::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.split_ascii_whitespace();
            let Some(media_type) = words.next().filter(|word| is_field_value(word)) else {
                continue;
            };
            for suffix in words {
                types.insert(suffix.to_ascii_lowercase(), media_type.to_string());
            }
        }
        MediaTypes(types)
    }

    /// Returns the media type of a suffix, which has no dot and may be in any case.
    pub fn of(&self, suffix: &str) -> Option<&str> {
        let found = if suffix.bytes().any(|byte| byte.is_ascii_uppercase()) {
            self.0.get(&suffix.to_ascii_lowercase())
        } else {
            self.0.get(suffix)
        };
        found.map(String::as_str)
    }
}

/// Serialises the number of suffixes instead of the table, because the table is in the file.
impl serde::Serialize for MediaTypes {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0.len() as u64)
    }
}

/// Tells whether the type may stand in a header field.
fn is_field_value(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_graphic())
}

#[cfg(test)]
mod tests {
    use super::MediaTypes;

    #[test]
    fn each_line_gives_a_type_and_its_suffixes() {
        let types = MediaTypes::parse(
            "# a comment\ntext/html\t\thtml HTM\napplication/x-empty\n\nimage/x-\u{e9} bad\n\
             text/plain txt\ntext/late html\n",
        );
        assert_eq!(types.of("htm"), Some("text/html"));
        assert_eq!(types.of("HTML"), Some("text/late"), "the last line counts");
        assert_eq!(types.of("txt"), Some("text/plain"));
        assert_eq!(types.of("bad"), None);
        assert_eq!(types.of("#"), None);
    }
}
