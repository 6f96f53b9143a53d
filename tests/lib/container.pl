#!/usr/bin/perl
# Runs one check of tests/image inside the unpacked image: `container.pl CHECK`. It starts the
# image's command as a container engine does: with the user, the environment and the folder of the
# image's configuration, which lies beside this file. If the check fails, it dies with the reason.
use strict;
use warnings;
use HTTP::Tiny;
use JSON::PP qw(decode_json);
use POSIX ();

my $IMAGE  = decode_json(text_of('/srv/config.json'));
my %CHECKS = (
    'serves the page of the package, and its probes' => \&default_serves,
    'serves an application of a mounted folder'      => \&application_serves,
    'is unhealthy without a server'                  => \&unhealthy,
    'runs on a root that nobody can write'           => \&read_only,
);
$CHECKS{ $ARGV[0] }->();

sub default_serves {
    my $server = started(@{$IMAGE->{Cmd}});
    expect($server, '/', qr/Mehari serves this page/);
    expect($server, $_, qr//) for '/live', '/ready';
    is_healthy() or die "the server is not healthy\n";
    my @processes = family($server->{process});
    @processes > 2 or die "expected the server's processes, not only @processes\n";
    for my $process (@processes) {
        my ($user) = text_of("/proc/$process/status") =~ /^Uid:\s+(\d+)/m;
        $user > 0 or die "process $process is root's\n";
    }
    my $said = stopped($server);
    $said =~ m{"GET / HTTP/1\.1" 200} or die "the log has no access line:\n$said";
}

sub application_serves {
    mkdir '/srv/app';
    open my $out, '>', '/srv/app/app.psgi' or die $!;
    print $out "sub { [200, ['Content-Type' => 'text/plain'], [\"from a container as \$<\"]] }\n";
    close $out;
    my $server = started('serve', 'app.psgi');
    my ($user) = $IMAGE->{User} =~ /(\d+)/;
    expect($server, '/', qr/^from a container as $user$/);
    is_healthy() or die "the server is not healthy\n";
    stopped($server);
}

sub unhealthy {
    !is_healthy() or die "the check succeeds without a server\n";
}

# As `--read-only --tmpfs /tmp` has it.
sub read_only {
    system('mount', '-o', 'remount,ro,bind', '/') == 0 or die "the root cannot be made read-only\n";
    system(qw(mount -t tmpfs -o mode=1777 tmpfs /tmp)) == 0 or die "no /tmp\n";
    my $server = started(@{$IMAGE->{Cmd}});
    expect($server, '/', qr/Mehari serves this page/);
    is_healthy() or die "the server is not healthy\n";
    stopped($server);
}

# Returns a process and all that it has started.
sub family {
    my ($process) = @_;
    my @children = grep { (eval { text_of("/proc/$_/status") } // '') =~ /^PPid:\s+$process$/m } map { m{/(\d+)$} } glob '/proc/[0-9]*';
    return $process, map { family($_) } @children;
}

# ---- the container ----

# Starts the image's program with these arguments and waits for its ready line.
sub started {
    pipe my $out, my $in or die $!;
    my $process = as_image($in, @{$IMAGE->{Entrypoint}}, @_);
    close $in;
    my $said = '';
    while (my $line = <$out>) {
        $said .= $line;
        return {process => $process, out => $out, said => $said, port => $1} if $line =~ m{serving http://\S*:(\d+)/};
    }
    die "`@_` does not serve:\n$said";
}

# Runs a command as an engine does. Its output goes to the given end of a pipe.
sub as_image {
    my ($in, @command) = @_;
    my $process = fork // die $!;
    return $process if $process;
    open STDOUT, '>&', $in or die;
    open STDERR, '>&', $in or die;
    %ENV = map { split /=/, $_, 2 } @{$IMAGE->{Env}};
    chdir $IMAGE->{WorkingDir} or die "$IMAGE->{WorkingDir}: $!\n";
    my ($user, $group) = split /:/, $IMAGE->{User};
    $( = $) = "$group $group";
    POSIX::setuid($user) or die "setuid: $!\n";
    exec { $command[0] } @command or POSIX::_exit(127);
}

# Runs the image's health check.
sub is_healthy {
    my ($kind, @command) = @{$IMAGE->{Healthcheck}{Test}};
    $kind eq 'CMD' or die "the check is not a command\n";
    open my $nowhere, '>', '/dev/null' or die $!;
    waitpid as_image($nowhere, @command), 0;
    return $? == 0;
}

# Sends the image's signal, and returns all that the server has said.
sub stopped {
    my ($server) = @_;
    kill $IMAGE->{StopSignal} =~ s/^SIG//r, $server->{process};
    my $rest = join '', readline $server->{out};
    waitpid $server->{process}, 0;
    $? == 0 or die "the server ended with status $?:\n$rest";
    return $server->{said} . $rest;
}

sub expect {
    my ($server, $path, $text) = @_;
    my $answer = HTTP::Tiny->new(timeout => 60)->get("http://127.0.0.1:$server->{port}$path");
    $answer->{success} && $answer->{content} =~ $text or die "$path: $answer->{status} $answer->{content}\n";
}

sub text_of {
    my ($path) = @_;
    open my $in, '<', $path or die "$path: $!\n";
    return join '', <$in>;
}
