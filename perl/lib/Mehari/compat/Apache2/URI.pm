package Apache2::URI;

# The parts of the request's URI, and URLs of this server.

use strict;
use warnings;
use Apache2::RequestRec ();
use APR::URI ();

# unescape_url($text): decodes the text, and also changes its argument.
sub unescape_url {
    $_[0] =~ s/%([0-9A-Fa-f]{2})/chr hex $1/ge if defined $_[0];
    return $_[0];
}

package Apache2::RequestRec;

use strict;
use warnings;

sub parsed_uri {
    my ($self) = @_;
    my $uri = APR::URI->parse(undef, $self->unparsed_uri);
    $uri->port($self->get_server_port) unless length($uri->port // '');
    $uri->fragment($self->_slots->{fragment}) if defined $self->_slots->{fragment};
    $uri->path($self->uri);
    $uri->query($self->args);
    $uri->{path_info} = $self->path_info;
    return $uri;
}

# Sets the URI of the request.
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

sub construct_server {
    my ($self, $name, $port) = @_;
    $name = $self->get_server_name unless defined $name;
    $port = $self->get_server_port unless defined $port;
    return $port == APR::URI::port_of_scheme($self->_scheme) ? $name : "$name:$port";
}

sub construct_url {
    my ($self, $path) = @_;
    $path = $self->uri unless defined $path;
    return $self->_scheme . '://' . $self->construct_server . $path;
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

Decodes C<%> codes in its argument itself, and returns it.

=back

=head1 METHODS OF THE REQUEST

=over 4

=item parsed_uri

An L<APR::URI> of the request, with C<rpath> for the path before C<path_info>.

=item parse_uri(TEXT)

Sets C<uri> and C<args> from a URI.

=item construct_server([NAME, [PORT]])

The name of the server, with its port unless the port is the usual one of the scheme.

=item construct_url([PATH])

A whole URL of this server; without a PATH, of the request without its query.

=back

=head1 DIFFERENCES

C<unescape_url> leaves broken codes as they are and reports no error.

=head1 SEE ALSO

L<APR::URI>, L<Apache2::RequestRec>.

=cut
