# What an import takes: nothing, one name, all names
# Answers: the mod_perl guide, Performance Tuning, where it imports all symbols of POSIX.
# Learn: each importing package pays for all names. The document counts bytes, and `mehari memory
# --module 'POSIX ()' POSIX` counts them here.

# results: equal

use strict;
use warnings;

use POSIX ();
use Symbol ();

# Each import has a new package, because each script of a server is a package.
sub _in_new_package {
    my ($import) = @_;
    Symbol::delete_package('Page');
    eval "package Page; $import; 1" or die $@;
    return POSIX::floor(4.5);
}

sub nothing  { _in_new_package('') }
sub one_name { _in_new_package('POSIX->import("floor")') }
sub all      { _in_new_package('POSIX->import') }
