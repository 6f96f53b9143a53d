# Sets up real CGI programs of Debian packages as pages that the rungs and mod_cgi can be measured
# with. A program is copied from its package to SITE/scripts/NAME.pl and is changed only in the
# paths of its configuration. Its data lie in SITE/data/NAME, where each server's user can write.
package Programs;
use strict;
use warnings;
use File::Path qw(make_path);

# page: its name. file: the program in its package. package: of Debian. words: texts of the program
# and what replaces them (SITE and DATA stand for folders). query: of the measured request. proof:
# what the answer contains. prepare: makes the data; its working directory is the folder of data.
my @ALL = (
    {page => 'readparse', package => 'none (cgi-lib.pl of the 1990s)', file => '{tests}/nineties/cgi/readparse.pl',
        beside => ['{tests}/nineties/cgi/cgi-lib.pl'], query => '?name=Ann&x=1&x=2', proof => qr{There were 2 fields}},
    {page => 'usemod', package => 'usemod-wiki', file => '/usr/lib/cgi-bin/wiki.pl', query => '?action=index', proof => qr{pages found},
        words => [['"/var/lib/usemod-wiki"', '"{DATA}"'], ['"/etc/usemod-wiki/config"', '"{DATA}/none"']]},
    {page => 'awstats', package => 'awstats', file => '/usr/lib/cgi-bin/awstats.pl', query => '?config=site', proof => qr{Statistics for site\.example},
        prepare => \&count_visits},
    {page => 'gitweb', package => 'gitweb', file => '/usr/share/gitweb/gitweb.cgi', query => '?p=one.git;a=summary', proof => qr{the third change},
        words => [['"/etc/gitweb.conf"', '"{DATA}/gitweb.conf"']], prepare => \&make_repository},
    {page => 'mailgraph', package => 'mailgraph', file => '/usr/share/mailgraph/mailgraph.cgi', query => '', proof => qr{Mail statistics}i,
        words => [['/var/lib/mailgraph', '{DATA}']]},
    {page => 'lightsquid', package => 'lightsquid', file => '/usr/lib/cgi-bin/lightsquid/index.cgi', query => '?year=2024&month=01', proof => qr{LightSquid},
        beside => ['/usr/lib/cgi-bin/lightsquid/common.pl', '/usr/lib/cgi-bin/lightsquid/lightsquid.cfg'],
        words => [['/var/lib/lightsquid/report', '{DATA}/report']], prepare => \&count_proxy},
);
my %BY_PAGE = map { $_->{page} => $_ } @ALL;

sub pages   { return map { $_->{page} } @ALL }
sub program { my ($page) = @_; return $BY_PAGE{$page} }

# Returns whether the program's package is installed.
sub installed {
    my ($page) = @_;
    return -r path($BY_PAGE{$page}{file});
}

# The 1990s' scripts belong to the project's tests, whose folder stands beside this program's.
sub path {
    my ($text) = @_;
    my $tests = __FILE__ =~ s{[^/]+\z}{../../tests/programs}r;
    return $text =~ s/\{tests\}/$tests/r;
}

# Copies a program to the site and makes its data. Dies with the reason if this fails.
sub prepare {
    my ($page, $site) = @_;
    my $program = $BY_PAGE{$page};
    my $data    = "$site/data/$page";
    make_path($data, {mode => 0777});
    copy(path($program->{file}), "$site/scripts/$page.pl", $program, $data);
    for my $file (map { path($_) } @{$program->{beside} // []}) {
        copy($file, "$site/scripts/" . ($file =~ s{.*/}{}r), $program, $data);
    }
    $program->{prepare}->($data, $site) if $program->{prepare};
    run('chmod', '-R', 'a+rwX', "$site/data");
    return;
}

sub copy {
    my ($from, $to, $program, $data) = @_;
    open my $in, '<:raw', $from or die "$from: $!\n";
    my $text = do { local $/; <$in> };
    for my $pair (@{$program->{words} // []}) {
        my ($old, $new) = ($pair->[0], $pair->[1] =~ s/\{DATA\}/$data/gr);
        $text =~ s/\Q$old\E/$new/g;
    }
    write_file($to, $text);
    chmod 0755, $to;
    return;
}

sub write_file {
    my ($path, $text) = @_;
    open my $out, '>:raw', $path or die "$path: $!\n";
    print {$out} $text;
    close $out or die "$path: $!\n";
    return;
}

sub run {
    my (@command) = @_;
    system(@command) == 0 or die "`@command` failed\n";
    return;
}

# 3,000 visits of January 2024 in the log of a web server, and awstats' own count of the log.
sub count_visits {
    my ($data, $site) = @_;
    my $log = join '', map {
        sprintf qq{192.0.2.%d - - [%02d/Jan/2024:12:%02d:00 +0000] "GET /page%d.html HTTP/1.1" 200 %d "http://www.example.net/" "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko/20100101 Firefox/120.0"\n},
            $_ % 200, 1 + $_ / 120, $_ % 60, $_ % 40, 1000 + $_
    } 0 .. 2999;
    write_file("$data/access.log", $log);
    write_file("$site/scripts/awstats.site.conf", <<"END");
LogFile="$data/access.log"
LogType=W
LogFormat=1
LogSeparator=" "
SiteDomain="site.example"
HostAliases="localhost 127.0.0.1"
DNSLookup=0
DirData="$data"
DirCgi="/cgi-bin"
DirIcons="/icon"
END
    run('sh', '-c', "perl '$site/scripts/awstats.pl' -config=site -update > '$data/update.log' 2>&1");
    return;
}

# A repository of three commits.
sub make_repository {
    my ($data) = @_;
    write_file("$data/gitweb.conf", "our \$projectroot = '$data';\nour \$git_temp = '$data';\n1;\n");
    my $git = 'git -c user.name=Ann -c user.email=ann@example.org -c init.defaultBranch=main';
    run('sh', '-c', "mkdir '$data/work' && cd '$data/work' && $git init -q && for change in first second third; do echo \$change >> notes"
        . " && git add notes && $git commit -q -m \"the \$change change\" || exit 1; done && $git clone -q --bare . '$data/one.git'"
        . " && git --git-dir='$data/one.git' config core.sharedRepository world");
    return;
}

# A day in the log of a proxy, and lightsquid's report of the day.
sub count_proxy {
    my ($data) = @_;
    my $log = join '', map {
        sprintf "%d.123 200 192.0.2.%d TCP_MISS/200 %d GET http://site%d.example/page user%d HIER_DIRECT/192.0.2.9 text/html\n",
            1_704_450_000 + $_ * 60, $_ % 3 + 1, 1000 * ($_ + 1), $_ % 4, $_ % 20
    } 0 .. 199;
    my $share = "$data/share";
    run('cp', '-R', '/usr/share/lightsquid', $share);
    write_file("$data/access.log", $log);
    run('sed', '-i', "s|/var/lib/lightsquid|$data|; s|/var/log/squid3*|$data|", "$share/lightsquid.cfg");
    run('sh', '-c', "mkdir -p '$data/report' && cd '$share' && perl lightparser.pl 20240105 > '$data/parser.log' 2>&1");
    return;
}

1;
