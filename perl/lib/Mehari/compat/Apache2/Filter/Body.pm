package Apache2::Filter::Body;

# Is the last part of a request's chain of filters. For input, it supplies the received body in
# pieces. For output, it collects the body to send.

use strict;
use warnings;
use APR::Brigade       ();
use Apache2::FilterRec ();
use Apache2::Filter::Place ();

use constant OVER => 70014;    # APR::Const::EOF

my $PIECE = 8192;

# `$r` and `$way` (`input` or `output`) are needed for the names of the server's own filters.
sub new { my ($class, $r, $way) = @_; return bless { r => $r, way => $way, text => '', at => 0, calls => 0 }, $class }

# ---- the received body ----

sub begin { my ($self, $text) = @_; @$self{qw(text at calls)} = ($text, 0, 0); return }

# Returns how often get_brigade was called.
sub calls { return $_[0]{calls} }

# get_brigade($brigade, $mode, $block, $bytes) adds at most this many bytes to the brigade. After
# the last byte of the body it adds the end mark.
sub get_brigade {
    my ($self, $brigade, undef, undef, $bytes) = @_;
    return OVER if $self->{ended};
    $self->{calls}++;
    my $text = substr $self->{text}, $self->{at}, ($bytes // 0) > 0 && $bytes < $PIECE ? $bytes : $PIECE;
    $self->{at} += length $text;
    $self->{ended} = $self->{at} >= length $self->{text};
    Apache2::Filter::_add($brigade, $text, $self->{ended} && 'eos_create');
    return 0;
}

# ---- the body to send ----

# pass_brigade($brigade) collects the brigade's data up to the end mark.
sub pass_brigade {
    my ($self, $brigade) = @_;
    $brigade->flatten(my $text);
    $self->{text} .= $text unless $self->{ended};
    $self->{ended} ||= Apache2::Filter::_has($brigade, 'is_eos');
    $brigade->cleanup;
    return 0;
}

sub fflush { my ($self, $brigade) = @_; return $self->pass_brigade($brigade) }

# Returns the data that were collected since the last call.
sub taken { my ($self) = @_; my $text = $self->{text}; $self->{text} = ''; return $text }

# To Perl code, this last part of the chain looks like the first of the server's own filters. Perl
# code cannot remove this part.
sub next   { my ($self) = @_; return Apache2::Filter::Place->of_server($self->{r}, $self->{way}, 1) }
sub remove { return }
sub frec   { my ($self) = @_; return Apache2::FilterRec->of_server($self->{way}, 0) }

1;

__END__

=head1 NAME

Apache2::Filter::Body - internal

=head1 DESCRIPTION

This module is internal to the server: it connects a request's filters with the body.

=cut
