package APR::ThreadMutex;

# Stands for APR's lock between threads. A worker has one thread, so the lock is always free.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool, held => 0 }, ref $class || $class }

sub lock    { $_[0]{held}++; return 0 }
sub trylock { $_[0]{held}++; return 0 }
sub unlock  { $_[0]{held}-- if $_[0]{held}; return 0 }
sub pool_get { return $_[0]{pool} }

sub DESTROY { return }

1;

__END__

=head1 NAME

APR::ThreadMutex - a lock between threads

=head1 SYNOPSIS

    use APR::ThreadMutex ();
    my $mutex = APR::ThreadMutex->new(undef);
    $mutex->lock;
    $mutex->unlock;

=head1 DESCRIPTION

A worker (a process that runs Perl code) has one thread, so the lock is always free.

=head1 METHODS

=over 4

=item new(POOL), pool_get

C<new> returns a lock. C<pool_get> returns the pool of the lock.

=item lock, trylock, unlock

Return 0.

=back

=head1 DIFFERENCES

The lock has no effect, not even between threads that a program has started itself.

=head1 SEE ALSO

L<APR::ThreadRWLock>.

=cut
