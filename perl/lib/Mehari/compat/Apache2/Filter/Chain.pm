package Apache2::Filter::Chain;

# Holds the filters of a request or a connection in one direction. After the last filter comes a
# request's body (Apache2::Filter::Body) or the client's socket (Apache2::Filter::Network).

use strict;
use warnings;
use APR::Brigade     ();
use APR::BucketAlloc ();
use Apache2::Const   ();
use Apache2::Filter  ();
use Apache2::Filter::Body ();
use Scalar::Util ();

my $PIECE = 8192;

# new($way, $end, r => $r) or (..., c => $connection)
sub new {
    my ($class, $way, $end, %owner) = @_;
    Scalar::Util::weaken($owner{c}) if $owner{c};    # the connection keeps the chain
    return bless { way => $way, end => $end, owner => \%owner, filters => [] }, $class;
}

# Returns the chain for a phase of a request. Adds the filters that were added to the request since
# the last call.
sub of_request {
    my ($class, $r, $phase, $handlers) = @_;
    my $way  = $phase =~ /Input/ ? 'input' : 'output';
    my $self = $r->_slots->{"filters of $phase"} ||= $class->new($way, Apache2::Filter::Body->new($r, $way), r => $r);
    while (my $handler = $handlers->[@{ $self->{filters} }]) {
        die 'the filter ', (ref $handler ? 'of this request' : $handler), " is one of connections: within HTTP use FilterRequestHandler\n" if Apache2::Filter::is_of_connections($handler);
        $self->add($handler);
    }
    return $self;
}

sub add { my ($self, $handler) = @_; push @{ $self->{filters} }, Apache2::Filter->begun($self, $handler, scalar @{ $self->{filters} }); return }

sub owner    { return $_[0]{owner} }
sub is_input { return $_[0]{way} eq 'input' }

# Returns the filter at a place, or the next filter that was not removed. After the last filter, it
# returns the end of the chain.
sub at {
    my ($self, $place) = @_;
    my $filters = $self->{filters};
    $place++ while $filters->[$place] && $filters->[$place]{removed};
    return $filters->[$place] || ($self->{server} ||= Apache2::Filter->of_server($self->{end}));
}

sub _brigade { my ($self) = @_; return APR::Brigade->new($self->{owner}{r}->pool, APR::BucketAlloc->new) }

# Returns the whole body of a request as the filters change it.
sub drawn {
    my ($self, $body) = @_;
    my $end  = $self->{end};
    my $all  = '';
    $end->begin($body);
    while (1) {
        my ($brigade, $before) = ($self->_brigade, $end->calls);
        my $status = $self->at(0)->get_brigade($brigade, Apache2::Const::MODE_READBYTES(), 0, $PIECE);
        die "an input filter answered $status\n" if $status && $status != Apache2::Filter::Body::OVER();
        $brigade->flatten(my $text);
        $all .= $text;
        # A filter that neither reads nor writes would keep this loop running for ever.
        last if $status || Apache2::Filter::_has($brigade, 'is_eos') || !length $text && $end->calls == $before;
    }
    return $all;
}

# Passes a part of the response's body through the filters, from a place on. The filters get it in
# pieces: `pieces` has the offsets at which all pieces but the first begin.
sub passed {
    my ($self, $body, %how) = @_;
    my @from   = (0, @{ $how{pieces} });
    my @pieces = grep { length } map { substr $body, $from[$_], ($from[ $_ + 1 ] // length $body) - $from[$_] } 0 .. $#from;
    my $last   = pop @pieces;
    $self->_pass($how{place}, $_) for @pieces;
    $self->_pass($how{place}, $last, $how{is_flushed} ? 'flush_create' : ()) if defined $last;
    $self->_pass($how{place}, '', 'eos_create') if $how{is_last};
    return $self->{end}->taken;
}

sub _pass {
    my ($self, $place, $piece, @marks) = @_;
    my $brigade = $self->_brigade;
    Apache2::Filter::_add($brigade, $piece, @marks);
    my $status = $self->at($place || 0)->pass_brigade($brigade);
    die "an output filter answered $status\n" if $status;
    return;
}

1;

__END__

=head1 NAME

Apache2::Filter::Chain - internal

=head1 DESCRIPTION

This module is internal to the server: it is the chain of filters of a request or a connection.

=cut
