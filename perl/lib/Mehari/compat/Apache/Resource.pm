package Apache::Resource;

# Limits the worker's resources: gives Apache2::Resource its name of mod_perl 1.

use strict;
use warnings;
use Apache2::Resource ();

our @ISA = ('Apache2::Resource');

sub handler { return Apache2::Resource::handler(@_) }

1;

__END__

=head1 NAME

Apache::Resource - mod_perl 1's name for Apache2::Resource

=head1 SYNOPSIS

    PerlChildInitHandler Apache::Resource

=head1 DESCRIPTION

The class is an L<Apache2::Resource>. Its page lists the variables.

=head1 FUNCTIONS

=over 4

=item handler

Does the same as the handler of Apache2::Resource.

=back

=head1 DIFFERENCES

See L<Apache2::Resource>.

=head1 SEE ALSO

L<Apache2::Resource>.

=cut
