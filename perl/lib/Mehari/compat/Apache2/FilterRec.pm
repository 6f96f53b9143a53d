package Apache2::FilterRec;

# Holds the name by which Apache knows a filter.

use strict;
use warnings;

# Apache's names for the filters of the server itself, in order.
my %OF_SERVER = (input => [qw(http_in core_in)], output => [qw(byterange content_length http_header http_outerror core)]);

# Returns the record of the server's filter with this number, or undef after the last filter.
sub of_server {
    my ($class, $way, $number) = @_;
    my $name = $OF_SERVER{$way}[$number];
    return defined $name ? $class->new($name) : undef;
}

sub new { my ($class, $name) = @_; return bless { name => lc $name }, $class }

sub name { return $_[0]{name} }

1;

__END__

=head1 NAME

Apache2::FilterRec - the name of a filter

=head1 SYNOPSIS

    sub handler {
        my $f = shift;
        my $name = $f->frec->name;
        return 0;
    }

=head1 DESCRIPTION

An object of this class tells the name of a filter.

=head1 METHODS

=over 4

=item of_server(WAY, NUMBER)

Returns the record of the server's filter with this NUMBER, or undef after the last filter. WAY is
C<input> or C<output>.

=item new(NAME)

Makes an object. The name is changed to lower case.

=item name

Returns the name. A filter in Perl has a name such as C<modperl_request_output>. The server's own
filters have Apache's names.

=back

=head1 DIFFERENCES

The front, the process that owns the connections, runs all of the server's own filters together. A
brigade that is passed to one of these filters is therefore passed to all of them.

=head1 SEE ALSO

L<Apache2::Filter>.

=cut
