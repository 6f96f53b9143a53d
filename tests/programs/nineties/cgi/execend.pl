#!/usr/bin/perl
$| = 1;
print "Content-type: text/plain\n\nnow the rest:\n";
exec("/bin/sh", "-c", "echo one; cat; echo; echo \$QUERY_STRING; exit 3") || print "cannot: $!";
