//! Reads and writes session files in the format HTTP Archive (HAR) 1.2. The writer writes all
//! fields of the specification. The reader is lenient, because browsers leave out and add fields.
//! Source: the HAR 1.2 specification (Odvarko, softwareishard.com/blog/har-12-spec).

use base64::{engine::general_purpose::STANDARD, Engine};
use serde::{Deserialize, Serialize};

use crate::Error;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Archive {
    pub log: Log,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Log {
    pub version: String,
    pub creator: Creator,
    #[serde(default)]
    pub entries: Vec<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Creator {
    pub name: String,
    pub version: String,
}

/// One request with its response. Times are in milliseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    #[serde(rename = "startedDateTime", with = "crate::wall_clock")]
    pub started_unix_us: u64,
    /// The sum of all timings except the values -1.
    pub time: f64,
    pub request: Request,
    pub response: Response,
    #[serde(default)]
    pub cache: Cache,
    #[serde(default)]
    pub timings: Timings,
    #[serde(
        default,
        rename = "serverIPAddress",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_address: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    pub method: String,
    pub url: String,
    #[serde(default)]
    pub http_version: String,
    #[serde(default)]
    pub cookies: Vec<Cookie>,
    #[serde(default)]
    pub headers: Vec<Pair>,
    #[serde(default)]
    pub query_string: Vec<Pair>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_data: Option<PostData>,
    #[serde(default = "unknown")]
    pub headers_size: i64,
    #[serde(default = "unknown")]
    pub body_size: i64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    pub status: u16,
    #[serde(default)]
    pub status_text: String,
    #[serde(default)]
    pub http_version: String,
    #[serde(default)]
    pub cookies: Vec<Cookie>,
    #[serde(default)]
    pub headers: Vec<Pair>,
    #[serde(default)]
    pub content: Content,
    #[serde(default, rename = "redirectURL")]
    pub redirect_url: String,
    #[serde(default = "unknown")]
    pub headers_size: i64,
    #[serde(default = "unknown")]
    pub body_size: i64,
}

/// A header or a query parameter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    pub name: String,
    #[serde(default)]
    pub value: String,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Cookie {
    pub name: String,
    pub value: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http_only: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secure: Option<bool>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PostData {
    pub mime_type: String,
    pub params: Vec<Pair>,
    pub text: String,
    /// `base64` if the body is not UTF-8. HAR has no such field for requests; it allows additional
    /// fields that begin with an underscore.
    #[serde(rename = "_encoding", skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Content {
    pub size: i64,
    pub mime_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Cache {}

/// The times of an exchange's phases in milliseconds; -1 for a phase that did not occur or was not
/// observed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default)]
pub struct Timings {
    pub blocked: f64,
    pub dns: f64,
    pub connect: f64,
    pub send: f64,
    pub wait: f64,
    pub receive: f64,
    pub ssl: f64,
}

impl Default for Timings {
    fn default() -> Timings {
        Timings {
            blocked: -1.0,
            dns: -1.0,
            connect: -1.0,
            send: 0.0,
            wait: 0.0,
            receive: 0.0,
            ssl: -1.0,
        }
    }
}

fn unknown() -> i64 {
    -1
}

impl Archive {
    /// Makes an archive of these entries. HAR requires the entries in the order of their starts, so
    /// they are sorted.
    pub fn of(mut entries: Vec<Entry>) -> Archive {
        entries.sort_by_key(|entry| entry.started_unix_us);
        Archive {
            log: Log {
                version: "1.2".into(),
                creator: Creator {
                    name: "mehari record".into(),
                    version: env!("CARGO_PKG_VERSION").into(),
                },
                entries,
                comment: None,
            },
        }
    }

    /// Reads an archive and sorts its entries by their starts. Error messages name `path` as the
    /// source.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if the text is not a HAR 1 file.
    pub fn from_json(text: &str, path: &str) -> Result<Archive, Error> {
        let unreadable = |expected: String| Error::Unreadable {
            path: path.to_owned(),
            expected,
        };
        // Some browsers write a byte order mark at the start of the file.
        let mut archive: Archive = serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|cause| unreadable(format!("expected a HAR 1.2 file, but {cause}")))?;
        if !archive.log.version.starts_with("1.") {
            return Err(unreadable(format!(
                "HAR version {:?} is not understood; expected 1.2",
                archive.log.version
            )));
        }
        archive
            .log
            .entries
            .sort_by_key(|entry| entry.started_unix_us);
        Ok(archive)
    }
}

/// Encodes bytes as text for HAR. UTF-8 stays unchanged. Other bytes become base64, and the name of
/// this encoding is returned, too.
pub fn encode(bytes: &[u8]) -> (String, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (STANDARD.encode(bytes), Some("base64".into())),
    }
}

/// Decodes a HAR text into bytes. Returns `None` for an unknown encoding or malformed base64.
pub fn decode(text: &str, encoding: Option<&str>) -> Option<Vec<u8>> {
    match encoding {
        None | Some("") => Some(text.as_bytes().to_vec()),
        Some("base64") => STANDARD.decode(text).ok(),
        Some(_) => None,
    }
}

impl PostData {
    pub fn of(mime_type: String, bytes: &[u8]) -> PostData {
        let (text, encoding) = encode(bytes);
        PostData {
            mime_type,
            params: Vec::new(),
            text,
            encoding,
        }
    }

    /// Returns the body to send: the text, or the form made of the parameters.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        if self.text.is_empty() && !self.params.is_empty() {
            let mut form = url::form_urlencoded::Serializer::new(String::new());
            form.extend_pairs(self.params.iter().map(|p| (&p.name, &p.value)));
            return Some(form.finish().into_bytes());
        }
        decode(&self.text, self.encoding.as_deref())
    }
}
