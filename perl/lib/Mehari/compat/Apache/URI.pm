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

__END__

=head1 NAME

Apache::URI - mod_perl 1's URIs

=head1 SYNOPSIS

    use Apache::URI ();

    sub handler {
        my $r = shift;
        my $host = Apache::URI->parse($r)->hostname;
        return 0;
    }

=head1 DESCRIPTION

The class is an L<APR::URI>.

=head1 METHODS

=over 4

=item parse(R, [TEXT])

A class method: the URI of a text, or of the request.

=item path_info([TEXT])

The path behind the file. Returns the old value.

=back

=head1 DIFFERENCES

The URI of the request has no query.

=head1 SEE ALSO

L<APR::URI>, L<Apache2::URI>.

=cut
