package Apache::Cookie;

# libapreq 1's cookies: `Apache::Cookie->new($r, -name => 'id', -value => 1)->bake`.

use strict;
use warnings;
use Apache ();
use Apache2::Cookie ();

our @ISA = ('Apache2::Cookie');

# fetch: the cookies received, by name.
sub fetch { my ($class, $r) = @_; return $class->SUPER::fetch($r || Apache->request) }

# $cookie->parse($line). Without a line, parses the request's cookies.
sub parse {
    my ($self, $line) = @_;
    return $self->SUPER::parse($line) if defined $line;
    return (ref $self || $self)->fetch(ref $self ? $self->{r} : undef);
}

sub name { my $self = shift; my $old = $self->{name}; $self->{name} = $_[0] if @_; return $old }

1;
