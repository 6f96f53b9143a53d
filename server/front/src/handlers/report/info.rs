//! Shows the configuration as Apache's mod_info does: the Apache modules that Mehari replaces, and
//! each line of the configuration.

use super::text;
use crate::content::Answer;
use mehari_config::Site;
use mehari_text::html;
use std::fmt::Write;

pub fn answer(site: &Site) -> Answer {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Server Information</title></head>\n\
         <body><main><h1>Server Information</h1>\n<dl>\n",
    );
    let version = concat!("Mehari/", env!("CARGO_PKG_VERSION"));
    let modules: Vec<&str> = mehari_config::replaced_modules().collect();
    for (name, value) in [
        ("Server Version", version.to_string()),
        ("Server Root", site.server_root.display().to_string()),
        ("Loaded Modules", modules.join(", ")),
    ] {
        let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", html::escape(&value));
    }
    page.push_str("</dl>\n<h2>Configuration</h2>\n<pre tabindex=\"0\">");
    let mut last = "";
    for line in site.source.tree.lines() {
        let mut parts = line.splitn(3, '\t');
        let (Some(file), Some(number), Some(text)) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        if file != last {
            let _ = writeln!(page, "\n<b>{}</b>", html::escape(file));
            last = file;
        }
        let _ = writeln!(page, "{number:>5}  {}", html::escape(text));
    }
    page.push_str("</pre></main></body></html>\n");
    text(200, "text/html; charset=utf-8", page)
}
