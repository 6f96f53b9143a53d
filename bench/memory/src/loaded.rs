//! Lists the modules that a perl has loaded (%INC) and the folders in which it searches (@INC).

use crate::heap::{Heap, Value};
use crate::links::Link;
use std::collections::BTreeMap;

/// The longest name of a file that is read.
const LONGEST: usize = 4096;

impl Heap {
    /// Returns the files of the loaded modules as %INC names them (`Data/Dumper.pm`), each with its
    /// path. A path is empty where %INC has none.
    pub fn loaded_files(&self) -> BTreeMap<String, String> {
        let links = self.part_of_inc('%').map(|hash| self.links(hash));
        let entries = links.into_iter().flatten();
        entries
            .filter_map(|(link, value)| match link {
                Link::Key(key) => Some((self.key_up_to(key, LONGEST), self.text_of(value))),
                _ => None,
            })
            .collect()
    }

    /// Returns the text of a value. Empty: the value is no text.
    fn text_of(&self, address: u64) -> String {
        let value = self.place(address).map(|place| &self.values[place]);
        let has_text = |it: &&Value| !self.is_reference(it) && it.flags & self.layout.sv_text != 0;
        value
            .filter(has_text)
            .map_or(String::new(), |it| self.memory.text(it.union, LONGEST))
    }

    /// Returns the folders of @INC. Code in @INC is left out.
    pub fn search_folders(&self) -> Vec<String> {
        let links = self.part_of_inc('@').map(|array| self.links(array));
        let elements = links.into_iter().flatten();
        let texts = elements.map(|(_, address)| self.text_of(address));
        texts.filter(|text| text.starts_with('/')).collect()
    }

    /// Returns %INC or @INC.
    fn part_of_inc(&self, sign: char) -> Option<&Value> {
        let packages = &self.values[self.place(self.packages)?];
        let is_inc = |link: &Link| matches!(link, Link::Key(key) if self.key(*key) == "INC");
        let (_, glob) = self.links(packages).into_iter().find(|it| is_inc(&it.0))?;
        let glob = &self.values[self.place(glob)?];
        let parts = self.links(glob).into_iter();
        let mut parts = parts.filter(|(link, _)| *link == Link::Part(sign));
        Some(&self.values[self.place(parts.next()?.1)?])
    }
}
