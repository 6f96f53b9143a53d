#!/usr/bin/perl
# Leaves a transaction open: Apache::DBI rolls it back in the cleanup phase.
use strict;
use warnings;
use DBI;

my $db = DBI->connect(@ENV{qw(SITE_DSN SITE_USER)}, '', { RaiseError => 1, PrintError => 0, AutoCommit => 0 });
$db->do('insert into words (word, worker) values (?, ?)', undef, 'undone', $$);
print "Content-Type: text/plain\n\nadded and not committed\n";
