//! Which symbolic links the folders of a host may contain.

use std::path::Path;
use std::sync::Arc;

use super::{Host, Htaccess};
use crate::{Change, Links, RequestPlace, Scope, Section};

impl Host {
    /// Returns what `Options` says of the symbolic links in a folder. As in Apache, only
    /// `<Directory>` sections and .htaccess files count: the sections of other kinds apply after
    /// the walk through the folders.
    pub fn links_in(&self, folder: &Path, htaccess: &[Arc<Htaccess>]) -> Links {
        let folder = folder.join("");
        let place = RequestPlace::of("", Some(&folder));
        let is_around = |section: &&Section| section.matches(place);
        let fixed = self.sections_about_links().filter(is_around);
        let read = htaccess.iter().flat_map(|file| &file.sections);
        let read = read
            .filter(|section| is_about_links(section))
            .filter(is_around);
        let mut sections: Vec<(&Section, u8)> = fixed.map(|section| (section, 0)).collect();
        sections.extend(read.map(|section| (section, 1)));
        sections.sort_by_key(|(section, source)| (section.rank(), *source));
        let mut links = self.base.files.links;
        for change in sections.iter().flat_map(|(section, _)| &section.changes) {
            if let Change::Options { clear, on, off } = change {
                links.change(*clear, *on, *off);
            }
        }
        links
    }

    fn sections_about_links(&self) -> impl Iterator<Item = &Section> {
        let numbers = self.merged.about_links.get_or_init(|| {
            let all = self.sections.iter().enumerate();
            let about = all.filter(|(_, section)| is_about_links(section));
            about.map(|(number, _)| number).collect()
        });
        numbers.iter().map(|&number| &self.sections[number])
    }
}

fn is_about_links(section: &Section) -> bool {
    let is_folder = section.within.is_none() && matches!(section.scope, Scope::Directory(_));
    let says = |change: &Change| matches!(change, Change::Options { .. });
    is_folder && section.changes.iter().any(says)
}
