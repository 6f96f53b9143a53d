package APR::XSLoader;

# Loads nothing, because Mehari's own library has everything.

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

Modules for mod_perl call it. Everything is in Mehari's own library.

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
