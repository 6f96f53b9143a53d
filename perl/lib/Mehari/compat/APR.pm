package APR;

# Holds the version of the classes APR::*, which need no libapr. Each class is in its own file.

use strict;
use warnings;

our $VERSION = '0.009000';

1;

__END__

=head1 NAME

APR - the portable runtime's classes, in Perl

=head1 SYNOPSIS

    use APR ();
    use APR::Pool ();
    use APR::Table ();
    my $table = APR::Table::make(APR::Pool->new, 10);

=head1 DESCRIPTION

The classes C<APR::*> have the interface of mod_perl. They do not need the library libapr. After
C<use APR>, they work in any program, also without a server. C<use APR> itself loads no other
module.

=head1 VARIABLES

=over 4

=item $APR::VERSION

The version of the interface.

=back

=head1 DIFFERENCES

perl manages all memory, so a pool (L<APR::Pool>) holds no memory. F<docs/reference/modperl.md>
lists the classes.

=head1 SEE ALSO

L<APR::Table>, L<APR::Pool>, L<APR::Error>, L<APR::Const>, L<APR::Brigade>,
F<docs/reference/modperl.md>.

=cut
