#!/usr/bin/perl
# Runs one check of the installed program, inside a root of tests/packages or tests/portable:
# `installed.pl CHECK`. If the check fails, it dies with the reason.
use strict;
use warnings;
use Fcntl qw(F_SETFD);
use File::Path qw(make_path);
use HTTP::Tiny;
use IO::Socket::INET;
use POSIX ();

my $CONF   = '/etc/mehari/mehari.conf';
my %CHECKS = (
    'the default configuration serves'        => \&default_serves,
    'scripts, handlers and applications run'  => \&site_runs_without_a_build,
    'scripts, handlers and applications run with this perl' => \&site_runs,
    'plackup finds the handler'               => \&plackup_runs,
    'nothing of other authors is replaced'    => \&names_are_own,
    'manual and completions are there'        => \&manual_is_there,
    'an upgrade under load loses no request'  => \&upgrade_loses_nothing,
    'removal keeps the configuration'         => \&removal,
    'purge leaves nothing'                    => \&purge,
);
# The unit's RuntimeDirectory= makes this folder, but there is no systemd in the root.
run(qw(install -d -o mehari -g mehari /run/mehari)) if getpwnam 'mehari';
$CHECKS{ $ARGV[0] }->();

sub default_serves {
    run('mehari', 'check', '-f', $CONF);
    my $control = '/run/mehari/control.sock';
    my $server = serve('mehari', 'serve', '-f', $CONF, '--listen', '127.0.0.1:0', '--control', $control);
    expect($server, '/', qr/Mehari serves this page/);
    output('mehari', 'status', '--control', $control) =~ /generation 1/ or die "root gets no status\n";
    stop($server);
    -s '/var/log/mehari/access.log' or die "no access log was written\n";
}

sub site_runs {
    write_file('/srv/site/index.html', 'a file');
    write_file('/srv/site/perl/registry.pl', "#!/usr/bin/perl\nuse Apache2::RequestUtil ();\nmy \$r = shift;\n\$r->content_type('text/plain');\nprint 'registry ', ref \$r;\n");
    write_file('/srv/site/cgi/script.cgi', "#!/usr/bin/perl\nuse CGI;\nprint CGI->new->header('text/plain'), 'script ', CGI->new->param('a') // '';\n");
    write_file('/srv/site/app.psgi', "use Mehari::State;\nsub { [200, ['Content-Type' => 'text/plain'], [\"application \$Mehari::State::VERSION\"]] }\n");
    for my $script (qw(one two)) {
        write_file("/srv/site/own/$script.pl", "#!/usr/bin/perl\nour \$count;\n\$count++;\nprint qq(Content-Type: text/plain\\n\\n$script \$count);\n");
        chmod 0755, "/srv/site/own/$script.pl";
    }
    chmod 0755, '/srv/site/perl/registry.pl', '/srv/site/cgi/script.cgi';
    make_path('/srv/site-log');
    chown((getpwnam 'mehari')[2, 3], '/srv/site-log') if getpwnam 'mehari';
    write_file('/srv/site.conf', <<'END');
ServerRoot   /srv/site
DocumentRoot /srv/site
ErrorLog     /srv/site-log/error.log
Alias        /fork/ /srv/site/own/
Alias        /rewind/ /srv/site/own/
ScriptAlias  /cgi-bin/ /srv/site/cgi/
<Location /perl>
    SetHandler          perl-script
    PerlResponseHandler ModPerl::Registry
    Options             +ExecCGI
</Location>
<Location /fork>
    SetHandler          perl-script
    PerlResponseHandler Mehari::Fork
    Options             +ExecCGI
    PerlOptions         +ParseHeaders
</Location>
<Location /rewind>
    SetHandler          perl-script
    PerlResponseHandler Mehari::Rewind
    Options             +ExecCGI
    PerlOptions         +ParseHeaders
</Location>
<Location /app>
    SetHandler psgi
    PSGIApp    /srv/site/app.psgi
</Location>
END
    run('mehari', 'check', '-f', '/srv/site.conf');
    my $server = serve('mehari', 'serve', '-f', '/srv/site.conf', '--listen', '127.0.0.1:0');
    expect($server, '/index.html', qr/^a file$/);
    expect($server, '/perl/registry.pl', qr/^registry Apache2::RequestRec$/);
    expect($server, '/cgi-bin/script.cgi?a=b', qr/^script b$/);
    expect($server, '/app', qr/^application [\d.]+$/);
    for my $rung (qw(fork rewind)) {
        for my $script (qw(one two)) { expect($server, "/$rung/$script.pl", qr/^$script 1$/) for 1 .. 2 }
    }
    stop($server);
    # Other processors have no code of the rung rewind.
    my $said = () = read_file('/srv/site-log/error.log') =~ /does not allow the rung rewind/g;
    my $expected = (POSIX::uname())[4] eq 'x86_64' ? 0 : 1;
    $said == $expected or die "the log says $said times that the rung rewind cannot be, expected $expected\n";
}

