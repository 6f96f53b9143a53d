//! The function through which this crate reports events of back ends.

use mehari_config::LogLevel;
use std::rc::Rc;

/// A function that takes one line for the error log.
pub type Report = Rc<dyn Fn(LogLevel, &str)>;
