package Apache::Reload;

# Reloads changed modules: gives Apache2::Reload its name of mod_perl 1.

use strict;
use warnings;
use Apache2::Reload ();

our @ISA = ('Apache2::Reload');

sub handler { return Apache2::Reload::handler(@_) }

1;

__END__

=head1 NAME

Apache::Reload - mod_perl 1's name for Apache2::Reload

=head1 SYNOPSIS

    PerlInitHandler Apache::Reload

=head1 DESCRIPTION

The class is an L<Apache2::Reload>. Its page lists the variables.

=head1 FUNCTIONS

=over 4

=item handler(R)

Does the same as the handler of Apache2::Reload.

=back

=head1 DIFFERENCES

C<use Apache::Reload> in a module registers the module with Apache2::Reload.

=head1 SEE ALSO

L<Apache2::Reload>, L<Apache::StatINC>.

=cut
