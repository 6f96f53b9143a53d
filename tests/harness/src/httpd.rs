//! Starts Apache for a test: chooses the modules and the port, and waits until Apache is ready.

use crate::site::Site;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command};

/// Directives that only Apache needs: modules, the user, paths.
const PREAMBLE: &str = "\
LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule authz_host_module /usr/lib/apache2/modules/mod_authz_host.so
LoadModule authn_core_module /usr/lib/apache2/modules/mod_authn_core.so
LoadModule authn_file_module /usr/lib/apache2/modules/mod_authn_file.so
LoadModule authz_user_module /usr/lib/apache2/modules/mod_authz_user.so
LoadModule authz_groupfile_module /usr/lib/apache2/modules/mod_authz_groupfile.so
LoadModule access_compat_module /usr/lib/apache2/modules/mod_access_compat.so
LoadModule auth_digest_module /usr/lib/apache2/modules/mod_auth_digest.so
LoadModule remoteip_module /usr/lib/apache2/modules/mod_remoteip.so
LoadModule userdir_module /usr/lib/apache2/modules/mod_userdir.so
LoadModule negotiation_module /usr/lib/apache2/modules/mod_negotiation.so
LoadModule include_module /usr/lib/apache2/modules/mod_include.so
LoadModule macro_module /usr/lib/apache2/modules/mod_macro.so
LoadModule proxy_module /usr/lib/apache2/modules/mod_proxy.so
LoadModule proxy_http_module /usr/lib/apache2/modules/mod_proxy_http.so
LoadModule autoindex_module /usr/lib/apache2/modules/mod_autoindex.so
LoadModule actions_module /usr/lib/apache2/modules/mod_actions.so
LoadModule auth_basic_module /usr/lib/apache2/modules/mod_auth_basic.so
LoadModule setenvif_module /usr/lib/apache2/modules/mod_setenvif.so
LoadModule rewrite_module /usr/lib/apache2/modules/mod_rewrite.so
LoadModule headers_module /usr/lib/apache2/modules/mod_headers.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule alias_module /usr/lib/apache2/modules/mod_alias.so
LoadModule dir_module /usr/lib/apache2/modules/mod_dir.so
LoadModule env_module /usr/lib/apache2/modules/mod_env.so
LoadModule cgi_module /usr/lib/apache2/modules/mod_cgi.so
LoadModule vhost_alias_module /usr/lib/apache2/modules/mod_vhost_alias.so
LoadModule substitute_module /usr/lib/apache2/modules/mod_substitute.so
LoadModule speling_module /usr/lib/apache2/modules/mod_speling.so
LoadModule perl_module /usr/lib/apache2/modules/mod_perl.so
User www-data
Group www-data
ServerName 127.0.0.1
TypesConfig /etc/mime.types
ErrorLog /dev/stderr
";

pub(crate) fn command(site: &Site, conf: &str) -> Command {
    let root = site.root().display().to_string();
    let port = free_port();
    site.write("port", &port.to_string());
    let text = format!(
        "{PREAMBLE}ServerRoot {root}\nPidFile {root}/apache.pid\nListen 127.0.0.1:{port}\n\
         DocumentRoot {root}/htdocs\n{conf}"
    );
    let path = site.write("httpd.conf", &text);
    let mut command = Command::new("/usr/sbin/apache2");
    command.arg("-DFOREGROUND").arg("-f").arg(path);
    // An init system starts Apache in `/` too. Apache's children may not enter the folder of the
    // tests.
    command.current_dir("/");
    command
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0))
        .and_then(|listener| listener.local_addr())
        .expect("loopback has a free port")
        .port()
}

pub(crate) fn wait_until_ready(site: &Site, child: &mut Child) -> Option<SocketAddr> {
    let port: u16 = site.read("port").parse().expect("written above");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let mut alive = true;
    let is_up = crate::eventually(crate::PATIENCE, || {
        alive = matches!(child.try_wait(), Ok(None));
        !alive || TcpStream::connect(address).is_ok()
    });
    (is_up && alive).then_some(address)
}
