package Apache::PerlSections;

# mod_perl 1's name for Apache2::PerlSections: <Perl> sections.

use strict;
use warnings;
use Apache2::PerlSections ();

1;
