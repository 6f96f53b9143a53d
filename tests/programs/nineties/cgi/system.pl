#!/usr/bin/perl -w
# Other services of the system: users, times, alarms, masks, sockets.
use Socket;
print "Content-type: text/plain\n\n";
($name, $pw, $uid, $gid, $q, $c, $gcos, $dir, $shell) = getpwuid($<);
print "user $name $uid $gid $dir $shell, group ", (getgrgid($())[0], "\n";
printf "umask %03o\n", umask; umask(027); printf "umask %03o\n", umask;
($user, $system, $cuser, $csystem) = times; print "times ", ($user >= 0 && $system >= 0 ? "ok" : "wrong"), "\n";
$SIG{ALRM} = sub { die "timeout\n" };
eval { alarm(1); select(undef, undef, undef, 30); alarm(0); }; print "alarm: $@";
$SIG{ALRM} = 'DEFAULT'; print "slept\n" if defined(sleep(0));
print "nice ", getpriority(0, 0), " group ", (getpgrp(0) > 0 ? "ok" : "none"), "\n";
$host = inet_ntoa(scalar gethostbyname("localhost")); print "localhost $host\n";
socket(S, PF_INET, SOCK_STREAM, getprotobyname('tcp')) || print "socket: $!\n";
if (connect(S, sockaddr_in($ENV{'SERVER_PORT'}, inet_aton("127.0.0.1")))) {
    select(S); $| = 1; select(STDOUT);
    print S "GET /plain.txt HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n";
    @answer = <S>; close(S); print "fetched $answer[0]last $answer[$#answer]";
} else { print "connect: $!\n"; }
$SIG{USR1} = sub { $got++ }; kill('USR1', $$); select(undef, undef, undef, 0.05); print "signal ", $got || 0, "\n";
$ENV{'PATH'} = '/bin:/usr/bin'; print "echo: ", `echo \$PATH`;
local ($,, $\) = ('-', "!\n"); print 1, 2, 3;
