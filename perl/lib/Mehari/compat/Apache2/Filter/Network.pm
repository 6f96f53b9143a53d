package Apache2::Filter::Network;

# Is the last part of a connection's chain of filters under a PerlProcessConnectionHandler. It reads
# brigades from the client's socket and writes brigades to it.

use strict;
use warnings;
use APR::Brigade       ();
use APR::Error         ();
use Apache2::Const     ();
use Apache2::FilterRec ();

my ($END, $TIMED_OUT, $AGAIN) = (70014, 70007, 11);
my $PIECE = 8192;

sub of_connection { my ($class, $connection, $way) = @_; return bless { socket => $connection->client_socket, early => '', way => $way }, $class }

# get_brigade($brigade, $mode, $block, $bytes) adds a line, or the available bytes up to this
# number. Returns 0, or a status.
sub get_brigade {
    my ($self, $brigade, $mode, $block, $bytes) = @_;
    my ($is_line, $most) = (($mode // 0) == Apache2::Const::MODE_GETLINE(), ($bytes // 0) > 0 ? $bytes : $PIECE);
    my $status = 0;
    $status = $self->_read_more($block) while !$status && !length $self->{early} || $is_line && !$status && $self->{early} !~ /\n/ && length $self->{early} < $PIECE;
    return $status unless length $self->{early};
    if ($is_line) { $most = $self->{early} =~ /\n/ ? $+[0] : $PIECE }
    my $text = substr $self->{early}, 0, $most, '';
    $brigade->insert_tail(APR::Bucket->new($brigade->bucket_alloc, $text));
    return 0;
}

sub _read_more {
    my ($self, $block) = @_;
    return $AGAIN if $block && $self->{socket}->poll(undef, 0, 1);
    my $got = eval { $self->{socket}->recv(my $read, $PIECE); \$read };
    return ref $@ ? $@->num : die $@ unless $got;
    $self->{early} .= $$got;
    return length $$got ? 0 : $END;
}

# pass_brigade($brigade) sends the brigade's data and empties the brigade.
sub pass_brigade {
    my ($self, $brigade) = @_;
    $brigade->flatten(my $text);
    $brigade->cleanup;
    return eval { $self->{socket}->send($text); 1 } ? 0 : ref $@ ? $@->num : die $@;
}

sub fflush { my ($self, $brigade) = @_; return $self->pass_brigade($brigade) }

# For a program, this end is a filter of the server. No filter follows, and it cannot be removed.
sub next   { return undef }
sub remove { return }
sub frec   { return Apache2::FilterRec->new($_[0]{way} eq 'input' ? 'core_in' : 'core') }

1;

__END__

=head1 NAME

Apache2::Filter::Network - internal

=head1 DESCRIPTION

This module is internal to the server: it connects a connection's filters with the client's socket.

=cut
