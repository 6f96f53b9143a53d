package Apache::URI;

# mod_perl 1's URIs: APR::URI with the request in place of a pool.

use strict;
use warnings;
use Apache ();
use Apache2::URI ();
use APR::URI     ();

our @ISA = ('APR::URI');

# parse($r, $text): without a text it parses the URL of the request.
sub parse {
    my ($class, $r, $text) = @_;
    return $class->SUPER::parse(undef, defined $text ? $text : $r->construct_url);
}

sub path_info { my $self = shift; my $old = $self->{path_info}; $self->{path_info} = $_[0] if @_; return $old }

1;
