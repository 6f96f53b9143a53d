//! Lists the names of `lighty.env` and `lighty.r.req_attr`.

/// One attribute of a request. `NAMES` gives the name that scripts use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Attribute {
    PhysicalPath,
    PhysicalRelPath,
    PhysicalDocRoot,
    PhysicalBaseDir,
    UriPath,
    UriPathRaw,
    UriScheme,
    UriAuthority,
    UriQuery,
    RequestMethod,
    RequestUri,
    RequestOrigUri,
    RequestProtocol,
    RequestPathInfo,
    RemoteAddress,
    RemotePort,
    ServerAddress,
    ServerPort,
    ServerName,
}

pub const COUNT: usize = 19;

/// Each attribute's name, the attribute, and whether a script may change it.
pub const NAMES: &[(&str, Attribute, bool)] = &[
    ("physical.path", Attribute::PhysicalPath, true),
    ("physical.rel-path", Attribute::PhysicalRelPath, true),
    ("physical.doc-root", Attribute::PhysicalDocRoot, true),
    ("physical.basedir", Attribute::PhysicalBaseDir, true),
    ("uri.path", Attribute::UriPath, true),
    ("uri.path-raw", Attribute::UriPathRaw, true),
    ("uri.scheme", Attribute::UriScheme, false),
    ("uri.authority", Attribute::UriAuthority, false),
    ("uri.query", Attribute::UriQuery, true),
    ("request.method", Attribute::RequestMethod, false),
    ("request.uri", Attribute::RequestUri, true),
    ("request.orig-uri", Attribute::RequestOrigUri, false),
    ("request.protocol", Attribute::RequestProtocol, false),
    ("request.path-info", Attribute::RequestPathInfo, false),
    ("request.remote-addr", Attribute::RemoteAddress, false),
    ("request.remote-ip", Attribute::RemoteAddress, false),
    ("request.remote-port", Attribute::RemotePort, false),
    ("request.server-addr", Attribute::ServerAddress, false),
    ("request.server-port", Attribute::ServerPort, false),
    ("request.server-name", Attribute::ServerName, false),
];

impl Attribute {
    /// Returns the attribute of this name, and whether a script may set the attribute.
    pub fn named(name: &[u8]) -> Option<(Attribute, bool)> {
        let mut names = NAMES.iter();
        let known = names.find(|(known, ..)| known.as_bytes() == name);
        known.map(|(_, attribute, may_be_set)| (*attribute, *may_be_set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attribute_has_a_name_and_an_index() {
        for number in 0..COUNT as u8 {
            assert!(NAMES
                .iter()
                .any(|(_, attribute, _)| *attribute as u8 == number));
        }
        for (name, attribute, may_be_set) in NAMES {
            assert!((*attribute as usize) < COUNT);
            assert_eq!(
                Attribute::named(name.as_bytes()),
                Some((*attribute, *may_be_set))
            );
        }
    }
}
