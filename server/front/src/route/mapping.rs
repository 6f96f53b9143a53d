//! From a URL path to the file it stands for, and back to what a Location field may hold.

use mehari_config::Host;

/// The file a path was mapped to, whether or not it exists.
pub struct Mapping {
    pub file: Vec<u8>,
}

/// The file path of a URL path, and whether a ScriptAlias led there. A path that is not UTF-8 is
/// mapped by its segments that are; the rest is appended as it came.
pub fn map(host: &Host, path: &[u8]) -> (Vec<u8>, bool) {
    let (text, rest) = match std::str::from_utf8(path) {
        Ok(text) => (text, &[][..]),
        Err(error) => {
            let valid = &path[..error.valid_up_to()];
            let at = memchr::memrchr(b'/', valid).unwrap_or(0);
            let text = std::str::from_utf8(&path[..at]).unwrap_or_default();
            (text, &path[at..])
        }
    };
    let mapped = host.map(text);
    let mut file = mapped.file.into_os_string().into_encoded_bytes();
    file.extend_from_slice(rest);
    (file, mapped.script)
}

/// For a Location field: everything but unreserved bytes and slashes is encoded.
pub fn percent_encode(path: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(path.len() + 1);
    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            encoded.push(byte);
        } else {
            encoded.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
    }
    encoded
}
