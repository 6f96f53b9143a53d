//! Reports an unknown directive: either Mehari refuses this directive of Apache, or the name is
//! misspelt.

use std::sync::Arc;

use crate::directives::refused;
use crate::line::{self, Character, Word};
use crate::problem::Fault;
use crate::{CustomDirective, Directive};

/// Returns the fault for an unknown name: why the directive is refused, or the nearest name.
pub(super) fn fault(name: &Word, content: &[Character], custom: &[Arc<CustomDirective>]) -> Fault {
    if name.text.eq_ignore_ascii_case("Error") {
        return error_directive(name, content);
    }
    let known = refused::named(&name.text).map(|known| (known.module, known.why));
    let foreign = || refused::foreign(&name.text).map(|known| (known.module, known.why));
    if let Some((module, why)) = known.or_else(foreign) {
        let message = format!(
            "`{}` is a directive of {module} that Mehari does not support: {why}",
            name.text
        );
        return Fault::new(name.at, message);
    }
    let fault = Fault::new(name.at, format!("there is no directive `{}`", name.text));
    let own = custom.iter().map(|directive| directive.name.as_str());
    let all = own.chain(Directive::all().flat_map(|row| row.names().map(|name| -> &str { name })));
    fault.or_nearest(&name.text, all)
}

/// Returns the fault for `Error "TEXT"`, by which a configuration refuses to be loaded.
fn error_directive(name: &Word, content: &[Character]) -> Fault {
    let words = line::words(content).unwrap_or_default();
    let text: Vec<&str> = words.iter().skip(1).map(|word| &*word.text).collect();
    let message = format!("the configuration stops here: {}", text.join(" "));
    Fault::new(name.at, message)
}
