//! The settings of server-side includes (mod_include): which files are parsed, and how.

/// The settings of server-side includes in one location.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Includes {
    /// `Options Includes` or `IncludesNOEXEC`. Without either, files are sent unparsed.
    pub allowed: bool,
    /// Whether pages may run commands.
    pub may_exec: bool,
    /// `SetOutputFilter INCLUDES`
    pub always: bool,
    /// Whether the filter comes after Perl's output filters, because `PerlSetOutputFilter` names it
    /// after a `PerlOutputFilterHandler`. Otherwise the filter comes before them.
    pub after_perl: bool,
    /// Whether a `PerlOutputFilterHandler` has been read.
    #[serde(skip)]
    has_perl_filter: bool,
    /// `AddOutputFilter INCLUDES`: suffixes without the dot, in lower case.
    pub suffixes: Vec<String>,
    /// `AddOutputFilterByType INCLUDES`: media types in lower case.
    pub types: Vec<String>,
    pub by_mode: ByMode,
    /// `SSILegacyExprParser`: pages use the old syntax of expressions, as in `$NAME = /regex/`.
    pub legacy: bool,
    /// `SSIETag`: the responses keep their ETag.
    pub keep_tags: bool,
    /// `SSILastModified`: the responses keep their Last-Modified.
    pub keep_dates: bool,
    pub error_message: Option<String>,
    pub time_format: Option<String>,
    pub undefined: Option<String>,
}

/// `XBitHack`: whether HTML files with the owner's execute permission are parsed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ByMode {
    #[default]
    Off,
    On,
    /// Like `On`. If the group also has execute permission, the response has the file's
    /// Last-Modified.
    Full,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub enum IncludesChange {
    Always(bool),
    /// `PerlSetOutputFilter INCLUDES`, which stands among Perl's output filters.
    AmongPerl,
    Suffix(String),
    ForgetSuffix(String),
    Type(String),
    ByMode(ByMode),
    Legacy(bool),
    KeepTags(bool),
    KeepDates(bool),
    ErrorMessage(String),
    TimeFormat(String),
    Undefined(String),
}

impl Includes {
    pub fn are_off(&self) -> bool {
        let none = !self.always && self.suffixes.is_empty() && self.types.is_empty();
        !self.allowed || (none && self.by_mode == ByMode::Off)
    }

    /// Tells whether the filter stands behind the handler of a file, even if the options or the
    /// type of the response then remove it. As in Apache, no response on its way to the filter
    /// meets a condition of its request.
    pub fn are_inserted(&self, file: &[u8]) -> bool {
        self.always || !self.types.is_empty() || self.have_suffix_of(file)
    }

    /// Tells whether no response of a file has an ETag. As in Apache, this does not depend on the
    /// options.
    pub fn hide_tag(&self, file: &[u8]) -> bool {
        !self.keep_tags && self.are_inserted(file)
    }

    fn have_suffix_of(&self, file: &[u8]) -> bool {
        let name = file.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        // Any suffix of a file name counts, as for media types.
        let mut suffixes = name.split(|byte| *byte == b'.').skip(1);
        suffixes.any(|suffix| {
            let mut known = self.suffixes.iter();
            known.any(|known| known.as_bytes().eq_ignore_ascii_case(suffix))
        })
    }

    /// Tells whether a file is parsed. Calls `mode` only if the file's permissions decide.
    pub fn are_for(
        &self,
        file: &[u8],
        media_type: Option<&str>,
        mode: impl FnOnce() -> u32,
    ) -> bool {
        let is_html = media_type.is_some_and(|media_type| bare(media_type) == "text/html");
        self.are_for_program(file, media_type, || is_html && mode() & 0o100 != 0)
    }

    /// Tells whether a program's response is parsed. `media_type`: the type of the response, if
    /// `AddOutputFilterByType` may choose it. Calls `runs_as_html` only if `XBitHack` decides: it
    /// tells whether the program's file has an HTML name and may be executed by its owner.
    pub fn are_for_program(
        &self,
        file: &[u8],
        media_type: Option<&str>,
        runs_as_html: impl FnOnce() -> bool,
    ) -> bool {
        if self.are_off() {
            return false;
        }
        let bare = media_type.map(bare);
        let of_type = |known: &String| bare.as_ref() == Some(known);
        self.always
            || self.have_suffix_of(file)
            || self.types.iter().any(of_type)
            || (self.by_mode != ByMode::Off && runs_as_html())
    }

    /// Notes that a Perl output filter stands at this point of the configuration.
    pub(crate) fn note_perl_filter(&mut self) {
        self.has_perl_filter = true;
    }

    pub(crate) fn change(&mut self, change: &IncludesChange) {
        match change {
            IncludesChange::Always(always) => (self.always, self.after_perl) = (*always, false),
            IncludesChange::AmongPerl => {
                (self.always, self.after_perl) = (true, self.has_perl_filter);
            }
            IncludesChange::Suffix(suffix) => self.suffixes.push(suffix.clone()),
            IncludesChange::ForgetSuffix(suffix) => self.suffixes.retain(|known| known != suffix),
            IncludesChange::Type(name) => self.types.push(name.clone()),
            IncludesChange::ByMode(by_mode) => self.by_mode = *by_mode,
            IncludesChange::Legacy(legacy) => self.legacy = *legacy,
            IncludesChange::KeepTags(keep) => self.keep_tags = *keep,
            IncludesChange::KeepDates(keep) => self.keep_dates = *keep,
            IncludesChange::ErrorMessage(text) => self.error_message = Some(text.clone()),
            IncludesChange::TimeFormat(text) => self.time_format = Some(text.clone()),
            IncludesChange::Undefined(text) => self.undefined = Some(text.clone()),
        }
    }
}

/// Returns a media type without parameters, in lower case.
fn bare(media_type: &str) -> String {
    let bare = media_type.split(';').next().unwrap_or_default();
    bare.trim().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_parsed_only_if_the_option_and_a_filter_allow_it() {
        let includes = Includes {
            allowed: true,
            suffixes: vec!["shtml".into()],
            by_mode: ByMode::On,
            ..Includes::default()
        };
        for (file, media_type, mode, expected) in [
            ("/a/x.shtml", None, 0o644, true),
            ("/a/x.SHTML.en", None, 0o644, true),
            ("/a.shtml/x.html", Some("text/html"), 0o644, false),
            ("/a/x.html", Some("text/html; charset=utf-8"), 0o744, true),
            ("/a/x.txt", Some("text/plain"), 0o755, false),
        ] {
            let found = includes.are_for(file.as_bytes(), media_type, || mode);
            assert_eq!(found, expected, "{file}");
        }
        let refused = Includes {
            allowed: false,
            ..includes
        };
        assert!(!refused.are_for(b"/x.shtml", None, || 0));
    }
}
