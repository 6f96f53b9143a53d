package APR::XSLoader;

# Does nothing for modules that load a library of APR, because Mehari's own library has everything.

use strict;
use warnings;

sub load { return }

1;

__END__

=head1 NAME

APR::XSLoader - a loader that has nothing to load

=head1 SYNOPSIS

    use APR::XSLoader ();
    APR::XSLoader::load('APR::Table');

=head1 DESCRIPTION

Modules for mod_perl call C<load>. It does nothing, because everything is in Mehari's own library.

=head1 FUNCTIONS

=over 4

=item load

Does nothing.

=back

=head1 DIFFERENCES

No library of APR is loaded.

=head1 SEE ALSO

L<APR>.

=cut
