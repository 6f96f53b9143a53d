#!/usr/bin/perl
# Adds one line to a table by a cached statement, and prints the table and its connection.
use strict;
use warnings;
use CGI ();
use DBI;

my $q  = CGI->new;
my $db = DBI->connect(@ENV{qw(SITE_DSN SITE_USER)}, '', { RaiseError => 1, PrintError => 0, AutoCommit => 1 });
if (defined(my $word = $q->param('word'))) {
    $db->prepare_cached('insert into words (word, worker) values (?, ?)')->execute($word, $$);
}
my $read = $db->prepare_cached('select word from words order by word');
$read->execute;
my @words = map { $_->[0] } @{ $read->fetchall_arrayref };
print $q->header('text/plain'), join(' ', @words), "\n";
print "class ", ref $db, "\n", "ping ", ($db->ping ? 1 : 0), "\n";
if ($q->param('who')) {
    my ($connection) = $ENV{SITE_DSN} =~ /dbi:Pg/ ? $db->selectrow_array('select pg_backend_pid()')
        : $ENV{SITE_DSN} =~ /dbi:MariaDB/ ? $db->selectrow_array('select connection_id()') : ("handle of $$");
    print "worker $$ connection $connection\n";
}
