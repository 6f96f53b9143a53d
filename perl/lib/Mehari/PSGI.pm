package Mehari::PSGI;

# Does the Perl part of the rung `psgi`: loads applications, runs delayed responses, and sends
# bodies that are handles. C code (xs/psgi) sends ordinary responses, [status, headers, array].

use strict;
use warnings;
use Carp ();
use File::Spec ();
use IO::File ();
use Scalar::Util qw(blessed openhandle);
use overload ();
use Mehari ();
use Mehari::Server ();

my $BLOCK = 65536;

my %compiled;
my $has_access_lines; # whether the lines of Plack::Middleware::AccessLog have their level

# The application with which Mehari::PSGI::Keeper started this process, or undef. It takes the place
# of the application of every file.
our $given;

# Loads a file and returns its application as a code reference. Dies with Perl's message.
sub compile {
    my ($file) = @_;
    $ENV{PLACK_ENV} ||= 'deployment';
    my $app = $given || _code(_evaluate(File::Spec->rel2abs($file)), $file);
    _note_access_lines();
    return $given if $given;
    return $app unless $Mehari::Server::fact{development};
    require Mehari::DevelopmentPage;
    return Mehari::DevelopmentPage::wrap($app);
}

# Gives Plack::Middleware::AccessLog a logger that writes its lines at the level `notice`. Without a
# logger each line is an error, because it goes to psgi.errors. plackup adds this middleware.
sub _note_access_lines {
    my $call = $has_access_lines ? undef : 'Plack::Middleware::AccessLog'->can('call');
    return unless $call && 'Plack::Middleware::AccessLog'->can('logger');
    $has_access_lines = 1;
    no warnings 'redefine';
    *Plack::Middleware::AccessLog::call = sub {
        my ($self, $env) = @_;
        my $errors = $env->{'psgi.errors'};
        $self->logger(\&_note) if !$self->logger && ref $errors && $errors == \*STDERR;
        return $self->$call($env);
    };
    return;
}

sub _note {
    my ($line) = @_;
    chomp $line;
    Mehari::log_line(5, $line);
    return;
}

sub _code {
    my ($app, $file) = @_;
    return $app if ref $app eq 'CODE';
    return $app->to_app if blessed $app && $app->can('to_app');
    return sub { $app->(@_) } if blessed $app && overload::Method($app, '&{}');
    die "$file ends with ", _describe($app), "; expected an application: a code reference or an object with to_app\n";
}

# Evaluates a file as plackup does: in a package of its own, with the file's name in $0 and an empty
# @ARGV.
sub _evaluate {
    my ($file) = @_;
    my $package = $file =~ s/([^A-Za-z0-9_])/sprintf '_%2x', ord $1/ger;
    local $0    = $file;
    local @ARGV = ();
    local $SIG{__WARN__} = _without_redefinitions() if $compiled{$file}++;
    _demand_whole($file);
    my ($app, $exception, $error) = _do($file, $package);
    return $app if defined $app;
    die $exception if $exception;
    die "$file: $error\n" unless -r $file;
    return $app;
}

# Dies if the file cannot be read to its end. Perl treats a read error as the end of the file, and a
# part of an application must not run.
sub _demand_whole {
    my ($file) = @_;
    open my $handle, '<:raw', $file or return;
    my $got;
    while ($got = sysread $handle, my $part, $BLOCK) { }
    die "$file cannot be read to its end: $!\n" unless defined $got;
}

sub _do {
    my $result = eval "package Plack::Sandbox::$_[1]; my \$app = do \$_[0]; [\$app, \$@, \$!]" or die $@;
    return @$result;
}

# Returns a handler for warnings that drops the warnings about redefined subs. A changed file is
# compiled into the same packages as before, so it redefines its subs.
sub _without_redefinitions {
    my $before = $SIG{__WARN__};
    return sub {
        return if $_[0] =~ /\A(?:Constant s|S)ubroutine \S+ redefined at /;
        return ref $before eq 'CODE' ? $before->(@_) : warn @_;
    };
}

sub _describe {
    my ($value) = @_;
    return 'undef' unless defined $value;
    return blessed $value ? 'an object of class ' . ref $value : ref $value ? 'a reference to ' . ref $value : "\"$value\"";
}

# Runs the callback of a delayed response with its responder.
sub delay {
    my ($callback) = @_;
    my $request = serial();
    my $called;
    $callback->(sub {
        Carp::croak('the responder was called twice') if $called++;
        return respond($request, @_);
    });
    return;
}

# Sends a body that is a file handle, or an object with the method getline. A file is read in large
# blocks, unless its class reads it in its own way.
sub send {
    my ($body) = @_;
    my $is_file = _is_handle($body) && !tied *$body && -f $body && !_has_own_getline($body);
    local $/ = \$BLOCK;
    if ($is_file) {
        while (defined(my $part = readline $body)) { put($part, 0) }
    }
    else {
        while (defined(my $part = $body->getline)) { put($part, 1) }
    }
    _close($body);
    return;
}

# Sends only the head, because the method or the status allows no body. Adds no Content-Length.
sub withhold {
    my ($body) = @_;
    _is_handle($body);
    put('', 1);
    _close($body);
    return;
}

# Whether the class of a file handle has a getline of its own, which may limit or decrypt the file.
sub _has_own_getline {
    my ($body) = @_;
    my $getline = blessed $body && $body->can('getline');
    return $getline && $getline != \&IO::Handle::getline;
}

# Returns true for a file handle and false for an object with getline. Dies for any other body.
sub _is_handle {
    my ($body) = @_;
    return 1 if openhandle($body);
    return 0 if blessed $body && $body->can('getline');
    die 'the application answered ', _describe($body), " as its body; expected an array reference, a file handle or an object with getline\n";
}

sub _close {
    my ($body) = @_;
    $body->close if !blessed $body || $body->can('close');
    return;
}

1;

__END__

=head1 NAME

Mehari::PSGI - internal

=head1 DESCRIPTION

This module is internal to the server: it loads PSGI applications and handles delayed responses
and bodies that are handles.

=cut
