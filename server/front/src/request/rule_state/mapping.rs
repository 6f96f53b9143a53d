//! Holds what rules and scripts have decided about the mapping of a resource to a file or a back
//! end.

use crate::request::virtual_root::VirtualFile;
use mehari_config::{Forced, Handler, Proxied, Settings};
use std::sync::Arc;

#[derive(Debug, Default, Clone)]
pub struct MappingState {
    /// The result of the host's rules for this resource. `None`: the rules have not run.
    pub destination: Option<Destination>,
    /// The file that an edge script has set. It counts before the rules' destination.
    pub file_by_script: Option<Vec<u8>>,
    /// The path at which the rules of its folder have finished, so that they do not run again.
    pub rewritten_in_folder: Option<Vec<u8>>,
    /// The handlers and media types that `RewriteRule [H=]` and `[T=]` have set for this resource.
    pub forced: Vec<Arc<Forced>>,
    /// The settings of the place that has refused the request, if the resource is the page of this
    /// error.
    pub error_of: Option<Arc<Settings>>,
    /// The handler that Perl has chosen for this resource.
    pub handler: Option<Handler>,
    /// The names of the resource's variants that access rules refuse to the client.
    pub refused_variants: Vec<Vec<u8>>,
    /// The folder named after the host, if it is the request's document root.
    pub document_root: Option<Vec<u8>>,
    /// The file of a section's alias, until the server's rules leave the path to the alias.
    pub aliased: Option<AliasedFile>,
    /// Whether a `VirtualScriptAlias` or a section's `ScriptAlias` has mapped the path.
    pub is_program: bool,
    /// Whether the host's rules have found no index in the folder.
    pub lacks_index: bool,
    /// The folder whose index the host's rules have found.
    pub index_of: Option<IndexedFolder>,
    /// Whether a thread has read the path's metadata from the disk.
    pub fetched: bool,
    /// The names that are similar to the missing name of the resource. `None`: no thread has read
    /// the folder.
    pub similar: Option<Arc<SimilarNames>>,
}

/// A folder whose index answers (`DirectoryIndex`).
#[derive(Debug, Clone)]
pub struct IndexedFolder {
    /// The decoded path, with the final slash.
    pub path: Vec<u8>,
    /// The folder on disk, with the final slash.
    pub file: Vec<u8>,
    pub settings: Arc<Settings>,
}

/// The file to which an alias with one argument leads all paths of its section.
#[derive(Debug, Clone)]
pub struct AliasedFile {
    pub file: Vec<u8>,
    pub is_program: bool,
}

/// The names in a folder that are similar to a missing name.
#[derive(Debug, Default)]
pub struct SimilarNames {
    /// The length in bytes of the decoded path before the missing name.
    pub before: usize,
    /// The length in bytes of the decoded path behind the missing name.
    pub behind: usize,
    /// The names, the most similar ones first.
    pub names: Vec<SimilarName>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SimilarName {
    pub likeness: Likeness,
    pub name: Vec<u8>,
}

/// How a name differs from the requested name, the smallest difference first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    OtherCase,
    Transposed,
    Missing,
    Extra,
    Mistyped,
    /// Only the part before the first dot is the same.
    Basename,
}

/// The mapping of a resource.
#[derive(Debug, Clone)]
pub enum Destination {
    /// The path is mapped as the configuration says.
    Mapped,
    /// A file that rules have chosen instead of mapping the path.
    File(Vec<u8>),
    /// A back end that a rule of the host has chosen. As in Apache, no section of a folder or a
    /// file concerns the request then.
    BackEnd(Arc<Proxied>),
    /// A back end that a rule of a folder has chosen.
    BackEndOfFolder(Arc<Proxied>),
}

impl MappingState {
    /// Returns the file that a script or a rule has set in place of the mapped file.
    pub fn file(&self) -> Option<&[u8]> {
        match (&self.file_by_script, &self.destination) {
            (Some(file), _) | (None, Some(Destination::File(file))) => Some(file),
            _ => None,
        }
    }

    /// Returns the back end that a rule has chosen.
    pub fn back_end(&self) -> Option<&Arc<Proxied>> {
        match &self.destination {
            Some(Destination::BackEnd(proxied) | Destination::BackEndOfFolder(proxied))
                if self.file_by_script.is_none() =>
            {
                Some(proxied)
            }
            _ => None,
        }
    }

    /// Returns the back end that a rule of a folder has chosen.
    pub fn back_end_of_folder(&self) -> Option<&Arc<Proxied>> {
        let is_of_folder = matches!(self.destination, Some(Destination::BackEndOfFolder(_)));
        self.back_end().filter(|_| is_of_folder)
    }

    /// Returns the back end that a rule of the host has chosen.
    pub fn back_end_of_host(&self) -> Option<&Arc<Proxied>> {
        let is_of_host = matches!(self.destination, Some(Destination::BackEnd(_)));
        self.back_end().filter(|_| is_of_host)
    }

    /// Whether the resource, with these settings, is the page of a refusal and lies at the place
    /// that has refused the request. As in Apache, access to such a page is not checked.
    pub fn is_page_of(&self, settings: &Settings) -> bool {
        let refusing = self.error_of.as_ref();
        refusing.is_some_and(|refusing| !settings.are_checked_behind(refusing))
    }

    /// Whether a rule has chosen the handler or the back end, or the resource is the page of a
    /// refusal. A kept route of the path is then of no use.
    pub fn has_chosen_handler(&self) -> bool {
        !self.forced.is_empty()
            || self.handler.is_some()
            || self.error_of.is_some()
            || self.is_program
            || self.lacks_index
            || self.back_end().is_some()
    }

    /// Notes the file of a path in a folder named after the host.
    pub fn take_virtual(&mut self, mapped: VirtualFile) {
        self.destination = Some(Destination::File(mapped.file));
        self.is_program = mapped.is_program;
        self.document_root = Some(mapped.document_root);
    }

    /// Drops the rules' results for the earlier resource.
    pub(super) fn leave_resource(&mut self) {
        self.destination = None;
        self.refused_variants.clear();
        self.rewritten_in_folder = None;
        self.forced.clear();
        self.handler = None;
        self.error_of = None;
        self.document_root = None;
        self.aliased = None;
        self.is_program = false;
        self.lacks_index = false;
        self.index_of = None;
        self.similar = None;
    }
}