sub site_runs_without_a_build {
    site_runs();
    # The package contains the modules for this perl, so nothing was built.
    my @built = grep { -d } glob '/var/lib/mehari/.cache/mehari/perl/* /usr/share/mehari/perl/build/*';
    !@built or die "the server built the modules anew: @built\n";
}

sub plackup_runs {
    my $server = serve(qw(plackup -s Mehari --listen 127.0.0.1:0 -e), 'sub { [200, [], ["by plackup"]] }');
    expect($server, '/', qr/^by plackup$/);
    stop($server);
}

# Checks that mod_perl's modules are in a folder where only the server finds them.
sub names_are_own {
    my @modules = grep { m{/perl5/} && -f } split /\n/, output(qw(dpkg -L mehari));
    @modules > 100 or die 'expected the modules, not ' . @modules . "\n";
    my @others = grep { !m{/Mehari(?:/|\.pm$)} } @modules;
    !@others or die "@others\n";
    system("$^X -e 'require Apache2::RequestRec' 2>/dev/null") != 0 or die "perl finds Mehari's Apache2::RequestRec\n";
}

sub manual_is_there {
    my %has = map { $_ => 1 } split /\n/, output(qw(dpkg -L mehari));
    # Minimal systems leave out /usr/share/man, but the package's list names its files.
    for my $file (qw(man/man1/mehari.1.gz man/man1/mehari-serve.1.gz man/man5/mehari.conf.5.gz
        bash-completion/completions/mehari zsh/vendor-completions/_mehari fish/vendor_completions.d/mehari.fish))
    {
        $has{"/usr/share/$file"} or die "/usr/share/$file is missing\n";
    }
}

# Upgrades the package under load. The socket stays open as with systemd's mehari.socket, so its
# queue keeps clients while the server is replaced.
sub upgrade_loses_nothing {
    my $socket = IO::Socket::INET->new(Listen => 1024, LocalAddr => '127.0.0.1', LocalPort => 0) or die "no socket: $!\n";
    my $port   = $socket->sockport;
    my $server = serve_on($socket);
    pipe my $from, my $to or die $!;
    my $client = fork // die $!;
    if (!$client) { close $from; load($port, $to); POSIX::_exit(0) }
    close $to;
    until_line($from, 50);
    repack('/srv/mehari.deb', '/srv/newer.deb');
    run(qw(dpkg --install /srv/newer.deb));
    stop($server);
    $server = serve_on($socket);
    until_line($from, 50);
    kill TERM => $client;
    my ($good, $bad) = (0, 0);
    while (my $line = <$from>) { $line eq "good\n" ? $good++ : ($bad++, print "after $good: $line") }
    waitpid $client, 0;
    stop($server);
    output(qw(dpkg-query -W -f ${Version} mehari)) =~ /\+upgrade$/ or die "the newer package is not installed\n";
    $bad == 0 or die "$bad requests failed\n";
}

# Sends requests until TERM, and writes a line for each of them.
sub load {
    my ($port, $to) = @_;
    my $ends = 0;
    local $SIG{TERM} = sub { $ends = 1 };
    my $http = HTTP::Tiny->new(keep_alive => 0, timeout => 60);
    until ($ends) {
        my $answer = $http->get("http://127.0.0.1:$port/");
        last if $ends;
        syswrite $to, $answer->{success} ? "good\n" : "$answer->{status} " . ($answer->{content} =~ s/\n/ /gr) . "\n";
    }
}

