//! Maps a URL path to a file path by `Alias`, `ScriptAlias` and `DocumentRoot`. The mapping reads
//! no file.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::{Matched, Nothing, Pass, Piece, UserDirs};

/// The settings of a host that map URL paths to files and back ends.
#[derive(Debug, Clone, Default, serde::Serialize)]
pub struct UrlMapping {
    pub document_root: PathBuf,
    pub aliases: Vec<Alias>,
    /// `UserDir`
    pub user_dirs: Option<UserDirs>,
    /// `CacheNegotiatedDocs`
    pub caches_negotiated: bool,
    /// `AllowEncodedSlashes`
    pub(crate) encoded_slashes: Option<EncodedSlashes>,
    /// `ProxyPass` outside of sections, in order.
    pub passes: Vec<Pass>,
}

/// `Alias /url /path`, `ScriptAlias /url /path`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Alias {
    /// A URL path. For `AliasMatch` a regular expression.
    pub url: String,
    /// `AliasMatch`: the pattern, and the path with `$1` and so on.
    pub matching: Option<(crate::Pattern, crate::Text)>,
    pub path: PathBuf,
    /// `ScriptAlias`: every file below the folder is a CGI program.
    pub script: bool,
}

/// The meaning of an encoded slash in a path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum EncodedSlashes {
    #[default]
    Refused,
    Decoded,
    /// The slash stays `%2F`.
    Kept,
}

/// The target of a URL path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mapped {
    /// The file path. Behind a script the path may continue with PATH_INFO. A final slash of the
    /// URL path stays.
    pub file: PathBuf,
    /// A `ScriptAlias`: the file is a CGI program.
    pub script: bool,
    /// Whether an `AliasMatch` has put together a segment `..` or the name of a dot file that
    /// neither the URL path nor the configuration contains.
    pub uncovers: bool,
    root_length: usize,
}

impl Mapped {
    /// Returns the alias's folder or the document root: the part of `file` that the client did not
    /// choose.
    pub fn root(&self) -> &Path {
        let bytes = &self.file.as_os_str().as_bytes()[..self.root_length];
        Path::new(std::ffi::OsStr::from_bytes(bytes))
    }
}

impl UrlMapping {
    /// Inherits the main server's mapping. The host's own `Alias` and `ProxyPass` lines are tried
    /// first.
    pub(crate) fn inherit(&mut self, main: &UrlMapping) {
        if self.document_root.as_os_str().is_empty() {
            self.document_root.clone_from(&main.document_root);
        }
        self.aliases.extend_from_slice(&main.aliases);
        self.caches_negotiated |= main.caches_negotiated;
        if self.user_dirs.is_none() {
            self.user_dirs.clone_from(&main.user_dirs);
        }
        self.encoded_slashes = self.encoded_slashes.or(main.encoded_slashes);
        self.passes.extend_from_slice(&main.passes);
    }

    /// Tells whether the host refuses a path. `encoded_slash`: the path contains an encoded slash.
    pub fn refuses(&self, encoded_slash: bool) -> bool {
        encoded_slash && self.encoded_slashes() == EncodedSlashes::Refused
    }

    pub fn encoded_slashes(&self) -> EncodedSlashes {
        self.encoded_slashes.unwrap_or_default()
    }

    /// Maps a decoded and normalised URL path (no `.`, `..` or empty segments). The first matching
    /// alias applies, in configuration order.
    pub fn map(&self, url_path: &(impl AsRef<[u8]> + ?Sized)) -> Mapped {
        let url_path = url_path.as_ref();
        for alias in &self.aliases {
            if let Some(mapped) = alias.matched(url_path) {
                return mapped;
            }
            if let Some(rest) = alias.rest(url_path) {
                return mapped(&alias.path, rest, alias.script);
            }
        }
        mapped(&self.document_root, url_path, false)
    }

    /// Tells whether an alias maps the path.
    pub fn has_alias(&self, url_path: &[u8]) -> bool {
        let mut aliases = self.aliases.iter();
        aliases.any(|alias| alias.matched(url_path).is_some() || alias.rest(url_path).is_some())
    }

    /// Returns the URL paths that [`UrlMapping::map`] may map to this file, the most likely first.
    /// The lines `AliasMatch` are left out, because a pattern cannot be reversed.
    pub fn url_paths(&self, file: &Path) -> Vec<String> {
        let aliases = self.aliases.iter().filter(|it| it.matching.is_none());
        let roots = aliases.map(|alias| (alias.url.trim_end_matches('/'), alias.path.as_path()));
        let roots = roots.chain([("", self.document_root.as_path())]);
        let paths = roots.filter_map(|(url, root)| {
            let rest = file.strip_prefix(root).ok()?.to_str()?;
            let separator = if rest.is_empty() && !url.is_empty() {
                ""
            } else {
                "/"
            };
            Some(format!("{url}{separator}{rest}"))
        });
        paths.collect()
    }

