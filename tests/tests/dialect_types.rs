//! Tests the effects of a file's name under Debian's configuration: `TypesConfig`, the names of
//! `Action`, and scripts without a handler. Each response must equal Apache's.

use mehari_harness::{Builder, Pair, Server};

const TYPES: &str = "# media types\ntext/html\t\thtml htm\napplication/x-chess-pgn pgn PGN2\n\
    text/x-perl pl pm\ntext/plain txt\n";
const SHOW: &str = "#!/usr/bin/perl\nprint qq{Content-Type: text/plain\\n\\n}, \
    join ' ', map { $_ . '=' . ($ENV{$_} // '-') } \
    qw(PATH_INFO REDIRECT_STATUS REDIRECT_HANDLER REDIRECT_URL REDIRECT_QUERY_STRING);\n";

fn site() -> Builder {
    let builder = Server::builder()
        .file("mime.types", TYPES)
        .file("htdocs/game.pgn", "1. e4")
        .file("htdocs/game.pgn2", "1. e4")
        .file("htdocs/page.html", "page")
        .file("htdocs/movie.mp4", "no movie")
        .file("htdocs/plain.pl", "print 1;\n")
        .file("htdocs/late.pgn", "2. e5")
        .file("htdocs/one.show", "one")
        .file("htdocs/set/two.txt", "two")
        .file("cgi/show.pl", SHOW)
        .conf(
            "TypesConfig @ROOT@/mime.types\n<Directory @ROOT@>\nRequire all granted\n</Directory>\n\
             ScriptAlias /cgi/ @ROOT@/cgi/\nAddHandler show-it .show\nAction show-it /cgi/show.pl\n\
             <Location /set>\nSetHandler show-it\n</Location>\n\
             <Files late.pgn>\nAddType text/late .pgn\n</Files>\n",
        );
    // Mehari never sends the source of an executable script, so `plain.pl` must not be executable.
    for (folder, name, mode) in [("cgi", "show.pl", 0o755), ("htdocs", "plain.pl", 0o644)] {
        let file = builder.folder_of(folder).join(name);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(file, mode).expect("own file");
    }
    builder
}

#[test]
fn names_of_files_have_the_same_effects_as_in_apache() {
    let mut pair = Pair::start(site).mask(&[("/tmp/mehari-test-[A-Za-z0-9]*", "ROOT")]);
    for (path, status, media_type) in [
        ("/game.pgn", 200, Some("application/x-chess-pgn")),
        ("/game.pgn2", 200, Some("application/x-chess-pgn")),
        ("/page.html", 200, Some("text/html")),
        ("/movie.mp4", 200, None),
        ("/plain.pl", 200, Some("text/x-perl")),
        ("/late.pgn", 200, Some("text/late")),
        ("/one.show", 200, Some("text/plain")),
        ("/one.show?q=1", 200, Some("text/plain")),
        ("/set/two.txt", 200, Some("text/plain")),
    ] {
        let answer = pair.get(path);
        assert_eq!(answer.status, status, "{path}");
        assert_eq!(
            answer.field("content-type").as_deref(),
            media_type,
            "{path}"
        );
    }
}
