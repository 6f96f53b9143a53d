//! Describes what a site serves: each URL path, its files, and their handlers or rungs.

use mehari_config::{Handler, Host, Site};
use mehari_front::{Survey, SurveyedPlace};
use serde_json::json;

use super::meaning::Page;

/// Returns the numbers of the hosts that requests can reach. The main server answers only where no
/// `<VirtualHost>` has the address.
pub fn reachable(site: &Site) -> Vec<u32> {
    let takes_all = |host: &Host| host.addresses.iter().any(|address| address.ip.is_none());
    let is_main_reached = match site.listen.as_slice() {
        [] => !site.hosts.iter().any(takes_all),
        listen => listen
            .iter()
            .any(|listen| is_of_main(site, &listen.address)),
    };
    let hosts = site.hosts.iter().map(|host| host.number);
    let main = is_main_reached.then_some(0);
    main.into_iter().chain(hosts).collect()
}

/// Whether the main server answers requests to this address.
fn is_of_main(site: &Site, address: &str) -> bool {
    let Some((ip, port)) = address.rsplit_once(':') else {
        return true;
    };
    let ip = ip.trim_matches(['[', ']']).parse().ok();
    site.host_for(ip, port.parse().unwrap_or_default(), b"") == 0
}

/// Adds a paragraph for each host.
pub fn lines(page: &mut Page, site: &Site, survey: &Survey) {
    for number in reachable(site) {
        page.heading(&format!("\nServed by {}", name(site.host(number))));
        let mut place = None;
        let rows = survey.rows.iter().filter(|row| row.host == number);
        let mut count = 0;
        for row in rows {
            let label = match place.replace(&row.url_path) {
                Some(known) if known == &row.url_path => "",
                _ => &row.url_path,
            };
            page.line(label, words(row));
            count += 1;
        }
        if count == 0 {
            page.line("/", "nothing: no file and no handler");
        }
    }
    if survey.is_partial {
        page.heading("  The site has more files than the check visits: the numbers are too low.");
    }
}

/// Returns the hosts and their URL paths as JSON.
pub fn json(site: &Site, survey: &Survey) -> serde_json::Value {
    let rows = survey.rows.iter().map(|row| {
        json!({
            "host": row.host,
            "name": name(site.host(row.host)),
            "url_path": row.url_path,
            "folder": row.folder,
            "handler": row.handler.as_ref().ok().map(Handler::to_string),
            "refused": row.handler.as_ref().err(),
            "files": row.files,
            "example": row.example,
        })
    });
    rows.collect()
}

fn name(host: &Host) -> String {
    match host.number {
        0 => "the main server".to_owned(),
        _ if host.names.server_name.is_none() => format!("<VirtualHost {}>", host.name()),
        _ => host.name(),
    }
}

fn words(row: &SurveyedPlace) -> String {
    let handler = match &row.handler {
        Ok(Handler::File) => "sent as it is".to_owned(),
        Ok(handler) => handler.to_string(),
        Err(reason) => format!("refused: {reason}"),
    };
    match (row.files, &row.folder) {
        (0, _) => handler,
        (1, _) => format!("{handler}: {}", row.example),
        (files, _) => format!("{handler}: {files} files, the first {}", row.example),
    }
}
