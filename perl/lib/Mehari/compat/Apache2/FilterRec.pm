package Apache2::FilterRec;

# The name of a filter in the configuration.

use strict;
use warnings;

# Apache's names for what the server itself does with a body, in order.
my %OF_SERVER = (input => [qw(http_in core_in)], output => [qw(byterange content_length http_header http_outerror core)]);

# The record of the server's filter with this number; undef behind the last one.
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

An object of this class tells the kind of a filter.

=head1 METHODS

=over 4

=item of_server(WAY, NUMBER)

The record of a filter of the server by its number: WAY is C<input> or C<output>. undef behind the
last one.

=item new(NAME)

Makes the object; the name is kept in lower case.

=item name

The name: C<modperl_request_output> and the like for filters in Perl, Apache's names for the
server's own.

=back

=head1 DIFFERENCES

The server's filters have Apache's names, but the front does their work: a brigade that is passed
to one of them is passed to all.

=head1 SEE ALSO

L<Apache2::Filter>.

=cut
