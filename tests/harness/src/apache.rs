//! Apache with mod_perl and mod_cgi as the reference: the same configuration, the original behaviour.

use crate::{needs, Builder, Server};

/// What Apache with mod_perl is made of.
pub const PACKAGES: [&str; 3] = ["apache2-bin", "libapache2-mod-perl2", "media-types"];

/// The same site on Mehari and on Apache: a test holds both against one list. Without Apache the test counts as skipped.
pub fn beside(site: impl Fn() -> Builder) -> Vec<Server> {
    let mut servers = vec![site().start()];
    if needs::packages(&PACKAGES) {
        servers.push(site().on_apache().start());
    }
    servers
}
