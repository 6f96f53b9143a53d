package Apache2::URI;

# The parts of the request's URI, and URLs of this server.

use strict;
use warnings;
use Apache2::RequestRec ();
use APR::URI ();

# unescape_url($text): also changes its argument.
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
