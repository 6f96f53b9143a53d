package APR::BucketAlloc;

# The allocator of buckets. Perl's own memory is enough.

use strict;
use warnings;

sub new { my ($class, $pool) = @_; return bless { pool => $pool }, ref $class || $class }

sub destroy { return }

1;

__END__

=head1 NAME

APR::BucketAlloc - the allocator of buckets

=head1 SYNOPSIS

    use APR::BucketAlloc ();
    my $alloc = APR::BucketAlloc->new;

=head1 DESCRIPTION

Buckets ask for an allocator, and perl's own memory is enough for them.

=head1 METHODS

=over 4

=item new([POOL])

An allocator.

=item destroy

Does nothing.

=back

=head1 DIFFERENCES

An allocator allocates nothing.

=head1 SEE ALSO

L<APR::Bucket>, L<APR::Brigade>.

=cut
