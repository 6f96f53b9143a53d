package APR::BucketAlloc;

# Stands for APR's allocator of buckets. It does nothing, because perl manages the memory.

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

In APR's interface, buckets and brigades are made with an allocator. Here an allocator does nothing,
because perl manages the memory.

=head1 METHODS

=over 4

=item new([POOL])

Returns an allocator.

=item destroy

Does nothing.

=back

=head1 DIFFERENCES

An allocator allocates nothing.

=head1 SEE ALSO

L<APR::Bucket>, L<APR::Brigade>.

=cut
