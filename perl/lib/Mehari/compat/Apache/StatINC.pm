package Apache::StatINC;

# Reloads every changed module, for mod_perl 1's `PerlInitHandler Apache::StatINC`.

use strict;
use warnings;
use Apache2::Reload ();

sub handler { return Apache2::Reload::handler(@_) }

1;

__END__

=head1 NAME

Apache::StatINC - reload every changed module

=head1 SYNOPSIS

    PerlInitHandler Apache::StatINC

=head1 DESCRIPTION

The handler of mod_perl 1. It has the variables of L<Apache2::Reload>.

=head1 FUNCTIONS

=over 4

=item handler(R)

Does the same as the handler of Apache2::Reload.

=back

=head1 DIFFERENCES

Variables whose names begin with StatINC have no effect.

=head1 SEE ALSO

L<Apache2::Reload>.

=cut
