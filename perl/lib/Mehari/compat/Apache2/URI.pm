package Apache2::URI;

# Adds methods to `$r` for the parts of the request's URI and for URLs of this server.

use strict;
use warnings;
use Apache2::RequestRec ();
use APR::URI ();

# unescape_url($text) decodes the text. It changes its argument and returns the result.
sub unescape_url {
    $_[0] =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge if defined $_[0];
    return $_[0];
}

package Apache2::RequestRec;

use strict;
use warnings;

# Returns the URI as it was parsed. As in Apache, its path is decoded, its port is that of the field
# Host, and changes of `uri` and `args` do not change it.
sub parsed_uri {
    my ($self) = @_;
    (my $target = $self->unparsed_uri) =~ s{\A/+}{/};
    my $uri = APR::URI->parse(undef, $target);
    my ($port) = ($self->headers_in->{Host} // '') =~ /:(\d+)\z/;
    $uri->port($port) if defined $port && !length($uri->port // '');
    $uri->fragment($self->_slots->{fragment}) if defined $self->_slots->{fragment};
    if (defined(my $path = $uri->path)) {
        Apache2::URI::unescape_url($path);
        $path =~ s{//+}{/}g;
        $uri->path($path);
    }
    $uri->{path_info} = $self->path_info;
    return $uri;
}

# Sets the URI and the query of the request from a text.
sub parse_uri {
    my ($self, $text) = @_;
    my $uri = APR::URI->parse(undef, $text);
    $self->uri(Apache2::URI::unescape_url(my $path = $uri->path));
    $self->args($uri->query);
    $self->_slots->{fragment} = $uri->fragment;
    $self->unparsed_uri($text);
    $self->hostname($uri->hostname) if defined $uri->hostname;
    return;
}

# The scheme of this server's URLs, which `ServerName https://NAME` sets.
sub _own_scheme {
    my ($self) = @_;
    return $self->subprocess_env('REQUEST_SCHEME') || $self->_scheme;
}

sub construct_server {
    my ($self, $name, $port) = @_;
    $name = $self->get_server_name unless defined $name;
    $port = $self->get_server_port unless defined $port;
    return $port == APR::URI::port_of_scheme(_own_scheme($self)) ? $name : "$name:$port";
}

sub construct_url {
    my ($self, $path) = @_;
    $path = $self->uri unless defined $path;
    return _own_scheme($self) . '://' . $self->construct_server . $path;
}

1;

__END__

=head1 NAME

Apache2::URI - the parts of the request's URI

=head1 SYNOPSIS

    use Apache2::URI ();

    sub handler {
        my $r = shift;
        my $here = $r->construct_url;
        my $uri = $r->parsed_uri;
        my ($path, $query) = ($uri->path, $uri->query);
        return 0;
    }

=head1 DESCRIPTION

Loading this module adds methods to L<Apache2::RequestRec>.

=head1 FUNCTIONS

=over 4

=item unescape_url(TEXT)

Decodes C<%> codes. It changes its argument and returns the result.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item parsed_uri

Returns an L<APR::URI> of the request, whose C<rpath> is the path before C<path_info>.

=item parse_uri(TEXT)

Sets C<uri> and C<args> from a URI.

=item construct_server([NAME, [PORT]])

Returns the name of the server and its port. The usual port of the scheme is left out.

=item construct_url([PATH])

Returns a whole URL of this server. Without a PATH, it returns the URL of the request without the
query.

=back

=head1 DIFFERENCES

C<unescape_url> leaves broken codes as they are and reports no error.

=head1 SEE ALSO

L<APR::URI>, L<Apache2::RequestRec>.

=cut
