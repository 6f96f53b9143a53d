package Plack::Handler::Mehari;

# `plackup -s Mehari app.psgi`: this process becomes the server, and its workers run the application
# that plackup has loaded and wrapped.

use strict;
use warnings;
use Carp ();
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Spec ();

# The options of `new`, and options that plackup passes to every server and that have no effect
# here.
my %OPTIONS = map { $_ => 1 } qw(host port listen socket workers max_requests access_log daemonize timeout backlog);
my %UNUSED  = map { $_ => 1 } qw(server_ready);

sub new {
    my ($class, %options) = @_;
    for my $name (sort keys %options) {
        next if $OPTIONS{$name} || $UNUSED{$name};
        Carp::croak("Plack::Handler::Mehari has no option `$name`; it has " . join ', ', sort keys %OPTIONS);
    }
    for my $name (grep { defined $options{$_} } qw(max_requests timeout backlog)) {
        $options{$name} =~ /\A[0-9]+\z/ or Carp::croak("Plack::Handler::Mehari: $name is `$options{$name}`; expected a number");
    }
    return bless { %options }, $class;
}

# Does not return. From now on TERM, QUIT, INT, HUP and USR1 are the server's signals.
sub run {
    my ($self, $app) = @_;
    ref $app or Carp::croak('Plack::Handler::Mehari runs an application, not its name');
    my $program = _program();
    _find_perl_side();
    require Mehari::PSGI::Keeper;
    _daemonize() if $self->{daemonize};
    my $folder = Mehari::PSGI::Keeper::start($app);
    Mehari::PSGI::Keeper::_write("$folder/httpd.conf", 0600, $self->_configuration($folder));
    my @command = ($program, 'serve', '-f', "$folder/httpd.conf", map { ('--listen', $_) } $self->_addresses);
    push @command, '--workers', $self->{workers} if defined $self->{workers};
    exec { $program } @command or die "$program: $!\n";
}

sub _configuration {
    my ($self, $folder) = @_;
    my @lines = (
        "ServerRoot \"$folder\"",
        "PerlInterpreter \"$folder/interpreter\"",
        'CustomLog ' . ($self->{access_log} ? "\"$self->{access_log}\" combined" : '/dev/null common'),
    );
    my %directives = (max_requests => 'MaxConnectionsPerChild', timeout => 'Timeout', backlog => 'ListenBacklog');
    push @lines, map { "$directives{$_} $self->{$_}" } grep { defined $self->{$_} } sort keys %directives;
    push @lines, '<Location />', 'SetHandler psgi', "PSGIApp \"$folder/app.psgi\"", '</Location>';
    return join '', map { "$_\n" } @lines;
}

# plackup passes `listen`. Another caller may pass host and port, or a socket.
sub _addresses {
    my ($self) = @_;
    my @wanted = @{ $self->{listen} || [] };
    @wanted = ($self->{socket}) if !@wanted && $self->{socket};
    @wanted = (($self->{host} // '') . ':' . ($self->{port} // 5000)) unless @wanted;
    return map { /\A:(\d+)\z/ ? "0.0.0.0:$1" : /:\d+\z/ ? $_ : 'unix:' . File::Spec->rel2abs($_) } @wanted;
}

# `mehari`: from MEHARI_BIN, a checkout's build, or PATH.
sub _program {
    return $ENV{MEHARI_BIN} if $ENV{MEHARI_BIN};
    for my $folder (_folders_above()) {
        return "$folder/target/release/mehari" if -x "$folder/target/release/mehari";
    }
    for my $folder (split /:/, $ENV{PATH} // '') {
        return "$folder/mehari" if -x "$folder/mehari" && !-d _;
    }
    die "Plack::Handler::Mehari: the program `mehari` was looked for in MEHARI_BIN, beside this module and on PATH and not found\n";
}

# The compiled modules: installed, or built from this file's sources. As the server, this process
# finds mod_perl's modules among ours.
sub _find_perl_side {
    if (eval { require Mehari }) {
        unshift @INC, dirname($INC{'Mehari.pm'}) . '/Mehari/compat';
        return;
    }
    my $reason = $@;
    delete $INC{'Mehari.pm'};
    for my $folder (_folders_above()) {
        next unless -f "$folder/build.pl";
        open my $builder, '-|', $^X, "$folder/build.pl" or die "$folder/build.pl: $!\n";
        chomp(my @found = <$builder>);
        close $builder or die "Plack::Handler::Mehari: the modules could not be built by $folder/build.pl\n";
        unshift @INC, @found;
        require Mehari;
        return;
    }
    die $reason;
}

sub _folders_above {
    my @folders = dirname(abs_path(__FILE__));
    push @folders, dirname($folders[-1]) while $folders[-1] ne '/';
    return @folders;
}

sub _daemonize {
    my $child = fork // die "cannot fork: $!\n";
    POSIX::_exit(0) if $child;
    POSIX::setsid();
    open STDIN, '<', '/dev/null';
    return;
}

1;

__END__

=head1 NAME

Plack::Handler::Mehari - run a PSGI application on the Mehari server

=head1 SYNOPSIS

    plackup -s Mehari --workers 4 --listen 127.0.0.1:8080 app.psgi

=head1 DESCRIPTION

The process of plackup becomes the server, and its workers run the application that plackup has
loaded, with plackup's middleware. C<-e>, C<-I>, C<-M>, C<-E> and C<--path> work as with any
server. The program C<mehari> is looked for in the variable C<MEHARI_BIN>, beside this module in
a checkout, and on PATH.

=head1 METHODS

=over 4

=item new(OPTION => VALUE ...)

Returns a handler. Dies for an unknown option, and if max_requests, timeout or backlog is no
number.

=item run(APPLICATION)

Serves a code reference, or an object that can be called. Never returns: the process runs the
server program instead, and TERM, QUIT, INT, HUP and USR1 are the server's signals. Dies if the
program is not found.

=back

=head1 OPTIONS

=over 4

=item host, port

The address. The default is port 5000 of every IPv4 address.

=item listen => [ADDRESSES]

Addresses as HOST:PORT or :PORT, or paths of sockets. They take precedence over socket, host and
port.

=item socket

The path of a socket.

=item workers

A number, or C<auto>.

=item max_requests

The number of requests after which a worker is replaced.

=item timeout

Seconds, as the directive Timeout.

=item backlog

The length of the queue of connections, as the directive ListenBacklog.

=item access_log

A file, in the format C<combined>. The default is no access log.

=item daemonize

True: the server runs in the background.

=back

=head1 LIMITS

HUP replaces the workers by new ones with the same code. For changed code use C<plackup -r>, or
C<mehari serve app.psgi>, which reads the file again. Code that was compiled before plackup
loaded this module may change its worker for good with exec, chdir or umask; otherwise the
worker restores these after each request.

=head1 SEE ALSO

L<Plack>, L<Mehari>, F<docs/reference/psgi.md>.

=cut
