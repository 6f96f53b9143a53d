# Starts and stops a server that is compared with Mehari. The server has a folder and a
# configuration of its own, and a free port of 127.0.0.1. Each file of Peer/ is a subclass for one
# server, which says how the program is found, configured and addressed. It has these methods:
#   title, program, version_command, configure, command, path_of(rung, page); where needed
#   environment, workers, stop_signal.
package Peer;
use strict;
use warnings;
use HTTP::Tiny;
use IO::Socket::INET;
use POSIX qw(WNOHANG);
use Time::HiRes qw(sleep time);
use Processes;

my $READY_SECONDS = 20;
my $STOP_SECONDS  = 10;

# Makes a server. folder: an empty folder for this server alone. site: peers/site. workers: the
# number of workers, if a worker serves many connections. connections: the number of concurrent
# clients.
sub new {
    my ($class, %given) = @_;
    return bless {%given, port => free_port()}, $class;
}

sub free_port {
    my $socket = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => 0, Listen => 1)
        or die "no free port on 127.0.0.1: $!\n";
    return $socket->sockport;
}

# Returns the program's path, or undef if the program is not installed.
sub installed {
    my ($class) = @_;
    my ($path) = grep { -x } map { "$_/" . $class->program } split(/:/, $ENV{PATH} // ''), '/usr/sbin', '/usr/local/sbin';
    return $path;
}

# Returns the first text in the program's output that looks like a version.
sub version {
    my ($class) = @_;
    my ($program, @arguments) = $class->version_command;
    open my $output, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', $program, @arguments or return '?';
    my $said = do { local $/; <$output> } // '';
    return $said =~ /(\d+\.\d+[\w.]*)/ ? $1 : '?';
}

sub environment { return () }
sub stop_signal { return 'TERM' }
sub url         { my ($self, $path) = @_; return ($self->{secure} ? 'https' : 'http') . "://127.0.0.1:$self->{port}$path" }
sub file        { my ($self, $name) = @_; return "$self->{folder}/$name" }

sub write_file {
    my ($self, $name, $text) = @_;
    open my $file, '>', $self->file($name) or die $self->file($name) . ": $!\n";
    print {$file} $text;
    close $file or die $self->file($name) . ": $!\n";
    return $self->file($name);
}

sub start {
    my ($self) = @_;
    $self->configure;
    my @command = $self->command;
    my %environment = (%ENV, $self->environment);
    $self->{pid} = fork // die "cannot fork: $!\n";
    if (!$self->{pid}) {
        setpgrp;
        open STDIN,  '<',  '/dev/null';
        open STDOUT, '>',  $self->file('output');
        open STDERR, '>&', \*STDOUT;
        %ENV = %environment;
        exec {$command[0]} @command or POSIX::_exit(127);
    }
    $self->wait_until_ready;
    return $self;
}

# Makes a certificate for the server, with a type of key that is fast on every server.
sub certificate {
    my ($self) = @_;
    my ($key, $certificate) = map { $self->file($_) } 'key.pem', 'certificate.pem';
    my @command = (qw(openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=127.0.0.1 -batch),
        -keyout => $key, -out => $certificate);
    open my $output, '-|', 'sh', '-c', 'exec "$@" 2>&1', 'sh', @command or die "cannot run openssl: $!\n";
    my $said = do { local $/; <$output> } // '';
    close $output or die "openssl cannot make a certificate: $said\n";
    return ($certificate, $key);
}

# Waits until the server answers. Any answer counts: a TLS port answers a plain request with an
# error.
sub wait_until_ready {
    my ($self) = @_;
    my $deadline = time + $READY_SECONDS;
    while (time < $deadline) {
        $self->fail('ended at its start') if waitpid($self->{pid}, WNOHANG) == $self->{pid};
        return if HTTP::Tiny->new(timeout => 2, keep_alive => 0)->get("http://127.0.0.1:$self->{port}/")->{status} != 599;
        sleep 0.02;
    }
    $self->fail("did not answer within $READY_SECONDS s");
}

# Dies with the server's messages.
sub fail {
    my ($self, $what) = @_;
    my $said = join '', map { text_of($self->file($_)) } qw(output error.log);
    $self->stop;
    die $self->title . " $what. It said:\n" . substr($said, -2000) . "\n";
}

sub text_of {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    return <$file> // '';
}

sub tree { my ($self) = @_; return Processes::tree($self->{pid}) }

# Returns the processes that run the user's code: all except the first process.
sub workers { my ($self) = @_; my (undef, @workers) = $self->tree; return @workers }

sub stop {
    my ($self) = @_;
    my $pid = delete $self->{pid} or return;
    my @tree = Processes::tree($pid);
    kill $self->stop_signal, $pid;
    my $deadline = time + $STOP_SECONDS;
    while (waitpid($pid, WNOHANG) == 0) {
        if (time > $deadline) {
            kill 'KILL', @tree;
            waitpid $pid, 0;
            last;
        }
        sleep 0.01;
    }
    return;
}

sub DESTROY {
    my ($self) = @_;
    local ($?, $@);
    $self->stop;
    return;
}

1;
