# Loaded once before the workers are forked, so that all workers share the loaded modules.
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
