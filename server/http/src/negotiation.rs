//! Content negotiation: chooses among the variants of a resource by the Accept fields of a request,
//! as Apache's mod_negotiation does (RFC 9110 section 12, RFC 2295, RFC 2296).
//!
//! The front collects the variants ([`Variant`]) from a folder or a type map ([`type_map`]), reads
//! the client's [`Preferences`], and asks [`choose`]. [`fields`] and [`list`] write the response's
//! header fields and the list of variants.

mod choice;
mod fields;
mod preferences;
mod quality;
pub mod type_map;

pub use choice::{choose, Choice, Circumstances, Codings};
pub use fields::{fields, list};
pub use preferences::Preferences;
pub(crate) use preferences::{entry, token};

/// The largest number of variants of a resource.
pub const VARIANTS: usize = 500;

/// One variant: a file, or an entry of a type map.
#[derive(Debug, Clone, PartialEq)]
pub struct Variant {
    /// The file's name, or the relative URL of a type map.
    pub name: Vec<u8>,
    /// The media type in lower case, without parameters.
    pub media_type: String,
    /// The character set in lower case. Empty if it is unknown.
    pub charset: String,
    /// The languages in lower case.
    pub languages: Vec<String>,
    pub encoding: Option<String>,
    pub description: String,
    /// The parameter `qs` of the type.
    pub source_quality: f32,
    /// The parameter `level` of the type.
    pub level: f32,
    pub length: Option<u64>,
    /// Whether a handler makes the response. The length is then unknown.
    pub is_handled: bool,
    /// The content, if the type map contains it.
    pub body: Option<Vec<u8>>,
}

impl Default for Variant {
    fn default() -> Variant {
        Variant {
            name: Vec::new(),
            media_type: String::new(),
            charset: String::new(),
            languages: Vec::new(),
            encoding: None,
            description: String::new(),
            source_quality: 0.0,
            level: 0.0,
            length: None,
            is_handled: false,
            body: None,
        }
    }
}

impl Variant {
    /// Sets the type and the values of its parameters: `text/html; charset=utf-8; qs=0.5; level=3`.
    pub fn set_type(&mut self, text: &[u8]) {
        let (entry, _) = entry(text);
        self.media_type = entry.name;
        self.charset = entry.charset;
        self.source_quality = entry.quality;
        self.level = entry.level;
    }

    /// Returns whether the type is HTML, perhaps with server-side includes.
    fn is_html(&self) -> bool {
        let name = self.media_type.as_str();
        matches!(name, "text/html" | INCLUDES | INCLUDES_3)
    }

    fn is_text(&self) -> bool {
        self.media_type.starts_with("text/") || self.is_html()
    }
}

/// Apache's types of pages with server-side includes. These types count as HTML.
const INCLUDES: &str = "text/x-server-parsed-html";
const INCLUDES_3: &str = "text/x-server-parsed-html3";
/// The type of a program, which is a variant with a handler and without a type.
pub const PROGRAM: &str = "application/x-httpd-cgi";
/// The type of a file that is a type map.
pub const TYPE_MAP: &str = "application/x-type-map";
