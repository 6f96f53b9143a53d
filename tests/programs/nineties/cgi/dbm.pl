#!/usr/bin/perl
use Fcntl; use SDBM_File;
require AnyDBM_File;
$db = "$ENV{'DOCUMENT_ROOT'}/data/votes";
print "Content-type: text/html\n\n";
tie(%V, 'SDBM_File', $db, O_RDWR | O_CREAT, 0644) || die "tie: $!";
$V{$ENV{'QUERY_STRING'}}++ if $ENV{'QUERY_STRING'};
while (($k, $v) = each %V) { $row{$k} = $v; }
untie(%V);
print "<table>\n"; foreach (sort keys %row) { print "<tr><td>$_<td>$row{$_}\n"; } print "</table>\n";
dbmopen(%D, "$ENV{'DOCUMENT_ROOT'}/data/old", 0666) || print "dbmopen: $!\n";
$D{'n'}++; print "dbmopen $D{'n'}\n"; dbmclose(%D);
