# Connect for each request, or keep the connection
# Answers: the mod_perl guide, Performance Tuning, where it keeps database connections with
# Apache::DBI.
# Learn: the connection costs many times what a simple query costs. A ping, which shows that
# the connection is alive, is cheap.

# results: equal

use strict;
use warnings;

use DBI ();
my @source = ('dbi:SQLite:dbname=:memory:', '', '', { RaiseError => 1 });
my $kept;

sub _asked { my ($dbh) = @_; return $dbh->selectrow_array('select 40 + 2') }

sub each_time { _asked(DBI->connect(@source)) }
sub kept      { $kept ||= DBI->connect(@source); _asked($kept) }
sub pinged    { $kept = DBI->connect(@source) if !$kept || !$kept->ping; _asked($kept) }
