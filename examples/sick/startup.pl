# Runs once, before the workers are forked.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__) . '/lib';
use DBI ();
use DBD::SQLite ();
use Shop::Cart ();
use Shop::Report ();
use Shop::Stock ();
use Shop::Visits ();

Shop::Stock::make();

1;
