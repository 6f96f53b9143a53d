#!/usr/bin/perl
# Connects to SQLite in each request and shows one row.
use strict;
use warnings;
use DBI ();
my $database = DBI->connect("dbi:SQLite:dbname=$ENV{PEERS_DATABASE}", '', '', {RaiseError => 1, PrintError => 0});
my ($leader, $camels) = $database->selectrow_array('SELECT leader, camels FROM caravan WHERE city = ? ORDER BY arrived LIMIT 1', undef, 'Agadez');
$database->disconnect;
print "Content-Type: text/plain\n\n$leader has $camels camels\n";
