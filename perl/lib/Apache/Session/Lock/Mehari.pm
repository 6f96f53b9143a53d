package Apache::Session::Lock::Mehari;

# Locks sessions for Apache::Session::Mehari: one process at a time holds the lock of a session. The
# lock is exclusive from the start, because two readers that both want to write would wait for each
# other for ever. The kernel releases the locks of a process that ends.

use strict;
use warnings;
use Apache::Session::Store::Mehari ();

sub new { my ($class) = @_; return bless {}, $class }

sub acquire_read_lock { my ($self, $session) = @_; return $self->acquire_write_lock($session) }

sub acquire_write_lock {
    my ($self, $session) = @_;
    return 1 if $self->{lock};
    my $lock = Apache::Session::Store::Mehari::of($session)->lock_of($session->{data}{_session_id});
    $lock->take('w');
    $self->{lock} = $lock;
    return 1;
}

sub release_read_lock  { return 1 }
sub release_write_lock { my ($self) = @_; return $self->release_all_locks }

sub release_all_locks {
    my ($self) = @_;
    my $lock = delete $self->{lock} or return 1;
    return $lock->give_back;
}

sub DESTROY { my ($self) = @_; $self->release_all_locks; return }

1;

__END__

=head1 NAME

Apache::Session::Lock::Mehari - the locks of Apache::Session::Mehari

=head1 SYNOPSIS

    # With Apache::Session::Flex:
    my %option = (Store => 'Mehari', Lock => 'Mehari', FileName => '/var/lib/site/sessions');

=head1 DESCRIPTION

One process at a time holds the lock of a session. Reading takes the exclusive lock too. Otherwise
two readers that both want to write would wait for each other for ever. When a process ends, its
locks are released.

=head1 METHODS

=over 4

=item new

Returns a lock manager without a lock.

=item acquire_read_lock(SESSION), acquire_write_lock(SESSION)

Waits for the lock of the session. Returns 1.

=item release_read_lock

Does nothing, because a session has only the lock for writing. Returns 1.

=item release_write_lock, release_all_locks

Releases the lock. Returns 1.

=back

=head1 SEE ALSO

L<Apache::Session::Mehari>, L<Mehari::State>.

=cut
