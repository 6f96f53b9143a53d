//! The properties of a file's content that follow from its name.

use super::words::put;
use crate::Change;

/// The properties that follow from a file's name, except those of `AddType` and `AddHandler`.
#[derive(Debug, Clone, Default, PartialEq, serde::Serialize)]
pub struct Media {
    /// `AddEncoding`: the suffix without the dot, in lower case, and the content coding.
    pub encodings: Vec<(String, String)>,
    pub charsets: Vec<(String, String)>,
    pub default_charset: Option<String>,
    /// `AddLanguage`: the suffix without the dot, in lower case, and the language tag.
    pub languages: Vec<(String, String)>,
    pub default_language: Option<String>,
    pub force_type: Option<String>,
    /// The table of `TypesConfig`, which replaces the built-in table.
    pub types: Option<std::sync::Arc<crate::MediaTypes>>,
    /// `RemoveType`: the suffixes whose built-in type is removed.
    pub removed_types: Vec<String>,
    /// `Action`: the media type or handler name, and the URL path of the program.
    pub actions: Vec<(String, String)>,
    /// `Script`: the method, and the URL path of the program.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<(String, String)>,
}

impl Media {
    pub(super) fn change(&mut self, change: &Change) {
        let forget = |list: &mut Vec<(String, String)>, suffix: &String| {
            list.retain(|(known, _)| known != suffix);
        };
        match change {
            Change::AddEncoding(suffix, coding) => put(&mut self.encodings, suffix, coding.clone()),
            Change::RemoveEncoding(suffix) => forget(&mut self.encodings, suffix),
            Change::AddCharset(suffix, charset) => put(&mut self.charsets, suffix, charset.clone()),
            Change::RemoveCharset(suffix) => forget(&mut self.charsets, suffix),
            Change::AddLanguage(suffix, tag) => put(&mut self.languages, suffix, tag.clone()),
            Change::RemoveLanguage(suffix) => forget(&mut self.languages, suffix),
            Change::DefaultLanguage(tag) => self.default_language = Some(tag.clone()),
            Change::DefaultCharset(charset) => self.default_charset.clone_from(charset),
            Change::ForceType(media_type) => self.force_type.clone_from(media_type),
            Change::TypesConfig(types) => self.types = Some(types.clone()),
            Change::RemoveType(suffix) => self.removed_types.push(suffix.clone()),
            Change::Action(name, path) => put(&mut self.actions, name, path.clone()),
            Change::Script(method, path) => put(&mut self.scripts, method, path.clone()),
            _ => {}
        }
    }
}
