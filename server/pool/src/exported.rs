//! Runs the shell script `envvars` and learns the variables that it exports. Debian's apachectl
//! runs this script before it starts Apache, and Debian's configuration uses the variables.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The longest output in bytes.
const LONGEST: u64 = 1 << 20;
const ENDLESS: &str = "expected a shell script that ends; it is still running after a long wait";
/// Variables that the shell itself exports.
const OF_THE_SHELL: [&str; 5] = ["PATH", "PWD", "OLDPWD", "SHLVL", "_"];
/// `$1` is the script's name. `env -0` prints the variables that the script exports.
const PROGRAM: &str = r#". "$1" </dev/null >/dev/null 2>&1 || exit 1; exec env -0"#;

/// Returns the variables that `file` exports.
pub fn of(file: &Path, patience: Duration) -> Result<BTreeMap<String, String>, String> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let folder = folder.canonicalize().map_err(|error| error.to_string())?;
    let mut shell = Command::new("/bin/sh")
        .args(["-c", PROGRAM, "sh", "./envvars"])
        .current_dir(&folder)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("APACHE_CONFDIR", &folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("/bin/sh: {error}"))?;
    let until = Instant::now() + patience;
    let printed = read(&mut shell, until).and_then(|printed| {
        let status = wait(&mut shell, until)?;
        Ok((printed, status))
    });
    if printed.is_err() {
        // A shell that has already ended cannot be killed.
        let _ = shell.kill();
        let _ = shell.wait();
    }
    let (printed, status) = printed?;
    if !status.success() {
        return Err(format!(
            "expected a shell script that exports variables; /bin/sh ended with {status}"
        ));
    }
    Ok(variables(&printed))
}

/// Reads the shell's output. Another thread reads, so that a script that waits can be given up.
fn read(shell: &mut Child, until: Instant) -> Result<Vec<u8>, String> {
    let output = shell.stdout.take().ok_or("its pipe cannot be opened")?;
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = output.take(LONGEST).read_to_end(&mut bytes);
        // The receiver may have given up.
        let _ = sender.send(read.map(|_| bytes));
    });
    let left = until.saturating_duration_since(Instant::now());
    let read = receiver.recv_timeout(left).map_err(|_| ENDLESS)?;
    read.map_err(|error| error.to_string())
}

/// Waits for the end of the shell, which may go on after its output has ended.
fn wait(shell: &mut Child, until: Instant) -> Result<ExitStatus, String> {
    loop {
        match shell.try_wait().map_err(|error| error.to_string())? {
            Some(status) => return Ok(status),
            None if Instant::now() >= until => return Err(ENDLESS.to_owned()),
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn variables(printed: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(printed);
    let pairs = text.split('\0').filter_map(|pair| pair.split_once('='));
    pairs
        .filter(|(name, _)| !OF_THE_SHELL.contains(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envvars(text: &str) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("envvars"), text).expect("written");
        folder
    }

    #[test]
    fn exported_variables_are_learned_and_the_shells_own_are_not() {
        let folder = envvars(
            "unset HOME\nif [ \"${APACHE_CONFDIR##/etc/apache2-}\" != \"${APACHE_CONFDIR}\" ]; then\n\
             SUFFIX=-x\nelse\nSUFFIX=\nfi\necho noise\nexport RUN=/run/a$SUFFIX\nHIDDEN=1\n\
             export TWO='a\nb'\n",
        );
        let file = folder.path().join("envvars");
        let found = of(&file, Duration::from_secs(60)).expect("variables");
        let value = |name: &str| found.get(name).map(String::as_str);
        assert_eq!(value("RUN"), Some("/run/a"));
        assert_eq!(value("TWO"), Some("a\nb"));
        assert_eq!(found.len(), 3, "with APACHE_CONFDIR: {found:?}");
    }

    #[test]
    fn a_script_that_fails_or_waits_is_an_error() {
        let folder = envvars("exit 3\n");
        let error = of(&folder.path().join("envvars"), Duration::from_secs(60));
        assert!(error.expect_err("refused").contains("exit status"));
        let folder = envvars("exec sleep 1000\n");
        let error = of(&folder.path().join("envvars"), Duration::from_millis(50));
        assert!(error.expect_err("refused").contains("that ends"));
    }
}
