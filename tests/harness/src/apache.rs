//! Starts Apache with mod_perl and mod_cgi and the same configuration as Mehari, as the reference.

use crate::{needs, Builder, Server};

/// The Debian packages of Apache with mod_perl.
pub const PACKAGES: [&str; 3] = ["apache2-bin", "libapache2-mod-perl2", "media-types"];

/// Starts the same site on Mehari and on Apache, for tests that check both against one list.
/// Without Apache the list has only Mehari, and the test counts as skipped.
pub fn beside(site: impl Fn() -> Builder) -> Vec<Server> {
    let mut servers = vec![site().start()];
    if needs::packages(&PACKAGES) {
        servers.push(site().on_apache().start());
    }
    servers
}
