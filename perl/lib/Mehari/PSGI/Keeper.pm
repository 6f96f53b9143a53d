package Mehari::PSGI::Keeper;

# Serves an application that exists only in this process (`plackup -s Mehari`,
# Plack::Handler::Mehari).
#
# The server starts a zygote by running the program of PerlInterpreter. Here this program is a
# relay, which passes the zygote's descriptors to the keeper. The keeper is a process that has
# loaded the application, and it forks the zygote. One keeper serves all generations of a server and
# ends when the server ends.

use strict;
use warnings;
use File::Temp ();
use IO::Socket::UNIX ();
use POSIX ();
use Mehari ();
use Mehari::PSGI ();
use Mehari::Zygote ();

my $PIDFD_OPEN = 434;

# Forks the keeper for an application. Returns a folder with two files: `interpreter` for
# PerlInterpreter and `app.psgi` for PSGIApp. The keeper removes the folder when the caller has
# ended.
sub start {
    my ($app) = @_;
    my $folder = File::Temp::tempdir('mehari-XXXXXXXX', TMPDIR => 1);
    my $listener = IO::Socket::UNIX->new(Local => "$folder/keeper", Listen => 16) or die "$folder/keeper: $!\n";
    _write("$folder/interpreter", 0700, _interpreter("$folder/keeper"));
    _write("$folder/app.psgi",    0600, "# Stands for the application that was given to Plack::Handler::Mehari.\n");
    my $keeper = fork // die "the application's process cannot be forked: $!\n";
    return $folder if $keeper;
    my $served = eval { _keep($listener, $app, $folder); 1 };
    print STDERR "mehari: $@" unless $served;
    POSIX::_exit(1);
}

sub _write {
    my ($file, $mode, $text) = @_;
    open my $out, '>', $file or die "$file: $!\n";
    chmod $mode, $file       or die "$file: $!\n";
    print {$out} $text       or die "$file: $!\n";
    close $out               or die "$file: $!\n";
    return;
}

# Returns the text of `interpreter`. This program becomes the relay if its arguments start a zygote.
# With any other arguments it becomes the real perl. In a zygote's arguments, `-e`, the code and
# three descriptors follow `-MMehari::Zygote`.
sub _interpreter {
    my ($socket) = map { _quoted($_) } @_;
    my $perl = _quoted($^X);
    return <<"END";
#!$^X
my (\$at) = grep { \$ARGV[\$_] eq '-MMehari::Zygote' } 0 .. \$#ARGV;
exec { $perl } $perl, \@ARGV unless defined \$at;
exec { $perl } $perl, \@ARGV[0 .. \$at - 1], '-MMehari::PSGI::Keeper', '-e', 'Mehari::PSGI::Keeper::relay(\@ARGV)', $socket, \@ARGV[\$at + 3 .. \$at + 5];
END
}

sub _quoted { return "'" . $_[0] =~ s/([\\'])/\\$1/gr . "'" }

# ---- the keeper ----

sub _keep {
    my ($listener, $app, $folder) = @_;
    my $server = getppid;
    POSIX::setpgid(0, 0); # a signal of the terminal must reach only the server
    Mehari::Descriptors::end_with_parent();
    $0 = 'mehari keeper';
    $SIG{CHLD} = 'IGNORE';
    $SIG{INT} = $SIG{HUP} = $SIG{USR1} = 'IGNORE';
    $SIG{TERM} = sub { _leave($folder) };
    _leave($folder) if getppid != $server;
    while (1) {
        my $relay = $listener->accept or next;
        my @descriptors = Mehari::Descriptors::receive(fileno $relay);
        next if @descriptors != 4;
        my $zygote = fork // next;
        if (!$zygote) {
            $listener->close;
            print {$relay} "$$\n";
            $relay->close;
            _become_zygote($app, @descriptors);
        }
        POSIX::close($_) for @descriptors;
    }
}

sub _leave {
    my ($folder) = @_;
    unlink map { "$folder/$_" } qw(keeper interpreter app.psgi httpd.conf);
    rmdir $folder;
    POSIX::_exit(0);
}

sub _become_zygote {
    my ($app, $control, $bell, $event, $errors) = @_;
    @SIG{qw(CHLD INT HUP USR1 TERM)} = ('DEFAULT') x 5;
    POSIX::setpgid(0, 0);
    open STDIN,  '<', '/dev/null';
    open STDOUT, '>', '/dev/null';
    POSIX::dup2($errors, 2);
    POSIX::close($errors);
    $Mehari::PSGI::given = $app;
    Mehari::Zygote::run($control, $bell, $event);
}

# ---- the relay, whose process the server treats as the zygote ----

sub relay {
    my ($socket, @descriptors) = @_;
    $SIG{$_} = 'IGNORE' for qw(INT TERM QUIT HUP USR1);
    my $keeper = IO::Socket::UNIX->new(Peer => $socket) or die "the process that has the application is gone: $socket: $!\n";
    Mehari::Descriptors::send(fileno $keeper, @descriptors, 2);
    my $zygote = <$keeper> // die "the process that has the application made no zygote\n";
    POSIX::close($_) for @descriptors;
    my $process = syscall $PIDFD_OPEN, $zygote + 0, 0;
    if ($process >= 0) {
        vec(my $ended = '', $process, 1) = 1;
        1 while select($ended, undef, undef, undef) < 0;
    }
    POSIX::_exit(0);
}

1;

__END__

=head1 NAME

Mehari::PSGI::Keeper - internal

=head1 DESCRIPTION

This module is internal to the server: it keeps the application of C<plackup -s Mehari> and forks
the zygotes from it. See L<Plack::Handler::Mehari>.

=cut
