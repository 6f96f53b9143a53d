package APR::Bucket;

# A piece of data, or a mark (the end, a flush) between pieces. In a brigade a bucket knows its
# neighbours. Data stay in their variable until the bucket is set aside, as under mod_perl.

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

# Perl gives the same scalar to the next caller, so such a value is copied.
sub _is_temporary {
    require B;
    my $flags = B::svref_2object(\$_[0])->FLAGS;
    return $flags & (B::SVs_TEMP() | B::SVs_PADTMP()) || $flags & B::SVf_READONLY();
}

sub _made {
    my ($class, $type, $data, $start, $length) = @_;
    return bless { type => $type, data => $data, start => $start, length => $length }, ref $class || $class;
}

# Text that the server itself passes to filters.
sub of_text { my ($class, $text) = @_; return _made($class, 'TRANSIENT', \$text, 0, CORE::length $text) }

sub eos_create   { return _made(__PACKAGE__, 'EOS',   \'', 0, 0) }
sub flush_create { return _made(__PACKAGE__, 'FLUSH', \'', 0, 0) }

sub is_eos   { return $_[0]{type} eq 'EOS'   ? 1 : 0 }
sub is_flush { return $_[0]{type} eq 'FLUSH' ? 1 : 0 }

sub type   { return APR::BucketType->of($_[0]{type}) }
sub length { return $_[0]{length} }
sub start  { return $_[0]{start} }
sub data   { my ($self) = @_; return substr ${ $self->{data} }, $self->{start}, $self->{length} }

# read($buffer): the number of bytes read. The data are tainted where taint is checked.
sub read {
    my ($self) = @_;
    $_[1] = $self->data;
    $_[1] .= substr "$0$^X", 0, 0 if ${^TAINT};
    return CORE::length $_[1];
}

# Copies the data, so that their variable may change.
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

The data stay in their variable until the bucket is set aside.

=head1 METHODS

=over 4

=item new(ALLOC, DATA, [OFFSET, [LENGTH]])

A bucket of data. Dies if the offset or the length is beyond the data.

=item of_text(TEXT)

A class method: a bucket of the server's, with a text of its own.

=item is_eos, is_flush

Whether it is a mark of the end, or one that flushes.

=item type

An L<APR::BucketType>.

=item length, start, data

The length in bytes, the offset, and the bytes.

=item read(BUFFER)

Puts the data into the buffer. Returns their length.

=item setaside

Copies the data, so that the variable may change. Returns 0.

=item insert_after(BUCKET), insert_before(BUCKET)

Put another bucket beside this one. They die outside of a brigade.

=item remove

Takes the bucket out of its brigade.

=item destroy, delete

Frees the data; C<delete> also removes the bucket.

=back

=head1 FUNCTIONS

=over 4

=item eos_create(ALLOC), flush_create(ALLOC)

Marks.

=back

=head1 DIFFERENCES

All buckets are in memory. C<read> takes no mode, because it never waits.

=head1 SEE ALSO

L<APR::Brigade>, L<APR::BucketAlloc>, L<APR::BucketType>.

=cut
