//! The release of Apache httpd that Mehari takes the place of. `<IfVersion>` compares with this
//! release. `mehari -v` and the variable API_VERSION name it.
//!
//! It is the release whose directives are all known here
//! (`server/config/tests/golden/apache-directives.txt`), and with whose server the tests compare
//! answers. A higher number would enable lines for directives that do not exist here.

/// The version, as a literal for texts that are put together when the crate is compiled.
macro_rules! httpd_version {
    () => {
        "2.4.71"
    };
}
pub(crate) use httpd_version;

pub const HTTPD_VERSION: &str = httpd_version!();

/// The number of the release's interface for modules, as ap_mmn.h has it.
pub const HTTPD_MODULE_MAGIC_NUMBER: &str = "20120211:142";
