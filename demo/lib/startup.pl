# Loaded once, before the workers are forked: what is loaded here is shared by all of them.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use CGI   ();
use DBI   ();
use DBD::SQLite ();
use Encode      ();
use POSIX       ();
use Demo::Guestbook ();
use Demo::Page      ();
1;
