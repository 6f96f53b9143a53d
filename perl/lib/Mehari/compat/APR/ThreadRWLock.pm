package APR::ThreadRWLock;

# Stands for APR's lock between threads that read or write. A worker has one thread, so the lock is
# always free.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }

sub rdlock    { return 0 }
sub tryrdlock { return 0 }
sub wrlock    { return 0 }
sub trywrlock { return 0 }
sub unlock    { return 0 }
sub pool_get  { return $_[0]{pool} }

sub DESTROY { return }

1;

__END__

=head1 NAME

APR::ThreadRWLock - a lock for readers and writers

=head1 SYNOPSIS

    use APR::ThreadRWLock ();
    my $lock = APR::ThreadRWLock->new(undef);
    $lock->rdlock;
    $lock->unlock;

=head1 DESCRIPTION

A worker (a process that runs Perl code) has one thread, so the lock is always free.

=head1 METHODS

=over 4

=item new(POOL), pool_get

C<new> returns a lock. C<pool_get> returns the pool of the lock.

=item rdlock, tryrdlock, wrlock, trywrlock, unlock

Return 0.

=back

=head1 DIFFERENCES

The lock has no effect, not even between threads that a program has started itself.

=head1 SEE ALSO

L<APR::ThreadMutex>.

=cut
