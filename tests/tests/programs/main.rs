//! Real programs, unchanged from their packages, on Mehari and on Apache with mod_perl: see
//! `tests/programs/README.md`.

mod apache_reload;
mod apache_session;
mod asp;
mod authcookie;
mod cgi_pm;
mod dbi;
mod fcgid;
mod gitweb;
mod mason;
mod nineties;
mod packaged;
mod psgi;
mod rungs;
