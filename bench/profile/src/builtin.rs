//! Lists the builtins of Perl that get a frame of their own, such as `CORE::match`. These builtins
//! may take long and call no Perl code.

use crate::profile::FrameKind;

/// The names of ops in PL_op_name, and the kind of frame that each op gets.
const BUILTINS: &[(&[&str], FrameKind)] = &[
    (
        &[
            "match",
            "subst",
            "substcont",
            "qr",
            "regcomp",
            "split",
            "trans",
            "transr",
        ],
        FrameKind::Regex,
    ),
    (
        &[
            "sysread", "syswrite", "read", "readline", "print", "say", "prtf", "open", "close",
            "stat", "lstat", "unlink", "rename", "link", "symlink", "readlink", "mkdir", "rmdir",
            "open_dir", "readdir", "closedir", "glob", "system", "exec", "fork", "backtick",
            "wait", "waitpid", "sleep", "sselect", "accept", "connect", "bind", "listen", "socket",
            "send", "recv", "flock", "fcntl", "ioctl", "seek", "sysseek", "eof", "truncate",
            "utime", "chmod", "kill", "ftis", "ftsize", "ftfile", "ftdir", "fteread", "ghbyname",
        ],
        FrameKind::SystemCall,
    ),
    (
        &[
            "sort", "pack", "unpack", "sprintf", "reverse", "join", "keys", "values", "index",
            "rindex", "crypt",
        ],
        FrameKind::Builtin,
    ),
];

/// Returns the frame's name and kind. `op`: the name in PL_op_name.
pub fn frame(op: &str) -> Option<(String, FrameKind)> {
    let (_, kind) = BUILTINS.iter().find(|(names, _)| names.contains(&op))?;
    let name = match op {
        "prtf" => "printf",
        "sselect" => "select",
        "trans" | "transr" => "tr",
        "open_dir" => "opendir",
        "ghbyname" => "gethostbyname",
        "substcont" => "subst",
        "ftis" => "-e",
        "ftsize" => "-s",
        "ftfile" => "-f",
        "ftdir" => "-d",
        "fteread" => "-r",
        other => other,
    };
    Some((format!("CORE::{name}"), *kind))
}
