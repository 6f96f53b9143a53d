package Apache2::Filter::Body;

# What stands behind the filters of a request: the body that came, handed out in pieces, or the one that goes, taken up.

use strict;
use warnings;
use APR::Brigade       ();
use Apache2::FilterRec ();

use constant OVER => 70014;    # APR::Const::EOF

my $PIECE = 8192;

sub new { my ($class) = @_; return bless { text => '', at => 0, calls => 0 }, $class }

# ---- that came ----

sub begin { my ($self, $text) = @_; @$self{qw(text at calls)} = ($text, 0, 0); return }

# How often it was asked.
sub calls { return $_[0]{calls} }

# get_brigade($brigade, $mode, $block, $bytes): at most so many bytes; with the last of them the end.
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

# ---- that goes ----

# pass_brigade($brigade): its data are taken up, but for what comes behind the end.
sub pass_brigade {
    my ($self, $brigade) = @_;
    $brigade->flatten(my $text);
    $self->{text} .= $text unless $self->{ended};
    $self->{ended} ||= Apache2::Filter::_has($brigade, 'is_eos');
    $brigade->cleanup;
    return 0;
}

sub fflush { my ($self, $brigade) = @_; return $self->pass_brigade($brigade) }

# What has come since it was asked last.
sub taken { my ($self) = @_; my $text = $self->{text}; $self->{text} = ''; return $text }

# The server's own: there is nothing behind it, and it stays.
sub next   { return undef }
sub remove { return }
sub frec   { return Apache2::FilterRec->new('core') }

1;
