//! Apache with mod_perl and mod_cgi as the reference, with the same configuration.

use crate::{needs, Builder, Server};

/// The packages of Apache with mod_perl.
pub const PACKAGES: [&str; 3] = ["apache2-bin", "libapache2-mod-perl2", "media-types"];

/// The same site on Mehari and on Apache, for tests that compare both with one list. Without Apache
/// the test counts as skipped.
pub fn beside(site: impl Fn() -> Builder) -> Vec<Server> {
    let mut servers = vec![site().start()];
    if needs::packages(&PACKAGES) {
        servers.push(site().on_apache().start());
    }
    servers
}
