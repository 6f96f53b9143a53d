//! The words of `Options`, as bits.

pub const EXEC_CGI: u8 = 1;
pub const FOLLOW: u8 = 2;
pub const IF_OWNER: u8 = 4;
pub const INDEXES: u8 = 8;
pub const MULTI_VIEWS: u8 = 16;
pub const INCLUDES: u8 = 32;
/// `Includes`. `IncludesNOEXEC` is `INCLUDES` alone.
pub const INCLUDES_EXEC: u8 = 64;
/// `All`, which has neither `SymLinksIfOwnerMatch` nor `MultiViews`.
pub const ALL: u8 = EXEC_CGI | FOLLOW | INDEXES | INCLUDES | INCLUDES_EXEC;

/// Returns the bits of an option. Upper and lower case are equal.
pub fn named(name: &str) -> Option<u8> {
    Some(match name.to_ascii_lowercase().as_str() {
        "execcgi" => EXEC_CGI,
        "all" => ALL,
        "none" => 0,
        "followsymlinks" => FOLLOW,
        "symlinksifownermatch" => IF_OWNER,
        "indexes" => INDEXES,
        "multiviews" => MULTI_VIEWS,
        "includes" => INCLUDES | INCLUDES_EXEC,
        "includesnoexec" => INCLUDES,
        // An older name, which Apache still knows.
        "runscripts" => EXEC_CGI | MULTI_VIEWS,
        _ => return None,
    })
}
