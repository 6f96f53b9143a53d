//! The files of the console's pages. They are part of the binary, and are compressed once.

use mehari_loopback::{Content, MediaType};
use std::collections::HashMap;

macro_rules! assets {
    ($($name:literal: $media_type:ident),* $(,)?) => {
        const FILES: &[(&str, MediaType, &[u8])] = &[
            $(($name, MediaType::$media_type, include_bytes!(concat!("../web/", $name)))),*
        ];
    };
}

assets! {
    "index.html": Page,
    "console.css": Style,
    "mark.svg": Picture,
    "main.js": Script,
    "ask.js": Script,
    "chart.js": Script,
    "elements.js": Script,
    "samples.js": Script,
    "table.js": Script,
    "words.js": Script,
    "now.js": Script,
    "worker.js": Script,
    "memory.js": Script,
    "back_ends.js": Script,
    "machine.js": Script,
    "inside.js": Script,
    "where.js": Script,
    "errors.js": Script,
    "history.js": Script,
    "profiles.js": Script,
}

/// Returns all files by their names. The page itself has the empty name.
pub fn all() -> HashMap<&'static str, Content> {
    let named = FILES.iter().map(|&(name, media_type, plain)| {
        let name = if name == "index.html" { "" } else { name };
        (name, Content::file(media_type, plain))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::all;

    /// The limit for a load of the page.
    const MOST_BYTES: usize = 150_000;

    #[test]
    fn page_names_every_module_that_is_not_loaded_later_so_that_no_module_waits_for_another() {
        let all = all();
        let text = |name: &str| String::from_utf8_lossy(&all[name].plain).into_owned();
        let (page, main) = (text(""), text("main.js"));
        let modules = all.keys().filter(|name| name.ends_with(".js"));
        for module in modules {
            let is_named = |attribute: &str| page.contains(&format!("{attribute}=\"{module}\""));
            let comes_later = main.contains(&format!("import(\"./{module}\")"));
            let comes_at_once = is_named("href") || is_named("src");
            assert!(comes_at_once != comes_later, "{module}");
        }
    }

    #[test]
    fn pages_are_small_and_name_no_other_host() {
        let all = all();
        let sizes = all.values().flat_map(|asset| &asset.compressed);
        let sum: usize = sizes.map(|bytes| bytes.len()).sum();
        assert!(all.contains_key("") && sum < MOST_BYTES, "{sum} bytes");
        for (name, asset) in all {
            let text = String::from_utf8_lossy(&asset.plain).replace("http://www.w3.org/", "");
            for forbidden in [
                "http:",
                "https:",
                "innerHTML",
                "insertAdjacentHTML",
                " style=",
            ] {
                assert!(!text.contains(forbidden), "{name} contains {forbidden}");
            }
        }
    }
}
