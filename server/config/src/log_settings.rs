//! The logs' destinations, formats and levels.

use std::path::PathBuf;

use crate::Condition;

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogTarget {
    Stderr,
    Off,
    File(PathBuf),
    /// A program that reads the lines from its standard input.
    Pipe(LogProgram),
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct LogProgram {
    pub command: String,
    /// `|$command`: a shell runs the program.
    pub by_shell: bool,
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessFormat {
    Combined,
    Json,
    /// A short line with the duration, for a person at a terminal.
    Terminal,
    Custom(
        #[serde(serialize_with = "crate::log_format::as_text")] std::sync::Arc<crate::LogFormat>,
    ),
}

impl AccessFormat {
    pub fn needs(&self) -> crate::LogNeeds {
        match self {
            AccessFormat::Custom(format) => format.needs(),
            AccessFormat::Combined => crate::LogNeeds::default(),
            AccessFormat::Json => crate::LogNeeds {
                more: true,
                duration: true,
                ..crate::LogNeeds::default()
            },
            AccessFormat::Terminal => crate::LogNeeds {
                duration: true,
                ..crate::LogNeeds::default()
            },
        }
    }
}

/// The settings of one `CustomLog` or `TransferLog` line.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct AccessLogSettings {
    pub target: LogTarget,
    pub format: AccessFormat,
    /// `env=NAME`, `env=!NAME` or `expr=EXPRESSION`.
    pub condition: Condition,
}

impl AccessLogSettings {
    pub fn needs(&self) -> crate::LogNeeds {
        let of_format = self.format.needs();
        crate::LogNeeds {
            more: of_format.more || self.condition != Condition::Always,
            ..of_format
        }
        .and(match self.condition {
            Condition::Expression(_) => crate::LogNeeds::of_expression(),
            Condition::Always | Condition::Variable { .. } => crate::LogNeeds::default(),
        })
    }

    pub fn combined(target: LogTarget) -> AccessLogSettings {
        AccessLogSettings {
            target,
            format: AccessFormat::Combined,
            condition: Condition::Always,
        }
    }
}

#[derive(Debug, Clone, serde::Serialize)]
pub struct LogSettings {
    /// The access logs. Each log gets every request that meets its condition. Empty: there is no
    /// access log.
    pub access: Vec<AccessLogSettings>,
    pub error: LogTarget,
    pub level: LogLevel,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Emerg,
    Alert,
    Crit,
    Error,
    Warn,
    Notice,
    Info,
    Debug,
}
