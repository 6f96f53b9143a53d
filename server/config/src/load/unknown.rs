//! A name that is in no row: what was meant, or what it belongs to.

use std::sync::Arc;

use crate::line::Word;
use crate::problem::Fault;
use crate::{CustomDirective, Directive};

/// An unknown name: what it would have belonged to, or the nearest name.
pub(super) fn fault(name: &Word, custom: &[Arc<CustomDirective>]) -> Fault {
    let lower = name.text.to_ascii_lowercase();
    let fault = Fault::new(name.at, format!("there is no directive `{}`", name.text));
    let own = custom.iter().map(|directive| directive.name.as_str());
    let all = own.chain(Directive::all().flat_map(|row| row.names().map(|name| -> &str { name })));
    let nearer = fault.clone().or_nearest(&name.text, all);
    if nearer != fault {
        return nearer;
    }
    let begins = |starts: &[&str]| starts.iter().any(|start| lower.starts_with(start));
    let belongs_to = match () {
        _ if begins(&["ssl"]) => "another part of mod_ssl",
        _ if begins(&["auth"]) => "authentication",
        _ if begins(&["rewrite", "redirect"]) => "rewriting and redirects",
        _ if begins(&["proxy", "balancer"]) => "proxying",
        _ if begins(&["header", "requestheader", "expires"]) => "response headers",
        _ if begins(&[
            "addoutputfilter",
            "setoutputfilter",
            "deflate",
            "perlsetoutput",
        ]) =>
        {
            "filters"
        }
        _ => return fault,
    };
    Fault::new(
        name.at,
        format!(
            "`{}` belongs to {belongs_to}, which Mehari does not do yet",
            name.text
        ),
    )
}
