//! Serves each configuration of Debian's packages that maps URL paths to files, on Mehari and on
//! Apache. For each mapped path and some of its files both servers must give the same answer.

use super::accepted::{files, modules};
use mehari_harness::{needs, Answer, Builder, Pair, Request, Server};
use std::path::{Path, PathBuf};

/// The lines of Debian's apache2.conf and of the modules that it enables, on which packages count.
const DEBIAN: &str = "\
<Directory />\nOptions FollowSymLinks\nAllowOverride None\nRequire all denied\n</Directory>\n\
<Directory /usr/share>\nAllowOverride None\nRequire all granted\n</Directory>\n\
<Directory @ROOT@/htdocs>\nRequire all granted\n</Directory>\n\
AccessFileName .htaccess\n<FilesMatch \"^\\.ht\">\nRequire all denied\n</FilesMatch>\n\
Include /etc/apache2/mods-available/mime.conf\n\
Include /etc/apache2/mods-available/dir.conf\n\
Include /etc/apache2/mods-available/negotiation.conf\n\
Include /etc/apache2/mods-available/alias.conf\n\
Include /etc/apache2/mods-available/autoindex.conf\n\
Include /etc/apache2/mods-available/setenvif.conf\n\
Include /etc/apache2/conf-available/serve-cgi-bin.conf\n";

/// A line `Alias` of a configuration. `make programs` compares programs of packages.
struct Mapped {
    url: String,
    path: PathBuf,
}

fn mapped(conf: &Path) -> Vec<Mapped> {
    let text = std::fs::read_to_string(conf).unwrap_or_default();
    // The hosts of a package listen on port 80, and the servers of the tests on another.
    if text.contains("<VirtualHost") {
        return Vec::new();
    }
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace().map(|word| word.trim_matches('"'));
        let name = words.next()?;
        name.eq_ignore_ascii_case("alias").then_some(())?;
        Some(Mapped {
            url: words.next()?.to_owned(),
            path: PathBuf::from(words.next()?),
        })
    });
    lines
        .filter(|one| one.url.starts_with('/') && one.path.is_absolute())
        .collect()
}

/// Returns the URL paths to ask for: the mapped path with and without a slash, a missing file, and
/// the first files of the folder and of its first folders.
fn targets(one: &Mapped) -> Vec<String> {
    let base = one.url.trim_end_matches('/');
    let mut targets = vec![
        base.to_owned(),
        format!("{base}/"),
        format!("{base}/no-such-file"),
    ];
    for (depth, name) in below(&one.path, 2) {
        if depth < 3 {
            targets.push(format!("{base}/{name}"));
        }
    }
    targets
}

/// Returns names below a folder, at most five of each folder, with their depth.
fn below(folder: &Path, levels: usize) -> Vec<(usize, String)> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    entries.sort();
    let mut names = Vec::new();
    for entry in entries.iter().take(5) {
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let is_plain = name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        if !is_plain {
            continue;
        }
        if entry.is_dir() && levels > 1 {
            let inner = below(entry, levels - 1).into_iter();
            names.extend(inner.map(|(depth, inner)| (depth + 1, format!("{name}/{inner}"))));
        }
        names.push((1, name));
    }
    names
}

fn site(conf: &Path) -> Builder {
    let modules = modules();
    Server::builder()
        .file("htdocs/index.html", "start")
        .conf("User www-data\nGroup www-data\n")
        .conf(&modules)
        .conf(DEBIAN)
        .conf(&format!("Include {}\n", conf.display()))
}

/// The parts of an answer that must be the same. The servers' own pages and listings, and the pages
/// of programs, differ.
fn essence(answer: &Answer) -> String {
    let field = |name: &str| answer.all(name).join(", ");
    let is_file = answer.status == 200 && !field("etag").is_empty();
    let own = [
        "location",
        "content-encoding",
        "content-language",
        "etag",
        "last-modified",
    ];
    let mut seen = vec![answer.status.to_string()];
    if answer.status == 200 {
        seen.push(format!("content-type: {}", field("content-type")));
    }
    seen.extend(own.iter().map(|name| format!("{name}: {}", field(name))));
    if is_file {
        seen.push(format!(
            "{} bytes: {}",
            answer.body.len(),
            digest(&answer.body)
        ));
    }
    seen.join("\n")
}

/// The differences that docs/explanation/limits.md names: the source of an executable script is
/// never sent, nor a Perl module, and a file in a folder that the server may not enter is missing.
fn is_on_purpose(target: &str, ours: &Answer, theirs: &Answer) -> bool {
    match (ours.status, theirs.status) {
        (404, 200) => target.ends_with(".pm"),
        (403, 200) => theirs.body.starts_with(b"#!"),
        (404, 403) => true,
        _ => false,
    }
}

fn digest(body: &[u8]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    body.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn what_debians_packages_map_is_served_as_by_apache() {
    needs!("apache2", "libapache2-mod-perl2");
    let (mut asked, mut differences) = (0, Vec::new());
    for file in files() {
        let lines = mapped(&file);
        if lines.is_empty() {
            continue;
        }
        let mut pair = Pair::start(|| site(&file));
        for target in lines.iter().flat_map(targets) {
            let answers: Vec<(String, Answer)> = pair
                .servers()
                .map(|server| {
                    (
                        server.address.to_string(),
                        server.send(&Request::get(&target)),
                    )
                })
                .collect();
            let seen: Vec<String> = answers
                .iter()
                .map(|(address, answer)| essence(answer).replace(address, "SERVER"))
                .collect();
            asked += 1;
            let is_same = seen.iter().all(|one| *one == seen[0]);
            if let [(_, ours), (_, theirs)] = &answers[..] {
                if !is_same && !is_on_purpose(&target, ours, theirs) {
                    let name = file.display();
                    differences.push(format!("{name} {target}\n{}", seen.join("\n--- Apache:\n")));
                }
            }
        }
        // FastCGI programs that a folder holds stay for their next request.
        pair.may_keep_what_it_has();
    }
    assert!(differences.is_empty(), "{}", differences.join("\n\n"));
    assert!(asked > 10, "only {asked} paths were asked for");
}
