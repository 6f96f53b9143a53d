//! The directives that make a folder's name of the host's name (Apache's mod_vhost_alias).

use super::row::*;
use crate::virtual_root::pieces;
use crate::VirtualRoot;

const USAGE: Shape = words("FOLDER|none", 1, 1);

pub const GROUP: Group = Group {
    title: "Folders named after hosts",
    rows: &[
        Directive::host(
            "VirtualDocumentRoot",
            USAGE,
            "The folder that the URL path `/` stands for, made from the host's name. `%0` is the \
             whole name. `%1` is its first part, and `%-1` its last part. `%2+` is the second \
             part with all parts behind it. `%2.1` is the first character of the second part. \
             `%p` is the port.",
            |target, arguments| {
                let root = root(arguments, VirtualRoot::Named)?;
                target.host.rules.virtual_roots.documents = Some(root);
                Ok(())
            },
        )
        .example("/srv/hosts/%-2/%1", "srv/%0"),
        Directive::host(
            "VirtualDocumentRootIP",
            USAGE,
            "Like VirtualDocumentRoot, but made from the server's address of the connection.",
            |target, arguments| {
                let root = root(arguments, VirtualRoot::Addressed)?;
                target.host.rules.virtual_roots.documents = Some(root);
                Ok(())
            },
        )
        .example("/srv/hosts/%0", "/srv/%x"),
        Directive::host(
            "VirtualScriptAlias",
            USAGE,
            "The folder that the URL path `/cgi-bin/` stands for, made like VirtualDocumentRoot. \
             Everything in the folder is a CGI program.",
            |target, arguments| {
                let root = root(arguments, VirtualRoot::Named)?;
                target.host.rules.virtual_roots.scripts = Some(root);
                Ok(())
            },
        )
        .example("/srv/hosts/%0/cgi-bin", "/srv/%"),
        Directive::host(
            "VirtualScriptAliasIP",
            USAGE,
            "Like VirtualScriptAlias, but made from the server's address of the connection.",
            |target, arguments| {
                let root = root(arguments, VirtualRoot::Addressed)?;
                target.host.rules.virtual_roots.scripts = Some(root);
                Ok(())
            },
        )
        .example("/srv/hosts/%0/cgi-bin", "cgi"),
    ],
};

fn root(
    arguments: &Arguments,
    make: fn(Vec<crate::RootPiece>) -> VirtualRoot,
) -> Result<VirtualRoot, Fault> {
    let text = arguments.filled(0)?;
    if text.eq_ignore_ascii_case("none") {
        return Ok(VirtualRoot::Off);
    }
    if !text.starts_with('/') {
        let message = format!("expected `none` or a folder that begins with `/`, not `{text}`");
        return Err(arguments.fault(0, message));
    }
    let pieces = pieces(text).map_err(|why| arguments.fault(0, why))?;
    Ok(make(pieces))
}
