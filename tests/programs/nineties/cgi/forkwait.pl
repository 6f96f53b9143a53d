#!/usr/bin/perl
$| = 1;
print "Content-type: text/plain\n\n";
pipe(READER, WRITER);
if ($pid = fork) { close(WRITER); @said = <READER>; $got = wait; $code = $? >> 8; print "child ", ($got == $pid ? "ended" : "lost"), " with $code and said: @said"; }
else { close(READER); select(WRITER); $| = 1; print "I am a child\n"; print WRITER "bye\n"; exit(7); }
die "no fork" if !defined $pid;
if (!($pid = fork)) { print "directly from a child\n"; exec "echo", "and from what it became"; }
waitpid($pid, 0);
print "status $?\n";
$SIG{'CHLD'} = 'IGNORE';
system("true"); print "system under IGNORE: $?\n";
$SIG{'CHLD'} = sub { $reaped++ while waitpid(-1, 1) > 0; };
if (!fork) { exit 0; }
for (1 .. 100) { last if $reaped; select(undef, undef, undef, 0.02); }
print "reaped $reaped\n";
