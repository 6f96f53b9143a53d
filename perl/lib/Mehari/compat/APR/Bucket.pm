package APR::Bucket;

# Holds a piece of data, or a mark between pieces: the end, or a flush. As under mod_perl, a bucket
# refers to the variable with the data, and copies the data only when it is set aside.

use strict;
use warnings;
use Carp         ();
use Scalar::Util ();
use APR::BucketType ();

# new($alloc, $data, $offset, $length)
sub new {
    my ($class, $alloc, undef, $offset, $length) = @_;
    my $total = length(defined $_[2] ? $_[2] : '');
    $offset = 0 unless defined $offset;
    my $rest = $total - $offset;
    Carp::croak('APR::Bucket::new: the offset argument can\'t be bigger than the total buffer length') if $rest < 0 || $offset < 0;
    Carp::croak('APR::Bucket::new: the length argument can\'t be bigger than the total buffer length minus offset') if defined $length && ($length > $rest || $length < 0);
    my $data = _is_temporary($_[2]) ? \(my $copy = $_[2]) : \$_[2];
    return _made($class, 'mod_perl SV bucket', $data, $offset, defined $length ? $length : $rest);
}

# Returns whether a value is a temporary or a constant. perl may reuse the scalar of such a value,
# so the value is copied.
sub _is_temporary {
    require B;
    my $flags = B::svref_2object(\$_[0])->FLAGS;
    return $flags & (B::SVs_TEMP() | B::SVs_PADTMP()) || $flags & B::SVf_READONLY();
}

sub _made {
    my ($class, $type, $data, $start, $length) = @_;
    return bless { type => $type, data => $data, start => $start, length => $length }, ref $class || $class;
}

# Returns a bucket for text that the server itself passes to filters.
sub of_text { my ($class, $text) = @_; return _made($class, 'TRANSIENT', \$text, 0, CORE::length $text) }

sub eos_create   { return _made(__PACKAGE__, 'EOS',   \'', 0, 0) }
sub flush_create { return _made(__PACKAGE__, 'FLUSH', \'', 0, 0) }

sub is_eos   { return $_[0]{type} eq 'EOS'   ? 1 : 0 }
sub is_flush { return $_[0]{type} eq 'FLUSH' ? 1 : 0 }

sub type   { return APR::BucketType->of($_[0]{type}) }
sub length { return $_[0]{length} }
sub start  { return $_[0]{start} }
sub data   { my ($self) = @_; return substr ${ $self->{data} }, $self->{start}, $self->{length} }

# read($buffer) returns the number of bytes read. The data are tainted if perl checks taint.
sub read {
    my ($self) = @_;
    $_[1] = $self->data;
    $_[1] .= substr "$0$^X", 0, 0 if ${^TAINT};
    return CORE::length $_[1];
}

# Copies the data, so that the program may change its variable.
sub setaside {
    my ($self) = @_;
    my $own = $self->data;
    @$self{qw(data start)} = (\$own, 0);
    $self->{type} = 'POOL' if $self->{type} eq 'mod_perl SV bucket';
    return 0;
}

# ---- in a brigade ----

sub insert_after  { my ($self, $new) = @_; $self->_brigade('insert_after')->_put($new, $self, 1);  return }
sub insert_before { my ($self, $new) = @_; $self->_brigade('insert_before')->_put($new, $self, 0); return }

sub _brigade {
    my ($self, $function) = @_;
    return $self->{brigade} || Carp::croak("APR::Bucket::$function: the bucket is in no brigade");
}

sub remove { my ($self) = @_; $self->{brigade}->_take($self) if $self->{brigade}; return }

sub destroy { my ($self) = @_; @$self{qw(data start length)} = (\'', 0, 0); return }

sub delete { my ($self) = @_; $self->remove; $self->destroy; return }

1;

__END__

=head1 NAME

APR::Bucket - a piece of data, or a mark

=head1 SYNOPSIS

    use APR::Bucket ();
    use APR::BucketAlloc ();
    my $alloc = APR::BucketAlloc->new;
    my $data = 'some text';
    my $bucket = APR::Bucket->new($alloc, $data, 5);
    $bucket->read(my $text);    # "text"

=head1 DESCRIPTION

A filter gets and passes on data in buckets. A bucket refers to the variable with the data.
C<setaside> copies the data into the bucket.

=head1 METHODS

=over 4

=item new(ALLOC, DATA, [OFFSET, [LENGTH]])

Returns a bucket of data. Dies if the offset or the length is beyond the data.

=item of_text(TEXT)

A class method. Returns a bucket with a copy of the text. The server uses it.

=item is_eos, is_flush

C<is_eos> returns whether the bucket marks the end of the data. C<is_flush> returns whether the
bucket demands a flush.

=item type

Returns an L<APR::BucketType>.

=item length, start, data

Return the length in bytes, the offset, and the bytes.

=item read(BUFFER)

Puts the data into the buffer. Returns the length of the data.

=item setaside

Copies the data, so that the program may change its variable. Returns 0.

=item insert_after(BUCKET), insert_before(BUCKET)

Put another bucket after or before this bucket. Die if this bucket is in no brigade.

=item remove

Takes the bucket out of its brigade.

=item destroy, delete

Free the data. C<delete> also removes the bucket from its brigade.

=back

=head1 FUNCTIONS

=over 4

=item eos_create(ALLOC), flush_create(ALLOC)

Return a bucket that marks the end of the data, or a bucket that demands a flush.

=back

=head1 DIFFERENCES

The data of every bucket are in memory. C<read> takes no mode, because C<read> never waits.

=head1 SEE ALSO

L<APR::Brigade>, L<APR::BucketAlloc>, L<APR::BucketType>.

=cut
