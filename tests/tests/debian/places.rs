//! Compares the places of each directive with those of Apache, which prints its own table
//! (`apache2 -L`). Mehari's table is `mehari directives --json`.

use super::values::modules;
use super::FOLDER;
use mehari_harness::site::Site;
use mehari_harness::{binary, needs};
use std::collections::BTreeMap;
use std::process::Command;

/// Directives that Mehari refuses in places where Apache takes them, because they belong to the
/// whole server or host here: modules and TLS are set up before a request, and checks of back ends
/// need no request.
const FOR_SERVERS: &[&str] = &[
    "MDRequireHttps",
    "PerlModule",
    "PerlRequire",
    "ProxyHCExpr",
    "ProxyHCTemplate",
    "SSLCACertificateFile",
    "SSLCACertificatePath",
    "SSLCipherSuite",
    "SSLVerifyClient",
    "UndefMacro",
    "Use",
];

/// Where Apache takes a directive.
#[derive(Default)]
struct ApachePlace {
    /// Whether the directive may stand in a section.
    in_sections: bool,
    /// The classes of AllowOverride that allow it, as Mehari words them.
    classes: String,
}

/// Returns Apache's table. The names are in lower case.
fn apaches(site: &Site) -> BTreeMap<String, ApachePlace> {
    let perl = "LoadModule perl_module /usr/lib/apache2/modules/mod_perl.so\n";
    let conf = format!(
        "ServerRoot {FOLDER}\nErrorLog /dev/null\n{}{perl}",
        modules()
    );
    let file = site.write("all.conf", &conf);
    let output = Command::new("/usr/sbin/apache2")
        .arg("-L")
        .arg("-f")
        .arg(file)
        .output();
    let output = output.expect("apache2 runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut all: BTreeMap<String, ApachePlace> = BTreeMap::new();
    let mut place = &mut ApachePlace::default();
    for line in text.lines() {
        if let Some(said) = line.strip_prefix("\tAllowed in *.conf ") {
            place.in_sections = said.starts_with("anywhere") || said.starts_with("only inside");
            let is_for_htaccess = said.ends_with(".htaccess");
            place.classes = if is_for_htaccess { ANY } else { "" }.to_owned();
        } else if let Some(classes) = line.strip_prefix("\twhen AllowOverride includes ") {
            place.classes = classes.to_owned();
        } else if let Some((name, _)) = line.split_once(" (").filter(|_| !line.starts_with('\t')) {
            place = all.entry(name.to_ascii_lowercase()).or_default();
        }
    }
    all
}

const ANY: &str = "AuthConfig or FileInfo or Indexes or Limit or Options";

#[test]
fn each_directive_may_stand_where_apache_takes_it() {
    needs!("apache2", "libapache2-mod-perl2");
    let site = Site::new();
    let apaches = apaches(&site);
    let output = Command::new(binary::mehari())
        .args(["directives", "--json"])
        .output();
    let output = output.expect("mehari runs");
    let table: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let rows = table["directives"].as_array().expect("a list");
    let (mut compared, mut differences) = (0, Vec::new());
    for row in rows {
        let name = row["name"].as_str().expect("a name");
        let Some(place) = apaches.get(&name.to_ascii_lowercase()) else {
            continue;
        };
        compared += 1;
        let in_sections = row["place"] == "everywhere" || row["place"] == "inside";
        let classes = row["htaccess"].as_str().unwrap_or_default();
        // An ignored directive is accepted anywhere.
        let is_same = row["ignored"].is_string()
            || (in_sections || !place.in_sections) && classes == place.classes;
        if is_same == FOR_SERVERS.contains(&name) {
            let theirs = &place.classes;
            differences.push(format!("{name}: `{classes}`, in Apache `{theirs}`"));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(compared > 300, "{compared}");
}
