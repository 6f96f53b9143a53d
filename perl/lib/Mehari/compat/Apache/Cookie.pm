package Apache::Cookie;

# Provides libapreq 1's cookies: `Apache::Cookie->new($r, -name => 'id', -value => 1)->bake`.

use strict;
use warnings;
use Apache ();
use Apache2::Cookie ();

our @ISA = ('Apache2::Cookie');

# Returns the cookies that the client sent, by name.
sub fetch { my ($class, $r) = @_; return $class->SUPER::fetch($r || Apache->request) }

# $cookie->parse($line) returns the cookies of a line. Without a line, it returns the cookies that
# the client sent.
sub parse {
    my ($self, $line) = @_;
    return $self->SUPER::parse($line) if defined $line;
    return (ref $self || $self)->fetch(ref $self ? $self->{r} : undef);
}

sub name { my $self = shift; my $old = $self->{name}; $self->{name} = $_[0] if @_; return $old }

1;

__END__

=head1 NAME

Apache::Cookie - libapreq 1's cookies

=head1 SYNOPSIS

    use Apache::Cookie ();

    sub handler {
        my $r = shift;
        my %cookies = Apache::Cookie->fetch;
        Apache::Cookie->new($r, -name => 'id', -value => 1)->bake;
        return 0;
    }

=head1 DESCRIPTION

The class is an L<Apache2::Cookie>.

=head1 METHODS

=over 4

=item fetch([R])

Returns the cookies that the client sent, by name.

=item parse([LINE])

Returns the cookies of a line. Without a LINE, it returns the cookies that the client sent.

=item name([NAME])

Sets the name. Returns the old name.

=back

=head1 DIFFERENCES

None is known.

=head1 SEE ALSO

L<Apache2::Cookie>, L<Apache::Request>.

=cut
