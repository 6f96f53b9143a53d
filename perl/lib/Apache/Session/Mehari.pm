package Apache::Session::Mehari;

# Keeps sessions in Mehari::State, in one file or in Redis. All workers share the sessions, and one
# process at a time uses a session.
#
#     tie my %session, 'Apache::Session::Mehari', $id, { FileName => '/var/lib/site/sessions' };
#
# FileName names the hash in the form that `tie` of Mehari::State expects: a path, or
# redis://HOST/NUMBER/NAME.

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
    my $id;    # the id in the client's cookie; undef begins a session
    tie my %session, 'Apache::Session::Mehari', $id, { FileName => '/var/lib/site/sessions' };
    $session{visits}++;
    my $cookie = $session{_session_id};
    untie %session;

=head1 DESCRIPTION

This class is an Apache::Session whose store and locks are those of L<Mehari::State>.
C<FileName> names the hash in the form that C<tie> of Mehari::State expects: a path, or
C<redis://HOST/NUMBER/NAME>. Apache::Session::Generate::MD5 makes the ids, and Storable freezes the
values.

=head1 METHODS

=over 4

=item populate

Names the classes for the store, the lock, the ids and the values. Apache::Session calls it.

=back

=head1 LIMITS

Only one process at a time can use a session. The process holds the session from C<tie> to
C<untie>, or until the process ends. Sessions do not expire by themselves.

=head1 SEE ALSO

L<Apache::Session>, L<Apache::Session::Store::Mehari>, L<Apache::Session::Lock::Mehari>,
L<Mehari::State>, F<docs/reference/state.md>.

=cut
