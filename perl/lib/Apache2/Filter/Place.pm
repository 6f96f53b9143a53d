package Apache2::Filter::Place;

# `$r->input_filters` and `$r->output_filters`: a handler reads a request's body and writes the
# response's by brigades. `$r->lookup_uri` takes such a place as an argument, for the filters of the
# sub-request.

use strict;
use warnings;
use APR::Error         ();
use Apache2::FilterRec ();
use Apache2::Filter    ();

our @ISA = ('Apache2::Filter');

my $PIECE = 8192;

# of($r, $way, $number): the first filter is 0. The number after the last one is the server's own.
sub of { my ($class, $r, $way, $number) = @_; return bless { r => $r, way => $way, number => $number }, $class }

sub _count {
    my ($self) = @_;
    return scalar @{ $self->{r}->get_handlers('Perl' . ucfirst($self->{way}) . 'FilterHandler') || [] };
}

# The place for the filters of a sub-request. `undef`: behind all filters.
sub number { my ($self) = @_; return $self->{number} < $self->_count ? $self->{number} : undef }

sub next {
    my ($self) = @_;
    return $self->{number} < $self->_count ? ref($self)->of(@$self{qw(r way)}, $self->{number} + 1) : undef;
}

sub frec {
    my ($self) = @_;
    return Apache2::FilterRec->new($self->{number} < $self->_count ? "modperl_request_$self->{way}" : 'core');
}

# get_brigade($brigade, $mode, $block, $bytes): the filtered body, with the end mark after its last
# byte.
sub get_brigade {
    my ($self, $brigade, undef, undef, $bytes) = @_;
    my $most = $bytes && $bytes < $PIECE ? $bytes : $PIECE;
    my $got  = $self->{r}->read(my $text, $most);
    Apache2::Filter::_add($brigade, $text, $got < $most && 'eos_create');
    return 0;
}

# pass_brigade($brigade): writes as `$r->print` does, and flushes at a flush bucket.
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
