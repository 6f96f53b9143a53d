package APR::Brigade;

# Keeps a list of buckets in memory. A brigade neither reads from the network nor writes to it,
# because the server does this for the worker: use $r->read and $r->print, or a streaming filter.

use strict;
use warnings;
use Carp         ();
use Scalar::Util ();
use APR::Bucket      ();
use APR::BucketAlloc ();

sub new { my ($class, $pool, $alloc) = @_; return bless { pool => $pool, alloc => $alloc, buckets => [] }, ref $class || $class }

sub pool         { return $_[0]{pool} }
sub bucket_alloc { return $_[0]{alloc} ||= APR::BucketAlloc->new($_[0]{pool}) }

sub is_empty { return @{ $_[0]{buckets} } ? 0 : 1 }
sub first    { return $_[0]{buckets}[0] }
sub last     { return $_[0]{buckets}[-1] }

sub next { my ($self, $bucket) = @_; return $self->{buckets}[$self->_place($bucket) + 1] }
sub prev { my ($self, $bucket) = @_; my $place = $self->_place($bucket); return $place > 0 ? $self->{buckets}[$place - 1] : undef }

sub insert_head { my ($self, $bucket) = @_; unshift @{ $self->{buckets} }, $self->_own($bucket); return }
sub insert_tail { my ($self, $bucket) = @_; push @{ $self->{buckets} }, $self->_own($bucket); return }

sub _own {
    my ($self, $bucket) = @_;
    $bucket->remove;
    Scalar::Util::weaken($bucket->{brigade} = $self);
    return $bucket;
}

sub _put {
    my ($self, $bucket, $beside, $behind) = @_;
    $self->_own($bucket);
    splice @{ $self->{buckets} }, $self->_place($beside) + $behind, 0, $bucket;
    return;
}

sub _take {
    my ($self, $bucket) = @_;
    splice @{ $self->{buckets} }, $self->_place($bucket), 1;
    delete $bucket->{brigade};
    return;
}

sub _place {
    my ($self, $bucket) = @_;
    my $buckets = $self->{buckets};
    for my $place (0 .. $#$buckets) { return $place if $buckets->[$place] == $bucket }
    Carp::croak('APR::Brigade: the bucket is not in this brigade');
}

# Appends the buckets of the other brigade.
sub concat { my ($self, $other) = @_; $self->insert_tail($_) for @{ [@{ $other->{buckets} }] }; return }

# Moves this bucket and all buckets after it into a new brigade, and returns the new brigade.
sub split {
    my ($self, $bucket) = @_;
    my $rest = ref($self)->new(@$self{qw(pool alloc)});
    my $place = $self->_place($bucket);
    $rest->insert_tail($_) for @{ [@{ $self->{buckets} }[$place .. $#{ $self->{buckets} }]] };
    return $rest;
}

sub length { my ($self) = @_; my $total = 0; $total += $_->length for @{ $self->{buckets} }; return $total }

# flatten($buffer, $most) puts the joined data, or their first $most bytes, into the buffer. Returns
# the length.
sub flatten {
    my ($self, undef, $most) = @_;
    Carp::croak('usage: $bb->flatten($buf, [$wanted])') unless @_ > 1;
    my $text = join '', map { $_->data } @{ $self->{buckets} };
    $_[1] = defined $most && $most >= 0 ? substr $text, 0, $most : $text;
    return CORE::length $_[1];
}

sub cleanup { my ($self) = @_; $_->delete for @{ [@{ $self->{buckets} }] }; return 0 }
sub destroy { my ($self) = @_; $self->cleanup; return }

1;

__END__

=head1 NAME

APR::Brigade - a list of buckets

=head1 SYNOPSIS

    use APR::Brigade ();
    use APR::Bucket ();
    my $alloc = APR::BucketAlloc->new;
    my $brigade = APR::Brigade->new(undef, $alloc);
    $brigade->insert_tail(APR::Bucket->new($alloc, 'some text'));
    $brigade->flatten(my $text);

=head1 DESCRIPTION

A brigade is a list of buckets, which hold data. A filter gets its input in brigades and passes its
output on in brigades.

=head1 METHODS

=over 4

=item new(POOL, ALLOC)

Returns an empty brigade.

=item pool, bucket_alloc

Return the pool and the allocator that C<new> got.

=item is_empty, length

C<is_empty> returns whether the brigade has no bucket. C<length> returns the number of bytes in all
buckets.

=item first, last, next(BUCKET), prev(BUCKET)

Return a bucket, or undef if there is no such bucket.

=item insert_head(BUCKET), insert_tail(BUCKET)

Put a bucket at the beginning or at the end. The bucket leaves the brigade that it was in.

=item concat(BRIGADE)

Appends the buckets of another brigade.

=item split(BUCKET)

Moves this bucket and all buckets after it into a new brigade, and returns the new brigade.

=item flatten(BUFFER, [BYTES])

Joins the data of all buckets and puts them into the buffer. With BYTES, it puts only the first
BYTES bytes there. Returns the length of the data in the buffer.

=item cleanup, destroy

Delete all buckets. C<cleanup> returns 0.

=back

=head1 ERRORS

C<next>, C<prev> and C<split> die if the bucket is not in the brigade.

=head1 DIFFERENCES

A brigade is in memory only: it reads from no connection and writes to none.

=head1 SEE ALSO

L<APR::Bucket>, L<Apache2::Filter>.

=cut
