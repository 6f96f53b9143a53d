package Apache::URI;

# Provides mod_perl 1's URIs: an APR::URI whose `parse` takes the request and not a pool.

use strict;
use warnings;
use Apache ();
use Apache2::URI ();
use APR::URI     ();

our @ISA = ('APR::URI');

# parse($r, $text) parses a URI. Without a text, it parses the URL of the request.
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

A class method. Returns the URI in a text. Without a TEXT, it returns the URI of the request.

=item path_info([TEXT])

Returns or sets the part of the path behind the file.

=back

=head1 DIFFERENCES

The URI of the request has no query.

=head1 SEE ALSO

L<APR::URI>, L<Apache2::URI>.

=cut
