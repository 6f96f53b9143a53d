#!/usr/bin/perl
select((select(STDOUT), $| = 1)[0]);
print "$ENV{'SERVER_PROTOCOL'} 200 OK\r\nServer: own/1\r\nX-Nph: yes\r\nContent-type: text/plain\r\n\r\n";
for (1 .. 5) { print "$_\n"; select(undef, undef, undef, 0.02); }
