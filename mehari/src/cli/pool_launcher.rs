//! `mehari pool-launcher`: starts the Perl of a `<PerlPool>` as the pool's user and in its cgroup.
//! Only the server starts this command. Its standard input is a socket.

mod cgroup;

use super::serve::identity::Identity;
use clap::Parser;
use mehari_config::Cgroup;
use mehari_pool::launcher::serve;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "mehari pool-launcher", about = "The server starts this itself")]
struct LauncherOptions {
    /// The pool, for people who look at the processes.
    #[arg(long)]
    pool: String,
    #[arg(long)]
    user: Option<String>,
    #[arg(long)]
    group: Option<String>,
    #[arg(long)]
    cgroup: Option<PathBuf>,
    /// FILE=VALUE of the cgroup.
    #[arg(long)]
    value: Vec<String>,
}

pub fn run(arguments: Vec<OsString>) -> ExitCode {
    let options: LauncherOptions = match super::arguments::parse("mehari pool-launcher", arguments)
    {
        Ok(options) => options,
        Err(status) => return status,
    };
    let input = std::io::stdin();
    if rustix::net::sockopt::get_socket_domain(&input).is_err() {
        eprintln!("mehari pool-launcher: the server starts this itself; expected a socket");
        return ExitCode::from(2);
    }
    let Ok(socket) = input.as_fd().try_clone_to_owned() else {
        return ExitCode::FAILURE;
    };
    let served = match prepare(&options) {
        Ok(()) => serve::serve(socket),
        Err(reason) => serve::refuse(socket, &reason),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("mehari pool-launcher of {}: {error}", options.pool);
            ExitCode::FAILURE
        }
    }
}

/// Joins the cgroup, which may need root, and then becomes the pool's user.
fn prepare(options: &LauncherOptions) -> Result<(), String> {
    if let Some(path) = &options.cgroup {
        let values = options.value.iter();
        let values = values.filter_map(|text| text.split_once('='));
        let values = values.map(|(file, value)| (file.to_owned(), value.to_owned()));
        cgroup::join(&Cgroup {
            path: path.clone(),
            values: values.collect(),
        })?;
    }
    let Some(user) = &options.user else {
        return Ok(());
    };
    let identity = Identity::named(user, options.group.as_deref())?;
    // The Perl side may have to be built for the pool's perl, and is then kept in the home folder.
    std::env::remove_var("XDG_CACHE_HOME");
    std::env::set_var("HOME", identity.home());
    identity.assume()
}
