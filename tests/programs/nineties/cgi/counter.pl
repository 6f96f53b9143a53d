#!/usr/bin/perl
# A text counter: one number a page, in a file, under a lock.
$LOCK_EX = 2; $LOCK_UN = 8;
$dir = "$ENV{'DOCUMENT_ROOT'}/data";
$page = $ENV{'QUERY_STRING'} || "index";
$page =~ tr/a-zA-Z0-9//cd;
$file = "$dir/count.$page";
if (!-e $file) { open(COUNT, ">$file") || &bad("cannot create: $!"); print COUNT "0\n"; close(COUNT); }
open(COUNT, "+<$file") || &bad("cannot open: $!");
flock(COUNT, $LOCK_EX);
$count = <COUNT>;
chop($count) if $count =~ /\n$/;
$count++;
seek(COUNT, 0, 0);
print COUNT $count, "\n";
flock(COUNT, $LOCK_UN);
close(COUNT);
print "Content-type: text/html\n\n";
while (length($shown) + length($count) < 6) { $shown .= "0"; }
print "You are visitor <tt>$shown$count</tt>.\n";
sub bad { print "Content-type: text/plain\n\nSorry: $_[0]\n"; exit; }
