//! Rules of a section for all of its paths: `Alias`, `ScriptAlias` and `Redirect` with one
//! argument.

use crate::Text;

/// `Alias FILE` or `ScriptAlias FILE` in a `<Location>`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PlaceAlias {
    /// The file for all paths of the section. A relative path is below ServerRoot.
    pub file: Text,
    /// `ScriptAlias`: the file is a CGI program.
    pub script: bool,
    /// The URL path of the section. With `AliasPreservePath On`, the rest of the request's path
    /// follows the file. `None`: the section has a pattern.
    pub location: Option<String>,
}

/// `Redirect URL` in a section.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PlaceRedirect {
    pub status: u16,
    /// The target. `None`: the rule sends only a status (410, 404).
    pub to: Option<Text>,
}

impl PlaceAlias {
    /// Returns the rest of a URL path behind the section's path: empty, or with a leading slash.
    pub fn rest<'p>(&self, url_path: &'p [u8]) -> Option<&'p [u8]> {
        let location = self.location.as_deref()?;
        let rest = url_path.strip_prefix(location.trim_end_matches('/').as_bytes())?;
        (rest.is_empty() || rest.starts_with(b"/")).then_some(rest)
    }
}

/// Tells whether a text begins with a scheme, as in `https:` or `mailto:`.
pub fn is_url(text: &[u8]) -> bool {
    let may = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let scheme = text.iter().take_while(|byte| may(byte)).count();
    scheme > 0 && text.get(scheme) == Some(&b':')
}
