package Plack::Handler::Mehari;

# Serves an application for `plackup -s Mehari app.psgi`. The process of plackup becomes the server,
# and the server's workers run the application that plackup has loaded and wrapped in middleware.

use strict;
use warnings;
use Carp ();
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use File::Spec ();

# The options of `new` are %OPTIONS. plackup passes some more options to every server; these have no
# effect here.
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

# Becomes the server and does not return. The server then handles TERM, QUIT, INT, HUP and USR1.
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

# Returns the addresses to listen on. plackup passes `listen`. Another caller may pass `host` and
# `port`, or `socket`.
sub _addresses {
    my ($self) = @_;
    my @wanted = @{ $self->{listen} || [] };
    @wanted = ($self->{socket}) if !@wanted && $self->{socket};
    @wanted = (($self->{host} // '') . ':' . ($self->{port} // 5000)) unless @wanted;
    return map { /\A:(\d+)\z/ ? "0.0.0.0:$1" : /:\d+\z/ ? $_ : 'unix:' . File::Spec->rel2abs($_) } @wanted;
}

# Returns the path of the program `mehari`: from MEHARI_BIN, from a checkout's build, or from PATH.
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

# Loads Mehari's compiled modules: the installed ones, or those that build.pl builds in the checkout
# of this file. Adds the folder with our modules of mod_perl's API to @INC, as the server does.
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

The process of plackup becomes the server. The server's workers (processes that run Perl) run the
application that plackup has loaded, with plackup's middleware. C<-e>, C<-I>, C<-M>, C<-E> and
C<--path> work as with any server. The handler looks for the program C<mehari> in the environment
variable C<MEHARI_BIN>, then beside this module in a checkout, then on PATH.

=head1 METHODS

=over 4

=item new(OPTION => VALUE ...)

Returns a handler. Dies if an option is unknown, or if max_requests, timeout or backlog is not a
number.

=item run(APPLICATION)

Serves a code reference, or an object that can be called. The method never returns, because the
process becomes the server program. The server program handles TERM, QUIT, INT, HUP and USR1. Dies
if the program is not found.

=back

=head1 OPTIONS

=over 4

=item host, port

The address. The default is port 5000 of every IPv4 address.

=item listen => [ADDRESSES]

The addresses, each as HOST:PORT, :PORT, or the path of a socket. They take precedence over
C<socket>, C<host> and C<port>.

=item socket

The path of a socket.

=item workers

The number of workers, or C<auto>.

=item max_requests

The number of requests after which a worker is replaced.

=item timeout

Seconds. The option sets the directive Timeout.

=item backlog

The length of the queue of connections that wait to be accepted. The option sets the directive
ListenBacklog.

=item access_log

The file of the access log, which has the format C<combined>. By default there is no access log.

=item daemonize

If true, the server runs in the background.

=back

=head1 LIMITS

HUP replaces the workers by new workers with the same code. To load changed code, use C<plackup -r>,
or use C<mehari serve app.psgi> and a HUP.

After each request, a worker restores its folder and its umask. A worker survives an C<exec>.
Neither is true for code that was compiled before plackup loaded this module.

=head1 SEE ALSO

L<Plack>, L<Mehari>, F<docs/reference/psgi.md>.

=cut
