# CGI.pm's functions against its methods
# Answers: the mod_perl guide, Performance Tuning, where it compares the functions of CGI.pm with
# its methods.
# Learn: a function of CGI.pm first finds out whether it was called as a method, which costs more
# than the search for a method.

# Seconds of processor time for all calls of the document.
# published: function 30.74
# published: method 23.62
# results: equal

use strict;
use warnings;

use CGI qw(:standard);
$CGI::LIST_CONTEXT_WARN = 0;
my $query = CGI->new('');

sub method   { $query->param('x', 5); return scalar $query->param('x') }
sub function { param('x', 5); return scalar param('x') }
