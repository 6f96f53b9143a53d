package Apache::Session::Store::Mehari;

# The store of Apache::Session::Mehari, and of Apache::Session::Flex with `Store => 'Mehari'`.

use strict;
use warnings;
use Mehari::State ();

sub new { my ($class) = @_; return bless {}, $class }

# The hash of a session's options.
sub of {
    my ($session) = @_;
    my $name = $session->{args}{FileName};
    die "Apache::Session::Mehari: FileName is missing; expected the path of a hash, or redis://HOST/NUMBER/NAME\n" unless defined $name && length $name;
    return Mehari::State->TIEHASH($name);
}

sub _hash { my ($self, $session) = @_; return $self->{hash} //= of($session) }
sub _id   { my ($session) = @_; return $session->{data}{_session_id} }

sub insert {
    my ($self, $session) = @_;
    die "Object already exists in the data store\n" if $self->_hash($session)->EXISTS(_id($session));
    return $self->update($session);
}

sub update {
    my ($self, $session) = @_;
    return $self->_hash($session)->STORE(_id($session), $session->{serialized});
}

sub materialize {
    my ($self, $session) = @_;
    $session->{serialized} = $self->_hash($session)->FETCH(_id($session)) // die "Object does not exist in the data store\n";
    return;
}

sub remove {
    my ($self, $session) = @_;
    $self->_hash($session)->DELETE(_id($session));
    return;
}

1;
