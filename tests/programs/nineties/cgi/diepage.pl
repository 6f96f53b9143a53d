#!/usr/bin/perl
$SIG{'__DIE__'} = sub { print "Content-type: text/html\n\n<h1>Software error</h1><pre>$_[0]</pre>\n"; exit(0); };
$SIG{'__WARN__'} = sub { push(@warned, $_[0]); };
warn "first\n";
if ($ENV{'QUERY_STRING'} eq 'open') { open(F, "/no/such/file") || die "Can't open: $!"; }
if ($ENV{'QUERY_STRING'} eq 'zero') { $x = 1 / $zero; }
if ($ENV{'QUERY_STRING'} eq 'eval') { eval 'die "inside\n"'; }
if ($ENV{'QUERY_STRING'} eq 'sub') { &no_such_sub; }
print "Content-type: text/plain\n\nall well, warned @warned";
