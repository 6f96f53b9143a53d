package TestOwn::answers;

# The answer by a handler's return value, and errors that are objects, for own/answers.t.

use strict;
use warnings;
use Apache2::RequestRec ();
use Apache2::RequestIO ();
use Apache2::Connection ();
use APR::Socket ();
use APR::Error ();
use APR::Const -compile => qw(EACCES EAGAIN);
use ModPerl::Util ();
use Apache2::Const -compile => 'OK';

sub _fails { my ($socket) = @_; $socket->recv(my $text, 2048) }

my %CASES = (
    exit      => sub { ModPerl::Util::exit() },
    die       => sub { die "of its own\n" },
    undef     => sub { return },
    object    => sub { _fails($_[1]) },
    hook      => sub { local $SIG{__DIE__} = sub { die "hooked: $_[0]" }; _fails($_[1]) },
    confessed => sub { local $SIG{__DIE__} = \&APR::Error::confess; _fails($_[1]) },
    compared  => sub {
        my ($r, $socket) = @_;
        eval { _fails($socket) };
        my $error = $@;
        my @right = (ref $error eq 'APR::Error', $error == APR::Const::EAGAIN, APR::Const::EAGAIN == $error, $error == $error, $error != APR::Const::EACCES, APR::Const::EACCES != $error, !($error != $error));
        $r->print(join ',', map { $_ ? 1 : 0 } @right);
        return Apache2::Const::OK;
    },
    evaluated => sub { my ($r, $socket) = @_; eval '_fails($socket)'; $r->print($@ && ref $@ && $@ == APR::Const::EAGAIN ? 'again' : "not: $@"); return Apache2::Const::OK },
);

sub handler {
    my $r = shift;
    my $args = $r->args;
    $r->content_type('text/plain') if $args =~ /\A(?:compared|evaluated)\z/;
    my $socket = $r->connection->client_socket;
    $socket->timeout_set(0) if $args =~ /\A(?:object|hook|confessed|compared|evaluated)\z/;
    return $CASES{$args} ? $CASES{$args}->($r, $socket) : $args;
}

1;
