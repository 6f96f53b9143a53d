#!/usr/bin/perl
# STDOUT to a file and back.
print "Content-type: text/plain\n\n";
print "before\n";
$| = 1; $| = 0;
open(SAVEOUT, ">&STDOUT");
open(STDOUT, ">$ENV{'DOCUMENT_ROOT'}/data/captured.$$") || die "Can't redirect stdout: $!";
print "into the file\n";
system("echo by a child");
close(STDOUT);
open(STDOUT, ">&SAVEOUT");
close(SAVEOUT);
open(IN, "$ENV{'DOCUMENT_ROOT'}/data/captured.$$"); @lines = <IN>; close(IN);
unlink("$ENV{'DOCUMENT_ROOT'}/data/captured.$$");
print "captured ", scalar(@lines), " lines: ", sort(@lines);
open(STDERR, ">&STDOUT"); $| = 1;
warn "a warning for the page\n";
print `echo from backticks; echo and its errors 1>&2`;
