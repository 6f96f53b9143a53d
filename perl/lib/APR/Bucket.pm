package APR::Bucket;

# A piece of data, or a mark (the end, a flush) between pieces. In a brigade it knows its
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
