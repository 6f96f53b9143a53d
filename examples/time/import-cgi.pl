# What an import takes: no tag, `:standard`, `:all`
# Answers: the mod_perl guide, Performance Tuning, where it imports :standard and :all of CGI.pm.
# Learn: the tags differ by what they export. `mehari memory --module 'CGI ()' 'CGI qw(:all)'`
# shows the memory.

# results: equal

use strict;
use warnings;

use CGI ();
use Symbol ();

sub _in_new_package {
    my ($import) = @_;
    Symbol::delete_package('Page');
    eval "package Page; $import; 1" or die $@;
    return CGI->can('param') ? 1 : 0;
}

sub none     { _in_new_package('') }
sub standard { _in_new_package('CGI->import(":standard")') }
sub all      { _in_new_package('CGI->import(":all")') }
