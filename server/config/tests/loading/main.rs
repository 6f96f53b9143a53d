//! Tests the loading of configurations: conditions, variables, includes, sections, directives.

use std::fs::{create_dir_all, write};
use std::path::Path;
use std::time::Duration;

use mehari_config::{
    AccessFormat, AccessLogSettings, Handler, LogTarget, NoteKind, Preload, Problems, Rung,
    Settings, Site,
};

mod access;
mod perl;
mod pools;
mod reading;
mod teams;
mod whole;

struct Files(tempfile::TempDir);

impl Files {
    fn new(files: &[(&str, &str)]) -> Files {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let file = folder.path().join(name);
            create_dir_all(file.parent().expect("a parent")).expect("made");
            write(file, text).expect("written");
        }
        Files(folder)
    }

    fn load(&self, defines: &[&str]) -> Result<Site, Problems> {
        let defines: Vec<String> = defines.iter().map(|name| name.to_string()).collect();
        Site::load(&self.0.path().join("httpd.conf"), &defines)
    }
}

fn problems(text: &str) -> Vec<String> {
    let found = Files::new(&[("httpd.conf", text)])
        .load(&[])
        .expect_err("problems");
    let tell = |p: &mehari_config::Problem| format!("{}:{}: {}", p.line, p.column, p.message);
    found.problems.iter().map(tell).collect()
}

fn site(text: &str) -> Site {
    match Files::new(&[("httpd.conf", text)]).load(&[]) {
        Ok(site) => site,
        Err(problems) => panic!("{problems}"),
    }
}

fn addresses(site: &Site) -> Vec<&str> {
    let listens = site.listen.iter();
    listens.map(|listen| listen.address.as_str()).collect()
}

fn at(site: &Site, url: &str) -> std::sync::Arc<Settings> {
    let mapped = site.main.mapping.map(url);
    site.main.settings(url, Some(&mapped.file))
}

fn preloads(site: &mehari_config::Site) -> Vec<Preload> {
    let all = site.perl().preloads.iter();
    all.map(|preload| preload.what.clone()).collect()
}
