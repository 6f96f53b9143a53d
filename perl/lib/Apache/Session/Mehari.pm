package Apache::Session::Mehari;

# Sessions in Mehari::State: shared by all workers, in one file or in Redis, one process at a time
# for each session.
#
#     tie my %session, 'Apache::Session::Mehari', $id, { FileName => '/var/lib/site/sessions' };
#
# FileName names the hash as `tie` of Mehari::State takes it: a path, or redis://HOST/NUMBER/NAME.

use strict;
use warnings;
use parent 'Apache::Session';
use Apache::Session::Generate::MD5 ();
use Apache::Session::Lock::Mehari ();
use Apache::Session::Serialize::Storable ();
use Apache::Session::Store::Mehari ();

sub populate {
    my ($self) = @_;
    $self->{object_store} = Apache::Session::Store::Mehari->new($self);
    $self->{lock_manager} = Apache::Session::Lock::Mehari->new($self);
    $self->{generate}     = \&Apache::Session::Generate::MD5::generate;
    $self->{validate}     = \&Apache::Session::Generate::MD5::validate;
    $self->{serialize}    = \&Apache::Session::Serialize::Storable::serialize;
    $self->{unserialize}  = \&Apache::Session::Serialize::Storable::unserialize;
    return $self;
}

1;

__END__

=head1 NAME

Apache::Session::Mehari - sessions that all workers share

=head1 SYNOPSIS

    use Apache::Session::Mehari;
    my $id;    # of the client's cookie; undef begins a session
    tie my %session, 'Apache::Session::Mehari', $id, { FileName => '/var/lib/site/sessions' };
    $session{visits}++;
    my $cookie = $session{_session_id};
    untie %session;

=head1 DESCRIPTION

This class is an Apache::Session whose store and locks are those of L<Mehari::State>.
C<FileName> names the hash as C<tie> of Mehari::State takes it: a path, or
C<redis://HOST/NUMBER/NAME>. Ids are made by Apache::Session::Generate::MD5 and values frozen by
Storable.

=head1 METHODS

=over 4

=item populate

Called by Apache::Session: names the store, the lock and the rest.

=back

=head1 LIMITS

One process at a time has a session, from C<tie> to C<untie>; the lock ends with the process.
Sessions do not expire by themselves.

=head1 SEE ALSO

L<Apache::Session>, L<Apache::Session::Store::Mehari>, L<Apache::Session::Lock::Mehari>,
L<Mehari::State>, F<docs/reference/state.md>.

=cut