# Waits until this many requests were answered. Dies if a request has failed.
sub until_line {
    my ($from, $count) = @_;
    while ($count-- > 0) { my $line = <$from> // die "the client ended\n"; $line eq "good\n" or die "a request failed: $line" }
}

# Makes the same package with a later version.
sub repack {
    my ($old, $new) = @_;
    run(qw(rm -rf /srv/repacked));
    run(qw(dpkg-deb -R), $old, '/srv/repacked');
    run('sed', '-i', 's/^Version: .*/&+upgrade/', '/srv/repacked/DEBIAN/control');
    run(qw(dpkg-deb -Znone -b /srv/repacked), $new);
}

sub removal {
    run(qw(apt-get remove -y mehari));
    -f $CONF or die "$CONF is gone\n";
    !-e '/usr/bin/mehari' or die "the program is still there\n";
}

sub purge {
    run(qw(apt-get purge -y mehari));
    # Remove what these checks have written, and what systemd would remove (RuntimeDirectory=,
    # PrivateTmp=).
    run(qw(rm -rf /srv/repacked /srv/newer.deb /srv/site /srv/site.conf /run/mehari), glob '/tmp/mehari-*');
    open my $in, '<', '/srv/before' or die $!;
    my %before = map { $_ => 1 } <$in>;
    my %owned  = map { ("$_\n" => 1) } split /\n/, output('sh', '-c', 'cat /var/lib/dpkg/info/*.list');
    # Matches the files that apt, dpkg and other packages write.
    my $others = qr{^/(?:var/lib/(?:dpkg|apt|systemd|pam|deb-systemd)|var/(?:cache|log)/|etc/(?:alternatives|.*-$|ld\.so\.cache|ssl/certs|perl)|usr/(?:share/|local/)|run/|tmp/|proc|sys|dev|srv/)};
    my @left = grep { !$before{$_} && !$owned{$_} && (/mehari/ || $_ !~ $others) } split /^/, output(qw(find / -xdev -not -path /srv/*));
    !@left or die "left behind:\n@left";
    !getpwnam('mehari') or die "the user mehari is still there\n";
}

# ---- a server as the package's user ----

sub serve { my (@command) = @_; return started([@command]) }

sub serve_on {
    my ($socket) = @_;
    return started(['mehari', 'serve', '-f', $CONF], $socket);
}

# Starts the command and waits for its ready line. A socket that is given becomes descriptor 3.
sub started {
    my ($command, $socket) = @_;
    my ($uid, $gid) = (getpwnam 'mehari')[2, 3];
    pipe my $out, my $in or die $!;
    my $process = fork // die $!;
    if (!$process) {
        open STDOUT, '>&', $in or die;
        if ($socket) {
            POSIX::dup2(fileno $socket, 3) or die if fileno $socket != 3;
            open my $three, '<&=', 3 or die;
            fcntl $three, F_SETFD, 0 or die;
            @ENV{qw(LISTEN_FDS LISTEN_PID)} = (1, $$);
        }
        @ENV{qw(HOME USER)} = qw(/var/lib/mehari mehari);
        chdir '/';
        $( = $) = "$gid $gid";
        POSIX::setuid($uid) or die "setuid: $!\n";
        exec { $command->[0] } @$command or POSIX::_exit(127);
    }
    close $in;
    my $line = <$out> // die "`@$command` does not serve\n";
    my ($port) = $line =~ m{http://[^/]*:(\d+)/} or die "no ready line: $line";
    return {process => $process, port => $port, out => $out};
}

sub stop {
    my ($server) = @_;
    kill TERM => $server->{process};
    waitpid $server->{process}, 0;
    $? == 0 or die "the server ended with status $?\n";
}

sub expect {
    my ($server, $path, $text) = @_;
    my $answer = HTTP::Tiny->new(timeout => 60)->get("http://127.0.0.1:$server->{port}$path");
    $answer->{success} && $answer->{content} =~ $text or die "$path: $answer->{status} $answer->{content}\n";
}

sub write_file {
    my ($path, $text) = @_;
    make_path($path =~ s{/[^/]*\z}{}r);
    open my $out, '>', $path or die "$path: $!\n";
    print $out $text;
}

sub read_file {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!\n";
    local $/;
    return scalar <$in>;
}

sub output {
    open my $in, '-|', @_ or die "$_[0]: $!\n";
    my $said = join '', <$in>;
    close $in or die "`@_` failed\n";
    return $said;
}

sub run { system(@_) == 0 or die "`@_` failed\n" }
