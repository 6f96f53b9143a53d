//! A site over a folder, made by hand.

use mehari_config::*;
use std::path::Path;
use std::time::Duration;

pub fn site(root: &Path) -> Site {
    Site {
        listen: vec![],
        server_root: root.into(),
        document_root: root.into(),
        server_name: None,
        server_admin: None,
        pid_file: None,
        aliases: vec![],
        base: Settings {
            handler: None,
            add_handler: vec![],
            add_type: vec![],
            directory_index: vec!["index.html".into()],
            exec_cgi: true,
            parse_headers: true,
            set_env: vec![],
            set_var: vec![],
            denied: false,
            request_timeout: Duration::from_secs(60),
            body_limit: 1 << 20,
            error_documents: vec![],
        },
        sections: vec![],
        by_name: Some(Rung::Auto),
        perl: PerlSettings {
            interpreter: "/usr/bin/perl".into(),
            switches: vec![],
            preloads: vec![],
            pass_env: vec![],
            set_env: vec![],
        },
        workers: WorkerPolicy {
            stop_timeout: Duration::from_secs(5),
            ..WorkerPolicy::default()
        },
        limits: ConnectionLimits {
            request_line: 8190,
            fields: 100,
            field_size: 8190,
            header_size: 64 * 1024,
            header_timeout: Duration::from_secs(20),
            body_timeout: Duration::from_secs(20),
            write_timeout: Duration::from_secs(60),
            keep_alive: Some(Duration::from_secs(5)),
            keep_alive_requests: 0,
            connections: 1000,
            backlog: 511,
        },
        logs: LogSettings {
            access: LogTarget::Off,
            access_format: AccessFormat::Combined,
            error: LogTarget::Stderr,
            level: LogLevel::Warn,
        },
        files: vec![],
    }
}
