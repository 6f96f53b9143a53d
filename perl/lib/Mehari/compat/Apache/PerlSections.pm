package Apache::PerlSections;

# Gives Apache2::PerlSections its name of mod_perl 1.

use strict;
use warnings;
use Apache2::PerlSections ();

1;

__END__

=head1 NAME

Apache::PerlSections - mod_perl 1's name for Apache2::PerlSections

=head1 SYNOPSIS

    use Apache::PerlSections ();

=head1 DESCRIPTION

Loading this module loads L<Apache2::PerlSections>. Sections work without it.

=head1 DIFFERENCES

This package has no functions of its own: call C<< Apache2::PerlSections->dump >> and C<<
->store >>.

=head1 SEE ALSO

L<Apache2::PerlSections>.

=cut
