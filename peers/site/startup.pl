# Loads the modules that such a site loads before its server forks.
use strict;
use warnings;
use CGI   ();
use CGI::HTML::Functions ();
use HTML::Entities ();
use DBI   ();
use POSIX ();
use DBD::SQLite   ();
use Peers::Report ();
1;