    /// Returns the URL path and the folder of the alias that matches the path. If no alias or only
    /// an `AliasMatch` matches, returns an empty URL path and the document root.
    pub fn context(&self, url_path: &[u8]) -> (&str, &Path) {
        let mut plain = self.aliases.iter();
        match plain.find(|alias| alias.rest(url_path).is_some()) {
            Some(alias) => (alias.url.trim_end_matches('/'), &alias.path),
            None => ("", &self.document_root),
        }
    }
}

impl Alias {
    /// Returns the file that an `AliasMatch` makes from the path. `None`: the pattern does not
    /// match.
    fn matched(&self, url_path: &[u8]) -> Option<Mapped> {
        let (pattern, text) = self.matching.as_ref()?;
        let groups = pattern.groups(url_path)?;
        let variables = Matched {
            variables: &Nothing,
            groups: Some((url_path.into(), groups)),
        };
        let mut file = text.of(&variables);
        let is_hidden = |part: &[u8]| part.starts_with(b".") && !text.has_segment(part);
        let is_sent = |part: &[u8]| segments(url_path).any(|sent| sent == part);
        let uncovers = segments(&file).any(|part| is_hidden(part) && !is_sent(part));
        file.dedup_by(|next, before| *next == b'/' && *before == b'/');
        let fixed = match text.pieces() {
            [Piece::Literal(start), ..] => start.len(),
            _ => 0,
        };
        Some(Mapped {
            root_length: fixed.min(file.len()),
            file: OsString::from_vec(file).into(),
            script: self.script,
            uncovers,
        })
    }

    /// Returns the rest of `url_path` behind this alias: empty, or with a leading slash.
    fn rest<'a>(&self, url_path: &'a [u8]) -> Option<&'a [u8]> {
        if self.matching.is_some() {
            return None;
        }
        let prefix = self.url.strip_suffix('/').unwrap_or(&self.url);
        let rest = url_path.strip_prefix(prefix.as_bytes())?;
        let is_whole = rest.is_empty() && !self.url.ends_with('/');
        (is_whole || rest.starts_with(b"/")).then_some(rest)
    }
}

fn mapped(root: &Path, rest: &[u8], script: bool) -> Mapped {
    let root = root.as_os_str().as_bytes();
    let root_length = match root {
        [b'/'] => 0,
        [start @ .., b'/'] => start.len(),
        whole => whole.len(),
    };
    let mut file = OsString::from(std::ffi::OsStr::from_bytes(&root[..root_length]));
    if !rest.is_empty() && !rest.starts_with(b"/") {
        file.push("/");
    }
    file.push(std::ffi::OsStr::from_bytes(rest));
    Mapped {
        file: file.into(),
        script,
        uncovers: false,
        root_length,
    }
}

fn segments(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(aliases: &[(&str, &str)]) -> UrlMapping {
        let aliases = aliases.iter().map(|(url, path)| Alias {
            url: url.to_string(),
            matching: None,
            path: path.into(),
            script: url.contains("cgi"),
        });
        UrlMapping {
            document_root: "/srv/www".into(),
            aliases: aliases.collect(),
            ..UrlMapping::default()
        }
    }

    #[test]
    fn aliases_match_on_segment_boundaries_in_order_and_the_document_root_is_last() {
        let site = mapping(&[
            ("/icons/", "/usr/share/icons/"),
            ("/cgi-bin", "/usr/lib/cgi-bin"),
            ("/cgi-bin/never", "/nowhere"),
        ]);
        for (url, file, script) in [
            ("/icons/a.png", "/usr/share/icons/a.png", false),
            ("/icons/", "/usr/share/icons/", false),
            ("/icons", "/srv/www/icons", false),
            ("/cgi-bin", "/usr/lib/cgi-bin", true),
            ("/cgi-bin/never", "/usr/lib/cgi-bin/never", true),
            ("/cgi-binary", "/srv/www/cgi-binary", false),
            ("/", "/srv/www/", false),
            ("*", "/srv/www/*", false),
        ] {
            let mapped = site.map(url);
            assert_eq!(mapped.file, PathBuf::from(file), "{url}");
            assert_eq!(mapped.script, script, "{url}");
        }
    }

    #[test]
    fn url_paths_of_a_file_map_back_to_the_file() {
        let site = mapping(&[("/cgi-bin/", "/srv/www/cgi"), ("/app", "/srv/app.pl")]);
        let paths = |file: &str| site.url_paths(Path::new(file));
        assert_eq!(paths("/srv/www/cgi/a.pl"), ["/cgi-bin/a.pl", "/cgi/a.pl"]);
        assert_eq!(paths("/srv/app.pl"), ["/app"]);
        assert!(paths("/srv/www2/a.pl").is_empty());
        let whole = mapping(&[("/", "/srv/app.pl")]);
        assert_eq!(whole.url_paths(Path::new("/srv/app.pl")), ["/"]);
    }

    #[test]
    fn an_alias_of_the_root_keeps_the_rest_as_path_info() {
        let site = mapping(&[("/", "/srv/app.pl")]);
        assert_eq!(site.map("/").file, PathBuf::from("/srv/app.pl/"));
        assert_eq!(site.map("/a/b").file, PathBuf::from("/srv/app.pl/a/b"));
        assert_eq!(site.map("/a/b").root(), Path::new("/srv/app.pl"));
    }
}
