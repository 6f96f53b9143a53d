//! The files into which the comparison is written: `-o FILE.html` and `-o FILE.json`.

use std::path::PathBuf;

use super::Failure;
use crate::cli::records::check_place;

#[derive(Clone, Copy)]
enum Form {
    Html,
    Json,
}

pub struct Outputs(Vec<(PathBuf, Form)>);

/// The comparison in each form.
pub trait Forms {
    fn html(&self) -> String;
    fn json(&self) -> String;
}

impl Outputs {
    /// Checks the paths before the first run.
    pub fn check(paths: &[PathBuf]) -> Result<Outputs, Failure> {
        let forms = paths.iter().map(|path| {
            check_place(path).map_err(Failure::Usage)?;
            let extension = path.extension().and_then(|it| it.to_str());
            let form = match extension {
                Some("html" | "htm") => Form::Html,
                Some("json") => Form::Json,
                _ => {
                    return Err(Failure::Usage(format!(
                        "the form of `{}` is not known by its extension; expected .html or .json",
                        path.display()
                    )))
                }
            };
            Ok((path.clone(), form))
        });
        forms.collect::<Result<_, _>>().map(Outputs)
    }

    pub fn write(&self, forms: &dyn Forms) -> Result<(), Failure> {
        self.0.iter().try_for_each(|(path, form)| {
            let text = match form {
                Form::Html => forms.html(),
                Form::Json => forms.json(),
            };
            std::fs::write(path, text).map_err(|cause| {
                Failure::Failed(format!("cannot write {}: {cause}", path.display()))
            })
        })
    }
}
