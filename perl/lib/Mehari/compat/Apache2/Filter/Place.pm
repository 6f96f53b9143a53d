package Apache2::Filter::Place;

# Is the result of `$r->input_filters` and `$r->output_filters`: a place in the chain of filters.
# With it, a handler reads the request's body and writes the response's body in brigades. The places
# of Perl's filters come first, then the places of the server's own filters. `$r->lookup_uri` takes
# a place as an argument, for the filters of the sub-request.

use strict;
use warnings;
use APR::Error         ();
use Apache2::FilterRec ();
use Apache2::Filter    ();

my $PIECE = 8192;

# of($r, $way, $number) returns the filter at a place. The first place is 0.
sub of { my ($class, $r, $way, $number) = @_; return Apache2::Filter->of_server(bless { r => $r, way => $way, number => $number }, $class) }

# Returns the server's own filter with this number, or undef if there is none.
sub of_server {
    my ($class, $r, $way, $number) = @_;
    return undef unless Apache2::FilterRec->of_server($way, $number);
    return $class->of($r, $way, _count($r, $way) + $number);
}

sub _count {
    my ($r, $way) = @_;
    return scalar @{ $r->get_handlers('Perl' . ucfirst($way) . 'FilterHandler') || [] };
}

# Returns the number among the server's own filters. It is negative for a filter of Perl.
sub _behind { my ($self) = @_; return $self->{number} - _count(@$self{qw(r way)}) }

# Returns the place as `$r->lookup_uri` needs it: undef after the last of Perl's filters.
sub number { my ($self) = @_; return $self->_behind < 0 ? $self->{number} : undef }

sub next {
    my ($self) = @_;
    return undef unless $self->_behind < 0 || Apache2::FilterRec->of_server($self->{way}, $self->_behind + 1);
    return ref($self)->of(@$self{qw(r way)}, $self->{number} + 1);
}

sub frec {
    my ($self) = @_;
    return $self->_behind < 0 ? Apache2::FilterRec->new("modperl_request_$self->{way}") : Apache2::FilterRec->of_server($self->{way}, $self->_behind);
}

# get_brigade($brigade, $mode, $block, $bytes) adds a part of the filtered body. After the last byte
# it adds the end mark.
sub get_brigade {
    my ($self, $brigade, undef, undef, $bytes) = @_;
    my $most = $bytes && $bytes < $PIECE ? $bytes : $PIECE;
    my $got  = $self->{r}->read(my $text, $most);
    Apache2::Filter::_add($brigade, $text, $got < $most && 'eos_create');
    return 0;
}

# pass_brigade($brigade) writes as `$r->print` does, and flushes if there is a flush bucket.
sub pass_brigade {
    my ($self, $brigade) = @_;
    my $flushes = Apache2::Filter::_has($brigade, 'is_flush');
    $brigade->flatten(my $text);
    $brigade->cleanup;
    $self->{r}->write($text) if length $text;
    $self->{r}->rflush if $flushes;
    return 0;
}

sub fflush {
    my ($self, $brigade) = @_;
    my $status = $self->pass_brigade($brigade);
    $self->{r}->rflush;
    return $status;
}

sub remove { my ($self) = @_; die "a filter is removed by itself: \$f->remove\n" }

1;

__END__

=head1 NAME

Apache2::Filter::Place - internal

=head1 DESCRIPTION

This module is internal to the server: it is a place among the filters of a request, as C<<
$r->input_filters >> and C<< $r->output_filters >> return.

=cut
