package Apache2::FilterRec;

# The name of a filter in the configuration.

use strict;
use warnings;

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

=item new(NAME)

Makes the object; the name is kept in lower case.

=item name

The name: C<modperl_request_output> and the like for filters in Perl, C<core> for the server's
own.

=back

=head1 DIFFERENCES

Filters of the server have no names of their own but C<core>.

=head1 SEE ALSO

L<Apache2::Filter>.

=cut
