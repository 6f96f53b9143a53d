package Apache::Session::Store::Mehari;

# Stores the sessions of Apache::Session::Mehari, and those of Apache::Session::Flex with the option
# `Store => 'Mehari'`.

use strict;
use warnings;
use Mehari::State ();

sub new { my ($class) = @_; return bless {}, $class }

# Returns the Mehari::State object that the session's option FileName names.
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

__END__

=head1 NAME

Apache::Session::Store::Mehari - the store of Apache::Session::Mehari

=head1 SYNOPSIS

    use Apache::Session::Flex;
    tie my %session, 'Apache::Session::Flex', undef, {
        Store => 'Mehari', Lock => 'Mehari', Generate => 'MD5', Serialize => 'Storable',
        FileName => '/var/lib/site/sessions',
    };

=head1 DESCRIPTION

Apache::Session calls this class with its session object. C<FileName> is required and names a
hash of L<Mehari::State>.

=head1 METHODS

=over 4

=item new

Returns a store.

=item insert(SESSION)

Stores a new session. Dies if the id exists.

=item update(SESSION)

Stores a session.

=item materialize(SESSION)

Reads a session into the object. Dies if the id does not exist.

=item remove(SESSION)

Removes a session.

=back

=head1 FUNCTIONS

=over 4

=item of(SESSION)

Returns the Mehari::State object that the session's option FileName names. Dies without a FileName.

=back

=head1 SEE ALSO

L<Apache::Session::Mehari>, L<Apache::Session::Lock::Mehari>.

=cut
